# Corollary 1 for f_i(x) = x^2/8 +- 3x, N = 2, d = 1, L = 1, mu = 1/4, x_0 = 1, h_0 = 0;
# v C^2 ln(1/delta)/epsilon^2 = 2.
import numpy as np

mu, D2, H2, noise = 0.25, 2.0, 18.0, 4.0  # stacked over both clients; noise is N d v C^2 ln(1/delta)/epsilon^2


def bound(eta, p, T):
    theta = max(1 - mu * eta, 1 - p * p)
    return theta**T * (D2 + (eta / p) ** 2 * H2) + p * p / (1 - theta) * noise * T


rate = -np.log(1 - mu)
T = np.log((D2 + 4 * H2) * rate / noise) / rate
printed, same, other = bound(1, 0.5, T), bound(1 / 16, 1 / 8, T), bound(1 / 16, 1 / 8, 1)
print(f"T* = {T:.2f}: {printed:.1f} as prescribed, {same:.1f} at the same T, {other:.1f} at T = 1")
assert printed > same > other
