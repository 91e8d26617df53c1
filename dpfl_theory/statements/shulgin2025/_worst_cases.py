"""Worst cases of one round of shulgin2025's algorithms over all smooth functions, convex or not.

Norms are made linear by fixing them as multiples of one length: the step s = x^k - x^{k+1}, of length gamma with server
normalisation, or a residual e. Where a side is monotone in a norm, the norm is only bounded, which enlarges the class.
Functions are bounded from below: f_inf = 0 and ||grad f||^2 <= 2 L f at every point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dpfl_theory.statements.claims import WorstCase
from dpfl_theory.statements.local_phase import number
from dpfl_theory.statements.model import Check, Statement

__all__ = [
    "GAMMA",
    "Objective",
    "clip21_descent",
    "clip21_inactive",
    "clip21_residual",
    "descent",
    "descent_by_angle",
    "grid_of",
    "track",
]


GAMMA = 0.5
"""The step's length in the unit of the instances in which it is fixed: 1 would hide a wrong power."""


class Objective:
    """A smooth function of a class with infimum 0, asked for gradients and values at points."""

    def __init__(self, instance: Mapping[str, Any], smoothness: float, problem: Any = None, bounded: bool = True):
        from PEPit import PEP
        from PEPit.functions import SmoothConvexFunction, SmoothFunction

        kind = {"convex": SmoothConvexFunction, "non-convex": SmoothFunction}[str(instance["class"])]
        self.problem = PEP() if problem is None else problem
        self.L, self._bounded = smoothness, bounded
        self._function = self.problem.declare_function(kind, L=smoothness)

    def at(self, point: Any, gradient: Any = None) -> tuple[Any, Any]:
        """(gradient, value) at a point; the gradient may be given."""
        from PEPit import Expression

        if gradient is None:
            gradient, value = self._function.oracle(point)
        else:
            value = Expression()
            self._function.add_point((point, gradient, value))
        if self._bounded:
            self.problem.add_constraint(gradient**2 / (2 * self.L) <= value)
        return gradient, value


def descent(
    _: Statement, instance: Mapping[str, Any], shift: Callable[[float, float], float] | None = None
) -> WorstCase:
    """One step of length gamma; what the gradient gains is added to both sides.

    instance: class, L, and in units of L gamma: ``gradient`` = ||grad f||, ``error`` = ||grad f - v||, ``estimate`` =
    ||v||. shift: what is added, from gradient and error; the gradient where it is None.
    """
    from PEPit import Point

    L, slope = number(instance, "L"), number(instance, "gradient")
    error, estimate = number(instance, "error"), number(instance, "estimate")
    f = Objective(instance, L)
    x, s = f.problem.set_initial_point(), Point()
    g, before = f.at(x)
    _after, after = f.at(x - s)
    f.problem.add_constraint(slope**2 * L**2 * s**2 <= g**2)
    f.problem.add_constraint((g - estimate * L * s) ** 2 <= error**2 * L**2 * s**2)
    values = {"L": L, "gamma": GAMMA, "slope": slope * L * GAMMA, "error": error * L * GAMMA}
    return WorstCase(
        f.problem,
        {**values, "gap": before, "gap_after": after},
        "the descent step, with what the gradient gains on the left",
        left=("gap_after",),
        shift=(slope if shift is None else shift(slope, error)) * L * s**2,
        unit=s**2 / GAMMA**2,
    )


