"""noble2022 Lemma C.9: the convergence of DP-SCAFFOLD-warm for smooth objectives, printed and repaired.

The descent behind the repaired form: F(x^t) + 12 nu^3 eta~^2/l F_t falls over one round. In the worst cases of one
round every error of a local step is +xi or -xi with xi^2 <= V. So is that of the last step, since F at the new model is
not of degree two in it. The expectation over the cohorts is a finite sum. Old errors of the control variates are as in
`_worst_cases`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, battery, checks
from dpfl_theory.core.check_inputs import Case, Experiment, Performance
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import expected
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.statements.instances import problem
from dpfl_theory.statements.noble2022 import _moments as one_user
from dpfl_theory.statements.noble2022 import _no_constant as refuting
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022 import _worst_cases as worst
from dpfl_theory.statements.noble2022._instances import QUADRATICS, run_of
from dpfl_theory.statements.noble2022._moments import RoundMoments, Users
from dpfl_theory.statements.noble2022._step_size import least_slacks, limit, step_limit_symbolic, two_cases
from dpfl_theory.statements.noble2022.scaffold import _rounds as exact
from dpfl_theory.statements.noble2022.scaffold import lemmaC_4_to_6 as lemmas
from dpfl_theory.statements.noble2022.scaffold import lemmaC_7
from dpfl_theory.statements.relations import Formula, Proof, algebra


@algebra("no step size helps", expected="violated")
def _no_step_helps(s: Formula) -> Proof:
    """Whatever eta_l and the weights are: F(x) = nu x^2/2 up to |x| = k and linear beyond, x^0 = k, M = l = K = s =
    eta_g = 1, errors N(0, V), V = Sigma^2/2 = 8 T nu^2 k^2.

    Gradients are at most nu k. So x^t >= k wherever the sum of the t errors is at least t nu k, which has probability
    Phi(-sqrt(t) nu k/sqrt(V)) >= Phi(-1/sqrt(8)) for every step size. There F'(x^t)^2 = nu^2 k^2 = 2 nu F_0. At T = 4c
    the right side is 8 c sqrt(nu) F_0 + nu F_0/4, below 2 Phi(-1/sqrt(8)) nu F_0 once nu is large: the units of the
    first term are wrong, and a change of units decides.
    """
    unit = refuting.single(s, "K", "M", "l", "s", "R", "eta_g")
    c, nu, F0, T = s.c, s.nu, s.F0, s.T
    positive = sp.Symbol("F0", positive=True)
    Sigma = sp.sqrt(2 * 16 * T * nu * F0)  # nu k^2 = 2 F_0
    right = s.rhs.subs(unit).subs(s.Sigma, Sigma).subs(T, 4 * c)
    ratio = sp.simplify(right.subs(F0, positive) / (nu * positive))
    tends = sp.limit(ratio, nu, sp.oo)
    left = sp.erfc(sp.Rational(1, 4))  # 2 Phi(-1/sqrt(8))
    refuted = tends.is_number and sp.N(left - tends, 30) > 0
    return Outcome(
        False if refuted else None,
        f"at T = 4c and V = 16 T nu F_0 the left side is at least {float(left):.4g} nu F_0 for every step size and all "
        f"weights; the right side is {ratio} of nu F_0, which tends to {tends} as nu grows, for every c",
        {"right": str(ratio), "left": float(left)},
    )


@algebra("a step that is too short, with units mended", expected="violated")
def _too_short_a_step(s: Formula) -> Proof:
    """The same F and x^0 with the first term mended by sqrt(nu): eta_l = 1/(1000 nu T) keeps E F'(x^t)^2 above 0.998 *
    2 nu F_0.

    E min(x^t, k) >= k - T eta_l nu k - eta_l sqrt(T V) >= (1 - 1/1000 - 1/10^6) k for Sigma = sqrt(nu F_0)/(100 c), and
    F'(x) >= nu min(x, k).
    """
    unit = refuting.single(s, "K", "M", "l", "s", "R", "eta_g") | {s.Sigma: sp.sqrt(s.nu * s.F0) / (100 * s.c)}
    right = (sp.sqrt(s.nu) * s.terms["noise"] + s.terms["start"]).subs(unit).subs(s.T, 100 * s.c)
    F0 = sp.Symbol("F0", positive=True)
    ratio = sp.simplify(right.subs(s.F0, F0) / (s.nu * F0))
    return refuting.too_short_a_step(s, ratio, sp.Rational(998, 1000) * 2, "nu F_0")


def _refuting_run(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run of `_no_step_helps`, c = 1, with the start, x^1, ..., x^T among the observed points."""
    found = runs.run(statement, {**instance, "sigma": math.sqrt(2 * instance["T"])}, c=1.0)
    return replace(found, rounds=int(instance["T"]) + 2)


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


