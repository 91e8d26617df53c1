"""A second reader of certificates, which decides by the verifier that finds proofs; the script must agree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpfl_theory.checks.interpolation import SampledFunction
from dpfl_theory.checks.verifier import Form, combined, proves

_FRACTION = re.compile(r"-?[0-9]+(/[1-9][0-9]*)?")


def verified(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate proves its claim: read from its plain data, and decided by the exact verifier.

    Raises ValueError for data that is not a certificate.
    """
    try:
        read = _Reader(len(certificate["vectors"]), len(certificate["values"]))
        samples = [read.function(f) for f in certificate["functions"]]
        conditions = [read.form(c["form"], c["relation"]) for c in certificate["conditions"]]
        multipliers = [_number(c["multiplier"]) for c in certificate["conditions"]]
        for n, i, j, v in certificate["interpolation"]:
            function = samples[_index(n, len(samples))]
            conditions.append(function.inequality(*(_index(k, len(function.points)) for k in (i, j))))
            multipliers.append(_number(v))
        left, right, bound = read.form(certificate["left"]), read.form(certificate["right"]), certificate["bound"]
        difference = combined([(Fraction(1), left), (-_number(bound), right)])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is not a certificate: {error!r}") from error
    return proves(difference, conditions, Fraction(0), multipliers)


@dataclass(frozen=True)
class _Reader:
    """Reads the combinations of this many vectors and values in a certificate."""

    vectors: int
    values: int

    def function(self, function: Mapping[str, Any]) -> SampledFunction:
        L, mu = (_number(function[name]) if name in function else None for name in ("L", "mu"))
        ends = {"x": self.vectors, "g": self.vectors, "f": self.values}
        x, g, f = ([_read(p[part], end) for p in function["points"]] for part, end in ends.items())
        return SampledFunction(function["class"], L, mu, tuple(zip(x, g, f)))

    def form(self, form: Mapping[str, Any], relation: str = "<=") -> Form:
        if relation not in ("<=", "=="):
            raise ValueError(f"the relation {relation!r} is unknown")
        products: dict[tuple[int, int], Fraction] = {}
        for i, j, c in form["products"]:
            first, second = sorted(_index(k, self.vectors) for k in (i, j))
            products[first, second] = products.get((first, second), Fraction(0)) + _number(c)
        return Form(products, _read(form["values"], self.values), equality=relation == "==")


def _read(pairs: Iterable[Sequence[Any]], end: int) -> dict[int, Fraction]:
    found: dict[int, Fraction] = {}
    for k, v in pairs:
        found[_index(k, end)] = found.get(k, Fraction(0)) + _number(v)
    return found


def _index(value: Any, end: int) -> int:
    if type(value) is not int or not 0 <= value < end:
        raise ValueError(f"{value!r} is not an index below {end}")
    return value


def _number(value: Any) -> Fraction:
    if not isinstance(value, str) or not _FRACTION.fullmatch(value):
        raise ValueError(f"{value!r} is not a fraction, such as '-3/4'")
    return Fraction(value)
