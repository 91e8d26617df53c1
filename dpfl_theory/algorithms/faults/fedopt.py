"""Mistakes in adaptive optimizers at the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpfl_theory.algorithms.faults import step_fault
from dpfl_theory.algorithms.faults.mcmahan import COHORT, EQUAL, TRAINING, without
from dpfl_theory.core.algorithm import Extends, Fault, with_number
from dpfl_theory.lazy import numpy as np


def corrected(a: Any, o: Any, delta: Any, m: Any, v: Any) -> Any:
    """m and v divided by one minus the power of their decay, as in Adam for one machine."""
    t = o.number + 1
    second = 1 if a.second_decay is None else 1 - a.second_decay**t
    return m / (1 - a.first_decay**t) / (o.root(v / second) + a.adaptivity)


def of_zero(a: Any, o: Any) -> Any:
    """v starts at 0."""
    return 0.0


def corrected_step(first: int) -> Callable[..., Any]:
    """The step size times sqrt(1 - beta_2^t)/(1 - beta_1^t), with t = first in the first round; v stays as it is."""

    def step(a: Any, o: Any, delta: Any, m: Any, v: Any) -> Any:
        t = o.number + first
        second = 1 if a.second_decay is None else (1 - a.second_decay**t) ** 0.5
        return second / (1 - a.first_decay**t) * m / (o.root(v) + a.adaptivity)

    return step


BIAS, BIAS_FROM_0 = "bias correction", "bias correction, v from 0"
START = "Algorithm 2 allows every start of at least tau^2, of which this comparison takes the least"
ADAPTIVE = (
    step_fault(
        "tau within the root",
        "the step is m/sqrt(v + tau): it is m/(sqrt(v) + tau)",
        scaled=lambda a, o, delta, m, v: m / o.root(v + a.adaptivity),
    ),
    step_fault(
        "tau within the root",
        "the step is m/sqrt(v + tau^2): it is m/(sqrt(v) + tau)",
        scaled=lambda a, o, delta, m, v: m / o.root(v + a.adaptivity * a.adaptivity),
    ),
    step_fault(
        BIAS,
        "m and v are divided by 1 - beta^t, as libraries' Adam does: FedOpt as printed has no such correction",
        seen="Flower, pull request 4362",
        scaled=corrected,
    ),
    step_fault(
        BIAS_FROM_0,
        "m and v start at 0 and are divided by 1 - beta^t, as in libraries' Adam: as printed v starts at tau^2, "
        "without a correction",
        scaled=corrected,
        start=of_zero,
    ),
    step_fault(
        "bias correction of the momentum alone",
        "m is divided by 1 - beta_1^t, and v is not corrected: FedOpt as printed has no such correction",
        scaled=lambda a, o, delta, m, v: m / (1 - a.first_decay ** (o.number + 1)) / (o.root(v) + a.adaptivity),
    ),
    step_fault(
        "the server's optimizer starts again in each round",
        "m and v start at their first values in every round, for example where the optimizer is made in each round: "
        "keep them",
        server=Extends(lambda inner, a, o, w, step, state, updates: inner(o, w, step, None, updates)),
    ),
    step_fault(
        "no tau",
        "the step is m/sqrt(v): it is m/(sqrt(v) + tau)",
        scaled=lambda a, o, delta, m, v: m / o.root(v),
    ),
    step_fault(
        "no root of the second moment",
        "the step is m/(v + tau): it is m/(sqrt(v) + tau)",
        scaled=lambda a, o, delta, m, v: m / (v + a.adaptivity),
    ),
    step_fault(
        "the average in place of the momentum",
        "the step is Delta/(sqrt(v) + tau), so that m has no effect: it is m/(sqrt(v) + tau)",
        seen="Flower, pull request 893",
        scaled=lambda a, o, delta, m, v: delta / (o.root(v) + a.adaptivity),
    ),
    step_fault(
        "the momentum is a sum",
        "m is beta_1 m + Delta: it is a moving average, with the factor 1 - beta_1 of Delta",
        first=lambda a, o, m, delta: a.first_decay * m + delta,
    ),
    step_fault(
        "the first round's momentum is the average",
        "m is Delta in the first round: it starts at 0, so that it is (1 - beta_1) Delta there",
        seen="FedMLLM, issue 4",
        first=lambda a, o, m, delta: o.when(
            o.number == 0, lambda: delta, lambda: a.first_decay * m + (1 - a.first_decay) * delta
        ),
    ),
    step_fault(
        "factors of the momentum swapped",
        "m is (1 - beta_1) m + beta_1 Delta: it is beta_1 m + (1 - beta_1) Delta",
        first=lambda a, o, m, delta: (1 - a.first_decay) * m + a.first_decay * delta,
    ),
    step_fault("v starts at 0", "v is 0 before the first round: it starts at tau^2", start=lambda a, o: 0.0),
    step_fault(
        "v starts at tau",
        f"v is tau before the first round: it starts at tau^2. {START}",
        start=lambda a, o: a.adaptivity,
    ),
    with_number(
        "the average is multiplied by a number before m and v are made of it",
        (2.0, 0.5),
        lambda times: step_fault(
            "the optimizer gets a multiple of the average",
            f"m and v are made of {times:.4g} times the average: give the optimizer the average itself",
            after=Extends(lambda inner, a, o, mean: times * inner(o, mean)),
        ),
    ),
    step_fault("v starts at 1", f"v is 1 before the first round: it starts at tau^2. {START}", start=lambda a, o: 1.0),
    *(
        step_fault(
            "bias correction of the step size",
            f"the step size is multiplied by sqrt(1 - beta_2^t)/(1 - beta_1^t) with t = {first} in the first round"
            f"{', and v starts at 0' if start is of_zero else ''}: FedOpt as printed has no correction, and v starts "
            "at tau^2",
            scaled=corrected_step(first),
            start=start,
        )
        for first in (1, 2)
        for start in (Extends(lambda inner, a, o: inner(o)), of_zero)
    ),
)


OF_SIZE: Mapping[str, Any] = {"scaled": lambda a, o, delta, m, v: m / (o.root(np.abs(v)) + a.adaptivity)}


def parameters_squared(a: Any, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
    """A server whose v is that of the averaged parameters."""
    before, squares = a.initial(o, w) if state is None else state
    m = a.first(o, before, step)
    v = a.second(o, squares, o.square(w + step))
    return a.move(o, w, a.scaled(o, step, m, v)), (m, v)


def squared_messages(a: Any, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
    """A server whose v is that of the clients' squared differences."""
    before, squares = a.initial(o, w) if state is None else state
    m, members = a.first(o, before, step), a.members(o)
    mean = o.sum(members, o.apply(updates, o.square), lambda i: a.weight(o, i, members)) / a.divisor(o, members)
    v = a.second(o, squares, mean)
    return a.move(o, w, a.scaled(o, step, m, v)), (m, v)


