"""The smallest change of epsilon, clients or parameters with which an algorithm beats the start, by runs.

Each candidate is a separate search with certified noise, smaller than the one for a recommendation. A change is
sufficient if the algorithm's mean is then a tenth and three standard errors below the start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.compare import SURE
from dpfl_theory.recommend.constants_from_data import gap_at_start
from dpfl_theory.recommend.data import DataSource
from dpfl_theory.recommend.inputs import Document
from dpfl_theory.recommend.search import Plan, search, usual
from dpfl_theory.recommend.synthetic_problem import Constants
from dpfl_theory.recommend.tuned import Budget, tuned
from dpfl_theory.runtime.cached_calls import Reuse

_PLAN = Plan(points=64, generations=5, finalists=12, second=16, best=4, third=64, last=256)
_MOST = 64
"""The largest factor that is tried."""
_RECORDS = 200_000
"""The number of records, copies included, beyond which more clients are not tried."""
_SPARSE = 2**22
"""The same for the number of parameters of all clients together, where records are sparse."""
_SHARE = 0.9


def beats_start(problem: Problem, name: str, budget: Budget, seed: int, plan: Plan | None = None) -> bool:
    """Whether the best hyper-parameters found for an algorithm end a tenth and three standard errors below the start,
    0."""
    found = search(
        tuned()[name](problem, budget), seed, plan or (_PLAN if usual(problem) == Plan() else usual(problem))
    )
    return bool(math.isfinite(found.mean) and found.mean + SURE * found.error < _SHARE * gap_at_start(problem))


def _least(enough: Callable[[int], bool], maximum: int) -> int | None:
    """The least of 2, 3, ..., ``maximum`` that is sufficient, if all larger ones are too; None where none is.

    >>> _least(lambda k: k >= 5, 64), _least(lambda k: False, 64)
    (5, None)
    """
    low, high = 1, 2
    while high < maximum and not enough(high):
        low, high = high, min(2 * high, maximum)
    if high >= maximum and not enough(maximum):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _rounded_up(value: float) -> float:
    """Rounded up to two significant digits.

    >>> _rounded_up(0.561), _rounded_up(13.0)
    (0.57, 13.0)
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.2g}")


def changes(
    source: DataSource | Constants,
    clients: int | None,
    budget: Budget,
    name: str,
    seed: int = 0,
    plan: Plan | None = None,
    reuse: Reuse | None = None,
) -> Document:
    """The smallest single changes with which an algorithm ends below the start.

    Args:
        source: the data, or constants in their place; ``clients``: the number of clients among which the records are
            split, if the data do not have clients.
        budget: one at which nothing beats the start.
        name: the algorithm, the best one at that budget.
        reuse: a store of earlier results.

    Returns:
        ``epsilon``: the requested one times the least power of 2^(1/4), rounded up; ``clients``: the least multiple of
        the clients, each repeated equally often; ``features``: the largest number of principal components, which sparse
        records do not have. Each is None where no tried value is sufficient.

    >>> few = Plan(points=16, generations=2, finalists=4, second=8, best=2, third=16, last=64)
    >>> data = DataSource("breast-cancer", features=2)
    >>> found = changes(data, 4, Budget(0.2, 1e-5, rounds=4), "dp-fedavg", plan=few)
    >>> found["epsilon"] > 0.2, found["clients"] > 4
    (True, True)
    """
    problem = source.problem(clients)
    known = reuse or Reuse()

    def beats(problem: Problem, budget: Budget) -> bool:
        found: bool = known.one(partial(beats_start, problem, name, budget, seed, plan), f"{name} beats the start")
        return found

    def with_epsilon(k: int) -> bool:
        return beats(problem, replace(budget, epsilon=budget.epsilon * 2 ** (k / 4)))

    def with_clients(k: int) -> bool:
        return beats(source.problem(clients, copies=k), budget)

    def with_features(k: int) -> bool:
        return beats(source.with_features(max(1, features // k)).problem(clients), budget)

    features = source.width
    copies = min(_MOST, _RECORDS // source.records)
    if problem.sparse:
        copies = min(copies, max(1, _SPARSE // (problem.n * problem.d)))
    quarters = _least(with_epsilon, 4 * int(math.log2(_MOST)))
    more = _least(with_clients, copies) if copies >= 2 else None
    fewer = _least(with_features, features) if features >= 2 and not problem.sparse else None
    return {
        "epsilon": None if quarters is None else _rounded_up(budget.epsilon * 2 ** (quarters / 4)),
        "clients": None if more is None else more * problem.n,
        "features": None if fewer is None else max(1, features // fewer),
    }


def describe_changes(found: Document, width: str = "features (principal components)") -> str:
    """The changes in a sentence; width: the quantity that is reduced.

    >>> describe_changes({"epsilon": 2.0, "clients": None, "features": 3})
    'In runs, any one of these was enough: epsilon = 2, or 3 features (principal components).'
    >>> describe_changes({"epsilon": None, "clients": None, "features": None})
    'No tried change of epsilon, clients or features is sufficient.'
    """
    parts = []
    if found["epsilon"] is not None:
        parts.append(f"epsilon = {found['epsilon']:g}")
    if found["clients"] is not None:
        parts.append(f"{found['clients']} clients (copies of these)")
    if found["features"] is not None:
        parts.append(f"{found['features']} {width}")
    if not parts:
        return "No tried change of epsilon, clients or features is sufficient."
    return f"In runs, any one of these was enough: {', or '.join(parts)}."
