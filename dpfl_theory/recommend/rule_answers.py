"""The rules, and the recommendation of one of them: hyper-parameters by formulas, with the bound that holds.

The rule ``printed`` is the papers' own formulas. ``bound-optimal`` is a statement's bound, minimised over all
hyper-parameters that are not given: the statement's own formula within its own hypotheses, with the accountant's noise
unless the setting chooses another one. The certificate has the least value that any choice can have with this constant
of the noise (``lower_bound``), and the distance of the answer from it (``gap``). Where the best bound promises nothing,
``vacuous`` reports this and the changes that would help.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from dpfl_theory.errors import InputError
from dpfl_theory.recommend.bound_minimizers import Optimum
from dpfl_theory.recommend.inputs import Document, quote_option
from dpfl_theory.recommend.noise import recommended
from dpfl_theory.recommend.setting import Setting

TIGHT = 1e-7
"""A relative gap up to which a choice is called optimal: the solver's accuracy."""
FAR = 1e12
"""The largest factor by which a lever is changed, also in the bisection for a change that helps."""
FINE = 1e-3
"""Relative precision of the bisection for a lever that is not a count."""
LARGE = 1e-5
"""The same for a count that is so large that this share of it exceeds one."""


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
    least = "the bound, minimised over all hyper-parameters that are not given"
    known = (
        Rule("bound-optimal", least, _bound_optimal, chooses=True),
        Rule("printed", "the papers' own formulas (dp-scaffold: repaired)", _printed),
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


def _printed(setting: Setting, alone: bool) -> Document:
    return setting.printed() if alone else recommended(setting, lambda at: at.printed())


def _bound_optimal(setting: Setting, alone: bool) -> Document:
    """The recommendation; alone: only with the paper's formula of the noise, and without changes that would help."""
    if alone:
        return _least(setting, advised=False)
    return recommended(setting, _least, lambda at: at.answer(at.optimum().choice))


def _least(setting: Setting, advised: bool = True) -> Document:
    found = setting.optimum()
    document = setting.answer(found.choice)
    (trivial, what), certificate = setting.trivial(), document["certificate"]
    vacuous = bool(found.unmet) or found.bound >= trivial
    said, changes = _nothing(setting, found, trivial, what) if vacuous and advised else (None, {})
    how = found.justification
    constant = setting.paper_constant_of(document)
    if setting.calibration == "accountant" and setting.target_budget() is not None and constant is not None:
        how += (
            f". This is for the constant {constant:.6g} of the noise, which the accountant certifies for this choice; "
            "for other rounds it certifies another one"
        )
    gap = None if found.unmet else max(0.0, found.bound - found.lower)
    return {
        "vacuous": said,
        **document,
        "bound": None if found.unmet else document["bound"],
        "would_help": changes,
        "certificate": {
            **certificate,
            "reason": f"The bound is least there: {how}",
            "applies": not found.unmet,
            "vacuous": vacuous,
            "trivial": trivial,
            "optimal": gap is not None and gap <= TIGHT * found.bound,
            "lower_bound": None if found.unmet else found.lower,
            "gap": gap,
            "how": how,
        },
    }


def _nothing(setting: Setting, found: Optimum, trivial: float, label: str) -> tuple[str, dict[str, float | None]]:
    """The message that no choice promises anything, and the least changes of single inputs with which one does."""
    why = (
        f"no choice meets the hypotheses ({'; '.join(found.unmet)})"
        if found.unmet
        else f"the least bound, {found.bound:.6g}, is not below {label} = {trivial:.6g}, which needs no run"
    )
    levers = setting.levers()
    if getattr(setting, "rounds", None) is not None:
        levers["rounds"] = math.inf
    changes = {name: _helping(setting, name, end) for name, end in levers.items()}
    helping = {name: value for name, value in changes.items() if value is not None}

    texts = []
    for name, value in sorted(helping.items(), key=lambda item: abs(math.log(item[1] / getattr(setting, item[0])))):
        given = getattr(setting, name)
        texts.append(f"{quote_option(name)} {'>=' if value > given else '<='} {value:.6g} (here {given:g})")
    others = [quote_option(name) for name in changes if name not in helping]
    helps = f"it takes {' or '.join(texts)}" if texts else ""
    fails = f"no {' and no '.join(others)} by itself helps" if others else ""
    return f"This bound promises nothing: {why}; {', and '.join(t for t in (helps, fails) if t)}", changes


def _helping(setting: Setting, name: str, end: float) -> float | None:
    """The value of a lever between the given one and ``end``, nearest to the given one, with which the bound promises
    something. None where no value does."""
    start = getattr(setting, name)
    whole, up = isinstance(start, int), end > start

    def promises(value: float) -> bool:
        try:
            other = setting.varied(name, int(value) if whole else value)
            return other.bound_infimum() < other.trivial()[0]
        except InputError:  # outside the range of the accountant
            return False

    found = _first(promises, start, min(end, start * FAR) if up else max(end, start / FAR), whole)
    if found is None or whole:
        return None if found is None else int(found)
    step = 10.0 ** (math.floor(math.log10(found)) - 3)  # four digits, on the side that helps
    short = float(f"{step * (math.ceil(found / step) if up else math.floor(found / step)):.4g}")
    return short if promises(short) else found


def _first(promises: Callable[[float], bool], start: float, end: float, whole: bool) -> float | None:
    """The value nearest to ``start`` that promises something, by bisection; ``start`` itself promises nothing."""
    up = end > start

    def further(value: float, factor: float) -> float:
        moved = value * factor if up else value / factor
        if whole:
            moved = max(value + 1, moved) if up else min(value - 1, moved)
            moved = float(round(min(moved, 1e300)))
        return min(end, moved) if up else max(end, moved)

    bad = good = float(start)
    factor = 1.05
    while not promises(good):
        if good == end:
            return None
        bad, good, factor = good, further(good, factor), factor * factor
    while abs(good - bad) > (max(1.0, LARGE * good) if whole else FINE * min(good, bad)):
        middle = math.sqrt(good * bad)
        if whole:
            middle = min(max(float(round(middle)), min(good, bad) + 1), max(good, bad) - 1)
        good, bad = (middle, bad) if promises(middle) else (good, middle)
    return good
