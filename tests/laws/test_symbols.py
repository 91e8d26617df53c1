"""Statements are written in their papers' symbols: a rendered formula has the LaTeX of each, as the table has it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

from each import of_each

from dpfl_theory import statements
from dpfl_theory.core import Statement, Symbol
from dpfl_theory.core.formula import sides_of
from dpfl_theory.report.formulas import latex

OTHERWISE: Mapping[tuple[str, str], str] = {
    ("das2022", "Delta"): "a step of a proof has one client's, in place of their mean",
    ("hou2023", "T"): "Lemma 1 has a whole number of iterations",
    ("hou2023", "noise_variance"): "a prescribed variance is positive",
    ("noble2022", "slope"): "at any x, in place of that of a round",
    ("noble2022", "gap"): "at any x, in place of that of a round",
    ("noble2022", "mu"): "0 is allowed for convex functions",
    ("shulgin2025", "R"): "Clip21 allows memories without error",
    ("shulgin2025", "c"): "Corollary 1's length, in place of Corollary 2's constant of the noise",
    ("shulgin2025", "gamma"): "Clip21's step multiplies a gradient, in place of a direction of length one",
    ("shulgin2025", "gap"): "of any round, in place of the first",
    ("shulgin2025", "sigma"): "a prescribed deviation is positive",
    ("zhang2021", "f_now"): "of the first round, in place of any",
    ("zhang2021", "E_next"): "after the last round, in place of any",
    ("zhang2021", "noise_variance"): "a prescribed variance is positive",
}
"""The symbols that a statement means otherwise than its paper's table, and how."""


def _table(paper: str) -> dict[str, Symbol]:
    package = f"dpfl_theory.statements.{paper}"
    module = "run_symbols" if importlib.util.find_spec(f"{package}.run_symbols") else "_symbols"
    found: dict[str, Symbol] = importlib.import_module(f"{package}.{module}").SYMBOLS
    return found


@of_each(statements.all_statements(), lambda s: s.id)
def test_a_symbol_is_that_of_the_table(statement: Statement) -> None:
    table = _table(statement.paper)
    for own in statement.symbols:
        if own.name in table and (statement.paper, own.name) not in OTHERWISE:
            known = table[own.name]
            assert (own.unit, own.domain, own.latex) == (known.unit, known.domain, known.latex), own.name


@of_each([s for s in statements.all_statements() if s.sides is not None], lambda s: s.id)
def test_the_rendered_formula_has_the_symbols_of_the_statement(statement: Statement) -> None:
    names = {one.name: one.latex or one.name for one in statement.quantities}
    sides = sides_of(statement)
    for name, term in (*sides.lhs.items(), *sides.rhs.items()):
        shown = latex(term, statement).replace(" ", "")
        for symbol in getattr(term, "free_symbols", ()):
            assert names[symbol.name].replace(" ", "") in shown, (name, symbol.name, shown)


def test_no_exception_is_left_over() -> None:
    differing = {
        (s.paper, own.name)
        for s in statements.all_statements()
        for own in s.symbols
        if (known := _table(s.paper).get(own.name)) is not None
        and (own.unit, own.domain, own.latex) != (known.unit, known.domain, known.latex)
    }
    assert differing == set(OTHERWISE)
