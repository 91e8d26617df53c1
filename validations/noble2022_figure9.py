"""noble2022 Figure 9: test accuracy for several shares l of users in a round, at a fixed privacy budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import _noble2022 as noble
import _noble2022_tradeoffs as tradeoffs

from dpfl_theory.validation import Context, main

TITLE = "Figure 9: test accuracy as the share l of users varies, for epsilon = 5"
CAPTION = (
    "Test accuracy of DP-FedAvg and DP-SCAFFOLD-warm over the rounds for l = 0.08, 0.1 and 0.12, s = 0.2 and K = 10 "
    "local steps; first row synthetic data (Appendix D.2), second row image data. Each curve ends at the round T "
    "(vertical lines) that the recipe of Appendix B affords for epsilon = 5, delta = 1/(MR) and the paper's M, R and "
    "sigma_g. Bands: smallest to largest of the runs. Step sizes are tuned once, at l = 0.12, which favours it. "
    "Gradients are clipped at the median of their lengths, as in the paper. The quick profile runs 40 users with 500 "
    "records each (20 users' digits) with the paper's noise in each local step. The paper's third row, a neural "
    "network, is not a convex problem and is left out."
)
SOURCE = {"paper": "noble2022", "where": "Figure 9, Appendix D.3.3"}
BUDGET_SECONDS = {"quick": 90.0, "full": 2400.0}
DATA = noble.IMAGES
RATES = tuple({"user_rate": rate, "record_rate": 0.2} for rate in (0.08, 0.1, 0.12))


def compute(context: Context) -> dict[str, Any]:
    data = tradeoffs.compute(context, "user_rate", RATES, context.pick(quick=noble.LEVELS[::2], full=noble.LEVELS))
    panels = data["panels"]
    data["claims"] = [
        tradeoffs.superiority(panels, "l", "D.3.3: much better than DP-FedAvg in these regimes"),
        tradeoffs.best_rate(panels, "l", 0.08, "D.3.3: the best performance with l = 0.08, the lowest"),
    ]
    return data


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    return tradeoffs.draw(data, "l")


if __name__ == "__main__":
    raise SystemExit(main(__file__))
