"""noble2022 Lemma B.7 and equation (8): the Renyi DP of the subsampled Gaussian mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from dpfl_theory.core import (
    Check,
    Hypothesis,
    PrivacyClaim,
    PrivacyPoint,
    Sides,
    Statement,
    Symbols,
    battery,
    claim,
    whole,
)
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import mpmath, special
from dpfl_theory.lazy import numpy as np
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022.privacy import NOISE, ORDER, RATE, edges, stated
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import equal

CELLS = 20_000
"""Cells of the integral over hockey sticks; its two sums differ by a few per cent."""


def subsampled_cgf(order: float, rate: float, deviation: float) -> tuple[float, float]:
    r"""(alpha - 1) times the largest Renyi divergence of the subsampled Gaussian mechanism, as certified limits.

    A fixed share ``rate`` of the records is drawn, neighbours differ in one record, answers by 1 at most. With
    :math:`H_\gamma` the hockey-stick divergence, for every pair

    .. math:: \mathrm{E}_Q (P/Q)^\alpha = 1 + \alpha (\alpha - 1) \int_1^\infty \big(\gamma^{\alpha-2} H_\gamma(P\|Q)
              + \gamma^{-\alpha-1} H_\gamma(Q\|P)\big) \, \mathrm{d}\gamma.

    By Lemma B.2's proof no pair and order has a larger :math:`H_\gamma` than (1-q) N(0) + q N(1) over N(0), which
    occurs; so this pair is below, and its :math:`H_\gamma` in both places is above. H falls, so that sums over cells
    enclose the integral. The Gaussian tail beyond the last cell is closed.
    """
    from dpfl_theory.privacy.tails import SampledUnit, SampledUnitReversed

    a, z = order, deviation
    reach = (a - 1) / z + 12.0
    last = (reach + 0.5 / z) / z
    epsilon = np.linspace(0.0, last, CELLS + 1)

    def stick(tails: Any) -> Any:
        p, q = tails(epsilon)
        return np.maximum(p - np.exp(epsilon) * q, 0.0)

    def integral(power: float, sticks: Any, upper: bool) -> float:
        """The integral of gamma^(power - 1) H, gamma = e^epsilon, cell by cell; ``power`` is not 0."""
        edges = np.exp(power * epsilon) / power
        return float(np.dot(np.diff(edges), sticks[:-1] if upper else sticks[1:]))

    present, absent = stick(SampledUnit(rate, z)), stick(SampledUnitReversed(rate, z))
    low = integral(a - 1, present, False) + integral(-a, absent, False)
    # H is at most q Phi(1/(2z) - z epsilon), and Phi(-x) <= exp(-x^2/2)/2.
    log_tail = (a - 1) / (2 * z * z) + (a - 1) ** 2 / (2 * z * z)
    tail = rate * float(np.exp(log_tail)) * np.sqrt(np.pi / 2) / z * float(special.ndtr((a - 1) / z - reach))
    high = integral(a - 1, present, True) + integral(-a, present, True) + 2 * tail
    slack = 1e-10
    return (float(np.log1p(a * (a - 1) * low * (1 - slack))), float(np.log1p(a * (a - 1) * high * (1 + slack))))


LARGEST_RATIO = 12
"""Points with alpha/sigma_g beyond this are left out: their moments exceed double precision."""


_ARGUMENT = (
    "for {orders}, q and sigma_g: with P = (1-q) m0 + q m1 and Q = (1-q) m0 + q m2 the j-th term of the expansion of E "
    "(P/Q)^alpha is binom(alpha, j) q^j times the mean of int |m1 - m2|^j/m^(j-1) at most; m1, m2 and m are Gaussians "
    "at distances of at most 1 (joint convexity); this is at most 2 e^(j(j-1)/2 sigma_g^2), and 4 (e^(1/sigma_g^2) - "
    "1) for j = 2{more}"
)
_INTERPOLATED = "; between integers the cumulant generating function is convex, and 0 at alpha = 1"


def _lemma_at(statement: Statement, order: float, rate: float, sigma: float) -> Any:
    """Lemma B.7's right side, as it is entered, at a whole order."""
    with mpmath.workdps(65):
        q, z = mpmath.mpf(rate), mpmath.mpf(sigma)
        later = (
            mpmath.binomial(order, j) * q**j * mpmath.exp(j * (j - 1) / (2 * z**2)) for j in range(3, int(order) + 1)
        )
        return evaluate_side(statement, "rhs", {"alpha": order, "q": q, "sigma_g": z, "rest": 2 * mpmath.fsum(later)})


