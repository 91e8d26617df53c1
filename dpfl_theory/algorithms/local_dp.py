"""FedAvg with local differential privacy: each client adds the noise that protects its own message.

    Delta_i = clip(y_i - w, C) + N(0, (z C)^2 I);  w = w + eta_s (1/|S|) sum_{i in S} Delta_i

z is the multiplier of a message that is sent or is zero; where a client is replaced the noise is twice as large. So
the average of r messages has the noise z C/sqrt(r), sqrt(r) times that of a trusted server with the same multiplier.
The server sees every message. Division by |S| uses nothing but those.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from dpfl_theory.algorithms.averaging import over_cohort
from dpfl_theory.algorithms.central import AS_PRINTED, Central
from dpfl_theory.algorithms.faults import average_fault, known, noise_fault
from dpfl_theory.algorithms.faults.averaging import by_records, gaussian
from dpfl_theory.core.algorithm import Reading, Setting


def message_noise(deviation: Any) -> Any:
    """Noise on each message, of this standard deviation."""
    return lambda a, o, members: o.sum_of_noises(members, deviation(a, o)) / a.divisor(o, members)


OWN = (
    noise_fault(
        "a message with its share of the sum's noise",
        "a message gets z C/sqrt(r), its share of noise that protects the sum of r messages: the server sees each "
        "message, which then has the multiplier z/sqrt(r). Give each message z C",
        private=True,
        noise=message_noise(lambda a, o: a.message_deviation(o) / o.expected**0.5),
    ),
    noise_fault(
        "a message with the noise of the average",
        "a message gets z C/r, the noise of an average of r messages: the server sees each message. Give each message "
        "z C",
        private=True,
        noise=message_noise(lambda a, o: a.message_deviation(o) / o.expected),
    ),
    noise_fault(
        "a message with the noise of all",
        "a message gets sqrt(r) z C: z C protects it by itself",
        noise=message_noise(lambda a, o: a.message_deviation(o) * o.expected**0.5),
    ),
    average_fault(
        "weights by numbers of records",
        "the noisy messages are weighted by their clients' shares of the records, but the algorithm gives all the same "
        "weight: this changes the average, and neither the noise nor the privacy of a message",
        weight=by_records,
        divisor=lambda a, o, members: 1.0,
        noise=lambda a, o, members: o.gaussian(
            a.message_deviation(o) * o.tally(members, lambda i: by_records(a, o, i, members) ** 2) ** 0.5
        ),
    ),
    average_fault(
        "weights by numbers of records",
        "messages are weighted by their clients' shares of the records, but their noise is not: the algorithm gives "
        "all the same weight, and adds the noise to each message before it is sent",
        weight=by_records,
        divisor=lambda a, o, members: 1.0,
        noise=gaussian(lambda a, o, s: a.message_deviation(o) / s**0.5),
    ),
)
AGAIN = (
    *("sqrt(r) times the noise", "sqrt(r) too little noise", "noise divided by r twice"),
    "weights by numbers of records",
)
"""Mistakes in an average and its noise that are listed here as mistakes in messages and their noise."""
NO_DIVISION = "no division"
"""Here noisy messages are summed, which costs no privacy."""


class LocalDP(Central):
    """FedAvg with noise on each message, whose multiplier is that of a message."""

    name = "dp-fedavg-local"
    title = "FedAvg with local differential privacy"
    source = "the Gaussian mechanism of Dwork and Roth 2014, on each message"
    sigma_of = "message"
    noise_in_messages = True
    samplings = ("fixed", "poisson")
    readings: ClassVar[tuple[Reading, ...]] = (
        AS_PRINTED,
        Reading("the sum is divided by the expected number of messages", {"divisor": lambda a, o, members: o.expected}),
    )
    relations = ("zero-out", "replace")
    mechanism = "LocalMessages"

    noise_multiplier = replace(Central.noise_multiplier, meaning="noise multiplier of a message")

    def releases(self, setting: Setting) -> dict[str, Any]:
        return {**super().releases(setting), "noise": "per-client"}

    divisor = over_cohort

    def message_deviation(self, o: Any) -> Any:
        """The standard deviation of the noise of a message."""
        return self.relation_factor * self.noise_multiplier * self.threshold

    def deviation(self, o: Any) -> Any:
        return self.message_deviation(o) / o.expected**0.5

    noise = message_noise(lambda a, o: a.message_deviation(o))

    faults = known(
        *OWN,
        *(
            replace(one, private=False) if one.name == NO_DIVISION else one
            for one in Central.faults()
            if one.name not in AGAIN
        ),
    )
