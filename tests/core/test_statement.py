"""The verdict that a statement is known to have follows from its checks."""

from __future__ import annotations

from dataclasses import replace

from dpfl_theory.core import Check, Source, Statement

REFUTES = Check("exact", "refutes", print, expected="violated")
HOLDS = Check("exact", "holds", print)


def stated(*checks: Check, **more: object) -> Statement:
    return Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", checks=checks, **more)  # type: ignore[arg-type]


def test_the_verdict_follows_from_checks_and_units() -> None:
    assert stated(HOLDS).expected == "holds"
    assert stated(HOLDS, REFUTES).expected == "violated"
    assert stated(HOLDS, homogeneous=False).expected == "violated"
    assert stated().expected == "holds"


def test_a_form_with_other_checks_has_their_verdict() -> None:
    printed = stated(REFUTES)
    assert replace(printed, title="another").expected == "violated"
    assert replace(printed, checks=(HOLDS,)).expected == "holds"
    assert replace(stated(HOLDS), checks=(REFUTES,)).expected == "violated"


def test_a_verdict_that_is_written_stays() -> None:
    assert replace(stated(HOLDS, expected="violated"), title="another").expected == "violated"
