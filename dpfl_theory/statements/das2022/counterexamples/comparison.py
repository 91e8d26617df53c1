# Two Huber clients with the common minimiser 0: clipping against normalisation in Theorem 4's setting, L = G = E = 1.
import numpy as np

rows, c = np.array([[1.0, 0.0], [-0.9, 0.19**0.5]]), np.array([1.0, 0.1])


def suboptimality(bounding, alpha, rho, gamma, runs=256):
    rng, K, eta = np.random.default_rng(0), round(2 * alpha * gamma / rho**2), rho / (2 * alpha)
    w, total = np.tile([20.0, 50.0], (runs, 1)), 0.0
    for _ in range(K):
        margin = w @ rows.T
        size = np.abs(margin)
        total += np.where(size <= c, size**2 / 2, c * (size - c / 2)).mean()
        sent = np.clip(margin, -c, c) if bounding == "clip" else np.sign(margin)  # each row has length 1, C = 1
        w = w - eta * (sent @ rows / 2 + rho * np.sqrt(K / 2) * rng.standard_normal(w.shape))
    return total / K


ratios = []
for alpha, rho, gamma in ((1, 0.1, 6.0), (4, 0.1, 6.0), (1, 0.3, 53.85)):
    clipped, normalised = (suboptimality(b, alpha, rho, gamma) for b in ("clip", "normalise"))
    print(f"alpha = {alpha}, rho = {rho}, gamma = {gamma:g}: {clipped:.2f} and {normalised:.2f}")
    ratios.append(normalised / clipped)
assert min(ratios) > 1.1
