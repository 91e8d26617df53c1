"""Performance estimation on one or two points, where the answer is a line of algebra."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp

from dpfl_theory.checks import estimation
from dpfl_theory.checks.certificate import Numeric, numeric
from dpfl_theory.checks.estimation import Solution, solve
from dpfl_theory.checks.interpolation import SampledFunction
from dpfl_theory.checks.verifier import Form
from dpfl_theory.core import Performance

INF = math.inf


def squares(left: float, right: float, *constraints: Any) -> Performance:
    """left x^2 <= right x^2."""
    from PEPit import PEP

    problem = PEP()
    x = problem.set_initial_point()
    for constraint in constraints:
        problem.add_constraint(constraint(x))
    return Performance(problem, left * x**2, right * x**2, "squares")


def known(found: Solution) -> tuple[bool, bool, float | None]:
    return found.proved, found.signed, found.refuted


@pytest.mark.parametrize(("left", "right", "ratio"), [(1.0, 2.0, 0.5), (1.0, 1.0, 1.0), (0.25, 4.0, 0.0625)])
def test_what_holds_is_proved_with_its_ratio(left: float, right: float, ratio: float) -> None:
    found = solve(squares(left, right))
    assert found.status == "optimal"
    assert found.primal == pytest.approx(ratio, abs=1e-6)
    assert found.dual == pytest.approx(ratio, abs=1e-6)
    assert 0.0 <= found.defect <= 1e-6
    assert found.guarantee == found.dual + found.defect
    assert known(found) == (True, True, None)
    assert not found.rounded


@pytest.mark.parametrize(
    ("left", "right", "ratio"), [(2.0, 1.0, 2.0), (1.5, 1.0, 1.5), (8.0, 2.0, 4.0), (1.0, 0.75, 4 / 3)]
)
def test_what_fails_is_refuted_with_its_ratio(left: float, right: float, ratio: float) -> None:
    found = solve(squares(left, right))
    assert found.primal == pytest.approx(ratio, rel=1e-5)
    assert known(found) == (False, False, pytest.approx(ratio, rel=1e-12))


@pytest.mark.parametrize("L", [2.0, Fraction(2), sp.Integer(2)])
def test_constants_of_a_class_may_be_exact(L: Any) -> None:
    """||g(x) - g(y)||^2 <= L^2 ||x - y||^2: the solver takes no fractions and no numbers of sympy."""
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction

    problem = PEP()
    function = problem.declare_function(SmoothConvexFunction, L=L)
    x, y = problem.set_initial_point(), problem.set_initial_point()
    found = solve(Performance(problem, (function.gradient(x) - function.gradient(y)) ** 2, 4 * (x - y) ** 2, "smooth"))
    assert found.primal == pytest.approx(1.0, abs=1e-5)
    assert found.proved


def test_a_right_side_below_zero() -> None:
    """x^2 <= -x^2 has no largest ratio; -x^2 <= -2 x^2 has the normalised maximum 0, and fails."""
    found = solve(squares(1.0, -1.0))
    assert (found.primal, found.dual, found.defect, found.guarantee) == (INF, INF, 0.0, INF)
    assert "unbounded" in found.status
    assert known(found) == (False, False, INF)
    assert found.worst == ()  # no function was sampled
    beyond = solve(squares(-1.0, -2.0))
    assert abs(beyond.primal) < 1e-5
    assert known(beyond) == (False, False, INF)
    assert known(solve(squares(-2.0, -1.0))) == (True, True, None)
    assert known(solve(squares(-1.0, 1.0))) == (True, True, None)


def test_a_tight_multiplier_of_one_needs_no_sign() -> None:
    """x^2 - y^2 <= x^2 - y^2, although the right side may be negative; half of it is no bound."""
    from PEPit import PEP

    def indefinite(gain: float) -> Solution:
        problem = PEP()
        x, y = problem.set_initial_point(), problem.set_initial_point()
        return solve(Performance(problem, gain * (x**2 - y**2), x**2 - y**2, "i"))

    assert known(indefinite(1.0)) == (True, True, None)
    half = indefinite(0.5)
    assert (half.proved, half.signed) == (False, False)
    assert half.refuted is not None
    assert half.refuted == INF  # the right side is negative there


def test_without_a_proof_what_the_solver_says_of_the_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """The right side is x^2 >= 0, or the multiplier is 1: either makes the guarantee one of left <= right."""
    monkeypatch.setattr(estimation, "prove", lambda *_: None)
    assert known(solve(squares(1.0, 2.0))) == (False, True, None)
    assert known(solve(squares(1.0, 1.0))) == (False, True, None)
    monkeypatch.setattr(estimation, "_negative_somewhere", lambda *_: True)
    assert known(solve(squares(1.0, 1.0))) == (False, True, None)
    monkeypatch.setattr(estimation, "refutes", lambda *_: False)
    assert known(solve(squares(1.0, 2.0))) == (False, False, None)


def test_a_third_is_rounded_and_a_quarter_is_not() -> None:
    assert solve(squares(1 / 3, 1.0)).rounded
    assert solve(squares(1.0, 4 / 3)).rounded
    assert not solve(squares(0.25, 1.0)).rounded

    def rounded(matrix: float, vector: float) -> bool:
        return estimation._are_rounded([one([[1.0]], [1.0]), one([[matrix]], [vector])], [])

    assert not rounded(2.0**-40, 0.0)
    assert rounded(2.0**-41, 0.0)
    assert rounded(1.0, 2.0**-41)
    assert not rounded(3.0 * 2.0**40, -(2.0**-40))
    assert not rounded(0.0, 0.0)


def test_a_third_in_a_point_or_a_parameter_is_rounded() -> None:
    """The inequalities of a class have 1/(2L) without rounding; what was rounded before is a point or a parameter."""
    exact, third = Fraction(3, 4), Fraction(1 / 3)

    def rounded(
        L: Fraction = exact, mu: Fraction = exact / 2, point: Any = ({0: exact}, {1: exact}, {0: exact})
    ) -> bool:
        sampled = SampledFunction("smooth strongly convex", L, mu, (({}, {}, {}), point))
        return estimation._are_rounded([], [SampledFunction("convex", None, None, ()), sampled])

    assert not rounded()
    assert rounded(L=Fraction(2) / 3 + third)
    assert rounded(mu=third)
    assert rounded(point=({0: exact, 1: third}, {}, {}))
    assert rounded(point=({}, {0: third}, {}))
    assert rounded(point=({}, {}, {0: third}))


def test_an_error_of_the_solver_is_a_status_and_another_one_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import cvxpy as cp

    def fails(error: Exception) -> Any:
        def solving(*_: Any, **__: Any) -> None:
            raise error

        return solving

    made = squares(1.0, 1.0)
    monkeypatch.setattr(made.problem, "solve", fails(cp.error.SolverError("no luck. More words")))
    found = solve(made)
    assert found.status == "error: no luck"
    assert math.isnan(found.primal)
    assert (found.dual, found.defect, found.worst) == (INF, 0.0, ())
    assert known(found) == (False, False, None)
    assert not found.rounded
    other = squares(1.0, 1.0)
    monkeypatch.setattr(other.problem, "solve", fails(ZeroDivisionError("a fault")))
    with pytest.raises(ZeroDivisionError):
        solve(other)


def test_infeasible_conditions_give_no_number() -> None:
    """x^2 <= -x^2 and x^2 >= y^2 + ... are met by 0 alone; a problem that is not solved has no ratio."""
    found = solve(squares(1.0, 1.0, lambda x: x**2 <= -(x**2)))
    assert found.refuted is None
    assert not found.primal > 1e-4


# The worst function


def test_the_worst_function_is_described_in_the_fewest_coordinates() -> None:
    """Gradient descent with step 1 on curvatures between 1/2 and 1: the worst one is 1/2, with ratio 1/4."""
    from PEPit import PEP
    from PEPit.functions import SmoothStronglyConvexFunction

    problem = PEP()
    f = problem.declare_function(SmoothStronglyConvexFunction, mu=0.5, L=1.0)
    x_star = f.stationary_point()
    x = problem.set_initial_point()
    y = x - f.gradient(x)
    found = solve(Performance(problem, 4 * (y - x_star) ** 2, (x - x_star) ** 2, "descent"))
    assert found.primal == pytest.approx(1.0, abs=1e-6)
    assert len(found.worst) == 2
    star, start = found.worst
    assert star["gradient"] == [0.0] * len(star["gradient"])
    assert 1 <= len(start["point"]) == len(start["gradient"]) <= 2
    distance = start["point"][0] - star["point"][0]
    assert start["gradient"][0] == pytest.approx(0.5 * distance, rel=1e-3)
    assert start["value"] - star["value"] == pytest.approx(0.25 * distance**2, rel=1e-3)
    assert all(v == float(f"{v:.6g}") for p in found.worst for v in (*p["point"], *p["gradient"], p["value"]))


def test_numbers_of_a_description_have_six_digits() -> None:
    assert estimation._short(1.23456789) == 1.23457
    assert estimation._short(-1e-9) == -1e-9
    assert estimation._short(9.99e-10) == 0.0
    assert estimation._short(-9.99e-10) == 0.0
    assert estimation._short(123456789.0) == 123457000.0


# Parts


def one(matrix: Any, vector: Any = (), constant: float = 0.0, equality: bool = False) -> Numeric:
    """<A, G> + a.F + c for a symmetric matrix A."""
    size = range(len(matrix))
    products = {(i, j): Fraction(matrix[i][j]) * (1 if i == j else 2) for i in size for j in size if i <= j}
    values = {m: Fraction(a) for m, a in enumerate(vector)}
    made = numeric(Form(products, values, Fraction(constant), equality), len(matrix), len(vector))
    np.testing.assert_array_equal(made.matrix, matrix)
    return made


def test_the_guarantee_of_multipliers() -> None:
    """objective <= dual - <S, G> - e.F with S = sum l_i A_i - A_0 and e = sum l_i a_i - a_0, whatever the l_i >= 0."""
    objective = one([[1.0, 0.0], [0.0, 2.0]], [3.0], 0.5)
    limits = [one([[2.0, 0.0], [0.0, 1.0]], [1.0], -1.0), one([[0.0, 0.0], [0.0, 1.0]], [2.0], -0.25), one(
        [[0.0, 1.0], [1.0, 0.0]], [1.0], 4.0, equality=True)]  # fmt: skip
    gram, values = np.array([[2.0, 0.5], [0.5, 3.0]]), np.array([-0.5])
    dual, defect = estimation._guarantee(objective, limits, np.array([1.0, 0.5, -0.25]), gram, values)
    assert dual == pytest.approx(0.5 + 1.0 + 0.125 + 1.0)
    slack = np.array([[1.0, -0.25], [-0.25, -0.5]])
    left = 1.0 + 1.0 - 0.25 - 3.0
    lowest = (0.5 - math.sqrt(1.5**2 + 4 * 0.0625)) / 2
    assert lowest == pytest.approx(np.linalg.eigvalsh(slack)[0])
    assert defect == pytest.approx(-lowest * 5.0 + abs(left) * 0.5)
    # A negative multiplier of an inequality counts as zero.
    changed, _ = estimation._guarantee(objective, limits, np.array([1.0, -7.0, -0.25]), gram, values)
    assert changed == pytest.approx(0.5 + 1.0 + 1.0)
    exact = estimation._guarantee(
        one([[1.0]], [1.0]), [one([[1.0]], [1.0], -1.0)], np.ones(1), np.ones((1, 1)), np.ones(1)
    )
    assert exact == (1.0, 0.0)
    loose = estimation._guarantee(one([[1.0]]), [one([[3.0]], (), -1.0)], np.ones(1), np.ones((1, 1)), np.zeros(0))
    assert loose == (1.0, 0.0)  # S > 0 takes nothing off


X2, Y2 = [[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]
NORMALISED = one(Y2, constant=-1.0)
BELOW = one([[1.0, 0.0], [0.0, -0.75]])
"""y^2 <= 1 and x^2 <= 3/4 y^2."""


def test_multipliers_of_a_proof() -> None:
    """x^2 <= y^2 is the condition 8/7 times and -(x^2 + y^2)/7; the solver's multipliers may be of no use."""
    proof = estimation._proved(one(X2), one(Y2), [NORMALISED, BELOW], np.array([1.0, 8 / 7]))
    assert proof == ([Fraction(8, 7)], True)
    multipliers, signed = estimation._proved(one(X2), one(Y2), [NORMALISED, BELOW], np.zeros(2))
    assert signed
    assert multipliers is not None
    assert 1 <= multipliers[0] <= Fraction(4, 3)


