"""Mistakes in FedAvg as McMahan et al. 2017 print it, and in the algorithms that average like it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from dpfl_theory.algorithms.averaging import over_cohort
from dpfl_theory.algorithms.faults import average_fault, local_fault
from dpfl_theory.algorithms.faults.averaging import AVERAGING, LOCAL, RECORD_STEPS, STEPS, one_by_one, one_message
from dpfl_theory.algorithms.faults.carried import CARRIED, IN_EPOCHS
from dpfl_theory.core.algorithm import Extends, Fault
from dpfl_theory.lazy import numpy as np


def without(faults: Sequence[Fault], *names: str) -> tuple[Fault, ...]:
    """The faults but those with these names."""
    return tuple(one for one in faults if one.name not in names)


def model(a: Any, o: Any, w: Any, y: Any) -> Any:
    """The client's end, not its difference from w."""
    return y


def taken(a: Any, o: Any, w: Any, step: Any) -> Any:
    """The average of ends is the server's vector, where its step size is 1."""
    return w + a.global_step * (step - w)


def both(name: str, description: str, **parts: Any) -> Iterator[Fault]:
    """A mistake in the weights of differences from w, and the same in those of the clients' ends. With these, w shrinks
    or grows with the sum of the weights."""
    yield average_fault(name, description, **parts)
    yield average_fault(name, description, **parts, update=model, move=taken)


UNWEIGHTED = average_fault(
    "all clients weigh the same",
    "the clients have equal weights: weight each by its number of records, n_k over their sum in the cohort",
    seen="Federated-Learning-PyTorch, issue 27; FedLab, issue 305",
    weight=lambda a, o, i, members: None,
    divisor=over_cohort,
)
BY_RECORDS = "weight clients by n_k over the sum of the cohort's numbers of records"

BY_STEPS = average_fault(
    "weights by numbers of steps",
    "clients are weighted by their numbers of steps (batches), which are not those of records where a last batch is "
    "smaller. Use the weights of the algorithm",
    weight=lambda a, o, i, members: in_steps(a, o, i),
    divisor=lambda a, o, members: o.tally(members, lambda i: in_steps(a, o, i)),
)
ONE_MORE = average_fault(
    "the sum is divided by one more than the number of clients",
    "the sum of the cohort's differences y - w, with equal weights, is divided by |S| + 1. One of: w is averaged with "
    "the clients' ends; a client is counted twice, which is then a deviation of its own; the step has a factor of this "
    "size. Count each client's end once and nothing else, with the weights and the step of the algorithm",
    weight=lambda a, o, i, members: None,
    divisor=lambda a, o, members: o.count(members) + 1,
)


def in_steps(a: Any, o: Any, i: Any) -> Any:
    """The number of client i's steps; its weight by records where there are no batches to count."""
    return a.steps(o, i) if a.batch_size else o.records(i)


def squares(o: Any, i: Any) -> Any:
    """n_k^2."""
    return o.records(i) * o.records(i)


