"""No page of the whole catalogue is large: an equal of its evidence, every check with all that evidence can have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pages import broken_links, pages_of
from test_report import BYTES

from dpfl_theory import statements
from dpfl_theory.checks.runner import plan
from dpfl_theory.core.evidence import Evidence, Interval, document
from dpfl_theory.report.build import build

REASON = (
    "the upper confidence limit 0.0163 is at most the bound 0.0251 (asymptotic), after 4096 replicates of the "
    "largest kind"
)
LIMITS, TERMS = Interval(0.0151234, 0.0141234, 0.0163456), {"A (initialisation)": 0.02, "B (heterogeneity)": 0.0051234}
NOTES = {f"what is said of it, number {i}": [0.123456789 + i, 2.0, "a sentence of usual length"] for i in range(8)}


@pytest.mark.slow
def test_no_page_of_the_whole_catalogue_is_large(tmp_path: Path) -> None:
    evidence = [
        Evidence(
            s.id, c.method, c.name, c.expected, c.expected, REASON, LIMITS, 0.0251234, TERMS, False, True, 1.07,
            c.instance, NOTES, 0, 4096, 1e-9, "cpu, 2 cores", 0.5, c.part,
        )
        for s, c in plan(statements.all_statements())
    ]  # fmt: skip
    (tmp_path / "evidence").mkdir()
    reported = document(evidence, {s.id: s.expected for s in statements.all_statements()}, 1e-6, 1.0)
    (tmp_path / "evidence" / "check.json").write_text(json.dumps(reported))
    build(tmp_path, redraw=False)
    pages = pages_of(tmp_path)
    assert len(pages) == len(statements.all_statements()) + 2 * len(statements.papers()) + 2
    assert {name: len(page.source.encode()) for name, page in pages.items() if len(page.source.encode()) > BYTES} == {}
    assert broken_links(tmp_path, pages) == []
