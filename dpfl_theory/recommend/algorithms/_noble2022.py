"""Common parts of noble2022's two algorithms: M users with R records, and noise at every local step."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpfl_theory.recommend.base import Document, Setting, calibration, parameter, quote_option, view

if TYPE_CHECKING:
    from dpfl_theory.core import Statement
    from dpfl_theory.privacy import Mechanism

__all__ = ["Noble2022"]

_NOTHING = "The bound is not below nu D_0^2/2, which bounds F(x^0) - F(x*) without any run: the bound promises nothing."


@dataclass(frozen=True, kw_only=True)
class Noble2022(Setting):
    """The inputs of both, their noise, and the answer to a choice of a statement with its rounds and local steps."""

    power: ClassVar[int] = 1
    usual_constant: ClassVar[float | None] = 1.0

    users: int = parameter("number of users M", "count", measured="clients", symbol="M")
    records: int = parameter("records R of each user that enter training", "count", measured="records", symbol="R")
    user_rate: float = parameter("share l of the users in a round", "share", symbol="l")
    record_rate: float = parameter("share s of the records in a local step", "share", symbol="s")
    dim: int = parameter("dimension d", "count", measured="dimension")
    smoothness: float = parameter(
        "smoothness constant nu of every user's objective [F/X^2]",
        "positive",
        measured="largest smoothness",
        symbol="nu",
    )
    distance: float = parameter("initial distance from the minimiser [X]", "positive", measured="distance", symbol="D0")
    clip: float = parameter("clipping threshold C of one record's gradient [F/X]", "positive")
    gradient_variance: float = parameter(
        "variance varsigma^2 of one record's gradient [F^2/X^2]", "nonnegative", measured="gradient variance"
    )
    local_steps: int | None = parameter("local steps K in a round", "count", free=True, symbol="K")
    rounds: int | None = parameter(
        "communication rounds T, without those that warm up control variates", "count", free=True, symbol="T"
    )
    epsilon: float = parameter("epsilon of the budget", "positive", symbol="epsilon")
    delta: float = parameter("delta of the budget", "probability", symbol="delta")
    calibration: str = calibration()
    view: str = view("third-party")
    constant: float | None = parameter("constant of the noise, 1 by default", "positive", optional=True)

    def contradictions(self) -> Iterator[str]:
        if self.users * self.user_rate < 1 - 1e-9:
            yield self.refused("user_rate", f"of `users={self.users}` it is less than one user", "raise one of them")
        if self.records * self.record_rate < 1 - 1e-9:
            yield self.refused(
                "record_rate", f"of `records={self.records}` it is less than one record", "raise one of them"
            )

    def symbols(self) -> dict[str, float]:
        own = {"varsigma": math.sqrt(self.gradient_variance), "u": self.paper_constant() or 1.0}
        return {**super().symbols(), **own}

    def noise(self, T: int, K: int) -> float:
        """sigma_g, the noise of one local step over its sensitivity 2C/(sR), for T rounds of K local steps: the
        printed order, with the constant."""
        from dpfl_theory.recommend.evaluate import prescribed
        from dpfl_theory.statements import get

        return prescribed(get("noble2022.theorem4.1.third-party"), {**self.symbols(), "T": T, "K": K})["sigma_g"]

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
        """2C/(sR), the largest change of a local step by one record [F/X]."""
        return 2 * self.clip / (self.record_rate * self.records)

    def sigma(self, T: int, K: int) -> float:
        """The symbol Sigma [F/X], which has 2d where the noise's second moment has d."""
        return self.unit() * math.sqrt(2 * self.dim) * self.noise(T, K)

    def at(self, choice: Document) -> dict[str, float]:
        """The values of all symbols of the choice's statement, with the steps that it prescribes."""
        from dpfl_theory.recommend.evaluate import prescribed
        from dpfl_theory.statements import get

        T, K = int(choice["rounds"]), int(choice["local_steps"])
        known = {**self.symbols(), "T": T, "K": K, "Sigma": self.sigma(T, K)}
        return {**known, **prescribed(get(choice["statement"]), known)}

    def terms(self, choice: Document) -> dict[str, float]:
        """The terms of the choice's bound [F], by name."""
        from dpfl_theory.recommend.evaluate import terms
        from dpfl_theory.statements import get

        return terms(get(choice["statement"]), self.at(choice))

    def unmet(self, choice: Document) -> list[str]:
        """The reasons why the choice's statement does not apply."""
        from dpfl_theory.recommend.evaluate import failures
        from dpfl_theory.statements import get

        return failures(get(choice["statement"]), self.at(choice))

    def answer(self, choice: Document) -> Document:
        from dpfl_theory.recommend.evaluate import cite
        from dpfl_theory.statements import get

        theorem, known = get(choice["statement"]), self.at(choice)
        unmet, found = self.unmet(choice), self.terms(choice)
        sigma_g = self.noise(int(known["T"]), int(known["K"]))
        bound = None if unmet else math.fsum(found.values())
        cited = [cite("bound", theorem, known)]
        if self.calibration == "paper":
            cited.append(cite("noise", get("noble2022.theorem4.1.third-party")))
        return {
            "eta_g": known["eta_g"],
            "eta_l": known["eta_l"],
            **self.weights(choice, known),
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
                "bounds": self.bounded,
                "applies": not unmet,
                "vacuous": None if bound is None else bound >= self.trivial()[0],
                "trivial": self.trivial()[0],
                "statements": cited,
            },
            "warnings": [*(f"No bound is claimed: {text}." for text in unmet), *self.said()],
        }

    bounded: ClassVar[str]
    """The left side of the bound."""

    def weights(self, choice: Document, known: dict[str, float]) -> Document:
        """The weights of the mean that the bound is for, where they differ."""
        return {}

    @abstractmethod
    def said(self) -> list[str]:
        """The theorems' requirements on a run, and the rounds that its noise covers."""

    def never_clipped(self, besides: str = "") -> str:
        """The hypothesis on the threshold that both theorems share."""
        return (
            f"The theorem assumes that no record's gradient along the run is longer than {quote_option('clip')}, so "
            f"that clipping never acts{besides}."
        )

    def order(self) -> list[str]:
        """The warning about the paper's noise, where it is used."""
        if self.calibration != "paper":
            return []
        return [
            "The noise is an order with an unknown constant, 1 unless `constant` is given, and that order is refuted: "
            "use `calibration=accountant` for a certified sigma_g."
        ]

    def as_printed(self, original: Statement, known: dict[str, float]) -> str:
        """The paper's eta_l, compared with the longest step that the repaired theorem allows."""
        from dpfl_theory.recommend.evaluate import prescribed

        given, here = prescribed(original, known)["eta_l"], known["eta_l"]
        same = "the same here" if here == given else f"{here / given:.3g} times that"
        return (
            f"The paper prints eta_l = {given:.6g}, whatever the rounds, the noise and the distance, which is refuted "
            f"({original.id}); the repaired one is {same}."
        )

    def with_printed(self, original: Statement, why: str) -> Document:
        """The repaired statement's answer for the given rounds and local steps; why: the source of the steps."""
        from dpfl_theory.recommend.evaluate import cite

        choice = {"statement": f"{original.id}.repaired", "rounds": self.rounds, "local_steps": self.local_steps}
        found, known, unmet = self.answer(choice), self.at(choice), self.unmet(choice)
        certificate = found["certificate"]
        first, *others = certificate["statements"]
        noise = "Theorem 4.1's order" if self.calibration == "paper" else "the least that an accountant certifies"
        end = "; a hypothesis of it fails" if unmet else ", which gives the bound"
        vacuous = [_NOTHING] if certificate["vacuous"] else []
        return {
            **found,
            "certificate": {
                **certificate,
                "reason": f"sigma_g is {noise} for these rounds, and eta_g and eta_l are the steps that {why}, "
                f"repaired, prescribes at this noise{end}",
                "statements": [{**first, "role": "prescription and bound"}, cite("printed", original), *others],
            },
            "warnings": [
                *(f"No bound is claimed: {text}." for text in unmet),
                *vacuous,
                *self.besides(known, found["bound"]),
                self.as_printed(original, known),
                *self.said(),
            ],
        }

    def besides(self, known: dict[str, float], bound: float | None) -> list[str]:
        """The result of another statement for the same steps."""
        return []

    def trivial(self) -> tuple[float, str]:
        return self.smoothness * self.distance**2 / 2, "nu D_0^2/2"

    def levers(self) -> dict[str, float]:
        return {"epsilon": math.inf, "users": math.inf, "dim": 1}

    def varied(self, name: str, value: float) -> Self:
        if name != "users":
            return super().varied(name, value)
        whole = max(1, round(self.user_rate * value))  # a whole number of users in a round, nearest to the share
        return replace(self, users=int(value), user_rate=whole / value)
