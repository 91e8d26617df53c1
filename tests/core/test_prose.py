"""Markdown prose of the catalogue, and its plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfl_theory import statements
from dpfl_theory.core.prose import FORMULA, plain, plain_data, replace_formulas


def sentences() -> Iterator[str]:
    """The texts of the catalogue."""
    for s in statements.all_statements():
        yield from (s.title, s.text, s.reading, s.source.note, s.source.restoration, *s.typos)
        yield from (a.markdown() for a in s.hypotheses)
        yield from (symbol.meaning for symbol in s.quantities)
        if s.erratum is not None:
            e = s.erratum
            yield from (e.printed, e.corrected, e.counterexample, e.why, e.effect.text, *e.survives.values())
            yield from (e.cause.title, e.cause.text, e.cause.example, e.cause.objection, e.cause.response)
            yield from e.cause.proof
        if s.remark is not None:
            yield s.remark.text


SENTENCES = sorted(set(sentences()))


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (r"$\hat C \ge 4 \sqrt{L \max_j \Delta_j^*}$", "C_hat >= 4 sqrt(L max_j Delta_j*)"),
        (r"$\|\nabla f_i - \nabla f\|^2 \le \sigma_g^2$, always", "||grad f_i - grad f||^2 <= sigma_g^2, always"),
        (r"$C' \ne |x_{t+1}^{(i)}|$", "C' != |x_{t+1}^(i)|"),
        (r"$E_\text{deviation}$ is $10^{-6}$ or $2.5 \cdot 10^{-3}$", "E_deviation is 1e-6 or 2.5e-3"),
        (r"$\langle x, y\rangle \in [0, \infty)$", "<x, y> in [0, infinity)"),
        (r"$\frac{a + 1}{\alpha} \frac{1}{2L}$", "(a + 1)/alpha 1/(2L)"),
        (r"$x^{k-1}, \dots, x^{1/2}, e^{-4}, x^{\alpha L}$", "x^{k-1}, ..., x^(1/2), e^-4, x^(alpha L)"),
        (r"$\tilde\eta = \bar x \pm \mathbb{E} x$", "eta~ = x_bar +- E x"),
        (r"$\min\{1, 2\} \to \operatorname{Var}(x)$", "min{1, 2} -> Var(x)"),
        (r"$\lfloor lM\rfloor + \lceil\alpha\rceil$", "floor(lM) + ceil(alpha)"),
        (r"$\surely \unknown{x}$", "surely unknownx"),
        ("it costs 5$ or 6$, \\$7 and $ 8$", "it costs 5$ or 6$, $7 and $ 8$"),
        ("no formula", "no formula"),
        ("", ""),
    ],
)
def test_the_plain_text_of_formulas(markdown: str, text: str) -> None:
    assert plain(markdown) == text


def test_keys_and_numbers_of_plain_data_stay() -> None:
    data = {"$a$": ["$b$", {"title": (1, None, r"$\le$")}], "script": {"text": "$b$"}, "proof": ["$b$", {"c": "$d$"}]}
    known = {"$a$": ["$b$", {"title": [1, None, "<="]}], "script": {"text": "$b$"}, "proof": ["b", {"c": "d"}]}
    assert plain_data(data) == known


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab\\{}_^$|' 0x\n", max_size=40))
def test_every_text_has_a_plain_text(text: str) -> None:
    plain(text)
    assert replace_formulas(text, lambda latex: f"${latex}$") == text


def test_the_catalogue_has_formulas_in_each_paper() -> None:
    for paper in statements.papers():
        assert sum(len(FORMULA.findall(s.text)) for s in statements.select((), paper)) > 10, paper


def test_plain_texts_of_the_catalogue_have_neither_commands_nor_dollars() -> None:
    assert [text for text in SENTENCES if re.search(r"[\\$]", plain(text))] == []


def test_no_typed_formula_is_left_in_the_catalogue() -> None:
    """Signs that only formulas have are in formulas."""
    left = [FORMULA.sub("", text) for text in SENTENCES]
    assert [
        text for text in left if re.search(r"[<>]=|\^|\|\||\w~|(?<!\.)\b(?:alpha|eta|sigma|epsilon|delta)\b", text)
    ] == []
