"""The smoke set: a few fast checks of every paper and method, which CI runs on every change.

They are chosen to fail when a shared part is broken: bounds that are nearly attained (a ratio near 1 leaves no
room for a wrong kernel or noise); left sides that are known; refutations by known factors; and both outcomes of the
units check. Its tests plant such faults in every algorithm and say which check detects which. A statement with a check
that is known to refute it has no other one here, so that no verdict hides another. Every method of every paper is
there; a test names the missing pairs.

A statement names its checks that belong here (`Statement.smoke`); there is no other list.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpfl_theory.core import Check, Statement

__all__ = ["smoke_set"]


def smoke_set(pairs: Sequence[tuple[Statement, Check]]) -> list[tuple[Statement, Check]]:
    """Those of the planned checks that belong to the smoke set.

    >>> from dpfl_theory.checks.runner import plan
    >>> from dpfl_theory.statements import get
    >>> [c.name for _, c in smoke_set(plan([get("das2022.lemma10.smooth-alone")]))]
    ['non-convex, eta L = 1']
    """
    return [(statement, c) for statement, c in pairs if c.smoke]
