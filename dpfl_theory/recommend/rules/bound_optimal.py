"""The rule ``bound-optimal``: a statement's bound, minimised over all hyper-parameters that are not given.

The bound is the statement's own formula within its own hypotheses, its noise the paper's unless the setting says
otherwise. The certificate has the least value that any choice can have (``lower_bound``), and how far the answer is
from it (``gap``). Where the best bound promises nothing, ``vacuous`` says so first, and what would help.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpfl_theory.errors import InputError
from dpfl_theory.recommend.base import Document, Setting, named
from dpfl_theory.recommend.optimum import Optimum
from dpfl_theory.recommend.rules import Rule

TIGHT = 1e-7
"""A relative gap up to which a choice is called optimal: the solver's accuracy."""
FAR = 1e12
"""The largest factor by which a lever is changed, and by which bisection looks for what helps."""
FINE = 1e-3
"""How exactly bisection finds a lever that is not a count, relatively."""


LARGE = 1e-5
"""The same for a count so large that this share of it is more than one."""


def apply(setting: Setting) -> Document:
    found = setting.optimum()
    document = setting.answer(found.choice)
    (trivial, what), certificate = setting.trivial(), document["certificate"]
    vacuous = bool(found.unmet) or found.bound >= trivial
    said, changes = _nothing(setting, found, trivial, what) if vacuous else (None, {})
    gap = None if found.unmet else max(0.0, found.bound - found.lower)
    return {
        "vacuous": said,
        **document,
        "bound": None if found.unmet else document["bound"],
        "would_help": changes,
        "certificate": {
            **certificate,
            "reason": f"The bound is least there: {found.how}",
            "applies": not found.unmet,
            "vacuous": vacuous,
            "trivial": trivial,
            "optimal": gap is not None and gap <= TIGHT * found.bound,
            "lower_bound": None if found.unmet else found.lower,
            "gap": gap,
            "how": found.how,
        },
    }


def _nothing(setting: Setting, found: Optimum, trivial: float, what: str) -> tuple[str, dict[str, float | None]]:
    """That no choice promises anything, and the least changes of single inputs with which one does."""
    why = (
        f"no choice meets the hypotheses ({'; '.join(found.unmet)})"
        if found.unmet
        else f"the least bound, {found.bound:.6g}, is not below {what} = {trivial:.6g}, which needs no run"
    )
    levers = setting.levers()
    if getattr(setting, "rounds", None) is not None:
        levers["rounds"] = 1
    changes = {name: _helping(setting, name, way) for name, way in levers.items()}
    helping = {name: value for name, value in changes.items() if value is not None}

    def factor(name: str) -> float:
        return abs(math.log(helping[name] / getattr(setting, name)))

    texts = [
        f"{named(name)} {'>=' if levers[name] > 0 else '<='} {helping[name]:.6g} (here {getattr(setting, name):g})"
        for name in sorted(helping, key=factor)
    ]
    others = [named(name) for name in changes if name not in helping]
    helps = f"it takes {' or '.join(texts)}" if texts else ""
    fails = f"no {' and no '.join(others)} alone helps" if others else ""
    return f"This bound promises nothing: {why}; {', and '.join(t for t in (helps, fails) if t)}", changes


def _helping(setting: Setting, name: str, way: int) -> float | None:
    """The value of a lever nearest to the one given with which the bound promises something; None where none does."""
    start = getattr(setting, name)
    whole = isinstance(start, int)

    def promises(value: float) -> bool:
        try:
            other = setting.varied(name, int(value) if whole else value)
            return other.infimum() < other.trivial()[0]
        except InputError:  # beyond what an accountant takes
            return False

    return _first(promises, start, way, whole)


def _first(promises: Callable[[float], bool], start: float, way: int, whole: bool) -> float | None:
    """The value nearest to ``start`` that promises something, which the one at the start does not, by bisection."""
    bad = good = float(start)
    end = start * FAR**way if not whole or way > 0 else 1.0
    factor = 2.0
    while not promises(good):
        if good == end or (whole and way < 0 and good <= 1):
            return None
        bad, good = good, max(end, good / factor) if way < 0 else min(end, good * factor)
        if whole:
            good = float(math.floor(good) if way < 0 else math.ceil(good))
        factor *= factor
    while abs(good - bad) > (max(1.0, LARGE * good) if whole else FINE * min(good, bad)):
        middle = math.sqrt(good * bad)
        if whole:
            middle = min(max(float(round(middle)), min(good, bad) + 1), max(good, bad) - 1)
        good, bad = (middle, bad) if promises(middle) else (good, middle)
    return good


RULE = Rule("bound-optimal", "the bound, minimised over all hyper-parameters that are not given", apply, chooses=True)
