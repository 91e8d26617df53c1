"""DP-ScaffNew on quadratics that share their axes, in rational arithmetic: E psi_T without sampling error.

Along one axis client i has gradient q_i (x - x*) + h*_i. The deviations a_i = x_i - x* and b_i = h_i - h*_i follow

    ahat_i = (1 - eta q_i) a_i + eta b_i
    with probability p:   a_i <- mean(ahat + e),  b_i <- b_i + (p/eta) (mean(ahat + e) - ahat_i - e_i)
    else:                 a_i <- ahat_i

with e ~ N(0, sigma^2 I): a linear map with a random coin, so that the second moments follow a linear recursion. Its
maps are sparse: an iteration costs some N^2 products.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["expected_parts", "expected_psi", "iterated", "psi_start", "second_moments", "server_moment"]

Matrix = list[list[Fraction]]


_ZERO = Fraction(0)


def psi_start(start: Sequence[Fraction], shifts: Sequence[Sequence[Fraction]], eta: Fraction, p: Fraction) -> Fraction:
    """psi_0 for h_0 = 0: start (d,) is x_0 - x*, shifts (N, d) are the gradients h*_i at the minimiser.

    >>> psi_start([Fraction(1)], [[Fraction(1)], [Fraction(-1)]], Fraction(1), Fraction(1, 2))
    Fraction(10, 1)
    """
    distance = len(shifts) * sum((x * x for x in start), Fraction(0))
    return distance + (eta / p) ** 2 * sum((h * h for row in shifts for h in row), Fraction(0))


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


def second_moments(a: Sequence[Fraction], b: Sequence[Fraction]) -> Matrix:
    """The products of the deviations (a, b), each (N,), along one axis: (2N, 2N)."""
    state = [*a, *b]
    return [[x * y for y in state] for x in state]


def iterated(
    moments: Matrix,
    q: Sequence[Fraction],
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
    coin: Fraction | None = None,
) -> Matrix:
    """The second moments of (a, b) after T iterations; ``coin`` is the probability to communicate, p where it is None.

    >>> half = [Fraction(1, 2)]
    >>> iterated(second_moments([Fraction(4)], [Fraction(0)]), half, Fraction(1), Fraction(1), 1, Fraction(0))[0][0]
    Fraction(4, 1)
    """
    n, gain = len(q), p / eta
    coin = p if coin is None else coin
    for _ in range(T):
        quiet = _moved(moments, q, eta)
        loud = _communicated(quiet, n, gain, variance)
        moments = [[coin * a + (1 - coin) * b for a, b in zip(*rows)] for rows in zip(loud, quiet, strict=True)]
    return moments


def server_moment(
    start: Fraction,
    h: Sequence[Fraction],
    q: Sequence[Fraction],
    eta: Fraction,
    p: Fraction,
    T: int,
    variance: Fraction,
    coin: Fraction | None = None,
) -> Fraction:
    """E (x_T - x*)^2 of the server's vector, which moves at communications only; start is x_0 - x*, h the shifts h*.

    >>> half = [Fraction(1, 2)]
    >>> server_moment(Fraction(4), [Fraction(0)], half, Fraction(1), Fraction(1, 2), 1, Fraction(0))
    Fraction(10, 1)
    """
    moments, kept, coin = second_moments([start] * len(q), [-x for x in h]), start**2, p if coin is None else coin
    for _ in range(T):
        loud = _communicated(_moved(moments, q, eta), len(q), p / eta, variance)
        kept = coin * loud[0][0] + (1 - coin) * kept
        moments = iterated(moments, q, eta, p, 1, variance, coin)
    return kept


def _moved(moments: Matrix, q: Sequence[Fraction], eta: Fraction) -> Matrix:
    """The second moments of (ahat, b)."""
    n = len(q)
    steps = [((i, 1 - eta * q[i]), (n + i, eta)) for i in range(n)] + [((n + i, Fraction(1)),) for i in range(n)]
    return [[sum((x * y * moments[k][m] for k, x in row for m, y in other), _ZERO) for other in steps] for row in steps]


def _communicated(moments: Matrix, n: int, gain: Fraction, variance: Fraction) -> Matrix:
    """The second moments after a communication, from those of (ahat, b): with m = mean(ahat), the new (a_i, b_i) are
    (m, b_i + gain (m - ahat_i)), and of the noise (mean(e), gain (mean(e) - e_i)), whose two parts are uncorrelated."""
    mean = [sum((row[j] for row in moments[:n]), _ZERO) / n for j in range(2 * n)]  # of m and (ahat, b)_j
    cross = [[moments[n + i][j] + gain * (mean[j] - moments[i][j]) for j in range(2 * n)] for i in range(n)]
    with_mean = [sum(row[:n], _ZERO) / n for row in cross]  # of the new b_i and m
    square = sum(mean[:n], _ZERO) / n + variance / n
    spread = gain**2 * variance
    shifts = [
        [cross[i][n + j] + gain * (with_mean[i] - cross[i][j]) + spread * ((i == j) - Fraction(1, n)) for j in range(n)]
        for i in range(n)
    ]
    return [[square] * n + with_mean for _ in range(n)] + [[with_mean[i]] * n + shifts[i] for i in range(n)]


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
    for axis in range(len(start)):
        q, h = [row[axis] for row in curvatures], [row[axis] for row in shifts]
        n = len(q)
        moments = iterated(second_moments([start[axis]] * n, [-x for x in h]), q, eta, p, T, variance)
        distance += sum((moments[i][i] for i in range(n)), Fraction(0))
        control += (eta / p) ** 2 * sum((moments[i][i] for i in range(n, 2 * n)), Fraction(0))
    return distance, control
