# (12): n = 2 equal updates of length 1, r = 1, each client with probability 1/2.
from fractions import Fraction
from math import comb

import numpy as np

left = sum(Fraction(comb(2, size), 4) * size**2 for size in range(3))
print("(12):", left, "against", 1)
assert left > 1


# (3): Algorithm 1, option (ii), d = 1, E = 1, L = G = 1, alpha = 1; GE/|u_i| (f_i(w) - f_i(w*)) needs no Delta.
def both_sides(n, r, K, rho, small, start=0.02, points=8192):
    gamma, eta, h = K * rho**2 / 2, rho / 2, 80 * rho / points
    w = (np.arange(points) - points // 2) * h  # the grid on which w_k has a density, unless no client joined
    frequency, right_half = 2 * np.pi * np.fft.fftfreq(points, h), np.where(w == 0, 0.5, w > 0)
    gap = sum(np.where(abs(w) <= c, abs(w) / 2, abs(w) - c / 2) * m / n for c, m in ((1.0, 1), (small, n - 1)))
    chance = [comb(n, j) * (r / n) ** j * (1 - r / n) ** (n - j) for j in range(n + 1)]
    move = sum(  # of w > 0, where j clients join: the average is j/r, its noise has the variance rho^2 K j/r
        chance[j] * np.exp(1j * frequency * eta * j / r - frequency**2 * (eta * rho) ** 2 * K * j / r / 2)
        for j in range(1, n + 1)
    )
    density, unmoved, total = np.zeros(points), 1.0, 0.0
    point = np.exp(-1j * frequency * (start - w[0])) / h
    for _ in range(K):
        total += (density @ gap) * h + unmoved * np.interp(start, w, gap)
        up, down = np.fft.fft(density * right_half), np.fft.fft(density * (1 - right_half))
        density = chance[0] * density + np.fft.ifft((up + unmoved * point) * move + down * move.conj()).real
        unmoved *= chance[0]
    return (2 - rho**2) * total / K, (start**2 / gamma + gamma) * rho + rho / 2


found = []
for case in ((40, 3, 900, 0.0324, 1e-6), (100, 1, 100, 0.02, 1e-5)):
    left, right = both_sides(*case)
    print(f"(3): {left:.4f} against {right:.4f}, ratio {left / right:.3f}")
    found.append(left > right)
assert all(found)
