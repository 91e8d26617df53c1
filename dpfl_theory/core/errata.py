"""Texts on printed statements that do not hold: errata for formulas that were read, remarks for the others.

An erratum accuses: its formula is printed in the paper, and evidence refutes it under the reading that the statement
names. A remark is for a formula that had to be restored, or for words that were not meant as a theorem. It names the
condition under which they would fail and accuses no one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

GRADES: Mapping[str, str] = {
    "false": "what is claimed is not true, and no other constant makes it so",
    "constant": "true in form, with a constant, factor or logarithm that is too small",
    "unit": "the two sides differ in unit, or change their ratio when the objective or the parameters are rescaled",
    "misprint": "the paper itself has the right formula or words elsewhere",
    "inherited": "taken over, as the paper says, from a source that states a condition or that the paper cites for it",
    "inference": "what is concluded does not follow from what is shown, and fails in some instance",
}
"""The grades of an erratum, from a false theorem to an inference that was drawn too quickly, each explained."""


class Typo(str):
    """A typo that is found elsewhere in the paper than the statement that it is recorded with.

    >>> typo = Typo("The year is 2023.", where="Section 4")
    >>> typo, typo.where
    ('The year is 2023.', 'Section 4')
    """

    where: str

    def __new__(cls, text: str, where: str) -> Typo:
        """The sentences, and the place in the paper."""
        made = super().__new__(cls, text)
        made.where = where
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """The arguments from which a copy is made, also in another process."""
        return str(self), self.where


@dataclass(frozen=True)
class Cause:
    """The cause for which one or several printed statements fail, described once, for the paper's authors.

    id: the paper's id, a dot and a name; the script that redoes the smallest counterexample without this package is
    ``dpfl_theory/statements/PAPER/counterexamples/NAME.py`` (dashes of the name are underscores there). text: the cause
    in one paragraph; example: the smallest counterexample in numbers; objection: the strongest objection, in defence of
    the printed statements; response: why that does not save them; proof: if a proof belongs to the cause, the claim
    that it shows and then its steps, one text each.

    >>> Cause("a2020.long-step", "the step", "The step may exceed 2/L.", "f = x^2, step 2: 9 > 1.", "-", "-").script
    'long_step.py'
    """

    id: str
    title: str
    text: str
    example: str
    objection: str
    response: str
    proof: tuple[str, ...] = ()

    @property
    def paper(self) -> str:
        """The paper's id."""
        return self.id.split(".", 1)[0]

    @property
    def script(self) -> str:
        """The name of the file with the counterexample's script."""
        return f"{self.id.split('.', 1)[1].replace('-', '_')}.py"


@dataclass(frozen=True)
class Effect:
    """How much an erratum matters at the paper's own settings: a number, and one sentence that explains it.

    value: None where the paper does not report enough to know it. `statement` is both in words.

    >>> Effect(0.0008, "The right side must grow by this share at r = 1000 of n = 5000 clients.").value
    0.0008
    >>> Effect(None, "The experiments do not give psi_0.").statement
    'not known from the paper: The experiments do not give psi_0.'
    """

    value: float | None
    text: str

    @property
    def statement(self) -> str:
        """The number to three significant digits, or that it is not known, and the sentence."""
        return f"{'not known from the paper' if self.value is None else f'{self.value:.3g}'}: {self.text}"


@dataclass(frozen=True)
class Erratum:
    """The correction of a statement that was read in the paper and that evidence refutes.

    printed: the paper's text; corrected: the text that holds in its place; cause: why it fails, shared by all errata
    that fail for the same reason; why: what is particular to this statement, if there is more to say; counterexample:
    the smallest one found; grade: one of `GRADES`; effect: how much it matters at the paper's own settings; repaired:
    the id of the repaired statement; affects: printed statements that depend on this one; survives: statements that use
    this one and are unaffected, each with the sentence that says why.
    """

    printed: str
    corrected: str
    cause: Cause
    counterexample: str
    grade: str
    effect: Effect
    why: str = ""
    repaired: str = ""
    affects: tuple[str, ...] = ()
    survives: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.grade not in GRADES:
            raise ValueError(f"the grade {self.grade!r} is unknown: choose one of {', '.join(GRADES)}")


@dataclass(frozen=True)
class Remark:
    """A note on a statement that is not refuted in its present form, but would be under another condition.

    text: "if the lost condition is ..., then ..."; shown_by: the id of the sibling that is entered under that condition
    and whose checks refute it; repaired: the id of a form that holds there, if there is one.
    """

    text: str
    shown_by: str
    repaired: str = ""
