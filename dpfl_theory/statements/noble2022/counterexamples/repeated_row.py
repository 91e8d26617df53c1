# Implementation (Appendix B.4) at l = 0.05, M = 100, R = 4000, s = 0.2, sigma_g = 160, delta = 1/(MR): Lemma B.7 at
# lM sigma_g^2 for each of K steps, then the bound of Wang et al. (2020) at rate l (its minimum without epsilon(inf)).
# Between whole orders the cgf is interpolated linearly, so that the smallest epsilon is at a whole one.
from math import comb, exp, expm1, log

rate, share, variance, delta = 0.05, 0.2, 5 * 160**2, 1 / 400_000


def cgf(order, q, exponent):  # (order - 1) times the Renyi bound after subsampling; exponent(j) = (j - 1) eps(j)
    total = 1 + q**2 * comb(order, 2) * min(4 * expm1(exponent(2)), 2 * exp(exponent(2)))
    return log(total + sum(2 * q**j * comb(order, j) * exp(exponent(j)) for j in range(3, order + 1)))


def one_round(steps, order):
    return cgf(order, rate, lambda j: steps * cgf(j, share, lambda i: i * (i - 1) / (2 * variance)))


def reach(T, steps):  # how far below and above 7 an order may be with epsilon <= 3
    c6, c7, c8 = (one_round(steps, a) for a in (6, 7, 8))
    room = 18 - T * c7 + log(delta)
    return room / (T * (c6 - c7) + 3), room / (T * (c8 - c7) - 3)


orders = range(5, 40)  # below 5 the conversion alone costs more than 3
found = [max(int((3 * (a - 1) + log(delta)) / one_round(K, a)) for a in orders) for K in (1, 5, 10, 20, 40)]
print("sigma_g = 160:", *found, "where 546 506 458 362 87 are printed")
for K, T in ((5, 507), (10, 459), (20, 363)):
    least = min((T * one_round(K, a) - log(delta)) / (a - 1) for a in orders)
    print(f"K = {K}: epsilon {least:.5f} at T = {T}")
    assert least <= 3
low, high = reach(459, 10)
print(f"an order from {7 - low:.4f} to {7 + high:.4f} gives 459")
variance = 5 * 10**2
least, most = reach(324, 20)
print(f"sigma_g = 10, K = 20: only an order from {7 - least:.4f} to {7 + most:.4f} gives the printed 324")
assert low > least
assert high > most
assert found[1:4] == [507, 459, 363]
