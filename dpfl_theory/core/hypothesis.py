"""A hypothesis of a statement: a relation between its symbols, from which text, test and boundary follow."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.expressions import AnySymbols, evaluate, text_of
from dpfl_theory.core.prose import plain
from dpfl_theory.errors import InputError
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

Test = Callable[["Problem | None", Mapping[str, Any]], "str | None"]

VERBS = {"<=": "exceeds", ">=": "is below", "<": "is not below", ">": "does not exceed", "==": "is not"}
"""The relations that a hypothesis may have, and the words for their failure."""
ROUNDING = 1e-12
"""Sides whose relative difference is at most this count as equal in <= and >=: instances at a boundary are rounded."""
_FAR = 2.0**20
"""Farther boundaries are not reached by any step size or number of rounds used in practice."""
_STEPS = 24
"""Bisections of the logarithm of a factor, which determine it to about six digits."""
OF_PROBLEM = "of the problem: "
"""What the names of the problem's constants start with in relations."""
_CLOSE = 1e-9
"""Relative difference up to which numbers count as equal, or as whole: prescribed numbers are rounded."""


def by_construction(problem: Problem | None, values: Mapping[str, float]) -> None:
    """The test of a hypothesis that every instance meets because `build` makes no others. So no instance tests it.

    >>> Hypothesis.custom("each f_i is convex", by_construction).test(None, {})
    """


def whole(expression: Any) -> Any:
    """The relation that a quantity is a whole number.

    >>> Hypothesis(lambda s: whole(s.K)).test(None, {"K": 2.5})
    'K = 2.5 is not a whole number'
    """
    return sp.Contains(expression, sp.S.Integers, evaluate=False)


