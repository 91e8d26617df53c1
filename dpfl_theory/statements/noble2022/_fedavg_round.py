"""One round of DP-FedAvg with eta_g = sqrt(lM), for all M, lM and K, as Theorem C.2 repaired adds it up.

The paper cites Theorem V of Karimireddy et al. (2020b); this is a proof with smaller constants. One round, given x =
x^{t-1}; S = ||grad F(x)||^2, W = V/(KlM), theta = nu eta~ <= 1/(8 (1 + B^2)); || || of a random vector is a root mean
square over errors, cohorts and, for ``mean``, users.

1. Local steps. q = 1 + eta_l nu; for convex F_i, whose gradient steps do not expand, q = 1. With g_i = ||grad F_i(x)||

       ||y_i^k - x|| <= q ||y_i^{k-1} - x|| + eta_l g_i, and errors of second moment V at most on top, so that
       ||y_i^k - x|| <= q^k eta_l (k g_i + sqrt(k V))   by induction over k.

   Squared with 2ab <= a^2 + b^2, averaged over k < K and users, by Assumption 4 and eta_l = eta~/(K eta_g):

       drift E = mean ||y_i^{k-1} - x||^2 <= q^{2K} (eta~^2/(lM)) (2 (G^2 + B^2 S)/3 + V/K).

2. Move. x^t - x = -eta~ (D + X): X is the cohort's mean of grad F_i(x) and of the errors, ||X||^2 <= S + kappa (G^2 +
   (B^2 - 1) S) + W with kappa = (M - lM)/((M - 1) lM) <= 2 (1 - l)/(lM) for M >= 2 and 0 for M = 1; D is that of grad
   F_i(y_i^{k-1}) - grad F_i(x), ||D||^2 <= nu^2 E. Then ||D + X||^2 <= (1 + a) ||X||^2 + (1 + 1/a) ||D||^2.

3. Direction. Convex: <grad F_i(y), x - x*> >= F_i(x) - F_i(x*) - (nu/2) ||y - x||^2; with strong convexity also (mu/4)
   ||x - x*||^2 - (mu/2) ||y - x||^2; and S <= 2 nu (F(x) - F*) (Lemma C.2). Smooth: -<grad F, h> <= -S/2 + ||h - grad
   F||^2/2 for the mean direction h, ||h - grad F||^2 <= nu^2 E.

SymPy decides the identities behind the steps and the signs of the remaining polynomials. This text combines the steps
(`cost` and the lines below it), and the worst cases of one round of each class test that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.core import Check, Outcome, Performance, Statement
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, average, expected
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.statements.noble2022._step_size import RoundConstants, round_constants
from dpfl_theory.statements.noble2022._utility import ROUND_PART
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.symbolic import decided, errors


def cost(kind: str, theta: Any, ratio: Any, split: Any) -> Any:
    """The cost of the drift E for a round, of its direction and its move: in units of eta~ nu E, or eta~ nu^2 E for
    ``non-convex``. ratio: mu/nu."""
    moved = theta * (1 + 1 / split)
    if kind == "non-convex":
        return (1 + moved) / 2
    return 1 + (ratio if kind == "strongly convex" else 0) + moved


def proof(kind: str, claim: RoundConstants | None = None) -> Check:
    """The proof of the round that the statement's bound needs (`round_constants`), or of another claim for its class.

    Its slacks are polynomials in t = theta 8 (1 + B^2), u = 2/(1 + B^2), h = 1/(lM), 1 - l and w = mu/nu, all in [0,
    1], and are held to the unit box. Beyond roots, q^{2K} <= exp(2 theta) <= 8/7 for theta <= 1/16.

    >>> from dataclasses import replace
    >>> from dpfl_theory.statements import get
    >>> statement = get("noble2022.theoremC.2.convex.repaired")
    >>> less = replace(round_constants(statement, "convex"), noise=1)
    >>> proof("convex").make(statement).true, proof("convex", less).make(statement).true
    (True, None)
    """

    @algebra("one round for all users, cohorts and steps")
    def step(s: Formula) -> Proof:
        stated = round_constants(s.statement, kind) if claim is None else claim
        t, u, h, away, w = symbols = sp.symbols("t u h away w", nonnegative=True)
        gain, noise, users, drift, a = (
            sp.Rational(x) for x in (stated.gain, stated.noise, stated.users, stated.drift, stated.split)
        )
        theta, heavy = t * u / 16, t * (1 - u / 2) / 8  # nu eta~ and B^2 nu eta~
        kappa = 2 * away * h
        smooth = kind == "non-convex"
        growth = sp.Rational(8, 7) if smooth else 1
        if not bool(sp.exp(sp.Rational(1, 8)) <= sp.Rational(8, 7)):
            return Outcome(None, "exp(1/8) is not shown to be at most 8/7")
        price = growth * cost(kind, theta, w, a)
        drifts = {"G^2": sp.Rational(2, 3) * price, "V/K": price}
        slope = (1 + a) * (theta + kappa * (heavy - theta)) + theta * heavy * h * drifts["G^2"] * (2 if smooth else 1)
        slacks = {
            "progress": sp.Rational(1, 2) - gain - slope / 2 if smooth else 2 - gain - 2 * slope,
            "noise": noise - (1 + a) / (2 if smooth else 1) - theta * drifts["V/K"],
            "users": users - (1 + a) * kappa / (away * h) / (2 if smooth else 1),
            "drift": drift - drifts["G^2"],
        }
        return decided(_identities(kind, a), slacks, symbols)

    return step


def _identities(kind: str, a: Any) -> dict[str, tuple[Any, Any]]:
    """The identities behind the three steps; squares and products of nonnegative symbols on their right sides."""
    M, r, D, X, x, y, n, P, Q = sp.symbols("M r D X x y n P Q", positive=True)
    kappa = (M - r) / ((M - 1) * r)  # P = sum ||u_i||^2 and Q = ||sum u_i||^2 over M >= 2 users
    variance = (r * P / M + r * (r - 1) / (M * (M - 1)) * (Q - P)) / r**2 - Q / M**2
    found = errors() | _local_steps()
    found |= {
        "the variance of a cohort's mean": (variance, kappa * (P / M - Q / M**2)),
        "kappa against 2 (1 - l)/(lM)": (2 * (M - r) / (M * r) - kappa, (M - r) * (M - 2) / (M * (M - 1) * r)),
        "||D + X||^2 against 1 + a and 1 + 1/a": (
            (1 + a) * X**2 + (1 + 1 / a) * D**2 - (D + X) ** 2,
            (a * X - D) ** 2 / a,
        ),
    }
    if kind == "non-convex":
        return found | {"-<n, x>, n the mean direction": (-n * x, ((n - x) ** 2 - n**2 - x**2) / 2)}
    least, nu, slope = sp.symbols("least nu slope", real=True)  # F_i(x*), nu and F_i'(y); x* = 0
    mu = sp.Symbol("mu", positive=True) if kind == "strongly convex" else sp.Integer(0)
    at = least + slope * y - mu / 2 * y**2  # the most that (strong) convexity allows F_i(y) to be
    above = at + slope * (x - y) + nu / 2 * (x - y) ** 2  # the most that smoothness allows F_i(x) to be
    found["the direction"] = (above - least - nu / 2 * (x - y) ** 2 + mu / 2 * y**2, slope * x)
    if mu:
        found["||y - x*||^2 >= ||x - x*||^2/2 - ||y - x||^2"] = (y**2 - x**2 / 2 + (y - x) ** 2, (x - 2 * y) ** 2 / 2)
    return found


def _local_steps() -> dict[str, tuple[Any, Any]]:
    """Step 1: the induction from j to j + 1 steps, Q = q^(j + 1) >= 1, e = sqrt V; and the means over k < K."""
    Q, j, g, e, K = sp.symbols("Q j g e K", positive=True)
    k = sp.Symbol("k", integer=True, nonnegative=True)
    before, after = sp.sqrt(j), sp.sqrt(j + 1)
    room = Q**2 * ((j + 1) * g + after * e) ** 2 - (Q * (j * g + before * e) + g) ** 2 - e**2
    parts = (Q - 1) * (Q * (2 * j + 1) + 1) * g**2 + (Q**2 - 1) * e**2
    parts += 2 * Q * (Q * (j + 1) * (after - before) + (Q - 1) * before) * g * e
    square = sp.summation((k * g) ** 2, (k, 0, K - 1)) / K
    return {
        "induction over the local steps": (room, parts),
        "2ab <= a^2 + b^2": (2 * g**2 + 2 * e**2 - (g + e) ** 2, (g - e) ** 2),
        "the mean of k^2 below K^2/3": (K**2 * g**2 / 3 - square, (3 * K - 1) * g**2 / 6),
        "the mean of k below K/2": (K / 2 - sp.summation(k, (k, 0, K - 1)) / K, sp.Rational(1, 2)),
    }


_STEP = (
    "It decides the largest cost of a step from a free point for a round. The drift up to that point, which the proof "
    "of the round has, and the sum over T rounds remain."
)


def performance(statement: Statement, instance: Mapping[str, Any], claim: RoundConstants | None = None) -> Performance:
    """The requirement of the statement's bound on one round (`round_constants`), for eta~ = step/(8 (1 + B^2) nu), nu =
    1.

    Assumption 4 is required only at x; the errors of the local steps are +xi or -xi with xi^2 <= V.
    """
    from PEPit import PEP, Expression

    kind = str(instance["class"])
    stated = claim or round_constants(statement, kind)
    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    B, mu = float(instance["B"]), float(Fraction(str(instance.get("mu", 0))))
    step = float(Fraction(str(instance["step"]))) / (8 * (1 + B**2))
    eta_g = math.sqrt(size)
    problem = PEP()
    functions = declared(problem, kind, M, mu)
    x, V, G2 = Vector(problem.set_initial_point()), Expression(), Expression()
    problem.add_constraint(V >= 0)
    problem.add_constraint(G2 >= 0)
    world = FunctionClass(problem, functions, V)
    slope, squares = world.square(world.mean_gradient(x)), [world.square(world.gradient(i, x)) for i in range(M)]
    problem.add_constraint(average(squares) <= G2 + B**2 * slope)
    share = size / M
    right = step**2 * (float(stated.noise) * V / (K * size) + float(stated.users) * (1 - share) / size * G2)
    right = right + float(stated.drift) * step**3 / size * G2

    algorithm = TwoSidedFedAvg(eta_l=step / (K * eta_g), eta_g=eta_g, Q=K)

    def following() -> Vector:
        return run_round(algorithm, world, x, size=size, errors=True).x

    before, after, progress = _SIDES[kind](world, x, following)
    left = after + float(stated.gain) * step * progress
    return Performance(problem, left, (1 - mu * step / 2) * before + right, f"one round of DP-FedAvg, {kind}")


def _distance(world: FunctionClass, x: Vector, following: Callable[[], Vector]) -> tuple[Any, Any, Any]:
    """||x - x*||^2, its expectation after the round, and F(x) - F*. The last errors only add their variance."""
    star = world.minimiser_at_origin()
    after = expected(world, lambda: {"distance": world.square(following())})["distance"]
    return world.square(x), after, world.mean_value(x) - world.mean_value(star)


def _descent(world: FunctionClass, x: Vector, following: Callable[[], Vector]) -> tuple[Any, Any, Any]:
    """F(x) - F*, its expectation after the round, and ||grad F(x)||^2."""
    before = world.excess(x)
    after = expected(world, lambda: {"excess": world.excess(following())})["excess"]
    return before, after, world.square(world.mean_gradient(x))


def drift(statement: Statement, instance: Mapping[str, Any], price: float | None = None) -> Performance:
    """The cost of one local step from anywhere: x^t = x - eta~ grad f(y) for a free y, one user, B = 1, no errors.

    The round keeps the gain that the statement's bound needs for ``price`` eta~ ||y - x||^2, by default the cost of the
    drift in the proof.
    """
    from PEPit import PEP, Point

    kind, mu = str(instance["class"]), float(Fraction(str(instance.get("mu", 0))))
    step, claim = float(Fraction(str(instance["step"]))) / 16, round_constants(statement, kind)
    if price is None:
        price = float(cost(kind, step, mu, float(claim.split)))
    problem = PEP()
    world = FunctionClass(problem, declared(problem, kind, 1, mu))
    x, y = Vector(problem.set_initial_point()), Vector(Point())
    before, after, progress = _SIDES[kind](world, x, lambda: x - step * world.gradient(0, y))
    right = (1 - mu * step / 2) * before + price * step * world.square(y - x)
    left = after + float(claim.gain) * step * progress
    return Performance(problem, left, right, f"one step from a free point, {kind}")


_SIDES = {"convex": _distance, "strongly convex": _distance, "non-convex": _descent}
_SIZES: tuple[dict[str, Any], ...] = (
    {"M": 1, "size": 1, "K": 2, "B": 1},
    {"M": 2, "size": 1, "K": 1, "B": 1},
    {"M": 2, "size": 1, "K": 2, "B": 1},
    {"M": 2, "size": 2, "K": 2, "B": 1},
    {"M": 2, "size": 1, "K": 2, "B": 3},
    {"M": 3, "size": 1, "K": 1, "B": 2},
    {"M": 3, "size": 2, "K": 1, "B": 1},
)
_MORE: dict[str, dict[str, Any]] = {"convex": {}, "strongly convex": {"mu": "1/2"}, "non-convex": {}}
_FLAT = {"M": 2, "size": 1, "K": 1, "B": 1, "mu": "1/100"}


def checks(kind: str) -> Iterator[Check]:
    """The round by algebra, and worst cases for several numbers of users and local steps. They have the longest step
    and a tenth of it; for smooth functions, whose values enter at every end, there are fewer."""
    yield proof(kind)
    first = {"class": kind, **_MORE[kind], "step": "1"}
    yield Check("worst-case", "one step from a free point", drift, first, part=_STEP)
    smooth = [{"M": 2, "size": 2, "K": 1, "B": 1}] if kind == "non-convex" else []
    flat = [_FLAT] if kind == "strongly convex" else []
    for i in (*_SIZES, *smooth, *flat):
        large = kind == "non-convex" and i["M"] * i["K"] > 2
        if large and (i["B"] > 2 or i["size"] > 1):
            continue
        for step in ("1", "1/10") if i["K"] == 2 and not large else ("1",):
            at = f"M = {i['M']}, lM = {i['size']}, K = {i['K']}, B = {i['B']}, step {step}"
            at += f", mu = {i['mu']}" if "mu" in i else ""
            instance = {"class": kind, **_MORE[kind], **i, "step": step}
            yield Check("worst-case", f"one round, {at}", performance, instance, part=ROUND_PART)
