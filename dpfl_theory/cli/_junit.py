"""The document of checks as JUnit, for CI systems: failures there give exit code 1, skipped cases exit code 3."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from typing import Any

import junitparser

__all__ = ["junit"]

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold, not even escaped."""


def junit(document: Mapping[str, Any], why_unchecked: Callable[[dict[str, Any]], str]) -> str:
    """One testcase for each check, then one for each statement's verdict, named ``verdict``.

    Each is a failure where it differs from its record, skipped where it is undecided or unchecked, and passed
    otherwise. why_unchecked: returns why a statement of the summary is unchecked.
    """
    cases = []
    for e in document["evidence"]:
        message = f"{e['verdict']}, expected {e['expected']}: {e['reason']}"
        cases.append(_case(e["statement"], f"{e['method']}: {e['check']}", e["seconds"], e["agreement"], message))
    for id_, s in document["summary"]["statements"].items():
        unchecked = s["agreement"] == "unchecked"
        message = why_unchecked(s) if unchecked else f"expected {s['expected']}"
        cases.append(_case(id_, "verdict", 0.0, s["agreement"], f"{s['verdict']}, {message}"))
    suite, whole, text = junitparser.TestSuite("dpfl-theory"), junitparser.JUnitXml("dpfl-theory"), io.BytesIO()
    suite.add_testcases(cases)
    whole.add_testsuite(suite)
    whole.update_statistics()
    whole.write(text, pretty=True)
    return text.getvalue().decode("utf-8")


def _case(class_: str, name: str, seconds: float, agreement: str, text: str) -> junitparser.TestCase:
    case = junitparser.TestCase(_legal(name), _legal(class_), round(seconds, 3))
    if agreement == "differs":
        case.result = junitparser.Failure(_legal(text))
    elif agreement != "as expected":
        case.result = junitparser.Skipped(_legal(text))
    return case


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