def test_a_constant_is_not_at_most_zero() -> None:
    assert estimation._decided(one([[0.0]], constant=0.5), [], []) is None
    assert estimation._decided(one([[0.0]]), [], []) == []


def test_which_inequalities_are_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """left <= m right with m = 1 is enough; else -right <= 0 is added to it; else left - right <= 0 is proved."""
    asked: list[Fraction] = []
    prove = estimation.prove

    def counted(objective: Numeric, limits: list[Numeric], bound: Fraction, multipliers: Any) -> Any:
        assert len(multipliers) == len(limits)
        asked.append(bound)
        return prove(objective, limits, bound, multipliers)

    monkeypatch.setattr(estimation, "prove", counted)
    assert known(solve(squares(1.0, 1.0))) == (True, True, None)
    assert asked == [1]
    asked.clear()
    assert known(solve(squares(1.0, 2.0))) == (True, True, None)
    assert asked == [1, 0]
    asked.clear()
    sign = under(lambda x, y, z, f: -2 * x + 1.5 * y, lambda x, y, z, f: -x, lambda x, y, z, f: y - 0.5 * x <= 0)
    assert known(solve(sign)) == (True, True, None)
    assert asked == [1, 0, 0]


def test_factors_of_a_gram_matrix() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4, 2))
    found = estimation._factor(points @ points.T)
    np.testing.assert_allclose(found @ found.T, points @ points.T, atol=1e-12)
    norms = np.linalg.norm(found, axis=0)
    assert np.all(np.diff(norms) <= 1e-7)  # the first coordinates matter most
    np.testing.assert_allclose(norms[2:], 0.0, atol=1e-7)
    cut = estimation._factor(np.diag([1.0, -2.0, 4.0]))
    np.testing.assert_allclose(cut @ cut.T, np.diag([1.0, 0.0, 4.0]), atol=1e-12)


