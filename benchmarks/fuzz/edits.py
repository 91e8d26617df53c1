"""Almost valid inputs: a valid file or command with a few edits, and sometimes arbitrary text."""

from __future__ import annotations

import gzip
from collections.abc import Sequence

from hypothesis import strategies as st

__all__ = ["ODD", "edited", "odd_text", "packed"]

ODD: tuple[str, ...] = (
    *("", " ", "0", "-0", "1", "-1", "2", "1e-320", "1e308", "1e999", "-1e999", "nan", "inf", "-inf", "1_0", "0x1f"),
    *(
        "9" * 20,
        "9" * 400,
        "1" * 5000,
        "1.5",
        "1/0",
        "1+2j",
        "true",
        "null",
        "None",
        "[]",
        "{}",
        "[[[[",
        "]]",
        '"',
        "'",
    ),
    *("\\", "#", ";", ",", "\t", "\n", "\r\n", "\0", "\ufeff", "\u202e", "\u0663", "\u00e9", "\U0001f642", "-", "--"),
    *("=", "==", "*", "%s", "{0}", "$HOME", "..", "\ud800", "a" * 300, "1979-05-27", "1:1", "qid:1", "label", "client"),
)
"""Odd text for wrong places: invalid numbers, brackets, quotes, other scripts, half characters."""


def odd_text() -> st.SearchStrategy[str]:
    """A text that is odd, without half characters and zero bytes, which no command line can carry."""
    plain = [text for text in ODD if "\0" not in text and "\ud800" not in text]
    drawn = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0/"), max_size=12)
    return st.one_of(st.sampled_from(plain), st.sampled_from(plain), drawn)


def _payload() -> st.SearchStrategy[bytes]:
    odd = st.sampled_from([text.encode("utf-8", "surrogatepass") for text in ODD])
    return st.one_of(odd, odd, st.binary(min_size=1, max_size=8), st.integers(0, 2**64).map(lambda n: b"%d" % n))


def _words(text: bytes) -> list[tuple[int, int]]:
    """The start and end of each word of a text: runs of letters, digits, points and signs."""
    found, started = list[tuple[int, int]](), None
    for i, byte in enumerate(text + b" "):
        inside = bytes([byte]).isalnum() or byte in b"._+-"
        if inside and started is None:
            started = i
        elif not inside and started is not None:
            found.append((started, i))
            started = None
    return found


@st.composite
def edited(draw: st.DrawFn, valid: Sequence[bytes]) -> bytes:
    """One of the valid inputs with up to five edits (a word, a piece or a byte replaced, left out, put in, doubled or
    moved; the end cut off); one in twenty is arbitrary."""
    if draw(st.integers(0, 19)) == 0:
        return draw(st.binary(max_size=200))
    text = draw(st.sampled_from(valid))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3, 5]))):
        kind = draw(
            st.sampled_from(["word", "word", "word", "piece", "byte", "insert", "delete", "double", "move", "cut"])
        )
        words = _words(text) if kind == "word" else []
        first, last = (
            draw(st.sampled_from(words))
            if words
            else sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        )
        if kind in ("word", "piece"):
            text = text[:first] + draw(_payload()) + text[last:]
        elif kind == "byte" and first < len(text):
            text = text[:first] + bytes([draw(st.integers(0, 255))]) + text[first + 1 :]
        elif kind == "insert":
            text = text[:first] + draw(_payload()) + text[first:]
        elif kind == "delete":
            text = text[:first] + text[min(last, first + 40) :]
        elif kind == "double":
            text = text[:last] + text[first:last] + text[last:]
        elif kind == "move":
            place = draw(st.integers(0, len(text)))
            text = text[:place] + text[first:last] + text[place:]
        elif kind == "cut":
            text = text[:first]
    return text


@st.composite
def packed(draw: st.DrawFn, content: st.SearchStrategy[bytes]) -> bytes:
    """Compressed content, sometimes with an edit of the compressed bytes."""
    whole = gzip.compress(draw(content), 1, mtime=0)
    return whole if draw(st.integers(0, 2)) else draw(edited([whole]))
