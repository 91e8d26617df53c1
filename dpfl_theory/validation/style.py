"""One style for all figures: fixed colours for the methods compared, readable sizes, the same bytes when drawn again.

Figures are `matplotlib.figure.Figure` objects; pyplot and its global state are not used.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: distinguishable with every common colour blindness, and in print.
CLIP = "#0072B2"
NORMALISE = "#D55E00"
BOUND = "#333333"
NEUTRAL = "#767676"
PALETTE = (CLIP, NORMALISE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
COLOURS = {"clip": CLIP, "normalise": NORMALISE, "bound": BOUND, "neutral": NEUTRAL}

_SETTINGS: dict[str, Any] = {
    "figure.dpi": 150,
    "savefig.dpi": 150,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",  # part of matplotlib: the same glyphs on every machine
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.7,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "legend.fontsize": 9.0,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "svg.fonttype": "path",  # renders equally without the fonts, in a page that may load none
    "svg.hashsalt": "dpfl-theory",
    "path.simplify": True,
}


_MOST_MINOR_TICKS = 24
"""The ticks of three decades."""


@contextlib.contextmanager
def figure_style() -> Iterator[None]:
    """Within this context figures are drawn and saved in the package's style; outside, matplotlib is as before."""
    import matplotlib
    from cycler import cycler

    settings: Any = {**_SETTINGS, "axes.prop_cycle": cycler(color=PALETTE)}
    with matplotlib.rc_context(settings):
        yield


def figure(
    rows: int = 1, columns: int = 1, *, width: float = 0.0, height: float = 0.0, **subplots: Any
) -> tuple[Figure, Any]:
    """A figure with a grid of axes, shape (rows, columns), or one axes when there is one; sizes in inches.

    >>> fig, axes = figure(1, 2)
    >>> axes.shape
    (2,)
    """
    from dpfl_theory import notebook

    with figure_style():
        size = (width or min(11.0, 1.2 + 3.9 * columns + (0.9 if columns == 1 else 0.0)), height or 0.7 + 3.0 * rows)
        drawn = notebook.figure(figsize=size)
        return drawn, drawn.subplots(rows, columns, **subplots)


def shade(colour: str, share: float) -> tuple[float, float, float]:
    """The colour mixed with white: share 0 is the colour itself, share 1 is white.

    >>> shade("#000000", 0.5)
    (0.5, 0.5, 0.5)
    """
    from matplotlib.colors import to_rgb

    r, g, b = (float(c + (1.0 - c) * share) for c in to_rgb(colour))
    return r, g, b


def band(axes: Axes, x: Any, low: Any, high: Any, colour: str) -> None:
    """A pale band between two curves, behind all other elements."""
    axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0, zorder=0.5)


def logarithmic(axes: Axes, axis: str, fine: bool = True) -> None:
    """Make the axis ``x`` or ``y`` logarithmic, with plain numbers; fine: with ticks between powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(**{f"{axis}scale": "log"})
    own = axes.xaxis if axis == "x" else axes.yaxis
    if fine:
        own.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    own.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    own.set_minor_formatter(NullFormatter())


def _without_crowds(drawn: Figure) -> None:
    """Remove the minor ticks of axes that have too many of them."""
    from matplotlib.ticker import NullLocator

    for axes in drawn.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if len(axis.get_minorticklocs()) > _MOST_MINOR_TICKS:
                axis.set_minor_locator(NullLocator())


def render(drawn: Figure) -> dict[str, bytes]:
    """The figure as ``png`` (150 dpi) and ``svg``: the same bytes each time it is drawn from the same data.

    The layout is computed once, which takes about as long as drawing. Each kind is then drawn once; ``savefig`` draws
    twice for each. Long logarithmic axes have no minor ticks, which would take as long again.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    _without_crowds(drawn)
    engine, canvas, dpi, face = drawn.get_layout_engine(), drawn.canvas, drawn.dpi, drawn.get_facecolor()
    png, svg = io.BytesIO(), io.BytesIO()
    with figure_style():
        raster = FigureCanvasAgg(drawn)
        drawn.set(dpi=_SETTINGS["savefig.dpi"], facecolor=_SETTINGS["savefig.facecolor"])
        if engine is not None:
            engine.execute(drawn)
        drawn.set_layout_engine("none")
        raster.print_png(png, metadata={"Software": None})  # type: ignore[no-untyped-call]
        FigureCanvasSVG(drawn).print_svg(svg, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    drawn.set_layout_engine(engine)
    drawn.set_canvas(canvas)
    drawn.set(dpi=dpi, facecolor=face)
    return {"png": png.getvalue(), "svg": svg.getvalue()}