def test_mixtures_go_from_the_first_pair_to_the_second() -> None:
    near, deep = (np.zeros((1, 1)), np.array([1.0])), (np.ones((1, 1)), np.array([3.0]))
    found = list(estimation._mixed(near, deep))
    shares = [float(g[0, 0]) for g, _ in found]
    assert shares == pytest.approx([1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3])
    assert [float(v[0]) for _, v in found] == pytest.approx([1 + 2 * s for s in shares])
    assert list(estimation._mixed(near, None)) == []


def test_a_counterexample_is_verified_with_fractions() -> None:
    left, right = one([[3.0]]), one([[2.0]])
    found = estimation._verified(left, right, [], np.array([[4.0]]), np.zeros(0))
    assert found is not None
    assert found[0] == 1.5
    assert float(found[1][0, 0]) ** 2 == pytest.approx(4.0)
    assert estimation._verified(right, right, [], np.array([[4.0]]), np.zeros(0)) is None  # equal is no counterexample
    assert estimation._verified(right, left, [], np.array([[4.0]]), np.zeros(0)) is None
    barely = one([[2.0 + 2.0**-50]])
    assert estimation._verified(barely, right, [], np.array([[4.0]]), np.zeros(0)) is not None
    negative = estimation._verified(left, one([[-1.0]]), [], np.array([[4.0]]), np.zeros(0))
    nothing = estimation._verified(left, one([[0.0]]), [], np.array([[4.0]]), np.zeros(0))
    assert negative is not None
    assert nothing is not None
    assert (negative[0], nothing[0]) == (INF, INF)
    assert estimation._verified(left, right, [one([[1.0]], (), -3.9)], np.array([[4.0]]), np.zeros(0)) is None


