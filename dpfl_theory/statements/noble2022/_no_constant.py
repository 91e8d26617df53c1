"""Instances on which no constant saves Theorems C.1 and C.2 as printed, whose steps are fixed: noise that no weights
remove, and the first step from a minimiser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Check, Experiment, Outcome, Statement, Symbols, Values, WorstCase
from dpfl_theory.lazy import PEPit
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import expected
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022._instances import points_of, run_of
from dpfl_theory.statements.noble2022._moments import rounds, single_user
from dpfl_theory.statements.noble2022._worst_cases import opened
from dpfl_theory.statements.relations import Formula, Proof, algebra

ROUNDS = (10**4, 10**8, 10**12, 10**16)
WIDTH = 8
"""w over eta~ sqrt(V)."""
_SLOPES: dict[str, Any] = {"nu": "10", "mu": "1", "M": "1", "T": list(ROUNDS)}


def single(s: Symbols, *names: str) -> dict[Any, Any]:
    """The symbols of these names at 1, without the records' spread, and without dissimilarity."""
    alike = {s.B: 1, s.G: 0} if "B" in s else {}
    return {s[name]: 1 for name in names} | {s.varsigma: 0} | alike


def too_short_a_step(s: Symbols, ratio: Any, left: Any, unit: str) -> Outcome:
    """A step of 1/(1000 nu T) lies in the printed range, and nothing moves.

    ratio: the right side at a T that grows with c, over the unit of the left one. It is smaller for every c >= 1 where
    it is smaller for c = 1 and falls as c grows.
    """
    at = [ratio.subs(s.c, value).evalf(20) for value in (1, 10**3, 10**6, 10**12)]
    refuted = at[0] < left and all(a >= b for a, b in pairwise(at))
    return Outcome(
        False if refuted else None,
        f"with eta_l = 1/(1000 nu T) the left side is at least {float(left):.4g} {unit}, the right side {ratio} of it: "
        f"{float(at[0]):.3g} for c = 1 and less for larger c",
        {"right": str(ratio)},
    )


def _step(s: Formula, at: Mapping[Any, Any]) -> Any:
    """The prescribed eta_g eta_l, which is eta~ for one local step."""
    return (s.prescribed["eta_g"] * s.prescribed["eta_l"].subs(s.eta_g, s.prescribed["eta_g"])).subs(at)


@algebra("noise that no weights remove", expected="violated")
def noise_stays(s: Formula) -> Proof:
    """A non-convex part: a start at which no weights help, over x^0 or from x^1 on.

    One user, M = l = K = s = R = B = 1, F(x) = nu x^2/2 up to |x| = w and linear beyond (gradients of at most nu w),
    noise xi ~ N(0, V) in each step, V = Sigma^2/2, x^0 = eta~ sqrt(V). Let z = x - eta~ F'(x), so that x' = z + eta~ xi
    with xi independent of z. Whatever z is, E min(x'^2, w^2) is least at z = 0 (Anderson). So E F'(x^t)^2 >= nu^2 E
    min(eta~^2 xi^2, w^2) for all t >= 1; at w = 8 eta~ sqrt(V) that is nu^2 eta~^2 V up to a factor of 1 - 10^(-12).
    """
    one = single(s, "M", "l", "K", "s", "R")
    eta, V = _step(s, one), s.Sigma**2 / 2
    # E min(xi^2, w^2)/V for a standard normal: erf(w/sqrt 2) - w sqrt(2/pi) e^(-w^2/2) + w^2 erfc(w/sqrt 2)
    w = sp.Integer(WIDTH)
    tail = sp.erfc(w / sp.sqrt(2))
    kept = 1 - tail - w * sp.sqrt(2 / sp.pi) * sp.exp(-(w**2) / 2) + w**2 * tail
    floor = sp.simplify(s.nu**2 * eta**2 * V)
    right = s.rhs.subs(one).subs(s.F0, s.nu * eta**2 * V / 2)
    tends = sp.limit(right, s.T, sp.oo)
    unit = {s.c: 1, s.nu: 1, s.Sigma: 1}
    needed = {T: float((floor / right).subs(unit).subs(s.T, T).evalf(20)) for T in ROUNDS}
    rising = list(needed.values()) == sorted(needed.values()) and needed[ROUNDS[-1]] > 10**4 * needed[ROUNDS[0]]
    refuted = tends == 0 and bool(floor.is_positive) and 0 <= sp.N(1 - kept, 30) < 1e-12 and rising
    return Outcome(
        False if refuted else None,
        f"E||grad F||^2 stays at {floor} for x^0 and every later iterate, so for all weights and T, while the "
        f"right side tends to {tends} for every constant",
        {"floor": str(floor), "eta": str(eta), "needed": {str(T): c for T, c in needed.items()}},
    )


