"""DP-FedAvg of McMahan, Ramage, Talwar and Zhang 2018, Algorithm 1: capped weights and a fixed denominator.

w_k = min(n_k/w_hat, 1) for a client with n_k records, W = sum_k w_k over all clients. Each client takes part with
probability q. Its local steps end at y_k, and Delta_k = clip(y_k - w, S), flat or by layers with S_l = S/sqrt(m). The
paper's clients clip y - w after each local step, which is a reading here; many implementations clip once, at the end:

    w = w + (1/(q W)) sum_{k in S} w_k Delta_k + N(0, (z S/(q W))^2 I)

This noise is for a client that is left out, or that sends zero; where one is replaced it is twice as large. W and the
w_k are public constants: where they depend on private numbers of records, no accounting here covers that.
The clipped denominator f_c divides the sum by max(q W, sum_{k in S} w_k) instead (W_min = W). One client then moves it
by up to 2S/(q W), so its noise is twice as large.
"""

from __future__ import annotations

from typing import Any, ClassVar

from dpfl_theory.algorithms.central import Central
from dpfl_theory.algorithms.faults import average_fault, clip_fault, known, noise_fault
from dpfl_theory.core.algorithm import Reading
from dpfl_theory.core.parameter import Parameter


def by_layers(share: Any) -> Any:
    """The bound of each layer, of m, to this part of S."""
    return lambda a, o, u, updates: o.by_layer(u, lambda part: o.clip(part, share(a, len(o.layers))))


PER_LAYER = {"bound": by_layers(lambda a, m: a.threshold / m**0.5)}
ALIKE = {"counted": lambda a, o, i: 1.0}


def clipped_steps(a: Any, o: Any, w: Any, i: Any) -> Any:
    """The end of local steps after each of which y - w is clipped, as the paper's clients do."""
    direction, y = a.along(o, i, lambda y: a.direction(o, i, y, w)), w
    for _ in range(int(a.steps(o, i))):
        y = w + a.bound(o, o.descend(y, i, a.rate(o), 1, direction) - w, ())
    return y


EACH_STEP = {"local": clipped_steps}


def took_part(a: Any, o: Any, members: Any) -> Any:
    """sum_{k in S} w_k; 1 where it is 0."""
    total = o.tally(members, lambda i: a.counted(o, i))
    return o.when(total > 0, lambda: total, lambda: 1.0)


def clipped_denominator(a: Any, o: Any, members: Any) -> Any:
    """max(q W, sum_{k in S} w_k)."""
    return -o.least(-a.noisy_share(o), -o.tally(members, lambda i: a.counted(o, i)))


def noise_of(unit: Any) -> Any:
    """Noise with the standard deviation z S times this."""
    return lambda a, o, members: o.gaussian(a.relation_factor * a.noise_multiplier * a.threshold * unit(a, o, members))


OWN = (
    average_fault(
        "weights that are not capped",
        "a client's weight is n_k/w_hat, without min(n_k/w_hat, 1): one with more records than w_hat moves the sum by "
        "more than S, to which the noise is calibrated",
        private=True,
        counted=lambda a, o, i: o.records(i) / a.cap,
    ),
    average_fault(
        "the sum is divided by the weight that took part",
        "the sum is divided by the weights of the clients that take part, which are random and not covered by the "
        "noise: divide it by their expected total q W, or by max(q W_min, sum) with twice the noise",
        private=True,
        divisor=took_part,
    ),
    average_fault(
        "the sum and its noise are divided by the weight that took part",
        "the noisy sum is divided by the weights of the clients that take part, which are not covered by the "
        "accounting: divide it by their expected total q W",
        divisor=took_part,
        noise=noise_of(lambda a, o, members: 1.0 / took_part(a, o, members)),
    ),
    noise_fault(
        "noise without the total weight",
        "the noise is z S/q, as for weights whose total W is 1: it should be z S/(q W)",
        seen="FL4Health, pull request 10, whose weights have the total 1",
        noise=noise_of(lambda a, o, members: o.n / o.expected),
    ),
    noise_fault(
        "noise by the number of clients in place of their weight",
        "the noise is z S/(q n), as for weights of 1: with smaller weights the sum is divided by q W, and so should be "
        "the noise",
        private=True,
        noise=noise_of(lambda a, o, members: 1.0 / o.expected),
    ),
    clip_fault(
        "every layer is clipped to S over their number",
        "each of m layers is clipped to S/m: S/sqrt(m) is enough for a message of norm S",
        bound=by_layers(lambda a, m: a.threshold / m),
    ),
    average_fault(
        "the clipped denominator with the noise of the fixed one",
        "the sum is divided by max(q W, sum of the weights that take part), which one client moves by up to 2S/(q W): "
        "the noise should be twice that of the fixed denominator",
        private=True,
        divisor=clipped_denominator,
    ),
)


class DPMcMahanFedAvg(Central):
    """DP-FedAvg with capped weights and a fixed denominator."""

    name = "dp-fedavg-mcmahan"
    title = "DP-FedAvg with capped weights"
    source = "McMahan et al. 2018 Algorithm 1"
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("differences are clipped once, after the local steps"),
        Reading("each layer is clipped", PER_LAYER),
        Reading("differences are clipped after each local step", EACH_STEP),
        Reading("each layer is clipped, after each local step", {**PER_LAYER, **EACH_STEP}),
        Reading("all clients have the weight 1", ALIKE),
        Reading("all clients have the weight 1, and each layer is clipped", {**ALIKE, **PER_LAYER}),
        Reading(
            "the sum is divided by max(q W, the weight that takes part), with twice the noise",
            {"divisor": clipped_denominator, "noise": noise_of(lambda a, o, members: 2.0 / a.noisy_share(o))},
        ),
    )

    cap = Parameter(
        *("w_hat", "records from which a client has the weight 1"),
        aliases=("cap", "weight_cap", "per_client_example_cap", "max_examples"),
        trials=(2.0, 3.0),
    )

    def counted(self, o: Any, i: Any) -> Any:
        """The weight w_k of a client."""
        return o.least(o.records(i) / self.cap, 1.0)

    def weight(self, o: Any, i: Any, members: Any) -> Any:
        return self.counted(o, i)

    def noisy_share(self, o: Any) -> Any:
        """q W."""
        return o.expected / o.n * o.tally(o.everyone, lambda i: self.counted(o, i))

    faults = known(*OWN, *Central.faults())
