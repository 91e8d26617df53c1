# Theorem 3 with q = 4 and epsilon < r^2 K/n^2: K = 37 averaged updates, r = n, delta = 1e-5, epsilon = 36.9.
import numpy as np
from scipy.stats import norm

q, K, epsilon, delta = 4, 37, 36.9, 1e-5
z = np.sqrt(q * K * np.log(1 / delta)) / epsilon  # noise of one round over its sensitivity C/n
s = np.sqrt(K) / z  # K rounds are one Gaussian mechanism of this sensitivity over noise
true = norm.cdf(s / 2 - epsilon / s) - np.exp(epsilon + norm.logcdf(-s / 2 - epsilon / s))
print(f"the true delta is {true:.3e}, claimed is {delta:g}")
assert true > delta
