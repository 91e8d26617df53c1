"""The smoke set: what it covers, and which of its checks notices which planted fault."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from checks.smoke_faults import CODE, NOTICED, PARTS, RECORDS, UNNOTICED
from mutants.planting import mutated, plant

from dpfl_theory import statements
from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg, FedAvg
from dpfl_theory.checks.profiles import smoke_set
from dpfl_theory.checks.runner import plan, run_one, run_plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Outcome, Statement
from dpfl_theory.core.formula import sides_of
from dpfl_theory.kernels.cpu import CpuEngine

EVERYTHING = plan(statements.all_statements())
SET = smoke_set(EVERYTHING)


def test_a_statement_names_its_own_checks() -> None:
    lemma = statements.get("das2022.lemma10.smooth-alone")
    plain = replace(lemma, checks=tuple(replace(c, smoke=False) for c in lemma.checks))
    assert not smoke_set(plan([plain]))
    chosen = replace(plain, smoke=("units", "concave quadratic"))
    assert [c.name for _, c in smoke_set(plan([chosen]))] == ["units", "concave quadratic"]
    with pytest.raises(ValueError, match=r"lemma10.smooth-alone has no check 'convex quadratic' for the smoke set"):
        replace(plain, smoke=("units", "convex quadratic"))


def test_a_derived_form_does_not_inherit_the_units() -> None:
    printed = statements.get("das2022.theorem4b")
    assert printed.units_in_smoke
    assert not statements.get("das2022.theorem4b.repaired").units_in_smoke


def test_it_covers_every_method_of_every_paper() -> None:
    missing = {(s.paper, c.method) for s, c in EVERYTHING} - {(s.paper, c.method) for s, c in SET}
    assert not missing, f"name a fast check for each of {sorted(missing)} in a statement's smoke"


def test_no_verdict_hides_another() -> None:
    """A statement is as expected when one check refutes it: the failure of a second one would not be visible."""
    for id_ in {s.id for s, c in SET if c.expected == "violated"}:
        assert [c.expected for s, c in SET if s.id == id_] == ["violated"], id_


def test_it_is_a_small_part() -> None:
    assert len(SET) <= len(EVERYTHING) / 5


RUNS = {(s.id, c.name): (s, c) for s, c in SET if c.method == "monte-carlo"}
SETTINGS = Settings(alpha=1e-6 / len(RUNS), device="cpu")
KILLS = [(fault, killer) for killer, faults in NOTICED.items() for fault in faults]


def outcome(killer: tuple[str, str]) -> str:
    """What a check comes to when it is not what is recorded: its verdict, or that a replicate lies outside the
    range that the run guarantees. Any other error is the fault's or the test's own, and notices nothing."""
    statement, c = RUNS[killer]
    try:
        verdict = run_one(statement, c, SETTINGS).verdict
    except ValueError as error:
        if "its range" not in str(error):
            raise
        return "outside its range"
    return "" if verdict == c.expected else verdict


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize(("fault", "killer"), KILLS, ids=[fault for fault, _ in KILLS])
def test_a_fault_in_an_algorithm_is_noticed(
    fault: str, killer: tuple[str, str], monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    if fault in RECORDS:
        faulty = mutated("kernels.linear_records", *RECORDS[fault], interpreted=True)
        monkeypatch.setattr(CpuEngine, "linear_record_sums", lambda self, *x: faulty.linear_record_sums(*x))
    elif fault in PARTS:
        for name, part in PARTS[fault].items():
            for kind in (DPFedAvg, DPNormFedAvg) if name in ("bound", "noise", "deviation") else (FedAvg, DPNormFedAvg):
                monkeypatch.setattr(kind, name, part)
    else:
        plant(monkeypatch, *CODE[fault])
    found = outcome(killer)
    record_property("kill", (f"smoke: {fault}", found and f"{' '.join(killer)}: {found}"))
    assert found


@pytest.mark.slow
def test_without_a_fault_every_check_is_as_expected() -> None:
    assert {killer: outcome(killer) for killer in RUNS} == dict.fromkeys(RUNS, "")


def test_every_fault_is_noticed_or_known_not_to_be() -> None:
    known = [fault for faults in (*NOTICED.values(), *UNNOTICED.values()) for fault in faults]
    assert Counter(known) == Counter([*CODE, *PARTS, *RECORDS])
    assert len(KILLS) >= 105


def times(factor: float) -> Callable[[Any], Any]:
    """A function whose value (the first of them) is wrong by a factor."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*arguments: Any, **options: Any) -> Any:
            value = original(*arguments, **options)
            return (factor * value[0], *value[1:]) if isinstance(value, tuple) else factor * value

        return wrong

    return wrap


