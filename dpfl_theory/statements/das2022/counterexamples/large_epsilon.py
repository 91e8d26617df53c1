# Definition 5 at epsilon = 10, delta = 1e-5, Delta_2 = 1: the Gaussian mechanism's exact delta.
import numpy as np
from scipy.stats import norm

epsilon, delta = 10, 1e-5
sigma = np.sqrt(2 * np.log(1.25 / delta)) / epsilon
a, b = 1 / (2 * sigma), epsilon * sigma
true = norm.cdf(a - b) - np.exp(epsilon) * norm.cdf(-a - b)
print(f"variance {sigma**2:.4f}: the true delta is {true:.3e}, claimed is {delta:g}")
assert true > delta
