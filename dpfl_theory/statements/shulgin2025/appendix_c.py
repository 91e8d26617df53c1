"""shulgin2025 Appendix C: the memory of a single node against a fixed target, with clipping and with normalisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.core import Case, Check, Sides, Source, Statement, Symbol, Values, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025.lemma1 import Vector, clipped, length, smoothed

_START, _AFTER, _NEXT = (
    shu.norm(name, rf"\|v^{round_} - g^*\|") for name, round_ in (("r_0", "0"), ("r_k", "k"), ("r_next", "{k+1}"))
)
_ROUND = Symbol("k", "number of updates", (0, 0), "nonnegative", "k")


def memories(v: Vector, target: Vector, operator: str, parameter: Fraction, beta: Fraction, count: int) -> list[Vector]:
    """v^0, ..., v^count of (16): v + Clip_tau(g* - v) for ``clip``, v + beta Norm_alpha(g* - v) for ``smoothed``.

    >>> zero, far = (Fraction(0), Fraction(0)), (Fraction(3), Fraction(4))
    >>> memories(zero, far, "clip", Fraction(5, 2), Fraction(1), 2)[-1] == far
    True
    """
    found = [v]
    for _ in range(count):
        missing = tuple(g - x for g, x in zip(target, v))
        sent = clipped(missing, parameter) if operator == "clip" else smoothed(missing, parameter)
        v = tuple(x + beta * y for x, y in zip(v, sent))
        found.append(v)
    return found


def _distances(v: Vector, target: Vector, *rule: Any) -> list[Fraction]:
    """||v^k - g^*|| of `memories`."""
    return [length([g - x for g, x in zip(target, now)]) for now in memories(v, target, *rule)]


def _on_the_line(r_0: Fraction, alpha: Fraction, beta: Fraction, instance: Mapping[str, Any]) -> list[Fraction]:
    return _distances((Fraction(0),), (r_0,), "smoothed", alpha, beta, int(instance["k"]))


def _ends(instance: Mapping[str, Any]) -> Iterator[tuple[Vector, ...]]:
    """The first memories and the targets."""
    for ends in instance["vectors"]:
        yield tuple(tuple(map(Fraction, vector)) for vector in ends)


def _clipping_cases(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    for v, target in _ends(instance):
        for tau in map(Fraction, instance["tau"]):
            found = _distances(v, target, "clip", tau, Fraction(1), int(instance["k"]))
            for k, r in enumerate(found):
                values = {"v": v, "target": target, "tau": tau, "k": k}
                yield Values({"r_0": found[0], "k": k, "tau": tau, "r_k": r}, values)


@algebra("one more update")
def _induction(s: Formula) -> Proof:
    """With r_0 = k tau + tau + more, k updates leave tau + more, one more leaves more = r_0 - (k + 1) tau; and a
    distance of at most tau is closed in one update."""
    more, k = sp.symbols("more k", positive=True)
    r_0 = (k + 1) * s.tau + more
    left, after = (sp.expand(of(s.statement, r_0=r_0, k=count).rhs) for count in (k, k + 1))
    return (1 - s.tau / left) * left, after, "one more update of a distance above tau"


def _recursion_cases(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The lengths of the vectors against the recursion of only the lengths, except for 0/0."""
    for v, target in _ends(instance):
        for alpha, beta in (map(Fraction, texts) for texts in instance["alpha, beta"]):
            found = _distances(v, target, "smoothed", alpha, beta, int(instance["k"]))
            for k, (r, after) in enumerate(pairwise(found)):
                values = {"v": v, "target": target, "alpha": alpha, "beta": beta, "k": k}
                if alpha + r:
                    yield Values({"alpha": alpha, "beta": beta, "r_k": r, "r_next": after}, values)