def combination(s: Formula, **noise: str) -> Proof:
    """F(x^t) <= F(x^{t-1}) - (eta~/2)||grad F||^2 + (eta~/2) nu^2 drift + (nu/2)||x^t - x^{t-1}||^2, with Lemma C.4, 12
    nu^3 eta~^2/l times Lemma C.5 (alpha = 2/3) and 10/27 of Lemma C.6, all sharpened. This is compared with the need of
    the statement's bound (`round_constants`).

    With theta = 24 nu eta~/l^(2/3), p = l^(2/3) and h = 1/eta_g^2 in [0, 1] and z = lM/eta_g^2 >= 0 each slack is
    affine in each symbol: the corners of the first three decide, where the slack at z = 0 and its increase in z are not
    negative. noise: its factor ("alone") and that of lM/eta_g^2 in it ("shared"), if they are others.
    """
    gain, alone, shared = (sp.Rational(v) for v in round_constants(s.statement))
    alone, shared = sp.Rational(noise.get("alone", alone)), sp.Rational(noise.get("shared", shared))
    at = {**symbols_of(lemmas.C4_SHARPENED), "eta_g": sp.Symbol("eta_g", positive=True)}
    eta, nu, share, W = at["eta"], at["nu"], at["l"], noble.averaged(at)
    of_move, of_lag, of_drift = (
        lemmaC_7.in_symbols(at, lemma) for lemma in (lemmas.C4_SHARPENED, lemmas.C5_SHARPENED, lemmas.C6_SHARPENED)
    )
    change = -eta / 2 * at["slope"] + eta / 2 * nu**2 * at["drift"] + nu / 2 * of_move.rhs
    change += 12 * nu**3 * eta**2 / share * (of_lag.rhs - at["lag"]) + sp.Rational(10, 27) * of_drift.slack
    claim = -gain * eta * at["slope"] + nu * eta**2 * W * (alone + shared * share * at["M"] / at["eta_g"] ** 2)
    units = {"slope": eta, "drift": nu**2 * eta, "lag": nu**3 * eta**2, "noise": nu * eta**2 * W}
    return least_slacks(claim - change, units, at, "per z")


