"""Step sizes: the longest one of Lemmas C.7 to C.9, eta~ = min(l^(2/3)/(24 nu), l/(54 mu)); those that balance the
terms of a bound, as numbers; and the algebra between one round and Theorem C.2 repaired.

Summed over T rounds of `ROUNDS` the mean of F(x^t) - F*, or of ||grad F(x^t)||^2, is at most A/(eta~ T) + c_1 eta~ +
c_2 eta~^2 with A = D_0^2/gain or F_0/gain; weighted for strong convexity, A/T becomes (mu/2) A/(exp(mu eta~ T/2) - 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.core import Check, Outcome, Statement, Symbols
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022._symbols import variance
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.symbolic import proved


def step_limit_symbolic(s: Mapping[str, Any]) -> Any:
    """l^(2/3)/(24 nu), from sympy symbols."""
    return s["l"] ** sp.Rational(2, 3) / (24 * s["nu"])


def limit(values: Mapping[str, Any]) -> float:
    """The longest eta~ as a number; without mu, or at 0, its second bound is absent.

    >>> limit({"l": 1, "nu": 2}), limit({"l": 1, "nu": 2, "mu": 2})
    (0.020833333333333332, 0.009259259259259259)
    """
    most, mu = values["l"] ** (2 / 3) / (24 * values["nu"]), values.get("mu")
    return float(min(most, values["l"] / (54 * mu)) if mu else most)


def rate(s: Mapping[str, Any]) -> Any:
    """min(l/108, mu l^(2/3)/(48 nu)), which is mu/2 times the longest eta~, from sympy symbols; with nu taken out,
    since sympy cannot typeset its exponential otherwise."""
    return sp.Min(s["l"] * s["nu"] / 108, s["mu"] * s["l"] ** sp.Rational(2, 3) / 48) / s["nu"]


def least_slacks(slack: Any, units: Mapping[str, Any], s: Mapping[str, Any], per: str) -> Outcome:
    """Whether the coefficients of moments in a slack, and the rest of it, the noise, are nonnegative up to the longest
    step, for eta_g >= 1. units: of each, by the moment's name; what is left has the symbols l, nu, M, eta~, eta_g (and
    mu).

    With theta = 24 nu eta~/l^(2/3), p = l^(2/3), h = 1/eta_g^2 and phi = 54 mu eta~/l in [0, 1] and z = lM/eta_g^2 >= 0
    each must be affine in each symbol: the corners of the first four decide, where the slack at z = 0 and its increase
    in z (named by ``per``) are not negative.
    """
    theta, p, h, phi, z = sp.symbols("theta p h phi z", positive=True)
    share, eta, eta_g = s["l"], s["eta"], s["eta_g"]
    slack, least = sp.expand(slack), {}
    noise = slack.subs({s[name]: 0 for name in units if name != "noise"})
    for name, unit in units.items():
        part = (noise if name == "noise" else slack.coeff(s[name])) / unit
        ratio = sp.simplify(part).subs(s["M"], z * eta_g**2 / share)
        ratio = ratio.subs(s["mu"], phi * share / (54 * eta)) if "mu" in s else ratio
        ratio = ratio.subs(eta, theta * step_limit_symbolic(s)).subs(eta_g, 1 / sp.sqrt(h))
        ratio = sp.expand(sp.simplify(ratio.subs(share, p ** sp.Rational(3, 2))))
        symbols = sorted(ratio.free_symbols, key=str)
        if not set(symbols) <= {theta, p, h, phi, z} or any(sp.degree(ratio, v) > 1 for v in symbols):
            return Outcome(None, f"the slack of {name} is not affine in each symbol: {ratio}")
        ends = [v for v in symbols if v != z]
        corners = [dict(zip(ends, c)) for c in product((0, 1), repeat=len(ends))]
        least[name] = min(ratio.subs(z, 0).subs(c) for c in corners)
        if z in symbols:
            least[f"{name}, {per}"] = min(sp.diff(ratio, z).subs(c) for c in corners)
    shown = ", ".join(f"{name} {value}" for name, value in least.items())
    fine = all(value >= 0 for value in least.values())
    return Outcome(True if fine else None, f"the least slack of each coefficient: {shown}", {"slacks": shown})


def two_cases(s: Formula, start: Any, noise: Any, best: Any) -> Outcome:
    """T rounds leave f(eta~) = start + noise, of which the first falls like 1/eta~ and the second grows like eta~.

    At eta~ = min(a, b), b the best step and a the longest one: f(b) is the noise term. If a < b, the second part is at
    most that at b, which is half of f(b), and the first one at a is the start term.
    """
    terms, a = s.terms, step_limit_symbolic(s)
    return proved(
        (sp.simplify((start + noise).subs(s.eta, best) ** 2), sp.simplify(terms["noise"] ** 2), "f at b, squared"),
        (start.subs(s.eta, a), terms["start"], "f's first part at the longest step"),
        (sp.simplify(noise.subs(s.eta, best) ** 2), sp.simplify(terms["noise"] ** 2 / 4), "f's second part at b"),
    )


@dataclass(frozen=True)
class RoundConstants:
    """||x^t - x*||^2 + gain eta~ (F(x) - F*) <= (1 - mu eta~/2) ||x - x*||^2 + eta~^2 (noise W + users U) + drift nu
    eta~^3 G^2/(lM) in expectation, U = (1 - l) G^2/(lM); mu is 0 without strong convexity.

    ``non-convex``: F(x^t) + gain eta~ ||grad F(x)||^2 <= F(x) + nu eta~^2 (noise W + users U) + drift nu^2 eta~^3
    G^2/(lM). split: the a of the proof's second step.
    """

    gain: Fraction
    noise: Fraction
    users: Fraction
    drift: Fraction
    split: Fraction


ROUNDS = {
    "convex": RoundConstants(Fraction(4, 3), Fraction(4, 3), Fraction(5, 2), Fraction(7, 8), Fraction(1, 4)),
    "strongly convex": RoundConstants(Fraction(4, 3), Fraction(7, 5), Fraction(5, 2), Fraction(14, 9), Fraction(1, 4)),
    "non-convex": RoundConstants(Fraction(1, 3), Fraction(2, 3), Fraction(6, 5), Fraction(8, 15), Fraction(1, 5)),
}
"""The inequality that one round of each class keeps."""


def start(kind: str, v: Mapping[str, Any]) -> Any:
    """A = D_0^2/gain or F_0/gain."""
    return (v["F0"] if kind == "non-convex" else v["D0"] ** 2) / sp.Rational(ROUNDS[kind].gain)


def coefficients(kind: str, v: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """The two parts of c_1, of the noise and of the sampling of users, and c_2."""
    claim = ROUNDS[kind]
    unit = v["nu"] if kind == "non-convex" else 1
    cohort = v["l"] * v["M"]
    noise = sp.Rational(claim.noise / claim.gain) * unit * variance(v) / (v["K"] * cohort)
    users = sp.Rational(claim.users / claim.gain) * unit * (1 - v["l"]) * v["G"] ** 2 / cohort
    return noise, users, sp.Rational(claim.drift / claim.gain) * unit * v["nu"] * v["G"] ** 2 / cohort


def weight(v: Mapping[str, Any]) -> Any:
    """W = gain (c_1 + 2 c_2/(mu T)) of the strongly convex step: mu^2 D_0^2 T is compared with it."""
    noise, users, c2 = coefficients("strongly convex", v)
    return sp.Rational(ROUNDS["strongly convex"].gain) * (noise + users + 2 * c2 / (v["mu"] * v["T"]))


_NAMES = ("noise", "sampling of users", "heterogeneity")
_SHORT, _TALL = Fraction(8, 5), Fraction(8, 3)
"""At least 1/(1 - 1/e) and 1/(1 - e^(-1/2)): the share of the start that the weights leave at 2L/(mu T) and at the
longest step."""


def round_constants(statement: Statement, kind: str) -> RoundConstants:
    """The constants that one round must keep so that T rounds add up to the statement's bound, as `three_cases` and
    `logarithm` say.

    Each coefficient is read from one entered term, where all symbols are 1 (and l = 1/2, and L = 1).

    >>> from dpfl_theory.statements import get
    >>> round_constants(get("noble2022.theoremC.2.convex.repaired"), "convex") == ROUNDS["convex"]
    True
    """
    s, terms, known = symbols_of(statement), sides_of(statement).rhs, ROUNDS[kind]
    point = {name: Fraction(1, 2) if name == "l" else 1 for name in s}
    parts = [evaluate(part, point) for part in coefficients(kind, s)]
    strongly = kind == "strongly convex"
    unit = evaluate(terms["start"] * (sp.exp(_exponent(s)) if strongly else 1), point)  # what the start leaves, and A/T
    unit = unit * 2 / _TALL if strongly else unit / 16
    gain = known.gain * evaluate(start(kind, s), point) / unit
    if strongly:
        entered = [evaluate(terms[name], point) for name in _NAMES]
        rest = _SHORT / 2 * known.gain / gain
        found = [value / (rest + 2) for value in entered[:2]] + [entered[2] / (2 * rest + 4)]
    else:
        powers = zip(_NAMES, (2, 2, 3))
        found = [evaluate(terms[name] ** n, point) / (4 * unit if n == 2 else 8 * unit**2) for name, n in powers]
    factors = [value / part * gain / known.gain for value, part in zip(found, parts)]
    noise, users, drift = (f * c for f, c in zip(factors, (known.noise, known.users, known.drift)))
    return replace(known, gain=gain, noise=noise, users=users, drift=drift)


def _exponent(s: Mapping[str, Any]) -> Any:
    """mu eta~ T/2 at the longest step."""
    return s["mu"] * s["T"] / (16 * (1 + s["B"] ** 2) * s["nu"])


def three_cases(kind: str) -> Check:
    """T rounds leave A/(eta~ T) + c_1 eta~ + c_2 eta~^2.

    At the least of a, b = sqrt(A/(c_1 T)) and e = (A/(c_2 T))^(1/3) its first term is at most A/T (1/a + 1/b + 1/e),
    the others at most c_1 b and c_2 e^2; and sqrt(c_1) is at most the sum of the roots of its two parts.
    """

    @algebra("the step size")
    def step(s: Formula) -> Proof:
        terms = s.terms
        noise, users, c2 = coefficients(kind, s)
        share = start(kind, s) / s.T
        a, c = sp.symbols("a c", positive=True)  # A/T, and c_1 or c_2
        b, e = sp.sqrt(a / c), sp.cbrt(a / c)
        parts = terms["noise"] ** 2 + terms["sampling of users"] ** 2
        return proved(
            (share * 8 * (1 + s.B**2) * s.nu, terms["start"], "the start"),
            (sp.simplify((a / b + c * b) ** 2), 4 * a * c, "the balance at b, squared"),
            (sp.simplify((a / e + c * e**2) ** 3), 8 * a**2 * c, "the balance at e, cubed"),
            (sp.expand(4 * share * (noise + users)), sp.expand(parts), "the parts of c_1"),
            (sp.simplify(8 * share**2 * c2), sp.simplify(terms["heterogeneity"] ** 3), "the cube of the drift"),
        )

    return step


def logarithm(ratio: Callable[[Symbols], Any]) -> Check:
    """With m = mu eta~/2 the weights (1 - m)^{-t} leave (mu/2) A/((1 - m)^{-T} - 1) + c_1 eta~ + c_2 eta~^2.

    (1 - m)^{-T} >= e^{mT}. At eta~ = 2L/(mu T), mT = L >= 1 and e^{-L} <= W/(mu^2 D^2 T), so that the start leaves at
    most (8/5) (mu/2) A of that. The longest eta~, where it is shorter, has mT >= 1/2, and the start leaves at most
    (8/3) (mu/2) A e^{-mT}. With 1/(1 - 1/e) <= 8/5, 1/(1 - e^{-1/2}) <= 8/3 and A = D^2/gain.

    ratio: the entered mu^2 D^2 T/W, L = ln max(e, ratio).
    """

    @algebra("the step size")
    def step(s: Formula) -> Proof:
        terms = s.terms
        parts = dict(zip(_NAMES, coefficients("strongly convex", s)))
        m, more, log, T = sp.symbols("m more log T", positive=True)
        n, u, h = symbols = sp.symbols("n u h", positive=True)  # the two parts of c_1, and c_2
        rounds, short, tall = s.mu * s.T, sp.Rational(_SHORT), sp.Rational(_TALL)
        half = s.mu / 2 * start("strongly convex", s)
        W = sp.Rational(ROUNDS["strongly convex"].gain) * (n + u + 2 * h / rounds)
        left = half * short * W / (s.mu**2 * s.D0**2 * s.T)
        left = sp.expand(left + (n + u) * 2 * log / rounds + h * (2 * log / rounds) ** 2)
        room = {}
        for (name, part), symbol in zip(parts.items(), symbols):
            unit = rounds**2 if symbol is h else rounds
            spare = terms[name].subs(sp.log(sp.Max(sp.E, ratio(s))), log) / part - left.coeff(symbol)
            room[name] = sp.expand(sp.simplify(spare * unit).subs(log, 1 + more))  # L >= 1
        enough = all(min(sp.Poly(v, more).coeffs()) >= 0 for v in room.values())
        roots = bool(1 / (1 - sp.exp(-1)) <= short) and bool(1 / (1 - sp.exp(-sp.Rational(1, 2))) <= tall)
        given = W.subs(dict(zip(symbols, parts.values())))
        found = proved(
            (ratio(s) * given, s.mu**2 * s.D0**2 * s.T, "what L is the logarithm of"),
            ((1 - m) ** (-T) / m - (1 - m) ** (1 - T) / m, (1 - m) ** (-T), "the sum of the weights, one more"),
            (half * tall * sp.exp(-_exponent(s)), terms["start"], "the start"),
            (_exponent(s).subs(s.T, 8 * (1 + s.B**2) * s.nu / s.mu), sp.Rational(1, 2), "least mT"),
        )
        shown = "; ".join(f"{name} {spare}" for name, spare in room.items())
        return Outcome(found.true if enough and roots else None, f"{found.reason}; to spare at L = 1 + more: {shown}")

    return step
