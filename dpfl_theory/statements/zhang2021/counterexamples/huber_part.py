"""(7) at A = Lambda = c = 1, b = 0, x = 3 against the integral of the clipped gradient (6) from 0 to 3."""

from fractions import Fraction

A, weight, c, b, x = 1, 1, 1, 0, 3
loss = Fraction((A * x - b) ** 2, 2)
printed = c * abs(Fraction(weight, A) * loss) - Fraction(c**2, 2)
integral = Fraction(1, 2) + c * (x - 1)  # of y up to the threshold, of c from there
slope = Fraction(c * weight * (A * x - b))
print(f"printed {printed}, integral {integral}; printed slope {slope}, clipped gradient {c}")
assert printed != integral
assert slope != c
