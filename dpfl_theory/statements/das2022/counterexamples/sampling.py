# (12): n = 2 equal updates of length 1, r = 1, each client with probability 1/2.
from fractions import Fraction

import numpy as np

left = sum(Fraction(chance, 4) * size**2 for size, chance in ((0, 1), (1, 2), (2, 1)))
print("(12):", left, "against", 1)
assert left > 1

# (3): Algorithm 1, option (ii), d = 1, E = 1, L = G = 1, alpha = 1; GE/|u_i| (f_i(w) - f_i(w*)) needs no Delta.
n, r, K, rho, start, runs = 40, 3, 900, 0.0324, 0.02, 400
c = np.array([1.0] + [1e-6] * (n - 1))
gamma, eta = K * rho**2 / 2, rho / 2
rng, w, total = np.random.default_rng(0), np.full(runs, start), 0.0
for _ in range(K):
    size = np.abs(w)[:, None]
    gap = np.where(size <= c, size**2 / 2, c * (size - c / 2))
    total += (gap / np.minimum(size, c)).mean()
    joined = (rng.random((runs, n)) < r / n).sum(axis=1)
    noise = rho * np.sqrt(K * joined / r) * rng.standard_normal(runs)  # r sigma^2 from each, sigma^2 = C^2 K rho^2/d
    w = w - eta * (joined / r * np.sign(w) + noise)
left = (2 - rho**2) * total / K
right = (start**2 / gamma + gamma) * rho + rho / 2
print(f"(3): {left:.4f} against {right:.4f}")
assert left > right
