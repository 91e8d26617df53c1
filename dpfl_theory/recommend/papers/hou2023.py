"""DP-ScaffNew: hou2023 Corollary 1 for the step size, the probability and the iterations, Theorem 1 for the bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.recommend.bound_minimizers import Optimum, scaffnew
from dpfl_theory.recommend.evaluate import cite, prescribed, rounded_up
from dpfl_theory.recommend.inputs import Document, calibration, constant, given, of_budget, quote_option, relation
from dpfl_theory.recommend.setting import Setting
from dpfl_theory.statements import get
from dpfl_theory.statements.hou2023.run_symbols import SYMBOLS

__all__ = ["SETTINGS", "Hou2023"]


@dataclass(frozen=True, kw_only=True)
class Hou2023(Setting):
    r"""DP-ScaffNew for N clients with L-smooth, :math:`\mu`-strongly convex objectives and shifts :math:`h_0 = 0`.

    >>> setting = Hou2023(clients=2, dim=1, smoothness=1.0, strong_convexity=0.25, distance=1.0,
    ...            gradient_norm_at_optimum=2.0, clip=1.0, epsilon=1.0, delta=0.1, constant=1.0)
    >>> setting.at({"eta": 1.0, "p": 0.5, "iterations": 1})["psi_0"]
    17.0
    """

    described = DPScaffNew
    source = "hou2023 Corollary 1 and Theorem 1"
    bounding: ClassVar[str] = "hou2023.theorem1"
    noise_of: ClassVar[str] = "hou2023.lemma1"
    bounds: ClassVar[str] = "E psi_T, psi = ||x - x*||^2 + (eta^2/p^2) ||h - h*||^2 over the stacked clients [X^2]"
    empty: ClassVar[Document] = {"unrounded": {}}
    choices: ClassVar[Mapping[str, str]] = {"eta": "eta", "p": "p", "iterations": "T"}
    speaks_of_noise: ClassVar[str] = (
        "Theorem 1 has Lemma 1's noise in place of sigma; its constant v is the value that gives this noise"
    )

    clients: int = given(SYMBOLS["N"], "clients")
    dim: int = given(SYMBOLS["d"], "dimension")
    smoothness: float = given(SYMBOLS["L"], "largest smoothness")
    strong_convexity: float = given(SYMBOLS["mu"], "strong convexity")
    distance: float = given(SYMBOLS["D"], "stacked distance")
    gradient_norm_at_optimum: float = given(
        SYMBOLS["H"], "stacked gradient at the minimiser", remark="; the first shifts are 0, and h* the gradients at x*"
    )
    clip: float = given(SYMBOLS["C"])
    epsilon: float = of_budget("epsilon")
    delta: float = of_budget("delta")
    calibration: str = calibration()
    relation: str = relation(DPScaffNew)
    constant: float | None = constant("v")

    @classmethod
    def undecided(cls, given: Mapping[str, Any]) -> list[str]:
        if given.get("calibration") != "paper" or given.get("constant") is not None:
            return []
        return [f"{quote_option('constant')}: give the constant v of Lemma 1's noise, the paper's own"]

    def contradictions(self) -> Iterator[str]:
        yield from self.not_above("strong_convexity", "smoothness", "no function allows that: give mu <= L")
        if self.distance == 0 and self.gradient_norm_at_optimum == 0:
            yield self.refused(
                "distance", "with zero gradients at x* the start is the minimum", "give a positive distance"
            )

    def at(self, choice: Document) -> dict[str, float]:
        """With psi_0 = ||x_0 - x*||^2 + (eta^2/p^2) ||h*||^2 [X^2]."""
        found = super().at(choice)
        return {**found, "psi_0": found["D"] ** 2 + (found["eta"] / found["p"] * found["H"]) ** 2}

    def following(self, at: Mapping[str, float]) -> Document:
        return {"expected_communications": at["p"] * at["T"], "psi_0": at["psi_0"]}

    def trivial(self) -> tuple[float, str]:
        return self.distance**2, "||x_0 - x*||^2"

    def printed(self) -> Document:
        corollary, known = get("hou2023.corollary1"), self.symbols()
        if self.strong_convexity < self.smoothness:
            exact = prescribed(corollary, known)
        else:  # ln([1 - mu/L]^(-1)) is infinite; T* tends to 0
            exact = {"eta": 1 / self.smoothness, "p": 1.0, "T": 0.0}
        real = {"eta": exact["eta"], "p": exact["p"], "iterations": exact["T"]}
        found = self.answer({**real, "iterations": rounded_up(exact["T"])})
        total, start, certificate = found["bound"], found["psi_0"], found["certificate"]
        allowed, vacuous, unknown = exact["T"] >= 1, total >= start, self.gradient_norm_at_optimum > 0
        cited = cite("prescription", corollary, {**known, **exact, "psi_0": start})
        said = ["The bound is not below psi_0: it promises nothing beyond the start."] if vacuous else []
        if allowed and unknown:
            said.append(
                "Corollary 1 treats psi_0 as a constant; since the gradients at x* are not zero, other eta, p and T "
                "can have a smaller bound (hou2023.corollary1 is refuted)."
            )
        return {
            **found,
            "unrounded": {"iterations": exact["T"], "bound": self.bound(real) if allowed else None},
            "certificate": {
                **certificate,
                "reason": self._reason(exact["T"], total, start),
                "vacuous": vacuous,
                "trivial": start,
                "optimal": allowed and not unknown,  # over all eta, p and real T: Corollary 1, repaired
                "statements": [cited, *certificate["statements"]],
            },
            "warnings": [*said, *self.warnings()],
        }

    def least(self) -> Optimum:
        def bound(eta: float, p: float, T: int) -> float:
            return self.bound({"eta": eta, "p": p, "iterations": T})

        return scaffnew.minimize(self.symbols(), bound)

    def varied(self, name: str, value: float) -> Hou2023:
        if name != "clients":
            return super().varied(name, value)
        scale = math.sqrt(value / self.clients)  # more clients like these: the stacked vectors are longer
        norms = {n: scale * getattr(self, n) for n in ("distance", "gradient_norm_at_optimum")}
        return replace(self, clients=int(value), **norms)

    def _reason(self, exact: float, total: float, start: float) -> str:
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

    def warnings(self) -> list[str]:
        if self.calibration != "paper":
            return []
        return ["Lemma 1 is refuted as printed: whether this noise gives (epsilon, delta) depends on `constant` and T."]


SETTINGS: tuple[Any, ...] = (Hou2023,)
