"""Every decimal in an erratum, a remark or a typo has a source: evidence, a computation, or its origin."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from dpfl_theory import statements
from dpfl_theory.checks import numbers as sources
from dpfl_theory.checks.runner import run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.statements.numbers import (
    Decimal,
    Key,
    computed,
    decimals,
    known_decimals,
    occurrences,
    prose,
    recorded,
)

COMPUTED = {key: f for paper in statements.papers() for key, f in computed(paper).items()}
GIVEN = {key: text for paper in statements.papers() for key, text in known_decimals(paper).items()}
PRINTED: dict[Key, tuple[Decimal, ...]] = {
    (s.id, printed): ways for s in statements.all_statements() for printed, ways in occurrences(s).items()
}


def _agree(key: Key, value: float) -> bool:
    return all(decimal.agrees(value) for decimal in PRINTED[key])


def test_every_decimal_has_one_source() -> None:
    known = [*recorded(), *COMPUTED, *GIVEN]
    assert sorted(set(PRINTED) - set(known)) == []
    assert sorted(set(known) - set(PRINTED)) == []
    assert len(known) == len(set(known))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("key", [pytest.param(key, id=" ".join(key)) for key in COMPUTED])
def test_what_is_computed_is_what_is_printed(key: Key) -> None:
    value = COMPUTED[key]()
    assert _agree(key, value), value


def test_what_is_on_record_is_what_is_printed() -> None:
    assert [(key, s.value) for key, s in recorded().items() if not _agree(key, s.value)] == []


def test_sources_on_record_are_checks_of_the_catalogue() -> None:
    for key, source in recorded().items():
        statement = statements.get(source.statement)
        if source.check.endswith(".py"):
            assert statement.erratum is not None
            assert source.check == statement.erratum.cause.script, key
        else:
            assert source.check in {f"{c.method}: {c.name}" for c in statement.checks}, key


def test_sources_on_record_are_checks_that_a_statement_names() -> None:
    for key, source in recorded().items():
        assert source.statement in sources.cited_statements(statements.get(key[0])), key


def test_no_result_is_the_source_of_a_decimal_that_many_numbers_print_like() -> None:
    """The record of such a decimal is its symbol's value, or a line of a script."""
    for (id_, printed), source in recorded().items():
        ways = PRINTED[id_, printed]
        if ways[0].common and not source.check.endswith(".py"):
            check = source.check.split(": ", 1)[1]
            chosen = next(c for c in statements.get(source.statement).checks if c.name == check)
            places = {"check": check, "instance": chosen.instance}
            symbols = {n.symbol for n in sources.values_of(places) if n.field == source.field}
            symbols |= {re.split(r"[.\[#]", source.field.split(".")[-1])[0]}
            assert any(sources.same_symbol(d.symbol, symbol) for d in ways for symbol in symbols), (id_, printed)


def test_most_decimals_come_from_checks() -> None:
    """A number that no check computes was chosen, or is in the paper: there are few, and each says so."""
    assert len(recorded()) > 2 * len(COMPUTED) > 4 * len(GIVEN)


def _evidence(id_: str, check: str) -> sources.Found:
    statement = statements.get(id_)
    chosen = next(c for c in statement.checks if f"{c.method}: {c.name}" == check)
    return {id_: [run_one(statement, chosen, Settings()).to_json()]}


def _cheap() -> list[Key]:
    """Two sources of each paper from exact checks, which can be computed again quickly."""
    found: dict[str, list[Key]] = {}
    for key, source in recorded().items():
        if source.check.startswith("exact: ") and source.field == "ratio" and len(key[1].strip("-0.")) > 2:
            found.setdefault(key[0].split(".")[0], []).append(key)
    return [key for keys in found.values() for key in keys[:2]]


@pytest.mark.parametrize("key", [pytest.param(key, id=" ".join(key)) for key in _cheap()])
def test_a_source_gives_its_number_again_and_a_change_is_told(key: Key) -> None:
    source = recorded()[key]
    evidence = _evidence(source.statement, source.check)
    assert sources.moved(evidence) == []
    (piece,) = evidence[source.statement]
    reported = sources.moved({source.statement: [{**piece, "ratio": 1.02 * piece["ratio"]}]})
    assert any(sentence.startswith(f"{key[0]} prints {key[1]}, and {source.check}") for sentence in reported)


