"""DP-ScaffNew: hou2023 Corollary 1 for the step size, the probability and the iterations, Theorem 1 for the bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpfl_theory.recommend.base import Document, Setting, calibration, parameter, quote_option, relation
from dpfl_theory.recommend.bound_minimizers import Optimum

if TYPE_CHECKING:
    from dpfl_theory.privacy import Mechanism

__all__ = ["SETTINGS", "Hou2023"]


@dataclass(frozen=True, kw_only=True)
class Hou2023(Setting):
    r"""DP-ScaffNew for N clients with L-smooth, :math:`\mu`-strongly convex objectives and shifts :math:`h_0 = 0`.

    >>> Hou2023(clients=2, dim=1, smoothness=1.0, strong_convexity=0.25, distance=1.0, gradient_norm_at_optimum=0.0,
    ...            clip=1.0, epsilon=1.0, delta=0.1, constant=1.0).psi(1.0, 0.5)
    1.0
    """

    name = "dp-scaffnew"
    title = "DP-ScaffNew"
    source = "hou2023 Corollary 1 and Theorem 1"
    speaks_of_noise: ClassVar[str] = (
        "Theorem 1 has Lemma 1's noise in place of sigma; its constant v is the value that gives this noise"
    )

    clients: int = parameter("number of clients N", "count", measured="clients", symbol="N")
    dim: int = parameter("dimension d", "count", measured="dimension", symbol="d")
    smoothness: float = parameter(
        "smoothness constant L of every client's objective [F/X^2]",
        "positive",
        measured="largest smoothness",
        symbol="L",
    )
    strong_convexity: float = parameter(
        "strong convexity constant mu of every client's objective [F/X^2]",
        "positive",
        measured="strong convexity",
        symbol="mu",
    )
    distance: float = parameter(
        "initial distance ||x_0 - x*|| of the vectors of all clients, stacked [X]",
        "nonnegative",
        measured="stacked distance",
        symbol="D",
    )
    gradient_norm_at_optimum: float = parameter(
        "norm ||h*|| of the clients' gradients at x*, stacked [F/X]; the first shifts are 0",
        "nonnegative",
        measured="stacked gradient at the minimiser",
        symbol="H",
    )
    clip: float = parameter("clipping threshold C of the differences that clients send [X]", "positive", symbol="C")
    epsilon: float = parameter("epsilon of the budget", "positive", symbol="epsilon")
    delta: float = parameter("delta of the budget", "probability", symbol="delta")
    calibration: str = calibration()
    relation: str = relation("zero-out", "replace")
    constant: float | None = parameter("constant v of Lemma 1's noise", "positive", optional=True, symbol="v")

    @classmethod
    def undecided(cls, given: Mapping[str, Any]) -> list[str]:
        if given.get("calibration") != "paper" or given.get("constant") is not None:
            return []
        return [f"{quote_option('constant')}: give the constant v of Lemma 1's noise, the paper's own"]

    def contradictions(self) -> Iterator[str]:
        if self.strong_convexity > self.smoothness:
            yield self.refused(
                "strong_convexity",
                f"it exceeds `smoothness={self.smoothness!r}`, which no function allows",
                "give mu <= L",
            )
        if self.distance == 0 and self.gradient_norm_at_optimum == 0:
            yield self.refused(
                "distance", "with zero gradients at x* the start is the minimum", "give a positive distance"
            )

    def psi(self, eta: float, p: float) -> float:
        """psi_0 = ||x_0 - x*||^2 + (eta^2/p^2) ||h*||^2 [X^2]."""
        return self.distance**2 + (eta / p * self.gradient_norm_at_optimum) ** 2

    def bound(self, eta: float, p: float, T: float) -> dict[str, float]:
        """The terms of Theorem 1's bound on E psi_T [X^2], by name."""
        from dpfl_theory.recommend.evaluate import terms
        from dpfl_theory.statements import get

        at = {**self.symbols(), "eta": eta, "p": p, "T": T, "psi_0": self.psi(eta, p)}
        return terms(get("hou2023.theorem1"), at)

    def released(self, found: Document, printed: bool = False) -> Mechanism:
        from dpfl_theory.privacy.mechanisms import get

        kind: Any = get(self.name)
        run = kind(communication_probability=found["p"], rounds=found["iterations"], relation=self.relation)
        return run.with_(noise_multiplier=run.multiplier(found["noise"]["sigma"], self.clip))  # type: ignore[no-any-return]

    def printed(self) -> Document:
        from dpfl_theory.recommend.evaluate import cite, prescribed, rounded_up
        from dpfl_theory.statements import get

        corollary = get("hou2023.corollary1")
        known = self.symbols()
        if self.strong_convexity < self.smoothness:
            exact = prescribed(corollary, known)
        else:  # ln([1 - mu/L]^(-1)) is infinite; T* tends to 0
            exact = {"eta": 1 / self.smoothness, "p": 1.0, "T": 0.0}
        eta, p, T = exact["eta"], exact["p"], rounded_up(exact["T"])
        found = self.answer({"eta": eta, "p": p, "iterations": T})
        total, start, certificate = found["bound"], found["psi_0"], found["certificate"]
        unrounded: Document = {"iterations": exact["T"], "bound": None}
        if exact["T"] >= 1:
            unrounded["bound"] = math.fsum(self.bound(eta, p, exact["T"]).values())
        at = {**known, "eta": eta, "p": p, "T": exact["T"], "psi_0": start}
        statements = [cite("prescription", corollary, at), *certificate["statements"]]
        return {
            **found,
            "unrounded": unrounded,
            "certificate": {
                **certificate,
                "reason": self._reason(exact["T"], T, total, start),
                "vacuous": total >= start,
                "trivial": start,
                "optimal": self._optimal(exact["T"]),
                "statements": statements,
            },
            "warnings": [*self._warnings(exact["T"], total, start), *found["warnings"]],
        }

    def answer(self, choice: Document) -> Document:
        from dpfl_theory.recommend.evaluate import cite, prescribed
        from dpfl_theory.statements import get

        theorem, lemma = get("hou2023.theorem1"), get("hou2023.lemma1")
        eta, p, T = choice["eta"], choice["p"], choice["iterations"]
        at = {**self.symbols(), "eta": eta, "p": p, "T": T, "psi_0": self.psi(eta, p)}
        found = self.bound(eta, p, T)
        variance = prescribed(lemma, at)["noise_variance"]
        return {
            "eta": eta,
            "p": p,
            "iterations": T,
            "bound": math.fsum(found.values()),
            "expected_communications": p * T,
            "terms": found,
            "psi_0": at["psi_0"],
            "noise": {
                "sigma": math.sqrt(variance),
                "meaning": "standard deviation per coordinate of the noise that a client adds to its message [X]",
                "calibration": self.calibration,
            },
            "unrounded": {},
            "certificate": {
                "bounds": "E psi_T, psi = ||x - x*||^2 + (eta^2/p^2) ||h - h*||^2 over the stacked clients [X^2]",
                "applies": True,
                "statements": [cite("bound", theorem, at), cite("noise", lemma)],
            },
            "warnings": [
                "Lemma 1 is refuted as printed: whether this noise gives (epsilon, delta) depends on `constant` and T."
            ]
            if self.calibration == "paper"
            else [],
        }

    def trivial(self) -> tuple[float, str]:
        return self.distance**2, "||x_0 - x*||^2"

    def optimum(self) -> Optimum:
        from dpfl_theory.recommend.bound_minimizers.scaffnew import minimize_bound

        return minimize_bound(self)

    def varied(self, name: str, value: float) -> Hou2023:
        if name != "clients":
            return super().varied(name, value)
        alike = math.sqrt(value / self.clients)  # more clients like these: the stacked vectors are longer
        norms = {n: alike * getattr(self, n) for n in ("distance", "gradient_norm_at_optimum")}
        return replace(self, clients=int(value), **norms)

    def _optimal(self, T: float) -> bool:
        """Whether the prescription is known to minimise the bound over all eta, p and real T: Corollary 1, repaired."""
        return self.gradient_norm_at_optimum == 0 and T >= 1

    def _reason(self, exact: float, T: int, total: float, start: float) -> str:
        first = "eta and p are Corollary 1's"
        if exact >= 1:
            first += f", T is its T* = {exact:.6g} rounded up"
        else:
            first += (
                f"; its T* = {exact:.6g} is below 1, where Theorem 1 does not apply: its bound grows with T from T = "
                "1, so T = 1 is the best value that it allows"
            )
        noise = "Lemma 1's"
        if self.calibration == "accountant":
            noise = f"the accountant's, Lemma 1's with v = {self.constant:.6g},"
        return (
            f"{first}. Theorem 1 then bounds E psi_T by {total:.6g}, {'no less than' if total >= start else 'below'} "
            f"psi_0 = {start:.6g}. The noise is {noise} for these p and T"
        )

    def _warnings(self, exact: float, total: float, start: float) -> list[str]:
        said = []
        if total >= start:
            said.append("The bound is not below psi_0: it promises nothing beyond the start.")
        if exact >= 1 and self.gradient_norm_at_optimum > 0:
            said.append(
                "Corollary 1 treats psi_0 as a constant; since the gradients at x* are not zero, other eta, p and T "
                "can have a smaller bound (hou2023.corollary1 is refuted)."
            )
        return said


SETTINGS: tuple[Any, ...] = (Hou2023,)
