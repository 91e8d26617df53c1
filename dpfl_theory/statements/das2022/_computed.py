"""What the numbers in the words of das2022 are computed with (`dpfl_theory.statements.numbers`)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import evaluate_side, prescription_of
from dpfl_theory.lazy import numpy as np
from dpfl_theory.statements.das2022 import theorem4
from dpfl_theory.statements.das2022.eq35_to_39 import EQ35
from dpfl_theory.statements.das2022.eq41_to_46 import EQ46

LOG = math.log(1e5)


def kappa(r: int, n: int) -> float:
    """(12)'s share of the sampling: (1/r)(1 - r/n)."""
    return (1 - r / n) / r


def equal_clients(a: str, cut: str, side: str) -> float:
    """(35) for 200 clients with f_i(w) = w^2/2, r = 1, w_k = 1, E = 4, eta L = a and C = cut ||u||: of N clients that
    join, each moves w by c, the product of cut and 1 - (1 - a)^4."""
    eta, n = Fraction(a), 200
    update = 1 - (1 - eta) ** 4
    c = Fraction(cut) * update
    if side == "lhs":
        return float(1 - 2 * c + c**2 * (2 - Fraction(1, n)))
    symbols = {"distance": 1, "E": 4, "L": 1, "eta": eta, "C_hat": c / eta / 4, "E_clipped_length": update / eta}
    symbols |= {"E_unclipped_gap": 0, "E_unclipped_Delta": 0, "d": 0, "K": 1, "q": 1, "n": n, "epsilon": 1}
    return float(evaluate_side(EQ35, "rhs", {**symbols, "delta": Fraction(1, 2)}))


def lengthened() -> float:
    """(40) with (46): ten clients with f_i(w) = w^2/2, r = E = w_k = 1, eta L = 1/20, C = 100: the update has the
    length 1 and is made 100 times as long; f_i - f_i* = 1/2."""
    symbols = {"E": 1, "L": 1, "eta": Fraction(1, 20), "C_hat": 100, "C": 100, "E_clipped_length": 0}
    symbols |= {"E_unclipped_share": 1, "E_unclipped_weighted_gap": 50, "E_unclipped_weighted_Delta": 0}
    return float(1 + evaluate_side(EQ46, "rhs", symbols))


def constant(relation: str, start: float, limit: str = "high") -> float:
    """A certified limit of Theorem 3's smallest q for 3 of 40 clients over 900 rounds, epsilon = 5, delta = 1e-5.

    With z the noise multiplier of a round, in units of what one client can change, C or 2C, it is (z n epsilon/r)^2/ (K
    ln(1/delta)), times 4 for 2C; z is searched for from ``start`` on.
    """
    from dpfl_theory.privacy.accounting import calibrate
    from dpfl_theory.privacy.mechanisms import get

    run = get("dp-fedavg")(clients=40, cohort=3, rounds=900, sampling="poisson", relation=relation)
    z = calibrate(run, epsilon=5.0, delta=1e-5, limit=limit, start=start) * (2 if relation == "replace" else 1)
    return (z * 40 * 5 / 3) ** 2 / (900 * LOG)


def entered() -> float:
    """q of rho = 0.0324 with 40 clients, d = 1, epsilon = 5 and delta = 1e-5, from rho^2 = q d ln(1/delta)/(n
    epsilon)^2."""
    return float((0.0324 * 40 * 5) ** 2 / LOG)


def density_at_minimisers() -> float:
    """The density of w_k at 1 and -1, on average over both and over 100 rounds, of normalised runs on two Huber clients
    with these minimisers: rho = 0.3, alpha = 2, E = 1, w_0 = 1/2. The clients' messages cancel between 1 and -1."""
    rho, K, points, h = 0.3, 100, 8192, 1 / 256
    eta, w = rho / 4, (np.arange(points) - points // 2) * h
    frequency = 2 * np.pi * np.fft.fftfreq(points, h)
    above = np.where(w == 1, 0.5, w > 1)
    below = np.where(w == -1, 0.5, w < -1)
    noise, shift = np.exp(-((frequency * eta * rho) ** 2) * K / 2), np.exp(1j * frequency * eta)
    density = np.fft.ifft(np.exp(-1j * frequency * (0.5 - w[0])) / h * noise).real
    total = 0.0
    for _ in range(1, K):
        total += float(density[np.abs(w) == 1].mean())
        parts = [np.fft.fft(density * part) for part in (above, below, 1 - above - below)]
        density = np.fft.ifft((parts[0] * shift + parts[1] * shift.conj() + parts[2]) * noise).real
    return total / K


def three_clients(bounding: str, alpha: int) -> float:
    """The mean of f(w_k) - f(w*) over all rounds of 16 runs from w_0 = w* on f_i = h_c(||w - m_i||), c = 1/10, 1/10, 1,
    m = 0, 0, (10, 0, 0): rho = 1/20, gamma = 6, E = L = G = 1, every client in each round."""
    rho, draw = 0.05, np.random.default_rng(1)
    K, eta = round(12 * alpha / rho**2), rho / (2 * alpha)
    c, m, w_star = np.array([0.1, 0.1, 1.0]), np.zeros((3, 3)), np.array([9.8, 0.0, 0.0])
    m[2, 0] = 10.0

    def heights(length: Any) -> Any:
        return np.where(length <= c, length**2 / 2, c * (length - c / 2))

    least = heights(np.linalg.norm(w_star - m, axis=1))
    w, gap = np.tile(w_star, (16, 1)), 0.0
    for _ in range(K):
        way = w[:, None] - m
        length = np.linalg.norm(way, axis=2)
        gap += float((heights(length) - least).mean())
        sent = way / length[..., None] * (np.minimum(length, c)[..., None] if bounding == "clip" else 1.0)
        w = w - eta * (sent.mean(axis=1) + rho * math.sqrt(K / 3) * draw.standard_normal(w.shape))
    return gap / K


def noise_over_update() -> float:
    """sqrt(K) rho in Appendix F, with q = 1: K = 500, d = 200, n = 100, epsilon = 5, delta = 1e-6."""
    return math.sqrt(500 * 200 * math.log(1e6)) / (100 * 5)


def rounds_over_distance() -> float:
    """gamma/(L ||w_0 - w*||) from Theorem 4's K = 1200 at rho = 0.1, alpha = L = G = E = 1 and w_0 = (20, 50)."""
    symbols = {"rho": 0.1, "alpha": 1.0, "L": 1.0, "G": 1.0, "E": 1.0, "gamma": 1.0}
    return 1200.0 / float(evaluate(prescription_of(theorem4.A)["K"], symbols)) / math.hypot(20, 50)
