"""c = 1/2, eta_l = 1, Q = 1, one stochastic gradient that is 1/2 or 1: the factors where it is 1/2."""

from fractions import Fraction

c, eta, drawn, mean = Fraction(1, 2), 1, Fraction(1, 2), Fraction(3, 4)
left = abs(c / max(c, eta * drawn) - c / max(c, eta * mean))
right = eta * abs(drawn - mean)
print(f"left {left}, right {right}")
assert left > right
