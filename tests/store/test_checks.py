"""Reused evidence: it equals a new computation, and is used only where none of its dependencies has changed."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import HANGS, comes

import dpfl_theory
from dpfl_theory import statements
from dpfl_theory.checks import cache, runner
from dpfl_theory.checks.execute import run_one
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.cli import main
from dpfl_theory.core.evidence import Evidence, Interval
from dpfl_theory.runtime import sources
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.sources import Sources

PAIRS = plan([statements.get("das2022.lemma8"), statements.get("hou2023.eq3")], ["algebra", "exact"])
SETTINGS = Settings(seed=3, alpha=1e-7, device="cpu")

Output = pytest.CaptureFixture[str]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "evidence.sqlite") as made:
        yield made


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The checks that were run instead of reused."""
    names: list[str] = []

    def reported(statement: Any, c: Any, settings: Settings) -> Evidence:
        names.append(f"{statement.id} {c.name}")
        return run_one(statement, c, settings)

    monkeypatch.setattr(runner, "run_one", reported)
    return names


def document(store: Store | None, pairs: Any = PAIRS, **options: Any) -> dict[str, Any]:
    made = run_plan(pairs, device="cpu", store=store, **options).to_json()
    del made["summary"]["seconds"]
    for e in made["evidence"]:
        del e["seconds"]
        e["notes"].pop("replicate_seconds", None)
    return made


def test_what_is_reused_is_what_would_be_computed(store: Store, ran: list[str]) -> None:
    computed = document(None)
    assert document(store) == computed
    assert len(ran) == 2 * len(PAIRS)
    assert document(store) == computed
    assert run_plan(PAIRS, device="cpu", store=store).reused == len(PAIRS)
    assert len(ran) == 2 * len(PAIRS)
    assert document(store, fresh=True) == computed
    assert len(ran) == 3 * len(PAIRS)


def test_a_part_is_reused_among_others(store: Store, ran: list[str]) -> None:
    document(store, PAIRS[:2])
    assert document(store) == document(None)
    assert run_plan(PAIRS[1:], device="cpu", store=store).reused == len(PAIRS) - 1
    assert len(ran) == 2 * len(PAIRS)


def test_another_seed_is_another_result(store: Store, ran: list[str]) -> None:
    document(store, seed=1)
    document(store, seed=2)
    assert len(ran) == 2 * len(PAIRS)


