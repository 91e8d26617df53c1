"""The claims of noble2022 D.3.3 on Figures 9 and 10, as predicates on their panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _setting as noble
from ._tradeoffs import EPSILON, LIMITS

PRIVATE = "DP-SCAFFOLD-warm"


def lead(panel: Mapping[str, Any]) -> np.ndarray:
    """DP-SCAFFOLD's accuracy at the end less DP-FedAvg's, by run."""
    return np.asarray(np.subtract(panel["ends"][PRIVATE], panel["ends"]["DP-FedAvg"]))


def heterogeneous(panels: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The panels without those of i.i.d. users."""
    return [p for p in panels if p["row"] == "synthetic" or p["heterogeneity"][0] < 100.0]


def points(limits: noble.Limits) -> str:
    """A mean of accuracies and its limits in percentage points."""
    mean, low, high = (100.0 * x for x in limits)
    return f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"


def superiority(
    panels: Sequence[Mapping[str, Any]], symbol: str, paper: str, expected: str | None = None
) -> dict[str, Any]:
    """For every heterogeneous panel DP-SCAFFOLD is more accurate at its last round."""
    leads = noble.simultaneous({f"{p['name']}, {symbol} = {p['rate']:g}": lead(p) for p in heterogeneous(panels)})
    lost = [name for name, (_, _, high) in leads.items() if high < 0.0]
    open_ = [name for name, (_, low, high) in leads.items() if low <= 0.0 <= high]
    worst = min(leads, key=lambda name: leads[name][0])
    return {
        "claim": f"for every heterogeneity and {symbol} shown, DP-SCAFFOLD-warm ends more accurate than DP-FedAvg",
        "verdict": noble.all_within(leads),
        **noble.on_record(expected),
        "paper": paper,
        "measured": f"in {len(leads) - len(lost) - len(open_)} of {len(leads)} panels, not in {len(lost)}, open in "
        f"{len(open_)}; smallest lead in points, {LIMITS}: {points(leads[worst])}: {worst}",
    }


def best_rate(
    panels: Sequence[Mapping[str, Any]], symbol: str, wanted: float, paper: str, expected: str | None = None
) -> dict[str, Any]:
    """For every heterogeneous data set: DP-SCAFFOLD's accuracy is highest for the wanted rate."""
    says, gaps = [], {}
    for name in dict.fromkeys(p["name"] for p in heterogeneous(panels)):
        own = {p["rate"]: np.asarray(p["ends"][PRIVATE]) for p in panels if p["name"] == name}
        says.append(f"{name}: " + ", ".join(f"{rate:g}: {100 * v.mean():.1f}" for rate, v in own.items()))
        gaps.update({f"{name}, {rate:g}": own[wanted] - v for rate, v in own.items() if rate != wanted})
    limits = noble.simultaneous(gaps)
    worst = min(limits, key=lambda name: limits[name][0])
    return {
        "claim": f"for every heterogeneity shown, DP-SCAFFOLD-warm is most accurate with {symbol} = {wanted:g}",
        "verdict": noble.all_within(limits),
        **noble.on_record(expected),
        "paper": paper,
        "measured": f"accuracy in % by {symbol}: {'; '.join(says)}; least by which {wanted:g} is ahead, in points, "
        f"{LIMITS}: {points(limits[worst])}: {worst}",
    }


def alike(panels: Sequence[Mapping[str, Any]], symbol: str, paper: str, expected: str | None = None) -> dict[str, Any]:
    """With i.i.d. users and every rate, DP-SCAFFOLD and DP-FedAvg end within five points of each other."""
    iid = [p for p in panels if p["row"] == "images" and p["heterogeneity"][0] == 100.0]
    gaps = noble.simultaneous({f"{symbol} = {p['rate']:g}": lead(p) for p in iid})
    return {
        "claim": f"with gamma = 100% similar image data and every {symbol} shown, DP-SCAFFOLD-warm and DP-FedAvg end "
        "within 5 points of each other",
        "verdict": noble.all_within(gaps, -0.05, 0.05),
        **noble.on_record(expected),
        "paper": paper,
        "measured": f"lead of DP-SCAFFOLD-warm in points, {LIMITS}: {said(gaps)}",
    }


def said(limits: Mapping[str, noble.Limits]) -> str:
    """Named means and limits in points, for a claim's measurement."""
    return "; ".join(f"{name}: {points(found)}" for name, found in limits.items())


def budget(panels: Sequence[Mapping[str, Any]], symbol: str) -> dict[str, Any]:
    """The caption's epsilon: certified accounting of the paper's setting stays within it for every T."""
    spent = {
        f"{p['row']}, {symbol} = {p['rate']:g}, T = {p['T']}": p["certified_epsilon_were_the_threshold_fixed"]["high"]
        for p in panels
    }
    return {
        "claim": f"T rounds, the most that the recipe affords for the caption's epsilon = {EPSILON:g}, certifiably "
        "spend no more, had the clipping threshold been fixed",
        "verdict": "reproduced" if max(spent.values()) <= EPSILON else "not-reproduced",
        "expected": "reproduced",
        "paper": f"epsilon = {EPSILON:g} towards a third party at delta = 1/(MR); T is not printed",
        "measured": "certified epsilon for the paper's M, R and, as in Section 5, sigma_g: "
        + "; ".join(f"{name}: {value:.3g}" for name, value in spent.items()),
    }
