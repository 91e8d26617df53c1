"""noble2022 Theorem 4.1 (2): the guarantee of the same noise towards the server, and the formula behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbol, Symbols
from dpfl_theory.core.check_inputs import Outcome, PrivacyClaim, PrivacyPoint
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import evaluate_side, sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.privacy import _formulas as formulas
from dpfl_theory.statements.noble2022.privacy import _order as order
from dpfl_theory.statements.noble2022.privacy._symbols import DELTA, EDGES, NOISE, PAPER, SAMPLING, edges, symbols
from dpfl_theory.statements.symbolic import all_equal, equal


def _promised(s: Mapping[str, Any]) -> tuple[Any, Any]:
    """(epsilon sqrt(M/l), delta/2 (1/l + 1)), as printed."""
    return s["epsilon"] * sp.sqrt(s["M"] / s["l"]), s["delta"] / 2 * (1 / s["l"] + 1)


def _guarantee(named: Mapping[str, Any]) -> tuple[Any, Any]:
    """The same at numbers."""
    epsilon, delta = (evaluate(promised, named) for promised in _promised(symbols_of(SERVER)))
    return epsilon, delta


def _budget_of_delta(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """T delta' + delta'' with Step 3's delta' = delta/(2Tl) and delta'' = delta/2 is the printed delta_s."""
    s = symbols_of(statement)
    return equal(s.T * s.delta / (2 * s.T * s.l) + s.delta / 2, _promised(s)[1], "T delta' + delta'', and delta_s")


