"""The document that ``check --format json`` writes, with the guarantees for its readers: schema ``dpfl-theory/1``.

Within a version keys are added and never changed or removed; readers should ignore unknown keys. Keys marked
``x-stable: false`` (`schemas.models.open_`) are there, but their content may change at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from dpfl_theory.checks.evidence import SCHEMA
from dpfl_theory.schemas.faults import versioned
from dpfl_theory.schemas.models import GivenWarning, Table, open_, published, told

__all__ = ["CheckDocument", "Found", "OfStatement", "exponent_of", "read", "schema"]

Verdict = Literal["holds", "violated", "inconclusive", "not-applicable"]
OfStatement = Literal["holds", "violated", "inconclusive", "unchecked"]
OfChecks = Literal["as expected", "differs", "undecided"]
Number = float | None


class Limits(Table):
    """An estimate and its confidence limits; all equal where the method is exact, null where not finite."""

    estimate: Number = told("the estimate")
    low: Number = told("the lower confidence limit")
    high: Number = told("the upper confidence limit")


class Exponent(Table):
    """A fitted exponent of a rate, from the notes of checks that fit one."""

    letter: str = told("the symbol whose power is fitted")
    term: str = told("the term of the bound whose rate it is")
    claimed: str = told("the exponent that the statement claims, as text")
    slope: Number = told("the fitted exponent")
    low: Number = told("its lower confidence limit")
    high: Number = told("its upper confidence limit")
    slope_of_the_bound: Number = told("the exponent of the bound on the same grid")
    grid: list[Number] = told("the values of the symbol")
    share_of_the_term: Number = told("the least share of the bound that its term has on the grid", None)
    share_of_the_excess: Number = told("the share of the excess that comes from its source", None)


class Found(Table):
    """The evidence of one check."""

    statement: str = told("the statement's id")
    method: str = told("how it was checked")
    check: str = told("the check's name; 'units' is the check of units that every displayed formula has")
    verdict: Verdict = told("the verdict of the check")
    expected: Verdict = told("the recorded verdict")
    agreement: OfChecks = told("how the verdict compares with the record; differs gives exit code 1, undecided 3")
    lhs: Limits | None = told("the bounded quantity")
    rhs: Number = told("its bound")
    ratio: Number = told("lhs over rhs, where the bound is positive")
    terms: dict[str, Number] = told("the bound's named terms")
    vacuous: bool | None = told("whether the bound is above a trivial one; null if it has no trivial one")
    asymptotic: bool = told("whether the verdict depends on a limit theorem")
    detectable: Number = told("the smallest violation factor that the check could have detected")
    reason: str = open_("one sentence")
    part: str | None = told("the step of the statement that the check decides, if it does not decide the whole")
    instance: dict[str, Any] = open_("the values at which it was checked")
    notes: dict[str, Any] = open_(
        "further results of the method; for a rate 'exponent', whose keys Exponent describes; for a worst "
        "case that was proved 'certificate', as verify_certificate.py reads it"
    )
    warnings: list[GivenWarning] = told("warnings while it ran; the first check of a file has its import's too", [])
    seed: int | None = told("the seed of its randomness")
    replicates: int | None = told("the number of replicates of a Monte-Carlo check")
    alpha: Number = told("its share of the false-alarm probability")
    device: str = told("the hardware it ran on")
    versions: dict[str, str] = told("versions of Python and of the packages that affect the numbers")
    seconds: float = told("how long it took")


class OneStatement(Table):
    """The verdict of one statement and its agreement with the record."""

    verdict: OfStatement = told("its verdict")
    expected: OfStatement = told("the recorded one; that of the chosen checks if these are not all")
    agreement: OfChecks | Literal["unchecked"] = told(
        "how the verdict compares with the record; differs gives exit code 1, the others 3"
    )
    methods: list[str] = told("the methods that gave evidence")
    reading: str = told("which of several readings of the paper's text it is", "")


class Checks(Table):
    """The number of checks by agreement with their record."""

    as_expected: int = told("checks with the recorded verdict")
    differs: int = told("checks with a verdict other than the recorded one")
    undecided: int = told("undecided checks")


class Counts(Table):
    """Counts of checks, statements and warnings."""

    evidence: dict[str, int] = told("checks by verdict")
    statements: dict[str, int] = told("statements by verdict")
    as_expected: int = told("statements whose verdict is the recorded one")
    checks: Checks = told("checks by agreement with their record")
    warnings: int = told("warnings issued at the import of a file and while checks ran", 0)


class Summary(Table):
    """The summary of all evidence."""

    statements: dict[str, OneStatement] = told("each statement's verdict")
    counts: Counts = told("counts")
    alpha: float = Field(gt=0, lt=1, description="the false-alarm probability of the whole run")
    seconds: float = told("the total time")


class Term(Table):
    """A term of a displayed formula."""

    side: Literal["lhs", "rhs"] = told("the side that it is on")
    name: str = told("its name")
    sign: str = told("what precedes it: a sign or the relation, in LaTeX")
    latex: str = told("the term in LaTeX")


class Letter(Table):
    """A symbol of a formula."""

    name: str = told("its name")
    latex: str = told("in LaTeX")
    meaning: str = told("its meaning")
    unit: str = told("its unit in F and X")


class NoticedTerm(Table):
    """By how much a term of the right side could be smaller."""

    share: Number = told("a share by which it could not be smaller without being detected")
    by: str = told("the check that would detect it")


class NoticedPower(Table):
    """The errors that the checks of a statement could detect."""

    ratio: Number = told("the largest left/right of a check that compares the sides")
    ratio_by: str = told("that check")
    share: Number = told("by which share the right side could be smaller so that some check would not hold")
    share_by: str = told("that check")
    terms: dict[str, NoticedTerm] = told("the same for single terms, where an exact check or a run determines it")
    notices_a_factor_2: bool = told("whether a right side that is half as large would be detected")
    sentence: str = told("all of it in words")
    left_out: list[str] | None = told("terms whose absence no check would detect; null if that was not tried", None)


class Edge(Table):
    """How near the checks' instances are to the boundary of a hypothesis."""

    hypothesis: str = told("the hypothesis")
    letter: str = told("the symbol that is nearest to its boundary")
    factor: float = told("the factor by which it would be at the boundary")
    by: str = told("the check that is nearest")