TWICE, NOT_ONE = "weighted twice", "weights that do not add up to 1"
DIVIDED = "a weighted mean divided by the number of clients"
WEIGHTED = (
    UNWEIGHTED,
    BY_STEPS,
    ONE_MORE,
    average_fault(
        "the average times the share of the clients that take part",
        "the weights add up to |S|/n, for example where a mean over the cohort is divided by n and multiplied by |S|; "
        f"or the server's step has this factor: {BY_RECORDS}",
        divisor=lambda a, o, members: o.tally(members, o.records) * o.n / over_cohort(a, o, members),
    ),
    *both(
        "weights over all clients in place of the cohort",
        f"the weights are shares of all clients' records, and those of a cohort add up to less than 1: {BY_RECORDS}",
        seen="FedEM, issue 1",
        divisor=lambda a, o, members: o.tally(o.everyone, o.records),
    ),
    *both(
        TWICE,
        "messages are multiplied by their clients' shares of the records twice, for example at the client and at the "
        "server, so that the weights add up to less than 1: multiply once",
        weight=lambda a, o, i, members: squares(o, i),
        divisor=lambda a, o, members: o.tally(members, o.records) ** 2,
    ),
    average_fault(
        TWICE,
        "messages have weights proportional to the square of the number of records: weights are proportional to n_k",
        weight=lambda a, o, i, members: squares(o, i),
        divisor=lambda a, o, members: o.tally(members, lambda i: squares(o, i)),
    ),
    *both(
        DIVIDED,
        "the messages are summed with weights that add up to 1, and the sum is divided by the number of clients: "
        "leave this division out",
        divisor=lambda a, o, members: o.tally(members, o.records) * over_cohort(a, o, members),
    ),
    *both(
        NOT_ONE,
        "the messages are multiplied by the numbers of records and divided by the number of clients: divide by the sum "
        "of these numbers",
        divisor=over_cohort,
    ),
    *both(
        NOT_ONE,
        "the messages are multiplied by the numbers of records and not divided: divide by the sum of these numbers",
        divisor=lambda a, o, members: 1,
    ),
    *both(
        "equal weights over all clients in place of the cohort",
        "the sum over the cohort is divided by the number n of all clients, with equal weights: use n_k over the sum "
        "of the cohort's numbers of records",
        seen="WAFFLE, issue 6",
        weight=lambda a, o, i, members: None,
        divisor=lambda a, o, members: o.n,
    ),
)
"""Mistakes in weights by records."""
EQUAL = (
    BY_STEPS,
    ONE_MORE,
    *both(
        "equal weights over all clients in place of the cohort",
        "the sum over the cohort is divided by the number n of all clients: divide it by the number of clients in it",
        seen="WAFFLE, issue 6",
        divisor=lambda a, o, members: o.n,
    ),
    *both(
        "no division",
        "the clients' messages are summed: divide the sum by the number of clients in the cohort",
        divisor=lambda a, o, members: 1,
    ),
    *(
        replace(one, parts={"weight": lambda a, o, i, members: o.records(i), **one.parts})
        for one in WEIGHTED
        if one.name in (TWICE, DIVIDED, NOT_ONE) and "update" not in one.parts
    ),
)
"""Mistakes in equal weights, or in weights by records in their place."""

LAST = average_fault(
    "the last client's end is the result",
    "the ends of all clients but one are lost, for example where a loop assigns the model in place of adding to it: "
    "average them",
    weight=lambda a, o, i, members: 1.0 if i == members[len(members) - 1] else 0.0,
    divisor=lambda a, o, members: 1.0,
)
BY_STEP = average_fault(
    "the average is divided by the local step size",
    "the average of y - w is divided by the local step size, as for a gradient: the server's step is for y - w",
    after=Extends(lambda inner, a, o, mean: inner(o, mean) / a.local_step),
)
COHORT = (
    LAST,
    *(
        average_fault(
            "a layer is not averaged",
            f"the server's {which} layer stays as it is, whatever the clients send: average all layers",
            after=Extends(lambda inner, a, o, mean, k=k: without_layer(o, inner(o, mean), k)),
        )
        for which, k in (("first", 0), ("last", -1))
    ),
    *(
        average_fault(
            "a layer is that of one client",
            f"the {layer} layer of the average is that of the message of the cohort's {client} client, for example "
            "where a loop assigns it in place of adding to it: average all layers",
            step=Extends(
                lambda inner, a, o, members, updates, k=k, j=j: layer_of(
                    o, inner(o, members, updates), list(a.messages(o, updates)), k, j
                )
            ),
        )
        for layer, k in (("first", 0), ("last", -1))
        for client, j in (("last", -1), ("first", 0))
    ),
    *one_message(),
    average_fault(
        "the median in place of the mean",
        "each coordinate is the median of the clients' messages, which is another algorithm: average them",
        step=lambda a, o, members, updates: np.median(np.stack(list(a.messages(o, updates))), axis=0),
    ),
    average_fault(
        "ends are added to w",
        "the average of the clients' ends is added to w, which counts w twice: put it in the place of w, or average "
        "the differences y - w",
        update=model,
    ),
    BY_STEP,
    *(one for one in AVERAGING if one.role in ("cohort", "step") and one.parts.keys() <= {"members", "move"}),
    *(one for one in CARRIED if "divisor" not in one.parts),
)
"""Mistakes in the cohort and the server's step, and those that carry over, whatever the weights are."""


