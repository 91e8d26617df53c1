"""How statements follow from others, as data that gives algebra checks; and formulas with some symbols replaced.

A proof step is a function of the statement's `Formula` that returns two expressions and a label:

    @algebra("from (34), over the rounds")
    def summed(s: Formula) -> Proof:
        noise = s.K * s.C**2 * s.rho**2
        return s.D**2 / s.K + noise + of(EQ34, eta=s.prescribed["eta"]).rhs, s.slack, "(34) summed over the rounds"
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dpfl_theory.core import Check, Outcome, Statement, Symbols
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import all_equal, equal

SIDES = ("lhs", "rhs")
Swap = Any
"""What replaces a symbol: a number or an expression, the name of a symbol of the other statement, or a function of its
formula."""
Equality = tuple[Any, Any, str]
Proof = Equality | Sequence[Equality] | Outcome
"""Two expressions that must be equal and a label, several of them, or an outcome."""


class Pair(NamedTuple):
    """The two sides of the sum of two formulas."""

    lhs: Any
    rhs: Any


class Formula(Symbols):
    """A statement's symbols (``s.rho``), the totals of its sides and its prescription, with some symbols replaced.

    The sum of two formulas is their sum side by side.

    >>> from dpfl_theory.statements import get
    >>> s = of(get("das2022.fact2"), p=2)
    >>> s.rhs
    2*sum_of_squared_norms
    """

    __slots__ = ("_swaps", "statement")

    def __init__(self, statement: Statement, swaps: Mapping[Any, Any]) -> None:
        super().__init__(symbols_of(statement), statement.id)
        self.statement, self._swaps = statement, swaps

    def __add__(self, other: Formula) -> Pair:
        return Pair(self.lhs + other.lhs, self.rhs + other.rhs)

    def _replaced(self, expression: Any) -> Any:
        return expression.subs(self._swaps, simultaneous=True) if self._swaps else expression

    def like(self, other: Statement, **swaps: Any) -> Formula:
        """Another statement's formula in the symbols of this one, by name, with others replaced.

        >>> from dpfl_theory.statements import get
        >>> of(get("noble2022.lemmaC.6")).like(get("noble2022.lemmaC.5"), alpha=1).terms["drift"]
        97*drift*l/48
        """
        own = symbols_of(other)
        return of(other, **{name: self[name] for name in own if name in self} | swaps)

    @property
    def terms(self) -> dict[str, Any]:
        """The terms of the right side."""
        return {name: self._replaced(term) for name, term in sides_of(self.statement).rhs.items()}

    @property
    def lhs(self) -> Any:
        """The left side."""
        return self._replaced(total(self.statement, "lhs"))

    @property
    def rhs(self) -> Any:
        """The right side."""
        return self._replaced(total(self.statement, "rhs"))

    @property
    def slack(self) -> Any:
        """The right side less the left one."""
        return self.rhs - self.lhs

    @property
    def prescribed(self) -> dict[str, Any]:
        """The prescribed hyper-parameters."""
        return {name: self._replaced(sp.sympify(e)) for name, e in prescription_of(self.statement).items()}


def of(statement: Statement, **swaps: Any) -> Formula:
    """The formula of a statement in which these symbols are replaced by expressions."""
    symbols = symbols_of(statement)
    return Formula(statement, {symbols[name]: value for name, value in swaps.items()})


def _into(general: Statement, statement: Statement, swaps: Mapping[str, Swap]) -> Formula:
    """The general statement's formula in the symbols of the statement; those that have the same name are the same."""
    own, new = symbols_of(general), symbols_of(statement)
    found = {
        own[name]: new[by] if isinstance(by, str) else by(of(statement)) if callable(by) else sp.sympify(by)
        for name, by in swaps.items()
    }
    return Formula(general, {own[name]: new[name] for name in own if name in new} | found)


