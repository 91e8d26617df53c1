"""One client, local gradients +-x +- sigma_l, at 0: the minimum of x^2/2, and a point where f = -x^2/2."""

from fractions import Fraction


def update(Q, curvature, eta):
    """E||update||^2 over eta^4 sigma_l^2: the noise of step j moves the later points by -eta r^(q - 1 - j)."""
    r = 1 - curvature * eta
    moved = [sum(r ** (q - 1 - j) for q in range(j + 1, Q)) for j in range(Q)]
    return sum(c**2 for c in moved)


short, concave = update(32, 1, Fraction(1, 10**9)), update(29, -1, Fraction(129, 1000) / 29)
right = {Q: 10 * Q**2 for Q in (32, 29)}
print(f"short steps, Q = 32: left {round(short)}, right {right[32]}")
print(f"concave, Q = 29: left {round(concave)}, right {right[29]}")
assert short > right[32]
assert concave > right[29]
