"""das2022 Figure 2: suboptimality of clipping against normalisation on the Appendix F quadratics."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfl_theory.validation import Context, style

from . import _appendix_f as setting

TITLE = "Suboptimality over rounds: DP-FedAvg with clipping against DP-NormFedAvg"
CAPTION = (
    "Suboptimality f(w_k) - f(w*) on the quadratics of Appendix F for initialisations I1 (top) and I2 (bottom) "
    "and three thresholds C. Lines: median, bands: 10% to 90% quantiles, both of the same noise replicates on the "
    "first "
    f"instance ({setting.REPLICATES}); the mean of one run on each of three instances, which the paper draws, is "
    f"in the data. Both methods see the same noise. {setting.NOISE}"
)
SOURCE = {"paper": "das2022", "where": "Figure 2, Appendix F"}
BUDGET_SECONDS = {"full": 55.0, "paper": 300.0}
SHARED_RUNS = "das2022 Appendix F"

EVERY = 5  # rounds between the points kept
CLAIMED_EQUAL = 0.05  # the relative difference that 'nearly equivalent' allows, and 'appreciably lower' requires


def compute(context: Context) -> dict[str, Any]:
    cases = [(i, c) for i in setting.INITIALISATIONS for c in setting.THRESHOLDS]
    curves, finals = [], []
    for number, (initialisation, threshold) in enumerate(cases):
        replicates = setting.replicates_at(context, threshold)
        many, paper = {}, {}
        for part, method in enumerate(setting.METHODS):
            found = setting.series(context, initialisation, threshold, method)
            many[method], paper[method] = found["suboptimality"], found["three suboptimality"]
            context.progress((number + (part + 1) / len(setting.METHODS)) / len(cases))
        for j, step in enumerate(setting.STEPS[initialisation]):
            for method in setting.METHODS:
                band = many[method][:, j]
                curves.append(
                    {
                        "initialisation": initialisation,
                        "threshold": threshold,
                        "step": step,
                        "method": method,
                        "three_runs": setting.rounded(paper[method][::EVERY, j]),
                        "mean": setting.rounded(band.mean(axis=1)[::EVERY]),
                        "median": setting.rounded(np.median(band, axis=1)[::EVERY]),
                        "low": setting.rounded(np.quantile(band, 0.1, axis=1)[::EVERY]),
                        "high": setting.rounded(np.quantile(band, 0.9, axis=1)[::EVERY]),
                    }
                )
            clip, norm = many["clip"][:, j], many["normalise"][:, j]
            difference = clip - norm
            error = difference.std(axis=1, ddof=1) / np.sqrt(replicates)
            with np.errstate(divide="ignore", invalid="ignore"):
                worst = np.nanmin(np.where(error > 0, difference.mean(axis=1) / error, np.nan))
            finals.append(
                {
                    "initialisation": initialisation,
                    "threshold": threshold,
                    "step": step,
                    "label": f"{initialisation}, C = {threshold:g}, step {step:g}",
                    "clip": float(clip[-1].mean()),
                    "norm": float(norm[-1].mean()),
                    "clip_three_runs": float(paper["clip"][-1, j]),
                    "norm_three_runs": float(paper["normalise"][-1, j]),
                    "relative_difference": float(difference[-1].mean() / norm[-1].mean()),
                    "z": float(difference[-1].mean() / error[-1]),
                    "worst_round_z": float(worst),
                }
            )
    return {
        "configuration": {
            **setting.CONFIGURATION,
            "instances": setting.INSTANCES,
            "replicates": {f"C = {c:g}": setting.replicates_at(context, c) for c in setting.THRESHOLDS},
            "steps": {k: list(v) for k, v in setting.STEPS.items()},
            "thresholds": list(setting.THRESHOLDS),
        },
        "rounds": list(range(0, setting.ROUNDS + 1, EVERY)),
        "curves": curves,
        "final": finals,
        "claims": _claims(finals),
    }


def _claims(finals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    large = [f for f in finals if f["threshold"] in (50.0, 100.0)]
    small = [f for f in finals if f["threshold"] == 40.0]
    near = all(abs(f["relative_difference"]) < CLAIMED_EQUAL for f in small)
    never = all(f["z"] > -5 for f in small)

    def span(cases: list[dict[str, Any]]) -> str:
        shares = [f["relative_difference"] for f in cases]
        return (
            f"(clip - norm)/norm after the last round is {min(shares):.1%} to {max(shares):.1%} over {len(cases)} cases"
        )

    return [
        {
            "claim": "for C in {50, 100} and all step sizes, normalisation has a lower suboptimality (paired z > 5)",
            "verdict": "reproduced" if all(f["z"] > 5 for f in large) else "not-reproduced",
            "expected": "reproduced",
            "paper": "Figure 2, caption: 'appreciably lower'",
            "measured": f"smallest paired z = {min(f['z'] for f in large):.1f}; {span(large)}",
        },
        {
            "claim": "in each of these cases it is appreciably lower (here: by 5% or more, the paper gives no number)",
            "verdict": "reproduced"
            if all(f["relative_difference"] >= CLAIMED_EQUAL for f in large)
            else "inconclusive",
            "paper": "Figure 2, caption; its own step sizes are not legible",
            "measured": f"{sum(f['relative_difference'] >= CLAIMED_EQUAL for f in large)} of {len(large)} cases; "
            "the smallest is " + min(large, key=lambda f: f["relative_difference"])["label"],
            "expected": "inconclusive",
        },
        {
            "claim": "for C = 40, normalisation and clipping are nearly equivalent (within 5%)",
            "verdict": "reproduced" if near else "not-reproduced",
            "expected": "reproduced",
            "paper": "Figure 2, caption",
            "measured": span(small),
        },
        {
            "claim": "for C = 40, clipping is no better than normalisation after the last round (paired z > -5)",
            "verdict": "reproduced" if never else "not-reproduced",
            "expected": "reproduced",
            "paper": "Figure 2, caption",
            "measured": f"smallest paired z = {min(f['z'] for f in small):.1f}; "
            f"over all rounds {min(f['worst_round_z'] for f in small):.1f}",
        },
    ]


def draw(data: dict[str, Any]) -> dict[str, Any]:
    thresholds, steps = data["configuration"]["thresholds"], data["configuration"]["steps"]
    fig, axes = style.figure(2, len(thresholds), sharex=True, sharey="row", width=11.0, height=7.0)
    colours = {"clip": style.CLIP, "normalise": style.NORMALISE}
    for curve in data["curves"]:
        initialisation = curve["initialisation"]
        ax = axes[setting.INITIALISATIONS.index(initialisation), thresholds.index(curve["threshold"])]
        colour = colours[curve["method"]]
        line = ("-", "--", ":")[steps[initialisation].index(curve["step"])]
        label = f"{setting.METHODS[curve['method']]}({curve['step']:g})"
        ax.plot(data["rounds"], curve["median"], linestyle=line, color=colour, label=label)
        style.band(ax, data["rounds"], curve["low"], curve["high"], colour)
    for row, initialisation in enumerate(setting.INITIALISATIONS):
        for column, threshold in enumerate(thresholds):
            ax = axes[row, column]
            ax.set_yscale("log")
            ax.set_title(f"{initialisation}, C = {threshold:g}")
            if row == 1:
                ax.set_xlabel("round k")
        axes[row, 0].set_ylabel("$f(w_k) - f(w^*)$")
        axes[row, 2].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return {"": fig}
