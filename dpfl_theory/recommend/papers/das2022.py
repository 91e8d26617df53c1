"""DP-FedAvg with clipping and DP-NormFedAvg: das2022 Theorem 4, with the noise of its Theorem 3."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg
from dpfl_theory.core.formula import sides_of, total
from dpfl_theory.core.inverse import value
from dpfl_theory.recommend.bound_minimizers import Optimum
from dpfl_theory.recommend.bound_minimizers.fedavg import infimum, minimize, nearest
from dpfl_theory.recommend.evaluate import prescribed, rounded_up
from dpfl_theory.recommend.inputs import (
    Document,
    calibration,
    constant,
    given,
    of_budget,
    parameter,
    quote_option,
    relation,
    view,
)
from dpfl_theory.recommend.setting import Setting, bounded
from dpfl_theory.statements import get
from dpfl_theory.statements.das2022.run_symbols import SYMBOLS, excess

if TYPE_CHECKING:
    from dpfl_theory.core import Statement

__all__ = ["SETTINGS", "Das2022", "Das2022Normalised"]


@dataclass(frozen=True, kw_only=True)
class Das2022(Setting):
    r"""DP-FedAvg with clipping for n clients with convex, L-smooth, G-Lipschitz objectives.

    The privacy level is epsilon and delta, or rho. The accountant's noise determines rho by :math:`\sigma^2 = K C^2
    \rho^2/d`, as the paper's does, where :math:`\rho = \sqrt{q d \log(1/\delta)}/(n \epsilon)`. The default of gamma is
    :math:`L \|w_0 - w^*\|`, which minimises the term A of the bound.

    >>> Das2022(clients=100, cohort=100, dim=10, smoothness=2.0, lipschitz=1.0, distance=3.0, heterogeneity=0.0,
    ...          local_steps=2, alpha=1.0, rho=0.1).travel()
    6.0
    """

    described = DPFedAvg
    source = "das2022 Theorem 4 (a)"
    prescribing: ClassVar[str] = "das2022.theorem4a"
    """The printed statement; the bound may be its repair's."""
    bounding: ClassVar[str] = prescribing
    noise_of: ClassVar[str] = "das2022.theorem3"
    empty: ClassVar[Document] = {"unrounded": {}, "repaired": None}
    choices: ClassVar[Mapping[str, str]] = {"local_steps": "E", "alpha": "alpha", "gamma": "gamma", "rounds": "K"}
    shown: ClassVar[Mapping[str, str]] = {"eta": "eta", "beta": "eta", "C": "C", "rho": "rho"}
    speaks_of_noise: ClassVar[str] = "Theorem 4 depends on rho, here that of this noise: sigma^2 = K C^2 rho^2/d"

    clients: int = given(SYMBOLS["n"], "clients")
    cohort: float = given(SYMBOLS["r"])
    dim: int = given(SYMBOLS["d"], "dimension")
    smoothness: float = given(SYMBOLS["L"], "largest smoothness")
    lipschitz: float = given(SYMBOLS["G"], "lipschitz")
    distance: float = given(SYMBOLS["D"], "distance", kind="positive")
    heterogeneity: float = given(SYMBOLS["Delta"], "heterogeneity", remark=", Delta_i* = f_i(w*) - min f_i")
    local_steps: int | None = given(SYMBOLS["E"], free=True)
    alpha: float | None = given(SYMBOLS["alpha"], free=True)
    gamma: float | None = given(SYMBOLS["gamma"], optional=True, remark="; by default L times the distance")
    rounds: int | None = parameter(
        "number of communication rounds; bound-optimal makes at most these", "count", optional=True
    )
    rho: float | None = given(SYMBOLS["rho"], optional=True, remark="; in place of epsilon and delta")
    epsilon: float | None = of_budget("epsilon", optional=True)
    delta: float | None = of_budget("delta", optional=True)
    calibration: str = calibration()
    relation: str = relation(DPFedAvg)
    view: str = view()
    constant: float | None = constant("")

    @classmethod
    def undecided(cls, given: Mapping[str, Any]) -> list[str]:
        needed = ("epsilon", "delta", *(("constant",) if given.get("calibration") == "paper" else ()))
        missing = [name for name in needed if given.get(name) is None]
        if given.get("rho") is not None or not missing:
            return []
        *first, last = map(quote_option, needed)
        every = f"{', '.join(first)} and {last}"
        if len(missing) == len(needed):
            return [f"a privacy level: give `rho`, or {every}"]
        lacking = " and ".join(map(quote_option, missing))
        return [f"{lacking}, since rho is computed from {every}: give all of them, or `rho`"]

    def contradictions(self) -> Iterator[str]:
        budget = (self.epsilon, self.delta, self.constant)
        if self.rho is not None and any(v is not None for v in budget):
            yield f"{self.name} needs a privacy level: give `rho`, or `epsilon`, `delta` and `constant`, not both"
        yield from self.not_above("cohort", "clients", "give at most that")

    def travel(self) -> float:
        """gamma [F/X]: given, or the minimiser L ||w_0 - w*|| of G (L ||w_0 - w*||^2/gamma + gamma/L) rho."""
        return self.smoothness * self.distance if self.gamma is None else self.gamma

    def ratio(self) -> float:
        """rho: given, or that of Definition 2."""
        if self.rho is not None:
            return self.rho
        definition = get("das2022.definition2")
        known = {"q": self.constant, "epsilon": self.epsilon, "delta": self.delta, "n": self.clients, "d": self.dim}
        return value(definition, total(definition), known)

    def symbols(self) -> dict[str, float]:
        return {**super().symbols(), "rho": self.ratio(), "kappa": excess(self.cohort, self.clients)}

    def at(self, choice: Document) -> dict[str, float]:
        found = super().at(choice)
        return {**found, **prescribed(self.theorem(choice), found), "K": choice["rounds"]}

    def coefficient(self, theorem: Statement, at: Mapping[str, float]) -> float:
        (left,) = sides_of(theorem).lhs.values()
        return value(theorem, left, {**at, bounded(theorem).name: 1.0})

    def noise(self, at: Mapping[str, float]) -> Document:
        found = super().noise(at)
        own = {} if self.rho is None else {"calibration": "paper"}
        return {**found, "sigma_of_one_message": found["sigma"] * math.sqrt(self.cohort), **own}

    def cited(self, theorem: Statement, at: Mapping[str, float]) -> list[Document]:
        bound, noise = super().cited(theorem, at)
        return [{**bound, "role": "prescription and bound"}, noise]

    def trivial(self) -> tuple[float, str]:
        """f is L-smooth and G-Lipschitz, which bounds f(w_0) - f(w*) without any run."""
        return min(self.lipschitz * self.distance, self.smoothness * self.distance**2 / 2), "min(G D, L D^2/2)"

    def warnings(self) -> list[str]:
        if self.calibration == "paper":
            return [
                "Theorem 3 is refuted as printed: whether this noise gives (epsilon, delta) depends on the constant q; "
                "ask dpfl-theory privacy constant das2022.theorem3."
            ]
        if self.noise_by_server() and self.rho is None:
            return [
                "The certificate is for noise on the average, for any cohort. Clients that add the noise themselves "
                "need more, since few may take part (dpfl-theory privacy calibrate --noise per-client)."
            ]
        return []

    def printed(self) -> Document:
        known = {**self.symbols(), "gamma": self.travel()}
        exact = prescribed(get(self.prescribing), known)["K"]
        K = rounded_up(exact)
        own = {"statement": self.prescribing, "local_steps": self.local_steps, "alpha": self.alpha}
        # K is proportional to gamma, so the rounded K is the prescription for a slightly larger gamma.
        found = self.answer({**own, "gamma": known["gamma"] * K / exact, "rounds": K})
        real = {"rounds": exact, "gamma": known["gamma"]}
        longer = [] if self.rounds is None or self.rounds >= K else [f"These are more than `rounds={self.rounds}`."]
        chosen = "given" if self.gamma is not None else "L times the distance, which minimises the term A"
        end = "" if found["certificate"]["applies"] else ", but a hypothesis fails"
        reason = (
            f"eta = rho/(2 alpha L), C = G E and K = 2 alpha gamma/(C rho^2) are Theorem 4's; gamma was {chosen}. K = "
            f"{exact:.6g} is rounded up to {K}, and gamma is raised in proportion, so that the theorem holds for this "
            f"K{end}"
        )
        return {
            **found,
            "unrounded": {**real, "bound": self.claimed({**own, **real})},
            "certificate": {**found["certificate"], "reason": reason},
            "warnings": [*found["warnings"], *longer],
        }

    def least(self) -> Optimum:
        theorem, known, gamma = self.theorem({}), self.symbols(), self.travel()
        if self._hopeless():
            return Optimum(nearest(theorem, known, gamma))
        return minimize(theorem, known, self.rounds, self.trivial()[0], gamma)

    def bound_infimum(self) -> float:
        if self._hopeless():
            return math.inf
        free = self.alpha is None and self.rounds is None
        return infimum(self.theorem({}), self.symbols()) if free else self.optimum().bound

    def _hopeless(self) -> bool:
        """Whether some hypothesis fails for every choice."""
        if self.unknown() is not None or self.ratio() >= 1:
            return True
        return self.alpha is None and bool(self.unmet(nearest(self.theorem({}), self.symbols(), self.travel())))

    def levers(self) -> dict[str, float]:
        return {"rho": 0.0} if self.rho is not None else super().levers()


@dataclass(frozen=True, kw_only=True)
class Das2022Normalised(Das2022):
    """DP-NormFedAvg: as DP-FedAvg, with each update scaled to length C.

    The bound is for the clients' gaps weighted by GE/||u_i|| >= 1. Where clients differ, it contains the expectation
    of a weighted heterogeneity. No bound of it is known before a run, so there is no number.
    """

    described = DPNormFedAvg
    source = "das2022 Theorem 4 (b)"
    prescribing: ClassVar[str] = "das2022.theorem4b"
    bounding: ClassVar[str] = "das2022.theorem4b.repaired"

    def unknown(self) -> str | None:
        if self.heterogeneity == 0:
            return None
        return (
            "the bound contains an expectation of the clients' weighted heterogeneity, which is not known before a run"
        )

    def printed(self) -> Document:
        found = super().printed()
        choice, said = self.chosen(found), []
        if self.unknown():
            said.append(
                "The bound contains an expectation of the clients' weighted heterogeneity, which is not known before a "
                "run: the terms omit it, and there is no bound."
            )
        if self.cohort < self.clients:
            said.append(
                "Theorem 4 (b) is refuted for independent sampling with r < n, where the repaired bound is valid; for "
                "cohorts of exactly r clients the printed one is."
            )
        return {
            **found,
            "repaired": {
                "statement": self.bounding,
                "kappa": self.symbols()["kappa"],
                "bound": self.claimed(choice),
                "terms": self.terms(self.theorem(choice), self.at(choice)),
            },
            "warnings": [*said, *found["warnings"]],
        }


SETTINGS: tuple[Any, ...] = (Das2022, Das2022Normalised)
