"""das2022 Figure 1: suboptimality, and the trajectories seen in a plane, of clipping and normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfl_theory.validation import Context, style

from . import _appendix_f as setting

TITLE = "Suboptimality and trajectories: clipping against normalisation"
CAPTION = (
    "Left: suboptimality on Appendix F quadratics with C = 100, step 0.001, start I1. Lines: median, bands: 10% to 90% "
    "quantiles, both of the same noise replicates on the first instance, 24 in the full profile and 8 in the "
    "standard one; "
    "the mean of one run on each of three instances, which the paper draws, is in the data. Right: the first run, "
    "projected onto the plane of w_0 - w* and the part of grad f(w_0) orthogonal to it, smoothed by a moving mean over "
    "25 rounds; the optimum is at the origin. The claims compare the noise replicates of the first instance. "
    f"{setting.NOISE}"
)
SOURCE = {"paper": "das2022", "where": "Figure 1, Section 1 (setting of Appendix F)"}
BUDGET_SECONDS = {"full": 15.0, "paper": 100.0}
SHARED_RUNS = "das2022 Appendix F"

THRESHOLD, STEP, INITIALISATION = 100.0, 0.001, "I1"
SMOOTH = 25
EVERY = 5


def _smooth(x: Any) -> Any:
    return np.convolve(x, np.full(SMOOTH, 1.0 / SMOOTH), mode="valid")


def compute(context: Context) -> dict[str, Any]:
    replicates = setting.replicates_at(context, THRESHOLD)
    step = setting.STEPS[INITIALISATION].index(STEP)
    curves, paths, final = {}, {}, {}
    for part, method in enumerate(setting.METHODS):
        found = setting.series(context, INITIALISATION, THRESHOLD, method)
        context.progress((part + 1) / len(setting.METHODS))
        band = found["suboptimality"][:, step]
        paths[method] = [setting.rounded(_smooth(found[name][:, step, 0])[::EVERY]) for name in ("along", "across")]
        curves[method] = {
            "three_runs": setting.rounded(found["three suboptimality"][::EVERY, step]),
            "median": setting.rounded(np.median(band, axis=1)[::EVERY]),
            "low": setting.rounded(np.quantile(band, 0.1, axis=1)[::EVERY]),
            "high": setting.rounded(np.quantile(band, 0.9, axis=1)[::EVERY]),
        }
        final[method] = {"suboptimality": band[-1], "distance": np.sqrt(found["distance-squared"][-1, step])}
    difference = {what: final["clip"][what] - final["normalise"][what] for what in ("suboptimality", "distance")}
    z = {what: float(d.mean() / (d.std(ddof=1) / np.sqrt(replicates))) for what, d in difference.items()}
    means = {what: {m: float(final[m][what].mean()) for m in final} for what in difference}
    return {
        "configuration": {
            **setting.CONFIGURATION,
            "threshold": THRESHOLD,
            "step": STEP,
            "initialisation": INITIALISATION,
            "replicates": replicates,
        },
        "rounds": list(range(0, setting.ROUNDS + 1, EVERY)),
        "curves": curves,
        "paths": paths,
        "start": [float(found["along"][0, step, 0]), 0.0],
        "claims": [
            {
                "claim": f"normalisation {claim} than clipping after the last round (paired z > 5)",
                "verdict": "reproduced" if z[what] > 5 else "not-reproduced",
                "expected": "reproduced",
                "paper": "Figure 1, caption",
                "measured": f"{means[what]['normalise']:.4f} against {means[what]['clip']:.4f}, "
                f"paired z = {z[what]:.0f}, {replicates} replicates",
            }
            for what, claim in (
                ("suboptimality", "attains a smaller suboptimality"),
                ("distance", "reaches closer to the optimum"),
            )
        ],
    }


def draw(data: dict[str, Any]) -> dict[str, Any]:
    fig, (left, right) = style.figure(1, 2, width=10.0, height=4.0)
    colours = {"clip": style.CLIP, "normalise": style.NORMALISE}
    for method, curve in data["curves"].items():
        left.plot(data["rounds"], curve["median"], color=colours[method], label=setting.METHODS[method])
        style.band(left, data["rounds"], curve["low"], curve["high"], colours[method])
        x, y = data["paths"][method]
        right.plot(x, y, color=colours[method], label=setting.METHODS[method])
        right.plot(x[-1], y[-1], marker="o", color=colours[method])
    left.set_yscale("log")
    left.set_xlabel("round k")
    left.set_ylabel("$f(w_k) - f(w^*)$")
    left.legend()
    right.plot(*data["start"], marker="s", color=style.NEUTRAL, linestyle="none", label="$w_0$")
    right.plot(0.0, 0.0, marker="*", markersize=11, color=style.BOUND, linestyle="none", label="$w^*$")
    right.set_xlabel("along $w_0 - w^*$")
    right.set_ylabel("across, towards $\\nabla f(w_0)$")
    right.legend()
    return {"": fig}