def test_bounds_as_conditions() -> None:
    form = one([[1.0]], [2.0], 0.5)
    (found,) = estimation._below([(form, 3.0)])
    assert (found.constant, found.equality) == (-2.5, False)
    assert found.evaluate(np.array([[1.0]]), np.array([1.0])) == 0.5
    assert estimation._below([]) == []


def test_where_a_form_is_negative() -> None:
    """x^2 - y^2 is negative somewhere, x^2 nowhere, and x^2 - y^2 under y^2 <= x^2 nowhere either."""
    difference, square = one([[1.0, 0.0], [0.0, -1.0]]), one([[1.0, 0.0], [0.0, 0.0]])
    assert estimation._negative_somewhere(difference, [])
    assert not estimation._negative_somewhere(square, [])
    below = one([[-1.0, 0.0], [0.0, 1.0]])
    assert not estimation._negative_somewhere(difference, [below])
    assert (
        estimation._negative_somewhere(difference, [one([[-0.5, 0.0], [0.0, 1.0]]), one([[1.0, 0.0], [0.0, -2.0]])])
        is False
    )
    equal = one([[0.0, 0.0], [0.0, 1.0]], equality=True)
    assert not estimation._negative_somewhere(difference, [equal])
    value = one([[0.0]], [1.0])
    assert estimation._negative_somewhere(value, [])
    assert not estimation._negative_somewhere(value, [one([[0.0]], [-1.0])])


