"""noble2022 Theorem C.2: the rates of DP-FedAvg with noise at every local step, under bounded dissimilarity; as
printed, and repaired, with their step sizes, their logarithm and explicit constants.

One round with eta_g = sqrt(lM), for all M, lM and K, as the repaired theorem adds it up:

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
(`_worst_cases.price` and the lines below it), and the worst cases of one round of each class test that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _moments as moments
from dpfl_theory.statements.noble2022 import _no_constant as refuting
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _step_size as step_size
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022 import _worst_cases as worst
from dpfl_theory.statements.noble2022._step_size import RoundConstants, round_constants
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.symbolic import decided, errors

_PRINTED = (noble.SMOOTH, noble.GRADIENTS, noble.DISSIMILAR, noble.SAMPLING)


def _steps(s: Symbols) -> Mapping[str, Any]:
    """eta_g = sqrt(lM), eta_l = 1/(8 (1 + B^2) nu K eta_g)."""
    eta_g = sp.sqrt(s.l * s.M)
    return {"eta_g": eta_g, "eta_l": 1 / (8 * (1 + s.B**2) * s.nu * s.K * eta_g)}


def _drift(s: Symbols) -> Any:
    """(nu G^2/T^2)^(1/3), each factor for itself."""
    third = sp.Rational(1, 3)
    return s.nu**third * s.G ** (2 * third) / s.T ** (2 * third)


CONVEX: Statement = noble.statement(
    **noble.named("noble2022.theoremC.2.convex"),
    hypotheses=(noble.CONVEX, *_PRINTED, noble.ROUNDS),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {
            "noise": s.c * s.D0 * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M),
            "sampling of users": s.c * s.G * s.D0 * sp.sqrt(1 - s.l) / sp.sqrt(s.T * s.l * s.M),
            "heterogeneity": s.c * s.D0 ** sp.Rational(4, 3) * _drift(s),
            "start": s.c * s.B**2 * s.nu * s.D0**2 / s.T,
        },
    ),
    prescription=_steps,
    checks=battery(
        refuting.starts_at_the_minimiser("D0"), refuting.two_slopes, refuting.first_step("excess", "fedavg")
    ),
    uses=("noble2022.lemmaC.1",),
)

STRONGLY_CONVEX: Statement = replace(
    CONVEX,
    **noble.named("noble2022.theoremC.2.strongly-convex"),
    hypotheses=(noble.STRONGLY_CONVEX, *_PRINTED, noble.LONG_ENOUGH_FEDAVG),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {
            "noise": s.c * noble.averaged(s) / (s.mu * s.T),
            "sampling of users": s.c * (1 - s.l) * s.G**2 / (s.mu * s.T * s.l * s.M),
            "heterogeneity": s.c * s.nu * s.G**2 / (s.mu**2 * s.T**2),
            "start": s.c * s.mu * s.D0**2 * sp.exp(-s.mu / (16 * (1 + s.B**2) * s.nu) * s.T),
        },
    ),
    checks=battery(
        refuting.two_slopes,
        refuting.bounded_gradients,
        runs.runs("fedavg", "after", edges=False, c=1.0)("moderate"),
    ),
    smoke=("four users, T = 600, c = 1",),
)

NON_CONVEX: Statement = replace(
    CONVEX,
    **noble.named("noble2022.theoremC.2.non-convex"),
    hypotheses=(*_PRINTED, noble.ROUNDS),
    sides=lambda s: Sides(
        {"gradient": s.gradient},
        {
            "noise": s.c * s.nu * sp.sqrt(s.F0) * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M),
            "sampling of users": s.c * s.nu * s.G * sp.sqrt(s.F0 * (1 - s.l)) / sp.sqrt(s.T * s.l * s.M),
            "heterogeneity": s.c * s.F0 ** sp.Rational(2, 3) * _drift(s),
            "start": s.c * s.B**2 * s.nu * s.F0 / s.T,
        },
    ),
    checks=battery(
        refuting.starts_at_the_minimiser("F0"), refuting.noise_stays, refuting.first_step("gradient", "fedavg")
    ),
    homogeneous=False,
)


_BASE = (noble.SMOOTH, noble.GRADIENTS, noble.WHOLE, noble.DISSIMILAR)


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
        price = growth * worst.price(kind, theta, w, a)
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


def ratio(s: Symbols) -> Any:
    """mu^2 D_0^2 T/W, W = 7V/(5KlM) + 5 (1 - l) G^2/(2lM) + 28 nu G^2/(9 mu T lM)."""
    return s.mu**2 * s.D0**2 * s.T / step_size.weight(s)


def _strongly_convex_sides(s: Symbols) -> Sides:
    per_round, log, spread = s.mu * s.T, sp.log(sp.Max(sp.E, ratio(s))), s.G**2 / (s.l * s.M)
    return Sides(
        {"excess": s.excess},
        {
            "noise": sp.Rational(147, 50) * log * noble.averaged(s) / per_round,
            "sampling of users": sp.Rational(21, 4) * log * (1 - s.l) * spread / per_round,
            "heterogeneity": sp.Rational(98, 15) * log**2 * s.nu * spread / per_round**2,
            "start": s.mu * s.D0**2 * sp.exp(-per_round / (16 * (1 + s.B**2) * s.nu)),
        },
    )


def _convex_sides(s: Symbols) -> Sides:
    sampling = s.G * s.D0 * sp.sqrt((1 - s.l) / (s.T * s.l * s.M))
    return Sides(
        {"excess": s.excess},
        {
            "noise": sp.sqrt(3) * s.D0 * sp.sqrt(noble.averaged(s) / s.T),
            "sampling of users": sp.Rational(3, 4) * sp.sqrt(10) * sampling,
            "heterogeneity": sp.cbrt(189) / 4 * sp.cbrt(s.D0**4 * s.nu * s.G**2 / (s.l * s.M) / s.T**2),
            "start": 6 * (1 + s.B**2) * s.nu * s.D0**2 / s.T,
        },
    )


def _non_convex_sides(s: Symbols) -> Sides:
    sampling = s.G * sp.sqrt(s.nu * s.F0 * (1 - s.l) / (s.T * s.l * s.M))
    drift = s.F0**2 * s.nu**2 * s.G**2 / (s.l * s.M) / s.T**2
    return Sides(
        {"slope": s.slope},
        {
            "noise": 2 * sp.sqrt(6 * s.nu * s.F0 * noble.averaged(s) / s.T),
            "sampling of users": 6 * sp.sqrt(sp.Rational(6, 5)) * sampling,
            "heterogeneity": 2 * sp.cbrt(sp.Rational(72, 5)) * sp.cbrt(drift),
            "start": 24 * (1 + s.B**2) * s.nu * s.F0 / s.T,
        },
    )


def _prescription(kind: str) -> Callable[[Symbols], Mapping[str, Any]]:
    """eta_g = sqrt(lM), and eta_l = eta~/(K eta_g) with the eta~ of `_step_size`."""

    def build(s: Symbols) -> Mapping[str, Any]:
        eta_g, slowest = sp.sqrt(s.l * s.M), 8 * (1 + s.B**2) * s.nu
        if kind == "strongly convex":
            slowest = sp.Max(slowest, s.mu * s.T / (2 * sp.log(sp.Max(sp.E, ratio(s)))))
        else:  # the largest of the reciprocals: nothing is divided by c_1 or c_2, which may be 0
            noise, users, c2 = step_size.coefficients(kind, s)
            per_start = s.T / step_size.start(kind, s)
            slowest = sp.Max(slowest, sp.sqrt((noise + users) * per_start), sp.cbrt(c2 * per_start))
        return {"eta_g": eta_g, "eta_l": 1 / (s.K * eta_g * slowest)}

    return build


def _battery(kind: str) -> tuple[Check, ...]:
    """The step size, one round, T rounds of quadratics, and runs."""
    if kind == "strongly convex":
        step, run = step_size.logarithm(ratio), runs.runs("fedavg", "before")
        found = run("ridge-users", near="moderate", without=runs.NO_RECORDS)
    else:
        step, run = step_size.three_cases(kind), runs.runs("fedavg")
        found = run("users", near="four of eight users", without=runs.NO_RECORDS)
    return battery(step, proof(kind), worst.of_fedavg(kind), moments.of_fedavg(kind), found)


CONVEX_REPAIRED: Statement = noble.statement(
    **noble.named("noble2022.theoremC.2.convex.repaired"),
    symbols=noble.MEANS,
    hypotheses=(noble.CONVEX, *_BASE, noble.ROUNDS, noble.APART),
    sides=_convex_sides,
    prescription=_prescription("convex"),
    checks=_battery("convex"),
    uses=("noble2022.lemmaC.1", "noble2022.lemmaC.2"),
)

STRONGLY_CONVEX_REPAIRED: Statement = replace(
    CONVEX_REPAIRED,
    **noble.named("noble2022.theoremC.2.strongly-convex.repaired"),
    symbols=noble.NOTATION,
    hypotheses=(noble.STRONGLY_CONVEX, *_BASE, noble.LONG_ENOUGH_FEDAVG),
    sides=_strongly_convex_sides,
    prescription=_prescription("strongly convex"),
    checks=_battery("strongly convex"),
)

NON_CONVEX_REPAIRED: Statement = replace(
    CONVEX_REPAIRED,
    **noble.named("noble2022.theoremC.2.non-convex.repaired"),
    symbols=noble.MEANS,
    hypotheses=(*_BASE, noble.ROUNDS, noble.AWAY),
    sides=_non_convex_sides,
    prescription=_prescription("non-convex"),
    checks=_battery("non-convex"),
    uses=("noble2022.lemmaC.1",),
)

STATEMENTS = (STRONGLY_CONVEX, CONVEX, NON_CONVEX, STRONGLY_CONVEX_REPAIRED, CONVEX_REPAIRED, NON_CONVEX_REPAIRED)
