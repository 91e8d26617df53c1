"""The exact verifier: planted certificates are rejected, and an independent checker of another algorithm agrees."""

from __future__ import annotations

import ast
import itertools
import sys
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpfl_theory.checks import verifier
from dpfl_theory.checks.verifier import Form, combined, is_positive_semidefinite, meets, proves, refutes

F = Fraction
TINY = F(1, 2**60)


# An independent decision: all principal minors, and the signs of the characteristic polynomial.


def by_minors(matrix: list[list[Fraction]]) -> bool:
    """Sylvester: a symmetric matrix is positive semidefinite iff no principal minor is negative."""
    m = sp.Matrix(
        len(matrix), len(matrix), lambda i, j: sp.Rational(F(matrix[i][j]).numerator, F(matrix[i][j]).denominator)
    )
    return all(
        m.extract(list(rows), list(rows)).det() >= 0
        for k in range(1, len(matrix) + 1)
        for rows in itertools.combinations(range(len(matrix)), k)
    )


def by_signs(matrix: list[list[Fraction]]) -> bool:
    """No eigenvalue is negative iff the coefficients of det(x + S) are all at least 0."""
    x = sp.Symbol("x")
    m = sp.Matrix(
        len(matrix), len(matrix), lambda i, j: sp.Rational(F(matrix[i][j]).numerator, F(matrix[i][j]).denominator)
    )
    return all(c >= 0 for c in sp.Poly((-m).charpoly(x).as_expr(), x).all_coeffs())


numbers = st.fractions(-3, 3, max_denominator=4)


@st.composite
def symmetric(draw: st.DrawFn) -> list[list[Fraction]]:
    """Any symmetric matrix; or B B^T, which may be singular, with or without one entry that is changed a little."""
    size = draw(st.integers(1, 4))
    if draw(st.booleans()):
        upper = {(i, j): draw(numbers) for i in range(size) for j in range(i, size)}
        matrix = [[upper[min(i, j), max(i, j)] for j in range(size)] for i in range(size)]
    else:
        columns = draw(st.integers(0, size))
        b = [[draw(st.integers(-2, 2)) for _ in range(columns)] for _ in range(size)]
        matrix = [[F(sum(x * y for x, y in zip(p, q))) for q in b] for p in b]
        i, j = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
        change = draw(st.sampled_from([F(0), TINY, -TINY, F(1), F(-1)]))
        matrix[i][j] += change
        if i != j:
            matrix[j][i] += change
    return matrix


@settings(max_examples=80)
@given(symmetric())
def test_semidefiniteness_as_by_minors_and_by_the_characteristic_polynomial(matrix: list[list[Fraction]]) -> None:
    found = is_positive_semidefinite(matrix)
    assert found == by_minors(matrix)
    assert found == by_signs(matrix)


@pytest.mark.parametrize(
    ("matrix", "semidefinite"),
    [
        ([], True),
        ([[0]], True),
        ([[0, 0], [0, 0]], True),
        ([[1, 1], [1, 1]], True),  # singular
        ([[1, 1], [1, 1 - TINY]], False),  # singular but for a little
        ([[0, 1], [1, 1]], False),  # a zero pivot and a row that is not zero
        ([[0, TINY], [TINY, 1]], False),
        ([[1, 1, 0], [1, 1, 1], [0, 1, 5]], False),  # the zero pivot comes second
        ([[1, 0, 0], [0, 0, 0], [0, 0, 1]], True),  # a zero pivot and a zero row
        ([[0, 0, 0], [0, 1, 2], [0, 2, 1]], False),  # indefinite behind it
        ([[-TINY]], False),
        ([[1, 0], [0, -1]], False),
        ([[1, 2], [2, 1]], False),
    ],
)
def test_singular_and_indefinite_matrices(matrix: list[list[Fraction]], semidefinite: bool) -> None:
    assert is_positive_semidefinite(matrix) == semidefinite
    assert by_minors(matrix) == semidefinite


