"""Figures of recommendations. One compares the result of each algorithm with the start, with a panel for each unit of
privacy. The other shows the neighbourhood of each recommendation, with a panel for each hyper-parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpfl_theory.recommend.inputs import PROTECTED
from dpfl_theory.validation import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(document: Mapping[str, Any]) -> Figure:
    """The figure of a comparison (`dpfl_theory.recommend.compare`): it shows the suboptimality at the end with two
    standard errors (dots, blue for the recommended algorithm). It also shows that of the same run without its noise
    (rings), and the start.

    >>> gap = {"mean": 0.1, "error": 0.01}
    >>> row = {"name": "dp-fedavg", "protects": "client", "suboptimality": gap, "causes": [{"without": 0.02}]}
    >>> budget = {"epsilon": 3.0, "delta": 1e-5}
    >>> document = {"algorithms": [row], "recommended_by_unit": {"client": "dp-fedavg"}, "budget": budget}
    >>> len(draw({**document, "start": {"suboptimality": 0.7}}).axes)
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
    ax.set_title(rf"{PROTECTED[unit]}, $\varepsilon$ = {budget['epsilon']:g}, $\delta$ = {budget['delta']:g}")


def neighbourhoods(confirmed: Sequence[Mapping[str, Any]]) -> Figure:
    """The figure of `dpfl_theory.recommend.confirm`, with a row for each algorithm. It shows the bound (grey, its own
    scale on the right) and the measured suboptimality (blue, two standard errors) at each value of a hyper-parameter.
    It also shows the recommended value (line), the values that may be the best (shaded) and the minimum of the bound
    (square).

    >>> line = {"hyperparameter": "eta", "recommended": 1.0, "values": [0.5, 1.0, 2.0], "bound": [3.0, 2.0, None],
    ...         "mean": [0.3, 0.2, 0.4], "error": [0.01, 0.01, 0.01], "interval": [1.0, 1.0], "bound_least": 1.0}
    >>> len(neighbourhoods([{"algorithm": "dp-fedavg", "lines": [line]}]).axes)
    2
    """
    columns = max(len(found["lines"]) for found in confirmed)
    fig, axes = style.figure(len(confirmed), columns, height=0.7 + 2.6 * len(confirmed), squeeze=False)
    for row, found in zip(axes, confirmed, strict=True):
        for ax in row[len(found["lines"]) :]:
            ax.set_visible(False)
        for ax, line in zip(row, found["lines"]):
            _neighbourhood(ax, line)
        row[0].set_title(found["algorithm"])
        row[0].set_ylabel("suboptimality")
    from matplotlib.lines import Line2D

    bound = Line2D([], [], color=style.BOUND, marker="s", markersize=4, label="bound, its least (right axis)")
    runs = Line2D([], [], color=style.CLIP, marker="o", markersize=3, label="runs, two standard errors")
    chosen = Line2D([], [], color=style.NEUTRAL, linestyle=":", label="recommended")
    fig.legend(handles=[runs, bound, chosen], loc="outside lower center", ncols=3)
    return fig


def _neighbourhood(ax: Any, line: Mapping[str, Any]) -> None:
    ran = [(v, m, e or 0.0) for v, m, e in zip(line["values"], line["mean"], line["error"]) if m is not None]
    if ran:
        values, means, errors = (list(column) for column in zip(*ran))
        ax.plot(values, means, "o-", color=style.CLIP, markersize=3)
        low, high = ([m + k * e for m, e in zip(means, errors)] for k in (-2, 2))
        style.band(ax, values, [max(x, 1e-3 * m) for x, m in zip(low, means)], high, style.CLIP)
    if line["interval"] is not None:
        low, high = line["interval"]
        ax.axvspan(low * 2**-0.1, high * 2**0.1, color=style.shade(style.NEUTRAL, 0.85), zorder=0)
    ax.axvline(line["recommended"], color=style.NEUTRAL, linewidth=1.0, linestyle=":")
    ax.set_xscale("log")
    low, high = line["values"][0], line["values"][-1]
    apart = [low * (high / low) ** share for share in (0.3, 0.7)]
    ends = [low, *([line["recommended"]] if apart[0] < line["recommended"] < apart[1] else []), high]
    ax.set_xticks(ends, [f"{x:.3g}" for x in ends])
    ax.minorticks_off()
    style.logarithmic(ax, "y")
    ax.set_xlabel(line["hyperparameter"])
    known = [(v, b) for v, b in zip(line["values"], line["bound"]) if b is not None]
    if known:
        right = ax.twinx()
        right.plot(*zip(*known), color=style.BOUND, linewidth=1.2)
        least = [(v, b) for v, b in known if v == line["bound_least"]]
        right.plot(*zip(*least), "s", color=style.BOUND, markersize=4) if least else None
        style.logarithmic(right, "y")
        right.grid(visible=False)
