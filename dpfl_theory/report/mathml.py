"""Elements of MathML that formulas are put together from."""

from __future__ import annotations

import re

__all__ = ["number", "single_element", "with_exponent"]


def single_element(mathml: str) -> str:
    """One element, as the parts of an index and of a power have to be."""
    tag = re.match(r"<(\w+)>", mathml)
    if tag and mathml.count(f"<{tag[1]}>") == 1 and mathml.endswith(f"</{tag[1]}>"):
        return mathml
    return f"<mrow>{mathml}</mrow>"


def with_exponent(base: str, power: str) -> str:
    """A base with its superscript, above its index if it has one."""
    if base.startswith("<msub>") and base.count("<msub>") == 1 and base.endswith("</msub>"):
        return f"<msubsup>{base[6:-7]}{single_element(power)}</msubsup>"
    return f"<msup>{single_element(base)}{single_element(power)}</msup>"


def number(text: str) -> str:
    """A number as it is typed, ``12``, ``0.5`` or ``1e-6``, which is a power of ten."""
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return f"<mn>{mantissa.replace(' ', ' ')}</mn>"
    size = exponent.lstrip("+0") if not exponent.startswith("-") else f"−{exponent[1:].lstrip('0')}"
    power = f"<msup><mn>10</mn><mn>{size or '0'}</mn></msup>"
    return power if mantissa == "1" else f"<mn>{mantissa}</mn><mo>⋅</mo>{power}"
