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
from collections.abc import Callable, Mapping
from functools import cache

from dpfl_theory.core.formula import total
from dpfl_theory.core.inverse import value
from dpfl_theory.recommend.bound_minimizers import SHARE, Optimum, count_for, near_limit
from dpfl_theory.recommend.bound_minimizers.geometric import Program, Rows, Solution, program_at, rows_of
from dpfl_theory.recommend.bound_minimizers.hypotheses import inequalities
from dpfl_theory.recommend.bound_minimizers.rounds import ENOUGH, first_increase, least_of
from dpfl_theory.recommend.evaluate import rounded_up, terms
from dpfl_theory.statements import get

__all__ = ["EXPLICIT", "STRONG", "infimum", "longest_step", "minimize"]

EXPLICIT = "noble2022.theoremC.1.explicit"
STRONG = "noble2022.theoremC.1.strongly-convex.repaired"
At = Callable[[int, int], Mapping[str, float]]
"""The values of the symbols at T and K."""


@cache
def _rows() -> Rows:
    """The convex bound's monomials in eta and eta_g, and those of the hypotheses on them."""

    theorem = get(EXPLICIT)
    return rows_of((total(theorem), *(small / large for small, large in inequalities(theorem))), ("eta", "eta_g"))


def _program(at: Mapping[str, float]) -> Program:
    """The program of the convex bound, with the theorem's limit of the step."""

    return program_at(get(EXPLICIT), _rows(), at)


def longest_step(at: Mapping[str, float]) -> float:
    """The limit of the convex step."""
    return min(1 / row[0].coefficient for row in _program(at).constraints if set(row[0].exponents) == {"eta"})


class _Bounds:
    """Both bounds at given T and K."""

    def __init__(self, at: At, rounds: int | None, strong: bool, quiet: bool = False) -> None:
        """quiet: with V_0 = 0, the limit of the bounds as K grows. strong: whether the strongly convex case applies."""
        silent = {"varsigma": 0.0} if quiet else {}
        self.at: At = lambda T, K: {**at(T, K), **silent}
        self.strong, self.most = get(STRONG) if strong else None, rounds or ENOUGH
        self.noise_and_start = cache(self._noise_and_start)

    def convex(self, T: int, K: int) -> float:
        """The convex bound's infimum over the step, as eta_g grows: that of A/eta + B eta over eta <= a."""
        at = self.at(T, K)
        program, a = _program(at).without_falling("eta_g"), longest_step(at)
        A, B = (math.fsum(m.coefficient for m in program.objective if m.exponents["eta"] == e) for e in (-1, 1))
        eta = a if B * a**2 <= A else math.sqrt(A / B)
        return A / eta + B * eta

    def _noise_and_start(self, T: int, K: int) -> tuple[float, float]:
        """The two terms of the strongly convex bound."""
        assert self.strong is not None
        found = terms(self.strong, self.at(T, K))
        return found["noise"], found["start"]

    def level(self, T: int, K: int) -> float:
        """g: the variance of a local step over T K."""
        at = self.at(T, K)
        return (at["varsigma"] ** 2 / (at["s"] * at["R"]) + at["Sigma"] ** 2) / (T * K)

    def least_rounds(self) -> int:
        """The fewest rounds that the strongly convex case allows."""
        assert self.strong is not None
        limits = [small for small, large in inequalities(self.strong) if str(large) == "T"]
        return max(rounded_up(value(self.strong, limit, self.at(1, 1))) for limit in limits)


def _strong(bounds: _Bounds, K: int) -> tuple[int, float, float] | None:
    """The best T of the strongly convex bound, the bound there and a lower limit; None where no T is allowed."""
    if bounds.strong is None or (first := bounds.least_rounds()) > bounds.most:
        return None
    return least_of(lambda T: bounds.level(T, K), lambda T: bounds.noise_and_start(T, K), first, bounds.most)


def _best(bounds: _Bounds, K: int) -> tuple[str, int, float]:
    """The best statement, T and value for K; the value of the convex one is the infimum over the steps."""
    T = first_increase(lambda T: bounds.convex(T, K), 1, bounds.most)
    found, strong = (EXPLICIT, T, bounds.convex(T, K)), _strong(bounds, K)
    return found if strong is None or strong[1] >= found[2] else (STRONG, *strong[:2])


def infimum(at: At, rounds: int | None, local_steps: int | None, strong: bool) -> float:
    """The infimum of the bound."""
    return _best(_Bounds(at, rounds, strong, quiet=local_steps is None), local_steps or 1)[2]


def minimize(
    at: At, rounds: int | None, local_steps: int | None, strong: bool, trivial: float, cohort: float
) -> Optimum:
    """The least bound of both statements, with its steps, rounds and local steps.

    rounds: the largest T; strong: whether the strongly convex case applies; cohort: the users in a round.
    """
    bounds, lower = _Bounds(at, rounds, strong), 0.0
    how = "the order of the noise is the root of K, so the bounds fall with K: all allowed local steps are used"
    if (K := local_steps or 0) == 0:
        lower = infimum(at, rounds, None, strong)
        enough = near_limit(lower, trivial)
        K = count_for(lambda K: _best(bounds, K)[2] > enough)
        how = f"the bounds fall with K towards {lower:.6g}; K is the least with a bound at most {SHARE:.0%} above that"
    name, T, least = _best(bounds, K)
    if name == EXPLICIT:
        choice, own = _free_step(_program(bounds.at(T, K)), K, cohort)
        how += (
            "; for given T and K the bound is a geometric program in the steps, and its limit eta_g -> infinity gives "
            f"the lower bound; this eta_g makes the drift's share {SHARE:.0%} of the noise's"
        )
    else:
        choice, found = {}, _strong(bounds, K)
        own = least if found is None else min(least, found[2])  # the convex case has more
        how += (
            "; the strongly convex case, whose step is prescribed, has a smaller bound than any step of the convex one"
        )
    how += "; T is where the bound turns from falling to rising, or the largest allowed"
    return Optimum({"statement": name, **choice, "rounds": T, "local_steps": K}, lower or own, how)


def _free_step(program: Program, K: int, cohort: float) -> tuple[dict[str, float], float]:
    """The steps, and a lower limit of the bound for all steps."""
    eta_g = max(1.0, math.sqrt(cohort / SHARE))
    limit = program.without_falling("eta_g").solve()
    here = program.substitute({"eta_g": eta_g}).solve()
    assert isinstance(limit, Solution)
    assert isinstance(here, Solution)
    return {"eta_g": eta_g, "eta_l": here.values["eta"] / (K * eta_g)}, limit.lower
