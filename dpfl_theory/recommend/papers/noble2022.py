r"""noble2022's algorithms for M users with R records each, with noise at every local step, and DP-FedAvg with its
repaired Theorem C.2 for steps and bound.

The strongly convex case of Theorem C.2 is left out: no threshold meets its hypothesis that clipping never acts, since
Gaussian noise takes the iterates anywhere and gradients of strongly convex objectives have no bound.

The least bound is over T and K, with the prescribed steps. The variance of a local step is :math:`V = V_0 + c(K)^2 T K
\log(2Tl/\delta)`, where the certified noise may have one factor c at K = 1 and another for all other K. The noise's
term is a multiple of :math:`\sqrt{V/(TK)}`, which first falls and then rises in T. All other terms fall with T.
Otherwise only :math:`V_0/K` depends on K, and it falls: the best K is one local step, or as many as are allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Self

from dpfl_theory.algorithms.record_level import RecordLevelFedAvg
from dpfl_theory.core.inverse import prescribed
from dpfl_theory.recommend.bound_minimizers import ENOUGH, SHARE, Optimum, count_for, least_of, near_limit
from dpfl_theory.recommend.inputs import (
    Document,
    calibration,
    constant,
    given,
    of_budget,
    parameter,
    quote_option,
    view,
)
from dpfl_theory.recommend.setting import Setting, cite, terms
from dpfl_theory.statements import get
from dpfl_theory.statements.noble2022.run_symbols import SYMBOLS

if TYPE_CHECKING:
    from dpfl_theory.core import Statement
    from dpfl_theory.privacy import Mechanism

BY_NOISE = "Sigma, computed from sigma_g, is a symbol of {}: its bound is that of this noise"


@dataclass(frozen=True, kw_only=True)
class Noble2022(Setting):
    """The inputs of both, their noise, and the answer to a choice of a statement with its rounds and local steps."""

    noise_of: ClassVar[str] = "noble2022.theorem4.1.third-party"
    choices: ClassVar[Mapping[str, str]] = {"rounds": "T", "local_steps": "K"}
    shown: ClassVar[Mapping[str, str]] = {"eta_g": "eta_g", "eta_l": "eta_l"}
    power: ClassVar[int] = 1
    usual_constant: ClassVar[float | None] = 1.0

    users: int = given(SYMBOLS["M"], "clients")
    records: int = given(SYMBOLS["R"], "records")
    user_rate: float = given(SYMBOLS["l"], kind="share")
    record_rate: float = given(SYMBOLS["s"], kind="share")
    dim: int = parameter("dimension d", "count", measured="dimension")
    smoothness: float = given(SYMBOLS["nu"], "largest smoothness")
    distance: float = given(SYMBOLS["D0"], "distance", kind="positive")
    clip: float = parameter(RecordLevelFedAvg.threshold.text, symbol=RecordLevelFedAvg.threshold.symbol)
    gradient_variance: float = parameter(
        "variance of one record's gradient (varsigma^2)", "nonnegative", unit="F^2/X^2", measured="gradient variance"
    )
    local_steps: int | None = given(SYMBOLS["K"], free=True)
    rounds: int | None = given(SYMBOLS["T"], free=True, remark=", without those that warm up control variates")
    epsilon: float = of_budget("epsilon")
    delta: float = of_budget("delta")
    calibration: str = calibration()
    view: str = view()
    constant: float | None = constant("u", usual=usual_constant)

    def contradictions(self) -> Iterator[str]:
        for share, of, one in (("user_rate", "users", "user"), ("record_rate", "records", "record")):
            many = getattr(self, of)
            if many * getattr(self, share) < 1 - 1e-9:
                yield self.refused(share, f"of `{of}={many}` it is less than one {one}", "raise one of them")

    def symbols(self) -> dict[str, float]:
        own = {"varsigma": math.sqrt(self.gradient_variance), "u": self.paper_constant() or 1.0}
        return {**super().symbols(), **own}

    def sigma_g(self, at: Mapping[str, float]) -> float:
        """The noise of one local step over its sensitivity 2C/(sR): the printed order, with the constant."""
        return prescribed(get(self.noise_of), at)["sigma_g"]

    def unit(self) -> float:
        """2C/(sR), the largest change of a local step by one record [F/X]."""
        return 2 * self.clip / (self.record_rate * self.records)

    def values(self, T: int, K: int) -> dict[str, float]:
        """The symbols' values; Sigma [F/X] has 2d where the noise's second moment has d."""
        known = {**self.symbols(), "T": T, "K": K}
        return {**known, "Sigma": self.unit() * math.sqrt(2 * self.dim) * self.sigma_g(known)}

    def at(self, choice: Document) -> dict[str, float]:
        known = self.values(int(choice["rounds"]), int(choice["local_steps"]))
        if "eta_l" not in choice:
            return {**known, **prescribed(self.theorem(choice), known)}
        eta_g, eta_l = choice["eta_g"], choice["eta_l"]
        return {**known, "eta_g": eta_g, "eta_l": eta_l, "eta": known["K"] * eta_l * eta_g}

    def noise(self, at: Mapping[str, float]) -> Document:
        sigma_g = self.sigma_g(at)
        return {
            "sigma_g": sigma_g,
            "sigma_of_one_step": self.unit() * sigma_g,
            "meaning": "sigma_g is the noise over the sensitivity 2C/(sR) of a local step; sigma of one step is its "
            "standard deviation per coordinate [F/X]",
        }

    def released(self, found: Document, printed: bool = False) -> Mechanism:
        from dpfl_theory.privacy.mechanisms import get as mechanism

        own = {name: getattr(self, name) for name in ("users", "records", "user_rate", "record_rate", "view")}
        run: Mechanism = mechanism(self.name)(**own, local_steps=found["local_steps"], rounds=found["rounds"])
        return run.with_(noise_multiplier=found["noise"]["sigma_g"])

    def noise_by_server(self) -> bool:
        return False

    def cited(self, theorem: Statement, at: Mapping[str, float]) -> list[Document]:
        bound, noise = super().cited(theorem, at)
        return [bound, noise] if self.calibration == "paper" else [bound]

    def trivial(self) -> tuple[float, str]:
        return self.smoothness * self.distance**2 / 2, "nu D_0^2/2"

    def warnings(self) -> list[str]:
        """The theorems' requirements on a run, and the warning about the paper's noise, where it is used."""
        besides = "; under Gaussian noise no threshold can promise this here" if "mu" in self.symbols() else ""
        said = [
            f"The theorem assumes that no record's gradient along the run is longer than {quote_option('clip')}, so "
            f"that clipping never acts{besides}."
        ]
        if self.calibration == "paper":
            said.append(
                "The noise is an order with an unknown constant, 1 unless `constant` is given, and that order is "
                "refuted: use `calibration=accountant` for a certified sigma_g."
            )
        return said

    def printed_as(self, id_: str, why: str) -> Document:
        """The repaired statement's answer for the given rounds and local steps; why: the source of the steps."""
        original = get(id_)
        choice = {"statement": f"{id_}.repaired", "rounds": self.rounds, "local_steps": self.local_steps}
        found, known = self.answer(choice), self.at(choice)
        certificate = found["certificate"]
        first, *others = certificate["statements"]
        noise = "Theorem 4.1's order" if self.calibration == "paper" else "the least that an accountant certifies"
        end = ", which gives the bound" if certificate["applies"] else "; a hypothesis of it fails"
        before = prescribed(original, known)["eta_l"]
        same = "the same here" if known["eta_l"] == before else f"{known['eta_l'] / before:.3g} times that"
        of_all = self.warnings()
        return {
            **found,
            "certificate": {
                **certificate,
                "reason": f"sigma_g is {noise} for these rounds, and eta_g and eta_l are the steps that {why}, "
                f"repaired, prescribes at this noise{end}",
                "statements": [{**first, "role": "prescription and bound"}, cite("printed", original), *others],
            },
            "warnings": [
                *found["warnings"][: -len(of_all)],
                *self.compared(found["bound"]),
                f"The paper prints eta_l = {before:.6g}, whatever the rounds, the noise and the distance, which is "
                f"refuted ({id_}); the repaired one is {same}.",
                *of_all,
            ],
        }

    def compared(self, bound: float | None) -> list[str]:
        """The result of another statement for the same rounds and local steps."""
        return []

    def varied(self, name: str, value: float) -> Self:
        if name != "users":
            return super().varied(name, value)
        whole = max(1, round(self.user_rate * value))  # a whole number of users in a round, nearest to the share
        return replace(self, users=int(value), user_rate=whole / value)


