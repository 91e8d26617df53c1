# Lemma 1 with v = 4: the exact delta of all messages, C = 1, when j rounds of noise sigma^2 are seen with chance P(j).
import numpy as np
from scipy.stats import binom, norm


def true_delta(p, T, epsilon, delta):
    sigma = np.sqrt(4 * p * T * np.log(1 / delta)) / epsilon
    j = np.arange(1, T + 1)
    s = np.sqrt(j) / sigma
    of_j = norm.cdf(s / 2 - epsilon / s) - np.exp(epsilon + norm.logcdf(-s / 2 - epsilon / s))
    return float(binom.pmf(j, T, p) @ of_j)


every, expected, paper = (
    true_delta(1, 37, 37, 1e-5),
    true_delta(1 / 20, 20, 1, 1e-7),
    true_delta(1 / 400, 400, 3.3, 1e-5),
)
print(f"p = 1, T = 37, epsilon = 37: {every:.3e} against {1e-5:g}")
print(f"p = 1/20, T = 20, epsilon = 1: {expected:.3e} against {1e-7:g}")
print(f"p = 1/400, T = 400, epsilon = 3.3: {paper:.3e} against {1e-5:g}")
assert every > 1e-5
assert expected > 1e-7
assert paper > 1e-5
