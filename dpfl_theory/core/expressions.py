"""Formulas as sympy expressions: the symbols they are written in, their text, and their values.

A formula is a function of symbols. The same formula is evaluated exactly for fractions, to the requested number of
digits with mpmath, and in double precision for floats.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.errors import InputError, nearest
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp

__all__ = ["AnySymbols", "Symbols", "compiled", "evaluate", "text_of"]

MEMORY = 1024
"""The number of formulas in the cache: more than the catalogue has."""


class UnknownSymbol(InputError, KeyError):
    """A name that is not a symbol of a statement."""

    def __str__(self) -> str:
        return str(self.args[0])


class Symbols(Mapping[str, Any]):
    """The symbols of a statement by name, as attributes or as items.

    >>> s = Symbols({"rho": 2}, "an example")
    >>> s.rho, s["rho"], "mu" in s
    (2, 2, False)
    """

    __slots__ = ("_known", "_of")

    def __init__(self, known: Mapping[str, Any], of: str) -> None:
        self._known = dict(known)
        self._of = of

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            known = ", ".join(self._known) or "none"
            near = nearest(name, self._known)
            remedy = f"take {near[0]!r}, or declare it" if near else "declare it, or take another one"
            raise UnknownSymbol(f"{self._of} has no symbol {name!r}; it has {known}: {remedy}")
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, name: object) -> bool:
        return name in self._known


class AnySymbols:
    """Symbols without assumptions, made when their names are read, so that a relation between them stays as written.

    >>> s = AnySymbols()
    >>> 0 < s.rho, s.E <= s.alpha / (2 * s.rho)
    (rho > 0, E <= alpha/(2*rho))
    """

    __slots__ = ("_prefix",)

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return sp.Symbol(self._prefix + name)

    def __getitem__(self, name: str) -> Any:
        return sp.Symbol(self._prefix + name)


def text_of(expression: Any) -> str:
    """An expression as papers type it: products without a sign, powers with ^.

    >>> s = AnySymbols()
    >>> text_of(s.E <= s.alpha / (2 * s.rho)), text_of(s.l ** sp.Rational(2, 3) / (24 * s.nu))
    ('E <= alpha/(2 rho)', 'l^(2/3)/(24 nu)')
    """
    text: str = sp.sstr(sp.sympify(expression))
    return text.replace("**", "^").replace("*", " ").replace("Min(", "min(").replace("Max(", "max(")


class _Irrational(ArithmeticError):
    """A value that is not rational, or that this arithmetic cannot recognise as rational."""


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """base^exponent where that is rational: whole exponents, and roots of perfect powers."""
    if exponent.denominator == 1:
        return base**exponent.numerator
    if base < 0:
        raise _Irrational
    root = [_root(part, exponent.denominator) for part in (base.numerator, base.denominator)]
    return Fraction(*root) ** exponent.numerator


def _root(whole: int, degree: int) -> int:
    """The whole root of a whole number; `_Irrational` if it has no such root."""
    found, exact = sp.integer_nthroot(whole, degree)
    if not exact:
        raise _Irrational
    return int(found)


@functools.lru_cache(4 * MEMORY)
def _exact(expression: Any) -> tuple[tuple[str, ...], Callable[..., Fraction]] | None:
    """The symbols of an expression and a function of their fractions; None where it is not algebraic."""
    from sympy.printing.pycode import PythonCodePrinter

    class Printer(PythonCodePrinter):  # type: ignore[misc]
        """Python code in which every number is a Fraction and every power is checked."""

        def _print_Rational(self, number: Any) -> str:
            return f"F({number.p}, {number.q})"

        _print_Integer = _print_Rational

        def _print_Mul(self, product: Any) -> str:
            return "*".join(f"({self._print(factor)})" for factor in product.args)

        def _print_Pow(self, power: Any, rational: bool = False) -> str:
            return f"power({self._print(power.base)}, {self._print(power.exp)})"

        def _print_floor(self, found: Any) -> str:
            return f"F({found.func.__name__}({self._print(found.args[0])}))"

        _print_ceiling = _print_floor

        def _print_Symbol(self, symbol: Any) -> str:
            return names[symbol]

    known = (sp.Add, sp.Mul, sp.Pow, sp.Max, sp.Min, sp.Abs, sp.floor, sp.ceiling, sp.Rational, sp.Symbol)
    if not all(isinstance(part, known) for part in sp.preorder_traversal(expression)):
        return None
    symbols = sorted(expression.free_symbols, key=lambda s: s.name)
    names = {symbol: f"a{i}" for i, symbol in enumerate(symbols)}
    code = f"lambda {', '.join(names.values())}: {Printer().doprint(expression)}"
    space = {"F": Fraction, "power": _power, "floor": math.floor, "ceiling": math.ceil}
    return tuple(s.name for s in symbols), eval(code, space)


@functools.lru_cache(4 * MEMORY)
def compiled(expression: Any, module: str) -> tuple[tuple[str, ...], Callable[..., Any]]:
    """The names of an expression's symbols, and a function of them for the numbers of ``math`` or ``mpmath``."""
    symbols = sorted(expression.free_symbols, key=lambda s: s.name)
    return tuple(s.name for s in symbols), sp.lambdify(symbols, expression, module)


def evaluate(expression: Any, values: Mapping[str, Any], of: str = "the formula") -> Any:
    """A sympy expression at values of its symbols, by name, in the arithmetic of the values.

    Fractions and whole numbers (sympy's among them) give a Fraction, or, where the value is not rational, a number
    of sympy; an mpmath number anywhere gives an mpmath number of mpmath's own precision; a float anywhere a float.
    ValueError where a symbol has no value.

    >>> import sympy as sp
    >>> x = sp.Symbol("x", positive=True)
    >>> evaluate(sp.sqrt(x) / 3, {"x": Fraction(4, 25)}), evaluate(sp.sqrt(x), {"x": 2}), evaluate(x / 3, {"x": 0.75})
    (Fraction(2, 15), sqrt(2), 0.25)
    """
    expression = sp.sympify(expression)
    missing = sorted(s.name for s in expression.free_symbols if s.name not in values)
    if missing:
        raise ValueError(f"{of} has no value for {', '.join(missing)}")
    given = {s.name: values[s.name] for s in expression.free_symbols}
    kinds = {_kind(v) for v in given.values()}
    if "mpmath" in kinds:
        names, function = compiled(expression, "mpmath")
        return mpmath.mpf(function(*(mpmath.mpmathify(_plain(given[name])) for name in names)))
    if "float" in kinds:
        names, function = compiled(expression, "math")
        return float(function(*(float(given[name]) for name in names)))
    exact = _exact(expression) if "sympy" not in kinds else None
    if exact is not None:
        names, function = exact
        try:
            return Fraction(function(*(Fraction(_plain(given[name])) for name in names)))
        except _Irrational:
            pass
    found = expression.subs({s: sp.sympify(given[s.name]) for s in expression.free_symbols})
    return Fraction(int(found.p), int(found.q)) if found.is_Rational else found


def _kind(value: Any) -> str:
    if isinstance(value, (int, Fraction)):
        return "fraction"
    if isinstance(value, float):
        return "float"
    module = type(value).__module__.split(".")[0]
    if module == "sympy":
        return "fraction" if value.is_Rational else "sympy"
    if module == "numpy":
        return "float"
    if module == "mpmath":
        return "mpmath"
    raise TypeError(f"{value!r} is a {type(value).__name__}: give a fraction, a float or a number of mpmath or sympy")


def _plain(value: Any) -> Any:
    return Fraction(int(value.p), int(value.q)) if type(value).__module__.split(".")[0] == "sympy" else value
