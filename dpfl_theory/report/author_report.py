"""The report to a paper's authors from the catalogue: each cause once, then the errata that it explains.

It concerns what was read in the paper; a restored formula or a word that claims no theorem gets a remark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

from dpfl_theory import statements
from dpfl_theory.checks.runner import plan
from dpfl_theory.core import Cause, Statement, Typo, methods
from dpfl_theory.core.errata import GRADES
from dpfl_theory.core.statement import DERIVED
from dpfl_theory.report.entries import Entry, check_command, copy_read, natural, readings_of, reference
from dpfl_theory.report.proof_map import proof_graph, undermined
from dpfl_theory.statements.paper import known as papers
from dpfl_theory.statements.summary import in_markdown

PLACE = resources.files("dpfl_theory") / "statements"
"""The folder of the papers' packages with the scripts of their counterexamples."""


def script_path(cause: Cause) -> str:
    """The path of a cause's script in the repository.

    >>> script_path(Cause("a2020.long-step", "-", "-", "-", "-", "-"))
    'dpfl_theory/statements/a2020/counterexamples/long_step.py'
    """
    return f"dpfl_theory/statements/{cause.paper}/counterexamples/{cause.script}"


def script_text(cause: Cause) -> str:
    """The lines of a cause's script; empty where there is no such file."""
    file = PLACE / cause.paper / "counterexamples" / cause.script
    return file.read_text(encoding="utf-8").strip("\n") if file.is_file() else ""


def causes_of(chosen: Iterable[Statement]) -> list[tuple[Cause, list[Statement]]]:
    """Each cause of the errata once, with these: those that explain most first, and among equals those of the gravest
    grade first."""
    errata = [(s, s.erratum) for s in sorted(chosen, key=lambda s: natural(s.id)) if s.erratum is not None]
    causes = {erratum.cause.id: erratum.cause for _, erratum in errata}
    own = {id_: [(s, erratum) for s, erratum in errata if erratum.cause.id == id_] for id_ in causes}
    order = list(GRADES)

    def gravity(id_: str) -> tuple[int, int]:
        return -len(own[id_]), min(order.index(erratum.grade) for _, erratum in own[id_])

    return [(causes[id_], [s for s, _ in own[id_]]) for id_ in sorted(causes, key=gravity)]


def grades_of(chosen: Iterable[Statement]) -> dict[str, int]:
    """The number of errata of each grade."""
    seen = [s.erratum.grade for s in chosen if s.erratum is not None]
    return {grade: seen.count(grade) for grade in GRADES}


def provenances(chosen: Iterable[Statement]) -> dict[str, int]:
    """The numbers of statements that were read in the paper, restored, derived, or second readings."""
    own = list(chosen)
    readings = [s for s in own if s.reading_of and s.provenance != "derived"]
    others = [s.provenance for s in own if s not in readings]
    return {**{p: others.count(p) for p in ("read", "restored", "derived")}, "readings": len(readings)}


