"""DP-ScaffNew as hou2023's statements run it: exactly, and by simulation.

`moments` and `iterations` compute exact second moments on quadratics that share their axes, in rational arithmetic.
Along one axis client i has the gradient q_i x + h*_i, and the minimiser is 0, as the shifts h* add up to zero.

`experiment` is Theorem 1's run, under the noise that Lemma 1 prescribes. C enters only through the noise, in v C^2
ln(1/delta)/epsilon^2, so that C = epsilon = 1 and v follows from it. The catalogue imports this module to list its
statements, so NumPy and the algorithms are imported where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from dpfl_theory.algorithms.scaffnew import DPScaffNew, UnclippedScaffNew
from dpfl_theory.core import Experiment, Statement, Values
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.moments import Moments
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements import experiments
from dpfl_theory.statements.hou2023._instances import TABLE
from dpfl_theory.statements.hou2023.lemma1 import LEMMA1
from dpfl_theory.statements.hou2023.run_symbols import PRIVATE
from dpfl_theory.statements.instances import Runs

Numbers = Sequence[Fraction]
Rows = Sequence[Numbers]
Iterate = tuple[Vector, tuple[tuple[Vector, ...], tuple[Vector, ...]]]
"""After an iteration: the server's vector, and the clients' vectors and control variates."""


def fractions(data: Any) -> Any:
    """Numbers written as text, in lists or not, as fractions.

    >>> fractions([["1/2"], ["3"]])
    [[Fraction(1, 2)], [Fraction(3, 1)]]
    """
    return [fractions(one) for one in data] if isinstance(data, (list, tuple)) else Fraction(data)


def combinations(instance: Mapping[str, Any], usual: Mapping[str, str]) -> Iterator[tuple[Fraction, ...]]:
    """All combinations of the instance's values, or of the usual ones, which spaces separate.

    >>> list(combinations({"p": ["1/2"]}, {"p": "1", "T": "2 3"}))
    [(Fraction(1, 2), Fraction(2, 1)), (Fraction(1, 2), Fraction(3, 1))]
    """
    return product(*(fractions(instance.get(name, values.split())) for name, values in usual.items()))


def psi_start(start: Numbers, shifts: Rows, eta: Fraction, p: Fraction) -> Fraction:
    """psi_0 for h_0 = 0: start (d,) is x_0 - x*, shifts (N, d) are the gradients h*_i at the minimiser.

    >>> psi_start([Fraction(1)], [[Fraction(1)], [Fraction(-1)]], Fraction(1), Fraction(1, 2))
    Fraction(10, 1)
    """
    distance = len(shifts) * sum((x * x for x in start), Fraction(0))
    return distance + (eta / p) ** 2 * sum((h * h for row in shifts for h in row), Fraction(0))


def iterated(
    x: Numbers,
    h: Numbers,
    q: Numbers,
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
    *,
    shifts: Numbers | None = None,
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
    curvatures: Rows, start: Numbers, shifts: Rows, eta: Fraction, p: Fraction, T: int, variance: Fraction
) -> tuple[Fraction, Fraction]:
    """E||x_T - x*||^2 and (eta^2/p^2) E||h_T - h*||^2, whose sum is E psi_T; arguments as for `expected_psi`."""
    distance = control = Fraction(0)
    for axis, x in enumerate(start):
        q, h = [row[axis] for row in curvatures], [row[axis] for row in shifts]
        of_axis = parts(iterated([x] * len(q), [Fraction(0)] * len(q), q, eta, p, T, variance, shifts=h))
        distance, control = distance + of_axis[0], control + (eta / p) ** 2 * of_axis[1]
    return distance, control


def expected_psi(
    curvatures: Rows, start: Numbers, shifts: Rows, eta: Fraction, p: Fraction, T: int, variance: Fraction
) -> Fraction:
    """E psi_T of Algorithm 2 without clipping, h_0 = 0; curvatures (N, d), start (d,), shifts (N, d), as fractions.

    >>> one = [[Fraction(1, 2)]]
    >>> expected_psi(one, [Fraction(4)], [[Fraction(0)]], Fraction(1), Fraction(1), 2, Fraction(0))
    Fraction(1, 1)
    """
    return sum(expected_parts(curvatures, start, shifts, eta, p, T, variance), Fraction(0))


def server_moment(
    start: Fraction,
    h: Numbers,
    q: Numbers,
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


def message(found: Moments[Iterate], eta: Fraction) -> Fraction:
    """Mean over the clients of E(xhat_i - x_i)^2 along one axis: the messages just after communicating."""
    sent = [eta * (h - found.world.gradient(i, x)) for i, (x, h) in enumerate(zip(*found.state[1]))]
    return sum(map(found.square, sent), Fraction(0)) / len(sent)


def _constants(instance: Mapping[str, Any], curvatures: Numbers) -> tuple[Fraction, Fraction, Fraction]:
    """mu and L of clients with these curvatures, and ln(1/delta)."""
    L = max(curvatures)
    mu = Fraction(instance["mu/L"]) * L if "mu/L" in instance else min(curvatures)
    return mu, L, Fraction(instance.get("ln(1/delta)", "1"))


def moments(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """E psi_T and its part of the control variates on quadratics, h_0 = 0; C = epsilon = 1, and v and delta are such
    that v ln(1/delta) is the ``noise``. Without h all optimal shifts are zero."""
    q, start = fractions(instance["q"]), fractions(instance["start"])
    h = fractions(instance["h"]) if "h" in instance else [[Fraction(0)] * len(start) for _ in q]
    mu, L, log = _constants(instance, [x for row in q for x in row])
    fixed = {"mu": mu, "L": L, "N": len(q), "d": len(start), "C": 1, "epsilon": 1, "delta": sp.exp(-sp.sympify(log))}
    steps, counts = ("1 1/2", "1 2 7") if "h" in instance else ("1", "1 5 20")
    usual = {"eta L": steps, "p": "1 1/2 1/5", "T": counts, "noise": "0 1/100 3"}
    for share, p, T, unit in combinations(instance, usual):
        eta, at = share / L, {"eta": share / L, "p": p, "T": int(T)}
        distance, shifts = expected_parts(q, start, h, eta, p, int(T), p * T * unit)
        psi = {"psi_0": psi_start(start, h, eta, p), "E_psi": distance + shifts, "E_shifts": shifts}
        yield Values({**fixed, **at, **psi, "v": unit / log}, {**at, "v C^2 ln(1/delta)/epsilon^2": unit})


def iterations(_: Statement, instance: Mapping[str, Any], usual: Mapping[str, str]) -> Iterator[Values]:
    """E psi_t and E psi_{t+1}, t = T - 1, and the mean squared message of that iteration on quadratics along one axis,
    from the clients' vectors a and control variates b."""
    q, a, b = (fractions(instance[k]) for k in ("q", "a", "b"))
    mu, L, log = _constants(instance, q)
    for share, p, T, variance in combinations(instance, usual):
        t, eta = max(int(T) - 1, 0), share / L
        now, then = (iterated(a, b, q, eta, p, count, variance) for count in (t, t + 1))
        psi = [distance + (eta / p) ** 2 * control for distance, control in map(parts, (now, then))]
        symbols: dict[str, Any] = {
            "psi_t": psi[0],
            "E_mean_psi": psi[0],
            "psi_next": psi[1],
            "E_messages": message(now, eta),
        }
        symbols |= {"eta": eta, "p": p, "mu": mu, "L": L, "N": len(q), "d": 1, "T": int(T)}
        symbols |= {"noise_variance": variance, "delta": sp.exp(-sp.sympify(log))}
        yield Values(symbols, {"eta": eta, "p": p, "t": t, "sigma^2": variance})