@dataclass(frozen=True, kw_only=True)
class Noble2022FedAvg(Noble2022):
    r"""DP-FedAvg (noble2022 Algorithm 2) for M users with R records each, and convex objectives.

    The users' gradients have :math:`\frac1M \sum_i \|\nabla F_i\|^2 \le G^2 + B^2 \|\nabla F\|^2`; a G that no
    :math:`\|\nabla F_i - \nabla F\|` exceeds serves with B = 1. The steps depend on the noise, which is chosen first.
    The bound is for the mean of :math:`x^0, ..., x^{T-1}`.

    Who sees only the sums of a round sees one local step's noise of all users together, and no further one alone: the
    noise that is certified for a third party and K = 1 is smaller by :math:`\sqrt{lM}` than that for more local steps.

    >>> setting = Noble2022FedAvg(users=100, records=4000, user_rate=1.0, record_rate=0.2, dim=10, smoothness=1.0,
    ...                          distance=3.0, clip=1.0, gradient_variance=0.0, dissimilarity=0.1, local_steps=1,
    ...                          rounds=500, epsilon=0.5, delta=1e-6)
    >>> found = setting.printed()
    >>> found["eta_g"], found["certificate"]["applies"], sorted(found["terms"])
    (10.0, True, ['heterogeneity', 'noise', 'sampling of users', 'start'])
    """

    described = RecordLevelFedAvg
    source = "noble2022 Theorem C.2, repaired"
    bounding: ClassVar[str] = "noble2022.theoremC.2.convex.repaired"
    bounds: ClassVar[str] = "E F(xbar) - F(x*), xbar the mean of x^0, ..., x^{T-1} [F]"
    speaks_of_noise: ClassVar[str] = BY_NOISE.format("Theorem C.2")

    dissimilarity: float = given(SYMBOLS["G"], "largest dissimilarity")
    dissimilarity_factor: float | None = given(SYMBOLS["B"], optional=True, remark=", 1 by default")

    def contradictions(self) -> Iterator[str]:
        yield from super().contradictions()
        if self.dissimilarity_factor is not None and self.dissimilarity_factor < 1:
            yield self.refused("dissimilarity_factor", "Assumption 4 has B >= 1", "leave it out for 1")

    def symbols(self) -> dict[str, float]:
        return {"B": 1.0, **super().symbols()}

    def summed(self, K: int) -> float:
        """The factor by which the certified noise is smaller where a third party sees the sum of a round's single
        steps."""
        seen = K > 1 or self.view != "third-party" or self.calibration == "paper"
        return 1.0 if seen else math.sqrt(self.users * self.user_rate)

    def sigma_g(self, at: Mapping[str, float]) -> float:
        return super().sigma_g(at) / self.summed(int(at["K"]))

    def paper_over_own(self, found: Document) -> float:
        return self.summed(found["local_steps"])

    def printed(self) -> Document:
        return self.printed_as("noble2022.theoremC.2.convex", "Theorem C.2 (2, convex)")

    def least(self) -> Optimum:
        anything = {"rounds": self.rounds or 1, "local_steps": self.local_steps or 1}
        if unmet := self.unmet(anything):
            return Optimum(anything, unmet=tuple(unmet))
        hidden = self.summed(1) > 1
        return _minimize(self.theorem({}), self.values, self.rounds, self.local_steps, self.trivial()[0], hidden)


