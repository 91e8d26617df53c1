# User 0's gradients are -C, except for the record, all others' are C, lM = K = 1, delta = 1e-6: the sum shows who takes
# part, so that a round gives with probability 1/M the record under its own noise: (1 - s) N(0, sigma_g^2) + s N(1,
# sigma_g^2) against N(0, sigma_g^2) in units of 2C/(sR). First T = 1, where x^1 is the only output. Then T rounds, with
# x^1, ..., x^T seen: delta(eps) is the integral of exp(cgf - lambda eps)/(lambda (lambda + 1))/(2 pi i) over a vertical
# line through c > 0, cgf that of the privacy loss.
from math import comb, exp, log, pi, sqrt

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr


def one_round(eps, M=1000, s=0.5, sigma=5):  # delta: the loss exceeds eps where the message exceeds x
    x = sigma**2 * log(1 + (exp(eps) - 1) / s) + 0.5
    return ((1 - s - exp(eps)) * ndtr(-x / sigma) + s * ndtr((1 - x) / sigma)) / M


def claimed(alpha, x, rate=0.001, s=0.5, z=1 / 25, delta=1e-6):  # Lemma B.7 and B.4 at x delta/(Tl), Steps 2 and 3
    total = 1 + 2 * s**2 * comb(alpha, 2) * min(2 * (exp(z) - 1), exp(z))
    total += sum(2 * s**j * comb(alpha, j) * exp(j * (j - 1) * z / 2) for j in range(3, alpha + 1))
    star = log(1 + rate * (exp((log(total) + log(rate / (x * delta))) / (alpha - 1)) - 1))
    return star * sqrt(2 * log(1 / ((1 - x) * delta))) + star * (exp(star) - 1)


def many_rounds(M, T, s, sigma):
    z = np.linspace(-14, 14, 561)
    loss, weight = np.log1p(s * np.expm1((z * sigma - 0.5) / sigma**2)), np.exp(-(z**2) / 2) * 0.05 / sqrt(2 * pi)

    def cgf(lam):
        return T * np.log1p((np.exp(np.multiply.outer(lam + 1, loss)) @ weight - 1) / M)

    def excess(eps):
        c = minimize_scalar(lambda c: cgf(c) - c * eps, bounds=(0.1, 99), method="bounded").x
        lam = c * (1 + 1j * np.linspace(-4, 4, 401))
        return (np.exp(cgf(lam) - lam * eps) / (lam * (lam + 1))).sum().real * (c / 50) / (2 * pi) - 1e-6

    return brentq(excess, 0.1, 30)


steps = min(claimed(a, x) for a in range(2, 41) for x in np.linspace(0.01, 0.99, 99))
true = brentq(lambda eps: one_round(eps) - 1e-6, 1e-9, 50)
print(f"T = 1: claimed epsilon {steps:.5f}, true epsilon {true:.4f}")
assert true > 30 * steps
for s, M, T in [(0.1, 10**k, 2 * 100**k) for k in (2, 3, 4)] + [(0.01, 10**k, 200 * 100**k) for k in (2, 3, 4)]:
    sigma = s * sqrt(T / M * log(2 * T / M / 1e-6) * log(2e6)) / (0.5 * sqrt(M))
    print(f"s = {s}, M = {M}, T = {T}, sigma_g = {sigma:.2f}: true epsilon {(true := many_rounds(M, T, s, sigma)):.3f}")
    assert true > sqrt(M) / 10
