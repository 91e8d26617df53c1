"""hou2023 Appendix B.1: the first steps of Theorem 1's proof, on the effect of a communication."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.scaffnew import DPScaffNew, ScaffNew
from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbol, Symbols, Values, WorstCase, checks
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, average
from dpfl_theory.semantics.operations import WorldOperations, run_round
from dpfl_theory.semantics.performance import FunctionClass
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._runs import Iterate, iterated, parts
from dpfl_theory.statements.symbolic import equal

__all__ = ["ALONE", "CLIENTS", "QUADRATICS", "STATEMENTS", "VARIANCE", "WHERE"]

WHERE = "Appendix B.1, proof of Theorem 1"
_MEAN = Symbol(
    "mean_shift", r"length of $(1/N) \sum_i h_t^{(i)}$", (1, -1), "nonnegative", r"\|\mathbf{A}(\mathbf{h}_t)\|"
)
_T1 = Symbol(
    "T_1", r"$E\|A(x + e_t) - A(y)\|^2$, the first part of $\psi$ after communicating", (0, 2), "nonnegative", "T_1"
)
_T2 = Symbol("T_2", r"the second part of $\psi$ after communicating", (0, 2), "nonnegative", "T_2")
_Y = Symbol("y_t", r"$\|[\hat x_{t+1} - x^*] - (\eta/p)[h_t - h^*]\|$", (0, 1), "nonnegative", r"\|\mathbf{y}_t\|")
VARIANCE = Symbol("noise_variance", "variance of a message's noise per coordinate", (0, 2), "nonnegative", r"\sigma^2")


# (3): the control variates sum to zero.


def _eq3_sides(s: Symbols) -> Sides:
    return Sides(lhs={"mean": s.mean_shift}, rhs={"zero": sp.Integer(0)})


def _projection(_: Statement, instance: Mapping[str, Any]) -> Outcome:
    """A(h + (p/eta)(A Delta - Delta)) = A h for every Delta, clipped and noisy or not: polynomials in A, A^2 = A."""
    A, h, delta, weight = sp.symbols("A h Delta weight")
    after = sp.rem(sp.expand(A * (h + weight * (A * delta - delta))), A**2 - A, A)
    return equal(after, A * h, "the mean of the next control variates against the mean of these")


def _eq3_cases(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """Algorithm 2 in rational numbers, clipped and with noise, on f_i(x) = q_i (x - c_i)^2/2: |sum_i h_t^{(i)}|/N."""
    q, c, h = ([Fraction(v) for v in instance[k]] for k in ("q", "c", "h_0"))
    eta, p, C = (Fraction(instance[k]) for k in ("eta", "p", "C"))
    server = Vector(Fraction(instance["x_0"]))
    if sum(h) != 0:
        raise ValueError(f"the first shifts add up to {sum(h)}, not to 0 as Algorithm 2 asks for")
    world = Quadratics(q, [a * b for a, b in zip(q, c)])
    world.restart([0 if coin else 1 for coin, _ in instance["rounds"]])
    algorithm, found = DPScaffNew(eta=eta, p=p, C=C, sigma=1), []
    now: Iterate = server, ((server,) * len(q), tuple(map(Vector, h)))
    for t, (_coin, noise) in enumerate(instance["rounds"]):
        for i, e in enumerate(noise):
            world.fix(("noise", t, i), Fraction(e))
        now = run_round(algorithm, world, *now, t=t).following
        controls = now[1][1]
        mean_shift = abs(world.substitute_known(average(controls)).known)
        shifts = tuple(world.substitute_known(shift).known for shift in controls)
        found.append(Values({"mean_shift": mean_shift}, instance={"t": t + 1, "h": shifts}))
    return found


# The identity for T_1 + T_2.


def _nonexpansive_sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"consensus": s.T_1, "control variates": s.T_2},
        rhs={"deviation": s.y_t**2, "noise": s.N * s.d * s.noise_variance},
    )


def _pythagoras(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """||A z||^2 + ||A z - z||^2 = ||z||^2 for the projection A: A^T A + (A - I)^T (A - I) = I with A^2 = A = A^T; the
    sides without noise, as quadratic forms in z = y_t."""
    s, A = symbols_of(statement), sp.Symbol("A")
    forms = {s.T_1: A * A, s.T_2: (A - 1) * (A - 1), s.y_t: 1, s.noise_variance: 0}
    left, right = (total(statement, side).subs(forms) for side in ("lhs", "rhs"))
    left = sp.rem(sp.expand(left), A**2 - A, A)
    return equal(left, right, "A^T A + (A - I)^T (A - I) against the identity")


def _nonexpansive_cases(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """One communication (coin 1) of the linear-Gaussian dynamics on quadratics, from unequal x_i and h_i."""
    q, a, b = ([Fraction(v) for v in instance[k]] for k in ("q", "a", "b"))
    n, found = len(q), []
    for eta, p, variance in ((Fraction(1, 2), Fraction(1, 3), Fraction(0)), (Fraction(1), Fraction(1), Fraction(2, 7))):
        consensus, control = parts(iterated(a, b, q, eta, Fraction(1), 1, variance, gain=p / eta))
        moved = [(1 - eta * qi) * ai + eta * bi - eta / p * bi for qi, ai, bi in zip(q, a, b)]
        symbols = {"T_1": consensus, "T_2": (eta / p) ** 2 * control, "N": n, "d": 1}
        symbols |= {"y_t": sp.sqrt(sum(m * m for m in moved)), "noise_variance": variance}
        found.append(Values(symbols, instance={"eta": eta, "p": p, "sigma^2": variance}))
    return found


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


CLIENTS = {"q": ["1", "1/4", "1/10"], "a": ["2", "-1", "3"], "b": ["1", "1/2", "-3/2"]}
ALONE = {"q": ["1/4"], "a": ["2"], "b": ["0"]}
QUADRATICS = {"quadratics, three clients": CLIENTS, "quadratics, one client": ALONE}
_BOTH_WAYS = {
    f"{way}, N = {n}": {"N": n, "eta/p": "2", "reverse": way == "at least"}
    for n in (1, 2, 4)
    for way in ("at most", "at least")
}
_CLIPPED = {
    "q": ["1", "1/3", "1/2"],
    "c": ["0", "6", "-2"],
    "eta": "1/2",
    "p": "1/3",
    "C": "1",
    "x_0": "20",
    "h_0": ["1", "2", "-3"],
    "rounds": [[1, ["1/7", "-2", "1/3"]], [0, []], [0, []], [1, ["5", "-1/9", "0"]], [1, ["-1", "1", "1/4"]]],
}

_KEPT = "It decides that no communication changes the mean; its value 0 then follows from h_0, as Algorithm 2 asks for."

EQ3: Statement = Statement(
    id="hou2023.eq3",
    kind="step",
    source=Source(hou.PAPER, WHERE, "3"),
    symbols=(_MEAN,),
    relation="==",
    sides=_eq3_sides,
    checks=(
        Check("algebra", "A(A Delta - Delta) = 0", _projection, part=_KEPT),
        Check("exact", "clipped and noisy run in rational numbers", _eq3_cases, _CLIPPED),
    ),
)

NONEXPANSIVE: Statement = Statement(
    id="hou2023.nonexpansive",
    kind="step",
    source=Source(hou.PAPER, f"{WHERE}, after (4)"),
    symbols=(_T1, _T2, _Y, VARIANCE, *hou.symbols("N", "d")),
    relation="==",
    sides=_nonexpansive_sides,
    checks=(
        Check("algebra", "A is a projection", _pythagoras),
        *checks("worst-case", performance, _BOTH_WAYS),
        *checks("exact", _nonexpansive_cases, QUADRATICS),
    ),
    uses=("hou2023.eq3",),
)

STATEMENTS = (EQ3, NONEXPANSIVE)
