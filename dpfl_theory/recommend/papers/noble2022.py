"""noble2022's two algorithms for M users with R records each: noise at every local step, and the repaired Theorems C.1
and C.2 for steps and bound.

The strongly convex case of Theorem C.2 is left out: no threshold meets its hypothesis that clipping never acts, since
Gaussian noise takes the iterates anywhere and gradients of strongly convex objectives have no bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpfl_theory.algorithms.record_level import DPScaffold, RecordLevelFedAvg
from dpfl_theory.recommend.bound_minimizers import Optimum, scaffold
from dpfl_theory.recommend.bound_minimizers.fedavg_record import minimize
from dpfl_theory.recommend.evaluate import cite, prescribed
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
from dpfl_theory.recommend.setting import Setting
from dpfl_theory.statements import get
from dpfl_theory.statements.noble2022.run_symbols import SYMBOLS

if TYPE_CHECKING:
    from dpfl_theory.core import Statement
    from dpfl_theory.privacy import Mechanism

__all__ = ["SETTINGS", "Noble2022FedAvg", "Noble2022Scaffold"]

_BY_NOISE = "Sigma, computed from sigma_g, is a symbol of {}: its bound is that of this noise"


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
    speaks_of_noise: ClassVar[str] = _BY_NOISE.format("Theorem C.2")

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
        return minimize(self.theorem({}), self.values, self.rounds, self.local_steps, self.trivial()[0], hidden)


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
    of_runs: ClassVar[str] = scaffold.EXPLICIT
    speaks_of_noise: ClassVar[str] = _BY_NOISE.format("Theorem C.1")

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
        return scaffold.minimize(self.values, self.rounds, self.local_steps, strong, self.trivial()[0], wide)

    def bound_infimum(self) -> float:
        if self.unmet(self._anything()):
            return math.inf
        return scaffold.infimum(self.values, self.rounds, self.local_steps, self.strong_convexity is not None)

    def _anything(self) -> Document:
        """A choice that meets all hypotheses that any choice can meet."""
        T, K = self.rounds or 1, self.local_steps or 1
        steps = {"eta_g": 1.0, "eta_l": scaffold.longest_step(self.values(T, K)) / K / 2}
        return {"statement": scaffold.EXPLICIT, "rounds": T, "local_steps": K, **steps}

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


SETTINGS: tuple[Any, ...] = (Noble2022FedAvg, Noble2022Scaffold)