def keeps_a_distance(s: Formula, **instance: Any) -> Proof:
    """For a step that does not shrink with T the excess stays above a floor, whatever the weights, while the right side
    tends to 0.

    One dimension, equal users, l = K = s = 1: x' = x - eta F'(x) + eta xi, xi ~ N(0, tau^2), tau^2 = Sigma^2/(2M),
    F'(x) = nu x for x > 0 and mu x for x < 0. With m = E x and p = E max(x, 0): m' = (1 - eta mu) m - eta (nu - mu)
    p, and E|x'| >= eta E|xi| = 2h, so that p >= (2h + m)/2 from the first iterate on. From x^0 = -h follows m_t <= -a,
    a = min((1 - eta mu) h, eta (nu - mu) h/2), for all t >= 1; by Jensen's inequality E F(xbar) >= mu a^2/2.

    Only the symmetry of xi is used. Where the instance has varsigma for Sigma, one user of two records, with gradients
    F'(x) +- varsigma, draws one in each step, without privacy noise: |x^t| <= varsigma/mu for all t, so that no
    gradient is longer than C = (nu/mu + 1) varsigma. eta is the step that the statement prescribes.

    For a convex part, gradients cut at a large L keep its floor: the induction m' <= -2a has a factor 2 of room from
    the second step on, and the cut adds at most eta nu^2 E x^2/(4L) to m'.
    """
    nu, mu, users = (sp.Rational(instance[name]) for name in ("nu", "mu", "M"))
    noise, records = (sp.Rational(instance.get(name, 0)) for name in ("Sigma", "varsigma"))
    if records and (noise or users != 1):
        raise ValueError("either Gaussian noise, or the records of one user")
    one = {**single(s, "l", "K", "s", "R", "c"), s.nu: nu, s.M: users}  # sR = 1 in either case
    del one[s.varsigma]
    one |= {s.mu: mu} if "mu" in s else {}
    eta = _step(s, one)
    h = eta * (records + noise / sp.sqrt(2 * users) * sp.sqrt(2 / sp.pi)) / 2
    a = sp.Min((1 - eta * mu) * h, eta * (nu - mu) * h / 2)
    floor = mu * a**2 / 2
    right = s.rhs.subs({**one, s.Sigma: noise, s.D0: h, s.varsigma: records})
    needed = {T: float((floor / right.subs(s.T, T)).evalf(20)) for T in instance["T"]}
    tends = sp.limit(right, s.T, sp.oo)
    refuted = tends == 0 and floor.evalf() > 0 and list(needed.values()) == sorted(needed.values())
    shown = ", ".join(f"{c:.3g} at T = {T:.0e}" for T, c in needed.items())
    return Outcome(
        False if refuted else None,
        f"the excess stays above {float(floor):.4g} for all T and weights, the right side tends to {tends}: the "
        f"constant must be at least {shown}",
        {"floor": float(floor), "eta": str(eta), "start": float(-h), "needed": {str(k): v for k, v in needed.items()}},
    )


two_slopes = algebra("a step that does not shrink with T", expected="violated", **_SLOPES, Sigma="1")(keeps_a_distance)
"""The check of a convex part, and of a strongly convex one with privacy noise."""
_BOUNDED: dict[str, Any] = {**_SLOPES, "varsigma": "1"}
bounded_gradients = algebra("the same with bounded gradients", expected="violated", **_BOUNDED)(keeps_a_distance)
"""Of a strongly convex part, with a sample of records whose gradients are bounded."""


