"""zhang2021 Corollary 3.2.1, repaired, over both steps, Q and T, as a geometric program.

With way = eta_g eta_l Q T and reach = eta_l Q, the drift rises with the reach, which is in no other term. All other
terms fall with Q and T or do not depend on them. So the least value is approached as the reach tends to 0, and T (and
Q) to infinity where they are not given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import SHARE, Optimum
from dpfl_theory.recommend.bound_minimizers.geometric import Program, Rows, program_at, rows_of
from dpfl_theory.recommend.bound_minimizers.hypotheses import inequalities
from dpfl_theory.statements import get

__all__ = ["infimum", "minimize"]

BOUND = "zhang2021.corollary3.2.1.repaired"


@cache
def _rows() -> Rows:

    theorem = get(BOUND)
    s = symbols_of(theorem)
    way, reach = sp.symbols("way reach", positive=True)
    steps = {s.eta_l: reach / s.Q, s.eta_g: way / (reach * s.T)}
    sums = [total(theorem), *(small / large for small, large in inequalities(theorem))]
    return rows_of([x.subs(steps, simultaneous=True) for x in sums], ("way", "reach", "Q", "T"))


def _program(known: Mapping[str, float]) -> Program:
    """The program at the symbols' values; Q and T are variables where they have none."""

    counts = {name: float(known[name]) for name in ("Q", "T") if name in known}
    return program_at(get(BOUND), _rows(), known).substitute(counts)


def _limit(known: Mapping[str, float]) -> Program:
    """The program as the reach tends to 0, and Q and T to infinity where they are not given."""
    return _program(known).without_rising("reach").without_falling("Q").without_falling("T")


def infimum(known: Mapping[str, float]) -> float:
    """The infimum of the bound at values of the symbols, infinite where no choice meets the hypotheses."""
    limit = _limit(known)
    found = limit.solve()
    return math.inf if found is None else limit.value(found.values)


def minimize(known: Mapping[str, float], trivial: float, longest: Callable[[int, int], float]) -> Optimum:
    """The choice with the least bound; known: values of the symbols, with Q and T where they are given; longest: the
    longest local step for T and Q."""
    near, own, counts = _limit(known).solve(), _program(known), {n: int(known[n]) for n in ("Q", "T") if n in known}
    still = own.without_rising("reach")
    if "T" in counts:
        found, counts["Q"], _ = still.with_count("Q", counts.get("Q"), trivial)
    else:
        counts.setdefault("Q", 1)
        found, counts["T"], _ = still.substitute({"Q": float(counts["Q"])}).with_count("T", None, trivial)
    T, Q = counts["T"], counts["Q"]
    if near is None or found is None:
        return Optimum({"eta_g": 1.0, "eta_l": longest(T, Q), "rounds": T, "local_steps": Q})
    here = own.substitute({"Q": float(Q), "T": float(T)})
    value = here.without_rising("reach").value(found.values)
    reach = min(_reach(here, value, trivial), longest(T, Q) * Q)
    choice = {"eta_g": found.values["way"] / (reach * T), "eta_l": reach / Q, "rounds": T, "local_steps": Q}
    how = (
        "a geometric program in eta_g eta_l Q T was solved for eta_l -> 0, and for Q and T -> infinity where these are "
        "not given; its dual value is the lower bound, by the inequality of the means; this eta_l is so short "
        f"that the drift adds at most {SHARE:.0%}, and no longer than Section 3.1's; T and Q come within {SHARE:.0%}"
    )
    return Optimum(choice, near.lower, how)


def _reach(program: Program, value: float, trivial: float) -> float:
    """The longest eta_l Q within its limits that adds at most a small share to the bound."""
    drift = sum(m.coefficient for m in program.objective if m.exponents.get("reach"))
    room = SHARE * value if value >= trivial else min(SHARE * value, (trivial - value) / 2)
    limits = [row[0].coefficient for row in program.constraints if set(row[0].exponents) == {"reach"}]
    longest = (1 - 1e-12) / max(limits)
    return min(longest, math.sqrt(room / drift)) if drift > 0 else longest
