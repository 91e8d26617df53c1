"""noble2022 Figure 2: test accuracy on image data with gamma-percent similarity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.validation import Context

from . import _epsilon as epsilon
from . import _panels as panels
from . import _setting as noble

TITLE = "Figure 2: test accuracy on image data by similarity of the users"
CAPTION = (
    "Test accuracy over the rounds for softmax regression on image data, with K = 50 local steps. Columns: gamma % of "
    "the data are distributed at random and the rest sorted by label. Solid: with privacy noise and clipping at the "
    "median; dashed: without. Bands: smallest to largest of the runs. The paper's second row, a neural network on "
    "MNIST, is not a convex problem and is left out. " + panels.REAL_SCALE
)
SOURCE = {"paper": "noble2022", "where": "Figure 2, first row, Section 5"}
BUDGET_SECONDS = {"full": 20.0, "paper": 900.0}
SHARED_RUNS = "noble2022 panels of image data"
DATA = noble.IMAGES
PAPER = "Section 5: clearly outperforms under data heterogeneity"


def compute(context: Context) -> dict[str, Any]:
    data = panels.images(context, (50,), panels.ACCURACY)
    found = [
        panels.superiority_on_images(data["panels"], PAPER),
    ]
    data["claims"] = [
        *noble.judged(context, found, images=True),
        epsilon.caption("11.4", epsilon.FEMNIST, (50,)),
        epsilon.caption("7.2", epsilon.MNIST, (50,), rounds=100),
    ]
    return data


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    return panels.draw(data, panels.ACCURACY)
