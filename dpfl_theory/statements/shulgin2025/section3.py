"""shulgin2025 Section 3 and Appendix C: Lemma 1, Table 1 and Example 1.

Properties of smoothed normalisation, of clipping and of compressors; normalisation without memories; and the memory of
a single node against a fixed target, with clipping and with normalisation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.algorithms.error_feedback import Clip21, DPNormSGD, ErrorFeedback, NormEC
from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, battery
from dpfl_theory.core.check_inputs import Case, Experiment, Values
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import numpy as np
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.operations import WorldOperations, run_round
from dpfl_theory.semantics.rational import Quadratics, Vectors, root, vector
from dpfl_theory.statements.relations import Formula, Proof, algebra, exact, of
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.symbolic import all_equal

F = Fraction
_VECTORS = Vectors(1)
_OPERATIONS = WorldOperations(_VECTORS)


def _top(g: Vector, k: int) -> Vector:
    """The k entries of largest absolute value, 0 elsewhere."""
    kept = sorted(range(len(g.known)), key=lambda j: -abs(g.known[j]))[:k]
    return vector(x if j in kept else 0 for j, x in enumerate(g.known))


# Lemma 1 and Table 1.


def _given(instance: Mapping[str, Any], *names: str) -> Iterator[tuple[Any, ...]]:
    """Each vector of the instance with all combinations of its other numbers."""
    return itertools.product(map(vector, instance["g"]), *(map(F, instance[name]) for name in names))


_LENGTHS = [["3", "4"], ["-3/10", "2/5", "0"], ["1/1000"], ["2", "-3", "6"], ["1", "2", "2"]]
_EIGHTH: dict[str, Any] = {"g": _LENGTHS, "alpha": ["0", "1/100", "1", "7"], "beta": ["1/100", "1", "5", "40"]}


@exact("(8) for rational vectors", **_EIGHTH)
def _rest(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """||g - beta Norm_alpha(g)|| of vectors; it is a root."""
    for g, a, b in _given(instance, "alpha", "beta"):
        if a or any(g.known):  # not 0/0
            left = g - b * NormEC(alpha=a).bound(_OPERATIONS, g)
            symbols = {"rest": sp.sqrt(_VECTORS.square(left)), "alpha": a, "beta": b, "r": _VECTORS.length(g)}
            yield Values(symbols, instance={"g": tuple(g.known), "alpha": a, "beta": b})


_SEVENTH = "It decides (7), ||Norm_alpha(g)|| <= 1, which the statement also has; the two sides are those of (8)."


@algebra("(8) for three entries")
def _expanded(s: Formula) -> Proof:
    """The proof of (8): ||g||^2 - 2 (beta/(alpha + r)) r^2 + (beta/(alpha + r))^2 r^2, for three entries."""
    g = sp.symbols("g1:4", real=True)
    r = sp.sqrt(sum(x**2 for x in g))
    left = sum((x - s.beta * x / (s.alpha + r)) ** 2 for x in g)
    return sp.factor(left), of(s.statement, r=r).rhs, "||g - beta Norm_alpha(g)||^2 against (8)"


@algebra("where (8) contracts", letters="alpha beta r")
def _factor(s: Formula, a: Any, b: Any, r: Any) -> Proof:
    """Where (8) contracts: 1 - (1 - beta/(alpha + r))^2 = beta (2 (alpha + r) - beta)/(alpha + r)^2, positive for beta
    < 2 (alpha + r); its limits for r -> 0 and r -> oo."""
    eta = 1 - of(s.statement, alpha=a, beta=b, r=r).rhs / r**2
    found = all_equal(
        (eta, b * (2 * (a + r) - b) / (a + r) ** 2, "eta of (8)"),
        (eta.subs(r, 0), 1 - (1 - b / a) ** 2, "eta for r -> 0"),
        (sp.limit(eta, r, sp.oo), 0, "eta for r -> oo"),
    )
    said = "(8) contracts for beta < 2 (alpha + ||g||), and ever less as ||g|| grows"
    return replace(found, reason=said) if found.true else found


LEMMA1: Statement = shu.statement(
    id="shulgin2025.lemma1",
    kind="lemma",
    source=Source(shu.PAPER, "Lemma 1, Section 3.3", "7, 8", provenance="restored"),
    symbols=shu.NOTATION(shu.norm("rest", r"\|g - \beta \mathrm{Norm}_\alpha(g)\|")),
    relation="==",
    sides=lambda s: Sides({"rest": s.rest**2}, {"factor": (1 - s.beta / (s.alpha + s.r)) ** 2 * s.r**2}),
    checks=battery(
        # 1 - ||Norm_alpha(g)|| = alpha/(alpha + ||g||) >= 0
        algebra("(7)", _SEVENTH, letters="alpha r")(
            lambda _, a, r: (1 - r / (a + r), a / (a + r), "1 less ||Norm_alpha(g)||")
        ),
        _expanded,
        _factor,
        _rest,
        [
            Check("worst-case", f"(7), alpha = {a} ||g||", worst.bounded, {"alpha": a}, part=_SEVENTH)
            for a in ("1/2", "3")
        ],
        [
            Check(
                *("worst-case", f"(8), {half}, alpha = {a}, beta = {b} in units of ||g||", worst.normalisation),
                {"alpha": a, "beta": b, "half": half},
            )
            for half in ("<=", ">=")
            for a, b in (("0", "1/2"), ("0", "3"), ("1", "1"), ("1/8", "1"), ("4", "1/4"))
        ],
    ),
)


@algebra("clipping", letters="more")
def _shortened(s: Formula, more: Any) -> Proof:
    """||g - (tau/r) g|| = (1 - tau/r) r for r = tau + more, and 0 for r <= tau."""
    r = s.tau + more
    return [
        (of(s.statement, r=r).rhs, (1 - s.tau / r) * r, "the decrease by clipping of a longer vector"),
        (of(s.statement, r=s.tau - more).rhs, 0, "the decrease by clipping of a shorter vector"),
    ]


@algebra(
    "no factor below 1 for all vectors",
    "It decides that neither operator has one eta > 0 for all vectors; the two sides are those of the second row.",
    letters="alpha beta r tau",
)
def _no_common_factor(_: Formula, a: Any, b: Any, r: Any, tau: Any) -> Proof:
    """The eta of clipping at ||g|| = r > tau is 1 - (1 - tau/r)^2 = tau (2r - tau)/r^2 (1 for r <= tau), of smoothed
    normalisation beta (2 (alpha + r) - beta)/(alpha + r)^2: both tend to 0 as r grows."""
    limits = [sp.limit(1 - (1 - x) ** 2, r, sp.oo) for x in (tau / r, b / (a + r))]
    return [
        (1 - (1 - tau / r) ** 2, tau * (2 * r - tau) / r**2, "eta of clipping"),
        (limits[0] + limits[1], 0, "the two eta for r -> oo"),
    ]


@exact("clipping", g=[*_LENGTHS, ["0", "0"]], tau=["1/100", "1/2", "3", "100"])
def _clipping(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """||Clip_tau(g) - g|| of vectors."""
    for g, tau in _given(instance, "tau"):
        rest = _VECTORS.length(Clip21(tau=tau).bound(_OPERATIONS, g) - g)
        yield Values({"rest": rest, "r": _VECTORS.length(g), "tau": tau}, instance={"g": tuple(g.known), "tau": tau})


@exact(
    "Top-k",
    "It decides the first row for Top-k, as an excess of 0; the two sides are those of the second row.",
    g=[*_LENGTHS, ["1", "1", "1", "1"]],
)
def _compressors(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """Top-k is contractive with eta = k/d: the excess of ||C(g) - g||^2 over (1 - k/d)||g||^2 is 0."""
    for (g,) in _given(instance):
        for k in range(1, len(g.known) + 1):
            allowed = (1 - F(k, len(g.known))) * _VECTORS.square(g)
            yield Case({"g": tuple(g.known), "k": k}, max(F(0), _VECTORS.square(_top(g, k) - g) - allowed), F(0))


@exact(
    "smoothed normalisation",
    "It decides the third row, the two sides of shulgin2025.lemma1; those here are of the second row.",
    **_EIGHTH,
)
def _of_lemma1(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """(8) of Lemma 1, where another statement quotes it."""
    return [
        Case(i.evidence_instance, *(evaluate_side(LEMMA1, side, i.symbol_values) for side in ("lhs", "rhs")))
        for i in _rest.build(LEMMA1, instance)
    ]


TABLE1: Statement = shu.statement(
    id="shulgin2025.table1",
    kind="table",
    source=Source(shu.PAPER, "Table 1, Section 3.4", provenance="restored"),
    symbols=shu.NOTATION(shu.norm("rest", r"\|\mathrm{Clip}_\tau(g) - g\|")),
    relation="==",
    sides=lambda s: Sides({"rest": s.rest}, {"length": sp.Max(0, s.r - s.tau)}),
    checks=battery(
        _shortened,
        _no_common_factor,
        _clipping,
        _compressors,
        _of_lemma1,
        [
            Check("worst-case", f"clipping, {half}, tau = {t} ||g||", worst.clipping, {"tau": t, "half": half})
            for half, lengths in (("<=", ("1/8", "1/2", "1", "3")), (">=", ("1/8", "1/2", "7/8")))
            for t in lengths
        ],
    ),
    uses=("shulgin2025.lemma1",),
)

# Example 1.

_END = shu.at_the_end(
    "end", "gradient-norm", (1, -1), r"\|\nabla f(x^K)\|", r"$\|\nabla f(x^K)\|$, which is $L |x^K - x^*|$"
)


def rounds(x: Fraction, alpha: Fraction, gamma: Fraction, count: int) -> list[Fraction]:
    """x^0, ..., x^count of x - gamma mean Norm_alpha(grad f_i(x)), f_1 = f_2 = (x - 3)^2/2, f_3 = (x + 6)^2/2.

    >>> rounds(Fraction(3, 2), Fraction(5, 2), Fraction(1), 2)
    [Fraction(3, 2), Fraction(3, 2), Fraction(3, 2)]
    """
    world, algorithm = Quadratics([1, 1, 1], [3, 3, -6]), DPNormSGD(gamma=gamma, alpha=alpha, sigma=0)
    found = [Vector(x)]
    for _ in range(count):
        found.append(run_round(algorithm, world, found[-1]).x)
    return [now.known for now in found]


def limit(alpha: Fraction) -> Fraction:
    """The limit (3/2)(sqrt(alpha^2 + 2 alpha + 9) - 1 - alpha), where it is rational.

    >>> [limit(Fraction(text)) for text in ("0", "5/2", "27/4")]
    [Fraction(3, 1), Fraction(3, 2), Fraction(3, 4)]
    """
    return F(3, 2) * (root(alpha**2 + 2 * alpha + 9) - 1 - alpha)


def _above(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The gradient after every round of a run with L = 1, m = 3 that starts at the limit or above it."""
    for alpha in map(F, instance["alpha"]):
        gamma = F(instance["gamma over alpha"]) * alpha
        symbols = {"m": F(3), "L": F(1), "alpha": alpha, "gamma": gamma}
        for start in (limit(alpha), limit(alpha) + 1, F(10)):
            for k, x in enumerate(rounds(start, alpha, gamma, int(instance["rounds"]))):
                yield Values({**symbols, "end": abs(x)}, {"alpha": alpha, "start": start, "k": k})


