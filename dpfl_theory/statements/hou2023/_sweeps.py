"""Both algorithms of hou2023 on one-dimensional quadratics, in rational arithmetic, over tau, T, epsilon and C.

f_i(x) = q_i (x - c_i)^2/2, no clipping, the noise of Lemma 1: sigma^2 = C^2 unit x (expected rounds) with unit = v
ln(1/delta)/epsilon^2. What is compared is E f - f* at the end, of the server's vector; of the clients' own vectors, on
average, where DP-ScaffNew is named with ``CLIENTS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from dpfl_theory.statements.hou2023._moments import expected_parts, server_moment

__all__ = ["CLIENTS", "best", "divisors", "gap", "read"]

Numbers = tuple[Fraction, ...]
CLIENTS = "dp-scaffnew, clients"
"""DP-ScaffNew scored by its clients' own vectors."""


def divisors(T: int) -> list[int]:
    """All numbers of local steps that divide T.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    return [tau for tau in range(1, T + 1) if T % tau == 0]


def read(instance: Mapping[str, Any]) -> tuple[Numbers, Numbers, Fraction]:
    """The curvatures q, the centres c and x_0 of an instance."""
    q, c = (tuple(Fraction(v) for v in instance[k]) for k in ("q", "c"))
    return q, c, Fraction(instance["x_0"])


@cache
def gap(algorithm: str, problem: tuple[Numbers, Numbers, Fraction], tau: int, T: int, unit: Fraction) -> Fraction:
    """E f - f* after T iterations with (expected) tau local steps, eta = 1/L; unit = C^2 v ln(1/delta)/epsilon^2.

    >>> one = ((Fraction(1),), (Fraction(0),), Fraction(2))
    >>> gap("dp-fedavg", one, 1, 3, Fraction(0)), gap("dp-fedavg", one, 1, 1, Fraction(4))
    (Fraction(0, 1), Fraction(2, 1))
    """
    q, c, x_0 = problem
    n, eta = len(q), 1 / max(q)
    x_star = sum((a * b for a, b in zip(q, c)), Fraction(0)) / sum(q)
    curvature = sum(q, Fraction(0)) / n
    if algorithm == "dp-scaffnew":
        p = Fraction(1, tau)
        h = [a * (x_star - b) for a, b in zip(q, c)]
        return curvature / 2 * server_moment(x_0 - x_star, h, q, eta, p, T, p * T * unit)
    if algorithm == CLIENTS:
        p = Fraction(1, tau)
        shifts = [[a * (x_star - b)] for a, b in zip(q, c)]
        curvatures = [[a] for a in q]
        distance, _ = expected_parts(curvatures, [x_0 - x_star], shifts, eta, p, T, p * T * unit)
        return curvature / 2 * distance / n
    rounds = T // tau
    kept = [(1 - eta * a) ** tau for a in q]
    factor = sum(kept, Fraction(0)) / n
    pull = sum(((1 - k) * b for k, b in zip(kept, c)), Fraction(0)) / n
    mean, variance = x_0, Fraction(0)
    for _ in range(rounds):
        mean = factor * mean + pull
        variance = factor**2 * variance + rounds * unit / n
    return curvature / 2 * ((mean - x_star) ** 2 + variance)


def best(values: Mapping[int, Fraction], keys: Sequence[int]) -> tuple[int, Fraction]:
    """The key with the smallest value, the smallest such key, and the value."""
    key = min(keys, key=lambda k: (values[k], k))
    return key, values[key]
