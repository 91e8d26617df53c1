"""zhang2021 eq. (15): the drift of the local gradients from those at the round's start, as printed and sharpened.

(15) is a chain. A_1, the square of the clients' mean drift, is at most its middle line, the mean of the clients'
squared drifts. The right side bounds that as well. (14) takes A_1 from it, (19) and the sharpened theorem the middle
line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, WorstCase, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import average, expected
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.performance import FunctionClass
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021._runs import EXACT, LOCAL, MIDDLE

# The worst case of A_1, with noise: every noise takes the values n and -n with equal probability.


def drift(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A_1, or the middle line of (15), against the statement's right side.

    instance: Q; ``eta Q L``; clients (1 or 2); noisy; middle. L = 1, f_i smooth and not convex; x_t is the origin. With
    two clients both gradients differ from grad f(x_t) by the same length, so that sigma_g is that length.
    """
    from PEPit import PEP, Expression
    from PEPit.functions import SmoothFunction

    Q, n, noisy = int(instance["Q"]), int(instance["clients"]), bool(instance["noisy"])
    eta = float(Fraction(instance["eta Q L"])) / Q
    problem = PEP()
    functions = [problem.declare_function(SmoothFunction, L=1.0) for _ in range(n)]
    variance: Any = Expression() if noisy else 0.0  # sigma_l^2, at least every noise's square
    world = FunctionClass(problem, functions, variance)
    first = [world.gradient(i, world.zero) for i in range(n)]
    mean, algorithm = average(first), TwoSidedFedAvg(eta_l=eta, eta_g=1.0, Q=Q)

    def observed() -> Mapping[str, Any]:
        paths = run_round(algorithm, world, world.zero, errors=noisy).paths
        seen = [[world.gradient(i, y) for y in path[:Q]] for i, path in enumerate(paths)]
        if instance.get("middle"):
            return {"left": sum(world.square(g - at) for own, at in zip(seen, first) for g in own) / n}
        return {"left": world.square(Q * mean - average([Q * average(own) for own in seen])) / Q}

    left = expected(world, observed)["left"]
    apart = world.square(first[0] - mean) if n == 2 else 0.0
    values = {"L": 1.0, "eta_l": eta, "Q": float(Q), "sigma_l^2": variance, "sigma_g^2": apart}
    values |= {"square": world.square(mean), "drift_square": left}
    return WorstCase(problem, values, f"{statement.id}, L = 1")


def _drifts() -> Iterator[Check]:
    """The worst cases of A_1, and of the middle line, which is larger where the clients' gradients point apart."""
    for Q, clients, noisy in ((1, 2, False), (2, 1, True), (2, 2, False), (3, 1, True), (3, 2, False), (4, 1, False)):
        for product in ("129/1000", "1/100"):
            name = f"{clients} client{'s' * (clients > 1)}, Q = {Q}, eta_l Q L = {product}{', noise' * noisy}"
            instance = {"Q": Q, "clients": clients, "noisy": noisy, "eta Q L": product}
            yield Check("worst-case", name, drift, instance)
            if Q > 1 and product == "129/1000":
                yield Check("worst-case", f"the middle line, {name}", drift, {**instance, "middle": True})


_ALL = (EXACT("all inside"), MIDDLE("middle"), LOCAL("local wide middle"))


def _eq15_sides(s: Symbols) -> Sides:
    step = s.L**2 * s.Q**2 * s.eta_l**2
    return Sides(
        lhs={"A_1": s.drift_square},
        rhs={"variances": 5 * step * (s.sigma_l**2 + 6 * s.Q * s.sigma_g**2), "gradient": 30 * step * s.Q * s.square},
    )


