"""Geometric programs and their certificates, and hypotheses that are read from a statement's words."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfl_theory.core.expressions import evaluate
from dpfl_theory.recommend.bound_minimizers import geometric
from dpfl_theory.recommend.bound_minimizers.geometric import Monomial, Program, inequalities
from dpfl_theory.statements import get


def monomial(coefficient: float, **exponents: int | str) -> Monomial:
    return Monomial(coefficient, {name: Fraction(e) for name, e in exponents.items()})


def a_box(volume: float, wall: float) -> Program:
    """The cheapest box of at least this volume whose height is at most ``wall``."""
    surface = [monomial(2, x=1, y=1), monomial(2, x=1, z=1), monomial(2, y=1, z=1)]
    return Program(surface, [[monomial(volume, x=-1, y=-1, z=-1)], [monomial(1 / wall, z=1)]])


@given(st.floats(0.01, 100.0), st.floats(0.01, 10.0))
def test_a_problem_with_a_known_answer(volume: float, wall: float) -> None:
    found = a_box(volume, wall).solve()
    assert found is not None
    z = min(wall, volume ** (1 / 3))
    x = math.sqrt(volume / z)
    value = 2 * x * x + 4 * x * z
    assert found.values["z"] == pytest.approx(z, rel=1e-4)
    assert value * (1 - 1e-6) <= found.lower <= value


@given(st.data())
def test_no_point_is_below_the_certificate(data: st.DataObject) -> None:
    """Random programs in two variables, against a grid of points within the constraint."""
    numbers = st.floats(0.1, 10.0)
    exponents = st.integers(-2, 2)
    row = st.lists(st.builds(monomial, numbers, x=exponents, y=exponents), min_size=1, max_size=4)
    objective = [monomial(0.3, x=1), monomial(0.2, x=-1), monomial(0.5, y=1), monomial(0.1, y=-1), *data.draw(row)]
    limit = [Monomial(0.1 * m.coefficient, m.exponents) for m in data.draw(row)]
    found = Program(objective, [limit]).solve()
    axis = np.exp(np.linspace(-4, 4, 161))
    x, y = np.meshgrid(axis, axis)

    def at(monomials: list[Monomial]) -> Any:
        return sum(
            m.coefficient * x ** float(m.exponents.get("x", 0)) * y ** float(m.exponents.get("y", 0)) for m in monomials
        )

    inside = at(limit) <= 1
    if found is None:
        assert not inside.any()
        return
    assert found.lower > 0
    assert at(objective)[inside].min(initial=math.inf) >= found.lower


def test_a_solver_that_errs_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the solver's weights are, the certificate is at most the minimum; weights of nothing give none."""
    box, least = a_box(8.0, 100.0), 24.0
    solved = geometric._solved

    def wrong(factor: float) -> Any:
        def solver(*arguments: Any) -> Any:
            found = solved(*arguments)
            assert found is not None
            values, weights = found
            return values, [[w * factor ** (j + k) for k, w in enumerate(row)] for j, row in enumerate(weights)]

        return solver

    exact = box.solve()
    assert exact is not None
    assert exact.lower == pytest.approx(least, rel=1e-8)
    for factor in (0.5, 0.9, 1.1, 2.0, 100.0):
        monkeypatch.setattr(geometric, "_solved", wrong(factor))
        found = box.solve()
        assert found is not None
        assert 0 <= found.lower <= least


def test_weights_that_do_not_balance_would_be_too_much() -> None:
    """x + 8/x is at least sqrt(32): the product at weights of sum 1 that do not balance can be 9."""
    rows = [[monomial(1.0, x=1), monomial(8.0, x=-1)]]
    assert geometric._dual_value(rows, [[Fraction(1, 9), Fraction(8, 9)]]) == pytest.approx(9.0)
    balanced = geometric._balanced(rows, ["x"], [[1 / 9, 8 / 9]])
    assert balanced == [[Fraction(1, 2), Fraction(1, 2)]]
    assert geometric._dual_value(rows, balanced) == pytest.approx(math.sqrt(32), rel=1e-12)