@dataclass(frozen=True, eq=False)
class Hypothesis:
    r"""A hypothesis, as a function of the symbols that gives a relation or several ones, which all must be met.

    relation: from the symbols ``s``, or from ``s`` and the constants ``c`` of the problem, a relation of sympy (``<=``,
    ``<``, ``>=``, ``>``, `whole`) or a tuple of them. words: the paper's words where a relation is not what it prints,
    in Markdown.
    constructed: why every instance of the checks meets it, one sentence; empty where some check has an instance that
    only this hypothesis excludes. partial: symbols without which a relation that has them is passed over. rounding:
    the relative difference up to which sides count as equal in <= and >=.

    >>> h = Hypothesis(lambda s: s.E <= s.alpha / (2 * s.rho))
    >>> h.text
    'E <= alpha/(2 rho)'
    >>> h.latex({"alpha": r"\alpha", "rho": r"\rho"})
    'E \\leq \\frac{\\alpha}{2 \\rho}'
    >>> h.test(None, {"E": 4, "alpha": 1, "rho": 0.5})
    'E = 4 exceeds alpha/(2 rho) = 1'
    >>> Hypothesis(lambda s: (0 < s.rho, s.rho < 1)).text
    '0 < rho < 1'
    >>> Hypothesis(lambda s, c: c.L_max <= s.L, "each f_i is L-smooth").text
    'each f_i is L-smooth'
    """

    relation: Callable[..., Any] | None
    words: str = ""
    constructed: str = ""
    tested_by: Test | None = field(default=None, repr=False)
    partial: tuple[str, ...] = ()
    rounding: float = ROUNDING

    @classmethod
    def custom(cls, text: str, test: Test, constructed: str = "") -> Hypothesis:
        """A hypothesis that is not a relation between numbers.

        test(problem, values): None where it is met, otherwise one sentence that says why it is not. The problem is None
        for statements without one; values: of the symbols, by name.

        >>> Hypothesis.custom("one client", lambda problem, v: None if v["n"] == 1 else "there are more").text
        'one client'
        """
        return cls(None, text, constructed, test)

    @property
    def function(self) -> Callable[..., Any] | None:
        """The function that it was made of."""
        return self.relation or self.tested_by

    @cached_property
    def relations(self) -> tuple[Any, ...]:
        """Its relations between symbols, as written; none for a custom hypothesis.

        >>> Hypothesis(lambda s: s.alpha >= 1).relations
        (alpha >= 1,)
        """
        if self.relation is None:
            return ()
        count = sum(p.default is p.empty for p in inspect.signature(self.relation).parameters.values())
        made = self.relation(*(AnySymbols(), AnySymbols(OF_PROBLEM))[:count])
        found = made if isinstance(made, tuple) else (made,)
        for one in found or (None,):
            if not isinstance(one, sp.Contains) and getattr(one, "rel_op", "") not in VERBS:
                raise InputError(
                    f"a hypothesis gives {one!r}, which is not a relation between symbols: return one such as "
                    "s.eta <= 1 / s.L, or a tuple of them"
                )
        return found

    @property
    def text(self) -> str:
        """The words, or the relations as text."""
        return plain(self.words) or " and ".join(_chained(self.relations, _text, " <= "))

    def markdown(self, names: Mapping[str, str] | None = None) -> str:
        """The words, or the relations as a formula; names: of the symbols in LaTeX, by name."""
        return self.words or f"${self.latex(names)}$"

    def latex(self, names: Mapping[str, str] | None = None) -> str:
        """The relations in LaTeX; names: of the symbols, by name. Words for a custom hypothesis."""
        if not self.relations:
            return rf"\text{{{self.text}}}"
        known = {sp.Symbol(name): tex for name, tex in (names or {}).items() if tex}
        constants = {x for one in self.relations for x in one.free_symbols if OF_PROBLEM in x.name}
        known |= {x: str(sp.latex(sp.Symbol(x.name.removeprefix(OF_PROBLEM)))) for x in constants}
        return r",\; ".join(_chained(self.relations, lambda part: str(sp.latex(part, symbol_names=known)), r" \leq "))

    def test(self, problem: Problem | None, values: Mapping[str, Any]) -> str | None:
        """None where the values (and the problem, if there is one) meet it, otherwise one sentence that says why not.

        A relation with a constant of the problem counts as met where there is no problem. Raises KeyError with the name
        of a symbol that has no value.
        """
        if self.tested_by is not None:
            return self.tested_by(problem, values)
        for one in self.relations:
            names = {str(symbol) for symbol in one.free_symbols}
            constants = {name for name in names if name.startswith(OF_PROBLEM)}
            if (constants and problem is None) or any(x in names and x not in values for x in self.partial):
                continue
            known = {name: values[name] for name in sorted(names - constants)}
            known |= {name: _constant(problem, name.removeprefix(OF_PROBLEM)) for name in constants}
            if (failure := _failure(one, known, self.rounding)) is not None:
                return failure
        return None

    def crossings(self, values: Mapping[str, Any], symbol: str) -> list[float]:
        """The factors, above 1 and below 1, by which a symbol alone reaches the boundary from values that meet it.

        No factor is given where one up to 2^20 crosses nothing, where the symbol is 0, or where the values do not meet
        the hypothesis. Relations with constants of the problem are passed over.

        >>> [round(x, 4) for x in Hypothesis(lambda s: s.eta <= 1 / s.L).crossings({"eta": 0.25, "L": 1.0}, "eta")]
        [4.0]
        """
        value = float(values[symbol])
        if not value or not self._met(values):
            return []
        found = []
        for far in (_FAR, 1.0 / _FAR):
            if not self._met({**values, symbol: value * far}):
                inside, outside = 1.0, far
                for _ in range(_STEPS):
                    middle = (inside * outside) ** 0.5
                    if self._met({**values, symbol: value * middle}):
                        inside = middle
                    else:
                        outside = middle
                found.append(inside)
        return found

    def near(self, values: Mapping[str, Any], symbol: str, share: float = 0.01) -> list[tuple[float, float]]:
        """For each crossing the value of the symbol just inside the boundary and just outside, ``share`` away from it.

        None where no value is inside at that distance, as for an equation.

        >>> inside, outside = Hypothesis(lambda s: s.eta <= 1 / s.L).near({"eta": 0.25, "L": 1.0}, "eta")[0]
        >>> f"{inside:.4f} {outside:.4f}"
        '0.9900 1.0100'
        """
        value = float(values[symbol])
        # A factor of 1 is one at a boundary: it lies above where a larger value is outside.
        above = self._met({**values, symbol: value * (1.0 + share)})
        signs = [
            (value * x, 1.0 if x > 1.0 or (x == 1.0 and not above) else -1.0) for x in self.crossings(values, symbol)
        ]
        ends = [(at * (1.0 - up * share), at * (1.0 + up * share)) for at, up in signs]
        return [(inside, outside) for inside, outside in ends if self._met({**values, symbol: inside})]

    def _met(self, values: Mapping[str, Any]) -> bool:
        """Whether it is met. One that symbols do not determine counts as met, so that it has no boundary."""
        try:
            return self.test(None, values) is None
        except Exception:
            return True


