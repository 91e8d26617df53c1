"""noble2022 Figure 5: train loss when only alpha, the heterogeneity across users' models, varies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import ttest_ind

from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.noble2022 import synthetic_split
from dpfl_theory.validation import Context

from . import _epsilon as epsilon
from . import _panels as panels
from . import _setting as noble

TITLE = "Figure 5: train loss on synthetic data as alpha varies"
CAPTION = (
    "Train loss on the synthetic data of Appendix D.2 as alpha, the heterogeneity across users' models, takes the "
    "values 0, 1 and 5 (columns) while beta = 0; K = 50 and, in the paper profile, 100 local steps (rows). Solid: with "
    "privacy noise and clipping at the median; dashed: without. Bands: smallest to largest of the runs. The paper does "
    "not print which values it takes. " + panels.SCALE
)
SOURCE = {"paper": "noble2022", "where": "Figure 5, Appendix D.3.1"}
BUDGET_SECONDS = {"full": 42.0, "paper": 18000.0}
SHARED_RUNS = "noble2022 panels of synthetic data"
VALUES = (0.0, 1.0, 5.0)
DRAWS = 8


def compute(context: Context) -> dict[str, Any]:
    cases = [noble.synthetic(context, *(level, 0.0)) for level in noble.ends(context, VALUES)]
    data = panels.compute(context, cases, context.pick(full=(50,), paper=panels.STEPS), (60.0, 5000), panels.LOSS)
    data["dissimilarity"] = _dissimilarity()
    found = [
        panels.superiority(data["panels"], panels.LOSS, "D.3.1: performs consistently better"),
    ]
    data["claims"] = [
        *noble.judged(context, found, synthetic=noble.QUICK),
        _alpha_matters(data["dissimilarity"]),
        epsilon.caption("13", epsilon.SYNTHETIC, panels.STEPS),
    ]
    return data


def _dissimilarity() -> dict[str, list[float]]:
    """(1/M) sum_i ||grad F_i(x*)||^2 for each alpha on independent small draws of the data."""
    return {
        f"{alpha:g}": [
            float(np.mean(np.sum(_small(alpha, seed).gradients_at_star ** 2, axis=1))) for seed in range(DRAWS)
        ]
        for alpha in VALUES
    }


def _small(alpha: float, seed: int) -> LinearModel:
    # The same seed for two values of alpha would share its normal numbers: draws are independent.
    return noble.Train(
        synthetic_split(clients=20, records=100, alpha=alpha, seed=1000 + 100 * int(alpha) + seed).train.data
    )


def _alpha_matters(found: dict[str, list[float]]) -> dict[str, Any]:
    first, last = (np.asarray(found[f"{alpha:g}"]) for alpha in (VALUES[0], VALUES[-1]))
    test = ttest_ind(last, first, equal_var=False)
    said = "; ".join(
        f"{alpha}: {np.mean(v):.3f} +- {np.std(v, ddof=1) / len(v) ** 0.5:.3f}" for alpha, v in found.items()
    )
    return {
        "claim": "alpha controls the heterogeneity between users' models: the gradient dissimilarity at the optimum is "
        "larger for alpha = 5 than for alpha = 0",
        "verdict": "reproduced" if test.statistic > 0.0 and test.pvalue < 1e-3 else "not-reproduced",
        "expected": "not-reproduced",
        "paper": "Section 5, D.2 and D.3.1: alpha controls model heterogeneity across users",
        "measured": f"mean over {DRAWS} draws and its standard error by alpha: {said}; as printed, W_i and b_i are a "
        "standard normal times sqrt(1 + alpha), independent over users, and labels, the largest logit, do not see a "
        "common factor: data have the same distribution for every alpha",
    }


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    return panels.draw(data, panels.LOSS)
