"""Exact second moments against simulation, each to the same precision: the algorithms of four papers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpfl_theory.validation import Context, as_question, style

from . import _exact_moments as moments

TITLE = "Exact second moments against simulation"
CAPTION = (
    "Each dot: a mean over independent replicates less the exact expectation, in standard errors; dashed lines at 5. "
    "The "
    "number of replicates makes the standard error about 0.15% of the exact expectation (0.5% in the standard "
    "profile). The "
    "exact values are rational numbers. By enumeration of all cohorts: the second moment of a cohort's average "
    "(das2022.eq12). The same with squared coefficients of the local steps' errors: E(x - x*)^2 of DP-SCAFFOLD-warm "
    "and of DP-FedAvg, the users' drift and the lag of their control variates (noble2022, Appendix C); 'records': two "
    "of a user's four records in each step, and noise, at a threshold that no gradient reaches. By linear recursions "
    "of second moments: E f - f* of DP-FedAvg with tau local steps and E psi of DP-ScaffNew, random coins included "
    "(hou2023.theorem1). Also the squared noise in the estimate of alpha-NormEC (shulgin2025.lemma3; "
    "shulgin2025.corollary2 with its sigma and beta). Three quadratics in one dimension with curvatures 1, 1/4 and "
    "1/10, minimisers 0, 1 and -2, start 8; alpha-NormEC on n random quadratics in d dimensions."
)
SOURCE = {
    "paper": "das2022, hou2023, noble2022 and shulgin2025",
    "where": "exact checks of equation (12), of Theorem 1, of Appendix C, and of Lemma 3 and Corollary 2",
}
BUDGET_SECONDS = {"full": 40.0, "paper": 60.0}

PRECISION, STANDARD_PRECISION = 0.0015, 0.005  # standard error over exact value
PILOT, STANDARD_PILOT = 20_000, 2_000  # replicates that determine the number of the others, and do not count
LIMIT = 5.0  # standard errors; at 26 comparisons a false alarm has probability 1.5e-5


def compute(context: Context) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    iterations = context.pick(full=6, paper=12)
    precision = context.pick(full=PRECISION, paper=PRECISION, standard=STANDARD_PRECISION)
    pilot = context.pick(full=PILOT, paper=PILOT, standard=STANDARD_PILOT)
    every = list(moments.comparisons(iterations))
    for number, comparison in enumerate(every):
        exact, seed = float(comparison.exact), context.seed + number
        replicates = _needed(comparison.replicates(pilot, seed, context.device), precision * exact)
        values = comparison.replicates(replicates, seed, context.device, pilot)
        error = float(values.std(ddof=1)) / math.sqrt(replicates)
        found.append(
            {
                "name": comparison.name,
                "exact": exact,
                "replicates": replicates,
                "simulated": float(values.mean()),
                "standard_error": error,
                "deviation": (float(values.mean()) - exact) / error,
            }
        )
        context.progress((number + 1) / len(every))
    worst = max(found, key=lambda f: abs(f["deviation"]))
    coarsest = max(found, key=lambda f: f["standard_error"] / f["exact"])
    agreed = abs(worst["deviation"]) <= LIMIT
    question = {
        "claim": f"every simulated mean lies within {LIMIT:g} standard errors of the exact expectation",
        "verdict": "reproduced" if agreed else "not-reproduced",
        "expected": "reproduced",
        "paper": "exact recursions of second moments",
        "measured": f"largest deviation {worst['deviation']:.2f} standard errors ({worst['name']}); largest "
        f"relative standard error {100 * coarsest['standard_error'] / coarsest['exact']:.2f}% "
        f"({coarsest['name']})",
    }
    return {
        "configuration": {
            "replicates": [min(f["replicates"] for f in found), max(f["replicates"] for f in found)],
            "curvatures": [str(q) for q in moments.Q],
            "minimisers": [str(c) for c in moments.CENTRES],
            "start": str(moments.START),
            "hou2023": {"iterations": iterations, "C^2 v ln(1/delta)/epsilon^2": str(moments.UNIT)},
            "noble2022": {"eta_l": str(moments.ETA_L), "V": str(moments.VARIANCE)},
        },
        "comparisons": found,
        "claims": [as_question(question)],
    }


def _needed(values: np.ndarray, error: float) -> int:
    """The number of replicates whose mean has this standard error, by the deviation of these replicates, and at least
    their number."""
    return max(len(values), math.ceil((float(values.std(ddof=1)) / error) ** 2))


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    fig, ax = style.figure(1, 1, width=9.5, height=1.0 + 0.22 * len(data["comparisons"]))
    found = data["comparisons"]
    rows = np.arange(len(found))[::-1]
    ax.axvline(0.0, color=style.NEUTRAL, linewidth=0.9)
    for edge in (-LIMIT, LIMIT):
        ax.axvline(edge, color=style.NEUTRAL, linestyle="--", linewidth=0.9)
    ax.plot([f["deviation"] for f in found], rows, "o", color=style.PALETTE[0])
    for row, f in zip(rows, found, strict=True):
        ax.annotate(f"{f['exact']:.4g}", (LIMIT + 0.3, row), va="center", color=style.NEUTRAL)
    ax.set_yticks(rows, [f["name"] for f in found])
    ax.set_ylim(-0.8, len(found) - 0.2)
    ax.set_xlim(-LIMIT - 1.0, LIMIT + 2.2)
    ax.set_xlabel("simulated less exact, in standard errors; right: the exact value")
    return {"": fig}