EXACT, ROUGH = 1e-6, 1e-3
"""Relative distance of the lower limit from the least bound: for the answer, and for the search of K."""


class _Bounds:
    """The bound at given T and K; at: the values of all symbols there."""

    def __init__(self, theorem: Statement, at: Callable[[int, int], Mapping[str, float]], rounds: int | None) -> None:
        self.theorem, self.at, self.most = theorem, at, rounds or ENOUGH
        self.best = cache(self._best)

    def _best(self, K: int, quiet: bool, exact: float = EXACT) -> tuple[int, float, float]:
        """The best T, the bound there and a lower limit; quiet: without V_0, as K grows; exact: as in `least_of`."""
        silent = {"varsigma": 0.0} if quiet else {}

        @cache
        def noise_and_rest(T: int) -> tuple[float, float]:
            found = terms(self.theorem, {**self.at(T, K), **silent})
            noise = found.pop("noise")
            return noise, math.fsum(found.values())

        return least_of(lambda T: noise_and_rest(T)[0], noise_and_rest, 1, self.most, exact)


def _local_steps(bounds: _Bounds, trivial: float, hidden: bool) -> tuple[int, float, str]:
    """K where it is free, a lower limit for all K, and the reason."""
    _, limit, lower = bounds.best(2, True)
    more, enough = 2, near_limit(limit, trivial)
    if bounds.at(1, 1)["varsigma"] > 0:
        more = max(2, count_for(lambda K: bounds.best(max(2, K), False, ROUGH)[1] > enough))
    one = bounds.best(1, False)
    if one[1] <= bounds.best(more, False)[1]:
        why = "more local steps do not have a smaller bound"
        if hidden:
            why += ", since the noise of all users hides only single ones"
        return 1, min(one[2], lower), why
    how = f"the bounds fall with K >= 2 towards {lower:.6g}; K is the least with a bound at most {SHARE:.0%} above that"
    return more, min(one[2], lower), how


def _minimize(
    theorem: Statement,
    at: Callable[[int, int], Mapping[str, float]],
    rounds: int | None,
    local_steps: int | None,
    trivial: float,
    hidden: bool,
) -> Optimum:
    """The rounds and local steps with the least bound.

    at: the values of the symbols at T and K. rounds: the largest T. hidden: whether the noise of all users hides a
    single local step.
    """
    bounds = _Bounds(theorem, at, rounds)
    if local_steps is not None:
        K, why, lower = local_steps, "its local steps are given", bounds.best(local_steps, False)[2]
    else:
        K, lower, why = _local_steps(bounds, trivial, hidden)
    how = f"{why}; T is where the bound turns from falling to rising, or the largest allowed; the steps are prescribed"
    return Optimum({"rounds": bounds.best(K, False)[0], "local_steps": K}, lower, how)
