"""The optimum of a hyper-parameter in runs of hou2023's algorithms, and the claims on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpfl_theory.validation import Context, style

from ._limits import optimum
from ._setting import ALGORITHMS, INFINITE, Grid, Noise, label

FLOOR = 1e-12  # of f(x_0) - f*
POWERS_OF_TWO = tuple(2**k for k in range(11))
ROUND_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)


def sweep(
    grid: Grid,
    points: Sequence[tuple[int, int]],
    axis: Sequence[int],
    epsilons: Sequence[float],
    noise: Noise,
    grids: int = 1,
) -> list[dict[str, Any]]:
    """Runs at (tau, T) points, all epsilons in one batch, and the optimum along the axis for each epsilon.

    Suboptimality is relative to f(x_0) - f*; below 1e-12 of that it counts as 1e-12: rounding errors are not compared.
    ``grids``: the number of optima that one claim concerns. ``samples`` and ``tests`` (test errors) are (axis,
    replicates).
    """
    gaps, errors = [], []
    for tau, T in points:
        gap, error = grid.final(tau, T, [noise(tau, T, e) for e in epsilons])
        gaps.append(np.maximum(gap / grid.setting.gap, FLOOR))
        errors.append(error)
    made = []
    for k, epsilon in enumerate(epsilons):
        samples = np.stack([gap[k] for gap in gaps])
        found = optimum(axis, samples, grids)
        entry: dict[str, Any] = {
            "setting": grid.setting.name,
            "algorithm": grid.algorithm,
            "epsilon": label(epsilon),
            "axis": list(axis),
            "tau": [tau for tau, _ in points],
            "mean": significant(samples.mean(axis=1)),
            "half": significant(1.96 * samples.std(axis=1, ddof=1) / math.sqrt(grid.replicates)),
            "optimum": vars(found),
            "samples": samples,
        }
        if errors[0] is not None:
            test = np.stack([error[k] for error in errors if error is not None])
            at = list(axis).index(found.best)  # type: ignore[arg-type]
            entry["test_error"] = significant(test.mean(axis=1))
            entry["test_error_at_best"] = float(test[at].mean())
            entry["test_error_half"] = float(1.96 * test[at].std(ddof=1) / math.sqrt(grid.replicates))
            entry["tests"] = test
        made.append(entry)
    return made


def stored(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries in the form of data files, without the single replicates."""
    return [{k: v for k, v in entry.items() if k not in ("samples", "tests")} for entry in entries]


def each(context: Context, work: Mapping[str, partial[Any]]) -> list[Any]:
    """The results of these calls, lists of entries or of such lists, as points. Points are cached, and several
    processes compute them; the names describe them."""

    def read(found: Any) -> Any:
        if not isinstance(found, dict):
            return [read(one) for one in found]
        return {k: np.asarray(v) if k in ("samples", "tests") else v for k, v in found.items()}

    return [read(found) for found in context.each(list(work.values()), list(work))]


def tau_sweep(
    grid: Grid,
    taus: Sequence[int],
    T: int,
    epsilons: Sequence[float],
    noise: Noise,
    grids: int = 1,
) -> list[dict[str, Any]]:
    """Local steps are varied, the total number T of iterations is fixed."""
    return sweep(grid, [(tau, T) for tau in taus], taus, epsilons, noise, grids)


def iteration_sweep(
    grid: Grid,
    tau: int,
    most: int,
    epsilons: Sequence[float],
    noise: Noise,
    grids: int = 1,
    counts: Sequence[int] = ROUND_COUNTS,
) -> list[dict[str, Any]]:
    """The number of iterations is varied, from one round on; the number of local steps is fixed."""
    iterations = [tau * r for r in counts if tau * r <= max(most, 2 * tau)]
    return sweep(grid, [(tau, T) for T in iterations], iterations, epsilons, noise, grids)


def tuned_sweep(
    grid: Grid,
    taus: Sequence[int],
    most: int,
    epsilons: Sequence[float],
    noise: Noise,
    grids: int = 1,
    counts: Sequence[int] = ROUND_COUNTS,
) -> list[dict[str, Any]]:
    """`iteration_sweep` with a number of local steps for each epsilon, in the order of the epsilons."""
    found: dict[str, dict[str, Any]] = {}
    for tau in dict.fromkeys(taus):
        own = [e for e, t in zip(epsilons, taus) if t == tau]
        found.update((e["epsilon"], e) for e in iteration_sweep(grid, tau, most, own, noise, grids, counts))
    return [found[label(e)] for e in epsilons]


def counts(context: Context) -> tuple[int, ...]:
    """The numbers of rounds of the runs of a sweep over iterations."""
    return context.pick(full=ROUND_COUNTS, paper=ROUND_COUNTS, standard=POWERS_OF_TWO)


def significant(values: Any, digits: int = 4) -> list[float]:
    """Numbers with this number of digits, to keep the data files readable."""
    return [float(f"{v:.{digits}g}") for v in values]


