"""A typo that is elsewhere in the paper than its statement is listed under its own place."""

from __future__ import annotations

import pickle

from dpfl_theory.core import Typo
from dpfl_theory.report.author_report import author_report
from dpfl_theory.report.author_report_text import as_text


def test_the_letter_has_the_slip_s_own_place() -> None:
    found = author_report("shulgin2025")
    (typo,) = (s for s in found["typos"] if "Khirirat et al. (2019)" in s["typo"])
    assert (typo["id"], typo["where"], typo["equation"]) == ("shulgin2025.eq12", "Section 4, Comparison", None)
    assert "shulgin2025.eq12, Section 4, Comparison: Theorem 5.6 is cited" in " ".join(as_text(found).split())


def test_other_slips_have_their_statement_s_place() -> None:
    (typo,) = (s for s in author_report("zhang2021")["typos"] if s["id"] == "zhang2021.eq22")
    assert typo["where"].startswith("Appendix A.1")
    assert typo["equation"] == "22"


def test_a_slip_survives_a_process() -> None:
    typo = Typo("A word is missing.", where="Section 2")
    copy = pickle.loads(pickle.dumps(typo))
    assert (copy, copy.where) == (typo, "Section 2")
