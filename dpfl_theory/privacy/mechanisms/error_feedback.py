"""DP-alpha-NormEC, DP-Clip21 and distributed DP gradient descent: all clients in each round, bounded messages."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

from dpfl_theory.privacy.events import Event, Repeated, gaussian
from dpfl_theory.privacy.mechanisms.base import Mechanism, multiplies, parameter


@dataclass(frozen=True, kw_only=True)
class BoundedMessages(Mechanism):
    r"""Client i sends :math:`\Psi(\nabla f_i(x^k) - v_i^k) + z_i^k`, whose norm is bounded without the noise.

    ``noise_multiplier`` is that of one message: sigma for zero-out, sigma/2 for replace. The memory v_i uses the
    message without noise and never leaves the client. So it depends only on the client's data and on earlier releases,
    and the noise of all n clients hides a client from an observer of sums.

    >>> BoundedMessages(rounds=300, noise_multiplier=40.0, view="server").event().times
    300
    """

    protects = "client"
    noise_added_by = "client"

    clients: int | None = parameter("number of clients n (for `view=third-party`)", "count")
    relation: str = parameter(
        "neighbouring relation of client data", default="zero-out", choices=("zero-out", "replace")
    )
    view: str = parameter(
        "observer: sees sums over clients, or every message", default="server", choices=("third-party", "server")
    )

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

    def factors(self) -> dict[str, float]:
        if self.clients is None:
            return {}
        root = math.sqrt(self.clients)
        return {"message": 1.0, "sum": 1 / root, "average": root}

    def setting(self) -> dict[str, str]:
        replaced = self.relation == "replace"
        kind = f"another one of norm at most {self.bound}" if replaced else "zero instead, and the noise stays"
        seen = (
            "server: sees every message, which only that client's noise hides"
            if self.view == "server"
            else "third party: sees sums over all n clients, which the noise of all of them hides"
        )
        return {
            "unit": "one client, with all of its data",
            "neighbours": f"{self.relation}: one client's message is {kind}",
            "multiplier": multiplies(self.noise_multiplier, "each client's message", replaced, self.bound),
            "sampling": "none: every client takes part in every round",
            "observer": seen,
            "noise": "once a round by each client, to its own message",
        }

    def notes(self) -> tuple[str, ...]:
        return ("Every client takes part in every round: nothing is amplified by sampling.",)


@dataclass(frozen=True, kw_only=True)
class DPDistributedGD(BoundedMessages):
    r"""Distributed DP gradient descent: client i sends :math:`\Psi(\nabla f_i(x^k))` plus noise, Psi clipping or
    smoothed normalisation. Every client takes part in every round, with its whole gradient.

    The paper's equation (2) has a cohort and one noise on its average; this is it with all clients, each of which adds
    noise. The paper calls it DP-SGD. The DP-SGD of Abadi et al., which samples records, is ``poisson-gaussian``.
    """

    name = "dp-distributed-gd"
    title = "Distributed DP gradient descent with clipping or smoothed normalisation"
    source = "shulgin2025 equation (2)"
    bound = "C"


MECHANISMS = (DPDistributedGD,)


def __getattr__(name: str) -> Any:
    if name == "DPSGD":
        warnings.warn("DPSGD is now called DPDistributedGD, since it does not sample", FutureWarning, stacklevel=2)
        return DPDistributedGD
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
