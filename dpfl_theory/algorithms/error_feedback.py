"""Error feedback with a bounding operator: Clip21 and alpha-NormEC, with memories that start at zero; and DP-SGD.

shulgin2025 Algorithm 1, with all clients in every round:
    Delta_i = Psi(grad f_i(x) - v_i);  v_i = v_i + beta Delta_i;  v = v + (beta/n) sum_i (Delta_i + N(0, sigma^2 I));
    x = x - gamma v   (Clip21),   x = x - gamma v/||v||   (alpha-NormEC).
Equation (2), without memories, for the clients S of a round:
    x = x - gamma ((1/B) sum_{i in S} Psi(grad f_i(x)) + N(0, sigma^2 I)),   Psi(g) = g/(alpha + ||g||).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpfl_theory.algorithms.averaging import Averaging
from dpfl_theory.algorithms.faults import average_fault, clip_fault, control_fault, known, noise_fault, step_fault
from dpfl_theory.algorithms.faults.averaging import COORDINATES, stretched, unbounded
from dpfl_theory.algorithms.faults.noise import NO_NOISE, VARIANCE
from dpfl_theory.algorithms.fedavg import DPFedAvg, FedAvg
from dpfl_theory.core.algorithm import Algorithm, Extends, Fault, Setting
from dpfl_theory.core.parameter import Parameter, Range, Scale

__all__ = ["Clip21", "DPNormSGD", "ErrorFeedback", "InformedClip21", "InformedNormEC", "NormEC"]


GRADIENT = Scale("the mean gradient norm at the start", lambda a, problem: problem.slope)

CLIPPING = (
    clip_fault(
        "no clipping",
        "the difference grad f_i - v_i is sent unclipped: clip it to tau",
        private=True,
        unaccounted=True,
        bound=unbounded,
    ),
    clip_fault(
        "per-coordinate clipping",
        "each coordinate is clipped to [-tau, tau]: scale the whole vector by min(1, tau/||u||)",
        private=True,
        bound=COORDINATES,
    ),
    clip_fault(
        "normalised in place of clipped",
        "short vectors are stretched to the length tau: clipping does not change them",
        bound=stretched,
    ),
)
"""Mistakes in Clip21's bound."""


def alone(a: Any, o: Any, memory: Any, sent: Any, g: Any) -> Any:
    """A memory that moves by the whole message."""
    return memory + sent


NORMALISING = (
    clip_fault(
        "normalised without alpha",
        "the difference grad f_i - v_i is divided by its length: smoothed normalisation divides it by alpha + its "
        "length",
        bound=lambda a, o, u: o.stretch(u, 1.0),
    ),
    step_fault(
        "the server does not normalise",
        "the step is gamma v: Algorithm 1 divides by ||v||",
        direction=lambda a, o, estimate: estimate,
    ),
    clip_fault(
        "clipped in place of normalised",
        "the difference grad f_i - v_i is clipped to length 1: smoothed normalisation divides it by alpha + its length",
        bound=lambda a, o, u: o.clip(u, 1.0),
    ),
    control_fault(
        "beta is missing in the server's estimate",
        "v moves by the mean of the messages: multiply it by beta, as the memories do",
        estimate=lambda a, o, before, mean: before + mean,
    ),
    control_fault(
        "beta is missing in the memories",
        "v_i moves by the message: multiply it by beta, as the server does",
        remember=alone,
    ),
    control_fault(
        "beta is missing everywhere",
        "memories and estimate move by the messages: multiply these by beta",
        equivalent_to="beta is missing in the memories",
        remember=alone,
        estimate=lambda a, o, before, mean: before + mean,
    ),
)
"""Mistakes of alpha-NormEC alone."""


def noisy(name: str, description: str, deviation: Callable[[Any, Any], float], private: bool = False) -> Fault:
    """A mistake in the standard deviation of the noise of one message."""
    return noise_fault(name, description, private=private, noise=lambda a, o: o.gaussian(deviation(a, o) / o.n**0.5))


FAULTS = (
    control_fault(
        "bounded gradients without error feedback",
        "the operator is applied to the gradient: apply it to the difference from the memory, grad f_i - v_i",
        missing=lambda a, o, g, memory: g,
    ),
    control_fault(
        "memories that are not kept",
        "v_i stays zero: add the message",
        equivalent_to="bounded gradients without error feedback",
        remember=lambda a, o, memory, sent, g: memory,
    ),
    control_fault(
        "memories that take the whole gradient",
        "v_i becomes the gradient: add only the message, which is all that the server knows",
        remember=lambda a, o, memory, sent, g: g,
    ),
    control_fault(
        "the server forgets",
        "the step uses only the mean of this round's messages: the server should add them to its estimate",
        estimate=lambda a, o, before, mean: a.memory_step * mean,
    ),
    average_fault(
        "no division", "messages are summed, not averaged: divide by n", private=True, divisor=lambda a, o: 1.0
    ),
    average_fault(
        "no division of sum and noise",
        "the noisy messages are summed, not averaged: divide by n",
        divisor=lambda a, o: 1.0,
        noise=Extends(lambda inner, a, o: o.n * inner(o)),
    ),
    step_fault(
        "the step has the wrong sign",
        "x moves along v: it should move against v",
        move=lambda a, o, w, direction: w + a.step * direction,
    ),
    noisy(*NO_NOISE, lambda a, o: 0.0, private=True),
    noisy(
        "sigma where the multiplier was meant",
        "each message gets noise of standard deviation z: it should be z times the sensitivity of a message over "
        "sqrt(n)",
        lambda a, o: a.noise_multiplier,
        private=True,
    ),
    noisy(
        "sqrt(n) times the noise",
        "the mean has sqrt(n) times the algorithm's noise. One cause is local privacy, where each message gets the "
        "noise that protects it by itself: then z is the multiplier of a message, and the mean needs no change. "
        "Another cause is that noise for one message is added to the mean, which needs 1/sqrt(n) of that",
        lambda a, o: a.sigma * o.n**0.5,
    ),
    noisy(
        "sqrt(n) too little noise",
        "the noise of the mean is divided by sqrt(n) again",
        lambda a, o: a.sigma / o.n**0.5,
        private=True,
    ),
    noisy(*VARIANCE, lambda a, o: a.sigma**2, private=True),
)
"""Mistakes of both algorithms."""


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
