"""What real code has besides its algorithm: weights, local momentum, clipping, decay, batches, clients' own numbers of
steps.

A variation is declared where it is meant (``conform --with weights=records,momentum=0.9``). Where it is not declared,
it is a deviation like any other, which the search finds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpfl_theory.algorithms.averaging import Averaging, heavy_ball, remembering
from dpfl_theory.algorithms.faults import average_fault, cohort_fault, local_fault, step_fault
from dpfl_theory.algorithms.faults.averaging import (
    AVERAGING,
    CLIPPED_STEPS,
    DECAYING_STEPS,
    PROXIMAL_STEPS,
    Kept,
    by_records,
)
from dpfl_theory.algorithms.faults.carried import MOMENTUM, ONE_BUFFER, ONE_BUFFER_TEXT, with_new_optimizer
from dpfl_theory.algorithms.faults.mcmahan import WITHOUT_LAST
from dpfl_theory.core.algorithm import Extends, Fault, with_number
from dpfl_theory.errors import InputError, unknown_name


@dataclass(frozen=True)
class Variation:
    """An option, what its value means, and the deviation for each value: by name, or for any number."""

    option: str
    text: str
    named: Mapping[str, Fault]
    number: Fault | None = None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All its deviations."""
        return (*self.named.values(), *([] if self.number is None else [self.number]))

    @property
    def values(self) -> tuple[str, ...]:
        """The values that it may have."""
        return (*self.named, *([] if self.number is None else ["a positive number"]))

    def of(self, value: Any) -> Fault:
        """The deviation of a value. Raises InputError for a value that it cannot have."""
        if str(value) in self.named:
            return self.named[str(value)]
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if self.number is None or self.number.sized is None or not 0.0 < number < float("inf"):
            raise InputError(f"the variation {self.option} is {value!r}: give {' or '.join(self.values)}")
        return self.number.sized(number)


DECLARE = "declare it as the variation {} where you mean it"
Step = Callable[[Any, Any, float], tuple[Any, Any]]
"""(memory or None, g, number) -> (memory, step)."""


MOMENTA: tuple[tuple[str, str, Step], ...] = (
    ("", "v = b v + g, and a step along v", lambda v, g, b: (v := g if v is None else b * v + g, v)),
    (
        "averaged",
        "v = b v + (1 - b) g, and a step along v",
        lambda v, g, b: (v := (1 - b) * g if v is None else b * v + (1 - b) * g, v),
    ),
    (
        "nesterov",
        "v = b v + g, and a step along g + b v",
        lambda v, g, b: (v := g if v is None else b * v + g, g + b * v),
    ),
)
"""Forms of heavy-ball momentum in optimizers of libraries: name, words and step."""


SERVER = -1
"""The server's place among the clients."""


def _momentum(step: Step, words: str) -> Fault:
    without = f"the algorithm has none; {DECLARE.format('momentum=b')}"

    def of(b: float) -> Fault:
        return local_fault(
            "momentum in the local steps",
            f"a client's local steps have momentum, {words}, with b = {b:.4g}: {without}",
            optimizer=lambda a, o, i: remembering(lambda v, g: step(v, g, b)),
        )

    return with_number(f"a client's local steps have momentum, {words}: {without}", MOMENTUM, of)


def _kept_momentum() -> Fault:
    """The buffer of a client's optimizer, made once and used in all rounds."""

    def of(b: float) -> Fault:
        def optimizer(a: Any, o: Any, i: Any) -> Any:
            def step(g: Any) -> Any:
                before = a.memories.get(int(i))
                a.memories[int(i)] = g if before is None else b * before + g
                return a.memories[int(i)]

            return step

        def round(inner: Any, a: Any, o: Any, w: Any, state: Any) -> Any:
            kept = state if isinstance(state, Kept) else Kept(state, {})
            a.memories = dict(kept.memories)
            w, after = inner(o, w, kept.state)
            return w, Kept(after, a.memories)

        return local_fault(
            "local momentum that is kept between rounds",
            f"a client's momentum (b = {b:.4g}) goes on from its last round, in which the model was another one: start "
            "with new buffers in each round",
            optimizer=optimizer,
            round=Extends(round),
        )

    return with_number("a client's momentum goes on from its last round: make new buffers in each round", MOMENTUM, of)


