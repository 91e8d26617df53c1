"""The descent behind noble2022 Lemma C.9 repaired: F(x^t) + 12 nu^3 eta~^2/l F_t falls over one round.

In the worst cases of one round every error of a local step is +xi or -xi with xi^2 <= V. So is that of the last step,
since F at the new model is not of degree two in it. The expectation over the cohorts is a finite sum. Old errors of the
control variates are as in `_round_performance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Case, Check, Outcome, Performance, Statement, checks
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import sides_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, expected
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._moments import RoundMoments, Users, rounds, users_of
from dpfl_theory.statements.noble2022._step_limit import least_slacks, limit
from dpfl_theory.statements.noble2022.scaffold import _round_instances as exact
from dpfl_theory.statements.noble2022.scaffold import lemmaC_4, lemmaC_5, lemmaC_6, lemmaC_7
from dpfl_theory.statements.noble2022.scaffold._round_performance import earlier_rounds, lag, mean_square

__all__ = ["combination", "descent", "descent_checks", "performance", "round_constants", "worst_descents"]


Kept = tuple[Fraction, Fraction, Fraction]
"""The factors of -eta~ ||F'||^2, nu eta~^2 V/(KlM), and nu eta~^2 V/(K eta_g^2)."""


def round_constants(statement: Statement) -> Kept:
    """The factors that one round must keep so that T rounds add up to the statement's bound. They are read from its
    terms where all symbols are 1 (and eta_g is 2, for the third).

    >>> from dpfl_theory.statements import get
    >>> [str(v) for v in round_constants(get("noble2022.lemmaC.9.repaired"))]
    ['5/12', '5/2', '5/12']
    """
    terms, one = sides_of(statement).rhs, dict.fromkeys(symbols_of(statement), 1)
    start = evaluate(terms["start"], one) / 24
    both, less = (evaluate(terms["noise"] ** 2, {**one, "varsigma": 0, "eta_g": v}) / (4 * start) for v in (1, 2))
    shared = (both - less) * Fraction(4, 3)
    return 1 / start, (both - shared) / start, shared / start


def descent(u: Users, m: RoundMoments, given: Kept) -> tuple[Fraction, Fraction]:
    """Its change over one round on quadratics: at most -gain eta~ ||F'||^2 + nu eta~^2 V/(KlM) (alone + shared
    lM/eta_g^2)."""
    gain, alone, shared = given
    weight = 12 * u.smoothness**3 * u.step**2 / u.share
    half = u.mean_curvature / 2
    noise = u.smoothness * u.step**2 * u.variance / (u.local_steps * u.size)
    right = m.gap + weight * m.lag + noise * (alone + shared * Fraction(u.size) / u.eta_g**2)
    return half * m.distance_after + weight * m.lag_after + gain * u.step * m.slope, right


