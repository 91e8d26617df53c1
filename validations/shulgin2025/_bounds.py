"""Theorems 1 and 2 of shulgin2025 against running alpha-NormEC (server normalisation, full gradients)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.algorithms.error_feedback import InformedNormEC
from dpfl_theory.core.formula import terms_at
from dpfl_theory.simulation import Simulation, simulate
from dpfl_theory.statements import get
from dpfl_theory.validation import Context, style

from . import _runs as runs
from . import _setting as setting

TERMS = {
    "initialisation": r"$(f(x^0)-f^*)/(\gamma(K+1))$",
    "memory": r"$2R$",
    "curvature": r"$L\gamma/2$",
    "privacy noise": r"$2\beta\sqrt{(K+1)\,d\,\sigma^2/n}$",
}
"""The terms of the bound, by their names in the statements."""


@dataclass(frozen=True)
class Case:
    """beta, alpha and R = max_i ||grad f_i(x^0) - v_i^0||, all in units of G_0."""

    beta: float
    alpha: float
    residual: float


def largest_residual(task: setting.Task) -> float:
    """R of zero memories, in units of G_0."""
    return float(np.max(np.linalg.norm(task.gradients(task.starts(1, 0)[0]), axis=1))) / task.scale


def step(task: setting.Task, case: Case) -> float:
    """gamma = beta R/((alpha + R) L_max), the largest that the theorems allow [X]."""
    residual = case.residual * task.scale
    return case.beta / (case.alpha + case.residual) * residual / task.problem.constants.L_max


def terms(task: setting.Task, case: Case, noise: float) -> dict[str, float]:
    """The terms of the right side [F/X] from the statements: Theorem 1's, and with noise Theorem 2's. Every hypothesis
    of the theorem is tested."""
    theorem = get("shulgin2025.theorem2" if noise else "shulgin2025.theorem1")
    values = _symbols(task, case, noise)
    for assumption in theorem.hypotheses:
        failed = assumption.test(task.problem, values)
        assert failed is None, f"{theorem.id}: {failed}"
    return {name: float(term) for name, term in terms_at(theorem, "rhs", values).items()}


def _symbols(task: setting.Task, case: Case, noise: float) -> Mapping[str, Any]:
    c, problem = task.problem.constants, task.problem
    return {
        "gap": task.gap,
        "gamma": step(task, case),
        "K": setting.ROUNDS - 1,
        "R": case.residual * task.scale,
        "alpha": case.alpha * task.scale,
        "beta": case.beta * task.scale,
        "L": c.L_f,
        "L_max": c.L_max,
        "n": problem.n,
        "d": problem.d,
        "sigma": noise,
    }


def best_residual(task: setting.Task, beta: float, alpha: float, noise: float) -> Case:
    """The admissible R with the smallest bound."""
    most = largest_residual(task)
    admissible = [
        Case(beta, alpha, float(r)) for r in np.geomspace(1e-4 * most, most, 400) if beta < 0.999 * (alpha + r)
    ]
    return min(admissible, key=lambda case: sum(terms(task, case, noise).values()))


def compare(
    context: Context,
    task: setting.Task,
    cases: Sequence[Case],
    replicates: int,
    noise: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """min_k E||grad f(x^k)||, with its standard error over replicates, against the bound, for every case. The memories
    start at the share of the first gradients that leaves the residual R; that exchange is not private."""
    most = largest_residual(task)
    start = task.starts(1, 0)[0]
    flat = [case for case in cases for _ in range(replicates)]
    algorithm = InformedNormEC(
        gamma=[step(task, case) for case in flat],
        alpha=[case.alpha * task.scale for case in flat],
        beta=[case.beta * task.scale for case in flat],
        sigma=noise,
        memory=[1.0 - case.residual / most for case in flat],
    )
    run = simulate(
        Simulation(algorithm),
        task.problem,
        setting.ROUNDS,
        len(flat),
        seed=2 * context.seed + 1,
        observe=["gradient-norm-squared"],
        start=start,
        series=True,
        device=context.device,
        progress=progress,
    )
    lengths = np.sqrt(run["gradient-norm-squared"].every_round[: setting.ROUNDS]).reshape(
        setting.ROUNDS, len(cases), replicates
    )
    at_start = float(np.linalg.norm(task.problem.gradient(start)))
    found = []
    for i, case in enumerate(cases):
        mean = lengths[:, i].mean(axis=1)
        k = int(np.argmin(mean))
        parts = terms(task, case, noise)
        found.append(
            {
                **vars(case),
                "gamma": step(task, case),
                "terms": parts,
                "bound": sum(parts.values()),
                "measured": float(mean[k]),
                "error": runs.standard_error(lengths[k, i]) if replicates > 1 else 0.0,
                "start": at_start,
            }
        )
    return found


def claim(theorem: str, title: str, points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The claim that the bound holds at every point."""
    ratios = [p["measured"] / p["bound"] for p in points]
    above = [p for p in points if p["measured"] - runs.SURE * p["error"] > p["bound"]]
    below = all(p["measured"] + runs.SURE * p["error"] <= p["bound"] for p in points)
    vacuous = sum(p["bound"] >= p["start"] for p in points)
    return {
        "claim": f"{title}: the bound of {theorem} holds at every point shown",
        "verdict": "not-reproduced" if above else "reproduced" if below else "inconclusive",
        "expected": "reproduced",
        "paper": f"{theorem}; its display is lost and was restored from its proof",
        "measured": f"left side over bound from {min(ratios):.3g} to {max(ratios):.3g} at {len(points)} points, of "
        f"which {vacuous} have a bound above the gradient's length at the start",
    }


def draw_start(ax: Any, points: Sequence[dict[str, Any]]) -> None:
    """The gradient's length at the start: a bound above it is vacuous."""
    ax.axhline(points[0]["start"], color=style.NEUTRAL, linewidth=1.0, linestyle="--", zorder=1)
    ax.set_yscale("log")
    ax.set_xscale("log")
