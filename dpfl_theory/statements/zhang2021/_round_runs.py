"""One simulated round of DP-FedAvg in many replicates, for the steps (16) to (18), (20) and (21) of zhang2021's proof.

No round has stochastic gradients and clipping together, since the clipping factors would be random. (13), (16), (20)
and (21) have symbols for that, first_bias and first_spread, which are 0 in every simulated round. Only the exact rounds
of `_instances.CLIPPED` and the worst cases of `_worst_cases` have other values of them.

One symbol of a step is an expectation over the replicates. It is f after the round, or the squared distance from x*
after a round that starts there with eta_g = 1. That distance is the mean square of the cohort's update. The other
symbols are computed. The second moment of a cohort's mean has a closed form. Gaussian stochastic gradients run on
quadratics that are not clipped, whose local phases are linear in the noise. The catalogue imports this module, so NumPy
is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Experiment, Statement, checks

__all__ = [
    *("AT_MINIMUM", "CLIPPED", "DESCENTS", "DRAWN", "LOCAL", "MIDDLE", "NOISY", "PRODUCTS", "SAMPLED", "UNCLIPPED"),
    *("WIDE", "symbols_of", "local_phase", "one_round", "runs"),
]

Instances = dict[str, dict[str, Any]]


def symbols_of(
    problem: Any, x: Any, eta: float, Q: int, c: float, P: int, deviation: float, sampling: str = "without"
) -> dict[str, float]:
    """The symbols of a round from x (d,), without replacement or, for the sampling ``anew``, with it and a run for
    every draw. Threshold c [X], inf for none; the gradients' noise has this deviation [F/X] in each coordinate. sigma_g
    is the deviation at x: a step given x_t may use no more of it."""
    import math

    import numpy as np

    if deviation and math.isfinite(c):
        raise ValueError("with noise the clipping factors are random: give no threshold")
    N, d = problem.n, problem.d
    sums, spread_local, spread_common = np.zeros((N, d)), np.zeros(N), np.zeros(N)
    for i in range(N):
        y = x.copy()
        for _ in range(Q):
            g = problem.client_gradient(i, y)
            sums[i], y = sums[i] + g, y - eta * g
        if deviation:  # the sums of the gradients, and of the stochastic ones, are linear in the noises
            columns = [problem.client_gradient(i, e) - problem.client_gradient(i, np.zeros(d)) for e in np.eye(d)]
            r = 1.0 - eta * np.linalg.eigvalsh(np.array(columns))
            powers = r[:, None] ** np.arange(Q)
            spread_common[i] = deviation**2 * float((powers**2).sum())
            spread_local[i] = deviation**2 * float(((powers - 1.0) ** 2).sum())
    lengths = eta * np.linalg.norm(sums, axis=1)
    known = np.array([1.0 if length <= c else c / length for length in lengths])
    alpha = float(known.mean())
    gradients = np.array([problem.client_gradient(i, x) for i in range(N)])
    slope = gradients.mean(axis=0)
    left_out = {"without": (N - P) / max(1, N - 1), "anew": 1.0}[sampling]

    def square(factors: Any, spread: Any) -> float:
        """The square of the mean over all clients, their variance over P, times (N - P)/(N - 1) for different ones, and
        the noise of P runs."""
        sent = eta * factors[:, None] * sums
        mean = sent.mean(axis=0)
        apart = float(((sent - mean) ** 2).sum(axis=1).mean())
        own = float(np.mean((eta * factors) ** 2 * spread))
        return float(float(mean @ mean) + (left_out * apart + own) / P)

    everyone = eta * alpha * sums.mean(axis=0)
    wander = float(spread_local.mean()) / N  # the mean square by which the noise moves the mean of the sums
    return {
        "N": float(N),
        "P": float(P),
        "Q": float(Q),
        "d": float(d),
        "L": float(problem.constants.L_max),
        "eta_l": eta,
        "sigma_l": deviation * math.sqrt(d),
        "sigma_g": float(np.linalg.norm(gradients - slope, axis=1).max()),
        "square": float(slope @ slope),
        "alpha": alpha,
        "f_now": problem.value(x) - problem.constants.f_star,
        "local_square": float(everyone @ everyone) + (eta * alpha) ** 2 * wander,
        "local_squares": float(((eta * alpha) ** 2 * ((sums**2).sum(axis=1) + spread_local)).sum()),
        "cohort_local": square(np.full(N, alpha), spread_local),
        "cohort_common": square(np.full(N, alpha), spread_common),
        "cohort_clipped": square(known, spread_common),
        "common_product": float(-slope @ everyone),
        "far_square": Q * float(((slope + sums.mean(axis=0) / Q) ** 2).sum()) + wander / Q,
        "drift_square": Q * float(((slope - sums.mean(axis=0) / Q) ** 2).sum()) + wander / Q,
        "first_bias": 0.0,
        "second_bias": float(slope @ (-eta * (known - alpha)[:, None] * sums).mean(axis=0)),
        "first_spread": 0.0,
        "second_spread": square(known - alpha, spread_common),
    }


def initial_conditions(instance: Mapping[str, Any]) -> tuple[Any, Any, float]:
    """The instance's problem; a point ``distance`` away from x* (d,); and eta_l, from ``eta Q L``."""
    import numpy as np

    from dpfl_theory.problems import make

    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    away = np.random.default_rng(3).standard_normal(problem.d)
    start = problem.constants.w_star + float(instance.get("distance", 0.0)) * away / np.linalg.norm(away)
    return problem, start, float(Fraction(instance["eta Q L"])) / (int(instance["Q"]) * problem.constants.L_max)


