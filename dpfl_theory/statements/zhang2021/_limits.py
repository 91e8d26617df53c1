"""The limits that zhang2021's Theorem 3.1 sets to the steps: as printed, and as numbers that proofs, texts and runs
read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.model import Assumption

__all__ = [
    "LOCAL_STEP",
    "PRINTED",
    "Limits",
    "StepLimits",
    "hypotheses",
    "printed_limits",
    "repaired_limits",
    "sharpened_limits",
    "steps",
]

PRINTED = "eta_g eta_l <= min{P/(48Q), P/(6QL(P-1))} and eta_l <= 1/(sqrt(60) QL)"

Limits = Callable[[Mapping[str, Any]], str | None]
"""Why the steps are outside the hypotheses, None if they are not."""


def printed_limits(v: Mapping[str, Any]) -> str | None:
    """eta_g eta_l <= min{P/(48Q), P/(6QL(P-1))} and eta_l <= 1/(sqrt(60) QL)."""
    P, Q, L, product = v["P"], v["Q"], v["L"], v["eta_g"] * v["eta_l"]
    if 60 * (v["eta_l"] * Q * L) ** 2 > 1:
        return f"eta_l = {v['eta_l']} exceeds 1/(sqrt(60) QL)"
    if 48 * Q * product > P or 6 * Q * L * (P - 1) * product > P:
        return f"eta_g eta_l = {product} exceeds min{{P/(48Q), P/(6QL(P-1))}}"
    return None


@dataclass(frozen=True)
class StepLimits:
    """eta_l <= 1/(sqrt(local) QL) and eta_g eta_l <= min{P/(product QL), P/(pairs QL(P-1))}, all without a unit.

    >>> print(StepLimits(60, 20).text)
    eta_g eta_l <= min{P/(20QL), P/(6QL(P-1))} and eta_l <= 1/(sqrt(60) QL)
    >>> StepLimits(60, 20)({"P": 1, "Q": 1, "L": 1, "eta_l": 0.5, "eta_g": 1})
    'eta_l = 0.5 exceeds 1/(sqrt(60) QL)'
    """

    local: int
    product: int
    pairs: int = 6

    @property
    def text(self) -> str:
        return f"eta_g eta_l <= {self._products} and eta_l <= 1/(sqrt({self.local}) QL)"

    @property
    def _products(self) -> str:
        return f"min{{P/({self.product}QL), P/({self.pairs}QL(P-1))}}"

    def __call__(self, v: Mapping[str, Any]) -> str | None:
        P, Q, L, product = v["P"], v["Q"], v["L"], v["eta_g"] * v["eta_l"]
        if self.local * (v["eta_l"] * Q * L) ** 2 > 1:
            return f"eta_l = {v['eta_l']} exceeds 1/(sqrt({self.local}) QL)"
        if self.product * Q * L * product > P or self.pairs * Q * L * (P - 1) * product > P:
            return f"eta_g eta_l = {product} exceeds {self._products}"
        return None


repaired_limits = StepLimits(local=120, product=120)
sharpened_limits = StepLimits(local=60, product=20)


def _local_step(problem: Any, v: Mapping[str, Any]) -> str | None:
    product = v["eta_l"] * v["Q"] * v["L"]
    return None if 60 * product**2 <= 1 else f"eta_l = {v['eta_l']} exceeds 1/(sqrt(60) QL)"


LOCAL_STEP = Assumption("eta_l <= 1/(sqrt(60) QL)", _local_step)


def steps(limits: Limits, text: str) -> Assumption:
    """The limits of the steps, up to rounding."""
    return Assumption(text, lambda problem, v: limits({**v, "eta_g": v["eta_g"] * (1 - Fraction(1, 10**12))}))


def hypotheses(limits: Limits, text: str) -> tuple[Assumption, ...]:
    """Those of Theorem 3.1, with these limits of the steps."""

    def cohort(problem: Any, v: Mapping[str, Any]) -> str | None:
        return None if 1 <= v["P"] <= v["N"] else f"P = {v['P']} is not a number of clients between 1 and N"

    def smooth(problem: Any, v: Mapping[str, Any]) -> str | None:
        if problem is None or problem.constants.L_max <= v["L"] * (1 + 1e-12):
            return None
        return f"some f_i is not L-smooth: L = {v['L']:.6g}, the largest constant is {problem.constants.L_max:.6g}"

    return (
        steps(limits, text),
        Assumption("exactly P of the N clients take part in every round", cohort),
        Assumption("every f_i is L-smooth", smooth),
    )
