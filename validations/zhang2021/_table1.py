"""Stationary points of FedAvg on problem (8) of zhang2021, for each quantity that can be clipped: exact, and by
runs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpfl_theory.problems.scalar import ScalarQuadratics
from dpfl_theory.validation import Context

from . import _setting as shared

F = Fraction
PRINTED = {("inf", "1"): F(0), ("inf", "inf"): F(13, 9), ("1", "1"): F(1, 2), ("1", "inf"): F(2, 3)}
"""(c, Q) -> the printed stationary point."""
C = F(1)
READINGS = {
    "gradient": "each local gradient is clipped (the caption), c [F/X]",
    "difference": "the update x_{i,Q} - x is clipped (Algorithm 2), c [X]",
    "scaled": "the update over the local step is clipped, c [F/X]",
    "model": "the model x_{i,Q} is clipped, c [X]",
}
STABLE_BELOW = F(6, 41)
"""One unclipped round with Q = 1 is x -> (1 - 41 eta/3) x."""
STEPS = (F(1, 1000), F(1, 100), F(1, 50), F(1, 20), F(1, 10), F(1, 7))
"""Local steps at which the unclipped method with Q = 1 is stable."""
LARGE = (F(1, 5), F(1, 4), F(2, 7), F(1, 2), F(1))
ENDLESS_BELOW = F(1, 18)
"""Endless local steps reach the clients' minimisers below 2/36."""
MANY = (1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 70, 100, 200)
ENDLESS = 1000
"""After this number of local steps of 1/50 every client is at its minimiser to 1e-8: Q = infinity in runs."""
SHOWN = F(1, 50)


def entry(clients: ScalarQuadratics, reading: str, q: str, step: Fraction) -> dict[str, Any]:
    """The stationary points of one entry with c = 1 under one reading at one local step."""
    points = shared.stationary(clients, reading, step, math.inf if q == "inf" else int(q), C)
    wanted = PRINTED["1", q]
    return {
        "reading": reading,
        "c": "1",
        "Q": q,
        "step": str(step),
        "unclipped_stable": step < STABLE_BELOW,
        "exact": [shared.written(p) for p in points],
        "stability": [p.stability for p in points],
        "printed": str(wanted),
        "agrees": shared.attracting(points) == [wanted] and len(points) == 1,
    }


def over_steps(clients: ScalarQuadratics, context: Context) -> list[dict[str, Any]]:
    """Q = 1: the attracting stationary point against the local step."""
    steps = [F(k, 400) for k in range(1, context.pick(full=161, paper=401), context.pick(full=2, paper=1, standard=4))]
    curves = []
    for reading in ("none", "gradient", "difference", "model"):
        found = []
        for step in steps:
            inside = shared.attracting(shared.stationary(clients, reading, step, 1, None if reading == "none" else C))
            found.append(float(inside[0]) if len(inside) == 1 else math.nan)
        curves.append({"reading": reading, "x": [float(s) for s in steps], "point": found})
    return curves


def over_local_steps(clients: ScalarQuadratics, context: Context) -> list[dict[str, Any]]:
    """The stationary point at one local step against Q, and at Q = infinity."""
    curves = []
    for reading in ("none", "gradient", "difference", "model"):
        most = context.pick(full=100, paper=200, standard=50) if reading == "gradient" else MANY[-1]
        counts: list[float] = [*(q for q in MANY if q <= most), math.inf]
        c = None if reading == "none" else C
        found = [shared.attracting(shared.stationary(clients, reading, SHOWN, q, c)) for q in counts]
        curves.append(
            {
                "reading": reading,
                "x": [q if q < math.inf else None for q in counts],
                "point": [float(p[0]) if len(p) == 1 else math.nan for p in found],
            }
        )
    return curves


def runs(clients: ScalarQuadratics, context: Context) -> list[dict[str, Any]]:
    """The algorithms, from many starts: their ends, and the distance from the exact point."""
    slow = context.pick(full=(), paper=STEPS[:2])
    # Clipped gradients move x by at most c eta a round: the smallest steps take many rounds to run from 10 away.
    one = [(r, s, 1) for r in ("none", "gradient", "difference", "model") for s in (*slow, *STEPS[2:], *LARGE)]
    many = [(r, SHOWN, q) for r in ("none", "gradient", "difference", "model") for q in (2, 5, 20, 100, ENDLESS)]
    found = []
    for number, (reading, step, q) in enumerate([*one, *many]):
        context.progress(0.3 + 0.7 * number / len([*one, *many]))
        endless = q == ENDLESS
        least = 3 if reading == "gradient" else 40  # clipped gradients are at the end after one round
        rounds = least if endless else 200 + math.ceil(45.0 / float(step) / q)
        c = None if reading == "none" else C
        exact = shared.attracting(shared.stationary(clients, reading, step, math.inf if endless else q, c))
        found.append(shared.ended(clients, reading, step, q, c, rounds, exact, context.device))
    return found
