# Two Huber clients with the common minimiser 0: clipping against normalisation in Theorem 4's setting, L = G = E = 1.
import numpy as np

rows, c = np.array([[1.0, 0.0], [-0.9, 0.19**0.5]]), np.array([1.0, 0.1])


def suboptimality(bounding, alpha, rho, gamma, runs):
    rng, K, eta = np.random.default_rng(0), round(2 * alpha * gamma / rho**2), rho / (2 * alpha)
    w, total = np.tile([20.0, 50.0], (runs, 1)), np.zeros(runs)
    for _ in range(K):
        margin = w @ rows.T
        size = np.abs(margin)
        total += np.where(size <= c, size**2 / 2, c * (size - c / 2)).mean(axis=1)
        sent = np.clip(margin, -c, c) if bounding == "clip" else np.sign(margin)  # each row has length 1, C = 1
        w = w - eta * (sent @ rows / 2 + rho * np.sqrt(K / 2) * rng.standard_normal(w.shape))
    return total / K


ratios = []
for alpha, rho, gamma, runs in ((1, 0.1, 6.0, 4096), (4, 0.1, 6.0, 1024), (1, 0.3, 53.85, 16384)):
    clipped, normalised = (suboptimality(b, alpha, rho, gamma, runs) for b in ("clip", "normalise"))
    ratio = normalised.mean() / clipped.mean()
    error = (normalised - ratio * clipped).std() / clipped.mean() / runs**0.5
    means = " and ".join(f"{x.mean():.2f} +- {x.std() / runs**0.5:.2f}" for x in (clipped, normalised))
    print(f"alpha = {alpha}, rho = {rho}, gamma = {gamma:g}, {runs} runs: {means}, ratio {ratio:.3f} +- {error:.3f}")
    ratios.append(ratio - 3 * error)
assert min(ratios) > 1.1
