"""Comparison of all private algorithms on one problem, at one privacy budget and one communication budget.

Every algorithm gets the best hyper-parameters that the search found for it (`dpfl_theory.recommend.search`), with
noise that is certified for (epsilon, delta). The reported results of the chosen ones are measured with fresh seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.recommend.constants_from_data import gap_at_start
from dpfl_theory.recommend.error_decomposition import causes, describe_causes
from dpfl_theory.recommend.inputs import PROTECTED, Document
from dpfl_theory.recommend.rule_answers import rules as known_rules
from dpfl_theory.recommend.rule_runs import RULED, reached, starts
from dpfl_theory.recommend.search import Plan, search, usual
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned
from dpfl_theory.runtime.cached_calls import Reuse
from dpfl_theory.runtime.executor import run_pieces

UNITS = tuple(PROTECTED)

SURE = 3.0
"""The number of standard errors by which a mean must be below the start to count as better than no training."""


def compare(
    problem: Problem,
    budget: Budget,
    *,
    algorithms: Sequence[str] = (),
    unit: str = "all",
    seed: int = 0,
    plan: Plan | None = None,
    jobs: int = 1,
    progress: Callable[[float, str], None] | None = None,
    reuse: Reuse | None = None,
) -> Document:
    """The result of each private algorithm on a problem within a budget, and the recommended one.

    An epsilon for all of a client's data and one for a single record of it are different promises. So algorithms are
    compared, and one is recommended, separately for each unit of privacy.

    Args:
        problem: with known infimum; the start is 0.
        budget: epsilon, delta, neighbours, view, and the number of vectors that a client may send.
        algorithms: names of `dpfl_theory.recommend.tuned`; by default all that can be run on the problem.
        unit: the unit of privacy: ``client``, ``record`` or ``all``, for both.
        seed: of the search and the measurement; seeds that differ by less than 200 share some noise. plan: the amount
        of computation; `dpfl_theory.recommend.search.usual` by default. jobs: the number of processes, which does not
        change the results. progress: called with the finished share of the algorithms, and the name of an unfinished
        one. reuse: a store of earlier results.

    Returns:
        Plain data: ``start`` (the suboptimality at 0 and, for classes, the accuracy there); ``algorithms``, first those
        that protect clients, in the order of their results. Each algorithm has ``protects``, ``relation``,
        ``view``, ``sampling``, ``hyperparameters``, ``mechanism`` (of the accounting), ``epsilon`` (certified low and
        high), ``suboptimality`` and ``accuracy`` (mean and standard error over replicates). It also has ``causes`` of
        the suboptimality, ``why``, a sentence on them, and ``rules`` (the results of its paper's rules:
        `dpfl_theory.recommend.rule_runs`). The other keys are ``recommended_by_unit``: the best one's name, or None
        where no algorithm's mean is three standard errors below the start, and ``advice_by_unit``; ``recommended`` and
        ``advice``: the first of these, for clients unless only records are requested; ``left_out``: algorithms that
        cannot be run here, with the reasons.

    Raises:
        InputError: for an unknown algorithm or unit, one that cannot be run here, or a budget that is out of range.

    >>> from dpfl_theory.problems import make
    >>> problem = make("logistic-synthetic", clients=5, dimension=2, records=20)
    >>> small = Plan(points=16, replicates=2, generations=2, finalists=2, second=4, best=1, third=8, last=8)
    >>> found = compare(problem, Budget(8.0, 1e-5, rounds=16), algorithms=("dp-clip21",), plan=small)
    >>> found["recommended"], found["algorithms"][0]["epsilon"]["high"] <= 8.0
    ('dp-clip21', True)
    """
    chosen, left_out = _chosen(problem, budget, algorithms, unit)
    start = gap_at_start(problem)
    calls = [partial(_row, one, start, seed, plan or usual(problem)) for one in chosen]
    slow = [one.protects == "record" for one in chosen]
    rows = each(reuse or Reuse(), calls, [one.name for one in chosen], jobs, progress, slow)
    rows.sort(key=lambda row: (UNITS.index(row["protects"]), row["suboptimality"]["mean"]))
    recommended: dict[str, str | None] = {}
    advice: dict[str, str] = {}
    for row in rows:
        if row["protects"] not in recommended:  # the unit's best
            gap = row["suboptimality"]
            better = gap["mean"] + SURE * gap["error"] < start
            recommended[row["protects"]] = row["name"] if better else None
            advice[row["protects"]] = _advice(row, start, budget, better)
    first = rows[0]["protects"]
    return {
        "start": {"suboptimality": start, "accuracy": _accuracy(problem, np.zeros((1, problem.d)))},
        "budget": dict(vars(budget)),
        "algorithms": rows,
        "recommended": recommended[first],
        "advice": advice[first],
        "recommended_by_unit": recommended,
        "advice_by_unit": advice,
        "left_out": left_out,
    }


def _chosen(
    problem: Problem, budget: Budget, names: Sequence[str], unit: str
) -> tuple[list[Tuned], list[Mapping[str, str]]]:
    """The algorithms to be compared, and those that cannot be run. The latter are an error if they were named."""
    known = tuned()
    if unit not in (*UNITS, "all"):
        raise InputError(f"the unit of privacy is {unit!r}: choose one of {', '.join(UNITS)} or all")
    for name in names:
        if name not in known:
            raise unknown_name("algorithm", name, known)
    chosen: list[Tuned] = []
    left_out: list[Mapping[str, str]] = []
    for name in names or known:
        if unit in ("all", known[name].protects):
            try:
                chosen.append(known[name](problem, budget))
            except InputError as error:
                if names:
                    raise
                left_out.append({"name": name, "why": str(error)})
    if not chosen:
        message = "; ".join(left["why"] for left in left_out) or f"none of {', '.join(names)} protects a {unit}"
        raise InputError(f"there is no algorithm to compare: {message}")
    return chosen, left_out


def each(
    reuse: Reuse,
    calls: Sequence[partial[Any]],
    names: Sequence[str],
    jobs: int,
    progress: Callable[[float, str], None] | None,
    slow: Sequence[bool] = (),
) -> list[Any]:
    """The results of calls, from the store or computed in one or several processes, which start with the slow ones.

    progress: called with the finished share, and the name of an unfinished call.
    """

    def run(work: Sequence[Callable[[], Any]], numbers: Sequence[int]) -> Sequence[Any]:
        def tell(remaining: Sequence[int]) -> None:
            if progress is not None and remaining:
                progress(1.0 - len(remaining) / len(work), names[numbers[remaining[0]]])

        order = sorted(range(len(work)), key=lambda i: not slow[numbers[i]]) if slow else None  # stable
        return run_pieces(work, jobs, order, waiting=tell)

    return reuse.each(calls, names, run)


def _row(one: Tuned, start: float, seed: int, plan: Plan) -> dict[str, Any]:
    rules = [reached(one, rule, seed=seed + 104) for rule in known_rules()] if one.name in RULED else []
    found = search(one, seed, plan, starts(one, rules))
    multiplier = one.multiplier(found.values)
    limits = one.spent(found.values, multiplier)
    mechanism = one.mechanism(found.values).with_(noise_multiplier=multiplier)
    reasons = causes(one, found.values, found.mean, seed + 103)
    return {
        "name": one.name,
        "title": one.title,
        "source": one.source,
        "protects": one.protects,
        "relation": one.relation,
        "view": one.budget.view,
        "sampling": one.participation,
        "hyperparameters": found.hyperparameters,
        "vectors": int(one.vectors * found.values["rounds"]),
        "epsilon": {"low": limits.low, "high": limits.high},
        "noise_multiplier": multiplier,
        "mechanism": mechanism.describe(),
        "setting": mechanism.setting(),
        # The last key is the former name of the one before.
        "suboptimality": {"mean": found.mean, "error": found.error, "replicates": (n := len(found.gaps)), "lanes": n},
        "worse_than_start": float(np.mean(found.gaps >= start)),
        "accuracy": _accuracy(one.problem, found.final),
        "causes": [vars(cause) for cause in reasons],
        "why": describe_causes(reasons, found.mean),
        "rules": rules,
    }


def _accuracy(problem: Problem, w: Array) -> Mapping[str, float] | None:
    """The share of the records that models w (replicates, d) classify as labelled; None for regression."""
    if not isinstance(problem, LinearModel) or problem.data.loss not in ("logistic", "softmax"):
        return None
    data = problem.data
    if data.sparse:
        flat = data.x @ w.reshape(len(w) * data.classes, -1).T
        logits = flat.reshape(len(data.y), len(w), data.classes).transpose(1, 0, 2)
    else:
        logits = np.einsum("rf,scf->src", data.x, w.reshape(len(w), data.classes, -1))
    right = (np.where(logits[:, :, 0] >= 0.0, 1.0, -1.0) if data.classes == 1 else logits.argmax(axis=2)) == data.y
    shares = right.mean(axis=1)
    error = float(shares.std(ddof=1) / math.sqrt(len(shares))) if len(shares) > 1 else 0.0
    return {"mean": float(shares.mean()), "error": error}


def _advice(best: Document, start: float, budget: Budget, better: bool) -> str:
    gap, protected = best["suboptimality"], PROTECTED[best["protects"]]
    ends = f"ends at {gap['mean']:.3g} +- {gap['error']:.1g}, and the start is at {start:.3g}."
    if better:
        return f"To protect {protected} take {best['title']} ({best['source']}): it {ends}"
    return (
        f"Nothing found at this budget (epsilon = {budget.epsilon:g}, delta = {budget.delta:g}) ends clearly below the "
        f"start. The best algorithm for the protection of {protected} ({best['title']}) {ends}"
    )