@pytest.mark.parametrize("matrix", [[[1, 0], [1, 1]], [[1, 2]], [[1], [2]]])
def test_a_matrix_that_is_not_symmetric_is_refused(matrix: list[list[Fraction]]) -> None:
    with pytest.raises(ValueError, match="not symmetric"):
        is_positive_semidefinite(matrix)


# Planted certificates: x^2 <= 1 and y == 0 and a number f.

SQUARE = Form({(0, 0): F(1)})
AT_MOST_ONE = Form({(0, 0): F(1)}, constant=F(-1))


def test_the_right_certificate_is_accepted() -> None:
    assert proves(SQUARE, [AT_MOST_ONE], F(1), [F(1)])
    assert proves(SQUARE, [AT_MOST_ONE], F(2), [F(3, 2)])


@pytest.mark.parametrize("multiplier", [F(-1), F(0), F(1, 2), 1 - TINY, 1 + TINY])
def test_a_wrong_multiplier_is_rejected(multiplier: Fraction) -> None:
    assert not proves(SQUARE, [AT_MOST_ONE], F(1), [multiplier])


@pytest.mark.parametrize("bound", [1 - TINY, F(1000, 1001), F(999, 1000), F(0), F(-1)])
def test_a_smaller_bound_is_rejected(bound: Fraction) -> None:
    """1 is proved; what lies below it is not, be it by a thousandth or by less."""
    assert not proves(SQUARE, [AT_MOST_ONE], bound, [F(1)])
    assert proves(SQUARE, [AT_MOST_ONE], 1 + TINY, [F(1)])


def test_the_constant_of_the_objective_counts() -> None:
    higher = Form({(0, 0): F(1)}, constant=F(1))
    assert proves(higher, [AT_MOST_ONE], F(2), [F(1)])
    assert not proves(higher, [AT_MOST_ONE], 2 - TINY, [F(1)])


def test_the_other_dual_sign_is_rejected() -> None:
    """-x^2 <= 0 has the multiplier 0; x^2 <= 0 from -x^2 <= 0 would have -1."""
    negative = Form({(0, 0): F(-1)})
    assert proves(negative, [], F(0), [])
    assert not proves(SQUARE, [negative], F(0), [F(-1)])
    assert not proves(SQUARE, [negative], F(0), [F(1)])


def test_an_equality_may_have_a_negative_multiplier_and_an_inequality_may_not() -> None:
    for equality in (True, False):
        condition = Form({(0, 0): F(-1), (1, 1): F(1)}, equality=equality)
        objective = Form({(0, 0): F(1), (1, 1): F(-1)})
        assert proves(objective, [condition], F(0), [F(-1)]) == equality
        assert proves(Form({(0, 0): F(-1), (1, 1): F(1)}), [condition], F(0), [F(1)])


@pytest.mark.parametrize("left_over", [F(1), F(-1), TINY])
def test_function_values_that_are_left_over_are_rejected(left_over: Fraction) -> None:
    assert not proves(SQUARE, [Form({(0, 0): F(1)}, {0: left_over}, F(-1))], F(1), [F(1)])


def test_a_missing_condition_is_rejected() -> None:
    """x^2 + y^2 <= 2 from x^2 <= 1 and y^2 <= 1, not from one of them."""
    both = Form({(0, 0): F(1), (1, 1): F(1)})
    conditions = [AT_MOST_ONE, Form({(1, 1): F(1)}, constant=F(-1))]
    assert proves(both, conditions, F(2), [F(1), F(1)])
    for k in (0, 1):
        assert not proves(both, conditions[k : k + 1], F(2), [F(1)])
        assert not proves(both, conditions[k : k + 1], F(2), [F(2)])


