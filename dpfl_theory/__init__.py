"""Executable theorems for differentially private federated learning.

A *statement* is a printed theorem with its formula, hypotheses and checks; checking it yields *evidence*. The names
below are imported at their first use, so that importing the package takes no noticeable time. Three of them, conform,
recommend and sweep, are functions, and also packages: ``from dpfl_theory.conform import Conformance``.

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
    from dpfl_theory import algorithms, problems, simulation, statements
    from dpfl_theory.checks.runner import check
    from dpfl_theory.conform.run import conform
    from dpfl_theory.core.evidence import Evidence
    from dpfl_theory.recommend.recommendation import recommend
    from dpfl_theory.simulation.simulate import simulate
    from dpfl_theory.sweep.run import sweep

__all__ = [
    "Evidence",
    "algorithms",
    "check",
    "conform",
    "problems",
    "recommend",
    "simulate",
    "simulation",
    "statements",
    "sweep",
]
__version__ = "0.2.0.dev0"

_LAZY = {
    "Evidence": "dpfl_theory.core.evidence",
    "check": "dpfl_theory.checks.runner",
    "conform": "dpfl_theory.conform.run",
    "recommend": "dpfl_theory.recommend.recommendation",
    "simulate": "dpfl_theory.simulation.simulate",
    "sweep": "dpfl_theory.sweep.run",
}
"""The modules of the names that are not packages."""

for _package in ("conform", "recommend", "sweep"):
    # The first import of a package binds its name here, and no later one does. So these names remain the functions'.
    importlib.import_module(f"{__name__}.{_package}")
    globals().pop(_package, None)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_LAZY.get(name, f"{__name__}.{name}"))
    globals()[name] = value = getattr(module, name) if name in _LAZY else module
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
