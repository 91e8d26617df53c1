"""Mistakes in rounds that average the clients' messages: in the average, the step, the local steps and the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dpfl_theory.algorithms.averaging import heavy_ball, over_cohort
from dpfl_theory.algorithms.faults import average_fault, clip_fault, cohort_fault, local_fault, noise_fault, step_fault
from dpfl_theory.core.algorithm import Extends, Fault, with_number
from dpfl_theory.lazy import numpy as np

Part = Callable[..., Any]


@dataclass(frozen=True)
class Kept:
    """The state of a round, and what a deviation keeps besides it, such as the memories of the clients' optimizers."""

    state: Any
    memories: Any


def by_records(a: Any, o: Any, i: Any, members: Any) -> Any:
    """Client i's share of the cohort's records."""
    return o.records(i) / o.tally(members, o.records)


def gaussian(deviation: Callable[[Any, Any, int], Any]) -> Part:
    """Noise on the average with this standard deviation, a function of the algorithm, ``o`` and |S|."""
    return lambda a, o, members: o.gaussian(deviation(a, o, o.count(members)))


def scaled(factor: Callable[[Any, Any, int], Any]) -> Extends:
    """The noise of the round times a factor, a function of the algorithm, ``o`` and |S|."""
    return Extends(lambda inner, a, o, members: factor(a, o, len(members)) * inner(o, members))


def usual_divisor(a: Any, o: Any) -> Any:
    """What the sum over a cohort of the expected size is divided by: r, or another fixed number."""
    return a.noisy_share(o) if hasattr(a, "noisy_share") else o.expected


def of_place(k: int, factor: float) -> Extends:
    """The messages, number k of them times a factor."""

    def messages(inner: Callable[..., Any], a: Any, o: Any, updates: Any) -> Any:
        found = list(inner(o, updates))
        if found:
            found[k] = factor * found[k]
        return found

    return Extends(messages)


def one_message() -> Iterator[Fault]:
    """The cohort's first or last message counts more or less than the algorithm says."""
    for which, k, other, how in (
        ("first", 0, "second", "a sum starts with it and a loop adds it again"),
        ("last", -1, "last but one", "it is added once more after a loop"),
    ):

        def of(factor: float, which: str = which, k: int = k, how: str = how) -> Fault:
            cause = f", for example where {how}" if factor == 2.0 else ""
            return average_fault(
                f"the {which} client of a cohort has another weight",
                f"the message of the {which} client in the cohort counts {factor:.4g} times as much as it "
                f"should{cause}: give all clients the weights of the algorithm",
                private=factor > 1.0,
                messages=of_place(k, factor),
            )

        yield with_number(
            f"the message of the {which} client in the cohort has another weight than the algorithm gives it",
            (2.0, 0.5),
            of,
        )
        yield average_fault(
            f"the {which} client of a cohort is left out",
            f"the message of the {which} client in the cohort is not in the sum, but the sum is divided as if it were. "
            f"One cause is a loop that {'starts' if k == 0 else 'ends'} with the {other} message, another is a message "
            "that is zero: add all of them",
            messages=of_place(k, 0.0),
        )


