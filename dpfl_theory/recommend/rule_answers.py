"""The rules, and the recommendation of one of them: hyper-parameters by formulas, with the bound that holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from dpfl_theory.errors import InputError
from dpfl_theory.recommend.inputs import Document
from dpfl_theory.recommend.setting import Setting

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

    >>> list(rules())
    ['bound-optimal', 'printed']
    """
    from dpfl_theory.recommend import bound_optimal
    from dpfl_theory.recommend.noise import recommended

    def printed(setting: Setting, alone: bool) -> Document:
        return setting.printed() if alone else recommended(setting, lambda at: at.printed())

    least = "the bound, minimised over all hyper-parameters that are not given"
    known = (
        Rule("bound-optimal", least, bound_optimal.apply, chooses=True),
        Rule("printed", "the papers' own formulas (dp-scaffold: repaired)", printed),
    )
    return {rule.name: rule for rule in known}


def finite(document: Document, where: str = "") -> Document:
    """The document. Raises InputError, with the name, for a number in it that is not finite."""
    for name, value in document.items():
        if isinstance(value, dict):
            finite(value, f"{where}{name} ")
        elif isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{where}{name} is beyond double precision for these inputs: give less extreme ones")
    return document


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
