"""The search space of a described algorithm: its axes, hyper-parameters and releases follow from its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dpfl_theory.core.algorithm import Algorithm, Setting
from dpfl_theory.core.parameter import Parameter
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import Mechanism, get
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.tuned.base import Axis, Budget, Tuned, Values, rounds_up_to
from dpfl_theory.simulation.batched import Simulation
from dpfl_theory.simulation.cohort import Cohort

__all__ = ["Described"]


class Described(Tuned):
    """A described algorithm on a problem, within a budget. An axis has the name of the parameter's attribute."""

    kind: ClassVar[type[Algorithm]]

    def __init__(self, problem: Problem, budget: Budget) -> None:
        super().__init__(problem, budget)
        self.certifiable()

    @property
    def searched(self) -> dict[str, Parameter]:
        """The parameters that have axes, by attribute."""
        return {name: p for name, p in self.kind.without_noise().items() if p.search is not None}

    def free(self) -> Sequence[Axis]:
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
        return round(values["rounds"] / self.run(values).communications())

    def mechanism(self, values: Values) -> Mechanism:
        found: Mechanism = get(self.name)(**self.run(values).releases(self.setting(self.iterations(values))))
        return found

    def hyperparameters(self, values: Values, noise_multiplier: float) -> dict[str, float]:
        run = self.run({name: values[name] for name in self.searched})
        own = {p.symbol: getattr(run, name) for name, p in self.searched.items()}
        bound = getattr(run, "threshold", None)
        noise = self.mechanism(values).with_(noise_multiplier=noise_multiplier).sigma(1.0 if bound is None else bound)
        return {**own, self.kind.rounds: self.iterations(values), **noise}

    def placed(self, hyperparameters: Values) -> dict[str, float]:
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
        return Simulation(self.configured(replicates).under(self.setting(1)), self.cohort)