BOTH_STEPS = "both step sizes on the server"
LOCAL_STEP = "the local step size in place of the global one"
AVERAGING = (
    *one_message(),
    average_fault(
        "division by |S| in place of r",
        "the sum of the messages is divided by the number of clients that take part, |S|, which is random: divide it "
        "by its expected value. Else the sensitivity is C/|S| and grows where few take part",
        private=True,
        plain=(
            "the sum of the messages is divided by the number of clients that take part, |S|: the algorithm divides it "
            "by the expected number r, which is the same only where all cohorts have one size"
        ),
        divisor=over_cohort,
    ),
    average_fault(
        "sum and noise divided by |S| in place of r",
        "the noisy sum is divided by |S|, which is random and not covered by the accounting: divide it by its expected "
        "value",
        divisor=over_cohort,
        noise=scaled(lambda a, o, s: usual_divisor(a, o) / max(s, 1)),
    ),
    average_fault(
        "sum and noise divided by n in place of r",
        "the noisy sum is divided by the number n of all clients: divide it by the cohort's expected size r",
        divisor=lambda a, o, members: o.n,
        noise=scaled(lambda a, o, s: usual_divisor(a, o) / o.n),
    ),
    average_fault(
        "division by n in place of r",
        "the sum over the cohort is divided by the number n of all clients: divide it by the cohort's expected size r",
        divisor=lambda a, o, members: o.n,
    ),
    average_fault(
        "no division",
        "the messages are summed, not averaged: divide the sum by r",
        private=True,
        divisor=lambda a, o, members: 1.0,
    ),
    average_fault(
        "no division of sum and noise",
        "the noisy sum is not divided: divide it by r",
        divisor=lambda a, o, members: 1.0,
        noise=scaled(lambda a, o, s: usual_divisor(a, o)),
    ),
    average_fault(
        "weights by numbers of records",
        "messages are weighted by their clients' shares of the cohort's records, which are not the algorithm's "
        "weights. One client then moves the average by up to its share times the threshold, so that noise on the "
        "average must be calibrated to the largest share; noise that a message has before it is weighted shrinks with "
        "it",
        plain=(
            "messages are weighted by their clients' shares of the cohort's records, as in FedAvg of McMahan et al. "
            "2017, which are not the weights of the algorithm of this comparison; compare it with fedavg-mcmahan"
        ),
        weight=by_records,
        divisor=lambda a, o, members: 1.0,
    ),
    cohort_fault(
        "all clients in place of the cohort",
        "all clients take part, whoever is in the cohort: the amplification by sampling is then claimed but does not "
        "exist",
        private=True,
        plain="all clients take part, whoever is in the cohort",
        members=lambda a, o: o.everyone,
    ),
    cohort_fault(
        "mean over all clients in place of the cohort",
        "all clients take part and are averaged over n, whoever is in the cohort: average over the cohort",
        members=lambda a, o: o.everyone,
        divisor=lambda a, o, members: o.n,
    ),
    step_fault(
        "the step has the wrong sign",
        "the server moves in the opposite direction: with u = (w - y)/eta it should be w - step, with u = y - w it "
        "should be w + step",
        move=lambda a, o, w, step: w - a.sign * a.global_step * step,
    ),
    step_fault(
        "the global step size multiplies w",
        "the server's new vector is multiplied by the step size, and so is w in it, for example where the step size "
        "multiplies the average of the clients' ends: it should multiply the step from w",
        move=lambda a, o, w, step: a.global_step * (w + a.sign * step),
    ),
    step_fault(
        "no global step size",
        "the average is added without a factor: multiply it by the global step size",
        move=lambda a, o, w, step: w + a.sign * step,
    ),
    step_fault(
        LOCAL_STEP,
        "the server uses the local step size: it has its own step size",
        move=lambda a, o, w, step: w + a.sign * a.local_step * step,
    ),
    step_fault(
        "the global step size twice",
        "the average is multiplied by the global step size twice, for example where an optimizer with this step size "
        "gets a gradient that already has this factor: multiply once",
        move=lambda a, o, w, step: w + a.sign * a.global_step**2 * step,
    ),
    step_fault(
        BOTH_STEPS,
        "the average is multiplied by the local and the global step size",
        move=lambda a, o, w, step: w + a.sign * a.local_step * a.global_step * step,
    ),
    with_number(
        "the factor of the average in the server's step is not the step size",
        (2.0, 0.5),
        lambda times: step_fault(
            "a step of another length",
            f"the server's step is {times:.4g} times as long as it should be, for example where the average is "
            "multiplied or divided once more, or is itself averaged with w: multiply it only by the step size",
            move=lambda a, o, w, step: w + times * a.sign * a.global_step * step,
        ),
    ),
)
"""Mistakes in the average and in the server's step."""

RECORD_STEPS = "batches for steps"
STEPS = (
    local_fault(
        "one local step too few",
        "a client takes one local step fewer than it should",
        steps=lambda a, o, i: a.local_steps - 1,
    ),
    local_fault(
        "one local step too many",
        "a client takes one local step more than it should",
        steps=lambda a, o, i: a.local_steps + 1,
    ),
)
"""One local step too few or too many."""

