"""Measures the errors that the checks of each statement could detect, from evidence and from planted changes.

Each statement is replaced by a stronger one, all its checks except the simulations run in a process of their own, and
their verdicts are compared. The limits of a simulation, and those of a privacy claim, show without another run which
changes they detect. `dpfl_theory.checks.record` writes the result.

For a user's file the power is computed from the available evidence. A check that compares the two sides determines by
how much the right side, or one of its terms, could be smaller before its verdict changes. An exact or worst-case check
uses its ratio, a simulation its confidence limits.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dpfl_theory.checks.runner import checks_of, run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Sides, Statement, methods
from dpfl_theory.core.evidence import ENDED, HALF, UNSOLVED, Evidence
from dpfl_theory.core.formula import sides_of, with_sides
from dpfl_theory.core.methods import UNITS
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.runtime.time_limits import forked
from dpfl_theory.statements.power import Power

SHRINKAGES = (0.999, 0.99, 0.9, 0.5, 0.1, 0.01, 0.001)
"""The shares by which statements are made stronger, the largest first."""

TIGHTEST = 3
"""The number of checks of each method that run with a statement that is stronger by a smaller share."""

_TELL_SECONDS = 1.0

Found = Mapping[tuple[str, str], Mapping[str, Any]]
"""Evidence as plain data, by method and check."""
Planting = tuple[int, float, frozenset[tuple[str, str]]]
"""The number of a statement, the share by which it becomes stronger, and the checks that run."""


def _nothing(*_: object) -> None:
    """The default progress callback: does nothing."""


def fingerprint(statement: Statement) -> str:
    """A hash of a statement's formula and checks, in any order: if it differs, the power on record is outdated."""
    sides = None if statement.sides is None else sides_of(statement)
    formula = (
        "" if sides is None else [[(name, str(term)) for name, term in side.items()] for side in (sides.lhs, sides.rhs)]
    )
    checks = [(c.method, c.name, c.expected, dict(c.instance)) for c in statement.checks]
    checks.sort(key=lambda check: json.dumps(check, sort_keys=True))
    text = json.dumps([statement.relation, formula, checks], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stronger(statement: Statement, share: float) -> Statement:
    """The statement with a smaller right side (a larger one for ``>=``).

    A term that is added in it is smaller by a share of itself; one that is subtracted is larger by the same share.
    Where the right side is zero the left one is changed.

    >>> from dpfl_theory.statements import get
    >>> stronger(get("das2022.eq57"), 0.5).sides is not get("das2022.eq57").sides
    True
    """
    made = sides_of(statement)
    less, more = 1 - sp.nsimplify(share, rational=True), 1 / (1 - sp.nsimplify(share, rational=True))
    if statement.relation == ">=":
        less, more = more, less

    def scaled(terms: Mapping[str, Any], added: Any, subtracted: Any) -> dict[str, Any]:
        return {name: (subtracted if t.could_extract_minus_sign() else added) * t for name, t in terms.items()}

    if all(sp.sympify(term) == 0 for term in made.rhs.values()):
        changed = Sides(scaled(made.lhs, more, less), made.rhs)
    else:
        changed = Sides(made.lhs, scaled({name: sp.sympify(t) for name, t in made.rhs.items()}, less, more))
    return with_sides(statement, changed)


def stronger_by(statement: Statement, term: str) -> Statement:
    """The statement made stronger by one term of the right side.

    The term is left out where this makes the right side of ``<=`` or ``==`` smaller. It is doubled where it is
    subtracted (for ``>=`` the other way round).

    >>> from dpfl_theory.statements import get
    >>> theorem = get("hou2023.theorem1")
    >>> list(sides_of(theorem).rhs), list(sides_of(stronger_by(theorem, "privacy noise")).rhs)
    (['optimisation', 'privacy noise'], ['optimisation'])
    """
    made = sides_of(statement)
    subtracted = sp.sympify(made.rhs[term]).could_extract_minus_sign()
    if statement.relation != "==" and subtracted != (statement.relation == ">="):
        rhs = {**made.rhs, term: 2 * made.rhs[term]}
    else:
        rhs = {name: value for name, value in made.rhs.items() if name != term}
    return with_sides(statement, Sides(made.lhs, rhs))


def noticed_terms(statement: Statement, found: Found, limit: float | None = None) -> dict[str, str]:
    """For each term of the right side the check that detects its absence (see `stronger_by`), or an empty string.

    Empty for a right side of one term, which the shares of `SHRINKAGES` cover. Evidence with random limits decides by
    these limits; the other checks run again, each for at most ``limit`` seconds, the fastest first, until one gives
    another verdict.
    """
    rhs = {} if statement.sides is None else sides_of(statement).rhs
    if len(rhs) < 2:
        return {}
    drawn = {key: e for key, e in found.items() if methods.get(key[0]).simulates}
    others = sorted((e["seconds"], key) for key, e in found.items() if key not in drawn and key[1] != UNITS)
    by_name = {(c.method, c.name): c for c in statement.checks}
    noticed = {}
    for term in rhs:
        changed = stronger_by(statement, term)
        by_runs = (key for key, e in drawn.items() if _exceeds(e, term, statement.relation == "=="))
        by_others = (key for _, key in others if _turned(found[key], _attempt(changed, by_name[key], limit)))
        noticed[term] = ": ".join(next(itertools.chain(by_runs, by_others), ()))
    return noticed


def _exceeds(evidence: Mapping[str, Any], term: str, equality: bool) -> bool:
    """Whether a term is larger than the slack between a run's limits and its right side."""
    share, value = margin(evidence, equality), evidence["terms"].get(term)
    return share is not None and bool(value) and abs(value) > share * abs(evidence["rhs"])


def planted(
    statement: Statement,
    share: float,
    among: frozenset[tuple[str, str]] | None = None,
    limit: float | None = None,
) -> dict[tuple[str, str], dict[str, Any]]:
    """The evidence of all checks but simulations, or of those named, when the statement is `stronger` by a share."""
    changed = stronger(statement, share)
    return {
        (c.method, c.name): _attempt(changed, c, limit)
        for c in checks_of(changed)
        if not methods.get(c.method).simulates and (among is None or (c.method, c.name) in among)
    }


def _attempt(statement: Statement, check: Check, limit: float | None = None) -> dict[str, Any]:
    """A check's evidence; an exception counts as a detection as well."""
    try:
        return run_one(statement, check, Settings(limit=limit)).to_json()
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return Evidence.of_check(statement, check, "inconclusive", message, instance={}).to_json()


def changes_evidence(previous: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether another right side changed a check's evidence."""
    kept = ("verdict", "reason", "lhs", "rhs", "ratio", "terms")
    return any(previous[key] != after[key] for key in kept)


def margin(evidence: Mapping[str, Any], equality: bool) -> float | None:
    """The smallest share by which the right side of evidence that holds may become `stronger` before its limits no
    longer hold: the bound of a run, the claimed value of a privacy claim. A negative one grows in size.

    >>> run = {"verdict": "holds", "rhs": -1.0, "lhs": {"low": -5.0, "high": -4.0}}
    >>> margin(run, equality=False), margin(run, equality=True)
    (0.75, 0.8)
    """
    bound, limits = evidence["rhs"], evidence["lhs"]
    if evidence["verdict"] != "holds" or not bound or limits is None:
        return None
    end = limits["low"] if equality else limits["high"]
    if end is None or bound < 0.0 <= end:
        return None
    kept: float = end / bound if bound > 0.0 else bound / end
    return max(0.0, 1.0 - kept)


def power_of(
    statement: Statement, found: Found, after: Mapping[float, Found], terms: Mapping[str, str] = MappingProxyType({})
) -> Power:
    """A statement's power from its evidence, from the evidence with smaller right sides, and from the checks that
    detect the absence of its terms."""
    first = after.get(SHRINKAGES[0], {})
    has_formula = statement.sides is not None
    drawn = {key for key in found if methods.get(key[0]).simulates}
    reading = drawn | {key for key, e in found.items() if key in first and changes_evidence(e, first[key])}
    spoken = [
        (e["ratio"], f"{method}: {name}")
        for (method, name), e in found.items()
        if e["ratio"] is not None
        and not e["vacuous"]
        and e["verdict"] != "not-applicable"
        and ((method, name) in reading or not has_formula)
    ]
    ratio, ratio_by = max(spoken, default=(None, ""), key=lambda pair: pair[0])
    used = tuple(dict.fromkeys(m for m, _ in found))
    noticed: dict[str, tuple[float, str]] = {}
    for method, share, words in sorted(_noticed(statement, found, after)):
        noticed.setdefault(method, (share, words))
    counts = {m: (sum(n == m and (n, c) in reading for n, c in found), sum(n == m for n, _ in found)) for m in used}
    runs = [found[key] for key in drawn if found[key]["vacuous"] is not None]
    idle = all(e["vacuous"] for e in runs) if runs else None
    least = {m: (_short(noticed[m][0]), noticed[m][1]) if m in noticed else (None, "") for m in used}
    return Power(_short(ratio), ratio_by, counts, idle, least, fingerprint(statement), terms)


def _noticed(statement: Statement, found: Found, after: Mapping[float, Found]) -> Iterable[tuple[str, float, str]]:
    """Each check that detects a stronger statement: its method, the smallest share that it detects, its name."""
    for (method, name), e in found.items():
        if methods.get(method).limits:
            # A privacy claim bounds the true value from above, also where the statement equates the noise.
            share = margin(e, statement.relation == "==" and methods.get(method).simulates)
            if share is not None and share < 1.0:
                yield method, share, name
        elif statement.sides is None:
            if e["ratio"] is not None and 0.0 < e["ratio"] <= 1.0 and e["verdict"] == "holds":
                yield method, 1.0 - e["ratio"], name
        else:
            turned = [share for share, others in after.items() if _turned(e, others.get((method, name)))]
            if turned:
                yield method, min(turned), name


def _turned(previous: Mapping[str, Any], after: Mapping[str, Any] | None) -> bool:
    """Whether a check gives another verdict. One that a failed solver or a time limit left undecided shows nothing."""
    if after is None or after["verdict"] == previous["verdict"]:
        return False
    return after["verdict"] != "inconclusive" or not {UNSOLVED, ENDED} & after["notes"].keys()


def _short(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.3g}")


def measure(
    evidence: Iterable[Mapping[str, Any]],
    statements: Sequence[Statement],
    jobs: int = 1,
    progress: Callable[[float, str], None] = _nothing,
    limit: float | None = None,
) -> dict[str, Power]:
    """The power of these statements' checks, from this evidence.

    progress: called with the share that is done and the current task, about once a second; limit: seconds after which a
    check of a planted change is stopped.

    Each planted change has a process of its own, made from this one before it ran any check. Thus nothing that a check
    keeps for the next one hides the change.
    """
    found: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
    for e in evidence:
        found.setdefault(e["statement"], {})[e["method"], e["check"]] = e
    chosen = [s for s in statements if s.id in found]
    after: list[dict[float, Found]] = [{} for _ in chosen]
    tasks: list[Planting] = [
        (i, SHRINKAGES[0], frozenset(found[s.id])) for i, s in enumerate(chosen) if s.sides is not None
    ]
    _import_packages(tasks, chosen)
    for level, smaller in enumerate((*SHRINKAGES[1:], None)):

        def planting(done: int, level: int = level, tasks: Sequence[Planting] = tuple(tasks)) -> None:
            i, share, _ = tasks[done]
            words = f"{chosen[i].id}, its right side smaller by {100 * share:.3g} %"
            progress((level + done / len(tasks)) / len(SHRINKAGES), words)

        def plant(task: Planting) -> dict[tuple[str, str], dict[str, Any]]:
            i, share, among = task
            return planted(chosen[i], share, among, limit)

        for (i, share, _), ended in zip(tasks, forked(plant, tasks, jobs, planting)):
            after[i][share] = ended
        # A check that does not detect this share detects no smaller one.
        tasks = [
            (i, smaller, turned)
            for i, share, _ in tasks
            if smaller is not None and (turned := _turns(found[chosen[i].id], after[i][share]))
        ]
    holding = [s for s in chosen if s.expected == "holds"]

    def leaving_out(done: int) -> None:
        part = (len(SHRINKAGES) - 1 + done / len(holding)) / len(SHRINKAGES)
        progress(part, f"{holding[done].id}, without a term")

    left_out = forked(lambda s: noticed_terms(s, found[s.id], limit), holding, jobs, leaving_out)
    terms = {s.id: ended for s, ended in zip(holding, left_out)}
    return {s.id: power_of(s, found[s.id], changed, terms.get(s.id, {})) for s, changed in zip(chosen, after)}


def _import_packages(tasks: Sequence[Planting], statements: Sequence[Statement]) -> None:
    """Import what the checks of these tasks use, so that not each of the processes made from this one has to."""
    used = {c.method for i, _, _ in tasks for c in statements[i].checks}
    for name in ("sympy", *(methods.get(method).runner for method in sorted(used))):
        importlib.import_module(name)
    if "worst-case" in used:
        importlib.import_module("cvxpy")
        importlib.import_module("PEPit.functions")


def _turns(previous: Found, after: Found) -> frozenset[tuple[str, str]]:
    """The checks that detect a change, of each method those that are nearest to their bound. If these do not detect a
    smaller share, the others will not either."""
    ratios: dict[str, list[tuple[float, tuple[str, str]]]] = {}
    kept = set()
    for key, e in after.items():
        if _turned(previous.get(key, e), e):
            ratio = previous.get(key, e)["ratio"]
            if ratio is None:
                kept.add(key)
            else:
                ratios.setdefault(key[0], []).append((ratio, key))
    for found in ratios.values():
        kept |= {key for _, key in sorted(found, reverse=True)[:TIGHTEST]}
    return frozenset(kept)


LOOSE = 0.5
"""If no right side that is smaller by less than this share is detected, a factor 2 would not be detected."""


@dataclass(frozen=True)
class Detected:
    """The errors that the checks of a statement could detect.

    * ratio, ratio_by: the largest left/right of a check that compares the sides, is not vacuous and inside the
      hypotheses, and that check; None without one.
    * share, share_by: the smallest share by which the right side could be smaller so that a check would not hold, and
      that check; None without one.
    * terms: the share by which each single term could be smaller at most, and the check.

    A term is listed only where leaving it out would change the verdict of a run or of an exact check's tightest
    instance. Nothing is known of the others (see `undetected_terms`).
    """

    ratio: float | None
    ratio_by: str
    share: float | None
    share_by: str
    terms: Mapping[str, tuple[float, str]]

    @property
    def loose(self) -> bool:
        """Whether no check would detect a factor 2."""
        return self.share is None or self.share > LOOSE

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "ratio": self.ratio,
            "ratio_by": self.ratio_by,
            "share": self.share,
            "share_by": self.share_by,
            "terms": {name: {"share": share, "by": by} for name, (share, by) in self.terms.items()},
            "notices_a_factor_2": not self.loose,
            "sentence": self.sentence(),
        }

    def sentence(self) -> str:
        """All of it in words.

        >>> Detected(0.025, "exact: K = 1", 0.975, "exact: K = 1", {}).sentence()
        'your bound is 40 times larger than any observed value (exact: K = 1): no check here could detect a factor 2'
        """
        if self.ratio is None or self.share is None:
            return "no check here compares both sides of your formula and holds: no error in it could be detected"
        if self.loose:
            factor = "far more than 1000" if self.ratio < 1e-3 else f"{1.0 / self.ratio:.3g}"
            message = f"your bound is {factor} times larger than any observed value ({self.ratio_by})"
            found = [f"{message}: no check here could detect a factor 2"]
        else:
            found = [f"a right side smaller by {_percent(self.share)} would be detected ({self.share_by})"]
        if not self.loose:
            for name, (share, by) in self.terms.items():
                if share < 1.0:
                    found.append(f"the single term {name!r} smaller by {_percent(share)}, too ({by})")
        return "; ".join(found)


def _percent(share: float) -> str:
    return "any amount" if share < 5e-6 else f"{100 * share:.3g} %"


def detected_by_checks(statement: Statement, evidence: Iterable[Evidence]) -> Detected | None:
    """The errors that these checks of a statement could detect; None for one without sides, or that they refute."""
    if statement.sides is None:
        return None
    own = [e for e in evidence if e.statement == statement.id]
    if any(e.verdict == "violated" for e in own):
        return None
    reading = [e for e in own if methods.get(e.method).relations is not None and not e.part and e.verdict == "holds"]
    equality = statement.relation == "=="
    spoken = [(e.ratio, _name(e)) for e in reading if e.ratio is not None and not e.vacuous]
    ratio, ratio_by = max(spoken, default=(None, ""), key=lambda pair: pair[0])
    shares = [(share, _name(e)) for e in reading if (share := _share(e, equality)) is not None and share < 1.0]
    share, share_by = min(shares, default=(None, ""))
    terms = {}
    for term in dict.fromkeys(name for e in reading for name in e.terms):
        turned = [(found, _name(e)) for e in reading for found in _of_term(e, term, equality)]
        if turned:
            terms[term] = min(turned)
    return Detected(ratio, ratio_by, share, share_by, terms)


def undetected_terms(statement: Statement, evidence: Iterable[Evidence], limit: float | None = None) -> list[str]:
    """The terms of the right side whose absence no check that compares the sides would detect; empty for a right side
    of one term (see `dpfl_theory.checks.power.noticed_terms`).
    """
    own = (e for e in evidence if e.statement == statement.id and e.verdict == "holds" and not e.part)
    compared = {(e.method, e.check): e.to_json() for e in own if methods.get(e.method).relations is not None}
    return [term for term, by in noticed_terms(statement, compared, limit).items() if not by]


def _name(e: Evidence) -> str:
    return f"{e.method}: {e.check}"


def _share(e: Evidence, equality: bool) -> float | None:
    """By which share the right side could be smaller before this check would not hold."""
    if methods.get(e.method).limits:
        return margin(e.to_json(), equality)
    half = e.notes.get(HALF)
    if half == ">=":  # a smaller right side is even further below the left one
        return None
    return None if e.ratio is None else 0.0 if equality and half is None else max(0.0, 1.0 - e.ratio)


def _of_term(e: Evidence, term: str, equality: bool) -> Iterator[float]:
    """The same share of one of the right side's terms, where its absence would be enough."""
    share, value = _share(e, equality), e.terms.get(term)
    if share is not None and value and e.rhs and 0.0 <= share * e.rhs / value <= 1.0:
        yield share * e.rhs / value
