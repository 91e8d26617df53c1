"""zhang2021 eq. (15): the drift of the local gradients from those at the round's start, as printed and sharpened.

(15) is a chain. A_1, the square of the clients' mean drift, is at most its middle line, the mean of the clients'
squared drifts. The right side bounds that as well. (14) takes A_1 from it, (19) and the sharpened theorem the middle
line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021._round import local_steps
from dpfl_theory.statements.zhang2021._runs import EXACT, LOCAL, MIDDLE


def _drifts() -> Iterator[Check]:
    """The worst cases of A_1, and of the middle line, which is larger where the clients' gradients point apart."""
    for Q, clients, noisy in ((1, 2, False), (2, 1, True), (2, 2, False), (3, 1, True), (3, 2, False), (4, 1, False)):
        for product in ("129/1000", "1/100"):
            name = f"{clients} client{'s' * (clients > 1)}, Q = {Q}, eta_l Q L = {product}{', noise' * noisy}"
            instance = {"Q": Q, "clients": clients, "noisy": noisy, "eta Q L": product}
            yield Check("worst-case", name, local_steps, instance)
            if Q > 1 and product == "129/1000":
                yield Check("worst-case", f"the middle line, {name}", local_steps, {**instance, "middle": True})


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