def describe(entries: Sequence[dict[str, Any]], by: str = "epsilon") -> str:
    """One line on optima: epsilon (or another name of each), best and interval."""
    found = [(e[by], e["optimum"]) for e in entries]
    return ", ".join(f"{name}: {o['best']:g} ({o['low']:g} to {o['high']:g})" for name, o in found)


def bars(ax: Any, x: Any, entries: Sequence[dict[str, Any]], **look: Any) -> None:
    """Optima with the intervals of values that cannot be distinguished from them."""
    best = np.array([e["optimum"]["best"] for e in entries], dtype=float)
    low, high = (np.array([e["optimum"][side] for e in entries], dtype=float) for side in ("low", "high"))
    ax.errorbar(x, best, [best - low, high - best], capsize=3, linestyle="none", **look)


def groups(entries: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Entries by (setting, algorithm), in order."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in entries:
        found.setdefault((entry["setting"], entry["algorithm"]), []).append(entry)
    return found


def trend(
    claim: str, entries: Sequence[dict[str, Any]], by: str, rising: bool, paper: str, expected: str | None = None
) -> dict[str, Any]:
    """The claim that optima move in one direction as ``by`` grows, in every group; entries in growing order of it.

    Not reproduced where two intervals lie apart in the wrong order; reproduced where none do, and where those of the
    smallest and the largest value lie apart in the right order in every group; inconclusive otherwise.
    """
    wrong, apart = False, True
    for own in groups(entries).values():
        intervals = [(e["optimum"]["low"], e["optimum"]["high"]) for e in own]
        ordered = intervals if rising else intervals[::-1]
        wrong |= any(later[1] < earlier[0] for i, later in enumerate(ordered) for earlier in ordered[:i])
        apart &= ordered[0][1] < ordered[-1][0]
    verdict = "not-reproduced" if wrong else "reproduced" if apart else "inconclusive"
    lines = [f"{s}, {ALGORITHMS[a]}: {describe(own, by)}" for (s, a), own in groups(entries).items()]
    made = {"claim": claim, "verdict": verdict, "paper": paper, "measured": "; ".join(lines)}
    return made if expected is None else {**made, "expected": expected}


def existence(claim: str, entries: Sequence[dict[str, Any]], paper: str, expected: str | None = None) -> dict[str, Any]:
    """The claim that all these optima are non-trivial.

    Not reproduced where an end of its grid is the best by the tests; inconclusive where they do not decide.
    """
    trivial = any(e["optimum"]["trivial"] for e in entries)
    clear = all(e["optimum"]["non_trivial"] for e in entries)
    verdict = "not-reproduced" if trivial else "reproduced" if clear else "inconclusive"
    lines = [f"{s}, {ALGORITHMS[a]}: {describe(own)}" for (s, a), own in groups(entries).items()]
    made = {"claim": claim, "verdict": verdict, "paper": paper, "measured": "; ".join(lines)}
    return made if expected is None else {**made, "expected": expected}


def colours(entries: Sequence[dict[str, Any]]) -> dict[str, str]:
    """One colour for each epsilon, the first of which is without noise."""
    return {e["epsilon"]: colour for e, colour in zip(entries, (style.BOUND, *style.PALETTE))}


def curves(ax: Any, entries: Sequence[dict[str, Any]]) -> None:
    """Mean suboptimality along the axis for each epsilon, with 95% bands, and a ring around each optimum."""
    shades = colours(entries)
    for entry in entries:
        colour, mean, half = shades[entry["epsilon"]], np.array(entry["mean"]), np.array(entry["half"])
        name = "no noise" if entry["epsilon"] == INFINITE else f"$\\varepsilon$ = {entry['epsilon']}"
        x = np.array(entry["axis"], dtype=float)
        ax.plot(x, mean, color=colour, marker=".", label=name)
        style.band(ax, x, np.maximum(mean - half, 0.3 * mean), mean + half, colour)
        best = entry["axis"].index(entry["optimum"]["best"])
        ax.plot(x[best], mean[best], marker="o", markersize=9, markerfacecolor="none", color=colour)
    ax.axhline(1.0, color=style.NEUTRAL, linewidth=1.0, linestyle=":")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(1e-6, 1e5)


def crosses(ax: Any, entries: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> None:
    """The results with other noise at some of the epsilons, in the same colours."""
    shades = colours(entries)
    for entry in others:
        ax.plot(
            entry["axis"],
            entry["mean"],
            linestyle="none",
            marker="x",
            color=shades[entry["epsilon"]],
            label=f"$\\varepsilon$ = {entry['epsilon']}, certified noise",
        )


def dashes(ax: Any, entries: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> None:
    """Mean suboptimality of other runs at some of the epsilons, in the same colours, and a square at each optimum."""
    shades = colours(entries)
    for entry in others:
        colour, mean = shades[entry["epsilon"]], entry["mean"]
        ax.plot(entry["axis"], mean, linestyle="--", linewidth=1.0, color=colour)
        at = entry["axis"].index(entry["optimum"]["best"])
        ax.plot(entry["axis"][at], mean[at], marker="s", markersize=8, markerfacecolor="none", color=colour)