def experiment(_: Statement, instance: Mapping[str, Any], clipped: bool = False, silent: bool = False) -> Experiment:
    """Algorithm 2 on an instance, from h_0 = 0: without clipping or with C = 1, with Lemma 1's noise or without noise,
    where only the coins are drawn."""
    problem, delta = experiments.problem_of(instance), 1e-5
    start, c, T = experiments.start_of(problem, instance, 99), problem.constants, int(instance["T"])
    p = math.sqrt(c.mu_min / c.L_max) if instance["p"] is None else float(instance["p"])
    chosen = {"eta": float(instance["step"]) / c.L_max, "p": p}
    values = experiments.measured(PRIVATE, problem, start, T, experiments.cohort_of(instance), chosen)
    values["v"] = float(instance["noise"]) / math.log(1 / delta)
    del values["noise_variance"]  # Lemma 1 determines it
    variance = float(evaluate(prescription_of(LEMMA1)["noise_variance"], values, LEMMA1.id))
    sigma = 0.0 if silent else math.sqrt(variance)
    run = DPScaffNew(**chosen, C=1.0, sigma=sigma) if clipped else UnclippedScaffNew(**chosen, sigma=sigma)
    return experiments.experiment(run, problem, start, T, values, instance, random=p < 1.0 or sigma > 0.0)


FREE = Runs(TABLE, experiment, edges=False)
"""Runs without clipping; `CLIPPED`: with it; `SILENT`: without noise."""
CLIPPED, SILENT = FREE.by(partial(experiment, clipped=True)), FREE.by(partial(experiment, silent=True))
MOMENTS = Runs(TABLE, moments, "exact")
"""Exact moments of T iterations along several axes."""
CONTRACTS = Runs(
    TABLE, partial(iterations, usual={"eta L": "1 1/2", "p": "1 1/2 1/9", "T": "1", "sigma^2": "0 1/5"}), "exact"
)
"""Single iterations, from the clients' vectors and control variates that differ."""
MESSAGES = Runs(TABLE, partial(iterations, usual={"eta L": "1", "p": "1", "T": "1 2 5", "sigma^2": "0 1/3"}), "exact")
"""Messages and psi after several iterations, of which each communicates."""
