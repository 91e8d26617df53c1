"""DP-FedAvg with clipping and DP-NormFedAvg: das2022 Theorem 4, with the noise of its Theorem 3."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpfl_theory.core.formula import sides_of, total
from dpfl_theory.core.inverse import value
from dpfl_theory.core.prose import plain
from dpfl_theory.recommend.algorithms._fedavg_privacy import lacking, released
from dpfl_theory.recommend.base import Document, Setting, calibration, parameter, relation, view
from dpfl_theory.statements.das2022.run_symbols import excess

if TYPE_CHECKING:
    from dpfl_theory.core import Statement
    from dpfl_theory.privacy import Mechanism
    from dpfl_theory.recommend.bound_minimizers import Optimum

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

    name = "dp-fedavg"
    title = "DP-FedAvg with clipping"
    source = "das2022 Theorem 4 (a)"
    speaks_of_noise: ClassVar[str] = "Theorem 4 depends on rho, here that of this noise: sigma^2 = K C^2 rho^2/d"
    theorem: ClassVar[str] = "das2022.theorem4a"
    certain: ClassVar[str] = theorem
    """The statement whose bound is used: the printed one, or its repair."""

    clients: int = parameter("number of clients", "count", measured="clients", symbol="n")
    cohort: float = parameter("clients in a round r, on average", "positive", symbol="r")
    dim: int = parameter("dimension d", "count", measured="dimension", symbol="d")
    smoothness: float = parameter(
        "smoothness constant L of every client's objective [F/X^2]",
        "positive",
        measured="largest smoothness",
        symbol="L",
    )
    lipschitz: float = parameter(
        "Lipschitz constant G of every client's objective [F/X]", "positive", measured="lipschitz", symbol="G"
    )
    distance: float = parameter("initial distance from the minimiser [X]", "positive", measured="distance", symbol="D")
    heterogeneity: float = parameter(
        "mean of f_i(w*) - min f_i over the clients [F]", "nonnegative", measured="heterogeneity", symbol="Delta"
    )
    local_steps: int | None = parameter("local steps E in a round", "count", free=True, symbol="E")
    alpha: float | None = parameter("constant alpha >= 1 that lengthens the run", "positive", free=True, symbol="alpha")
    gamma: float | None = parameter(
        "constant gamma that scales the run's length [F/X]; by default L times the distance",
        "positive",
        optional=True,
        symbol="gamma",
    )
    rounds: int | None = parameter(
        "number of communication rounds; bound-optimal makes at most these", "count", optional=True
    )
    rho: float | None = parameter("privacy ratio rho; in place of epsilon and delta", "positive", optional=True)
    epsilon: float | None = parameter("epsilon of the budget", "positive", optional=True)
    delta: float | None = parameter("delta of the budget", "probability", optional=True)
    calibration: str = calibration()
    relation: str = relation("zero-out", "replace", "add-remove")
    view: str = view("third-party")
    constant: float | None = parameter("constant q of Theorem 3's noise", "positive", optional=True)

    @classmethod
    def undecided(cls, given: Mapping[str, Any]) -> list[str]:
        return lacking(given)

    def contradictions(self) -> Iterator[str]:
        budget = (self.epsilon, self.delta, self.constant)
        if self.rho is not None and any(v is not None for v in budget):
            yield f"{self.name} needs a privacy level: give `rho`, or `epsilon`, `delta` and `constant`, not both"
        if self.cohort > self.clients:
            yield self.refused("cohort", f"it exceeds `clients={self.clients}`", "give at most that")

    def travel(self) -> float:
        """gamma [F/X]: given, or the minimiser L ||w_0 - w*|| of G (L ||w_0 - w*||^2/gamma + gamma/L) rho."""
        return self.smoothness * self.distance if self.gamma is None else self.gamma

    def ratio(self) -> float:
        """rho: given, or that of Definition 2."""
        if self.rho is not None:
            return self.rho
        from dpfl_theory.statements import get

        definition = get("das2022.definition2")
        known = {"q": self.constant, "epsilon": self.epsilon, "delta": self.delta, "n": self.clients, "d": self.dim}
        return value(definition, total(definition), known)

    def noise_by_server(self) -> bool:
        return self.view == "third-party" and (self.cohort < self.clients or self.relation == "add-remove")

    def released(self, found: Document, printed: bool = False) -> Mechanism:
        return released(self, found, printed)

    def symbols(self) -> dict[str, float]:
        return {**super().symbols(), "rho": self.ratio(), "kappa": excess(self.cohort, self.clients)}

    def printed(self) -> Document:
        from dpfl_theory.recommend.evaluate import failures, prescribed, rounded_up
        from dpfl_theory.statements import get

        theorem = get(self.theorem)
        known = {**self.symbols(), "gamma": self.travel()}
        exact = prescribed(theorem, known)
        K = rounded_up(exact["K"])
        # K is proportional to gamma, so the rounded K is the prescription for a slightly larger gamma.
        at = {**known, **exact, "K": K, "gamma": known["gamma"] * K / exact["K"]}
        found = self._document(theorem, at)
        unmet = failures(theorem, at)
        certificate = {**found["certificate"], "reason": self._reason(exact["K"], K, unmet)}
        unrounded = {"rounds": exact["K"], "gamma": known["gamma"], "bound": self.bound_at(theorem, known)[1]}
        longer = [] if self.rounds is None or self.rounds >= K else [f"These are more than `rounds={self.rounds}`."]
        return {
            **found,
            "unrounded": unrounded,
            "repaired": self._repaired(at),
            "certificate": certificate,
            "warnings": [*self._warnings(unmet, found["bound"], certificate["vacuous"]), *longer],
        }

    def at(self, choice: Document) -> dict[str, float]:
        """The values of all symbols of the theorem."""
        from dpfl_theory.recommend.evaluate import prescribed
        from dpfl_theory.statements import get

        chosen = {"E": choice["local_steps"], "alpha": choice["alpha"], "gamma": choice["gamma"]}
        known = {**self.symbols(), **chosen}
        return {**known, **prescribed(get(self.certain), known), "K": choice["rounds"]}

    def answer(self, choice: Document) -> Document:
        from dpfl_theory.statements import get

        return self._document(get(self.certain), self.at(choice))

    def _document(self, theorem: Statement, at: dict[str, float]) -> Document:
        from dpfl_theory.recommend.evaluate import cite, failures, prescribed
        from dpfl_theory.statements import get
        from dpfl_theory.statements.runs import completed, run_symbols

        again = prescribed(theorem, at)
        unmet = failures(theorem, at)
        found, bound, which = self.bound_at(theorem, at)
        sigma = math.sqrt(completed(run_symbols()[self.name], at)["noise_variance"])
        vacuous = None if bound is None or unmet else bound >= self.trivial()[0]
        return {
            "eta": again["eta"],
            "beta": again["eta"],
            "rounds": at["K"],
            "local_steps": int(at["E"]),
            "C": again["C"],
            "gamma": at["gamma"],
            "alpha": at["alpha"],
            "rho": at["rho"],
            "bound": None if unmet else bound,
            "terms": found,
            "noise": {
                "sigma": sigma,
                "sigma_of_one_message": sigma * math.sqrt(self.cohort),
                "meaning": self._meaning(),
                "calibration": "paper" if self.rho is not None else self.calibration,
            },
            "unrounded": {},
            "repaired": None,
            "certificate": {
                "bounds": which,
                "applies": not unmet,
                "vacuous": vacuous,
                "trivial": self.trivial()[0],
                "statements": [cite("prescription and bound", theorem, at), cite("noise", get("das2022.theorem3"))],
            },
            "warnings": Das2022._warnings(self, unmet, bound, vacuous),
        }

    def _meaning(self) -> str:
        if self.calibration == "accountant" and self.rho is None and self.noise_by_server():
            return "standard deviation per coordinate of the noise that the server adds to the average [F/X]"
        return "standard deviations per coordinate: of the averaged update's noise, of one client's [F/X]"

    def trivial(self) -> tuple[float, str]:
        """f is L-smooth and G-Lipschitz, which bounds f(w_0) - f(w*) without any run."""
        return min(self.lipschitz * self.distance, self.smoothness * self.distance**2 / 2), "min(G D, L D^2/2)"

    def unknown(self) -> str | None:
        """The reason why the right side has no value before a run, if so."""
        return None

    def optimum(self) -> Optimum:
        from dpfl_theory.recommend.bound_minimizers.fedavg import minimize_bound

        return minimize_bound(self)

    def bound_infimum(self) -> float:
        from dpfl_theory.recommend.bound_minimizers.fedavg import bound_infimum

        return bound_infimum(self)

    def levers(self) -> dict[str, float]:
        return {"rho": 0.0} if self.rho is not None else super().levers()

    def varied(self, name: str, value: float) -> Self:
        if name != "clients":
            return super().varied(name, value)
        return replace(self, clients=int(value), cohort=self.cohort * value / self.clients)

    def bound_at(self, theorem: Statement, at: dict[str, float]) -> tuple[dict[str, float], float | None, str]:
        """The terms of the right side, their bound for the expectation on the left side, and the name of that
        expectation."""
        from dpfl_theory.recommend.evaluate import terms

        assert theorem.sides is not None
        (left,) = sides_of(theorem).lhs.values()
        bounded = {str(symbol) for symbol in left.free_symbols}
        (expectation,) = (e for e in theorem.expectations if e.name in bounded)
        coefficient = value(theorem, left, {**at, expectation.name: 1.0})
        found = terms(theorem, {**at, **{e.name: 0.0 for e in theorem.expectations}})
        unknown = len(theorem.expectations) > 1 and self.heterogeneity > 0
        bound = None if unknown or coefficient <= 0 else math.fsum(found.values()) / coefficient
        return found, bound, f"{plain(expectation.meaning)} [F]"

    def _repaired(self, at: dict[str, float]) -> Document | None:
        return None

    def _reason(self, exact: float, K: int, unmet: list[str]) -> str:
        chosen = "given" if self.gamma is not None else "L times the distance, which minimises the term A"
        start = (
            f"eta = rho/(2 alpha L), C = G E and K = 2 alpha gamma/(C rho^2) are Theorem 4's; gamma was {chosen}. K = "
            f"{exact:.6g} is rounded up to {K}, and gamma is raised in proportion, so that the theorem holds for this K"
        )
        return f"{start}, but a hypothesis fails" if unmet else start

    def _warnings(self, unmet: list[str], bound: float | None, vacuous: bool | None) -> list[str]:
        said = [f"No bound is claimed: {text}." for text in unmet]
        if vacuous:
            said.append("The bound is not below the one that L and G give for f(w_0) - f(w*): it promises nothing.")
        if self.calibration == "paper":
            said.append(
                "Theorem 3 is refuted as printed: whether this noise gives (epsilon, delta) depends on the constant q; "
                "ask dpfl-theory privacy constant das2022.theorem3."
            )
        elif self.noise_by_server() and self.rho is None:
            said.append(
                "The certificate is for noise on the average, for any cohort. Clients that add the noise themselves "
                "need more, since few may take part (dpfl-theory privacy calibrate --noise per-client)."
            )
        return said


@dataclass(frozen=True, kw_only=True)
class Das2022Normalised(Das2022):
    """DP-NormFedAvg: as DP-FedAvg, with each update scaled to length C.

    The bound is for the clients' gaps weighted by GE/||u_i|| >= 1. Where clients differ, it contains the expectation
    of a weighted heterogeneity. No bound of it is known before a run, so there is no number.
    """

    name = "dp-normfedavg"
    title = "DP-NormFedAvg"
    source = "das2022 Theorem 4 (b)"
    theorem: ClassVar[str] = "das2022.theorem4b"
    certain: ClassVar[str] = "das2022.theorem4b.repaired"

    def unknown(self) -> str | None:
        if self.heterogeneity == 0:
            return None
        return (
            "the bound contains an expectation of the clients' weighted heterogeneity, which is not known before a run"
        )

    def _repaired(self, at: dict[str, float]) -> Document | None:
        from dpfl_theory.statements import get

        repaired = get("das2022.theorem4b.repaired")
        found, bound, _ = self.bound_at(repaired, at)
        return {"statement": repaired.id, "kappa": at["kappa"], "bound": bound, "terms": found}

    def _warnings(self, unmet: list[str], bound: float | None, vacuous: bool | None) -> list[str]:
        said = []
        if self.heterogeneity > 0:
            said.append(
                "The bound contains an expectation of the clients' weighted heterogeneity, which is not known before a "
                "run: the terms omit it, and there is no bound."
            )
        if self.cohort < self.clients:
            said.append(
                "Theorem 4 (b) is refuted for independent sampling with r < n, where the repaired bound is valid; for "
                "cohorts of exactly r clients the printed one is."
            )
        return said + super()._warnings(unmet, bound, vacuous)


SETTINGS: tuple[Any, ...] = (Das2022, Das2022Normalised)