def test_other_versions_are_another_result(store: Store, ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names = sources.libraries()
    assert {"python", "numpy", "scipy", "numba", "cvxpy", "clarabel", "sympy", "mpmath", "dpfl-theory"} <= names.keys()
    document(store)
    for name in names:
        monkeypatch.setattr(sources, "libraries", lambda beside=(), name=name: {**names, name: "0.0.1"})
        ran.clear()
        document(store, PAIRS[:1])
        assert len(ran) == 1, name


def test_other_instances_are_another_result(store: Store) -> None:
    """This includes replicates and all other values of an instance, the method, the name, and the device."""
    statement = statements.get("das2022.theorem4a")
    check = next(c for c in statement.checks if c.method == "monte-carlo")

    def key_of(c: Any = check, settings: Settings = SETTINGS, device: str = "cpu") -> str:
        module = statements.file_of(statement.id)
        assert module is not None
        place = cache._place(sources.sources(), module, statement, c, settings, store, device)
        assert place is not None
        return place.decided.key

    keys = [
        key_of(),
        key_of(replace(check, instance={**check.instance, "replicates": 17})),
        key_of(replace(check, name="another")),
        key_of(replace(check, method="exact")),
        key_of(settings=replace(SETTINGS, seed=4)),
        key_of(device="another one"),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of() == key_of(settings=replace(SETTINGS, alpha=0.5)), "the entry records the share"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """The dependencies in a copy of the package's sources, which tests change."""
    package = tmp_path_factory.mktemp("copy") / "dpfl_theory"
    ignored = shutil.ignore_patterns("__pycache__", "validations")
    shutil.copytree(Path(dpfl_theory.__file__).parent, package, ignore=ignored)
    return Sources(package)


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize(
    ("method", "changed", "reused"),
    [
        ("monte_carlo", "statements/das2022/theorem4.py", False),
        ("monte_carlo", "kernels/philox.py", False),
        ("monte_carlo", "kernels/tape/virtual_machine.py", False),
        ("monte_carlo", "kernels/cuda_kernels.cu", False),
        ("monte_carlo", "problems/regression.py", False),
        ("monte_carlo", "checks/decision.py", False),
        ("monte_carlo", "checks/execute.py", False),
        ("monte_carlo", "checks/worst_case.py", True),
        ("monte_carlo", "report/author_report.py", True),
        ("monte_carlo", "statements/hou2023/corollary1.py", True),
        ("monte_carlo", "statements/evidence.jsonl", True),
        ("algebra", "checks/decision.py", True),
        ("algebra", "statements/symbolic.py", False),
        ("algebra", "cli/check.py", True),
    ],
)
def test_a_changed_source_is_another_result(copied: Sources, method: str, changed: str, reused: bool) -> None:
    """Exactly the checks that import it at any depth, or name it as data, are run again."""

    def digest() -> str:
        own = "dpfl_theory.statements.das2022.theorem4"
        anew = copy(copied)  # the imports stay as they were read
        anew._lines, anew._digests = {}, {}
        return anew.digest([own, f"dpfl_theory.checks.{method}"], ["dpfl_theory.checks.execute"])

    file = copied.graph.package / changed
    before, text = digest(), file.read_text(encoding="utf-8")
    assert digest() == before
    try:
        file.write_text(text + "\n# changed\n" if file.suffix == ".py" else text + "\n", encoding="utf-8")
        assert (digest() == before) == reused
    finally:
        file.write_text(text, encoding="utf-8")


def test_nothing_is_reused_that_rests_on_a_changed_file(
    store: Store, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted change of a module that the statement imports within a function."""
    document(store)
    line = Sources._line

    def planted(self: Sources, file: Path) -> bytes:
        return line(self, file) + (b"planted" if file.name == "exact.py" and file.parent.name == "checks" else b"")

    monkeypatch.setattr(Sources, "_line", planted)
    sources._read.cache_clear()
    ran.clear()
    assert document(store) == document(None)
    rerun = ran[: len(ran) - len(PAIRS)]
    sources._read.cache_clear()
    exact = [f"{s.id} {c.name}" for s, c in PAIRS if c.method == "exact"]
    assert exact
    assert set(exact) <= set(rerun)
    assert len(rerun) < len(PAIRS), "the algebra of lemma8 does not rest on it"


def drawn(verdict: str, alpha: float) -> Evidence:
    return Evidence("a", "monte-carlo", "c", verdict, "holds", "why", Interval(1.0, 0.5, 2.0), 3.0, alpha=alpha)


def test_a_smaller_share_serves_a_larger_one_and_not_the_other_way(store: Store) -> None:
    statement = statements.get("das2022.theorem4a")
    pair = statement, next(c for c in statement.checks if c.method == "monte-carlo")

    def at(alpha: float) -> cache.Place:
        (place,) = cache.places([pair], replace(SETTINGS, alpha=alpha), store)
        assert place is not None
        return place

    assert at(1e-7).keep(drawn("holds", 1e-7)) == ""
    assert at(1e-7).take() == drawn("holds", 1e-7)
    assert at(1e-6).take() == drawn("holds", 1e-7)
    assert at(1e-8).take() is None
    assert at(1e-8).keep(drawn("inconclusive", 1e-8)) == ""
    assert at(1e-8).take() == drawn("inconclusive", 1e-8)
    assert at(1e-7).take() == drawn("holds", 1e-7), "what a smaller share left open a larger one may decide"
    assert at(1e-9).take() is None


def test_what_a_budget_cut_is_not_kept(store: Store, ran: list[str]) -> None:
    cut = document(store, budget=1e-9)
    assert {e["verdict"] for e in cut["evidence"]} == {"inconclusive"}
    assert list(store.entries()) == []
    (place, *_) = cache.places(PAIRS, SETTINGS, store)
    over = replace(SETTINGS, deadline=time.monotonic() - 1.0)
    assert cache.store_evidence(place, drawn("holds", 1e-7), over).trouble == ""
    assert list(store.entries()) == [], "the time was over before it ended: it may have been cut short"
    document(store, budget=600.0)
    assert len(list(store.entries())) == len(PAIRS)


def test_statements_of_the_running_program_are_not_stored(store: Store) -> None:
    made = replace(statements.get("das2022.lemma8"), title="another")
    assert cache.places(plan([made], ["algebra"]), SETTINGS, store) == [None] * len(plan([made], ["algebra"]))
    document(store, plan([made], ["algebra"]))
    assert list(store.entries()) == []


def test_evidence_survives_unchanged() -> None:
    made = Evidence(
        "a",
        "monte-carlo",
        "c",
        "violated",
        "holds",
        "why",
        Interval(np.float64(0.1), -math.inf, math.inf),
        math.inf,
        terms={"t": np.float64(1 / 3), "u": math.nan},
        vacuous=True,
        instance={"values": (1, 2.5), "deep": {"x": np.int64(3)}},
        notes={"array": [np.float64(1e-300)]},
        replicates=7,
        part="a step",
        seconds=1.25,
    )
    text = json.dumps(cache.encode(made))
    again = cache.read(json.loads(text))
    assert again is not None
    assert again.to_json() == made.to_json()
    assert again.lhs == made.lhs
    assert cache.read({"lhs": None}) is None
    assert cache.read({**json.loads(text), "verdict": "perhaps"}) is None


USERS = """
import time
from pathlib import Path
from dpfl_theory.core import Check, Outcome, Source, Statement

def build(statement, instance):
    with Path(__file__).with_suffix(".log").open("a") as log:
        log.write(f"{{instance['i']}}\\n")
    while instance["i"] == {waits} and not Path(__file__).with_suffix(".go").exists():
        time.sleep(0.02)
    return Outcome(True, Path({data!r}).read_text().strip())

STATEMENTS = (
    Statement(
        "mine.slow", "fact", "slow", Source("mine", "here"), "text",
        checks=tuple(Check("exact", f"c{{i}}", build, {{"i": i}}, part="a step") for i in range({count})),
    ),
)
"""


@pytest.fixture
def users(tmp_path: Path) -> Callable[..., Path]:
    def write(count: int = 3, waits: int = -1) -> Path:
        (tmp_path / "data.txt").write_text("as read\n")
        file = tmp_path / "mine.py"
        file.write_text(USERS.format(data=str(tmp_path / "data.txt"), count=count, waits=waits))
        return file

    return write


def test_a_users_file_counts_and_what_it_names(users: Callable[..., Path], tmp_path: Path, capsys: Output) -> None:
    file, kept = users(), tmp_path / "evidence.sqlite"
    arguments = ["check", "--file", str(file), "--jobs", "1", "--device", "cpu"]

    def reported() -> tuple[str, str]:
        assert main([*arguments, "--store", str(kept)]) == 0
        return tuple(capsys.readouterr())  # type: ignore[return-value]

    first, said = reported()
    assert "store" not in said
    again, said = reported()
    assert said.splitlines()[-1] == f"3 of 3 checks come from the store {kept}; --fresh computes them again"
    assert again.split("\n\n")[0] == first.split("\n\n")[0], "seconds included"
    assert "store" not in again
    for change in (file, tmp_path / "data.txt"):
        change.write_text(change.read_text() + "\n")
        assert "store" not in reported()[1], change
        assert "3 of 3 checks" in reported()[1]
    assert len((tmp_path / "mine.log").read_text().split()) == 9
    assert main([*arguments, "--store", str(kept), "--fresh"]) == 0
    assert main([*arguments, "--store", "off"]) == 0
    assert len((tmp_path / "mine.log").read_text().split()) == 15


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX systems")
def test_a_run_that_is_killed_loses_nothing_that_had_ended(
    users: Callable[..., Path], tmp_path: Path, capsys: Output
) -> None:
    """After kill -9 during 30 checks, the second run computes only the missing ones."""
    file, kept, log = users(30, 14), tmp_path / "evidence.sqlite", tmp_path / "mine.log"
    arguments = ["check", "--file", str(file), "--jobs", "1", "--device", "cpu", "--store", str(kept)]
    process = subprocess.Popen([sys.executable, "-m", "dpfl_theory", *arguments], stdout=subprocess.DEVNULL)
    assert comes(lambda: process.poll() is not None or (log.exists() and len(log.read_text().split()) == 15))
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    started = len(log.read_text().split())
    assert started == 15
    file.with_suffix(".go").touch()
    assert main(arguments) == 0
    said = capsys.readouterr().err
    assert any(f"{ended} of 30 checks" in said for ended in (started - 1, started)), said
    made = [int(i) for i in log.read_text().split()]
    assert sorted(set(made)) == list(range(30))
    assert len(made) <= 31, "the one that was killed"


READS = """
import sys
from pathlib import Path
import dpfl_theory
package = Path(dpfl_theory.__file__).parent
read = set()

def hook(event, arguments):
    if event == "open" and not isinstance(arguments[0], int) and str(arguments[0]).startswith(str(package)):
        read.add(Path(arguments[0]).name)

from dpfl_theory import statements
from dpfl_theory.checks.runner import plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.checks.execute import run_one
from dpfl_theory.runtime import evidence_table
own = [statements.get(id_) for id_ in ("das2022.theorem4b", "hou2023.corollary1", "shulgin2025.theorem1")]
evidence_table._rows.cache_clear()  # the words of statements have numbers from evidence; the checks read no words
evidence_table._section.cache_clear()
sys.addaudithook(hook)
for statement, check in plan(own, ["algebra"]):
    run_one(statement, check, Settings(device="cpu"))
print(*read)
from dpfl_theory.statements.power import recorded
recorded("das2022.theorem4b")
print(*read)
"""


@pytest.mark.slow
def test_no_check_reads_what_is_written_from_evidence() -> None:
    done = subprocess.run([sys.executable, "-c", READS], capture_output=True, text=True, check=True, timeout=HANGS)
    by_checks, by_others = done.stdout.splitlines()
    assert set(by_checks.split()) & set(sources.MEASURED) == set()
    assert set(by_others.split()) & set(sources.MEASURED) == {"evidence.jsonl"}, "it sees what is read"
