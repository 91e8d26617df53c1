# Algorithm 2 for two clients, f_i(x) = x^2/2, eta = p = C = 1, x_0 = h_0 = 0, sigma^2 = T: how often messages exceed C.
import numpy as np

for T in (2, 100):
    rng, x, h, active = np.random.default_rng(0), np.zeros(100_000), np.zeros((2, 100_000)), []
    for _ in range(T):
        message = x - (x - h) - x  # xhat_i - x, the gradient being x
        active.append(np.mean(np.abs(message) > 1))
        sent = np.clip(message, -1, 1) + np.sqrt(T) * rng.standard_normal(h.shape)
        x, h = x + sent.mean(axis=0), h + sent.mean(axis=0) - sent
    print(f"T = {T}: from message 2 on at least {min(active[1:]):.2f}, the last {active[-1]:.2f}")
    assert min(active[1:]) > 0.4
assert min(active[1:]) > 0.9
