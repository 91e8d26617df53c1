"""das2022 Figure 4: the trajectories of clipping and normalisation in a plane through the optimum."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dpfl_theory.problems.quadratic import Quadratic
from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.observables import Observable
from dpfl_theory.validation import Context, style

from . import _appendix_f as setting

TITLE = "Trajectories in a plane: clipping against normalisation"
CAPTION = (
    "Measured in the setting of Appendix F, initialisation I1, all curves from simulation. Top: the trajectories of "
    "the first run, w_k - w* projected onto a plane, smoothed by a moving mean over 25 rounds. It is the plane "
    "through w* that holds most of both methods' trajectories (the two leading right singular vectors of all w_k - "
    "w*, not centred; the paper does not state its projection). The first coordinate of w_0 - w* is made positive. "
    "Bottom: the distance ||w_k - w*|| in all 200 dimensions; lines are means and bands 10% to 90% quantiles over "
    "noise replicates of the first instance. Both methods see the same noise. The claims compare the last round on "
    f"each of three instances. The caption's initialisation reads 'II'; Appendix F says I1. {setting.NOISE}"
)
SOURCE = {"paper": "das2022", "where": "Figure 4, Appendix F"}
BUDGET_SECONDS = {"full": 12.0, "paper": 150.0}

CASES = ((100.0, 0.001), (50.0, 0.003))  # threshold C and step size, left and right
INITIALISATION = "I1"
SMOOTH = 25  # rounds
EVERY = 5  # rounds between the points kept
SURE = 5.0  # the least distance of a difference from 0, in standard errors


def _coordinates(d: int, origin: Any) -> list[Observable]:
    """All coordinates of w_k - w* [X], so that the plane can be chosen when the trajectory is known."""

    def evaluate(round_: Round, j: int) -> Any:
        return round_.w[:, j] - origin[j]

    return [
        Observable(
            f"coordinate {j}", (0, 1), f"(w_k - w^*)_{{{j}}}", "a coordinate", partial(evaluate, j=j), of_state=True
        )
        for j in range(d)
    ]


def _trajectory(run: Any, d: int) -> Any:
    """w_k - w* of the only replicate, (rounds + 1, d)."""
    return np.stack([run[f"coordinate {j}"].every_round[:, 0] for j in range(d)], axis=1)


def _smooth(x: Any) -> Any:
    return np.convolve(x, np.full(SMOOTH, 1.0 / SMOOTH), mode="valid")


def _plane(trajectories: list[Any]) -> tuple[Any, float]:
    """Two orthonormal directions (2, d), and the share of the squared distances to w* that lies in their plane."""
    _, values, directions = np.linalg.svd(np.concatenate(trajectories), full_matrices=False)
    plane = directions[:2]
    # A singular vector's sign is arbitrary: the start is put to the right of the optimum, and above it.
    signs = np.where(plane @ trajectories[0][0] < 0.0, -1.0, 1.0)
    return plane * signs[:, None], float((values[:2] ** 2).sum() / (values**2).sum())


def compute(context: Context) -> dict[str, Any]:
    replicates = context.pick(full=16, paper=256, standard=6)
    problems = setting.problems(context.seed)
    jobs = [(case, index, method) for case in CASES for index in range(len(problems)) for method in setting.METHODS]
    paths, curves, comparison = [], [], []
    measured: dict[tuple[Any, int, str], dict[str, Any]] = {}
    for number, (case, index, method) in enumerate(jobs):
        measure = _runner(context, problems[index], index, case, method)
        progress = context.part(number, len(jobs))
        run = measure(observe=["suboptimality", "distance-squared"], replicates=replicates, progress=progress)
        distance = np.sqrt(run["distance-squared"].every_round)
        measured[case, index, method] = {
            "distance": distance[-1],
            "nearest distance": distance.min(axis=0),
            "suboptimality": run["suboptimality"].last,
        }
        if index == 0:
            curves.append(
                {
                    "case": CASES.index(case),
                    "method": method,
                    "mean": setting.rounded(distance.mean(axis=1)[::EVERY]),
                    "low": setting.rounded(np.quantile(distance, 0.1, axis=1)[::EVERY]),
                    "high": setting.rounded(np.quantile(distance, 0.9, axis=1)[::EVERY]),
                }
            )
    for case in CASES:
        w_star = problems[0].constants.w_star
        assert w_star is not None
        d = problems[0].d
        walked = {
            method: _trajectory(
                _runner(context, problems[0], 0, case, method, "cpu")(observe=_coordinates(d, w_star), replicates=1), d
            )
            for method in setting.METHODS
        }
        plane, share = _plane(list(walked.values()))
        paths.append(
            {
                "case": CASES.index(case),
                "share_in_plane": share,
                "start": (plane @ walked["clip"][0]).tolist(),
                "methods": {
                    method: [setting.rounded(_smooth(points @ direction)[::EVERY]) for direction in plane]
                    for method, points in walked.items()
                },
            }
        )
        for index in range(len(problems)):
            clip, norm = (measured[case, index, method] for method in ("clip", "normalise"))
            comparison.append(
                {
                    "case": CASES.index(case),
                    "instance": index,
                    **{what: _paired(clip[what], norm[what]) for what in clip},
                }
            )
    return {
        "configuration": {
            **setting.CONFIGURATION,
            "initialisation": INITIALISATION,
            "cases": [{"threshold": c, "step": eta} for c, eta in CASES],
            "instances": len(problems),
            "replicates": replicates,
            "projection": "plane through w* of the two leading right singular vectors of both trajectories",
            "smoothing": f"moving mean over {SMOOTH} rounds",
        },
        "rounds": list(range(0, setting.ROUNDS + 1, EVERY)),
        "paths": paths,
        "curves": curves,
        "comparison": comparison,
        "claims": _claims(comparison, replicates),
    }


def _runner(
    context: Context, problem: Quadratic, index: int, case: tuple[float, float], method: str, device: str | None = None
) -> Any:
    return partial(
        setting.run,
        problem,
        index,
        initialisation=INITIALISATION,
        threshold=case[0],
        step=case[1],
        method=method,
        seed=context.seed,
        device=device or context.device,
    )


def _paired(clip: Any, norm: Any) -> dict[str, float]:
    """Means of both methods, and the mean of their difference in the same replicates with its standard error."""
    difference = clip - norm
    error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    return {
        "clip": float(clip.mean()),
        "normalise": float(norm.mean()),
        "difference": float(difference.mean()),
        "standard_error": error,
        "z": float(difference.mean()) / error,
    }


def _claims(comparison: list[dict[str, Any]], replicates: int) -> list[dict[str, Any]]:
    claims = []
    for what, claim in (
        ("distance", "normalisation ends closer to the optimum than clipping"),
        (
            "nearest distance",
            "the nearest that normalisation comes to the optimum in any round is closer than clipping's",
        ),
        ("suboptimality", "normalisation ends with a smaller suboptimality than clipping"),
    ):
        values = [entry[what] for entry in comparison]
        z = [value["z"] for value in values]
        verdict = "reproduced" if min(z) > SURE else "not-reproduced" if min(z) < -SURE else "inconclusive"
        ratios = [value["normalise"] / value["clip"] for value in values]
        claims.append(
            {
                "claim": f"in both cases and on all instances, {claim} (paired z > {SURE:g})",
                "verdict": verdict,
                "expected": "reproduced",
                "paper": "Figure 4 and Appendix F: 'DP-NormFedAvg reaches closer to the optimum'",
                "measured": f"smallest paired z = {min(z):.0f} of {len(values)} comparisons of {replicates} "
                f"replicates; mean of normalisation over mean of clipping is {min(ratios):.3f} to {max(ratios):.3f}",
            }
        )
    return claims


def draw(data: dict[str, Any]) -> dict[str, Any]:
    fig, axes = style.figure(2, len(data["paths"]), width=10.0, height=7.2)
    colours = {"clip": style.CLIP, "normalise": style.NORMALISE}
    cases = data["configuration"]["cases"]
    for path in data["paths"]:
        ax = axes[0, path["case"]]
        case = cases[path["case"]]
        for method, (x, y) in path["methods"].items():
            ax.plot(x, y, color=colours[method], label=setting.METHODS[method])
            ax.plot(x[-1], y[-1], marker="o", color=colours[method])
        ax.plot(*path["start"], marker="s", color=style.NEUTRAL, linestyle="none", label="$w_0$")
        ax.plot(0.0, 0.0, marker="*", markersize=11, color=style.BOUND, linestyle="none", label="$w^*$")
        share = f"plane holds {path['share_in_plane']:.1%} of $\\|w_k - w^*\\|^2$"
        ax.set_title(f"C = {case['threshold']:g}, step {case['step']:g}; {share}")
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xlabel("first direction of the plane")
        ax.set_ylabel("second direction")
        ax.legend()
    for curve in data["curves"]:
        ax = axes[1, curve["case"]]
        ax.plot(data["rounds"], curve["mean"], color=colours[curve["method"]], label=setting.METHODS[curve["method"]])
        style.band(ax, data["rounds"], curve["low"], curve["high"], colours[curve["method"]])
        ax.set_xlabel("round k")
        ax.set_ylabel("distance $\\|w_k - w^*\\|$")
        ax.legend()
    return {"": fig}