def _adaptive(name: str, step: Callable[[Any, Any, int, Any], tuple[Any, Any]], words: str) -> Fault:
    """An adaptive optimizer of a library, with its usual numbers. step: (o, memory, t, g) -> (memory, step)."""

    def optimizer(a: Any, o: Any, i: Any) -> Any:
        def moved(memory: Any, g: Any) -> tuple[Any, Any]:
            before, t = (o.zero, 1) if memory is None else memory
            after, by = step(o, before, t, g)
            return (after, t + 1), by

        return remembering(moved)

    return local_fault(
        "an adaptive optimizer in the local steps",
        f"a client's local steps are those of {name}, {words}, which starts again in each round: the algorithm's are "
        f"those of gradient descent; {DECLARE.format(f'optimizer={name.lower()}')}",
        optimizer=optimizer,
    )


def _adam(o: Any, memory: Any, t: int, g: Any) -> tuple[Any, Any]:
    m, v = memory if t > 1 else (o.zero, o.zero)
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * o.square(g)
    return (m, v), m / (1 - 0.9**t) / (o.root(v / (1 - 0.999**t)) + 1e-8)


def _rmsprop(o: Any, v: Any, t: int, g: Any) -> tuple[Any, Any]:
    v = 0.99 * v + 0.01 * o.square(g)
    return v, g / (o.root(v) + 1e-8)


def _adagrad(o: Any, v: Any, t: int, g: Any) -> tuple[Any, Any]:
    v = v + o.square(g)
    return v, g / (o.root(v) + 1e-10)


ADAPTIVE = {
    "adam": _adaptive("Adam", _adam, "with the decays 0.9 and 0.999 and the bias correction"),
    "rmsprop": _adaptive("RMSprop", _rmsprop, "with the decay 0.99"),
    "adagrad": _adaptive("Adagrad", _adagrad, "with the sum of the squares"),
}


def _one_buffer() -> Fault:
    """The buffer of one optimizer, for all clients of a round."""

    def of(b: float) -> Fault:
        def shared(a: Any, o: Any, i: Any) -> Any:
            return a.made.setdefault("", heavy_ball(b))

        said = f"with b = {b:.4g}, {ONE_BUFFER_TEXT}"
        return local_fault(ONE_BUFFER, said, optimizer=shared, round=Extends(with_new_optimizer))

    return with_number(ONE_BUFFER_TEXT, MOMENTUM, of)


def _server_momentum() -> Fault:
    """Momentum of the whole round's step, whatever the server does in it."""
    without = f"the algorithm has none of this kind; {DECLARE.format('server_momentum=b')}"

    def of(b: float) -> Fault:
        def round(inner: Any, a: Any, o: Any, w: Any, state: Any) -> Any:
            kept = state if isinstance(state, Kept) else Kept(state, {})
            end, after = inner(o, w, kept.state)
            m = b * kept.memories.get(SERVER, 0.0) + (end - w)
            return w + m, Kept(after, {SERVER: m})

        return step_fault(
            "server momentum",
            f"w moves by m = {b:.4g} m + step, where step is that of the algorithm: {without}",
            round=Extends(round),
        )

    return with_number(f"w moves by m = b m + step, where step is that of the algorithm: {without}", MOMENTUM, of)


DECAYED = "a step size that decays with the rounds"
RATES = (0.99, 0.998, 0.995, 0.95, 0.9, 0.5)
"""Usual factors of a decaying step size."""


def _decaying(
    words: str,
    factor: Callable[[Any, float], Any],
    usual: tuple[float, ...] = RATES,
    option: str = "lr_decay=...",
) -> Fault:
    """A local step size that changes from round to round; ``update`` divides by the same where it divides at all."""
    without = f"the algorithm has one for all rounds; {DECLARE.format(option)}"

    def of(x: float) -> Fault:
        def update(inner: Any, a: Any, o: Any, w: Any, y: Any) -> Any:
            found = inner(o, w, y)
            return found if a.sign == 1 else found / factor(o, x)

        return local_fault(
            DECAYED,
            f"the local step size is multiplied by {words.format(x=f'{x:.6g}')} in round k = 0, 1, ...: {without}",
            rate=Extends(lambda inner, a, o: inner(o) * factor(o, x)),
            update=Extends(update),
        )

    return with_number(f"the local step size is multiplied by {words.format(x='x')}: {without}", usual, of)