DECAYS = (1.0, 0.5, 0.1, 5e-2, 1e-2, 5e-3, 1e-3, 5e-4, 1e-4)
"""Usual strengths of weight decay in training scripts, as far as a path shows them."""
PROXIMAL = (1.0, 0.5, 0.1, 5e-2, 1e-2, 5e-3, 1e-3)
"""The same for a proximal term, which is smaller since it is proportional to the client's path."""
NORMS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Usual norms to which scripts clip local gradients."""


UNCLIPPED = "Leave it out, or declare it as the variation clip_gradient where you mean it"
NO_DECAY = (
    "the algorithm has no weight decay; set it to 0, put the term into the loss, or declare it as the variation "
    "weight_decay where you mean it"
)
NO_TERM = "leave it out, or declare it as the variation proximal where you mean it"
CLIPPED_STEPS = with_number(
    f"the gradient of a local step is clipped to a norm. {UNCLIPPED}",
    NORMS,
    lambda norm: local_fault(
        "clipped local gradients",
        f"the gradient of a local step is clipped to norm {norm:.4g}, as by clip_grad_norm_. {UNCLIPPED}",
        direction=Extends(lambda inner, a, o, i, y, w: o.clip(inner(o, i, y, w), norm)),
    ),
)
DECAYING_STEPS = with_number(
    f"a local step adds a multiple of the client's parameters to the gradient: {NO_DECAY}",
    DECAYS,
    lambda strength: local_fault(
        "weight decay in the local steps",
        f"a local step adds {strength:.4g} times the client's parameters to the gradient: {NO_DECAY}",
        direction=Extends(lambda inner, a, o, i, y, w: inner(o, i, y, w) + strength * y),
    ),
)
PROXIMAL_STEPS = with_number(
    f"a local step adds a multiple of y - w to the gradient, which is FedProx: {NO_TERM}",
    PROXIMAL,
    lambda strength: local_fault(
        "a proximal term in the local steps",
        f"a local step adds {strength:.4g} (y - w) to the gradient, which is FedProx: {NO_TERM}",
        direction=Extends(lambda inner, a, o, i, y, w: inner(o, i, y, w) + strength * (y - w)),
    ),
)
ADDED = (CLIPPED_STEPS, DECAYING_STEPS, PROXIMAL_STEPS)
"""Clipped local gradients, and terms added to them, as optimizers add weight decay after the clipping."""


def one_by_one(a: Any, o: Any, y: Any, i: Any) -> Any:
    """The point after passes over the client's records, one by one."""
    for _ in range(int(a.local_steps)):
        for j in range(o.records(i)):
            y = y - a.local_step * o.gradient(i, y, [j])
    return y


def _added_up() -> Iterator[Fault]:
    """Gradients that add up: with what is added to them, or alone, as where an optimizer adds weight decay later."""

    def optimizer(inner: Callable[..., Any], a: Any, o: Any, i: Any) -> Any:
        a.sum = 0.0
        return inner(o, i)

    def gradient(inner: Callable[..., Any], a: Any, o: Any, i: Any, y: Any) -> Any:
        a.sum = a.sum + inner(o, i, y)
        return a.sum

    alone = {"optimizer": Extends(optimizer), "gradient": Extends(gradient)}
    for parts in ({"optimizer": lambda a, o, i: heavy_ball(1.0)}, alone):
        yield local_fault(
            "gradients add up over the local steps",
            "a local step moves along the sum of all gradients since the round's start, for example where they are not "
            "set to zero (optimizer.zero_grad) before each step: without weight decay this is momentum with b = 1",
            **parts,
        )


LOCAL = (
    *STEPS,
    *ADDED,
    local_fault(
        "a single local step",
        "a client takes one local step, whatever the number of local steps",
        steps=lambda a, o, i: 1,
    ),
    local_fault(
        RECORD_STEPS,
        "a local step is a whole pass over the records, one by one: the number of steps counts gradients, not epochs",
        seen="FL-bench, issue 3; FL4Health, pull request 64",
        local=one_by_one,
    ),
    local_fault(
        "local gradients at the server's parameters",
        "all local gradients are taken at the round's start, not at the client's current point",
        direction=lambda a, o, i, y, w: a.gradient(o, i, w),
    ),
    *_added_up(),
    local_fault(
        "the local steps go uphill",
        "a local step adds the gradient: subtract it",
        direction=Extends(lambda inner, a, o, i, y, w: -inner(o, i, y, w)),
    ),
)
"""Mistakes in the local steps."""


