"""DP-SCAFFOLD-warm: noble2022 Theorem C.1 for the step sizes and the order of the bound, Theorem 4.1 for the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpfl_theory.recommend.base import Document, Setting, calibration, parameter

__all__ = ["SETTINGS", "DPScaffold"]


@dataclass(frozen=True, kw_only=True)
class DPScaffold(Setting):
    r"""DP-SCAFFOLD-warm for M users with R records each; strongly convex if ``strong_convexity`` is given, else convex.

    The bound is an order, :math:`O(\cdot)`: its constant is unknown, so that ``bound`` is None and ``order`` holds the
    terms without it.

    >>> setting = DPScaffold(users=100, records=4000, user_rate=0.25, record_rate=0.2, dim=10, smoothness=1.0,
    ...                      distance=3.0, clip=1.0, gradient_variance=0.0, local_steps=10, rounds=500, epsilon=0.5,
    ...                      delta=1e-6)
    >>> setting.printed()["eta_g"]
    5.0
    """

    name = "dp-scaffold"
    title = "DP-SCAFFOLD-warm"
    source = "noble2022 Theorem C.1"

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
    distance: float = parameter("initial distance from the minimiser [X]", "nonnegative", measured="distance")
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

    def validate(self) -> None:
        if self.strong_convexity is not None and self.strong_convexity > self.smoothness:
            raise self.refuse(
                "strong_convexity",
                f"it exceeds --smoothness {self.smoothness!r}",
                "no function allows that: give mu <= nu",
            )
        if self.users * self.user_rate < 1 - 1e-9:
            raise self.refuse("user_rate", f"of --users {self.users} it is less than one user", "raise one of them")
        if self.records * self.record_rate < 1 - 1e-9:
            raise self.refuse(
                "record_rate", f"of --records {self.records} it is less than one record", "raise one of them"
            )
        if self.calibration == "accountant" and self.constant is not None:
            raise self.refuse("constant", "an accountant needs none", "leave it out, or use --calibration paper")

    def letters(self) -> dict[str, float]:
        """The values of noble2022's letters that the inputs give, with c = 1 for the unknown constant."""
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
            "c": 1.0,
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

        strongly = self.strong_convexity is not None
        theorem = get(f"noble2022.theoremC.1.{'strongly-convex' if strongly else 'convex'}")
        known = self.letters()
        steps = prescribed(theorem, {**known, "eta_g": math.sqrt(self.user_rate * self.users)})
        sigma_g = self.noise()
        unit = 2 * self.clip / (self.record_rate * self.records)
        known |= {**steps, "Sigma": unit * math.sqrt(2 * self.dim) * sigma_g}
        unmet = failures(theorem, known)
        found = terms(theorem, known)
        return {
            **steps,
            "rounds": int(self.rounds),
            "bound": None,
            "order": {
                "value": math.fsum(found.values()),
                "terms": found,
                "meaning": "the terms inside O(.) [F]; the constant is unknown, so that this bounds nothing",
            },
            "noise": {
                "sigma_g": sigma_g,
                "sigma_of_one_step": unit * sigma_g,
                "meaning": "sigma_g is the noise over the sensitivity 2C/(sR) of a local step; sigma of one step is "
                "its standard deviation per coordinate [F/X]",
                "calibration": self.calibration,
            },
            "certificate": {
                "reason": self._reason(strongly, unmet),
                "bounds": "E F(xbar) - F(x*) for an average xbar of the iterates with unknown weights [F]",
                "applies": not unmet,
                "vacuous": None,
                "trivial": self.smoothness * self.distance**2 / 2,
                "statements": [
                    cite("prescription and order", theorem, known),
                    cite("noise", get("noble2022.theorem4.1.third-party")),
                ],
            },
            "warnings": self._warnings(unmet),
        }

    def _reason(self, strongly: bool, unmet: list[str]) -> str:
        which = "1, strongly convex" if strongly else "2, convex"
        end = "; a hypothesis of it fails" if unmet else ""
        return (
            f"eta_g and eta_l are Theorem C.1's ({which}){end}. Its bound is O(.) with an unknown constant and unknown "
            "weights, so that no number is bounded"
        )

    def _warnings(self, unmet: list[str]) -> list[str]:
        said = [f"The theorem does not apply: {text}." for text in unmet]
        if unmet and self.strong_convexity is not None:
            said.append("Without --strong-convexity the convex case applies, for any number of rounds.")
        said.append(
            "The theorem is refuted for this eta_l, which does not shrink with the rounds: its proof allows the bound "
            "for some smaller one only."
        )
        said.append(
            "Rounds that set the control variates before round 1 (some 4/l) release as much as any other. The "
            "theorem's T leaves them out, and so does this noise: calibrate for --rounds and those to protect a run."
        )
        if self.calibration == "paper":
            said.append(
                "The noise is an order with an unknown constant, 1 unless --constant says otherwise, and that order is "
                "refuted: use --calibration accountant for a certified sigma_g."
            )
        return said


SETTINGS: tuple[Any, ...] = (DPScaffold,)