def _own_decay() -> Fault:
    """A local step size that decays each time that the client takes part, for example where its scheduler is kept."""

    def of(x: float) -> Fault:
        def optimizer(inner: Any, a: Any, o: Any, i: Any) -> Any:
            step, rounds = inner(o, i), a.__dict__.setdefault("earlier", {})  # none before the first round
            factor = x ** rounds.get(int(i), 0)
            rounds[int(i)] = rounds.get(int(i), 0) + 1
            return lambda g: factor * (g if step is None else step(g))

        def round(inner: Any, a: Any, o: Any, w: Any, state: Any) -> Any:
            kept = state if isinstance(state, Kept) else Kept(state, {})
            a.earlier = dict(kept.memories)
            w, after = inner(o, w, kept.state)
            return w, Kept(after, a.earlier)

        return local_fault(
            "a step size that decays with a client's own rounds",
            f"a client's local step size is multiplied by {x:.6g} after each round in which the client takes part, as "
            "where its learning-rate scheduler is kept, so that clients that take part more often take shorter steps: "
            f"the algorithm has one for all; {DECLARE.format('own_lr_decay=x')}",
            optimizer=Extends(optimizer),
            round=Extends(round),
        )

    without = f"the algorithm has one for all; {DECLARE.format('own_lr_decay=x')}"
    return with_number(f"a client's local step size decays with its own rounds: {without}", RATES, of)


def _within() -> Fault:
    def of(x: float) -> Fault:
        def optimizer(inner: Callable[..., Any], a: Any, o: Any, i: Any) -> Any:
            made, taken = inner(o, i), itertools.count()
            return lambda g: x ** next(taken) * (g if made is None else made(g))

        return local_fault(
            "a step size that decays within a round",
            f"the local step size is multiplied by {x:.6g} after each local step of a round",
            optimizer=Extends(optimizer),
        )

    return with_number("the local step size decays after each local step of a round", RATES, of)


def _of_all_records(factor: Callable[[Any], Any]) -> dict[str, Any]:
    """Weights n_i/n over all clients, times a factor."""
    return {
        "weight": lambda a, o, i, members: factor(o) * o.records(i) / o.tally(o.everyone, o.records),
        "divisor": lambda a, o, members: 1.0,
    }


BY_RECORDS = replace(
    next(one for one in AVERAGING if one.parts.get("weight") is by_records),
    plain="messages are weighted by their clients' shares of the cohort's records, which are not the weights of the "
    f"algorithm; {DECLARE.format('weights=records')}",
)
"""For algorithms that do more than average: plain averages with these weights have an algorithm of their own."""
OF_ALL = "weights over all clients in place of the cohort"
ALL_RECORDS = average_fault(
    OF_ALL,
    "messages are weighted by their clients' shares of the records of all clients, so that the weights of a cohort do "
    f"not add up to 1: use the algorithm's weights, or {DECLARE.format('weights=all-records')}",
    **_of_all_records(lambda o: 1.0),
)
SCALED_RECORDS = average_fault(
    OF_ALL,
    "messages are weighted by n/r times their clients' shares of the records of all clients, which add up to 1 only on "
    f"average: use the algorithm's weights, or {DECLARE.format('weights=all-records-scaled')}",
    **_of_all_records(lambda o: o.n / o.expected),
)
OWN_STEPS = replace(
    local_fault(
        "clients with numbers of local steps of their own",
        "clients take different numbers of local steps, for example where a step is a batch and an epoch all of a "
        f"client's records: the algorithm has one number for all; {DECLARE.format('steps=own')}",
        steps=lambda a, o, i: o.observed_steps(i, a.local_steps),
    ),
    general=True,
)
OWN_BATCHES = replace(
    local_fault(
        "local steps on batches of records",
        "a local step takes the gradient of a batch of the client's records: the algorithm of this comparison takes "
        f"that of all; {DECLARE.format('batches=own')}",
        gradient=lambda a, o, i, y: o.batch_gradient(i, y),
        steps=lambda a, o, i: o.batches(i) or o.observed_steps(i, a.local_steps),
    ),
    general=True,
)
OWN_IN_EPOCHS = replace(
    OWN_STEPS,
    description="clients take other numbers of local steps than the algorithm's, which are E for each of the "
    "ceil(n_k/B) batches of n_k records, and E where B = 0. Their batches may have another size, or their numbers of "
    f"epochs may differ: take E epochs of these batches, or {DECLARE.format('steps=own')}",
)
"""The same for algorithms with epochs of batches."""
LEFT_OUT = replace(
    cohort_fault(
        "members of the cohort that do not take part",
        "some members of the cohort take no local step: clients that drop out change the average and the amplification "
        f"by sampling; {DECLARE.format('dropouts=own')}",
        plain="some members of the cohort take no local step, which changes the average; "
        f"{DECLARE.format('dropouts=own')}",
        members=lambda a, o: [i for i in o.cohort if o.observed_steps(i, 0)],
    ),
    general=True,
)


