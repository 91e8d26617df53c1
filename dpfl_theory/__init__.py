"""Executable theorems for differentially private federated learning.

A *statement* is a printed theorem with its formula, hypotheses and checks; checking it yields *evidence*. The names
below are imported at their first use, so that importing the package takes no noticeable time.

>>> import dpfl_theory as dpfl
>>> theorem = dpfl.statements.get("das2022.theorem4a")
>>> theorem.kind, theorem.relation
('theorem', '<=')
>>> evidence = dpfl.check(theorem, methods=["algebra"])
>>> evidence[0].method, evidence[0].verdict
('algebra', 'holds')

The algorithms of the statements run on problems whose constants are certified:

>>> problem = dpfl.problems.make("quadratic", clients=4, dimension=3, seed=1)
>>> algorithm = dpfl.algorithms.FedAvg(local_step=0.5, local_steps=2)
>>> run = dpfl.simulate(algorithm, problem, rounds=100, replicates=2, seed=0, device="cpu")
>>> bool((run["suboptimality"].last < run["suboptimality"].mean).all())
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfl_theory import algorithms, problems, statements
    from dpfl_theory.algorithms.simulate import simulate
    from dpfl_theory.checks.runner import check
    from dpfl_theory.conform.run import conform
    from dpfl_theory.core.evidence import Evidence
    from dpfl_theory.recommend import recommend
    from dpfl_theory.sweep import sweep

__all__ = ["Evidence", "algorithms", "check", "conform", "problems", "recommend", "simulate", "statements", "sweep"]
__version__ = "0.1.0"

_LAZY = {
    "Evidence": "dpfl_theory.core.evidence",
    "algorithms": "",
    "check": "dpfl_theory.checks.runner",
    "conform": "",  # a package that can be called
    "problems": "",
    "recommend": "",  # a package that can be called
    "simulate": "dpfl_theory.algorithms.simulate",
    "statements": "",
    "sweep": "",  # a package that can be called
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name] or f"{__name__}.{name}")
    value = getattr(module, name) if _LAZY[name] else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
