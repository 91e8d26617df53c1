"""Sides of statements as sympy expressions: their values at a point, exactly, and the equality of two expressions,
decided by proof or by a point at which they differ."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.core import Outcome, Statement
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import sympy as sp

DIGITS = 60
"""The number of digits to which numbers that are not rational are computed."""
ENCLOSURES = (15, 30, 50)
"""The numbers of digits to which they are enclosed: the first that separates them from the number that they are
compared with."""
POINTS, FIRST = 24, 2
"""The number of points at which two expressions are compared if no proof of their equality is found, and the number
before a proof is searched."""
VALUES = ("1", "2", "3", "5", "7", "1/2", "1/3", "3/4", "1/5", "5/3", "9/7", "0", "-1", "-2", "-1/2", "-4/3")
"""The values that a symbol may have at these points: those of them that lie in its domain."""


def sides_at(statement: Statement, values: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    """Both sides of the statement, as they are entered, at values of its symbols: fractions as `as_fractions` gives.

    values: fractions, or numbers of sympy such as roots, by name; names that the statement does not have are ignored.

    >>> from dpfl_theory.statements import get
    >>> values = dict.fromkeys(("cohort_clipped", "first_spread", "second_spread", "cohort_common"), Fraction(1, 3))
    >>> sides_at(get("zhang2021.eq16"), values)
    (Fraction(1, 3), Fraction(3, 1))
    """
    return as_fractions(*(evaluate_side(statement, side, values) for side in ("lhs", "rhs")))


def as_fractions(left: Any, right: Any) -> tuple[Fraction, Fraction]:
    """Fractions that compare in the same way as two numbers, which are fractions or numbers of sympy.

    A rational number is exact; for an irrational one it is the end of an enclosure that is nearer to the other number.
    Raises ValueError where one is not a real number, or where no enclosure separates them.

    >>> import sympy as sp
    >>> as_fractions(sp.sqrt(2), sp.Rational(17, 12))
    (Fraction(141421356237311, 100000000000000), Fraction(17, 12))
    """
    left, right = sp.sympify(left), sp.sympify(right)
    for digits in ENCLOSURES:
        (low, high), (least, most) = enclosure(left, digits), enclosure(right, digits)
        if high <= least:
            return high, least
        if most < low:
            return low, most
    raise ValueError(f"{digits} digits do not separate {left} from {right}")


def root(square: Fraction) -> Any:
    """The root of a fraction: a fraction, or a number of sympy.

    >>> root(Fraction(4, 9)), root(Fraction(2))
    (Fraction(2, 3), sqrt(2))
    """
    return evaluate(sp.sqrt(sp.Symbol("square", positive=True)), {"square": square})


def enclosure(value: Any, digits: int = ENCLOSURES[0]) -> tuple[Fraction, Fraction]:
    """Fractions that enclose a number of sympy: equal where it is rational, else with this number of digits.

    >>> import sympy as sp
    >>> enclosure(sp.Rational(1, 3)), [float(end) for end in enclosure(sp.sqrt(2), 3)]
    ((Fraction(1, 3), Fraction(1, 3)), [1.4, 1.43])
    """
    found = value if value.is_Rational else _real(value)
    if found is None:
        raise ValueError(f"{value} is not a real number")
    fraction = Fraction(int(sp.Rational(found).p), int(sp.Rational(found).q))
    if value.is_Rational or not fraction:
        return fraction, fraction
    unit = Fraction(10) ** (math.floor(math.log10(abs(fraction))) + 1 - digits)
    whole = math.floor(fraction / unit)
    return (whole - 1) * unit, (whole + 2) * unit  # one more on either side for the error of the number itself


def _real(value: Any) -> Any:
    """A number of sympy to `DIGITS` digits, or None where it is infinite, not real or not found."""
    real, imaginary = sp.N(value, DIGITS).as_real_imag()
    if not (real.is_Rational or real.is_Float) or not (imaginary.is_Rational or imaginary.is_Float):
        return None
    return real if abs(imaginary) <= (abs(real) + 1) / sp.Integer(10) ** (DIGITS - 20) else None


def _points(symbols: list[Any]) -> Iterator[dict[Any, Any]]:
    """Points of the symbols' domains: each symbol takes rational values that have all of its assumptions, and positive
    ones first if it has any.

    sympy knows the assumptions positive, real and integer; it only carries along ``probability``, which `symbols_of`
    adds.
    """

    def admits(symbol: Any, value: Any) -> bool:
        assumed = symbol.assumptions0
        if assumed.get("probability") and not 0 < value < 1:
            return False
        return all(getattr(value, f"is_{fact}", truth) is truth for fact, truth in assumed.items())

    values = [sp.Rational(text) for text in VALUES]
    within = {symbol: [v for v in values if admits(symbol, v)] for symbol in symbols}
    for trial in range(POINTS if all(within.values()) else 0):
        draw = random.Random(trial)
        first = {s: [v for v in known if v > 0] or known for s, known in within.items()}
        yield {s: draw.choice((first if trial < POINTS // 2 else within)[s]) for s in symbols}


def _apart(left: Any, right: Any, points: Iterable[Mapping[Any, Any]]) -> tuple[Any, Any, str] | None:
    """Both sides at the first of these points at which they are real numbers and differ, and that point in words."""
    exact = sp.Integer(10) ** (12 if left.has(sp.Float) or right.has(sp.Float) else DIGITS - 20)
    for point in points:
        a, b = (_real(side.subs(point)) for side in (left, right))
        if a is not None and b is not None and abs(a - b) * exact > abs(a) + abs(b) + 1:
            return sp.N(a, 8), sp.N(b, 8), ", ".join(f"{s} = {v}" for s, v in point.items())
    return None


def equal(left: Any, right: Any, label: str) -> Outcome:
    """Whether two sympy expressions are identical: by simplification, and at rational points to 40 digits (12
    where a number in them is a float).

    A difference is only reported with a point at which the two sides differ: one of the symbols' domains, at which both
    sides are real numbers. Agreement needs the symbolic proof.
    """
    left, right = sp.sympify(left), sp.sympify(right)
    points = list(_points(sorted(left.free_symbols | right.free_symbols, key=str)))
    found = _apart(left, right, points[:FIRST])  # a difference may take forever to simplify
    if found is None:
        difference = sp.simplify(sp.together(left - right))
        if difference == 0:
            return Outcome(True, f"{label}: both sides are equal", {"left": str(left), "right": str(right)})
        found = _apart(left, right, points[FIRST:])
    if found is None:
        sentence = f"{label}: no proof of equality was found (difference {difference})"
        return Outcome(None, sentence, {"difference": str(difference)})
    return Outcome(
        False,
        f"{label}: the sides differ, {found[0]} against {found[1]} at {found[2]}",
        {"left": str(left), "right": str(right), "ratio": str(left / right) if right != 0 else "oo"},
    )


def all_equal(*steps: tuple[Any, Any, str]) -> Outcome:
    """Whether every step's two expressions are identical, each step given as (left, right, what). The first step that
    is not identical decides, a refuted one before one without a proof.

    >>> import sympy as sp
    >>> x = sp.Symbol("x", positive=True)
    >>> all_equal((x + x, 2 * x, "the sum"), (x * x, x**2, "the square")).reason
    'the sum: both sides are equal; the square: both sides are equal'
    """
    found = [equal(*step) for step in steps]
    for true in (False, None):
        failed = next((outcome for outcome in found if outcome.true is true), None)
        if failed is not None:
            return failed
    notes = found[0].notes if len(found) == 1 else {what: outcome.notes for (_, _, what), outcome in zip(steps, found)}
    return Outcome(True, "; ".join(outcome.reason for outcome in found), notes)


def least_on_the_unit_box(polynomial: Any, symbols: tuple[Any, ...]) -> Any:
    """A lower bound of a polynomial whose symbols lie in [0, 1]: its least Bernstein coefficient, attained where it is
    of degree 1 in each symbol.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> least_on_the_unit_box(2 - x * y + 3 * y - x / 2, (x, y))
    3/2
    """
    found = sp.Poly(sp.expand(polynomial), *symbols)
    degrees = [int(max(found.degree(symbol), 0)) for symbol in symbols]  # -oo for the polynomial 0
    terms = found.terms()
    return min(
        sum(
            (c * math.prod(sp.binomial(g, a) / sp.binomial(n, a) for g, a, n in zip(at, powers, degrees)))
            for powers, c in terms
        )
        for at in product(*(range(n + 1) for n in degrees))
    )


def proved(*steps: tuple[Any, Any, str]) -> Outcome:
    """As `all_equal`, but a step that fails refutes only the proof, not the statement.

    >>> import sympy as sp
    >>> proved((sp.Symbol("x"), sp.Symbol("y"), "a step")).verdict
    'inconclusive'
    """
    found = all_equal(*steps)
    return replace(found, true=found.true or None)


def decided(identities: Mapping[str, tuple[Any, Any]], slacks: Mapping[str, Any], symbols: tuple[Any, ...]) -> Outcome:
    """Proved if every identity holds and no slack falls below 0 on the unit box."""
    wrong = [name for name, (a, b) in identities.items() if sp.simplify(sp.together(a - b)) != 0]
    if wrong:
        return Outcome(None, f"these steps are not identities: {', '.join(wrong)}")
    shown = {name: sp.expand(sp.simplify(slack)) for name, slack in slacks.items()}
    strange = [
        name for name, slack in shown.items() if not (slack.free_symbols <= set(symbols) and slack.is_polynomial())
    ]
    if strange:
        return Outcome(None, f"the slack is not a polynomial in {symbols}: {', '.join(strange)}")
    least = {name: least_on_the_unit_box(slack, symbols) for name, slack in shown.items()}
    text = ", ".join(f"{name} {value}" for name, value in least.items())
    fine = all(value >= 0 for value in least.values())
    return Outcome(
        True if fine else None,
        f"{len(identities)} steps are identities; least slack of the stated coefficients: {text}",
        {"slacks": text, "steps": sorted(identities)},
    )


def errors() -> dict[str, tuple[Any, Any]]:
    """Errors that have mean zero given the earlier ones: their squares, at most V each, add up over steps and users."""
    K, r, V = sp.symbols("K r V", positive=True)
    j, k = sp.symbols("j k", integer=True, positive=True)
    return {
        "k errors of a user": (sp.summation(V, (j, 1, k)), k * V),
        "the mean of K errors of each of r users": (
            sp.summation(sp.summation(V, (k, 1, K)), (j, 1, r)) / (K * r) ** 2,
            V / (K * r),
        ),
    }
