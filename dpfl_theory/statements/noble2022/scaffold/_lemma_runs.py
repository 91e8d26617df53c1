"""Monte-Carlo runs of one round of DP-SCAFFOLD for the lemmas of Appendix C, and what they observe.

Round 0 sets the control variates at points that lag behind x^{t-1}; the round that follows starts from a given x^{t-1},
so that its distance, gap, slope and lag before are numbers. Only its results are expectations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.core import Check, Expected, Experiment, Statement
from dpfl_theory.core import checks as checks_of
from dpfl_theory.problems import make
from dpfl_theory.statements.noble2022 import _utility as noble

__all__ = [
    "CORNERS",
    "EXPECTED",
    "NOTE",
    "OUTSIDE",
    "RUNS",
    "SAMPLES",
    "SUMS",
    "checks",
    "experiment",
    "outside",
    "symbols",
]

Known = Callable[[Mapping[str, float]], Mapping[str, float]]
"""By the symbols' values, the means that a run has of the quantities that a statement concerns (`Experiment.known`)."""

_ROUND = " of the round that is run"
NOTE = (
    "the simulated control variates are set at given lagged points, as earlier rounds might have left them, and one "
    "round follows"
)


def _expected(name: str, observable: str) -> Expected:
    """A symbol of the proof as an expectation after one round."""
    symbol = noble.SYMBOLS[name]
    return Expected(name, ((observable, 1),), symbol.unit, symbol.latex, symbol.meaning + _ROUND, "end")


EXPECTED = {
    "move": _expected("move", "scaffold-move"),
    "lag_after": _expected("lag_after", "scaffold-lag"),
    "drift": _expected("drift", "scaffold-drift"),
    "distance_after": _expected("distance_after", "distance-squared"),
}


def symbols(statement_symbols: tuple[Any, ...], *observed: str) -> dict[str, Any]:
    """Symbols and expectations of a statement of which some symbols are observed, for its constructor."""
    found = tuple(EXPECTED[name] for name in observed)
    names = {e.name for e in found}
    return {"symbols": tuple(s for s in statement_symbols if s.name not in names), "expectations": found}


def _quadratic(**parameters: Any) -> dict[str, Any]:
    return {"family": "quadratic", "parameters": {"clients": 4, "dimension": 3, "seed": 1, **parameters}}


def _huber(**parameters: Any) -> dict[str, Any]:
    return {"family": "huber", "parameters": {"clients": 4, "dimension": 3, "records": 5, "seed": 2, **parameters}}


def _run(problem: Mapping[str, Any], size: int, K: int, **more: Any) -> dict[str, Any]:
    """size: lM; distance: of x^{t-1} from x*; lag: length of the users' offsets; noise: standard deviation of a
    coordinate's error on quadratics, or sigma_g over records; share: s; step: eta~ nu over its limit; private: whether
    that error counts as privacy noise, whose second moment is half of Sigma_g^2; claimed: factors of symbols, whose
    values are then not those of the run."""
    common = {"distance": 1.0, "lag": 0.0, "noise": 1.0, "share": 0.2, "step": 1.0, "eta_g": None, "replicates": 2048}
    common["private"] = False
    return {"problem": problem, "size": size, "K": K, **common, **more}


RUNS: dict[str, dict[str, Any]] = {
    "one of four users, lagging, little noise": _run(_quadratic(), 1, 3, distance=0.3, lag=1.0, noise=0.02),
    "noise alone, two of four users": _run(_quadratic(heterogeneity=0.0), 2, 2, distance=0.0, noise=3.0),
    "far apart, all users": _run(_quadratic(heterogeneity=20.0), 4, 5, distance=2.0, noise=0.5, eta_g=1.0),
    "far apart, at the minimiser": _run(_quadratic(heterogeneity=20.0), 1, 5, distance=0.0, noise=0.1),
    "records sampled, privacy noise": _run(_huber(heterogeneity=3.0), 2, 3, distance=2.0, lag=0.5, noise=0.3),
}
CORNERS: dict[str, dict[str, Any]] = {
    "one of twelve users, 100 dimensions, 20 steps": _run(
        _quadratic(clients=12, dimension=100), 1, 20, lag=1.0, noise=0.02, replicates=64
    ),
    "two of 24 users, far apart": _run(
        _quadratic(clients=24, heterogeneity=20.0), 2, 2, lag=0.5, noise=0.1, replicates=512
    ),
}
"""For the sharpened forms, which imply the printed ones: many users, coordinates and steps."""

OUTSIDE: dict[str, dict[str, Any]] = {
    "just outside nu-smooth F_i": _run(_quadratic(), 1, 2, claimed={"nu": 0.99}),
    "2% of a user more than one of four": _run(_quadratic(), 1, 2, claimed={"l": 1.02}),
    "2% of a record more than one of five": _run(_huber(), 1, 2, claimed={"s": 1.02}),
}
"""Outside the hypotheses: Algorithm 1 rounds numbers of users and records down. They are not simulated."""


def outside(*symbols: str) -> dict[str, dict[str, Any]]:
    """Those of `OUTSIDE` that claim another value of one of these symbols."""
    return {name: run for name, run in OUTSIDE.items() if set(run["claimed"]) <= set(symbols)}


