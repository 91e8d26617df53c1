r"""noble2022 Theorem C.1 over step, T and K: with a free step (convex), with the prescribed one (strongly convex).

At the printed order of sigma_g the variance V of a local step is :math:`V_0 + c T K \log(2Tl/\delta)`. So the bounds
depend on K only by :math:`V_0/K`, which falls, and on the noise by :math:`g(T) = V/(TK)`, which first falls and then
rises in T.

* Convex (`noble2022.theoremC.1.explicit`): for given T the bound is :math:`A/\eta + B\eta`, :math:`\eta` at most the
  theorem's limit a: a geometric program. In T its least value is a multiple of :math:`\sqrt{g}` where the limit is not
  met, and convex below; the slopes meet, so it first falls and then rises. It falls with eta_g without a limit, by the
  part that the drift adds to the noise.
* Strongly convex (`noble2022.theoremC.1.strongly-convex.repaired`): a term that rises with g, and one that falls with
  T. Where g falls, T is best at the end; where it rises, cells of T are covered by the terms' values at their ends.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.formula import total
from dpfl_theory.recommend.bound_minimizers import SHARE, Optimum, count_for
from dpfl_theory.recommend.bound_minimizers.geometric import Monomial, Program, Solution, monomials
from dpfl_theory.recommend.bound_minimizers.hypotheses import inequalities
from dpfl_theory.recommend.bound_minimizers.rounds import ENOUGH, first_increase, least_of

if TYPE_CHECKING:
    from dpfl_theory.recommend.algorithms.dp_scaffold import Noble2022Scaffold

__all__ = ["EXPLICIT", "STRONG", "bound_infimum", "minimize_bound"]

EXPLICIT = "noble2022.theoremC.1.explicit"
STRONG = "noble2022.theoremC.1.strongly-convex.repaired"
VARIABLES = ("eta", "eta_g")


@cache
def _rows() -> list[list[tuple[Any, dict[str, Any]]]]:
    """The convex bound's monomials in eta and eta_g, and those of the hypotheses on them."""
    from dpfl_theory.statements import get

    theorem = get(EXPLICIT)
    limits = [small / large for small, large in inequalities(theorem)]
    rows = [monomials(x, VARIABLES) for x in (total(theorem), *limits)]
    return [rows[0], *(row for row in rows[1:] if any(exponents for _, exponents in row))]


class _Bounds:
    """Both bounds at given T and K, with their noise."""

    def __init__(self, setting: Noble2022Scaffold, quiet: bool = False) -> None:
        """quiet: with V_0 = 0, the limit of the bounds as K grows."""
        from dpfl_theory.statements import get

        self.setting, self.theorem, self.strong = setting, get(EXPLICIT), get(STRONG)
        self.known = {**setting.symbols(), **({"varsigma": 0.0} if quiet else {})}
        self.most = setting.rounds or ENOUGH
        self.noise_and_start = cache(self._noise_and_start)

    def symbol_values(self, T: int, K: int) -> dict[str, float]:
        """The symbols' values."""
        return {**self.known, "T": T, "K": K, "Sigma": self.setting.sigma(T, K)}

    def program(self, T: int, K: int) -> Program:
        """The program of the convex bound, with the theorem's limit of the step."""
        from dpfl_theory.recommend.evaluate import value

        at = self.symbol_values(T, K)
        rows = [[Monomial(value(self.theorem, c, at), e) for c, e in row] for row in _rows()]
        return Program([m for m in rows[0] if m.coefficient > 0], rows[1:])

    def convex(self, T: int, K: int) -> float:
        """The convex bound's infimum over the step, as eta_g grows: that of A/eta + B eta over eta <= a."""
        program = self.program(T, K).without_falling("eta_g")
        A, B = (math.fsum(m.coefficient for m in program.objective if m.exponents["eta"] == e) for e in (-1, 1))
        a = self.max_convex_step(T, K)
        eta = a if B * a**2 <= A else math.sqrt(A / B)
        return A / eta + B * eta

    def max_convex_step(self, T: int, K: int) -> float:
        """The limit of the convex step."""
        rows = self.program(T, K).constraints
        return min(1 / row[0].coefficient for row in rows if set(row[0].exponents) == {"eta"})

    def _noise_and_start(self, T: int, K: int) -> tuple[float, float]:
        """The two terms of the strongly convex bound."""
        from dpfl_theory.recommend.evaluate import terms

        found = terms(self.strong, self.symbol_values(T, K))
        return found["noise"], found["start"]

    def level(self, T: int, K: int) -> float:
        """g: the variance of a local step over T K."""
        at = self.symbol_values(T, K)
        return (at["varsigma"] ** 2 / (at["s"] * at["R"]) + at["Sigma"] ** 2) / (T * K)

    def least_rounds(self, K: int) -> int:
        """The fewest rounds that the strongly convex case allows."""
        from dpfl_theory.recommend.evaluate import rounded_up, value

        limits = [small for small, large in inequalities(self.strong) if str(large) == "T"]
        return max(rounded_up(value(self.strong, limit, self.known)) for limit in limits)


