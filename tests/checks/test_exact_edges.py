"""exact: which case is the worst, the sentence, and what is refused, on cases that are small enough to count."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from dpfl_theory.checks import exact
from dpfl_theory.checks.exact import compared, worst
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Case, Check, Hypothesis, Outcome, Sides, Source, Statement, Symbol, Values
from dpfl_theory.core.evidence import Evidence
from dpfl_theory.core.formula import SidesError


def case(left: float, right: float, name: int = 0) -> Case:
    return Case({"n": name}, Fraction(left), Fraction(right))


def statement(sides: Any = None, **more: Any) -> Statement:
    symbols = tuple(Symbol(name, name) for name in "xy")
    about = {"relation": "<=", "symbols": symbols, **more}
    return Statement("t.s", "step", "t", Source("t", "t"), "t", sides=sides, **about)


def run(built: Any, stated: Statement | None = None, part: str = "a test") -> Evidence:
    check = Check("exact", "c", lambda *_: built, {"at": 1}, part=part)
    return exact.run(stated or statement(), check, Settings())


@pytest.mark.parametrize(
    ("relation", "pairs", "index"),
    [
        ("<=", [(1, 2), (3, 4)], 1),  # the nearest to its bound
        ("<=", [(3, 4), (1, 2)], 0),
        ("<=", [(1, 4), (2, 4)], 1),
        ("<=", [(1, 2), (2, 4)], 0),  # the first among equals
        ("<=", [(2, 1), (30, 20)], 0),  # the largest ratio, not the largest excess
        ("<=", [(1, 1), (9, 8)], 1),
        ("<=", [(100, 100), (101, 100)], 1),
        ("<=", [(100, 100), (99, 100)], 0),
        ("<=", [(2, 1), (Fraction(1, 8), 0)], 1),  # any excess over zero is infinitely large
        ("<=", [(Fraction(1, 8), 0), (2, 1)], 0),
        ("<=", [(0, 0), (1, 2)], 1),
        ("<=", [(1, 2), (0, 0)], 0),
        ("<=", [(0, 0), (Fraction(1, 1000), 2)], 0 + 1),
        ("<=", [(-3, -2), (-1, -2)], 1),
        ("<=", [(-2, -2), (-3, -2)], 0),
        ("<=", [(Fraction(1, 4), 0), (Fraction(1, 2), 0)], 1),
        ("<=", [(Fraction(5, 4), 1), (0, 0)], 0),
        ("==", [(1, 2), (5, 4)], 0),  # the largest distance relative to the right side
        ("==", [(3, 2), (9, 4)], 1),
        ("==", [(1, 1), (1, 2)], 1),
        ("==", [(1, 2), (1, 1)], 0),
        ("==", [(3, 4), (5, 4)], 0),
        ("==", [(5, 5), (Fraction(1, 2), 1)], 1),
        ("==", [(9, 10), (110, 100)], 0),
        ("==", [(-1, 0), (3, 1)], 0),
        ("==", [(0, 0), (1, 1)], 0),
        ("<=", [(Fraction(-1, 2), Fraction(1, 4)), (0, 0)], 1),
    ],
)
def test_the_worst_case(relation: str, pairs: list[tuple[Any, Any]], index: int) -> None:
    cases = [case(*pair, i) for i, pair in enumerate(pairs)]
    assert worst(cases, relation) is cases[index]
    assert worst(iter(cases), relation) is cases[index]


def test_the_relation_is_an_inequality_where_none_is_named() -> None:
    cases = [case(1, 4), case(3, 4)]
    assert worst(cases) is cases[1]


@pytest.mark.parametrize(
    ("built", "relation", "verdict", "reason"),
    [
        ([case(1, 2)], "<=", "holds", "all 1 instances satisfy it, the tightest with 1 < 2 at n = 0"),
        ([case(2, 2)], "<=", "holds", "all 1 instances satisfy it, the tightest with 2 = 2 at n = 0"),
        ([case(1, 2), case(3, 2, 1)], "<=", "violated", "1 of 2 instances fail, the worst with 3 > 2 at n = 1"),
        ([case(2, 2), case(1, 2, 1)], "==", "violated", "1 of 2 instances fail, the worst with 1 < 2 at n = 1"),
        ([case(2, 2), case(4, 2, 1)], "==", "violated", "1 of 2 instances fail, the worst with 4 > 2 at n = 1"),
        ([case(-2, -1)], "<=", "holds", "all 1 instances satisfy it, the tightest with -2 < -1 at n = 0"),
        ([case(1.5, 1)], "<=", "violated", "1 of 1 instances fail, the worst with 3/2 > 1 at n = 0"),
        ([case(4, 1), case(5, 1, 1)], "<=", "violated", "2 of 2 instances fail, the worst with 5 > 1 at n = 1"),
    ],
)
def test_the_verdict_and_its_sentence(built: list[Case], relation: str, verdict: str, reason: str) -> None:
    found = run(built, statement(relation=relation))
    assert (found.verdict, found.reason) == (verdict, reason)
    assert found.notes["cases"] == len(built)
    failing = [c for c in built if (c.lhs != c.rhs if relation == "==" else c.lhs > c.rhs)]
    assert found.notes["failing"] == len(failing)
    assert found.notes["first_failing"] == ({"n": str(failing[0].values["n"])} if failing else None)
    assert found.detectable == 1.0
    assert 0.0 <= found.seconds < 60.0
    assert (found.method, found.check, found.instance) == ("exact", "c", {"at": 1})


def test_the_sides_of_a_statement_are_evaluated_at_values() -> None:
    two = statement(lambda s: Sides({"l": s.x}, {"r": s.y, "q": s.y**2}))
    found = compared(two, Values({"x": Fraction(1), "y": Fraction(2)}))
    assert (found.lhs, found.rhs) == (1, 6)
    assert found.terms == {"r": 2, "q": 4}
    assert found.values == {"x": 1, "y": 2}
    one = statement(lambda s: Sides({"l": s.x}, {"r": s.y}))
    assert compared(one, Values({"x": Fraction(1), "y": Fraction(2)})).terms == {}  # one term is the side itself
    rooted = compared(two, Values({"x": Fraction(1), "y": sp.sqrt(2)}, instance={"name": 1}))
    assert rooted.terms == {}  # y is no fraction, and y^2 alone does not make up the side
    assert rooted.values == {"name": 1}
    assert run(Values({"x": Fraction(1), "y": Fraction(2)}), two, part="").terms == {"r": 2.0, "q": 4.0}
    assert run(Values({"x": Fraction(7), "y": Fraction(2)}), two, part="").verdict == "violated"


def test_a_right_side_that_divides_by_zero_names_the_values_of_its_symbols() -> None:
    stated = statement(lambda s: Sides({"l": s.x}, {"r": 1 / (s.y - 2), "q": s.y}))
    with pytest.raises(SidesError, match=r"divides by zero at x = 1, y = 2: correct it, or exclude this by a hypoth"):
        compared(stated, Values({"x": Fraction(1), "y": Fraction(2), "unread": Fraction(3)}))


SIDES = statement(lambda s: Sides({"l": s.x}, {"r": s.y}))


def test_a_check_that_decides_by_itself_must_look_at_the_sides() -> None:
    with pytest.raises(ValueError, match="never reads the statement's sides"):
        run(Outcome(True, "so"), SIDES, part="")
    for outcome, stated, part in (
        (Outcome(True, "so"), SIDES, "a step"),
        (Outcome(True, "so"), statement(), ""),
        (Outcome(False, "so"), SIDES, ""),
        (Outcome(None, "so"), SIDES, ""),
        (Outcome(True, "so"), statement(), "a step"),
    ):
        found = run(outcome, stated, part)
        assert (found.verdict, found.reason) == (outcome.verdict, "so")
        assert 0.0 <= found.seconds < 60.0

    def reads(s: Statement, _: Any) -> Outcome:
        from dpfl_theory.core.formula import sides_of

        return Outcome(str(sides_of(s).rhs["r"]) == "y", "so")

    assert exact.run(SIDES, Check("exact", "c", reads), Settings()).verdict == "holds"


def test_typed_sides_are_refused_where_the_statement_has_some() -> None:
    values = Values({"x": Fraction(1), "y": Fraction(2)})
    for built in (case(1, 2), [case(1, 2), values], [values, case(1, 2)]):
        with pytest.raises(ValueError, match="gives its sides itself"):
            run(built, SIDES, part="")
    assert run(case(1, 2), SIDES, part="a step").verdict == "holds"
    assert run(case(1, 2), statement(), part="").verdict == "holds"
    assert run([values], SIDES, part="").verdict == "holds"


def test_instances_outside_the_hypotheses() -> None:
    small = Hypothesis.custom("x <= 1", lambda _, v: None if v["x"] <= 1 else f"x is {v['x']}")
    stated = statement(lambda s: Sides({"l": s.x}, {"r": s.y}), hypotheses=(small,))
    inside, out, farther = (Values({"x": Fraction(x), "y": Fraction(9)}) for x in (1, 2, 3))
    assert run([inside], stated, part="").verdict == "holds"
    found = run([out, farther], stated, part="")
    assert found.verdict == "not-applicable"
    assert found.reason == "the hypothesis 'x <= 1' is not met: x is 2"
    assert 0.0 <= found.seconds < 60.0
    with pytest.raises(ValueError, match="some instances of 'c' are outside: x is 2"):
        run([inside, out, farther], stated, part="")
    assert run([inside, case(1, 2)], stated, part="a step").verdict == "holds"


def test_fractions_as_text() -> None:
    """A fraction of up to 20 characters is written out; longer ones by their first 17 and twelve digits."""
    text = exact._text
    assert text(Fraction(4, 2)) == "2"
    assert text(Fraction(1, 2)) == "1/2"
    assert text(Fraction(-1, 3), short=True) == "-1/3"
    assert text((Fraction(1, 2), [3, "a"])) == "(1/2, (3, a))"
    long, just = Fraction(10**18, 7), Fraction(10**17, 7)
    assert (len(text(long)), len(text(just))) == (21, 20)
    assert text(long, short=True) == "10000000000000000... = 1.42857142857e+17"
    assert text(just, short=True) == text(just) == f"{10**17}/7"
    assert text((long,), short=True) == f"({text(long, short=True)})"
    assert text(Fraction(2 * 10**24 + 1, 3 * 10**24), short=True).endswith("... = 0.666666666667")
    # Rounded once: by way of 13 digits it would end in 2.
    assert text(Fraction(1000000000014997, 10**15), short=True).endswith("... = 1.00000000001")
