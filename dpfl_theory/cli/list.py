"""`list`: the statements of the catalogue, and the building blocks of user theorems and configurations."""

from __future__ import annotations

import math
import shlex
from typing import Annotated

import typer

from dpfl_theory import inventory
from dpfl_theory.cli import _complete, _layout, _listing
from dpfl_theory.cli._options import Format, as_json
from dpfl_theory.core import Statement, methods
from dpfl_theory.core.errata import GRADES
from dpfl_theory.core.statement import KINDS, PROVENANCES
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.numerals import number_of
from dpfl_theory.runtime.console import choice, emit, print_message
from dpfl_theory.statements import papers
from dpfl_theory.statements.power import recorded
from dpfl_theory.statements.summary import summary

app = typer.Typer()

EXPECTED = ("holds", "violated", "inconclusive")
_WORDS = f"Ids, patterns, papers, words to search for; or {', '.join(inventory.kinds())}."


@app.command("list", context_settings={"max_content_width": 110})
def list_(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORD]...", help=_WORDS, autocompletion=_complete.words, show_default=False),
    ] = None,
    paper: Annotated[
        str | None, typer.Option(metavar="P", help="Only this paper.", autocompletion=_complete.papers)
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="K", help=f"Only this kind: {', '.join(KINDS)}.", autocompletion=_complete.complete_from(KINDS)
        ),
    ] = None,
    expected: Annotated[
        str | None,
        typer.Option(
            metavar="V",
            help=f"Only this recorded verdict: {', '.join(EXPECTED)}.",
            autocompletion=_complete.complete_from(EXPECTED),
        ),
    ] = None,
    provenance: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help=f"Only statements that are {', '.join(PROVENANCES)}.",
            autocompletion=_complete.complete_from(PROVENANCES),
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M",
            help=f"Only statements checked by {', '.join(methods.known())}; may be repeated.",
            autocompletion=_complete.methods,
        ),
    ] = None,
    grade: Annotated[
        str | None,
        typer.Option(
            metavar="G",
            help=f"Only errata of this grade: {', '.join(GRADES)}.",
            autocompletion=_complete.complete_from(GRADES),
        ),
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="WHAT",
            help=f"Only those with an {', or that are a '.join(('erratum, a remark', 'reading'))}; may be repeated.",
            autocompletion=_complete.complete_from(_listing.WITH),
        ),
    ] = None,
    power_below: Annotated[
        str | None, typer.Option(metavar="X", help="Only where the largest observed left/right is below X.")
    ] = None,
    power_above: Annotated[
        str | None, typer.Option(metavar="X", help="Only where the largest observed left/right is above X.")
    ] = None,
    format_: Format = "text",
) -> None:
    """List statements by paper and chapter; the note marks restored, derived, other readings, and remarks.

    Words restrict the list: ids, patterns, papers, and words in id, title, text, authors or title of the paper. The
    name of another kind lists its members, with parameters, units and defaults. For example:

    \b
      dpfl-theory list das2022 --kind theorem
      dpfl-theory list 'noble2022.lemma*' --expected violated
      dpfl-theory list client sampling --method worst-case
      dpfl-theory list --with erratum --power-above 10
      dpfl-theory list problems huber
    """
    choice("format", format_, ("text", "json"))
    given = list(words or [])
    options = {
        "paper": paper, "kind": kind, "expected": expected, "provenance": provenance, "method": method, "grade": grade,
        "with": with_, "power-below": power_below, "power-above": power_above,
    }  # fmt: skip
    if given and given[0] in inventory.kinds():
        if used := [name for name, value in options.items() if value]:
            raise InputError(f"--{used[0]} is for statements: leave it out, and give words that {given[0]} must have")
        _listing.list_items(inventory.kinds()[given[0]], given[1:], format_)
        return
    for m in method or ():
        methods.get(m)
    for what in with_ or ():
        choice("mark", what, tuple(_listing.WITH))
    if paper is not None and paper not in papers():
        raise unknown_name("paper", paper, papers())
    wanted = {
        "paper": paper,
        "kind": kind and choice("kind", kind, KINDS),
        "expected": expected and choice("expected verdict", expected, EXPECTED),
        "provenance": provenance and choice("provenance", provenance, PROVENANCES),
    }
    below, above = _number("--power-below", power_below), _number("--power-above", power_above)
    grade = grade and choice("grade", grade, tuple(GRADES))
    found = [
        s
        for s in _listing.matching(given)
        if all(v in (None, getattr(s, n)) for n, v in wanted.items())
        and all(m in s.methods for m in method or ())
        and all(_listing.WITH[what](s) for what in with_ or ())
        and (grade is None or (s.erratum is not None and s.erratum.grade == grade))
        and _within(s, above, below)
    ]
    as_text = _layout.colored(_listing.lines(found, _layout.width()))
    emit(as_json([summary(s) for s in found]) if format_ == "json" else as_text)
    if not found and given:
        message = " and ".join(map(repr, given))
        meant = _suggestion(given)
        use = f"did you mean '{meant}'?" if meant else "use fewer words"
        print_message(f"no statement has {message} in its id, title, text, authors or paper: {use}")


def _suggestion(words: list[str]) -> str:
    """The command with the probably intended first word: a kind of items, a paper or a kind of statements; empty where
    none is near."""
    from difflib import get_close_matches

    near = get_close_matches(words[0].casefold(), [*inventory.kinds(), *papers(), *KINDS], n=1, cutoff=0.75)
    return shlex.join(["dpfl-theory", "list", *near, *words[1:]]) if near else ""


def _number(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    found = number_of(option, text)
    if math.isnan(found):
        raise InputError(f"{option} is {text!r}: give a number, like {option} 0.5")
    return found


def _within(s: Statement, above: float | None, below: float | None) -> bool:
    """Whether the power is known and between these limits; true for any statement without limits."""
    if above is None and below is None:
        return True
    power = recorded(s.id)
    if power is None or power.ratio is None:
        return False
    return (above is None or power.ratio > above) and (below is None or power.ratio < below)
