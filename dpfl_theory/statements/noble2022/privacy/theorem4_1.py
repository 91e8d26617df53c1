"""noble2022 Theorem 4.1 (1): the noise that gives (O(epsilon), delta)-DP towards a third party, and B.4's formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Outcome, PrivacyClaim, PrivacyPoint, Source, Statement
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.privacy import _attacks as attacks
from dpfl_theory.statements.noble2022.privacy import _formulas as formulas
from dpfl_theory.statements.noble2022.privacy import _order as order
from dpfl_theory.statements.noble2022.privacy._divergences import subsampled_cgf
from dpfl_theory.statements.noble2022.privacy._symbols import PAPER, symbols
from dpfl_theory.statements.symbolic import equal


def _claimed(instance: Mapping[str, Any], low: float, high: float) -> list[PrivacyPoint]:
    """The same limits compared with the three steps and with the paragraph Implementation."""
    return [
        PrivacyPoint({**instance, "formula": "Steps 1 to 3"}, formulas.three_steps(instance), low, high),
        PrivacyPoint({**instance, "formula": "Implementation"}, formulas.implementation(instance), low, high),
    ]


def _participation(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    """(a): losses are linear, and the other users' gradients show who takes part; the probability that they fail to
    show it is conceded."""

    def points() -> list[PrivacyPoint]:
        return [p for at in instance["points"] for p in _claimed(at, *formulas.certified("dp-fedavg-record", at))]

    return PrivacyClaim("epsilon of DP-FedAvg towards a third party", points)


def _masses(instance: Mapping[str, Any], gain: float | None) -> attacks.Masses:
    run = formulas.mechanism("dp-fedavg-record", instance)
    if gain is not None:
        return attacks.amplified(run.batch, instance["s"], run.cohort, instance["sigma_g"], gain)
    return attacks.contracted(run.batch, instance["s"], run.cohort, instance["sigma_g"], instance["K"])


def _aggregation(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    """(b): one round, so that DP-FedAvg and DP-SCAFFOLD are the same."""

    def points() -> list[PrivacyPoint]:
        found = []
        for at, gain in instance["points"]:
            low = attacks.largest_epsilon(_masses(at, gain), at["l"], at["delta"])
            found += _claimed(at, low, formulas.certified("dp-fedavg-record", at)[1])
        return found

    return PrivacyClaim("epsilon of either algorithm towards a third party", points)


def _first_step(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    """(b): K epsilon''(alpha, lM sigma_g^2) against the divergence of the sum, given that the user takes part."""
    from dpfl_theory.privacy.noble2022 import eq8

    def points() -> list[PrivacyPoint]:
        found = []
        for at, gain, alpha in instance["points"]:
            claimed = at["K"] * eq8(alpha, at["s"], at["l"] * at["M"] * at["sigma_g"] ** 2)
            high = at["K"] * subsampled_cgf(alpha, at["s"], at["sigma_g"])[1] / (alpha - 1)
            low = attacks.renyi_low(_masses(at, gain), alpha)
            found.append(PrivacyPoint({**at, "alpha": alpha}, claimed, low, high))
        return found

    return PrivacyClaim("the Renyi divergence of a round's sum", points)


def _minimum(_: Statement, instance: Mapping[str, Any]) -> Outcome:
    """a (alpha + 1) + b/(alpha - 1) = 2 sqrt(a b) + 2 a + a square; the paper omits the constants 2."""
    a, b, t = sp.symbols("a b t", positive=True)  # t = alpha - 1
    square = (sp.sqrt(a * t) - sp.sqrt(b / t)) ** 2
    return equal(a * (t + 2) + b / t - sp.expand(square), 2 * sp.sqrt(a * b) + 2 * a, "the objective less a square")


def _guarantee(instance: Mapping[str, Any]) -> tuple[Any, Any]:
    return instance["epsilon"], instance["delta"]


_MINIMUM = "It decides a step of B.4's derivation of the order; the other checks refute the rest."
_PART = (
    "It decides the form 'without approximation', whose epsilon is not a relation between symbols; the sides are the "
    "order of sigma_g, which the other checks refute."
)
_MANY_USERS = [
    {"M": M, "l": 1 / M, "K": 1, "T": 2 * M * M, "R": 10_000, "s": 0.1, "epsilon": 0.5, "delta": 1e-6}
    for M in (100, 1000, 10_000)
]
_SMALL_NOISE = {"M": 2, "l": 0.5, "K": 1, "T": 4096, "R": 2048, "s": 1 / 2048, "epsilon": 0.5, "delta": 1e-6}
_ONE_USER = {"M": 1000, "R": 1000, "l": 0.001, "s": 0.5, "K": 1, "sigma_g": 5.0, "T": 1, "delta": 1e-6}
_TWO_STEPS = {"M": 20, "R": 100_000, "l": 0.5, "s": 0.01, "K": 2, "sigma_g": 0.5, "T": 1, "delta": 1e-6}
_MANY_STEPS = {"M": 1000, "R": 10_000, "l": 0.5, "s": 0.003, "K": 1000, "sigma_g": 0.2, "T": 1, "delta": 1e-6}
_FEW_STEPS = {"M": 200, "R": 2000, "l": 0.5, "s": 0.5, "K": 6, "sigma_g": 1.0, "T": 1, "delta": 1e-6}

THIRD_PARTY: Statement = Statement(
    id="noble2022.theorem4.1.third-party",
    kind="theorem",
    source=Source(PAPER, "Theorem 4.1 (1), Section 4.1; Appendix B.4"),
    symbols=symbols("sigma_g", "u", "v", "s", "l", "T", "K", "M", "R", "epsilon", "delta"),
    hypotheses=order.HYPOTHESES,
    relation=">=",
    sides=order.sides,
    prescription=order.prescription,
    checks=(
        Check("algebra", "the order solved for epsilon", order.solved("third-party")),
        Check("algebra", "the minimum over alpha", _minimum, part=_MINIMUM),
        Check("privacy", "no constants", order.no_constants(_guarantee, "third-party"), order.LADDER, "violated"),
        Check(
            "privacy",
            "the order with the constant 1",
            order.at_order(_guarantee, "third-party"),
            {"points": [*order.ONE_ROUND, _SMALL_NOISE]},
            "violated",
        ),
        *order.edges(_guarantee, "third-party"),
        Check(
            "privacy",
            "the order at fixed s and delta, more and more users",
            order.at_order(_guarantee, "third-party"),
            {"points": _MANY_USERS},
            "violated",
        ),
        Check(
            "privacy",
            "the order at fixed s and delta, x^T alone, losses that keep the rounds apart",
            order.at_order(_guarantee, "third-party"),
            {"points": [{**at, "R": 10**18, "enlarged": 1e12} for at in _MANY_USERS[1:2]]},
            "violated",
        ),
        Check(
            "privacy",
            "who takes part can be seen, K = 1",
            _participation,
            {"points": [_ONE_USER, {**_ONE_USER, "T": 10}, {**_ONE_USER, "M": 100, "l": 0.01}]},
            "violated",
            _PART,
        ),
        Check(
            "privacy",
            "a user's second step shows its first, K = 2",
            _aggregation,
            {"points": [[_TWO_STEPS, 50.0], [{**_TWO_STEPS, "M": 100}, 70.0]]},
            "violated",
            _PART,
        ),
        Check(
            "privacy",
            "the other users forget their noise, step size 1/nu",
            _aggregation,
            {"points": [[_MANY_STEPS, None]]},
            "violated",
            _PART,
        ),
        Check(
            "privacy",
            "Step 1 as Renyi DP",
            _first_step,
            {"points": [[_TWO_STEPS, 50.0, 2], [_TWO_STEPS, 50.0, 4], [_FEW_STEPS, None, 2], [_MANY_STEPS, None, 2]]},
            "violated",
            _PART,
        ),
    ),
    smoke=("Step 1 as Renyi DP",),
    expected="violated",
    uses=(
        "noble2022.claim4.1.third-party",
        "noble2022.lemmaB.1",
        "noble2022.lemmaB.2",
        "noble2022.lemmaB.4",
        "noble2022.lemmaB.5",
        "noble2022.lemmaB.6",
        "noble2022.lemmaB.7",
        "noble2022.eq8",
    ),
)

STATEMENTS = (THIRD_PARTY,)
