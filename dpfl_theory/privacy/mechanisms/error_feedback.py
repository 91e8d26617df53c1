"""DP-alpha-NormEC, DP-Clip21 and distributed DP-SGD: every client in every round, messages of bounded norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpfl_theory.privacy.events import Event, Repeated, gaussian
from dpfl_theory.privacy.mechanisms.base import Mechanism, parameter

__all__ = ["DPSGD", "MECHANISMS", "DPClip21", "DPNormEC"]


@dataclass(frozen=True, kw_only=True)
class DPNormEC(Mechanism):
    r"""DP-alpha-NormEC: client i sends :math:`\mathrm{Norm}_\alpha(\nabla f_i(x^k) - v_i^k) + z_i^k`, of norm below 1
    without the noise.

    ``noise_multiplier`` is that of one message: sigma for zero-out, sigma/2 for replace. The memory v_i uses the
    message without noise and never leaves the client, so that it depends on the client's data and on what was released
    only; the noise of all n clients therefore hides a client from those who see sums.

    >>> DPNormEC(rounds=300, noise_multiplier=40.0, view="server").event().times
    300
    """

    name = "dp-norm-ec"
    title = "DP-alpha-NormEC"
    source = "shulgin2025 Algorithm 1, private form"
    protects = "client"
    noise_added_by = "client"

    clients: int | None = parameter("number of clients n (for `view=third-party`)")
    relation: str = parameter(
        "neighbouring relation of client data", default="zero-out", choices=("zero-out", "replace")
    )
    view: str = parameter(
        "who looks: at sums over clients, or at every message", default="server", choices=("third-party", "server")
    )

    def validate(self) -> None:
        self.whole("clients", 1)

    def event(self) -> Event:
        return Repeated(gaussian(self._seen_multiplier()), self.count("rounds"))

    def _seen_multiplier(self) -> float:
        return self.value("noise_multiplier") * (math.sqrt(self.value("clients")) if self.view == "third-party" else 1)

    def textbook(self) -> tuple[Any, Any] | None:
        import dp_accounting as dp

        relations = dp.NeighboringRelation
        relation = relations.REPLACE_ONE if self.relation == "replace" else relations.REPLACE_SPECIAL
        gauss = dp.GaussianDpEvent(self._seen_multiplier())
        return dp.SelfComposedDpEvent(gauss, self.count("rounds")), relation

    def sigma(self, clip: float) -> dict[str, float]:
        return {"sigma": self.value("noise_multiplier") * clip * (2 if self.relation == "replace" else 1)}

    def notes(self) -> tuple[str, ...]:
        return ("Every client takes part in every round: nothing is amplified by sampling.",)


@dataclass(frozen=True, kw_only=True)
class DPClip21(DPNormEC):
    r"""DP-Clip21: client i sends :math:`\mathrm{Clip}_\tau(\nabla f_i(x^k) - v_i^k)` plus noise; sensitivity tau, or 2
    tau.
    """

    name = "dp-clip21"
    title = "DP-Clip21"
    source = "shulgin2025 Section 6"


@dataclass(frozen=True, kw_only=True)
class DPSGD(DPNormEC):
    r"""Distributed DP-SGD: client i sends :math:`\Psi(\nabla f_i(x^k))` plus noise, Psi clipping or smoothed
    normalisation.
    """

    name = "dp-sgd"
    title = "Distributed DP-SGD with clipping or smoothed normalisation"
    source = "shulgin2025 equation (2)"


MECHANISMS = (DPNormEC, DPClip21, DPSGD)
