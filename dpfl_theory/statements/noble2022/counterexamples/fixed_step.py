# Theorem C.1 (2) and (1), M = l = K = s = 1, nu = 10, mu = 1, Sigma_g = 1: x' = x - eta F'(x) + eta xi, eta = 1/240,
# xi ~ N(0, 1/2). One round from D_0 = 1/(50 000 c), then F'(x) = 10 x for x > 0 and x for x < 0 over many rounds.
from fractions import Fraction

import numpy as np

eta, nu = Fraction(1, 240), 10
for c in (1, 1000):
    D0 = Fraction(1, 50_000 * c)
    left = Fraction(nu, 2) * ((1 - eta * nu) ** 2 * D0**2 + eta**2 / 2)  # F(x) = nu x^2/2, T = 1
    right = c * (D0 + nu * D0**2)
    print(f"c = {c}, D_0 = 1/{D0.denominator}: the excess is {float(left / right):.2f} times the right side")
    assert left > 2 * right
x, rounds = np.linspace(-0.25, 0.15, 401), 20_000  # steps of 0.001, the noise of a round is 0.0029
moved = x - np.where(x > 0, 10 * x, x) / 240
kernel = np.exp(-((x[:, None] - moved[None, :]) ** 2) * 240**2)
kernel /= kernel.sum(axis=0)
p = (np.arange(401) == np.argmin(abs(x + 0.017))).astype(float)
highest = x @ p
for _ in range(rounds):
    p = kernel @ p
    highest = max(highest, x @ p)
floor = highest**2 / 2
print(f"from x^0 = -0.017 the mean of x^t is at most {highest:.4f} in {rounds} rounds: E F >= {floor:.5f}")
print(f"part (1): {1 / rounds:.5f} at c = 1, so c >= {floor * rounds:.2f}")
print(f"part (2) at T = 400: c >= {floor / (0.017 / 20 + 10 * 0.017**2 / 400):.2f}")
assert floor > 2 / rounds