def _equation_at(statement: Statement, order: float, rate: float, sigma: float) -> Any:
    """Equation (8)'s right side, as it is entered, with epsilon'(1) = 0."""
    low, high = (_lemma_at(LEMMA_B7, n, rate, sigma) if n > 1 else 0 for n in (math.floor(order), math.ceil(order)))
    with mpmath.workdps(65):
        return evaluate_side(statement, "rhs", {"alpha": mpmath.mpf(order), "rdp_floor": low, "rdp_ceiling": high})


def _argued_lemma(statement: Statement) -> bool:
    """Whether the formula of Lemma B.7, as it is entered, is that of `_ARGUMENT`."""
    s = of(statement)
    x, a = sp.exp(1 / s.sigma_g**2), s.alpha
    second = a * (a - 1) / 2 * s.q**2 * 2 * sp.Min(2 * (x - 1), x)
    return equal(s.rhs, sp.log(1 + second + s.rest) / (a - 1), "the lemma, and the argument").true is True


def _argued_equation(statement: Statement) -> bool:
    """The same of equation (8), and of the lemma that it interpolates."""
    s = of(statement)
    order, low, high = s.alpha, sp.floor(s.alpha), sp.ceiling(s.alpha)
    share = order - low  # of the cumulant generating function at the integer above
    line = (1 - share) * (low - 1) * s.rdp_floor + share * (high - 1) * s.rdp_ceiling
    between = equal(s.rhs, line / (order - 1), "equation (8), and the argument")
    return between.true is True and _argued_lemma(LEMMA_B7)