def counted(chosen: Iterable[Statement]) -> str:
    """The statements by provenance, in words."""
    n = provenances(chosen)
    parts = [f"{n['read'] or 'no'} {_plural(n['read'], 'statement')} read in the paper"]
    parts += [f"{n['restored']} restored"] if n["restored"] else []
    parts += [f"{n['derived']} derived (these are ours)"] if n["derived"] else []
    parts += [f"{n['readings']} second {_plural(n['readings'], 'reading')}"] if n["readings"] else []
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def introduction(paper: str, own: Sequence[Statement]) -> list[str]:
    """The report's first paragraphs: what was read, how it was checked, the findings, and that they may be mistaken."""
    errata, causes = sum(s.erratum is not None for s in own), len(causes_of(own))
    copy = copy_read(paper)
    read = f"Thank you for this paper, which we have read closely{f': {copy}' if copy else ''}. We wrote down its "
    read += (
        f"statements one by one, with hypotheses, symbols and units, so that a computer can check them: {counted(own)}."
    )
    known = provenances(own)
    if known["restored"] and not known["read"]:
        read += " We restored the formulas from the words around them, and nothing restored is called an error of "
        read += "yours. We should be glad to put your own formulas in their place."
    elif known["restored"]:
        read += " Where our copy has lost a formula we restored it, and nothing restored is called an error of yours."
    *others, last = methods.known().values()
    checked = (
        "Each was checked by the methods that apply to it: "
        f"{', '.join(method.description for method in others)}, and {last.description}."
    )
    if errata:
        found = f"{errata} {_plural(errata, 'statement')} {'does' if errata == 1 else 'do'} not hold as read, "
        found += f"for {causes} {_plural(causes, 'cause')}. {_qualified(own)}"
        found += "The causes come first, each once: with the smallest counterexample that we found, a short script "
        found += "that reproduces it and does not need our package, and the strongest objection. Then follow the "
        found += "statements that they concern, and what survives."
    else:
        found = "We have no erratum on record: no statement was found to fail as it was "
        found += "read." if known["read"] else "restored."
    doubt = (
        "We may be mistaken: in a reading, in a restoration or in a computation. Every finding can be repeated with "
        "the command next to it. Corrections are welcome, and will be made with thanks."
    )
    return [read, f"{checked} {found}", doubt]


def _qualified(own: Sequence[Statement]) -> str:
    """How many errata depend on one reading of the paper's words, and how many repeat a misprint; empty if none."""
    errata = {s.id: s.erratum for s in own if s.erratum is not None}
    read = [s for s in own if s.id in errata and any(r.expected == "holds" for r in read_alike(s, own) if r.id != s.id)]
    causes = [e.cause.id for e in errata.values() if e.grade == "misprint"]
    message = ""
    if read:
        verb, holds = ("depends", "it holds") if len(read) == 1 else ("depend", "they hold")
        message += (
            f"{len(read)} of {len(errata)} {verb} on how the paper's words are read: under another reading, which "
        )
        message += f"is given with each, {holds} as printed. "
    if causes:
        count = len(set(causes))
        message += f"{len(causes)} of {len(errata)} {'comes' if len(causes) == 1 else 'come'} from {count} "
        message += f"{_plural(count, 'misprint')} of what the paper has right elsewhere. "
    return message


def affected(statement: Statement, graph: Any) -> tuple[str, ...]:
    """The paper's statements that depend on this one: reached in the graph of proofs, or named by its erratum.

    Statements that survive the erratum do not depend on it, nor do those reached only through survivors. A derived form
    or a second reading next to a statement does not count.
    """
    named = () if statement.erratum is None else statement.erratum.affects
    found = {i for i in (*named, *undermined(graph, statement.id)) if i != statement.id and _stands_alone(i, graph)}
    return tuple(sorted(found, key=natural))


def _stands_alone(id_: str, graph: Any) -> bool:
    entry = graph.nodes[id_]["entry"] if id_ in graph else None
    return entry is None or entry.statement is None or not (entry.derived or entry.statement.reading_of)


def refuting_checks(statement: Statement) -> list[tuple[str, str]]:
    """The checks (method, name) that are known to refute a statement."""
    return [(c.method, c.name) for _, c in plan([statement]) if c.expected == "violated"]


def showing_command(statement: Statement) -> str:
    """The command that shows what refutes a statement: only by the methods that do.

    >>> showing_command(statements.get("hou2023.corollary1"))
    'dpfl-theory check hou2023.corollary1 --method exact'
    """
    known = {method for method, _ in refuting_checks(statement)}
    chosen = [f" --method {m}" for m in methods.known() if m in known]
    return check_command(statement.id) + "".join(chosen if known < set(statement.methods) else ())


def read_alike(statement: Statement, own: Iterable[Statement]) -> tuple[Statement, ...]:
    """All readings of the same words, the literal one first; empty where there is only one."""
    known = {s.id: s for s in own if s.provenance != "derived"}
    readings = readings_of(known.values())
    first = readings.get(statement.id, statement.id)
    others = sorted((i for i, of in readings.items() if of == first), key=natural)
    return tuple(known[i] for i in (first, *others) if i in known) if others else ()


