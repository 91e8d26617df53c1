"""The report to a paper's authors as Markdown, ready for sending, and in short as text for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dpfl_theory.core import Effect
from dpfl_theory.report.author_report import by_typo
from dpfl_theory.report.markdown import escaped, one_line, terminal


def verdict_text(verdict: str) -> str:
    """A verdict as the end of a sentence.

    >>> verdict_text("holds"), verdict_text("violated")
    ('holds', 'fails')
    """
    return {"violated": "fails", "inconclusive": "is undecided"}.get(verdict, verdict)


def place(instance: Mapping[str, Any]) -> str:
    """The place of a statement, with its equation's number."""
    return ", ".join(filter(None, (instance["where"], instance["equation"] and f"eq. ({instance['equation']})")))


def as_markdown(author_report: Mapping[str, Any]) -> str:
    """The whole report as Markdown, each counterexample's script in a block of code."""
    opening = [f"# To the authors of {escaped(author_report['title'])}", *map(escaped, author_report["opening"])]
    return _joined([*opening, *_body(author_report)])


def as_text(author_report: Mapping[str, Any]) -> str:
    """The report in short for a terminal, causes first; tables, objections, responses and scripts are left to the other
    forms."""
    parts = [f"# {escaped(author_report['reference'])}", escaped(_counts(author_report))]
    parts += _body(author_report, brief=True)
    if author_report["errata"]:
        whole = f"`dpfl-theory errata {author_report['paper']} --format md`"
        parts += ["---", f"{whole} writes the whole report, with objections, responses and scripts."]
    return terminal(_joined(parts))


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _body(author_report: Mapping[str, Any], brief: bool = False) -> Iterator[str]:
    """The sections, in short or in full."""
    for title, section in (({"Causes": _short_causes} if brief else {"Causes": _causes, **TABLES}) | SECTIONS).items():
        body = list(section(author_report))
        yield from [f"## {title}", *body] if body else []


def _short_causes(author_report: Mapping[str, Any]) -> Iterator[str]:
    for c in author_report["causes"]:
        yield f"### {one_line(c['title'])}"
        yield one_line(c["text"])
        yield f"**The smallest counterexample found.** {one_line(c['example'])}"
        if c["script"]["text"]:
            yield f"The script `{c['script']['path']}` reproduces it."
        yield f"Shared by {_ids(c['errata'])}."


def _causes(author_report: Mapping[str, Any]) -> Iterator[str]:
    for c in author_report["causes"]:
        *short, shared = _short_causes({"causes": [c]})
        yield from short
        if c["script"]["text"]:
            yield _code(c["script"]["text"])
        yield f"**Strongest objection.** {one_line(c['objection'])}"
        yield f"**Response.** {one_line(c['response'])}"
        if c["proof"]:
            claim, *steps = c["proof"]
            yield f"**A proof, step by step.** {one_line(claim)}"
            yield "\n".join(f"{number}. {one_line(step)}" for number, step in enumerate(steps, 1))
        yield shared


def _grades(author_report: Mapping[str, Any]) -> Iterator[str]:
    if author_report["errata"]:
        rows = [(grade, escaped(g["text"]), str(g["errata"])) for grade, g in author_report["grades"].items()]
        yield _table(("Grade", "Meaning", "Errata"), rows)


def _all(author_report: Mapping[str, Any]) -> Iterator[str]:
    if author_report["errata"]:
        titles = {c["id"]: one_line(c["title"]) for c in author_report["causes"]}
        yield _table(
            ("Statement", "Place", "Reading", "Grade", "Cause", "Effect at the paper's own settings"),
            [
                (
                    f"`{e['id']}`",
                    escaped(place(e)),
                    one_line(e["reading"] or "–"),
                    e["grade"],
                    titles[e["cause"]],
                    one_line(_effect(e)),
                )
                for e in author_report["errata"]
            ],
        )


