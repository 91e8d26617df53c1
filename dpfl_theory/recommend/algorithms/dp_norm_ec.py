"""DP-alpha-NormEC: shulgin2025 Corollary 2 for sigma, beta and gamma, Theorem 2 for the bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpfl_theory.recommend.base import Document, Setting, calibration, parameter
from dpfl_theory.statements.formula import letters_of

if TYPE_CHECKING:
    from dpfl_theory.statements.model import Statement

__all__ = ["SETTINGS", "DPNormEC"]

SHARE = 0.01
"""Without ``rounds``: the term that shrinks with them is at most this share of the terms that do not."""


@dataclass(frozen=True, kw_only=True)
class DPNormEC(Setting):
    r"""DP-alpha-NormEC with server normalisation, for n clients with smooth objectives.

    The paper leaves :math:`\beta_0` and the number of rounds open. Without ``beta_0`` it is the one that minimises the
    bound as K grows; without ``rounds`` there are as many as make :math:`\beta < \alpha + R` and the only term that
    depends on K at most 1% of the others.

    >>> DPNormEC(clients=10, dim=5, smoothness=1.0, smoothness_max=2.0, gap=3.0, residual=0.5, alpha=0.1, epsilon=1.0,
    ...          delta=1e-5).hidden_constant()
    2.0
    """

    name = "dp-norm-ec"
    title = "DP-alpha-NormEC"
    source = "shulgin2025 Corollary 2 and Theorem 2"

    clients: int = parameter("number of clients", "count", measured="clients")
    dim: int = parameter("dimension d", "count", measured="dimension")
    smoothness: float = parameter("smoothness constant L of f [F/X^2]", "positive", measured="smoothness")
    smoothness_max: float = parameter(
        "largest smoothness constant of the clients' objectives [F/X^2]", "positive", measured="largest smoothness"
    )
    gap: float = parameter("f(x_0) - inf f [F]", "positive", measured="gap")
    residual: float = parameter(
        "R = max_i ||grad f_i(x_0) - v_i|| of the first memories v_i [F/X]", "positive", measured="first gradient"
    )
    alpha: float = parameter("smoothing alpha of the normalisation [F/X]", "nonnegative")
    beta_0: float | None = parameter("step of the memories times the rounds, beta_0 [F/X]", "positive", optional=True)
    rounds: int | None = parameter("number of communication rounds", "count", optional=True)
    epsilon: float = parameter("epsilon of the budget", "positive")
    delta: float = parameter("delta of the budget", "probability")
    calibration: str = calibration()
    constant: float | None = parameter("constant of the noise, 4 by default", "positive", optional=True)

    def contradictions(self) -> Iterator[str]:
        if self.smoothness > self.smoothness_max:
            yield self.refused(
                "smoothness",
                f"it exceeds `smoothness_max={self.smoothness_max!r}`",
                "the mean of the f_i is L_max-smooth",
            )
        if self.calibration == "accountant" and self.constant is not None:
            yield self.refused("constant", "an accountant needs none", "leave it out, or use `calibration=paper`")

    def hidden_constant(self) -> float:
        """c with sigma = c sqrt((K + 1) log(1/delta))/epsilon: the root of ``constant``, or the accountant's.

        Releases of Gaussian noise compose as one whose noise multiplier falls with the root of their number, so that
        the accountant's c does not depend on K.
        """
        if self.calibration == "paper":
            return math.sqrt(4.0 if self.constant is None else self.constant)
        from dpfl_theory.privacy import calibrate
        from dpfl_theory.privacy.mechanisms import get

        kind: Any = get("dp-norm-ec")
        one = calibrate(kind(rounds=1), epsilon=self.epsilon, delta=self.delta)
        return one * self.epsilon / math.sqrt(math.log(1 / self.delta))

    def letters(self) -> dict[str, float]:
        """The values of shulgin2025's letters that the inputs give."""
        return {
            "n": self.clients,
            "d": self.dim,
            "L": self.smoothness,
            "L_max": self.smoothness_max,
            "gap": self.gap,
            "R": self.residual,
            "alpha": self.alpha,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "c": self.hidden_constant(),
        }

    def printed(self) -> Document:
        from dpfl_theory.recommend.evaluate import cite, failures, prescribed, terms, value
        from dpfl_theory.statements import get
        from dpfl_theory.statements.shulgin2025.corollary2 import best_beta_0

        corollary, theorem = get("shulgin2025.corollary2"), get("shulgin2025.theorem2")
        known = self.letters()
        best = value(corollary, best_beta_0(letters_of(corollary)), known)
        known["beta_0"] = best if self.beta_0 is None else self.beta_0
        exact = self._least_rounds(corollary, known)
        rounds = math.ceil(exact) if self.rounds is None else int(self.rounds)
        at = {**known, "K": rounds - 1}
        chosen = prescribed(corollary, at)
        at = {**at, **chosen}
        unmet = failures(theorem, at)
        found = terms(theorem, at)
        bound = None if unmet else math.fsum(found.values())
        trivial = math.sqrt(2 * self.smoothness * self.gap)
        vacuous = None if bound is None else bound >= trivial
        noise = get("shulgin2025.noise")
        return {
            "gamma": chosen["gamma"],
            "beta": chosen["beta"],
            "beta_0": known["beta_0"],
            "alpha": self.alpha,
            "rounds": rounds,
            "K": rounds - 1,
            "bound": bound,
            "terms": found,
            "noise": {
                "sigma": chosen["sigma"],
                "meaning": "standard deviation per coordinate of the noise on every client's normalised message",
                "calibration": self.calibration,
                "constant": known["c"] ** 2,
            },
            "unrounded": {} if self.rounds is not None else {"rounds": exact},
            "certificate": {
                "reason": self._reason(unmet),
                "bounds": "min over k of E||grad f(x^k)|| [F/X]",
                "applies": not unmet,
                "vacuous": vacuous,
                "trivial": trivial,
                "statements": [cite("prescription", corollary), cite("bound", theorem, at), cite("noise", noise)],
            },
            "warnings": self._warnings(unmet, vacuous),
        }

    def _least_rounds(self, corollary: Statement, known: dict[str, float]) -> float:
        """The least K + 1 with beta < alpha + R and a curvature term of at most ``SHARE`` of the others."""
        from dpfl_theory.recommend.evaluate import terms

        one = terms(corollary, {**known, "K": 0})
        others = math.fsum(v for name, v in one.items() if name != "curvature")
        contracting = math.floor(known["beta_0"] / (self.alpha + self.residual)) + 1
        return max(1.0, contracting, one["curvature"] / (SHARE * others))

    def _reason(self, unmet: list[str]) -> str:
        step = "was given" if self.beta_0 is not None else "minimises the bound as K grows (the paper leaves it open)"
        many = (
            "were given"
            if self.rounds is not None
            else f"are the least that make beta < alpha + R and the curvature term at most {SHARE:.0%} of the others "
            "(the paper leaves them open)"
        )
        end = ". A hypothesis of Theorem 2 fails" if unmet else ". Theorem 2 gives the bound"
        return f"sigma, beta and gamma are Corollary 2's; beta_0 {step}; the rounds {many}{end}"

    def _warnings(self, unmet: list[str], vacuous: bool | None) -> list[str]:
        said = [f"No bound is claimed: {text}." for text in unmet]
        if vacuous:
            said.append("The bound is not below sqrt(2 L gap), which bounds ||grad f(x_0)||: it promises nothing.")
        if self.calibration == "paper":
            enough = self.epsilon <= 2 * math.log(1 / self.delta) and (self.constant is None or self.constant >= 4)
            said.append(
                "With constant 4 and epsilon <= 2 log(1/delta) this noise is enough (shulgin2025.noise.repaired)."
                if enough
                else "The paper's noise is not known to be enough for this epsilon and constant (see "
                "shulgin2025.noise): use `calibration=accountant`."
            )
        said.append(
            "The paper's displays are lost in the text at hand: the formulas were restored (see the statements)."
        )
        return said


SETTINGS: tuple[Any, ...] = (DPNormEC,)
