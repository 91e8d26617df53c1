# User 0's gradients are -C, but for the record, all others' are C, lM = K = 1: the sum shows who takes part, so that a
# round gives with probability 1/M the record under its own noise: (1 - s) N(0, sigma_g^2) + s N(1, sigma_g^2) against
# N(0, sigma_g^2) in units of 2C/(sR). T rounds: privacy losses are summed on a grid of width h, by the FFT.
from math import comb, exp, log, sqrt

import numpy as np
from scipy.optimize import brentq


def true_epsilon(M, T, s, sigma, delta=1e-6, h=5e-4, n=2**18):
    x = np.linspace(-12, 13, 200_001) * sigma
    loss = np.log1p(s * np.expm1((x - 0.5) / sigma**2))
    weight = np.exp(loss - (x / sigma) ** 2 / 2)
    low, part = np.floor(loss / h).astype(int), loss / h % 1
    p = np.bincount(low % n, weight * (1 - part), n) + np.bincount((low + 1) % n, weight * part, n)
    p = np.fft.ifft(np.exp(T * np.log1p((np.fft.fft(p / weight.sum()) - 1) / M))).real
    sums = h * np.fft.fftfreq(n, 1 / n)
    return brentq(lambda e: -p[sums > e] @ np.expm1(e - sums[sums > e]) - delta, 1e-9, 50)


def claimed(alpha, x, rate=0.001, s=0.5, z=1 / 25, delta=1e-6):  # Lemma B.7 and B.4 at x delta/(Tl), Steps 2 and 3
    total = 1 + 2 * s**2 * comb(alpha, 2) * min(2 * (exp(z) - 1), exp(z))
    total += sum(2 * s**j * comb(alpha, j) * exp(j * (j - 1) * z / 2) for j in range(3, alpha + 1))
    star = log(1 + rate * (exp((log(total) + log(rate / (x * delta))) / (alpha - 1)) - 1))
    return star * sqrt(2 * log(1 / ((1 - x) * delta))) + star * (exp(star) - 1)


runs = [(100, 20_000), (1000, 2_000_000), (10_000, 200_000_000)]
noise = [0.1 * sqrt(T / M * log(2 * T / M / 1e-6) * log(2e6)) / (0.5 * sqrt(M)) for M, T in runs]
found = [true_epsilon(M, T, 0.1, sigma) for (M, T), sigma in zip(runs, noise)]
for (M, T), sigma, true in zip(runs, noise, found):
    print(f"M = {M}, T = {T}, sigma_g = {sigma:.2f}: true epsilon {true:.1f}")
steps = min(claimed(a, x) for a in range(2, 41) for x in np.linspace(0.01, 0.99, 99))
true = true_epsilon(1000, 1, 0.5, 5)
print(f"claimed epsilon {steps:.5f}, true epsilon {true:.4f}")
assert true > 30 * steps
assert found[1] > 3 * found[0]
assert found[2] > 3 * found[1]