def _errata(author_report: Mapping[str, Any]) -> Iterator[str]:
    titles = {c["id"]: c["title"] for c in author_report["causes"]}
    for e in author_report["errata"]:
        yield f"### `{e['id']}`: {one_line(e['title'])}"
        yield f"{escaped(place(e))}. Grade: {e['grade']}. Cause: {one_line(titles[e['cause']])}."
        if e["reading"]:
            yield f"**Read.** {one_line(e['reading'])}"
        for r in e["readings"]:
            yield f"**Another reading**, `{r['id']}`, which {verdict_text(r['verdict'])}. {one_line(r['reading'])}"
        for title, key in (
            ("Printed", "printed"),
            ("Corrected", "corrected"),
            ("Why", "why"),
            ("Counterexample", "counterexample"),
        ):
            if e[key]:
                yield f"**{title}.** {one_line(e[key])}"
        yield f"**Effect at the paper's own settings.** {one_line(_effect(e))}"
        if e["survives"]:
            yield "**What survives.**"
            yield "\n".join(f"- `{id_}`: {one_line(why)}" for id_, why in e["survives"].items())
        nothing = f"No other statement of this catalogue{', except those that survive' if e['survives'] else ''}"
        yield f"**Statements that depend on it.** {_ids(e['affects']) if e['affects'] else nothing}."
        yield f"**Evidence.** {_checks(e)}. Repeat it with `{e['command']}`."
        if e["repaired"]:
            yield f"**Repair.** `{e['repaired']}`{': ' + one_line(e['repair']) if e['repair'] else ''}"
        else:
            yield "**Repair.** No repair was found."


def _remarks(author_report: Mapping[str, Any]) -> Iterator[str]:
    if author_report["remarks"]:
        yield (
            "These are no errata: the formula was restored and not read, the words claim no theorem, or the missing "
            "condition is elsewhere in the paper. Each fails under the condition that its remark names."
        )
    for r in author_report["remarks"]:
        yield f"### `{r['id']}`: {one_line(r['title'])}"
        yield escaped(
            f"{place(r)}. {'Read in the paper' if r['provenance'] == 'read' else r['provenance'].capitalize()}."
        )
        if r["restoration"]:
            yield f"**Restored:** {one_line(r['restoration'].removesuffix('.'))}."
        if r["reading"]:
            yield f"**Read.** {one_line(r['reading'])}"
        yield one_line(r["text"])
        shown = f"**Shown by** `{r['shown_by']}`, which {verdict_text(r['shown_verdict'])}."
        yield f"{shown} {one_line(r['shown_reading'] or '')}".rstrip()
        yield f"**Evidence.** {_checks(r)}. Repeat it with `{r['command']}`."
        if r["repaired"]:
            yield f"**A form that holds there.** `{r['repaired']}`"


def _sharper(author_report: Mapping[str, Any]) -> Iterator[str]:
    if author_report["sharpened"]:
        yield "These can be stated with better constants. This does not affect what the paper states."
        yield "\n".join(f"- `{s['id']}`: {one_line(s['text'])}" for s in author_report["sharpened"])


def _typos(author_report: Mapping[str, Any]) -> Iterator[str]:
    if author_report["typos"]:
        yield "Misprints and false sentences that change no verdict."
        lines = []
        for typo, places in by_typo(author_report["typos"]).items():
            where = "; ".join(f"`{at['id']}`, {escaped(place(at))}" for at in places)
            lines.append(f"- {where}: {one_line(typo)}")
        yield "\n".join(lines)


TABLES = {"Grades": _grades, "All errata": _all}
SECTIONS = {
    "Each erratum": _errata,
    "Remarks": _remarks,
    "Sharper forms": _sharper,
    "Typos": _typos,
}
"""The sections below causes; in full, tables are between them."""


def _code(text: str) -> str:
    fence = "`" * max(3, *(len(run) + 1 for run in ["", *re.findall("`+", text)]))
    return f"{fence}python\n{text}\n{fence}"


def _ids(ids: Iterable[str]) -> str:
    return ", ".join(f"`{id_}`" for id_ in ids)


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _effect(e: Mapping[str, Any]) -> str:
    return Effect(**e["effect"]).statement


def _checks(e: Mapping[str, Any]) -> str:
    return "Refuted by " + escaped("; ".join(f"{c['check']} ({c['method']})" for c in e["checks"]))


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


COUNTED = {"restored": "restored", "derived": "derived", "readings": "second readings"}
