"""Expected durations of work, and the resulting order: long pieces start early, and kernels are compiled once."""

from __future__ import annotations

import heapq
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dpfl_theory import statements
from dpfl_theory.checks import record
from dpfl_theory.checks.runner import checks_of, expected_seconds, plan
from dpfl_theory.reproduce import order_of
from dpfl_theory.runtime import evidence_table
from dpfl_theory.runtime.evidence_table import section, write
from dpfl_theory.validation import available, load
from dpfl_theory.validation.tasks import seconds_of, together


def test_what_is_recorded_is_there() -> None:
    """Changed names fall back to a mean, which is harmless for a few of them."""
    known = {(s.id, c.method, c.name) for s in statements.all_statements() for c in checks_of(s)}
    named = {
        (id_, method, name)
        for id_, methods in section("seconds").items()
        for method, names in methods.items()
        for name in names
    }
    assert len(named - known) <= 0.1 * len(named), sorted(named - known)
    for profile in ("standard", "full"):
        lacking = set(available()) ^ {name for name, own in section("validation_seconds").items() if profile in own}
        assert len(lacking) <= 0.1 * len(available()), lacking


def test_a_check_counts_by_name_or_as_others_of_its_method() -> None:
    long = evidence_table.check_seconds("hou2023.observation3", "exact", "best iterations")
    assert long > 20 * evidence_table.check_seconds("hou2023.observation3", "exact", "no such check")


def test_scripts_that_share_runs_take_their_sum() -> None:
    groups = together([load(path) for path in available().values()])
    for group in groups:
        own = [section("validation_seconds")[s.name] for s in group]
        for profile in ("standard", "full"):
            assert seconds_of(group, profile) == pytest.approx(sum(seconds[profile] for seconds in own))
        assert seconds_of(group, "paper") == max(s.budget["paper"] for s in group)
    assert any(len(group) > 1 for group in groups)


def makespan(order: Sequence[int], cost: Sequence[float], cores: int) -> float:
    """The time at which the last piece ends, if each core takes the next one as soon as it is free."""
    free = [0.0] * cores
    for piece in order:
        heapq.heappush(free, heapq.heappop(free) + cost[piece])
    return max(free)


@pytest.mark.parametrize("cores", [2, 4, 8])
def test_no_core_idles_at_the_end(cores: int) -> None:
    pairs = plan(statements.all_statements())
    groups = together([load(path) for path in available().values()])
    cost = [*expected_seconds(pairs), 1.0, *(seconds_of(group, "standard") for group in groups)]
    order = order_of(pairs, cost)
    assert sorted(order) == list(range(len(cost)))
    assert order[0] == len(pairs), "kernels are compiled first"
    simulated = {i for i, (_, c) in enumerate(pairs) if c.method == "monte-carlo"}
    symbolic = set(range(len(pairs))) - simulated
    assert set(order[1 : 1 + len(symbolic)]) == symbolic, "next to checks that need none, which fill the first page"
    least = sum(cost) / cores
    chosen = makespan(order, cost, cores)
    assert chosen <= 1.02 * least
    backwards = [*order[: 1 + len(symbolic)], *order[: len(symbolic) : -1]]
    assert makespan(backwards, cost, cores) > 1.01 * chosen, "the longest last"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty table."""
    monkeypatch.setattr(evidence_table, "FILE", tmp_path / "table.jsonl")


def timed(**seconds: float) -> list[dict[str, Any]]:
    return [{"statement": "a.b", "method": "exact", "check": name, "seconds": s} for name, s in seconds.items()]


@pytest.mark.usefixtures("table")
def test_durations_of_checks() -> None:
    """Long checks by name, the mean of the others; a run without a check keeps its duration."""
    first = timed(x=0.1, y=0.3, z=2.04)
    assert record.seconds_of_methods(first) == {"exact": 0.2}
    write("seconds", record.seconds_of_checks(first))
    assert section("seconds") == {"a.b": {"exact": {"z": 2.0}}}
    assert record.seconds_of_checks(timed(x=0.7, y=1.3)) == {"a.b": {"exact": {"y": 1.3, "z": 2.0}}}
    assert record.seconds_of_checks(timed(z=0.2)) == {}


@pytest.mark.usefixtures("table")
def test_a_duration_changes_only_by_more_than_noise() -> None:
    write("seconds", record.seconds_of_checks(timed(x=2.0)))
    for seconds, kept in ((1.4, 2.0), (2.9, 2.0), (3.1, 3.1), (1.3, 1.3)):
        assert record.seconds_of_checks(timed(x=seconds)) == {"a.b": {"exact": {"x": kept}}}


@pytest.mark.usefixtures("table")
def test_durations_of_validations() -> None:
    def run(name: str, profile: str, seconds: float) -> dict[str, Any]:
        return {"name": name, "profile": profile, "seconds": seconds}

    write("validation_seconds", record.seconds_of_validations([run("v", "standard", 3.21), run("w", "paper", 900.0)]))
    assert section("validation_seconds") == {"v": {"standard": 3.2}}
    assert record.seconds_of_validations([run("v", "full", 7.0)]) == {"v": {"full": 7.0, "standard": 3.2}}


COMPILED = """
from dpfl_theory.kernels import cpu_kernels, linear, linear_records, philox
from dpfl_theory.kernels.tape import virtual_machine
from dpfl_theory.precompile import compile_kernels
slow = [virtual_machine.run, linear.local_phase_into, linear.values_into, linear_records._record_sums,
        philox.fill_normal, philox.fill_subsets,
        cpu_kernels.bounded_combine, cpu_kernels.segment_update]
assert not any(kernel.signatures for kernel in slow)
compile_kernels("cpu")
print([kernel.py_func.__name__ for kernel in slow if not kernel.signatures])
"""


def test_kernels_that_take_long_to_compile_are_there_beforehand() -> None:
    reported = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=True)
    assert reported.stdout.strip() == "[]"
