"""zhang2021 Claim 2.1: FedAvg with model clipping misses the optimum, exactly and by runs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dpfl_theory.problems.scalar import ScalarQuadratics, claim_2_1
from dpfl_theory.statements.zhang2021.claim2_1 import stationary_point
from dpfl_theory.validation import Context, as_question, style

from . import _setting as shared

TITLE = "Claim 2.1: model clipping stops short of the optimum"
CAPTION = (
    "FedAvg with clipped models on f_i = (x - b_i)^2/2, b = (-c/2, -c/2, kc), against lambda = (1 - eta)^Q. Lines: the "
    "stationary point, exact, in units of c. Dots: the ends of the algorithm from 41 starting points for several (eta, "
    "Q); they agree. Left: k = 5 as in the claim (k > 4), where the printed formula lambda c/(3 - 2 lambda) is right "
    "for every lambda in (0, 1); clipping updates to the same c instead reaches the optimum once lambda is large "
    "enough. Right: for k <= 4 the stationary point follows the formula only while k (3 - 2 lambda) >= 3 + lambda; for "
    "k = 2 it meets the optimum from lambda = 3/5 on, so the claim needs a large k."
)
SOURCE = {"paper": "zhang2021", "where": "Claim 2.1, Section 2.1"}
BUDGET_SECONDS = {"full": 3.0, "paper": 40.0}

F = Fraction
FACTORS = (F(9, 2), F(5), F(10), F(100))
"""k > 4, as the proof requires."""
SMALL_FACTORS = (F(2), F(3), F(4))
THRESHOLDS = (F(1, 10), F(1), F(10))
STEPS = (F(1, 100), F(1, 10), F(1, 2), F(9, 10), F(1))
BEYOND = (F(3, 2), F(2), F(5, 2))
"""Local steps for which lambda is negative, -1 or 1, or beyond: the claim says any eta_l > 0, the proof (0, 1)."""
COUNTS = (1, 2, 5, 20)
SHOWN = F(5)


def compute(context: Context) -> dict[str, Any]:
    grid = [_exact(k, c, s, q) for k in FACTORS for c in THRESHOLDS for s in (*STEPS, *BEYOND) for q in COUNTS]
    small = [_exact(k, F(1), s, q) for k in SMALL_FACTORS for s in STEPS for q in COUNTS]
    context.progress(0.2)
    curves = [_curve(clipping, k, context) for clipping, k in _lines()]
    context.progress(0.4)
    runs = _runs(context)
    meets = claim_2_1(F(2), F(1)).stationary("model", step=F(2, 5), steps=1, threshold=1)
    return {
        "configuration": {
            "problem": "f_i = (x - b_i)^2/2, b = (-c/2, -c/2, k c)",
            "k": [str(k) for k in (*FACTORS, *SMALL_FACTORS)],
            "c": [str(c) for c in THRESHOLDS],
            "local step sizes": [str(s) for s in (*STEPS, *BEYOND)],
            "local steps": COUNTS,
            "exact": "all solutions of the fixed-point equation of one round, over the rationals",
            "starting points": f"{len(shared.STARTS)} from {shared.STARTS[0]:g} to {shared.STARTS[-1]:g}",
        },
        "exact": grid,
        "small": small,
        "curves": curves,
        "runs": runs,
        "claims": _claims(grid, runs, [shared.written(p) for p in meets]),
    }


def _exact(k: Fraction, c: Fraction, step: Fraction, steps: int) -> dict[str, Any]:
    """The stationary points of model clipping against the printed formula and the optimum."""
    clients = claim_2_1(k, c)
    ratio = (1 - step) ** steps
    points = clients.stationary("model", step=step, steps=steps, threshold=c)
    printed = stationary_point(ratio, c) if 2 * ratio != 3 else None
    low = min((p.low for p in points if p.low is not None), default=None)
    high = max((p.high for p in points if p.high is not None), default=None)
    return {
        "k": str(k),
        "c": str(c),
        "step": str(step),
        "Q": steps,
        "lambda": float(ratio),
        "in_proof": 0 < ratio < 1,
        "points": [shared.written(p) for p in points],
        "stability": [p.stability for p in points],
        "optimum": str(clients.optimum),
        "formula": len(points) == 1 and points[0].point == printed,
        "misses": all(p.high is not None and p.high < clients.optimum for p in points),
        "within_threshold": low is not None and high is not None and -c <= low and high <= c,
        "share": float(max(high or F(0), F(0)) / clients.optimum),
    }


def _lines() -> list[tuple[str, Fraction]]:
    return [("model", SHOWN), ("difference", SHOWN), *(("model", k) for k in SMALL_FACTORS)]


def _curve(clipping: str, k: Fraction, context: Context) -> dict[str, Any]:
    """The attracting stationary point against lambda, with Q = 1 and eta = 1 - lambda, c = 1."""
    clients = claim_2_1(k, F(1))
    count = context.pick(full=100, paper=400)
    ratios = [F(j, count) for j in range(count)]
    points = [shared.attracting(clients.stationary(clipping, step=1 - r, steps=1, threshold=1)) for r in ratios]
    return {
        "clipping": clipping,
        "k": str(k),
        "optimum": float(clients.optimum),
        "lambda": [float(r) for r in ratios],
        "point": [float(p[0]) if len(p) == 1 else math.nan for p in points],
        "formula": [float(stationary_point(r, F(1))) for r in ratios],
    }


def _runs(context: Context) -> list[dict[str, Any]]:
    """The algorithm with c = 1 from many starting points, for k = 5 and k = 2."""
    cases = [(k, s, q) for k in (SHOWN, F(2)) for s in STEPS for q in COUNTS]
    found = []
    for number, (k, step, q) in enumerate(cases):
        context.progress(0.4 + 0.6 * number / len(cases))
        clients: ScalarQuadratics = claim_2_1(k, F(1))
        ratio = float((1 - step) ** q)
        rounds = 60 if ratio < 0.5 else math.ceil(30.0 / -math.log(ratio))
        ends = shared.ends(clients, "model", step, q, F(1), rounds, context.device)
        (exact,) = clients.stationary("model", step=step, steps=q, threshold=1)
        assert exact.point is not None
        found.append(
            {
                "k": str(k),
                "step": str(step),
                "Q": q,
                "lambda": ratio,
                "rounds": rounds,
                "ends": sorted({round(float(v), 9) + 0.0 for v in ends}),
                "error": float(np.max(np.abs(ends - float(exact.point)))),
            }
        )
    return found


def _claims(grid: list[dict[str, Any]], runs: list[dict[str, Any]], meets: list[str]) -> list[dict[str, Any]]:
    inside = [e for e in grid if e["in_proof"]]
    worst = max(r["error"] for r in runs)
    outside = [e for e in grid if not e["in_proof"]]
    unique = sum(len(e["points"]) == 1 for e in outside)

    def verdict(truth: bool) -> str:
        return "reproduced" if truth else "not-reproduced"

    return [
        {
            "claim": "for k > 4 and every lambda in (0, 1) the only stationary point is lambda c/(3 - 2 lambda)",
            "verdict": verdict(all(e["formula"] for e in inside)),
            "expected": "reproduced",
            "paper": "proof of Claim 2.1",
            "measured": f"equal as fractions in {sum(e['formula'] for e in inside)} of {len(inside)} settings (k, c, "
            "eta, Q), unique and attracting",
        },
        {
            "claim": "for k > 4, every c, Q >= 1 and eta > 0 no stationary point is the optimum (k-1)c/3",
            "verdict": verdict(all(e["misses"] and e["within_threshold"] for e in grid)),
            "expected": "reproduced",
            "paper": "Claim 2.1",
            "measured": f"all stationary points lie within [-c, c], below the optimum, in {len(grid)} settings; in the "
            f"proof's range they reach at most {max(e['share'] for e in inside):.1%} of it",
        },
        as_question(
            {
                "claim": "does the proof's range lambda in (0, 1) cover any fixed Q >= 1 and eta > 0?",
                "verdict": verdict(not outside),
                "expected": "not-reproduced",
                "paper": "Claim 2.1 against its proof",
                "measured": f"eta >= 1 gives lambda <= 0 or >= 1: the formula then holds in "
                f"{sum(e['formula'] for e in outside)} of {len(outside)} settings, the stationary point is unique in "
                f"{unique}; the claim itself holds there, since a mean of clipped models is at most c < (k-1)c/3",
            }
        ),
        {
            "claim": "FedAvg with clipped models, run from 41 starting points, ends at the exact point, within 1e-9",
            "verdict": verdict(worst <= 1e-9),
            "expected": "reproduced",
            "paper": "Claim 2.1",
            "measured": f"largest distance {worst:.1e} over {len(runs)} settings with k = 5 and k = 2",
        },
        as_question(
            {
                "claim": "is k > 4 needed: has model clipping with k = 2, eta = 2/5, Q = 1 the optimum c/3 as its "
                "stationary point?",
                "verdict": verdict(meets == ["1/3"]),
                "expected": "reproduced",
                "paper": "proof of Claim 2.1, 'when k > 4'",
                "measured": f"stationary points with c = 1: {', '.join(meets)}",
            }
        ),
    ]


def draw(data: dict[str, Any]) -> dict[str, Any]:
    fig, (left, right) = style.figure(1, 2, width=11.0, height=4.4)
    for curve in data["curves"]:
        points = [math.nan if v is None else v for v in curve["point"]]
        if curve["k"] == str(SHOWN):
            model = curve["clipping"] == "model"
            colour, label = (style.PALETTE[3], "models clipped") if model else (style.CLIP, "updates clipped")
            left.plot(curve["lambda"], points, color=colour, label=label)
            if model:
                left.plot(curve["lambda"], curve["formula"], "--", color=style.BOUND, label="printed formula")
                left.axhline(curve["optimum"], color=style.NEUTRAL, linestyle=":", label="optimum 4c/3")
        else:
            colour = style.PALETTE[(2, 4, 1)[int(curve["k"]) - 2]]
            right.plot(curve["lambda"], points, color=colour, label=f"k = {curve['k']}")
            right.axhline(curve["optimum"], color=colour, linestyle=":")
            if curve["k"] == "2":
                right.plot(curve["lambda"], curve["formula"], "--", color=style.BOUND, zorder=4)
    right.plot([], [], "--", color=style.BOUND, label="printed formula")
    right.plot([], [], ":", color=style.NEUTRAL, label="optimum (k-1)c/3")
    for run in data["runs"]:
        ax, colour = (left, style.PALETTE[3]) if run["k"] == str(SHOWN) else (right, style.PALETTE[2])
        ax.plot([run["lambda"]] * len(run["ends"]), run["ends"], "o", color=colour, markersize=4)
    for ax in (left, right):
        ax.set_xlabel(r"$\lambda = (1 - \eta)^Q$")
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.05, 1.45)
        ax.set_ylabel("stationary point x, in units of c")
        ax.legend(loc="upper left")
    left.set_title("k = 5: clipped models never reach the optimum")
    right.set_title("k = 2, 3, 4: models clipped")
    left.legend(loc="center left", bbox_to_anchor=(0.0, 0.72))
    return {"": fig}
