"""DP-ScaffNew without clipping, as hou2023's statements run it: exactly, and by simulation.

`expected_psi` and its helpers compute exact second moments on quadratics that share their axes, in rational arithmetic.
Along one axis client i has the gradient q_i x + h*_i, and the minimiser is 0, as the shifts h* add up to zero.

`experiment` is Theorem 1's run, under the noise that Lemma 1 prescribes. C enters only through the noise, in v C^2
ln(1/delta)/epsilon^2, so that C = epsilon = 1 and v follows from it. The catalogue imports this module to list its
statements, so NumPy and the algorithms are imported where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.scaffnew import UnclippedScaffNew
from dpfl_theory.core import Check, Experiment, Statement, checks
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of
from dpfl_theory.problems import make
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.moments import Moments
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.hou2023.lemma1 import LEMMA1

__all__ = [
    *(
        "INSTANCES",
        "Iterate",
        "expected_parts",
        "expected_psi",
        "experiment",
        "iterated",
        "parts",
        "psi_start",
        "quadratics",
    ),
    *("run_of", "runs", "server_moment"),
]

Iterate = tuple[Vector, tuple[tuple[Vector, ...], tuple[Vector, ...]]]
"""After an iteration: the server's vector, and the clients' vectors and control variates."""


def psi_start(start: Sequence[Fraction], shifts: Sequence[Sequence[Fraction]], eta: Fraction, p: Fraction) -> Fraction:
    """psi_0 for h_0 = 0: start (d,) is x_0 - x*, shifts (N, d) are the gradients h*_i at the minimiser.

    >>> psi_start([Fraction(1)], [[Fraction(1)], [Fraction(-1)]], Fraction(1), Fraction(1, 2))
    Fraction(10, 1)
    """
    distance = len(shifts) * sum((x * x for x in start), Fraction(0))
    return distance + (eta / p) ** 2 * sum((h * h for row in shifts for h in row), Fraction(0))


def iterated(
    x: Sequence[Fraction],
    h: Sequence[Fraction],
    q: Sequence[Fraction],
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
    *,
    shifts: Sequence[Fraction] | None = None,
    gain: Fraction | None = None,
) -> Moments[Iterate]:
    """The second moments after T iterations along one axis, from the clients' vectors x and control variates h.

    The server's vector starts where the first client's is. shifts: h*, zero where it is None. gain: in place of p/eta;
    with 0 the control variates do not change, which from zero is DP-FedAvg with a random number of local steps.

    >>> half, zero = [Fraction(1, 2)], [Fraction(0)]
    >>> parts(iterated([Fraction(4)], zero, half, Fraction(1), Fraction(1), 1, Fraction(0)))
    (Fraction(4, 1), Fraction(0, 1))
    """
    world = Quadratics(q, [-s for s in shifts] if shifts else [0] * len(q), {"noise": variance})
    algorithm = UnclippedScaffNew(eta=eta, p=p, sigma=1)
    if gain is not None:
        algorithm = algorithm.replaced(gain=lambda a, o: gain)
    points = tuple(map(Vector, x))
    start: Iterate = points[0], (points, tuple(map(Vector, h)))
    return Moments.from_state(world, start).after(lambda now: run_round(algorithm, world, *now).following, T)


def parts(found: Moments[Iterate]) -> tuple[Fraction, Fraction]:
    """E||x_t - x*||^2 and E||h_t - h*||^2 of the stacked vectors."""
    star: Any = found.world.minimiser
    _, (points, controls) = found.state
    control = (h - found.world.gradient(i, star) for i, h in enumerate(controls))
    return (
        sum((found.square(x - star) for x in points), Fraction(0)),
        sum((found.square(deviation) for deviation in control), Fraction(0)),
    )


def expected_parts(
    curvatures: Sequence[Sequence[Fraction]],
    start: Sequence[Fraction],
    shifts: Sequence[Sequence[Fraction]],
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
) -> tuple[Fraction, Fraction]:
    """E||x_T - x*||^2 and (eta^2/p^2) E||h_T - h*||^2, whose sum is E psi_T; arguments as for `expected_psi`."""
    distance = control = Fraction(0)
    for axis, x in enumerate(start):
        q, h = [row[axis] for row in curvatures], [row[axis] for row in shifts]
        of_axis = parts(iterated([x] * len(q), [Fraction(0)] * len(q), q, eta, p, T, variance, shifts=h))
        distance, control = distance + of_axis[0], control + (eta / p) ** 2 * of_axis[1]
    return distance, control


def expected_psi(
    curvatures: Sequence[Sequence[Fraction]],
    start: Sequence[Fraction],
    shifts: Sequence[Sequence[Fraction]],
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
) -> Fraction:
    """E psi_T of Algorithm 2 without clipping, h_0 = 0; curvatures (N, d), start (d,), shifts (N, d), as fractions.

    >>> one = [[Fraction(1, 2)]]
    >>> expected_psi(one, [Fraction(4)], [[Fraction(0)]], Fraction(1), Fraction(1), 2, Fraction(0))
    Fraction(1, 1)
    """
    return sum(expected_parts(curvatures, start, shifts, eta, p, T, variance), Fraction(0))


def server_moment(
    start: Fraction,
    h: Sequence[Fraction],
    q: Sequence[Fraction],
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
    gain: Fraction | None = None,
) -> Fraction:
    """E (x_T - x*)^2 of the server's vector, which moves at communications only; start is x_0 - x*, h the shifts h*.

    >>> half = [Fraction(1, 2)]
    >>> server_moment(Fraction(4), [Fraction(0)], half, Fraction(1), Fraction(1, 2), 1, Fraction(0))
    Fraction(10, 1)
    """
    n = len(q)
    found = iterated([start] * n, [Fraction(0)] * n, q, eta, p, T, variance, shifts=h, gain=gain)
    return found.square(found.state[0])


# By simulation.


def quadratics(condition: float, heterogeneity: float, clients: int = 6, dimension: int = 4) -> dict[str, Any]:
    """A problem, as data: quadratics with this condition number of every client."""
    parameters = {"clients": clients, "dimension": dimension, "condition": condition, "heterogeneity": heterogeneity}
    return {"family": "quadratic", "parameters": {**parameters, "seed": 3}}


def _cancer(**parameters: Any) -> dict[str, Any]:
    return {
        "family": "logistic-data",
        "parameters": {"data": "breast-cancer", "features": 5, "clients": 8, **parameters},
    }


def run_of(problem: Mapping[str, Any], noise: float, T: int, distance: float, **more: Any) -> dict[str, Any]:
    """A run of Algorithm 2; noise: v C^2 ln(1/delta)/epsilon^2 [X^2]; distance: ||x_0 - x*|| of one client; step: that
    of eta L; p: sqrt(mu/L) where it is None."""
    return {"problem": problem, "step": 1.0, "p": None, "T": T, "noise": noise, "distance": distance, **more}


INSTANCES: dict[str, dict[str, Any]] = {
    "quadratics, p = sqrt(mu/L)": run_of(quadratics(20.0, 2.0), 0.02, 60, 2.0),
    "quadratics, always communicating": run_of(quadratics(20.0, 2.0), 0.02, 30, 2.0, p=1.0),
    "quadratics, rare communication, short step": run_of(quadratics(20.0, 2.0), 0.05, 100, 5.0, p=0.1, step=0.3),
    "quadratics, hardly any communication": run_of(quadratics(4.0, 1.0), 0.2, 40, 1.0, p=0.01),
    "quadratics, one iteration": run_of(quadratics(20.0, 2.0), 0.5, 1, 1.0),
    "one client, one dimension, noise dominates": run_of(quadratics(1.0, 0.0, 1, 1), 1.0, 20, 0.1, p=1.0, step=0.5),
    "very heterogeneous quadratics, start at x*": run_of(quadratics(20.0, 50.0), 0.02, 60, 0.0),
    "shared minimiser, noise dominates": run_of(quadratics(5.0, 0.0), 1.0, 40, 0.5),
    "40 clients in 200 dimensions": run_of(quadratics(100.0, 2.0, 40, 200), 0.001, 60, 3.0, replicates=64),
    "100 clients, condition 1000": run_of(quadratics(1000.0, 2.0, 100), 0.001, 100, 1.0, replicates=256),
    "two clients far apart": run_of(quadratics(1000.0, 30.0, 2, 4), 0.001, 100, 1.0),
    "breast cancer with ridge, i.i.d.": run_of(_cancer(ridge=0.05), 0.02, 60, 2.0, replicates=1024),
    "breast cancer with ridge, sorted by label": run_of(
        _cancer(ridge=0.05, partition="shards", shards_per_client=1), 0.02, 40, 2.0, replicates=1024
    ),
}


def _variance(values: Mapping[str, float]) -> float:
    """Lemma 1's variance of one coordinate, as printed."""
    return float(evaluate(prescription_of(LEMMA1)["noise_variance"], values, LEMMA1.id))