def _reached_cases(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """For beta < 2 alpha the distance is below q^k r_0, q = max(|1 - beta/alpha|, |1 - beta/(alpha + r_0)|) < 1: the
    excess is 0. For beta = 2 alpha it decreases all the same."""
    zero = Fraction(0)
    for a, b, r_0 in (map(Fraction, texts) for texts in instance["runs"]):
        q = max(abs(1 - b / a), abs(1 - b / (a + r_0)))
        found = _on_the_line(r_0, a, b, instance)
        for k, r in enumerate(found):
            values = {"alpha": a, "beta": b, "r_0": r_0, "k": k}
            yield Case(values, max(zero, r - q**k * r_0), zero)
            if k:
                yield Case({**values, "compared": "before"}, max(zero, r - found[k - 1]), zero)
        if (q < 1) != (b < 2 * a):
            raise ValueError(f"q = {q} at alpha = {a}, beta = {b}: it must be below 1 exactly where beta < 2 alpha")


def _stuck_cases(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """For beta > 2 alpha the distance beta/2 - alpha is kept forever: v^k oscillates."""
    for a, b in (map(Fraction, texts) for texts in instance["pairs"]):
        r = b / 2 - a
        if r <= 0:
            raise ValueError(f"beta = {b} does not exceed 2 alpha = {2 * a}")
        yield from (
            Values({"alpha": a, "beta": b, "r_k": r, "r_next": x}, {"alpha": a, "beta": b, "k": k})
            for k, x in enumerate(_on_the_line(r, a, b, instance))
        )


@algebra("the exact condition")
def _condition(s: Formula) -> Proof:
    """1 - (1 - beta/(alpha + r))^2 = beta (2 alpha + 2r - beta)/(alpha + r)^2: positive for every r > 0 exactly if beta
    <= 2 alpha. Otherwise it vanishes at r = beta/2 - alpha, and is negative below: shorter distances grow."""
    a, b, r = sp.symbols("alpha beta r", positive=True)
    gain = 1 - (of(s.statement, alpha=a, beta=b, r_k=r).rhs / r) ** 2
    return [
        (gain, b * (2 * a + 2 * r - b) / (a + r) ** 2, "the gain of an update"),
        (gain.subs(r, b / 2 - a), 0, "its gain at beta/2 - alpha"),
        (gain.subs(b, 2 * a), 4 * a * r / (a + r) ** 2, "its gain for beta = 2 alpha"),
    ]


_SHRINKS = (
    "It decides the second half of the text for beta <= 2 alpha, that the distance shrinks geometrically, or at least "
    "shrinks; the two sides are the recursion."
)
_VECTORS = [[["0", "0"], ["3", "4"]], [["1"], ["-7/2"]], [["2", "0", "1"], ["0", "3", "7"]]]
_CLIPPED = {"vectors": _VECTORS, "tau": ["1/3", "1", "5/2", "5", "9"], "k": 25}
_SMOOTHED = {"vectors": _VECTORS, "alpha, beta": [["0", "1"], ["1", "1"], ["1/2", "3"], ["2", "1/7"]], "k": 5}
_REACHED = {"runs": [["1", "1", "10"], ["1", "19/10", "1/5"], ["2", "1/4", "3"], ["1", "2", "1/100"]], "k": 6}
_STUCK = {"pairs": [["0", "1"], ["1", "3"], ["1/100", "1"]], "k": 6}

CLIPPING: Statement = Statement(
    id="shulgin2025.appendixC.clipping",
    kind="corollary",
    source=Source(shu.PAPER, "Appendix C", "16", provenance="restored"),
    symbols=(_AFTER, _START, _ROUND, *shu.symbols("tau")),
    sides=lambda s: Sides({"distance": s.r_k}, {"left": sp.Max(0, s.r_0 - s.k * s.tau)}),
    checks=battery(_induction, Check("exact", "vectors of rational length", _clipping_cases, _CLIPPED)),
    uses=("shulgin2025.table1",),
)

NORMALIZATION: Statement = Statement(
    id="shulgin2025.appendixC.normalization",
    kind="corollary",
    source=Source(shu.PAPER, "Appendix C", "16", provenance="restored"),
    symbols=(_NEXT, _AFTER, *shu.symbols("alpha", "beta")),
    relation="==",
    sides=lambda s: Sides({"distance": s.r_next}, {"left": sp.Abs(1 - s.beta / (s.alpha + s.r_k)) * s.r_k}),
    checks=battery(
        _condition,
        Check("exact", "the recursion, for vectors", _recursion_cases, _SMOOTHED),
        Check("exact", "beta <= 2 alpha: the target is approached", _reached_cases, _REACHED, part=_SHRINKS),
        Check("exact", "beta > 2 alpha: beta/2 - alpha is kept", _stuck_cases, _STUCK),
    ),
    uses=("shulgin2025.lemma1",),
)

STATEMENTS = (CLIPPING, NORMALIZATION)
