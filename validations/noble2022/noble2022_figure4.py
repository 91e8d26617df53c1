"""noble2022 Figure 4: gradient dissimilarity along the runs of Figure 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.validation import Context

from . import _epsilon as epsilon
from . import _panels as panels
from . import _setting as noble

TITLE = "Figure 4: gradient dissimilarity on synthetic data"
CAPTION = (
    "The dissimilarity of the users' gradients at the server's model, (1/M) sum ||grad F_i||^2 - ||grad F||^2, in the "
    "runs of Figure 1. It does not vanish at the optimum, where it is the heterogeneity of the data (dotted); a model "
    "that has drifted to other users' optima has a larger one. Solid: with privacy noise and clipping at the median; "
    "dashed: "
    "without. " + panels.SCALE
)
SOURCE = {"paper": "noble2022", "where": "Figure 4, Appendix D.3.1"}
BUDGET_SECONDS = {"full": 70.0, "paper": 28000.0}
SHARED_RUNS = "noble2022 panels of synthetic data"


def compute(context: Context) -> dict[str, Any]:
    cases = [noble.synthetic(context, alpha, beta) for alpha, beta in noble.ends(context, noble.LEVELS)]
    data = panels.compute(context, cases, panels.STEPS, (60.0, 5000), panels.DISSIMILARITY)
    found = [
        panels.nearer(data["panels"], "D.3.1: once again a better convergence of DP-SCAFFOLD-warm"),
    ]
    data["claims"] = [
        *noble.judged(context, found, synthetic=noble.QUICK),
        epsilon.caption("13", epsilon.SYNTHETIC, panels.STEPS),
    ]
    return data


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    return panels.draw(data, panels.DISSIMILARITY, log=True)
