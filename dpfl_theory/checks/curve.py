"""A statement as a function of one of its symbols: an instance of a check, changed in this symbol and run
repeatedly."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.checks.execute import cannot, run_one
from dpfl_theory.checks.falsify import Rule, agrees, rules_of
from dpfl_theory.checks.hypotheses import unmet
from dpfl_theory.checks.perturb_instance import Path, get, numbers, set_value
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Experiment, Outcome, Statement, Values
from dpfl_theory.core.evidence import Evidence, outside
from dpfl_theory.errors import DpflError, InputError, format_error, unknown_name
from dpfl_theory.numerals import number_of
from dpfl_theory.runtime.time_limits import TimeoutExceeded, WorkerDied, limited

DRAWN_BY = ("monte-carlo", "exact")
"""The methods that know both sides in their own units, in the order of preference."""
USUAL = 9
SPAN = 4.0
"""The number of values of a symbol where none are given, and the factor below and above the recorded value that they
cover."""
MOST = 200
HALVINGS = 20
"""How precisely the edge of the hypotheses is found, relative to the step between a value inside and one outside: six
digits."""


@dataclass(frozen=True)
class Point:
    """parameter: the number in the instance; symbol_value: the symbol's value at which the sides were evaluated; the
    evidence there."""

    parameter: float
    symbol_value: float
    evidence: Evidence

    @property
    def outside(self) -> bool:
        """Whether a hypothesis is not met: the statement claims nothing there."""
        return self.evidence.verdict == "not-applicable"

    @property
    def drawn(self) -> bool:
        """Whether both sides are numbers."""
        e = self.evidence
        return e.lhs is not None and e.rhs is not None and math.isfinite(e.lhs.estimate) and math.isfinite(e.rhs)


@dataclass(frozen=True)
class Curve:
    """The points of a check over a symbol, by increasing value.

    edges: where a hypothesis starts or ceases to be met between two points. A key is the number of the first point; its
    value is the symbol's value there, found by bisection."""

    statement: Statement
    check: Check
    symbol: str
    points: tuple[Point, ...]
    edges: Mapping[int, float] = field(default_factory=dict)

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms of the right side, where all points have them."""
        names = [tuple(p.evidence.terms) for p in self.points if p.drawn]
        return names[0] if names and len(names[0]) > 1 and all(own == names[0] for own in names) else ()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each point, as plain data."""
        found = []
        for p in self.points:
            e, lhs = p.evidence, p.evidence.lhs
            row = {self.symbol: p.symbol_value, "given": p.parameter, "verdict": e.verdict, "bound": e.rhs}
            row |= {f"term: {name}": e.terms.get(name) for name in self.terms}
            sides = {"left": lhs and lhs.estimate, "low": lhs and lhs.low, "high": lhs and lhs.high}
            found.append({**row, **sides, "replicates": e.replicates, "reason": e.reason})
        return found


def check_of(statement: Statement, name: str | None = None, method: str | None = None) -> Check:
    """The check that is drawn: the one of this name and method, else the first one that runs, else the first exact one.

    Raises InputError where no check knows both sides.
    """
    if statement.sides is None:
        raise InputError(f"{statement.id} states no inequality between two sides: there is nothing to plot")
    if method is not None and method not in DRAWN_BY:
        raise InputError(f"`method` is {method!r}: only {' and '.join(DRAWN_BY)} compute both sides as numbers")
    known = [c for m in DRAWN_BY for c in statement.checks if c.method == m and not c.part and method in (None, m)]
    if not known:
        raise InputError(f"{statement.id} has no check by {method or ' or '.join(DRAWN_BY)} that compares its sides")
    if name is None:
        return next((c for c in known if c.expected != "not-applicable"), known[0])
    chosen = [c for c in known if c.name == name]
    if not chosen:
        raise unknown_name("check", name, [c.name for c in known])
    return chosen[0]


def symbol_value(built: Any, symbol: str) -> float | None:
    """The value of a symbol in what a check built; None where it has none."""
    if isinstance(built, Experiment):
        value = built.values.get(symbol)
    else:
        first = built if isinstance(built, Values) else next((v for v in built if isinstance(v, Values)), None)
        value = None if first is None else first.symbol_values.get(symbol)
    return None if value is None else float(value)


