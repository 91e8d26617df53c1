"""A comparison as a figure: what each algorithm reaches beside the start, for each unit of privacy a panel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.report import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drawn"]

_TITLES = {"client": "each client's data", "record": "single records"}


def drawn(document: Mapping[str, Any]) -> Figure:
    """The figure of a comparison (`dpfl_theory.recommend.compare`): suboptimality at the end with two standard errors
    (dots, blue for the recommended algorithm), that of the same run without its noise (rings), and the start.

    >>> gap = {"mean": 0.1, "error": 0.01}
    >>> row = {"name": "dp-fedavg", "protects": "client", "suboptimality": gap, "causes": [{"without": 0.02}]}
    >>> budget = {"epsilon": 3.0, "delta": 1e-5}
    >>> document = {"algorithms": [row], "recommended_by_unit": {"client": "dp-fedavg"}, "budget": budget}
    >>> len(drawn({**document, "start": {"suboptimality": 0.7}}).axes)
    1
    """
    units = list(document["recommended_by_unit"])
    most = max(sum(row["protects"] == unit for row in document["algorithms"]) for unit in units)
    fig, axes = style.figure(1, len(units), width=5.4 * len(units), height=1.6 + 0.36 * most)
    for ax, unit in zip(axes.flat if len(units) > 1 else [axes], units, strict=True):
        _panel(ax, document, unit)
    return fig


def _panel(ax: Any, document: Mapping[str, Any], unit: str) -> None:
    rows = [row for row in document["algorithms"] if row["protects"] == unit][::-1]
    for k, row in enumerate(rows):
        gap, quiet = row["suboptimality"], next((cause["without"] for cause in row["causes"]), math.inf)
        best = row["name"] == document["recommended_by_unit"][unit]
        if math.isfinite(gap["mean"]):
            colour = style.CLIP if best else style.NEUTRAL
            ax.errorbar(gap["mean"], k, xerr=2 * gap["error"], fmt="o", color=colour, markersize=6, zorder=3)
        if math.isfinite(quiet) and quiet > 0.0:
            ax.plot(quiet, k, "o", color=style.BOUND, markerfacecolor="none", markersize=5, zorder=2)
    ax.axvline(document["start"]["suboptimality"], color=style.NORMALISE, linewidth=1.2, zorder=1)
    ax.set_xscale("log")
    ax.set_yticks(range(len(rows)), [row["name"] for row in rows])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel("suboptimality (ring: without noise; line: the start)")
    budget = document["budget"]
    ax.set_title(rf"{_TITLES[unit]}, $\varepsilon$ = {budget['epsilon']:g}, $\delta$ = {budget['delta']:g}")
