"""DP-SCAFFOLD-warm: noble2022 Theorem C.1, repaired, for steps, weights and bound; the noise printed, or certified."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpfl_theory.recommend.algorithms._scaffold_said import as_printed, of_the_run
from dpfl_theory.recommend.base import Document, Setting, calibration, named, parameter, view

if TYPE_CHECKING:
    from dpfl_theory.privacy import Mechanism
    from dpfl_theory.recommend.optimum import Optimum

__all__ = ["SETTINGS", "DPScaffold"]


@dataclass(frozen=True, kw_only=True)
class DPScaffold(Setting):
    r"""DP-SCAFFOLD-warm for M users with R records each; strongly convex if ``strong_convexity`` is given, else convex.

    The step sizes depend on the noise, which is chosen first. The bound is for the mean of :math:`x^0, ...,
    x^{T-1}` with weights ``weight_ratio`` :math:`^{-t} = (1 - \mu K \eta_l \eta_g/2)^{-t}`, which are equal if convex.

    >>> setting = DPScaffold(users=100, records=4000, user_rate=0.25, record_rate=0.2, dim=10, smoothness=1.0,
    ...                      distance=3.0, clip=1.0, gradient_variance=0.0, local_steps=10, rounds=500, epsilon=0.5,
    ...                      delta=1e-6)
    >>> found = setting.printed()
    >>> found["eta_g"], found["weight_ratio"], found["certificate"]["applies"]
    (5.0, 1.0, True)
    """

    name = "dp-scaffold"
    title = "DP-SCAFFOLD-warm"
    source = "noble2022 Theorem C.1, repaired"
    power: ClassVar[int] = 1
    usual_constant: ClassVar[float | None] = 1.0
    speaks_of_noise: ClassVar[str] = "Sigma, of sigma_g, is a letter of Theorem C.1: its bound is that of this noise"

    users: int = parameter("number of users M", "count", measured="clients")
    records: int = parameter("records R of each user that enter training", "count", measured="records")
    user_rate: float = parameter("share l of the users in a round", "share")
    record_rate: float = parameter("share s of the records in a local step", "share")
    dim: int = parameter("dimension d", "count", measured="dimension")
    smoothness: float = parameter(
        "smoothness constant nu of every user's objective [F/X^2]", "positive", measured="largest smoothness"
    )
    strong_convexity: float | None = parameter(
        "strong convexity constant mu of every user's objective [F/X^2]",
        "positive",
        optional=True,
        measured="strong convexity",
    )
    distance: float = parameter("initial distance from the minimiser [X]", "positive", measured="distance")
    clip: float = parameter("clipping threshold C of one record's gradient [F/X]", "positive")
    gradient_variance: float = parameter(
        "variance varsigma^2 of one record's gradient [F^2/X^2]", "nonnegative", measured="gradient variance"
    )
    local_steps: int | None = parameter("local steps K in a round", "count", free=True)
    rounds: int | None = parameter(
        "communication rounds T, without those that warm up control variates", "count", free=True
    )
    epsilon: float = parameter("epsilon of the budget", "positive")
    delta: float = parameter("delta of the budget", "probability")
    calibration: str = calibration()
    view: str = view("third-party")
    constant: float | None = parameter("constant of the noise, 1 by default", "positive", optional=True)

    def contradictions(self) -> Iterator[str]:
        if self.strong_convexity is not None and self.strong_convexity > self.smoothness:
            yield self.refused(
                "strong_convexity",
                f"it exceeds `smoothness={self.smoothness!r}`",
                "no function allows that: give mu <= nu",
            )
        if self.users * self.user_rate < 1 - 1e-9:
            yield self.refused("user_rate", f"of `users={self.users}` it is less than one user", "raise one of them")
        if self.records * self.record_rate < 1 - 1e-9:
            yield self.refused(
                "record_rate", f"of `records={self.records}` it is less than one record", "raise one of them"
            )

    def letters(self) -> dict[str, float]:
        """The values of noble2022's letters that the inputs give."""
        given = {
            "M": self.users,
            "R": self.records,
            "l": self.user_rate,
            "s": self.record_rate,
            "nu": self.smoothness,
            "D0": self.distance,
            "varsigma": math.sqrt(self.gradient_variance),
            "K": self.local_steps,
            "T": self.rounds,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "u": self.paper_constant(),
        }
        known = {**given, "mu": self.strong_convexity}
        return {name: value for name, value in known.items() if value is not None}

    def noise(self, T: int, K: int) -> float:
        """sigma_g, the noise of one local step over its sensitivity 2C/(sR), of T rounds of K: the order that is
        printed, with the constant."""
        from dpfl_theory.recommend.evaluate import prescribed
        from dpfl_theory.statements import get

        return prescribed(get("noble2022.theorem4.1.third-party"), {**self.letters(), "T": T, "K": K})["sigma_g"]

    def released(self, found: Document, printed: bool = False) -> Mechanism:
        from dpfl_theory.privacy.mechanisms import get

        kind: Any = get(self.name)
        return kind(  # type: ignore[no-any-return]
            users=int(self.users),
            records=int(self.records),
            user_rate=self.user_rate,
            record_rate=self.record_rate,
            local_steps=found["local_steps"],
            view=self.view,
            rounds=found["rounds"],
            noise_multiplier=found["noise"]["sigma_g"],
        )

    def unit(self) -> float:
        """2C/(sR), what one record moves a local step by [F/X]."""
        return 2 * self.clip / (self.record_rate * self.records)

    def sigma(self, T: int, K: int) -> float:
        """The letter Sigma [F/X], which counts 2d where the noise's second moment has d."""
        return self.unit() * math.sqrt(2 * self.dim) * self.noise(T, K)

    def printed(self) -> Document:
        from dpfl_theory.recommend.evaluate import cite
        from dpfl_theory.statements import get

        original = get(f"noble2022.theoremC.1.{'convex' if self.strong_convexity is None else 'strongly-convex'}")
        choice = {"statement": f"{original.id}.repaired", "rounds": self.rounds, "local_steps": self.local_steps}
        found = self.answer(choice)
        certificate, known = found["certificate"], self.at(choice)
        unmet = self.unmet(choice)
        first, *others = certificate["statements"]
        return {
            **found,
            "certificate": {
                **certificate,
                "reason": self._reason(unmet),
                "statements": [{**first, "role": "prescription and bound"}, cite("printed", original), *others],
            },
            "warnings": [
                *(f"No bound is claimed: {text}." for text in unmet),
                *self._of_the_bound(known, found["bound"], certificate["vacuous"]),
                as_printed(original, known, found["eta_l"]),
                *of_the_run(self),
            ],
        }

    def at(self, choice: Document) -> dict[str, float]:
        """The values of all letters of the choice's statement, with the steps that it prescribes where it does."""
        from dpfl_theory.recommend.evaluate import prescribed
        from dpfl_theory.statements import get

        T, K = int(choice["rounds"]), int(choice["local_steps"])
        known = {**self.letters(), "T": T, "K": K, "Sigma": self.sigma(T, K)}
        if "eta_l" not in choice:
            return {**known, **prescribed(get(choice["statement"]), known)}
        known.pop("mu", None)  # the step is that of the convex case, whose limit has no mu
        eta_g, eta_l = choice["eta_g"], choice["eta_l"]
        return {**known, "eta_g": eta_g, "eta_l": eta_l, "eta": K * eta_l * eta_g}

    def terms(self, choice: Document) -> dict[str, float]:
        """The terms of the choice's bound [F], by name."""
        from dpfl_theory.recommend.evaluate import terms
        from dpfl_theory.statements import get

        return terms(get(choice["statement"]), self.at(choice))

    def unmet(self, choice: Document) -> list[str]:
        """Why the choice's statement does not apply."""
        from dpfl_theory.recommend.evaluate import failures
        from dpfl_theory.statements import get

        return [*failures(get(choice["statement"]), self.at(choice)), *self.clipped()]

    def answer(self, choice: Document) -> Document:
        from dpfl_theory.recommend.evaluate import cite
        from dpfl_theory.statements import get

        theorem, known = get(choice["statement"]), self.at(choice)
        unmet, found = self.unmet(choice), self.terms(choice)
        sigma_g = self.noise(int(known["T"]), int(known["K"]))
        bound = None if unmet else math.fsum(found.values())
        vacuous = None if bound is None else bound >= self.trivial()[0]
        mu = self.strong_convexity if choice["statement"].startswith("noble2022.theoremC.1.strongly-convex") else None
        cited = [cite("bound", theorem, known)]
        if self.calibration == "paper":
            cited.append(cite("noise", get("noble2022.theorem4.1.third-party")))
        return {
            "eta_g": known["eta_g"],
            "eta_l": known["eta_l"],
            "weight_ratio": 1 - (mu or 0.0) * known["K"] * known["eta_l"] * known["eta_g"] / 2,
            "rounds": int(known["T"]),
            "local_steps": int(known["K"]),
            "bound": bound,
            "terms": found,
            "noise": {
                "sigma_g": sigma_g,
                "sigma_of_one_step": self.unit() * sigma_g,
                "meaning": "sigma_g is the noise over the sensitivity 2C/(sR) of a local step; sigma of one step is "
                "its standard deviation per coordinate [F/X]",
                "calibration": self.calibration,
            },
            "certificate": {
                "bounds": "E F(xbar) - F(x*), xbar the mean of x^0, ..., x^{T-1} with weights weight_ratio^(-t) [F]",
                "applies": not unmet,
                "vacuous": vacuous,
                "trivial": self.trivial()[0],
                "statements": cited,
            },
            "warnings": [*(f"No bound is claimed: {text}." for text in unmet), *of_the_run(self)],
        }

    def chosen(self, document: Document) -> Document:
        """With the steps where the statement, the first that is cited, leaves them free."""
        from dpfl_theory.statements import get

        statement = document["certificate"]["statements"][0]["id"]
        free = () if get(statement).prescription is not None else ("eta_g", "eta_l")
        return {"statement": statement, **{name: document[name] for name in ("rounds", "local_steps", *free)}}

    def trivial(self) -> tuple[float, str]:
        return self.smoothness * self.distance**2 / 2, "nu D_0^2/2"

    def optimum(self) -> Optimum:
        from dpfl_theory.recommend.optimum.scaffold import least

        return least(self)

    def infimum(self) -> float:
        from dpfl_theory.recommend.optimum.scaffold import infimum

        return infimum(self)

    def levers(self) -> dict[str, float]:
        return {"epsilon": math.inf, "users": math.inf, "dim": 1}

    def varied(self, name: str, value: float) -> Self:
        if name != "users":
            return super().varied(name, value)
        whole = max(1, round(self.user_rate * value))  # a whole number of users in a round, nearest to the share
        return replace(self, users=int(value), user_rate=whole / value)

    def _reason(self, unmet: list[str]) -> str:
        which = "2, convex" if self.strong_convexity is None else "1, strongly convex"
        noise = "Theorem 4.1's order" if self.calibration == "paper" else "the least that an accountant certifies"
        end = "; a hypothesis of it fails" if unmet else ", which gives the bound"
        return (
            f"sigma_g is {noise} for these rounds, and eta_g and eta_l are the steps that Theorem C.1 ({which}), "
            f"repaired, prescribes at this noise{end}"
        )

    def clipped(self) -> list[str]:
        """Why clipping acts at once: ||grad F(x^0)|| >= mu D_0, and the longest of the records' gradients is longer."""
        least = (self.strong_convexity or 0.0) * self.distance
        if least <= self.clip:
            return []
        return [
            f"clipping acts at x^0, where some record's gradient is no shorter than mu D_0 = {least:.6g}, above "
            f"{named('clip')} {self.clip:g}"
        ]

    def _of_the_bound(self, known: dict[str, float], bound: float | None, vacuous: bool | None) -> list[str]:
        from dpfl_theory.recommend.evaluate import failures, terms
        from dpfl_theory.statements import get

        said = []
        if vacuous:
            said.append(
                "The bound is not below nu D_0^2/2, which bounds F(x^0) - F(x*) without any run: it promises nothing."
            )
        convex = get("noble2022.theoremC.1.convex.repaired")
        if self.strong_convexity is not None and not [*failures(convex, known), *self.clipped()]:
            other = math.fsum(terms(convex, known).values())
            if bound is None or other < bound:
                smaller = "a bound" if bound is None else "a smaller bound"
                said.append(f"Without `strong_convexity` the convex case applies too, with {smaller}: {other:.6g}.")
        return said


SETTINGS: tuple[Any, ...] = (DPScaffold,)
