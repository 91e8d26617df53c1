"""Empirical privacy audits: lower limits for epsilon of running code, from runs on two neighbouring data sets."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfl_theory.audit.bounds import EpsilonBound, MuBound, epsilon_lower_bound, mu_lower_bound
    from dpfl_theory.audit.canaries import Canary, canary, pair
    from dpfl_theory.audit.rules import Rule
    from dpfl_theory.audit.run import AuditResult, audit

__all__ = [
    "AuditResult",
    "Canary",
    "EpsilonBound",
    "MuBound",
    "Rule",
    "audit",
    "canary",
    "epsilon_lower_bound",
    "mu_lower_bound",
    "pair",
]

_MODULES = {
    **dict.fromkeys(("EpsilonBound", "MuBound", "epsilon_lower_bound", "mu_lower_bound"), "dpfl_theory.audit.bounds"),
    **dict.fromkeys(("Canary", "canary", "pair"), "dpfl_theory.audit.canaries"),
    "Rule": "dpfl_theory.audit.rules",
    **dict.fromkeys(("AuditResult", "audit"), "dpfl_theory.audit.run"),
}
"""The modules of the names: the bounds alone need no problems and no compiler."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
