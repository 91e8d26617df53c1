"""exact: both sides of a statement as rational numbers, compared without rounding.

A check's ``build(statement, instance)`` returns one instance, `Values`, or several. The statement's sides are evaluated
at each, and the verdict is that of the worst one. Where the formula has nothing to compare, the build returns an
`Outcome`. A check of a part of the statement gives both sides, as a `Case`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from decimal import MAX_EMAX, MAX_PREC, Decimal, localcontext
from fractions import Fraction
from typing import Any

from dpfl_theory.checks.hypotheses import complete, unmet
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Case, Check, Outcome, Statement, Values
from dpfl_theory.core.evidence import Evidence, Interval, of_outcome, outside
from dpfl_theory.core.formula import SidesError, record_requested, terms_at
from dpfl_theory.statements.symbolic import sides_at

LONGEST = 20
"""Length of a fraction in a sentence; the notes have all of it."""
_DEVICE = "cpu (rational arithmetic)"


def worst(cases: Iterable[Case], relation: str = "<=") -> Case:
    """The case that fails by most or, when none fails, the one with the smallest margin.

    Failing cases come before the others, then large ratios lhs/rhs come first. Among equals the one listed first wins,
    so a sweep that starts with its smallest instances names the smallest counterexample.
    """

    def rank(case: Case) -> tuple[bool, bool, Fraction]:
        gap = abs(case.excess) if relation == "==" else case.excess
        if case.rhs > 0:
            return gap > 0, False, gap / case.rhs if relation == "==" else case.lhs / case.rhs
        return gap > 0, gap > 0, gap  # nothing positive to compare with: any excess is infinitely large

    return max(cases, key=rank)


def compared(statement: Statement, instance: Values) -> Case:
    """Both sides of the statement on an instance. A side that is not rational is replaced by fractions in the same
    order as the sides (`as_fractions`)."""
    complete(statement, instance.symbol_values)
    try:
        terms = terms_at(statement, "rhs", instance.symbol_values)
    except ZeroDivisionError:
        known = {name: v for name, v in instance.symbol_values.items() if name in {s.name for s in statement.symbols}}
        where = ", ".join(f"{name} = {value}" for name, value in known.items())
        raise SidesError(
            f"the right side divides by zero at {where}: correct it, or exclude this by a hypothesis"
        ) from None
    rational = len(terms) > 1 and all(isinstance(term, Fraction) for term in terms.values())
    return Case(instance.evidence_instance, *sides_at(statement, instance.symbol_values), terms if rational else {})


def run(statement: Statement, check: Check, settings: Settings) -> Evidence:
    """The evidence of one exact check: *violated* if the relation fails on any case, by comparison of fractions."""
    started = time.perf_counter()
    if statement.relation not in ("<=", "=="):
        raise ValueError(f"{statement.id} states {statement.relation!r}: exact checks compare by <= or ==")
    with record_requested() as found:
        built = check.make(statement)
    if isinstance(built, Outcome):
        if built.true and statement.sides is not None and not check.part and statement not in found:
            raise ValueError(f"the check {check.name!r} never reads the statement's sides: read them, or set part")
        return of_outcome(statement, check, built, _DEVICE, time.perf_counter() - started)
    instances = (built,) if isinstance(built, (Case, Values)) else tuple(built)
    failing_hypotheses = [m for i in instances if isinstance(i, Values) and (m := unmet(statement, i.symbol_values))]
    if failing_hypotheses and len(failing_hypotheses) < len(instances):
        raise ValueError(f"{statement.id}: some instances of {check.name!r} are outside: {failing_hypotheses[0][1]}")
    if failing_hypotheses:
        return outside(statement, check, failing_hypotheses[0], time.perf_counter() - started)
    if statement.sides is not None and not check.part and any(isinstance(i, Case) for i in instances):
        raise ValueError(f"the check {check.name!r} gives its sides itself: give values of the symbols, or set part")
    cases = tuple(i if isinstance(i, Case) else compared(statement, i) for i in instances)
    if not cases:
        raise ValueError(f"{statement.id}: the check {check.name!r} built no case")
    equality = statement.relation == "=="
    failing = [c for c in cases if (c.excess != 0 if equality else c.excess > 0)]
    case = worst(cases, statement.relation)
    where = ", ".join(f"{k} = {_text(v, short=True)}" for k, v in case.values.items())
    sign = "=" if case.excess == 0 else "<" if case.excess < 0 else ">"
    comparison = f"{_text(case.lhs, short=True)} {sign} {_text(case.rhs, short=True)}"
    if failing:
        reason = f"{len(failing)} of {len(cases)} instances fail, the worst with {comparison} at {where}"
    else:
        reason = f"all {len(cases)} instances satisfy it, the tightest with {comparison} at {where}"
    return Evidence.of_check(
        statement,
        check,
        "violated" if failing else "holds",
        reason,
        lhs=Interval.exact(float(case.lhs)),
        rhs=float(case.rhs),
        terms={name: float(value) for name, value in case.terms.items()},
        detectable=1.0,
        notes={
            "cases": len(cases),
            "failing": len(failing),
            "lhs": _text(case.lhs),
            "rhs": _text(case.rhs),
            "worst": {k: _text(v) for k, v in case.values.items()},
            "first_failing": {k: _text(v) for k, v in failing[0].values.items()} if failing else None,
        },
        device=_DEVICE,
        seconds=time.perf_counter() - started,
    )


def _text(value: Any, short: bool = False) -> str:
    """A value as text, with its fractions written out; ``short``: the first digits of long ones, and the decimal value.

    >>> _text((Fraction(1, 3), 2))
    '(1/3, 2)'
    >>> _text(Fraction(10**40 + 1, 3 * 10**40), short=True)
    '10000000000000000... = 0.333333333333'
    """
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_text(v, short) for v in value)})"
    if not isinstance(value, Fraction):
        return str(value)
    whole = f"{_digits(value.numerator)}{'' if value.denominator == 1 else f'/{_digits(value.denominator)}'}"
    if not short or len(whole) <= LONGEST:
        return whole
    with localcontext(prec=12):
        return f"{whole[: LONGEST - 3]}... = {Decimal(value.numerator) / Decimal(value.denominator):.12g}"


def _digits(number: int) -> str:
    """A whole number in full: the only way to write those of more than 4300 digits in Python."""
    with localcontext(prec=MAX_PREC, Emax=MAX_EMAX):
        return f"{Decimal(number):f}"
