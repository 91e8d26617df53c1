"""Every number in the words of statements that a computation gives is a placeholder with a recorded value."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpfl_theory import statements
from dpfl_theory.checks import numbers as sources
from dpfl_theory.checks.runner import run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core.prose import plain
from dpfl_theory.statements.numbers import Number, Value, filled, recorded
from dpfl_theory.statements.words import entries

NUMBERS = [found for paper in statements.papers() for found in sources.numbers_of(paper)]
EVIDENCE = re.compile(r'evidence\("([^"]+)", "([^"]+)"(?:, of="([^"]+)")?\)')
COMPUTED = [found for found in NUMBERS if not EVIDENCE.search(found[1].expression)]

TYPED = {
    "das2022.section4.1": ("0.1", "-0.9", "0.436"),  # the second client's threshold and direction
    "das2022.eq47": ("0.9",),  # 1 - r/n of one in ten clients
    "das2022.theorem3": ("0.49",),  # a limit that every exact delta of the sentence exceeds
    "das2022.theorem4b": ("9.8", "0.02"),  # a minimiser, and a standard error
    "hou2023.clip-inactive": ("0.5", "1.000", "4.7", "4.5"),  # the paper's budgets, and runs of a validation
    "noble2022.lemmaC.9": ("1.005",),  # nu of the paper's losses
    "shulgin2025.eq12": ("84.04", "83.00", "0.3"),  # accuracies of the paper, and a curvature
    "zhang2021.eq15": ("7.75",),  # sqrt(60), in the units of the limit
    "zhang2021.theorem3.2": ("1e-5", "1.5"),  # delta and the required epsilon
}
"""Decimals that are typed, and no value of a symbol: each was chosen, or is printed in the paper."""
_REFERENCE = re.compile(
    r"(Theorem|Lemma|Section|Appendix|Algorithm|Table|Figure|Claim|Corollary|Assumption)s? \(?[A-Z\d.]+\)?"
    r"|[a-z]+20\d\d(\.[\w-]+)+"
)
_DECIMAL = re.compile(r"(?<![\w.^/])-?(?:\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+)(?![\w/]|\.\d)")
_SET = re.compile(r"(=|\\le|\\ge|<|>|,|and|to|or) ?$")
"""What precedes a value that is set: a relation, or another value of a list."""


def typed(text: str) -> list[str]:
    """The decimals of a text that are typed, and that no relation precedes."""
    text = _REFERENCE.sub("", re.sub(r"\{\{.*?\}\}", "", text))
    return [m.group(0) for m in _DECIMAL.finditer(text) if not _SET.search(text[: m.start()])]


def test_every_number_has_a_value_and_no_value_is_left_over() -> None:
    wanted = {(id_, number.expression) for id_, number in NUMBERS}
    assert wanted == {(id_, expression) for id_, own in recorded().items() for expression in own}
    assert len(wanted) > 150


def test_a_result_is_not_typed() -> None:
    judging = ("Corrected", "Why", "Counterexample", "Effect", "Typo", "Remark")
    found: dict[str, list[str]] = {}
    for paper in statements.papers():
        for id_, entry in entries(paper).items():
            for section in entry.sections:
                if section.kind in judging and (own := typed(section.text)):
                    found.setdefault(id_, []).extend(own)
    assert {id_: sorted(own) for id_, own in found.items()} == {id_: sorted(own) for id_, own in TYPED.items()}


def test_a_typed_result_is_noticed() -> None:
    assert typed("The factor is 7.7713 for $Q = 2.5$, and {{1 / 3:2}} by Lemma 4.1.") == ["7.7713"]


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(("id_", "number"), [pytest.param(*f, id=f"{f[0]} {f[1].expression}") for f in COMPUTED])
def test_what_is_computed_is_what_is_printed(id_: str, number: Number) -> None:
    value = sources.computed(id_, number, {})
    assert number.shown(value) == number.shown(recorded()[id_][number.expression])


def test_evidence_that_a_text_names_is_a_check_of_the_catalogue() -> None:
    for id_, number in NUMBERS:
        for check, _, of in EVIDENCE.findall(number.expression):
            assert check in {f"{c.method}: {c.name}" for c in statements.get(of or id_).checks}, (id_, check)


def _cheap() -> list[tuple[str, Number]]:
    """Two numbers of each paper from exact checks, which can be computed again quickly."""
    found: dict[str, list[tuple[str, Number]]] = {}
    for id_, number in NUMBERS:
        if re.fullmatch(r'evidence\("exact: [^"]+", "ratio"\)', number.expression) and number.digits > 2:
            found.setdefault(id_.split(".")[0], []).append((id_, number))
    return [one for own in found.values() for one in own[:2]]


@pytest.fixture
def only_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers from evidence alone: what functions compute has a test of its own."""

    def numbers_of(paper: str) -> list[tuple[str, Number]]:
        return [found for found in NUMBERS if found[0].split(".")[0] == paper and found not in COMPUTED]

    monkeypatch.setattr(sources, "numbers_of", numbers_of)


