"""Worst cases of one round, or of many, of shulgin2025's algorithms over all smooth functions, convex or not.

Norms are made linear by fixing them as multiples of one length: the step s = x^k - x^{k+1}, of length gamma with server
normalisation, or a residual e. Where a side is monotone in a norm, the norm is only bounded, which enlarges the class.
Functions are bounded from below: f_inf = 0 and ||grad f||^2 <= 2 L f at every point. Where a statement takes the
estimate v as it is, only the server's step of the round is run.

Many rounds: the estimates' errors are given, as the memories' update bounds them (Lemma 2), and their lengths, as a
message of unknown length is not a linear form. The unit of a round is its step, gamma = ||s^k||. Equal steps would
leave no interior for a counterexample. So their squares may differ by a hundredth, and each round has its own gamma in
the sums. Instances are such that steps in any direction, or away from the estimate, would break the inequality: K + 1
rounds must gain more than a gradient implies for f(x^0) - f_inf.

For the operators by themselves, smoothed normalisation and clipping, one property at a time is checked, over all
vectors. An operator enters as a vector h that is not known to be a multiple of g. It is only known to lie in a set that
Norm_alpha(g) or Clip_tau(g) touches from within. Each half of the equalities (8) and max(0, ||g|| - tau) depends on one
such set: a ball ||h|| <= kappa ||g||, a half-space <g, h> >= kappa ||g||^2, or the ball over the diameter from kappa g
to another multiple of g. Lengths are in units of ||g|| = r: kappa is 1/(alpha + r) or min(1, tau/r).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.error_feedback import Clip21, NormEC
from dpfl_theory.core import Check, Performance, Statement, WorstCase
from dpfl_theory.lazy import PEPit
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, average
from dpfl_theory.semantics.operations import WorldOperations, run_round
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.statements.local_phase import number

GAMMA = 0.5
"""The step's length in the unit of the instances in which it is fixed: 1 would hide a wrong power."""


class Objective:
    """A smooth function of a class with infimum 0, which gives gradients and values at points."""

    def __init__(self, instance: Mapping[str, Any], smoothness: float, problem: Any = None, bounded: bool = True):
        self.problem, self.L, self._bounded = PEPit.PEP() if problem is None else problem, smoothness, bounded
        (self.function,) = declared(self.problem, str(instance["class"]), 1, L=smoothness)
        self.world = FunctionClass(self.problem, [self.function])

    def gradient_and_value(self, point: Any) -> tuple[Any, Any]:
        """(gradient, value) at a point."""
        gradient, value = self.function.oracle(point)
        if self._bounded:
            self.problem.add_constraint(gradient**2 / (2 * self.L) <= value)
        return gradient, value

    def residual(self, after: Vector, kept: Vector, values: Mapping[str, Any], **more: Any) -> WorstCase:
        """The squared length of the gradient at the next point less the memory that is kept."""
        square = self.world.square(self.world.gradient(0, after) - kept)
        what = "the next residual, squared"
        return WorstCase(self.problem, {"residual^2": square, **values}, what, squared=True, **more)


def _numbers(instance: Mapping[str, Any], *names: str) -> Iterator[float]:
    return (number(instance, name) for name in names)


def stepped(world: FunctionClass, x: Any, estimate: Vector) -> Any:
    """The point after a step of length 1 along the estimate, PEPit's points."""
    o, algorithm = WorldOperations(world), NormEC(gamma=1)
    return algorithm.move(o, Vector(x), algorithm.direction(o, estimate)).known


def descent(
    _: Statement, instance: Mapping[str, Any], shift: Callable[[float, float], float] | None = None
) -> WorstCase:
    """One step of length gamma; the gain by the gradient is added to both sides.

    instance: class, L, and in units of L gamma: ``gradient`` = ||grad f||, ``error`` = ||grad f - v||, ``estimate`` =
    ||v||. shift: the added term, from gradient and error; None for the gradient.
    """
    L, slope, error, estimate = _numbers(instance, "L", "gradient", "error", "estimate")
    f = Objective(instance, L)
    x, s = f.problem.set_initial_point(), PEPit.Point()
    v = Vector(estimate * L * s)
    f.world.set_length(v, estimate * L)  # in units of gamma = ||s||
    g, before = f.gradient_and_value(x)
    _after, after = f.gradient_and_value(stepped(f.world, x, v))
    f.problem.add_constraint(slope**2 * L**2 * s**2 <= g**2)
    f.problem.add_constraint((g - v.known) ** 2 <= error**2 * L**2 * s**2)
    values = {"L": L, "gamma": GAMMA, "slope": slope * L * GAMMA, "error": error * L * GAMMA}
    values |= {"gap": before, "gap_after": after}
    gain = (slope if shift is None else shift(slope, error)) * L * s**2
    what = "the descent step, with the gain by the gradient on the left"
    return WorstCase(f.problem, values, what, left=("gap_after",), shift=gain, unit=s**2 / GAMMA**2)


