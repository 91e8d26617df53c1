"""Markdown prose as HTML: each formula of the catalogue is MathML, and everything else is escaped."""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latex2mathml.converter import convert

from dpfl_theory import statements
from dpfl_theory.core.prose import FORMULA
from dpfl_theory.report import formulas
from dpfl_theory.report.markdown import UNBROKEN, html, terminal

TAGS = {"math", "mrow", "mi", "mn", "mo", "msub", "msup", "msubsup", "msqrt", "mover", "munder", "mfrac", "mtext"}
TAGS |= {"mspace", "mstyle", "mpadded", "munderover", "span", "wbr"}
TAGS |= {"em", "strong", "code", "a", "br"}


def texts() -> list[str]:
    found = {text for s in statements.all_statements() for text in formulas.hypotheses(s)}
    for s in statements.all_statements():
        found |= {s.title, s.text, s.reading, s.source.note, s.source.restoration, *s.typos}
        found |= {symbol.meaning for symbol in s.quantities}
        if (e := s.erratum) is not None:
            found |= {e.printed, e.corrected, e.counterexample, e.why, e.effect.text, *e.survives.values()}
            found |= {e.cause.title, e.cause.text, e.cause.example, e.cause.objection, e.cause.response, *e.cause.proof}
        found |= {s.remark.text} if s.remark is not None else set()
    return sorted(found)


def test_every_formula_of_the_catalogue_is_read_by_the_converter() -> None:
    """A command that it does not know would be shown with its backslash, and a text that it cannot read as it is."""
    for latex in {latex for text in texts() for latex in FORMULA.findall(text)}:
        assert "\\" not in convert(latex), latex
        assert f"<mtext>{latex}" not in html(f"${latex}$"), latex


def test_all_texts_of_the_catalogue_are_well_formed() -> None:
    for text in texts():
        shown = html(text)
        ElementTree.fromstring(f"<p>{shown}</p>".replace("<wbr>", ""))
        assert shown.count("<math") >= len(FORMULA.findall(text)), text


@pytest.mark.parametrize(
    ("markdown", "parts"),
    [
        (r"$\eta \le 1/L$", ["η≤1/L"]),  # short
        (r"$\alpha + \beta + \gamma \le \delta + \varepsilon$", ["α", "+β", "+γ", "≤δ", "+ε"]),
        (r"$\|\alpha + \beta\|^2 \le (\gamma + \delta)^2$", ["‖α+β‖2", "≤(γ+δ)2"]),
        (r"$-\alpha \ge -\beta + 1000000000$", ["−α", "≥−β", "+1000000000"]),
        (r"$E[\alpha_i | x_0, x_1] = |\alpha + \beta|$", ["E[αi|x0,x1]", "=|α+β|"]),
    ],
)
def test_long_formulas_may_break_before_signs_outside_of_parentheses(markdown: str, parts: list[str]) -> None:
    assert [unescape(re.sub("<[^>]+>", "", part)) for part in html(markdown).split("<wbr>")] == parts


def test_what_is_wider_than_a_phone_scrolls() -> None:
    assert 'class="long"' in html(rf"$\sqrt{{{' + '.join('abcdefghijklmnop')}}}$")
    assert 'class="long"' not in html("$" + "a" * UNBROKEN + "$")


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("*all* of **them**, `x_i` and x_i_j", "<em>all</em> of <strong>them</strong>, <code>x_i</code> and x_i_j"),
        (r"$a*b$ *is* $c*d$", "<math><mi>a</mi><mo>*</mo><mi>b</mi></math> <em>is</em> "
         "<math><mi>c</mi><mo>*</mo><mi>d</mi></math>"),
        ("[the page](https://a.b)", '<a href="https://a.b">the page</a>'),
        ("[no page](javascript:a) ![no image](a.png)", '[no page](javascript:a) !<a href="a.png">no image</a>'),
    ],
)  # fmt: skip
def test_markup_is_read(markdown: str, shown: str) -> None:
    assert html(markdown) == shown


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("# A\n\nb *c*\nd\n\n## E $\\le$\n\nf\n\n### G\n\nh", "A\nb c d\n\nE <=\n  f\n\n  G\n    h"),
        ("1. a\n2. b\n\n- `c d`", "1. a\n2. b\n- c d"),
        ("## A\n\n```python\nx = 1\n\ny\n```\n\n---\n\nend", "A\n    x = 1\n\n    y\n\nend"),
        ("a " * 54 + "`b c d`", "a " * 53 + "a\n  b c d"),
    ],
)
def test_a_document_in_a_terminal(document: str, text: str) -> None:
    assert terminal(document) == text


def test_text_is_escaped_and_signs_next_to_words_are_set() -> None:
    assert html("x < y & z <= w, <b> \\$5") == "x &lt; y &amp; z ≤ w, &lt;b&gt; $5"


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="abE\\{}_^$()[]|<>=+-,.~' 0129&\"\n", max_size=40))
def test_any_text_is_safe(text: str) -> None:
    shown = html(text)
    assert set(re.findall(r"</?(\w+)", shown)) <= TAGS
    ElementTree.fromstring(f"<p>{shown}</p>".replace("<wbr>", ""))
