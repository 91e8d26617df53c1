# One round (T = K = 1), M = 2, l = 1/2, epsilon = 1/2, sigma_g = 1. The order of Theorem 4.1 with the constant 1 is at
# most 1 for these s; the server sees user 0's noisy gradient with probability l: (1 - s) N(0, 1) + s N(1, 1). At fixed
# delta and T = 2/s rounds the largest of T numbers separates a record that was used from one that was not.
from mpmath import exp, expm1, findroot, log, log1p, mp, mpf, ncdf, sqrt

mp.dps = 120
rate, orders, found = mpf(1) / 2, [], []
for share, delta, start in ((15, mpf(10) ** -6, 1.5), (70, mpf(10) ** -30, 7), (231, mpf(10) ** -100, 16)):
    s, claimed, delta_s = mpf(1) / share, sqrt(2 / rate) / 2, delta / 2 * (1 / rate + 1)
    order = s * sqrt(rate * log(2 * rate / delta) * log(2 / delta)) / (sqrt(2) / 2)

    def excess(epsilon, s=s, delta_s=delta_s):
        x = log((exp(epsilon) - 1 + s) / s) + mpf(1) / 2
        return log(rate * ((1 - s) * ncdf(-x) + s * ncdf(1 - x) - exp(epsilon) * ncdf(-x)) / delta_s)

    true = findroot(excess, start)
    print(f"s = 1/{share}: the order is {float(order):.3f}, epsilon_s = {int(claimed)}, the truth {float(true):.2f}")
    orders.append(order)
    found.append(true / claimed)
R, delta = 1048576, mpf(10) ** -6
sigma = sqrt(2 * log(2 * R / delta) * log(2 / delta) / R)
tail = 1 / (4 * sqrt(2) * sigma)
low = -expm1(2 * R * log1p(-mpf(1) / (2 * R))) * ncdf(tail) - exp(1) * 2 * R * ncdf(-tail)
print(f"s = 1/{R}: sigma_g = {float(sigma):.4f}, at epsilon_s = 1 delta is at least {float(low):.2f}")
assert low > 400_000 * 1.5 * delta
assert max(orders) < 1
assert found[0] > 1.5
assert found[2] > 15
