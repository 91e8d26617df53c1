"""Formulas in sentences: what is sure to be one is set, nothing is lost, and nothing is said otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfl_theory import statements
from dpfl_theory.report.ascii_prose import pieces, prose


def sentences() -> Iterator[str]:
    """Everything that the catalogue says."""
    for s in statements.all_statements():
        yield from (s.title, s.text, s.reading, s.source.note, s.source.restoration, *s.typos)
        yield from (a.text for a in s.hypotheses)
        yield from (symbol.meaning for symbol in s.quantities)
        if s.erratum is not None:
            e = s.erratum
            yield from (e.printed, e.corrected, e.counterexample, e.why, e.effect.text, *e.survives.values())
            yield from (e.cause.title, e.cause.text, e.cause.example, e.cause.objection, e.cause.response)
        if s.remark is not None:
            yield s.remark.text


def formulas(text: str) -> list[str]:
    """The pieces that are set, as they were typed."""
    return [source for source, mathml in pieces(text) if mathml]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("each f_i is L-smooth over R^d", ["f_i", "L", "R^d"]),
        ("eta L E <= 6/25, or 3/10 where E >= 2", ["eta L E <= 6/25", "3/10", "E >= 2"]),
        ("C_hat >= 4 sqrt(L max_j Delta_j*)", ["C_hat >= 4 sqrt(L max_j Delta_j*)"]),
        ("||grad f_i - grad f||^2 <= sigma_g^2, always", ["||grad f_i - grad f||^2 <= sigma_g^2"]),
        ("it is (epsilon, delta)-private", ["(epsilon, delta)"]),
        ("c' >= G, and 'with probability r/n'. So", ["c' >= G", "r/n"]),
        ("w* minimises f: for f_i it is any point", ["w*", "f", "f_i"]),
        ("R = 10 000 and C = GE and", ["R = 10 000", "C = GE"]),
        ("K_M(lambda) = ln E[(p/q)^lambda]", ["K_M(lambda) = ln E[(p/q)^lambda]"]),
    ],
)
def test_formulas_are_found_whole(text: str, found: list[str]) -> None:
    assert formulas(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "A bound that a client or I may use",
        "Theorem 4 (b), Section 4.1, Appendix F, (20) to (22), option (i), and Lemma C.7",
        "run dpfl-theory check das2022.theorem4a --alpha 1e-6 in a/b/c.py",
        "see https://example.org/a_b or `a_b <= c`, in 2020b; l2 sensitivity; DP, SNR and RDP",
        "the clients' sizes, client 3's data, 5% of them",
        "",
    ],
)
def test_what_is_no_formula_is_left_alone(text: str) -> None:
    assert formulas(text) == []


def test_nothing_of_the_catalogue_is_lost_and_all_is_well_formed() -> None:
    reported, typed, left = set(sentences()), 0, 0
    for text in reported:
        assert "".join(source for source, _ in pieces(text)) == text
        ElementTree.fromstring(f"<p>{prose(text)}</p>".replace("<wbr>", ""))
        typed += len(re.findall(r"<=|>=|\^|\w_\w|\|\|", text))
        left += sum(len(re.findall(r"<=|>=|\^|\w_\w|\|\|", source)) for source, mathml in pieces(text) if not mathml)
    assert left < 0.06 * typed


SIGNS = {
    "≤": "<=",
    "≥": ">=",
    "−": "-",
    "⋅": "",
    "∇": "grad",
    "∑": "sum",
    "∏": "prod",
    "‖": "||",
    "′": "'",
    "\u2061": "",
}


def test_letters_numbers_and_signs_stand_in_their_order() -> None:
    """What is set has the letters, numbers and signs of what was typed, in this order (groups and roots aside)."""
    from dpfl_theory.report.ascii_tokens import GREEK

    back = {symbol: name for name, symbol in GREEK.items() if name not in ("eps", "varepsilon")}
    for text in set(sentences()):
        for source, mathml in pieces(text):
            if not mathml or "e" in re.sub(r"[A-Za-z]{2,}", "", source) or "_hat" in source or "_bar" in source:
                continue
            shown = unescape(re.sub(r"<[^>]+>", "", mathml)).replace("\0", "")
            shown = "".join(back.get(c, SIGNS.get(c, c)) for c in shown)
            bare = re.compile(r"[\s(){}_^\u202f]|sqrt|\*")
            typed = re.sub(r"\beps(?![a-z])", "epsilon", source).replace("~", "")
            assert bare.sub("", shown.replace("~", "")) == bare.sub("", typed), source


TAGS = {"math", "mrow", "mi", "mn", "mo", "msub", "msup", "msubsup", "msqrt", "mover", "span", "wbr"}


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="abEfLKw_^*/()[]{}|<>=+-,.~' 0129&\"\n", max_size=60))
def test_any_text_is_kept_and_escaped(text: str) -> None:
    assert "".join(source for source, _ in pieces(text)) == text
    assert set(re.findall(r"</?(\w+)", prose(text))) <= TAGS
    ElementTree.fromstring(f"<p>{prose(text)}</p>".replace("<wbr>", ""))
