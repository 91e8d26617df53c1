"""Tables of results in notebooks: HTML where a cell ends with a result, and data frames.

A result defines its rows by `Tabular.records`; everything else follows from them.
"""

from __future__ import annotations

import html
import io
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dpfl_theory.errors import EnvironmentFault

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150
"""Of a figure that a notebook shows."""
MOST_ROWS = 60
"""Rows of a table in a notebook; the data frame has all."""
WIDE = 20.0
"""A figure's axis is logarithmic where the largest value is more than this times the smallest."""


class Tabular:
    """A result that a notebook shows as a table."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """The rows of the table: values by the name of their column."""

    @abstractmethod
    def plot(self) -> Figure:
        """The result as a figure, which a notebook shows."""

    def to_frame(self) -> Any:
        """The rows as a `pandas.DataFrame`. Raises EnvironmentFault where pandas is not installed."""
        try:
            import pandas as pd
        except ImportError as error:
            raise EnvironmentFault("a data frame needs pandas: pip install pandas") from error
        return pd.DataFrame(self.records())

    def _repr_html_(self) -> str:
        return table(self.records())


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format rows as an HTML table; numbers have four digits.

    >>> table([{"name": "a<b", "value": 1 / 3}, {"name": "c", "value": None}])
    '<table><tr><th>name</th><th>value</th></tr><tr><td>a&lt;b</td><td>0.3333</td></tr><tr><td>c</td><td></td></tr></table>'
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(row.get(name)))}</td>" for name in names) + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    more = f"<p>{len(rows) - MOST_ROWS} more rows</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def figure(**options: Any) -> Figure:
    """A `matplotlib.figure.Figure` with these options, which a notebook shows as a picture.

    IPython knows how to show a figure only after pyplot was imported; this one says it itself.

    >>> figure(figsize=(2.0, 1.0))._repr_png_()[:4]
    b'\\x89PNG'
    """
    from matplotlib.figure import Figure

    made: Any = Figure(**options)
    made._repr_png_ = partial(_png, made)
    return made  # type: ignore[no-any-return]


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def intervals(rows: Sequence[tuple[str, float, float, float, str]], line: float, label: str) -> Figure:
    """Plot values with limits: a row for each (name, low, value, high, colour), and a line at ``line``.

    >>> len(intervals([("a", 0.1, 0.2, 0.4, "C0")], 1.0, "left side over right side").axes)
    1
    """
    fig = figure(figsize=(7.0, 0.9 + 0.28 * max(len(rows), 1)), layout="constrained")
    ax = fig.subplots()
    for k, (_, low, value, high, colour) in enumerate(rows):
        ax.plot([low, high], [k, k], color=colour, linewidth=1.5)
        ax.plot([value], [k], "o", color=colour, markersize=4)
    ax.axvline(line, color="0.6", linewidth=1.0, zorder=0)
    ax.set_yticks(range(len(rows)), [name for name, *_ in rows], fontsize=8)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ends = [end for _, low, _, high, _ in rows for end in (low, high)]
    if all(0.0 < end < math.inf for end in ends) and max(ends) > WIDE * min(ends):
        ax.set_xscale("log")
    elif all(0.0 <= end < math.inf for end in ends):
        ax.set_xlim(0.0, 1.1 * max(line, *ends))
    ax.set_xlabel(label)
    return fig