def agreeing(statement: Statement) -> Outcome:
    """Looks at both sides, and finds nothing."""
    sides_of(statement)
    return Outcome(True, "")


def always(value: Any) -> Callable[[Any], Any]:
    return lambda _: lambda *_, **__: value


CPU = "dpfl_theory.kernels.cpu CpuEngine"
FAULTS = {
    "noise by a factor sqrt(2)": (CPU, "normal", times(2**0.5), "hou2023.theorem1"),
    "participation too likely": (CPU, "uniform", times(0.5), "das2022.theorem4b.repaired"),
    "half of the local steps": (CPU, "linear_local_phase", times(0.5), "das2022.theorem4b"),
    "gradients with the other sign": (CPU, "linear_gradients", times(-1.0), "hou2023.theorem1"),
    "objectives doubled": (CPU, "linear_values", times(2.0), "das2022.theorem4b"),
    "clipping at twice the threshold": (CPU, "bounded_combine", times(2.0), "das2022.eq4"),
    "delta of the Gaussian mechanism": (
        "dpfl_theory.checks.privacy",
        "gaussian_delta",
        times(0.99),
        "das2022.definition5.repaired",
    ),
    "privacy loss on the grid": (
        "dpfl_theory.privacy.pld",
        "_gains",
        lambda original: lambda *a: times(0.97)(original(*a)),
        "noble2022.claim4.1.server",
    ),
    "units that are lost": ("dpfl_theory.checks.algebra", "unit_of", always((0, 0)), "das2022.theorem4b"),
    "units that always agree": (
        "dpfl_theory.checks.algebra",
        "homogeneous",
        lambda _: agreeing,
        "noble2022.theoremC.1",
    ),
    "no function is verified": (
        "dpfl_theory.checks.estimation",
        "refutes",
        always(False),
        "das2022.lemma10.smooth-alone",
    ),
    "a solver that ends early": ("dpfl_theory.checks.estimation", "prove", always(None), "das2022.lemma9"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch, record_property: Any) -> None:
    where, name, wrap, id_ = FAULTS[fault]
    module, _, cls = where.partition(" ")
    owner = importlib.import_module(module)
    owner = getattr(owner, cls) if cls else owner
    pairs = [(s, c) for s, c in SET if s.id.startswith(id_)]
    if fault == "a solver that ends early":
        monkeypatch.setattr(owner, "_guarantee", times(1.01)(owner._guarantee))
    monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))
    evidence = run_plan(pairs, device="cpu").evidence
    killers = [f"{e.statement} {e.check}" for e in evidence if e.verdict != e.expected]
    record_property("kill", (f"smoke: {fault}", ", ".join(killers)))
    assert killers


@pytest.mark.slow
def test_without_a_fault_all_is_as_expected() -> None:
    """Of the statements that a fault was planted for."""
    named = {id_ for *_, id_ in FAULTS.values()}
    pairs = [(s, c) for s, c in SET if any(s.id.startswith(id_) for id_ in named)]
    assert [e.check for e in run_plan(pairs, device="cpu").evidence if e.verdict != e.expected] == []
