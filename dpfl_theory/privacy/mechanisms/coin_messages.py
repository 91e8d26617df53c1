"""Messages of all clients to everybody, in rounds that a common coin selects (DP-ScaffNew)."""

from __future__ import annotations

from dataclasses import dataclass

from dpfl_theory.privacy.events import Event, Repeated, WithProbability, gaussian
from dpfl_theory.privacy.mechanisms.base import Mechanism, multiplies, parameter


@dataclass(frozen=True, kw_only=True)
class CoinMessages(Mechanism):
    r""":math:`\Delta_i = \mathrm{clip}(\hat x_i - x, C) + N(0, \sigma^2 I)` to everybody, with
    probability p.

    ``noise_multiplier`` is that of one message: sigma/C for zero-out, sigma/(2C) for replace. ``rounds`` counts
    iterations T; the number of messages is Binomial(T, p), and everyone sees it.

    >>> CoinMessages(rounds=100, communication_probability=0.1, noise_multiplier=5.0).sigma(2.0)
    {'sigma': 10.0}
    """

    aliases = {"iterations": "rounds"}  # noqa: RUF012
    protects = "client"
    noise_added_by = "client"

    communication_probability: float | None = parameter(
        "probability p of the common coin (rounds count iterations T)", "share"
    )
    relation: str = parameter(
        "neighbouring relation of client data", default="zero-out", choices=("zero-out", "replace")
    )

    def event(self) -> Event:
        message = gaussian(self.value("noise_multiplier"))
        return Repeated(WithProbability(message, self.value("communication_probability")), self.count("rounds"))

    def sigma(self, clip: float) -> dict[str, float]:
        return {"sigma": self.value("noise_multiplier") * clip * (2 if self.relation == "replace" else 1)}

    def setting(self) -> dict[str, str]:
        replaced = self.relation == "replace"
        kind = "another one of norm at most C" if replaced else "zero instead, and the noise stays"
        p = "" if self.communication_probability is None else f" = {self.communication_probability:g}"
        return {
            "unit": "one client, with all of its data",
            "neighbours": f"{self.relation}: one client's message is {kind}",
            "multiplier": multiplies(self.noise_multiplier, "each client's message", replaced),
            "sampling": f"none: all clients communicate together, in an iteration with probability p{p}",
            "observer": "everyone, including the server: sees every message, and when communication happened",
            "noise": "by each client, once for each communication, to its own message",
        }

    def notes(self) -> tuple[str, ...]:
        return (
            "The number of messages is random: Binomial(T, p), not its mean pT.",
            "A client's control variate remembers the client's own noise, so the averages by themselves are certified "
            "for no more than the messages.",
        )