LOCAL_MOMENTUM = {name: _momentum(step, words) for name, words, step in MOMENTA}
PER_ROUND = _decaying("{x}^k", lambda o, x: x**o.number)
INVERSE = _decaying("1/(1 + {x} k)", lambda o, x: 1 / (1 + x * o.number), (0.1, 0.01, 0.5), "inverse_decay=x")
VARIATIONS = (
    Variation(
        "weights",
        "of the clients' messages: by their shares of the cohort's records, or of all records",
        {"records": BY_RECORDS, "all-records": ALL_RECORDS, "all-records-scaled": SCALED_RECORDS},
    ),
    Variation("momentum", "of the local steps, v = b v + g", {}, LOCAL_MOMENTUM[""]),
    Variation("averaged_momentum", "of the local steps, v = b v + (1 - b) g", {}, LOCAL_MOMENTUM["averaged"]),
    Variation("nesterov_momentum", "of the local steps, with steps along g + b v", {}, LOCAL_MOMENTUM["nesterov"]),
    Variation("optimizer", "of the local steps, with its usual numbers", ADAPTIVE),
    Variation("clip_gradient", "norm to which the gradient of a local step is clipped", {}, CLIPPED_STEPS),
    Variation("weight_decay", "of the local steps, added to the gradient", {}, DECAYING_STEPS),
    Variation("proximal", "weight of a term y - w in the local steps", {}, PROXIMAL_STEPS),
    Variation(
        "lr_decay",
        "factor of the local step size from round to round, or 1/(k+1), or 1/sqrt(k+1)",
        {
            "1/(k+1)": _decaying("1/(k+1)", lambda o, x: 1 / (o.number + 1)).variants()[0],
            "1/sqrt(k+1)": _decaying("1/sqrt(k+1)", lambda o, x: (o.number + 1) ** -0.5).variants()[0],
        },
        PER_ROUND,
    ),
    Variation("inverse_decay", "x of a local step size that is multiplied by 1/(1 + x k) in round k", {}, INVERSE),
    Variation("own_lr_decay", "factor of a client's step size after each of its own rounds", {}, _own_decay()),
    Variation("step_decay", "factor of the step size from local step to local step", {}, _within()),
    Variation("server_momentum", "m = b m + average", {}, _server_momentum()),
    Variation("steps", "of each client: own, for those that it takes", {"own": OWN_STEPS}),
    Variation(
        "batches",
        "of records in local steps: own, for those that the function draws; or those of an epoch without the last, "
        "smaller one",
        {"own": OWN_BATCHES, **WITHOUT_LAST},
    ),
    Variation(
        "dropouts", "members that do not take part: own, for those that the function leaves out", {"own": LEFT_OUT}
    ),
)
"""All variations, by option."""
FOUND = (*(fault for one in VARIATIONS for fault in one.faults), _kept_momentum(), _one_buffer())
"""The deviations that the search tries in addition to an algorithm's own faults."""


def deviations(algorithm: type[Any]) -> list[Fault]:
    """The variations that an algorithm with averages and local steps may have, but for those among its own faults."""
    if not issubclass(algorithm, Averaging) or algorithm.lots:
        return []
    own, epochs = {fault.name for fault in algorithm.faults()}, hasattr(algorithm, "batches")
    batched = epochs or algorithm.protects == "record"
    return [
        OWN_IN_EPOCHS if epochs and fault is OWN_STEPS else fault
        for fault in FOUND
        if fault.name not in own
        and all(hasattr(algorithm, part) for part in fault.parts)
        and not (fault is OWN_BATCHES and batched)
    ]


def declared(given: Mapping[str, Any]) -> list[Fault]:
    """The deviations of declared variations, those that act first on a gradient first, in whatever order they are
    given. Raises InputError for an unknown option or value, and for two optimizers.

    >>> [one.name for one in declared({"weights": "records", "momentum": 0.9})]
    ['weights by numbers of records', 'momentum in the local steps']
    """
    known = {one.option: one for one in VARIATIONS}
    for option in given:
        if option not in known:
            raise unknown_name("variation", option, known)
    found = {one.option: one.of(given[one.option]) for one in VARIATIONS if one.option in given}
    made = {option: one.parts["optimizer"] for option, one in found.items() if "optimizer" in one.parts}
    optimizers = [option for option, part in made.items() if not isinstance(part, Extends)]
    if len(optimizers) > 1:
        raise InputError(f"{' and '.join(optimizers)} are optimizers of the local steps: declare one of them")
    return list(found.values())
