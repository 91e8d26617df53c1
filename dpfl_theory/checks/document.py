"""The documents that ``check --format json`` and ``falsify --format json`` write, with the guarantees for their
readers: schemas ``dpfl-theory/1`` and ``dpfl-theory/falsify/1``.

Within a version keys are added and never changed or removed; readers should ignore unknown keys. Keys marked
``x-stable: false`` (`schemas.unstable_field`) are there, but their content may change at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from dpfl_theory.core.evidence import SCHEMA
from dpfl_theory.schemas import GivenWarning, Table, described_field, published, unstable_field, versioned

Verdict = Literal["holds", "violated", "inconclusive", "not-applicable"]
OfStatement = Literal["holds", "violated", "inconclusive", "unchecked"]
OfChecks = Literal["as expected", "differs", "undecided"]
Number = float | None


class Interval(Table):
    """An estimate and its confidence limits; all equal where the method is exact, null where not finite."""

    estimate: Number = described_field("the estimate")
    low: Number = described_field("the lower confidence limit")
    high: Number = described_field("the upper confidence limit")


class Exponent(Table):
    """A fitted exponent of a rate, from the notes of checks that fit one."""

    letter: str = described_field("the symbol whose power is fitted")
    term: str = described_field("the term of the bound whose rate it is")
    claimed: str = described_field("the exponent that the statement claims, as text")
    slope: Number = described_field("the fitted exponent")
    low: Number = described_field("its lower confidence limit")
    high: Number = described_field("its upper confidence limit")
    slope_of_the_bound: Number = described_field("the exponent of the bound on the same grid")
    grid: list[Number] = described_field("the values of the symbol")
    share_of_the_term: Number = described_field("the least share of the bound that its term has on the grid", None)
    share_of_the_excess: Number = described_field("the share of the excess that comes from its source", None)


class CheckRecord(Table):
    """The evidence of one check."""

    statement: str = described_field("the statement's id")
    method: str = described_field("how it was checked")
    check: str = described_field("the check's name; 'units' is the check of units that every displayed formula has")
    verdict: Verdict = described_field("the verdict of the check")
    expected: Verdict = described_field("the recorded verdict")
    agreement: OfChecks = described_field(
        "how the verdict compares with the record; differs gives exit code 1, undecided 3"
    )
    lhs: Interval | None = described_field("the bounded quantity")
    rhs: Number = described_field("its bound")
    ratio: Number = described_field("lhs over rhs, where the bound is positive")
    terms: dict[str, Number] = described_field("the bound's named terms")
    vacuous: bool | None = described_field("whether the bound is above a trivial one; null if it has no trivial one")
    asymptotic: bool = described_field("whether the verdict depends on a limit theorem")
    detectable: Number = described_field("the smallest violation factor that the check could have detected")
    reason: str = unstable_field("one sentence")
    part: str | None = described_field(
        "the step of the statement that the check decides, if it does not decide the whole"
    )
    instance: dict[str, Any] = unstable_field("the values at which it was checked")
    notes: dict[str, Any] = unstable_field(
        "further results of the method; for a rate 'exponent', whose keys Exponent describes; for a worst "
        "case that was proved 'certificate', as verify_certificate.py reads it"
    )
    warnings: list[GivenWarning] = described_field(
        "warnings while it ran; the first check of a file has its import's too", []
    )
    seed: int | None = described_field("the seed of its randomness")
    replicates: int | None = described_field("the number of replicates of a Monte-Carlo check")
    alpha: Number = described_field("its share of the false-alarm probability")
    device: str = described_field("the hardware it ran on")
    versions: dict[str, str] = described_field("versions of Python and of the packages that affect the numbers")
    seconds: float = described_field("how long it took")


class OneStatement(Table):
    """The verdict of one statement and its agreement with the record."""

    verdict: OfStatement = described_field("its verdict")
    expected: OfStatement = described_field("the recorded one; that of the chosen checks if these are not all")
    agreement: OfChecks | Literal["unchecked"] = described_field(
        "how the verdict compares with the record; differs gives exit code 1, the others 3"
    )
    methods: list[str] = described_field("the methods that gave evidence")
    reading: str = described_field("which of several readings of the paper's text it is", "")


class Checks(Table):
    """The number of checks by agreement with their record."""

    as_expected: int = described_field("checks with the recorded verdict")
    differs: int = described_field("checks with a verdict other than the recorded one")
    undecided: int = described_field("undecided checks")


class Counts(Table):
    """Counts of checks, statements and warnings."""

    evidence: dict[str, int] = described_field("checks by verdict")
    statements: dict[str, int] = described_field("statements by verdict")
    as_expected: int = described_field("statements whose verdict is the recorded one")
    checks: Checks = described_field("checks by agreement with their record")
    warnings: int = described_field("warnings issued at the import of a file and while checks ran", 0)


class Summary(Table):
    """The summary of all evidence."""

    statements: dict[str, OneStatement] = described_field("each statement's verdict")
    counts: Counts = described_field("counts")
    alpha: float = Field(gt=0, lt=1, description="the false-alarm probability of the whole run")
    seconds: float = described_field("the total time")


class Term(Table):
    """A term of a displayed formula."""

    side: Literal["lhs", "rhs"] = described_field("the side that it is on")
    name: str = described_field("its name")
    sign: str = described_field("what precedes it: a sign or the relation, in LaTeX")
    latex: str = described_field("the term in LaTeX")


class Symbol(Table):
    """A symbol of a formula."""

    name: str = described_field("its name")
    latex: str = described_field("in LaTeX")
    meaning: str = described_field("its meaning")
    unit: str = described_field("its unit in F and X")


class NoticedTerm(Table):
    """By how much a term of the right side could be smaller."""

    share: Number = described_field("a share by which it could not be smaller without being detected")
    by: str = described_field("the check that would detect it")


class NoticedPower(Table):
    """The errors that the checks of a statement could detect."""

    ratio: Number = described_field("the largest left/right of a check that compares the sides")
    ratio_by: str = described_field("that check")
    share: Number = described_field("by which share the right side could be smaller so that some check would not hold")
    share_by: str = described_field("that check")
    terms: dict[str, NoticedTerm] = described_field(
        "the same for single terms, where an exact check or a run determines it"
    )
    notices_a_factor_2: bool = described_field("whether a right side that is half as large would be detected")
    sentence: str = described_field("all of it in words")
    left_out: list[str] | None = described_field(
        "terms whose absence no check would detect; null if that was not tried", None
    )


class HypothesisEdge(Table):
    """How near the checks' instances are to the boundary of a hypothesis."""

    hypothesis: str = described_field("the hypothesis")
    letter: str = described_field("the symbol that is nearest to its boundary")
    factor: float = described_field("the factor by which it would be at the boundary")
    by: str = described_field("the check that is nearest")


