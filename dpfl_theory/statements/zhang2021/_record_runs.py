"""One simulated round of DP-FedAvg whose stochastic gradients are means over some of a client's records, each record's
gradient clipped by itself.

(13) holds for any stochastic gradients. With one local step the expectation of these is a mean over all records, which
is formed here record by record. NumPy is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.statements.claims import Experiment
from dpfl_theory.statements.model import Statement

__all__ = ["RECORDS", "record_round"]


def record_round(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """TwoSidedFedAvg, one round of one local step from ``distance`` away from x*; no update is clipped.

    instance: problem, with one output; P; share: of a client's records, drawn anew by every client; ``eta L``; clipped:
    how many of all records have a gradient longer than the threshold; distance.
    """
    import math

    import numpy as np

    from dpfl_theory.algorithms import Cohort, RecordGradient, TwoSidedFedAvg
    from dpfl_theory.algorithms.observables import Reach
    from dpfl_theory.problems import make
    from dpfl_theory.problems.losses import LOSS

    problem: Any = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    constants, data, P, share = problem.constants, problem.data, int(instance["P"]), float(instance["share"])
    away = np.random.default_rng(3).standard_normal(problem.d)
    x = constants.w_star + float(instance["distance"]) * away / np.linalg.norm(away)
    slopes = LOSS[data.loss].slope(data.x @ x, data.y, data.threshold)
    gradients = slopes[:, None] * data.x + data.ridge * x
    lengths = np.linalg.norm(gradients, axis=1)
    ordered = np.sort(lengths)[::-1]
    clipped = int(instance["clipped"])
    C = float(ordered[clipped - 1] + ordered[clipped]) / 2.0
    shortened = gradients * np.minimum(1.0, C / lengths)[:, None]
    means = []
    for first, last in zip(data.offsets, data.offsets[1:]):
        drawn = share * (last - first)  # the sum over floor(s R) records is divided by s R
        means.append(math.floor(drawn) / drawn * shortened[first:last].mean(axis=0))
    eta = float(instance["eta L"]) / constants.L_max
    product = -eta * float(problem.gradient(x) @ np.mean(means, axis=0))
    values = {"first_bias": 0.0, "second_bias": 0.0, "common_product": product}
    algorithm = TwoSidedFedAvg(eta, cohort=Cohort("fixed", P), gradient=RecordGradient(share, C))
    # The only round that is observed starts at x, and no mean of clipped gradients is longer than C.
    longest = np.maximum(np.linalg.norm(problem.gradients_at_star, axis=1), C)
    reach = Reach(float(instance["distance"]) * (1 + 1e-9), constants, longest, math.inf, eta, 1)
    return Experiment(problem, algorithm, 1, x, values, int(instance["lanes"]), reach)


_RIDGE = {"clients": 3, "dimension": 3, "records": 6, "heterogeneity": 1.0, "ridge": 1.0, "seed": 2}
RECORDS: dict[str, dict[str, Any]] = {
    "one round, four records of six at a time, half of them clipped, with a ridge": {
        "problem": {"family": "huber", "parameters": _RIDGE},
        "P": 2,
        "share": 0.7,
        "eta L": 0.1,
        "clipped": 9,
        "distance": 2.0,
        "lanes": 4096,
    },
}
