"""noble2022 Figure 6: train loss when only beta, the heterogeneity across users' records, varies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.validation import Context

from . import _epsilon as epsilon
from . import _panels as panels
from . import _setting as noble

TITLE = "Figure 6: train loss on synthetic data as beta varies"
CAPTION = (
    "Train loss on the synthetic data of Appendix D.2 as beta, the heterogeneity across users' records, takes the "
    "values 0, 1 and 5 (columns) while alpha = 0; K = 50 and, in the paper profile, 100 local steps (rows). Solid: "
    "with privacy noise and clipping at the median; dashed: without. Bands: smallest to largest of the runs. The paper "
    "does not print which values it takes. " + panels.SCALE
)
SOURCE = {"paper": "noble2022", "where": "Figure 6, Appendix D.3.1"}
BUDGET_SECONDS = {"full": 42.0, "paper": 18000.0}
SHARED_RUNS = "noble2022 panels of synthetic data"
VALUES = (0.0, 1.0, 5.0)


def compute(context: Context) -> dict[str, Any]:
    cases = [noble.synthetic(context, *(0.0, level)) for level in noble.ends(context, VALUES)]
    data = panels.compute(context, cases, context.pick(full=(50,), paper=panels.STEPS), (60.0, 5000), panels.LOSS)
    found = [
        panels.superiority(data["panels"], panels.LOSS, "D.3.1: performs consistently better"),
    ]
    data["claims"] = [
        *noble.judged(context, found, synthetic=noble.QUICK),
        epsilon.caption("13", epsilon.SYNTHETIC, panels.STEPS),
    ]
    return data


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    return panels.draw(data, panels.LOSS)
