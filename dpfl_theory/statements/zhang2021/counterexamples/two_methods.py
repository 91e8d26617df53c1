"""Table 1's entry c = 1, Q = inf on problem (8), f_i = (a_i x - b_i)^2/2: gradients clipped, and updates clipped."""

import numpy as np

a, b, c = np.array([1.0, 2.0, 6.0]), np.array([4.0, 1.0, -1.0]), 1.0

x = np.full(3, 13 / 9)
for _ in range(5000):  # local steps of 1/50 with clipped gradients
    x = x - np.clip(a * (a * x - b), -c, c) / 50
print(f"gradients clipped, endless local steps: {x.mean():.4f}, printed {2 / 3:.4f}")

moved = 13 / 9
for _ in range(200):  # endless local steps end at the minimisers b/a; the updates are clipped
    moved = moved + np.clip(b / a - moved, -c, c).mean()
print(f"updates clipped: {moved:.4f}")
assert abs(x.mean() - 2 / 3) > 0.5
assert abs(moved - 2 / 3) < 1e-9
