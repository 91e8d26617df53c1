"""The templates' environment: numbers as text, bars, formulas, and pages that contain their own style."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from dpfl_theory.core.prose import plain
from dpfl_theory.report import formulas
from dpfl_theory.report.entries import Entry
from dpfl_theory.report.markdown import html

PLACE = Path(__file__).parent
_BLANK = re.compile(r"<pre\b.*?</pre>|(?<=>)\n\s*(?=</?(?:t[dhr]|tbody|dt|dd|dl|m\w+)\b)|\n\s*(?=\n)", re.DOTALL)
"""Line ends between cells, and empty lines; and code, in which they are kept."""
LONG = re.compile(r"(?<![\w./])(?=[\d/]{21})(\d+)(?:/(\d+))?(?![\w./]*\w)")
"""A fraction or whole number of more than twenty characters, on its own."""


def render(template: str, place: Path = PLACE, **values: Any) -> str:
    """The page that a template makes of the values: one of this folder, or of another one that extends these."""
    page = str(environment(place).get_template(template).render(**values))
    return _BLANK.sub(lambda found: found[0] if found[0].startswith("<pre") else "", page)


@cache
def asset(name: str) -> str:
    """A style sheet or a script of this folder, to include in a page: sheets without indents and comments."""
    text = (PLACE / name).read_text(encoding="utf-8")
    if not name.endswith(".css"):
        return text
    return re.sub(r"\s*([{};\n])\s*", r"\1", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


def anchor(text: str) -> str:
    """A statement's or script's name as the id of its place in the page.

    >>> anchor("das2022.theorem7.alpha")
    'das2022-theorem7-alpha'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", text)


def significant(value: Any) -> str:
    """A number to four significant digits, with a power of ten where it is far from 1; a dash for None.

    >>> significant(0.00001234567), significant(12345.678), significant(3), significant(None)
    ('1.235×10⁻⁵', '1.235×10⁴', '3', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    text = f"{value:.4g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}×10{str(int(exponent)).translate(formulas.RAISED)}"
    return text.replace("-", "−")


def abbreviate(text: str) -> str:
    """A sentence with its long fractions and whole numbers, which exact checks often have, as decimals.

    >>> abbreviate("the worst with 18575167966539727/500000000000000 > 1331/128")
    'the worst with 37.15033593 > 1331/128'
    """
    return LONG.sub(_decimal, text)


def _decimal(match: re.Match[str]) -> str:
    try:
        return f"{(Decimal(match[1]) / Decimal(match[2] or 1)).normalize():.10g}"
    except ArithmeticError:  # 0 below the line
        return match[0]


def compact(value: Any) -> str:
    """Plain data in one line: numbers to four digits, long lists cut, long fractions as decimals.

    >>> compact({"rho": 0.1, "values": [1, 2]})
    'rho: 0.1, values: [1, 2]'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {compact(v)}" for k, v in value.items()) or "–"
    if isinstance(value, (list, tuple)):
        shown = ", ".join(compact(v) for v in value[:12])
        return f"[{shown}, … {len(value)} in all]" if len(value) > 12 else f"[{shown}]"
    return abbreviate(value) if isinstance(value, str) else significant(value)


def shortened(value: Any, maximum: int = 240) -> str:
    """Plain data in one line that is cut where it is long.

    >>> shortened([1, 2, 3, 4], maximum=6)
    '[1, …'
    """
    line = compact(value)
    return line if len(line) <= maximum else f"{line[: maximum - 2].rstrip()} …"


def bar(e: Mapping[str, Any], entry: Entry) -> dict[str, Any] | None:
    """Geometry of a tightness bar, in percent of its width: the terms' shares of the bound, and the position of lhs.

    The scale ends slightly beyond the larger of bound and lhs, and a limit beyond it is cut off there; None where there
    is nothing to show.
    """
    rhs, lhs = e["rhs"], e["lhs"]
    terms = {name: value for name, value in e["terms"].items() if value is not None}
    if not rhs or rhs <= 0.0 or not terms or lhs is None or lhs["estimate"] is None:
        return None
    if any(value < 0.0 for value in terms.values()) or not math.isclose(sum(terms.values()), rhs, rel_tol=1e-6):
        return None
    order = {line.name: line.index for line in entry.lines if line.side == "rhs"}
    scale = 100.0 / (1.05 * max(rhs, lhs["estimate"]))
    at = 0.0
    parts = []
    for i, (name, value) in enumerate(terms.items()):
        parts.append(
            {"x": at, "width": value * scale, "share": value / rhs, "name": name, "index": order.get(name, i) % 6}
        )
        at += value * scale
    marker = {key: min(100.0, max(0.0, lhs[key] or 0.0) * scale) for key in ("low", "estimate", "high")}
    return {"parts": parts, "marker": marker}


def first_up(text: str) -> str:
    """A sentence that starts with a capital.

    >>> first_up("a right side"), first_up("psi_0 depends")
    ('A right side', 'psi_0 depends')
    """
    word = text.split(" ", 1)[0]
    return text if "_" in word else text[:1].upper() + text[1:]


def sum_of(counts: Mapping[str, int], key: str = "") -> int:
    """All of some counts, or those under one key.

    >>> sum_of({"holds": 3, "violated": 1}), sum_of({"holds": 3}, "violated")
    (4, 0)
    """
    return counts.get(key, 0) if key else sum(counts.values())


@cache
def environment(place: Path = PLACE) -> Any:
    """The environment of the templates of this folder, and of another one that extends these."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader([place, PLACE]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        brief=abbreviate,
        num=significant,
        compact=compact,
        shortened=shortened,
        mathml=Markup,  # only MathML made by this package goes through this
        anchor=anchor,
        plain=plain,
        prose=lambda text: Markup(html(str(text))),  # which escapes everything except MathML made by itself
        first_up=first_up,
        sum_of=sum_of,
        round_to=lambda value: f"{value:.2g}",
    )
    environment.globals.update(
        bar=bar,
        symbols=lambda s: formulas.symbols(s),
        prescriptions=lambda s: formulas.prescriptions(s),
        hypotheses=lambda s: formulas.hypotheses(s),
        raw=Markup,
        asset=asset,
    )
    return environment
