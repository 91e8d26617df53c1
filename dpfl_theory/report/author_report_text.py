"""The report to a paper's authors as Markdown, ready for sending, and as a short text for the terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dpfl_theory.core import Effect
from dpfl_theory.core.prose import plain_data, replace_formulas

__all__ = ["as_markdown", "as_text", "escaped", "place", "verdict_text"]

WIDTH = 110
MEANT = re.compile(
    r"[\\`$~]|\*(?<! \*)|\*(?! )"  # a star with a space on both sides is shown as it is
    r"|(?<![^\W_])_|_(?![^\W_])"  # so is an underscore between letters and digits
    r"|<(?=[A-Za-z/!?])|&(?=#?\w+;)|\](?=[(\[:])|\[(?=\^)"
)
"""Characters that Markdown would not show as they are: marks of code, mathematics, emphasis, HTML and links."""
LEADING = re.compile(r"^(?:([-+=>#*])|(\d+)([.)])(?=\s|$))")
"""Characters that at the start of a line would make a list, a quotation or a heading."""


SPELLED = {r"\|": "Vert", "|": "vert", r"\{": "lbrace", r"\}": "rbrace", r"\,": "thinspace"}
"""Signs in formulas that Markdown would change, or that would end a cell of a table, and their names."""
_SIGN = re.compile(r"\\[|{},]|\|")


def escaped(text: str) -> str:
    r"""A text with formulas as Markdown that shows its words as they are.

    >>> escaped(r"$\|x_0 - x^*\| \le 2$ * [1](x)*"), escaped("1. first")
    ('$\\Vert{}x_0 - x^*\\Vert{} \\le 2$ * [1\\](x)\\*', '1\\. first')
    """
    line = replace_formulas(" ".join(text.split()), _spelled, lambda words: MEANT.sub(lambda m: "\\" + m[0], words))
    return LEADING.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\{m[3]}", line)


def _spelled(latex: str) -> str:
    """A formula without signs that Markdown would change."""
    return f"${_SIGN.sub(lambda m: chr(92) + SPELLED[m[0]] + '{}', latex)}$"


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
    parts = [f"# To the authors of {escaped(author_report['title'])}", *map(escaped, author_report["opening"])]
    for title, section in SECTIONS.items():
        body = list(section(author_report))
        parts += [f"## {title}", *body] if body else []
    return "\n\n".join(parts) + "\n"


def _causes(author_report: Mapping[str, Any]) -> Iterator[str]:
    for c in author_report["causes"]:
        yield f"### {escaped(c['title'])}"
        yield escaped(c["text"])
        yield f"**The smallest counterexample found.** {escaped(c['example'])}"
        if c["script"]["text"]:
            yield f"It is reproduced by `{c['script']['path']}`:"
            yield _code(c["script"]["text"])
        yield f"**Strongest objection.** {escaped(c['objection'])}"
        yield f"**Response.** {escaped(c['response'])}"
        if c["proof"]:
            claim, *steps = c["proof"]
            yield f"**A proof, step by step.** {escaped(claim)}"
            yield "\n".join(f"{number}. {escaped(step)}" for number, step in enumerate(steps, 1))
        yield f"Shared by {_ids(c['errata'])}."


def _grades(author_report: Mapping[str, Any]) -> Iterator[str]:
    if author_report["errata"]:
        rows = [(grade, escaped(g["text"]), str(g["errata"])) for grade, g in author_report["grades"].items()]
        yield _table(("Grade", "Meaning", "Errata"), rows)


def _all(author_report: Mapping[str, Any]) -> Iterator[str]:
    if author_report["errata"]:
        titles = {c["id"]: escaped(c["title"]) for c in author_report["causes"]}
        yield _table(
            ("Statement", "Place", "Reading", "Grade", "Cause", "Effect at the paper's own settings"),
            [
                (
                    f"`{e['id']}`",
                    escaped(place(e)),
                    escaped(e["reading"] or "–"),
                    e["grade"],
                    titles[e["cause"]],
                    escaped(_effect(e)),
                )
                for e in author_report["errata"]
            ],
        )


def _errata(author_report: Mapping[str, Any]) -> Iterator[str]:
    titles = {c["id"]: c["title"] for c in author_report["causes"]}
    for e in author_report["errata"]:
        yield f"### `{e['id']}`: {escaped(e['title'])}"
        yield escaped(f"{place(e)}. Grade: {e['grade']}. Cause: {titles[e['cause']]}.")
        if e["reading"]:
            yield f"**Read.** {escaped(e['reading'])}"
        for r in e["readings"]:
            yield f"**Another reading**, `{r['id']}`, which {verdict_text(r['verdict'])}. {escaped(r['reading'])}"
        for title, key in (
            ("Printed", "printed"),
            ("Corrected", "corrected"),
            ("Why", "why"),
            ("Counterexample", "counterexample"),
        ):
            if e[key]:
                yield f"**{title}.** {escaped(e[key])}"
        yield f"**Effect at the paper's own settings.** {escaped(_effect(e))}"
        if e["survives"]:
            yield "**What survives.**"
            yield "\n".join(f"- `{id_}`: {escaped(why)}" for id_, why in e["survives"].items())
        nothing = f"No other statement of this catalogue{', except those that survive' if e['survives'] else ''}"
        yield f"**Statements that depend on it.** {_ids(e['affects']) if e['affects'] else nothing}."
        yield f"**Evidence.** {_checks(e)}. Repeat it with `{e['command']}`."
        if e["repaired"]:
            yield f"**Repair.** `{e['repaired']}`{': ' + escaped(e['repair']) if e['repair'] else ''}"
        else:
            yield "**Repair.** No repair was found."


def _remarks(author_report: Mapping[str, Any]) -> Iterator[str]:
    if author_report["remarks"]:
        yield (
            "These are no errata: the formula was restored and not read, the words claim no theorem, or the missing "
            "condition is elsewhere in the paper. Each fails under the condition that its remark names."
        )
    for r in author_report["remarks"]:
        yield f"### `{r['id']}`: {escaped(r['title'])}"
        yield escaped(
            f"{place(r)}. {'Read in the paper' if r['provenance'] == 'read' else r['provenance'].capitalize()}."
        )
        if r["restoration"]:
            yield f"**Restored:** {escaped(r['restoration'].removesuffix('.'))}."
        if r["reading"]:
            yield f"**Read.** {escaped(r['reading'])}"
        yield escaped(r["text"])
        shown = f"**Shown by** `{r['shown_by']}`, which {verdict_text(r['shown_verdict'])}."
        yield f"{shown} {escaped(r['shown_reading'] or '')}".rstrip()
        yield f"**Evidence.** {_checks(r)}. Repeat it with `{r['command']}`."
        if r["repaired"]:
            yield f"**A form that holds there.** `{r['repaired']}`"


def _sharper(author_report: Mapping[str, Any]) -> Iterator[str]:
    if author_report["sharpened"]:
        yield "These can be stated with better constants. This does not affect what the paper states."
        yield "\n".join(f"- `{s['id']}`: {escaped(s['text'])}" for s in author_report["sharpened"])


def _typos(author_report: Mapping[str, Any]) -> Iterator[str]:
    if author_report["typos"]:
        yield "Misprints and false sentences that change no verdict."
        yield "\n".join(
            f"- {'; '.join([f'`{at[0]}`, {escaped(at[1])}' for at in where])}: {escaped(typo)}"
            for typo, where in _distinct(author_report["typos"]).items()
        )


SECTIONS = {
    "Causes": _causes,
    "Grades": _grades,
    "All errata": _all,
    "Each erratum": _errata,
    "Remarks": _remarks,
    "Sharper forms": _sharper,
    "Typos": _typos,
}


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


def _distinct(typos: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """Each typo once, with the ids and places of all the statements that it is recorded for."""
    places: dict[str, list[tuple[str, str]]] = {}
    for s in typos:
        places.setdefault(s["typo"], []).append((s["id"], place(s)))
    return places


def as_text(author_report: Mapping[str, Any]) -> str:
    """The report in short, causes first; objections, responses and scripts are left to the other forms."""
    author_report = plain_data(author_report)
    parts = [author_report["reference"], *_hanging("", _counts(author_report))]
    parts += _titled("Causes", [line for c in author_report["causes"] for line in _short_cause(c)])
    parts += _titled("Errata", [line for e in author_report["errata"] for line in _short_erratum(e)])
    parts += _titled("Remarks", [line for r in author_report["remarks"] for line in _short_remark(r)])
    parts += _titled("Could be sharpened", [f"  {s['id']}" for s in author_report["sharpened"]])
    typos = (
        f"{'; '.join([f'{i} ({at})' for i, at in where])}: {s}"
        for s, where in _distinct(author_report["typos"]).items()
    )
    parts += _titled("Typos", [line for typo in typos for line in _hanging("  ", typo)])
    if author_report["errata"]:
        parts += [
            "",
            f"dpfl-theory errata {author_report['paper']} --format md writes the whole report, "
            "with objections, responses and scripts.",
        ]
    return "\n".join(parts)


def _counts(author_report: Mapping[str, Any]) -> str:
    n = author_report["statements"]
    parts = [f"{n['read']} read in the paper"]
    parts += [f"{n[key]} {word}" for key, word in COUNTED.items() if n[key]]
    grades = ", ".join(f"{g['errata']} {grade}" for grade, g in author_report["grades"].items() if g["errata"])
    found = {
        "causes": author_report["causes"],
        "remarks": author_report["remarks"],
        "typos": _distinct(author_report["typos"]),
    }
    errata = f"errata: {len(author_report['errata'])}{f' ({grades})' if grades else ''}"
    counts = [errata, *(f"{name}: {len(those)}" for name, those in found.items())]
    return f"statements: {', '.join(parts)}; {', '.join(counts)}"


COUNTED = {"restored": "restored", "derived": "derived", "readings": "second readings"}


def _short_cause(c: Mapping[str, Any]) -> Iterator[str]:
    yield from _hanging("  ", f"{c['id']}  {c['title']}")
    yield from _rows({"why": c["text"], "counterexample": c["example"], "errata": ", ".join(c["errata"])})
    if c["script"]["text"]:
        yield f"    {'script':<16}{c['script']['path']}"


def _short_erratum(e: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {e['id']}  ({place(e)})"
    described = {
        "grade": e["grade"],
        "cause": e["cause"],
        "read": e["reading"],
        "other reading": "; ".join(f"{r['id']} ({r['verdict']}): {r['reading']}" for r in e["readings"]),
        "printed": e["printed"],
        "corrected": e["corrected"],
        "why": e["why"],
        "counterexample": e["counterexample"],
        "effect": _effect(e),
        "repaired": e["repaired"],
        "survive": "; ".join(f"{id_}: {why}" for id_, why in e["survives"].items()),
        "depend on it": ", ".join(e["affects"]),
    }
    yield from _rows(described)
    yield f"    {'command':<16}{e['command']}"  # in one line, to be copied


def _short_remark(r: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {r['id']}  ({place(r)}, {r['provenance']})"
    described = {"restored": r["restoration"], "read": r["reading"], "remark": r["text"]}
    described["shown by"] = f"{r['shown_by']} ({r['shown_verdict']})"
    yield from _rows({**described, "repaired": r["repaired"]})
    yield f"    {'command':<16}{r['command']}"


def _rows(lines: Mapping[str, str | None]) -> Iterator[str]:
    for title, text in lines.items():
        if text:
            yield from _hanging(f"    {title:<16}", text)


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *lines] if lines else []


def _hanging(start: str, text: str) -> list[str]:
    indent = " " * len(start) if start.strip() else f"{start}  "
    return textwrap.wrap(
        text, WIDTH, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