def unbounded(a: Any, o: Any, u: Any, *more: Any) -> Any:
    """No bound on u."""
    return u


def stretched(a: Any, o: Any, u: Any, *more: Any) -> Any:
    """u stretched or shrunk to the length C."""
    return o.stretch(u, a.threshold)


def by_coordinate(level: Callable[[Any, Any], float]) -> Part:
    """Every coordinate clipped to a level."""
    return lambda a, o, u, *more: np.clip(u, -level(a, u), level(a, u))


def quantile(share: float) -> Part:
    """Clipping to a quantile of the round's lengths."""
    return lambda a, o, u, updates: o.clip(u, float(np.quantile([o.length(p) for p in updates], share)))


def at_median(capped: bool) -> Extends:
    """A step whose threshold is the median of the round's lengths, with noise in proportion. capped: at C."""

    def step(inner: Any, a: Any, o: Any, members: Any, updates: Any) -> Any:
        level = float(np.median([o.length(u) for u in updates])) if len(updates) else a.threshold
        level = min(level, a.threshold) if capped else level
        sigma = {} if a.sigma is None else {"sigma": a.sigma * level / a.threshold}
        return inner.func(a.with_values(threshold=level, **sigma), o, members, updates)

    return Extends(step)


def in_norm(length: Callable[[Any], float]) -> Part:
    """Scaled by C over another length of the message."""
    return lambda a, o, u, *more: u * min(1.0, a.threshold / max(length(u), 1e-300))


SQUARED = in_norm(lambda u: float(u @ u))
MAXIMUM = in_norm(lambda u: float(np.max(np.abs(u), initial=0.0)))
COORDINATES = by_coordinate(lambda a, u: a.threshold)
"""Wrong lengths, and none, in the bound on a message u."""


def noise_first(a: Any, o: Any, updates: Any) -> Any:
    """Messages whose noise is added before the bound."""
    noisy = [u + o.gaussian(a.deviation(o) * o.expected**0.5) for u in updates]
    return [a.bound(o, u, noisy) for u in noisy]


def rest_kept() -> dict[str, Any]:
    """A round that adds what clipping cut off in the round before."""

    def step(inner: Callable[..., Any], a: Any, o: Any, members: Any, updates: Any) -> Any:
        before, cut = a.rest["before"], (u - a.bound(o, u, updates) for u in updates)
        a.rest["after"] = o.sum(members, cut, lambda i: a.weight(o, i, members)) / a.divisor(o, members)
        return inner(o, members, updates) + before

    def round(inner: Callable[..., Any], a: Any, o: Any, w: Any, state: Any) -> Any:
        kept = state if isinstance(state, Kept) else Kept(state, o.zero)
        a.rest = {"before": kept.memories, "after": o.zero}
        w, after = inner(o, w, kept.state)
        return w, Kept(after, a.rest["after"])

    return {"step": Extends(step), "round": Extends(round)}


