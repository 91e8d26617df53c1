"""noble2022 Theorem 4.2 read for every delta: its logarithms lost factors 2 that no constant restores there.

Runs at sigma_g* for which no step size, no weights and no constant save the printed bound:

One dimension, equal users with the Huber loss F(x) = x^2/2 for |x| <= 1 and |x| - 1/2 beyond, so that nu = C = 1 and no
gradient is ever clipped; x^0 = D_0 = 1, F(x^0) - F* = 1/2, K = s = R = lM = 1, varsigma = G = 0, B = 1.

Let tau be the deviation of a step's noise, and W the weight on x^1, ..., x^T. Then xbar - x^0 = eta~ (N + r): r gathers
gradients, |r| <= 3TW (of a step: its own, its user's control variate and the server's; 1 without control variates), and
N is a sum of noise. Given the cohorts N is a centred Gaussian with deviation at least W (1 - 1/M) tau for M > 1: the
first user's warm control variate counts only in round 1, with coefficient 1 - 1/M. (Without control variates, and for
one user, where they cancel, the first step's noise has the deviation W tau.) Where N >= 3TW, xbar >= x^0 and F(xbar) >=
F(x^0). So E F(xbar) - F* >= (1/2)(1/2 - 3T/((1 - 1/M) tau sqrt(2 pi))), whatever the step sizes and weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Statement
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.rates import theorem4_2 as asymptotic

__all__ = ["RARE", "SURE", "checks", "floor_and_bound"]


SURE, RARE = "delta tends to 1", "Tl = delta"
"""One user, epsilon = 1/T, log(1/delta) = T^(-5); any delta, epsilon = delta/T^2 with M = T/delta users, lM = 1."""

_GRIDS: Mapping[str, Mapping[str, Any]] = {
    SURE: {"T": ["1e3", "1e6", "1e9"]},
    RARE: {"T": ["1e12", "1e18", "1e24"], "delta": "1e-6"},
}


def floor_and_bound(statement: Statement, family: str, delta: Any = None) -> tuple[Any, Any]:
    """The floor that no step size and no weights get below, and the right side, as expressions of T and c.

    delta: of the second family.
    """
    s = symbols_of(statement)
    T = s.T
    at = {s[name]: sp.Integer(1) for name in ("K", "s", "R", "nu", "C", "D0", "d")} | {s.varsigma: sp.Integer(0)}
    if "G" in s:
        at |= {s.G: sp.Integer(0), s.B: sp.Integer(1)}
    if family == SURE:
        users, at = sp.Integer(1), {**at, s.delta: sp.exp(-(T**-5)), s.epsilon: 1 / T}
    else:
        users, at = T / delta, {**at, s.delta: delta, s.epsilon: delta / T**2}
    at |= {s.M: users, s.l: 1 / users}
    tau = 2 * prescription_of(statement)["sigma_g"].subs(at)
    alone = 1 if users == 1 else 1 - 1 / users
    floor = (sp.Rational(1, 2) - 3 * T / (alone * tau * sp.sqrt(2 * sp.pi))) / 2
    return floor, sp.simplify(total(statement).subs(at))


def _refuted(family: str) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    def build(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
        s = symbols_of(statement)
        delta = sp.Rational(instance["delta"]) if "delta" in instance else None
        floor, right = floor_and_bound(statement, family, delta)
        stays, tends = sp.limit(floor, s.T, sp.oo), sp.limit(right.subs(s.c, 1), s.T, sp.oo)
        grid = [sp.Rational(T) for T in instance["T"]]
        needed = [float((floor / right).subs(s.c, 1).subs(s.T, T).evalf(30)) for T in grid]
        proportional = sp.simplify(sp.diff(right, s.c) * s.c - right) == 0
        rising = needed == sorted(needed) and needed[-1] > 100 * needed[0] > 0
        refuted = stays == sp.Rational(1, 4) and tends == 0 and proportional and rising
        shown = ", ".join(f"{c:.3g} at T = {T}" for c, T in zip(needed, instance["T"]))
        return Outcome(
            False if refuted else None,
            f"for all step sizes and weights the excess stays above what tends to {stays}, while the right side tends "
            f"to {tends} for every constant c: c must be at least {shown}",
            {"floor": str(floor), "right": str(right), "needed": dict(zip(instance["T"], needed))},
        )

    return build


def checks() -> tuple[Check, ...]:
    """Both families."""
    return tuple(
        Check("algebra", f"no constant serves: {family}", _refuted(family), grid, "violated")
        for family, grid in _GRIDS.items()
    )


DEFINED = Hypothesis(
    lambda s: (s.delta > 0, s.delta < 1, s.T * s.l >= s.delta),
    r"$0 < \delta < 1$ and $T l \ge \delta$, so that the privacy bound is a number",
)


def _read_literally(id_: str, statement: Statement) -> Statement:
    return replace(
        statement,
        id=id_,
        hypotheses=tuple(DEFINED if a is asymptotic.SMALL else a for a in statement.hypotheses),
        checks=checks(),
        expected="violated",
        reading_of=statement.id,
    )


SCAFFOLD = _read_literally("noble2022.theorem4.2.scaffold.every-delta", asymptotic.SCAFFOLD)
FEDAVG = _read_literally("noble2022.theorem4.2.fedavg.every-delta", asymptotic.FEDAVG)
STATEMENTS = (FEDAVG, SCAFFOLD)
