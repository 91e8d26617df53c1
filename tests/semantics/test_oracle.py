"""An oracle on quadratics and over a class: weights, draws, the path of a round, and exact moments of each round."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest

from dpfl_theory.semantics.base import Vector, average, expected
from dpfl_theory.semantics.moments import after_rounds
from dpfl_theory.semantics.oracle import OnFunctions, OnQuadratics, Oracle

P = (F(1, 5), F(4, 5))


def quadratics(start: Any = 3) -> OnQuadratics:
    return OnQuadratics(curvatures=[1, 2], offsets=[0, 6], start=start)


def step(o: Oracle, w: Vector) -> Vector:
    return w - (o.gradient(w, o.draw(P)) + o.error(o.k)) / (o.k + 2)


def test_a_mean_may_have_weights() -> None:
    assert average([F(1), F(4)], P) == F(17, 5)
    assert average([F(1), F(4)]) == F(5, 2)
    o = quadratics()
    assert o.average([Vector(F(1)), Vector(F(4))], P).known == F(17, 5)
    with pytest.raises(ValueError, match="zip"):
        average([1, 2], [1])


def test_a_client_is_drawn_by_its_probability() -> None:
    o = quadratics()
    assert expected(o.world, lambda: {"client": o.draw(P)}) == {"client": F(4, 5)}


def test_the_path_has_the_states_before_each_round_and_after_the_last() -> None:
    o = quadratics()
    seen = [(o.k, w.known) for w in o.path(o.start, lambda o, w: w / (o.k + 1), 3)]
    assert seen == [(0, 3), (1, 3), (2, F(3, 2)), (2, F(1, 2))]
    assert [w.known for w in quadratics().path(o.start, step, 0)] == [3]


def test_moments_of_each_round() -> None:
    """By hand: the mean over the draws, and the second moment, which gets k^2/(k + 2)^2 from the error."""
    first, second, third = after_rounds(quadratics(), Vector(F(3)), step, 2)
    square, mean = F(9), F(3)
    for k, now in enumerate((second, third)):
        h = F(1, k + 2)
        shrink, shift = [1 - h * a for a in (1, 2)], [h * b for b in (0, 6)]
        square = sum(p * (s**2 * square + 2 * s * c * mean + c**2) for p, s, c in zip(P, shrink, shift)) + (h * k) ** 2
        mean = sum(p * (s * mean + c) for p, s, c in zip(P, shrink, shift))
        assert now.square(now.state) == square
    assert first.square(first.state) == 9


def test_fractions_become_floats_where_the_world_has_floats() -> None:
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction

    problem = PEP()
    o = OnFunctions(problem, [problem.declare_function(SmoothConvexFunction, L=1.0) for _ in range(2)])
    assert (o.number(F(1, 2)), type(o.number(F(1, 2))), o.number(3)) == (0.5, float, 3)
    assert type(quadratics().number(F(1, 2))) is F
    assert o.gradient(o.zero).known.decomposition_dict == {}, "the minimiser of the mean is the origin"
    (before, after) = o.path(o.start, lambda o, w: w - o.number(F(1, 2)) * o.gradient(w, 0), 1)
    assert before.known.decomposition_dict != after.known.decomposition_dict
