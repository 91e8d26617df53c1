"""DP-FedAvg with two step sizes: zhang2021 Section 3.1's steps, Theorem 3.2's noise, repaired, and Corollary 3.2.1's
bound, repaired."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg
from dpfl_theory.recommend.bound_minimizers import Optimum, two_sided
from dpfl_theory.recommend.evaluate import cite
from dpfl_theory.recommend.inputs import Document, calibration, given, of_budget, parameter, relation, view
from dpfl_theory.recommend.setting import Setting
from dpfl_theory.statements import get
from dpfl_theory.statements.zhang2021.run_symbols import SYMBOLS

if TYPE_CHECKING:
    from dpfl_theory.core import Statement

__all__ = ["SETTINGS", "Zhang2021"]


@dataclass(frozen=True, kw_only=True)
class Zhang2021(Setting):
    r"""DP-FedAvg with a local and a global step for N clients with L-smooth objectives, convex or not.

    The threshold is :math:`c = \eta_l Q G`, the largest length of a client's difference, so that clipping never acts.

    >>> setting = Zhang2021(clients=1000, cohort=100, dim=10, smoothness=1.0, lipschitz=1.0, gap=2.0,
    ...                            dissimilarity=0.0, local_steps=2, rounds=2_000_000, epsilon=1.0, delta=1e-5)
    >>> found = setting.printed()
    >>> found["eta_l"] * 2 * 2_000_000**0.5, found["certificate"]["applies"]
    (1.0, True)
    """

    described = DPTwoSidedFedAvg
    source = "zhang2021 Section 3.1 and Corollary 3.2.1, repaired"
    bounding: ClassVar[str] = "zhang2021.corollary3.2.1.repaired"
    noise_of: ClassVar[str] = "zhang2021.theorem3.2.repaired"
    paper_noise_only = "the bound"
    choices: ClassVar[Mapping[str, str]] = {"eta_g": "eta_g", "eta_l": "eta_l", "rounds": "T", "local_steps": "Q"}
    shown: ClassVar[Mapping[str, str]] = {"c": "c"}
    speaks_of_noise: ClassVar[str] = (
        "Corollary 3.2.1, repaired, has the paper's noise in place of sigma: its bound is only that of this noise"
    )

    clients: int = given(SYMBOLS["N"], "clients")
    cohort: float = given(SYMBOLS["P"], kind="positive")
    dim: int = given(SYMBOLS["d"], "dimension")
    smoothness: float = given(SYMBOLS["L"], "largest smoothness")
    lipschitz: float = given(SYMBOLS["G"], "lipschitz")
    gap: float = given(SYMBOLS["gap"], "gap", kind="positive")
    dissimilarity: float = given(SYMBOLS["sigma_g"], "largest dissimilarity")
    gradient_variance: float | None = parameter(
        "variance of a stochastic gradient (sigma_l^2)",
        "nonnegative",
        unit="F^2/X^2",
        optional=True,
        remark="; 0, for full gradients, by default",
    )
    local_steps: int | None = given(SYMBOLS["Q"], free=True)
    rounds: int | None = given(SYMBOLS["T"], free=True)
    epsilon: float = of_budget("epsilon")
    delta: float = of_budget("delta")
    calibration: str = calibration("paper")
    relation: str = relation(DPTwoSidedFedAvg)
    view: str = view()

    def contradictions(self) -> Iterator[str]:
        yield from self.not_above("cohort", "clients", "give at most that")
        if self.cohort != round(self.cohort):
            yield self.refused("cohort", "every cohort has exactly P clients", "give a whole number")

    def symbols(self) -> dict[str, float]:
        sigma_l = math.sqrt(self.gradient_variance or 0.0)
        return {**super().symbols(), "c_prime": self.lipschitz, "sigma_l": sigma_l}

    def at(self, choice: Document) -> dict[str, float]:
        found = super().at(choice)
        return {**found, "c": found["eta_l"] * found["Q"] * self.lipschitz}

    def cited(self, theorem: Statement, at: Mapping[str, float]) -> list[Document]:
        return [cite("bound", theorem, at), cite("noise", get(self.noise_of), at)]

    def trivial(self) -> tuple[float, str]:
        return min(self.lipschitz**2, 2 * self.smoothness * self.gap), "min(G^2, 2 L (f(x_0) - inf f))"

    def warnings(self) -> list[str]:
        return [
            "The noise is proved to be sufficient for clients that take part independently; the accounting is for "
            "cohorts of exactly P clients, as in the bound. The bound is only for the paper's own noise."
        ]

    def longest(self, T: int, Q: int) -> float:
        """The local step 1/(sqrt(T) Q L) of Section 3.1."""
        return 1 / (math.sqrt(T) * Q * self.smoothness)

    def printed(self) -> Document:
        assert self.rounds is not None
        assert self.local_steps is not None
        T, Q = self.rounds, self.local_steps
        steps = {"eta_g": math.sqrt(Q * self.cohort), "eta_l": self.longest(T, Q)}
        found = self.answer({**steps, "rounds": T, "local_steps": Q})
        reason = (
            "eta_g = sqrt(QP) and eta_l = 1/(sqrt(T) Q L) are Section 3.1's, c = eta_l Q G is the longest difference, "
            "and sigma is Theorem 3.2's, repaired"
        )
        return {**found, "certificate": {**found["certificate"], "reason": reason}}

    def least(self) -> Optimum:
        if unmet := self._impossible():
            T, Q = self.rounds or 1, self.local_steps or 1
            steps = {"eta_g": 1.0, "eta_l": self.longest(T, Q)}
            return Optimum({**steps, "rounds": T, "local_steps": Q}, unmet=tuple(unmet))
        return two_sided.minimize(self.symbols(), self.trivial()[0], self.longest)

    def bound_infimum(self) -> float:
        return math.inf if self._impossible() else two_sided.infimum(self.symbols())

    def _impossible(self) -> list[str]:
        """The hypotheses that fail for all steps."""
        return self.unmet({"eta_g": 1e-300, "eta_l": 1e-300, "rounds": self.rounds or 10**15, "local_steps": 1})

    def levers(self) -> dict[str, float]:
        most = math.log(1 / self.delta) / 2  # beyond this epsilon the noise is not known to be sufficient
        return {**super().levers(), "epsilon": most}


SETTINGS: tuple[Any, ...] = (Zhang2021,)
