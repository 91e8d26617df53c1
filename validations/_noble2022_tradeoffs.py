"""Accuracy against a sampling rate when the number of rounds is what a budget affords: noble2022 Figures 9 and 10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import _noble2022 as noble
import numpy as np

from dpfl_theory.privacy import account, get
from dpfl_theory.privacy.noble2022 import rounds_recipe
from dpfl_theory.report import style
from dpfl_theory.validation import Context

EPSILON, LOCAL_STEPS = 5.0, 10
ALGORITHMS = ("DP-FedAvg", "DP-SCAFFOLD-warm")
# The paper does not print sigma_g for these figures; Section 5's values serve. Users M and training records R as there.
SYNTHETIC: dict[str, Any] = {"users": 100, "records": 4000, "noise_multiplier": 60.0}
IMAGES: dict[str, Any] = {"users": 40, "records": 2000, "noise_multiplier": 30.0}


def compute(
    context: Context, symbol: str, rates: Sequence[Mapping[str, Any]], levels: Sequence[tuple[float, float]]
) -> dict[str, Any]:
    """Both algorithms for every rate, on synthetic data of these levels and on image data."""
    rows = (
        ("synthetic", [noble.synthetic(context, *level) for level in levels], SYNTHETIC),
        ("images", [noble.real(context, gamma) for gamma in noble.SIMILARITIES], IMAGES),
    )
    total = sum(len(cases) for _, cases, _ in rows) * len(rates)
    panels: list[dict[str, Any]] = []
    for row, cases, paper in rows:
        for data in cases:
            records = noble.records_of(data, context.seed)
            noise = noble.noise_multiplier(paper["noise_multiplier"], paper["records"] * 5 // 4, records)
            for rate in rates:
                told = {**paper, **rate, "local_steps": LOCAL_STEPS}
                delta = 1.0 / (paper["users"] * paper["records"])
                rounds = rounds_recipe(**told, epsilon=EPSILON, delta=delta)
                setting = noble.Setting(
                    data,
                    rate["user_rate"],
                    rate["record_rate"],
                    LOCAL_STEPS,
                    rounds,
                    noise,
                    lanes=context.pick(quick=4, full=5),
                    every=max(1, rounds // 40),
                )
                certified = account(get("dp-scaffold")(**told, rounds=rounds), delta=delta).epsilon
                panels.append(_panel(context, row, setting, cases[0], rates[-1], rate[symbol], vars(certified)))
                context.progress(len(panels) / total)
    return {
        "configuration": {
            "epsilon": EPSILON,
            "local steps": LOCAL_STEPS,
            "rounds": "the most that the paper's recipe affords for its own M, R and sigma_g",
            "paper": {"synthetic": SYNTHETIC, "images": IMAGES},
            "images": rows[1][1][0].source,
            "eta_0": "tuned once for each algorithm, at the lowest heterogeneity and the last of the rates",
            "warm start": "4/l rounds",
            "clipping": "at the median of the gradients' lengths (D.1), which no privacy theorem covers",
        },
        "panels": panels,
    }


def _panel(
    context: Context,
    row: str,
    setting: noble.Setting,
    lowest: noble.Data,
    cheapest: Mapping[str, Any],
    rate: float,
    certified: Mapping[str, float],
) -> dict[str, Any]:
    # The step size is tuned once for each algorithm: at the lowest heterogeneity and the last of the rates.
    first = replace(setting, data=lowest, rounds=min(setting.rounds, 150), every=5, **cheapest)
    curves, ends, steps = {}, {}, {}
    for name in ALGORITHMS:
        choice = noble.tuned(name, first, context.seed, context.pick(quick=1, full=noble.FOLDS), context.device)
        steps[name] = {"eta_0": choice["eta_0"], "at_edge": choice["at_edge"]}
        series = noble.measured(name, setting, choice["eta_0"], context.seed, context.device)["test-accuracy"]
        curves[name] = {
            "mean": series.mean(axis=1).round(5),
            "low": series.min(axis=1).round(5),
            "high": series.max(axis=1).round(5),
        }
        ends[name] = noble.at_end(series)
    return {
        "row": row,
        "label": setting.data.label,
        "name": setting.data.name,
        "heterogeneity": setting.data.heterogeneity,
        "rate": rate,
        "T": setting.rounds,
        "certified_epsilon_were_the_threshold_fixed": certified,
        "noise_multiplier": setting.noise_multiplier,
        "rounds": noble.observed_rounds(setting),
        "step_sizes": steps,
        "curves": curves,
        "ends": ends,
    }


def lead(panel: Mapping[str, Any]) -> np.ndarray:
    """DP-SCAFFOLD's accuracy at the end less DP-FedAvg's, by run."""
    return np.asarray(np.subtract(panel["ends"]["DP-SCAFFOLD-warm"], panel["ends"]["DP-FedAvg"]))


def heterogeneous(panels: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All but those of i.i.d. users."""
    return [p for p in panels if p["row"] == "synthetic" or p["heterogeneity"][0] < 100.0]


