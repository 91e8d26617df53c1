"""hou2023 Appendix B.1: the steps of Theorem 1's proof, and a sharper contraction than the printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.scaffnew import DPScaffNew, ScaffNew
from dpfl_theory.core import Sides, Statement, Symbols, Values, WorstCase, battery, checks
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, average, expected
from dpfl_theory.semantics.operations import WorldOperations, run_round
from dpfl_theory.semantics.performance import FunctionClass
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._instances import TABLE
from dpfl_theory.statements.hou2023._runs import CONTRACTS, Iterate, fractions, iterated, parts
from dpfl_theory.statements.relations import Formula, Proof, algebra, of

_WHERE = "Appendix B.1, proof of Theorem 1"


# (3): the control variates sum to zero.


@algebra(
    "A(A Delta - Delta) = 0",
    part="It decides that no communication changes the mean; its value 0 then follows from h_0, as Algorithm 2 asks "
    "for.",
)
def _projection(_: Formula) -> Proof:
    """A(h + (p/eta)(A Delta - Delta)) = A h for every Delta, clipped and noisy or not: polynomials in A, A^2 = A."""
    A, h, delta, weight = sp.symbols("A h Delta weight")
    after = sp.rem(sp.expand(A * (h + weight * (A * delta - delta))), A**2 - A, A)
    return after, A * h, "the mean of the next control variates against the mean of these"


def clipped_run(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Algorithm 2 in rational numbers, clipped and with noise, on f_i(x) = q_i (x - c_i)^2/2: |sum_i h_t^{(i)}|/N."""
    q, c, h, eta, p, C, x_0 = (fractions(instance[k]) for k in ("q", "c", "h_0", "eta", "p", "C", "x_0"))
    if sum(h) != 0:
        raise ValueError(f"the first shifts add up to {sum(h)}, not to 0 as Algorithm 2 asks for")
    world = Quadratics(q, [a * b for a, b in zip(q, c)])
    world.restart([0 if coin else 1 for coin, _ in instance["rounds"]])
    algorithm = DPScaffNew(eta=eta, p=p, C=C, sigma=1)
    now: Iterate = Vector(x_0), ((Vector(x_0),) * len(q), tuple(map(Vector, h)))
    for t, (_coin, noise) in enumerate(instance["rounds"]):
        for i, e in enumerate(noise):
            world.fix(("noise", t, i), Fraction(e))
        now = run_round(algorithm, world, *now, t=t).following
        controls = now[1][1]
        mean_shift = abs(world.substitute_known(average(controls)).known)
        shifts = tuple(world.substitute_known(shift).known for shift in controls)
        yield Values({"mean_shift": mean_shift}, instance={"t": t + 1, "h": shifts})


CLIPPED_RUN = {
    "q": ["1", "1/3", "1/2"],
    "c": ["0", "6", "-2"],
    "eta": "1/2",
    "p": "1/3",
    "C": "1",
    "x_0": "20",
    "h_0": ["1", "2", "-3"],
    "rounds": [[1, ["1/7", "-2", "1/3"]], [0, []], [0, []], [1, ["5", "-1/9", "0"]], [1, ["-1", "1", "1/4"]]],
}

EQ3: Statement = hou.statement(
    **hou.named("hou2023.eq3", "step", _WHERE, "3"),
    relation="==",
    sides=lambda s: Sides(lhs={"mean": s.mean_shift}, rhs={"zero": sp.Integer(0)}),
    checks=battery(
        _projection, checks("exact", clipped_run, {"clipped and noisy run in rational numbers": CLIPPED_RUN})
    ),
)


# The identity for T_1 + T_2.


@algebra("A is a projection")
def _pythagoras(s: Formula) -> Proof:
    """||A z||^2 + ||A z - z||^2 = ||z||^2 for the projection A: A^T A + (A - I)^T (A - I) = I with A^2 = A = A^T; the
    sides without noise, as quadratic forms in z = y_t."""
    A = sp.Symbol("A")
    forms = of(s.statement, T_1=A * A, T_2=(A - 1) * (A - 1), y_t=1, noise_variance=0)
    left = sp.rem(sp.expand(forms.lhs), A**2 - A, A)
    return left, forms.rhs, "A^T A + (A - I)^T (A - I) against the identity"