SAMPLES: dict[str, dict[str, Any]] = {
    "one record of five, little noise": _run(_huber(threshold=0.1), 4, 2, distance=20.0, noise=0.001),
    "two records of ten, privacy noise": _run(_huber(records=10), 4, 2, noise=1.0),
    "all records, 50 dimensions": _run(_huber(dimension=50, records=2), 4, 1, noise=0.5, share=1.0, replicates=512),
}
SUMS: dict[str, dict[str, Any]] = {
    "four steps, noise alone": _run(_quadratic(clients=1), 1, 4, distance=0.1, noise=3.0),
    "four steps, gradient and noise": _run(_quadratic(clients=1), 1, 4, distance=3.0, noise=1.0),
    "eight steps, Huber, records": _run(_huber(clients=1), 1, 8, distance=5.0, noise=0.05),
}


def experiment(
    instance: Mapping[str, Any], limit: Callable[[Mapping[str, float]], float], known: Known = lambda _: {}
) -> Experiment:
    """One round; limit: the largest eta~ nu by the symbols' values; known: the known means of a run on all records."""
    import numpy as np

    from dpfl_theory.algorithms.record_level import DPScaffold
    from dpfl_theory.algorithms.scaffold import Scaffold, all_users, lagging
    from dpfl_theory.simulation import Cohort, FullGradient, NoisyGradient, Simulation
    from dpfl_theory.simulation.observables import Reach

    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    constants, d, n = problem.constants, problem.d, problem.n
    draw = np.random.default_rng(7)
    away, offsets = draw.standard_normal(d), draw.standard_normal((n, d))
    assert constants.w_star is not None
    start = constants.w_star + instance["distance"] * away / np.linalg.norm(away)
    offsets *= instance["lag"] / np.linalg.norm(offsets, axis=1, keepdims=True)
    size, K = int(instance["size"]), int(instance["K"])
    eta_g = math.sqrt(size) if instance["eta_g"] is None else float(instance["eta_g"])
    slope = np.mean([problem.client_gradient(i, start) for i in range(n)], axis=0)
    values = {
        "nu": constants.L_max, "mu": constants.mu_min, "M": float(n), "K": float(K), "eta_g": eta_g,
        "l": size / n,
        "lag": instance["lag"] ** 2, "gap": problem.value(start) - constants.f_star, "slope": float(slope @ slope),
        "distance": instance["distance"] ** 2, "alpha": float(instance.get("alpha", 2 / 3)), "n": float(K),
    }  # fmt: skip
    if instance["problem"]["family"] == "quadratic":
        gradient: Any = NoisyGradient(instance["noise"])
        run: Any = Scaffold()
        length = math.sqrt(d) * instance["noise"]
        values |= {"R": 1.0, "s": 1.0, "varsigma": length, "Sigma": 1e-12}
        if instance["private"]:
            values |= {"varsigma": 0.0, "Sigma": math.sqrt(2) * length}
    else:
        records = int(np.diff(problem.data.offsets)[0])  # type: ignore[attr-defined]
        share, C = instance["share"], constants.G_record
        gradient, run = FullGradient(), DPScaffold(C=C, s=share, sigma_g=instance["noise"])
        values |= {"R": float(records), "s": share, "varsigma": C if share < 1 else 0.0}  # no more than a second moment
        values["Sigma"] = 2 * C * math.sqrt(2 * d) * instance["noise"] / (share * records)
    values["sigma_A"] = math.sqrt(values["varsigma"] ** 2 / (values["s"] * values["R"]) + values["Sigma"] ** 2)
    values["eta"] = instance["step"] * limit(values) / values["nu"]
    values["eta_l"] = values["eta"] / (K * eta_g)
    claimed = {name: values[name] * factor for name, factor in instance.get("claimed", {}).items()}
    cohort = Cohort("fixed", size) if size < n else Cohort()
    run = run.with_values(local_step=values["eta_l"], global_step=eta_g, local_steps=K, warm_start=1)
    run = run.replaced(warm_members=all_users, warm_points=lagging(offsets.tolist()))
    algorithm = Simulation(run, cohort, gradient)
    return Experiment(
        problem,
        algorithm,
        2,
        start,
        {**values, **claimed},
        int(instance["replicates"]),
        Reach.anywhere(problem),
        known=known(values) if instance["share"] == 1 else {},
    )


def checks(
    limit: Callable[[Mapping[str, float]], float],
    runs: Mapping[str, Mapping[str, Any]] = RUNS,
    label: str = "one round",
    expected: str = "holds",
    known: Known = lambda _: {},
) -> tuple[Check, ...]:
    """A Monte-Carlo check on each run, with the values of the checked statement's symbols."""

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        from dataclasses import replace

        found = experiment(instance, limit, known)
        names = {symbol.name for symbol in statement.symbols}
        return replace(found, values={name: value for name, value in found.values.items() if name in names})

    return checks_of("monte-carlo", build, {f"{label}, {name}": i for name, i in runs.items()}, expected)
