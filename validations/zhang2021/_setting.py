"""Shared code of the validations of zhang2021 Section 2.1: exact stationary points, and runs of the algorithms."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, ModelClippedFedAvg, TwoSidedFedAvg
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.piecewise import FixedPoint
from dpfl_theory.problems.scalar import ScalarQuadratics
from dpfl_theory.simulation import Algorithm, RecordGradient, Simulation, simulate

STARTS = np.linspace(-10.0, 10.0, 41)
"""The starting points of the runs [X]."""


def algorithm(clipping: str, step: Fraction, steps: int, threshold: Fraction | None) -> Algorithm:
    """FedAvg with all clients, no noise and global step 1, clipped in this way; clipping as in ``ScalarQuadratics``."""
    eta, c = float(step), None if threshold is None else float(threshold)
    if clipping == "model":
        return Simulation(ModelClippedFedAvg(eta_l=eta, Q=steps, c=c, sigma=0.0))
    if clipping == "difference" and c is not None:
        return Simulation(DPTwoSidedFedAvg(eta_l=eta, eta_g=1.0, Q=steps, c=c, sigma=0.0))
    plain = TwoSidedFedAvg(eta_l=eta, eta_g=1.0, Q=steps)
    if clipping == "gradient":  # every client has one record, so a record's gradient is the client's
        return Simulation(plain, gradient=RecordGradient(share=1.0, threshold=c))
    return Simulation(plain)


def records(clients: ScalarQuadratics) -> LinearModel:
    """The clients as least squares with one record each, x = a_i and y = b_i."""
    n = len(clients.a)
    x, y = [[float(a)] for a in clients.a], [float(b) for b in clients.b]
    return LinearModel(linear_data(x, y, [np.array([i]) for i in range(n)], "squared"), clients.name)


def ends(
    clients: ScalarQuadratics,
    clipping: str,
    step: Fraction,
    steps: int,
    threshold: Fraction | None,
    rounds: int,
    device: str,
    starts: Sequence[float] | np.ndarray = STARTS,
) -> np.ndarray:
    """The points of runs from these starting points after this number of rounds, (starts,) [X]; nan where they
    diverged."""
    problem: Problem = records(clients) if clipping == "gradient" else clients.problem()
    begin = np.asarray(starts, dtype=np.float64)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        run = simulate(
            algorithm(clipping, step, steps, threshold),
            problem,
            rounds,
            replicates=len(begin),
            observe=(),
            start=begin,
            device=device,
        )
    final = np.asarray(run.final)[:, 0]
    return np.where(np.abs(final) < 1e6, final, math.nan)


def ended(
    clients: ScalarQuadratics,
    clipping: str,
    step: Fraction,
    steps: int,
    threshold: Fraction | None,
    rounds: int,
    exact: Sequence[Fraction],
    device: str,
) -> dict[str, Any]:
    """The runs of one setting as plain data: their ends, and the distance from the exact point where it is unique."""
    found = ends(clients, clipping, step, steps, threshold, rounds, device)
    settled = found[np.isfinite(found)]
    return {
        "reading": clipping,
        "step": str(step),
        "at": float(step),
        "Q": steps,
        "rounds": rounds,
        "ends": sorted({round(float(v), 6) + 0.0 for v in settled}),
        "diverged": int(np.sum(~np.isfinite(found))),
        "exact": [_short(v) for v in exact],
        "error": float(np.max(np.abs(settled - float(exact[0])))) if len(exact) == 1 and len(settled) else None,
    }


def written(point: FixedPoint) -> str:
    """A stationary point as text: a fraction, or a decimal where that is long; an interval by its ends."""
    if point.point is None:
        return f"[{_short(point.low)}, {_short(point.high)}]"
    return _short(point.point)


def _short(value: Fraction | None) -> str:
    if value is None:
        return "unbounded"
    return str(value) if value.denominator < 10_000 else f"{float(value):.6g}"


def attracting(points: Sequence[FixedPoint]) -> list[Fraction]:
    """The stationary points that attract all nearby iterations."""
    return [p.point for p in points if p.point is not None and p.stability == "attracting"]


@functools.cache  # a hundred clipped local gradients make a map of hundreds of pieces
def stationary(
    clients: ScalarQuadratics, reading: str, step: Fraction, q: float, c: Fraction | None
) -> tuple[FixedPoint, ...]:
    """All stationary points under a reading: one of ``CLIPPING``, or "scaled", which clips the update over the step;
    c = None for no clipping."""
    if c is None:
        return clients.stationary("none", step=step, steps=q)
    if reading == "scaled":
        return clients.stationary("difference", step=step, steps=q, threshold=c * step)
    return clients.stationary(reading, step=step, steps=q, threshold=c)
