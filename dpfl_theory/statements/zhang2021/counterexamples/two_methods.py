"""Table 1's row c = 1 on problem (8): f_i = (a_i x - b_i)^2/2, with clipped gradients, and with clipped updates."""

import numpy as np

a, b, c = np.array([1.0, 2.0, 6.0]), np.array([4.0, 1.0, -1.0]), 1.0

x = np.full(3, 13 / 9)
for _ in range(5000):  # local steps of 1/50 with clipped gradients
    x = x - np.clip(a * (a * x - b), -c, c) / 50
print(f"gradients clipped, endless local steps: {x.mean():.4f}, printed {2 / 3:.4f}")

start, moved = 0.5, 0.5
for _ in range(200):  # rounds with one local step of 1/10, updates clipped
    moved = moved - np.clip(a * (a * moved - b) / 10, -c, c).mean()
print(f"updates clipped, one local step, from {start}: {abs(moved):.4f}")
assert abs(x.mean() - 13 / 9) < 1e-9
assert abs(moved) < 1e-9
