"""Recommended hyper-parameters compared with the papers' rules and with a dense grid, over privacy budgets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dpfl_theory.recommend.search import Plan
from dpfl_theory.runtime.executor import one_thread
from dpfl_theory.validation import Context, as_question, style

from . import _landscape as landscape

TITLE = "Recommended hyper-parameters, the papers' rules, and the best of a dense grid"
ROUNDS = 32
CAPTION = (
    "The mean suboptimality at the end of private training, with delta = 1e-5 for each client's data. The noise is "
    "certified for the epsilon on the axis, and a client sends at most 32 vectors; all runs start at 0. Dots: the "
    "hyper-parameters that `recommend` finds; rings: the best of a grid over all hyper-parameters with at least ten "
    "times as many runs; for the algorithm that ends lowest (in the standard profile only DP-FedAvg, and a grid only "
    "at the largest epsilon). Crosses and squares: the rules that the papers print and the minimisers of their bounds. "
    "They have certified noise in place of the papers' own, and their own number of rounds. Where a rule is missing "
    "its hypotheses cannot be met; the grey line is the start: values above it are worse than no training. Bars: two "
    "standard errors."
)
SOURCE = {
    "paper": "das2022, hou2023, shulgin2025, zhang2021",
    "where": "das2022 Theorem 4; hou2023 Corollary 1; shulgin2025 Corollary 2; zhang2021 Section 3.1",
}
BUDGET_SECONDS = {"full": 60.0, "paper": 14400.0}
DATA = (
    "a CSV, Parquet, NPZ or LIBSVM file of records with at least two classes, as one more problem (such as mushrooms)"
)

QUICK = Plan(points=64, generations=5, finalists=12, second=8, best=4, third=32, last=64)
WITHIN = 1.1
"""The largest ratio of a recommendation's end to the grid's best."""
SURE = 3.0
"""The standard errors allowed for a measured ratio: each comparison fails by chance with probability 0.0013."""


def compute(context: Context) -> dict[str, Any]:
    cases = list(context.pick(full=[landscape.CASES["breast-cancer-plain"]], paper=list(landscape.CASES.values())))
    if context.data is not None:
        cases.append(landscape.own(context.data))
    epsilons = context.pick(full=(0.5, 3.3, 10.0), paper=(0.5, 1.0, 2.0, 3.3, 5.0, 10.0), standard=(0.5, 10.0))
    names = context.pick(full=["dp-fedavg", "dp-norm-ec"], paper=landscape.algorithms(), standard=["dp-fedavg"])
    plan = context.pick(full=QUICK, paper=Plan())
    replicates = context.pick(full=64, paper=64, standard=16)
    compared = context.pick(full=epsilons, paper=epsilons, standard=epsilons[-1:])
    work = landscape.jobs(cases, names, epsilons, ROUNDS, plan, context.seed, replicates, compared)
    with one_thread():
        results = context.each(work, [f"{case.name}, {name}, epsilon {e:g}" for case, name, e in map(_of, work)])
    cells = [r for r in results if isinstance(r, dict)]
    rules = [r for reported in results if isinstance(reported, list) for r in reported]
    data = {
        "configuration": {
            "delta": landscape.DELTA,
            "rounds": ROUNDS,
            "plan": vars(plan),
            "epsilon": epsilons,
            "runs of a rule": replicates,
        },
        "start": {case.name: landscape.start(case) for case in cases},
        "cells": cells,
        "rules": rules,
    }
    return {**data, "claims": _claims(data)}


def _of(job: partial[Any]) -> tuple[landscape.Case, str, float]:
    case, name, epsilon, *_ = job.args
    return case, name, epsilon


def _best(cells: Sequence[Mapping[str, Any]], case: str, epsilon: float, which: str) -> Mapping[str, Any]:
    """The algorithm that ends lowest in a case at a budget, by the searches or by the grids."""
    own = [c for c in cells if c["case"] == case and c["epsilon"] == epsilon]
    return min(own, key=lambda c: c[which]["mean"])


def _pairs(cells: Sequence[Mapping[str, Any]]) -> list[tuple[str, float]]:
    return list(dict.fromkeys((c["case"], c["epsilon"]) for c in cells))


def _claims(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    compared = [c for c in data["cells"] if c["grid"] is not None]
    ratios = [(*landscape.ratio(c), c) for c in compared]
    worst, error, at = max(ratios, key=lambda r: r[0])
    overall = [
        {"best": _best(compared, *p, "best")["best"], "grid": _best(compared, *p, "grid")["grid"], "at": p}
        for p in _pairs(compared)
    ]
    most = max(overall, key=lambda cell: landscape.ratio(cell)[0])
    share = max(c["runs"]["best"] / c["runs"]["grid"] for c in compared)
    run = [r for r in data["rules"] if r["suboptimality"] is not None]
    above = [r for r in run if r["suboptimality"]["mean"] > data["start"][r["case"]]]
    factors = [
        r["suboptimality"]["mean"] / _best(data["cells"], r["case"], r["epsilon"], "best")["best"]["mean"] for r in run
    ]
    bounds = _bounds(data["rules"])
    questions = [
        {
            "claim": f"a recommendation ends within {WITHIN - 1:.0%} of the best of a grid over all hyper-parameters",
            "verdict": _verdict(all(r <= WITHIN + SURE * e for r, e, _ in ratios)),
            "expected": "reproduced",
            "paper": "not in a paper: the purpose of `recommend`",
            "measured": f"over all algorithms at most {landscape.ratio(most)[0]:.3f} +- {landscape.ratio(most)[1]:.2f} "
            f"times ({most['at'][0]}, epsilon = {most['at'][1]:g}); algorithm by algorithm at most {worst:.3f} +- "
            f"{error:.2f} ({at['algorithm']}, {at['case']}, epsilon = {at['epsilon']:g}); with at most {share:.1%} of "
            "the grid's runs",
        },
        {
            "claim": "the papers' rules do as well at every budget, given certified noise",
            "verdict": "not-reproduced" if factors and max(factors) > WITHIN else "inconclusive",
            "expected": "not-reproduced",
            "paper": "das2022 Theorem 4, hou2023 Corollary 1, shulgin2025 Corollary 2: minimisers of bounds, no more",
            "measured": (
                f"they end at {min(factors):.2g} to {max(factors):.2g} times the recommendation's suboptimality; "
                f"{len(above)} of {len(run)} end above the start, and {len(data['rules']) - len(run)} have no answer"
            )
            if factors
            else "no rule has an answer",
        },
        {
            "claim": "the minimiser of a bound has a smaller bound than the printed choice",
            "verdict": _verdict(all(optimal <= printed * (1 + 1e-9) for printed, optimal in bounds)),
            "expected": "reproduced",
            "paper": "not in a paper",
            "measured": f"in {len(bounds)} pairs, by a factor of "
            + (f"{min(b / a for a, b in bounds):.2g} to {max(b / a for a, b in bounds):.2g}" if bounds else "-"),
        },
    ]
    return [as_question(question) for question in questions]


def _bounds(rules: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """The printed rule's bound and the optimal one's, where both have one."""
    found: dict[tuple[str, str, float], dict[str, float]] = {}
    for r in rules:
        if r.get("bound") is not None:
            found.setdefault((r["case"], r["algorithm"], r["epsilon"]), {})[r["rule"]] = r["bound"]
    return [(b["printed"], b["bound-optimal"]) for b in found.values() if len(b) == 2]


def _verdict(true: bool) -> str:
    return "reproduced" if true else "not-reproduced"


MARKS = {"printed": "x", "bound-optimal": "s"}


def draw(data: dict[str, Any]) -> dict[str, Any]:
    cases = list(data["start"])
    columns = 2 if len(cases) == 4 else min(3, len(cases))
    rows = math.ceil(len(cases) / columns)
    fig, axes = style.figure(rows, columns, width=4.6 * columns + 2.0, height=3.6 * rows)
    panels = list(axes.flat) if hasattr(axes, "flat") else [axes]
    colours = dict(zip(landscape.with_rules(), style.PALETTE, strict=False))
    for ax, case in zip(panels, cases):
        _panel(ax, data, case, colours)
    for ax in panels[len(cases) :]:
        ax.set_visible(False)
    _legend(fig, colours)
    return {"": fig}


def _panel(ax: Any, data: Mapping[str, Any], case: str, colours: Mapping[str, str]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    epsilons = sorted({c["epsilon"] for c in data["cells"] if c["case"] == case})
    for which, look in (
        ("grid", {"marker": "o", "markersize": 9, "markerfacecolor": "none", "linestyle": "none"}),
        ("best", {"marker": "o", "markersize": 4.5}),
    ):
        shown = [c for c in data["cells"] if c[which] is not None]
        at = [e for e in epsilons if (case, e) in _pairs(shown)]
        own = [_best(shown, case, e, which)[which] for e in at]
        ax.errorbar(at, [c["mean"] for c in own], [2 * c["error"] for c in own], color=style.BOUND, zorder=4, **look)
    for rule, mark in MARKS.items():
        for name, colour in colours.items():
            run = [
                (r["epsilon"], r["suboptimality"]["mean"])
                for r in data["rules"]
                if (r["case"], r["rule"], r["algorithm"]) == (case, rule, name) and r["suboptimality"] is not None
            ]
            run = sorted((e, gap) for e, gap in run if math.isfinite(gap))
            if run:
                look = {"color": colour, "linestyle": ":", "linewidth": 0.8, "markersize": 6.5, "zorder": 3}
                ax.plot(*zip(*run), mark, markerfacecolor="none", **look)
    ax.axhline(data["start"][case], color=style.NEUTRAL, linewidth=1.2, zorder=1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    ax.minorticks_off()
    ax.set_title(case)
    ax.set_xlabel(r"certified $\varepsilon$")
    ax.set_ylabel("suboptimality")


def _legend(fig: Any, colours: Mapping[str, str]) -> None:
    from matplotlib.lines import Line2D

    def key(label: str, **look: Any) -> Any:
        return Line2D([], [], label=label, linestyle="none", **look)

    handles = [
        key("recommended", marker="o", color=style.BOUND, markersize=4.5),
        key("best of the grid", marker="o", color=style.BOUND, markersize=9, markerfacecolor="none"),
        key("a paper's rule", marker="x", color=style.NEUTRAL),
        key("its bound's minimiser", marker="s", color=style.NEUTRAL, markerfacecolor="none"),
        *(key(name, marker="s", color=colour) for name, colour in colours.items()),
        Line2D([], [], label="the start", color=style.NEUTRAL),
    ]
    fig.legend(handles=handles, loc="outside right upper")
