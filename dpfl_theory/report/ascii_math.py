"""Reads a formula as it is typed in a sentence, ``eta_l <= 1/(2L)``, and gives MathML: a recursive-descent parser that
takes the longest piece that is a formula."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from html import escape

from dpfl_theory.report.ascii_tokens import (
    ACRONYMS,
    CLOSING,
    FUNCTIONS,
    GREEK,
    RELATIONS,
    SIGNS,
    SYMBOLS,
    WORDS,
    Token,
    Tokens,
)
from dpfl_theory.report.mathml import number, single_element, with_exponent

__all__ = ["BREAK", "NoFormulaError", "Reader"]

BREAK = "\0"
"""The mark of a place at which a line may break."""


class NoFormulaError(Exception):
    """The text here is not a formula."""


class Reader(Tokens):
    """Reads a formula by recursive descent; each method returns MathML, and leaves ``at`` behind the part it has
    read."""

    def __init__(self, text: str, start: int) -> None:
        super().__init__(text, start)
        self.depth = 0
        self.waiting: tuple[str, ...] = ()
        """The bars that would close a norm here, so they open none."""

    def relations(self) -> str:
        """Sums with relations between them."""
        found = self.sum()
        while (t := self.peek()) and t.kind == "relation":
            after = self.peek(1)
            if after is None or t.spaced != after.spaced:  # spaces on both sides or on none
                break
            found = self._more(found, f"{self.break_}<mo>{escape(RELATIONS[t.text])}</mo>", self.sum)
            if self.peek() is t:
                break
        return found

    @property
    def break_(self) -> str:
        """The mark of a place at which a line may break."""
        return BREAK if self.depth == 0 else ""

    def sum(self) -> str:
        """Products with signs between them."""
        found = ""
        first = self.peek()
        if first and first.text in SIGNS and self.close_to_next():
            self.at += 1
            found = f"<mo>{SIGNS[first.text]}</mo>"
        found += self.product()
        while (t := self.peek()) and t.text in SIGNS:
            after = self.peek(1)
            if after is None or t.spaced != after.spaced:  # spaces on both sides or on none
                break
            found = self._more(found, f"{self.break_}<mo>{SIGNS[t.text]}</mo>", self.product)
            if self.peek() is t:
                break
        return found

    def product(self) -> str:
        """Powers one after the other, or with strokes or dots between them."""
        found = self.power()
        while t := self.peek():
            if t.text in ("/", "*"):
                after = self.peek(1)
                if after is None or t.spaced != after.spaced:
                    break
                found = self._more(found, "<mo>/</mo>" if t.text == "/" else "<mo>⋅</mo>", self.power)
            elif t.kind in ("name", "bars") or t.text in "([{":
                if t.kind == "bars" and (t.spaced or t.text in self.waiting):
                    break
                if t.text in WORDS and t.spaced:
                    break
                if t.spaced and t.text in CLOSING and (t.text != "(" or self._aside()):
                    break
                found = self._more(found, "", self.power, skip=0)
            else:
                break
            if self.peek() is t:
                break
        return found

    def _aside(self) -> bool:
        """Whether parentheses after a space are not a factor: after a lone number, or with a relation inside."""
        if self.at == 1 and self.tokens[0].kind == "number":
            return True
        before = self.at
        try:
            self.group()
            return any(t.kind == "relation" for t in self.tokens[before : self.at])
        except NoFormulaError:
            return True
        finally:
            self.at = before

    def power(self) -> str:
        """A base with its exponent."""
        base = self.atom()
        while (t := self.peek()) and not t.spaced and t.text in ("^", "*", "'"):
            after = self.peek(1)
            if t.text == "*" and after and not after.spaced and (after.kind in ("name", "number") or after.text == "("):
                break
            if t.text == "^":
                self.at += 1
                try:
                    base = with_exponent(base, self.superscript())
                except NoFormulaError:
                    self.at -= 1
                    break
            elif t.text == "*":
                self.at += 1
                base = with_exponent(base, "<mo>*</mo>")
            else:
                if self.quoted:
                    break
                primes = 1
                while (more := self.peek(primes)) and not more.spaced and more.text == "'":
                    primes += 1
                after = self.peek(primes)
                if after and not after.spaced and after.kind == "name":
                    break
                self.at += primes
                base = with_exponent(base, f"<mo>{'′' * primes}</mo>")
        return base

    def superscript(self) -> str:
        """The exponent after ^: a group, a signed number or a letter."""
        t = self.peek()
        if t is None or t.spaced:
            raise NoFormulaError
        if t.text == "*":
            self.at += 1
            return "<mo>*</mo>"
        if t.text in SIGNS:
            self.at += 1
            return f"<mo>{SIGNS[t.text]}</mo>{self.atom()}"
        if t.text in ("{", "("):
            return self.group(shown=False)
        return self.atom()

    def atom(self) -> str:
        """A number, a letter with its index, a function, a group or a norm."""
        t = self.peek()
        if t is None:
            raise NoFormulaError
        if t.kind == "number":
            self.at += 1
            return number(t.text)
        if t.kind == "bars":
            return self.norm(t)
        if t.text in CLOSING:
            return self.group()
        if t.kind == "name":
            return self.name(t)
        raise NoFormulaError

    @contextlib.contextmanager
    def within(self, waiting: tuple[str, ...]) -> Iterator[None]:
        """From the token that opens a part, past the one that closes it; if it is not a formula, nothing is
        consumed."""
        before = self.at, self.waiting
        self.at += 1
        self.depth += 1
        self.waiting = waiting
        try:
            yield
        except NoFormulaError:
            self.at, self.waiting = before
            raise
        finally:
            self.depth -= 1
        self.at += 1
        self.waiting = before[1]

    def norm(self, t: Token) -> str:
        """||...|| or |...|."""
        with self.within((*self.waiting, t.text)):
            inside = self.relations()
            end = self.peek()
            if end is None or end.text != t.text:
                raise NoFormulaError
        mark = f"<mo>{'‖' if t.text == '||' else '|'}</mo>"
        return f"<mrow>{mark}{inside}{mark}</mrow>"

    def group(self, shown: bool = True) -> str:
        """The content of parentheses, with commas between its parts; without parentheses where an exponent needs
        none."""
        opening = self.tokens[self.at]
        with self.within(()):
            if self.at == 1 and (n := self.peek(1)) and n.text == ")" and self.tokens[1].text not in GREEK:
                raise NoFormulaError  # (a), the name of a part
            inside = self.relations()
            commas = 0
            while (t := self.peek()) and t.text == ",":
                self.at += 1
                commas += 1
                inside += f"<mo>,</mo>{self.relations()}"
            end = self.peek()
            matching = end is not None and end.text in CLOSING[opening.text] and not end.spaced
            if not matching or end is None or (end.text != CLOSING[opening.text][0] and not commas):
                raise NoFormulaError
        kept = shown or (opening.text == "(" and "<mo>" not in inside.removeprefix("<mo>−</mo>") and "<mi>" in inside)
        return f"<mrow><mo>{opening.text}</mo>{inside}<mo>{end.text}</mo></mrow>" if kept else f"<mrow>{inside}</mrow>"

    def name(self, t: Token) -> str:
        """A letter with its accents and its index, a Greek letter by its name, or a function."""
        after = self.peek(1)
        beside = after is not None and not after.spaced
        if t.text in FUNCTIONS:
            return self.function(t, after.text if after is not None and beside else "")
        if t.text not in GREEK and len(t.text) > 1:
            if not (len(t.text) <= 3 and t.text.isalpha() and self._factor(t)):
                raise NoFormulaError
            self.at += 1
            return "".join(f"<mi>{c}</mi>" for c in t.text[:-1]) + self.index(f"<mi>{t.text[-1]}</mi>")
        if t.text in WORDS and not (self.at or (after is not None and beside and after.text in "_^/(=*")):
            raise NoFormulaError
        self.at += 1
        return self.index(f"<mi>{GREEK.get(t.text, t.text)}</mi>")

    def _factor(self, t: Token) -> bool:
        """Whether letters without space are a product, such as QL in 1/(2 QL): next to a sign, with a capital."""
        before = self.tokens[self.at - 1] if self.at else None
        later = self.peek(1)
        if t.text in ACRONYMS or not any(c.isupper() for c in t.text):
            return False
        if before is None:
            return later is not None and (later.kind == "relation" or later.text == "^")
        if not t.spaced and (before.kind == "number" or before.text in "/(*^"):
            return True
        bound = later is None or later.spaced or later.text in ")/^*_,}]" or later.kind in ("relation", "bars")
        return bound and (before.kind == "relation" or before.text in "+-")

    def index(self, base: str) -> str:
        """The letter with an accent and an index, if it has them."""
        t = self.peek()
        if t and not t.spaced and t.text == "~" and (n := self.peek(1)) and not n.spaced and n.text == "_":
            self.at += 1
            base = f"<mover>{base}<mo>~</mo></mover>"
            t = self.peek()
        if not (t and not t.spaced and t.text == "_"):
            return base
        low = self.peek(1)
        if low is None or low.spaced:
            raise NoFormulaError
        accents = {"hat": "^", "bar": "¯", "tilde": "~"}
        if low.text in accents:
            self.at += 2
            return self.index(f"<mover>{base}<mo>{accents[low.text]}</mo></mover>")
        self.at += 1
        if low.text in ("{", "("):
            return f"<msub>{single_element(base)}{self.group(shown=False)}</msub>"
        if low.kind not in ("name", "number"):
            raise NoFormulaError
        self.at += 1
        if low.text in GREEK:
            inside = f"<mi>{GREEK[low.text]}</mi>"
        elif low.kind == "number":
            inside = f"<mn>{low.text}</mn>"
        else:  # words are upright, as MathML has names of several letters
            inside = f"<mi>{low.text}</mi>"
        return f"<msub>{single_element(base)}{inside}</msub>"

    def function(self, t: Token, following: str) -> str:
        """A function with its argument, a sum with its index, a gradient."""
        start = self.at
        if t.text == "sqrt":
            if following != "(":
                raise NoFormulaError
            self.at += 1
            inside = self.group().removeprefix("<mrow><mo>(</mo>").removesuffix("<mo>)</mo></mrow>")
            return f"<msqrt>{inside}</msqrt>"
        nothing = not following or following not in "({_^|["
        if nothing and t.text not in ("grad", "log", "ln", "sum"):
            raise NoFormulaError
        self.at += 1
        sign = SYMBOLS.get(t.text)
        found = self.index(f"<mo>{sign}</mo>" if sign else f"<mi>{t.text}</mi>")
        try:
            if sign and (end := self.peek()) and not end.spaced and end.text == "^":
                self.at += 1
                found = with_exponent(found, self.superscript())
            return found + ("" if sign else "<mo>&#x2061;</mo>") + self.power()
        except NoFormulaError:
            self.at = start
            raise

    def _more(self, found: str, between: str, part: Callable[[], str], skip: int = 1) -> str:
        """The result with one more part; unchanged where none can be read."""
        before = self.at
        self.at += skip
        try:
            return found + between + part()
        except NoFormulaError:
            self.at = before
            return found