def _communication(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """One communication (coin 1) of the linear-Gaussian dynamics on quadratics, from unequal x_i and h_i."""
    q, a, b = (fractions(instance[k]) for k in ("q", "a", "b"))
    for eta, p, variance in fractions([["1/2", "1/3", "0"], ["1", "1", "2/7"]]):
        consensus, control = parts(iterated(a, b, q, eta, Fraction(1), 1, variance, gain=p / eta))
        moved = [(1 - eta * qi) * ai + eta * bi - eta / p * bi for qi, ai, bi in zip(q, a, b)]
        symbols = {"T_1": consensus, "T_2": (eta / p) ** 2 * control, "N": len(q), "d": 1}
        symbols |= {"y_t": sp.sqrt(sum(m * m for m in moved)), "noise_variance": variance}
        yield Values(symbols, instance={"eta": eta, "p": p, "sigma^2": variance})


def performance(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """T_1 + T_2 of one communication without noise against ||y_t||^2, or the other way round where ``reverse`` is set.

    Over all a_i = xhat_i - x* and all b_i = h_i - h*_i with sum 0: y_t = a - (eta/p) b, and what is sent is a.
    """
    from PEPit import PEP, Point

    problem, n, ratio = PEP(), int(instance["N"]), float(Fraction(instance["eta/p"]))
    world = FunctionClass(problem, [None] * n)
    a = tuple(Vector(problem.set_initial_point()) for _ in range(n))
    b = tuple(Vector(Point()) for _ in range(n - 1))
    b = (*b, sum((-1 * bi for bi in b), world.zero))
    algorithm = ScaffNew(eta=ratio, p=1)
    _, (points, controls) = algorithm.communicated(WorldOperations(world), world.zero, a, b)
    values = {
        "T_1": sum(world.square(x) for x in points),
        "T_2": ratio**2 * sum(world.square(h) for h in controls),
        "y_t^2": sum(world.square(ai - ratio * bi) for ai, bi in zip(a, b)),
    }
    values |= {"N": n, "d": 1, "noise_variance": 0}
    return WorstCase(problem, values, "T_1 + T_2 and ||y_t||^2", direction=">=" if instance["reverse"] else "<=")


_BOTH_WAYS = {
    f"{way}, N = {n}": {"N": n, "eta/p": "2", "reverse": way == "at least"}
    for n in (1, 2, 4)
    for way in ("at most", "at least")
}

NONEXPANSIVE: Statement = hou.statement(
    **hou.named("hou2023.nonexpansive", "step", f"{_WHERE}, after (4)"),
    relation="==",
    sides=lambda s: Sides(
        lhs={"consensus": s.T_1, "control variates": s.T_2},
        rhs={"deviation": s.y_t**2, "noise": s.N * s.d * s.noise_variance},
    ),
    checks=battery(
        _pythagoras, checks("worst-case", performance, _BOTH_WAYS), checks("exact", _communication, TABLE["contracts"])
    ),
    uses=("hou2023.eq3",),
)


# The contraction.


def _sides(s: Symbols, power: int = 1) -> Sides:
    """power: the exponent of 1 - mu eta."""
    return Sides(
        lhs={"psi": s.psi_next},
        rhs={"contraction": hou.theta(s.mu, s.eta, s.p, power) * s.psi_t, "noise": s.p * s.N * s.d * s.noise_variance},
    )


def contraction(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """E psi_t and E psi_{t+1} of one iteration without noise, from any x_i and any h_i that sum to zero.

    x* is the origin, where the gradients h*_i sum to zero.
    """
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothStronglyConvexFunction

    mu, p, eta = (float(Fraction(instance[k])) for k in ("mu", "p", "eta L"))  # L = 1
    problem, n = PEP(), int(instance["N"])
    functions = [problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=1) for _ in range(n)]
    world = FunctionClass(problem, functions)
    star, rest, last, shifts = world.zero, world.zero, world.zero, []
    for i in range(n - 1):
        shifts.append(Vector(Point()))
        rest, last = rest - world.gradient(i, star), last - shifts[-1]
    functions[-1].add_point((star.known, rest.known, Expression()))
    start = tuple(Vector(problem.set_initial_point()) for _ in range(n)), (*shifts, last)

    def psi(state: Any) -> Any:
        points, controls = state
        control = [eta / p * (h - world.gradient(i, star)) for i, h in enumerate(controls)]
        return sum(world.square(v) for v in (*points, *control))

    algorithm = ScaffNew(eta=eta, p=p)
    after = expected(world, lambda: {"psi": psi(run_round(algorithm, world, star, start).state)})["psi"]
    values = {"psi_next": after, "psi_t": psi(start), "mu": mu, "L": 1, "eta": eta, "p": p, "N": n}
    return WorstCase(problem, {**values, "d": 1, "noise_variance": 0}, "E psi_(t+1) against theta psi_t")


@algebra(
    "the square completed",
    part="It decides the two displays before the contraction, psi after an iteration without noise; that ||a - eta b|| "
    "contracts is left to the worst cases.",
)
def _completed_square(_: Formula) -> Proof:
    """With a = xhat - x*, b = h - h*: p||a - (eta/p) b||^2 + (1 - p)(||a||^2 + (eta/p)^2 ||b||^2) is ||a - eta b||^2
    + (1 - p^2)(eta/p)^2 ||b||^2."""
    (a, b), eta = sp.symbols("a b", real=True), sp.Symbol("eta", positive=True)
    p = sp.Symbol("p", positive=True, probability=True)
    left = p * (a - eta / p * b) ** 2 + (1 - p) * (a**2 + (eta / p) ** 2 * b**2)
    return left, (a - eta * b) ** 2 + (1 - p**2) * (eta / p) ** 2 * b**2, "the two displays before the contraction"


@algebra("where the square comes from")
def _squared_rate(s: Formula) -> Proof:
    """Where the square comes from: the interpolation inequality of mu-strongly convex, L-smooth gradients.

    With u = x - x*, g = grad f(x) - grad f(x*): <g, u> >= (||g||^2 + mu L ||u||^2)/(L + mu), so that (1 - mu eta)^2
    ||u||^2 - ||u - eta g||^2 is 2 eta (1 - eta (L + mu)/2) times ... plus a multiple of that slack; at equality of
    the inequality it is eta (2/(L + mu) - eta)(||g||^2 - mu^2 ||u||^2), and ||g|| >= mu ||u||.
    """
    u, g = sp.symbols("u g", positive=True)  # squares u = ||u||^2, g = ||g||^2
    eta, mu, L = s.eta, s.mu, s.L
    inner = (g + mu * L * u) / (L + mu)
    allowed = of(s.statement, p=1, psi_t=u, noise_variance=0).rhs  # one client, h = h*
    slack = allowed - (u - 2 * eta * inner + eta**2 * g)
    return slack, eta * (2 / (L + mu) - eta) * (g - mu**2 * u), "what (1 - mu eta)^2 leaves, against its factors"


_BOTH = (
    checks(
        "worst-case",
        contraction,
        {
            f"N = {n}, mu = {mu}, p = {p}, eta L = {eta}": {"N": n, "mu": mu, "p": p, "eta L": eta}
            for n, mu, p, eta in (
                (1, "1/4", "1/2", "1"),
                (2, "1/4", "1/2", "1"),
                (2, "1/4", "1", "1"),
                (2, "1/10", "1/10", "1"),
                (2, "1/10", "9/10", "1/2"),
                (3, "1/4", "1/4", "1"),
            )
        },
    ),
    CONTRACTS("contracts contracts-inside", near="quadratics, one client"),
)

CONTRACTION: Statement = hou.statement(
    **hou.named("hou2023.contraction", "step", f"{_WHERE}, last displays"),
    hypotheses=(hou.STRONGLY_CONVEX, hou.SMOOTH, hou.STEP, hou.COIN),
    sides=_sides,
    checks=battery(_completed_square, *_BOTH),
    smoke=("N = 2, mu = 1/4, p = 1/2, eta L = 1",),
    uses=("hou2023.nonexpansive",),
)

SHARPENED: Statement = replace(
    CONTRACTION,
    id="hou2023.contraction.sharpened",
    sides=lambda s: _sides(s, power=2),
    checks=battery(_squared_rate, *_BOTH),
)

STATEMENTS = (EQ3, NONEXPANSIVE, CONTRACTION, SHARPENED)
