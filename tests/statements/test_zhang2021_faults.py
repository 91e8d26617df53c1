"""zhang2021's simulated runs and worst cases: faults that they must detect."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import mpmath
import pytest

from dpfl_theory.checks import monte_carlo, worst_case
from dpfl_theory.checks.hypotheses import unmet
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Experiment, Sides, Statement
from dpfl_theory.core.formula import sides_of
from dpfl_theory.statements import get, select
from dpfl_theory.statements.zhang2021 import _round
from dpfl_theory.statements.zhang2021._instances import SAMPLES

CPU = Settings(device="cpu")


def wrong(statement: Statement, **rhs: Callable[[Any], Any]) -> Statement:
    """The statement with some terms of its right side changed."""
    sides = sides_of(statement)
    names = {name.replace(" ", "_").replace(",", ""): name for name in sides.rhs}
    assert set(rhs) <= set(names), names
    changed = {k: rhs.get(short, lambda term: term)(sides.rhs[k]) for short, k in names.items()}
    return replace(statement, sides=lambda _: Sides(sides.lhs, changed))


def check_of(statement: Statement, name: str, method: str = "monte-carlo") -> Check:
    (found,) = (c for c in statement.checks if (c.method, c.name) == (method, name))
    return found


THEOREM, COROLLARY = "zhang2021.theorem3.1.repaired", "zhang2021.corollary3.2.1.repaired"


def less(by: float, *terms: str) -> dict[str, Callable[[Any], Any]]:
    """These terms divided by a number."""
    return {term: lambda t: t / by for term in terms}


DECIDES = "one round in two dimensions, privacy noise decides"
FAULTS: list[tuple[str, str, dict[str, Callable[[Any], Any]]]] = [
    (THEOREM, "identical clients, what is left of the start", less(4, "initialisation")),
    (THEOREM, "identical clients, privacy noise", less(6, "privacy")),
    (THEOREM, "nine of ten clients clipped to a thousandth", less(12, "clipping_bias", "clipping_spread")),
    (THEOREM, "two clients apart, one takes part", less(200, "sampling")),
    (COROLLARY, "thirty of 300 identical clients, noise dominates", less(5, "privacy")),
    (COROLLARY, "ten of 100 identical clients, noise dominates", less(5, "privacy")),
    (f"{THEOREM}.sharpened", "identical clients, what is left of the start", less(4, "initialisation")),
    (f"{THEOREM}.sharpened", "two clients apart, one takes part", less(50, "sampling")),
    *(("zhang2021.eq16", name, less(6, "clients", "common_factor")) for name in SAMPLES["clipped"]),
    *(("zhang2021.eq17", name, less(4, "gradients", "noise")) for name in SAMPLES["noisy"]),
    *(("zhang2021.eq18.repaired", name, less(3 if "20 of 40" in name else 2, "draws")) for name in SAMPLES["sampled"]),
    *(
        ("zhang2021.eq15.sharpened", name, less(5 if "noise decides" in name else 10, "noise", "gradient"))
        for name in SAMPLES["middle"]
    ),
    ("zhang2021.eq15.sharpened", "local steps in two dimensions, noise decides", less(8, "noise", "gradient")),
    ("zhang2021.eq15.sharpened", "local steps in two dimensions, gradients decide", less(40, "noise", "gradient")),
    ("zhang2021.eq19.repaired", "local steps in two dimensions, gradients decide", less(14, "gradients")),
    ("zhang2021.eq19.repaired", "local steps in two dimensions, noise decides", less(60, "noise")),
    *(("zhang2021.eq17.sharpened", name, less(1.4, "gradients", "noise")) for name in SAMPLES["noisiest"]),
    ("zhang2021.eq19.repaired.sharpened", "local steps in two dimensions, gradients decide", less(3, "gradients")),
    ("zhang2021.eq19.repaired.sharpened", "local steps in two dimensions, noise decides", less(20, "noise")),
    *((id_, DECIDES, less(2, "privacy")) for id_ in ("zhang2021.eq20.repaired", "zhang2021.eq21.repaired")),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("id_", "name", "changes"), FAULTS, ids=[f"{i} {n}" for i, n, _ in FAULTS])
def test_a_constant_that_is_too_small_is_noticed(
    id_: str, name: str, changes: Mapping[str, Callable[[Any], Any]]
) -> None:
    """By limits that hold at finite sample size, or at least asymptotically where no range is known."""
    statement = get(id_)
    evidence = monte_carlo.run(wrong(statement, **changes), check_of(statement, name), CPU)
    assert evidence.verdict == "violated", evidence.reason


WRONG = [
    (THEOREM, "identical clients, what is left of the start", "never moves"),
    *(
        (id_, name, fault)
        for id_, name in (
            (THEOREM, "identical clients, privacy noise"),
            (COROLLARY, "thirty of 300 identical clients, noise dominates"),
            (COROLLARY, "ten of 100 identical clients, noise dominates"),
        )
        for fault in ("never moves", "five times the noise")
    ),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("id_", "name", "fault"), WRONG)
def test_a_wrong_algorithm_is_noticed(id_: str, name: str, fault: str) -> None:
    """Thirty clients send five times the noise if it is not averaged."""
    statement = get(id_)
    check = check_of(statement, name)
    experiment = check.make(statement)
    algorithm: Any = experiment.algorithm
    change = {"global_step": 1e-12} if fault == "never moves" else {"sigma": 5 * algorithm.run.sigma}
    faulty = replace(experiment, algorithm=algorithm.with_values(**change))
    evidence = monte_carlo.run(statement, replace(check, build=lambda *_: faulty), CPU)
    assert evidence.verdict == "violated", evidence.reason


WORST = [
    ("zhang2021.eq13", {"clients": lambda t: -t}, {"sampling": "without"}),
    ("zhang2021.eq14.repaired", {"distance": lambda t: -t}, {"sampling": "without"}),
    ("zhang2021.eq14.repaired", {"updates": lambda t: 2 * t}, {"sampling": "without"}),
    ("zhang2021.eq16", {"common_factor": lambda t: t / 3, "noise": lambda t: t / 3}, {"sampling": "without"}),
    ("zhang2021.eq17", {"noise": lambda t: t / 4, "gradients": lambda t: t / 4}, {"sampling": "anew"}),
    ("zhang2021.eq17.sharpened", {"gradients": lambda t: t / 1.01}, {"sampling": "anew"}),
    ("zhang2021.eq18.repaired", {"draws": lambda t: t / 2}, {"sampling": "anew"}),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("id_", "changes", "more"), WORST, ids=[f"{w[0]} {i}" for i, w in enumerate(WORST)])
def test_a_wrong_step_is_refuted_in_the_worst_case(id_: str, changes: Any, more: Mapping[str, Any]) -> None:
    """On some phase and direction; the right step holds on the same ones."""
    statement = get(id_)
    planted = wrong(statement, **changes)

    def verdicts(one: Statement) -> Iterator[str]:
        for phase, direction in itertools.product(_round.PHASES.values(), ("<=", ">=")):
            if direction == ">=" and statement.relation != "==":
                continue
            known = {"factors": ["1", "1/2", "1/10"], "known": ["1", "1/3", "1/2"][: phase["N"]]}
            instance = {**phase, **more, "direction": direction, **(known if id_ in CLIPPED_STEPS else {})}
            check = Check("worst-case", "planted", _round.performance, instance)
            yield worst_case.run(one, check, CPU).verdict

    assert set(verdicts(statement)) == {"holds"}
    assert "violated" in verdicts(planted)  # no check is run after the first that fails


CLIPPED_STEPS = ("zhang2021.eq13", "zhang2021.eq16")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "field"), [("zhang2021.eq13", "threshold"), ("zhang2021.eq14.repaired", "local_step")]
)
def test_an_equality_by_simulation_notices_a_round_that_hardly_moves_or_overshoots(name: str, field: str) -> None:
    statement = get(name)
    checks = [c for c in statement.checks if c.method == "monte-carlo"]
    concerned = [c for c in checks if field in c.make(statement).algorithm.run.parameters]
    assert len(concerned) == 2
    for check in concerned:
        for factor in (1e-3, 1.5):

            def faulty(of: Statement, instance: Any, check: Check = check, factor: float = factor) -> Any:
                found = check.make(of, instance)
                wrong = found.algorithm.with_values(**{field: factor * getattr(found.algorithm.run, field)})
                return replace(found, algorithm=wrong)

            evidence = monte_carlo.run(statement, replace(check, build=faulty), Settings(device="cpu"))
            assert evidence.verdict != "holds"


OUTSIDE = [
    (statement, check)
    for statement in select(paper="zhang2021")
    for check in statement.checks
    if check.expected == "not-applicable" and "stated" not in check.instance  # the law of hypotheses has these
]
RELAXED = {
    "outside eta_l": ("eta_l", 0.95),
    "outside eta_g eta_l": ("eta_g", 0.95),
    "outside k": ("k", 1.05),
    "outside T": ("T", 1.05),
    "below the rounds": ("T", 1.05),
    "outside epsilon": ("epsilon", 0.95),
    "outside c'": ("c_prime", 1.05),
    "just not L-smooth": ("L", 1.011),
}
"""The symbol that a hypothesis limits, by the name of the check just outside. The factor relaxes it by 5% (by 1% for L,
as the steps read it too)."""


def instances_of(statement: Statement, check: Check) -> list[tuple[Mapping[str, Any], Any]]:
    """The values of the symbols, and the problem if it has one, of each instance of a check."""
    if "share" in check.instance:
        given = check.instance
        deltas = [mpmath.mpf(delta) for delta in given["delta"]]
        shares = [mpmath.mpf(share) for share in given["share"]]
        return [({**given["symbols"], "delta": d, "epsilon": -x * mpmath.log(d)}, None) for d in deltas for x in shares]
    if check.method == "privacy":
        names = ("N", "P", "T", "epsilon")
        return [(dict(zip(names, p), c=1, delta=1e-5), None) for p in check.instance["N, P, T, epsilon"]]
    built = check.make(statement)
    if isinstance(built, Experiment):
        return [(built.values, built.problem)]
    return [(values.symbol_values, None) for values in built]


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize(("statement", "check"), OUTSIDE, ids=[f"{s.id} {c.name}" for s, c in OUTSIDE])
def test_a_hypothesis_that_is_relaxed_by_a_twentieth_turns_a_verdict(statement: Statement, check: Check) -> None:
    """The instance just outside is within the relaxed hypotheses, and so would be decided."""
    ((symbol, factor),) = (found for words, found in RELAXED.items() if words in check.name)
    for values, problem in instances_of(statement, check):
        assert unmet(statement, values, problem) is not None
        assert unmet(statement, {**values, symbol: float(values[symbol]) * factor}, problem) is None


def test_the_middle_line_measures_the_middle_line() -> None:
    """Clients far apart, whose drifts cancel in A_1: a right side that is ten times too small is detected by the middle
    line, and is not detected if A_1 is measured in its place."""
    statement = get("zhang2021.eq15.sharpened")
    check = check_of(statement, "the middle line, local steps in two dimensions, clients far apart")
    planted = wrong(statement, **less(10, "noise", "gradient"))
    assert monte_carlo.run(planted, check, CPU).verdict == "violated"
    first = replace(check, build=lambda *_: replace(check.make(statement), instead={}))
    evidence = monte_carlo.run(planted, first, CPU)
    assert evidence.verdict == "holds"
    assert evidence.ratio is not None
    assert evidence.ratio < 1e-4
