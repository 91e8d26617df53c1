"""noble2022 Figure 1: train loss of six algorithms on the synthetic data, by heterogeneity and local steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.validation import Context

from . import _epsilon as epsilon
from . import _panels as panels
from . import _setting as noble

TITLE = "Figure 1: train loss on synthetic data, DP-SCAFFOLD against DP-FedAvg and DP-FedSGD"
CAPTION = (
    "Train loss over the rounds on the synthetic data of Appendix D.2, for softmax regression with ridge 5e-3. "
    "Columns: level of heterogeneity; rows: K = 50 and 100 local steps. Solid: with privacy noise of multiplier "
    "sigma_g in every local step and gradients clipped at the median of their lengths, as in the paper; dashed: "
    "without either. Bands: smallest to largest of the runs. " + panels.SCALE
)
SOURCE = {"paper": "noble2022", "where": "Figure 1, Section 5"}
BUDGET_SECONDS = {"full": 70.0, "paper": 28000.0}
SHARED_RUNS = "noble2022 panels of synthetic data"


def compute(context: Context) -> dict[str, Any]:
    cases = [noble.synthetic(context, alpha, beta) for alpha, beta in noble.ends(context, noble.LEVELS)]
    data = panels.compute(context, cases, panels.STEPS, (60.0, 5000), panels.LOSS)
    shown = data["panels"]
    found = [
        panels.superiority(shown, panels.LOSS, "Section 5: clearly outperforms under data heterogeneity", "reproduced"),
        panels.growing_gap(shown, panels.LOSS, "Section 5: the gap increases with K, see Figure 1", "reproduced"),
        panels.sometimes_beats_fedavg(shown, panels.LOSS, "reproduced"),
    ]
    data["claims"] = [
        *noble.judged(context, found, synthetic=noble.QUICK),
        epsilon.caption("13", epsilon.SYNTHETIC, panels.STEPS),
    ]
    return data


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    return panels.draw(data, panels.LOSS)
