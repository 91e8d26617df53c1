"""shulgin2025 Example 1 (Section 3.4): normalising heterogeneous gradients without memories misses the optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.algorithms.error_feedback import DPNormSGD
from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.core.check_inputs import Case, Experiment, Values
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025._line import root
from dpfl_theory.statements.shulgin2025.lemma1 import smoothed

_CENTRE = Symbol("m", "minimiser of $f_1$ and $f_2$; that of $f_3$ is -2m", (0, 1), "positive", "m")
_END = shu.at_the_end(
    "end", "gradient-norm", (1, -1), r"\|\nabla f(x^K)\|", r"$\|\nabla f(x^K)\|$, which is $L |x^K - x^*|$"
)


def rounds(x: Fraction, alpha: Fraction, gamma: Fraction, count: int) -> list[Fraction]:
    """x^0, ..., x^count of x - gamma mean Norm_alpha(grad f_i(x)), f_1 = f_2 = (x - 3)^2/2, f_3 = (x + 6)^2/2.

    >>> rounds(Fraction(3, 2), Fraction(5, 2), Fraction(1), 2)
    [Fraction(3, 2), Fraction(3, 2), Fraction(3, 2)]
    """
    found = [x]
    for _ in range(count):
        (near,), (far,) = smoothed((x - 3,), alpha), smoothed((x + 6,), alpha)
        x = x - gamma / 3 * (2 * near + far)
        found.append(x)
    return found


def limit(alpha: Fraction) -> Fraction:
    """The limit (3/2)(sqrt(alpha^2 + 2 alpha + 9) - 1 - alpha), where it is rational.

    >>> [limit(Fraction(text)) for text in ("0", "5/2", "27/4")]
    [Fraction(3, 1), Fraction(3, 2), Fraction(3, 4)]
    """
    return Fraction(3, 2) * (root(alpha**2 + 2 * alpha + 9) - 1 - alpha)


def _above(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The gradient after every round of a run with L = 1, m = 3 that starts at the limit or above it."""
    for alpha in map(Fraction, instance["alpha"]):
        gamma = Fraction(instance["gamma over alpha"]) * alpha
        symbols = {"m": Fraction(3), "L": Fraction(1), "alpha": alpha, "gamma": gamma}
        for start in (limit(alpha), limit(alpha) + 1, Fraction(10)):
            for k, x in enumerate(rounds(start, alpha, gamma, int(instance["rounds"]))):
                yield Values({**symbols, "end": abs(x)}, {"alpha": alpha, "start": start, "k": k})


