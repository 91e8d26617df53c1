"""Error feedback with a bounding operator: Clip21 and alpha-NormEC, with memories that start at zero; and DP-SGD.

shulgin2025 Algorithm 1, with all clients in every round:
    Delta_i = Psi(grad f_i(x) - v_i);  v_i = v_i + beta Delta_i;  v = v + (beta/n) sum_i (Delta_i + N(0, sigma^2 I));
    x = x - gamma v   (Clip21),   x = x - gamma v/||v||   (alpha-NormEC).
Equation (2), without memories, for the clients S of a round:
    x = x - gamma ((1/B) sum_{i in S} Psi(grad f_i(x)) + N(0, sigma^2 I)),   Psi(g) = g/(alpha + ||g||).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpfl_theory.algorithms.averaging import Averaging
from dpfl_theory.algorithms.faults import known
from dpfl_theory.algorithms.faults.error_feedback import CLIPPING, FAULTS, NORMALISING
from dpfl_theory.algorithms.fedavg import DPFedAvg, FedAvg
from dpfl_theory.core.algorithm import Algorithm, Setting
from dpfl_theory.core.parameter import Parameter, Range, Scale

__all__ = ["Clip21", "DPNormSGD", "ErrorFeedback", "InformedClip21", "InformedNormEC", "NormEC"]


GRADIENT = Scale("the mean gradient norm at the start", lambda a, problem: problem.slope)


class ErrorFeedback(Algorithm):
    """The round of both algorithms; the state is the server's estimate v and the clients' memories v_i."""

    protects = "client"
    sigma_of = "message"
    observed = ("messages", "after", "noise")

    step: Any
    memory_step: Any = 1
    sigma: Any

    mechanism = "BoundedMessages"

    def releases(self, setting: Setting) -> dict[str, Any]:
        return {
            "clients": setting.clients,
            "relation": setting.relation,
            "view": setting.view,
            "rounds": setting.rounds,
        }

    def initial(self, o: Any, w: Any) -> tuple[Any, Any]:
        """The server's estimate, and the clients' memories."""
        return o.zero, o.each(o.everyone, lambda i: o.zero)

    def message(self, o: Any, w: Any, i: Any) -> Any:
        return o.gradient(i, w)

    def missing(self, o: Any, g: Any, memory: Any) -> Any:
        """What a client's memory lacks."""
        return g - memory

    def bound(self, o: Any, u: Any) -> Any:
        """Psi, the message of a client that lacks u."""
        raise NotImplementedError

    def messages(self, o: Any, gradients: Any, memories: Any) -> Any:
        """The clients' messages without noise."""
        return o.each(o.everyone, lambda i: self.bound(o, self.missing(o, gradients[i], memories[i])))

    def remember(self, o: Any, memory: Any, sent: Any, g: Any) -> Any:
        """The memory of a client after its message."""
        return memory + self.memory_step * sent

    def updated(self, o: Any, g: Any, memory: Any) -> Any:
        """The memory of a client with gradient g after a round."""
        return self.remember(o, memory, self.bound(o, self.missing(o, g, memory)), g)

    def divisor(self, o: Any) -> Any:
        """What the sum of the messages is divided by."""
        return o.n

    def after(self, o: Any, mean: Any) -> Any:
        """The average that the server uses, before the noise."""
        return mean

    def noise(self, o: Any) -> Any:
        """The noise on the average."""
        return o.sum_of_noises(o.everyone, self.sigma) / o.n

    def message_multiplier(self, o: Any) -> float | None:
        return float(o.n**-0.5)

    def estimate(self, o: Any, before: Any, mean: Any) -> Any:
        """The server's estimate of the clients' mean gradient."""
        return before + self.memory_step * mean

    def direction(self, o: Any, estimate: Any) -> Any:
        """The direction of the server's step."""
        return estimate

    def move(self, o: Any, w: Any, direction: Any) -> Any:
        """The server's next vector."""
        return w - self.step * direction

    def round(self, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
        estimate, memories = self.initial(o, w) if state is None else state
        gradients = o.each(o.everyone, lambda i: o.gradient(i, w))
        sent = self.messages(o, gradients, memories)
        memories = o.each(o.everyone, lambda i: self.remember(o, memories[i], sent[i], gradients[i]))
        mean = self.after(o, o.sum(o.everyone, sent) / self.divisor(o))
        estimate = self.estimate(o, estimate, mean + self.noise(o))
        return self.move(o, w, self.direction(o, estimate)), (estimate, memories)


class Clip21(ErrorFeedback):
    """DP-Clip21."""

    name = "dp-clip21"
    title = "DP-Clip21"
    source = "shulgin2025 Section 6"

    step = replace(
        FedAvg.local_step,
        symbol="gamma",
        meaning="step",
        aliases=("step", "lr", "learning_rate", "eta"),
        search=Range((1e-3, 100.0)),
        trials=(0.2, 0.35),
    )
    threshold = replace(
        DPFedAvg.threshold,
        symbol="tau",
        meaning="threshold",
        aliases=("threshold", "clip", "clip_norm", "max_norm", "C", "level"),
        scale=GRADIENT,
        search=Range((1e-4, 3.0)),
    )
    sigma = replace(DPFedAvg.sigma, meaning="noise of one message")

    def bound(self, o: Any, u: Any) -> Any:
        return o.clip(u, self.threshold)

    def noise_unit(self, o: Any) -> float:
        return float(self.threshold / o.n**0.5)  # the n noises of a round are averaged

    def sensitivity(self, o: Any) -> float | None:
        return float(self.step * self.threshold / o.n)

    faults = known(*CLIPPING, *FAULTS)


class NormEC(ErrorFeedback):
    """DP-alpha-NormEC, with server normalisation and zero memories."""

    name = "dp-norm-ec"
    title = "DP-alpha-NormEC"
    source = "shulgin2025 Algorithm 1"
    level = "smoothing"

    step = replace(
        Clip21.step,
        unit="X",
        scale=Scale("the initial distance", lambda a, problem: problem.distance),
        default=0.01,
        search=Range((1e-4, 1.0)),
    )
    memory_step = Parameter(
        *("beta", "memory step", "F/X"),
        aliases=("memory_step",),
        scale=GRADIENT,
        default=0.1,
        search=Range((1e-3, 3.0)),
        trials=(0.4, 0.7),
    )
    smoothing = Parameter(
        *("alpha", "smoothing", "F/X"),
        kind="nonnegative",  # at 0 messages are normalised
        aliases=("smoothing",),
        scale=GRADIENT,
        default=0.1,
        search=Range((1e-3, 10.0)),
        trials=(0.5, 1.1),
    )
    sigma = replace(Clip21.sigma, unit="")

    def bound(self, o: Any, u: Any) -> Any:
        return o.smooth(u, self.smoothing)

    def direction(self, o: Any, estimate: Any) -> Any:
        return o.stretch(estimate, 1)

    def noise_unit(self, o: Any) -> float:
        return float(1.0 / o.n**0.5)

    def sensitivity(self, o: Any) -> float | None:
        return None  # the normalised step hides the displacement of the estimate

    faults = known(*NORMALISING, *FAULTS)


class FirstGradients(ErrorFeedback):
    """Memories that start at a share of the clients' first gradients, 1 for no error; this exchange is not private."""

    memory = Parameter("memory", "share of the first gradients in the memories", kind="nonnegative", default=0.0)

    def initial(self, o: Any, w: Any) -> tuple[Any, Any]:
        memories = o.each(o.everyone, lambda i: self.memory * o.gradient(i, w))
        return o.sum(o.everyone, memories) / o.n, memories


class InformedClip21(FirstGradients, Clip21):
    """DP-Clip21 with such memories."""


class InformedNormEC(FirstGradients, NormEC):
    """DP-alpha-NormEC with such memories."""


class DPNormSGD(Averaging):
    """DP-SGD over clients with smoothed normalisation; the server adds the noise to the average."""

    name = "dp-norm-sgd"
    title = "DP-SGD with smoothed normalisation"
    source = "shulgin2025 equation (2)"
    protects = "client"
    samplings = ("fixed", "poisson", "with-replacement")
    sign = -1
    level = "smoothing"

    global_step = replace(NormEC.step)
    smoothing = NormEC.smoothing
    sigma = replace(DPFedAvg.sigma, unit="")

    def message(self, o: Any, w: Any, i: Any) -> Any:
        return o.gradient(i, w)

    def bound(self, o: Any, u: Any, updates: Any) -> Any:
        return o.smooth(u, self.smoothing)

    def noise(self, o: Any, members: Any) -> Any:
        return o.gaussian(self.sigma)