def _three_steps(claimed: Callable[[Statement, Mapping[str, Any]], Any]) -> Any:
    """claimed: the epsilon that a statement claims at a point."""

    def build(statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
        def points() -> list[PrivacyPoint]:
            found = []
            for point in instance["points"]:
                for name in ("dp-fedavg-record", "dp-scaffold"):
                    limits = formulas.certified(name, point, "server")
                    found.append(PrivacyPoint({**point, "algorithm": name}, claimed(statement, point), *limits))
            return found

        proof = (
            "for all data and parameters: given the past, the K noisy steps of a message are (alpha, K eps'')-RDP "
            "(equation (8), Lemma B.5), so (eps_a, delta')-DP (Lemma B.4); a user sends T messages at most (Lemma B.1)"
        )
        return PrivacyClaim("epsilon towards the server", points, proof)

    return build


def _at_best(statement: Statement, point: Mapping[str, Any]) -> float:
    """The statement's right side at the order and the share x that B.4's three steps choose."""
    order, share = formulas.best_three_steps(point, "server")
    lemma = formulas.step_budget(order, point)
    each = point["K"] * lemma + math.log(point["T"] / (share * point["delta"])) / (order - 1)
    return float(
        evaluate_side(statement, "rhs", {"epsilon_a": each, "T": point["T"], "x": share, "delta": point["delta"]})
    )


def _repaired_sides(s: Symbols) -> Sides:
    each, rounds = s.epsilon_a, s.T
    return Sides(
        {"epsilon": s.epsilon_s},
        {
            "fluctuation": each * sp.sqrt(2 * rounds * sp.log(1 / ((1 - s.x) * s.delta))),
            "drift": rounds * each * (sp.exp(each) - 1),
        },
    )


def _strong_composition(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """eps_a is Lemma B.4 at delta' = x delta/T, and T delta' + (1 - x) delta = delta; eps_a (e^eps_a - 1) is eps_a^2 to
    the second order, so that the right side is sqrt(2T log(1/delta'')) eps_a + T eps_a^2 for small eps_a."""
    s, terms = symbols_of(statement), sides_of(statement).rhs
    own, rest = s.x * s.delta / s.T, (1 - s.x) * s.delta
    found = all_equal(
        (s.T * own + rest, s.delta, "T delta' + delta''"),
        (sp.exp(-((terms["fluctuation"] / s.epsilon_a) ** 2) / (2 * s.T)), rest, "delta'' of the fluctuation"),
        (sp.limit(terms["drift"] / s.epsilon_a**2, s.epsilon_a, 0), s.T, "the drift over eps_a^2, and T"),
    )
    return replace(found, true=found.true or None)


_PROMISED = "It decides delta_s, which is promised together with the order of sigma_g; the sides are that order."
_PART = (
    "It decides the form 'without approximation', whose epsilon is not a relation between symbols; the sides are the "
    "order of sigma_g, which the other checks refute."
)
_POINTS = {
    "points": [
        {"M": 1000, "R": 1000, "l": 0.001, "s": 0.5, "K": 1, "sigma_g": 5.0, "T": 10, "delta": 1e-6},
        {"M": 20, "R": 100_000, "l": 0.5, "s": 0.01, "K": 2, "sigma_g": 0.5, "T": 1, "delta": 1e-6},
        {"M": 100, "R": 4000, "l": 0.05, "s": 0.2, "K": 40, "sigma_g": 10.0, "T": 72, "delta": 1 / 400_000},
        {"M": 100, "R": 4000, "l": 0.9, "s": 0.01, "K": 10, "sigma_g": 20.0, "T": 20, "delta": 1e-5},
        {"M": 10, "R": 4000, "l": 0.9, "s": 0.01, "K": 1, "sigma_g": 50.0, "T": 1, "delta": 1e-5},
    ]
}
_SMALL_NOISE = {"M": 2, "l": 0.5, "K": 1, "T": 8192, "R": 4096, "s": 1 / 4096, "epsilon": 0.5, "delta": 1e-6}
_SHARE = Symbol("x", r"share of $\delta$ that goes into the conversion", (0, 0), "probability", "x")
_EACH = Symbol(
    "epsilon_a",
    r"$K \varepsilon''(\alpha, \sigma_g^2) + \log(T/(x \delta))/(\alpha - 1)$",
    (0, 0),
    "positive",
    r"\epsilon_a",
)

SERVER: Statement = Statement(
    id="noble2022.theorem4.1.server",
    kind="theorem",
    source=Source(PAPER, "Theorem 4.1 (2), Section 4.1; Appendix B.4"),
    symbols=symbols("sigma_g", "u", "v", "s", "l", "T", "K", "M", "R", "epsilon", "delta"),
    hypotheses=order.HYPOTHESES,
    relation=">=",
    sides=order.sides,
    prescription=order.prescription,
    checks=(
        Check("algebra", "the order solved for eps_s", order.solved("server")),
        Check("algebra", "delta_s", _budget_of_delta, part=_PROMISED),
        Check(
            "privacy",
            "no constants",
            order.no_constants(_guarantee, "server"),
            {**order.LADDER, "needed": [4, 16]},
            "violated",
        ),
        Check(
            "privacy",
            "the order with the constant 1",
            order.at_order(_guarantee, "server"),
            {"points": [*order.ONE_ROUND, _SMALL_NOISE]},
            "violated",
        ),
        *order.edges(_guarantee, "server"),
        Check(
            "privacy",
            "without approximation",
            _three_steps(lambda _, point: formulas.three_steps(point, "server")),
            _POINTS,
            part=_PART,
        ),
    ),
    expected="violated",
    uses=(
        "noble2022.claim4.1.server",
        "noble2022.lemmaB.1",
        "noble2022.lemmaB.4",
        "noble2022.lemmaB.5",
        "noble2022.eq8",
    ),
)

REPAIRED: Statement = Statement(
    id="noble2022.theorem4.1.server.repaired",
    kind="theorem",
    source=Source(PAPER, "Theorem 4.1 (2), Section 4.1; Appendix B.4"),
    symbols=(*symbols("epsilon_s", "T", "delta"), _EACH, _SHARE, *symbols("M", "R", "l", "s", "K", "sigma_g")),
    hypotheses=(SAMPLING, NOISE, DELTA),
    relation="==",
    sides=_repaired_sides,
    checks=(
        Check("algebra", "the shares of delta, and small eps_a", _strong_composition),
        Check("privacy", "certified limits", _three_steps(_at_best), _POINTS),
        *edges(_three_steps(_at_best), {"points": _POINTS["points"][:1]}, EDGES),
    ),
    uses=("noble2022.lemmaB.1", "noble2022.lemmaB.4", "noble2022.lemmaB.5", "noble2022.lemmaB.7", "noble2022.eq8"),
)

STATEMENTS = (SERVER, REPAIRED)
