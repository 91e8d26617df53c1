"""noble2022 Table 4: test accuracy of DP-SCAFFOLD over noise and local steps, at epsilon = 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.validation import Context

from . import _setting as noble
from . import _table as table

TITLE = "Table 4: test accuracy of DP-SCAFFOLD over (sigma_g, K) for epsilon = 3"
CAPTION = (
    "Test accuracy (%) of DP-SCAFFOLD-warm (Section 3.3: 4/l = 80 of the T rounds, leaving 8 at least) on the "
    "synthetic data with (alpha, beta) = (0, 0), l = 0.05, s = 0.2, averaged over the last tenth of the rounds: "
    "measured (left) and printed (right). T is the largest number of rounds that the recipe of Appendix B affords for "
    "epsilon = 3, delta = 1/(MR), M = 100 and R = 4000 training records. Gradients are clipped at the median of their "
    "lengths; eta_0 by cross-validation at (0, 0), K = 10, sigma_g = 10. Below the paper profile each user has 250 "
    "records instead of 5000 and sigma_g is scaled, so that the noise of a local step is the paper's. Bold: the best "
    "of a row. " + noble.PUBLISHED_CODE
)
SOURCE = {"paper": "noble2022", "where": "Table 4, Appendix D.3.2"}
BUDGET_SECONDS = {"full": 53.0, "paper": 1800.0}
# Mean and deviation of three runs; rows sigma_g = 10, 20, 40, 80, 160, columns K = 1, 5, 10, 20, 40.
PRINTED = (
    ((31.29, 0.5), (44.37, 0.15), (44.17, 0.56), (41.71, 0.36), (25.92, 0.9)),
    ((28.31, 1.15), (41.97, 0.77), (43.27, 0.9), (41.13, 0.55), (28.2, 2.23)),
    ((21.07, 0.41), (33.01, 1.2), (35.96, 0.84), (32.82, 1.11), (23.49, 1.7)),
    ((17.09, 1.31), (21.84, 0.96), (25.92, 0.59), (24.02, 1.27), (17.95, 1.14)),
    ((15.24, 1.63), (15.37, 0.28), (20.09, 1.51), (18.09, 1.86), (15.38, 0.87)),
)


def compute(context: Context) -> dict[str, Any]:
    return table.compute(context, (0.0, 0.0), PRINTED)


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    return table.draw(data)
