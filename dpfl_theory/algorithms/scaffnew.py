"""ScaffNew and DP-ScaffNew: control variates, and a coin that decides when all clients communicate.

hou2023 Algorithm 2, with control variates that start at zero; a round is an iteration:
    y_i = x_i - eta (grad f_i(x_i) - h_i);  with probability p, for all clients at once:
        Delta_i = clip(y_i - x, C) + N(0, sigma^2 I);  x = x_i = x + mean_j Delta_j;
        h_i = h_i + (p/eta)(mean_j Delta_j - Delta_i)
    else  x_i = y_i
The server has no vector in rounds without a communication. It keeps the last one; in ScaffNew the mean of the x_i is
another reading. Both give the same x_i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpfl_theory.algorithms.averaging import mean_of_clients
from dpfl_theory.algorithms.faults import known
from dpfl_theory.algorithms.faults.scaffnew import FAULTS, PRIVATE
from dpfl_theory.algorithms.fedavg import FedAvg
from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg
from dpfl_theory.core.algorithm import Algorithm, Reading, Setting
from dpfl_theory.core.parameter import Parameter, Range, Scale


@dataclass(frozen=True)
class Exchange:
    """A communication, for each client: where it ended, its difference from x, the bounded one, and this with noise;
    and the average of the messages."""

    ends: Any
    raw: Any
    bounded: Any
    sent: Any
    mean: Any


class ScaffNew(Algorithm):
    """ScaffNew; a round is an iteration."""

    name = "scaffnew"
    title = "ScaffNew"
    source = "Mishchenko et al. 2022 (Scaffnew), in the form of hou2023 Algorithm 2"
    observed = ("messages",)
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("w stays in rounds without a communication"),
        Reading(
            "w is the mean of the clients' vectors in rounds without a communication", {"skipped": mean_of_clients}
        ),
    )

    step = replace(FedAvg.local_step, meaning="step", aliases=("step", "lr", "learning_rate", "gamma"))
    probability = Parameter(
        *("p", "probability of a communication"),
        kind="share",
        aliases=("probability", "prob"),
        search=Range((1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0), between=False),
        trials=(1.0, 0.6),
        shared=True,
    )

    def communications(self) -> float:
        return float(self.probability)

    def initial(self, o: Any, w: Any) -> Any:
        """The clients' points, and their control variates."""
        return o.each(o.everyone, lambda i: w), o.each(o.everyone, lambda i: o.zero)

    def local(self, o: Any, x: Any, g: Any, h: Any) -> Any:
        """The point of a client after its step."""
        return x - self.step * (g - h)

    def message(self, o: Any, w: Any, i: Any) -> Any:
        return self.local(o, w, o.gradient(i, w), o.zero) - w

    def bound(self, o: Any, u: Any, w: Any) -> Any:
        """The bounded difference of a client from the server."""
        return u

    def messages(self, o: Any, differences: Any, w: Any) -> Any:
        """The clients' messages without noise."""
        return o.apply(differences, lambda u: self.bound(o, u, w))

    def noises(self, o: Any) -> Any:
        """The noise of each client's message."""
        return o.each(o.everyone, lambda i: o.zero)

    def sent(self, o: Any, t: Exchange, noise: Any, w: Any, i: Any) -> Any:
        """The message of client i."""
        return t.bounded[i] + noise[i]

    def average(self, o: Any, messages: Any) -> Any:
        """The mean over all clients."""
        return o.sum(o.everyone, messages) / o.n

    def after(self, o: Any, mean: Any) -> Any:
        """The average that the server uses, before the noise."""
        return mean

    def exchange(self, o: Any, w: Any, ends: Any) -> Exchange:
        """The communication of clients that ended there."""
        raw = o.each(o.everyone, lambda i: ends[i] - w)
        bounded = self.messages(o, raw, w)
        t, noise = Exchange(ends, raw, bounded, None, None), self.noises(o)
        sent = o.each(o.everyone, lambda i: self.sent(o, t, noise, w, i))
        added = o.each(o.everyone, lambda i: sent[i] - bounded[i])
        return Exchange(ends, raw, bounded, sent, self.after(o, self.average(o, bounded)) + self.average(o, added))

    def gain(self, o: Any) -> Any:
        """The factor by which control variates move."""
        return self.probability / self.step

    def control(self, o: Any, h: Any, t: Exchange, i: Any) -> Any:
        """The control variate of client i after a communication."""
        return h + self.gain(o) * (t.mean - t.sent[i])

    def idle(self, o: Any, h: Any, x: Any, exchange: Callable[[], Exchange], i: Any) -> Any:
        """The control variate of client i, which was at x, after a round without one; exchange() makes one."""
        return h

    def restart(self, o: Any, w: Any, y: Any) -> Any:
        """Where a client goes on after a communication."""
        return w

    def skipped(self, o: Any, w: Any, ends: Any) -> Any:
        """The server's vector in a round without a communication, in which clients end there."""
        return w

    def communicated(self, o: Any, w: Any, ends: Any, h: Any) -> tuple[Any, Any]:
        """The server's vector and the state after a communication of clients that ended there."""
        t = self.exchange(o, w, ends)
        after = w + t.mean
        points = o.each(o.everyone, lambda i: self.restart(o, after, ends[i]))
        return after, (points, o.each(o.everyone, lambda i: self.control(o, h[i], t, i)))

    def round(self, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
        x, h = self.initial(o, w) if state is None else state
        ends = o.each(o.everyone, lambda i: self.local(o, x[i], o.gradient(i, x[i]), h[i]))

        def communicate() -> Any:
            return self.communicated(o, w, ends, h)

        def skip() -> Any:
            def exchange() -> Exchange:
                return self.exchange(o, w, ends)

            h_after = o.each(o.everyone, lambda i: self.idle(o, h[i], x[i], exchange, i))
            return self.skipped(o, w, ends), (ends, h_after)

        found: tuple[Any, Any] = o.when(o.coin(self.probability), communicate, skip)
        return found

    faults = known(*FAULTS)


class DPScaffNew(ScaffNew):
    """DP-ScaffNew; a round is an iteration."""

    name = "dp-scaffnew"
    title = "DP-ScaffNew"
    source = "hou2023 Algorithm 2"
    protects = "client"
    sigma_of = "message"
    rounds = "iterations"
    readings: ClassVar[tuple[Reading, ...]] = Algorithm.readings

    threshold = replace(
        DPTwoSidedFedAvg.threshold,
        symbol="C",
        aliases=("threshold", "clip", "clip_norm", "max_norm", "level"),
        scale=Scale("eta/p times the mean gradient norm at the start", lambda a, p: a.step * p.slope / a.probability),
        search=Range((3e-3, 3.0)),
    )
    sigma = DPTwoSidedFedAvg.sigma

    def bound(self, o: Any, u: Any, w: Any) -> Any:
        return o.clip(u, self.threshold)

    mechanism = "CoinMessages"

    def releases(self, setting: Setting) -> dict[str, Any]:
        return {
            "communication_probability": self.probability,
            "relation": setting.relation,
            "rounds": setting.rounds,
        }

    def normals(self, clients: int) -> float:
        return clients * self.communications()

    def noises(self, o: Any) -> Any:
        return o.each(o.everyone, lambda i: o.gaussian(self.sigma, i))

    def noise_unit(self, o: Any) -> float:
        return float(self.threshold / o.n**0.5)  # the n noises of a round are averaged

    def message_multiplier(self, o: Any) -> float | None:
        return float(o.n**-0.5)

    def sensitivity(self, o: Any) -> float:
        return float(self.threshold / o.n)

    faults = known(*PRIVATE, *FAULTS)


class UnclippedScaffNew(DPScaffNew):
    """DP-ScaffNew as hou2023's proofs treat it: messages are not clipped, and have noise."""

    name = "dp-scaffnew-unclipped"
    title = "DP-ScaffNew without clipping"
    threshold = None
    bound = ScaffNew.bound