def test_what_the_solver_cannot_tell_may_be_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimation, "solved", lambda _: False)
    assert estimation._negative_somewhere(one([[1.0]]), [])
    assert estimation._deepest(one([[1.0]]), one([[1.0]]), [], 1.0) is None


def test_deep_inside_the_conditions() -> None:
    """y^2 <= x^2 with x^2 <= 1 and 2 x^2 >= 1.5: the depth is largest at x^2 = 1, y = 0."""
    x2 = one([[1.0, 0.0], [0.0, 0.0]])
    inside = one([[-1.0, 0.0], [0.0, 1.0]])
    found = estimation._deepest(one([[2.0, 0.0], [0.0, 0.0]]), x2, [inside], 1.5)
    assert found is not None
    gram, _ = found
    assert gram[0, 0] == pytest.approx(1.0, abs=1e-4)
    assert gram[1, 1] == pytest.approx(0.0, abs=1e-4)
    assert estimation._deepest(one([[2.0, 0.0], [0.0, 0.0]]), x2, [inside], 2.5) is None  # left is at most 2
    # Without a target: left >= right + 1.
    open_ = estimation._deepest(one([[2.0, 0.0], [0.0, 0.0]]), x2, [inside], None)
    assert open_ is not None
    assert open_[0][0, 0] >= 1.0 - 1e-6
    assert estimation._deepest(x2, x2, [inside], None) is None
    # Nothing is inside y^2 + 1 <= 0: the depth is -1.
    assert estimation._deepest(None, x2, [one([[0.0, 0.0], [0.0, 1.0]], constant=1.0)], None) is None
    flat = one([[0.0, 0.0], [0.0, 1.0]], equality=True)
    on_it = estimation._deepest(one([[2.0, 0.0], [0.0, 0.0]]), x2, [flat], 1.5)
    assert on_it is not None
    assert on_it[0][1, 1] == pytest.approx(0.0, abs=1e-6)