def _one_round(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """Every round from every start and at every variance of the instance."""
    given = round_constants(statement)
    for at, users, moments in exact.every_round(instance):
        yield Case(at, *descent(users, moments, given))


def performance(statement: Statement, instance: Mapping[str, Any], claim: Kept | None = None) -> Performance:
    """E F(x^t) - F* + w F_t + gain eta~ ||grad F(x)||^2 <= F(x) - F* + w F_{t-1} + nu eta~^2 V/(KlM) (alone + shared
    lM/eta_g^2), w = 12 nu^3 eta~^2/l, nu = 1, eta~ = l^(2/3)/24, with the factors that the statement's bound needs
    (`round_constants`)."""
    gain, alone, shared = (float(v) for v in claim or round_constants(statement))
    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    share, (eta_g,) = size / M, worst.floats(instance, eta_g=1)
    step = limit({"l": share, "nu": 1})
    weight, (world, x, V) = 12 * step**2 / share, worst.opened("non-convex", M)
    before = worst.earlier_rounds(world, x, K, V)
    algorithm = Scaffold(eta_l=step / (K * eta_g), eta_g=eta_g, K=K)

    def observed() -> Mapping[str, Any]:
        now = run_round(algorithm, world, *before.run.following, size=size, errors=True)
        return {"value": world.excess(now.x), **before.observed(world, now, world.zero)}

    start, found = world.excess(x), expected(world, observed)
    left = found["value"] + weight * found["lag_after"] + gain * step * world.square(world.mean_gradient(x))
    right = start + weight * before.known(world, world.zero)["lag"]
    right = right + step**2 * (alone + shared * size / eta_g**2) / (K * size) * V
    return Performance(world.problem, left, right, "descent over one round, the gain on the left")


def _noise(s: Symbols) -> Any:
    """W = V/(KlM) (6 + lM/eta_g^2)."""
    return noble.averaged(s) * (6 + s.l * s.M / s.eta_g**2)


def _balance(s: Symbols) -> Any:
    """The eta~ at which both terms of f (`_two_cases`) are equal: sqrt(12 F_0/(5 nu T W))."""
    return sp.sqrt(12 * s.F0 / (5 * s.nu * s.T * _noise(s)))


@algebra("the step size")
def _two_cases(s: Formula) -> Proof:
    """12/5 = 1/gain and 12/5 (alone + shared z) <= 6 + z, so that the mean of ||grad F||^2 is at most (12/5) F_0/(eta~
    T) + nu eta~ W."""
    factor, gain, alone, shared = Fraction(12, 5), *round_constants(s.statement)
    found = two_cases(s, sp.Rational(factor) * s.F0 / (s.eta * s.T), s.nu * s.eta * _noise(s), _balance(s))
    room = gain * factor >= 1 and alone * factor <= 6 and shared * factor <= 1
    return replace(found, true=found.true if room else None)


_LEAST = noble.observed(
    "gradient",
    "gradient-norm-squared",
    (2, -2),
    r"\min_{w} \mathbb{E}\|\nabla F(\overline{x}^T)\|^2",
    "with the best weights, which is the least of the rounds' expectations",
    "least",
)
_BASE = (*lemmas.BASE, noble.GLOBAL, noble.ROUNDS)
_STEEP = {**run_of(problem("huber-planes", rows=[[32.0]], thresholds=[32.0]), 1, 1, 4, 0.0, replicates=512), "c": 1}
_SHARES = {"eta~ over its limit": ["1", "1/100"]}
_FEW_STEPS = {name: i for name, i in QUADRATICS["convex other"].items() if i["K"] < 3}
_QUADRATICS = exact.at_limit(lemmaC_7.largest_step, _FEW_STEPS, "one round, {}, eta~ nu = {}")
_SIZES: dict[str, dict[str, Any]] = {
    "descent, M = 1, lM = 1, K = 2": {"M": 1, "size": 1, "K": 2},
    "descent, M = 2, lM = 1, K = 1": {"M": 2, "size": 1, "K": 1},
    "descent, M = 2, lM = 2, K = 1": {"M": 2, "size": 2, "K": 1, "eta_g": 1.4},
}

LEMMA: Statement = noble.statement(
    **noble.named("noble2022.lemmaC.9"),
    symbols=noble.NOTATION(_LEAST).also("eta_l"),
    hypotheses=_BASE,
    sides=lambda s: Sides(
        {"gradient": s.gradient},
        {
            "noise": s.c * sp.sqrt(s.F0) * noble.deviation(s) * sp.sqrt(noble.shared(s) / (s.T * s.K * s.l * s.M)),
            "start": s.c * s.nu / s.T * s.F0 * (1 / s.l) ** sp.Rational(2, 3),
        },
    ),
    checks=battery(
        _no_step_helps,
        _too_short_a_step,
        Check("exact", "one step from the minimiser", refuting.cases, _SHARES, "violated"),
        refuting.worst("gradient", "1/24"),
        Check("monte-carlo", "c = 1, the longest steps", _refuting_run, {**_STEEP, "step": 1.0}, "violated"),
        Check("monte-carlo", "c = 1, short steps", _refuting_run, {**_STEEP, "step": 0.001}, "violated"),
    ),
    homogeneous=False,
    uses=("noble2022.lemmaC.1", "noble2022.lemmaC.4", "noble2022.lemmaC.5", "noble2022.lemmaC.6"),
)

REPAIRED: Statement = noble.statement(
    **noble.named("noble2022.lemmaC.9.repaired"),
    symbols=noble.WARM_MEANS,
    hypotheses=(*_BASE, lemmaC_7.STEP, noble.AWAY),
    sides=lambda s: Sides(
        runs.without_warm_round(s, "slope", "slope0"),
        {
            "noise": 2 * sp.sqrt(sp.Rational(12, 5) * s.nu * s.F0 * _noise(s) / s.T),
            "start": sp.Rational(288, 5) * s.nu * s.F0 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    ),
    prescription=lambda s: {"eta": sp.Min(step_limit_symbolic(s), _balance(s))},
    checks=battery(
        algebra("descent, from Lemmas C.4 to C.6")(combination),
        _two_cases,
        checks("exact", _one_round, _QUADRATICS, part=noble.ROUND_PART),
        checks("worst-case", performance, _SIZES, part=noble.ROUND_PART),
        one_user.of_all_rounds("F_0 > 0"),
        runs.runs()("long", near="below", without=runs.one_user_has("F(x^0) > F(x*)")),
    ),
    uses=("noble2022.lemmaC.4.sharpened", "noble2022.lemmaC.5.sharpened", "noble2022.lemmaC.6.sharpened"),
)

STATEMENTS = (LEMMA, REPAIRED)
