"""das2022 Figure 3: signal-to-noise ratio of clipping against normalisation on the Appendix F quadratics."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfl_theory.validation import Context, style

from . import _appendix_f as setting

TITLE = "Signal-to-noise ratio over rounds: clipping against normalisation"
CAPTION = (
    "The ratio of two lengths: the average of the bounded updates over the average noise. The setting is that of "
    "Figure 2 with one step size for each C. Lines: median, bands: 10% to 90% quantiles, both of the same noise "
    "replicates "
    f"on the first instance ({setting.REPLICATES}); the mean of one run on each of three instances, which the paper "
    f"draws, is in the data. Both methods see the same noise. {setting.NOISE}"
)
SOURCE = {"paper": "das2022", "where": "Figure 3, Appendix F"}
BUDGET_SECONDS = {"full": 55.0, "paper": 300.0}
SHARED_RUNS = "das2022 Appendix F"

STEPS = {100.0: 0.001, 50.0: 0.003, 40.0: 0.003}
EVERY = 5


def compute(context: Context) -> dict[str, Any]:
    cases = [(i, c) for i in setting.INITIALISATIONS for c in setting.THRESHOLDS]
    curves, comparison = [], []
    for number, (initialisation, threshold) in enumerate(cases):
        step, ratios, paper = STEPS[threshold], {}, {}
        own = setting.STEPS[initialisation].index(step)
        for part, method in enumerate(setting.METHODS):
            found = setting.series(context, initialisation, threshold, method)
            ratios[method], paper[method] = found["snr"][:, own], found["three snr"][:, own]
            context.progress((number + (part + 1) / len(setting.METHODS)) / len(cases))
            curves.append(
                {
                    "initialisation": initialisation,
                    "threshold": threshold,
                    "step": step,
                    "method": method,
                    "three_runs": setting.rounded(paper[method][::EVERY]),
                    "median": setting.rounded(np.median(ratios[method], axis=1)[::EVERY]),
                    "low": setting.rounded(np.quantile(ratios[method], 0.1, axis=1)[::EVERY]),
                    "high": setting.rounded(np.quantile(ratios[method], 0.9, axis=1)[::EVERY]),
                }
            )
        clip, norm = ratios["clip"], ratios["normalise"]
        comparison.append(
            {
                "initialisation": initialisation,
                "threshold": threshold,
                "step": step,
                "label": f"{initialisation}, C = {threshold:g}",
                "improvement": float(norm.mean() / clip.mean()),
                "lower_in_plotted_rounds": int((paper["normalise"] < paper["clip"]).sum()),
                "lower_in_mean": int((norm.mean(axis=1) < clip.mean(axis=1)).sum()),
                "lower_share": float((norm < clip).mean()),
                "smallest_ratio": float((norm / clip).min()),
            }
        )
    return {
        "configuration": {
            **setting.CONFIGURATION,
            "instances": setting.INSTANCES,
            "replicates": {f"C = {c:g}": setting.replicates_at(context, c) for c in setting.THRESHOLDS},
        },
        "rounds": list(range(0, setting.ROUNDS, EVERY)),
        "curves": curves,
        "comparison": comparison,
        "claims": _claims(comparison),
    }


def _claims(comparison: list[dict[str, Any]]) -> list[dict[str, Any]]:
    plotted = sum(c["lower_in_plotted_rounds"] for c in comparison)
    worst = min(comparison, key=lambda c: c["smallest_ratio"])
    replicates = max(c["lower_share"] for c in comparison)
    least_large = min(c["improvement"] for c in comparison if c["threshold"] in (50.0, 100.0))
    most_small = max(c["improvement"] for c in comparison if c["threshold"] == 40.0)
    rounds = setting.ROUNDS * len(comparison)
    return [
        {
            "claim": "the SNR of normalisation, averaged over three runs, is below that of clipping in no round",
            "verdict": "reproduced" if plotted == 0 else "not-reproduced",
            "expected": "reproduced",
            "paper": "Figure 3, caption",
            "measured": f"below in {plotted} of {rounds} plotted rounds",
        },
        {
            "claim": "in no single run is it lower in any round (the literal 'never lower')",
            "verdict": "reproduced" if replicates == 0.0 else "not-reproduced",
            "expected": "reproduced",
            "paper": "Figure 3, caption, read literally",
            "measured": f"lower in {replicates:.2%} of rounds and replicates at most; "
            f"the smallest ratio norm/clip is {worst['smallest_ratio']:.4f} ({worst['label']})",
        },
        {
            "claim": "the improvement is much higher for C in {50, 100} than for C = 40 (smallest against largest)",
            "verdict": "reproduced" if least_large - 1.0 > 2.0 * (most_small - 1.0) else "not-reproduced",
            "expected": "reproduced",
            "paper": "Figure 3, caption",
            "measured": f"mean ratio norm/clip is at least {least_large:.3f} for C in {{50, 100}} "
            f"and at most {most_small:.3f} for C = 40",
        },
    ]


def draw(data: dict[str, Any]) -> dict[str, Any]:
    fig, axes = style.figure(2, len(setting.THRESHOLDS), sharex=True, sharey="row", width=11.0, height=6.4)
    colours = {"clip": style.CLIP, "normalise": style.NORMALISE}
    for curve in data["curves"]:
        ax = axes[setting.INITIALISATIONS.index(curve["initialisation"]), setting.THRESHOLDS.index(curve["threshold"])]
        ax.plot(data["rounds"], curve["median"], color=colours[curve["method"]], label=setting.METHODS[curve["method"]])
        style.band(ax, data["rounds"], curve["low"], curve["high"], colours[curve["method"]])
        ax.set_title(f"{curve['initialisation']}, C = {curve['threshold']:g}, step {curve['step']:g}")
    for ax in axes[-1]:
        ax.set_xlabel("round k")
    for ax in axes[:, 0]:
        ax.set_ylabel("SNR")
        ax.set_ylim(bottom=0.0)
    axes[0, 0].legend(loc="lower left")
    return {"": fig}
