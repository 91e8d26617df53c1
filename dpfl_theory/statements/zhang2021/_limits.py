"""The limits that zhang2021's Theorem 3.1 sets to the steps: as printed, and as numbers that proofs, texts and runs
read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Limits", "StepLimits", "printed_limits", "repaired_limits", "sharpened_limits"]

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
