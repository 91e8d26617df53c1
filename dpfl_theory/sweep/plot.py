"""Figures of results: one quantity over another, a curve for each value of a third, with available bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpfl_theory.errors import InputError
from dpfl_theory.numerals import finite
from dpfl_theory.schemas import near
from dpfl_theory.validation import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpfl_theory.sweep.table import Table

_WORDS = ("logx", "logy", "linx", "liny")
_MARKERS = "osD^vP*"
_MOST_CURVES = 14


def assigned(words: Sequence[str]) -> dict[str, str]:
    """Parse words such as ``x=eta y=suboptimality hue=algorithm logx``; InputError for other words.

    >>> assigned(["x=eta", "y=suboptimality", "logx"])
    {'x': 'eta', 'y': 'suboptimality', 'logx': ''}
    """
    found: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if (key in ("x", "y", "hue") and sign and value) or (key in _WORDS and not sign):
            found[key] = value
        else:
            raise InputError(f"{word!r} is not a plot option: write x=eta y=suboptimality hue=algorithm logx")
    if missing := [key for key in ("x", "y") if key not in found]:
        raise InputError(f"a plot needs {' and '.join(missing)}: write them like x=eta y=suboptimality")
    return found


def draw(table: Table, x: str, y: str, hue: str | None = None, scales: Sequence[str] = ()) -> Figure:
    """Plot means over the cells at each x with two standard errors, and the statements' bounds on y as dashed lines.

    A bound is drawn where its hypotheses are met. Errors are those over the replicates. Where several cells share x and
    hue (seeds, say), their means and errors are averaged. Axes of positive numbers that span more than a factor of
    twenty are logarithmic, unless ``linx`` or ``liny`` is given.

    >>> from dpfl_theory.sweep.table import Table
    >>> rows = [{"status": "done", "eta": e, "gap": e, "gap_error": 0.1} for e in (1.0, 2.0)]
    >>> len(draw(Table(rows), "eta", "gap").axes)
    1
    """
    for name in filter(None, (x, y, hue)):
        if name not in table.columns:
            raise InputError(f"the results have no column {name!r}: {near(name, table.columns)}")
    rows = [row for row in table.rows if finite(row.get(x)) and finite(row.get(y)) and row.get("status") == "done"]
    if not rows:
        raise InputError(f"no finished cell has a number for both {x} and {y}: name other columns")
    values = list(dict.fromkeys(row.get(hue) if hue else None for row in rows))
    if len(values) > _MOST_CURVES:
        raise InputError(f"hue={hue} has {len(values)} values: give a column with at most {_MOST_CURVES}")
    fig, ax = style.figure(width=6.0, height=4.2)
    with style.figure_style():
        for i, value in enumerate(values):
            own = [row for row in rows if hue is None or row.get(hue) == value]
            colour = style.PALETTE[i % len(style.PALETTE)]
            label = y if hue is None else f"{hue} = {value:g}" if finite(value) else str(value)
            _curve(ax, own, x, y, colour, _MARKERS[i % len(_MARKERS)], label)
            for name in _bounds(table, y):
                _bound(ax, own, x, name, colour)
        _scale(ax, "x", [row[x] for row in rows], scales)
        _scale(ax, "y", [row[y] for row in rows], scales)
        bars = "  (bars: two standard errors)" if f"{y}_error" in table.columns else ""
        ax.set_xlabel(x.replace("_", " ") + bars)
        ax.set_ylabel(y.replace(":measured", ", left side").replace("_", " "))
        if hue is not None or len(ax.get_legend_handles_labels()[1]) > 1:
            shown = dict(zip(*reversed(ax.get_legend_handles_labels())))
            fig.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3)
    return fig


def _bounds(table: Table, y: str) -> list[str]:
    """The columns with the statements' bounds on y."""
    return [
        name
        for name in table.columns
        if (name.endswith(":bound") and y == name.removesuffix("bound") + "measured")
        or (name.endswith(":limit") and y in table.column(name.removesuffix("limit") + "of"))
    ]


def _curve(ax: Any, rows: Sequence[Any], x: str, y: str, colour: str, marker: str, label: str) -> None:
    error = f"{y}_error"
    at = sorted({row[x] for row in rows})
    groups = [[row for row in rows if row[x] == here] for here in at]
    means = [math.fsum(row[y] for row in group) / len(group) for group in groups]
    errors = [math.hypot(*(row[error] for row in group if finite(row.get(error)))) / len(group) for group in groups]
    bars = [2.0 * e for e in errors]
    ax.errorbar(at, means, yerr=bars, fmt=f"{marker}-", color=colour, capsize=2.5, label=label)


def _bound(ax: Any, rows: Sequence[Any], x: str, name: str, colour: str) -> None:
    """Draw a bound, dashed, where no hypothesis is known to fail."""
    id_ = name.rpartition(":")[0]
    inside = [row for row in rows if row.get(f"{id_}:met") is not False and finite(row.get(name))]
    if found := sorted({(row[x], row[name]) for row in inside}):
        ax.plot(*zip(*found), "--", color=colour, linewidth=1.1, label=f"bound of {id_}")


def _scale(ax: Any, axis: str, values: Sequence[float], scales: Sequence[str]) -> None:
    wide = min(values) > 0.0 and max(values) > 20.0 * min(values)
    if f"log{axis}" in scales and min(values) <= 0.0:
        raise InputError(f"log{axis} needs positive numbers, but one is {min(values):g}: leave log{axis} out")
    if f"log{axis}" in scales or (wide and f"lin{axis}" not in scales):
        style.logarithmic(ax, axis, fine=max(values) < 1e3 * min(values))  # for larger ranges powers of ten suffice
