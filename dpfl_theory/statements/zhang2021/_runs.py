"""How zhang2021's statements are run: several rounds in rational arithmetic, and simulated rounds and runs.

A run of a few rounds is a tree: from every x the cohorts and the noises of the stochastic gradients lead to finitely
many next points. Without clipping, with clients of one curvature, the second moment of x has a recursion, for any T.

No simulated round has stochastic gradients and clipping together, since the clipping factors would be random. (13),
(16), (20) and (21) have symbols for that, first_bias and first_spread, which are 0 in every simulated round. Only the
exact rounds with clipping and the worst cases of `_round` have other values of them.

One symbol of a step is an expectation over the replicates. It is f after the round, or the squared distance from x*
after a round that starts there with eta_g = 1. That distance is the mean square of the cohort's update. The other
symbols are computed. The second moment of a cohort's mean has a closed form. Gaussian stochastic gradients run on
quadratics that are not clipped, whose local phases are linear in the noise.

The catalogue imports this module to list its statements, so the simulation is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dpfl_theory.algorithms.fedavg import DPFedAvg
from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, TwoSidedFedAvg, UnclippedTwoSidedFedAvg
from dpfl_theory.core import Experiment, Statement, Values
from dpfl_theory.lazy import numpy as np
from dpfl_theory.statements.experiments import experiment, problem_of, start_of
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.zhang2021._instances import ROUNDS, RUNS, SAMPLES, TREES
from dpfl_theory.statements.zhang2021._round import ScalarRound, rounds
from dpfl_theory.statements.zhang2021._symbols import StepLimits

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

F = Fraction


# Several rounds in rational arithmetic.


def run_values(instance: Mapping[str, Any]) -> dict[str, Fraction]:
    """All symbols of (22) and of Theorem 3.1 for T rounds from x; G is the length of the longest stochastic gradient
    that occurs."""
    T, states = int(instance["T"]), {F(instance["x"]): F(1)}
    totals: dict[str, Fraction] = {}
    values: dict[str, Fraction] = {}
    change = longest = apart = F(0)
    for _ in range(T):
        following: dict[Fraction, Fraction] = {}
        for x, p in states.items():
            once = ScalarRound({**instance, "x": x})
            values = once.values()
            alpha = values["alpha"]
            means = {"E_aligned": alpha * values["square"], "gamma_1": alpha, "gamma_2": alpha**2, **once.deviations()}
            means |= {name: values[name] for name in ("first_bias", "second_bias", "first_spread", "second_spread")}
            for name, value in means.items():
                totals[name] = totals.get(name, F(0)) + p * value / T
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


def _shown(values: Mapping[str, Fraction], names: str, **at: Any) -> Values:
    """The values, of which the evidence shows those with these names."""
    return Values(values, {**at, **{name: values[name] for name in names.split()}})


def tree(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """T rounds, for every sampling of the instance."""
    names = "N P Q T L eta_l eta_g sigma_l sigma_g"
    return [
        _shown(run_values({**instance, "sampling": sampling}), names, sampling=sampling)
        for sampling in instance.get("samplings", ["without", "anew"])
    ]


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
    values |= dict.fromkeys(("sigma_l", "noise_variance", "gap", "E_deviation", "E_square_deviation"), F(0))
    values |= {"sigma_g": h * m, "G": 2 * h * m, "gamma_1": F(1), "gamma_2": F(1), "E_aligned": h**2 * mean}
    return _shown(values, "Q T L eta_l eta_g sigma_g")


def at_rest(_: Statement, instance: Mapping[str, Any]) -> Values:
    """T rounds from a point that a round without noise and clipping does not change: full participation, clients of
    different curvatures, whose local steps drift. T may be arbitrarily large.

    instance: q, m, Q, eta_l, eta_g, T.
    """
    curvatures, centres = [F(t) for t in instance["q"]], [F(t) for t in instance["m"]]
    shares = [1 - (1 - F(instance["eta_l"]) * q) ** int(instance["Q"]) for q in curvatures]
    x = sum((w * m for w, m in zip(shares, centres)), F(0)) / sum(shares, F(0))
    once = run_values({**instance, "P": len(curvatures), "x": str(x), "T": 1, "sampling": "without"})
    if once["E_next"] != once["f_now"]:
        raise ValueError("the round does not end where it started")
    return _shown({**once, "T": F(int(instance["T"]))}, "N P Q T L eta_l eta_g sigma_g")


# One simulated round.


def symbols_of(
    problem: Any, x: Any, eta: float, Q: int, c: float, P: int, deviation: float, sampling: str = "without"
) -> dict[str, float]:
    """The symbols of a round from x (d,), without replacement or, for the sampling ``anew``, with it and a run for
    every draw. Threshold c [X], inf for none; the gradients' noise has this deviation [F/X] in each coordinate. sigma_g
    is the deviation at x: a step given x_t may use no more of it."""
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
        **{"N": float(N), "P": float(P), "Q": float(Q), "d": float(d), "L": float(problem.constants.L_max)},
        **{"eta_l": eta, "sigma_l": deviation * math.sqrt(d), "square": float(slope @ slope), "alpha": alpha},
        "sigma_g": float(np.linalg.norm(gradients - slope, axis=1).max()),
        "f_now": problem.value(x) - problem.constants.f_star,
        "local_square": float(everyone @ everyone) + (eta * alpha) ** 2 * wander,
        "local_squares": float(((eta * alpha) ** 2 * ((sums**2).sum(axis=1) + spread_local)).sum()),
        "cohort_local": square(np.full(N, alpha), spread_local),
        "cohort_common": square(np.full(N, alpha), spread_common),
        "cohort_clipped": square(known, spread_common),
        "common_product": float(-slope @ everyone),
        "far_square": Q * float(((slope + sums.mean(axis=0) / Q) ** 2).sum()) + wander / Q,
        "drift_square": Q * float(((slope - sums.mean(axis=0) / Q) ** 2).sum()) + wander / Q,
        **{"first_bias": 0.0, "first_spread": 0.0},
        "second_bias": float(slope @ (-eta * (known - alpha)[:, None] * sums).mean(axis=0)),
        "second_spread": square(known - alpha, spread_common),
    }


def _initial_conditions(instance: Mapping[str, Any]) -> tuple[Any, Any, float, int, float]:
    """The instance's problem; a point ``distance`` away from x* (d,); eta_l, from ``eta Q L``; Q; the deviation of the
    stochastic gradients."""
    problem, Q = problem_of(instance), int(instance["Q"])
    start = start_of(problem, {"distance": 0.0, **instance}, 3)
    eta = float(F(instance["eta Q L"])) / (Q * problem.constants.L_max)
    return problem, start, eta, Q, float(instance.get("deviation", 0.0))


def one_round(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """FedAvg with two step sizes, one round from ``distance`` away from x*.

    instance: problem; P; Q; sampling; ``eta Q L``; eta_g; c over the median length of the updates (absent: no
    clipping); deviation of the stochastic gradients; sigma of the privacy noise over the median length; distance.
    """
    from dpfl_theory.simulation import NoisyGradient
    from dpfl_theory.simulation.observables import Reach

    problem, start, eta, Q, deviation = _initial_conditions(instance)
    P, sampling = int(instance["P"]), instance.get("sampling", "without")
    eta_g = float(F(instance.get("eta_g", "1")))
    lengths = [np.linalg.norm(problem.client_gradient(i, start)) for i in range(problem.n)]
    usual = eta * Q * float(np.median(lengths))
    c = float(instance["c"]) * usual if "c" in instance else math.inf
    sigma = float(instance.get("sigma", 0.0)) * usual
    if deviation and sampling == "anew":
        raise ValueError("a client that is drawn twice has one run here: give no noise, with which it needs two")
    values = symbols_of(problem, start, eta, Q, c, P, deviation, sampling)
    values |= {"eta_g": eta_g, "noise_variance": sigma**2}
    steps = {"eta_l": eta, "eta_g": eta_g, "Q": Q, "sigma": sigma}
    run = DPTwoSidedFedAvg(**steps, c=c) if math.isfinite(c) else UnclippedTwoSidedFedAvg(**steps)
    given = {**instance, "cohort": {"scheme": "with-replacement" if sampling == "anew" else "fixed", "size": P}}
    gradient = NoisyGradient(deviation) if deviation else None
    reach = Reach.anywhere(problem)
    if not deviation and not sigma:  # the server moves by no more than the longest update
        at_star = np.linalg.norm(problem.gradients_at_star, axis=1)
        # Every local gradient of a convex client is at most as long as its first one.
        longest = eta_g * eta * Q * float(max(lengths))
        radius = float(np.linalg.norm(start - problem.constants.w_star)) + longest * (1 + 1e-9)
        reach = Reach(radius, problem.constants, at_star, math.inf, eta, Q)
    return experiment(run, problem, start, 1, values, given, gradient, reach=reach)


def local_phase(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """All clients' local steps in one round from ``distance`` away from x*, with stochastic gradients and no clipping.

    instance: problem; Q; ``eta Q L``; deviation of the stochastic gradients; distance; middle: the symbol A_1 is
    measured by the middle line of (15).
    """
    from dpfl_theory.simulation import NoisyGradient

    problem, start, eta, Q, deviation = _initial_conditions(instance)
    values, run = symbols_of(problem, start, eta, Q, math.inf, 1, deviation), TwoSidedFedAvg(eta_l=eta, eta_g=1.0, Q=Q)
    instead = {"local-mean-drift": "local-drifts"} if instance.get("middle") else {}
    return experiment(run, problem, start, 1, values, instance, NoisyGradient(deviation), instead=instead)


def record_round(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """FedAvg with two step sizes, one round of one local step from ``distance`` away from x*; no update is clipped.

    instance: problem, with one output; P; share: of a client's records, drawn independently by every client; ``eta L``;
    clipped: the number of records whose gradient is longer than the threshold; distance.
    """
    from dpfl_theory.problems.losses import LOSS
    from dpfl_theory.simulation import RecordGradient
    from dpfl_theory.simulation.observables import Reach

    problem: Any = problem_of(instance)
    constants, data, share = problem.constants, problem.data, float(instance["share"])
    x = start_of(problem, instance, 3)
    slopes = LOSS[data.loss].slope(data.x @ x, data.y, data.threshold)
    gradients = slopes[:, None] * data.x + data.ridge * x
    lengths = np.linalg.norm(gradients, axis=1)
    ordered, clipped = np.sort(lengths)[::-1], int(instance["clipped"])
    C = float(ordered[clipped - 1] + ordered[clipped]) / 2.0
    shortened = gradients * np.minimum(1.0, C / lengths)[:, None]
    means = []
    for first, last in zip(data.offsets, data.offsets[1:]):
        drawn = share * (last - first)  # the sum over floor(s R) records is divided by s R
        means.append(math.floor(drawn) / drawn * shortened[first:last].mean(axis=0))
    eta = float(instance["eta L"]) / constants.L_max
    product = -eta * float(problem.gradient(x) @ np.mean(means, axis=0))
    values = {"first_bias": 0.0, "second_bias": 0.0, "common_product": product}
    run = TwoSidedFedAvg(eta_l=eta, eta_g=1.0, Q=1)
    given = {**instance, "cohort": {"scheme": "fixed", "size": int(instance["P"])}}
    # The only round that is observed starts at x, and no mean of clipped gradients is longer than C.
    longest = np.maximum(np.linalg.norm(problem.gradients_at_star, axis=1), C)
    reach = Reach(float(instance["distance"]) * (1 + 1e-9), constants, longest, math.inf, eta, 1)
    return experiment(run, problem, x, 1, values, given, RecordGradient(share, C), reach=reach)


# Simulated runs.


def _axes(clients: int, dimension: int, threshold: float) -> Problem:
    """Identical clients with the mean of the Huber losses of d scaled coordinates, ||x||^2/2 for |x_j| <=
    threshold/sqrt(d). Its gradients are at most as long as the threshold."""
    from dpfl_theory.problems.data import Dataset
    from dpfl_theory.problems.linear_model import from_dataset

    n, d = int(clients), int(dimension)
    rows = np.tile(math.sqrt(d) * np.eye(d), (n, 1))
    records = Dataset("axes", rows, np.zeros(n * d), 1)
    return from_dataset(records, np.split(np.arange(n * d), n), "huber", threshold=float(threshold))


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
        from dpfl_theory.problems.heterogeneity import sigma_global

        problem = problem_of(instance, {"huber-axes": _axes})
        constants, (P, Q, T) = problem.constants, (int(instance[name]) for name in "PQT")
        L = constants.L_max
        eta = float(F(instance["eta Q L"])) / (Q * L)
        unit = {"P": float(P), "Q": float(Q), "L": L, "eta_l": eta}
        low, high = 0.0, 2e12  # by bisection, the largest eta_g that the limits allow for half of eta_l
        for _halving in range(200):
            middle = (low + high) / 2.0
            low, high = (low, middle) if limits({**unit, "eta_l": eta / 2.0, "eta_g": middle}) else (middle, high)
        eta_g = low / 2.0 * float(instance["product"])
        start = np.array(instance["start"]) if "start" in instance else start_of(problem, instance, 5)
        lengths = [float(np.linalg.norm(problem.client_gradient(i, start))) for i in range(problem.n)]
        C = float(instance["c"]) * Q * float(np.median(lengths))
        sigma = float(instance["sigma"]) * C
        run = DPFedAvg(eta=eta, E=Q, beta=eta_g * eta, C=C, sigma=sigma / math.sqrt(P))
        # With full gradients two runs of one client are the same.
        scheme = "with-replacement" if instance.get("sampling") == "anew" else "fixed"
        cohort = {"scheme": "full"} if problem.n == P and scheme == "fixed" else {"scheme": scheme, "size": P}
        values = {**unit, "L": L * float(instance.get("smoothness", 1.0)), "eta_g": eta_g, "sigma_l": 0.0}
        values |= {"N": float(problem.n), "T": float(T), "d": float(problem.d), "noise_variance": (eta * sigma) ** 2}
        values["sigma_g"] = float(instance["sigma_g"]) if "sigma_g" in instance else sigma_global(problem).high
        # Where nothing is clipped, G multiplies zeros whose range would widen the limits.
        values |= {
            "gap": problem.value(start) - constants.f_star,
            "G": constants.G_max if Q * constants.G_max > C else 0,
        }
        given = {"cohort": cohort, "noise": "average", "replicates": instance.get("replicates", 2048)}
        return experiment(run, problem, start, T, values, given)

    return build


EXACT = Runs(ROUNDS, rounds, "exact")
"""One round in rational arithmetic."""
MIDDLE = EXACT.by(partial(rounds, instead={"drift_square": "drift_mean"}))
"""The same, for the middle line of (15)."""
TREE = Runs(TREES, tree, "exact")
"""Several rounds in rational arithmetic."""
SAMPLED = Runs(SAMPLES, one_round)
"""One simulated round."""
LOCAL, RECORDS = SAMPLED.by(local_phase), SAMPLED.by(record_round)
"""The local steps of a simulated round, and a round with samples of the clients' records."""


def runs(limits: StepLimits) -> Runs:
    """Simulated runs with steps within these limits."""
    return Runs(RUNS, simulated(limits))
