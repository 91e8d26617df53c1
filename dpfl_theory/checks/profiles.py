"""The parts of all checks that are run: the standard profile, and the smoke set.

The standard profile has, of each statement, the checks that decide. The table of what was measured has those that it
leaves out. It runs all others, including new ones. From the evidence of all checks of a statement and their power
(`dpfl_theory.checks.power`) these are chosen:

* every check that is known to refute it, or to stay open, and every check of the smoke set;
* for each method a check that detects the smallest changes, the fastest among those that detect changes as small;
* for each term of the right side the check that detects its absence;
* for each hypothesis the fastest instance that it excludes;
* further checks that the statement's verdict needs, such as the other half of an equality.

The smoke set is a few fast checks of every paper and method, which CI runs on every change. They are chosen to fail
when a shared part is broken: bounds that are nearly attained (a ratio near 1 leaves no room for a wrong kernel or
noise); left sides that are known; refutations by known factors; and both outcomes of the units check. Its tests plant
such faults in every algorithm and say which check detects which. A statement with a check that is known to refute it
has no other one here, so that no verdict hides another. A statement names its checks that belong here
(`Statement.smoke`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpfl_theory.core import Check, Statement
from dpfl_theory.core.evidence import UNMET, kind_of, verdict_of
from dpfl_theory.runtime.evidence_table import section
from dpfl_theory.statements.power import Power

TIERS = (0.001, 0.01, 0.1, 0.5, 1.0)
"""Checks that detect changes up to the same one of these shares count as equal, and the fastest is chosen."""

Key = tuple[str, str]
"""A check's method and name."""
Found = Mapping[Key, Mapping[str, Any]]
"""Evidence as plain data, by method and name."""


def standard(pairs: Sequence[tuple[Statement, Check]]) -> list[tuple[Statement, Check]]:
    """Those of the planned checks that the standard profile runs.

    >>> from dpfl_theory.checks.runner import plan
    >>> from dpfl_theory.statements import get
    >>> every = plan([get("das2022.theorem4a")])
    >>> 0 < len(standard(every)) < len(every)
    True
    """
    return [(s, c) for s, c in pairs if c.name not in section("standard").get(s.id, {}).get(c.method, ())]


def left_out(pairs: Iterable[tuple[Statement, Check]], retained: Iterable[tuple[Statement, Check]]) -> dict[str, int]:
    """The number of planned checks of each statement that were left out; none of these numbers is 0."""
    counts = Counter(s.id for s, _ in pairs)
    counts.subtract(s.id for s, _ in retained)
    return {id_: count for id_, count in counts.items() if count}


def chosen(statement: Statement, checks: Sequence[Check], found: Found, power: Power) -> set[Key]:
    """The checks of a statement that the standard profile runs, from the evidence and the power of all of them."""
    keys = {(c.method, c.name): c for c in checks}
    kept = {key for key, c in keys.items() if c.smoke or c.expected in ("violated", "inconclusive")}
    for by in (power.ratio_by, *power.terms.values()):
        method, _, name = by.partition(": ")
        kept |= {(method, name)} & set(keys)

    def fastest(among: Iterable[Key]) -> set[Key]:
        candidates = sorted(among, key=lambda key: (found[key]["seconds"], key))
        return set() if kept & set(candidates) else set(candidates[:1])

    for hypothesis in statement.hypotheses:
        kept |= fastest(key for key, e in found.items() if e["notes"].get(UNMET) == hypothesis.text)
    inside = [key for key, c in keys.items() if c.expected == "holds"]
    for method in dict.fromkeys(c.method for c in checks):
        own = [key for key in inside if key[0] == method]
        share, name = power.least.get(method, (None, ""))
        if share is None:
            kept |= fastest(own)
            continue
        tier = next(t for t in TIERS if share <= t)
        kept |= fastest(key for key in own if key[1] == name or _share(statement, found[key]) <= tier)
    for key in sorted(inside, key=lambda key: (found[key]["seconds"], key)):
        if verdict_of([found[k] for k in kept]) == verdict_of(list(found.values())):
            break
        kept.add(key)
    return kept


def _share(statement: Statement, evidence: Mapping[str, Any]) -> float:
    """The smallest share of the right side that evidence with limits detects; infinite where it is unknown."""
    from dpfl_theory.checks.power import margin

    if kind_of(evidence["method"], evidence["check"]) == "algebra":
        return math.inf
    share = margin(evidence, statement.relation == "==")
    return math.inf if share is None else share


def omitted(statement: Statement, checks: Sequence[Check], found: Found, power: Power) -> dict[str, list[str]]:
    """The names of the other checks by method, as the table has them."""
    kept = chosen(statement, checks, found, power)
    made: dict[str, list[str]] = {}
    for c in checks:
        if (c.method, c.name) not in kept:
            made.setdefault(c.method, []).append(c.name)
    return made


def smoke_set(pairs: Sequence[tuple[Statement, Check]]) -> list[tuple[Statement, Check]]:
    """Those of the planned checks that belong to the smoke set.

    >>> from dpfl_theory.checks.runner import plan
    >>> from dpfl_theory.statements import get
    >>> [c.name for _, c in smoke_set(plan([get("das2022.lemma10.smooth-alone")]))]
    ['non-convex, eta L = 1']
    """
    return [(statement, c) for statement, c in pairs if c.smoke]