def place_of(statement: Statement, check: Check, symbol: str) -> Path:
    """The place in the instance of the number that sets this symbol: the one of this name, else the only one that
    changes it.

    Raises InputError where there is no such number, or several.
    """
    known = {s.name for s in statement.symbols}
    if symbol not in known:
        raise unknown_name(f"symbol of {statement.id}", symbol, known)
    places = list(numbers(check.instance))
    if (symbol,) in places:
        return (symbol,)
    before = symbol_value(_built(statement, check), symbol)
    moving = []
    for place in places:
        value = get(check.instance, place)
        other = value + 1 if isinstance(value, int) else _like(value, float(Fraction(value)) * 1.0625 or 0.0625)
        try:
            if symbol_value(_built(statement, _changed(check, place, other)), symbol) != before:
                moving.append(place)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            continue
    if len(moving) == 1:
        return moving[0]
    named = ", ".join(".".join(map(str, place)) for place in (moving or places))
    if not moving:
        raise InputError(f"no number of the instance of {check.name!r} changes {symbol}: it has {named or 'none'}")
    raise InputError(
        f"several numbers of the instance of {check.name!r} change {symbol} ({named}): plot over one of them"
    )


def _built(statement: Statement, check: Check) -> Any:
    built = check.make(statement)
    return () if isinstance(built, Outcome) else built if isinstance(built, (Experiment, Values)) else tuple(built)


def values_of(text: str | None, recorded: Any) -> list[Any]:
    """The numbers that replace the recorded one, as a list "1,2,5", a range "1:100:7", or the default ones around it.

    A range gives the first number, the last number and how many; its ratios are equal where both ends are positive.
    Whole numbers stay whole, fractions stay fractions.

    >>> values_of("1:16:5", 3), values_of("1/8,1/2", "1/4"), values_of(None, 2)
    ([1, 2, 4, 8, 16], ['1/8', '1/2'], [1, 2, 3, 4, 6, 8])
    """
    if text is None:
        middle = float(Fraction(recorded))
        if middle == 0.0:
            raise InputError("cannot choose a range around the recorded number 0: give `values`, as 0:1:5")
        spread = _even(middle / SPAN, middle * SPAN, USUAL)
    elif ":" in text:
        parts = text.split(":")
        if len(parts) != 3 or not parts[2].isdigit() or not 2 <= int(parts[2]) <= MOST:
            raise InputError(f"`values` is {text!r}: write first:last:how many (2 to {MOST}), as 1:100:7")
        spread = _even(float(_fraction(parts[0])), float(_fraction(parts[1])), int(parts[2]))
    else:
        fractions = [_fraction(part) for part in text.split(",")]
        if len(fractions) > MOST:
            raise InputError(f"`values` has {len(fractions)} numbers: give at most {MOST}")
        exact = [str(f) if isinstance(recorded, str) else _like(recorded, float(f)) for f in fractions]
        return sorted(dict.fromkeys(exact), key=Fraction)
    found = [_like(recorded, value) for value in spread]
    if isinstance(recorded, int) and recorded > 0:
        found = [max(1, value) for value in found]
    return sorted(dict.fromkeys(found), key=Fraction)


def _even(first: float, last: float, count: int) -> list[float]:
    steps = [i / (count - 1) for i in range(count)]
    if first > 0.0 and last > 0.0:
        return [first * (last / first) ** s for s in steps]
    return [first + (last - first) * s for s in steps]


def _fraction(text: str) -> Fraction:
    number_of("one of `values`", text.strip())
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f"`values` has {text!r}, which is not a number: write 0.5, 1/2 or 3, with commas between"
        ) from None


def _like(recorded: Any, value: float) -> Any:
    """A number of the recorded one's kind."""
    if isinstance(recorded, int):
        return round(value)
    return str(Fraction(f"{value:.3g}")) if isinstance(recorded, str) else value


def curve(
    statement: Statement,
    check: Check,
    symbol: str,
    values: str | None = None,
    settings: Settings | None = None,
    tell: Callable[[float, str], None] = lambda share, what: None,
) -> Curve:
    """Run the check at each value of the symbol. The points share the false-alarm probability.

    If the settings have a limit, the whole computation runs in a process of its own, which is stopped after that many
    seconds.

    Raises InputError for a symbol that the instance does not have, and for values that cannot be built. It is also
    raised for a build that raises for all values, or takes longer than the limit."""
    own = settings or Settings()

    def points() -> tuple[tuple[Point, ...], Mapping[int, float]]:
        try:
            place = place_of(statement, check, symbol)
            given = values_of(values, get(check.instance, place))
            each = replace(own, alpha=own.alpha / len(given), limit=None)
            recorded = _built(statement, check)
            rules = rules_of(statement, [recorded]) if isinstance(recorded, Experiment) else {}
            line = _Line(statement, check, symbol, place, given, rules)
            found = tuple(line.points(each, tell))
            return found, dict(line.edges(found))
        except DpflError:
            raise
        except BaseException as error:  # a user's code, where there is a limit: an exit ends only this process
            if own.limit is None:
                raise
            raise InputError(cannot(statement, check, error)) from error

    try:
        found, edges = points() if own.limit is None else limited(points, own.limit)
    except (TimeoutExceeded, WorkerDied) as error:
        raise InputError(
            f"check {check.name!r} of {statement.id}: {error}: give a larger `limit`, or fewer values"
        ) from None
    return Curve(statement, check, symbol, found, edges)


