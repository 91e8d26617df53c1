"""Runs of DP-SCAFFOLD-warm and DP-FedAvg on objectives whose gradients the threshold never clips.

The warm start is one round by all users; the streamed mean over T + 1 rounds counts x^0 twice, which the left sides of
Lemmas C.8 and C.9 correct, so that they are the mean over x^0, ..., x^{T-1}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Experiment, Statement, Symbol
from dpfl_theory.problems import make
from dpfl_theory.statements import experiments
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._instances import TABLE
from dpfl_theory.statements.noble2022._instances import points_of as points_of
from dpfl_theory.statements.noble2022._instances import run_of as run_of
from dpfl_theory.statements.noble2022._step_size import limit

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

Step = Callable[[Mapping[str, float]], float]
"""eta~ by the values of the symbols."""
EXCESS = noble.expected(
    "excess",
    "suboptimality",
    r"\frac{1}{T+1}\sum_k \mathbb{E}(F(w_k) - F^*)",
    "mean excess over the warm round and the $T$ rounds",
)
SLOPE = noble.expected(
    "slope",
    "gradient-norm-squared",
    r"\frac{1}{T+1}\sum_k \mathbb{E}\|\nabla F(w_k)\|^2",
    "mean squared gradient over the warm round and the $T$ rounds",
)
NO_RECORDS = {"just outside sR >= 1": "Lemma C.1 has it, for one local step"}
"""A reason to leave out the runs just outside this hypothesis."""
SLOPE0 = Symbol("slope0", r"$\|\nabla F(x^0)\|^2$", (2, -2), "nonnegative", r"\|\nabla F(x^0)\|^2")


def without_warm_round(s: Mapping[str, Any], mean: str, start: str) -> dict[str, Any]:
    """The mean over x^0, ..., x^{T-1}, from that over T + 1 rounds, the first of which stays at x^0."""
    return {"rounds": (1 + 1 / s["T"]) * s[mean], "warm round": -s[start] / s["T"]}


def points(
    clients: int,
    spread: float = 0.0,
    records: int = 1,
    record_spread: float = 0.0,
    threshold: float = 1.5,
    ridge: float = 0.0,
) -> Problem:
    """Huber losses of w - y on the line, nu = 1 + ridge: users at +spread and -spread in turn, their records at
    +record_spread and -record_spread around them.

    >>> points(2, spread=0.5).constants.G_record
    1.5
    """
    import numpy as np

    from dpfl_theory.problems.data import Dataset
    from dpfl_theory.problems.huber import from_data

    users = np.repeat(spread * (-1.0) ** np.arange(clients), records)
    y = users + record_spread * (-1.0) ** np.tile(np.arange(records), clients)
    own = list(np.arange(clients * records).reshape(clients, records))
    return from_data(Dataset("points", np.ones((len(y), 1)), y, 1), own, threshold, ridge, "huber points")


def _axes(clients: int, dimension: int) -> Problem:
    """User i's Huber loss of coordinate i modulo the dimension."""
    import numpy as np

    return make(
        "huber-planes", rows=np.eye(dimension)[np.arange(clients) % dimension].tolist(), thresholds=[1.5] * clients
    )


FAMILIES = {"points": points, "axes": _axes}


def record_deviation(described: Mapping[str, Any], problem: Problem) -> float:
    """A bound on varsigma: of `points` the records' spread, since Huber gradients move no further apart than their
    records; elsewhere the root of a second moment."""
    import numpy as np

    if described["family"] == "points":
        return float(described["parameters"].get("record_spread", 0.0))
    single = int(np.diff(problem.data.offsets).max()) == 1  # type: ignore[attr-defined]
    return 0.0 if single else problem.constants.G_record


def dissimilarity(problem: Problem) -> float:
    """G of Assumption 4 with B = 1: the largest root of the variance over the users of their gradients.

    On the line these are piecewise linear. So their variance is convex between the points at which a loss turns linear,
    and largest at one of them. Elsewhere the largest length of a gradient serves.
    """
    import numpy as np

    data: Any = problem.data  # type: ignore[attr-defined]
    if problem.d > 1 or data.loss != "huber":
        return problem.constants.G_max
    x, width = data.x[:, 0], data.threshold
    turns = np.concatenate([(data.y - width) / x, (data.y + width) / x])
    at = np.unique(np.concatenate([turns, [turns.min() - 1.0, turns.max() + 1.0]]))
    gradients = np.array([[problem.client_gradient(i, np.array([w]))[0] for i in range(problem.n)] for w in at])
    return float(gradients.std(axis=1).max())


