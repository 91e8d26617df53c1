"""Runs of DP-SCAFFOLD-warm and DP-FedAvg on objectives whose gradients the threshold never clips.

The warm start is one round by all users; the streamed mean over T + 1 rounds counts x^0 twice, which the left sides of
Lemmas C.8 and C.9 correct, so that they are the mean over x^0, ..., x^{T-1}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpfl_theory.algorithms.record_level import DPScaffold, RecordLevelFedAvg
from dpfl_theory.algorithms.scaffold import Scaffold, all_users, lagging
from dpfl_theory.core import Experiment, Statement
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, symbols_of
from dpfl_theory.lazy import numpy as np
from dpfl_theory.problems import make
from dpfl_theory.statements import experiments
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.noble2022._instances import ROUND, TABLE
from dpfl_theory.statements.noble2022._step_size import limit

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Array, Problem

Step = Callable[[Mapping[str, float]], float]
"""eta~ by the values of the symbols."""
Known = Callable[[Mapping[str, float]], Mapping[str, float]]
"""By the symbols' values, the means that a run has of the quantities that a statement concerns (`Experiment.known`)."""
NO_RECORDS = {"just outside sR >= 1": "Lemma C.1 has it, for one local step"}
"""A reason to leave out the runs just outside this hypothesis."""


def one_user_has(hypothesis: str) -> dict[str, str]:
    """The same, where this hypothesis too has a check of another method."""
    return {**NO_RECORDS, f"just outside {hypothesis}": "one user has it"}


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
    from dpfl_theory.problems.data import Dataset
    from dpfl_theory.problems.linear_model import from_dataset

    users = np.repeat(spread * (-1.0) ** np.arange(clients), records)
    y = users + record_spread * (-1.0) ** np.tile(np.arange(records), clients)
    own = list(np.arange(clients * records).reshape(clients, records))
    found = Dataset("points", np.ones((len(y), 1)), y, 1)
    return from_dataset(found, own, "huber", threshold=threshold, ridge=ridge, name="huber points")


def _axes(clients: int, dimension: int) -> Problem:
    """User i's Huber loss of coordinate i modulo the dimension."""
    rows = [[float(j == i % dimension) for j in range(dimension)] for i in range(clients)]
    return make("huber-planes", rows=rows, thresholds=[1.5] * clients)


FAMILIES: Mapping[str, Callable[..., Problem]] = {"points": points, "axes": _axes}


def record_deviation(described: Mapping[str, Any], problem: Problem) -> float:
    """A bound on varsigma: of `points` the records' spread, since Huber gradients move no further apart than their
    records; elsewhere the root of a second moment."""
    if described["family"] == "points":
        return float(described["parameters"].get("record_spread", 0.0))
    single = int(np.diff(problem.data.offsets).max()) == 1  # type: ignore[attr-defined]
    return 0.0 if single else problem.constants.G_record


def dissimilarity(problem: Problem) -> float:
    """G of Assumption 4 with B = 1: the largest root of the variance over the users of their gradients.

    On the line these are piecewise linear. So their variance is convex between the points at which a loss turns linear,
    and largest at one of them. Elsewhere the largest length of a gradient serves.
    """
    data: Any = problem.data  # type: ignore[attr-defined]
    if problem.d > 1 or data.loss != "huber":
        return problem.constants.G_max
    x, width = data.x[:, 0], data.threshold
    turns = np.concatenate([(data.y - width) / x, (data.y + width) / x])
    at = np.unique(np.concatenate([turns, [turns.min() - 1.0, turns.max() + 1.0]]))
    gradients = np.array([[problem.client_gradient(i, np.array([w]))[0] for i in range(problem.n)] for w in at])
    return float(gradients.std(axis=1).max())


