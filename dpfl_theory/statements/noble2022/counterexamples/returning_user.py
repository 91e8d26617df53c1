# Three users, two of them in each of T = 2 rounds, K = s = 1, sigma_g = 2; mu^2 in units of 1/sigma_g^2.
# The record moves its gradient by 1 in round 1 and by -1 in round 2. Noise and moves of the two sums that are seen:
# r1 = a_i + a_j, r2 = b of the second cohort less a of those who return. The cohorts count as seen: further
# coordinates, where the other users' gradients differ, show who takes part; R is large.
from itertools import combinations, product
from math import ceil, erfc, exp, floor, sqrt

import numpy as np


def tail(x):
    return erfc(x / sqrt(2)) / 2


def delta(epsilon, mu):
    return tail(epsilon / mu - mu / 2) - exp(epsilon) * tail(epsilon / mu + mu / 2) if mu else 0.0


scaffold, fedavg = [], []
for first, second in product(combinations(range(3), 2), repeat=2):
    both = len(set(first) & set(second))
    noise = np.array([[2.0, -both], [-both, 2.0 + both]])
    move = np.array([0 in first, -(0 in second) - (0 in first and 0 in second)], float)
    scaffold.append(round(float(move @ np.linalg.solve(noise, move)), 9))
    fedavg.append(((0 in first) + (0 in second)) / 2)
print("mu^2 of DP-SCAFFOLD", *(f"{x:g}" for x in scaffold), "and of DP-FedAvg at most", *(f"{x:g}" for x in fedavg))
ours, theirs = (np.mean([delta(1.0, sqrt(x) / 2) for x in row]) for row in (scaffold, fedavg))
print(f"delta at epsilon = 1: at least {floor(1e4 * ours) / 1e4} and at most {ceil(1e4 * theirs) / 1e4}")
assert ours > 1.7 * theirs