@pytest.mark.usefixtures("only_evidence")
@pytest.mark.parametrize(("id_", "number"), [pytest.param(*f, id=f"{f[0]} {f[1].expression}") for f in _cheap()])
def test_evidence_gives_a_number_again_and_a_change_is_told(id_: str, number: Number) -> None:
    statement = statements.get(id_)
    name = EVIDENCE.findall(number.expression)[0][0]
    (check,) = (c for c in statement.checks if f"{c.method}: {c.name}" == name)
    piece = run_one(statement, check, Settings()).to_json()
    assert [line for line in sources.moved({id_: [piece]}) if "evidence(" in line] == []
    reported = sources.moved({id_: [{**piece, "ratio": 1.02 * piece["ratio"]}]})
    assert any(line.startswith(f"{id_}: {number.expression} is ") for line in reported)


@pytest.mark.usefixtures("only_evidence")
def test_a_run_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    id_, number = _cheap()[0]
    method, check = EVIDENCE.findall(number.expression)[0][0].split(": ", 1)
    value, file = recorded()[id_][number.expression], tmp_path / "check.json"
    piece = {"statement": id_, "method": method, "check": check}
    file.write_text(json.dumps({"evidence": [{**piece, "ratio": value}]}))
    assert sources.main([str(file)]) == 0
    file.write_text(json.dumps({"evidence": [{**piece, "ratio": 1.02 * value}]}))
    assert sources.main([str(file)]) == 1
    assert f"{id_}: {number.expression} is" in capsys.readouterr().err


def test_an_estimate_has_its_standard_error() -> None:
    """As replicates of a Monte-Carlo check give it; a confidence limit needs none."""
    estimates = re.compile(r'evidence\("monte-carlo: [^"]+", "(ratio|lhs.estimate)"')
    found = [recorded()[id_][n.expression] for id_, n in NUMBERS if estimates.match(n.expression)]
    assert len(found) > 5
    assert not [value for value in found if isinstance(value, float)]


def test_what_is_not_recorded_shows_its_expression() -> None:
    assert filled("das2022.theorem4b", "It is {{1 / 3 + 1:2}}.") == "It is [1 / 3 + 1]."


@pytest.mark.parametrize(
    ("number", "value", "text"),
    [
        (Number("", 2), 0.304, "0.30"),
        (Number("", 2, "down"), 0.309, "0.30"),
        (Number("", 2, "up"), 0.291, "0.30"),
        (Number("", 3), -0.01497, "-0.0150"),
        (Number("", 2), 1.74e-4, "1.7e-4"),
        (Number("", 1), 2e6, "2e6"),
        (Number("", 4), 2.9998, "3.000"),
        (Number("", 2), 0.0, "0.0"),
        (Number("", 2), (1.4388, 0.0054), "1.439 (+- 0.005)"),
        (Number("", 2), (143.88, 5.4), "144 (+- 5)"),
    ],
)
def test_how_a_number_is_printed(number: Number, value: Value, text: str) -> None:
    assert plain(number.shown(value)) == text
    text = text.replace("(", "").replace(")", "")
    assert plain(f"${number.shown(value, formula=True)}$") == text
