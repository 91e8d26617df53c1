"""Test whether a bound is least where runs are best, around the recommendation of a rule or of a comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.lazy import stats
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.compare import each
from dpfl_theory.recommend.constants_from_data import MEASURES, gap_at_start, measures_of
from dpfl_theory.recommend.inputs import Document, inputs_of, quote_option
from dpfl_theory.recommend.neighbourhood import RATE, REPLICATES, ParameterScan, scanned, statement_at
from dpfl_theory.recommend.papers import get
from dpfl_theory.recommend.rule_runs import MOST_ROUNDS, RULED, cohort_of, constants, hyperparameters_of, too_long
from dpfl_theory.recommend.search import measure
from dpfl_theory.recommend.synthetic_problem import Constants
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned
from dpfl_theory.runtime.cached_calls import Reuse


def confirm(
    one: Tuned,
    hyperparameters: Mapping[str, float],
    known: Mapping[str, Any] | str,
    minimum: Mapping[str, float] | None = None,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
    rate: float = RATE,
) -> Document:
    """Test whether the bound of an algorithm is least where its runs are best, around these hyper-parameters.

    Args:
        one: the algorithm on its problem, within a budget; no line exceeds the number of vectors that this allows.
        hyperparameters: the recommended ones, by the names of `dpfl_theory.recommend.tuned`.
        known: the problem's constants as inputs of the algorithm's `Setting`, or the reason why the bound lacks one.
        minimum: the global minimum of the bound, for lines along which it has no value. replicates, seed, rate: of each
        value's runs, and the false-alarm rate of the whole report.

    Returns:
        Plain data: ``lines``, one for each hyper-parameter, with its ``values``, the ``bound``, ``mean`` and ``error``
        at each, ``bound_least`` and ``measured_least``. A line also has the ``interval`` of values that may be the
        best, and their ``ratio`` to ``bound_least``. It has ``loss`` (the ratio of runs at the bound's optimum to the
        least), ``agree``, ``vacuous``, ``why`` and a ``sentence``. The other keys are ``cost``, the results of the
        recommendation and of the neighbourhood's best with fresh seeds; ``statement``, its left side ``bounds``, and
        ``why`` it does not apply to the recommendation itself, if so; ``standard_errors`` (z), ``false_alarms`` (the
        rate) and ``replicates``.

    Raises:
        InputError: for an algorithm without a bound, and for a run that is too long.

    >>> from dpfl_theory.problems import make
    >>> one = tuned()["dp-norm-ec"](make("quadratic", clients=4, dimension=2, seed=1), Budget(8.0, 1e-5, rounds=8))
    >>> run = {"gamma": 0.01, "beta": 0.1, "alpha": 0.1, "rounds": 8}
    >>> found = confirm(one, run, constants(one.name, one.problem), replicates=8)
    >>> [line["hyperparameter"] for line in found["lines"]], found["statement"]
    (['gamma', 'beta', 'alpha', 'rounds'], 'shulgin2025.theorem2')
    """
    if one.name not in RULED:
        raise InputError(f"there is no bound of {one.name} to confirm: choose one of {', '.join(RULED)}")
    here = {name: value for name, value in hyperparameters.items() if not name.startswith("sigma")}
    if why := too_long(one, one.placed(here)):
        raise InputError(f"there is nothing to confirm by runs: {why}")
    with np.errstate(all="ignore"):
        said = statement_at(one, here, known)
        scans = list(scanned(one, here, said, known, replicates, seed))
        z = float(stats.t.isf(rate / max(1, sum(len(line.values) - 1 for line, _ in scans)), replicates - 1))
        tried = [(line.name, *at) for line, runs in scans for at in zip(line.values, line.means, runs)]
        name, value, _, run = min(tried, key=lambda at: at[2])
        ours, best = (measure(one, [one.placed(own)], replicates, seed + 1)[0] for own in (here, run))
        more = ours.gaps - best.gaps
        return {
            "algorithm": one.name,
            "hyperparameters": dict(hyperparameters),
            "statement": said.statement or None,
            "bounds": said.bounds or None,
            "why": said.why,
            "replicates": replicates,
            "lanes": replicates,  # the former name of this key
            "false_alarms": rate,
            "standard_errors": z,
            "lines": [_line_document(line, z, minimum) for line, _ in scans],
            "cost": {
                "recommended": {"mean": _number(ours.mean), "error": _number(ours.error)},
                "best": {"mean": _number(best.mean), "error": _number(best.error)},
                "hyperparameter": name,
                "value": float(value),
                "ratio": _number(ours.mean / best.mean),
                "difference": _number(float(more.mean())),
                "error": _number(float(more.std(ddof=1) / math.sqrt(replicates))),
            },
        }


def of_rule(document: Document, problem: Problem, *, seed: int = 0, reuse: Reuse | None = None) -> Document:
    """`confirm` of a rule's recommendation (`dpfl_theory.recommend`), with its inputs.

    Also raises InputError without an epsilon and delta for the certified noise.
    """
    name, inputs = document["algorithm"], document["inputs"]
    if name not in RULED:
        raise InputError(f"there is no run of {name} that could confirm its bound: leave `confirm` out")
    if "epsilon" not in inputs:
        raise InputError("`confirm` certifies the noise of runs: give `epsilon`, `delta` and `constant`, not `rho`")
    kind = tuned()[name]
    budget = Budget(inputs["epsilon"], inputs["delta"], rounds=MOST_ROUNDS * kind.vectors, cohort=cohort_of(inputs))
    declared = inputs_of(get(name))
    known = {f: value for f, value in inputs.items() if declared[f].measured or f == "gradient_variance"}
    run = hyperparameters_of(name, document, inputs)
    call = partial(confirm, kind(problem, budget), run, known, seed=seed)
    found: Document = (reuse or Reuse()).one(call, f"confirmation of {name}")
    return found


def stands_for(name: str, inputs: Mapping[str, Any]) -> Problem:
    """A problem (`Constants`) with the constants that were given to an algorithm's rule. Raises InputError if none
    exists.

    hou2023's ||h*|| is proportional to the root of the heterogeneity, and shulgin2025's gap to the squared distance.
    So one problem gives the constants of another.
    """
    kind = get(name)
    shape = {field: inputs[field] for field in inputs_of(Constants) if field in inputs}
    if any(one.measured == "stacked distance" for one in inputs_of(kind).values()):
        shape["distance"] /= math.sqrt(inputs["clients"])
    if (
        "dim" not in shape
        or not {"distance", "gap"} & inputs.keys()
        or "dissimilarity" in inputs
        or "records" in inputs
    ):
        raise InputError(f"there is no problem with these constants of {name} to confirm by runs: give `data`")
    shape.setdefault("distance", 1.0)
    if "gap" in inputs:
        shape["distance"] = math.sqrt(inputs["gap"] / gap_at_start(Constants(**shape).problem()))
    if norm := inputs.get("gradient_norm_at_optimum"):
        one = MEASURES["stacked gradient at the minimiser"](Constants(**shape, heterogeneity=1.0).problem()).value
        shape["heterogeneity"] = (norm / one) ** 2
    problem = Constants(**shape).problem()
    for field, found in measures_of(kind, problem)[0].items():
        given = inputs.get(field, found.value)
        lower = field == "strong_convexity"
        if (given - found.value) * (-1 if lower else 1) < -1e-6 * abs(given):
            least = "more" if lower else "less"
            raise InputError(
                f"{quote_option(field)} is {given:g}: {problem.name} has {found.value:.6g}, and no other problem with "
                f"{least} is available for runs: give `data`, or that value"
            )
    return problem


def of_comparison(
    rows: Sequence[Document],
    problem: Problem,
    budget: Budget,
    *,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[float, str], None] | None = None,
    reuse: Reuse | None = None,
) -> list[Document]:
    """`confirm` of each row of a comparison whose algorithm has a bound; the false-alarm rate is for all of them
    together.

    Raises InputError where none has.
    """
    own = [row for row in rows if row["name"] in RULED]
    if not own:
        listed = ", ".join(row["name"] for row in rows)
        raise InputError(f"there is no bound of {listed} to confirm: choose one of {', '.join(RULED)}")
    work = [partial(_of_row, row, problem, budget, seed, RATE / len(own)) for row in own]
    names = [f"confirmation of {row['name']}" for row in own]
    return each(reuse or Reuse(), work, names, jobs, progress)


def _of_row(row: Document, problem: Problem, budget: Budget, seed: int, rate: float) -> Document:
    known: Mapping[str, Any] | str
    try:
        known = constants(row["name"], problem)
    except InputError as error:
        known = str(error)
    rules: list[Document] = row["rules"]
    least = next((r for r in rules if r["rule"] == "bound-optimal" and r["bound"] is not None), Document())
    one = tuned()[row["name"]](problem, budget)
    return confirm(one, row["hyperparameters"], known, least.get("hyperparameters"), seed=seed + 105, rate=rate)


def _number(value: float) -> float | None:
    """The number, or None if it is not finite."""
    return value if math.isfinite(value) else None


def _line_document(line: ParameterScan, z: float, minimum: Mapping[str, float] | None) -> Document:
    """A line as plain data, with its two optima and a sentence."""
    means, kept = line.means, line.indistinct(z)
    errors = line.gaps.std(axis=1, ddof=1) / math.sqrt(line.gaps.shape[1])
    found = line.values[kept]
    low, high = (float(found.min()), float(found.max())) if kept.any() else (math.nan, math.nan)
    on_line = int(np.isfinite(line.bound).sum()) > 1
    where = int(np.nanargmin(line.bound)) if on_line else None
    b = None if minimum is None or line.name not in minimum else float(minimum[line.name])
    if where is not None:
        b = float(line.values[where])
    described: Document = {
        "hyperparameter": line.name,
        "recommended": line.recommended,
        "values": line.values.tolist(),
        "bound": [_number(x) for x in line.bound.tolist()],
        "mean": [_number(x) for x in means.tolist()],
        "error": [_number(x) for x in errors.tolist()],
        "bound_least": b,
        "bound_of": None if b is None else "neighbourhood" if on_line else "bound-optimal",
        "measured_least": float(line.values[int(np.argmin(means))]) if kept.any() else None,
        "interval": [low, high] if kept.any() else None,
        "ratio": [low / b, high / b] if b and kept.any() else None,
        "loss": None if where is None else _number(float(means[where] / means.min())),
        "agree": None if b is None or not kept.any() else low * (1 - 1e-9) <= b <= high * (1 + 1e-9),
        "vacuous": bool(np.nanmin(line.bound) >= line.trivial) if on_line else None,
        "trivial": _number(line.trivial),
        "why": None if np.isfinite(line.bound).all() else line.why,
    }
    return {**described, "sentence": _sentence(described, line.step)}


def _sentence(lines: Document, step: bool) -> str:
    """A sentence with the bound's optimum, the measured optimum, and their comparison."""
    name, b = lines["hyperparameter"], lines["bound_least"]
    if lines["interval"] is None:
        return f"Some runs diverge at every {name}."
    low, high = lines["interval"]
    measured = _range(lines["values"], low, high)
    if b is None:
        return f"The bound says nothing about {name}: {lines['why']}. The measured optimum is {measured}."
    whose = f"The bound's optimum {name} = {b:.3g}{_edge(lines)}"
    if lines["bound_of"] == "bound-optimal":
        whose = f"The bound says nothing about these; its optimum elsewhere, {name} = {b:.3g},"
    if lines["agree"]:
        said = f"{whose} agrees with the measured one ({measured})."
    else:
        higher = low > b
        ends = [x if higher else 1 / x for x in lines["ratio"] or ()]  # an optimum of 0 has no ratio
        times = " to ".join(dict.fromkeys(f"{x:.3g}" for x in sorted(ends))) + " times " * bool(ends)
        verdict = f": the bound is too {'careful' if higher else 'bold'} there" if step else ""
        costs = "" if lines["loss"] is None else f"; there runs end {lines['loss'] - 1:.0%} higher"
        way = "higher" if higher else "lower"
        said = f"{whose} is not the measured one ({measured}), which is {times}{way}{verdict}{costs}."
    if lines["vacuous"]:
        least = min(x for x in lines["bound"] if x is not None)
        said += (
            f" The bound promises nothing: it is at least {least:.3g}, and {lines['trivial']:.3g} holds without a run."
        )
    return said


def _range(values: Sequence[float], low: float, high: float) -> str:
    """The values that may be the best; a value at an end of the tried ones leaves further values open.

    >>> _range([1, 2, 4, 8], 2, 4), _range([1, 2, 4, 8], 4, 8), _range([1, 2, 4, 8], 1, 1)
    ('2 to 4', '4 to 8 or beyond', 'at most 1')
    """
    if len(values) > 1 and low == values[0]:
        return "any of those tried" if high == values[-1] else f"at most {high:.3g}"
    text = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
    return f"{text} or beyond" if len(values) > 1 and high == values[-1] != 1 else text  # p ends at 1


def _edge(lines: Document) -> str:
    """A note if the bound might be less where it has no value, or beyond the tried values."""
    if lines["bound_of"] != "neighbourhood":
        return ""
    k = lines["values"].index(lines["bound_least"])
    if None in lines["bound"][max(0, k - 1) : k + 2]:
        return " (at the limit of its hypotheses)"
    return " or beyond" if k == len(lines["values"]) - 1 and lines["bound_least"] != 1 else ""
