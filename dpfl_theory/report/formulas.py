"""A statement's formulas as LaTeX and as MathML, which browsers render without their own fonts or scripts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import prescription_of, sides_of
from dpfl_theory.lazy import sympy as sp

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
RELATIONS = {"<=": r"\leq", "==": "=", ">=": r"\geq"}

_ELEMENTS = frozenset({
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup",
    "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mpadded", "mphantom", "mstyle", "mmultiscripts",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "display", "stretchy", "fence", "form", "separator", "mathvariant", "linebreak", "width", "height",
    "depth", "columnalign", "rowspacing", "columnspacing", "accent", "accentunder", "largeop",
    "movablelimits", "minsize", "maxsize", "symmetric", "displaystyle", "scriptlevel", "linethickness",
    "lspace", "rspace",
})  # fmt: skip
_ALONE = re.compile(r"<mrow>(<m[ino]>[^<]*</m[ino]>)</mrow>")
"""A group of one element."""
_USUAL = re.compile(r'<mo stretchy="true" fence="true" form="(?:prefix|postfix)">(?=[()\[\]{}]</mo>)')
"""What a parenthesis has by itself."""
_EXPONENT = re.compile(r"\^(-?[0-9/]+)")
"""An exponent of a unit."""


@dataclass(frozen=True)
class FormulaLine:
    """One line of a displayed formula: the preceding sign, its LaTeX, the name of the term, and the number of the term
    on its side (for its colour)."""

    sign: str
    latex: str
    name: str
    side: str
    index: int

    @property
    def mathml(self) -> str:
        """The line without its name, as MathML."""
        return mathml(f"{self.sign} {self.latex}".strip())


def _names(statement: Statement) -> dict[str, str]:
    symbols = {s.name: s.latex or s.name for s in statement.symbols}
    return symbols | {e.name: e.latex or e.name for e in statement.expectations}


def latex(expression: Any, statement: Statement) -> str:
    """The sympy expression with the statement's own symbols: first the coefficient, then sums, then expectations.

    A symbol that denotes a sum is put in parentheses where it has a factor.
    """
    expr = sp.sympify(expression)
    names = _names(statement)
    expectations = {e.name for e in statement.expectations}
    table = {}
    for symbol in expr.free_symbols:
        text = names.get(symbol.name, sp.latex(symbol))
        alone = expr == symbol
        table[symbol] = rf"\left({text}\right)" if text.startswith((r"\frac", r"\sum")) and not alone else text

    def written(part: Any) -> str:
        return str(
            sp.latex(
                part,
                symbol_names=table,
                order="rev-lex",
                fold_short_frac=False,
                long_frac_ratio=2,
                parenthesize_super=False,
            )
        )

    def rank(factor: Any) -> int:
        base, exponent = factor.as_base_exp()
        if not (exponent.is_number and exponent.is_positive):
            return 0
        return 2 if {s.name for s in base.free_symbols} & expectations else int(base.is_Add)

    factors = sp.Mul.make_args(expr)
    if len(factors) == 1:
        return written(expr)
    coefficient = sp.Mul(*(f for f in factors if rank(f) == 0))
    parts = [] if coefficient == 1 else ["-" if coefficient == -1 else written(coefficient)]
    for factor in sorted((f for f in factors if rank(f)), key=rank):
        parts.append(rf"\left({written(factor)}\right)" if factor.is_Add else written(factor))
    return " ".join(parts)


@cache
def lines(statement: Statement) -> list[FormulaLine]:
    """The displayed formula, one line for each named term; empty for a statement without one."""
    if statement.sides is None:
        return []
    sides = sides_of(statement)
    found = []
    for side, terms in (("lhs", sides.lhs), ("rhs", sides.rhs)):
        for i, (name, expression) in enumerate(terms.items()):
            text = latex(expression, statement)
            sign = "+" if i else ""
            if i and text.startswith("-"):
                sign, text = "-", text[1:].lstrip()
            if side == "rhs" and i == 0:
                sign = RELATIONS.get(statement.relation, rf"\text{{{statement.relation}}}")
            found.append(FormulaLine(sign, text, name, side, i))
    return found


@cache
def prescriptions(statement: Statement) -> list[str]:
    """Each prescribed hyper-parameter as MathML of an equation."""
    prescribed: Mapping[str, Any] = {} if statement.prescription is None else prescription_of(statement)
    names = _names(statement)
    return [mathml(f"{names.get(name, name)} = {latex(value, statement)}") for name, value in prescribed.items()]


@cache
def hypotheses(statement: Statement) -> list[str]:
    """The statement's hypotheses in Markdown."""
    return [hypothesis.markdown(_names(statement)) for hypothesis in statement.hypotheses]


@cache
def symbols(statement: Statement) -> list[dict[str, str]]:
    """The statement's symbols and expectations: name, MathML, meaning and unit."""
    from dpfl_theory.statements.units import format_unit

    units = statement.units
    entries = [(e.name, e.latex, e.meaning) for e in statement.expectations]
    entries += [(s.name, s.latex, s.meaning) for s in statement.symbols]
    return [
        {
            "name": name,
            "mathml": mathml(text or name, "inline"),
            "meaning": meaning,
            "unit": _EXPONENT.sub(lambda found: found[1].translate(RAISED), format_unit(units[name])),
        }
        for name, text, meaning in entries
    ]


@cache
def mathml(text: str, display: str = "block") -> str:
    r"""LaTeX as MathML, displayed on its own (``block``) or in a line of text (``inline``).

    >>> "<mi>α</mi>" in mathml(r"\alpha + 1")
    True

    The outer row stays: without it a page that styles ``math`` as a block would put one sign below the other.

    >>> mathml(r"\alpha + 1").startswith('<math display="block"><mrow>')
    True
    """
    from xml.etree import ElementTree

    from latex2mathml.converter import convert

    try:
        tree = ElementTree.fromstring(str(convert(text, display=display)))
        for element in tree.iter():
            _admit(element)
        made = ElementTree.tostring(tree, encoding="unicode")  # escaped again: the converter leaves that to others
    except Exception:  # LaTeX from a file may be any text, and the converter has no error of its own for it
        made = f'<math display="{display}"><mtext>{escape(text)}</mtext></math>'
    made = _USUAL.sub("<mo>", made.replace(' fence="false"', "").replace(' display="inline"', ""))
    return _ALONE.sub(r"\1", made)


def _admit(element: Any) -> None:
    """An element of a formula without its namespace, which a page of HTML need not name. Raises ValueError for an
    element that is not a formula, or has attributes other than its style."""
    element.tag = str(element.tag).removeprefix("{http://www.w3.org/1998/Math/MathML}")
    if element.tag not in _ELEMENTS or set(element.attrib) - _ATTRIBUTES:
        raise ValueError(f"the element {element.tag!r} is not part of a formula")
