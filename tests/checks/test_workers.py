"""Checks in several processes: the same evidence as in one, and an end with the first failure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from patience import HANGS, comes
from threadpoolctl import threadpool_info

from dpfl_theory import check, statements
from dpfl_theory.checks.runner import Report, checks_of, plan, run_plan, suitable_jobs
from dpfl_theory.core import Check, Source, Statement, methods
from dpfl_theory.errors import EnvironmentFault, InputError
from dpfl_theory.runtime.executor import one_thread
from dpfl_theory.runtime.threads import usable_cores

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_statements.py"
HEAD = """
import os
from dpfl_theory.core import Check, Outcome, Source, Statement
def make(*builds):
    checks = tuple(Check("algebra", f"c{i}", build) for i, build in enumerate(builds))
    return Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", checks=checks)
"""
HANDFUL = {
    "das2022.theorem4b": "units",
    "das2022.eq12": "independent sampling, half a client expected",
    "das2022.lemma9": "conclusion 2, convex, tau = 1, eta L = 1",
    "shulgin2025.theorem2": "quadratics, noise dominates",
    "noble2022.claim4.1.server": "the worst data at s = 1",
}


def plain(report: Report) -> list[dict[str, Any]]:
    """The evidence without what the clock says."""
    found = [e.to_json() for e in report.evidence]
    for e in found:
        del e["seconds"]
        e["notes"] = {k: v for k, v in e["notes"].items() if k != "replicate_seconds"}
    return found


def mine(tmp_path: Path, builds: str) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(f"{HEAD}STATEMENTS = (make({builds}),)\n")
    return file


IMPORTED_LONG = {"worst-case"}
"""Methods whose libraries take each process seconds to import."""


@pytest.mark.parametrize("left_out", [IMPORTED_LONG, pytest.param(set(), marks=pytest.mark.slow)], ids=["most", "all"])
def test_two_processes_find_what_one_finds(left_out: set[str]) -> None:
    chosen = methods.known().keys() - left_out
    pairs = [p for p in plan([statements.get(i) for i in HANDFUL], sorted(chosen)) if p[1].name == HANDFUL[p[0].id]]
    assert {c.method for _, c in pairs} == chosen
    lines: list[tuple[int, int, str, float]] = []
    here = run_plan(pairs, seed=5, device="cpu")
    there = run_plan(pairs, seed=5, device="cpu", jobs=2, progress=lambda *t: lines.append(t))
    assert plain(there) == plain(here)
    assert there.expected == here.expected
    assert [e.check for e in there.evidence] == [c.name for _, c in pairs]
    assert lines[0][:2] == (0, len(pairs))
    assert lines[-1] == (len(pairs), len(pairs), "", 0.0)
    assert [t[0] for t in lines] == sorted(t[0] for t in lines)


@pytest.mark.slow
def test_a_users_file_is_loaded_by_the_processes() -> None:
    pairs = plan(statements.load_file(EXAMPLE))
    assert plain(run_plan(pairs, device="cpu", jobs=3, file=EXAMPLE)) == plain(run_plan(pairs, device="cpu"))


@pytest.mark.slow
def test_they_are_other_processes(tmp_path: Path) -> None:
    file = mine(tmp_path, "*[lambda s, i: Outcome(True, str(os.getpid()))] * 2")
    evidence = run_plan(plan(statements.load_file(file)), jobs=2, file=file).evidence
    assert str(os.getpid()) not in {e.reason for e in evidence}


def test_a_statement_that_no_process_could_find_is_refused() -> None:
    changed = replace(statements.get("das2022.theorem4a"), title="not the catalogue's")
    with pytest.raises(InputError, match=r"das2022\.theorem4a is not a statement of the catalogue, .* use one job"):
        check(changed, methods=["algebra"], jobs=2)
    assert check(changed, methods=["algebra"])[0].verdict == "holds"


def test_the_sentence_of_a_failure_is_the_same(tmp_path: Path) -> None:
    file = mine(tmp_path, "lambda s, i: Outcome(True, 'yes'), lambda s, i: i['rounds']")
    pairs = plan(statements.load_file(file))
    lines = []
    for jobs in (1, 2):
        with pytest.raises(InputError) as caught:
            run_plan(pairs, jobs=jobs, file=file)
        lines.append(str(caught.value))
    assert (
        lines == ["check 'c1' of mine.one cannot be run: KeyError: 'rounds'; correct its build (mine.py, line 7)"] * 2
    )


@pytest.mark.slow
def test_evidence_that_cannot_be_sent_is_told(tmp_path: Path) -> None:
    """What is no plain data, in any number of processes; and what is, but only here."""
    file = mine(tmp_path, "*[lambda s, i: Outcome(True, 'yes', {'how': lambda: 0})] * 2")
    for jobs in (1, 2):
        with pytest.raises(
            InputError, match=r"its build returns something other than plain data, .*: return only numbers and text"
        ):
            run_plan(plan(statements.load_file(file)), jobs=jobs, file=file)
    file = mine(tmp_path, "*[lambda s, i: Outcome(True, 'yes', __import__('types').MappingProxyType({'how': 0}))] * 2")
    with pytest.raises(InputError, match=r"cannot be read by another process .* or use `jobs=1`"):
        run_plan(plan(statements.load_file(file)), jobs=2, file=file)


def test_a_process_that_dies_is_told(tmp_path: Path) -> None:
    file = mine(tmp_path, "*[lambda s, i: os._exit(9)] * 2")
    with pytest.raises(EnvironmentFault, match="one of 2 processes ended before its work did"):
        run_plan(plan(statements.load_file(file)), jobs=2, file=file)


@pytest.mark.slow
def test_a_spent_budget_is_spent_everywhere() -> None:
    pairs = plan([statements.get("das2022.lemma9")], ["worst-case"])
    report = run_plan(pairs, jobs=2, budget=1e-6)
    assert {e.verdict for e in report.evidence} == {"inconclusive"}


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_jobs_is_refused(jobs: Any) -> None:
    with pytest.raises(InputError, match=r"^`jobs` is "):
        run_plan([], jobs=jobs)


def test_few_cheap_checks_are_not_worth_a_process() -> None:
    everything = plan(statements.all_statements())
    assert min(2, usable_cores()) <= suitable_jobs(everything) <= usable_cores()
    assert suitable_jobs(plan([statements.get("das2022.theorem4a")], ["algebra"])) == 1


def test_every_check_has_one_thread() -> None:
    """Whoever asks, so that the last digits do not depend on the number of cores."""
    from dpfl_theory.runtime.threads import available

    with one_thread():
        pass  # loads the BLAS

    def threads() -> set[int]:
        pools = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
        return {available(), *pools}

    seen: list[set[int]] = []

    def build(_: Statement, instance: Mapping[str, Any]) -> Any:
        seen.append(threads())
        raise InputError("that is all")

    checks = tuple(Check(method, "c", build) for method in ("monte-carlo", "privacy", "worst-case"))
    statement = Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", checks=checks)
    before = threads()
    for c in checks_of(statement):
        with pytest.raises(InputError, match="that is all"):
            run_plan([(statement, c)])
    assert seen == [{1}] * 3
    assert threads() == before
    with one_thread():
        assert threads() == {1}
    assert threads() == before


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX systems")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_behind(tmp_path: Path, stop: signal.Signals) -> None:
    """Ctrl-C, which a terminal sends to all of them, and a command that is killed."""
    (tmp_path / "pids").mkdir()
    wait = f"open(f'{tmp_path}/pids/{{os.getpid()}}', 'w').close() or __import__('time').sleep(999)"
    file = mine(tmp_path, f"*[lambda s, i: {wait}] * 2")
    command = [sys.executable, "-m", "dpfl_theory", "check", "--file", str(file), "--jobs", "2"]
    # A shell's background job ignores SIGINT, and its children inherit that.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert comes(lambda: len(list((tmp_path / "pids").iterdir())) == 2), "the workers never began"
        workers = [int(p.name) for p in (tmp_path / "pids").iterdir()]
        if stop == signal.SIGINT:
            os.killpg(process.pid, stop)
            out, err = process.communicate(timeout=HANGS)
            assert process.returncode == 130
            assert out == ""
            assert err.splitlines()[-1] == "dpfl-theory: interrupted"
            assert "Traceback" not in err
        else:
            process.kill()
            process.communicate(timeout=HANGS)
        assert comes(lambda: not any(_runs(pid) for pid in workers)), "a worker outlives the command"
    finally:
        process.kill()
        process.communicate()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")  # dead, but not yet buried
