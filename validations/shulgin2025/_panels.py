"""Panels that the figures of shulgin2025 share: curves over rounds, and values after the last round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpfl_theory.validation import style

from . import _setting as setting

DASHES: dict[str, Any] = {"ec": "-", "ec-server": (0, (1.2, 1.2)), "clip21": (0, (4, 1.6)), "dp-sgd": (0, (4, 1.6))}
COLOURS = ("#56B4E9", "#0072B2", "#000000", "#E69F00", "#D55E00")
"""From the smallest beta to the largest."""
RELATIVE = r"$(f(x_k) - f^*)/(f(x_0) - f^*)$"
UNIT = r"in units of $G_0$"


def curves(ax: Any, rounds: Sequence[int], points: Sequence[Mapping[str, Any]], colours: Mapping[float, str]) -> None:
    """Suboptimality over rounds: a colour for each beta, a dash for each method."""
    for p in points:
        colour = colours[p["beta"]]
        ax.plot(rounds, power(p["curve"]), color=colour, linestyle=DASHES[p["method"]])
        style.band(ax, rounds, power(p["low"]), power(p["high"]), colour)
    ax.set_yscale("log")
    ax.set_xlabel("round k")


def over(ax: Any, what: str, points: Sequence[Mapping[str, Any]], colour: str, dash: Any, shift: float = 1.0) -> None:
    """Suboptimality after the last round against beta or alpha, with bars of two standard errors."""
    found = sorted(points, key=lambda p: float(p[what]))
    x = shift * np.array([p[what] for p in found])
    y, factor = power([p["final"] for p in found]), power([2.0 * p["error"] for p in found])
    bars = ax.errorbar(x, y, yerr=[y - y / factor, y * factor - y], color=colour, marker="o", capsize=3)
    bars[0].set_linestyle(dash)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(rf"$\{what}$, {UNIT}")


def power(values: Any) -> Any:
    """10 to the values; None, the value of a run that overflowed, is left out of the drawing."""
    return 10.0 ** np.array([np.nan if v is None else v for v in values], dtype=float)


def line(**style_of_line: Any) -> Any:
    """A handle for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **style_of_line)


def beta_handles(betas: Sequence[float], colours: Mapping[float, str]) -> list[Any]:
    """Handles for the colours of the curves."""
    return [line(color=colours[b], label=rf"left: $\beta = {b:g}\,G_0$") for b in betas]


def method_handles(methods: Sequence[str]) -> list[Any]:
    """Handles for the dashes of the curves."""
    return [line(color=style.BOUND, linestyle=DASHES[m], label=setting.METHODS[m]) for m in methods]
