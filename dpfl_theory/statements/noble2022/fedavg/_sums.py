"""T rounds of `_fedavg_proof` added up: the algebra between one round and the bounds of Theorem C.2 repaired."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.formula import Letters, evaluate, letters_of, sides_of
from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.noble2022.fedavg import _steps as steps
from dpfl_theory.statements.noble2022.fedavg._steps import ROUNDS, RoundConstants
from dpfl_theory.statements.symbolic import all_equal

__all__ = ["kept", "logarithm", "three_cases"]

_NAMES = ("noise", "sampling of users", "heterogeneity")
_SHORT, _TALL = Fraction(8, 5), Fraction(8, 3)
"""At least 1/(1 - 1/e) and 1/(1 - e^(-1/2)): what the weights leave of the start at 2L/(mu T) and at the longest
step."""
Build = Callable[[Statement, Mapping[str, Any]], Outcome]


def kept(statement: Statement, kind: str) -> RoundConstants:
    """What one round must keep so that T rounds add up to the statement's bound, as `three_cases` and `logarithm` say.

    Each coefficient is read from one entered term, where all letters are 1 (and l = 1/2, and L = 1).

    >>> from dpfl_theory.statements import get
    >>> kept(get("noble2022.theoremC.2.convex.repaired"), "convex") == ROUNDS["convex"]
    True
    """
    s, terms, known = letters_of(statement), sides_of(statement).rhs, ROUNDS[kind]
    point = {name: Fraction(1, 2) if name == "l" else 1 for name in s}
    parts = [evaluate(part, point) for part in steps.coefficients(kind, s, steps.exact)]
    strongly = kind == "strongly convex"
    unit = evaluate(terms["start"] * (sp.exp(_exponent(s)) if strongly else 1), point)  # what the start leaves, and A/T
    unit = unit * 2 / _TALL if strongly else unit / 16
    gain = known.gain * evaluate(steps.start(kind, s, steps.exact), point) / unit
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


def three_cases(kind: str) -> Build:
    """T rounds leave A/(eta~ T) + c_1 eta~ + c_2 eta~^2.

    At the least of a, b = sqrt(A/(c_1 T)) and e = (A/(c_2 T))^(1/3) its first term is at most A/T (1/a + 1/b + 1/e),
    the others at most c_1 b and c_2 e^2; and sqrt(c_1) is at most the sum of the roots of its two parts.
    """

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        s, terms = letters_of(statement), sides_of(statement).rhs
        noise, users, c2 = steps.coefficients(kind, s, steps.exact)
        share = steps.start(kind, s, steps.exact) / s.T
        a, c = sp.symbols("a c", positive=True)  # A/T, and c_1 or c_2
        b, e = sp.sqrt(a / c), sp.cbrt(a / c)
        parts = terms["noise"] ** 2 + terms["sampling of users"] ** 2
        return _proved(
            (share * 8 * (1 + s.B**2) * s.nu, terms["start"], "the start"),
            (sp.simplify((a / b + c * b) ** 2), 4 * a * c, "the balance at b, squared"),
            (sp.simplify((a / e + c * e**2) ** 3), 8 * a**2 * c, "the balance at e, cubed"),
            (sp.expand(4 * share * (noise + users)), sp.expand(parts), "the parts of c_1"),
            (sp.simplify(8 * share**2 * c2), sp.simplify(terms["heterogeneity"] ** 3), "the cube of the drift"),
        )

    return build


def logarithm(ratio: Callable[[Letters], Any]) -> Build:
    """With m = mu eta~/2 the weights (1 - m)^{-t} leave (mu/2) A/((1 - m)^{-T} - 1) + c_1 eta~ + c_2 eta~^2.

    (1 - m)^{-T} >= e^{mT}. At eta~ = 2L/(mu T), mT = L >= 1 and e^{-L} <= W/(mu^2 D^2 T), so that the start leaves at
    most (8/5) (mu/2) A of that. The longest eta~, where it is shorter, has mT >= 1/2, and the start leaves at most
    (8/3) (mu/2) A e^{-mT}. With 1/(1 - 1/e) <= 8/5, 1/(1 - e^{-1/2}) <= 8/3 and A = D^2/gain.

    ratio: the entered mu^2 D^2 T/W, L = ln max(e, ratio).
    """

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        s, terms = letters_of(statement), sides_of(statement).rhs
        parts = dict(zip(_NAMES, steps.coefficients("strongly convex", s, steps.exact)))
        m, more, log, T = sp.symbols("m more log T", positive=True)
        n, u, h = letters = sp.symbols("n u h", positive=True)  # the two parts of c_1, and c_2
        rounds, short, tall = s.mu * s.T, steps.exact(_SHORT), steps.exact(_TALL)
        half = s.mu / 2 * steps.start("strongly convex", s, steps.exact)
        W = steps.exact(ROUNDS["strongly convex"].gain) * (n + u + 2 * h / rounds)
        left = half * short * W / (s.mu**2 * s.D0**2 * s.T)
        left = sp.expand(left + (n + u) * 2 * log / rounds + h * (2 * log / rounds) ** 2)
        room = {}
        for (name, part), letter in zip(parts.items(), letters):
            unit = rounds**2 if letter is h else rounds
            spare = terms[name].subs(sp.log(sp.Max(sp.E, ratio(s))), log) / part - left.coeff(letter)
            room[name] = sp.expand(sp.simplify(spare * unit).subs(log, 1 + more))  # L >= 1
        enough = all(min(sp.Poly(v, more).coeffs()) >= 0 for v in room.values())
        roots = bool(1 / (1 - sp.exp(-1)) <= short) and bool(1 / (1 - sp.exp(-sp.Rational(1, 2))) <= tall)
        given = W.subs(dict(zip(letters, parts.values())))
        found = _proved(
            (ratio(s) * given, s.mu**2 * s.D0**2 * s.T, "what L is the logarithm of"),
            ((1 - m) ** (-T) / m - (1 - m) ** (1 - T) / m, (1 - m) ** (-T), "the sum of the weights, one more"),
            (half * tall * sp.exp(-_exponent(s)), terms["start"], "the start"),
            (_exponent(s).subs(s.T, 8 * (1 + s.B**2) * s.nu / s.mu), sp.Rational(1, 2), "least mT"),
        )
        shown = "; ".join(f"{name} {spare}" for name, spare in room.items())
        return Outcome(found.true if enough and roots else None, f"{found.reason}; to spare at L = 1 + more: {shown}")

    return build


def _proved(*steps_: tuple[Any, Any, str]) -> Outcome:
    """As `all_equal`, but a step that fails refutes the proof alone, not the statement."""
    found = all_equal(*steps_)
    return replace(found, true=found.true or None)
