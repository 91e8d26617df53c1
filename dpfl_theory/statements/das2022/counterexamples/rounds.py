# (4) with Section 4.1's own K = (2 alpha gamma/(CE))/rho^2: Algorithm 1, option (i), two equal Huber clients, d = 1.
import numpy as np

rho, start, runs, found = 0.1, 20.0, 640, []
for E, alpha, K in ((2, 16.0, 1600), (4, 32.0, 800), (2, 64.0, 6400), (4, 128.0, 3200)):
    rng = np.random.default_rng(0)
    C, eta, gamma = E, rho / (2 * alpha), K * E * E * rho**2 / (2 * alpha)  # L = G = 1
    w, total = np.full(runs, start), 0.0
    for _ in range(K):
        total += np.where(np.abs(w) <= 1, w * w / 2, np.abs(w) - 0.5).mean()
        x = w
        for _ in range(E):
            x = x - eta * np.clip(x, -1, 1)
        w = x - eta * C * rho * np.sqrt(K) * rng.standard_normal(runs)  # no update is longer than C
    left, right = total / K, 0.5 * (start**2 / gamma + gamma) * rho
    print(f"E = {E}, alpha = {alpha:.0f}, gamma = {gamma:.0f}: {left:.1f} against {right:.1f}")
    found.append(left > right)
assert all(found)
