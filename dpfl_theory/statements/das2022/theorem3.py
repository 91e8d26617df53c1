"""das2022 Theorem 3: the noise that makes Algorithm 1 (epsilon, delta)-differentially private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbol, Symbols, checks, whole
from dpfl_theory.core.check_inputs import ConstantClaim, Escape
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements import prescribed_noise as noise
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.prescribed_noise import BUDGET, repaired_checks, sufficiency_claim

_VARIANCE = Symbol(
    "noise_variance", "variance of each coordinate of the averaged update's noise", (2, -2), "positive", r"\sigma^2"
)
_RANGE = Symbol("u", "the constant that $O(r^2 K/n^2)$ hides", (0, 0), "positive", "u")


def _squared(s: Mapping[str, Any], variance: Any) -> Any:
    """The squared noise multiplier of K averages of r messages, one of which moves the average by C/r at most."""
    return s["r"] ** 2 * variance / (s["C"] ** 2 * s["K"])


def _printed(s: Symbols) -> Any:
    return s.q * s.K * s.C**2 * sp.log(1 / s.delta) / (s.n**2 * s.epsilon**2)


def _enough(s: Symbols) -> Any:
    return 4 * s.K * s.C**2 * sp.log(1 / s.delta) / (s.r**2 * s.epsilon**2)


def _sides(s: Symbols, variance: Any) -> Sides:
    return Sides({"noise": s.noise_variance}, {"prescribed variance": variance})


def _returned_iterate(statement: Statement, u: Any, q: Any) -> Escape:
    """epsilon = 64 s^2, s^2 = q ln(1/delta), in enough rounds that u admits it; only w_priv is seen."""
    epsilon, delta = noise.budget(q, 64)
    at = {"u": u, "q": q, "n": 100, "r": 100, "C": 1, "K": int(epsilon / u) + 2, "epsilon": epsilon, "delta": delta}
    variance = noise.variance(statement, at)
    with mpmath.workdps(65):
        of_a_round = mpmath.sqrt(_squared(at, variance) * at["K"])
    return Escape(at, delta, noise.returned_sum_delta(epsilon, of_a_round, at["K"]))


def _no_constant_for_the_iterate(statement: Statement, instance: Mapping[str, Any]) -> ConstantClaim:
    argument = (
        "For any u and q let s^2 = q ln(1/delta) >= 1 with delta <= 1e-5, epsilon = 64 s^2 and K > max(epsilon/u, 2). "
        "Take every client in every round and linear objectives. The event that the returned iterate has moved by more "
        "than a quarter of the way shows delta >= Phi(16 sqrt(2) s)/3 - e^epsilon Phi(-16 s) > 0.33, so no constants "
        "exist"
    )
    return noise.existence(instance, partial(_returned_iterate, statement), argument, "q")


def _of(r: int) -> Mapping[str, Any]:
    return {"delta": ["1e-5"], "share": ["1"], "symbols": {"n": 100, "r": r, "K": 500, "C": 40}}


THEOREM3: Statement = das.statement(
    id="das2022.theorem3",
    kind="theorem",
    source=Source(das.PAPER, "Theorem 3, Section 3"),
    symbols=das.NOTATION(_VARIANCE, _RANGE),
    hypotheses=(
        Hypothesis(
            lambda s: (s.epsilon > 0, s.epsilon < s.u * s.r**2 * s.K / s.n**2), (r"$0 < \varepsilon < u r^2 K/n^2$")
        ),
        Hypothesis(
            lambda s: (s.r >= 1, s.r <= s.n),
            (r"$r$ of the $n$ clients take part in a round on average, $1 \le r \le n$"),
        ),
        das.ROUNDS,
        noise.DELTA,
    ),
    relation="==",
    sides=lambda s: _sides(s, _printed(s)),
    prescription=lambda s: {"noise_variance": _printed(s)},
    checks=(
        noise.rounds_together(_squared, "q", {"r": "n"}),
        Check(
            "privacy",
            "no constants, when only the returned iterate is seen",
            _no_constant_for_the_iterate,
            {**noise.LADDER, "needed": [["5", "1e-6"], *noise.NEEDED]},
            "violated",
        ),
        noise.no_constants(
            *("no constants, when all rounds are seen", _squared),
            lambda K: {"n": 100, "r": 100, "C": 1, "K": K},
            *("q", [["5", "1e-6"], *noise.NEEDED]),
        ),
    ),
    smoke=("no constants, when all rounds are seen",),
)

REPAIRED: Statement = replace(
    THEOREM3,
    id="das2022.theorem3.repaired",
    symbols=das.NOTATION(_VARIANCE),
    hypotheses=(
        BUDGET,
        Hypothesis(
            lambda s: (s.r >= 1, s.r <= s.n, whole(s.r)), (r"every cohort has exactly $r$ clients, $1 \le r \le n$")
        ),
        das.ROUNDS,
        noise.DELTA,
    ),
    sides=lambda s: _sides(s, _enough(s)),
    prescription=lambda s: {"noise_variance": _enough(s)},
    checks=(
        *repaired_checks(_squared, {"n": 100, "r": 80, "K": 500, "C": 40}, {"whole rounds": {"K": "+1/50"}}),
        *checks("privacy", partial(sufficiency_claim, _squared), {"every client, r = n": _of(100)}),
        *checks("privacy", partial(sufficiency_claim, _squared), {"just outside r <= n": _of(101)}, "not-applicable"),
    ),
)

STATEMENTS = (THEOREM3, REPAIRED)
