"""The rules by which hyper-parameters are recommended, found by a scan of the modules, each with ``RULE``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from dpfl_theory.errors import InputError
from dpfl_theory.recommend.base import Document, Setting, finite

__all__ = ["Rule", "applied", "rules"]


@dataclass(frozen=True)
class Rule:
    """A rule: its name, a sentence that describes it, and the function from inputs to the recommendation.

    chooses: whether it chooses those hyper-parameters that are not given as inputs.
    """

    name: str
    text: str
    apply: Callable[[Setting, bool], Document]
    chooses: bool = False


@cache
def rules() -> dict[str, Rule]:
    """Every rule by name.

    >>> "printed" in rules()
    True
    """
    found = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            rule: Rule = importlib.import_module(f"{__name__}.{module.name}").RULE
            found[rule.name] = rule
    return dict(sorted(found.items()))


def applied(rule: str, setting: Setting, alone: bool = False) -> Document:
    """A rule's recommendation, with the algorithm, the rule and the inputs; Raises InputError where it is not finite.

    alone: only the paper's formula of the noise with the setting's constant, without a second noise and without the
    changes that would help.
    """
    own = rules()[rule]
    try:
        document = own.apply(setting, alone)
    except (OverflowError, ZeroDivisionError) as error:
        beyond = f"the formulas of {setting.name} are beyond double precision for these inputs: give less extreme ones"
        raise InputError(beyond) from error
    return finite({"algorithm": setting.name, "rule": rule, **document, "inputs": setting.inputs()})