def test_a_counterexample_is_found_inside_or_near() -> None:
    x2 = one([[1.0, 0.0], [0.0, 0.0]])
    inside = one([[-1.0, 0.0], [0.0, 1.0]])
    twice = one([[2.0, 0.0], [0.0, 0.0]])
    found = estimation._counterexample(twice, x2, [inside], 1.5)
    assert found is not None
    assert found[0] == pytest.approx(2.0)
    assert estimation._counterexample(x2, x2, [inside], 1.5) is None
    near = (np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(0))  # on the boundary y^2 = x^2
    deep = estimation._deepest
    calls: list[Any] = []

    def only_without_objective(objective: Any, *rest: Any) -> Any:
        calls.append(rest)
        return None if objective is not None else deep(objective, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimation, "_deepest", only_without_objective)
        mixed = estimation._counterexample(twice, x2, [inside], 1.5, near)
        assert mixed is not None
        assert mixed[0] == pytest.approx(2.0)
        assert [len(rest[1]) for rest in calls] == [1, 2]  # right <= 1 is a condition of the mixture
        assert calls[1][1][1].constant == -1.0
        assert estimation._counterexample(twice, x2, [inside], 1.5) is None
        calls.clear()
        estimation._counterexample(twice, x2, [inside], None, near)
        assert [len(rest[1]) for rest in calls] == [1, 1]


# Problems with conditions, and with function values


