"""The documents that other programs read: their published schemas, valid documents, and refused ones."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpfl_theory import statements
from dpfl_theory.checks import document as of_checks
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.cli import main
from dpfl_theory.conform import document as of_conform
from dpfl_theory.errors import InputError
from dpfl_theory.report import documents as of_reports
from dpfl_theory.validation import document as of_validations

ROOT = Path(__file__).parent.parent
Output = pytest.CaptureFixture[str]
SCHEMAS = {
    "check": of_checks.schema,
    "conform": of_conform.schema,
    "falsify": of_checks.search_schema,
    "report": of_reports.schema,
    "validate": of_validations.schema,
}

VALIDATION = {
    "schema": "dpfl-theory/validation/1",
    "name": "mine",
    "title": "t",
    "caption": "c",
    "source": {"paper": "mine"},
    "command": "dpfl-theory validate mine",
    "profile": "standard",
    "seed": 0,
    "device": "cpu",
    "versions": {},
    "seconds": 1.5,
    "data": {"claims": [{"claim": "x", "verdict": "reproduced", "expected": None, "paper": 1, "measured": 2}]},
}


def validator(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def real() -> dict[str, Any]:
    """Results of checks by four methods: all verdicts, limits, notes and terms, and a budget that ended one."""
    pairs = plan([statements.get("das2022.eq12")], ["exact", "algebra"])
    pairs += plan([statements.get("das2022.theorem3")], ["privacy"])[:1]
    worst = plan([statements.get("das2022.lemma8")], ["worst-case"])[:1]
    runs = plan([statements.get("das2022.theorem4a")], ["monte-carlo"])[:1]
    made = run_plan([*pairs, *worst, *runs], budget=1e-9 if not pairs else None).to_json()
    undecided = run_plan(runs, budget=1e-9).to_json()
    made["evidence"] += undecided["evidence"]
    document: dict[str, Any] = json.loads(json.dumps(made, allow_nan=False))
    found = {e["verdict"] for e in document["evidence"]}
    assert found == {"holds", "violated", "inconclusive", "not-applicable"}
    assert {e["method"] for e in document["evidence"]} == {"exact", "algebra", "privacy", "worst-case", "monte-carlo"}
    return document


def test_what_checks_give_meets_the_published_schema(real: dict[str, Any]) -> None:
    for name in ("check", "report"):
        validator(SCHEMAS[name]()).validate(real)
    assert of_checks.read(real, "it") == real


def undescribed(value: Any, schema: dict[str, Any], whole: dict[str, Any], at: str = "") -> Iterator[str]:
    """The keys of a document that its schema does not describe."""
    while "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    for branch in schema.get("anyOf", ()):
        if "$ref" in branch and isinstance(value, dict):
            schema = whole["$defs"][branch["$ref"].rpartition("/")[2]]
    if isinstance(value, list):
        for one in value:
            yield from undescribed(one, schema.get("items", {}), whole, f"{at}[]")
    elif isinstance(value, dict) and "properties" in schema:
        for key, inner in value.items():
            if key not in schema["properties"]:
                yield f"{at}.{key}"
            else:
                yield from undescribed(inner, schema["properties"][key], whole, f"{at}.{key}")
    elif isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        for inner in value.values():
            yield from undescribed(inner, schema["additionalProperties"], whole, f"{at}.*")


def test_every_key_that_is_written_is_described(real: dict[str, Any]) -> None:
    schema = of_checks.schema()
    assert set(undescribed(real, schema, schema)) == set()
    planted = copy.deepcopy(real)
    planted["evidence"][0]["strange"] = planted["summary"]["counts"]["strange"] = 1
    assert set(undescribed(planted, schema, schema)) == {".evidence[].strange", ".summary.counts.strange"}


def _set(document: dict[str, Any], path: str, value: Any) -> None:
    *steps, last = path.split("/")
    for step in steps:
        document = document[int(step) if step.isdecimal() else step]
    if value is ...:
        del document[last]
    else:
        document[last] = value


WRONG = {
    "evidence/0/verdict": "true",
    "evidence/0/expected": "unchecked",
    "evidence/0/agreement": "unchecked",
    "evidence/0/statement": 3,
    "evidence/0/lhs": 1.0,
    "evidence/0/terms": {"noise": "large"},
    "evidence/0/asymptotic": "no",
    "evidence/0/seed": 0.5,
    "evidence/0/seconds": None,
    "evidence": {},
    "summary/alpha": 0.0,
    "summary/alpha ": ...,
    "summary/counts/checks/differs": "0",
    "summary/statements/das2022.eq12/verdict": "not-applicable",
    "evidence/0/reason": ...,
    "summary": ...,
    "schema": "dpfl-theory/2",
}


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("path", WRONG)
def test_what_is_wrong_is_refused_by_the_schema_and_by_the_reader(real: dict[str, Any], path: str) -> None:
    """Other people's validators and ours refuse it."""
    planted = copy.deepcopy(real)
    _set(planted, path.strip(), WRONG[path])
    with pytest.raises(jsonschema.ValidationError):
        validator(of_checks.schema()).validate(planted)
    with pytest.raises(InputError, match=re.escape(path.strip().rpartition("/")[2])):
        of_checks.read(planted, "it")


