"""DP-SCAFFOLD-warm: noble2022 Theorem C.1, repaired, for steps, weights and bound; the noise printed, or certified."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpfl_theory.recommend.base import Document, Setting, calibration, named, parameter

if TYPE_CHECKING:
    from dpfl_theory.statements.model import Statement

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
    local_steps: int = parameter("local steps K in a round", "count")
    rounds: int = parameter("communication rounds T, without those that warm up control variates", "count")
    epsilon: float = parameter("epsilon of the budget", "positive")
    delta: float = parameter("delta of the budget", "probability")
    calibration: str = calibration()
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
        if self.calibration == "accountant" and self.constant is not None:
            yield self.refused("constant", "an accountant needs none", "leave it out, or use `calibration=paper`")

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
            "u": 1.0 if self.constant is None else self.constant,
        }
        return given if self.strong_convexity is None else {**given, "mu": self.strong_convexity}

    def noise(self) -> float:
        """sigma_g, the noise of one local step over its sensitivity 2C/(sR): printed, or an accountant's."""
        if self.calibration == "paper":
            from dpfl_theory.recommend.evaluate import prescribed
            from dpfl_theory.statements import get

            return prescribed(get("noble2022.theorem4.1.third-party"), self.letters())["sigma_g"]
        from dpfl_theory.privacy import calibrate
        from dpfl_theory.privacy.mechanisms import get as mechanism

        kind: Any = mechanism("dp-scaffold")
        run = kind(
            users=int(self.users),
            records=int(self.records),
            user_rate=self.user_rate,
            record_rate=self.record_rate,
            local_steps=int(self.local_steps),
            rounds=int(self.rounds),
        )
        return calibrate(run, epsilon=self.epsilon, delta=self.delta)

    def printed(self) -> Document:
        from dpfl_theory.recommend.evaluate import cite, failures, prescribed, terms
        from dpfl_theory.statements import get

        original = get(f"noble2022.theoremC.1.{'convex' if self.strong_convexity is None else 'strongly-convex'}")
        theorem = get(f"{original.id}.repaired")
        sigma_g = self.noise()
        unit = 2 * self.clip / (self.record_rate * self.records)
        # The letter counts 2d where the noise's second moment has d; the statement is about the letter.
        known = {**self.letters(), "Sigma": unit * math.sqrt(2 * self.dim) * sigma_g}
        steps = prescribed(theorem, known)
        unmet = [*failures(theorem, known), *self._clipped()]
        found = terms(theorem, known)
        bound = None if unmet else math.fsum(found.values())
        trivial = self.smoothness * self.distance**2 / 2
        vacuous = None if bound is None else bound >= trivial
        global_step = self.local_steps * steps["eta_l"] * steps["eta_g"]
        cited = [cite("prescription and bound", theorem, known), cite("printed", original)]
        if self.calibration == "paper":
            cited.append(cite("noise", get("noble2022.theorem4.1.third-party")))
        return {
            **steps,
            "weight_ratio": 1 - (self.strong_convexity or 0.0) * global_step / 2,
            "rounds": int(self.rounds),
            "bound": bound,
            "terms": found,
            "noise": {
                "sigma_g": sigma_g,
                "sigma_of_one_step": unit * sigma_g,
                "meaning": "sigma_g is the noise over the sensitivity 2C/(sR) of a local step; sigma of one step is "
                "its standard deviation per coordinate [F/X]",
                "calibration": self.calibration,
            },
            "certificate": {
                "reason": self._reason(unmet),
                "bounds": "E F(xbar) - F(x*), xbar the mean of x^0, ..., x^{T-1} with weights weight_ratio^(-t) [F]",
                "applies": not unmet,
                "vacuous": vacuous,
                "trivial": trivial,
                "statements": cited,
            },
            "warnings": [
                *(f"No bound is claimed: {text}." for text in unmet),
                *self._of_the_bound(known, bound, vacuous),
                self._as_printed(original, known, steps["eta_l"]),
                *self._of_the_run(),
            ],
        }

    def _reason(self, unmet: list[str]) -> str:
        which = "2, convex" if self.strong_convexity is None else "1, strongly convex"
        noise = "Theorem 4.1's order" if self.calibration == "paper" else "the least that an accountant certifies"
        end = "; a hypothesis of it fails" if unmet else ", which gives the bound"
        return (
            f"sigma_g is {noise} for these rounds, and eta_g and eta_l are the steps that Theorem C.1 ({which}), "
            f"repaired, prescribes at this noise{end}"
        )

    def _clipped(self) -> list[str]:
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
        if self.strong_convexity is not None and not [*failures(convex, known), *self._clipped()]:
            other = math.fsum(terms(convex, known).values())
            if bound is None or other < bound:
                smaller = "a bound" if bound is None else "a smaller bound"
                said.append(f"Without `strong_convexity` the convex case applies too, with {smaller}: {other:.6g}.")
        return said

    def _as_printed(self, original: Statement, known: dict[str, float], eta_l: float) -> str:
        """What the paper prints for eta_l, the longest step that the repaired theorem takes."""
        from dpfl_theory.recommend.evaluate import prescribed

        given = prescribed(original, known)["eta_l"]
        here = (
            "the repaired one is the same here"
            if eta_l == given
            else f"the repaired one is {eta_l / given:.3g} times that"
        )
        return (
            f"The paper prints eta_l = {given:.6g}, whatever the rounds, the noise and the distance, which is refuted "
            f"({original.id}); {here}."
        )

    def _of_the_run(self) -> list[str]:
        never = "" if self.strong_convexity is None else "; under Gaussian noise no threshold can promise this here"
        covered = (
            "the noise is for T rounds, so for all of these"
            if self.user_rate == 1
            else "the noise is for T rounds of a share l of the users each: to their budget comes what one round with "
            "`user_rate=1` costs (dpfl-theory privacy account)"
        )
        said = [
            f"The theorem takes it that no record's gradient along the run is longer than {named('clip')}, so that "
            f"clipping never acts{never}.",
            "The theorem starts from control variates that all users have set by noisy gradients at x^0: xbar takes "
            "one such round, which releases as much as any other (4/l rounds of drawn users may miss a user), and T - "
            f"1 rounds after it; {covered}.",
        ]
        if self.calibration == "paper":
            said.append(
                "The noise is an order with an unknown constant, 1 unless `constant` says otherwise, and that order is "
                "refuted: use `calibration=accountant` for a certified sigma_g."
            )
        return said


SETTINGS: tuple[Any, ...] = (DPScaffold,)