def starts_at_the_minimiser(start: str) -> Check:
    """x^0 = x*, so that the printed right side is 0 whatever c is; one round of one local step by all users.

    F_i(x) = nu ||x||^2/2 for all i, s = 1: x^1 is eta_g eta_l times the mean of M Gaussian vectors (the control
    variates cancel), each with second moment Sigma^2/2, and the only weight is w_1 = 1. start: ``D0`` or ``F0``.
    """

    @algebra("start at the minimiser", expected="violated")
    def step(s: Formula) -> Proof:
        one = single(s, "l", "K", "T", "s")
        moment = _step(s, one) ** 2 * s.Sigma**2 / (2 * s.M)  # E||x^1||^2
        left = s.nu * moment / 2 if start == "D0" else s.nu**2 * moment
        right = s.rhs.subs(one).subs(s[start], 0)
        return Outcome(
            False if right == 0 and bool(left.is_positive) else None,
            f"at x^0 = x* with T = K = l = s = 1 the left side is {left}, the right side {right} for every constant",
            {"left": str(left), "right": str(right)},
        )

    return step


_ONE = dict.fromkeys(("K", "M", "l", "s", "R", "T", "eta_g", "c", "nu", "B"), 1) | {"G": 0, "varsigma": 0}


def performance(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One step of one user from x^0 = x*, nu = 1, D_0 = F_0 = 0: its error is +xi or -xi, xi^2 <= V = Sigma^2/2.

    A smooth function that is bounded below by F* has F(x) - F* >= ||F'(x)||^2/2 everywhere, convex or not.
    """
    exact, (world, _origin, V) = Fraction(str(instance["eta~ nu"])), opened(instance["class"], 1)
    least = PEPit.Expression()  # of the problem that was just opened
    world.functions[0].add_point((world.zero.known, world.zero.known, least))
    algorithm = Scaffold(eta_l=float(exact), eta_g=1.0, K=1)

    def observed() -> Mapping[str, Any]:
        x = world.resolved(run_round(algorithm, world, world.zero, errors=True).x)
        square, excess = world.square(world.gradient(0, x)), world.value(0, x) - least
        world.problem.add_constraint(square / 2 <= excess)
        return {"excess": excess, "gradient": square}

    side = str(instance["side"])
    values = {**_ONE, "eta_l": exact, "D0": 0, "F0": 0, "Sigma^2": 2 * V, side: expected(world, observed)[side]}
    return WorstCase(world.problem, values, f"the first step from x*, {instance['class']}, against 0")


def cases(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """E||grad F(x^1)||^2 for F(x) = nu x^2/2 near x* and one user, noise of second moment Sigma_g^2/2 in each step, at
    x^0 = x*, in fractions; the instance gives eta~ over its limit."""
    nu, Sigma = Fraction(2), Fraction(1, 3)
    for eta in (Fraction(share) / (24 * nu) for share in instance["eta~ over its limit"]):
        (first,) = rounds(single_user(nu, eta, Fraction(0), Sigma**2 / 2), 1)
        values = {**_ONE, "nu": nu, "Sigma": Sigma, "eta_l": eta, "D0": 0, "F0": 0, "gradient": first.slope_after}
        yield Values(values, {"eta~": eta, "nu": nu, "Sigma": Sigma})


def worst(side: str, step: str) -> Check:
    """The worst case of the first step; side: ``excess`` or ``gradient``; step: eta~ nu as text."""
    instance = {"class": {"excess": "convex"}.get(side, "non-convex"), "side": side, "eta~ nu": step}
    return Check("worst-case", "one step from the minimiser, one user", performance, instance, "violated")


def first_step(side: str, method: str) -> Iterator[Check]:
    """The printed right sides of the convex and non-convex parts are 0 at x^0 = x*, whatever the constant that O hides:
    any noise moves the model. side: ``excess`` or ``gradient``; method: ``scaffold`` or ``fedavg``."""
    yield worst(side, "1/24" if method == "scaffold" else "1/16")
    run = run_of(points_of(3), 3, 1, 1, 0.5, distance=0.0, replicates=128)
    instance = {**run, "method": method, "c": 1e6}

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        """Three users with the same Huber loss, x^0 = x*, T = K = 1: the output is x^1, which has all of the weight."""
        return runs.run(statement, instance, instance["method"], c=float(instance["c"]))

    yield Check("monte-carlo", "one step from the minimiser", build, instance, "violated")
