"""Exact second moments of DP-ScaffNew on quadratics (hou2023): rational arithmetic against floating point.

The package's moments are fractions, equal to the last digit, since its exact checks compare them without error; the
matrix of moments is one of whole numbers over a denominator. Floating point carries 16 digits: what it saves is the
price of exactness. Fractions grow with the iterations, so every sample is a whole run.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Array, Case, Contestant, load_jax
from dpfl_theory.semantics.base import Vector
from dpfl_theory.statements.hou2023._runs import iterated


@dataclass(frozen=True)
class Size:
    """Clients, axes and iterations."""

    clients: int = 8
    axes: int = 2
    iterations: int = 12


SIZES = {"full": Size(), "quick": Size(5, 1, 8), "tiny": Size(3, 2, 3)}
ETA, P, VARIANCE = Fraction(1), Fraction(1, 3), Fraction(1, 10)


def build(size: str, jax: bool) -> list[Case]:
    """One table; an axis takes the place of a replicate."""
    s = SIZES[size]
    N = s.clients
    q = [[Fraction(1, 1 + (i + axis) % N) for i in range(N)] for axis in range(s.axes)]
    shifts = [[Fraction(i - axis, N) for i in range(N)] for axis in range(s.axes)]
    deviations = np.array([[8.0] * N + [-float(h) for h in row] for row in shifts])
    start = deviations[:, :, None] * deviations[:, None, :]
    curvatures = np.array([[float(x) for x in row] for row in q])

    def exact(rounds: int, private: bool) -> Array:
        variance, axes = VARIANCE if private else Fraction(0), []
        x, h = [Fraction(8)] * N, [Fraction(0)] * N
        for row, shift in zip(q, shifts):
            found = iterated(x, h, row, ETA, P, rounds, variance, shifts=shift)
            _, (points, variates) = found.state
            control = [v - found.world.gradient(i, Vector(Fraction(0))) for i, v in enumerate(variates)]
            forms = [*points, *control]
            axes.append([float(found.product(u, v)) for u in forms for v in forms])
        result: Array = np.array(axes)
        return result

    quiet, loud, spread = _maps(curvatures)
    p = float(P)

    def dense(rounds: int, private: bool) -> Array:
        M: Array = start
        added = p * spread * (float(VARIANCE) if private else 0.0)
        for _ in range(rounds):
            M = p * loud @ M @ loud.transpose(0, 2, 1) + (1.0 - p) * quiet @ M @ quiet.transpose(0, 2, 1) + added
        flat: Array = M.reshape(len(M), -1)
        return flat

    contestants = [Contestant("dpfl_theory, exact", exact), Contestant("NumPy, dense maps", dense)]
    if jax:
        contestants.append(_jax(start, quiet, loud, spread))
    return [
        Case(
            "Exact second moments of DP-ScaffNew",
            f"N = {N} clients, d = {s.axes}, {s.iterations} iterations, rational arithmetic",
            start.reshape(s.axes, -1),
            s.iterations,
            contestants,
            unit="iteration",
            whole=True,
            threads=(1,),
            checkpoints=(1, s.iterations),
        )
    ]


def _maps(q: Array) -> tuple[Array, Array, Array]:
    """The maps of the deviations (a, b) without and with communication, and the noise's covariance for variance 1:
    (axes, 2N, 2N), (axes, 2N, 2N), (2N, 2N)."""
    axes, N = q.shape
    one, mean, gain = np.eye(N), np.full((N, N), 1.0 / N), float(P / ETA)
    zero = np.zeros((N, N))
    quiet = np.zeros((axes, 2 * N, 2 * N))
    for axis in range(axes):
        quiet[axis] = np.block([[one - float(ETA) * np.diag(q[axis]), float(ETA) * one], [zero, one]])
    send = np.block([[mean, zero], [gain * (mean - one), one]])
    noise = np.vstack([mean, gain * (mean - one)])
    return quiet, send @ quiet, noise @ noise.T


def _jax(start: Array, quiet: Array, loud: Array, spread: Array) -> Contestant:
    jax = load_jax()
    p = float(P)

    @partial(jax.jit, static_argnums=0)
    def loop(rounds: int, M: Any, variance: Any) -> Any:
        def of_axis(M: Any, quiet: Any, loud: Any) -> Any:
            def one(M: Any, _: None) -> Any:
                return p * loud @ M @ loud.T + (1.0 - p) * quiet @ M @ quiet.T + p * variance * spread, None

            return jax.lax.scan(one, M, None, length=rounds)[0]

        return jax.vmap(of_axis)(M, quiet, loud)

    def run(rounds: int, private: bool) -> Array:
        return np.asarray(loop(rounds, start, float(VARIANCE) if private else 0.0)).reshape(len(start), -1)

    return Contestant("JAX, scan and vmap", run)
