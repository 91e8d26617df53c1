"""das2022 Theorem 4 over gamma, alpha, E and K, as a geometric program.

The prescribed K = 2 alpha gamma/(C rho^2), C = GE, replaces alpha, or gamma where alpha is given. The bound right/(c -
falling) on the left side's expectation is the least t with right/t + falling <= c.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of, total
from dpfl_theory.core.inverse import prescribed
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import SAME, Optimum, near_limit
from dpfl_theory.recommend.bound_minimizers.geometric import Monomial, Program, Rows, program_at, rows_of
from dpfl_theory.recommend.bound_minimizers.hypotheses import inequalities
from dpfl_theory.recommend.evaluate import rounded_up

__all__ = ["infimum", "minimize", "nearest"]

FREE = ("alpha", "gamma", "E")
Known = Mapping[str, float]
"""Values of the symbols, those of ``FREE`` where they are given."""


@cache
def _rows(theorem: Statement, given: frozenset[str]) -> Rows:
    s, chosen = symbols_of(theorem), prescription_of(theorem)
    K, t = sp.Symbol("K", positive=True), sp.Symbol("t", positive=True)
    other = "gamma" if "alpha" in given else "alpha"
    (solved,) = sp.solve(sp.Eq(chosen["K"].subs(s.C, chosen["C"]), K), s[other])

    def entered(expression: Any) -> Any:
        return sp.expand(expression.subs({s.C: chosen["C"]}).subs(s[other], solved).subs(s.K, K))

    (term,), unknown = sides_of(theorem).lhs.values(), {s[e.name]: 0 for e in theorem.expectations}
    (bounded,) = (s[e.name] for e in theorem.expectations if s[e.name] in term.free_symbols)
    coefficient = entered(sp.expand(term).coeff(bounded))
    constant = coefficient.as_coeff_Add()[0]
    falling = sp.expand(constant - coefficient)
    right = entered(total(theorem).subs(unknown))
    limits = [(right / t + falling) / constant, 1 / s.E]
    limits += [entered(small / large) for small, large in inequalities(theorem)]
    return rows_of((t, *limits), [name for name in ("gamma", "E", "K", "t") if name not in given])


def _program(theorem: Statement, known: Known, rounds: int | None) -> Program:
    """The program; gamma is not a variable where alpha is given, since K represents it."""
    found = program_at(theorem, _rows(theorem, frozenset(FREE) & frozenset(known)), known)
    limit = [] if rounds is None else [[Monomial(1 / rounds, {"K": Fraction(1)})]]
    return replace(found, constraints=[*found.constraints, *limit])


def infimum(theorem: Statement, known: Known) -> float:
    """The infimum of the bound where alpha and K are free, infinite where no choice meets the hypotheses."""
    limit = _program(theorem, known, None).without_falling("E").without_falling("K").solve()
    return math.inf if limit is None else limit.values["t"]


def minimize(theorem: Statement, known: Known, rounds: int | None, trivial: float, gamma: float) -> Optimum:
    """The least bound, with its gamma, alpha, E and K; rounds: the largest K; gamma: as in `nearest`."""
    program = _program(theorem, known, rounds)
    if "alpha" in known:
        found, lower, how = _whole(theorem, known, program, rounds)
    else:
        found, lower, how = _long(theorem, known, program, rounds, trivial)
    if found is None:
        return Optimum(nearest(theorem, known, gamma), math.inf)
    free = "gamma" if "alpha" in known else "alpha"  # the one that is not given makes the prescribed K whole
    at = {"gamma": 1.0, "alpha": 1.0, **found, **known}
    return Optimum(_choice(theorem, at, round(found["K"]), free), lower, how)


def nearest(theorem: Statement, known: Known, gamma: float) -> dict[str, Any]:
    """The choice that comes nearest to the hypotheses with this gamma, where that is not given."""
    at = {"gamma": gamma, "E": 1, **known}
    at.setdefault("alpha", max(1.0, 2 * at["rho"] * at["E"]))
    return _choice(theorem, at, rounded_up(prescribed(theorem, at)["K"]), "gamma")


def _choice(theorem: Statement, at: Known, K: int, free: str) -> dict[str, Any]:
    """The hyper-parameters of a whole K, which is proportional to the free one."""
    own = {**at, free: at[free] * K / prescribed(theorem, at)["K"]}
    return {"local_steps": round(own["E"]), "alpha": own["alpha"], "gamma": own["gamma"], "rounds": K}


HOW = "a geometric program in {} was solved, and its dual value is the lower bound, by the inequality of the means"
Found = tuple[dict[str, float] | None, float, str]
"""The variables, the lower limit, and the reason."""


def _long(theorem: Statement, known: Known, program: Program, rounds: int | None, trivial: float) -> Found:
    """Free alpha: the bound falls with K."""
    if "E" not in known:  # E is in the bound only by E/alpha, and may be as large as alpha >= 1 needs
        program = program.without_falling("E")
    found, K, lower = program.with_count("K", rounds, trivial)
    how = HOW.format("gamma, of which alpha follows,")
    if rounds is not None:
        how += ". It falls with K, so all allowed rounds are used"
    if found is None:
        return None, math.inf, how
    if rounds is None:
        how += (
            f". The bound falls with alpha and K without a limit, towards {lower:.6g}; K is the least with a bound of "
            f"at most {near_limit(program.infimum('K', None), trivial):.6g}"
        )
    values = {**found.values, "K": float(K)}
    if "E" not in known:  # alpha is proportional to E K/gamma by the prescribed K
        one = prescribed(theorem, {**values, **known, "E": 1, "alpha": 1})["K"]
        values["E"] = max(1.0, math.ceil(one / values["K"] - SAME))
        how += ", with the fewest local steps that alpha >= 1 allows"
    return values, lower, how


def _whole(theorem: Statement, known: Known, program: Program, rounds: int | None) -> Found:
    """Whole E and K, for given alpha: next to the real minimum, or to the prescription of a given gamma."""
    best, lower = (math.inf, dict[str, float]()), math.inf

    def tried(E: int, real: float) -> None:
        """Whole K next to a real one: for given E the bound is convex in log K."""
        nonlocal best, lower
        for K in _next(real):
            found = program.substitute({"E": E, "K": K}).solve()
            if found is not None:
                lower = min(lower, found.lower)
                best = min(best, (found.values["t"], {**found.values, "E": E, "K": K}), key=lambda f: f[0])

    given = int(known["E"]) if "E" in known else None
    if "gamma" in known:  # it fixes E K, and then fewer local steps are better
        one = prescribed(theorem, {**known, "E": 1})["K"]
        E = given or max(1, math.ceil(one / (rounds or math.inf)))
        tried(E, one / E)
    elif given is not None:
        point = program.substitute({"E": given}).solve()
        if point is not None:
            tried(given, point.values["K"])
    elif (relaxed := program.solve()) is not None:
        middle = max(1, math.floor(relaxed.values["E"] + SAME))
        for steps in (range(middle, 0, -1), itertools.count(middle + 1)):
            for E in steps:  # until even real K are worse, and with them all further E
                point = program.substitute({"E": E}).solve()
                if point is None or point.values["t"] >= best[0] * (1 - SAME):
                    lower = lower if point is None else min(lower, point.lower)
                    break
                tried(E, point.values["K"])
    how = HOW.format("E and K, of which gamma follows,") + (
        "; whole E and K next to the minimum were compared, until the bound, which is convex in their logarithms, is "
        "larger"
    )
    return (best[1], lower, how) if best[1] else (None, math.inf, how)


def _next(real: float) -> list[int]:
    """The whole numbers of at least 1 next to a real one."""
    return sorted({max(1, math.floor(real + SAME)), max(1, math.ceil(real - SAME))})