@pytest.mark.parametrize("multipliers", [[], [F(1), F(0)], [F(1), F(-1)]])
def test_as_many_multipliers_as_conditions(multipliers: list[Fraction]) -> None:
    assert not proves(SQUARE, [AT_MOST_ONE], F(1), multipliers)


def test_off_diagonal_products_are_halved_in_the_matrix() -> None:
    """2 <x, y> <= x^2 + y^2, and no more."""
    squares = Form({(0, 0): F(1), (1, 1): F(1)}, constant=F(-1))
    assert proves(Form({(0, 1): F(2)}), [squares], F(1), [F(1)])
    assert not proves(Form({(0, 1): 2 + TINY}), [squares], F(1), [F(1)])


def test_rounding_the_wrong_way_is_rejected() -> None:
    """sqrt(2) <x, y> <= (x^2 + y^2) / sqrt(2): a factor on the left that was rounded up is no longer proved."""
    half = F(1, 2)
    squares = Form({(0, 0): half, (1, 1): half}, constant=F(-1))
    down, up = F(14142135, 10**7), F(14142136, 10**7)
    multiplier = down
    assert proves(Form({(0, 1): down}), [squares], multiplier, [multiplier])
    assert not proves(Form({(0, 1): up}), [squares], multiplier, [multiplier])


@pytest.mark.parametrize("wrong", [1.0, "1", None])
def test_numbers_that_are_no_fractions_are_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="takes fractions"):
        proves(SQUARE, [AT_MOST_ONE], wrong, [F(1)])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes fractions"):
        proves(SQUARE, [AT_MOST_ONE], F(1), [wrong])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="takes fractions"):
        Form({(0, 0): wrong})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="takes fractions"):
        is_positive_semidefinite([[wrong]])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="takes fractions"):
        meets([], [[wrong]], [])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="takes fractions"):
        meets([], [], [wrong])  # type: ignore[list-item]


@pytest.mark.parametrize("products", [{(1, 0): F(1)}, {(-1, 0): F(1)}])
def test_names_of_products_and_values(products: dict[tuple[int, int], Fraction]) -> None:
    with pytest.raises(ValueError, match="0 <= i <= j"):
        Form(products)
    with pytest.raises(ValueError, match="0 <= i <= j"):
        Form(values={-1: F(1)})


# Counterexamples.

UNIT = [[F(1)], [F(2)]]


def test_a_counterexample_meets_every_condition_and_breaks_the_claim() -> None:
    left, right = Form({(1, 1): F(1)}), Form({(0, 0): F(3)})
    assert refutes(left, right, [AT_MOST_ONE], UNIT, [])
    assert not refutes(left, Form({(0, 0): F(4)}), [AT_MOST_ONE], UNIT, [])  # equal is no violation
    assert not refutes(left, right, [AT_MOST_ONE, Form({(0, 1): F(1)}, constant=F(-1))], UNIT, [])
    assert not refutes(left, right, [Form({(0, 0): F(1)}, constant=-1 + TINY)], UNIT, [])


def test_an_equality_must_be_met_from_both_sides() -> None:
    for value, equality, met in ((F(0), True, True), (-TINY, True, False), (-TINY, False, True), (TINY, False, False)):
        assert meets([Form(values={0: F(1)}, equality=equality)], [], [value]) == met


def test_points_of_one_space() -> None:
    assert verifier.gram_of([[F(1), F(2)], [F(3), F(-1)]]) == [[5, 1], [1, 10]]
    with pytest.raises(ValueError, match="equally many"):
        verifier.gram_of([[F(1)], [F(1), F(2)]])


# The whole verifier against sympy.

small = st.fractions(-2, 2, max_denominator=2)


@st.composite
def forms(draw: st.DrawFn) -> Form:
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    products = {pair: draw(small) for pair in draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4))}
    values = {m: draw(small) for m in draw(st.lists(st.integers(0, 1), unique=True))}
    return Form(products, values, draw(small), draw(st.booleans()))


