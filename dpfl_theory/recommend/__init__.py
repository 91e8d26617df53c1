"""Recommended hyper-parameters, from the statements' own prescriptions and bounds.

An algorithm is one module of `dpfl_theory.recommend.algorithms`, a rule one of `dpfl_theory.recommend.rules`; both are
found by scan. The package can be called: ``dpfl_theory.recommend(...)`` is `recommend`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.recommend.algorithms import get, settings
from dpfl_theory.recommend.base import Document, Setting, finite, flag
from dpfl_theory.recommend.rules import rules

__all__ = ["Document", "Setting", "flag", "get", "recommend", "rules", "settings"]

PLANNED = ("bound-optimal",)
"""Rules that are promised; one of them that is there is found by the scan, and needs no change here."""


def recommend(algorithm: str, rule: str = "printed", **inputs: Any) -> Document:
    r"""The hyper-parameters that a rule recommends for an algorithm, with the bound that holds for them.

    With ``rule="printed"`` these are a paper's own formulas, for example :math:`\eta = 1/L`,
    :math:`p = \sqrt{\mu/L}` and :math:`T^*` of hou2023 Corollary 1. Counts are rounded up, and what depends on them is
    computed anew.

    Args:
        algorithm: one of `settings`, for example "dp-scaffnew".
        rule: one of `rules`.
        inputs: the fields of the algorithm's `Setting`: constants of the problem and the budget, each with its unit in
            the field's text ([F] objective, [X] parameter).

    Returns:
        Plain data: the hyper-parameters under the paper's names, ``bound`` (None where none can be told), its named
        ``terms``, ``noise``, ``unrounded`` values, and a ``certificate`` that says why they are what they are.

    Raises:
        InputError: for an unknown algorithm, rule or input, and for values that the formulas do not allow.

    Sources: das2022 Theorem 4; hou2023 Corollary 1; shulgin2025 Corollary 2; noble2022 Theorem C.1.

    >>> found = recommend("dp-scaffnew", clients=10, dim=20, smoothness=1.0, strong_convexity=0.01, distance=300.0,
    ...                   gradient_norm_at_optimum=0.0, clip=1.0, epsilon=8.0, delta=1e-5, constant=4.0)
    >>> found["eta"], found["p"], found["iterations"], found["certificate"]["optimal"]
    (1.0, 0.1, 183, True)
    """
    known = rules()
    if rule not in known:
        if rule in PLANNED:
            raise InputError(f"rule {rule!r} is not available yet: use {' or '.join(map(repr, known))}")
        raise unknown_name("rule", rule, known)
    kind = get(algorithm)
    own = kind.names()
    for name in inputs:
        if name not in own:
            raise InputError(f"{algorithm} takes no input {name!r}: it takes {', '.join(own)}")
    setting = kind(**inputs)
    try:
        document = known[rule].apply(setting)
    except (OverflowError, ZeroDivisionError) as error:
        told = f"the formulas of {algorithm} are beyond double precision for these inputs: give less extreme ones"
        raise InputError(told) from error
    return finite({"algorithm": kind.name, "rule": rule, **document, "inputs": setting.inputs()})


class _Callable(ModuleType):
    """A package that can be called, since the function that it is about has its name."""

    def __call__(self, algorithm: str, rule: str = "printed", **inputs: Any) -> Document:
        return recommend(algorithm, rule, **inputs)


sys.modules[__name__].__class__ = _Callable