def under(left: Any, right: Any, *conditions: Any) -> Performance:
    """A problem of three points x, y, z and a value f, from functions of (x^2, y^2, z^2, f)."""
    from PEPit import PEP, Expression

    problem = PEP()
    squares_ = [problem.set_initial_point() ** 2 for _ in range(3)]
    value = Expression(is_leaf=True)
    for condition in conditions:
        problem.add_constraint(condition(*squares_, value))
    return Performance(problem, left(*squares_, value), right(*squares_, value), "under")


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many conditions each candidate for a counterexample was held to."""
    counts: list[int] = []
    refutes = estimation.refutes

    def counted(left: Form, right: Form, limits: Any, *rest: Any) -> bool:
        counts.append(len(limits))
        return refutes(left, right, limits, *rest)

    monkeypatch.setattr(estimation, "refutes", counted)
    return counts


def test_a_function_value_may_make_the_right_side_negative(looked_at: list[int]) -> None:
    """(x^2 - f)/2 <= x^2 - f fails where f > x^2, though f is at least 0 and the normalised maximum is 1/2."""
    found = solve(under(lambda x, y, z, f: 0.5 * (x - f), lambda x, y, z, f: x - f, lambda x, y, z, f: f >= 0))
    assert known(found) == (False, False, INF)
    assert set(looked_at) == {1}


def test_the_multiplier_of_another_condition_says_nothing_of_the_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """(x^2 - y^2)/2 + f <= x^2 - y^2 under f <= 0, whose multiplier is 1, and that of the right side is 1/2."""
    made = (lambda x, y, z, f: 0.5 * (x - y) + f, lambda x, y, z, f: x - y, lambda x, y, z, f: f <= 0)
    found = solve(under(*made))
    assert (found.proved, found.signed) == (False, False)
    monkeypatch.setattr(estimation, "prove", lambda *_: None)
    assert not solve(under(*made)).signed


def test_a_condition_that_the_proof_needs_is_used() -> None:
    """-2 x^2 + 3/2 y^2 <= -x^2 for y^2 <= x^2/2: the right side is negative, and only the difference is proved."""
    found = solve(
        under(lambda x, y, z, f: -2 * x + 1.5 * y, lambda x, y, z, f: -x, lambda x, y, z, f: y - 0.5 * x <= 0)
    )
    assert known(found) == (True, True, None)
    sign = under(lambda x, y, z, f: 0.5 * (x - y), lambda x, y, z, f: x - y, lambda x, y, z, f: y - x <= 0)
    assert known(solve(sign)) == (True, True, None)


def test_a_condition_that_the_sign_needs_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimation, "prove", lambda *_: None)
    sign = under(lambda x, y, z, f: 0.5 * (x - y), lambda x, y, z, f: x - y, lambda x, y, z, f: y - x <= 0)
    assert known(solve(sign)) == (False, True, None)


def test_an_excess_within_the_solvers_tolerance_is_no_proof() -> None:
    found = solve(squares(16.0 * (1.0 + 2.0**-18), 16.0))
    assert (found.proved, found.refuted) == (False, None)


def test_counterexamples_are_held_to_all_conditions(looked_at: list[int]) -> None:
    """x^2 <= y^2 under x^2 <= 2 y^2 fails by a factor of 2 at most; under y^2 <= x^2 it has no largest ratio."""
    bounded = solve(under(lambda x, y, z, f: x, lambda x, y, z, f: y, lambda x, y, z, f: x - 2 * y <= 0))
    assert bounded.refuted is not None
    assert 1.0 < bounded.refuted <= 2.0
    assert set(looked_at) == {1}
    looked_at.clear()
    unbounded = solve(under(lambda x, y, z, f: x, lambda x, y, z, f: y, lambda x, y, z, f: y - x <= 0))
    assert unbounded.primal == INF
    assert unbounded.refuted is not None
    assert set(looked_at) == {1}
    looked_at.clear()
    signed = under(lambda x, y, z, f: 0.5 * (x - y), lambda x, y, z, f: x - y, lambda x, y, z, f: y - 4 * x <= 0)
    assert solve(signed).refuted == INF
    assert set(looked_at) == {1}


def test_the_guarantee_is_the_dual_value_and_its_defect() -> None:
    assert Solution("s", 1.0, 1.0, 0.25, False, False, False, None, ()).guarantee == 1.25


def test_where_values_alone_are_negative() -> None:
    value = one([[0.0]], [1.0])
    assert estimation._negative_somewhere(value, [one([[0.0]], [1.0])])  # F <= 0
    assert not estimation._negative_somewhere(value, [one([[0.0]], [1.0], equality=True)])


def test_an_unbounded_problem_describes_its_function() -> None:
    """(x - x*)^2 against the gradient's square: a smooth convex function may be flat."""
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction

    problem = PEP()
    f = problem.declare_function(SmoothConvexFunction, L=1.0)
    x_star = f.stationary_point()
    x = problem.set_initial_point()
    found = solve(Performance(problem, (x - x_star) ** 2, f.gradient(x) ** 2, "flat"))
    assert found.primal == INF
    assert found.refuted is not None
    assert len(found.worst) == 2
    distance = np.subtract(found.worst[1]["point"], found.worst[0]["point"])
    slope = np.array(found.worst[1]["gradient"])
    assert distance @ distance > slope @ slope
    assert found.worst[1]["value"] >= found.worst[0]["value"]


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e6])
def test_coordinates_below_a_ten_thousandth_are_left_out(unit: float) -> None:
    from PEPit import PEP
    from PEPit.functions import ConvexFunction

    problem = PEP()
    f = problem.declare_function(ConvexFunction)
    x = problem.set_initial_point()
    f.oracle(x)
    f.oracle(2 * x)
    vectors = unit * np.array([[3.0, 1e-3, 1e-4, 0.0], [0.0, 0.0, 0.0, 0.0], [-3.0, 0.0, 0.0, 0.0]])
    first, second = estimation._describe(problem, vectors, np.array([0.5, -2.0]))
    assert first["point"] == pytest.approx([3.0 * unit, 1e-3 * unit], rel=1e-5)
    assert second["point"] == pytest.approx([6.0 * unit, 2e-3 * unit], rel=1e-5)
    assert first["gradient"] == [0.0, 0.0]
    assert second["gradient"] == pytest.approx([-3.0 * unit, 0.0])
    assert (first["value"], second["value"]) == (0.5, -2.0)
    nothing = estimation._describe(problem, 0 * vectors, np.zeros(2))
    assert nothing[0]["point"] == [0.0]
