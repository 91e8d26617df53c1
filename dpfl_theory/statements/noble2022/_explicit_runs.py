"""DP-SCAFFOLD-warm as Lemmas C.8 and C.9 have it, run on objectives whose gradients the threshold never clips.

The warm start is one round by all users; the streamed mean over T + 1 rounds counts x^0 twice, which the left sides
correct, so that they are the mean over x^0, ..., x^{T-1}.

The runs are long enough, or noisy enough, that three faulty algorithms would exceed the bounds: one that does not move,
one that forgets the global step, and one whose noise the users do not average.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Check, Expected, Experiment, Hypothesis, Statement, Symbol, checks
from dpfl_theory.statements.noble2022._step_limit import limit

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = [
    "APART",
    "AWAY",
    "EXCESS",
    "ONE",
    "SHORT",
    "SLOPE",
    "SLOPE0",
    "as_fedavg",
    "chosen_values",
    "claimed",
    "dissimilarity",
    "experiment",
    "outside",
    "points",
    "points_of",
    "problem_of",
    "run",
    "run_of",
    "runs",
    "without_warm_round",
]

EXCESS = Expected(
    "excess",
    (("suboptimality", 1),),
    (1, 0),
    r"\frac{1}{T+1}\sum_k \mathbb{E}(F(w_k) - F^*)",
    "mean excess over the warm round and the $T$ rounds",
)
SLOPE = Expected(
    "slope",
    (("gradient-norm-squared", 1),),
    (2, -2),
    r"\frac{1}{T+1}\sum_k \mathbb{E}\|\nabla F(w_k)\|^2",
    "mean squared gradient over the warm round and the $T$ rounds",
)
AWAY = Hypothesis(lambda s: s.F0 > 0, "$x^0$ is not a minimiser of $F$")
APART = Hypothesis(lambda s: s.D0 > 0, "$D_0 > 0$")
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
    from dpfl_theory.problems.linear_model import from_dataset

    users = np.repeat(spread * (-1.0) ** np.arange(clients), records)
    y = users + record_spread * (-1.0) ** np.tile(np.arange(records), clients)
    own = list(np.arange(clients * records).reshape(clients, records))
    found = Dataset("points", np.ones((len(y), 1)), y, 1)
    return from_dataset(found, own, "huber", threshold=threshold, ridge=ridge, name="huber points")


def problem_of(described: Mapping[str, Any]) -> Problem:
    """A problem of the catalogue, `points`, or ``axes``: user i's Huber loss of coordinate i modulo the dimension."""
    import numpy as np

    from dpfl_theory.problems import make

    family, parameters = described["family"], described["parameters"]
    if family == "points":
        return points(**parameters)
    if family == "axes":
        n, d = int(parameters["clients"]), int(parameters["dimension"])
        return make("huber-planes", rows=np.eye(d)[np.arange(n) % d].tolist(), thresholds=[1.5] * n)
    return make(family, **parameters)


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


def run_of(problem: Mapping[str, Any], size: int, K: int, T: int, sigma: float, **more: Any) -> dict[str, Any]:
    """share: s; distance: of x^0 from a minimiser; step: eta~ over its limit; eta_g: None for sqrt(lM); clip: C where
    the gradients have no bound (far above those of the run, so that it never acts), else their bound."""
    common = {"share": 1.0, "distance": 1.0, "step": 1.0, "eta_g": None, "replicates": 64}
    return {"problem": problem, "size": size, "K": K, "T": T, "sigma": sigma, **common, **more}


def points_of(clients: int, **more: Any) -> dict[str, Any]:
    """The description of `points`."""
    return {"family": "points", "parameters": {"clients": clients, **more}}