def largest(kept: bool, first: bool) -> Fault:
    """The largest v so far in place of v, as in AMSGrad. kept: whether it is also what v moves on from. first: whether
    v before the first round counts."""

    def second(inner: Any, a: Any, o: Any, v: Any, square: Any) -> Any:
        new = inner(o, v, square)
        return new if o.number == 0 and not first else np.maximum(v, new)

    def server(a: Any, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
        (m, v), most = state if isinstance(state[0], tuple) else (state, state[1] if first else 0.0)
        m = a.first(o, m, step)
        v = a.second(o, v, o.square(a.squared(o, step, m)))
        most = np.maximum(most, v)
        return a.move(o, w, a.scaled(o, step, m, most)), ((m, v), most)

    return step_fault(
        "the largest second moment",
        "the step is divided by the root of the largest v so far, as in AMSGrad: divide it by that of v",
        **({"second": Extends(second)} if kept else {"server": server}),
    )


OF_PARAMETERS = step_fault(
    "squares of the parameters",
    "v averages the squares of the clients' mean parameters: it is that of the squares of their differences from w",
    server=parameters_squared,
)

OF_MESSAGES = step_fault(
    "squares of the single differences",
    "v gets the mean of the squares of the clients' differences: it is made of the square of their mean",
    server=squared_messages,
)


def other_moments(cls: Any, every: Sequence[Any]) -> Sequence[Fault]:
    """The second moments of the other optimizers, and mistakes in this one."""
    found = [
        step_fault(
            f"the second moment of {other.title}",
            f"v is that of {other.title}, not that of {cls.title}",
            second=other.second,
        )
        for other in every
        if other is not cls and (cls.second_decay is not None or other.second_decay is None)
    ]
    if cls.second_decay is None:
        return found
    found += [largest(kept, first) for kept in (False, True) for first in (False, True)]
    found.append(
        step_fault(
            "the two decays swapped",
            "beta_1 is the decay of v and beta_2 that of m: it is the other way round",
            first=lambda a, o, m, delta: a.second_decay * m + (1 - a.second_decay) * delta,
            second=lambda a, o, v, square: cls.second(a.with_values(second_decay=a.first_decay), o, v, square),
        )
    )
    if cls.name == "fedyogi":
        found += [
            step_fault(
                "the sign of the second moment",
                f"v rises where it is above the square{words}: the sign is that of v - Delta^2, and it is subtracted",
                second=lambda a, o, v, square: 2 * v - cls.second(a, o, v, square),
                **parts,
            )
            for words, parts in (("", {}), (", and the step has the root of |v|, since v becomes negative", OF_SIZE))
        ]
    return found


def faults_of(cls: Any, every: Sequence[Any]) -> Sequence[Fault]:
    """The known mistakes of an adaptive optimizer, one of these."""
    adaptive = ADAPTIVE if cls.second_decay is not None else without(ADAPTIVE, BIAS, BIAS_FROM_0)
    own = (*adaptive, OF_PARAMETERS, OF_MESSAGES, *other_moments(cls, every))
    return (*own, *EQUAL, *without(COHORT, "server momentum"), *TRAINING)
