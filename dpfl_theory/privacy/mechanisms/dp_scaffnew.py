"""DP-ScaffNew: every client sends its clipped, noisy progress when a common coin says so."""

from __future__ import annotations

from dataclasses import dataclass

from dpfl_theory.privacy.events import Event, Repeated, WithProbability, gaussian
from dpfl_theory.privacy.mechanisms.base import Mechanism, parameter

__all__ = ["MECHANISMS", "DPScaffNew"]


@dataclass(frozen=True, kw_only=True)
class DPScaffNew(Mechanism):
    r"""DP-ScaffNew: :math:`\Delta_i = \mathrm{clip}(\hat x_i - x, C) + N(0, \sigma^2 I)` to everybody, with
    probability p.

    ``noise_multiplier`` is that of one message: sigma/C for zero-out, sigma/(2C) for replace. ``rounds`` counts
    iterations T; the number of messages is Binomial(T, p), and everybody sees it.

    >>> DPScaffNew(rounds=100, communication_probability=0.1, noise_multiplier=5.0).sigma(2.0)
    {'sigma': 10.0}
    """

    name = "dp-scaffnew"
    title = "DP-ScaffNew"
    source = "hou2023 Algorithm 2"
    protects = "client"
    noise_added_by = "client"

    communication_probability: float | None = parameter("probability p of the common coin (rounds count iterations T)")
    relation: str = parameter(
        "neighbouring relation of client data", default="zero-out", choices=("zero-out", "replace")
    )

    def validate(self) -> None:
        self.share("communication_probability")

    def event(self) -> Event:
        message = gaussian(self.value("noise_multiplier"))
        return Repeated(WithProbability(message, self.value("communication_probability")), self.count("rounds"))

    def sigma(self, clip: float) -> dict[str, float]:
        return {"sigma": self.value("noise_multiplier") * clip * (2 if self.relation == "replace" else 1)}

    def notes(self) -> tuple[str, ...]:
        return (
            "The number of messages is random: Binomial(T, p), not its mean pT.",
            "A client's control variate remembers the client's own noise, so the averages alone are certified for no "
            "more than the messages.",
        )


MECHANISMS = (DPScaffNew,)