def experiment(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Algorithm 2 without clipping on an instance of `run_of`, from h_0 = 0."""
    import numpy as np

    from dpfl_theory.simulation import Simulation
    from dpfl_theory.simulation.observables import Reach

    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    c, T, delta = problem.constants, int(instance["T"]), 1e-5
    assert c.w_star is not None
    eta = float(instance["step"]) / c.L_max
    p = math.sqrt(c.mu_min / c.L_max) if instance["p"] is None else float(instance["p"])
    direction = np.random.default_rng(99).standard_normal(problem.d)
    start = c.w_star + float(instance["distance"]) * direction / np.linalg.norm(direction)
    h_star = problem.gradients_at_star
    values = {
        "eta": eta,
        "p": p,
        "T": float(T),
        "L": c.L_max,
        "mu": c.mu_min,
        "N": float(problem.n),
        "d": float(problem.d),
        "C": 1.0,
        "v": float(instance["noise"]) / math.log(1 / delta),
        "epsilon": 1.0,
        "delta": delta,
        "psi_0": problem.n * float(np.sum((start - c.w_star) ** 2)) + (eta / p) ** 2 * float(np.sum(h_star**2)),
    }
    algorithm = Simulation(UnclippedScaffNew(eta=eta, p=p, sigma=math.sqrt(_variance(values))))
    replicates = int(instance.get("replicates", 2048))
    return Experiment(problem, algorithm, T, start, values, replicates, Reach.anywhere(problem))


def runs(found: Mapping[str, Mapping[str, Any]]) -> tuple[Check, ...]:
    """A Monte-Carlo check on each named instance."""
    return checks("monte-carlo", experiment, found)
