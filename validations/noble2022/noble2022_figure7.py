"""noble2022 Figure 7: test accuracy on image data with gamma-percent similarity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.validation import Context

from . import _epsilon as epsilon
from . import _panels as panels
from . import _setting as noble

TITLE = "Figure 7: test accuracy on image data by similarity of the users"
CAPTION = (
    "Test accuracy over the rounds for softmax regression on image data. Columns: gamma % of the data are distributed "
    "at random and the rest sorted by label; rows: K = 50 and, but for the standard profile, 100 local steps. Solid: "
    "with privacy noise and clipping at the median; dashed: without. Bands: smallest to largest of the runs. "
    + panels.REAL_SCALE
)
SOURCE = {"paper": "noble2022", "where": "Figure 7, Appendix D.3.1"}
BUDGET_SECONDS = {"full": 35.0, "paper": 1800.0}
SHARED_RUNS = "noble2022 panels of image data"
DATA = noble.IMAGES
PAPER = "D.3.1: superior performance on real data"


def compute(context: Context) -> dict[str, Any]:
    steps = context.pick(full=panels.STEPS, paper=panels.STEPS, standard=panels.STEPS[:1])
    data = panels.images(context, steps, panels.ACCURACY)
    found = [
        panels.superiority_on_images(data["panels"], PAPER),
    ]
    data["claims"] = [
        *noble.judged(context, found, images=True),
        epsilon.caption("11.5", epsilon.FEMNIST, panels.STEPS),
    ]
    return data


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    return panels.draw(data, panels.ACCURACY)