@algebra("the lemma's limit on the step")
def _lemma3(s: Formula) -> Proof:
    """The lemma of Reddi et al. requires eta_l <= 1/(8QL); the theorem allows 1/(sqrt(60) QL), which is more.

    Its recursion multiplies by 1 + 1/(2Q-1) + 6 Q L^2 eta^2 each step, which must not exceed 1 + 1/(Q-1): at the
    theorem's limit the room is Q/((Q-1)(2Q-1)) - 1/(10 Q) > 0 for Q >= 2, so the lemma holds there as well. A step adds
    eta^2 (sigma_l^2 + 6 Q sigma_g^2 + 6 Q ||grad f||^2), and (Q-1)((1 + 1/(Q-1))^Q - 1) <= 3 (Q-1) < 5 Q of them are
    left; (15) is L^2 times the sum of Q such bounds.
    """
    Q = sp.Symbol("Q", integer=True, positive=True)
    room = 1 / (Q - 1) - 1 / (2 * Q - 1) - 6 * Q / (60 * Q**2)
    positive = (8 * Q**2 + 3 * Q - 1) / (10 * Q * (Q - 1) * (2 * Q - 1))
    added = s.eta_l**2 * (s.sigma_l**2 + 6 * s.Q * s.sigma_g**2 + 6 * s.Q * s.square)
    return [
        (room, positive, "the room in the lemma's recursion at eta_l = 1/(sqrt(60) QL)"),
        (s.rhs, s.Q * s.L**2 * 5 * s.Q * added, "(15) against Q times L^2 times the lemma"),
    ]


def _sharpened_sides(s: Symbols) -> Sides:
    drift = s.L**2 * s.Q**2 * s.eta_l**2
    return Sides(
        lhs={"A_1": s.drift_square},
        rhs={"noise": 4 * drift * s.sigma_l**2 / 3, "gradient": drift * s.Q * (s.sigma_g**2 + s.square)},
    )


@algebra("growth over the local steps")
def _growth(s: Formula) -> Proof:
    """Let a_q = sqrt(E||x_q - x_t||^2) and b_q = eta (sqrt(q) sigma_l + q ||grad f_i(x_t)||). Minkowski gives a_q <=
    b_q + eta L sum_{j<q} a_j. So a_q <= exp(eta L Q) b_q and b_q^2 <= 2 eta^2 (q sigma_l^2 + q^2 ||grad f_i(x_t)||^2).

    That is for one client. The mean over the clients of ||grad f_i(x_t)||^2 is at most ||grad f(x_t)||^2 + sigma_g^2.
    So the middle line of (15) is bounded, and with it A_1.

    L^2 times the sum over q < Q has the coefficients 2 sum q <= Q^2 and 2 sum q^2 <= (2/3) Q^3 times exp(2/sqrt(60)).
    """
    q, unit, right = sp.Symbol("q", integer=True), s.L**2 * s.eta_l**2, sp.expand(s.rhs)
    noise, square, apart = (right.coeff(x) / unit for x in (s.sigma_l**2, s.square, s.sigma_g**2))
    rest = sp.expand(right - unit * (noise * s.sigma_l**2 + square * s.square + apart * s.sigma_g**2))
    if rest != 0 or sp.expand(apart - square) != 0:
        return Outcome(False, f"(15), sharpened, has another form: {s.rhs}")
    growth, kept = sp.exp(2 / sp.sqrt(60)), [noise, square]
    sums = [sp.simplify(2 * sp.summation(q**power, (q, 0, s.Q - 1))) for power in (1, 2)]
    tops = [sp.limit(found / s.Q**n, s.Q, sp.oo) for n, found in zip((2, 3), sums)]
    # Both sums are below their leading terms: the differences are Q, and Q^2 - Q/3.
    missing = [sp.expand(top * s.Q**n - found) for top, n, found in zip(tops, (2, 3), sums)]
    below = [sp.expand(m - want) == 0 for m, want in zip(missing, (s.Q, s.Q**2 - s.Q / 3))]
    fits = [bool(growth * top <= k / s.Q**n) for top, k, n in zip(tops, kept, (2, 3))]
    return Outcome(
        all(below) and all(fits),
        f"exp(2/sqrt(60)) = {sp.N(growth, 6)} times {tops} fits below the coefficients {kept}: {fits}, sums: {below}",
    )


EQ15: Statement = zhang.proof_step(
    "zhang2021.eq15",
    symbols=zhang.symbols("L eta_l Q sigma_l sigma_g square"),
    expectations=zhang.expected("drift_square"),
    hypotheses=(zhang.LOCAL_STEP,),
    sides=_eq15_sides,
    checks=battery(_lemma3, _drifts(), *_ALL),
    smoke=("2 clients, Q = 1, eta_l Q L = 129/1000",),
)

SHARPENED: Statement = replace(
    EQ15, id="zhang2021.eq15.sharpened", sides=_sharpened_sides, checks=battery(_growth, _drifts(), *_ALL)
)

STATEMENTS = (EQ15, SHARPENED)