class Own(Table):
    """A statement of the user's own."""

    kind: str = told("theorem, lemma, ...")
    title: str = told("its title")
    where: str = told("the place of its text")
    file: str = told("the file that defines it, as it was named; empty if that is not known", "")
    text: str = told("its words")
    relation: str = told("the relation of the sides")
    terms: list[Term] = told("its formula")
    letters: list[Letter] = told("its letters")
    hypotheses: list[str] = told("its hypotheses")
    noticed: NoticedPower | None = told(
        "the errors its checks could detect; null for one that is refuted, or has no sides"
    )
    edges: list[Edge] = told("of its hypotheses, if the instances determine how near they are to them", [])
    untried: str | None = told("what no check tried, in words; null for a statement that does not hold", None)


class CheckDocument(Table):
    """What `check --format json` writes."""

    model_config = ConfigDict(title=SCHEMA)
    schema_: Literal["dpfl-theory/1"] = Field(alias="schema", description="the version of this schema")
    summary: Summary = told("the summary of all evidence")
    evidence: list[Found] = told("one entry for each check")
    own: dict[str, Own] = told("the user's own statements, by id: their file, words, formula and power", {})
    profile: Literal["standard", "full"] | None = told(
        "the profile that chose the checks; null if they were chosen individually", None
    )
    power: dict[str, Any] = open_("the errors that the checks of each statement would detect, if that was measured", {})


def schema() -> dict[str, Any]:
    """The JSON schema of the document.

    >>> schema()["title"], sorted(schema()["required"])
    ('dpfl-theory/1', ['evidence', 'schema', 'summary'])
    """
    return published(CheckDocument)


def exponent_of(notes: Mapping[str, Any]) -> dict[str, Any] | None:
    """The exponent that a check's notes describe in full.

    >>> exponent_of({"exponent": 2})
    """
    try:
        return Exponent.model_validate(notes.get("exponent")).model_dump()
    except ValidationError:
        return None


def read(document: Any, where: str) -> dict[str, Any]:
    """The document, if it is one. Otherwise raises InputError with each wrong key; ``where`` is its origin."""
    return versioned(CheckDocument, SCHEMA, document, where)
