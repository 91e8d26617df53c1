"""Every client in every round: for all (u, v) at once, and for v = 4, u = 1, delta = 1e-05, T = epsilon = 37."""

from math import erfc, exp, log, pi, sqrt


def tail(t):  # of the normal distribution, beyond t
    return erfc(t / sqrt(2)) / 2


# epsilon = 4 s^2 with s^2 = v ln(1/delta) >= 1, T >= epsilon/u: the true delta exceeds tail(-s) - density(s)/(3 s).
least = min(tail(-s) - exp(-(s**2) / 2) / sqrt(2 * pi) / (3 * s) for s in (1 + k / 100 for k in range(1000)))
print(f"for every u and v some true delta is above {least:.4f}")

v, delta, epsilon = 4, 1e-05, 37
s = sqrt(v * log(1 / delta))  # epsilon times the noise multiplier of all rounds together, whatever T is
true = tail(s - epsilon / (2 * s)) - exp(epsilon) * tail(s + epsilon / (2 * s))
print(f"true delta {true:.4g}, claimed {delta}")

for move in (1, 2):  # zero-out; a data set is replaced: at P = N, epsilon = 2 the message moves by this multiple of c
    mu = 2 * move / s
    moved = tail(2 / mu - mu / 2) - exp(2) * tail(2 / mu + mu / 2)
    print(f"epsilon = 2, v = 4: true delta {moved:.4g}")
assert least > 0.5
assert true > delta
assert moved > delta
