"""Accuracy against a sampling rate with the number of rounds that a budget affords: noble2022 Figures 9 and 10."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpfl_theory.privacy import account, get
from dpfl_theory.privacy.noble2022 import rounds_recipe
from dpfl_theory.validation import Context, style

from . import _setting as noble

EPSILON, LOCAL_STEPS = 5.0, 10
ALGORITHMS = ("DP-FedAvg", "DP-SCAFFOLD-warm")
LIMITS = "simultaneous 95% limits over paired runs"
# The paper does not print sigma_g for these figures; Section 5's values are used. Users M and training records R as
# there.
SYNTHETIC: dict[str, Any] = {"users": 100, "records": 4000, "noise_multiplier": 60.0}
IMAGES: dict[str, Any] = {"users": 40, "records": 2000, "noise_multiplier": 30.0}
ASSUMED = "the paper prints no sigma_g for this figure: that of Section 5 is assumed"
QUICK = "50 users with 250 records in the first row, where the paper has 100 with 5000"
# With 50 users the rates l = 0.08, 0.1 and 0.12 pick different numbers of them, as with the paper's 100.
QUICK_USERS = 50
# A local step adds noise eta_0 2C sigma_g/(s^2 R K): small s needs smaller steps than those of the other figures' grid.
STEP_GRID = tuple(float(x) for x in np.geomspace(0.002, 4.0, 10))
QUICK_STEPS, STANDARD_STEPS = 5, 3


def compute(
    context: Context,
    symbol: str,
    rates: Sequence[Mapping[str, Any]],
    levels: Sequence[tuple[float, float]],
    similarities: Sequence[float],
    digits_users: int,
) -> dict[str, Any]:
    """Both algorithms for every rate, on synthetic data of these levels and on image data of these similarities; the
    digits of the default are spread over ``digits_users`` users."""
    users = context.pick(full=QUICK_USERS, paper=SYNTHETIC["users"])
    lowest, *images = [noble.real(context, gamma) for gamma in (noble.SIMILARITIES[0], *similarities)]
    if context.data is None:
        lowest, *images = [replace(data, users=digits_users) for data in (lowest, *images)]
    first, *cases = [replace(noble.synthetic(context, *at), users=users) for at in (noble.LEVELS[0], *levels)]
    rows = (("synthetic", first, cases, SYNTHETIC), ("images", lowest, images, IMAGES))
    panels = [
        _Panel(context, row, data, tuned_on, paper, rate, symbol)
        for row, tuned_on, shown, paper in rows
        for data in shown
        for rate in rates
    ]
    tuned = noble.points(context, {k: v for panel in panels for k, v in panel.tuning().items()}, 0, 2)
    series = noble.points(context, {k: v for panel in panels for k, v in panel.runs(tuned).items()}, 1, 2)
    return {
        "configuration": {
            "epsilon": EPSILON,
            "local steps": LOCAL_STEPS,
            "rounds": "the most that the paper's recipe affords for its own M, R and sigma_g",
            "paper": {"synthetic": SYNTHETIC, "images": IMAGES},
            "images": images[0].source,
            "users": {"synthetic": users, "images": images[0].users},
            "eta_0": "tuned for each algorithm and each rate, at the lowest heterogeneity, on "
            + context.pick(full="all T rounds", paper="all T rounds", standard="half of the T rounds"),
            "warm start": "4/l rounds",
            "clipping": "at the median of the gradients' lengths (D.1), which no privacy theorem covers",
        },
        "panels": [panel.data(tuned, series) for panel in panels],
    }


@functools.cache
def _affordable(**rates: Any) -> tuple[int, dict[str, float]]:
    """T for the budget by the paper's recipe, and the certified epsilon of T rounds."""
    described: dict[str, Any] = {**rates, "local_steps": LOCAL_STEPS}
    delta = 1.0 / (described["users"] * described["records"])
    rounds = rounds_recipe(**described, epsilon=EPSILON, delta=delta)
    return rounds, vars(account(get("dp-scaffold")(**described, rounds=rounds), delta=delta).epsilon)


