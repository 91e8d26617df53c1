"""shulgin2025 Lemma 1 and Table 1 (Section 3): properties of smoothed normalisation, clipping and compressors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Case, Check, Sides, Source, Statement, Values, battery, checks
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._line import root
from dpfl_theory.statements.symbolic import all_equal

Vector = tuple[Fraction, ...]

_LENGTH = shu.norm("r", r"\|g\|")
_REST = shu.norm("rest", r"\|g - \beta \mathrm{Norm}_\alpha(g)\|")
_CLIPPED = shu.norm("rest", r"\|\mathrm{Clip}_\tau(g) - g\|")


def _square(g: Sequence[Fraction]) -> Fraction:
    return sum((x * x for x in g), Fraction(0))


def length(g: Sequence[Fraction]) -> Fraction:
    """||g|| of a vector of rational length.

    >>> length((Fraction(3), Fraction(4)))
    Fraction(5, 1)
    """
    return root(_square(g))


def smoothed(g: Vector, alpha: Fraction) -> Vector:
    """Norm_alpha(g) = g/(alpha + ||g||), 0/0 = 0."""
    scale = alpha + length(g)
    return tuple(x / scale if scale else Fraction(0) for x in g)


def clipped(g: Vector, tau: Fraction) -> Vector:
    """Clip_tau(g) = min(1, tau/||g||) g."""
    r = length(g)
    return tuple(x * min(Fraction(1), tau / r) if r else x for x in g)


def top(g: Vector, k: int) -> Vector:
    """The k entries of largest absolute value, 0 elsewhere."""
    kept = sorted(range(len(g)), key=lambda j: -abs(g[j]))[:k]
    return tuple(x if j in kept else Fraction(0) for j, x in enumerate(g))


def _given(instance: Mapping[str, Any], *names: str) -> Iterator[tuple[Any, ...]]:
    """Each vector of the instance with all combinations of its other numbers."""
    numbers = [[Fraction(x) for x in instance[name]] for name in names]
    return itertools.product((tuple(Fraction(x) for x in g) for g in instance["g"]), *numbers)


def _rest(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """||g - beta Norm_alpha(g)|| of vectors; it is a root."""
    for g, a, b in _given(instance, "alpha", "beta"):
        if a or any(g):  # not 0/0
            rest = sp.sqrt(_square([x - b * y for x, y in zip(g, smoothed(g, a))]))
            symbols = {"rest": rest, "alpha": a, "beta": b, "r": length(g)}
            yield Values(symbols, instance={"g": g, "alpha": a, "beta": b})


def _of_lemma1(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """(8) of Lemma 1, where another statement quotes it."""
    return [
        Case(i.evidence_instance, *(evaluate_side(LEMMA1, side, i.symbol_values) for side in ("lhs", "rhs")))
        for i in _rest(LEMMA1, instance)
    ]


def _clipping(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """||Clip_tau(g) - g|| of vectors."""
    for g, tau in _given(instance, "tau"):
        rest = length([x - y for x, y in zip(clipped(g, tau), g)])
        yield Values({"rest": rest, "r": length(g), "tau": tau}, instance={"g": g, "tau": tau})


def _compressors(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """Top-k is contractive with eta = k/d: the excess of ||C(g) - g||^2 over (1 - k/d)||g||^2 is 0."""
    for (g,) in _given(instance):
        for k in range(1, len(g) + 1):
            rest = _square([x - y for x, y in zip(top(g, k), g)])
            excess = max(Fraction(0), rest - (1 - Fraction(k, len(g))) * _square(g))
            yield Case({"g": g, "k": k}, excess, Fraction(0))


_SEVENTH = "It decides (7), ||Norm_alpha(g)|| <= 1, which the statement also has; the two sides are those of (8)."


@algebra("(7)", _SEVENTH)
def _bounded(_: Formula) -> Proof:
    """(7): 1 - ||Norm_alpha(g)|| = alpha/(alpha + ||g||) >= 0."""
    a, r = sp.symbols("alpha r", positive=True)
    return 1 - r / (a + r), a / (a + r), "1 less ||Norm_alpha(g)||"


@algebra("(8) for three entries")
def _expanded(s: Formula) -> Proof:
    """The proof of (8): ||g||^2 - 2 (beta/(alpha + r)) r^2 + (beta/(alpha + r))^2 r^2, for three entries."""
    g = sp.symbols("g1:4", real=True)
    r = sp.sqrt(sum(x**2 for x in g))
    left = sum((x - s.beta * x / (s.alpha + r)) ** 2 for x in g)
    return sp.factor(left), of(s.statement, r=r).rhs, "||g - beta Norm_alpha(g)||^2 against (8)"


@algebra("where (8) contracts")
def _factor(s: Formula) -> Proof:
    """Where (8) contracts: 1 - (1 - beta/(alpha + r))^2 = beta (2 (alpha + r) - beta)/(alpha + r)^2, positive for beta
    < 2 (alpha + r); its limits for r -> 0 and r -> oo."""
    a, b, r = sp.symbols("alpha beta r", positive=True)
    eta = 1 - of(s.statement, alpha=a, beta=b, r=r).rhs / r**2
    found = all_equal(
        (eta, b * (2 * (a + r) - b) / (a + r) ** 2, "eta of (8)"),
        (eta.subs(r, 0), 1 - (1 - b / a) ** 2, "eta for r -> 0"),
        (sp.limit(eta, r, sp.oo), 0, "eta for r -> oo"),
    )
    said = "(8) contracts for beta < 2 (alpha + ||g||), and ever less as ||g|| grows"
    return replace(found, reason=said) if found.true else found


@algebra("clipping")
def _shortened(s: Formula) -> Proof:
    """||g - (tau/r) g|| = (1 - tau/r) r for r = tau + more, and 0 for r <= tau."""
    more = sp.Symbol("more", positive=True)
    r = s.tau + more
    return [
        (of(s.statement, r=r).rhs, (1 - s.tau / r) * r, "the decrease by clipping of a longer vector"),
        (of(s.statement, r=s.tau - more).rhs, 0, "the decrease by clipping of a shorter vector"),
    ]


@algebra(
    "no factor below 1 for all vectors",
    "It decides that neither operator has one eta > 0 for all vectors; the two sides are those of the second row.",
)
def _no_common_factor(_: Formula) -> Proof:
    """The eta of clipping at ||g|| = r > tau is 1 - (1 - tau/r)^2 = tau (2r - tau)/r^2 (1 for r <= tau), of smoothed
    normalisation beta (2 (alpha + r) - beta)/(alpha + r)^2: both tend to 0 as r grows."""
    a, b, r, tau = sp.symbols("alpha beta r tau", positive=True)
    limits = [sp.limit(1 - (1 - x) ** 2, r, sp.oo) for x in (tau / r, b / (a + r))]
    return [
        (1 - (1 - tau / r) ** 2, tau * (2 * r - tau) / r**2, "eta of clipping"),
        (limits[0] + limits[1], 0, "the two eta for r -> oo"),
    ]


_VECTORS = [["3", "4"], ["-3/10", "2/5", "0"], ["1/1000"], ["2", "-3", "6"], ["1", "2", "2"]]
_EIGHTH = {"g": _VECTORS, "alpha": ["0", "1/100", "1", "7"], "beta": ["1/100", "1", "5", "40"]}
_TOP = "It decides the first row for Top-k, as an excess of 0; the two sides are those of the second row."
_THIRD = "It decides the third row, the two sides of shulgin2025.lemma1; those here are of the second row."

LEMMA1: Statement = Statement(
    id="shulgin2025.lemma1",
    kind="lemma",
    source=Source(shu.PAPER, "Lemma 1, Section 3.3", "7, 8", provenance="restored"),
    symbols=(_REST, _LENGTH, *shu.symbols("alpha", "beta")),
    relation="==",
    sides=lambda s: Sides({"rest": s.rest**2}, {"factor": (1 - s.beta / (s.alpha + s.r)) ** 2 * s.r**2}),
    checks=battery(
        _bounded,
        _expanded,
        _factor,
        Check("exact", "(8) for rational vectors", _rest, _EIGHTH),
        checks(
            "worst-case", worst.bounded, {f"(7), alpha = {a} ||g||": {"alpha": a} for a in ("1/2", "3")}, part=_SEVENTH
        ),
        checks(
            "worst-case",
            worst.normalisation,
            {
                f"(8), {half}, alpha = {a}, beta = {b} in units of ||g||": {"alpha": a, "beta": b, "half": half}
                for half in ("<=", ">=")
                for a, b in (("0", "1/2"), ("0", "3"), ("1", "1"), ("1/8", "1"), ("4", "1/4"))
            },
        ),
    ),
)

TABLE1: Statement = Statement(
    id="shulgin2025.table1",
    kind="table",
    source=Source(shu.PAPER, "Table 1, Section 3.4", provenance="restored"),
    symbols=(_CLIPPED, _LENGTH, *shu.symbols("tau")),
    relation="==",
    sides=lambda s: Sides({"rest": s.rest}, {"length": sp.Max(0, s.r - s.tau)}),
    checks=battery(
        _shortened,
        _no_common_factor,
        Check("exact", "clipping", _clipping, {"g": [*_VECTORS, ["0", "0"]], "tau": ["1/100", "1/2", "3", "100"]}),
        Check("exact", "Top-k", _compressors, {"g": [*_VECTORS, ["1", "1", "1", "1"]]}, part=_TOP),
        Check("exact", "smoothed normalisation", _of_lemma1, _EIGHTH, part=_THIRD),
        checks(
            "worst-case",
            worst.clipping,
            {
                f"clipping, {half}, tau = {tau} ||g||": {"tau": tau, "half": half}
                for half, lengths in (("<=", ("1/8", "1/2", "1", "3")), (">=", ("1/8", "1/2", "7/8")))
                for tau in lengths
            },
        ),
    ),
    uses=("shulgin2025.lemma1",),
)

STATEMENTS = (LEMMA1, TABLE1)
