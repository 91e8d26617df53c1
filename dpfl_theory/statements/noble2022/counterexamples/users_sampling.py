# K = T = 1, M = 1000, lM = 1, R = 1000, s = 0.5, sigma_g = 5, delta = 1e-6. User 0's gradients are -C, but for the
# record, all others' are C: the sum shows who takes part (500 units apart, noise 5), so that with probability l the
# record is seen under its own noise: delta(epsilon) = l ((1 - s) N(0, 25) + s N(1, 25) against N(0, 25)).
from math import comb, exp, log, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

rate, s, sigma, delta = 0.001, 0.5, 5.0, 1e-6


def delta_of(epsilon):
    x = sigma * log((exp(epsilon) - 1 + s) / s) + 0.5 / sigma
    return rate * ((1 - s) * norm.sf(x) + s * norm.sf(x - 1 / sigma) - exp(epsilon) * norm.sf(x))


def step_1(alpha, x):  # Lemma B.7 with the variance lM sigma_g^2, and Lemma B.4 with delta' = x delta/(Tl)
    z = sigma**-2
    total = 1 + 2 * s**2 * comb(alpha, 2) * min(2 * (exp(z) - 1), exp(z))
    total += sum(2 * s**j * comb(alpha, j) * exp(j * (j - 1) * z / 2) for j in range(3, alpha + 1))
    return (log(total) + log(rate / (x * delta))) / (alpha - 1)


def steps_2_and_3(alpha, x):
    star = log(1 + rate * (exp(step_1(alpha, x)) - 1))
    return star * sqrt(2 * log(1 / ((1 - x) * delta))) + star * (exp(star) - 1)


claimed = min(steps_2_and_3(a, x) for a in range(2, 41) for x in np.linspace(0.01, 0.99, 99))
true = brentq(lambda e: delta_of(e) - delta, 1e-6, 5)
print(f"claimed epsilon {claimed:.5f}, true epsilon {true:.4f}")
assert true > 30 * claimed
