"""All private algorithms on one problem, at one privacy budget and one budget of communication: what each reaches.

Every algorithm gets the hyper-parameters that the search found best for it (`dpfl_theory.recommend.search`), with noise
that is certified for (epsilon, delta). What is told of the chosen ones is measured with fresh seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.privacy import account
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.recommend.base import Document
from dpfl_theory.recommend.search import Found, Plan, measure, search
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned

__all__ = ["compare"]

_SURE = 3.0
"""Standard errors by which a mean must lie below the start to count as better than not training."""


def compare(
    problem: Problem,
    budget: Budget,
    *,
    algorithms: Sequence[str] = (),
    seed: int = 0,
    plan: Plan | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Document:
    """What each private algorithm reaches on a problem within a budget, and which of them to take.

    Args:
        problem: with known infimum; the start is 0.
        budget: epsilon, delta, neighbours, view, and how many vectors a client may send.
        algorithms: names of `dpfl_theory.recommend.tuned`; all without them.
        seed: of the search; other seeds give other noise throughout.
        plan: how much is run; `Plan()` by default.
        progress: called with the share of the algorithms that are done, and the next one's name.

    Returns:
        Plain data: ``start`` (the suboptimality at 0 and, for classes, the accuracy there), ``algorithms``, best first,
        each with ``hyperparameters``, ``epsilon`` (certified low and high), ``suboptimality`` and ``accuracy`` (mean
        and standard error over lanes), ``without_noise``, ``why``, and ``recommended``: the best one's name, or None
        where no algorithm's mean lies three standard errors below the start.

    Raises:
        InputError: for an unknown algorithm, or a budget that is out of range.

    >>> from dpfl_theory.problems import make
    >>> problem = make("logistic-synthetic", clients=5, dimension=2, records=20)
    >>> small = Plan(points=16, lanes=2, generations=2, finalists=2, second=4, best=1, third=8, last=8)
    >>> found = compare(problem, Budget(8.0, 1e-5, rounds=16), algorithms=("dp-clip21",), plan=small)
    >>> found["recommended"], found["algorithms"][0]["epsilon"]["high"] <= 8.0
    ('dp-clip21', True)
    """
    known = tuned()
    for name in algorithms:
        if name not in known:
            raise InputError(f"algorithm {name!r} has no search: choose one of {', '.join(known)}")
    zero = np.zeros(problem.d)
    start = problem.value(zero) - problem.constants.f_star
    chosen = [known[name](problem, budget) for name in (algorithms or known)]
    rows = []
    for done, one in enumerate(chosen):
        if progress is not None:
            progress(done / len(chosen), one.name)
        rows.append(_row(one, search(one, seed, plan), start, seed))
    rows.sort(key=lambda row: row["suboptimality"]["mean"])
    best = rows[0]
    better = best["suboptimality"]["mean"] + _SURE * best["suboptimality"]["error"] < start
    return {
        "start": {"suboptimality": start, "accuracy": _accuracy(problem, zero[None])},
        "budget": dict(vars(budget)),
        "algorithms": rows,
        "recommended": best["name"] if better else None,
        "advice": _advice(best, start) if better else _no_advice(best, start, budget),
    }


def _row(one: Tuned, found: Found, start: float, seed: int) -> Document:
    run = one.mechanism(found.values).with_(noise_multiplier=one.multiplier(found.values))
    limits = account(run, delta=one.budget.delta).epsilon
    quiet = measure(one, [found.values], 8, seed + 103, noise=False)[0].mean
    return {
        "name": one.name,
        "title": one.title,
        "source": one.source,
        "protects": one.protects,
        "hyperparameters": found.hyperparameters,
        "vectors": int(one.vectors * found.values["rounds"]),
        "epsilon": {"low": limits.low, "high": limits.high},
        "noise_multiplier": run.noise_multiplier,
        "suboptimality": {"mean": found.mean, "error": found.error, "lanes": len(found.gaps)},
        "worse_than_start": float(np.mean(found.gaps >= start)),
        "accuracy": _accuracy(one.problem, found.final),
        "without_noise": quiet,
        "why": _why(found.mean, quiet, start),
    }


def _why(gap: float, quiet: float, start: float) -> str:
    """Where the suboptimality comes from: the run without its noise tells the two apart."""
    if not math.isfinite(gap):
        return "Some runs diverge."
    share = max(0.0, 1.0 - quiet / gap) if gap > 0.0 else 0.0
    noise = f"the noise makes {share:.0%} of it"
    if share >= 0.5:
        return f"Of the suboptimality {noise}; the same run without noise ends at {quiet:.3g}."
    cause = "too few or too short steps for this budget, clipping, and clients that differ, make the rest"
    return f"Of the suboptimality {noise}; {cause}: without noise it is {quiet:.3g}."


def _accuracy(problem: Problem, w: Array) -> Mapping[str, float] | None:
    """The share of the records that models w (lanes, d) classify as labelled; None for regression."""
    if not isinstance(problem, LinearModel) or problem.data.loss not in ("logistic", "softmax"):
        return None
    data = problem.data
    logits = np.einsum("rf,scf->src", data.x, w.reshape(len(w), data.classes, -1))
    right = (np.where(logits[:, :, 0] >= 0.0, 1.0, -1.0) if data.classes == 1 else logits.argmax(axis=2)) == data.y
    shares = right.mean(axis=1)
    error = float(shares.std(ddof=1) / math.sqrt(len(shares))) if len(shares) > 1 else 0.0
    return {"mean": float(shares.mean()), "error": error}


def _advice(best: Document, start: float) -> str:
    gap = best["suboptimality"]
    return (
        f"Take {best['title']} ({best['source']}): it ends at {gap['mean']:.3g} +- {gap['error']:.1g}, and the start "
        f"has {start:.3g}."
    )


def _no_advice(best: Document, start: float, budget: Budget) -> str:
    gap = best["suboptimality"]
    return (
        f"Do not train at this budget: epsilon = {budget.epsilon:g}, delta = {budget.delta:g} leave the best algorithm "
        f"found ({best['title']}) at {gap['mean']:.3g} +- {gap['error']:.1g}, and the start has {start:.3g}. More "
        "clients or a larger epsilon would help."
    )
