"""The search for certificates: what the verifier would not notice, since a mistake loses a proof and makes none."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from dpfl_theory.checks import certificate
from dpfl_theory.checks.certificate import Numeric, numeric, prove, rational, solve_exactly, solved
from dpfl_theory.checks.verifier import Form

F = Fraction
SQUARE = numeric(Form({(0, 0): F(1)}), 1, 0)
AT_MOST_ONE = numeric(Form({(0, 0): F(1)}, constant=F(-1)), 1, 0)


def test_a_form_and_its_doubles() -> None:
    """3 <x, x> + 2 <x, y> + 5 f - 1/2."""
    form = Form({(0, 0): F(3), (0, 1): F(2)}, {1: F(5)}, F(-1, 2), equality=True)
    made = numeric(form, 2, 2)
    np.testing.assert_array_equal(made.matrix, [[3.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(made.vector, [0.0, 5.0])
    assert (made.exact, made.constant, made.equality) == (form, -0.5, True)
    gram, values = np.array([[4.0, 0.5], [0.5, 9.0]]), np.array([7.0, 0.25])
    assert made.evaluate(gram, values) == 12.0 + 1.0 + 1.25 - 0.5
    more = made.plus(-2, Form({(1, 1): F(1)}, {0: F(1)}, F(1)))
    np.testing.assert_array_equal(more.matrix, [[3.0, 1.0], [1.0, -2.0]])
    np.testing.assert_array_equal(more.vector, [-2.0, 5.0])
    assert more.constant == -2.5


@pytest.mark.parametrize(
    ("rows", "right", "guess", "solution"),
    [
        ([], [], [F(1), F(2)], [F(1), F(2)]),
        ([[1, 1]], [3], [F(1), F(1)], [F(2), F(1)]),  # the first of equal ones moves
        ([[1, 1]], [3], [F(1), F(-5)], [F(1), F(2)]),  # the largest in size
        ([[1, 1], [1, -1]], [3, 1], [F(0), F(0)], [F(2), F(1)]),
        ([[0, 1], [2, 1]], [1, 4], [F(9), F(1)], [F(3, 2), F(1)]),  # rows change places
        ([[1, 1], [2, 2]], [1, 2], [F(3), F(0)], [F(1), F(0)]),
        ([[1, 1], [2, 2]], [1, 3], [F(3), F(0)], None),
        ([[0, 0]], [1], [F(1), F(1)], None),
        ([[0, 0]], [0], [F(1), F(1)], [F(1), F(1)]),
        ([[1, 2, 3], [1, 1, 1]], [6, 3], [F(5), F(4), F(0)], [F(0), F(3), F(0)]),
        ([[3]], [1], [F(0)], [F(1, 3)]),
        ([[1, 1, 0], [0, 0, 1]], [4, 2], [F(3), F(2), F(1)], [F(2), F(2), F(2)]),  # beyond a column that is not needed
    ],
)
def test_equations_are_met_by_the_largest_entries(
    rows: list[list[int]], right: list[int], guess: list[Fraction], solution: list[Fraction] | None
) -> None:
    before = list(guess)
    found = solve_exactly([[F(v) for v in row] for row in rows], [F(b) for b in right], guess)
    assert found == solution
    assert guess == before
    if found is not None:
        assert [sum(a * x for a, x in zip(row, found)) for row in rows] == right


def test_equations_of_multipliers() -> None:
    """No value is left over, and no product of x, whose square occurs nowhere."""
    objective = Form({(0, 1): F(1)}, {0: F(2)})
    conditions = [Form({(0, 1): F(5), (1, 1): F(1)}, {0: F(1), 1: F(-3)}), Form({(1, 1): F(4)}, {1: F(7)})]
    assert certificate._absent(objective, conditions) == [0]
    rows, right = certificate._equations(objective, conditions, 2)
    assert rows == [[1, 0], [-3, 7], [5, 0]]
    assert right == [2, 0, 1]
    whole = Form({(0, 0): F(1), (0, 1): F(1), (1, 1): F(1)})
    assert certificate._absent(whole, conditions) == []
    assert certificate._equations(whole, conditions, 0) == ([], [])
    # A product with factor 0 does not occur.
    assert certificate._absent(Form({(0, 0): F(0), (0, 1): F(1), (1, 1): F(1)}), []) == [0]


@pytest.mark.parametrize(("multipliers", "exact"), [([1.0], [F(1)]), ([1.0 + 1e-9], [F(1)]), ([0.999], [F(999, 1000)])])
def test_multipliers_are_simple_fractions(multipliers: list[float], exact: list[Fraction]) -> None:
    if exact[0] == 1:
        assert prove(SQUARE, [AT_MOST_ONE], F(1), np.array(multipliers)) == exact
    else:  # too small a multiplier: another one is found
        found = prove(SQUARE, [AT_MOST_ONE], F(2), np.array(multipliers))
        assert found is not None
        assert 1 <= found[0] <= 2
    assert prove(SQUARE, [AT_MOST_ONE], F(1, 2), np.array(multipliers)) is None


def _asked(monkeypatch: pytest.MonkeyPatch, answers: Sequence[Any]) -> list[tuple[bool, Fraction]]:
    asked: list[tuple[bool, Fraction]] = []
    left = list(answers)

    def alternative(_: Numeric, __: Sequence[Numeric], bound: Fraction, deep: bool) -> Any:
        asked.append((deep, bound))
        return left.pop(0)

    monkeypatch.setattr(certificate, "_alternative", alternative)
    return asked


def test_attempts_come_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _asked(monkeypatch, [])
    assert prove(SQUARE, [AT_MOST_ONE], F(1), np.ones(1)) == [1]
    assert asked == []
    third = 4 / 3
    asked = _asked(monkeypatch, [np.array([third])])
    assert prove(SQUARE, [AT_MOST_ONE], F(2), np.zeros(1)) == [F(4, 3)]
    assert asked == [(True, 2)]
    asked = _asked(monkeypatch, [None, np.array([1.0])])
    assert prove(SQUARE, [AT_MOST_ONE], F(1), np.zeros(1)) == [1]
    assert asked == [(True, 1), (False, 1)]
    asked = _asked(monkeypatch, [None, None])
    assert prove(SQUARE, [AT_MOST_ONE], F(1), np.zeros(1)) is None
    assert asked == [(True, 1), (False, 1)]
    # The optimum and the smallest ones have at most 2**10 as denominators, the interior ones at most 2**40.
    fine = 1.0 + 2.0**-30
    asked = _asked(monkeypatch, [np.array([fine])])
    assert prove(SQUARE, [AT_MOST_ONE], F(fine), np.zeros(1)) == [F(fine)]
    asked = _asked(monkeypatch, [None, np.array([fine])])
    assert prove(SQUARE, [AT_MOST_ONE], F(fine), np.array([fine])) == [1]
    assert asked == []


def test_small_multipliers_are_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """x^2 <= 1 with a condition that must not be used: y^2 may be anything."""
    square, limit = numeric(Form({(0, 0): F(1)}), 2, 0), numeric(Form({(0, 0): F(1)}, constant=F(-1)), 2, 0)
    wrong = numeric(Form({(1, 1): F(-1)}), 2, 0)
    for rest in (5e-8, -5e-8, 5e-5, -5e-5):
        asked = _asked(monkeypatch, [None, None])
        assert prove(square, [limit, wrong], F(1), np.array([1.0, rest])) == [1, 0]
        assert asked == []
    _asked(monkeypatch, [None, None])
    assert prove(square, [limit, wrong], F(1), np.array([1.0, 2e-3])) is None


def test_alternatives_are_deep_or_small() -> None:
    """x^2 <= 2 under x^2 <= 1: the multiplier is between 1 and 2."""
    deep = certificate._alternative(SQUARE, [AT_MOST_ONE], F(2), deep=True)
    small = certificate._alternative(SQUARE, [AT_MOST_ONE], F(2), deep=False)
    assert deep == pytest.approx([2.0], abs=1e-6)
    assert small == pytest.approx([1.0], abs=1e-6)
    far = certificate._alternative(SQUARE, [AT_MOST_ONE], F(9), deep=True)
    assert far is not None
    assert far[0] >= 2.0 - 1e-6  # the depth is 1 at most, where S - 1 is semidefinite
    assert certificate._alternative(SQUARE, [AT_MOST_ONE], F(1, 2), deep=True) is None
    assert certificate._alternative(SQUARE, [AT_MOST_ONE], F(1, 2), deep=False) is None
    value = numeric(Form(values={0: F(1)}), 1, 1)
    assert certificate._alternative(value, [value], F(1), deep=True) is None  # no square occurs
    equality = numeric(Form({(0, 0): F(1)}, constant=F(-1), equality=True), 1, 0)
    assert certificate._alternative(SQUARE, [equality], F(2), deep=True) is None  # no inequality occurs


def test_vectors_without_a_square_have_no_row() -> None:
    """2 <x, y> + x^2 under 2 <x, y> <= 0 and x^2 <= 1: the first multiplier is 1, as y^2 occurs nowhere."""
    objective = numeric(Form({(0, 0): F(1), (0, 1): F(2)}), 2, 0)
    conditions = [numeric(Form({(0, 1): F(2)}), 2, 0), numeric(Form({(0, 0): F(1)}, constant=F(-1)), 2, 0)]
    for deep in (True, False):
        found = certificate._alternative(objective, conditions, F(3, 2), deep=deep)
        assert found == pytest.approx([1.0, 1.5 if deep else 1.0], abs=1e-5)
    assert prove(objective, conditions, F(1), np.zeros(2)) is not None


def test_values_must_cancel() -> None:
    """f under f - x^2 <= 0 and x^2 <= 1."""
    objective = numeric(Form(values={0: F(1)}), 1, 1)
    conditions = [numeric(Form({(0, 0): F(-1)}, {0: F(1)}), 1, 1), numeric(Form({(0, 0): F(1)}, constant=F(-1)), 1, 1)]
    found = certificate._alternative(objective, conditions, F(3, 2), deep=True)
    assert found == pytest.approx([1.0, 1.5], abs=1e-5)
    assert prove(objective, conditions, F(1), np.array([1.0, 1.0])) == [1, 1]
    assert prove(objective, conditions, F(3, 4), np.array([1.0, 1.0])) is None


def test_what_a_solver_leaves() -> None:
    x = cp.Variable()
    assert solved(cp.Problem(cp.Minimize(x), [x >= 1]))
    assert not solved(cp.Problem(cp.Minimize(x), [x >= 1, x <= 0]))
    assert not solved(cp.Problem(cp.Minimize(x)))


def test_an_error_of_the_solver_leaves_nothing() -> None:
    class Failing:
        def variables(self) -> list[Any]:
            return []

        def solve(self, solver: str) -> None:
            raise cp.error.SolverError("no")

    assert solved(Failing()) is False


def test_numbers_as_the_fractions_that_they_are() -> None:
    points, values = rational(np.array([[0.5, 0.1]]), np.array([-0.25]))
    assert points == [[F(1, 2), F(0.1)]]
    assert values == [F(-1, 4)]


@pytest.mark.parametrize(
    ("attempt", "found", "exact"),
    [
        (0, 1 + 1 / 1024, F(1025, 1024)),
        (0, 1 + 1 / 1500, F(1025, 1024)),
        (1, 1 + 2.0**-40, 1 + F(1, 2**40)),
        (1, 1 + 3 * 2.0**-42, 1 + F(1, 2**40)),
        (2, 1 + 1 / 1024, F(1025, 1024)),
        (2, 1 + 1 / 1500, F(1025, 1024)),
    ],
)
def test_denominators(monkeypatch: pytest.MonkeyPatch, attempt: int, found: float, exact: Fraction) -> None:
    """At most 2**10 in the first and the last attempt, at most 2**40 in the second one."""
    answers: list[Any] = [None, None]
    if attempt:
        answers[attempt - 1] = np.array([found])
    _asked(monkeypatch, answers)
    first = np.zeros(1) if attempt else np.array([found])
    assert prove(SQUARE, [AT_MOST_ONE], F(2), first) == [exact]


@pytest.mark.parametrize("rest", [0.0, 5e-8, -5e-8, 1e-7, -1e-7])
def test_multipliers_up_to_a_ten_millionth_are_zero_and_larger_ones_count(
    monkeypatch: pytest.MonkeyPatch, rest: float
) -> None:
    """x^2/131072 <= 3/262144 by a multiplier of about 1e-5; the other one must be 0."""
    size = 2.0**-17
    square = numeric(Form({(0, 0): F(size)}), 2, 0)
    limit, wrong = numeric(Form({(0, 0): F(1)}, constant=F(-1)), 2, 0), numeric(Form({(1, 1): F(-1)}), 2, 0)
    _asked(monkeypatch, [np.array([1.25 * size, rest]), None])
    assert prove(square, [limit, wrong], F(1.5 * size), np.zeros(2)) == [F(1.25 * size), 0]


@pytest.mark.parametrize("rest", [5e-5, -5e-5, 1e-4, -1e-4])
def test_at_last_multipliers_up_to_a_ten_thousandth_are_zero(monkeypatch: pytest.MonkeyPatch, rest: float) -> None:
    square, limit = numeric(Form({(0, 0): F(1)}), 2, 0), numeric(Form({(0, 0): F(1)}, constant=F(-1)), 2, 0)
    wrong = numeric(Form({(1, 1): F(-1)}), 2, 0)
    _asked(monkeypatch, [np.array([1.0, rest]), None])
    assert prove(square, [limit, wrong], F(1), np.zeros(2)) == [1, 0]


def test_alternatives_keep_the_bound_and_the_signs() -> None:
    """Constants count, multipliers below 1 are allowed and negative ones are not, and S has every vector."""
    more = SQUARE.plus(1, Form(constant=F(1, 2)))
    assert certificate._alternative(more, [AT_MOST_ONE], F(2), deep=True) == pytest.approx([1.5], abs=1e-6)
    quarter = numeric(Form({(0, 0): F(1, 4)}), 1, 0)
    assert certificate._alternative(quarter, [AT_MOST_ONE], F(1, 2), deep=True) == pytest.approx([0.5], abs=1e-6)
    negative = numeric(Form({(0, 0): F(-1)}), 1, 0)
    found = certificate._alternative(SQUARE, [AT_MOST_ONE, negative], F(3, 2), deep=True)
    assert found == pytest.approx([1.5, 0.0], abs=1e-5)
    both = numeric(Form({(0, 0): F(1), (1, 1): F(1)}), 2, 0)
    limits = [numeric(Form({(i, i): F(1)}, constant=F(-1)), 2, 0) for i in range(2)]
    assert certificate._alternative(both, limits, F(3), deep=True) == pytest.approx([1.5, 1.5], abs=1e-5)


def test_a_variable_without_a_value_is_no_solution() -> None:
    class Half:
        def variables(self) -> list[Any]:
            known, unknown = cp.Variable(), cp.Variable()
            known.value = 1.0
            return [known, unknown]

        def solve(self, solver: str) -> None:
            assert solver == "CLARABEL"

    assert solved(Half()) is False
