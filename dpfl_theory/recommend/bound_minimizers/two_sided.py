"""zhang2021 Corollary 3.2.1, repaired, over both steps, Q and T, as a geometric program.

With way = eta_g eta_l Q T and reach = eta_l Q, the drift rises with the reach, which is in no other term. All other
terms fall with Q and T or do not depend on them. So the least value is approached as the reach tends to 0, and T (and
Q) to infinity where they are not given.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import SHARE, Optimum, count_for
from dpfl_theory.recommend.bound_minimizers.geometric import Monomial, Program, monomials
from dpfl_theory.recommend.bound_minimizers.hypotheses import inequalities

if TYPE_CHECKING:
    from dpfl_theory.recommend.algorithms.dp_fedavg_two_sided import Zhang2021

__all__ = ["bound_infimum", "minimize_bound"]

BOUND = "zhang2021.corollary3.2.1.repaired"
VARIABLES = ("way", "reach", "Q", "T")


@cache
def _rows() -> list[list[tuple[Any, dict[str, Any]]]]:
    """The program's sums, the objective's first; coefficients are expressions in the symbols that are not variables."""
    from dpfl_theory.statements import get

    theorem = get(BOUND)
    s = symbols_of(theorem)
    way, reach = sp.symbols("way reach", positive=True)
    steps = {s.eta_l: reach / s.Q, s.eta_g: way / (reach * s.T)}
    limits = [small / large for small, large in inequalities(theorem)]
    rows = [monomials(x.subs(steps, simultaneous=True), VARIABLES) for x in (total(theorem), *limits)]
    return [rows[0], *(row for row in rows[1:] if any(exponents for _, exponents in row))]


def _program(setting: Zhang2021) -> Program:
    from dpfl_theory.recommend.evaluate import value
    from dpfl_theory.statements import get

    theorem, known = get(BOUND), setting.symbols()
    rows = [[Monomial(value(theorem, c, known), exponents) for c, exponents in row] for row in _rows()]
    rows = [[m for m in row if m.coefficient != 0] for row in rows]
    return Program(rows[0], [row for row in rows[1:] if row])


def _given(setting: Zhang2021) -> dict[str, float]:
    given = {"Q": setting.local_steps, "T": setting.rounds}
    return {name: float(x) for name, x in given.items() if x is not None}


def _limit(setting: Zhang2021) -> Program:
    """The program as the reach tends to 0, and Q and T to infinity where they are not given."""
    program = _program(setting).without_rising("reach").substitute(_given(setting))
    return program.without_falling("Q").without_falling("T")


def bound_infimum(setting: Zhang2021) -> float:
    """The infimum of the bound, infinite where no choice meets the hypotheses."""
    limit = _limit(setting)
    found = None if _impossible(setting) else limit.solve()
    return math.inf if found is None else limit.value(found.values)


def _impossible(setting: Zhang2021) -> list[str]:
    """The hypotheses that fail for all steps."""
    from dpfl_theory.recommend.evaluate import failures
    from dpfl_theory.statements import get

    still = {"eta_g": 1e-300, "eta_l": 1e-300, "rounds": setting.rounds or 10**15, "local_steps": 1}
    return failures(get(BOUND), setting.at(still))


def minimize_bound(setting: Zhang2021) -> Optimum:
    """The least bound, with its steps, Q and T."""
    from dpfl_theory.recommend.evaluate import failures
    from dpfl_theory.statements import get

    limit, given = _limit(setting), _given(setting)
    near = None if (unmet := _impossible(setting)) else limit.solve()
    if near is None:
        T, Q = setting.rounds or 1, setting.local_steps or 1
        choice = {"eta_g": 1.0, "eta_l": setting.local_step(T, Q), "rounds": T, "local_steps": Q}
        why = unmet or ["no value within these inputs meets them"]
        return Optimum(choice, math.inf, math.inf, "no choice meets the hypotheses", tuple(why))
    trivial, enough = setting.trivial()[0], (1 + SHARE) * limit.value(near.values)
    if enough / (1 + SHARE) < trivial:
        enough = min(enough, (enough / (1 + SHARE) + trivial) / 2)
    still = _program(setting).without_rising("reach")

    def short(fixed: dict[str, float]) -> bool:
        own = still.substitute(fixed)
        found = own.solve()
        return found is None or own.value(found.values) > enough

    if "Q" not in given:
        given["Q"] = 1.0 if "T" not in given else float(count_for(lambda Q: short({**given, "Q": float(Q)})))
    if "T" not in given:
        given["T"] = float(count_for(lambda T: short({**given, "T": float(T)})))
    own = still.substitute(given)
    found = own.solve()
    assert found is not None
    value, Q, T = own.value(found.values), int(given["Q"]), int(given["T"])
    reach = min(_reach(_program(setting).substitute(given), value, trivial), setting.local_step(T, Q) * Q)
    choice = {"eta_g": found.values["way"] / (reach * T), "eta_l": reach / Q, "rounds": T, "local_steps": Q}
    if more := failures(get(BOUND), setting.at(choice)):
        return Optimum(choice, math.inf, math.inf, "no choice meets the hypotheses", tuple(more))
    bound = math.fsum(setting.terms(choice).values())
    how = (
        "a geometric program in eta_g eta_l Q T was solved for eta_l -> 0, and for Q and T -> infinity where these are "
        "not given; its dual value is the lower bound, by the inequality of the means; this eta_l is so short "
        f"that the drift adds at most {SHARE:.0%}, and no longer than Section 3.1's; T and Q come within {SHARE:.0%}"
    )
    return Optimum(choice, bound, min(near.lower, bound), how)


def _reach(program: Program, value: float, trivial: float) -> float:
    """The longest eta_l Q within its limits that adds at most a small share to the bound."""
    drift = sum(m.coefficient for m in program.objective if m.exponents.get("reach"))
    room = SHARE * value if value >= trivial else min(SHARE * value, (trivial - value) / 2)
    limits = [row[0].coefficient for row in program.constraints if set(row[0].exponents) == {"reach"}]
    longest = (1 - 1e-12) / max(limits)
    return min(longest, math.sqrt(room / drift)) if drift > 0 else longest