def _bounded(whole: bool) -> Callable[[Statement, Mapping[str, Any]], PrivacyClaim]:
    """The entered formula of Lemma B.7 (``whole``) or of equation (8) against the true divergence. The argument for
    values between the points is given where the formula is the one that it concerns."""

    def points(statement: Statement, instance: Mapping[str, Any]) -> Iterator[PrivacyPoint]:
        for sigma, order, rate in product(instance["sigma_g"], instance["alpha"], instance["q"]):
            if order / sigma > LARGEST_RATIO:
                continue
            named = {"alpha": order, "q": rate, "sigma_g": sigma}
            if order <= 1 or rate >= 1 or (whole and int(order) != order):  # the formula has no meaning there
                yield PrivacyPoint(named, 0.0, 0.0, math.inf)
                continue
            low, high = subsampled_cgf(order, rate, sigma)
            claimed = (_lemma_at if whole else _equation_at)(statement, order, rate, sigma)
            yield PrivacyPoint(named, claimed, low / (order - 1), high / (order - 1))

    def build(statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
        orders, more = ("all whole alpha >= 2", "") if whole else ("all alpha > 1", _INTERPOLATED)
        argued = (_argued_lemma if whole else _argued_equation)(statement)
        argument = _ARGUMENT.format(orders=orders, more=more) if argued else None
        return claim("the largest Renyi divergence", argument)(points)(statement, instance)

    return build


def _entered_sum(statement: Statement, order: int, q: Any, x: Any) -> Any:
    """alpha - 1 times Lemma B.7's bound at a whole alpha, with x = e^(1/sigma_g^2)."""
    s = of(statement)
    rest = sum(2 * q**j * sp.binomial(order, j) * x ** sp.Rational(j * (j - 1), 2) for j in range(3, order + 1))
    values = {s.alpha: sp.Integer(order), s.q: q, s.rest: sp.sympify(rest)}
    return (order - 1) * s.rhs.subs(sp.exp(1 / s.sigma_g**2), x).subs(values)


@algebra("at whole alpha, and below 2")
def _integers(s: Formula) -> Proof:
    """At whole alpha equation (8) is Lemma B.7, and for 1 < alpha <= 2 it is the constant epsilon'(2)."""
    (x, t), q = sp.symbols("x t", positive=True), sp.Symbol("q", positive=True, probability=True)
    budget = {n: _entered_sum(LEMMA_B7, n, q, x) / (n - 1) for n in (2, 3, 4)} | {1: sp.Integer(0)}

    def entered(order: Any, low: int, high: int) -> Any:
        line = s.rhs.subs({sp.floor(s.alpha): low, sp.ceiling(s.alpha): high}).subs(s.alpha, order)
        return line.subs({s.rdp_floor: budget[low], s.rdp_ceiling: budget[high]})

    whole = [(entered(sp.Integer(n), n, n), budget[n], f"equation (8) at alpha = {n}") for n in (2, 3, 4)]
    return [*whole, (entered(1 + t, 1, 2), budget[2], "equation (8) at 1 < alpha <= 2, and epsilon'(2)")]


@algebra("without limit of the noise")
def _without_noise_limit(s: Formula) -> Proof:
    """As sigma_g grows the sum tends to 1 + 2 ((1 + q)^alpha - 1 - alpha q - binom(alpha, 2) q^2), not to 1."""
    q, steps = sp.Symbol("q", positive=True, probability=True), []
    for n in (2, 3, 5, 8):
        limit = sp.exp(_entered_sum(s.statement, n, q, sp.Integer(1)))
        expected = 1 + 2 * ((1 + q) ** n - 1 - n * q - sp.binomial(n, 2) * q**2)
        steps.append((sp.expand(limit), sp.expand(expected), f"the sum for alpha = {n} without limit of the noise"))
    return steps


def _lemma_sides(s: Symbols) -> Sides:
    x = sp.exp(1 / s.sigma_g**2)
    second = s.alpha * (s.alpha - 1) * s.q**2 * sp.Min(2 * (x - 1), x)
    return Sides({"Renyi budget": s.rdp_q}, {"bound": sp.log(1 + second + s.rest) / (s.alpha - 1)})


def _edges(build: Any, order: float, text: str, beyond: float) -> Iterator[Check]:
    """Both sides of the hypotheses on alpha and q."""
    one = {"sigma_g": [1.0], "alpha": [order], "q": [0.2]}
    outside = {text: {"alpha": [beyond]}, "q < 1": {"q": [1.0]}, "sigma_g > 0": stated(sigma_g="0")}
    return edges(build, one, outside, inside={text: {}, "q < 1": {"q": [0.99]}})


_WHOLE_ORDER = Hypothesis(lambda s: (s.alpha >= 2, whole(s.alpha)), r"$\alpha$ is a whole number of at least 2")
_RATES = {"q": [0.01, 0.2, 0.9]}
_WHOLE = {**_RATES, "sigma_g": [0.5, 1.0, 3.0, 20.0, 160.0], "alpha": [2, 3, 8, 32, 128]}
_BROKEN = {**_RATES, "sigma_g": [0.5, 1.0, 3.0, 20.0], "alpha": [1.05, 1.3, 1.9, 2.0, 2.5, 7.75, 30.5]}

LEMMA_B7: Statement = noble.statement(
    **noble.named("noble2022.lemmaB.7"),
    hypotheses=(_WHOLE_ORDER, RATE, NOISE),
    sides=_lemma_sides,
    checks=battery(
        _without_noise_limit,
        Check("privacy", "certified limits of the true divergence", _bounded(whole=True), _WHOLE),
        _edges(_bounded(whole=True), 2, "a whole alpha of at least 2", 1.99),
    ),
    smoke=("certified limits of the true divergence",),
    uses=("noble2022.lemmaB.6",),
)

EQ8: Statement = noble.statement(
    **noble.named("noble2022.eq8"),
    hypotheses=(ORDER, RATE, NOISE),
    sides=lambda s: Sides(
        {"Renyi budget": s.rdp_q},
        {
            "below": (1 - s.alpha + sp.floor(s.alpha)) * (sp.floor(s.alpha) - 1) / (s.alpha - 1) * s.rdp_floor,
            "above": (s.alpha - sp.floor(s.alpha)) * (sp.ceiling(s.alpha) - 1) / (s.alpha - 1) * s.rdp_ceiling,
        },
    ),
    checks=battery(
        _integers,
        Check("privacy", "certified limits of the true divergence", _bounded(whole=False), _BROKEN),
        _edges(_bounded(whole=False), 1.01, "alpha > 1", 0.99),
    ),
    uses=("noble2022.lemmaB.3", "noble2022.lemmaB.7", "noble2022.eq7"),
)

STATEMENTS = (LEMMA_B7, EQ8)
