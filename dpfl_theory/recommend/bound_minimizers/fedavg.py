"""das2022 Theorem 4 over gamma, alpha, E and K, as a geometric program.

The prescribed K = 2 alpha gamma/(C rho^2), C = GE, replaces alpha, or gamma where alpha is given. The bound right/(c -
falling) on the left side's expectation is the least t with right/t + falling <= c.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import SAME, SHARE, Optimum, count_for
from dpfl_theory.recommend.bound_minimizers.geometric import Monomial, Program, monomials
from dpfl_theory.recommend.bound_minimizers.hypotheses import inequalities

if TYPE_CHECKING:
    from dpfl_theory.core import Statement
    from dpfl_theory.recommend.algorithms.dp_fedavg import Das2022

__all__ = ["minimize_bound"]

VARIABLES = ("gamma", "E", "K", "t")


@cache
def _rows(theorem: Statement, given: frozenset[str]) -> list[list[tuple[Any, dict[str, Any]]]]:
    """The program's sums, the objective's first; coefficients are expressions in the symbols that are not variables."""
    s, prescribed = symbols_of(theorem), prescription_of(theorem)
    K, t = sp.Symbol("K", positive=True), sp.Symbol("t", positive=True)
    other = "gamma" if "alpha" in given else "alpha"
    (solved,) = sp.solve(sp.Eq(prescribed["K"].subs(s.C, prescribed["C"]), K), s[other])

    def entered(expression: Any) -> Any:
        return sp.expand(expression.subs({s.C: prescribed["C"]}).subs(s[other], solved).subs(s.K, K))

    left, unknown = sides_of(theorem).lhs.values(), {s[e.name]: 0 for e in theorem.expectations}
    (term,) = left
    (bounded,) = (s[e.name] for e in theorem.expectations if s[e.name] in term.free_symbols)
    coefficient = entered(sp.expand(term).coeff(bounded))
    constant = coefficient.as_coeff_Add()[0]
    falling = sp.expand(constant - coefficient)
    right = entered(total(theorem).subs(unknown))
    limits = [(right / t + falling) / constant, 1 / s.E]
    limits += [entered(small / large) for small, large in inequalities(theorem)]
    names = [name for name in VARIABLES if name not in given]
    return [monomials(sum_, names) for sum_ in (t, *limits)]


def _program(setting: Das2022, theorem: Statement) -> Program:
    """The program for the given inputs; gamma is not a variable where alpha is given, since K represents it."""
    from dpfl_theory.recommend.evaluate import value

    known = {name: x for name, x in setting.symbols().items() if x is not None}
    rows = []
    for sum_ in _rows(theorem, frozenset(name for name in ("alpha", "gamma", "E") if name in known)):
        own = [Monomial(value(theorem, coefficient, known), exponents) for coefficient, exponents in sum_]
        rows.append([m for m in own if m.coefficient != 0])
    if setting.rounds is not None:
        rows.append([Monomial(1 / setting.rounds, {"K": Fraction(1)})])
    return Program(rows[0], [row for row in rows[1:] if any(m.exponents for m in row)])


def minimize_bound(setting: Das2022) -> Optimum:
    """The least bound of the setting's theorem, with its gamma, alpha, E and K."""
    from dpfl_theory.recommend.evaluate import failures
    from dpfl_theory.statements import get

    theorem, unknown = get(setting.certain), setting.unknown()
    found, how, lower = (None, "", math.inf) if _hopeless(setting, theorem) else _solved(setting, theorem)
    choice = _choice(setting, theorem, found)
    at = setting.at(choice)
    unmet = failures(theorem, at) + ([] if unknown is None else [unknown])
    bound = setting.bound_at(theorem, at)[1]
    if unmet or found is None or bound is None:
        why = unmet or ["no value within these inputs meets them"]
        return Optimum(choice, math.inf, math.inf, "no choice meets the hypotheses", tuple(why))
    return Optimum(choice, bound, min(lower, bound), how)


def _hopeless(setting: Das2022, theorem: Statement) -> bool:
    """Whether some hypothesis fails for every choice."""
    from dpfl_theory.recommend.evaluate import failures

    if setting.unknown() is not None or setting.ratio() >= 1:
        return True
    return setting.alpha is None and bool(failures(theorem, setting.at(_choice(setting, theorem, None))))


