"""The search space of a private algorithm, and the certified noise that each choice of hyper-parameters needs.

A point has one coordinate in [0, 1] for each axis. Scales come from the problem: 1/L for steps, the clients' mean
gradient length at the start for thresholds, for normalised steps the distance that this gradient could cover.

In record-level algorithms (noble2022) local steps clip each record's gradient and add noise; one record is protected.
Client i uses b_i = floor(s R_i) of its R_i records in a local step and adds noise of standard deviation 2C sigma_g/b_i.
One record makes a difference of at most 2C/b_i. If clients differ in size, the others' noise hides the records of the
smallest client, R of them, least. A share s is a whole number of its records over R. So no client's records are
used more often than those of the smallest client, and the certificate for these holds for all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from dpfl_theory.algorithms import algorithms
from dpfl_theory.algorithms.user_files import from_handle, handle
from dpfl_theory.core.algorithm import Algorithm, Setting
from dpfl_theory.core.parameter import Parameter
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import CertifiedInterval, Mechanism, calibrate, epsilon_spent, get
from dpfl_theory.problems.base import Array, Problem, no_records
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.scales import Scales
from dpfl_theory.recommend.inputs import Budget
from dpfl_theory.simulation import Cohort, Simulation

__all__ = ["Axis", "Budget", "RecordLevel", "Tuned", "Values", "least_multiplier", "rounds_up_to", "tuned"]

Values = Mapping[str, float]
RECORDS = "dp-fedavg-record"
"""The mechanism of record-level algorithms where all clients take part in each round."""


@dataclass(frozen=True)
class Axis:
    """A free hyper-parameter with its values, which are evenly spaced on a logarithmic scale if only two ends are
    given.

    values: the allowed values, in ascending order; between: whether all values between the first and the last are also
    allowed. shared: whether all replicates of one run have the same value.

    >>> round(Axis("step", (0.01, 1.0)).at(0.5), 9), Axis("steps", (1, 5, 20), between=False).at(0.5)
    (0.1, 5)
    """

    name: str
    values: tuple[float, ...]
    between: bool = True
    shared: bool = False

    def at(self, u: float) -> float:
        """The value at a coordinate in [0, 1]."""
        if not self.between:
            return self.values[min(len(self.values) - 1, int(u * len(self.values)))]
        low, high = math.log(self.values[0]), math.log(self.values[-1])
        return math.exp(low + min(1.0, max(0.0, u)) * (high - low))

    def where(self, value: float) -> float:
        """The coordinate of a value, or of the nearest allowed one."""
        value = min(max(value, self.values[0]), self.values[-1])
        if not self.between:
            nearest = min(range(len(self.values)), key=lambda k: abs(math.log(self.values[k] / value)))
            return (nearest + 0.5) / len(self.values)
        low, high = math.log(self.values[0]), math.log(self.values[-1])
        return 0.5 if high == low else (math.log(value) - low) / (high - low)


def rounds_up_to(most: int) -> tuple[int, ...]:
    """Numbers of rounds, each about 1.4 times the one before, and the largest one.

    >>> rounds_up_to(10)
    (1, 2, 3, 4, 6, 8, 10)
    """
    found = {max(1, round(2 ** (k / 2))) for k in range(2 * most.bit_length() + 2)}
    return tuple(sorted({k for k in found if k < most} | {most}))


class Tuned:
    """A described algorithm on a problem, within a budget, with free hyper-parameters.

    ``values`` of a point are plain numbers under the names of the axes, which are the parameters' attributes (relative
    to the problem's scales); ``hyperparameters`` are the absolute ones under the algorithm's own symbols.

    Raises InputError where no accountant certifies the algorithm for the budget's relation, view and sampling.
    """

    kind: ClassVar[type[Algorithm]]
    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    protects: ClassVar[str]
    relations: ClassVar[tuple[str, ...]]
    samplings: ClassVar[tuple[str, ...]]
    vectors: ClassVar[int]
    noise: ClassVar[str]
    """The symbol of the noise."""
    threshold: ClassVar[str | None]
    """The symbol of the length beyond which messages are clipped, None where they are bounded in another way."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        if budget.rounds < self.vectors:
            raise InputError(f"`rounds` is {budget.rounds}: {self.name} sends {self.vectors} vectors in a round")
        if self.protects == "record" and not isinstance(problem, LinearModel):
            raise no_records(problem, self.name)
        self.problem, self.budget, self.scales = problem, budget, Scales(problem)
        self._refuse_uncertified()

    def content(self) -> dict[str, Any]:
        """Its content, for the keys of a store."""
        return {"algorithm": self.name, "problem": self.problem, "budget": self.budget}

    @property
    def slope(self) -> float:
        """The mean length of the protected units' gradients at the start, 0 [F/X]."""
        return self.scales.record_slope if self.protects == "record" else self.scales.slope

    @property
    def smoothness(self) -> float:
        """L, the largest of the clients' smoothness constants [F/X^2]."""
        return self.scales.L

    @property
    def relation(self) -> str:
        """The neighbouring relation of the protected data."""
        return self.budget.relation or self.relations[0]

    @property
    def participation(self) -> str:
        """How clients are drawn in a round."""
        return self.draws().scheme

    def draws(self) -> Cohort:
        """How clients are drawn for the budget's cohort; InputError for a way that the algorithm does not have."""
        size, sampling, n = self.budget.cohort, self.budget.sampling, self.problem.n
        if size is None or size >= n:
            if sampling not in (None, "full"):
                raise InputError(f"`sampling` is {sampling}, but all clients take part: also give a `cohort` below {n}")
            return Cohort()
        kind = sampling or self.kind.sampling()
        if kind not in self.samplings:
            having = f"it has {' and '.join(self.samplings)}" if self.samplings else "all clients take part in a round"
            message = f"`cohort` is {size:g} of {n}" + ("" if sampling is None else f" and `sampling` {sampling}")
            raise InputError(f"{message}: no accountant certifies {self.name} for that, {having}")
        return Cohort(kind, size)

    def _refuse_uncertified(self) -> None:
        if self.relation not in self.relations:
            raise InputError(
                f"`relation` is {self.relation}: no accountant certifies {self.name} for that, it has "
                f"{' and '.join(self.relations)}"
            )
        self.draws()
        least = {"rounds": 1, "local_steps": 1, "probability": 1.0, "share": 1.0}
        try:
            self.mechanism(least).with_(noise_multiplier=1.0).event()
        except InputError as error:
            message = str(error)
            raise InputError(message if self.name in message else f"{self.name} is not certified: {message}") from error

    @property
    def most_rounds(self) -> int:
        """The number of communication rounds that the budget of vectors allows."""
        return self.budget.rounds // self.vectors

    @property
    def searched(self) -> dict[str, Parameter]:
        """The parameters that have axes, by attribute."""
        return {name: p for name, p in self.kind.without_noise().items() if p.search is not None}

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the free hyper-parameters."""
        return tuple(self.free())

    def free(self) -> Sequence[Axis]:
        """The axes; ``rounds`` is one of them."""
        axes = {n: Axis(n, p.search.values, p.search.between, p.shared) for n, p in self.searched.items() if p.search}
        shared = [axis for axis in axes.values() if axis.shared]
        own = [axis for axis in axes.values() if not axis.shared]
        return (*shared, Axis("rounds", rounds_up_to(self.most_rounds), between=False), *own)

    def run(self, values: Values) -> Algorithm:
        """The algorithm with these values, without its noise."""
        run = self.kind()
        for name, parameter in self.kind.without_noise().items():
            multiple = values.get(name, parameter.default if parameter.search is None else None)
            if multiple is not None:
                setattr(run, name, parameter.value(run, self.scales, multiple))
        return run

    @property
    def cohort(self) -> Cohort:
        """How clients are drawn."""
        drawn = self.draws()
        if drawn.scheme in ("fixed", "with-replacement") and drawn.size != int(drawn.size or 0):
            raise InputError(f"`cohort` is {drawn.size:g}: {self.name} needs a whole number of clients in a round")
        return drawn

    def setting(self, rounds: int) -> Setting:
        """Where a run of this many rounds takes place."""
        drawn = self.cohort
        size = None if drawn.scheme == "full" else drawn.size
        return Setting(self.problem.n, size, drawn.scheme, self.relation, self.budget.view, rounds)

    def iterations(self, values: Values) -> int:
        """The number of simulated rounds of a run."""
        return round(values["rounds"] / self.run(values).communications())

    def mechanism(self, values: Values) -> Mechanism:
        """The releases of a run with these values, with a free noise multiplier."""
        releases = self.run(values).releases(self.setting(self.iterations(values)))
        found: Mechanism = get(self.name if self.kind.is_reference else RECORDS)(**releases)
        return found

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        """The algorithm's own hyper-parameters, including the noise."""
        run = self.run({name: values[name] for name in self.searched})
        own = {p.symbol: getattr(run, name) for name, p in self.searched.items()}
        bound = getattr(run, "threshold", None)
        noise = self.mechanism(values).with_(noise_multiplier=noise_multiplier).sigma(1.0 if bound is None else bound)
        multiplier = {} if self.noise in noise else {self.noise: noise_multiplier}
        return {**own, self.kind.rounds: self.iterations(values), **multiplier, **noise}

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        """The axis values of these hyper-parameters, which may be outside the ranges of the axes."""
        run, found = self.kind(), {}
        for name, parameter in self.searched.items():
            value = hyperparameters[parameter.symbol]
            setattr(run, name, value)
            found[name] = parameter.multiple(run, self.scales, value)
        return {**found, "rounds": hyperparameters[self.kind.rounds] * run.communications()}

    def configured(self, replicates: Mapping[str, Any]) -> Algorithm:
        """The algorithm with these hyper-parameters; those that replicates share are numbers."""
        return self.kind.from_symbols(replicates)

    def algorithm(self, replicates: Mapping[str, Any]) -> Simulation:
        """The simulation with hyper-parameters by replicate; shared ones are numbers."""
        return Simulation(self.configured(replicates).under(self.setting(1)), self.cohort)

    def values(self, point: Sequence[float] | Array) -> dict[str, float]:
        """The values at a point."""
        return {axis.name: axis.at(u) for axis, u in zip(self.axes, point, strict=True)}

    def point(self, values: Values) -> Array:
        """The point of these values, or of the nearest allowed ones."""
        return np.array([axis.where(values[axis.name]) for axis in self.axes])

    def multiplier(self, values: Values) -> float:
        """The least certified noise multiplier for the budget."""
        return least_multiplier(self.mechanism(values), self.budget.epsilon, self.budget.delta)

    def spent(self, values: Values, noise_multiplier: float) -> CertifiedInterval:
        """The limits of the epsilon of a run with this noise multiplier, at the budget's delta."""
        return epsilon_spent(self.mechanism(values).with_(noise_multiplier=noise_multiplier), self.budget.delta)

    def certified(self, values: Values) -> dict[str, float]:
        """The hyper-parameters with the least certified noise for the budget."""
        return self.hyperparameters(values, self.multiplier(values))


