"""The figure of a statement over one of its symbols: the bound, its terms, and the measured left side."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from dpfl_theory.checks.curve import Curve, Point
from dpfl_theory.core.prose import plain
from dpfl_theory.report.formulas import lines
from dpfl_theory.validation import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = "dpfl-theory/curve/1"
FAILS = "#B00020"
DASHES = ((0, (5, 2)), (0, (1.2, 1.6)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2, 2, 2)))
LONGEST = 90
"""A left side with longer LaTeX is not shown next to the axis."""
WIDE = 20.0
"""Positive numbers that span more than this factor are drawn on a logarithmic axis."""


def draw(curve: Curve) -> Figure:
    """The bound as a line, its terms dashed, the left side as dots with its confidence limits. A range is grey where a
    hypothesis is not met, and there the statement claims nothing."""
    fig, ax = style.figure(width=6.4, height=4.4)
    shown = [p for p in curve.points if p.drawn]
    x = [p.symbol_value for p in shown]
    with style.figure_style():
        _span_outside(ax, curve.points, curve.edges)
        for i, name in enumerate(curve.terms):
            colour = style.PALETTE[1 + i % (len(style.PALETTE) - 1)]
            heights = [p.evidence.terms[name] for p in shown]
            if not any(heights):
                ax.plot([], [], color=colour, linestyle=DASHES[i % len(DASHES)], label=f"its term: {name} = 0")
                continue
            ax.plot(
                x,
                heights,
                color=colour,
                linestyle=DASHES[i % len(DASHES)],
                linewidth=1.3,
                zorder=2.5,
                label=f"its term: {name}",
            )
        ax.plot(x, [p.evidence.rhs for p in shown], color=style.BOUND, label="bound (right side)")
        exact = curve.check.method == "exact"
        left = "left side, exact" if exact else "left side, with confidence limits"
        _measured(ax, [p for p in shown if p.evidence.verdict != "violated"], style.CLIP, "o", left, exact)
        _measured(
            ax, [p for p in shown if p.evidence.verdict == "violated"], FAILS, "X", "left side, above the bound", exact
        )
        _scales(ax, curve, shown)
        symbol = next(s for s in curve.statement.symbols if s.name == curve.symbol)
        ax.set_xlabel(f"{_symbol(symbol.latex or symbol.name)}, {plain(symbol.meaning)}")
        ax.set_ylabel(_left(curve))
        ax.set_title(
            f"{plain(curve.statement.title)}\n{curve.check.method}, {curve.check.name!r} with {curve.symbol} varied",
            fontsize=9.5,
        )
        handles, labels = ax.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda i: ("left" not in labels[i], "bound" not in labels[i]))
        fig.legend([handles[i] for i in order], [labels[i] for i in order], loc="outside lower center", ncols=2)
    return fig


def _left(curve: Curve) -> str:
    """The left side as a formula where it is one short term, otherwise in words."""
    left = [line.latex for line in lines(curve.statement) if line.side == "lhs"]
    short = len(left) == 1 and len(left[0]) <= LONGEST and _symbol(left[0]).startswith("$")
    return f"{_symbol(left[0])} and its bound" if short else "both sides"


def _symbol(latex: str) -> str:
    """A formula as Matplotlib typesets it, or as text where it cannot."""
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("agg").parse(f"${latex}$")
    except ValueError:
        return latex
    return f"${latex}$"


def _measured(ax: Any, points: Sequence[Point], colour: str, marker: str, label: str, exact: bool) -> None:
    if not points:
        return
    x = [p.symbol_value for p in points]
    middles = [p.evidence.lhs.estimate for p in points if p.evidence.lhs]
    if exact:
        ax.plot(x, middles, marker, color=colour, label=label, zorder=3)
        return
    limits = [(p.evidence.lhs.low, p.evidence.lhs.high) for p in points if p.evidence.lhs]
    below = [max(0.0, m - low) if math.isfinite(low) else 0.0 for m, (low, _) in zip(middles, limits)]
    above = [max(0.0, high - m) if math.isfinite(high) else 0.0 for m, (_, high) in zip(middles, limits)]
    ax.errorbar(x, middles, yerr=(below, above), fmt=marker, color=colour, capsize=2.5, label=label, zorder=3)


def _span_outside(ax: Any, points: Sequence[Point], edges: Mapping[int, float]) -> None:
    """Grey outside the hypotheses: from their boundary, or from half way to the next point where that is unknown."""
    label = "outside the hypotheses"
    x = [p.symbol_value for p in points]
    ratio = min(x) > 0.0 and max(x) > WIDE * min(x)
    middle = [edges.get(i, math.sqrt(a * b) if ratio else (a + b) / 2) for i, (a, b) in enumerate(pairwise(x))]
    ends = [x[0], *middle, x[-1]]
    for out, group in groupby(range(len(points)), key=lambda i: points[i].outside):
        inside = list(group)
        if out:
            ax.axvspan(ends[inside[0]], ends[inside[-1] + 1], color="#E8E8E8", linewidth=0, zorder=0, label=label)
            label = "_outside"


def _scales(ax: Any, curve: Curve, shown: Sequence[Point]) -> None:
    heights = [e.lhs.estimate for p in shown if (e := p.evidence).lhs] + [p.evidence.rhs for p in shown]
    for axis, values in (("x", [p.symbol_value for p in curve.points]), ("y", heights)):
        known = [v for v in values if v is not None]
        if not known or min(known) <= 0.0 or max(known) <= WIDE * min(known):
            if axis == "y" and known and min(known) >= 0.0:
                ax.set_ylim(bottom=0.0)
            continue
        if max(known) < 1e3 * min(known):
            style.logarithmic(ax, axis)
        else:
            ax.set(**{f"{axis}scale": "log"})
        if axis == "y":  # limits that reach minus infinity would be cut off entirely
            low = [e.lhs.low for p in shown if (e := p.evidence).lhs and e.lhs.low > 0.0]
            ax.set_ylim(min([*low, *known]) / 1.6, max(known) * 1.6)


def as_csv(curve: Curve) -> str:
    """A row for each point."""
    rows = curve.rows()
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_json(curve: Curve) -> str:
    """The whole figure as data: what was drawn, and the evidence of each point."""
    document = {
        "schema": SCHEMA,
        "statement": curve.statement.id,
        "check": curve.check.name,
        "method": curve.check.method,
        "letter": curve.symbol,
        "edges": [curve.edges[i] for i in sorted(curve.edges)],
        "points": [
            {"given": p.parameter, curve.symbol: p.symbol_value, "evidence": p.evidence.to_json()} for p in curve.points
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
