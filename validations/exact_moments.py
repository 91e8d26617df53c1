"""Exact second moments against a million lanes of simulation: cohorts, FedAvg and ScaffNew on quadratics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpfl_theory.algorithms import Cohort, FedAvg, ScaffNew, simulate
from dpfl_theory.algorithms.two_sided import TwoSidedFedAvg
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.quadratic import from_matrices
from dpfl_theory.report import style
from dpfl_theory.statements.das2022._sampling_moments import second_moment
from dpfl_theory.statements.hou2023._moments import expected_psi
from dpfl_theory.statements.hou2023._sweeps import gap
from dpfl_theory.validation import Context, main

TITLE = "Exact second moments against simulation"
CAPTION = (
    "Each dot: the mean of a million independent lanes less the exact expectation, in standard errors of the mean; "
    "dashed lines at 5. The exact values are rational numbers: the second moment of a cohort's average by enumeration "
    "of all cohorts (das2022.eq12), E f - f* of DP-FedAvg and E psi of DP-ScaffNew by linear recursions of second "
    "moments, random coins included (hou2023.theorem1). Three quadratics in one dimension with curvatures 1, 1/4 and "
    "1/10, minimisers 0, 1 and -2, start 8."
)
SOURCE = {"paper": "das2022 and hou2023", "where": "exact checks of equation (12) and of Theorem 1"}
BUDGET_SECONDS = {"quick": 60.0, "full": 120.0}

LANES = 10**6
LIMIT = 5.0  # standard errors; at 12 comparisons a false alarm has probability 7e-6
Q = (Fraction(1), Fraction(1, 4), Fraction(1, 10))
CENTRES = (Fraction(0), Fraction(1), Fraction(-2))
START, UNIT, ITERATIONS = Fraction(8), Fraction(1, 10), 12


@dataclass(frozen=True)
class Comparison:
    """One expectation: its name, its exact value, and a simulation that gives replicates (lanes,)."""

    name: str
    exact: Fraction
    replicates: Callable[[int, str], np.ndarray]


def _problem() -> Problem:
    return from_matrices(np.array([[[float(q)]] for q in Q]), np.array([[float(c)] for c in CENTRES]))


def comparisons() -> Iterator[Comparison]:
    """Cohorts of each kind, then both algorithms for several numbers of local steps."""
    problem, start = _problem(), np.array([float(START)])
    c = problem.constants
    assert c.w_star is not None
    star = sum((a * b for a, b in zip(Q, CENTRES)), Fraction(0)) / sum(Q)
    gradients = tuple(q * (START - centre) for q, centre in zip(Q, CENTRES))
    whole = math.lcm(*(g.denominator for g in gradients))
    members = tuple((int(g * whole),) for g in gradients)
    for scheme, r in (("poisson", 1), ("poisson", 2), ("fixed", 1), ("fixed", 2)):
        exact = second_moment(members, Fraction(r), "independent" if scheme == "poisson" else "fixed") / whole**2

        def cohort(seed: int, device: str, scheme: str = scheme, r: int = r) -> np.ndarray:
            algorithm = FedAvg(0.01, 1, None, "none", None, Cohort(scheme, r))
            run = simulate(algorithm, problem, 1, LANES, seed, ["signal-squared"], start=start, device=device)
            return np.asarray(run["signal-squared"].mean)

        yield Comparison(f"cohort, {'independent' if scheme == 'poisson' else 'fixed'}, r = {r}", exact, cohort)
    for tau in (1, 2, 3, 6):
        exact = gap("dp-fedavg", (Q, CENTRES, START), tau, ITERATIONS, UNIT)

        def fedavg(seed: int, device: str, tau: int = tau) -> np.ndarray:
            sigma = math.sqrt(float(UNIT) * ITERATIONS / tau)
            algorithm = TwoSidedFedAvg(1.0, local_steps=tau, sigma=sigma)
            rounds = ITERATIONS // tau
            run = simulate(algorithm, problem, rounds, LANES, seed, start=start, every=rounds, device=device)
            return np.asarray(run["suboptimality"].last)

        yield Comparison(f"DP-FedAvg, tau = {tau}", exact, fedavg)
    shifts = [[q * (star - centre)] for q, centre in zip(Q, CENTRES)]
    for tau in (1, 2, 3, 6):
        p = Fraction(1, tau)
        variance = p * ITERATIONS * UNIT
        exact = expected_psi([[q] for q in Q], [START - star], shifts, Fraction(1), p, ITERATIONS, variance)

        def scaffnew(seed: int, device: str, tau: int = tau, sigma: float = math.sqrt(variance)) -> np.ndarray:
            algorithm = ScaffNew(1.0, 1.0 / tau, None, sigma)
            watched = ["scaffnew-lyapunov"]
            run = simulate(
                algorithm, problem, ITERATIONS, LANES, seed, watched, start=start, every=ITERATIONS, device=device
            )
            return np.asarray(run[watched[0]].last)

        yield Comparison(f"DP-ScaffNew, p = 1/{tau}", exact, scaffnew)


def compute(context: Context) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    every = list(comparisons())
    for number, comparison in enumerate(every):
        values = comparison.replicates(context.seed + number, context.device)
        error = float(values.std(ddof=1)) / math.sqrt(len(values))
        exact = float(comparison.exact)
        found.append(
            {
                "name": comparison.name,
                "exact": exact,
                "simulated": float(values.mean()),
                "standard_error": error,
                "deviation": (float(values.mean()) - exact) / error,
            }
        )
        context.progress((number + 1) / len(every))
    worst = max(found, key=lambda f: abs(f["deviation"]))
    coarsest = max(found, key=lambda f: f["standard_error"] / f["exact"])
    agreed = abs(worst["deviation"]) <= LIMIT
    return {
        "configuration": {
            "lanes": LANES,
            "curvatures": [str(q) for q in Q],
            "minimisers": [str(c) for c in CENTRES],
            "start": str(START),
            "iterations": ITERATIONS,
            "C^2 v ln(1/delta)/epsilon^2": str(UNIT),
        },
        "comparisons": found,
        "claims": [
            {
                "claim": f"every simulated mean lies within {LIMIT:g} standard errors of the exact expectation",
                "verdict": "reproduced" if agreed else "not-reproduced",
                "expected": "reproduced",
                "paper": "exact recursions of second moments",
                "measured": f"largest deviation {worst['deviation']:.2f} standard errors ({worst['name']}); largest "
                f"relative standard error {100 * coarsest['standard_error'] / coarsest['exact']:.2f}% "
                f"({coarsest['name']})",
            }
        ],
    }


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    fig, ax = style.figure(1, 1, width=7.5, height=4.2)
    found = data["comparisons"]
    rows = np.arange(len(found))[::-1]
    ax.axvline(0.0, color=style.NEUTRAL, linewidth=0.9)
    for edge in (-LIMIT, LIMIT):
        ax.axvline(edge, color=style.NEUTRAL, linestyle="--", linewidth=0.9)
    ax.plot([f["deviation"] for f in found], rows, "o", color=style.PALETTE[0])
    for row, f in zip(rows, found, strict=True):
        ax.annotate(f"{f['exact']:.4g}", (LIMIT + 0.3, row), va="center", color=style.NEUTRAL)
    ax.set_yticks(rows, [f["name"] for f in found])
    ax.set_xlim(-LIMIT - 1.0, LIMIT + 2.2)
    ax.set_xlabel("simulated less exact, in standard errors; right: the exact value")
    return {"": fig}


if __name__ == "__main__":
    raise SystemExit(main(__file__))
