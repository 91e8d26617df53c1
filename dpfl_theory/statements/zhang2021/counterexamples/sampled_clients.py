"""One of two clients takes part: f_1 = (x - 1)^2/2, f_2 = (x + 1)^2/2, from the optimum, without noise and clipping."""

from fractions import Fraction

eta_l, eta_g, T, sigma_g2 = Fraction(1, 1000), 20, 3, 1  # L = P = Q = 1
a = eta_g * eta_l  # a round takes x to (1 - a) x + a or (1 - a) x - a
squares = [Fraction(0)]
while len(squares) < T:
    squares.append((1 - a) ** 2 * squares[-1] + a**2)
left = sum(squares) / T
right = Fraction(25, 2) * eta_l**2 * 6 * sigma_g2  # f(x^0) = f*, sigma_l = 0
print(f"Theorem: {float(left):.4g} and {float(right):.4g}")

grown = a**2 / 2
allowed = Fraction(5, 2) * eta_g * eta_l**3 * (1 + 12 * eta_l * eta_g) * 6 * sigma_g2
print(f"one round: {float(grown):.4g} and {float(allowed):.4g}")
summed = -4 / a * grown + 10 * eta_l**2 * (1 + 12 * eta_l * eta_g) * 6 * sigma_g2
print(f"rounds summed: 0 and {float(summed):.4g}")
assert left > right
assert grown > allowed
assert summed < 0
