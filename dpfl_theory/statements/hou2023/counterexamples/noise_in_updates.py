# One client, f(x) = x^2/2, eta = p = C = 1, x_0 = 0: message t is minus the noise before it, of variance 1 p T.
import numpy as np

for T in (2, 100):
    rng, x, active = np.random.default_rng(0), np.zeros(100_000), []
    for _ in range(T):
        message = (x - x) - x  # xhat - x with h = 0
        active.append(np.mean(np.abs(message) > 1))
        x = x + message + np.sqrt(T) * rng.standard_normal(x.size)
    print(f"T = {T}: the last message exceeds C with probability {active[-1]:.2f}")
assert active[-1] > 0.9
assert min(active[1:]) > 0.9