def test_a_validation_meets_its_schema() -> None:
    for name in ("validate", "report"):
        validator(SCHEMAS[name]()).validate(VALIDATION)
    assert of_validations.read(VALIDATION, "it") == VALIDATION
    for key in set(VALIDATION) - {"versions"}:
        with pytest.raises(jsonschema.ValidationError):
            validator(of_validations.schema()).validate({k: v for k, v in VALIDATION.items() if k != key})


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("dpfl-theory/0", "has the schema 'dpfl-theory/0', of an earlier version than 'dpfl-theory/1'"),
        ("dpfl-theory/2", "of a later version than 'dpfl-theory/1': read it with a newer dpfl-theory"),
        ("dpfl-theory/validation/0", "of an earlier version than 'dpfl-theory/validation/1'"),
        ("dpfl-theory/privacy/1", "not 'dpfl-theory/1' or 'dpfl-theory/validation/1'"),
        (None, "has the schema None, not"),
    ],
)
def test_other_versions_are_refused_with_a_sentence(tmp_path: Path, capsys: Output, found: Any, message: str) -> None:
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "old.json").write_text(json.dumps({"schema": found, "summary": {}, "evidence": []}))
    assert main(["report", "--output", str(tmp_path), "--store", "off"]) == 2
    sentence = capsys.readouterr().err
    assert message in sentence
    assert "make it again or remove it" in sentence
    assert sentence.count("\n") == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "line",
    [
        "conform examples/rounds/dp_fedavg.py:one_round --as dp-fedavg --runs 20",
        "conform examples/rounds/dp_fedavg_mistaken.py:one_round --as dp-fedavg --runs 0",
        "falsify hou2023.theorem1 --instances 7",
        "falsify --file examples/my_statements.py --instances 3",
    ],
)
def test_other_documents_meet_their_schemas(line: str, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    command, *rest = line.split()
    assert main([command, *rest, "--format", "json"]) in (0, 1, 3)
    document = json.loads(capsys.readouterr().out)
    checker = validator(SCHEMAS[command]())
    checker.validate(document)
    assert set(document) == set(SCHEMAS[command]()["properties"])
    for key in SCHEMAS[command]()["required"]:
        with pytest.raises(jsonschema.ValidationError):
            checker.validate({k: v for k, v in document.items() if k != key})


@pytest.mark.parametrize(("command", "schema"), SCHEMAS.items())
def test_the_schema_is_published(capsys: Output, command: str, schema: Callable[[], dict[str, Any]]) -> None:
    assert main([command, "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()
    assert schema()["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]


def test_every_field_is_described() -> None:
    """The documentation's tables of keys are generated from these descriptions."""
    schema = of_checks.schema()
    parts = {"the document": schema, **{name: part for name, part in schema["$defs"].items() if "properties" in part}}
    undescribed = [
        f"{name}.{key}"
        for name, part in parts.items()
        for key, field in part["properties"].items()
        if not field.get("description")
    ]
    assert undescribed == []
    assert {"CheckRecord", "OneStatement", "Summary"} <= set(parts)