@st.composite
def certificates(draw: st.DrawFn) -> tuple[Form, list[Form], Fraction, list[Fraction]]:
    """Problems with multipliers: any, or ones that are made so that a sum of squares is left, but for a little."""
    conditions = draw(st.lists(forms(), max_size=3))
    multipliers = [draw(small) if c.equality or draw(st.integers(0, 9)) == 0 else abs(draw(small)) for c in conditions]
    if draw(st.integers(0, 3)) == 0:
        return draw(forms()), conditions, draw(small), multipliers
    b = [[draw(st.integers(-2, 2)) for _ in range(2)] for _ in range(3)]
    squares = {
        (i, j): F(-(1 if i == j else 2) * sum(x * y for x, y in zip(b[i], b[j]))) for i in range(3) for j in range(i, 3)
    }
    bound = draw(small)
    objective = combined([(F(1), Form(squares, constant=bound)), *zip(multipliers, conditions)])
    off = draw(st.sampled_from([F(0), F(0), TINY, -TINY, F(1), F(-1)]))
    where = draw(st.sampled_from(["bound", "product", "value"]))
    if where == "product":
        objective = combined([(F(1), objective), (off, Form({draw(st.sampled_from(sorted(squares))): F(1)}))])
    elif where == "value":
        objective = combined([(F(1), objective), (off, Form(values={0: F(1)}))])
    return objective, conditions, bound + (off if where == "bound" else 0), multipliers


def by_sympy(objective: Form, conditions: list[Form], bound: Fraction, multipliers: list[Fraction]) -> bool:
    """The same decision with polynomials: bound - objective + sum l C is c plus a quadratic form without values."""
    x, f = sp.symbols("x:3"), sp.symbols("f:2")

    def rational(a: Fraction) -> sp.Rational:
        return sp.Rational(a.numerator, a.denominator)

    def polynomial(form: Form) -> sp.Expr:
        squares = sum((rational(c) * x[i] * x[j] for (i, j), c in form.products.items()), sp.S.Zero)
        return (
            squares + sum((rational(a) * f[m] for m, a in form.values.items()), sp.S.Zero) + rational(F(form.constant))
        )

    if any(v < 0 and not c.equality for v, c in zip(multipliers, conditions)):
        return False
    rest = rational(F(bound)) - polynomial(objective)
    rest = sp.expand(rest + sum((rational(m) * polynomial(c) for m, c in zip(multipliers, conditions)), sp.S.Zero))
    if rest.free_symbols & set(f) or rest.subs(dict.fromkeys(x, 0)) < 0:
        return False
    hessian = sp.hessian(rest, x) / 2
    return by_minors([[F(int(c.p), int(c.q)) for c in hessian.row(i)] for i in range(3)])


@settings(max_examples=80)
@given(certificates())
def test_the_verifier_decides_as_sympy_does(made: tuple[Form, list[Form], Fraction, list[Fraction]]) -> None:
    assert proves(*made) == by_sympy(*made)


@pytest.mark.slow
@given(
    certificates(),
    st.lists(st.lists(small, min_size=2, max_size=2), min_size=3, max_size=3),
    st.lists(small, min_size=2, max_size=2),
)
def test_no_point_that_meets_the_conditions_refutes_what_is_proved(
    made: tuple[Form, list[Form], Fraction, list[Fraction]], points: list[list[Fraction]], values: list[Fraction]
) -> None:
    objective, conditions, bound, multipliers = made
    assume(proves(objective, conditions, bound, multipliers))
    assert not refutes(objective, Form(constant=bound), conditions, points, values)


# What the module is.


def test_it_is_short_and_imports_the_standard_library_alone() -> None:
    text = Path(verifier.__file__).read_text()
    assert len(text.splitlines()) < 200
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    imported = {n.module if isinstance(n, ast.ImportFrom) else a.name for n in nodes for a in n.names}
    assert {str(name).split(".")[0] for name in imported} <= sys.stdlib_module_names