def _strong(bounds: _Bounds, K: int) -> tuple[int, float, float] | None:
    """The best T of the strongly convex bound, the bound there and a lower limit; None where no T is allowed."""
    first = bounds.least_rounds(K)
    if first > bounds.most:
        return None
    return least_of(lambda T: bounds.level(T, K), lambda T: bounds.noise_and_start(T, K), first, bounds.most)


def _best(bounds: _Bounds, K: int) -> tuple[str, int, float]:
    """The best statement, T and value for K; the value of the convex one is the infimum over the steps."""
    setting = bounds.setting
    T = first_increase(lambda T: bounds.convex(T, K), 1, bounds.most)
    found = (EXPLICIT, T, bounds.convex(T, K))
    if setting.strong_convexity is None:
        return found
    strong = _strong(bounds, K)
    return found if strong is None or strong[1] >= found[2] else (STRONG, *strong[:2])


def _anything(bounds: _Bounds) -> dict[str, Any]:
    """A choice that meets all hypotheses that any choice can meet."""
    T, K = bounds.setting.rounds or 1, bounds.setting.local_steps or 1
    return {
        "statement": EXPLICIT,
        "rounds": T,
        "local_steps": K,
        "eta_g": 1.0,
        "eta_l": bounds.max_convex_step(T, K) / K / 2,
    }


def bound_infimum(setting: Noble2022Scaffold) -> float:
    """The infimum of the bound, infinite where no choice meets the hypotheses."""
    if setting.unmet(_anything(_Bounds(setting))):
        return math.inf
    if setting.local_steps is None:
        return _best(_Bounds(setting, quiet=True), 1)[2]
    return _best(_Bounds(setting), setting.local_steps)[2]


def minimize_bound(setting: Noble2022Scaffold) -> Optimum:
    """The least bound of both statements, with its steps, rounds and local steps."""
    bounds, lower = _Bounds(setting), 0.0
    anything = _anything(bounds)
    if hopeless := setting.unmet(anything):
        return Optimum(anything, math.inf, math.inf, "no choice meets the hypotheses", tuple(hopeless))
    how = "the order of the noise is the root of K, so the bounds fall with K: all allowed local steps are used"
    if setting.local_steps is not None:
        K = setting.local_steps
    else:
        lower = _best(_Bounds(setting, quiet=True), 1)[2]
        enough, trivial = (1 + SHARE) * lower, setting.trivial()[0]
        if lower < trivial:
            enough = min(enough, (lower + trivial) / 2)
        K = count_for(lambda K: _best(bounds, K)[2] > enough)
        how = f"the bounds fall with K towards {lower:.6g}; K is the least with a bound at most {SHARE:.0%} above that"
    name, T, value = _best(bounds, K)
    if name == EXPLICIT:
        choice, own = _free_step(bounds, T, K)
        how += (
            "; for given T and K the bound is a geometric program in the steps, and its limit eta_g -> infinity gives "
            f"the lower bound; this eta_g makes the drift's share {SHARE:.0%} of the noise's"
        )
    else:
        choice, own = {"statement": STRONG}, _lower(bounds, K, value)
        how += (
            "; the strongly convex case, whose step is prescribed, has a smaller bound than any step of the convex one"
        )
    how += "; T is where the bound turns from falling to rising, or the largest allowed"
    choice |= {"rounds": T, "local_steps": K}
    unmet = setting.unmet(choice)
    bound = math.fsum(setting.terms(choice).values())
    if unmet:
        return Optimum(choice, math.inf, math.inf, "no choice meets the hypotheses", tuple(unmet))
    return Optimum(choice, bound, min(bound, lower or own), how)


def _lower(bounds: _Bounds, K: int, value: float) -> float:
    """A lower limit for all T and steps, where the strongly convex case is best: the convex one has more."""
    found = _strong(bounds, K)
    return value if found is None else min(value, found[2])


def _free_step(bounds: _Bounds, T: int, K: int) -> tuple[dict[str, Any], float]:
    """The steps at T and K, and a lower limit of the bound for all steps."""
    setting, program = bounds.setting, bounds.program(T, K)
    eta_g = max(1.0, math.sqrt(setting.users * setting.user_rate / SHARE))
    limit = program.without_falling("eta_g").solve()
    here = program.substitute({"eta_g": eta_g}).solve()
    assert isinstance(limit, Solution)
    assert isinstance(here, Solution)
    eta_l = here.values["eta"] / (K * eta_g)
    return {"statement": EXPLICIT, "eta_g": eta_g, "eta_l": eta_l}, limit.lower
