"""zhang2021's proof: the algebra checks read the formulas that are entered, so that a changed one fails them."""

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest

from dpfl_theory.checks import algebra
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Sides, Statement
from dpfl_theory.core.formula import prescription_of, sides_of
from dpfl_theory.statements import get
from dpfl_theory.statements.zhang2021 import claim2_2, theorem3_1
from dpfl_theory.statements.zhang2021._symbols import StepLimits


def test_the_bookkeeping_notices_a_lost_factor() -> None:
    """(20) repaired follows from its steps; (20) with the printed (19), or without an L, does not."""
    for id_, name, verdict in (
        ("zhang2021.eq20.repaired", "(12) to (19) put together", "holds"),
        ("zhang2021.eq20", "the terms that (18) and (19) add", "violated"),
        ("zhang2021.eq21.repaired", "follows from (20)", "holds"),
        ("zhang2021.eq22", "follows from (21)", "violated"),
        ("zhang2021.theorem3.1", "follows from (22)", "violated"),
    ):
        (check,) = (c for c in get(id_).checks if c.name == name)
        assert algebra.run(get(id_), check, Settings()).verdict == verdict, id_


CONNECTED = [
    ("eq13_to_eq19", "EQ13"),
    ("eq13_to_eq19", "EQ14_REPAIRED"),
    ("eq13_to_eq19", "EQ15"),
    ("eq13_to_eq19", "EQ15_SHARPENED"),
    ("eq13_to_eq19", "EQ16"),
    ("eq13_to_eq19", "EQ17"),
    ("eq13_to_eq19", "EQ18_REPAIRED"),
    ("eq13_to_eq19", "EQ19"),
    ("eq13_to_eq19", "EQ19_REPAIRED"),
    ("eq20_to_eq22", "EQ20_REPAIRED"),
    ("eq20_to_eq22", "EQ21_REPAIRED"),
    ("eq20_to_eq22", "EQ22_REPAIRED"),
    ("theorem3_1", "REPAIRED"),
    ("theorem3_1", "SHARPENED"),
    ("theorem3_2", "COROLLARY_REPAIRED"),
    ("theorem3_1", "ALPHA_BOUND_REPAIRED"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("module", "name"), CONNECTED)
def test_half_of_any_term_fails_an_algebra_check(module: str, name: str) -> None:
    """The algebra checks read the entered formula: no change of a term remains undetected."""
    home = importlib.import_module(f"dpfl_theory.statements.zhang2021.{module}")
    right: Statement = getattr(home, name)
    checks = [c for c in right.checks if c.method == "algebra"]
    assert all(algebra.run(right, c, Settings()).verdict == "holds" for c in checks)
    sides = sides_of(right)
    for term in sides.rhs:
        halved = Sides(sides.lhs, {name: t / 2 if name == term else t for name, t in sides.rhs.items()})
        wrong = replace(right, sides=lambda _, halved=halved: halved)
        verdicts = [algebra.run(wrong, c, Settings()).verdict for c in checks]
        assert set(verdicts) != {"holds"}, term


def test_the_prescribed_step_is_read_by_its_algebra() -> None:
    """A step that is three times as long leaves the radius 2 G*/mu within which Claim 2.2's first half works."""
    right = claim2_2.REACHED
    step = 3 * prescription_of(right)["eta_l"]
    longer = replace(right, prescription=lambda _: {"eta_l": step})
    (check,) = (c for c in right.checks if c.name == "gradient descent within R")
    assert algebra.run(right, check, Settings()).verdict == "holds"
    assert algebra.run(longer, check, Settings()).verdict == "violated"


@pytest.mark.parametrize("limits", [StepLimits(50, 20), StepLimits(60, 18), StepLimits(60, 20, 5)])
def test_steps_that_are_too_long_fail_the_sharpened_round(limits: StepLimits, monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = (c for c in theorem3_1.SHARPENED.checks if c.name == "one round, from (13) to (18)")
    assert algebra.run(theorem3_1.SHARPENED, check, Settings()).verdict == "holds"
    monkeypatch.setattr(theorem3_1, "sharpened_limits", limits)
    assert algebra.run(theorem3_1.SHARPENED, check, Settings()).verdict == "violated"


@pytest.mark.parametrize("limits", [StepLimits(120, 120), StepLimits(60, 130), StepLimits(60, 20, 7)])
def test_steps_that_are_not_longer_sharpen_nothing(limits: StepLimits, monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = (c for c in theorem3_1.SHARPENED.checks if c.name == "smaller than the repaired bound")
    assert algebra.run(theorem3_1.SHARPENED, check, Settings()).verdict == "holds"
    monkeypatch.setattr(theorem3_1, "sharpened_limits", limits)
    assert algebra.run(theorem3_1.SHARPENED, check, Settings()).verdict == "violated"
