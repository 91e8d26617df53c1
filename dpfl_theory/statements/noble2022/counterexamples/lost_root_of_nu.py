# F(x) = nu x^2/2 up to |x| = 1, linear beyond, x^0 = 1, F_0 = nu/2, M = l = K = s = eta_g = 1, T = 4c, errors N(0, V)
# with V = Sigma_g^2/2 = 16 T nu F_0. Gradients are at most nu, so that x^t >= 1 wherever t errors add up to t nu or
# more, whatever the step: probability Phi(-sqrt(t) nu/sqrt(V)) >= Phi(-1/sqrt(8)), and there |F'|^2 = nu^2 = 2 nu F_0.
from math import erfc, sqrt

ratios = []
for c, nu in ((1, 1000), (10, 100_000)):
    T, F0 = 4 * c, nu / 2
    Sigma = sqrt(32 * T * nu * F0)
    left = 2 * nu * F0 * erfc(1 / 4) / 2
    right = c * (sqrt(F0) * Sigma / sqrt(T) * sqrt(2) + nu * F0 / T)
    print(f"c = {c}, nu = {nu}: at least {left / F0:.0f} F_0 for every step, the right side is {right / F0:.0f} F_0")
    ratios.append(left / right)
assert min(ratios) > 1.4