def _misses(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """The limit is kept; the optimum x* = 0 is left at once, towards the limit."""
    gamma = Fraction(instance["gamma"])
    for alpha in map(Fraction, instance["alpha"]):
        far = limit(alpha)
        values = {"alpha": alpha, "limit": far}
        (*_rounds, last) = rounds(far, alpha, gamma, 3)
        yield from [Case({**values, "start": "limit"}, far, last), Case({**values, "start": "limit, above"}, last, far)]
        path = rounds(Fraction(0), alpha, gamma, int(instance["rounds"]))
        for k, (before, after) in enumerate(pairwise(path)):
            yield Case({**values, "start": "optimum", "k": k}, before, after)
            yield Case({**values, "start": "optimum, below the limit", "k": k}, after, far)


_LEFT = (
    "It decides that the limit is kept and that runs from the optimum leave it towards the limit; the two sides "
    "concern runs that start above the limit."
)
_MISSES = {"alpha": ["5/2", "27/4"], "gamma": "5/2", "rounds": 5}
_EDGE = {"alpha": ["5/2", "27/4"], "gamma over alpha": "1", "rounds": 5}
_BEYOND = {**_EDGE, "gamma over alpha": "51/50"}


@algebra("the limit is the only stationary point between the minimisers")
def _stationary(s: Formula) -> Proof:
    """Between -2m and m, with a = L (m - x) and A = alpha: 2a/(A + a) = (3Lm - a)/(A + 3Lm - a) has the roots of a^2 -
    3 (L m + A) a + 3 A L m, and the smaller one is the limit; for no A it is the optimum, a = L m."""
    m, L, A, a = s.m, s.L, s.alpha, sp.Symbol("a", positive=True)
    far = 3 * L * m - a  # the distance to the minimiser of f_3, times L
    quadratic = a**2 - 3 * (L * m + A) * a + 3 * A * L * m
    mean = 2 * a / (A + a) - far / (A + far)
    (least,) = sp.solve(s.slack, s.end)  # the shortest gradient allowed
    return [
        (mean * (A + a) * (A + far), -quadratic, "the mean message, its denominators cleared"),
        (quadratic.subs(a, L * m), -2 * L**2 * m**2, "the quadratic at the optimum"),
        (sp.expand(quadratic.subs(a, L * m - least)), 0, "the quadratic at the limit"),
    ]


@algebra(
    "a round is monotone",
    "It decides that no run from above a stationary point passes it; the first check decides the place of that point.",
)
def _monotone(_: Formula) -> Proof:
    """The map's slope is 1 - gamma L mean of alpha/(alpha + |g_i|)^2, and gamma L alpha/(alpha + |g|)^2 is at most
    gamma L/alpha <= 1: a run that starts above a stationary point stays above it."""
    alpha, g = sp.symbols("alpha g", positive=True)
    slack = 1 / alpha - alpha / (alpha + g) ** 2
    return slack, g * (2 * alpha + g) / (alpha * (alpha + g) ** 2), "1/alpha less the slope of g/(alpha + |g|)"


@algebra("alpha = 0 and alpha -> oo")
def _limits(s: Formula) -> Proof:
    """alpha = 0: x = m, the minority is ignored; alpha -> oo: x -> 0, as messages become proportional."""
    return [
        (of(s.statement, alpha=0).lhs, s.L * s.m, "the limit at alpha = 0"),
        (sp.limit(s.lhs, s.alpha, sp.oo), 0, "the limit as alpha grows"),
    ]


def _sides(s: Symbols) -> Sides:
    """L times the limit, with the square root of 9 m^2 L^2 + 6 m L alpha + 9 alpha^2."""
    Lm, A = s.L * s.m, s.alpha
    root = sp.sqrt(9 * Lm**2 + 6 * Lm * A + 9 * A**2)
    return Sides({"limit": (root - Lm - 3 * A) / 2}, {"gradient": s.end})


def _experiment(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """From x^0 = 10 m, above the limit, to x^K, with L = 2 and m = 3/2; a loop over numbers computes it."""
    import numpy as np

    from dpfl_theory.problems.quadratic import from_matrices
    from dpfl_theory.simulation import Simulation
    from dpfl_theory.simulation.observables import Reach

    L, m, alpha = 2.0, 1.5, float(Fraction(instance["alpha"]))
    problem = from_matrices(np.full((3, 1, 1), L), np.array([[m], [m], [-2 * m]]), "shulgin2025 Example 1")
    algorithm = Simulation(DPNormSGD(gamma=instance["gamma"], alpha=alpha, sigma=0.0))
    values = {"m": m, "L": L, "alpha": alpha, "gamma": float(instance["gamma"])}
    reach, K, x = Reach.anywhere(problem), int(instance["K"]), 10 * m
    for _k in range(K):
        slopes = [L * (x - centre) for centre in (m, m, -2 * m)]
        x -= values["gamma"] / 3 * sum(slope / (alpha + abs(slope)) for slope in slopes)
    known = {_END.column("gradient-norm"): L * abs(x)}
    start = np.array([10 * m])
    return Experiment(problem, algorithm, K, start, values, reach=reach, random=False, known=known)


EXAMPLE1: Statement = Statement(
    id="shulgin2025.example1",
    kind="corollary",
    source=Source(shu.PAPER, "Example 1, Section 3.4", provenance="derived"),
    symbols=(_CENTRE, *shu.symbols("L", "alpha", "gamma")),
    expectations=(_END,),
    hypotheses=(
        Hypothesis(
            lambda s, c: sp.Eq(c.n, 3),
            "the three clients of the example",
            "every instance is made of these three clients",
        ),
        Hypothesis(lambda s: s.gamma * s.L <= s.alpha, r"$\gamma L \le \alpha$, so that a round is monotone in $x$"),
    ),
    sides=_sides,
    checks=battery(
        _stationary,
        _limits,
        _monotone,
        Check("exact", "limits kept, the optimum left", _misses, _MISSES, part=_LEFT),
        Check("exact", "just inside gamma L <= alpha, from above the limit", _above, _EDGE),
        Check("exact", "just outside gamma L <= alpha", _above, _BEYOND, "not-applicable"),
        [
            Check("monte-carlo", f"alpha = {a}, K = {K}", _experiment, {"alpha": a, "gamma": gamma, "K": K})
            for a, gamma, K in (("1/100", 0.005, 2750), ("1", 0.2, 150), ("5", 0.2, 400), ("100", 0.2, 4000))
        ],
    ),
    smoke=("alpha = 5, K = 400",),
)

STATEMENTS = (EXAMPLE1,)