def superiority(
    panels: Sequence[Mapping[str, Any]], symbol: str, paper: str, expected: str | None = None
) -> dict[str, Any]:
    """For every heterogeneous panel DP-SCAFFOLD is more accurate at its last round."""
    leads = {f"{p['name']}, {symbol} = {p['rate']:g}": noble.interval(lead(p)) for p in heterogeneous(panels)}
    lost = [name for name, (_, _, high) in leads.items() if high < 0.0]
    open_ = [name for name, (_, low, high) in leads.items() if low <= 0.0 <= high]
    worst = min(leads, key=lambda name: leads[name][0])
    mean, low, high = leads[worst]
    return {
        "claim": f"for every heterogeneity and {symbol} shown, DP-SCAFFOLD-warm ends more accurate than DP-FedAvg",
        "verdict": "not-reproduced" if lost else "inconclusive" if open_ else "reproduced",
        **noble.on_record(expected),
        "paper": paper,
        "measured": f"in {len(leads) - len(lost) - len(open_)} of {len(leads)} panels, not in {len(lost)}, open in "
        f"{len(open_)}; smallest lead {100 * mean:.1f} points ({100 * low:.1f} to {100 * high:.1f}): {worst}",
    }


def best_rate(
    panels: Sequence[Mapping[str, Any]], symbol: str, wanted: float, paper: str, expected: str | None = None
) -> dict[str, Any]:
    """For every heterogeneous data set: DP-SCAFFOLD's accuracy is highest for the wanted rate."""
    says, verdicts = [], []
    for name in dict.fromkeys(p["name"] for p in heterogeneous(panels)):
        own = {p["rate"]: np.asarray(p["ends"]["DP-SCAFFOLD-warm"]) for p in panels if p["name"] == name}
        gaps = [noble.interval(own[wanted] - values) for rate, values in own.items() if rate != wanted]
        says.append(f"{name}: " + ", ".join(f"{rate:g}: {100 * v.mean():.1f}" for rate, v in own.items()))
        verdicts.append(
            "not-reproduced"
            if any(high < 0.0 for _, _, high in gaps)
            else "reproduced"
            if all(low > 0.0 for _, low, _ in gaps)
            else "inconclusive"
        )
    return {
        "claim": f"for every heterogeneity shown, DP-SCAFFOLD-warm is most accurate with {symbol} = {wanted:g}",
        "verdict": "not-reproduced"
        if "not-reproduced" in verdicts
        else "reproduced"
        if set(verdicts) == {"reproduced"}
        else "inconclusive",
        **noble.on_record(expected),
        "paper": paper,
        "measured": f"accuracy in % by {symbol}: " + "; ".join(says),
    }


def draw(data: Mapping[str, Any], symbol: str) -> dict[str, Any]:
    """Rows: data; columns: heterogeneity; the marks at the bottom are the last rounds T that the budget affords."""
    rows = list(dict.fromkeys(p["row"] for p in data["panels"]))
    columns = {row: list(dict.fromkeys(p["label"] for p in data["panels"] if p["row"] == row)) for row in rows}
    width = max(len(c) for c in columns.values())
    fig, axes = style.figure(len(rows), width, width=4.0 * width, height=1.0 + 2.9 * len(rows), sharey="row")
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
    fig.legend(handles, names, loc="outside lower center", ncol=3)
    return {"": fig}
