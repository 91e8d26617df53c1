"""shulgin2025 Theorem 2 over gamma, beta, alpha and K at the noise of Corollary 2, as a geometric program.

With N = K + 1 rounds, gamma = way/N, beta = beta_0/N and a = alpha + R every term of the bound is a monomial, and none
rises with N. So all allowed rounds are used, or enough to come near the limit of the bound.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import SAME, SHARE, Optimum, count_for
from dpfl_theory.recommend.bound_minimizers.geometric import Monomial, Program, Solution, monomials
from dpfl_theory.recommend.bound_minimizers.hypotheses import inequalities

if TYPE_CHECKING:
    from dpfl_theory.recommend.algorithms.dp_norm_ec import Shulgin2025

__all__ = ["bound_infimum", "minimize_bound"]

VARIABLES = ("way", "beta_0", "a", "N")


@cache
def _rows() -> list[list[tuple[Any, dict[str, Fraction]]]]:
    """The program's sums, the objective's first; coefficients are expressions in the symbols that are not variables."""
    from dpfl_theory.statements import get

    theorem, corollary = get("shulgin2025.theorem2"), get("shulgin2025.corollary2")
    s, own = symbols_of(theorem), symbols_of(corollary)
    way, beta_0, a, N = sp.symbols(" ".join(VARIABLES), positive=True)
    sigma = prescription_of(corollary)["sigma"].subs({own.K: N - 1})
    chosen = {s.sigma: sigma, s.gamma: way / N, s.beta: beta_0 / N, s.alpha: a - s.R, s.K: N - 1}
    limits = [small / large for small, large in inequalities(theorem)]
    sums = [total(theorem), *limits, s.R / (s.alpha + s.R), 1 / (s.K + 1)]
    return [monomials(sp.simplify(x.subs(chosen)) if x is not sums[0] else x.subs(chosen), VARIABLES) for x in sums]


def _program(setting: Shulgin2025) -> Program:
    from dpfl_theory.recommend.evaluate import value
    from dpfl_theory.statements import get

    corollary, known = get("shulgin2025.corollary2"), setting.symbols()
    rows = [
        [Monomial(value(corollary, coefficient, known), exponents) for coefficient, exponents in sum_]
        for sum_ in _rows()
    ]
    fixed = {"beta_0": setting.beta_0, "a": None if setting.alpha is None else setting.alpha + setting.residual}
    program = Program(rows[0], rows[1:]).substitute({name: x for name, x in fixed.items() if x is not None})
    return Program(program.objective, [row for row in program.constraints if any(m.exponents for m in row)])


def bound_infimum(setting: Shulgin2025) -> float:
    """The infimum of the bound, infinite where no choice meets the hypotheses."""
    program = _program(setting)
    limit = program.substitute({"N": float(setting.rounds)}) if setting.rounds else program.without_falling("N")
    found = limit.solve()
    return math.inf if found is None else limit.value(found.values)


def minimize_bound(setting: Shulgin2025) -> Optimum:
    """The least bound, with its gamma, beta, alpha and number of rounds."""
    from dpfl_theory.recommend.evaluate import failures
    from dpfl_theory.statements import get

    theorem = get("shulgin2025.theorem2")
    found, rounds, lower = _solved(setting, _program(setting))
    values = {} if found is None else found.values
    beta_0, alpha = setting.beta_0 or values.get("beta_0", setting.residual), setting.alpha
    if alpha is None:
        alpha = max(0.0, values.get("a", 0.0) - setting.residual)
    choice = setting.choice(beta_0=beta_0, alpha=alpha, rounds=rounds)
    bound = math.fsum(setting.terms(choice).values())
    if values.get("way", math.inf) / rounds < choice["gamma"]:  # the solver's step, if it is not the longest
        other = {**choice, "gamma": values["way"] / rounds}
        if (least_ := math.fsum(setting.terms(other).values())) < bound:
            choice, bound = other, least_
    unmet = failures(theorem, setting.at(choice))
    if found is None or unmet:
        why = unmet or ["no value within these inputs meets them"]
        return Optimum(choice, math.inf, math.inf, "no choice meets the hypotheses", tuple(why))
    made = (
        "all given rounds are used"
        if setting.rounds is not None
        else (
            f"it tends to {lower:.6g}; their number is the printed rule's, or the least with a bound at most "
            f"{SHARE:.0%} above that"
        )
    )
    how = (
        "a geometric program in gamma, beta and alpha was solved, and its dual value is the lower bound, by the "
        f"inequality of the means. It falls with the rounds: {made}"
    )
    return Optimum(choice, bound, min(lower, bound), how)


def _solved(setting: Shulgin2025, program: Program) -> tuple[Solution | None, int, float]:
    """The variables, the rounds, and the lower bound."""
    rounds, lower = setting.rounds, 0.0
    if rounds is None:
        unlimited = program.without_falling("N")
        limit = unlimited.solve()
        if limit is None:
            return None, 1, math.inf
        lower, near = limit.lower, unlimited.value(limit.values)
        enough, trivial = (1 + SHARE) * near, setting.trivial()[0]
        if near < trivial:
            enough = min(enough, (near + trivial) / 2)

        def short(N: int) -> bool:
            own = program.substitute({"N": float(N)})
            found = own.solve()
            return found is None or own.value(found.values) > enough

        rounds = 1 if setting.alpha is None else setting.printed()["rounds"]
        if short(rounds):
            rounds = count_for(short)
    own = program.substitute({"N": float(rounds)})
    found = own.solve()
    if found is None:
        return None, rounds, math.inf
    if setting.alpha is None:  # alpha = 0 where it costs nothing
        smooth = own.substitute({"a": setting.residual})
        other = smooth.solve()
        if other is not None and smooth.value(other.values) <= own.value(found.values) * (1 + SAME):
            found = Solution({**other.values, "a": setting.residual}, found.lower)
    return found, rounds, found.lower if setting.rounds is not None else lower
