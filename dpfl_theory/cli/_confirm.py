"""Comparison of the minimum of bounds with the optimum of runs, as text and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.runtime.console import print_message

__all__ = ["draw", "lines"]


def lines(d: Mapping[str, Any]) -> Iterator[str]:
    """A table with sentences for each confirmed algorithm, if any."""
    for found in d.get("confirmed", ()):
        yield ""
        yield from _of_one(found)


def _of_one(found: Mapping[str, Any]) -> Iterator[str]:
    of = "not available" if found["statement"] is None else f"{found['statement']}, {found['bounds']}"
    yield (
        f"{found['algorithm']} around this choice, {found['replicates']} replicates with the same noise for each value"
    )
    yield f"bound: {of}"
    if found["why"] is not None:
        yield f"It does not apply to this choice: {found['why']}."
    yield "runs: suboptimality after the last round [F]"
    yield f"{'':12}{'recommended':>12}{'bound least':>12}{'runs best':>12}{'interval':>22}{'ratio':>18}"
    for line in found["lines"]:
        numbers = [line["recommended"], line["bound_least"], line["measured_least"]]
        columns = "".join(f"{'-' if x is None else format(x, '.3g'):>12}" for x in numbers)
        yield f"{line['hyperparameter']:12}{columns}{_range(line['interval']):>22}{_range(line['ratio']):>18}"
    for line in found["lines"]:
        yield line["sentence"]
    yield _cost(found["cost"])
    yield (
        f"Values in an interval are not distinguishable at {found['standard_errors']:.3g} standard errors of paired "
        f"differences: an optimum is outside its interval with probability at most {found['false_alarms']:.2g}, for "
        "all comparisons together."
    )


def _range(limits: list[float] | None) -> str:
    """Two limits, or one number.

    >>> _range([0.125, 4.0]), _range([1.0, 1.0]), _range(None)
    ('0.125 to 4', '1', '-')
    """
    if limits is None:
        return "-"
    low, high = (f"{x:.3g}" for x in limits)
    return low if low == high else f"{low} to {high}"


def _cost(cost: Mapping[str, Any]) -> str:
    ours, best = cost["recommended"], cost["best"]
    if ours["mean"] is None:
        return "Runs of this choice diverge."
    if best["mean"] is None or cost["difference"] is None:
        return f"This choice ends at {ours['mean']:.3g} +- {ours['error']:.1g}."
    return (
        f"This choice ends at {ours['mean']:.3g} +- {ours['error']:.1g}, the best that was tried "
        f"({cost['hyperparameter']} = {cost['value']:.3g}) at {best['mean']:.3g} +- {best['error']:.1g}, with fresh "
        f"seeds: a ratio of {cost['ratio']:.3g}, {cost['difference']:.2g} +- {cost['error']:.1g} more."
    )


def draw(document: Mapping[str, Any], picture: Path, kind: str) -> None:
    """Write the neighbourhoods' figure to a file."""
    from dpfl_theory.recommend.figure import neighbourhoods
    from dpfl_theory.validation import style

    write(picture, style.render(neighbourhoods(document["confirmed"]))[kind])
    print_message(f"figure: {picture}")
