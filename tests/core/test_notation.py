"""A paper's notation: a statement has the symbols and expectations that its formulas and hypotheses read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dpfl_theory.core import Expected, Hypothesis, Notation, Sides, Statement, Symbol
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp

GAP = Expected("gap", (("suboptimality", 1),), (1, 0), "f(x_K) - f^*", "suboptimality", "end")
DRIFT = Expected("drift", (("drift", 1),), (1, 0), "A", "the drift of a run", "end")
PAPER = Notation(
    (*(Symbol(name, f"the symbol {name}") for name in ("K", "L", "eta", "sigma", "drift", "unread")), GAP, DRIFT)
)
SHORT = Hypothesis(lambda s: s.eta <= 1 / s.L)
QUIET = Hypothesis(lambda s: sp.Eq(s.sigma, 0), "no noise", partial=("sigma",))


def statement(**more: Any) -> Statement:
    return Statement(
        "a", "fact", **{"symbols": PAPER, "sides": lambda s: Sides({"": s.gap}, {"rate": 1 / s.K}), **more}
    )


def names(made: Statement) -> tuple[list[str], list[str]]:
    return [s.name for s in made.symbols], [e.name for e in made.expectations]


@pytest.mark.parametrize(
    ("more", "symbols", "expectations"),
    [
        ({}, ["K"], ["gap"]),
        ({"hypotheses": (SHORT,)}, ["K", "L", "eta"], ["gap"]),
        ({"hypotheses": (QUIET,)}, ["K"], ["gap"]),
        ({"prescription": lambda s: {"eta": 1 / s.L}}, ["K", "L", "eta"], ["gap"]),
        ({"sides": None}, [], []),
        ({"sides": lambda s: Sides({"": s.drift}, {"": s.L})}, ["L"], ["drift"]),
        ({"sides": lambda s: Sides({"": s.gap}, {"": s.drift})}, ["drift"], ["gap"]),
        ({"symbols": tuple(PAPER)[:2], "expectations": PAPER}, ["K", "L"], ["gap"]),
        ({"symbols": PAPER(Symbol("eta", "another"), GAP), "hypotheses": (SHORT,)}, ["eta", "K", "L"], ["gap"]),
    ],
)  # fmt: skip
def test_what_is_read(more: dict[str, Any], symbols: list[str], expectations: list[str]) -> None:
    assert names(statement(**more)) == (symbols, expectations)


def test_an_own_symbol_takes_the_place_of_the_paper_s() -> None:
    own = statement(symbols=PAPER(Symbol("K", "steps")))
    assert [s.meaning for s in own.symbols] == ["steps"]


def test_another_form_has_what_it_reads_itself() -> None:
    other = replace(statement(hypotheses=(SHORT,)), sides=lambda s: Sides({"": s.gap}, {"": s.drift}), hypotheses=())
    assert names(other) == (["drift"], ["gap"])
    renamed = replace(other, symbols=PAPER(replace(GAP, meaning="another gap")))
    assert [e.meaning for e in renamed.expectations] == ["another gap"]


def test_letters_of_terms_count_as_read() -> None:
    made = sides_of(statement())
    assert names(replace(statement(), sides=lambda s: made)) == (["K"], ["gap"])


def test_a_formula_that_fails_has_every_symbol() -> None:
    """So that its own error is reported."""
    broken = statement(sides=lambda s: Sides({"": s.gap}, {"": s.missing}))
    assert "unread" in symbols_of(broken)
    with pytest.raises(KeyError, match="no symbol 'missing'"):
        sides_of(broken)
