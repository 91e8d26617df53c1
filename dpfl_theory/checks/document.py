"""The document that ``check --format json`` writes, as its readers may rely on it: schema ``dpfl-theory/1``.

Within a version keys are added and never changed or taken away; a reader passes over those that it does not know. What
is marked ``x-stable: false`` (`schemas.models.open_`) is there, but what stands in it may change at any time.
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
    """A fitted exponent of a rate, as it stands in the notes of checks that fit one."""

    letter: str = told("the letter that the rate is in")
    term: str = told("the term of the bound whose rate it is")
    claimed: str = told("the exponent that the statement claims, as text")
    slope: Number = told("the fitted exponent")
    low: Number = told("its lower confidence limit")
    high: Number = told("its upper confidence limit")
    slope_of_the_bound: Number = told("the exponent of the bound on the same grid")
    grid: list[Number] = told("the values of the letter")
    share_of_the_term: Number = told("the least share of the bound that its term has on the grid", None)
    share_of_the_excess: Number = told("the share of the excess that is its source's", None)


class Found(Table):
    """The evidence of one check."""

    statement: str = told("the statement's id")
    method: str = told("how it was checked")
    check: str = told("the check's name; 'units' is the check of units that every displayed formula gets")
    verdict: Verdict = told("what the check found")
    expected: Verdict = told("what is recorded")
    agreement: OfChecks = told("how the verdict stands to the record; differs gives exit code 1, undecided 3")
    lhs: Limits | None = told("the bounded quantity")
    rhs: Number = told("its bound")
    ratio: Number = told("lhs over rhs, where the bound is positive")
    terms: dict[str, Number] = told("the bound's named terms")
    vacuous: bool | None = told("whether the bound is above a trivial one; null where there is none")
    asymptotic: bool = told("whether the verdict rests on a limit theorem")
    detectable: Number = told("the smallest violation factor that the check could have seen")
    reason: str = open_("one sentence")
    part: str | None = told("the step of the statement that the check decides, where it is not the whole")
    instance: dict[str, Any] = open_("the values at which it was checked")
    notes: dict[str, Any] = open_(
        "what the method says beside the verdict; for a rate 'exponent', whose keys Exponent describes; for a worst "
        "case that was proved 'certificate', as verify_certificate.py reads it"
    )
    warnings: list[GivenWarning] = told("warnings while it ran; the first check of a file has its import's too", [])
    seed: int | None = told("the seed of its randomness")
    replicates: int | None = told("the lanes of a Monte-Carlo check")
    alpha: Number = told("its share of the false-alarm probability")
    device: str = told("where it ran")
    versions: dict[str, str] = told("versions of Python and of the packages that numbers depend on")
    seconds: float = told("how long it took")


class OneStatement(Table):
    """What the evidence of one statement comes to."""

    verdict: OfStatement = told("its verdict")
    expected: OfStatement = told("the recorded one; of the chosen checks where these are not all that it has")
    agreement: OfChecks | Literal["unchecked"] = told("how they stand; differs gives exit code 1, the others 3")
    methods: list[str] = told("the methods that gave evidence")
    reading: str = told("which of several readings of the paper's words it is", "")


class Checks(Table):
    """Checks by how they stand to their record."""

    as_expected: int = told("checks that give what is recorded")
    differs: int = told("decided checks that give something else")
    undecided: int = told("checks that decided nothing")


class Counts(Table):
    """How many there are of what."""

    evidence: dict[str, int] = told("checks by verdict")
    statements: dict[str, int] = told("statements by verdict")
    as_expected: int = told("statements whose verdict is the recorded one")
    checks: Checks = told("checks by how they stand to their record")
    warnings: int = told("warnings that were given at the import of a file and while checks ran", 0)


class Summary(Table):
    """What all evidence comes to."""

    statements: dict[str, OneStatement] = told("each statement's verdict")
    counts: Counts = told("counts")
    alpha: float = Field(gt=0, lt=1, description="the false-alarm probability of the whole run")
    seconds: float = told("how long it all took")


class Term(Table):
    """A term of a displayed formula."""

    side: Literal["lhs", "rhs"] = told("the side that it stands on")
    name: str = told("its name")
    sign: str = told("what stands before it: a sign or the relation, in LaTeX")
    latex: str = told("the term in LaTeX")


class Letter(Table):
    """A letter of a formula."""

    name: str = told("its name")
    latex: str = told("in LaTeX")
    meaning: str = told("what it is")
    unit: str = told("its unit in F and X")


class NoticedTerm(Table):
    """By how much a term of the right side could be smaller."""

    share: Number = told("a share by which it could not be smaller unnoticed")
    by: str = told("the check that would notice it")


class NoticedPower(Table):
    """What the checks of a statement could notice."""

    ratio: Number = told("the largest left/right of a check that compares the sides")
    ratio_by: str = told("that check")
    share: Number = told("by which share the right side could be smaller so that some check would not hold")
    share_by: str = told("that check")
    terms: dict[str, NoticedTerm] = told("the same for single terms, where an exact check or a run tells")
    notices_a_factor_2: bool = told("whether a right side that is half as large would be noticed")
    sentence: str = told("all of it in words")
    left_out: list[str] | None = told("terms that no check would miss; null where that was not tried", None)


class Edge(Table):
    """How near the checks' instances come to the edge of a hypothesis."""

    hypothesis: str = told("the hypothesis")
    letter: str = told("the letter that comes nearest to its edge")
    factor: float = told("by which factor it would be at the edge")
    by: str = told("the check that comes nearest")


class Own(Table):
    """A statement of the user's own."""

    kind: str = told("theorem, lemma, ...")
    title: str = told("its title")
    where: str = told("where it stands")
    file: str = told("the file that defines it, as it was named; empty where that is not known", "")
    text: str = told("its words")
    relation: str = told("how the sides stand to each other")
    terms: list[Term] = told("its formula")
    letters: list[Letter] = told("its letters")
    hypotheses: list[str] = told("its hypotheses")
    noticed: NoticedPower | None = told("what its checks could notice; null for one that is refuted, or has no sides")
    edges: list[Edge] = told("of its hypotheses, where instances tell how near they come to them", [])
    untried: str | None = told("what no check tried, in words; null for a statement that does not hold", None)


class CheckDocument(Table):
    """What `check --format json` writes."""

    model_config = ConfigDict(title=SCHEMA)
    schema_: Literal["dpfl-theory/1"] = Field(alias="schema", description="the version of this schema")
    summary: Summary = told("what all evidence comes to")
    evidence: list[Found] = told("one entry for each check")
    own: dict[str, Own] = told("statements of the user's own, by id: their file, words, formula and power", {})
    profile: Literal["standard", "full"] | None = told("which profile chose the checks; null where somebody did", None)
    power: dict[str, Any] = open_("what the checks of each statement would notice, where that was measured", {})


def schema() -> dict[str, Any]:
    """The JSON schema of the document.

    >>> schema()["title"], sorted(schema()["required"])
    ('dpfl-theory/1', ['evidence', 'schema', 'summary'])
    """
    return published(CheckDocument)


def exponent_of(notes: Mapping[str, Any]) -> dict[str, Any] | None:
    """The exponent that a check's notes have in full.

    >>> exponent_of({"exponent": 2})
    """
    try:
        return Exponent.model_validate(notes.get("exponent")).model_dump()
    except ValidationError:
        return None


def read(document: Any, where: str) -> dict[str, Any]:
    """The document, if it is one. InputError, with each key that is wrong, otherwise; ``where`` it comes from."""
    return versioned(CheckDocument, SCHEMA, document, where)