def _start(instance: Mapping[str, Any], problem: Problem) -> tuple[Array, dict[str, float]]:
    """The model before the run, and the values of the symbols that need no step size."""
    start = experiments.start_of(problem, instance, 7)
    slope = np.mean([problem.client_gradient(i, start) for i in range(problem.n)], axis=0)
    size, distance, gap = int(instance["size"]), instance["distance"], problem.value(start) - problem.constants.f_star
    eta_g, square = math.sqrt(size) if instance["eta_g"] is None else float(instance["eta_g"]), float(slope @ slope)
    sizes = {"M": float(problem.n), "l": size / problem.n, "K": float(instance["K"]), "eta_g": eta_g}
    given = {"D0": float(distance), "F0": max(gap, 0.0), "slope0": square, "distance": distance**2, "gap": gap}
    return start, {"nu": problem.constants.L_max, **sizes, **given, "slope": square}


def _by_records(problem: Problem, threshold: float, share: float, sigma: float) -> dict[str, float]:
    """R, s and Sigma."""
    records = int(np.diff(problem.data.offsets)[0])  # type: ignore[attr-defined]
    drawn = share * records
    return {"R": float(records), "s": share, "Sigma": 2 * threshold * math.sqrt(2 * problem.d) * sigma / drawn}


def _simulated(
    run: Any, values: Mapping[str, float], instance: Mapping[str, Any], gradient: Any = None, **parts: Any
) -> Any:
    """The algorithm at the step sizes of these values, DP-SCAFFOLD with a warm round by all users; parts: that are
    replaced."""
    from dpfl_theory.simulation import Cohort, FullGradient, Simulation

    K, size = int(instance["K"]), int(instance["size"])
    run = run.with_values(local_step=values["eta_l"], global_step=values["eta_g"], local_steps=K)
    if isinstance(run, Scaffold):
        run = run.with_values(warm_start=1).replaced(warm_members=all_users, **parts)
    cohort = Cohort("fixed", size) if size < values["M"] else Cohort()
    return Simulation(run, cohort, gradient or FullGradient())


def _prescribed(statement: Statement, name: str, values: Mapping[str, float], otherwise: float) -> float:
    """``sigma_g``, or ``eta``, that is eta~, as the statement prescribes it; another number where it does not."""
    found = {} if statement.prescription is None else dict(prescription_of(statement))
    if "eta_l" in found:
        found["eta"] = found["eta_l"] * found["eta_g"] * symbols_of(statement)["K"]
    return float(evaluate(found[name], values, statement.id)) if name in found else otherwise


def run(
    statement: Statement,
    instance: Mapping[str, Any],
    method: str = "scaffold",
    average: str = "",
    steps_of: Statement | None = None,
    **known: float,
) -> Experiment:
    """A run at the steps, and the noise, that the statement prescribes, or those of the instance. The steps are
    ``longer`` times as long if the instance says so, and at most its share of the longest ones.

    method: ``scaffold``, or ``fedavg``, with B = 1 and G from the users' gradients; average: the server shows the mean
    with weights (1 - mu eta~/2)^{-t}, ``before`` of x^0, ..., x^{T-1} and ``after`` of x^1, ..., x^T (DP-SCAFFOLD-warm:
    of the former, since its first round stays at x^0); steps_of: another statement that prescribes them; known: values
    of more symbols. ``constants`` of the instance has factors of symbols, whose values are then not those of the run.
    """
    from dpfl_theory.simulation.average import WeightedAverage
    from dpfl_theory.simulation.observables import Reach

    problem = experiments.problem_of(instance, FAMILIES)
    start, v = _start(instance, problem)
    threshold, T = min(problem.constants.G_record, instance.get("clip", math.inf)), int(instance["T"])
    v |= {"T": float(T), "s": instance["share"], "C": threshold, "d": float(problem.d), **known}
    v["sigma_g"] = _prescribed(statement, "sigma_g", v, instance["sigma"])
    v |= _by_records(problem, threshold, instance["share"], v["sigma_g"])
    v["varsigma"] = record_deviation(instance["problem"], problem)
    v["mu"] = instance["problem"]["parameters"].get("ridge", 0.0)
    if method == "fedavg":
        v |= {"G": dissimilarity(problem), "B": 1.0}
    longest = instance["step"] * limit(v) if method == "scaffold" else 1 / (16 * v["nu"])
    v["eta"] = min(longest, instance.get("longer", 1.0) * _prescribed(steps_of or statement, "eta", v, math.inf))
    v["eta_l"] = v["eta"] / (v["K"] * v["eta_g"])
    kind = {"scaffold": DPScaffold, "fedavg": RecordLevelFedAvg}[method]
    described = kind(C=threshold, s=instance["share"], sigma_g=v["sigma_g"])
    algorithm, rounds = _simulated(described, v, instance), T + (method == "scaffold")
    if average:
        with_start = method == "fedavg" and average == "before"
        algorithm = WeightedAverage(algorithm, 1 - v["mu"] * v["eta"] / 2, with_start)
        rounds = T - with_start
    v |= {name: v[name] * factor for name, factor in instance.get("constants", {}).items()}
    reach = Reach.anywhere(problem)
    return Experiment(problem, algorithm, rounds, start, _own(v, statement), instance["replicates"], reach)


