"""Panels of the algorithms over rounds, by heterogeneity and number of local steps: noble2022 Figures 1 to 8."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpfl_theory.validation import Context, style

from . import _setting as noble

STEPS = (50, 100)
BASE = {"user_rate": 0.2, "record_rate": 0.2}
RIVALS = ("DP-FedAvg", "DP-FedSGD", noble.ONE_STEP)
PRIVATE = "DP-SCAFFOLD-warm"
LIMITS = "simultaneous 95% limits over paired runs"
FEDSGD = (
    "FedSGD, the paper's FedAvg with Ks = 1, takes K = 1/s = 5 local steps at s = 0.2; dash-dotted, with privacy: its "
    "other reading, K = 1 step on all records."
)
SCALE = (
    "Step sizes are eta_0/(sK), with eta_0 chosen by held-out accuracy at the lowest heterogeneity (one fold, five in "
    "the paper profile; half of the rounds, in the paper profile 100). The warm start takes 4/l = 20 rounds, at most a "
    "quarter of all. "
    + FEDSGD
    + " The full profile has 40 users with 250 records, 40 rounds and the paper's noise in each local step. The "
    "standard one has 24 rounds and shows only the lowest and the highest heterogeneity. The paper profile has 100 "
    "users with 5000 records and 400 rounds. The data hold the epsilon of each, were the threshold fixed. "
    + noble.PUBLISHED_CODE
)
REAL_SCALE = (
    "By default the digits of scikit-learn over 20 users, with the noise that the paper's users, who have 2500 "
    "records, add in a local step; with --data, the named data over 40 users with 2500 records, as the paper's "
    "FEMNIST. The standard profile leaves out gamma = 10%. Step sizes are eta_0/(sK), with eta_0 by cross-validation "
    "at the lowest heterogeneity. " + FEDSGD + " " + noble.PUBLISHED_CODE
)


@dataclass(frozen=True)
class Metric:
    """A plotted quantity: its key in the runs, its axis label, and whether more is better."""

    key: str
    label: str
    more_is_better: bool


LOSS = Metric("loss", r"$\log_{10}(F(x^t) - F(x^*))$", False)
ACCURACY = Metric("test-accuracy", "test accuracy", True)
DISSIMILARITY = Metric("gradient-dissimilarity", "gradient dissimilarity", False)


def compute(
    context: Context,
    cases: Sequence[noble.Data],
    steps: Sequence[int],
    printed: tuple[float, int],
    metric: Metric,
) -> dict[str, Any]:
    """The panels' curves, ends and privacy; ``printed``: the paper's sigma_g and its number R of a user's records."""
    base = {
        **BASE,
        "rounds": context.pick(full=40, paper=400, standard=24),
        "replicates": context.pick(full=4, paper=5, standard=6 if cases[0].source == "synthetic" else 4),
        "every": context.pick(full=2, paper=8, standard=4),
    }
    found = []
    for panel in _panels(context, cases, steps, base, printed):
        setting = panel["setting"]
        ends = {name: noble.at_end(curve[metric.key]) for name, curve in panel["curves"].items()}
        found.append(
            {
                "label": setting.data.label,
                "name": setting.data.name,
                "at_optimum": _at_optimum(setting.data, context.seed) if metric is DISSIMILARITY else None,
                "heterogeneity": setting.data.heterogeneity,
                "K": setting.local_steps,
                "noise_multiplier": setting.noise_multiplier,
                "privacy": panel["privacy"],
                "rounds": noble.observed_rounds(setting),
                "eta_0": {name: curve["eta_0"] for name, curve in panel["curves"].items()},
                "eta_0_at_edge": [name for name, curve in panel["curves"].items() if curve["at_edge"]],
                "ends": ends,
                "curves": {
                    name: {
                        "mean": _rounded(curve[metric.key].mean(axis=1)),
                        "low": _rounded(curve[metric.key].min(axis=1)),
                        "high": _rounded(curve[metric.key].max(axis=1)),
                    }
                    for name, curve in panel["curves"].items()
                },
            }
        )
    data = cases[0]
    configuration = {
        "records of": data.source,
        "users": data.users,
        "records of a user": data.records,
        **base,
        "clipping": "at the median of the gradients' lengths (D.1), which no privacy theorem covers",
        "ridge": 5e-3,
        "paper": {"sigma_g": printed[0], "records of a user": printed[1], "rounds": 400, "runs": 3},
    }
    return {"configuration": configuration, "panels": found}