def test_a_number_by_hand_is_noticed() -> None:
    """A typo with a decimal that no check computes has no source."""
    statement = statements.get("zhang2021.eq19")
    changed = dataclasses.replace(statement, typos=("The factor is 7.7713.",))
    found = decimals(dict(prose(changed))["typo 1"])
    assert [d.printed for d in found] == ["7.7713"]
    evidence = _evidence(statement.id, "exact: at a minimum, Q from 32")
    assert sources.search(changed, found, evidence) is None
    ratio = evidence[statement.id][0]["ratio"]
    assert sources.search(changed, [Decimal(f"{ratio:.3f}")], evidence) == sources.DecimalSource(
        statement.id, "exact: at a minimum, Q from 32", "ratio", ratio
    )


_PIECE = {
    "method": "exact",
    "check": "one round, s = 0.2",
    "verdict": "violated",
    "ratio": 0.5,
    "lhs": {"estimate": 0.714},
    "instance": {"sigma": 0.314, "epsilons": ["1/2"]},
    "notes": {"points": [{"l": 0.5, "sigma_g": 0.4022, "low": 1.532}]},
}


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("the factor is 0.71", "lhs.estimate"),
        ("the factor is 0.5", None),  # it matches too many numbers
        ("the factor is 0.50", "ratio"),
        ("the factor is 0.314", None),  # sigma's value, not a result
        ("sigma = 0.314", "instance.sigma"),
        ("sigma = 0.31", "instance.sigma"),
        ("eta = 0.314", None),
        ("epsilon = 0.5", "instance.epsilons[0]#0"),  # not l's 0.5
        ("l = 0.5 and epsilon = 1", "notes.points[0].l"),
        ("delta = 0.5", None),
        ("sigma_g = 0.402, the true epsilon is at least 1.53", "notes.points[0].sigma_g"),
        ("the true epsilon is at least 1.53", "notes.points[0].low"),
        ("the true epsilon is at most 1.53", None),
        ("0.402 is the least", None),
        ("s = 0.2", "check#0"),
        ("it is 0.2", None),
    ],
)
def test_a_source_is_of_its_decimals_kind(text: str, field: str | None) -> None:
    statement = statements.get("noble2022.theorem4.1.server")
    bare = dataclasses.replace(statement, erratum=None, typos=(text,))
    found = sources.search(bare, decimals(text)[:1], {statement.id: [_PIECE]})
    assert (found.field if found else None) == field


def test_evidence_that_a_statement_does_not_name_is_no_source() -> None:
    statement = dataclasses.replace(statements.get("noble2022.theorem4.1.server"), erratum=None, typos=())
    other = "noble2022.theorem4.1.third-party"
    for slips, found in (((), None), ((f"See {other}.",), other)):
        named = dataclasses.replace(statement, typos=slips)
        source = sources.search(named, [Decimal("0.714")], {other: [_PIECE]})
        assert (source and source.statement) == found


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("Theorem 4.1 and Lemma C.4 give 0.5 at Section 4.1", ["0.5"]),
        ("noble2022.theorem4.1.third-party has 1e-5 and -0.021", ["1e-5", "-0.021"]),
        ("3.5/7 and x^0.61 are no decimals, K = 100 neither", []),
        ("Figures 3.1 and 3.2; Appendix D.3.2; 2.38, 1.44", ["2.38", "1.44"]),
    ],
)
def test_decimals_of_a_text(text: str, printed: list[str]) -> None:
    assert [d.printed for d in decimals(text)] == printed


@pytest.mark.parametrize(
    ("agreed", "decimal", "value"),
    [
        (True, Decimal("0.30"), 0.304),
        (False, Decimal("0.30"), 0.306),
        (True, Decimal("0.30", "least"), 0.309),
        (False, Decimal("0.30", "least"), 0.296),
        (True, Decimal("0.30", "most"), 0.291),
        (False, Decimal("0.30", "most"), 0.304),
        (True, Decimal("-0.0150", "most"), -0.01507),
        (False, Decimal("-0.0150", "most"), -0.01497),
        (True, Decimal("1.7e-4"), 1.74e-4),
        (False, Decimal("1.7e-4"), 1.76e-4),
    ],
)
def test_agreement(agreed: bool, decimal: Decimal, value: float) -> None:
    assert decimal.agrees(value) is agreed
    assert not agreed or decimal.limit or Decimal(decimal.printed).agrees(value)


def test_a_run_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = _cheap()[0]
    source = recorded()[key]
    method, check = source.check.split(": ", 1)
    piece = {"statement": source.statement, "method": method, "check": check}
    file = tmp_path / "check.json"
    file.write_text(json.dumps({"evidence": [{**piece, "ratio": source.value}]}))
    assert sources.main([str(file), "--verify"]) == 0
    file.write_text(json.dumps({"evidence": [{**piece, "ratio": 1.02 * source.value}]}))
    assert sources.main([str(file), "--verify"]) == 1
    assert f"{key[0]} prints {key[1]}" in capsys.readouterr().out
