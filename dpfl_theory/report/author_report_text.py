"""The report to a paper's authors as Markdown, ready for sending, and in short as text for the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Effect
from dpfl_theory.report.author_report import by_typo
from dpfl_theory.report.markdown import escaped, one_line, terminal
from dpfl_theory.report.templates import environment

COUNTED = {"restored": "restored", "derived": "derived", "readings": "second readings"}


def as_markdown(author_report: Mapping[str, Any]) -> str:
    """The whole report as Markdown, each counterexample's script in a block of code."""
    return _rendered(author_report, brief=False)


def as_text(author_report: Mapping[str, Any]) -> str:
    """The report in short for a terminal, causes first; tables, objections, responses and scripts are left to the other
    forms."""
    return terminal(_rendered(author_report, brief=True))


def _rendered(report: Mapping[str, Any], brief: bool) -> str:
    made = environment().overlay(autoescape=False)
    made.filters = {
        **made.filters,
        "cell": lambda text: text.replace("|", r"\|"),
        "code": _code,
        "escaped": escaped,
        "one_line": one_line,
        "verdict": lambda verdict: {"violated": "fails", "inconclusive": "is undecided"}.get(verdict, verdict),
    }
    text = made.get_template("author_report.md.j2").render(
        report=report,
        brief=brief,
        counts=_counts(report),
        titles={c["id"]: c["title"] for c in report["causes"]},
        typos=by_typo(report["typos"]),
        place=_place,
        effect=lambda e: Effect(**e["effect"]).statement,
        refuted_by=lambda s: "; ".join(f"{c['check']} ({c['method']})" for c in s["checks"]),
    )
    return f"{text.rstrip()}\n"


def _place(instance: Mapping[str, Any]) -> str:
    """The place of a statement, with its equation's number."""
    return ", ".join(filter(None, (instance["where"], instance["equation"] and f"eq. ({instance['equation']})")))


def _code(text: str) -> str:
    fence = "`" * max(3, *(len(run) + 1 for run in ["", *re.findall("`+", text)]))
    return f"{fence}python\n{text}\n{fence}"


def _counts(author_report: Mapping[str, Any]) -> str:
    n = author_report["statements"]
    parts = [f"{n['read']} read in the paper"]
    parts += [f"{n[key]} {word}" for key, word in COUNTED.items() if n[key]]
    grades = ", ".join(f"{g['errata']} {grade}" for grade, g in author_report["grades"].items() if g["errata"])
    found = {
        "causes": author_report["causes"],
        "remarks": author_report["remarks"],
        "typos": by_typo(author_report["typos"]),
    }
    errata = f"errata: {len(author_report['errata'])}{f' ({grades})' if grades else ''}"
    counts = [errata, *(f"{name}: {len(those)}" for name, those in found.items())]
    return f"statements: {', '.join(parts)}; {', '.join(counts)}"
