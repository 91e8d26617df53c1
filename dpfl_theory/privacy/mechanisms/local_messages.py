"""Messages that are private by themselves, each with its client's noise (local differential privacy)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from dpfl_theory.privacy.events import Event
from dpfl_theory.privacy.mechanisms.averaged_messages import AveragedMessages
from dpfl_theory.privacy.mechanisms.base import Alternative, Mechanism, multiplies, parameter

__all__ = ["LocalMessages"]


@dataclass(frozen=True, kw_only=True)
class LocalMessages(AveragedMessages):
    r"""message_i = clip(u_i, C) + N(0, z^2 C^2 I), where the observer is the server by default.

    ``noise_multiplier`` is that of one message. A third party that sees only averages of r messages learns what
    `AveragedMessages` with the multiplier :math:`\sqrt r z` of a sum releases.

    >>> LocalMessages(clients=100, cohort=25, sampling="fixed", noise_multiplier=2.0, rounds=50).sigma(clip=0.5)
    {'sigma_of_one_message': 1.0}
    """

    noise: str = parameter("each client adds noise", default="per-client", choices=("per-client",))
    view: str = parameter(
        "observer: sees the averages, or every message", default="server", choices=("third-party", "server")
    )

    def event(self) -> Event:
        return self._of_sums().event()

    def _of_sums(self) -> AveragedMessages:
        names = ("clients", "cohort", "sampling", "relation", "view", "rounds")
        self.count("clients"), self.count("rounds")  # an error names this algorithm
        z = self.value("noise_multiplier") * math.sqrt(self.size())
        return AveragedMessages(**{name: getattr(self, name) for name in names}, noise_multiplier=z)

    def multiplier_of(self) -> str:
        return "message"

    def factors(self) -> dict[str, float]:
        r = self._known_size()
        return {} if r is None else {"message": 1.0, "sum": 1 / math.sqrt(r), "average": math.sqrt(r)}

    def alternatives(self, given: Collection[str]) -> Iterator[Alternative]:
        yield from Mechanism.alternatives(self, given)

    def textbook(self) -> tuple[Any, Any] | None:
        return None if self.view == "server" else self._of_sums().textbook()

    def setting(self) -> dict[str, str]:
        return {
            **super().setting(),
            "multiplier": multiplies(self.noise_multiplier, "each message", self.relation == "replace"),
            "noise": "once a round by each client of the cohort, to its own message",
        }

    def sigma(self, clip: float) -> dict[str, float]:
        factor = 2 if self.relation == "replace" else 1
        return {"sigma_of_one_message": self.value("noise_multiplier") * clip * factor}
