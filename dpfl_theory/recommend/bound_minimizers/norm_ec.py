"""shulgin2025 Theorem 2 over gamma, beta, alpha and K at the noise of Corollary 2, as a geometric program.

With N = K + 1 rounds, gamma = way/N, beta = beta_0/N and a = alpha + R every term of the bound is a monomial, and none
rises with N. So all allowed rounds are used, or enough to come near the limit of the bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import SAME, SHARE
from dpfl_theory.recommend.bound_minimizers.geometric import Program, Rows, program_at, rows_of
from dpfl_theory.recommend.bound_minimizers.hypotheses import inequalities
from dpfl_theory.statements import get

__all__ = ["minimize", "program"]

VARIABLES = ("way", "beta_0", "a", "N")


@cache
def _rows() -> Rows:

    theorem, corollary = get("shulgin2025.theorem2"), get("shulgin2025.corollary2")
    s, own = symbols_of(theorem), symbols_of(corollary)
    way, beta_0, a, N = sp.symbols(" ".join(VARIABLES), positive=True)
    sigma = prescription_of(corollary)["sigma"].subs({own.K: N - 1})
    chosen = {s.sigma: sigma, s.gamma: way / N, s.beta: beta_0 / N, s.alpha: a - s.R, s.K: N - 1}
    limits = [small / large for small, large in inequalities(theorem)]
    limits += [s.R / (s.alpha + s.R), 1 / (s.K + 1)]
    return rows_of([total(theorem).subs(chosen), *(sp.simplify(x.subs(chosen)) for x in limits)], VARIABLES)


def program(known: Mapping[str, float], fixed: Mapping[str, float]) -> Program:
    """The program at values of the symbols; fixed: the given ones of ``beta_0`` and ``a``."""

    return program_at(get("shulgin2025.corollary2"), _rows(), known).substitute(fixed)


def minimize(
    own: Program, rounds: int | None, trivial: float, first: int, smooth: float | None
) -> tuple[dict[str, float], int, float, str]:
    """The variables (none where no point is found), N, the lower limit and the reason.

    first: the number of rounds that is preferred. smooth: R where alpha is free: alpha = 0 where it costs nothing.
    """
    found, count, lower = own.with_count("N", rounds, trivial, first)
    made = (
        "all given rounds are used"
        if rounds is not None
        else f"it tends to {lower:.6g}; their number is the printed rule's, or the least with a bound at most "
        f"{SHARE:.0%} above that"
    )
    how = (
        "a geometric program in gamma, beta and alpha was solved, and its dual value is the lower bound, by the "
        f"inequality of the means. It falls with the rounds: {made}"
    )
    if found is None:
        return {}, count, lower, how
    values, here = found.values, own.substitute({"N": float(count)})
    if smooth is not None:
        flat = here.substitute({"a": smooth})
        other = flat.solve()
        if other is not None and flat.value(other.values) <= here.value(values) * (1 + SAME):
            values = {**other.values, "a": smooth}
    return values, count, lower, how
