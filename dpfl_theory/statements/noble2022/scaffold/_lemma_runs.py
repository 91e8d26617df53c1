"""Monte-Carlo runs of one round of DP-SCAFFOLD for the lemmas of Appendix C, and what they observe.

Round 0 sets the control variates at points that lag behind x^{t-1}; the round that follows starts from a given x^{t-1},
so that its distance, gap, slope and lag before are numbers. Only its results are expectations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.core import Experiment
from dpfl_theory.problems import make
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._instances import ROUND
from dpfl_theory.statements.noble2022._runs import Step, chosen_values

Known = Callable[[Mapping[str, float]], Mapping[str, float]]
"""By the symbols' values, the means that a run has of the quantities that a statement concerns (`Experiment.known`)."""

_OBSERVABLES = {
    "move": "scaffold-move",
    "lag_after": "scaffold-lag",
    "drift": "scaffold-drift",
    "distance_after": "distance-squared",
}


def symbols(statement_symbols: tuple[Any, ...], *observed: str) -> dict[str, Any]:
    """Symbols and expectations of a statement of which some symbols are observed, for its constructor."""
    found = []
    for name in observed:
        symbol = noble.SYMBOLS[name]
        meaning = f"{symbol.meaning} of the round that is run"
        found.append(noble.expected(name, _OBSERVABLES[name], symbol.latex, meaning, "end"))
    own = tuple(symbol for symbol in statement_symbols if symbol.name not in observed)
    return {"symbols": own, "expectations": tuple(found)}


def experiment(instance: Mapping[str, Any], limit: Step, known: Known = lambda _: {}) -> Experiment:
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


def one_round(limit: Step, label: str = "one round", known: Known = lambda _: {}) -> Runs:
    """The runs with the values of the checked statement's symbols."""
    return Runs(ROUND, lambda statement, i: chosen_values(experiment(i, limit, known), statement), label=f"{label}, ")