def descent_by_angle(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """`descent` with sqrt(||grad f||^2 - ||grad f - v||^2) added to both sides."""
    return descent(statement, instance, lambda slope, error: (slope**2 - error**2) ** 0.5)


def track(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """||grad f_i(x^{k+1}) - v_i^{k+1}|| after a round with the longest step that is allowed.

    instance: class, L, and in units of R: ``alpha``, ``beta`` < alpha + 1, ``residual`` = ||grad f_i(x^k) - v_i^k||.
    ``clients`` = 1: the only client, whose memory is the direction of the step, of length ``estimate`` over gamma L;
    otherwise the step goes anywhere. ``step``: gamma over its limit, 1 but outside of the hypotheses.
    """
    from PEPit import Point

    L, a, b = number(instance, "L"), number(instance, "alpha"), number(instance, "beta")
    r = number(instance, "residual")
    most = b / (1 + a)  # L gamma over R at its limit
    f = Objective(instance, L, bounded=False)
    x, s, e = f.problem.set_initial_point(), Point(), Point()
    left_over = (1 - b / (a + r)) * e
    if instance.get("clients") == 1:
        memory = number(instance, "estimate") * L * s
        g, _value = f.at(x, memory + left_over)
    else:
        g, _value = f.at(x)
    after, _value = f.at(x - s)
    f.problem.add_constraint(L**2 * s**2 <= (most / r) ** 2 * e**2)
    values = {"residual^2": (left_over + after - g) ** 2, "R": 1, "residual_0": r, "alpha": a, "beta": b}
    values |= {"gamma": number({"step": "1", **instance}, "step") * most / L, "L_max": L}
    return WorstCase(f.problem, values, "the next residual, squared", unit=e**2 / r**2, squared=True)


def clip21_descent(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One step x - gamma v. instance: class, L, ``gamma L`` <= 1."""
    from PEPit import Point

    L = number(instance, "L")
    gamma = number(instance, "gamma L") / L
    f = Objective(instance, L)
    x, v = f.problem.set_initial_point(), Point()
    g, before = f.at(x)
    _after, after = f.at(x - gamma * v)
    values = {"L": L, "gamma": gamma, "gap": before, "gap_after": after}
    values |= {"slope^2": g**2, "estimate^2": v**2, "error^2": (v - g) ** 2}
    return WorstCase(f.problem, values, "the descent step of Clip21")


def clip21_residual(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The next residual of one client. instance: class, L, and in units of ||e_i^k||: ``tau``, ``moved`` = L_i gamma
    ||v^{k+1}||."""
    from PEPit import Point

    L, tau, moved = number(instance, "L"), number(instance, "tau"), number(instance, "moved")
    f = Objective(instance, L, bounded=False)
    x, s, e = f.problem.set_initial_point(), Point(), Point()
    g, _value = f.at(x)
    after, _value = f.at(x - s)
    f.problem.add_constraint(L**2 * s**2 <= moved**2 * e**2)
    left_over = max(0.0, 1.0 - tau)
    values = {"residual^2": (left_over * e + after - g) ** 2, "R": 1, "residual_0": 1, "tau": tau, "L_max": L}
    values |= {"gamma": GAMMA, "estimate": moved / (GAMMA * L)}
    return WorstCase(f.problem, values, "the next residual, squared", unit=e**2, squared=True)


def clip21_inactive(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The next residual of a client while the memories equal the gradients, R = 0, for the least threshold that the
    hypotheses allow, tau = gamma L_max sqrt(2 L (f(x) - f_inf)). The class is told that f >= f_inf at x - grad f/L, not
    Fact 1.

    instance: class, smoothness: L_i of the clients, of which the first is looked at; ``gamma L``.
    """
    from PEPit import PEP, Expression

    smoothness = [number({"L": text}, "L") for text in instance["smoothness"]]
    problem, n = PEP(), len(smoothness)
    clients = [Objective(instance, L_i, problem, bounded=False) for L_i in smoothness]
    L = sum(smoothness) / n
    gamma = number(instance, "gamma L") / L
    x = problem.set_initial_point()
    found = [f.at(x) for f in clients]
    g = sum((gradient for gradient, _value in found[1:]), found[0][0]) / n
    value = sum((v for _gradient, v in found[1:]), found[0][1]) / n
    after, _value = clients[0].at(x - gamma * g)
    lowest = [f.at(x - g / L)[1] for f in clients]
    floor = Expression(is_leaf=False, decomposition_dict={})
    problem.add_constraint(floor <= sum(lowest[1:], lowest[0]) / n)
    values = {"residual^2": (after - found[0][0]) ** 2, "R": 0, "residual_0": 0, "gap": value, "gamma": gamma, "L": L}
    values |= {"L_max": max(smoothness), "tau^2": (gamma * max(smoothness)) ** 2 * 2 * L * value}
    return WorstCase(problem, values, "the next residual of a client, squared", squared=True)


def grid_of(build: Any, axes: Iterable[Mapping[str, Any]], expected: str = "holds", prefix: str = "") -> list[Check]:
    """A worst-case check of each instance, for convex and for other functions, named by its numbers."""
    found = []
    for axis in axes:
        for kind in ("convex", "non-convex"):
            words = ", ".join(f"{k} = {_words(v)}" for k, v in axis.items() if (k, v) != ("L", "1"))
            found.append(Check("worst-case", f"{prefix}{kind}, {words}", build, {"class": kind, **axis}, expected))
    return found


def _words(value: Any) -> str:
    return f"({', '.join(value)})" if isinstance(value, list) else str(value)
