"""Scalar quadratics in rational arithmetic: rounds and stationary points by hand, by brute force and in floats."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from short_forms import model_clipped, two_sided

from dpfl_theory import problems
from dpfl_theory.errors import InputError
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.piecewise import PiecewiseLinear, clip_map, line, mean_of
from dpfl_theory.problems.scalar import CLIPPING, ScalarQuadratics, claim_2_1, equation_8
from dpfl_theory.simulation import RecordGradient, simulate


def by_hand(clients: ScalarQuadratics, clipping: str, x: F, eta: F, steps: int, c: F | None, g: F = F(1)) -> F:
    """One round, written from the algorithm line by line."""

    def clip(v: F) -> F:
        return v if c is None or abs(v) <= c else (c if v > 0 else -c)

    total = F(0)
    for a, b in zip(clients.a, clients.b):
        y = x
        for _ in range(steps):
            slope = a * (a * y - b)
            y -= eta * (clip(slope) if clipping == "gradient" else slope)
        if clipping == "model":
            y = clip(y)
        total += clip(y - x) if clipping == "difference" else y - x
    return x + g * total / len(clients.a)


def cases(clipping: str) -> dict[str, Any]:
    return {} if clipping == "none" else {"threshold": F(2, 3)}


fractions = st.fractions(min_value=-20, max_value=20, max_denominator=60)


@pytest.mark.parametrize("clipping", CLIPPING)
@given(x=fractions, eta=st.fractions(min_value=F(1, 60), max_value=1, max_denominator=60), steps=st.integers(1, 4))
def test_a_round_is_the_algorithm_line_by_line(clipping: str, x: F, eta: F, steps: int) -> None:
    clients = ScalarQuadratics(("3/2", -2, "1/3"), (1, "5/7", -4))
    options = cases(clipping)
    one = clients.round_map(clipping, step=eta, steps=steps, global_step="3/2", **options)
    assert one(x) == by_hand(clients, clipping, x, eta, steps, options.get("threshold"), F(3, 2))


@pytest.mark.parametrize("clipping", CLIPPING)
@pytest.mark.parametrize(("step", "steps"), [(F(1, 50), 1), (F(1, 20), 3), (F(1, 3), 2), (F(1), 2), (F(1, 2), 5)])
def test_stationary_points_are_all_and_only_the_solutions(clipping: str, step: F, steps: int) -> None:
    """Every point solves F(x) = x, and between neighbouring ones F(x) - x keeps its sign on a fine grid."""
    clients = equation_8()
    options = cases(clipping)
    one = clients.round_map(clipping, step=step, steps=steps, **options)
    points = clients.stationary(clipping, step=step, steps=steps, **options)
    for p in points:
        for end in (p.low, p.high):
            assert end is not None
            assert by_hand(clients, clipping, end, step, steps, options.get("threshold")) == end
    ends = [(p.low, p.high) for p in points]
    assert ends == sorted(ends)  # type: ignore[type-var]
    grid = sorted({F(k, 64) for k in range(-20 * 64, 20 * 64 + 1)} | {k for p in points for k in (p.low, p.high)})  # type: ignore[type-var]
    signs: list[tuple[F, int]] = []
    for x in grid:
        if any(low <= x <= high for low, high in ends):  # type: ignore[operator]
            signs.append((x, 0))
        else:
            gap = one(x) - x
            assert gap != 0, f"{x} is stationary and was not found"
            signs.append((x, 1 if gap > 0 else -1))
    for (x, a), (_, b) in pairwise(signs):
        assert a * b >= 0, f"a stationary point near {float(x)} is missing"


def test_table_1_in_rational_arithmetic() -> None:
    """Every printed entry with the reading that gives it, and what the other reading gives (zhang2021 Table 1)."""
    p = equation_8()

    def only(clipping: str, step: Any, steps: float, c: Any = None) -> F:
        (found,) = p.stationary(clipping, step=step, steps=steps, threshold=c)
        assert found.stability == "attracting"
        assert found.point is not None
        return found.point

    for step in ("1/1000", "1/50", "1/10", "1/7"):
        assert only("none", step, 1) == 0
        assert only("gradient", step, 1, 1) == F(1, 2)  # as captioned
        assert only("difference", step, 1, 1) == 0  # Algorithm 2: nothing is clipped at a stable step
    assert only("none", None, math.inf) == F(13, 9)
    assert only("difference", None, math.inf, 1) == F(2, 3)  # Algorithm 2
    assert only("gradient", None, math.inf, 1) == F(13, 9)  # as captioned
    assert only("model", None, math.inf, 1) == F(4, 9)
    # Clipped updates are stationary at 1/2 from the step 2/7 on, where the unclipped method diverges.
    assert only("difference", "2/7", 1, 1) == F(1, 2)
    assert only("difference", "1/4", 1, 1) == F(2, 5)
    (unclipped,) = p.stationary("none", step="2/7", steps=1)
    assert (unclipped.point, unclipped.stability) == (0, "repelling")
    (edge,) = p.stationary("none", step="6/41", steps=1)
    assert edge.stability == "neutral"


@pytest.mark.parametrize("k", ["9/2", 5, 40])
@pytest.mark.parametrize("c", ["1/10", 1, 7])
def test_claim_2_1(k: Any, c: Any) -> None:
    clients, c = claim_2_1(k, c), F(c)
    assert clients.optimum == (F(k) - 1) * c / 3
    for step in (F(1, 100), F(1, 3), F(9, 10)):
        for steps in (1, 4):
            ratio = (1 - step) ** steps
            (found,) = clients.stationary("model", step=step, steps=steps, threshold=c)
            assert found.point == ratio * c / (3 - 2 * ratio)
            assert found.stability == "attracting"
            assert found.point < clients.optimum


def test_small_k_meets_the_optimum() -> None:
    (found,) = claim_2_1(2, 1).stationary("model", step="2/5", steps=1, threshold=1)
    assert found.point == claim_2_1(2, 1).optimum == F(1, 3)


def test_intervals_and_several_points() -> None:
    (whole,) = claim_2_1(5, 1).stationary("model", step=2, steps=2, threshold=1)  # lambda = 1: F = mean of clip(x, c)
    assert (whole.low, whole.high, whole.point, whole.stability) == (-1, 1, None, "neutral")
    three = claim_2_1(5, 1).stationary("model", step="5/2", steps=2, threshold=1)
    assert [(p.point, p.stability) for p in three] == [
        (-1, "attracting"),
        (F(-1, 6), "repelling"),
        (F(1, 3), "attracting"),
    ]
    (everywhere,) = line(F(1)).fixed_points()
    assert everywhere.low is everywhere.high is None
    assert everywhere.stability == "neutral"
    half = PiecewiseLinear((F(0),), ((F(1, 2), F(0)), (F(1), F(0))))  # x/2 below 0, x above
    (ray,) = half.fixed_points()
    assert (ray.low, ray.high) == (0, None)


def test_stability_at_a_kink() -> None:
    def kink(left: F, right: F) -> str:
        (found,) = PiecewiseLinear((F(0),), ((left, F(0)), (right, F(0)))).fixed_points()
        return found.stability

    assert kink(F(-1, 2), F(-3)) == "repelling"  # the product 3/2: every second iterate moves away
    assert kink(F(-1, 4), F(-3)) == "attracting"
    assert kink(F(-1, 3), F(-3)) == "neutral"
    assert kink(F(1, 2), F(-3)) == "attracting"  # to the left, and there towards 0
    assert kink(F(2), F(-1, 3)) == "repelling"


@given(
    knots=st.lists(fractions, min_size=1, max_size=4, unique=True).map(sorted),
    slopes=st.lists(fractions, min_size=5, max_size=5),
    x=fractions,
)
def test_composition_and_means_agree_with_evaluation(knots: list[F], slopes: list[F], x: F) -> None:
    """Maps made of |x - knot| terms: ``after`` and ``mean_of`` give the values of the composed functions."""
    bend = [PiecewiseLinear((k,), ((F(-1), k), (F(1), -k))) for k in knots]
    outer = mean_of([*bend, line(F(1))], [*slopes[: len(bend)], F(1, 3)])
    inner = mean_of([line(slopes[4]), clip_map(F(3))])
    assert outer.after(inner)(x) == outer(inner(x))
    assert outer(x) == sum((s * abs(x - k) for s, k in zip(slopes, knots)), x / 3)


def test_the_float_problem_is_the_same() -> None:
    for clients, name in ((equation_8(), "zhang2021-eq8"), (claim_2_1(6, "1/2"), None)):
        problem = clients.problem() if name is None else problems.make(name)
        w_star = problem.constants.w_star
        assert w_star is not None
        assert w_star[0] == pytest.approx(float(clients.optimum), abs=1e-14)
        assert problem.constants.f_star == pytest.approx(float(clients.value(clients.optimum)), rel=1e-13)
    made = problems.make("zhang2021-claim2.1", k="9/2", c=0.25)
    assert made.constants.w_star == pytest.approx([float(F(7, 24))])


@pytest.mark.parametrize("clipping", CLIPPING)
def test_the_algorithms_take_the_same_rounds(clipping: str) -> None:
    """Three rounds in floating point from many starts against the exact map."""
    clients, step, steps, c = equation_8(), F(1, 40), 3, F(1, 2)
    start = np.linspace(-3.0, 3.0, 13)[:, None]
    problem: Any = clients.problem()
    if clipping == "model":
        algorithm: Any = model_clipped(float(step), float(c), local_steps=steps)
    elif clipping == "gradient":
        data = linear_data([[1.0], [2.0], [6.0]], [4.0, 1.0, -1.0], [np.array([i]) for i in range(3)], "squared")
        problem = LinearModel(data)
        algorithm = two_sided(float(step), local_steps=steps, gradient=RecordGradient(share=1.0, threshold=float(c)))
    else:
        algorithm = two_sided(float(step), local_steps=steps, threshold=float(c) if clipping == "difference" else None)
    run = simulate(algorithm, problem, rounds=3, replicates=13, start=start, observe=(), device="cpu")
    options = {} if clipping == "none" else {"threshold": c}
    one = clients.round_map(clipping, step=step, steps=steps, **options)
    exact = [float(one(one(one(F(float(v)))))) for v in start[:, 0]]
    np.testing.assert_allclose(run.final[:, 0], exact, rtol=1e-12, atol=1e-14)


def test_refusals() -> None:
    p = equation_8()
    for options, what in (
        ({"clipping": "norm", "step": 1, "steps": 1}, "choose one of"),
        ({"clipping": "model", "step": 1, "steps": 1}, "needs a threshold"),
        ({"clipping": "none", "step": 1, "steps": 1, "threshold": 1}, "takes no threshold"),
        ({"clipping": "none", "step": 0, "steps": 1}, "above zero"),
        ({"clipping": "none", "step": None, "steps": 1}, "is missing"),
        ({"clipping": "none", "step": 1, "steps": 1.5}, "whole number"),
        ({"clipping": "none", "step": 1, "steps": math.inf}, "diverge"),
        ({"clipping": "none", "step": "one", "steps": 1}, "give a finite number"),
        ({"clipping": "model", "step": 1, "steps": 1, "threshold": -1}, "above zero"),
    ):
        with pytest.raises(InputError, match=what):
            p.round_map(**options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is zero"):
        ScalarQuadratics((1, 0), (1, 1))
    with pytest.raises(InputError, match="one of each"):
        ScalarQuadratics((1,), (1, 1))
    with pytest.raises(InputError, match="finite"):
        claim_2_1(k=math.inf)
