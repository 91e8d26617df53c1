"""DP-ScaffNew on quadratics that share their axes, in rational arithmetic: E psi_T without sampling error.

Along one axis client i has the gradient q_i x + h*_i, and the minimiser is 0, as the shifts h* add up to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.worlds.base import Vector
from dpfl_theory.worlds.moments import Moments
from dpfl_theory.worlds.rational import Quadratics
from dpfl_theory.worlds.rounds.scaffnew import ScaffNew, scaffnew

__all__ = ["expected_parts", "expected_psi", "iterated", "parts", "psi_start", "server_moment"]


def psi_start(start: Sequence[Fraction], shifts: Sequence[Sequence[Fraction]], eta: Fraction, p: Fraction) -> Fraction:
    """psi_0 for h_0 = 0: start (d,) is x_0 - x*, shifts (N, d) are the gradients h*_i at the minimiser.

    >>> psi_start([Fraction(1)], [[Fraction(1)], [Fraction(-1)]], Fraction(1), Fraction(1, 2))
    Fraction(10, 1)
    """
    distance = len(shifts) * sum((x * x for x in start), Fraction(0))
    return distance + (eta / p) ** 2 * sum((h * h for row in shifts for h in row), Fraction(0))


def iterated(
    x: Sequence[Fraction],
    h: Sequence[Fraction],
    q: Sequence[Fraction],
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
    *,
    shifts: Sequence[Fraction] | None = None,
    gain: Fraction | None = None,
) -> Moments[ScaffNew]:
    """The second moments after T iterations along one axis, from the clients' vectors x and control variates h.

    The server's vector begins where the first client's is. shifts: h*, zero where it is None. gain: see `scaffnew`.

    >>> half, zero = [Fraction(1, 2)], [Fraction(0)]
    >>> parts(iterated([Fraction(4)], zero, half, Fraction(1), Fraction(1), 1, Fraction(0)))
    (Fraction(4, 1), Fraction(0, 1))
    """
    world = Quadratics(q, [-s for s in shifts] if shifts else [0] * len(q), {"noise": variance})
    points = tuple(map(Vector, x))

    def iteration(state: ScaffNew) -> ScaffNew:
        return scaffnew(world, state, eta, p, gain=gain)

    return Moments.of(world, ScaffNew(points[0], points, tuple(map(Vector, h)))).after(iteration, T)


def parts(found: Moments[ScaffNew]) -> tuple[Fraction, Fraction]:
    """E||x_t - x*||^2 and E||h_t - h*||^2 of the stacked vectors."""
    star: Any = found.world.minimiser
    control = (h - found.world.gradient(i, star) for i, h in enumerate(found.state.h_i))
    return (
        sum((found.square(x - star) for x in found.state.x_i), Fraction(0)),
        sum((found.square(deviation) for deviation in control), Fraction(0)),
    )


def expected_parts(
    curvatures: Sequence[Sequence[Fraction]],
    start: Sequence[Fraction],
    shifts: Sequence[Sequence[Fraction]],
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
) -> tuple[Fraction, Fraction]:
    """E||x_T - x*||^2 and (eta^2/p^2) E||h_T - h*||^2, whose sum is E psi_T; arguments as for `expected_psi`."""
    distance = control = Fraction(0)
    for axis, x in enumerate(start):
        q, h = [row[axis] for row in curvatures], [row[axis] for row in shifts]
        of_axis = parts(iterated([x] * len(q), [Fraction(0)] * len(q), q, eta, p, T, variance, shifts=h))
        distance, control = distance + of_axis[0], control + (eta / p) ** 2 * of_axis[1]
    return distance, control


def expected_psi(
    curvatures: Sequence[Sequence[Fraction]],
    start: Sequence[Fraction],
    shifts: Sequence[Sequence[Fraction]],
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
) -> Fraction:
    """E psi_T of Algorithm 2 without clipping, h_0 = 0; curvatures (N, d), start (d,), shifts (N, d), as fractions.

    >>> one = [[Fraction(1, 2)]]
    >>> expected_psi(one, [Fraction(4)], [[Fraction(0)]], Fraction(1), Fraction(1), 2, Fraction(0))
    Fraction(1, 1)
    """
    return sum(expected_parts(curvatures, start, shifts, eta, p, T, variance), Fraction(0))


def server_moment(
    start: Fraction,
    h: Sequence[Fraction],
    q: Sequence[Fraction],
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
    gain: Fraction | None = None,
) -> Fraction:
    """E (x_T - x*)^2 of the server's vector, which moves at communications only; start is x_0 - x*, h the shifts h*.

    >>> half = [Fraction(1, 2)]
    >>> server_moment(Fraction(4), [Fraction(0)], half, Fraction(1), Fraction(1, 2), 1, Fraction(0))
    Fraction(10, 1)
    """
    n = len(q)
    found = iterated([start] * n, [Fraction(0)] * n, q, eta, p, T, variance, shifts=h, gain=gain)
    return found.square(found.state.x)
