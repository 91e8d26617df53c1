# M = l = 1, K = 2, F(x) = 1 - cos x (nu = 1) from x^0 = pi; two records with gradients F'(x) + 1 and F'(x) - 1, one of
# them drawn in each step, no further noise: V = 1, and eta_l = 1/48. c = (H_1 + H_2)/2.
from itertools import product
from math import pi, sin

eta, values = 1 / 48, []
for first, second in product((1, -1), repeat=2):
    y = pi - eta * (sin(pi) + first)
    values.append((sin(pi) + first + sin(y) + second) / 2)
mean = sum(values) / 4
variance = sum((c - mean) ** 2 for c in values) / 4
print(f"variance of c {variance:.4f}, bound V/(KlM) = {1 / 2}")
assert variance > 1.02 / 2