def _panels(
    context: Context,
    cases: Sequence[noble.Data],
    steps: Sequence[int],
    base: Mapping[str, Any],
    printed: tuple[float, int],
) -> list[dict[str, Any]]:
    """All algorithms on all data and numbers of local steps.

    eta_0 is tuned on the first of the data (the lowest heterogeneity) with the first number of local steps, and kept,
    as in D.1. In the full profile it is tuned on half the rounds.
    """
    folds = context.pick(full=1, paper=noble.FOLDS)
    tuning = {**base, "rounds": context.pick(full=base["rounds"] // 2, paper=base["rounds"])}
    settings: dict[noble.Setting, noble.Setting] = {}
    for data in cases:
        noise = noble.noise_multiplier(printed[0], printed[1], noble.records_of(data, context.seed))
        first = noble.Setting(cases[0], local_steps=steps[0], noise_multiplier=noise, **tuning)
        for K in steps:
            settings[noble.Setting(data=data, local_steps=K, noise_multiplier=noise, **base)] = first
    tuned = noble.points(
        context,
        {
            (f"eta_0 of {name}", first): partial(noble.tuned, name, first, context.seed, folds, context.device)
            for first in settings.values()
            for name in noble.ALGORITHMS
        },
        0,
        2,
    )
    runs = {}
    for setting, first in settings.items():
        for name in noble.ALGORITHMS:
            replicates = (
                context.pick(full=2, paper=setting.replicates, standard=1)
                if name in noble.SHOWN_ALONE
                else setting.replicates
            )
            eta_0 = tuned[f"eta_0 of {name}", first]["eta_0"]
            own = replace(setting, replicates=replicates)
            runs[name, setting] = partial(noble.measured, name, own, eta_0, context.seed, context.device)
    series = noble.points(context, runs, 1, 2)
    found: list[dict[str, Any]] = []
    for setting, first in settings.items():
        curves = {}
        for name in noble.ALGORITHMS:
            choice = tuned[f"eta_0 of {name}", first]
            own_series = {key: np.asarray(values) for key, values in series[name, setting].items()}
            curves[name] = {"eta_0": choice["eta_0"], "at_edge": choice["at_edge"], **own_series}
        training = (1.0 - noble.TEST_SHARE) * noble.records_of(setting.data, context.seed)
        found.append({"setting": setting, "curves": curves, "privacy": noble.privacy(setting, training)})
    return found


def images(context: Context, steps: Sequence[int], metric: Metric) -> dict[str, Any]:
    """The panels of image data for every similarity of the users."""
    cases = [noble.real(context, gamma) for gamma in noble.ends(context, noble.SIMILARITIES)]
    return compute(context, cases, steps, (30.0, 2500), metric)


def superiority_on_images(panels: Sequence[Mapping[str, Any]], paper: str) -> dict[str, Any]:
    """The claims on accuracy on image data: better where users differ."""
    return superiority([p for p in panels if p["heterogeneity"][0] < 100.0], ACCURACY, paper)


def _at_optimum(data: noble.Data, seed: int) -> float:
    """(1/M) sum_i ||grad F_i(x*)||^2."""
    return float(np.mean(np.sum(noble.split_of(data, seed).train.gradients_at_star ** 2, axis=1)))


def _rounded(values: Any) -> list[float]:
    return [float(f"{x:.5g}") if math.isfinite(x) else math.nan for x in values]


def lead(panel: Mapping[str, Any], rival: str, metric: Metric) -> np.ndarray:
    """The lead of DP-SCAFFOLD-warm over a rival at the end, by run; both runs of a pair share their noise."""
    sign = 1.0 if metric.more_is_better else -1.0
    mine, other = (np.asarray(panel["ends"][name]) for name in (PRIVATE, rival))
    return np.asarray(sign * (mine - other))


def superiority(
    panels: Sequence[Mapping[str, Any]], metric: Metric, paper: str, expected: str | None = None
) -> dict[str, Any]:
    """For all panels and all rivals, FedSGD in both readings: DP-SCAFFOLD is better at the end."""
    gaps = noble.simultaneous(
        {f"{p['name']}, K = {p['K']}, {r}": lead(p, r, metric) for p in panels for r in RIVALS},
    )
    worst = min(gaps, key=lambda name: gaps[name][0])
    lost = [name for name, (_, _, high) in gaps.items() if high < 0.0]
    open_ = [name for name, (_, low, high) in gaps.items() if low <= 0.0 <= high]
    mean, low, high = gaps[worst]
    return {
        "claim": "for every heterogeneity and number of local steps shown, DP-SCAFFOLD-warm ends better than DP-FedAvg "
        "and than DP-FedSGD in either reading of Ks = 1",
        "verdict": noble.all_within(gaps),
        **noble.on_record(expected),
        "paper": paper,
        "measured": f"better in {len(gaps) - len(lost) - len(open_)} of {len(gaps)} comparisons, worse in {len(lost)}"
        f"{_named(lost)}, open in {len(open_)}{_named(open_)}; smallest lead {mean:.3g} ({low:.3g} to {high:.3g}, "
        f"{LIMITS}): {worst}",
    }


def _named(names: Sequence[str]) -> str:
    return f" ({'; '.join(names)})" if names else ""


def nearer(panels: Sequence[Mapping[str, Any]], paper: str, expected: str | None = None) -> dict[str, Any]:
    """For every panel: DP-SCAFFOLD's dissimilarity ends nearer (in log) to the optimum's than DP-FedAvg's."""
    nearer_by = {}
    for p in panels:
        off = {name: np.abs(np.log10(np.asarray(p["ends"][name]) / p["at_optimum"])) for name in (PRIVATE, "DP-FedAvg")}
        nearer_by[f"{p['name']}, K = {p['K']}"] = off["DP-FedAvg"] - off[PRIVATE]
    gaps = noble.simultaneous(nearer_by)
    said = "; ".join(f"{name}: {m:+.3f} ({low:+.3f} to {high:+.3f})" for name, (m, low, high) in gaps.items())
    return {
        "claim": "in every panel the gradient dissimilarity of DP-SCAFFOLD-warm ends nearer to the optimum's than "
        "DP-FedAvg's",
        "verdict": noble.all_within(gaps),
        **noble.on_record(expected),
        "paper": paper,
        "measured": f"decrease of the distance, in decades, {LIMITS}: {said}",
    }


def growing_gap(
    panels: Sequence[Mapping[str, Any]], metric: Metric, paper: str, expected: str | None = None
) -> dict[str, Any]:
    """For every heterogeneity: the lead over DP-FedAvg grows from the first number of local steps to the last."""
    grown = {}
    for label in dict.fromkeys(p["name"] for p in panels):
        own = sorted((p for p in panels if p["name"] == label), key=lambda p: float(p["K"]))
        grown[label] = lead(own[-1], "DP-FedAvg", metric) - lead(own[0], "DP-FedAvg", metric)
    changes = noble.simultaneous(grown)
    said = "; ".join(f"{c}: {m:+.3g} ({low:.2g} to {high:.2g})" for c, (m, low, high) in changes.items())
    return {
        "claim": "the lead of DP-SCAFFOLD-warm over DP-FedAvg grows with the number K of local steps, for every "
        "heterogeneity shown",
        "verdict": noble.all_within(changes),
        **noble.on_record(expected),
        "paper": paper,
        "measured": f"change of the lead from K = {STEPS[0]} to {STEPS[-1]}, {LIMITS}: {said}",
    }


def sometimes_beats_fedavg(
    panels: Sequence[Mapping[str, Any]], metric: Metric, expected: str | None = None
) -> dict[str, Any]:
    """In some panel DP-SCAFFOLD ends better than FedAvg without privacy."""
    gaps = noble.simultaneous({f"{p['name']}, K = {p['K']}": lead(p, "FedAvg", metric) for p in panels})
    best = max(gaps, key=lambda name: gaps[name][1])
    mean, low, high = gaps[best]
    none = all(high < 0.0 for _, _, high in gaps.values())
    return {
        "claim": "in some panel DP-SCAFFOLD-warm ends better than FedAvg without privacy",
        "verdict": "reproduced" if low > 0.0 else "not-reproduced" if none else "inconclusive",
        **noble.on_record(expected),
        "paper": "D.3.3: DP-SCAFFOLD sometimes even outperforms (non-private) FedAvg",
        "measured": f"largest lead {mean:.3g} ({low:.3g} to {high:.3g}, {LIMITS}): {best}",
    }


def draw(data: Mapping[str, Any], metric: Metric, log: bool = False) -> dict[str, Any]:
    """Columns: heterogeneity; rows: local steps; private algorithms solid, FedSGD's other reading dash-dotted, others
    dashed; bands from run to run."""
    labels = list(dict.fromkeys(p["label"] for p in data["panels"]))
    rows = list(dict.fromkeys(p["K"] for p in data["panels"]))
    fig, axes = style.figure(
        len(rows), len(labels), width=4.0 * len(labels), height=1.0 + 2.9 * len(rows), sharex=True, sharey="row"
    )
    axes = np.asarray(axes).reshape(len(rows), len(labels))
    for panel in data["panels"]:
        ax = axes[rows.index(panel["K"]), labels.index(panel["label"])]
        for name, curve in panel["curves"].items():
            colour = noble.COLOURS[name.removeprefix("DP-")]
            y, low, high = (_numbers(curve[k]) for k in ("mean", "low", "high"))
            form = "-." if name == noble.ONE_STEP else "-" if name.startswith("DP-") else "--"
            ax.plot(panel["rounds"], y, color=colour, linestyle=form, label=name)
            style.band(ax, panel["rounds"], low, high, colour)
        if panel.get("at_optimum") is not None:
            ax.axhline(panel["at_optimum"], color=style.NEUTRAL, linestyle=":", label="at the optimum")
        ax.set_title(f"{panel['label']}, K = {panel['K']}")
        if log:
            ax.set_yscale("log")
    for ax in axes[-1]:
        ax.set_xlabel("round t")
    for ax in axes[:, 0]:
        ax.set_ylabel(metric.label)
    handles, names = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncol=4 if len(labels) < 3 else 8)
    return {"": fig}


def _numbers(values: Sequence[float | None]) -> list[float]:
    """A value that is not finite is null in the data, and a gap in the curve."""
    return [math.nan if x is None else x for x in values]
