"""shulgin2025 Lemma 1 and Table 1 (Section 3): what smoothed normalisation, clipping and compressors do to a vector."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Case, Outcome
from dpfl_theory.statements.formula import letters_of
from dpfl_theory.statements.model import Check, Sides, Source, Statement, Symbol
from dpfl_theory.statements.shulgin2025 import _letters as shu
from dpfl_theory.statements.shulgin2025 import _operators as operators
from dpfl_theory.statements.shulgin2025._line import exactly
from dpfl_theory.statements.symbolic import equal

__all__ = ["LEMMA1", "STATEMENTS", "TABLE1", "clipped", "length", "smoothed", "top"]

Vector = tuple[Fraction, ...]

_LENGTH = Symbol("r", "||g||", (1, -1), "nonnegative", r"\|g\|")
_REST = Symbol("rest", "||g - beta Norm_alpha(g)||", (1, -1), "nonnegative", r"\|g - \beta \mathrm{Norm}_\alpha(g)\|")
_CLIPPED = Symbol("rest", "||Clip_tau(g) - g||", (1, -1), "nonnegative", r"\|\mathrm{Clip}_\tau(g) - g\|")


def length(g: Sequence[Fraction]) -> Fraction:
    """||g|| of a vector of rational length.

    >>> length((Fraction(3), Fraction(4)))
    Fraction(5, 1)
    """
    square = sum((x * x for x in g), Fraction(0))
    found = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if found**2 != square:
        raise ValueError(f"{g} has no rational length")
    return found


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


def _square(g: Sequence[Fraction]) -> Fraction:
    return sum((x * x for x in g), Fraction(0))


def _vectors(instance: Mapping[str, Any]) -> list[Vector]:
    return [tuple(Fraction(x) for x in g) for g in instance["g"]]


def _identity(instance: Mapping[str, Any]) -> list[Case]:
    """(8), both sides squared lengths."""
    cases = []
    for g in _vectors(instance):
        for a in map(Fraction, instance["alpha"]):
            for b in map(Fraction, instance["beta"]):
                if not a and not any(g):
                    continue  # 0/0
                left = _square([x - b * y for x, y in zip(g, smoothed(g, a))])
                right = exactly(LEMMA1, {"alpha": a, "beta": b, "r": length(g)})
                cases.append(Case({"g": g, "alpha": a, "beta": b}, left, right))
    return cases


def _expanded(_: Mapping[str, Any]) -> Outcome:
    """The proof of (8): ||g||^2 - 2 (beta/(alpha + r)) r^2 + (beta/(alpha + r))^2 r^2, for three entries."""
    import sympy as sp

    s = letters_of(LEMMA1)
    a, b = s["alpha"], s["beta"]
    g = sp.symbols("g1:4", real=True)
    r = sp.sqrt(sum(x**2 for x in g))
    left = sum((x - b * x / (a + r)) ** 2 for x in g)
    right = sum(_lemma1_sides().rhs.values()).subs(s["r"], r)
    return equal(sp.factor(left), right, "||g - beta Norm_alpha(g)||^2 against (8)")


def _bounded(_: Mapping[str, Any]) -> Outcome:
    """(7): 1 - ||Norm_alpha(g)|| = alpha/(alpha + ||g||) >= 0."""
    import sympy as sp

    a, r = sp.symbols("alpha r", positive=True)
    return equal(1 - r / (a + r), a / (a + r), "1 less ||Norm_alpha(g)||")


def _factor(_: Mapping[str, Any]) -> Outcome:
    """Where (8) contracts: 1 - (1 - beta/(alpha + r))^2 = beta (2 (alpha + r) - beta)/(alpha + r)^2, positive for beta
    < 2 (alpha + r); its limits for r -> 0 and r -> oo."""
    import sympy as sp

    a, b, r = sp.symbols("alpha beta r", positive=True)
    eta = 1 - (1 - b / (a + r)) ** 2
    steps = (
        (eta, b * (2 * (a + r) - b) / (a + r) ** 2, "eta of (8)"),
        (eta.subs(r, 0), 1 - (1 - b / a) ** 2, "eta for r -> 0"),
        (sp.limit(eta, r, sp.oo), 0, "eta for r -> oo"),
    )
    for left, right, what in steps:
        outcome = equal(left, right, what)
        if not outcome.true:
            return outcome
    return Outcome(True, "(8) contracts for beta < 2 (alpha + ||g||), and ever less as ||g|| grows")


def _lemma1_sides() -> Sides:
    s = letters_of(LEMMA1)
    return Sides({"rest": s["rest"] ** 2}, {"factor": (1 - s["beta"] / (s["alpha"] + s["r"])) ** 2 * s["r"] ** 2})


def _table1_sides() -> Sides:
    import sympy as sp

    s = letters_of(TABLE1)
    return Sides({"rest": s["rest"]}, {"length": sp.Max(0, s["r"] - s["tau"])})


def _clipping(instance: Mapping[str, Any]) -> list[Case]:
    """||Clip_tau(g) - g|| = max(0, ||g|| - tau)."""
    cases = []
    for g in _vectors(instance):
        for tau in map(Fraction, instance["tau"]):
            left = length([x - y for x, y in zip(clipped(g, tau), g)])
            cases.append(Case({"g": g, "tau": tau}, left, exactly(TABLE1, {"r": length(g), "tau": tau})))
    return cases


def _compressors(instance: Mapping[str, Any]) -> list[Case]:
    """Top-k is contractive with eta = k/d: what ||C(g) - g||^2 exceeds (1 - k/d)||g||^2 by is 0."""
    cases = []
    for g in _vectors(instance):
        for k in range(1, len(g) + 1):
            rest = _square([x - y for x, y in zip(top(g, k), g)])
            excess = max(Fraction(0), rest - (1 - Fraction(k, len(g))) * _square(g))
            cases.append(Case({"g": g, "k": k}, excess, Fraction(0)))
    return cases


def _shortened(_: Mapping[str, Any]) -> Outcome:
    """||g - (tau/r) g|| = (1 - tau/r) r for r = tau + more, and 0 for r <= tau."""
    import sympy as sp

    s, more = letters_of(TABLE1), sp.Symbol("more", positive=True)
    entered, r = sum(_table1_sides().rhs.values()), s["tau"] + more
    clipped_off = equal(entered.subs(s["r"], r), (1 - s["tau"] / r) * r, "what clipping takes from a longer vector")
    if not clipped_off.true:
        return clipped_off
    within = s["tau"] - more  # of any sign: r <= tau
    return equal(entered.subs(s["r"], within), 0, "what clipping takes from a shorter vector")


def _no_common_factor(_: Mapping[str, Any]) -> Outcome:
    """The eta of clipping at ||g|| = r > tau is 1 - (1 - tau/r)^2 = tau (2r - tau)/r^2 (1 for r <= tau), of smoothed
    normalisation beta (2 (alpha + r) - beta)/(alpha + r)^2: both tend to 0 as r grows."""
    import sympy as sp

    a, b, r, tau = sp.symbols("alpha beta r tau", positive=True)
    clip = equal(1 - (1 - tau / r) ** 2, tau * (2 * r - tau) / r**2, "eta of clipping")
    if not clip.true:
        return clip
    limits = [sp.limit(1 - (1 - x) ** 2, r, sp.oo) for x in (tau / r, b / (a + r))]
    return equal(limits[0] + limits[1], 0, "the two eta for r -> oo")


_VECTORS = [["3", "4"], ["-3/10", "2/5", "0"], ["1/1000"], ["2", "-3", "6"], ["1", "2", "2"]]
_ALPHA, _BETA = ["0", "1/100", "1", "7"], ["1/100", "1", "5", "40"]
_RATIOS = (("0", "1/2"), ("0", "3"), ("1", "1"), ("1/8", "1"), ("4", "1/4"))

LEMMA1: Statement = Statement(
    id="shulgin2025.lemma1",
    kind="lemma",
    title="Smoothed normalisation: bounded, and at a known distance",
    source=Source(
        shu.PAPER,
        "Lemma 1, Section 3.3",
        "7, 8",
        note=(
            "(7) is ||Norm_alpha(g)|| <= 1; (8) stands here. For alpha = 0 and g = 0 it has 0/0 and says nothing. The "
            "factor of (8), which 'improves the contraction factor, compared to standard normalization' for short "
            "vectors, is below 1 exactly for beta < 2 (alpha + ||g||), near g = 0 for beta < 2 alpha"
        ),
        provenance="restored",
        restoration=(
            "(7) from 'the norm of the normalized vector is bounded above', (8) from 'the distance between the true "
            "vector and a', which 'is bounded by a function of' letters that are lost, and from Appendix B. That (8) "
            "is an equality of squares, with alpha >= 0 and beta > 0 arbitrary, is a judgement"
        ),
    ),
    text="For any alpha >= 0, beta > 0 and g, ||Norm_alpha(g)|| <= 1, and (8) is an equality.",
    symbols=(_REST, _LENGTH, *shu.letters("alpha", "beta")),
    relation="==",
    sides=_lemma1_sides,
    checks=(
        Check("algebra", "(7)", _bounded),
        Check("algebra", "(8) for three entries", _expanded),
        Check("algebra", "where (8) contracts", _factor),
        Check("exact", "(8) for rational vectors", _identity, {"g": _VECTORS, "alpha": _ALPHA, "beta": _BETA}),
        *(Check("worst-case", f"(7), alpha = {a} ||g||", operators.bounded, {"alpha": a}) for a in ("1/2", "3")),
        *(
            Check(
                "worst-case",
                f"(8), {half}, alpha = {a}, beta = {b} in units of ||g||",
                operators.normalisation,
                {"alpha": a, "beta": b, "half": half},
            )
            for half in ("<=", ">=")
            for a, b in _RATIOS
        ),
    ),
)

TABLE1: Statement = Statement(
    id="shulgin2025.table1",
    kind="table",
    title="Properties of three operators: contractive compressor, clipping, smoothed normalisation",
    source=Source(
        shu.PAPER,
        "Table 1, Section 3.4",
        note=(
            "E||C(g) - g||^2 <= (1 - eta)||g||^2; ||Clip_tau(g) - g|| = max(0, ||g|| - tau), which stands here; (8), "
            "which is shulgin2025.lemma1. Of the first row, a definition, Top-k with eta = k/d is tested. That it "
            "'behaves similarly to a contractive compressor', as clipping does not, is read of how (8) scales with "
            "||g||: with a fixed beta neither operator has one eta > 0 for all vectors; for all vectors of length at "
            "most R clipping has one (1 - (1 - tau/R)^2 for R > tau, else 1), and smoothed normalisation exactly if "
            "beta < 2 alpha"
        ),
        provenance="restored",
        restoration=(
            "the head, 'Operator' and 'Property', and the rows' operators from Section 3.5, 'the contractive "
            "compressor property required by EF21 (see Table 1)'; the cells are lost, and their form is a judgement"
        ),
    ),
    text=(
        "A contractive compressor has E||C(g) - g||^2 <= (1 - eta)||g||^2, clipping the equality below, and smoothed "
        "normalisation (8)."
    ),
    symbols=(_CLIPPED, _LENGTH, *shu.letters("tau")),
    relation="==",
    sides=_table1_sides,
    checks=(
        Check("algebra", "clipping", _shortened),
        Check("algebra", "no factor below 1 for all vectors", _no_common_factor),
        Check("exact", "clipping", _clipping, {"g": [*_VECTORS, ["0", "0"]], "tau": ["1/100", "1/2", "3", "100"]}),
        Check("exact", "Top-k", _compressors, {"g": [*_VECTORS, ["1", "1", "1", "1"]]}),
        Check("exact", "smoothed normalisation", _identity, {"g": _VECTORS, "alpha": _ALPHA, "beta": _BETA}),
        *(
            Check(
                "worst-case",
                f"clipping, {half}, tau = {tau} ||g||",
                operators.clipping,
                {"tau": tau, "half": half},
            )
            for half, lengths in (("<=", ("1/8", "1/2", "1", "3")), (">=", ("1/8", "1/2", "7/8")))
            for tau in lengths
        ),
    ),
    uses=("shulgin2025.lemma1",),
)

STATEMENTS = (LEMMA1, TABLE1)
