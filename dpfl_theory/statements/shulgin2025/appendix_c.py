"""shulgin2025 Appendix C: the memory of a single node against a fixed target, with clipping and with normalisation."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.core import Case, Check, Outcome, Sides, Source, Statement, Symbol, Symbols, Values
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025.lemma1 import Vector, clipped, length, smoothed
from dpfl_theory.statements.symbolic import all_equal, equal

__all__ = ["CLIPPING", "NORMALIZATION", "STATEMENTS", "memories"]

_WHERE = "Appendix C"
_START = Symbol("r_0", r"$\|v^0 - g^*\|$", (1, -1), "nonnegative", r"\|v^0 - g^*\|")
_ROUND = Symbol("k", "number of updates", (0, 0), "nonnegative", "k")
_AFTER = Symbol("r_k", r"$\|v^k - g^*\|$", (1, -1), "nonnegative", r"\|v^k - g^*\|")
_NEXT = Symbol("r_next", r"$\|v^{k+1} - g^*\|$", (1, -1), "nonnegative", r"\|v^{k+1} - g^*\|")


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


def _distances(path: list[Vector], target: Vector) -> list[Fraction]:
    return [length([g - x for g, x in zip(target, v)]) for v in path]


def _clipping_cases(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    cases = []
    for start, goal in instance["vectors"]:
        v, target = (tuple(Fraction(x) for x in vector) for vector in (start, goal))
        for tau in map(Fraction, instance["tau"]):
            found = _distances(memories(v, target, "clip", tau, Fraction(1), int(instance["k"])), target)
            for k, r in enumerate(found):
                values = {"v": v, "target": target, "tau": tau, "k": k}
                cases.append(Values({"r_0": found[0], "k": k, "tau": tau, "r_k": r}, values))
    return cases


def _induction(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """With r_0 = k tau + tau + more, k updates leave tau + more, one more leaves more = r_0 - (k + 1) tau; and a
    distance of at most tau is closed in one update."""
    s, (more, k) = symbols_of(statement), sp.symbols("more k", positive=True)
    r_0 = (k + 1) * s.tau + more
    left, after = (sp.expand(total(statement).subs({s.r_0: r_0, s.k: count})) for count in (k, k + 1))
    step = (1 - s.tau / left) * left
    return equal(step, after, "one more update of a distance above tau")


def _recursion_cases(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """The lengths of the vectors against the recursion of only the lengths, except for 0/0."""
    cases = []
    for start, goal in instance["vectors"]:
        v, target = (tuple(Fraction(x) for x in vector) for vector in (start, goal))
        for alpha, beta in ((Fraction(a), Fraction(b)) for a, b in instance["alpha, beta"]):
            found = _distances(memories(v, target, "smoothed", alpha, beta, int(instance["k"])), target)
            for k, (r, after) in enumerate(pairwise(found)):
                values = {"v": v, "target": target, "alpha": alpha, "beta": beta, "k": k}
                if alpha + r:
                    cases.append(Values({"alpha": alpha, "beta": beta, "r_k": r, "r_next": after}, values))
    return cases


def _reached_cases(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """For beta < 2 alpha the distance is below q^k r_0, q = max(|1 - beta/alpha|, |1 - beta/(alpha + r_0)|) < 1: the
    excess is 0. For beta = 2 alpha it decreases all the same."""
    cases = []
    for a, b, r_0 in ((Fraction(x) for x in texts) for texts in instance["runs"]):
        q = max(abs(1 - b / a), abs(1 - b / (a + r_0)))
        found = _distances(memories((Fraction(0),), (r_0,), "smoothed", a, b, int(instance["k"])), (r_0,))
        for k, r in enumerate(found):
            values = {"alpha": a, "beta": b, "r_0": r_0, "k": k}
            cases.append(Case(values, max(Fraction(0), r - q**k * r_0), Fraction(0)))
            if k:
                cases.append(Case({**values, "compared": "before"}, max(Fraction(0), r - found[k - 1]), Fraction(0)))
        if (q < 1) != (b < 2 * a):
            raise ValueError(f"q = {q} at alpha = {a}, beta = {b}: it must be below 1 exactly where beta < 2 alpha")
    return cases


def _stuck_cases(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """For beta > 2 alpha the distance beta/2 - alpha is kept forever: v^k oscillates."""
    cases = []
    for a, b in ((Fraction(x) for x in texts) for texts in instance["pairs"]):
        r = b / 2 - a
        if r <= 0:
            raise ValueError(f"beta = {b} does not exceed 2 alpha = {2 * a}")
        found = _distances(memories((Fraction(0),), (r,), "smoothed", a, b, int(instance["k"])), (r,))
        symbols = {"alpha": a, "beta": b, "r_k": r}
        cases += [Values({**symbols, "r_next": x}, {"alpha": a, "beta": b, "k": k}) for k, x in enumerate(found)]
    return cases


def _condition(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """1 - (1 - beta/(alpha + r))^2 = beta (2 alpha + 2r - beta)/(alpha + r)^2: positive for every r > 0 exactly if beta
    <= 2 alpha. Otherwise it vanishes at r = beta/2 - alpha, and is negative below: shorter distances grow."""
    s, (a, b, r) = symbols_of(statement), sp.symbols("alpha beta r", positive=True)
    kept = total(statement).subs({s.alpha: a, s.beta: b, s.r_k: r}, simultaneous=True) / r
    gain = 1 - kept**2
    return all_equal(
        (gain, b * (2 * a + 2 * r - b) / (a + r) ** 2, "the gain of an update"),
        (gain.subs(r, b / 2 - a), 0, "its gain at beta/2 - alpha"),
        (gain.subs(b, 2 * a), 4 * a * r / (a + r) ** 2, "its gain for beta = 2 alpha"),
    )


def _clipping_sides(s: Symbols) -> Sides:
    return Sides({"distance": s.r_k}, {"left": sp.Max(0, s.r_0 - s.k * s.tau)})


def _normalization_sides(s: Symbols) -> Sides:
    return Sides({"distance": s.r_next}, {"left": sp.Abs(1 - s.beta / (s.alpha + s.r_k)) * s.r_k})


_SHRINKS = (
    "It decides the second half of the text for beta <= 2 alpha, that the distance shrinks geometrically, or at least "
    "shrinks; the two sides are the recursion."
)


_VECTORS = [[["0", "0"], ["3", "4"]], [["1"], ["-7/2"]], [["2", "0", "1"], ["0", "3", "7"]]]

CLIPPING: Statement = Statement(
    id="shulgin2025.appendixC.clipping",
    kind="corollary",
    source=Source(shu.PAPER, _WHERE, "16", provenance="restored"),
    symbols=(_AFTER, _START, _ROUND, *shu.symbols("tau")),
    sides=_clipping_sides,
    checks=(
        Check("algebra", "one more update", _induction),
        Check(
            "exact",
            "vectors of rational length",
            _clipping_cases,
            {"vectors": _VECTORS, "tau": ["1/3", "1", "5/2", "5", "9"], "k": 25},
        ),
    ),
    uses=("shulgin2025.table1",),
)

NORMALIZATION: Statement = Statement(
    id="shulgin2025.appendixC.normalization",
    kind="corollary",
    source=Source(shu.PAPER, _WHERE, "16", provenance="restored"),
    symbols=(_NEXT, _AFTER, *shu.symbols("alpha", "beta")),
    relation="==",
    sides=_normalization_sides,
    checks=(
        Check("algebra", "the exact condition", _condition),
        Check(
            "exact",
            "the recursion, for vectors",
            _recursion_cases,
            {"vectors": _VECTORS, "alpha, beta": [["0", "1"], ["1", "1"], ["1/2", "3"], ["2", "1/7"]], "k": 5},
        ),
        Check(
            "exact",
            "beta <= 2 alpha: the target is approached",
            _reached_cases,
            {"runs": [["1", "1", "10"], ["1", "19/10", "1/5"], ["2", "1/4", "3"], ["1", "2", "1/100"]], "k": 6},
            part=_SHRINKS,
        ),
        Check(
            "exact",
            "beta > 2 alpha: beta/2 - alpha is kept",
            _stuck_cases,
            {"pairs": [["0", "1"], ["1", "3"], ["1/100", "1"]], "k": 6},
        ),
    ),
    uses=("shulgin2025.lemma1",),
)

STATEMENTS = (CLIPPING, NORMALIZATION)
