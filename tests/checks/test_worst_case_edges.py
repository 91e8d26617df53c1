"""Which verdict follows from what is known of the largest ratio: every case, with numbers in place of a solver's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
import sympy as sp
from PEPit import PEP
from PEPit.functions import SmoothConvexFunction

from dpfl_theory.checks import worst_case
from dpfl_theory.checks.estimation import SOLVER_TOLERANCE, VIOLATION_MARGIN, Solution
from dpfl_theory.checks.execute import run_one
from dpfl_theory.checks.homogeneity import NotACone
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Expected, Performance, Sides, Source, Statement, Symbol, WorstCase
from dpfl_theory.core.evidence import HALF, UNSOLVED, Evidence
from dpfl_theory.errors import CheckError, InputError

INF = math.inf
HALFWAY = Solution("optimal", 0.5, 0.5, 0.0, False, True, False, None, ())
PAIR = Performance(None, None, None, "a pair")


def built(*_: Any) -> Any:
    return PAIR


CHECK = Check("worst-case", "c", built, part="a pair")


def statement(check: Check = CHECK, relation: str = "<=") -> Statement:
    return Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", relation=relation, checks=(check,))  # type: ignore[arg-type]


def of(monkeypatch: pytest.MonkeyPatch, performance: Performance = PAIR, **known: Any) -> Evidence:
    """The evidence where the solution differs from `HALFWAY` in what is given."""
    monkeypatch.setattr(worst_case, "solve", lambda _: replace(HALFWAY, **known))
    monkeypatch.setattr(worst_case, "span", lambda _: (1.0, 1.0))
    return worst_case._one(statement(), CHECK, performance)


@pytest.mark.parametrize(
    ("known", "verdict", "words"),
    [
        ({}, "holds", "is 0.5, at most 1 within"),
        ({"signed": False}, "inconclusive", "the right side can be negative, where the worst ratio 0.5 proves"),
        ({"primal": 1.0, "dual": 1.0, "defect": SOLVER_TOLERANCE}, "holds", "is 1.000001, at most 1 within"),
        ({"primal": 1.0, "dual": 1.0, "defect": SOLVER_TOLERANCE, "signed": False}, "inconclusive", "can be negative"),
        ({"primal": 1.0, "dual": 1.0, "signed": False}, "inconclusive", "can be negative"),
        ({"primal": 1.0, "dual": 1.0, "defect": 1.1e-6}, "inconclusive", "not solved"),
        ({"primal": 1.5, "dual": 1.5}, "inconclusive", "not solved (status optimal, primal 1.5, dual 1.5)"),
        ({"primal": 1.5, "dual": 1.5, "signed": False}, "inconclusive", "verified: the bound is exceeded, so correct"),
        # The gap of primal and dual value, relative to the larger one of 1 and the primal value: 1e-5 is small.
        ({"primal": 0.0, "dual": 1e-5}, "holds", "at most 1 within"),
        ({"primal": 0.0, "dual": 1.1e-5}, "inconclusive", "not solved"),
        ({"primal": 0.0, "dual": 1.1e-5, "signed": False}, "inconclusive", "not solved"),
        ({"primal": -100.0, "dual": -100.0 + 5e-4}, "holds", "at most 1 within"),
        ({"primal": -100.0, "dual": -100.0 + 2e-3}, "inconclusive", "not solved"),
        ({"primal": -INF}, "inconclusive", "not solved"),
        ({"proved": True}, "holds", "a pair: proved in rational arithmetic for all of the class; worst ratio 0.5"),
        ({"proved": True, "rounded": True}, "holds", "class, its coefficients rounded to double precision; worst"),
        ({"proved": True, "primal": 0.0}, "holds", "proved in rational arithmetic"),
        ({"primal": 1.5, "refuted": 1.25}, "violated", "sides is 1.5; a function of the class with ratio 1.25 meets"),
        ({"primal": INF, "refuted": INF}, "violated", "is unbounded; a function of the class whose right side is not"),
        ({"primal": 0.5, "refuted": INF}, "violated", "is 0.5; a function of the class whose right side is not posit"),
    ],
)
def test_the_verdict(monkeypatch: pytest.MonkeyPatch, known: dict[str, Any], verdict: str, words: str) -> None:
    found = of(monkeypatch, **known)
    assert found.verdict == verdict, found.reason
    assert words in found.reason
    assert found.detectable == 1.0 + VIOLATION_MARGIN
    assert found.notes["proved_exactly"] == known.get("proved", False)
    assert found.notes["refuted_exactly"] == ("refuted" in known)
    assert "worst_ratio_of" not in found.notes
    assert found.notes.get(UNSOLVED, False) is (words == "not solved")


@pytest.mark.parametrize(
    ("known", "limits"),
    [
        ({}, (0.5, 0.5, 0.5)),
        ({"primal": 0.25}, (0.5, 0.25, 0.5)),
        ({"primal": 0.75}, (0.5, 0.5, 0.5)),
        ({"primal": 2.0, "dual": 2.0, "refuted": 1.5}, (2.0, 1.5, 2.0)),
        ({"defect": 0.25}, (0.5, 0.5, 0.75)),
        ({"dual": 0.75, "defect": 0.5}, (0.75, 0.5, 1.25)),
        ({"defect": 0.25, "proved": True}, (0.5, 0.5, 0.75)),
        ({"dual": 0.75, "defect": 0.5, "proved": True}, (0.75, 0.5, 1.0)),  # a proof says at most 1
        ({"primal": 1.0, "dual": 1.0 + 2**-30, "proved": True}, (1.0 + 2**-30, 1.0, 1.0 + 2**-30)),
    ],
)
def test_the_limits_of_the_ratio(known: dict[str, Any], limits: tuple[float, float, float]) -> None:
    found = worst_case._interval(replace(HALFWAY, **known))
    assert (found.estimate, found.low, found.high) == limits


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ((1.0, 999999.5), False),
        ((1.0, 1e6), True),
        ((2.0**-10, 2.0**10), True),
        ((2.0**10, 2.0**20), False),
        ((1.0, 1e9), True),
    ],
)
def test_coefficients_far_apart(monkeypatch: pytest.MonkeyPatch, span: tuple[float, float], message: bool) -> None:
    monkeypatch.setattr(worst_case, "span", lambda _: span)
    words = worst_case._remedy(PAIR, False)
    assert ("choose units" in words) == message
    assert ("take fewer rounds" in words) != message
    if message:
        assert f"lie between {span[0]:.2g} and {span[1]:.2g}" in words
        assert worst_case.FAR_APART == 1e6


@pytest.mark.parametrize(
    ("known", "ratio"),
    [
        ({}, 0.5),
        ({"primal": 0.0, "dual": 1e-5}, 1e-5),
        ({"primal": 0.0, "dual": 1.1e-5}, "not solved"),
        ({"primal": 4.0, "dual": 4.0, "defect": 3e-5}, 4.0),
        ({"primal": INF, "dual": INF, "refuted": 2.0}, "unbounded"),
        ({"primal": math.nan, "dual": INF}, "not solved"),
    ],
)
def test_what_is_solved_for_information(monkeypatch: pytest.MonkeyPatch, known: dict[str, Any], ratio: Any) -> None:
    found = of(monkeypatch, replace(PAIR, also={"more": lambda: PAIR}), **known)
    assert found.notes["worst_ratio_of"] == {"more": ratio}


def test_a_problem_that_is_no_cone_is_an_error_of_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_: Performance) -> Solution:
        raise NotACone("a constant")

    monkeypatch.setattr(worst_case, "solve", refuses)
    with pytest.raises(InputError, match=r"check .c. of mine\.one: a constant"):
        worst_case._one(statement(), CHECK, PAIR)


# Values of the letters


def symbols(direction: Any = None, capped: tuple[str, ...] = ()) -> Check:
    """A check of values, not of a part."""
    return Check("worst-case", "c", lambda *_: WorstCase(None, {}, direction=direction, capped=capped))


@pytest.mark.parametrize(("relation", "larger", "smaller"), [("<=", "right", "left"), (">=", "left", "right")])
def test_the_side_that_is_normalised(monkeypatch: pytest.MonkeyPatch, relation: str, larger: str, smaller: str) -> None:
    monkeypatch.setattr(worst_case, "arranged", lambda *_, **__: PAIR)
    monkeypatch.setattr(worst_case, "solve", lambda _: replace(HALFWAY, refuted=INF))
    stated = statement(symbols(), relation)
    found = worst_case._one(stated, stated.checks[0], WorstCase(None, {}))
    assert found.notes["normalisation"] == f"{larger} side <= 1"
    assert f"whose {larger} side is not positive" in found.reason
    assert found.reason.endswith(f"and its {smaller} side is the larger one")


def test_sides_of_another_size_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mapping[str, Any]] = []
    answers = [replace(HALFWAY, primal=math.nan), HALFWAY]

    def arranged(_: Statement, case: WorstCase, **options: Any) -> Performance:
        asked.append({"direction": case.direction, **options})
        return PAIR

    monkeypatch.setattr(worst_case, "arranged", arranged)
    monkeypatch.setattr(worst_case, "solve", lambda _: answers.pop(0))
    stated = statement(symbols())
    found = worst_case._one(stated, stated.checks[0], WorstCase(None, {}, direction=">="))
    assert found.verdict == "holds"
    assert asked == [{"direction": ">="}, {"direction": ">=", "scaled": False}]
    assert answers == []


def run(
    monkeypatch: pytest.MonkeyPatch, verdicts: Mapping[str | None, str], check: Check, relation: str = "=="
) -> tuple[Evidence, list[str | None]]:
    """The evidence of a check whose halves have these verdicts, and which of them were asked for."""
    asked: list[str | None] = []

    def one(stated: Statement, check: Check, case: WorstCase) -> Evidence:
        asked.append(case.direction)
        verdict, notes = verdicts[case.direction], {"way": case.direction}
        return Evidence(stated.id, "worst-case", check.name, verdict, "holds", f"it is {verdict}", notes=notes)

    monkeypatch.setattr(worst_case, "unmet", lambda *_: None)
    monkeypatch.setattr(worst_case, "_one", one)
    found = worst_case.run(statement(check, relation), check, Settings())
    assert 0.0 <= found.seconds < 60.0
    return found, asked


@pytest.mark.parametrize(
    ("below", "above", "verdict"),
    [
        ("holds", "holds", "holds"),
        ("holds", "inconclusive", "inconclusive"),
        ("inconclusive", "holds", "inconclusive"),
        ("inconclusive", "inconclusive", "inconclusive"),
    ],
)
def test_an_equality_needs_both_halves(monkeypatch: pytest.MonkeyPatch, below: str, above: str, verdict: str) -> None:
    found, asked = run(monkeypatch, {"<=": below, ">=": above}, symbols())
    assert asked == ["<=", ">="]
    assert found.verdict == verdict
    assert found.reason == (
        f"of the equality, left <= right: it is {below}; of the equality, right <= left: it is {above}"
    )
    assert found.notes == {"way": "<=", "other half": {"way": ">="}}


@pytest.mark.parametrize(
    ("failed", "verdicts", "unsolved"),
    [
        ((True, True), ("inconclusive", "inconclusive"), True),
        ((True, False), ("inconclusive", "inconclusive"), False),
        ((False, True), ("inconclusive", "inconclusive"), False),
        ((True, False), ("inconclusive", "holds"), True),
    ],
)
def test_an_equality_is_unsolved_where_only_the_solver_failed(
    failed: tuple[bool, bool], verdicts: tuple[str, str], unsolved: bool
) -> None:
    below, above = (
        Evidence("a", "worst-case", "c", verdict, "holds", "r", notes={HALF: way, **({UNSOLVED: True} if gone else {})})
        for gone, verdict, way in zip(failed, verdicts, ("<=", ">="))
    )
    assert worst_case._both(below, above).notes.get(UNSOLVED, False) is unsolved


@pytest.mark.parametrize("below", ["holds", "inconclusive"])
def test_an_equality_is_refuted_by_its_second_half(monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    found, asked = run(monkeypatch, {"<=": below, ">=": "violated"}, symbols())
    assert asked == ["<=", ">="]
    assert (found.verdict, found.reason) == ("violated", "of the equality, right <= left: it is violated")
    assert found.notes == {"way": ">=", HALF: ">="}


@pytest.mark.parametrize("capped", [(), ("x",)])
def test_an_equality_is_refuted_by_its_first_half(monkeypatch: pytest.MonkeyPatch, capped: tuple[str, ...]) -> None:
    found, asked = run(monkeypatch, {"<=": "violated"}, symbols(capped=capped))
    assert asked == ["<="]
    assert (found.verdict, found.reason) == ("violated", "of the equality, left <= right: it is violated")
    assert found.notes == {"way": "<=", HALF: "<="}


@pytest.mark.parametrize("below", ["holds", "inconclusive"])
def test_a_letter_that_is_capped_leaves_the_second_half_open(monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    found, asked = run(monkeypatch, {"<=": below}, symbols(capped=("x", "y")))
    assert asked == ["<="]
    assert found.verdict == "inconclusive"
    assert "right <= left was not decided, for x, y is known only from above" in found.reason


@pytest.mark.parametrize(("direction", "words"), [("<=", "left <= right"), (">=", "right <= left")])
def test_a_check_may_be_about_one_half(monkeypatch: pytest.MonkeyPatch, direction: str, words: str) -> None:
    found, asked = run(monkeypatch, {direction: "holds"}, symbols(direction))
    assert asked == [direction]
    assert (found.verdict, found.reason) == ("holds", f"of the equality, {words}: it is holds")
    assert found.notes == {"way": direction, HALF: direction}


@pytest.mark.parametrize("direction", [None, "<="])
def test_an_inequality_has_no_halves(monkeypatch: pytest.MonkeyPatch, direction: str | None) -> None:
    found, asked = run(monkeypatch, {direction: "inconclusive"}, symbols(direction), "<=")
    assert asked == [direction]
    assert (found.verdict, found.reason, found.notes) == ("inconclusive", "it is inconclusive", {"way": direction})


def test_values_outside_of_a_hypothesis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worst_case, "unmet", lambda *_: ("x > 0", "x = -1"))
    check = symbols()
    found = worst_case.run(statement(check), check, Settings())
    assert (found.verdict, found.reason) == ("not-applicable", "the hypothesis 'x > 0' is not met: x = -1")
    assert 0.0 <= found.seconds < 60.0


def test_a_check_that_types_its_sides_names_a_part() -> None:
    check = replace(CHECK, part="")
    with pytest.raises(ValueError, match="'c' gives its sides itself"):
        worst_case.run(statement(), check, Settings())


SYMBOLS = (Symbol("L", "smoothness", (1, -2)), Symbol("D", "distance", (0, 1)))
GAP = Expected("gap", (("suboptimality", 1),), (1, 0), "g", "gap", "end")


@pytest.mark.parametrize("paper", ["mine", "das2022"])
@pytest.mark.parametrize("exact", [Fraction, sp.Integer])
def test_exact_numbers_in_the_problem(exact: Callable[[int], Any], paper: str) -> None:
    """A constant of the class may be one; PEPit takes no other step than a float, which the message says."""

    def build(step: Any, _: Statement, __: Any) -> WorstCase:
        problem = PEP()
        f = problem.declare_function(SmoothConvexFunction, L=exact(1))
        minimum, start = f.stationary_point(), problem.set_initial_point()
        x = start - step * f.gradient(start)
        return WorstCase(problem, {"L": exact(1), "gap": f(x) - f(minimum), "D^2": (start - minimum) ** 2})

    about = {
        "symbols": SYMBOLS,
        "expectations": (GAP,),
        "sides": lambda s: Sides({"gap": s.gap}, {"": s.L * s.D**2 / 6}),
    }
    checks = tuple(Check("worst-case", name, partial(build, x)) for name, x in (("float", 1.0), ("exact", exact(1))))
    stated = Statement("mine.one", "lemma", "t", Source(paper, "here"), "text", checks=checks, **about)  # type: ignore[arg-type]
    assert run_one(stated, checks[0], Settings()).verdict == "holds"
    kind = "Fraction" if exact is Fraction else "number of sympy"
    with pytest.raises(
        CheckError,
        match=rf"^check .exact. of mine.one cannot be run: PEPit takes numbers of type int and .*, and gets a {kind}:",
    ):
        run_one(stated, checks[1], Settings())


def test_an_error_of_the_check_itself_is_not_one_of_pepit() -> None:
    def build(*_: Any) -> Any:
        half = Fraction(1, 2)
        raise TypeError(f"{half} is wrong")

    with pytest.raises(CheckError) as caught:
        run_one(statement(Check("worst-case", "c", build)), Check("worst-case", "c", build), Settings())
    assert "1/2 is wrong" in str(caught.value)
    assert "PEPit" not in str(caught.value)