CLIPPING = (
    clip_fault(
        "what clipping cuts off is added in the next round",
        "the sum of what clipping cuts off messages is kept and added, unclipped, to the next round's sum, so that no "
        "noise is enough. Leave it out, or add a client's rest to its next message before it is clipped",
        private=True,
        unaccounted=True,
        **rest_kept(),
    ),
    clip_fault(
        "no clipping",
        "a client's message has no bound (the largest of the lengths as a threshold is no bound), so no noise is "
        "enough: clip it to C",
        private=True,
        unaccounted=True,
        bound=unbounded,
    ),
    clip_fault(
        "per-coordinate clipping",
        "each coordinate is clipped to C separately, so that a message with d of them can be sqrt(d) C "
        "long: scale the whole vector by min(1, C/||u||)",
        seen="Truxify, issue 3844",
        private=True,
        bound=COORDINATES,
    ),
    clip_fault(
        "per-coordinate clipping to C/sqrt(d)",
        "each of d coordinates is clipped to C/sqrt(d): a message is then at most C long, but is also cut where the "
        "whole vector is short enough. Scale the whole vector by min(1, C/||u||)",
        bound=by_coordinate(lambda a, u: a.threshold / len(u) ** 0.5),
    ),
    clip_fault(
        "per-layer clipping",
        "each layer is clipped separately, to C over the root of their number: a message is then at most C long, but "
        "is also cut where the whole vector is short enough; scale the whole vector by min(1, C/||u||)",
        bound=lambda a, o, u, *more: o.by_layer(u, lambda part: o.clip(part, a.threshold / len(o.layers) ** 0.5)),
    ),
    clip_fault(
        "each layer is clipped to the whole threshold",
        "each layer is clipped to C, so that a message with m layers can be sqrt(m) C long: scale the whole vector by "
        "min(1, C/||u||), or clip each layer to C/sqrt(m)",
        private=True,
        bound=lambda a, o, u, *more: o.by_layer(u, lambda part: o.clip(part, a.threshold)),
    ),
    clip_fault(
        "clipping to 1",
        "messages are scaled by min(1, 1/||u||), whatever the threshold C is: the factor should be min(1, C/||u||)",
        bound=lambda a, o, u, *more: o.clip(u, 1.0),
    ),
    clip_fault(
        "clip of the mean",
        "the average is clipped, not each client's message: one client can then move it by as much as all together",
        seen="caamas, issue 36",
        private=True,
        bound=unbounded,
        after=lambda a, o, mean: o.clip(mean, a.threshold),
    ),
    clip_fault(
        "clip level from data: the median of the lengths",
        "messages are clipped to the median of their own lengths, to which the noise is not calibrated and which "
        "itself reveals information about the data",
        private=True,
        unaccounted=True,
        bound=quantile(0.5),
    ),
    *(
        clip_fault(
            "clip level from data: the median of the lengths",
            f"messages are clipped to the median of their own lengths{words}, and the noise is scaled by the same "
            "number: both reveal information about the data, and no accounting covers it",
            private=True,
            unaccounted=True,
            step=at_median(capped),
        )
        for capped, words in ((True, ", or to C where that is less"), (False, ""))
    ),
    clip_fault(
        "clip level from data: the mean of the lengths",
        "messages are clipped to the mean of their own lengths, which depends on the data",
        private=True,
        unaccounted=True,
        bound=lambda a, o, u, updates: o.clip(u, float(np.mean([o.length(p) for p in updates]))),
    ),
    clip_fault(
        "normalised in place of clipped",
        "short messages are stretched to the length C: clipping does not change them",
        bound=stretched,
    ),
    clip_fault(
        "smoothed normalisation in place of clipping",
        "messages become C u/(||u|| + 1), shorter than C, but short ones change too: the factor should be "
        "min(1, C/||u||)",
        bound=lambda a, o, u, *more: a.threshold * o.smooth(u, 1.0),
    ),
    clip_fault(
        "clipping by the squared length",
        "messages are scaled by min(1, C/||u||^2): the factor should be min(1, C/||u||)",
        private=True,
        bound=SQUARED,
    ),
    clip_fault(
        "clipping in the maximum norm",
        "messages are scaled by the largest coordinate, so they can be sqrt(d) C long: use the Euclidean norm",
        private=True,
        bound=MAXIMUM,
    ),
    clip_fault(
        "clipping in the 1-norm",
        "messages are scaled by the sum of the absolute coordinates: use the Euclidean norm",
        bound=in_norm(lambda u: float(np.sum(np.abs(u)))),
    ),
    clip_fault(
        "clip of single gradients in place of the update",
        "each local gradient is clipped, not the client's message. E steps then bound (w - y)/eta by E C, and y - w by "
        "E eta C: clip the message",
        direction=lambda a, o, i, y, w: o.clip(a.gradient(o, i, y), a.threshold),
        bound=unbounded,
    ),
    noise_fault(
        "noise before clipping",
        "each client adds its noise before clipping, to a vector without a bound, so that no noise is enough: clip "
        "first, then add the noise",
        private=True,
        unaccounted=True,
        messages=noise_first,
        noise=lambda a, o, members: o.zero,
    ),
)
"""Mistakes in the bound on what a client sends."""
