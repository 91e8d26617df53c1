"""shulgin2025's proof steps: counterexamples and derived forms again, in plain NumPy and mpmath."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from dpfl_theory.checks.monte_carlo import linearise
from dpfl_theory.statements import get

Array = np.ndarray


def smoothed(e: Array, alpha: float) -> Array:
    """Norm_alpha of each row."""
    scale = alpha + np.linalg.norm(e, axis=1, keepdims=True)
    return e / np.where(scale > 0, scale, 1.0)


def normec(
    curvatures: Array, centres: Array, x: Array, memories: Array, alpha: float, beta: float, gamma: float, K: int
) -> Array:
    """Algorithm 1 on f_i = sum_j q_ij (x_j - c_ij)^2/2: in rounds 0..K ||grad f||, the largest residual before and
    after the update, and f - f*."""
    rows = []
    mean = curvatures.mean(axis=0)
    star = (curvatures * centres).mean(axis=0) / mean
    for _ in range(K + 1):
        g = curvatures * (x - centres)
        before = np.linalg.norm(g - memories, axis=1).max()
        memories = memories + beta * smoothed(g - memories, alpha)
        after = np.linalg.norm(g - memories, axis=1).max()
        v = memories.mean(axis=0)
        rows.append((np.linalg.norm(g.mean(axis=0)), before, after, 0.5 * np.sum(mean * (x - star) ** 2)))
        length = np.linalg.norm(v)
        x = x - gamma * (v / length if length > 0 else 0 * v)
    return np.array(rows).T


def instance(rng: np.random.Generator) -> dict[str, Any]:
    n, d = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    curvatures = 10 ** rng.uniform(-2, 0, (n, d))
    curvatures[0, 0] = 1.0
    centres, x = 10 ** rng.uniform(-1, 1) * rng.normal(size=(n, d)), rng.normal(0, 3, d)
    off = rng.normal(size=(n, d))
    off *= (10 ** rng.uniform(-3, 0, n) * 10 ** rng.uniform(-2, 1) / np.linalg.norm(off, axis=1))[:, None]
    R = float(np.linalg.norm(off, axis=1).max())
    alpha = float(rng.choice([0.0, 0.03, 0.3, 2.0]) * R)
    beta = float(rng.choice([0.3, 0.9, 0.999]) * (alpha + R))
    return {
        "problem": (curvatures, centres, x, curvatures * (x - centres) - off),
        "values": {"R": R, "alpha": alpha, "beta": beta, "gamma": beta * R / (alpha + R), "L_max": 1.0},
        "L": float(curvatures.mean(axis=0).max()),
    }


@pytest.mark.slow
def test_the_repaired_lemma_2_and_the_sharpened_theorem_1_survive_a_search() -> None:
    """300 instances of 40 rounds: residuals stay within the repaired radius, come near it, and often exceed R; after
    each update they are at most A, and often A itself; the sharpened bound holds after every round."""
    rng = np.random.default_rng(5)
    beyond, nearest, tightest, attained = 0, 0.0, 0.0, 0
    repaired, theorem = get("shulgin2025.lemma2.repaired"), get("shulgin2025.theorem1.sharpened")
    for trial in range(300):
        found = instance(rng)
        v = found["values"]
        lengths, before, after, gap = normec(*found["problem"], v["alpha"], v["beta"], v["gamma"], 40)
        over = max(0.0, math.sqrt(v["beta"]) - math.sqrt(v["alpha"])) ** 2
        radius = max(v["R"], over + v["gamma"])
        if trial < 5:  # this is slow
            assert linearise(repaired, v)[1].total()[0] == pytest.approx(radius, rel=1e-12)
        assert before.max() <= radius * (1 + 1e-9)
        left = max(v["R"] - v["gamma"], over)  # gamma L_max is at its limit beta R/(alpha + R)
        assert left < v["R"]
        assert after.max() <= left * (1 + 1e-9)
        attained += after.max() >= left * (1 - 1e-9)
        beyond += before.max() > v["R"] * (1 + 1e-9)
        nearest = max(nearest, float(before.max()) / radius if radius > v["R"] * 1.01 else 0.0)
        for K in (0, 3, 40):
            gained = gap[0] / (v["gamma"] * (K + 1)) + found["L"] * v["gamma"] / 2
            most = math.hypot(left, gained)
            if trial < 5:
                symbols = {**v, "gap": float(gap[0]), "K": K, "L": found["L"]}
                assert linearise(theorem, symbols)[1].total()[0] == pytest.approx(most, rel=1e-12)
            tightest = max(tightest, float(lengths[: K + 1].min()) / most)
    assert beyond >= 20
    assert attained >= 20
    assert nearest > 0.8
    assert 0.4 < tightest <= 1.0


def test_twelve_fails_for_accurate_memories_and_holds_with_the_repaired_weights() -> None:
    """f = (x^2 + y^2/20)/2 from (1, 10): the memories start D/sqrt(K + 1) off, D = M/20."""
    q, x, K = np.array([[1.0, 0.05]]), np.array([1.0, 10.0]), 1000
    gap, root = 0.5 * float(np.sum(q[0] * x**2)), math.sqrt(1001)
    M = math.sqrt(2 * gap)
    D, gamma = M / 20, M / root
    bound = (math.sqrt(2 * gap) + 2 * D) / root
    away = np.array([[0.6, -0.8]])
    R = D / root
    lengths, *_ = normec(q, 0 * q, x, q * x - R * away, 0.1 * R, 0.999 * 1.1 * R, gamma, K)
    assert lengths.min() > 1.3 * bound
    weight, most = (M + M**2 / D) / root, (D + M) / root
    lengths, _, after, _ = normec(q, 0 * q, x, q * x - most * away, weight, weight, gamma, K)
    assert lengths.min() <= bound
    assert after.max() <= D / root * (1 + 1e-9)
    assert after.max() > 0.9 * D / root, "the repaired weights have no slack"


def test_no_choice_of_weights_lets_corollary_1_have_the_step_of_twelve() -> None:
    """D beta/((alpha + D) L_max) < D/L_max over a grid of alpha, beta and K, whatever beta < alpha + R."""
    D, most = 0.5, 0.0
    for K in (0, 1, 10, 1000):
        R = D / math.sqrt(K + 1)
        for alpha in (0.0, 1e-3, 0.1, 1.0, 1e3):
            beta = (alpha + R) * (1 - 1e-9)
            most = max(most, D * beta / (alpha + D))
    assert 0.99 * D < most < D
    assert most < 1.0  # sqrt(2 gap/L) for gap = 1/2


@pytest.mark.parametrize("alpha", [0.01, 1.0, 2.5, 40.0])
def test_the_limit_of_example_1(alpha: float) -> None:
    """From far away on either side, with a short step, in floating point."""
    far = 1.5 * (math.sqrt(alpha**2 + 2 * alpha + 9) - 1 - alpha)
    statement = get("shulgin2025.example1")
    assert linearise(statement, {"m": 3.0, "L": 1.0, "alpha": alpha})[0].total()[0] == pytest.approx(far, rel=1e-12)
    for x in (-20.0, 20.0):
        for _ in range(20_000):
            x -= 0.01 * (1 + alpha) * (2 * (x - 3) / (alpha + abs(x - 3)) + (x + 6) / (alpha + abs(x + 6))) / 3
        assert x == pytest.approx(far, abs=1e-6 if alpha > 0.1 else 0.01)


def test_normalisation_reaches_a_fixed_target_for_beta_up_to_twice_alpha() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        alpha, start = 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2, 1)
        for ratio in (0.5, 1.0, 1.9):
            r = start
            for _ in range(20_000):
                r = abs(1 - ratio * alpha / (alpha + r)) * r
            assert r < 1e-6 * start
        r = start
        for _ in range(2_000):
            r = abs(1 - 3 * alpha / (alpha + r)) * r
        assert r == pytest.approx(alpha / 2, rel=1e-6)


def test_lengths_of_gaussian_vectors() -> None:
    """The ratio of Lemma 3's sides is sqrt(2) Gamma((d+1)/2)/(Gamma(d/2) sqrt(d)), here from mpmath and from draws."""
    rng = np.random.default_rng(2)
    for d in (1, 3, 50):
        with mpmath.workdps(30):
            exact = float(mpmath.sqrt(2) * mpmath.gamma((d + 1) / mpmath.mpf(2)) / mpmath.gamma(d / mpmath.mpf(2)))
        beta, sigma, K, n = 0.3, 2.0, 8, 5
        draws = beta / n * rng.normal(0, sigma, (4000, K + 1, n, d)).sum(axis=(1, 2))
        found = float(np.linalg.norm(draws, axis=1).mean())
        bound = beta * math.sqrt((K + 1) * d * sigma**2 / n)
        assert linearise(get("shulgin2025.lemma3"), {"K": K, "beta": beta, "n": n, "d": d, "sigma": sigma})[1].total()[
            0
        ] == pytest.approx(bound, rel=1e-12)
        # 6 standard errors of a length whose relative standard deviation is at most 0.76
        assert found / bound == pytest.approx(exact / math.sqrt(d), abs=6 * 0.76 / math.sqrt(4000))


def test_clip21_is_gradient_descent_while_it_does_not_clip() -> None:
    rng = np.random.default_rng(3)
    q, c, x = 10 ** rng.uniform(-1, 0, (4, 3)), rng.normal(size=(4, 3)), 3 * rng.normal(size=3)
    v = q * (x - c) + 0.1 * rng.normal(size=(4, 3))
    mean = q.mean(axis=0)
    star = (q * c).mean(axis=0) / mean
    L, L_max, gap = mean.max(), q.max(), 0.5 * np.sum(mean * (x - star) ** 2)
    for tau, same in ((max(0.9 * L_max / L * math.sqrt(2 * L * gap), 0.5), True), (0.02, False)):
        gamma = min(0.9 / L, tau / (L_max * math.sqrt(2 * L * gap))) if same else 0.9 / L
        a, b, memories = x, x, v
        for _ in range(30):
            e = q * (a - c) - memories
            memories = memories + e * np.minimum(1.0, tau / np.linalg.norm(e, axis=1))[:, None]
            a = a - gamma * memories.mean(axis=0)
            b = b - gamma * (q * (b - c)).mean(axis=0)
        assert np.allclose(a, b, rtol=0, atol=1e-12) == same