def one_round(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """FedAvg with two step sizes, one round from ``distance`` away from x*.

    instance: problem; P; Q; sampling; ``eta Q L``; eta_g; c over the median length of the updates (absent: no
    clipping); deviation of the stochastic gradients; sigma of the privacy noise over the median length; distance.
    """
    import math

    import numpy as np

    from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, UnclippedTwoSidedFedAvg
    from dpfl_theory.simulation import Cohort, FullGradient, NoisyGradient, Simulation
    from dpfl_theory.simulation.observables import Reach

    problem, start, eta = initial_conditions(instance)
    constants, P, Q = problem.constants, int(instance["P"]), int(instance["Q"])
    sampling = instance.get("sampling", "without")
    eta_g, deviation = float(Fraction(instance.get("eta_g", "1"))), float(instance.get("deviation", 0.0))
    lengths = [np.linalg.norm(problem.client_gradient(i, start)) for i in range(problem.n)]
    usual = eta * Q * float(np.median(lengths))
    c = float(instance["c"]) * usual if "c" in instance else math.inf
    sigma = float(instance.get("sigma", 0.0)) * usual
    if deviation and sampling == "anew":
        raise ValueError("a client that is drawn twice has one run here: give no noise, with which it needs two")
    values = symbols_of(problem, start, eta, Q, c, P, deviation, sampling)
    values |= {"eta_g": eta_g, "noise_variance": sigma**2}
    steps = {"eta_l": eta, "eta_g": eta_g, "Q": Q, "sigma": sigma}
    algorithm = Simulation(
        DPTwoSidedFedAvg(**steps, c=c) if math.isfinite(c) else UnclippedTwoSidedFedAvg(**steps),
        Cohort("with-replacement" if sampling == "anew" else "fixed", P),
        NoisyGradient(deviation) if deviation else FullGradient(),
    )
    reach = Reach.anywhere(problem)
    if not deviation and not sigma:  # the server moves by no more than the longest update
        at_star = np.linalg.norm(problem.gradients_at_star, axis=1)
        # Every local gradient of a convex client is at most as long as its first one.
        longest = eta_g * eta * Q * float(max(lengths))
        radius = float(np.linalg.norm(start - constants.w_star)) + longest * (1 + 1e-9)
        reach = Reach(radius, constants, at_star, math.inf, eta, Q)
    return Experiment(problem, algorithm, 1, start, values, int(instance.get("replicates", 2048)), reach)


def local_phase(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """All clients' local steps in one round from ``distance`` away from x*, with stochastic gradients and no clipping.

    instance: problem; Q; ``eta Q L``; deviation of the stochastic gradients; distance; middle: the symbol A_1 is
    measured by the middle line of (15).
    """
    from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
    from dpfl_theory.simulation import NoisyGradient, Simulation
    from dpfl_theory.simulation.observables import Reach

    problem, start, eta = initial_conditions(instance)
    Q, deviation = int(instance["Q"]), float(instance["deviation"])
    values = symbols_of(problem, start, eta, Q, float("inf"), 1, deviation)
    replicates, reach = int(instance.get("replicates", 2048)), Reach.anywhere(problem)
    algorithm = Simulation(TwoSidedFedAvg(eta_l=eta, eta_g=1.0, Q=Q), gradient=NoisyGradient(deviation))
    instead = {"local-mean-drift": "local-drifts"} if instance.get("middle") else {}
    return Experiment(problem, algorithm, 1, start, values, replicates, reach, instead=instead)


def _quadratic(**parameters: Any) -> dict[str, Any]:
    return {"family": "quadratic", "parameters": {"clients": 6, "dimension": 2, "seed": 4, **parameters}}


_APART = _quadratic(heterogeneity=2.0, condition=4.0)
_NEAR = _quadratic(heterogeneity=0.01, condition=2.0)
_MANY: dict[str, Any] = {"dimension": 200, "heterogeneity": 2.0, "condition": 1000.0}
_FORTY = _quadratic(clients=40, dimension=3)
_STRETCHED = _quadratic(clients=2, heterogeneity=1.0, condition=1e6, seed=35)
"""Two clients whose long axes nearly agree: L_f/mu_f = 20311."""


def _round(problem: Mapping[str, Any] = _APART, P: int = 2, Q: int = 3, **more: Any) -> dict[str, Any]:
    return {"problem": problem, "P": P, "Q": Q, "eta Q L": "129/1000", **more}


_WIDE = _round(_quadratic(clients=8, **_MANY), 4, replicates=256)
CLIPPED: Instances = {
    "one round in two dimensions, two of six clients, half of them clipped": _round(c=1.0),
    "one round in two dimensions, two of six clients, none clipped": _round(c=10.0),
}
NOISY: Instances = {
    "one round in two dimensions, stochastic gradients": _round(deviation=1.0),
    "one round in two dimensions, noise decides": _round(_NEAR, deviation=1.0),
    "four of eight clients in 200 dimensions, stochastic gradients": {**_WIDE, "deviation": 1.0},
    "one of two clients, f of condition 20000": _round(_STRETCHED, 1, deviation=1.0),
    "40 draws of 40 clients, with replacement": _round(_FORTY, 40, sampling="anew"),
}
SAMPLED: Instances = {
    "one round in two dimensions, two of four clients": _round(_quadratic(clients=4)),
    "one round in two dimensions, three of six clients": _round(P=3),
    "four of eight clients in 200 dimensions": _WIDE,
    "20 of 40 clients": _round(_FORTY, 20, replicates=16384),
}
DRAWN: Instances = {
    f"{name}, with replacement": {**instance, "sampling": "anew", "replicates": 65536}
    for name, instance in SAMPLED.items()
    if instance["problem"]["parameters"]["dimension"] == 2
}
"""Full gradients, so that a client that is drawn twice has the same update twice."""
_AWAY: dict[str, Any] = {"distance": 3.0, "replicates": 16384}
PRODUCTS: Instances = {
    "one round in two dimensions, two of six clients, half of them clipped": _round(**_AWAY, c=1.0),
    "one round in two dimensions, three of six clients, privacy noise": _round(P=3, **_AWAY, c=0.5, sigma=2.0),
}
UNCLIPPED: Instances = {
    "one round in two dimensions, two of six clients": _round(**{**_AWAY, "replicates": 12288}),
    "one round in two dimensions, a long local phase": {**_round(P=5, Q=12, **_AWAY), "eta Q L": "2"},
}


def _short(problem: Mapping[str, Any], P: int = 2, **more: Any) -> dict[str, Any]:
    """With steps that the repaired theorem allows."""
    return {**_round(problem, P), "eta Q L": "91/1000", "eta_g": "1/11", "replicates": 4096, **more}


DESCENTS: Instances = {
    "one round in two dimensions, clipped, privacy noise": _short(_APART, c=1.0, sigma=10.0, distance=1.0),
    "one round in two dimensions, privacy noise decides": _short(_NEAR, c=1.0, sigma=300.0),
    "one round in two dimensions, stochastic gradients and privacy noise": _short(
        _APART, deviation=3.0, sigma=5.0, distance=2.0
    ),
    "four of eight clients in 200 dimensions, clipped, privacy noise": _short(
        _WIDE["problem"], 4, c=1.0, sigma=1.0, distance=1.0, replicates=512
    ),
    "one of two clients, f of condition 20000, privacy noise": _short(_STRETCHED, 1, c=1.0, sigma=1.0, distance=30.0),
}


def _local(problem: Mapping[str, Any], Q: int, deviation: float, distance: float, **more: Any) -> dict[str, Any]:
    own = {"problem": problem, "Q": Q, "eta Q L": "129/1000", "deviation": deviation, "distance": distance}
    return {**own, **more}


_ALONE = _quadratic(clients=1, heterogeneity=0.0, condition=1.0)
LOCAL: Instances = {
    "local steps in two dimensions, gradients decide": _local(_APART, 8, 0.1, 3.0),
    "local steps in two dimensions, noise decides": _local(_ALONE, 40, 3.0, 0.0),
}
WIDE: Instances = {
    "40 clients in 200 dimensions": _local(_quadratic(clients=40, **_MANY), 4, 0.1, 3.0, replicates=64),
    "local steps in two dimensions, Q = 100": _local(_APART, 100, 1.0, 3.0, replicates=512),
}
_FAR = _quadratic(clients=2, heterogeneity=30.0, condition=1.0)
MIDDLE: Instances = {
    f"the middle line, {name}": {**instance, "middle": True}
    for name, instance in {
        **LOCAL,
        "local steps in two dimensions, clients far apart": _local(_FAR, 8, 0.1, 0.0),
    }.items()
}
AT_MINIMUM = _local(_ALONE, 64, 3.0, 0.0)


def runs(
    found: Mapping[str, Mapping[str, Any]],
    build: Callable[..., Experiment] = one_round,
    expected: str | Mapping[str, str] = "holds",
) -> tuple[Check, ...]:
    """A Monte-Carlo check for each named instance."""
    return checks("monte-carlo", build, found, expected)