@cache
def least_multiplier(run: Mechanism, epsilon: float, delta: float) -> float:
    """The least certified noise multiplier for (epsilon, delta)."""
    return calibrate(run, epsilon=epsilon, delta=delta)


class RecordLevel(Tuned):
    """A record-level algorithm: K local steps on a share s of the records, and the requirements on their noise.

    Noise over share only falls as the share grows, and computation is not in the budget. So several steps are taken on
    all records.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        if not isinstance(problem, LinearModel):
            raise no_records(problem, self.name)
        if budget.cohort is not None and budget.cohort < 1:
            raise InputError(f"`cohort` is {budget.cohort:g}: {self.name} needs a client in each round")
        self.sizes = np.sort(np.diff(problem.data.offsets))
        super().__init__(problem, budget)

    @property
    def users(self) -> int:
        """floor(lM), the clients in a round."""
        size = self.budget.cohort
        return self.problem.n if size is None or not self.samplings else min(self.problem.n, math.floor(size))

    @property
    def cohort(self) -> Cohort:
        return Cohort() if self.users == self.problem.n else Cohort(self.draws().scheme, self.users)

    @property
    def noise_of_others(self) -> bool:
        """Whether the other clients' noise counts for one local step, for a third party."""
        return self.vectors == 1

    def local_steps(self, values: Values) -> int:
        """K."""
        return int(self.run(values).local_steps)  # type: ignore[attr-defined]

    def run(self, values: Values) -> Algorithm:
        run = super().run(values)
        run.share = values.get("share", 1.0)  # type: ignore[attr-defined]
        return run

    def free(self) -> Sequence[Axis]:
        fewest = int(self.sizes[0])

        def whole(axis: Axis) -> Axis:
            counts = sorted({max(1, round(share * fewest)) for share in axis.values})
            return Axis(axis.name, tuple(count / fewest for count in counts), between=False, shared=True)

        return tuple(whole(axis) if axis.name == "share" else axis for axis in super().free())

    def setting(self, rounds: int) -> Setting:
        """Clients with R records each; `_alike` converts the noise multiplier for clients of different sizes."""
        # If only one record of one client is sent, noise by a client's size would reveal the client.
        alone = self.users == 1 and self.sizes[0] < self.sizes[-1]
        found = replace(super().setting(rounds), records=int(self.sizes[0]))
        return replace(found, view="server") if alone else found

    def _hidden(self, values: Values) -> bool:
        return self.noise_of_others and self.budget.view == "third-party" and self.local_steps(values) == 1

    def _alike(self, values: Values) -> float:
        """The ratio of sigma_g to the noise multiplier of clients that all have R records.

        Others' noise has variance (R/R_j)^2 in units of the smallest client's, and a cohort may consist of the largest.
        """
        if not self._hidden(values):
            return 1.0
        others = self.sizes[1:][::-1][: self.users - 1]
        return math.sqrt(self.users / (1.0 + float(np.sum((self.sizes[0] / others) ** 2))))

    def multiplier(self, values: Values) -> float:
        if self.users < self.problem.n:
            return super().multiplier(values)
        # With all clients in every round a record is in this many local steps: one calibration serves all algorithms.
        run, steps = self.run(values), self.iterations(values) * self.local_steps(values)
        run.local_steps = 1  # type: ignore[attr-defined]
        one = Setting(1, None, "full", self.relation, "server", steps, int(self.sizes[0]))
        found = least_multiplier(get(RECORDS)(**run.releases(one)), self.budget.epsilon, self.budget.delta)
        return found / math.sqrt(self.users) if self._hidden(values) else found

    def spent(self, values: Values, noise_multiplier: float) -> CertifiedInterval:
        found = super().spent(values, noise_multiplier)
        if self.users < self.problem.n and self.sizes[0] < self.sizes[-1]:
            return CertifiedInterval(
                0.0, found.estimate, found.high
            )  # the mechanism's attacks are on clients of equal size
        return found

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        run: Any = self.run(values)
        own = {p.symbol: getattr(run, name) for name, p in self.searched.items()}
        own |= {"K": self.local_steps(values), "s": run.share, "rounds": int(values["rounds"])}
        return {**own, "sigma_g": noise_multiplier * self._alike(values), **_warm(values)}

    def placed(self, hyperparameters: Values) -> dict[str, float]:
        share = hyperparameters["s"]
        found = {**super().placed(hyperparameters), **_warm(hyperparameters)}
        return found if share == 1.0 and "share" not in self.searched else {**found, "share": share}

    def configured(self, replicates: Mapping[str, Any]) -> Algorithm:
        run = super().configured(replicates)
        run.warm_start = int(replicates.get("warm_start", 0))  # type: ignore[attr-defined]
        return run


