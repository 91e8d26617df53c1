"""DP-FedAvg with noise at every local step: noble2022 Theorem C.2, convex and repaired, for steps and bound.

The strongly convex case is left out: no threshold meets its hypothesis that clipping never acts, since Gaussian noise
takes the iterates anywhere and gradients of strongly convex objectives have no bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpfl_theory.recommend.algorithms._noble2022 import Noble2022
from dpfl_theory.recommend.base import Document, parameter

if TYPE_CHECKING:
    from dpfl_theory.recommend.bound_minimizers import Optimum

__all__ = ["SETTINGS", "Noble2022FedAvg"]


@dataclass(frozen=True, kw_only=True)
class Noble2022FedAvg(Noble2022):
    r"""DP-FedAvg (noble2022 Algorithm 2) for M users with R records each, and convex objectives.

    The users' gradients have :math:`\frac1M \sum_i \|\nabla F_i\|^2 \le G^2 + B^2 \|\nabla F\|^2`; a G that no
    :math:`\|\nabla F_i - \nabla F\|` exceeds serves with B = 1. The steps depend on the noise, which is chosen first.
    The bound is for the mean of :math:`x^0, ..., x^{T-1}`.

    Who sees only the sums of a round sees one local step's noise of all users together, and no further one alone: the
    noise that is certified for a third party and K = 1 is smaller by :math:`\sqrt{lM}` than that for more local steps.

    >>> setting = Noble2022FedAvg(users=100, records=4000, user_rate=1.0, record_rate=0.2, dim=10, smoothness=1.0,
    ...                          distance=3.0, clip=1.0, gradient_variance=0.0, dissimilarity=0.1, local_steps=1,
    ...                          rounds=500, epsilon=0.5, delta=1e-6)
    >>> found = setting.printed()
    >>> found["eta_g"], found["certificate"]["applies"], sorted(found["terms"])
    (10.0, True, ['heterogeneity', 'noise', 'sampling of users', 'start'])
    """

    name = "dp-fedavg-record"
    title = "DP-FedAvg with noise at every local step"
    source = "noble2022 Theorem C.2, repaired"
    speaks_of_noise: ClassVar[str] = (
        "Sigma, computed from sigma_g, is a symbol of Theorem C.2: its bound is that of this noise"
    )
    bounded = "E F(xbar) - F(x*), xbar the mean of x^0, ..., x^{T-1} [F]"

    dissimilarity: float = parameter(
        "constant G of the users' dissimilarity [F/X]", "nonnegative", measured="largest dissimilarity"
    )
    dissimilarity_factor: float | None = parameter(
        "factor B >= 1 of the users' dissimilarity, 1 by default", "positive", optional=True
    )

    def contradictions(self) -> Any:
        yield from super().contradictions()
        if self.dissimilarity_factor is not None and self.dissimilarity_factor < 1:
            yield self.refused("dissimilarity_factor", "Assumption 4 has B >= 1", "leave it out for 1")

    def symbols(self) -> dict[str, float]:
        return {**super().symbols(), "G": self.dissimilarity, "B": self.dissimilarity_factor or 1.0}

    def summed(self, K: int) -> float:
        """The factor by which the certified noise is smaller where a third party sees the sum of a round's single
        steps."""
        alone = K > 1 or self.view != "third-party"
        return 1.0 if alone else math.sqrt(self.users * self.user_rate)

    def noise(self, T: int, K: int) -> float:
        """The printed order with the constant; if certified, divided by the factor of the sum at K = 1 only."""
        order = super().noise(T, K)
        return order / self.summed(K) if self.calibration == "accountant" else order

    def paper_over_own(self, found: Document) -> float:
        return self.summed(found["local_steps"]) if self.calibration == "accountant" else 1.0

    def printed(self) -> Document:
        from dpfl_theory.statements import get

        return self.with_printed(get("noble2022.theoremC.2.convex"), "Theorem C.2 (2, convex)")

    def chosen(self, document: Document) -> Document:
        names = ("rounds", "local_steps")
        return {"statement": "noble2022.theoremC.2.convex.repaired", **{name: document[name] for name in names}}

    def optimum(self) -> Optimum:
        from dpfl_theory.recommend.bound_minimizers.fedavg_record import minimize_bound

        return minimize_bound(self)

    def said(self) -> list[str]:
        return [self.never_clipped(), *self.order()]


SETTINGS: tuple[Any, ...] = (Noble2022FedAvg,)