def algebra(
    name: str, part: str = "", expected: str = "holds", letters: str = "", **instance: Any
) -> Callable[[Callable[..., Proof]], Check]:
    """The algebra check of this name from a proof step: a function of the statement's `Formula`, and of the instance's
    entries if there is one. letters: names, separated by spaces, of positive symbols that it is given as well.

    >>> made = algebra("a square", letters="x y")(lambda s, x, y: ((x + y) ** 2, x**2 + 2 * x * y + y**2, "expanded"))
    >>> from dpfl_theory.statements import get
    >>> made.make(get("das2022.fact2")).true
    True
    """

    def made(step: Callable[..., Proof]) -> Check:
        @functools.wraps(step)
        def build(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
            own = sp.symbols(letters, positive=True, seq=True) if letters else ()
            return _decided(step(of(statement), *own, **instance))

        return Check("algebra", name, build, instance, expected, part)

    return made


def checked(
    method: str, name: str, part: str = "", expected: str = "holds", **instance: Any
) -> Callable[[Callable[..., Any]], Check]:
    """The check of this method and name from its ``build``, for one that no other check shares.

    >>> @checked("exact", "at 1", x="1")
    ... def at_one(statement, instance):
    ...     return []
    >>> at_one.method, at_one.name, at_one.instance
    ('exact', 'at 1', {'x': '1'})
    """
    return lambda build: Check(method, name, build, instance, expected, part)


exact = functools.partial(checked, "exact")
"""The exact check of a name, from a function of the statement and the instance that gives values or cases."""


def _decided(proof: Proof) -> Outcome:
    if isinstance(proof, Outcome):
        return proof
    return equal(*proof) if isinstance(proof, tuple) else all_equal(*proof)


def specialises(
    general: Statement, how: str, prescription: bool = True, **swaps: Swap
) -> Callable[[Statement], Iterator[Check]]:
    """The statement is a special case of the general one: its formula, and what it prescribes, are the general ones
    with symbols replaced. how: the replacement in words."""

    @algebra(f"special case of {general.id}")
    def compared(s: Formula) -> Proof:
        message = f"{general.id} with {how} against {s.statement.id}"
        return -_into(general, s.statement, swaps).slack, -s.slack, message

    def checks(_: Statement) -> Iterator[Check]:
        yield compared
        if prescription:
            yield prescribes_as(general, how, **swaps)

    return checks


def prescribes_as(general: Statement, how: str, expected: str = "holds", **swaps: Swap) -> Check:
    """A check that the statement prescribes what the general one does, with symbols of the latter replaced."""

    part = f"It compares the prescription with that of {general.id}; other checks compare the two sides."

    @algebra(f"prescription agrees with {general.id}", part, expected)
    def step(s: Formula) -> Proof:
        id_, known = s.statement.id, symbols_of(general)
        mine = _into(general, s.statement, {name: by for name, by in swaps.items() if name in known}).prescribed
        theirs = s.prescribed
        shared = sorted(mine.keys() & theirs.keys())
        if not shared:
            return Outcome(False, f"{general.id} and {id_} prescribe no hyper-parameter in common")
        found = all_equal(*((mine[n], theirs[n], f"{n} of {general.id} with {how} against {id_}") for n in shared))
        said = f"{general.id} with {how} and {id_} prescribe the same {', '.join(shared)}"
        return Outcome(True, said) if found.true else found

    return step


def special_form(name: str, general: Statement, how: str, part: str = "", **swaps: Swap) -> Check:
    """A check that both sides, each for itself, are those of the general statement with symbols replaced."""

    @algebra(name, part)
    def step(s: Formula) -> Proof:
        return equal_sides(_into(general, s.statement, swaps), s, f"of {general.id} {how} against {s.statement.id}")

    return step


def becomes(name: str, special: Statement, how: str, **swaps: Swap) -> Check:
    """A check that the statement, with symbols of its own replaced, has both sides of the special one."""

    @algebra(name)
    def step(s: Formula) -> Proof:
        label = f"of {s.statement.id} {how} against {special.id}"
        return equal_sides(_into(s.statement, special, swaps), of(special), label)

    return step


def equal_sides(first: Formula | Pair, second: Formula | Pair, label: str) -> list[Equality]:
    """That two formulas agree, each side for itself."""
    return [(getattr(first, side), getattr(second, side), f"{side} {label}") for side in SIDES]


def limit(finite: Statement, symbol: str) -> Check:
    """A check that the asymptotic statement is the finite one over its coefficient, as a symbol grows without bound."""

    @algebra(f"limit of {finite.id} as {symbol} grows")
    def step(s: Formula) -> Proof:
        return in_the_limit(of(finite), symbol, s.statement, f"the limit {symbol} -> oo of {finite.id}")

    return step


def in_the_limit(finite: Formula, symbol: str, statement: Statement, label: str) -> Equality:
    """The limit of a formula, over its coefficient, and the asymptotic statement, cross-multiplied."""
    left, right = (sp.limit(getattr(finite, side), finite[symbol], sp.oo) for side in SIDES)
    own = of(statement)
    return left * own.rhs, right * own.lhs, f"{label} against {statement.id}"
