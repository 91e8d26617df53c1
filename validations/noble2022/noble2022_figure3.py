"""noble2022 Figure 3: test accuracy of six algorithms on the synthetic data, by heterogeneity and local steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import f

from dpfl_theory.validation import Context

from . import _epsilon as epsilon
from . import _panels as panels
from . import _setting as noble

TITLE = "Figure 3: test accuracy on synthetic data"
CAPTION = (
    "Test accuracy, averaged over the users, in the runs of Figure 1: the synthetic data of Appendix D.2 by "
    "level of heterogeneity (columns), K = 50 and 100 local steps (rows). Solid: with privacy noise and clipping at "
    "the median; dashed: without. Bands: smallest to largest of the runs. " + panels.SCALE
)
SOURCE = {"paper": "noble2022", "where": "Figure 3, Appendix D.3.1"}
BUDGET_SECONDS = {"full": 70.0, "paper": 28000.0}
SHARED_RUNS = "noble2022 panels of synthetic data"


def compute(context: Context) -> dict[str, Any]:
    cases = [noble.synthetic(context, alpha, beta) for alpha, beta in noble.ends(context, noble.LEVELS)]
    data = panels.compute(context, cases, panels.STEPS, (60.0, 5000), panels.ACCURACY)
    shown = data["panels"]
    found = [
        panels.superiority(shown, panels.ACCURACY, "D.3.1: consistent with the train loss in Figure 1"),
        _ten_percent(shown),
        _spread(shown),
    ]
    data["claims"] = [
        *noble.judged(context, found, synthetic=noble.QUICK),
        epsilon.caption("13", epsilon.SYNTHETIC, panels.STEPS),
    ]
    return data


def _ten_percent(shown: list[dict[str, Any]]) -> dict[str, Any]:
    leads = np.mean([panels.lead(p, "DP-FedAvg", panels.ACCURACY) for p in shown], axis=0)
    mean, low, high = noble.interval(leads)
    return {
        "claim": "averaged over the heterogeneity settings DP-SCAFFOLD-warm is about 10 points (5 to 15) more accurate "
        "than DP-FedAvg",
        "verdict": noble.all_within({"": (mean, low, high)}, 0.05, 0.15),
        "paper": "D.3.1: an average difference of 10% in the accuracy",
        "measured": f"{100 * mean:.1f} points ({100 * low:.1f} to {100 * high:.1f}, 95% limits over paired runs)",
    }


def _spread(shown: list[dict[str, Any]]) -> dict[str, Any]:
    """The run-to-run deviation of the accuracy at the end, at the highest heterogeneity against the lowest: above 1 for
    DP-FedAvg, between 1/2 and 2 for DP-SCAFFOLD-warm."""
    names = list(dict.fromkeys(p["name"] for p in shown))
    steps = list(dict.fromkeys(p["K"] for p in shown))
    ratios, deviations = {}, []
    for algorithm in ("DP-FedAvg", panels.PRIVATE):
        for K in steps:
            ends = [p["ends"][algorithm] for p in shown if p["K"] == K]
            ratios[algorithm, K] = _ratio(ends[-1], ends[0], 1.0 - 0.05 / (2 * len(steps)))
            deviations.append(
                f"{algorithm}, K = {K}: " + ", ".join(f"{100 * np.std(e, ddof=1):.2f}" for e in ends),
            )
    rival, own = ({k: v for k, v in ratios.items() if k[0] == a} for a in ("DP-FedAvg", panels.PRIVATE))
    said = "; ".join(f"{a}, K = {K}: {m:.2g} ({low:.2g} to {high:.2g})" for (a, K), (m, low, high) in ratios.items())
    return {
        "claim": "the accuracy of DP-FedAvg deviates more from run to run at the highest heterogeneity than at the "
        "lowest, and that of DP-SCAFFOLD-warm at most by a factor of 2 more or less",
        "verdict": noble.joined([noble.all_within(rival, 1.0), noble.all_within(own, 0.5, 2.0)]),
        "paper": "D.3.1: the variance of DP-FedAvg grows with the heterogeneity, DP-SCAFFOLD-warm is not affected",
        "measured": f"ratio of the deviations, simultaneous 95% limits (F distribution): {said}; deviations in points, "
        f"from {names[0]} to {names[-1]}: {'; '.join(deviations)}",
    }


def _ratio(above: Any, below: Any, confidence: float) -> noble.Limits:
    """The ratio of two samples' standard deviations, and its limits by the F distribution. Runs of a pair share their
    noise; the resulting correlation makes the ratio vary less, so that the limits are conservative."""
    ratio = float(np.var(above, ddof=1) / np.var(below, ddof=1))
    factor = float(f.ppf(0.5 + confidence / 2.0, len(above) - 1, len(below) - 1))
    return ratio**0.5, (ratio / factor) ** 0.5, (ratio * factor) ** 0.5


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    return panels.draw(data, panels.ACCURACY)
