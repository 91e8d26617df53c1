"""Runs of DP-FedAvg for zhang2021's Theorem 3.1: several rounds in rational arithmetic, and in simulation.

A run of a few rounds is a tree: from every x the cohorts and the noises of the stochastic gradients lead to finitely
many next points. Without clipping, with clients of one curvature, the second moment of x has a recursion, for any T.
The catalogue imports this module to list its statements, so NumPy and the algorithms are imported where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Check, Experiment, Statement, Values, checks
from dpfl_theory.statements.zhang2021._round import ScalarRound
from dpfl_theory.statements.zhang2021._symbols import StepLimits

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["at_rest", "long_run", "problem_of", "run_values", "runs", "simulated", "tree"]

F = Fraction
_SUMMED = ("first_bias", "second_bias", "first_spread", "second_spread")


def run_values(instance: Mapping[str, Any]) -> dict[str, Fraction]:
    """All symbols of (22) and of Theorem 3.1 for T rounds from x; G is the length of the longest stochastic gradient
    that occurs."""
    T, states = int(instance["T"]), {F(instance["x"]): F(1)}
    totals: dict[str, Fraction] = {}
    values: dict[str, Fraction] = {}
    change = longest = apart = F(0)

    def add(name: str, value: Fraction) -> None:
        totals[name] = totals.get(name, F(0)) + value / T

    for _ in range(T):
        following: dict[Fraction, Fraction] = {}
        for x, p in states.items():
            once = ScalarRound({**instance, "x": x})
            values = once.values()
            alpha = values["alpha"]
            for name, value in (
                ("E_aligned", alpha * values["square"]),
                ("gamma_1", alpha),
                ("gamma_2", alpha**2),
                *once.deviations().items(),
                *((name, values[name]) for name in _SUMMED),
            ):
                add(name, p * value)
            change += p * values["E_next"]
            ends, farthest = once.outcomes()
            longest, apart = max(longest, farthest), max(apart, values["sigma_g"])
            if instance.get("sigma"):
                continue  # privacy noise is not enumerated: with it a tree has one round
            for y, q in ends.items():
                following[y] = following.get(y, F(0)) + p * q
        states = following
    if not states and T > 1:
        raise ValueError("with privacy noise the tree has one round")
    first = ScalarRound({**instance, "x": F(instance["x"])})
    fixed = {name: values[name] for name in ("N", "P", "Q", "d", "L", "eta_l", "eta_g", "sigma_l", "noise_variance")}
    total = {"f_now": F(0), "E_next": change}
    return {**fixed, **totals, **total, "sigma_g": apart, "G": longest, "T": F(T), "gap": _excess(first)}


def _excess(once: ScalarRound) -> Fraction:
    """f(x) - f*, for clients whose mean curvature is positive."""
    curvature = sum(once.world.curvatures, F(0)) / once.N
    if curvature <= 0:
        raise ValueError("f is not bounded from below")
    return curvature * F(once.x - once.world.minimiser.known) ** 2 / 2


def tree(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """T rounds, for every sampling of the instance."""
    found = []
    for sampling in instance.get("samplings", ["without", "anew"]):
        values = run_values({**instance, "sampling": sampling})
        at = {name: values[name] for name in ("N", "P", "Q", "T", "L", "eta_l", "eta_g", "sigma_l", "sigma_g")}
        found.append(Values(values, {"sampling": sampling, **at}))
    return found


def long_run(_: Statement, instance: Mapping[str, Any], below: bool = False) -> Values:
    """Many rounds: two clients h(x +- m)^2/2, one of which takes part, from x^0 = x*.

    With a = eta_g (1 - (1 - eta_l h)^Q) the second moment V_t of x^t follows V_{t+1} = (1 - a)^2 V_t + a^2 m^2, so its
    mean over T rounds lies between V (1 - 1/(T (1 - (1 - a)^2))) and V, V = a m^2/(2 - a). below: which of the two is
    used, so that a violation, or the inequality, is certain.
    """
    h, m, T, Q = F(instance["h"]), F(instance["m"]), int(instance["T"]), int(instance["Q"])
    eta, eta_g = F(instance["eta_l"]), F(instance["eta_g"])
    values = {"N": F(2), "P": F(1), "Q": F(Q), "T": F(T), "L": h, "eta_l": eta, "eta_g": eta_g, "d": F(1)}
    a = eta_g * (1 - (1 - eta * h) ** Q)
    if not 0 < a <= 1:
        raise ValueError(f"a = {a}: the run leaves the interval between the clients' minimisers")
    V = a * m**2 / (2 - a)
    mean = V * (1 - 1 / (T * (1 - (1 - a) ** 2))) if below else V
    zeros = {name: F(0) for name in ("sigma_l", "noise_variance", "gap", "E_deviation", "E_square_deviation")}
    values |= {**zeros, "sigma_g": h * m, "G": 2 * h * m, "gamma_1": F(1), "gamma_2": F(1)}
    values["E_aligned"] = h**2 * mean
    return Values(values, {name: values[name] for name in ("Q", "T", "L", "eta_l", "eta_g", "sigma_g")})


def at_rest(_: Statement, instance: Mapping[str, Any]) -> Values:
    """T rounds from a point that a round without noise and clipping does not change: full participation, clients of
    different curvatures, whose local steps drift. T may be arbitrarily large.

    instance: q, m, Q, eta_l, eta_g, T.
    """
    curvatures, centres = [F(t) for t in instance["q"]], [F(t) for t in instance["m"]]
    shares = [1 - (1 - F(instance["eta_l"]) * q) ** int(instance["Q"]) for q in curvatures]
    x = sum((w * m for w, m in zip(shares, centres)), F(0)) / sum(shares, F(0))
    T, P = int(instance["T"]), len(curvatures)
    once = run_values({**instance, "P": P, "x": str(x), "T": 1, "sampling": "without"})
    if once["E_next"] != once["f_now"]:
        raise ValueError("the round does not end where it started")
    values = {**once, "T": F(T)}
    return Values(values, {name: values[name] for name in ("N", "P", "Q", "T", "L", "eta_l", "eta_g", "sigma_g")})


def problem_of(described: Mapping[str, Any]) -> Problem:
    """A problem of the catalogue, or ``huber-axes``. The latter has identical clients with the mean of the Huber losses
    of d scaled coordinates, ||x||^2/2 for |x_j| <= threshold/sqrt(d). Its gradients are at most as long as the
    threshold."""
    import numpy as np

    from dpfl_theory.problems import make
    from dpfl_theory.problems.data import Dataset
    from dpfl_theory.problems.linear_model import from_dataset

    family, parameters = described["family"], described["parameters"]
    if family != "huber-axes":
        return make(family, **parameters)
    n, d = int(parameters["clients"]), int(parameters["dimension"])
    rows = np.tile(math.sqrt(d) * np.eye(d), (n, 1))
    records = Dataset("axes", rows, np.zeros(n * d), 1)
    return from_dataset(records, np.split(np.arange(n * d), n), "huber", threshold=float(parameters["threshold"]))


def simulated(limits: StepLimits) -> Callable[[Statement, Mapping[str, Any]], Experiment]:
    """The experiment of a Monte-Carlo check: Algorithm 3 with full local gradients, clipped updates and privacy noise.

    dp-fedavg with the step sizes eta_l and eta_g eta_l, threshold c/eta_l and noise sigma/(eta_l sqrt(P)) on the
    average is Algorithm 3.

    instance: problem; P; Q; T; sampling, ``anew`` for P draws with replacement, each of them a run;
    ``eta Q L`` (eta_l QL); ``product``, the share of the largest product eta_g eta_l that is allowed; c over the median
    length of the first updates; sigma over c; distance from x*, or the start; sigma_g where it is known better than
    `sigma_global` says; smoothness: the symbol L over the largest constant of the clients.
    """

    def build(_: Statement, instance: Mapping[str, Any]) -> Experiment:
        import numpy as np

        from dpfl_theory.algorithms.fedavg import DPFedAvg, server_noise
        from dpfl_theory.problems.heterogeneity.deviation import sigma_global
        from dpfl_theory.simulation import Cohort, Simulation
        from dpfl_theory.statements.travel_bound import fedavg_reach

        problem = problem_of(instance["problem"])
        constants, P, Q, T = problem.constants, int(instance["P"]), int(instance["Q"]), int(instance["T"])
        L = constants.L_max
        eta = float(F(instance["eta Q L"])) / (Q * L)
        unit = {"P": float(P), "Q": float(Q), "L": L, "eta_l": eta}
        low, high = 0.0, 2e12  # by bisection, the largest eta_g that the limits allow for half of eta_l
        for _halving in range(200):
            middle = (low + high) / 2.0
            low, high = (low, middle) if limits({**unit, "eta_l": eta / 2.0, "eta_g": middle}) else (middle, high)
        eta_g = low / 2.0 * float(instance["product"])
        origin = np.zeros(problem.d) if constants.w_star is None else constants.w_star
        direction = np.random.default_rng(5).standard_normal(problem.d)
        start = origin + float(instance["distance"]) * direction / np.linalg.norm(direction)
        start = np.array(instance.get("start", start), dtype=float)
        lengths = [float(np.linalg.norm(problem.client_gradient(i, start))) for i in range(problem.n)]
        C = float(instance["c"]) * Q * float(np.median(lengths))
        sigma = float(instance["sigma"]) * C
        cohort = Cohort() if problem.n == P else Cohort("fixed", P)
        if instance.get("sampling") == "anew":  # full gradients: two runs of one client are the same
            cohort = Cohort("with-replacement", P)
        run = DPFedAvg(eta=eta, E=Q, beta=eta_g * eta, C=C, sigma=sigma / math.sqrt(P)).replaced(noise=server_noise)
        algorithm = Simulation(run, cohort)
        values = {
            **unit,
            "L": L * float(instance.get("smoothness", 1.0)),
            "eta_g": eta_g,
            "N": float(problem.n),
            "T": float(T),
            "d": float(problem.d),
            "G": constants.G_max,
            "sigma_l": 0.0,
            "sigma_g": float(instance["sigma_g"]) if "sigma_g" in instance else sigma_global(problem).high,
            "noise_variance": (eta * sigma) ** 2,
            "gap": problem.value(start) - constants.f_star,
        }
        if Q * constants.G_max <= C:
            values["G"] = 0.0  # nothing is clipped, and G multiplies zeros whose range would widen the limits
        reach = fedavg_reach(algorithm, problem, T, start)
        random = cohort.scheme != "full" or sigma > 0.0
        return Experiment(
            problem, algorithm, T, start, values, int(instance.get("replicates", 2048)), reach, random=random
        )

    return build


def runs(limits: StepLimits, found: Mapping[str, Mapping[str, Any]], expected: str = "holds") -> tuple[Check, ...]:
    """A Monte-Carlo check on each named instance, and a last one whose clients are less smooth than L claims."""
    rough = {"every f_i just not L-smooth": {**list(found.values())[-1], "smoothness": 0.99, "product": 0.9}}
    build = simulated(limits)
    return (*checks("monte-carlo", build, found, expected), *checks("monte-carlo", build, rough, "not-applicable"))
