"""das2022 Figure 1: suboptimality, and the trajectories seen in a plane, of clipping and normalisation."""

from __future__ import annotations

from typing import Any

import _appendix_f as setting
import numpy as np

from dpfl_theory.algorithms.base import Round
from dpfl_theory.algorithms.observables import Observable
from dpfl_theory.problems.appendix_f import appendix_f_start
from dpfl_theory.report import style
from dpfl_theory.validation import Context, main

TITLE = "Suboptimality and trajectories: clipping against normalisation"
CAPTION = (
    "Left: suboptimality on Appendix F quadratics with C = 100, step 0.001, start I1. Lines: mean of three independent "
    "runs on three instances, as in the paper. Bands: 10% to 90% quantiles of 64 noise lanes on the first instance. "
    "Right: the first run, projected onto the plane of w_0 - w* and the part of grad f(w_0) orthogonal to it, smoothed "
    "by a moving mean over 25 rounds; the optimum is at the origin. The claims compare the 64 lanes of the first "
    "instance, whose mean is not that of the three runs."
)
SOURCE = {"paper": "das2022", "where": "Figure 1, Section 1 (setting of Appendix F)"}
BUDGET_SECONDS = {"quick": 20.0, "full": 60.0}

THRESHOLD, STEP, INITIALISATION = 100.0, 0.001, "I1"
SMOOTH = 25
EVERY = 5


def _coordinate(name: str, direction: Any, origin: Any) -> Observable:
    """The coordinate of w_k - w* along a unit vector [X]: a trajectory is streamed without storing it."""

    def evaluate(happened: Round) -> Any:
        engine = happened.context.engine
        return (happened.w - engine.asarray(origin)) @ engine.asarray(direction)

    return Observable(name, (0, 1), name, f"coordinate of w_k - w* {name}", evaluate, of_state=True)


def _smooth(x: Any) -> Any:
    return np.convolve(x, np.full(SMOOTH, 1.0 / SMOOTH), mode="valid")


def compute(context: Context) -> dict[str, Any]:
    lanes = context.pick(quick=64, full=256)
    problems = setting.problems(context.seed)
    first = problems[0]
    w_star, start = first.constants.w_star, appendix_f_start(first, INITIALISATION, context.seed)
    assert w_star is not None
    along = (start - w_star) / np.linalg.norm(start - w_star)
    gradient = first.gradient(start)
    across = gradient - (gradient @ along) * along
    plane = [_coordinate("along", along, w_star), _coordinate("across", across / np.linalg.norm(across), w_star)]
    curves, paths, final = {}, {}, {}
    for part, method in enumerate(setting.METHODS):
        kept = []
        for index, problem in enumerate(problems):
            observe: list[str | Observable] = (
                ["suboptimality", *plane, "distance-squared"] if index == 0 else ["suboptimality"]
            )

            def tell(share: float, at: float = part / 2, first: bool = index == 0, index: int = index) -> None:
                context.progress(at + (0.9 * share if first else 0.9 + 0.05 * index) / 2)

            done = setting.run(
                problem,
                index,
                initialisation=INITIALISATION,
                threshold=THRESHOLD,
                step=STEP,
                method=method,
                observe=observe,
                lanes=lanes if index == 0 else 1,
                seed=context.seed,
                device=context.device,
                progress=tell,
            )
            series = done["suboptimality"].every_round
            kept.append(series[:, 0])
            if index == 0:
                streams = [done[name].every_round for name in ("along", "across")]
                paths[method] = [setting.rounded(_smooth(s[:, 0])[::EVERY]) for s in streams]
                band = series
                distances = np.sqrt(done["distance-squared"].last)
        curves[method] = {
            "three_runs": setting.rounded(np.mean(kept, axis=0)[::EVERY]),
            "low": setting.rounded(np.quantile(band, 0.1, axis=1)[::EVERY]),
            "high": setting.rounded(np.quantile(band, 0.9, axis=1)[::EVERY]),
        }
        final[method] = {"suboptimality": band[-1], "distance": distances}
    difference = {what: final["clip"][what] - final["normalise"][what] for what in ("suboptimality", "distance")}
    z = {what: float(d.mean() / (d.std(ddof=1) / np.sqrt(lanes))) for what, d in difference.items()}
    means = {what: {m: float(final[m][what].mean()) for m in final} for what in difference}
    return {
        "configuration": {
            **setting.CONFIGURATION,
            "threshold": THRESHOLD,
            "step": STEP,
            "initialisation": INITIALISATION,
            "lanes": lanes,
        },
        "rounds": list(range(0, setting.ROUNDS + 1, EVERY)),
        "curves": curves,
        "paths": paths,
        "start": [float(np.linalg.norm(start - w_star)), 0.0],
        "claims": [
            {
                "claim": f"normalisation {claim} than clipping after the last round (paired z > 5)",
                "verdict": "reproduced" if z[what] > 5 else "not-reproduced",
                "expected": "reproduced",
                "paper": "Figure 1, caption",
                "measured": f"{means[what]['normalise']:.4f} against {means[what]['clip']:.4f}, "
                f"paired z = {z[what]:.0f}, {lanes} lanes",
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
        left.plot(data["rounds"], curve["three_runs"], color=colours[method], label=setting.METHODS[method])
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


if __name__ == "__main__":
    raise SystemExit(main(__file__))
