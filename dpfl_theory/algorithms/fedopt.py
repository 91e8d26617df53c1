"""FedOpt: the server takes the average of the clients' differences as a gradient, for an adaptive optimizer.

Reddi et al. 2021, "Adaptive Federated Optimization", Algorithm 2, with the differences y_k - w after the local steps
and the cohort S, by coordinate:
    Delta = (1/|S|) sum_{k in S} (y_k - w);   m = beta_1 m + (1 - beta_1) Delta;
    v = v + Delta^2                                 (FedAdagrad)
    v = v - (1 - beta_2) Delta^2 sign(v - Delta^2)  (FedYogi)
    v = beta_2 v + (1 - beta_2) Delta^2             (FedAdam)
    w = w + eta m/(sqrt(v) + tau);   m = 0 and v = tau^2 before the first round (the paper asks for v >= tau^2).
Versions before August 2021 have m^2 in place of Delta^2, which the authors call a typo (google-research/federated,
issue 41). The experiments weight clients by their records. So there are four readings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from dpfl_theory.algorithms.faults import step_fault
from dpfl_theory.algorithms.faults.mcmahan import COHORT, EQUAL, TRAINING, without
from dpfl_theory.algorithms.mcmahan import BY_RECORDS, EqualFedAvg
from dpfl_theory.core.algorithm import Extends, Fault, Reading, with_number
from dpfl_theory.core.parameter import Parameter, Range
from dpfl_theory.lazy import numpy as np

__all__ = ["FedAdagrad", "FedAdam", "FedYogi"]

OF_MOMENTUM = {"squared": lambda a, o, delta, m: m}


def corrected(a: Any, o: Any, delta: Any, m: Any, v: Any) -> Any:
    """m and v divided by one minus the power of their decay, as in Adam for one machine."""
    t = o.number + 1
    second = 1 if a.second_decay is None else 1 - a.second_decay**t
    return m / (1 - a.first_decay**t) / (o.root(v / second) + a.adaptivity)


def not_accumulated(inner: Callable[..., Any], a: Any, o: Any, w: Any, step: Any, state: Any, updates: Any) -> Any:
    """A server that keeps the average of the round in place of m."""
    after, (_, squares) = inner(o, w, step, state, updates)
    return after, (step, squares)


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
        server=Extends(lambda inner, a, o, w, step, state, updates: inner(o, w, step, a.initial(o, w), updates)),
    ),
    step_fault(
        "a first moment that does not accumulate",
        "m is beta_1 times the average of the round before plus (1 - beta_1) times this one, for example where the "
        "average is stored in place of m: store m",
        server=Extends(not_accumulated),
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
    before, squares = state
    m = a.first(o, before, step)
    v = a.second(o, squares, o.square(w + step))
    return a.move(o, w, a.scaled(o, step, m, v)), (m, v)


def squared_messages(a: Any, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
    """A server whose v is that of the clients' squared differences."""
    before, squares = state
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


def other_moments(cls: Any) -> Sequence[Fault]:
    """The second moments of the other optimizers, and mistakes in this one."""
    found = [
        step_fault(
            f"the second moment of {other.title}",
            f"v is that of {other.title}, not that of {cls.title}",
            second=other.second,
        )
        for other in (FedAdam, FedYogi, FedAdagrad)
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


class FedAdam(EqualFedAvg):
    """FedAvg with Adam at the server; the state is m and v."""

    name = "fedadam"
    title = "FedAdam"
    source = "Reddi et al. 2021 Algorithm 2"
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("squares of the average", weights="equal weights"),
        Reading("squares of the momentum, as the first version prints", OF_MOMENTUM, "equal weights"),
        Reading("squares of the average", BY_RECORDS, "weights by numbers of records"),
        Reading("squares of the momentum", {**OF_MOMENTUM, **BY_RECORDS}, "weights by numbers of records"),
    )

    local_step = replace(EqualFedAvg.local_step, symbol="eta_l")
    global_step = replace(
        EqualFedAvg.global_step,
        symbol="eta",
        unit="X",
        aliases=(*EqualFedAvg.global_step.aliases, "eta_g"),
        default=0.1,
        search=Range((1e-3, 1.0)),
        trials=(0.1, 0.3),
    )
    first_decay = Parameter(
        *("beta_1", "decay of the first moment"),
        kind="fraction",
        aliases=("beta1", "b1", "momentum"),
        default=0.9,
        search=Range((0.0, 0.5, 0.9), between=False),
        trials=(0.9, 0.6),
    )
    second_decay: Any = Parameter(
        *("beta_2", "decay of the second moment"),
        kind="fraction",
        aliases=("beta2", "b2"),
        default=0.99,
        search=Range((0.9, 0.99, 0.999), between=False),
        trials=(0.99, 0.8),
    )
    adaptivity = Parameter(
        *("tau", "degree of adaptivity", "X"),
        aliases=("epsilon", "eps"),
        default=1e-3,
        search=Range((1e-5, 1e-1)),
        trials=(0.05, 0.02),
    )

    def initial(self, o: Any, w: Any) -> Any:
        return o.zero, o.square(o.zero) + self.start(o)

    def start(self, o: Any) -> Any:
        """v before the first round, in all coordinates."""
        return self.adaptivity * self.adaptivity

    def first(self, o: Any, m: Any, delta: Any) -> Any:
        """m after a round with this average."""
        return self.first_decay * m + (1 - self.first_decay) * delta

    def squared(self, o: Any, delta: Any, m: Any) -> Any:
        """The vector whose squares v averages."""
        return delta

    def second(self, o: Any, v: Any, square: Any) -> Any:
        """v after a round with these squares."""
        return self.second_decay * v + (1 - self.second_decay) * square

    def scaled(self, o: Any, delta: Any, m: Any, v: Any) -> Any:
        """What the server moves along."""
        return m / (o.root(v) + self.adaptivity)

    def server(self, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
        before, squares = state
        m = self.first(o, before, step)
        v = self.second(o, squares, o.square(self.squared(o, step, m)))
        return self.move(o, w, self.scaled(o, step, m, v)), (m, v)

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        adaptive = ADAPTIVE if cls.second_decay is not None else without(ADAPTIVE, BIAS, BIAS_FROM_0)
        own = (*adaptive, OF_PARAMETERS, OF_MESSAGES, *other_moments(cls))
        return (*own, *EQUAL, *without(COHORT, "server momentum"), *TRAINING)


class FedYogi(FedAdam):
    """FedAvg with Yogi at the server."""

    name = "fedyogi"
    title = "FedYogi"

    def second(self, o: Any, v: Any, square: Any) -> Any:
        sign = 1.0 * (v > square) - 1.0 * (v < square)
        return v - (1 - self.second_decay) * square * sign


class FedAdagrad(FedAdam):
    """FedAvg with Adagrad at the server; in the paper beta_1 = 0."""

    name = "fedadagrad"
    title = "FedAdagrad"
    second_decay = None
    first_decay = replace(FedAdam.first_decay, default=0.0, trials=(0.0, 0.6))

    def second(self, o: Any, v: Any, square: Any) -> Any:
        return v + square