def without_layer(o: Any, u: Any, k: int) -> Any:
    """u with 0 in layer number k."""
    found = 1.0 * u
    found[..., o.layers[k]] = 0.0
    return found


def layer_of(o: Any, u: Any, messages: Sequence[Any], k: int, j: int) -> Any:
    """u with layer number k of message number j."""
    found = without_layer(o, u, k)
    if messages:
        found[..., o.layers[k]] = messages[j][..., o.layers[k]]
    return found


def epochs(more: int) -> Any:
    """The steps of this number of epochs more."""
    return Extends(lambda inner, a, o, i: inner(o, i) + more * a.batches(o, i))


def _without_last(option: str, words: str, fewest: int) -> Fault:
    """Epochs without a last batch of fewer than B records. fewest: the number of batches that a client has at least."""
    return local_fault(
        "the last batch is left out",
        f"the last batch of an epoch is left out where it has fewer than B records, {words}. The algorithm takes "
        f"this batch too, as it splits all records; declare it as the variation batches={option} where you mean it",
        batches=lambda a, o, i: max(fewest, o.records(i) // a.batch_size) if a.batch_size else 1,
    )


WITHOUT_LAST = {
    option: _without_last(option, words, fewest)
    for option, words, fewest in (
        (
            "drop-last",
            "as by drop_last=True of PyTorch, so that a client with fewer than B records takes no step",
            0,
        ),
        (
            "drop-last-of-several",
            "but a client with fewer than B records takes a batch of all of them",
            1,
        ),
    )
}
"""Epochs without a last, smaller batch, by what declares them."""
TRAINING = (
    local_fault("one epoch too few", "a client takes one epoch fewer than it should", steps=epochs(-1)),
    local_fault("one epoch too many", "a client takes one epoch more than it should", steps=epochs(1)),
    local_fault(
        "a single epoch",
        "a client takes one epoch, whatever their number",
        steps=lambda a, o, i: a.batches(o, i),
    ),
    local_fault(
        "epochs count steps",
        "a client takes as many steps as it should take epochs: an epoch is a step for each batch",
        steps=lambda a, o, i: a.local_steps,
    ),
    local_fault(
        "gradients of a small batch are divided by B",
        "the sum of a batch's gradients is divided by B, also where the batch has fewer records, so that its step is "
        "shorter: divide it by the number of records in the batch",
        gradient=lambda a, o, i, y: o.batch_gradient(i, y, a.batch_size, of=a.batch_size),
    ),
    *WITHOUT_LAST.values(),
    *IN_EPOCHS,
    local_fault(
        RECORD_STEPS,
        "a client takes a step for each record: take one for each batch of B records",
        seen="FL-bench, issue 3; FL4Health, pull request 64",
        local=one_by_one,
    ),
    *(one for one in LOCAL if one.name not in {"a single local step", RECORD_STEPS, *(step.name for step in STEPS)}),
)
"""Mistakes in the local epochs."""

OTHER = replace(
    UNWEIGHTED,
    description=f"{UNWEIGHTED.description} (with equal weights and full gradients the algorithm is fedavg-two-sided)",
)
FAULTS = (OTHER, *(one for one in WEIGHTED if one is not UNWEIGHTED), *COHORT, *TRAINING)