@exact(
    "limits kept, the optimum left",
    "It decides that the limit is kept and that runs from the optimum leave it towards the limit; the two sides "
    "concern runs that start above the limit.",
    alpha=["5/2", "27/4"],
    gamma="5/2",
    rounds=5,
)
def _misses(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """The limit is kept; the optimum x* = 0 is left at once, towards the limit."""
    gamma = F(instance["gamma"])
    for alpha in map(F, instance["alpha"]):
        far = limit(alpha)
        values = {"alpha": alpha, "limit": far}
        (*_rounds, last) = rounds(far, alpha, gamma, 3)
        yield from [Case({**values, "start": "limit"}, far, last), Case({**values, "start": "limit, above"}, last, far)]
        for k, (before, after) in enumerate(pairwise(rounds(F(0), alpha, gamma, int(instance["rounds"])))):
            yield Case({**values, "start": "optimum", "k": k}, before, after)
            yield Case({**values, "start": "optimum, below the limit", "k": k}, after, far)


@algebra("the limit is the only stationary point between the minimisers", letters="a")
def _stationary(s: Formula, a: Any) -> Proof:
    """Between -2m and m, with a = L (m - x) and A = alpha: 2a/(A + a) = (3Lm - a)/(A + 3Lm - a) has the roots of a^2 -
    3 (L m + A) a + 3 A L m, and the smaller one is the limit; for no A it is the optimum, a = L m."""
    m, L, A = s.m, s.L, s.alpha
    far = 3 * L * m - a  # the distance to the minimiser of f_3, times L
    quadratic = a**2 - 3 * (L * m + A) * a + 3 * A * L * m
    mean = 2 * a / (A + a) - far / (A + far)
    (least,) = sp.solve(s.slack, s.end)  # the shortest gradient allowed
    return [
        (mean * (A + a) * (A + far), -quadratic, "the mean message, its denominators cleared"),
        (quadratic.subs(a, L * m), -2 * L**2 * m**2, "the quadratic at the optimum"),
        (sp.expand(quadratic.subs(a, L * m - least)), 0, "the quadratic at the limit"),
    ]


def _experiment(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """From x^0 = 10 m, above the limit, to x^K, with L = 2 and m = 3/2; a loop over numbers computes it."""
    from dpfl_theory.problems.quadratic import from_matrices
    from dpfl_theory.simulation import Simulation
    from dpfl_theory.simulation.observables import Reach

    L, m, alpha = 2.0, 1.5, float(F(instance["alpha"]))
    problem = from_matrices(np.full((3, 1, 1), L), np.array([[m], [m], [-2 * m]]), "shulgin2025 Example 1")
    algorithm = Simulation(DPNormSGD(gamma=instance["gamma"], alpha=alpha, sigma=0.0))
    values = {"m": m, "L": L, "alpha": alpha, "gamma": float(instance["gamma"])}
    K, x = int(instance["K"]), 10 * m
    for _k in range(K):
        slopes = [L * (x - centre) for centre in (m, m, -2 * m)]
        x -= values["gamma"] / 3 * sum(slope / (alpha + abs(slope)) for slope in slopes)
    more: dict[str, Any] = {"random": False, "known": {_END.column("gradient-norm"): L * abs(x)}}
    return Experiment(problem, algorithm, K, np.array([10 * m]), values, reach=Reach.anywhere(problem), **more)


def _stepped(share: str) -> dict[str, Any]:
    return {"alpha": ["5/2", "27/4"], "gamma over alpha": share, "rounds": 5}


EXAMPLE1: Statement = shu.statement(
    id="shulgin2025.example1",
    kind="corollary",
    source=Source(shu.PAPER, "Example 1, Section 3.4", provenance="derived"),
    symbols=shu.NOTATION(_END),
    hypotheses=(
        Hypothesis(
            *(lambda s, c: sp.Eq(c.n, 3), "the three clients of the example"),
            "every instance is made of these three clients",
        ),
        Hypothesis(lambda s: s.gamma * s.L <= s.alpha, r"$\gamma L \le \alpha$, so that a round is monotone in $x$"),
    ),
    # L times the limit.
    sides=lambda s: Sides(
        {
            "limit": (
                sp.sqrt(9 * (s.L * s.m) ** 2 + 6 * (s.L * s.m) * s.alpha + 9 * s.alpha**2) - s.L * s.m - 3 * s.alpha
            )
            / 2
        },
        {"gradient": s.end},
    ),
    checks=battery(
        _stationary,
        # alpha = 0: x = m, the minority is ignored; alpha -> oo: x -> 0, as messages become proportional.
        algebra("alpha = 0 and alpha -> oo")(
            lambda s: [
                (of(s.statement, alpha=0).lhs, s.L * s.m, "the limit at alpha = 0"),
                (sp.limit(s.lhs, s.alpha, sp.oo), 0, "the limit as alpha grows"),
            ]
        ),
        # The map's slope is 1 - gamma L mean of alpha/(alpha + |g_i|)^2, and gamma L alpha/(alpha + |g|)^2 is at most
        # gamma L/alpha <= 1: a run that starts above a stationary point stays above it.
        algebra(
            "a round is monotone",
            "It decides that no run from above a stationary point passes it; the first check decides the place of that "
            "point.",
            letters="alpha g",
        )(
            lambda _, a, g: (
                *(1 / a - a / (a + g) ** 2, g * (2 * a + g) / (a * (a + g) ** 2)),
                "1/alpha less the slope of g/(alpha + |g|)",
            )
        ),
        _misses,
        Check("exact", "just inside gamma L <= alpha, from above the limit", _above, _stepped("1")),
        Check("exact", "just outside gamma L <= alpha", _above, _stepped("51/50"), "not-applicable"),
        [
            Check("monte-carlo", f"alpha = {a}, K = {K}", _experiment, {"alpha": a, "gamma": gamma, "K": K})
            for a, gamma, K in (("1/100", 0.005, 2750), ("1", 0.2, 150), ("5", 0.2, 400), ("100", 0.2, 4000))
        ],
    ),
    smoke=("alpha = 5, K = 400",),
)

# Appendix C.


def _distances(algorithm: ErrorFeedback, v: Vector, target: Vector, count: int) -> list[Fraction]:
    """||v^k - g^*|| of (16), k = 0..count: the memory of a client whose gradient remains the target."""
    found = [_VECTORS.length(target - v)]
    for _ in range(count):
        v = algorithm.updated(_OPERATIONS, target, v)
        found.append(_VECTORS.length(target - v))
    return found


def _ends(instance: Mapping[str, Any]) -> Iterator[tuple[Vector, ...]]:
    """The first memories and the targets."""
    for ends in instance["vectors"]:
        yield tuple(map(vector, ends))


_ENDS = [[["0", "0"], ["3", "4"]], [["1"], ["-7/2"]], [["2", "0", "1"], ["0", "3", "7"]]]


@exact("vectors of rational length", vectors=_ENDS, tau=["1/3", "1", "5/2", "5", "9"], k=25)
def _clipped_memories(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    for (v, target), tau in itertools.product(_ends(instance), map(F, instance["tau"])):
        found = _distances(Clip21(tau=tau), v, target, int(instance["k"]))
        for k, r in enumerate(found):
            values = {"v": tuple(v.known), "target": tuple(target.known), "tau": tau, "k": k}
            yield Values({"r_0": found[0], "k": k, "tau": tau, "r_k": r}, values)


@algebra("one more update", letters="more k")
def _induction(s: Formula, more: Any, k: Any) -> Proof:
    """With r_0 = k tau + tau + more, k updates leave tau + more, one more leaves more = r_0 - (k + 1) tau; and a
    distance of at most tau is closed in one update."""
    r_0 = (k + 1) * s.tau + more
    left, after = (sp.expand(of(s.statement, r_0=r_0, k=count).rhs) for count in (k, k + 1))
    return (1 - s.tau / left) * left, after, "one more update of a distance above tau"


CLIPPING: Statement = shu.statement(
    id="shulgin2025.appendixC.clipping",
    kind="corollary",
    source=Source(shu.PAPER, "Appendix C", "16", provenance="restored"),
    sides=lambda s: Sides({"distance": s.r_k}, {"left": sp.Max(0, s.r_0 - s.k * s.tau)}),
    checks=battery(_induction, _clipped_memories),
    uses=("shulgin2025.table1",),
)


@algebra("the exact condition", letters="alpha beta r")
def _condition(s: Formula, a: Any, b: Any, r: Any) -> Proof:
    """1 - (1 - beta/(alpha + r))^2 = beta (2 alpha + 2r - beta)/(alpha + r)^2: positive for every r > 0 exactly if beta
    <= 2 alpha. Otherwise it vanishes at r = beta/2 - alpha, and is negative below: shorter distances grow."""
    gain = 1 - (of(s.statement, alpha=a, beta=b, r_k=r).rhs / r) ** 2
    return [
        (gain, b * (2 * a + 2 * r - b) / (a + r) ** 2, "the gain of an update"),
        (gain.subs(r, b / 2 - a), 0, "its gain at beta/2 - alpha"),
        (gain.subs(b, 2 * a), 4 * a * r / (a + r) ** 2, "its gain for beta = 2 alpha"),
    ]


_PAIRS: Any = {"alpha, beta": [["0", "1"], ["1", "1"], ["1/2", "3"], ["2", "1/7"]]}


@exact("the recursion, for vectors", vectors=_ENDS, k=5, **_PAIRS)
def _recursion(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The lengths of the vectors against the recursion of only the lengths, except for 0/0."""
    for (v, target), texts in itertools.product(_ends(instance), instance["alpha, beta"]):
        alpha, beta = map(F, texts)
        found = _distances(NormEC(alpha=alpha, beta=beta), v, target, int(instance["k"]))
        for k, (r, after) in enumerate(pairwise(found)):
            values = {"v": tuple(v.known), "target": tuple(target.known), "alpha": alpha, "beta": beta, "k": k}
            if alpha + r:
                yield Values({"alpha": alpha, "beta": beta, "r_k": r, "r_next": after}, values)


@exact(
    "beta <= 2 alpha: the target is approached",
    "It decides the second half of the text for beta <= 2 alpha, that the distance shrinks geometrically, or at least "
    "shrinks; the two sides are the recursion.",
    runs=[["1", "1", "10"], ["1", "19/10", "1/5"], ["2", "1/4", "3"], ["1", "2", "1/100"]],
    k=6,
)
def _reached(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """For beta < 2 alpha the distance is below q^k r_0, q = max(|1 - beta/alpha|, |1 - beta/(alpha + r_0)|) < 1: the
    excess is 0. For beta = 2 alpha it decreases all the same."""
    for a, b, r_0 in (map(F, texts) for texts in instance["runs"]):
        q = max(abs(1 - b / a), abs(1 - b / (a + r_0)))
        found = _distances(NormEC(alpha=a, beta=b), vector([0]), vector([r_0]), int(instance["k"]))
        for k, r in enumerate(found):
            values = {"alpha": a, "beta": b, "r_0": r_0, "k": k}
            yield Case(values, max(F(0), r - q**k * r_0), F(0))
            if k:
                yield Case({**values, "compared": "before"}, max(F(0), r - found[k - 1]), F(0))
        if (q < 1) != (b < 2 * a):
            raise ValueError(f"q = {q} at alpha = {a}, beta = {b}: it must be below 1 exactly where beta < 2 alpha")


@exact("beta > 2 alpha: beta/2 - alpha is kept", pairs=[["0", "1"], ["1", "3"], ["1/100", "1"]], k=6)
def _stuck(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """For beta > 2 alpha the distance beta/2 - alpha is kept forever: v^k oscillates."""
    for a, b in (map(F, texts) for texts in instance["pairs"]):
        r = b / 2 - a
        if r <= 0:
            raise ValueError(f"beta = {b} does not exceed 2 alpha = {2 * a}")
        for k, x in enumerate(_distances(NormEC(alpha=a, beta=b), vector([0]), vector([r]), int(instance["k"]))):
            yield Values({"alpha": a, "beta": b, "r_k": r, "r_next": x}, {"alpha": a, "beta": b, "k": k})


NORMALIZATION: Statement = shu.statement(
    id="shulgin2025.appendixC.normalization",
    kind="corollary",
    source=Source(shu.PAPER, "Appendix C", "16", provenance="restored"),
    relation="==",
    sides=lambda s: Sides({"distance": s.r_next}, {"left": sp.Abs(1 - s.beta / (s.alpha + s.r_k)) * s.r_k}),
    checks=battery(_condition, _recursion, _reached, _stuck),
    uses=("shulgin2025.lemma1",),
)

STATEMENTS = (LEMMA1, TABLE1, EXAMPLE1, CLIPPING, NORMALIZATION)
