"""Shared code of the validations of noise prescriptions: limits of their constants, and curves of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from dpfl_theory import privacy
from dpfl_theory.privacy.pld import epsilon_limits
from dpfl_theory.runtime import threads
from dpfl_theory.statements.noise_constants import PRESCRIPTIONS, constant
from dpfl_theory.validation import Context


def all_of(jobs: Sequence[Callable[[], Any]], context: Context) -> list[Any]:
    """The jobs' results in order. Convolutions release the interpreter's lock, so that threads are enough."""

    def reported() -> Iterator[Any]:
        for i, result in enumerate(pool.map(lambda job: job(), jobs)):
            context.progress((i + 1) / len(jobs))
            yield result

    with ThreadPoolExecutor(min(2, threads.available())) as pool:
        return list(reported())


def mechanism(statement: str, **parameters: Any) -> privacy.Mechanism:
    """The mechanism of a prescription."""
    kind: Any = privacy.get(PRESCRIPTIONS[statement].algorithm)
    made: privacy.Mechanism = kind(**parameters)
    return made


def limits(statement: str, epsilon: float, delta: float, **parameters: Any) -> dict[str, float]:
    """The constant's limits: ``high`` is certified to be enough, nothing below ``low`` is."""
    found = constant(statement, epsilon=epsilon, delta=delta, **parameters)
    return {"epsilon": epsilon, "delta": delta, "low": found.low, "high": found.value, "u": found.range_ratio}


def constant_of(statement: str, noisy: privacy.Mechanism, epsilon: float, delta: float) -> float:
    """The constant that prescribes a mechanism's noise at (epsilon, delta)."""
    return PRESCRIPTIONS[statement].constant_of(noisy, epsilon, delta)


def needed(
    statement: str, run: privacy.Mechanism, epsilon: float, delta: float, *, limit: str, start: float = 1.0
) -> float:
    """One of the constant's limits: "high" is certified to be enough, nothing below "low" is.

    The search starts at the noise multiplier ``start``.
    """
    z = privacy.calibrate(run, epsilon=epsilon, delta=delta, limit=limit, start=start)
    return constant_of(statement, run.with_(noise_multiplier=z), epsilon, delta)


def point(statement: str, noisy: privacy.Mechanism, delta: float) -> dict[str, float]:
    """The noise is enough for the upper limit of its epsilon, and for nothing below the lower one.

    So one run of the accountant gives a point of the constant's upper limit and one of its lower limit, as functions of
    epsilon.
    """
    found = epsilon_limits(noisy.event(), delta)
    return {
        "epsilon_low": found.low,
        "epsilon_high": found.high,
        "low": constant_of(statement, noisy, found.low, delta),
        "high": constant_of(statement, noisy, found.high, delta),
    }


def noise_multipliers(every: privacy.Mechanism, share: float, delta: float, targets: Iterable[float]) -> list[float]:
    """Noise multipliers for about these epsilons when a share takes part: the share times those for all."""
    return [share * privacy.calibrate(every, epsilon=float(e), delta=delta) for e in targets]


def curves(points: Iterable[Mapping[str, Any]], *names: str) -> list[dict[str, Any]]:
    """Points that agree in these names as one curve: a mapping with lists."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for p in points:
        same = {name: p[name] for name in names}
        others = [name for name in p if name not in names]
        curve = found.setdefault(tuple(same.values()), {**same, **{name: [] for name in others}})
        for name in others:
            curve[name].append(p[name])
    return list(found.values())


def grows(values: Iterable[float]) -> bool:
    """Whether each value exceeds the one before."""
    return all(a < b for a, b in pairwise(values))


def verdict(true: bool) -> str:
    """A claim's verdict."""
    return "reproduced" if true else "not-reproduced"


def smooth(x: Iterable[float], y: Iterable[float]) -> tuple[Any, Any]:
    """A curve through the points, on logarithmic axes, without oscillations."""
    from scipy.interpolate import PchipInterpolator

    log_x = np.log(list(x))
    fine = np.linspace(log_x[0], log_x[-1], 200)
    return np.exp(fine), np.exp(PchipInterpolator(log_x, np.log(list(y)))(fine))


def draw_limits(ax: Any, curve: Mapping[str, Any], colour: str, *, band: bool = True, **look: Any) -> None:
    """A curve of `point`s as a line, the upper limit, above a pale band down to the lower one."""
    from dpfl_theory.validation import style

    x, high = smooth(curve["epsilon_high"], curve["high"])
    ax.plot(x, high, color=colour, **look)
    if band:
        below, low = smooth(curve["epsilon_low"], curve["low"])
        known = x <= below[-1]
        lower = np.exp(np.interp(np.log(x[known]), np.log(below), np.log(low)))
        style.band(ax, x[known], lower, high[known], colour)


def log_axes(ax: Any, x: tuple[float, float], y: tuple[float, float], ticks: Iterable[float]) -> None:
    """Logarithmic axes with these ticks below, and powers of two at the side."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*x)
    ax.set_ylim(*y)
    for axis, (low, high), wanted in ((ax.xaxis, x, ticks), (ax.yaxis, y, (0.5, 1, 2, 4, 8, 16, 32, 64))):
        kept = [t for t in wanted if low <= t <= high]
        axis.set_ticks(kept, [f"{t:g}" if t < 1000 else f"{t // 1000:g} 000" for t in kept])
    ax.minorticks_off()