RUNS: dict[str, dict[str, Any]] = {
    "256 users, long": run_of(points_of(256, spread=0.3), 256, 1, 400, 0.003, replicates=24),
    "300 users, noise dominates": run_of(points_of(300), 300, 10, 40, 0.5, distance=0.05, replicates=24),
    "half of the records": run_of(points_of(4, spread=0.3, records=2, record_spread=0.1), 4, 2, 600, 0.001, share=0.5),
    "one of eight users": run_of(points_of(8, spread=0.5), 1, 2, 1000, 0.002, eta_g=1.0),
    "three dimensions": run_of(
        {"family": "axes", "parameters": {"clients": 24, "dimension": 3}}, 12, 2, 1000, 0.002, replicates=32
    ),
    "four users, a step below the limit": run_of(points_of(4), 4, 1, 1200, 0.2),
    "100 users, from the minimiser": run_of(points_of(100), 100, 10, 50, 0.5, distance=0.0, replicates=24),
}
SHORT = ("256 users, long", "300 users, noise dominates", "three dimensions")
"""Runs that together detect every planted fault."""


def start_of(problem: Problem, distance: float) -> Any:
    """A point at this distance from the minimiser in a fixed direction."""
    import numpy as np

    assert problem.constants.w_star is not None
    direction = np.random.default_rng(7).standard_normal(problem.d)
    return problem.constants.w_star + distance * direction / np.linalg.norm(direction)


def experiment(instance: Mapping[str, Any], best: Callable[[Mapping[str, float]], float] | None = None) -> Experiment:
    """best: eta~ from the symbols' values, at most the limit; None for the instance's share of the limit."""
    import numpy as np

    from dpfl_theory.algorithms.record_level import DPScaffold
    from dpfl_theory.algorithms.scaffold import all_users
    from dpfl_theory.simulation import Cohort, Simulation
    from dpfl_theory.simulation.observables import Reach

    problem = problem_of(instance["problem"])
    constants, start = problem.constants, start_of(problem, instance["distance"])
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


def runs(
    best: Callable[[Mapping[str, float]], float] | None = None,
    names: tuple[str, ...] = tuple(RUNS),
    beyond: tuple[str, ...] = (),
) -> tuple[Check, ...]:
    """The Monte-Carlo checks, with the values of the checked statement's symbols; beyond: the constants, other than nu,
    that are restated just outside the hypotheses."""
    chosen = {n: RUNS[n] for n in names if best is None or RUNS[n]["distance"]}
    edges = () if best is None else outside(run(best), RUNS[_SHORTEST], "nu", *beyond)
    return checks("monte-carlo", run(best), chosen) + edges


def run(
    best: Callable[[Mapping[str, float]], float] | None = None,
) -> Callable[[Statement, Mapping[str, Any]], Experiment]:
    """The function that builds a run with the values of the checked statement's symbols."""
    return lambda statement, instance: claimed(chosen_values(experiment(instance, best), statement), instance)


def claimed(found: Experiment, instance: Mapping[str, Any]) -> Experiment:
    """The run with restated constants of the problem: ``constants`` of the instance has their factors."""
    factors = instance.get("constants", {})
    return replace(found, values={**found.values, **{name: found.values[name] * f for name, f in factors.items()}})


def outside(
    build: Callable[[Statement, Mapping[str, Any]], Experiment], run: Mapping[str, Any], *names: str
) -> tuple[Check, ...]:
    """Runs that are not simulated, since a constant of the problem is a hundredth beyond what is claimed; the other
    runs lie on the edge itself."""
    chosen = {f"just outside {_EDGES[name][0]}": {**run, "constants": {name: _EDGES[name][1]}} for name in names}
    return checks("monte-carlo", build, chosen, "not-applicable")


_SHORTEST = "four users, a step below the limit"
_EDGES = {
    "nu": ("nu-smooth F_i", 0.99),
    "mu": ("mu-strongly convex F_i", 1.01),
    "G": ("dissimilarity (G, B)", 0.99),
    "C": ("gradients of at most C", 0.99),
    "l": ("lM >= 1", 0.98),
    "s": ("sR >= 1", 0.98),
    "T": ("T >= 1", 0.0),
    "D0": ("D_0 > 0", 0.0),
    "F0": ("F(x^0) > F(x*)", 0.0),
}
"""The claimed value of a constant, as a share of its value."""
ONE = "one of eight users"
"""The run with one user and one record in a step."""