def combination(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """F(x^t) <= F(x^{t-1}) - (eta~/2)||grad F||^2 + (eta~/2) nu^2 drift + (nu/2)||x^t - x^{t-1}||^2, with Lemma C.4, 12
    nu^3 eta~^2/l times Lemma C.5 (alpha = 2/3) and 10/27 of Lemma C.6, all sharpened. This is compared with the need of
    the statement's bound (`round_constants`).

    With theta = 24 nu eta~/l^(2/3), p = l^(2/3) and h = 1/eta_g^2 in [0, 1] and z = lM/eta_g^2 >= 0 each slack is
    affine in each symbol: the corners of the first three decide, where the slack at z = 0 and its increase in z are not
    negative. The instance may give the noise's factor ("alone") and that of lM/eta_g^2 in it ("shared").
    """
    gain, alone, shared = (sp.Rational(v) for v in round_constants(statement))
    s = symbols_of(lemmaC_4.C4_SHARPENED)
    eta, nu, share, eta_g = s["eta"], s["nu"], s["l"], sp.Symbol("eta_g", positive=True)

    def side(lemma: Statement, which: str) -> Any:
        own = symbols_of(lemma)
        named = {own[name]: s[name] for name in own if name in s}
        named |= {own["alpha"]: sp.Rational(2, 3)} if "alpha" in own else {}
        return total(lemma, which).subs(named)

    weight = 12 * nu**3 * eta**2 / share
    drift = side(lemmaC_6.C6_SHARPENED, "rhs") - side(lemmaC_6.C6_SHARPENED, "lhs")
    change = -eta / 2 * s["slope"] + eta / 2 * nu**2 * s["drift"] + nu / 2 * side(lemmaC_4.C4_SHARPENED, "rhs")
    change += weight * (side(lemmaC_5.C5_SHARPENED, "rhs") - s["lag"]) + sp.Rational(10, 27) * drift
    W = noble.averaged(s)
    alone, shared = sp.Rational(instance.get("alone", alone)), sp.Rational(instance.get("shared", shared))
    claim = -gain * eta * s["slope"] + nu * eta**2 * W * (alone + shared * share * s["M"] / eta_g**2)
    slack = sp.expand(claim - change)
    scale = {"slope": eta, "drift": nu**2 * eta, "lag": nu**3 * eta**2, "noise": nu * eta**2 * W}
    moments = ("slope", "drift", "lag")
    parts = {name: slack.coeff(s[name]) for name in moments} | {"noise": slack.subs({s[v]: 0 for v in moments})}
    return least_slacks({name: parts[name] / unit for name, unit in scale.items()}, {**s, "eta_g": eta_g}, "per z")


def _one_round(statement: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """Every round from every start and at every variance of the instance."""
    given, found = round_constants(statement), []
    for start, V in product(instance["start"], instance["V"]):
        users = users_of({**instance, "start": start, "V": V})
        for t, moments in enumerate(rounds(users, int(instance["T"])), 1):
            at = {"t": t, "x^0": start, "V": V, "M": len(users.curvatures), "lM": users.size, "K": instance["K"]}
            found.append(Case(at, *descent(users, moments, given)))
    return found


def descent_checks() -> tuple[Check, ...]:
    """One round on quadratics, at the longest step where that is a fraction."""
    chosen = {}
    for name, instance in {**exact.CONVEX, **exact.OTHER}.items():
        step = lemmaC_7.largest_step(Fraction(int(instance["size"]), len(instance["curvatures"])), Fraction(0))
        if instance["K"] < 3:
            chosen[f"one round, {name}, eta~ nu = {step}"] = {**instance, "eta~ nu": str(step)}
    return checks("exact", _one_round, chosen, part=noble.ROUND_PART)


def performance(statement: Statement, instance: Mapping[str, Any], claim: Kept | None = None) -> Performance:
    """E F(x^t) - F* + w F_t + gain eta~ ||grad F(x)||^2 <= F(x) - F* + w F_{t-1} + nu eta~^2 V/(KlM) (alone + shared
    lM/eta_g^2), w = 12 nu^3 eta~^2/l, nu = 1, eta~ = l^(2/3)/24, with the factors that the statement's bound needs
    (`round_constants`)."""
    from PEPit import PEP, Expression

    gain, alone, shared = (float(v) for v in claim or round_constants(statement))
    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    share, eta_g = size / M, float(instance.get("eta_g", 1))
    step = limit({"l": share, "nu": 1})
    weight, problem = 12 * step**2 / share, PEP()
    functions = declared(problem, "non-convex", M)
    x, V = Vector(problem.set_initial_point()), Expression()
    world = FunctionClass(problem, functions, V)
    before, lagged = earlier_rounds(world, x, K, V)
    algorithm = Scaffold(eta_l=step / (K * eta_g), eta_g=eta_g, K=K)

    def observed() -> Mapping[str, Any]:
        after = run_round(algorithm, world, *before.following, size=size, errors=True)
        return {"value": world.excess(after.x), "lag": lag(world, after, lagged)}

    start, found = world.excess(x), expected(world, observed)
    left = found["value"] + weight * found["lag"] + gain * step * world.square(world.mean_gradient(x))
    right = start + weight * mean_square(world, lagged, x)
    right = right + step**2 * (alone + shared * size / eta_g**2) / (K * size) * V
    return Performance(problem, left, right, "descent over one round, the gain on the left")


_SIZES: tuple[dict[str, Any], ...] = (
    {"M": 1, "size": 1, "K": 2},
    {"M": 2, "size": 1, "K": 1},
    {"M": 2, "size": 2, "K": 1, "eta_g": 1.4},
)


def worst_descents() -> tuple[Check, ...]:
    """The descent for several numbers of users and local steps, at the longest step."""
    chosen = {f"descent, M = {i['M']}, lM = {i['size']}, K = {i['K']}": i for i in _SIZES}
    return checks("worst-case", performance, chosen, part=noble.ROUND_PART)