def _constant(problem: Any, name: str) -> Any:
    """A certified constant of a problem, its number of clients or its dimension."""
    return getattr(problem if name in ("n", "d") else problem.constants, name)


def _text(part: Any) -> str:
    """A relation or one of its sides as text."""
    if isinstance(part, sp.Contains):
        return f"{_text(part.args[0])} is a whole number"
    return text_of(part).replace(OF_PROBLEM, "")


def _chained(relations: tuple[Any, ...], written: Callable[[Any], str], at_most: str) -> list[str]:
    """The relations as written; a lower and an upper limit of the same quantity as one, 0 < rho < 1."""
    found: list[str] = []
    last: Any = None
    for one in relations:
        lower, upper = getattr(last, "rel_op", ""), getattr(one, "rel_op", "")
        if lower.startswith(">") and upper.startswith("<") and last.lhs == one.lhs:
            found[-1] = f"{written(last.rhs)}{at_most if lower == '>=' else ' < '}{written(one)}"
        else:
            found.append(written(one))
        last = one
    return found


def _failure(relation: Any, values: Mapping[str, Any], rounding: float) -> str | None:
    """How a relation fails at these values; None where it is met."""
    if isinstance(relation, sp.Contains):
        value = float(evaluate(relation.args[0], values))
        if math.isfinite(value) and abs(value - round(value)) <= _CLOSE * abs(value):
            return None
        shown = _shown(value, float(f"{value:.6g}").is_integer())
        return f"{_text(relation.args[0])} = {shown} is not a whole number"
    try:
        left, right = _comparable(*(evaluate(side, values) for side in relation.args))
    except (ArithmeticError, ValueError) as error:
        where = ", ".join(f"{name.replace(OF_PROBLEM, '')} = {value}" for name, value in values.items())
        return f"{_text(relation)} has no value at {where}: {error}"
    sign, size = relation.rel_op, max(abs(left), abs(right))
    slack = (_CLOSE if sign == "==" else rounding) * size if size < math.inf else 0  # nothing is close to infinity
    if left == right:
        met = sign in ("<=", ">=", "==")
    elif sign == "==":
        met = abs(left - right) <= slack
    else:
        over = left - right if sign.startswith("<") else right - left
        met = over <= slack if sign.endswith("=") else over < 0
    if met:
        return None
    close = left != right and _shown(left) == _shown(right)
    return f"{_valued(relation.lhs, left, close)} {VERBS[sign]} {_valued(relation.rhs, right, close)}"


def _comparable(*values: Any) -> tuple[Any, ...]:
    """Numbers that can be compared: fractions as they are, numbers of mpmath where one is, and otherwise floats."""
    if any(isinstance(value, mpmath.mpf) for value in values):
        exact = (v.evalf(mpmath.mp.dps) if getattr(v, "is_finite", False) else v for v in values)
        return tuple(mpmath.mpmathify(float(v) if getattr(v, "is_infinite", False) else v) for v in exact)
    if all(isinstance(value, Fraction) for value in values):
        return values
    if any(getattr(value, "is_real", True) is False and not value.is_infinite for value in values):
        raise ValueError("it is not a real number")
    return tuple(map(float, values))


def _valued(expression: Any, value: Any, every_digit: bool) -> str:
    """An expression and its value: alpha/(2 rho) = 1."""
    shown = _shown(value, every_digit)
    return shown if expression.is_number else f"{_text(expression)} = {shown}"


def _shown(value: Any, every_digit: bool = False) -> str:
    """A value with six digits, or with all of them where six would make its sentence contradict itself."""
    return repr(float(value)).removesuffix(".0") if every_digit else f"{float(value):.6g}"
