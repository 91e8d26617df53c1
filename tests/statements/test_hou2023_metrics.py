"""The vector that scores DP-ScaffNew decides whether its best number of local steps can fall as noise grows. Problems
are drawn, and for each number of local steps the error is a line in the noise level."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpfl_theory.statements.hou2023.observations import CLIENTS, gap

TAUS, T = (1, 2, 3, 4, 6, 8, 12, 24), 24
Line = tuple[float, float]


def lines(q: np.ndarray, c: np.ndarray, x_0: float, tau: int) -> tuple[Line, Line]:
    """(without noise, per unit of noise) of E (x_T - x*)^2, by the server's vector and by the clients', on average."""
    n, p = len(q), 1.0 / tau
    eta, x_star = 1.0 / q.max(), (q * c).sum() / q.sum()
    mean, none, same = np.full((n, n), 1.0 / n), np.zeros((n, n)), np.eye(n)
    local = np.block([[np.diag(1 - eta * q), eta * same], [none, same]])
    send = np.block([[mean, none], [p / eta * (mean - same), same]])
    noise = np.vstack([mean, p / eta * (mean - same)])
    state = np.r_[np.full(n, x_0 - x_star), -q * (x_star - c)]
    found = []
    for moments, added in ((np.outer(state, state), 0.0), (np.zeros((2 * n, 2 * n)), p * T)):
        server = float(moments[0, 0])
        for _ in range(T):
            quiet = local @ moments @ local.T
            loud = send @ quiet @ send.T + added * noise @ noise.T
            server = p * float(loud[0, 0]) + (1 - p) * server
            moments = p * loud + (1 - p) * quiet
        found.append((server, float(np.trace(moments[:n, :n])) / n))
    return (found[0][0], found[1][0]), (found[0][1], found[1][1])


def test_the_lines_are_the_exact_gaps() -> None:
    q, c, x_0, unit = (1, Fraction(1, 4), Fraction(1, 10)), (0, 1, -2), 8, Fraction(1, 10)
    exact = (tuple(map(Fraction, q)), tuple(map(Fraction, c)), Fraction(x_0))
    server, clients = lines(np.array(q, dtype=float), np.array(c, dtype=float), float(x_0), 3)
    curvature = float(sum(q)) / 3
    for (alone, noise), name in ((server, "dp-scaffnew"), (clients, CLIENTS)):
        value = curvature / 2 * (alone + noise * float(unit))
        assert value == pytest.approx(float(gap(name, exact, 3, T, unit)), rel=1e-10)


@pytest.mark.slow
def test_best_local_steps_never_fall_by_the_server_s_vector() -> None:
    """400 drawn problems of two to eight clients, 400 noise levels each: none by the server, some by the clients."""
    rng = np.random.default_rng(11)
    levels = np.r_[0.0, np.logspace(-7, 2, 400)]
    falls = np.zeros(2, dtype=int)
    for number in range(400):
        n = int(rng.integers(2, 9))
        low = np.exp(rng.uniform(-7.0, 0.0, n))
        q = low if number % 2 else np.r_[1.0, np.full(n - 1, low[0])]
        c = rng.standard_normal(n) * np.exp(rng.uniform(-3.0, 4.0))
        if number % 3 == 0:
            c = np.r_[c[0], np.full(n - 1, 10.0 * c[1])]
        x_0 = float(rng.standard_normal() * np.exp(rng.uniform(-2.0, 3.0)))
        found = [lines(q, c, x_0, tau) for tau in TAUS]
        for scored in (0, 1):
            alone, noise = (np.array([line[scored][k] for line in found]) for k in (0, 1))
            falls[scored] += bool((np.diff((alone[:, None] + levels * noise[:, None]).argmin(axis=0)) < 0).any())
    assert falls[0] == 0
    assert falls[1] > 2
