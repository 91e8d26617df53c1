"""The rules, and the recommendation of one of them: hyper-parameters by formulas, with the bound that holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.recommend.inputs import Document, quote_option
from dpfl_theory.recommend.papers import get
from dpfl_theory.recommend.setting import Setting

__all__ = ["Rule", "applied", "by_rule", "rules"]


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


def by_rule(
    algorithm: str,
    rule: str,
    inputs: Mapping[str, Any],
    data: str | None = None,
    shape: Mapping[str, Any] | None = None,
    wrong: Sequence[str] = (),
) -> Document:
    """A rule's document (`dpfl_theory.recommend`).

    Args:
        algorithm: one of `settings`; rule: one of `rules`; inputs: the fields of the algorithm's `Setting`.
        data, shape: a data set's name or a file, and the other fields of `dpfl_theory.recommend.data.DataSource`.
        wrong: other errors of the call, to be reported together with those of the inputs.

    >>> known = {"clients": 10, "dim": 5, "smoothness": 1.0, "smoothness_max": 1.0, "gap": 3.0, "residual": 0.5}
    >>> found = by_rule("dp-norm-ec", "printed", {**known, "alpha": 0.1, "epsilon": 1.0, "delta": 1e-5})
    >>> found["rule"], found["noise"]["epsilon"]["high"] <= 1.0
    ('printed', True)
    """
    kind, free = get(algorithm), rules()[rule].chooses
    for name in inputs:
        if name not in kind.names():
            known = ", ".join(map(quote_option, kind.names()))
            raise InputError(f"{algorithm} takes no {quote_option(name)}: it takes {known}")
    measured = data is not None or bool(shape)
    if faults := [*wrong, *kind.faults(inputs, free=free, measured=measured)]:
        raise InputError("; and ".join(faults))
    if data is None:
        return applied(rule, kind(**inputs))
    from dpfl_theory.recommend.data import DataSource, against_start, measure

    inputs, reported = measure(kind, DataSource(data, **(shape or {})), inputs)
    found = applied(rule, kind(**inputs))
    return {**found, **against_start(found, reported), "data": reported}