def experiment(instance: Mapping[str, Any], best: Callable[[Mapping[str, float]], float] | None = None) -> Experiment:
    """best: eta~ from the symbols' values, at most the limit; None for the instance's share of the limit."""
    import numpy as np

    from dpfl_theory.algorithms.record_level import DPScaffold
    from dpfl_theory.algorithms.scaffold import all_users
    from dpfl_theory.simulation import Cohort, Simulation
    from dpfl_theory.simulation.observables import Reach

    problem = experiments.problem_of(instance, FAMILIES)
    constants, start = problem.constants, experiments.start_of(problem, instance, 7)
    records = int(np.diff(problem.data.offsets)[0])  # type: ignore[attr-defined]
    size, K, T = int(instance["size"]), int(instance["K"]), int(instance["T"])
    share, threshold = size / problem.n, min(constants.G_record, instance.get("clip", math.inf))
    eta_g = math.sqrt(size) if instance["eta_g"] is None else float(instance["eta_g"])
    drawn = instance["share"] * records
    gradient = np.mean([problem.client_gradient(i, start) for i in range(problem.n)], axis=0)
    values: dict[str, float] = {
        "nu": constants.L_max,
        "M": float(problem.n),
        "l": share,
        "K": float(K),
        "T": float(T),
        "R": float(records),
        "s": float(instance["share"]),
        "varsigma": record_deviation(instance["problem"], problem),
        "Sigma": 2 * threshold * math.sqrt(2 * problem.d) * instance["sigma"] / drawn,
        "D0": float(instance["distance"]),
        "F0": max(problem.value(start) - constants.f_star, 0.0),
        "slope0": float(gradient @ gradient),
        "eta_g": eta_g,
    }
    values["eta"] = instance["step"] * limit(values)
    if best is not None:
        values["eta"] = min(values["eta"], best(values))
    local_step = values["eta"] / (K * eta_g)
    steps = DPScaffold(eta_l=local_step, eta_g=eta_g, K=K, C=threshold, s=instance["share"], sigma_g=instance["sigma"])
    warm = steps.replaced(warm_members=all_users).with_values(warm_start=1)
    algorithm = Simulation(warm, Cohort("fixed", size) if size < problem.n else Cohort())
    return Experiment(
        problem, algorithm, T + 1, start, values, replicates=instance["replicates"], reach=Reach.anywhere(problem)
    )


def as_fedavg(found: Experiment, eta_l: float) -> Experiment:
    """The run with DP-FedAvg in place of DP-SCAFFOLD-warm: its own step size, and no warm round."""
    from dpfl_theory.algorithms.record_level import RecordLevelFedAvg
    from dpfl_theory.simulation import Simulation

    known: Any = found.algorithm
    own = {name: getattr(known.run, name) for name in RecordLevelFedAvg.parameters}
    run = RecordLevelFedAvg(**{**own, "local_step": eta_l})
    return replace(found, algorithm=Simulation(run, known.cohort), rounds=found.rounds - 1)


def chosen_values(found: Experiment, statement: Statement, **more: float) -> Experiment:
    """The run with only the values of this statement's symbols, also those given in ``more``."""
    names = {symbol.name for symbol in statement.symbols}
    return replace(found, values={name: v for name, v in {**found.values, **more}.items() if name in names})


def claimed(found: Experiment, instance: Mapping[str, Any]) -> Experiment:
    """The run with restated constants of the problem: ``constants`` of the instance has their factors."""
    factors = instance.get("constants", {})
    return replace(found, values={**found.values, **{name: found.values[name] * f for name, f in factors.items()}})


def runs(best: Step | None = None) -> Runs:
    """The runs at the longest steps, or at those of ``best`` where they are shorter."""
    return Runs(
        TABLE, lambda statement, instance: claimed(chosen_values(experiment(instance, best), statement), instance)
    )


def longest(values: Mapping[str, float], method: str = "scaffold") -> float:
    """eta~ of Theorems C.1 and C.2 as printed, B = 1."""
    return limit(values) if method == "scaffold" else 1 / (16 * values["nu"])


def averaged(step: Step = lambda _: math.inf, method: str = "scaffold", edges: bool = True, **constants: float) -> Runs:
    """Runs whose server shows the mean with weights (1 - mu eta~/2)^{-t}: of x^0, ..., x^{T-1} for DP-SCAFFOLD-warm,
    whose first round stays at x^0, of x^1, ..., x^T for DP-FedAvg.

    step: a shorter one than the longest; constants: more values of symbols.
    """

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        from dpfl_theory.simulation.average import WeightedAverage

        found = experiment(instance)
        mu = instance["problem"]["parameters"].get("ridge", 0.0)
        more = {"mu": mu, **constants}
        if method == "fedavg":
            more |= {"G": dissimilarity(found.problem), "B": 1.0}
        v = {**found.values, **more}
        eta = min(step(v), longest(v, method))
        eta_l = eta / (v["K"] * v["eta_g"])
        known: Any = found.algorithm
        run = known.with_values(local_step=eta_l) if method == "scaffold" else as_fedavg(found, eta_l).algorithm
        weighted = replace(found, algorithm=WeightedAverage(run, 1 - mu * eta / 2), rounds=int(v["T"]))
        return claimed(chosen_values(weighted, statement, **more, eta_l=eta_l), instance)

    return Runs(TABLE, build, edges=edges)
