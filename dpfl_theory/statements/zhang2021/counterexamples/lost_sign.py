"""f = x^2/2, x_t = 1, one client, one local step of 1/10, no noise, no clipping."""

from fractions import Fraction

eta, gradient = Fraction(1, 10), 1
update = -eta * gradient
left = gradient * update
right = -eta / 2 * gradient**2 - eta / 2 * (update / eta) ** 2 + eta / 2 * (gradient - update / eta) ** 2
print(f"left {left}, right {right}")
assert left != right