def same_text_entries(entry: Entry, known: Mapping[str, Entry]) -> tuple[Entry, ...]:
    """The entries of the other readings of the same words."""
    if entry.statement is None:
        return ()
    own = (e.statement for e in known.values() if e.statement is not None and e.paper == entry.paper)
    return tuple(known[s.id] for s in read_alike(entry.statement, own) if s.id != entry.id)


def author_report(paper: str) -> dict[str, Any]:
    """The whole report to the authors as data, its texts in Markdown; verdicts are the recorded ones."""
    own = sorted(statements.select((), paper), key=lambda s: natural(s.id))
    return report_on(paper, own, proof_graph([Entry(s.id, s) for s in statements.all_statements()]))


def report_on(paper: str, own: Sequence[Statement], graph: Any) -> dict[str, Any]:
    """The report on these statements of a paper, with the graph of proofs (`proof_map.proof_graph`)."""
    grades, printed, known = grades_of(own), papers()[paper], {s.id: s for s in own}
    return {
        "paper": paper,
        "reference": reference(paper),
        "title": printed.dated_title,
        "copy": copy_read(paper) or None,
        "opening": introduction(paper, own),
        "statements": provenances(own),
        "causes": [
            {
                "id": cause.id,
                "title": cause.title,
                "text": cause.text,
                "example": cause.example,
                "script": {"path": script_path(cause), "text": script_text(cause)},
                "objection": cause.objection,
                "response": cause.response,
                "proof": list(cause.proof),
                "errata": [s.id for s in errata],
            }
            for cause, errata in causes_of(own)
        ],
        "grades": {grade: {"text": text, "errata": grades[grade]} for grade, text in GRADES.items()},
        "errata": [_erratum(s, known, graph) for s in own if s.erratum is not None],
        "remarks": [_remark(s, known) for s in own if s.remark is not None],
        "sharpened": [{**_place(s), "text": s.text} for s in own if s.id.endswith(".sharpened")],
        "typos": [
            {**_typo_place(s, typo), "typo": typo} for s in own for typo in s.typos if not s.id.endswith(DERIVED)
        ],
    }


def _place(s: Statement) -> dict[str, Any]:
    return {"id": s.id, "title": s.title, "where": s.source.where, "equation": s.source.equation or None}


def _typo_place(s: Statement, typo: str) -> dict[str, Any]:
    """The statement's place, or the typo's own."""
    return {**_place(s), "where": typo.where, "equation": None} if isinstance(typo, Typo) else _place(s)


def by_typo(typos: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Each typo of a report once, with the places of all the statements that it is recorded for."""
    places: dict[str, list[Mapping[str, Any]]] = {}
    for s in typos:
        places.setdefault(s["typo"], []).append(s)
    return places


def _erratum(s: Statement, own: Mapping[str, Statement], graph: Any) -> dict[str, Any]:
    assert s.erratum is not None
    repaired = own.get(s.erratum.repaired)
    return {
        **_place(s),
        "reading": s.reading or None,
        "readings": [
            {"id": r.id, "reading": r.reading, "verdict": r.expected}
            for r in read_alike(s, own.values())
            if r.id != s.id
        ],
        **in_markdown(s)["erratum"],
        "why": s.erratum.why or None,
        "affects": list(affected(s, graph)),
        "checks": [{"method": method, "check": name} for method, name in refuting_checks(s)],
        "command": showing_command(s),
        "repair": None if repaired is None else repaired.text,
    }


def _remark(s: Statement, own: Mapping[str, Statement]) -> dict[str, Any]:
    assert s.remark is not None
    shown = own.get(s.remark.shown_by)
    said: Mapping[str, Any] = in_markdown(s)["remark"]
    return {
        **_place(s),
        "provenance": s.provenance,
        "restoration": s.source.restoration or None,
        "reading": s.reading or None,
        **said,
        "shown_reading": shown and (shown.reading or None),
        "shown_verdict": shown and shown.expected,
        "checks": [{"method": method, "check": name} for method, name in refuting_checks(shown)] if shown else [],
        "command": showing_command(shown) if shown else "",
    }