class UserStatement(Table):
    """A statement of the user's own."""

    kind: str = described_field("theorem, lemma, ...")
    title: str = described_field("its title")
    where: str = described_field("the place of its text")
    file: str = described_field("the file that defines it, as it was named; empty if that is not known", "")
    text: str = described_field("its words")
    text_markdown: str = described_field("its words in Markdown, with LaTeX between dollars", "")
    relation: str = described_field("the relation of the sides")
    terms: list[Term] = described_field("its formula")
    letters: list[Symbol] = described_field("its symbols")
    hypotheses: list[str] = described_field("its hypotheses")
    hypotheses_markdown: list[str] = described_field("its hypotheses in Markdown", [])
    noticed: NoticedPower | None = described_field(
        "the errors its checks could detect; null for one that is refuted, or has no sides"
    )
    edges: list[HypothesisEdge] = described_field(
        "of its hypotheses, if the instances determine how near they are to them", []
    )
    untried: str | None = described_field(
        "what no check tried, in words; null for a statement that does not hold", None
    )


class CheckDocument(Table):
    """What `check --format json` writes."""

    model_config = ConfigDict(title=SCHEMA)
    schema_: Literal["dpfl-theory/1"] = Field(alias="schema", description="the version of this schema")
    summary: Summary = described_field("the summary of all evidence")
    evidence: list[CheckRecord] = described_field("one entry for each check")
    own: dict[str, UserStatement] = described_field(
        "the user's own statements, by id: their file, words, formula and power", {}
    )
    profile: Literal["standard", "full"] | None = described_field(
        "the profile that chose the checks; null if they were chosen individually", None
    )
    power: dict[str, Any] = unstable_field(
        "the errors that the checks of each statement would detect, if that was measured", {}
    )


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


SEARCH_SCHEMA = "dpfl-theory/falsify/1"


class SearchDocument(Table):
    """What `falsify --format json` writes."""

    model_config = ConfigDict(title=SEARCH_SCHEMA)
    schema_: Literal["dpfl-theory/falsify/1"] = Field(alias="schema", description="the version of this schema")
    statement: str = described_field("the statement's id")
    recorded_verdict: OfStatement = described_field("the verdict that is recorded for it")
    tried: int = described_field("instances that were tried")
    variations: int = described_field("the number of these that were variations of recorded ones")
    inside: int = described_field("the number of instances inside the hypotheses")
    outside: dict[str, int] = unstable_field("the number of excluded instances, by reason")
    reasons: dict[str, str] = unstable_field("why the first instance that could not be run could not, by reason", {})
    other_methods: list[str] = described_field(
        "the other methods by which the statement is checked, whose instances are not searched", []
    )
    recorded: float = described_field("the largest excess, (left - right)/(|left| + |right|), of the recorded runs")
    largest: float = described_field("the largest excess of all; being the largest of many, it is not evidence")
    evidence: CheckRecord = described_field("of the best instance with fresh seeds, which counts")
    certifiable: bool = described_field(
        "whether such a run can be violated: whether limits are valid at finite sample size"
    )
    suspicious: bool = described_field("undecided, but asymptotic limits exclude the right side; exit code 3")
    seconds: float = described_field("the total time")


def search_schema() -> dict[str, Any]:
    """The JSON schema of the document.

    >>> search_schema()["title"]
    'dpfl-theory/falsify/1'
    """
    return published(SearchDocument)