def _own(values: Mapping[str, float], statement: Statement) -> dict[str, float]:
    """Those of this statement's symbols."""
    return {s.name: values[s.name] for s in statement.symbols if s.name in values}


def runs(method: str = "scaffold", average: str = "", edges: bool = True, **known: Any) -> Runs:
    """The runs of a statement."""
    return Runs(TABLE, partial(run, method=method, average=average, **known), edges=edges)


def one_round(limit: Step, label: str = "one round", known: Known = lambda _: {}) -> Runs:
    """Runs of one round. Round 0 sets the control variates at points that lag behind x^{t-1}; the round that follows
    starts from a given x^{t-1}, so that its distance, gap, slope and lag before are numbers.

    limit: the largest eta~ nu; known: the known means of a run on all records.
    """

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        found = round_experiment(instance, limit, known)
        return replace(found, values=_own(found.values, statement))

    return Runs(ROUND, build, label=f"{label}, ")


def round_experiment(instance: Mapping[str, Any], limit: Step, known: Known = lambda _: {}) -> Experiment:
    """A run of one round, with the values of all symbols."""
    from dpfl_theory.simulation import NoisyGradient
    from dpfl_theory.simulation.observables import Reach

    problem, noise, share = experiments.problem_of(instance), instance["noise"], instance["share"]
    start, values = _start(instance, problem)
    offsets = np.random.default_rng(7).standard_normal((1 + problem.n, problem.d))[1:]
    offsets *= instance["lag"] / np.linalg.norm(offsets, axis=1, keepdims=True)
    values |= {"mu": problem.constants.mu_min, "lag": instance["lag"] ** 2, "n": values["K"]}
    values["alpha"] = float(instance.get("alpha", 2 / 3))
    if instance["problem"]["family"] == "quadratic":
        gradient, run, length = NoisyGradient(noise), Scaffold(), math.sqrt(problem.d) * noise
        values |= {"R": 1.0, "s": 1.0, "varsigma": length, "Sigma": 1e-12}
        if instance["private"]:
            values |= {"varsigma": 0.0, "Sigma": math.sqrt(2) * length}
    else:
        C = problem.constants.G_record
        gradient, run = None, DPScaffold(C=C, s=share, sigma_g=noise)
        values |= _by_records(problem, C, share, noise)
        values["varsigma"] = C if share < 1 else 0.0  # no more than a second moment
    values["sigma_A"] = math.sqrt(values["varsigma"] ** 2 / (values["s"] * values["R"]) + values["Sigma"] ** 2)
    values["eta"] = instance["step"] * limit(values) / values["nu"]
    values["eta_l"] = values["eta"] / (int(instance["K"]) * values["eta_g"])
    algorithm = _simulated(run, values, instance, gradient, warm_points=lagging(offsets.tolist()))
    claimed = {name: values[name] * factor for name, factor in instance.get("claimed", {}).items()}
    means, replicates = known(values) if share == 1 else {}, int(instance["replicates"])
    values |= claimed
    return Experiment(problem, algorithm, 2, start, values, replicates, Reach.anywhere(problem), known=means)