def _around(record_rate: float, count: int = QUICK_STEPS) -> range:
    """The values of the grid with about the same size of a local step's noise for every s: eta_0 about 4 s^2.

    >>> [round(STEP_GRID[i], 4) for i in _around(0.2)]
    [0.0252, 0.0586, 0.1364, 0.3175, 0.7388]
    """
    middle = int(np.argmin(np.abs(np.log(STEP_GRID) - np.log(4.0 * record_rate**2))))
    first = max(0, middle - count // 2)
    return range(first, first + count)


class _Panel:
    """Both algorithms on one row's data with one rate."""

    def __init__(
        self,
        context: Context,
        row: str,
        data: noble.Data,
        lowest: noble.Data,
        paper: Mapping[str, Any],
        rate: Mapping[str, Any],
        symbol: str,
    ) -> None:
        self.context, self.row, self.rate = context, row, rate[symbol]
        noise = paper["noise_multiplier"], paper["records"] * 5 // 4
        rounds, self.certified = _affordable(**paper, **rate)
        self.setting = noble.Setting(
            data,
            rate["user_rate"],
            rate["record_rate"],
            LOCAL_STEPS,
            rounds,
            noble.noise_multiplier(*noise, noble.records_of(data, context.seed)),
            replicates=context.pick(full=4, paper=5),
            every=max(1, rounds // 40),
        )
        # Each rate has its own step size, so that none is favoured; as in D.1 it is kept for higher heterogeneity.
        # Tuning runs all rounds or half: in the first 100 the warm start takes a larger share, which favours larger
        # steps.
        self.first = replace(self.setting, data=lowest, replicates=1, every=1)

    def tuning(self) -> dict[tuple[str, noble.Setting], partial[Any]]:
        """The choice of each algorithm's step size."""
        c, rounds = self.context, self.setting.rounds
        most = c.pick(full=rounds, paper=rounds, standard=rounds // 2)
        folds = c.pick(full=1, paper=noble.FOLDS)
        own = self.setting.record_rate
        tried = c.pick(full=_around(own), paper=range(len(STEP_GRID)), standard=_around(own, STANDARD_STEPS))
        return {
            (f"eta_0 of {name}", self.first): partial(
                noble.tuned, name, self.first, c.seed, folds, c.device, STEP_GRID, most, tried
            )
            for name in ALGORITHMS
        }

    def runs(self, tuned: Mapping[Any, Any]) -> dict[tuple[str, noble.Setting], partial[Any]]:
        """The runs with these step sizes."""
        c = self.context
        return {
            (name, self.setting): partial(
                noble.accuracies, name, self.setting, tuned[f"eta_0 of {name}", self.first]["eta_0"], c.seed, c.device
            )
            for name in ALGORITHMS
        }

    def data(self, tuned: Mapping[Any, Any], series: Mapping[Any, Any]) -> dict[str, Any]:
        """The shown panels."""
        setting, curves, ends, steps = self.setting, {}, {}, {}
        for name in ALGORITHMS:
            choice, run = tuned[f"eta_0 of {name}", self.first], np.asarray(series[name, setting])
            steps[name] = {"eta_0": choice["eta_0"], "at_edge": choice["at_edge"]}
            curves[name] = {
                "mean": run.mean(axis=1).round(5),
                "low": run.min(axis=1).round(5),
                "high": run.max(axis=1).round(5),
            }
            ends[name] = noble.at_end(run)
        return {
            "row": self.row,
            "label": setting.data.label,
            "name": setting.data.name,
            "heterogeneity": setting.data.heterogeneity,
            "rate": self.rate,
            "T": setting.rounds,
            "certified_epsilon_were_the_threshold_fixed": self.certified,
            "noise_multiplier": setting.noise_multiplier,
            "rounds": noble.observed_rounds(setting),
            "step_sizes": steps,
            "curves": curves,
            "ends": ends,
        }


def draw(data: Mapping[str, Any], symbol: str) -> dict[str, Any]:
    """Rows: data; columns: heterogeneity; the marks at the bottom are the last rounds T that the budget affords."""
    rows = list(dict.fromkeys(p["row"] for p in data["panels"]))
    columns = {row: list(dict.fromkeys(p["label"] for p in data["panels"] if p["row"] == row)) for row in rows}
    width = max(len(c) for c in columns.values())
    fig, axes = style.figure(len(rows), width, width=max(4.0 * width, 5.5), height=1.0 + 2.9 * len(rows), sharey="row")
    axes = np.asarray(axes).reshape(len(rows), width)
    rates = sorted({p["rate"] for p in data["panels"]})
    styles = dict(zip(rates, (":", "--", "-")))
    colours = {"DP-FedAvg": noble.COLOURS["FedAvg"], "DP-SCAFFOLD-warm": noble.COLOURS["SCAFFOLD-warm"]}
    for panel in data["panels"]:
        ax = axes[rows.index(panel["row"]), columns[panel["row"]].index(panel["label"])]
        for name, curve in panel["curves"].items():
            label = f"{name}, ${symbol} = {panel['rate']:g}$"
            ax.plot(panel["rounds"], curve["mean"], color=colours[name], linestyle=styles[panel["rate"]], label=label)
            style.band(ax, panel["rounds"], curve["low"], curve["high"], colours[name])
        ax.axvline(panel["T"], color=style.NEUTRAL, linestyle=styles[panel["rate"]], linewidth=0.9)
        ax.set_title(panel["label"])
        ax.set_ylim(0.0, 1.0)
    for row, label in zip(axes, rows, strict=True):
        for ax in row[len(columns[label]) :]:
            ax.set_axis_off()
        row[0].set_ylabel("test accuracy")
    for ax in axes[-1]:
        ax.set_xlabel("round t")
    handles, names = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncol=len(rates))
    return {"": fig}
