"""Recommended hyper-parameters, from runs with certified noise or from the statements' prescriptions and bounds.

An algorithm is one module of `dpfl_theory.recommend.algorithms`; they are found by a scan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfl_theory.recommend.algorithms import get, settings
    from dpfl_theory.recommend.base import Document, Recommendation, Setting, quote_option
    from dpfl_theory.recommend.recommendation import BEST, recommend
    from dpfl_theory.recommend.rule_answers import rules

__all__ = ["BEST", "Document", "Recommendation", "Setting", "get", "quote_option", "recommend", "rules", "settings"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dpfl_theory.recommend import algorithms, base, recommendation, rule_answers

    return next(getattr(m, name) for m in (algorithms, base, rule_answers, recommendation) if hasattr(m, name))
