# Corollary 1 for f_i(x) = x_1^2/8 + x_2^2/2 +- 3 x_1, N = d = 2, L = 1, mu = 1/4, x_0 = (1, 0), h_0 = 0;
# v C^2 ln(1/delta)/epsilon^2 = 1.
import numpy as np

mu, D2, H2, noise = 0.25, 2.0, 18.0, 4.0  # stacked over both clients; noise is N d v C^2 ln(1/delta)/epsilon^2


def bound(eta, p, T):
    theta = max(1 - mu * eta, 1 - p * p)
    return theta**T * (D2 + (eta / p) ** 2 * H2) + p * p / (1 - theta) * noise * T


rate = -np.log(1 - mu)
T = np.log((D2 + 4 * H2) * rate / noise) / rate
printed, same, other = bound(1, 0.5, T), bound(1 / 16, 1 / 8, T), bound(1 / 16, 1 / 8, 1)
print(f"T* = {T:.2f}: {printed:.2f} as prescribed, {same:.2f} at the same T, {other:.2f} at T = 1")
assert printed > same > other
