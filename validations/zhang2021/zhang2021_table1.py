"""zhang2021 Table 1: the stationary points of FedAvg on problem (8), in rational arithmetic and by runs."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

from dpfl_theory.problems.scalar import ScalarQuadratics, equation_8
from dpfl_theory.validation import Context, as_question, style

from . import _setting as shared
from . import _table1 as table

TITLE = "Table 1: the stationary points of FedAvg on problem (8), for each quantity that can be clipped"
CAPTION = (
    "Stationary points of FedAvg on f_1 = (x-4)^2/2, f_2 = (2x-1)^2/2, f_3 = (6x+1)^2/2 with optimum 0 and threshold c "
    "= 1, for each quantity that can be clipped. Lines: exact, from the piecewise-linear equation of one round in "
    "rational arithmetic; where one is missing, no stationary point attracts. Dots: the ends of the algorithm from 41 "
    "starting points in [-10, 10], which agree. Stars: the entries that Table 1 prints. Left: one local step, against "
    "the local step size; beyond 6/41 the unclipped method diverges. Section 2.1 says that for Q = 1 clipping updates "
    "is clipping gradients; with it all four printed entries are right. Right: local step size 1/50, against the "
    "number of local steps; the right edge is Q = infinity, where every client goes to its own minimiser."
)
SOURCE = {"paper": "zhang2021", "where": "Table 1, equation (8), Section 2.1"}
BUDGET_SECONDS = {"full": 8.0, "paper": 60.0}


def compute(context: Context) -> dict[str, Any]:
    clients = equation_8()
    cases = [
        (reading, q, step) for reading in table.READINGS for q in ("1", "inf") for step in (*table.STEPS, *table.LARGE)
    ]
    entries = [table.entry(clients, *case) for case in cases if case[1] == "1" or case[2] < table.ENDLESS_BELOW]
    context.progress(0.1)
    lines = {"step": table.over_steps(clients, context), "steps": table.over_local_steps(clients, context)}
    runs = table.runs(clients, context)
    data: dict[str, Any] = {
        "configuration": {
            "problem": clients.name,
            "c": "1, and infinity",
            "exact": "all solutions of the fixed-point equation of one round, over the rationals",
            "readings": table.READINGS,
            "local step sizes": [str(s) for s in (*table.STEPS, *table.LARGE)],
            "starting points": f"{len(shared.STARTS)} from {shared.STARTS[0]:g} to {shared.STARTS[-1]:g}",
        },
        "printed": [{"c": c, "Q": q, "x": str(x)} for (c, q), x in table.PRINTED.items()],
        "entries": entries,
        "lines": lines,
        "runs": runs,
    }
    return {**data, "claims": _claims(clients, entries, runs)}


def _claims(
    clients: ScalarQuadratics, entries: list[dict[str, Any]], runs: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    endless = [s for s in table.STEPS if s < table.ENDLESS_BELOW]
    free = {
        q: [shared.stationary(clients, "none", s, q, None) for s in steps]
        for q, steps in ((1, table.STEPS), (math.inf, endless))
    }

    def of(reading: str, q: str, **more: Any) -> list[dict[str, Any]]:
        wanted = {"reading": reading, "Q": q, **more}
        return [e for e in entries if all(e[k] == v for k, v in wanted.items())]

    def verdict(truth: bool) -> str:
        return "reproduced" if truth else "not-reproduced"

    def values(rows: list[dict[str, Any]]) -> str:
        return ", ".join(sorted({v for e in rows for v in e["exact"]}))

    unclipped = all(
        len(points) == 1 and shared.attracting(points) == [x]
        for q, x in ((1, F(0)), (math.inf, F(13, 9)))
        for points in free[q]
    )
    stable = {q: of("difference", q, unclipped_stable=True) for q in ("1", "inf")}
    gradient = {q: of("gradient", q, unclipped_stable=True) for q in ("1", "inf")}
    scaled = {q: of("scaled", q, unclipped_stable=True) for q in ("1", "inf")}
    section = [*gradient["1"], *stable["inf"]]
    large = [e for e in of("difference", "1") if e["agrees"]]
    judged = [r for r in runs if r["Q"] > 1 or F(r["step"]) < table.STABLE_BELOW]
    worst = max(math.inf if r["error"] is None or r["diverged"] else r["error"] for r in judged)
    beyond = [r for r in runs if r not in judged and r["reading"] != "none"]
    elsewhere = [r for r in beyond if r["error"] is None or r["error"] > 1e-6]
    diverging = [r for r in runs if r["reading"] == "none" and r["Q"] == 1 and F(r["step"]) > table.STABLE_BELOW]
    model = of("model", "inf", unclipped_stable=True)
    return [
        {
            "claim": "c = infinity: x = 0 for Q = 1 and x = 13/9 for Q = infinity, at every stable local step tried",
            "verdict": verdict(unclipped),
            "expected": "reproduced",
            "paper": "Table 1, first row",
            "measured": "; ".join(
                f"Q = {name}: {', '.join(sorted({shared.written(p) for points in free[q] for p in points}))}"
                for name, q in (("1", 1), ("infinity", math.inf))
            )
            + ", unique and attracting",
        },
        {
            "claim": "as captioned, gradients clipped to c = 1: x = 1/2 for Q = 1",
            "verdict": verdict(all(e["agrees"] for e in gradient["1"])),
            "expected": "reproduced",
            "paper": "Table 1, second row",
            "measured": f"{values(gradient['1'])} at every local step, unique and attracting",
        },
        {
            "claim": "as captioned, gradients clipped to c = 1: x = 2/3 for Q = infinity",
            "verdict": verdict(all(e["agrees"] for e in gradient["inf"])),
            "expected": "not-reproduced",
            "paper": "Table 1, second row",
            "measured": f"{values(gradient['inf'])}: with endless local steps clipped gradients lead to the same "
            "minimisers, so the threshold changes nothing",
        },
        as_question(
            {
                "claim": "is x = 1/2 for Q = 1 also the stationary point where c = 1 bounds the update, at local steps "
                "at which the unclipped method is stable?",
                "verdict": verdict(all(e["agrees"] for e in stable["1"])),
                "expected": "no",
                "paper": "not stated: Section 2.1 says that for Q = 1 difference clipping is gradient clipping",
                "measured": f"{values(stable['1'])} at every local step below 6/41: at the optimum the updates are at "
                "most 6 eta < 1 long, so nothing is clipped; 1/2 is stationary only at "
                f"{', '.join(e['step'] for e in large)} and other local steps of at least 2/7",
            }
        ),
        {
            "claim": "with the update clipped to c = 1 (Algorithm 2): x = 2/3 for Q = infinity",
            "verdict": verdict(all(e["agrees"] for e in stable["inf"])),
            "expected": "reproduced",
            "paper": "Table 1, second row, read with Algorithm 2",
            "measured": f"{values(stable['inf'])}, unique and attracting",
        },
        {
            "claim": "read with Section 2.1, updates clipped, which for Q = 1 is to clip gradients: all four entries, "
            "at every local step tried at which the unclipped method is stable",
            "verdict": verdict(unclipped and all(e["agrees"] for e in section)),
            "expected": "reproduced",
            "paper": "Table 1, read with 'when Q = 1, the difference clipping is equivalent to the standard mini-batch "
            "gradient clipping'",
            "measured": f"without clipping as above; c = 1: {values(gradient['1'])} for Q = 1 and "
            f"{values(stable['inf'])} for Q = infinity (updates over the local step would have "
            f"{values(scaled['inf'])} there)",
        },
        {
            "claim": "when Q = 1, clipping hurts: the clipped method's stationary point is farther from 0",
            "verdict": verdict(unclipped and all(e["exact"] != ["0"] for e in gradient["1"])),
            "expected": "reproduced",
            "paper": "Section 2.1, before Table 1, where for Q = 1 difference clipping is gradient clipping",
            "measured": f"with the gradient clipped to 1 it is {values(gradient['1'])}, without clipping 0",
        },
        {
            "claim": "when Q is large, clipped FedAvg ends closer to 0 than unclipped (Algorithm 2, Q = infinity)",
            "verdict": verdict(all(F(v) < F(13, 9) for e in stable["inf"] for v in e["exact"])),
            "expected": "reproduced",
            "paper": "Section 2.1, Claim 2.2",
            "measured": f"{values(stable['inf'])} against 13/9 (clipped models: {values(model)})",
        },
        {
            "claim": "the algorithm ends at the exact stationary point, within 1e-6, from each of 41 starting points, "
            "at local steps at which the unclipped method is stable",
            "verdict": verdict(worst <= 1e-6),
            "expected": "reproduced",
            "paper": "Table 1, stationary points of FedAvg",
            "measured": f"largest distance {worst:.1e} in {len(judged)} settings. At larger local steps the unclipped "
            f"method diverges from every starting point but 0 in {sum(r['diverged'] == 40 for r in diverging)} of "
            f"{len(diverging)} settings; clipped methods end at the exact point in {len(beyond) - len(elsewhere)} of "
            f"{len(beyond)}"
            + "".join(f", not with {r['reading']} clipping at step {r['step']}, which cycles" for r in elsewhere),
        },
    ]


def draw(data: dict[str, Any]) -> dict[str, Any]:
    fig, (left, right) = style.figure(1, 2, sharey=True, width=11.0, height=4.4)
    colours = {"none": style.NEUTRAL, "gradient": style.PALETTE[2], "difference": style.CLIP, "model": style.PALETTE[3]}
    labels = {
        "none": "nothing clipped",
        "gradient": "gradients clipped (caption)",
        "difference": "updates clipped (Algorithm 2)",
        "model": "models clipped",
    }
    far = 600.0
    for axes, lines in ((left, data["lines"]["step"]), (right, data["lines"]["steps"])):
        for curve in lines:
            at = [far if v is None else v for v in curve["x"]]
            y = [math.nan if v is None else v for v in curve["point"]]
            axes.plot(at, y, color=colours[curve["reading"]], label=labels[curve["reading"]])
    for run in data["runs"]:
        ax, x = (left, run["at"]) if run["Q"] == 1 else (right, far if run["Q"] == table.ENDLESS else float(run["Q"]))
        if run["diverged"] == 0 and (ax is right or run["at"] <= 0.4):
            ax.plot([x] * len(run["ends"]), run["ends"], "o", color=colours[run["reading"]], markersize=4)
    left.axvspan(6 / 41, 0.4, color="#EFEFEF", zorder=0)
    left.text(0.395, 1.3, "unclipped FedAvg\ndiverges", ha="right", va="center", color=style.NEUTRAL)
    left.plot([0.004, 0.004], [0.0, 0.5], "*", color="black", markersize=11, zorder=5)
    right.plot([far, far], [13 / 9, 2 / 3], "*", color="black", markersize=11, zorder=5, label="printed in Table 1")
    left.set_xlim(0.0, 0.4)
    left.set_xlabel("local step size (Q = 1)")
    left.set_ylabel("stationary point x")
    left.set_title("one local step, c = 1")
    right.set_xscale("log")
    right.set_xticks([1, 10, 100, far], ["1", "10", "100", "infinity"])
    right.minorticks_off()
    right.set_xlabel("local steps Q (local step size 1/50)")
    right.set_title("many local steps, c = 1")
    right.legend(loc="upper left")
    return {"": fig}
