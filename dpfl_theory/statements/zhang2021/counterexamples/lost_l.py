"""f_i = 50 (x -+ 1)^2, one of two clients, from the optimum; and f = 100 x^2, one client, at the limit of the steps."""

from fractions import Fraction

L, eta_l, sigma_g2 = 100, Fraction(1, 10**6), 100**2  # P = Q = eta_g = 1, no noise, no clipping
grown = L * (eta_l * L) ** 2 / Fraction(2)  # x is eta_l L or -eta_l L after the round
drift = eta_l / 2 * 5 * L**2 * eta_l**2 * 6 * sigma_g2
sampling = 12 * eta_l**2 * (15 * L**2 * eta_l**2 + 1) * sigma_g2
print(f"f grows by {float(grown):.4g}, allowed are {float(drift + sampling):.4g}")

factor = 1 - Fraction(1, 48) * 200
print(f"a round multiplies x by {float(factor):.4g}")
assert grown > drift + sampling
assert factor < -1
