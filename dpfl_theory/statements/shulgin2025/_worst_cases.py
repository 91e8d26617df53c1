"""Worst cases of one round of shulgin2025's algorithms over all smooth functions, convex or not.

Norms are made linear by fixing them as multiples of one length: the step s = x^k - x^{k+1}, of length gamma with server
normalisation, or a residual e. Where a side is monotone in a norm, the norm is only bounded, which enlarges the class.
Functions are bounded from below: f_inf = 0 and ||grad f||^2 <= 2 L f at every point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.local_phase import number
from dpfl_theory.statements.model import Check

__all__ = [
    "Objective",
    "clip21_descent",
    "clip21_inactive",
    "clip21_residual",
    "descent",
    "descent_by_angle",
    "grid_of",
    "track",
]


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


def descent(instance: Mapping[str, Any], factor: float = 2.0, by_angle: bool = False) -> Performance:
    """f(x - s) <= f(x) - gamma ||grad f|| + factor gamma ||grad f - v|| + L gamma^2/2; 2 is restored.

    instance: class, L, and in units of L gamma: ``gradient`` = ||grad f||, ``error`` = ||grad f - v||, ``estimate`` =
    ||v||.
    """
    from PEPit import Point

    L, slope = number(instance, "L"), number(instance, "gradient")
    error, estimate = number(instance, "error"), number(instance, "estimate")
    f = Objective(instance, L)
    x, s = f.problem.set_initial_point(), Point()
    g, before = f.at(x)
    _, after = f.at(x - s)
    f.problem.add_constraint(slope**2 * L**2 * s**2 <= g**2)
    f.problem.add_constraint((g - estimate * L * s) ** 2 <= error**2 * L**2 * s**2)
    gained, lost = (slope, factor * error) if not by_angle else (factor * (slope**2 - error**2) ** 0.5, 0.0)
    right = before + (lost + 0.5) * L * s**2
    return Performance(
        f.problem, after + gained * L * s**2, right, "the descent step, with what the gradient gains on the left"
    )


def descent_by_angle(instance: Mapping[str, Any], factor: float = 1.0) -> Performance:
    """f(x - s) <= f(x) - factor gamma sqrt(||grad f||^2 - ||grad f - v||^2) + L gamma^2/2, as `descent`; factor 1."""
    return descent(instance, factor, by_angle=True)


def overshoot(alpha: float, beta: float) -> float:
    """The largest residual that one step of the memory can leave by overshooting: (sqrt beta - sqrt alpha)^2."""
    return (beta**0.5 - alpha**0.5) ** 2 if beta > alpha else 0.0


def track(instance: Mapping[str, Any], repaired: bool = False) -> Performance:
    """||grad f_i(x^{k+1}) - v_i^{k+1}||^2 <= R^2, or the square of max(R, overshoot + beta R/(alpha + R)).

    instance: class, L, and in units of R: ``alpha``, ``beta`` < alpha + 1, ``residual`` = ||grad f_i(x^k) - v_i^k||.
    ``clients`` = 1: the only client, whose memory is the direction of the step, of length ``estimate`` over gamma L;
    otherwise the step goes anywhere.
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
        g, _ = f.at(x, memory + left_over)
    else:
        g, _ = f.at(x)
    after, _ = f.at(x - s)
    f.problem.add_constraint(L**2 * s**2 <= (most / r) ** 2 * e**2)
    radius = max(1.0, overshoot(a, b) + most) if repaired else 1.0
    right = (radius / r) ** 2 * e**2
    return Performance(f.problem, (left_over + after - g) ** 2, right, "the next residual, squared")


def clip21_descent(instance: Mapping[str, Any]) -> Performance:
    """f(x - gamma v) + (gamma/2)||grad f||^2 + (1/(2 gamma) - L/2) gamma^2 ||v||^2 <= f + (gamma/2)||v - grad f||^2.

    instance: class, L, ``gamma L`` <= 1.
    """
    from PEPit import Point

    L = number(instance, "L")
    gamma = number(instance, "gamma L") / L
    f = Objective(instance, L)
    x, v = f.problem.set_initial_point(), Point()
    g, before = f.at(x)
    _, after = f.at(x - gamma * v)
    left = after + gamma / 2 * g**2 + (gamma / 2 - L * gamma**2 / 2) * v**2
    return Performance(f.problem, left, before + gamma / 2 * (v - g) ** 2, "the descent step of Clip21")


def clip21_residual(instance: Mapping[str, Any]) -> Performance:
    """||e_i^{k+1}||^2 <= (max(0, ||e_i^k|| - tau) + L_i gamma ||v^{k+1}||)^2.

    instance: class, L, and in units of ||e_i^k||: ``tau``, ``moved`` = L_i gamma ||v^{k+1}||.
    """
    from PEPit import Point

    L, tau, moved = number(instance, "L"), number(instance, "tau"), number(instance, "moved")
    f = Objective(instance, L, bounded=False)
    x, s, e = f.problem.set_initial_point(), Point(), Point()
    g, _ = f.at(x)
    after, _ = f.at(x - s)
    f.problem.add_constraint(L**2 * s**2 <= moved**2 * e**2)
    left_over = max(0.0, 1.0 - tau)
    right = (left_over + moved) ** 2 * e**2
    return Performance(f.problem, (left_over * e + after - g) ** 2, right, "the next residual, squared")


def clip21_inactive(instance: Mapping[str, Any]) -> Performance:
    """||grad f_i(x - gamma grad f) - grad f_i(x)||^2 <= (gamma L_max)^2 2 L (f(x) - f_inf): the next residual, while
    the memories equal the gradients. The class is told that f >= f_inf at x - grad f/L, not Fact 1.

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
    g = sum((gradient for gradient, _ in found[1:]), found[0][0]) / n
    value = sum((v for _, v in found[1:]), found[0][1]) / n
    after, _ = clients[0].at(x - gamma * g)
    lowest = [f.at(x - g / L)[1] for f in clients]
    floor = Expression(is_leaf=False, decomposition_dict={})
    problem.add_constraint(floor <= sum(lowest[1:], lowest[0]) / n)
    right = (gamma * max(smoothness)) ** 2 * 2 * L * value
    return Performance(problem, (after - found[0][0]) ** 2, right, "the next residual of a client, squared")


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
