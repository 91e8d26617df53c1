"""One client at the minimum of x^2/2, local gradients x +- sigma_l, short local steps, Q = 32."""

from fractions import Fraction

Q, eta = 32, Fraction(1, 10**9)
# The noise of step j moves the later points by -eta (1 - eta)^(q - 1 - j): coefficients of the sum of the gradients.
moved = [sum((1 - eta) ** (q - 1 - j) for q in range(j + 1, Q)) for j in range(Q)]
left = sum(c**2 for c in moved)  # E||update||^2 over eta^4 sigma_l^2
right = 10 * Q**2
print(f"left {round(left)}, right {right}")
assert left > right