def descent_by_angle(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """`descent` with sqrt(||grad f||^2 - ||grad f - v||^2) added to both sides."""
    return descent(statement, instance, lambda slope, error: (slope**2 - error**2) ** 0.5)


def track(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """||grad f_i(x^{k+1}) - v_i^{k+1}|| after a round with the longest step that is allowed.

    instance: class, L, and in units of R: ``alpha``, ``beta`` < alpha + 1, ``residual`` = ||grad f_i(x^k) - v_i^k||.
    ``clients`` = 1: the only client, whose memory is the direction of the step, of length ``estimate`` over gamma L;
    otherwise the step has any direction. ``step``: gamma over its limit, 1 except outside the hypotheses.
    """
    L, a, b, r = _numbers(instance, "L", "alpha", "beta", "residual")
    most = b / (1 + a)  # L gamma over R at its limit
    f = Objective(instance, L, bounded=False)
    world = f.world
    x, e = Vector(f.problem.set_initial_point()), Vector(PEPit.Point())
    world.set_length(e, r)
    memory = world.gradient(0, x) - e
    algorithm = NormEC(gamma=1, alpha=a, beta=b, sigma=0)
    kept = algorithm.updated(WorldOperations(world), world.gradient(0, x), memory)
    if instance.get("clients") == 1:
        world.set_length(kept, number(instance, "estimate") * L)  # in units of gamma
        after = run_round(algorithm, world, x, (memory, (memory,))).x
    else:
        after = x - Vector(PEPit.Point())
    f.problem.add_constraint(L**2 * world.square(x - after) <= (most / r) ** 2 * world.square(e))
    values = {"R": 1, "residual_0": r, "alpha": a, "beta": b, "L_max": L}
    values["gamma"] = number({"step": "1", **instance}, "step") * most / L
    return f.residual(after, kept, values, unit=world.square(e) / r**2)


def clip21_descent(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One step x - gamma v. instance: class, L, ``gamma L`` <= 1."""
    L, step = _numbers(instance, "L", "gamma L")
    gamma, f = step / L, Objective(instance, L)
    x, v = f.problem.set_initial_point(), PEPit.Point()
    g, before = f.gradient_and_value(x)
    _after, after = f.gradient_and_value(x - gamma * v)
    values = {"L": L, "gamma": gamma, "gap": before, "gap_after": after}
    values |= {"slope^2": g**2, "estimate^2": v**2, "error^2": (v - g) ** 2}
    return WorstCase(f.problem, values, "the descent step of Clip21")


def clip21_residual(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The next residual of one client. instance: class, L, and in units of ||e_i^k||: ``tau``, ``moved`` = L_i gamma
    ||v^{k+1}||."""
    L, tau, moved = _numbers(instance, "L", "tau", "moved")
    f = Objective(instance, L, bounded=False)
    world = f.world
    x, s, e = Vector(f.problem.set_initial_point()), Vector(PEPit.Point()), Vector(PEPit.Point())
    world.set_length(e, 1.0)
    memory = world.gradient(0, x) - e
    kept = Clip21(tau=tau).updated(WorldOperations(world), world.gradient(0, x), memory)
    f.problem.add_constraint(L**2 * world.square(s) <= moved**2 * world.square(e))
    values = {"R": 1, "residual_0": 1, "tau": tau, "L_max": L, "gamma": GAMMA, "estimate": moved / (GAMMA * L)}
    return f.residual(x - s, kept, values, unit=world.square(e))


def clip21_inactive(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The next residual of a client while the memories equal the gradients, R = 0, for the least threshold that the
    hypotheses allow, tau = gamma L_max sqrt(2 L (f(x) - f_inf)). The class has the condition f >= f_inf at x - grad
    f/L, not Fact 1.

    instance: class, smoothness: L_i of the clients, of which the first is checked; ``gamma L``.
    """
    smoothness = [number({"L": text}, "L") for text in instance["smoothness"]]
    problem, n = PEPit.PEP(), len(smoothness)
    clients = [Objective(instance, L_i, problem, bounded=False) for L_i in smoothness]
    L = sum(smoothness) / n
    gamma = number(instance, "gamma L") / L
    world = FunctionClass(problem, [f.function for f in clients])
    x = Vector(problem.set_initial_point())
    g, floor = tuple(world.gradient(i, x) for i in range(n)), PEPit.Expression(is_leaf=False, decomposition_dict={})
    world.set_length(world.zero, 0)  # the residuals
    after = run_round(Clip21(gamma=gamma, tau=0, sigma=0), world, x, (average(g), g))
    value = sum((world.value(i, x) for i in range(1, n)), world.value(0, x)) / n
    values = {"residual^2": world.square(world.gradient(0, after.x) - after.state[1][0]), "R": 0, "residual_0": 0}
    lowest = [f.gradient_and_value((x - average(g) / L).known)[1] for f in clients]
    problem.add_constraint(floor <= sum(lowest[1:], lowest[0]) / n)
    values |= {"gap": value, "gamma": gamma, "L": L, "L_max": max(smoothness)}
    values["tau^2"] = (gamma * max(smoothness)) ** 2 * 2 * L * value
    return WorstCase(problem, values, "the next residual of a client, squared", squared=True)


def near_estimate(gradient: Any, estimate: Any, error: Any) -> Any:
    """||grad f - v||^2 <= error, v along the step: Algorithm 1."""
    return (gradient - estimate) ** 2 <= error


def _run(instance: Mapping[str, Any], slope: float, error: float) -> tuple[Objective, Any, Any]:
    """The function, its value at x^0, and the sum of the squared steps, which are up to 1/128 below the first one."""
    f = Objective(instance, number(instance, "L"))
    x, first, total, before = f.problem.set_initial_point(), None, 0.0, None
    for text in instance["estimates"]:
        g, value = f.gradient_and_value(x)
        s = PEPit.Point()
        square = s**2
        if first is None:
            first, before = square, value
        else:
            f.problem.add_constraint(square <= first)
            f.problem.add_constraint((1 - 1 / 128) * first <= square)
        f.problem.add_constraint(slope**2 * f.L**2 * square <= g**2)
        length = number({"v": text}, "v") * f.L
        estimate = Vector(length * s)
        f.world.set_length(estimate, length)  # in units of gamma = ||s||
        f.problem.add_constraint(near_estimate(g, estimate.known, error**2 * f.L**2 * square))
        x, total = stepped(f.world, x, estimate), total + square
    f.gradient_and_value(x)
    return f, before, total


def _case(
    instance: Mapping[str, Any], slope: float, error: float, of: Callable[[float, Any], dict[str, Any]]
) -> WorstCase:
    """The symbols in a unit in which gamma is `GAMMA`, with the mean of the squared steps for gamma^2. alpha and beta
    are such that the step is allowed for R > L gamma. of: fields of the case, and symbols with other values, from L
    and the sum of the squared steps."""
    f, before, total = _run(instance, slope, error)
    count, more = len(instance["estimates"]), {"label": ", the gradients on the left", **of(f.L, total)}
    root, R = sp.sqrt(count), Fraction(number(instance, "error") * f.L * GAMMA)
    values = {"K": count - 1, "gamma": GAMMA, "c": sp.Rational(GAMMA) * root, "L": f.L, "L_max": f.L, "R": R}
    values |= {"D": sp.sympify(R) * root, "alpha": 100 * R, "beta": (100 * R + R) * Fraction(999, 1000)}
    values |= {"least": slope * f.L * GAMMA, "gap": before, **more.pop("symbols", {})}
    what = f"{count} rounds{more.pop('label')}"
    return WorstCase(f.problem, values, what, unit=total / (count * GAMMA**2), **more)


def rounds(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """min_k ||grad f|| for estimates within R of the gradients; the smallest gradient is added to both sides.

    instance: class, L, and in units of L gamma: ``gradient`` = min ||grad f||, ``error`` = R, ``estimates`` =
    ||v^{k+1}||, one for each of the K + 1 rounds.
    """
    slope, error = _numbers(instance, "gradient", "error")
    mean = slope / len(instance["estimates"]) / GAMMA
    return _case(instance, slope, error, lambda L, total: {"left": (), "shift": mean * L * total})


def by_angles(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """As `rounds`, for estimates within A of the gradients, and solved for f(x^0) - f_inf; the loss by curvature is
    added to both sides. ``error`` = A, which is R/(a + 1) for alpha = beta = a R; a is so large that the step is
    allowed."""
    slope, error = _numbers(instance, "gradient", "error")
    a = max(1, math.ceil(1 / error))

    def of(L: float, total: Any) -> dict[str, Any]:
        R = (a + 1) * Fraction(error * L * GAMMA)
        return {"solved": "gap", "shift": 0.5 * L * total, "symbols": {"R": R, "alpha": a * R, "beta": a * R}}

    return _case(instance, slope, error, of)


def smallest_gradient(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """No gradient shorter than L gamma + 2R, which is (12) at the gap L (K + 1) gamma^2/2 that gives it this gamma,
    solved for f(x^0) - f_inf; longer gradients need a larger gap. instance: as for `rounds`, without ``gradient``."""
    error, label = number(instance, "error"), " of long gradients, L gamma^2/2 for each on the left"
    return _case(instance, 1 + 2 * error, error, lambda L, total: {"solved": "gap", "label": label})


RADIUS = 2.0
"""The length r in the unit of the symbols' numbers: 1 would hide a wrong power."""


def _pair() -> tuple[Any, Any, Any]:
    problem = PEPit.PEP()
    return problem, problem.set_initial_point(), problem.set_initial_point()


def bounded(_: Statement, instance: Mapping[str, Any], sign: float = 1.0) -> Performance:
    """(7), ||h|| <= 1 for h = Norm_alpha(g), as ||p|| <= ||g|| for p = ||g|| h: h is parallel to p, g = alpha h + p.

    The only condition is <h, p> >= 0. instance: ``alpha``. sign: of alpha.
    """
    problem, h, p = _pair()
    g = sign * number(instance, "alpha") * h + p
    problem.add_constraint(h * p >= 0)
    return Performance(problem, p**2, g**2, "||g||^2 ||Norm_alpha(g)||^2 against ||g||^2")


def normalisation(_: Statement, instance: Mapping[str, Any], shift: float = 0.0) -> WorstCase:
    """One half of (8), of ||g - beta h||^2 for h = kappa g with kappa = 1/(alpha + r).

    instance: ``alpha``, ``beta`` in units of r; ``half`` "<=" or ">=". shift: added to alpha in the operator only.
    """
    alpha, beta = _numbers(instance, "alpha", "beta")
    size = alpha + shift + 1  # 1/kappa; multiplied with it the conditions have dyadic numbers
    problem, g, h = _pair()
    if instance["half"] == "<=":
        # The far end of the diameter is g/beta, which (1/beta) g - h = 0 would be.
        problem.add_constraint((size * h - g) * (beta * h - g) <= 0)
    elif beta <= size:  # no overshoot
        problem.add_constraint(size**2 * h**2 <= g**2)
    else:
        problem.add_constraint(size * (g * h) >= g**2)
    values = {"rest^2": (g - beta * h) ** 2, "alpha": RADIUS * alpha, "beta": RADIUS * beta, "r": RADIUS}
    what = f"||g - beta Norm_alpha(g)||^2 {instance['half']} the right side of (8)"
    return WorstCase(problem, values, what, direction=instance["half"], unit=g**2 / RADIUS**2)


def clipping(_: Statement, instance: Mapping[str, Any], factor: float = 1.0) -> WorstCase:
    """One half of ||h - g|| = max(0, r - tau), h the projection of g to the ball of radius tau.

    "<=": h is nearer to g than any other point of the ball, so that <g - h, y - h> <= 0 for y = kappa g, or g itself;
    ">=": h lies in the ball. instance: ``tau`` in units of r, ``half``. factor: times tau in the operator only.
    """
    tau = number(instance, "tau")
    kappa, (problem, g, h) = min(1.0, factor * tau), _pair()
    if instance["half"] == "<=":
        problem.add_constraint((g - h) * (kappa * g - h) <= 0)
    else:
        problem.add_constraint(h**2 <= (factor * tau) ** 2 * g**2)
    values = {"rest^2": (h - g) ** 2, "r": RADIUS, "tau": RADIUS * tau}
    what = f"||Clip_tau(g) - g||^2 {instance['half']} max(0, ||g|| - tau)^2"
    return WorstCase(problem, values, what, direction=instance["half"], unit=g**2 / RADIUS**2, squared=True)


def axes(names: str, *rows: str) -> list[dict[str, str]]:
    """Instances from rows of numbers, with these names between commas.

    >>> axes("L,tau", "1 1/2", "4 2")
    [{'L': '1', 'tau': '1/2'}, {'L': '4', 'tau': '2'}]
    """
    return [dict(zip(names.split(","), row.split(), strict=True)) for row in rows]


def grid_of(build: Any, axes: Iterable[Mapping[str, Any]], expected: str = "holds", prefix: str = "") -> list[Check]:
    """A worst-case check of each instance, for convex and for other functions, named by its numbers."""
    made = []
    for axis in axes:
        texts = {k: f"({', '.join(v)})" if isinstance(v, list) else v for k, v in axis.items() if (k, v) != ("L", "1")}
        words = ", ".join(f"{k} = {text}" for k, text in texts.items())
        for kind in ("convex", "non-convex"):
            instance = {"class": kind, **axis}
            made.append(Check("worst-case", f"{prefix}{kind}, {words}", build, instance, expected))
    return made


def rounds_of(estimates: str, L: str = "1", build: Any = rounds, **lengths: str) -> list[Check]:
    """The checks of many rounds with estimates of these lengths."""
    return grid_of(build, [{"L": L, **lengths, "estimates": estimates.split()}])