def _warm(given: Values) -> dict[str, float]:
    """The first rounds, which only set control variates, if a rule needs any: they release as much as others."""
    return {name: value for name, value in given.items() if name == "warm_start"}


def tuned() -> dict[str, type[Tuned]]:
    """The private algorithms whose hyper-parameters a search can choose, which have a mechanism, by name.

    >>> "dp-fedavg" in tuned()
    True
    """
    return {name: space(one) for name, one in algorithms().items() if one.protects and one.mechanism}  # type: ignore[arg-type]


def _restored(algorithm: str, problem: Problem, budget: Budget) -> Tuned:
    """A search space that was sent to another process."""
    return space(from_handle(algorithm))(problem, budget)  # type: ignore[arg-type]


@cache
def space(kind: Any) -> type[Tuned]:
    """The search space of an algorithm."""
    threshold = kind.parameters.get("threshold")
    described = {
        n: getattr(kind, n) for n in ("name", "title", "source", "protects", "relations", "samplings", "vectors")
    }
    if kind.protects == "record":  # all of these are compared under one relation
        described["relations"] = tuple(sorted(kind.relations, key=lambda one: one != "replace"))
    described["__reduce__"] = lambda self: (_restored, (handle(kind), self.problem, self.budget))
    described |= {"__doc__": kind.__doc__, "kind": kind, "noise": kind.parameters[kind.noise_parameter()].symbol}
    described["threshold"] = threshold.symbol if threshold is not None and kind.clips else None
    noisy_steps = kind.protects == "record" and not kind.lots
    return type(kind.__name__, (RecordLevel if noisy_steps else Tuned,), described)
