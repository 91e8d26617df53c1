r"""DP-SCAFFOLD-warm: noble2022 Theorem C.1, repaired, for steps and bound.

The least bound is over step, T and K: with a free step (convex), with the prescribed one (strongly convex).

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from dpfl_theory.algorithms.record_level import DPScaffold
from dpfl_theory.core.formula import total
from dpfl_theory.core.inverse import value
from dpfl_theory.recommend.bound_minimizers import (
    ENOUGH,
    SHARE,
    Optimum,
    count_for,
    first_increase,
    least_of,
    near_limit,
)
from dpfl_theory.recommend.bound_minimizers.geometric import (
    Program,
    Rows,
    Solution,
    inequalities,
    monomials,
    program_at,
)
from dpfl_theory.recommend.inputs import Document, given, quote_option
from dpfl_theory.recommend.papers.noble2022 import BY_NOISE, Noble2022
from dpfl_theory.recommend.setting import rounded_up, terms
from dpfl_theory.statements import get
from dpfl_theory.statements.noble2022.run_symbols import SYMBOLS

if TYPE_CHECKING:
    from dpfl_theory.core import Statement

EXPLICIT = "noble2022.theoremC.1.explicit"
STRONG = "noble2022.theoremC.1.strongly-convex.repaired"


@dataclass(frozen=True, kw_only=True)
class Noble2022Scaffold(Noble2022):
    r"""DP-SCAFFOLD-warm for M users with R records each; strongly convex if ``strong_convexity`` is given, else convex.

    The step sizes depend on the noise, which is chosen first. The bound is for the mean of :math:`x^0, ...,
    x^{T-1}` with weights ``weight_ratio`` :math:`^{-t} = (1 - \mu K \eta_l \eta_g/2)^{-t}`, which are equal if convex.

    >>> setting = Noble2022Scaffold(users=100, records=4000, user_rate=0.25, record_rate=0.2, dim=10, smoothness=1.0,
    ...                      distance=3.0, clip=1.0, gradient_variance=0.0, local_steps=10, rounds=500, epsilon=0.5,
    ...                      delta=1e-6)
    >>> found = setting.printed()
    >>> found["eta_g"], found["weight_ratio"], found["certificate"]["applies"]
    (5.0, 1.0, True)
    """

    described = DPScaffold
    source = "noble2022 Theorem C.1, repaired"
    bounding: ClassVar[str] = "noble2022.theoremC.1.convex.repaired"
    bounds: ClassVar[str] = "E F(xbar) - F(x*), xbar the mean of x^0, ..., x^{T-1} with weights weight_ratio^(-t) [F]"
    choices: ClassVar[Mapping[str, str]] = {"eta_g": "eta_g", "eta_l": "eta_l", **Noble2022.choices}
    shown: ClassVar[Mapping[str, str]] = {"weight_ratio": "weight_ratio"}
    of_runs: ClassVar[str] = EXPLICIT
    speaks_of_noise: ClassVar[str] = BY_NOISE.format("Theorem C.1")

    strong_convexity: float | None = given(SYMBOLS["mu"], "strong convexity", optional=True)

    def contradictions(self) -> Iterator[str]:
        yield from self.not_above("strong_convexity", "smoothness", "no function allows that: give mu <= nu")
        yield from super().contradictions()

    def at(self, choice: Document) -> dict[str, float]:
        found = super().at(choice)
        mu = found.get("mu", 0.0) if "strongly" in self.theorem(choice).id else 0.0
        return {**found, "weight_ratio": 1 - mu * found["K"] * found["eta_l"] * found["eta_g"] / 2}

    def failing(self, theorem: Statement, at: Mapping[str, float]) -> list[str]:
        return [*super().failing(theorem, at), *self.clipped()]

    def chosen(self, document: Document) -> Document:
        """It includes the steps if the first cited statement leaves them free."""
        statement = document["certificate"]["statements"][0]["id"]
        free = () if get(statement).prescription is not None else ("eta_g", "eta_l")
        return {"statement": statement, **{name: document[name] for name in ("rounds", "local_steps", *free)}}

    def printed(self) -> Document:
        case, number = ("convex", 2) if self.strong_convexity is None else ("strongly-convex", 1)
        return self.printed_as(f"noble2022.theoremC.1.{case}", f"Theorem C.1 ({number}, {case.replace('-', ' ')})")

    def compared(self, bound: float | None) -> list[str]:
        """The convex case for a strongly convex problem."""
        choice = {"statement": self.bounding, "rounds": self.rounds, "local_steps": self.local_steps}
        if self.strong_convexity is None or self.unmet(choice):
            return []
        other = self.bound(choice)
        if bound is not None and other >= bound:
            return []
        smaller = "a bound" if bound is None else "a smaller bound"
        return [f"Without `strong_convexity` the convex case applies too, with {smaller}: {other:.6g}."]

    def least(self) -> Optimum:
        anything = self._anything()
        if unmet := self.unmet(anything):
            return Optimum(anything, unmet=tuple(unmet))
        wide, strong = self.users * self.user_rate, self.strong_convexity is not None
        return _minimize(self.values, self.rounds, self.local_steps, strong, self.trivial()[0], wide)

    def bound_infimum(self) -> float:
        if self.unmet(self._anything()):
            return math.inf
        return _infimum(self.values, self.rounds, self.local_steps, self.strong_convexity is not None)

    def _anything(self) -> Document:
        """A choice that meets all hypotheses that any choice can meet."""
        T, K = self.rounds or 1, self.local_steps or 1
        steps = {"eta_g": 1.0, "eta_l": _longest_step(self.values(T, K)) / K / 2}
        return {"statement": EXPLICIT, "rounds": T, "local_steps": K, **steps}

    def clipped(self) -> list[str]:
        """The reason why clipping acts at x^0: ||grad F(x^0)|| >= mu D_0, and the longest gradient of a record is at
        least as long."""
        least = (self.strong_convexity or 0.0) * self.distance
        if least <= self.clip:
            return []
        return [
            f"clipping acts at x^0, where some record's gradient is no shorter than mu D_0 = {least:.6g}, above "
            f"{quote_option('clip')} {self.clip:g}"
        ]

    def warnings(self) -> list[str]:
        covered = (
            "the noise is for T rounds, so it covers all of these"
            if self.user_rate == 1
            else "the noise is for T rounds of a share l of the users each: add to their budget the cost of one round "
            "with `user_rate=1` (dpfl-theory privacy account)"
        )
        first, *others = super().warnings()
        return [
            first,
            "The theorem starts from control variates that all users have set with noisy gradients at x^0. So xbar "
            "takes one such round, which releases as much as any other (4/l rounds of drawn users may miss a user), "
            f"and T - 1 rounds after it; {covered}.",
            *others,
        ]


At = Callable[[int, int], Mapping[str, float]]
"""The values of the symbols at T and K."""


@cache
def _rows() -> Rows:
    """The convex bound's monomials in eta and eta_g, and those of the hypotheses on them."""

    theorem = get(EXPLICIT)
    sums = [total(theorem), *(small / large for small, large in inequalities(theorem))]
    return [monomials(x, ("eta", "eta_g")) for x in sums]


def _program(at: Mapping[str, float]) -> Program:
    """The program of the convex bound, with the theorem's limit of the step."""

    return program_at(get(EXPLICIT), _rows(), at)


def _longest_step(at: Mapping[str, float]) -> float:
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
        program, a = _program(at).without_falling("eta_g"), _longest_step(at)
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


def _infimum(at: At, rounds: int | None, local_steps: int | None, strong: bool) -> float:
    """The infimum of the bound."""
    return _best(_Bounds(at, rounds, strong, quiet=local_steps is None), local_steps or 1)[2]


def _minimize(
    at: At, rounds: int | None, local_steps: int | None, strong: bool, trivial: float, cohort: float
) -> Optimum:
    """The least bound of both statements, with its steps, rounds and local steps.

    rounds: the largest T; strong: whether the strongly convex case applies; cohort: the users in a round.
    """
    bounds, lower = _Bounds(at, rounds, strong), 0.0
    how = "the order of the noise is the root of K, so the bounds fall with K: all allowed local steps are used"
    if (K := local_steps or 0) == 0:
        lower = _infimum(at, rounds, None, strong)
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