def test_what_has_no_solution() -> None:
    assert Program([monomial(1, x=1)], [[monomial(2, x=1)], [monomial(1, x=-1)]]).solve() is None
    with pytest.raises(ValueError, match="rises with x"):
        Program([monomial(1, x=1)], []).without_falling("x")


READ = {
    "das2022.theorem4a": 5,
    "das2022.theorem4b.repaired": 5,
    "shulgin2025.theorem2": 3,
    "noble2022.theoremC.1.explicit": 7,
    "noble2022.theoremC.1.strongly-convex.repaired": 6,
    "zhang2021.corollary3.2.1.repaired": 9,
    "hou2023.theorem1": 5,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("id_", READ)
def test_what_is_read_is_what_the_hypotheses_test(id_: str) -> None:
    """At random values of the symbols, the inequalities fail exactly where the hypotheses do."""
    statement = get(id_)
    assert len(inequalities(statement)) == READ[id_]
    own = [h for h in statement.hypotheses if h.relations and all(is_inequality(statement, r) for r in h.relations)]
    read = inequalities(replace(statement, hypotheses=tuple(own), checks=()))
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(300):
        values = {s.name: float(np.exp(rng.normal(0, 2))) for s in statement.symbols}
        values |= {s.name: float(rng.random()) for s in statement.symbols if s.domain == "probability"}
        values |= {s.name: float(rng.integers(1, 400)) for s in statement.symbols if s.domain == "integer"}
        if id_ == "noble2022.theoremC.1.explicit":
            values["eta_l"] = values["eta"] / (values["K"] * values["eta_g"])
        if id_.startswith("zhang2021"):  # short steps and many rounds, or nothing holds
            values |= {"eta_l": values["eta_l"] / 1e4, "T": 100 * values["T"], "N": values["P"] + values["N"]}
        holds = all(evaluate(small, values) <= evaluate(large, values) * (1 + 1e-12) for small, large in read)
        assert holds == all(a.test(None, values) is None for a in own), values
        seen.add(holds)
    assert seen == {True, False}


def is_inequality(statement: Any, relation: Any) -> bool:
    """Whether a relation is an inequality between a statement's symbols."""
    names = {str(symbol) for symbol in relation.free_symbols}
    return relation.is_Relational and relation.rel_op != "==" and names <= {s.name for s in statement.symbols}


def test_another_formula_or_hypothesis_makes_another_program() -> None:
    """Nothing is typed twice: a statement with another constant gives another program, and another answer."""
    from dpfl_theory.core import Hypothesis, Sides
    from dpfl_theory.core.formula import sides_of
    from dpfl_theory.recommend.papers.das2022 import _rows

    theorem = get("das2022.theorem4a")
    printed = _rows(theorem, frozenset())
    sides = sides_of(theorem)

    def more_heterogeneity(_: Any) -> Sides:
        return Sides(sides.lhs, {**sides.rhs, "B1 (heterogeneity)": 3 * sides.rhs["B1 (heterogeneity)"]})

    changed = _rows(replace(theorem, sides=more_heterogeneity), frozenset())
    ratios = [new / old for (new, _), (old, _) in zip(changed[1], printed[1], strict=True)]
    assert sorted(ratios) == [1, 1, 1, 1, 3]
    shorter = tuple(
        Hypothesis(lambda s: s.E <= s.alpha / (4 * s.rho)) if a.text == "E <= alpha/(2 rho)" else a
        for a in theorem.hypotheses
    )
    changed = _rows(replace(theorem, hypotheses=shorter), frozenset())
    assert len(changed) == len(printed)
    (((new, _),), ((old, _),)) = next(pair for pair in zip(changed, printed, strict=True) if pair[0] != pair[1])
    assert new == 2 * old
    assert sum(one != other for one, other in zip(changed, printed, strict=True)) == 1