@dataclass(frozen=True)
class _Line:
    """The instances of a check that have these values at a place; ``rules``: the prescriptions that the recorded one
    follows."""

    statement: Statement
    check: Check
    symbol: str
    place: Path
    given: Sequence[Any]
    rules: Mapping[str, Rule]

    def points(self, settings: Settings, tell: Callable[[float, str], None]) -> Iterator[Point]:
        """The evidence at each value."""
        for i, value in enumerate(self.given):
            number = float(Fraction(value))
            tell(i / len(self.given), f"{self.symbol} = {number:.6g}")
            one = _changed(self.check, self.place, value)
            try:
                built = _built(self.statement, one)
            except (ArithmeticError, TypeError, ValueError) as error:  # the prescribed value is no number there, say
                failure = "it can be run", format_error(error)
                yield Point(number, number, outside(self.statement, one, failure, 0.0))
                continue
            at, astray = symbol_value(built, self.symbol), _prescription_mismatch(built, self.rules)
            if astray is None:
                evidence = run_one(self.statement, one, settings)
            else:
                evidence = outside(self.statement, one, astray, 0.0)
            yield Point(number, number if at is None else at, evidence)

    def edges(self, points: Sequence[Point]) -> Iterator[tuple[int, float]]:
        """The value at which a hypothesis starts or ceases to be met between two points, found by building without
        running; none where the hypotheses do not distinguish the two points."""
        for i, ((first, low), (second, high)) in enumerate(pairwise(zip(points, self.given, strict=True))):
            known = first.outside, second.outside
            if first.outside == second.outside or (self._at(low)[0], self._at(high)[0]) != known:
                continue
            for _ in range(HALVINGS):
                middle = _between(low, high)
                if middle in (low, high):
                    break
                low, high = (middle, high) if self._at(middle)[0] == first.outside else (low, middle)
            ends = self._at(low)[1], self._at(high)[1]
            yield i, sum(ends) / 2 if isinstance(low, int) else ends[0 if second.outside else 1]

    def _at(self, value: Any) -> tuple[bool, float]:
        """Whether the point is outside, and the symbol's value."""
        try:
            built = _built(self.statement, _changed(self.check, self.place, value))
            held = [built] if isinstance(built, (Experiment, Values)) else [b for b in built if isinstance(b, Values)]
            out = _prescription_mismatch(built, self.rules) is not None or any(map(self._is_outside, held))
        except (ArithmeticError, TypeError, ValueError):
            return True, float(Fraction(value))
        number = symbol_value(built, self.symbol)
        return out, float(Fraction(value)) if number is None else number

    def _is_outside(self, of: Experiment | Values) -> bool:
        if isinstance(of, Experiment):
            return unmet(self.statement, of.values, of.problem) is not None
        return unmet(self.statement, of.symbol_values) is not None


def _between(low: Any, high: Any) -> Any:
    """The midpoint of two numbers of an instance, of their kind.

    >>> _between(2, 5), _between("1/4", "1"), _between(0.5, 1.0)
    (3, '5/8', 0.75)
    """
    if isinstance(low, int) and isinstance(high, int):
        return (low + high) // 2
    middle = (Fraction(low) + Fraction(high)) / 2
    return str(Fraction(f"{float(middle):.9g}")) if isinstance(low, str) else float(middle)


def _prescription_mismatch(built: Any, rules: Mapping[str, Rule]) -> tuple[str, str] | None:
    """The prescription that the recorded run follows and this one does not, and how it fails."""
    for name, rule in rules.items() if isinstance(built, Experiment) else ():
        if not agrees(built.values[name], rule(built.values)):
            return f"{name} is as prescribed", f"it is {built.values[name]:.6g}, not {rule(built.values):.6g}"
    return None


def _changed(check: Check, place: Path, value: Any) -> Check:
    """The check with this value at a place of its instance."""
    instance = copy.deepcopy(dict(check.instance))
    set_value(instance, place, value)
    return replace(check, instance=instance)
