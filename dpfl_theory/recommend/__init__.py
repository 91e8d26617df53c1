"""Recommended hyper-parameters, from runs with certified noise or from the statements' prescriptions and bounds.

`inputs` declares every input. By formulas: a paper is one module of `dpfl_theory.recommend.papers`, with the inputs of
its algorithms' formulas (`setting`) and the least value of its bound (`bound_minimizers`); `rule_answers` applies the
rules, and `noise` certifies their noise. By runs: `run` is the rule ``best``; it compares (`compare`) what a search
(`search`) finds in the space of each algorithm (`tuned`). `rule_runs` runs the answers of rules, and `confirm` tests
them in their `neighbourhood`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfl_theory.recommend.inputs import Document, quote_option
    from dpfl_theory.recommend.papers import get, settings
    from dpfl_theory.recommend.recommendation import BEST, Recommendation, recommend
    from dpfl_theory.recommend.rule_answers import rules
    from dpfl_theory.recommend.setting import Setting

__all__ = ["BEST", "Document", "Recommendation", "Setting", "get", "quote_option", "recommend", "rules", "settings"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dpfl_theory.recommend import inputs, papers, recommendation, setting

    return next(getattr(m, name) for m in (papers, inputs, setting, recommendation) if hasattr(m, name))