def _choice(setting: Das2022, theorem: Statement, found: dict[str, float] | None) -> dict[str, Any]:
    """The hyper-parameters from the variables; without variables, those that come nearest to the hypotheses."""
    from dpfl_theory.recommend.evaluate import prescribed, rounded_up

    known = setting.symbols()
    if found is None:
        known = {"gamma": setting.travel(), "E": 1, **known}
        known.setdefault("alpha", max(1.0, 2 * known["rho"] * known["E"]))
        K = rounded_up(prescribed(theorem, known)["K"])
        known["gamma"] *= K / prescribed(theorem, known)["K"]
    else:
        K = round(found["K"])
        known = {"gamma": 1.0, "alpha": 1.0, **found, **known}
        # K is proportional to alpha gamma: the one that is not given makes it whole.
        free = "alpha" if setting.alpha is None else "gamma"
        known[free] *= K / prescribed(theorem, known)["K"]
    return {"local_steps": round(known["E"]), "alpha": known["alpha"], "gamma": known["gamma"], "rounds": K}


def bound_infimum(setting: Das2022) -> float:
    """The infimum of the bound, infinite where no choice meets the hypotheses."""
    from dpfl_theory.statements import get

    theorem = get(setting.certain)
    if _hopeless(setting, theorem):
        return math.inf
    if setting.alpha is None and setting.rounds is None:
        limit = _program(setting, theorem).without_falling("E").without_falling("K").solve()
        return math.inf if limit is None else limit.values["t"]
    return minimize_bound(setting).bound


HOW = "a geometric program in {} was solved, and its dual value is the lower bound, by the inequality of the means"


def _solved(setting: Das2022, theorem: Statement) -> tuple[dict[str, float] | None, str, float]:
    """The variables, their derivation, and the lower bound."""
    program = _program(setting, theorem)
    if setting.alpha is not None:
        return _whole(setting, theorem, program, HOW.format("E and K, of which gamma follows,"))
    if setting.local_steps is None:  # E is in the bound only by E/alpha, and may be as large as alpha >= 1 needs
        program = program.without_falling("E")
    how, K = HOW.format("gamma, of which alpha follows,"), setting.rounds
    lower = 0.0
    if K is not None:
        how += ". It falls with K, so all allowed rounds are used"
    else:
        limit = program.without_falling("K").solve()
        if limit is None:
            return None, how, math.inf
        lower, enough = limit.lower, (1 + SHARE) * limit.values["t"]
        if limit.values["t"] < setting.trivial()[0]:
            enough = min(enough, (limit.values["t"] + setting.trivial()[0]) / 2)

        def short(K: int) -> bool:
            point = program.substitute({"K": float(K)}).solve()
            return point is None or point.values["t"] > enough

        K = count_for(short)
        how += (
            f". The bound falls with alpha and K without a limit, towards {lower:.6g}; K is the least with a bound of "
            "at "
            f"most {enough:.6g}"
        )
    found = program.substitute({"K": float(K)}).solve()
    if found is None:
        return None, how, math.inf
    values = {**found.values, "K": float(K)}
    if setting.local_steps is None:
        values["E"] = _least_phase(setting, theorem, values)
        how += ", with the fewest local steps that alpha >= 1 allows"
    return values, how, max(lower, found.lower) if setting.rounds is not None else lower


def _least_phase(setting: Das2022, theorem: Statement, values: dict[str, float]) -> float:
    """The fewest local steps with alpha >= 1; alpha is proportional to E K/gamma by the prescribed K."""
    from dpfl_theory.recommend.evaluate import prescribed

    one = prescribed(theorem, {**values, **setting.symbols(), "E": 1, "alpha": 1})["K"]
    return max(1.0, math.ceil(one / values["K"] - SAME))


def _whole(
    setting: Das2022, theorem: Statement, program: Program, justification: str
) -> tuple[dict[str, float] | None, str, float]:
    """Whole E and K, for given alpha: next to the real minimum, or to the prescription of a given gamma."""
    from dpfl_theory.recommend.evaluate import prescribed

    given, best, lower = setting.local_steps, (math.inf, dict[str, float]()), math.inf

    def tried(E: int, real: float) -> None:
        """Whole K next to a real one: for given E the bound is convex in log K."""
        nonlocal best, lower
        for K in _next(real):
            found = program.substitute({"E": E, "K": K}).solve()
            if found is not None:
                lower = min(lower, found.lower)
                best = min(best, (found.values["t"], {**found.values, "E": E, "K": K}), key=lambda f: f[0])

    if setting.gamma is not None:  # it fixes E K, and then fewer local steps are better
        one = prescribed(theorem, {**setting.symbols(), "E": 1})["K"]
        E = given or max(1, math.ceil(one / (setting.rounds or math.inf)))
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
    justification += (
        "; whole E and K next to the minimum were compared, until the bound, which is convex in their logarithms, is "
        "larger"
    )
    return (best[1], justification, lower) if best[1] else (None, justification, math.inf)


def _next(real: float) -> list[int]:
    """The whole numbers of at least 1 next to a real one."""
    return sorted({max(1, math.floor(real + SAME)), max(1, math.ceil(real - SAME))})
