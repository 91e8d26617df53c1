"""das2022 Facts 1 and 2 (Appendix E)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbol, Values, WorstCase, battery, checks
from dpfl_theory.lazy import PEPit
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.local_phase import CLASSES, LocalPhase, grid, number
from dpfl_theory.statements.relations import Formula, Proof, algebra, of

_SLOPE = Symbol("slope", r"$\|\nabla h(x)\|$", (1, -1), "nonnegative", r"\|\nabla h(x)\|")
_HEIGHT = Symbol("height", "$h(x) - h^*$", (1, 0), "nonnegative", r"(h(x) - h^*)")
_COUNT = Symbol("p", "number of vectors", (0, 0), "integer", "p")
_SUM = Symbol("norm_of_sum", r"$\|y_1 + \dots + y_p\|$", (1, -1), "nonnegative", r"\left\|\sum_{i=1}^p y_i\right\|")
_NORMS = Symbol(
    "sum_of_squared_norms", r"$\|y_1\|^2 + \dots + \|y_p\|^2$", (2, -2), "nonnegative", r"\sum_{i=1}^p \|y_i\|^2"
)


def smooth_function(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A gradient and a height of any function of the class.

    The class has only the constraint that h* is not above h at the sampled points, one of which is x - grad h(x)/L. So
    no constraint contains the claim.
    """
    L = number(instance, "L")
    phase = LocalPhase(str(instance["class"]), L, 1 / L, 1, assume_fact1=False)
    phase.problem.add_constraint(phase.minimum <= phase.value(1))
    values = {"L": L, "slope^2": phase.gradient(0) ** 2, "height": phase.value(0)}
    return WorstCase(phase.problem, values, "||grad h||^2 against h - h*")


def _fact1_quadratic(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """h(x) = L x^2/2, where Fact 1 is an equality."""
    L = Fraction(str(instance["L"]))
    return [
        Values({"L": L, "slope": abs(L * x), "height": L * x**2 / 2}, {"h": "L x^2/2", "x": x})
        for x in (Fraction(str(text)) for text in instance["x"])
    ]


@algebra("from one gradient step")
def _fact1_descent(s: Formula) -> Proof:
    """h* <= h(x - g/L) <= h(x) - ||g||^2/(2L): with h(x) - h* = ||g||^2/(2L) + t, t >= 0, right less left is 2 L t."""
    t = sp.Symbol("t", nonnegative=True)
    return of(s.statement, height=s.slope**2 / (2 * s.L) + t).slack, 2 * s.L * t, "Fact 1, right less left"


@algebra("quadratics of any curvature up to L")
def _fact1_softer_quadratic(s: Formula) -> Proof:
    """h(x) = a x^2/2 with 0 < a <= L: right less left is (L - a) a x^2, which is 0 at a = L."""
    a, x = sp.symbols("a x", positive=True)
    return of(s.statement, slope=a * x, height=a * x**2 / 2).slack, (s.L - a) * a * x**2, "Fact 1 on a x^2/2"


FACT1 = das.statement(
    id="das2022.fact1",
    kind="fact",
    source=Source(das.PAPER, "Fact 1, Appendix E"),
    symbols=das.NOTATION(_SLOPE, _HEIGHT),
    hypotheses=(das.SMOOTH_BY_CLASS,),
    sides=lambda s: Sides(lhs={"slope": s.slope**2}, rhs={"height": 2 * s.L * s.height}),
    checks=battery(
        _fact1_descent,
        _fact1_softer_quadratic,
        Check("exact", "equality on a quadratic", _fact1_quadratic, {"L": "3", "x": ["-2", "1/7", "5"]}),
        checks("worst-case", smooth_function, grid(**{"class": CLASSES, "L": ("1",)})),
        Check("worst-case", "non-convex, L = 1/8", smooth_function, {"class": "non-convex", "L": "1/8"}),
    ),
    smoke=("equality on a quadratic",),
)


def _sum_of_squares(p: int) -> Check:
    """p sum y_i^2 - (sum y_i)^2 = sum over pairs of (y_i - y_j)^2, coordinate by coordinate."""

    @algebra(f"sum of squares, p = {p}", p=p)
    def check(s: Formula, p: int) -> Proof:
        y = sp.symbols(f"y1:{p + 1}", real=True)
        slack = of(s.statement, p=p, sum_of_squared_norms=sum(v**2 for v in y), norm_of_sum=sum(y)).slack
        right = sum((a - b) ** 2 for a, b in combinations(y, 2))
        label = f"the slack of Fact 2 for p = {p} against the squared differences of all pairs"
        return sp.expand(slack), sp.expand(right), label

    return check


@algebra("every p")
def _every_count(s: Formula) -> Proof:
    """With J the p x p matrix of ones, J^2 = p J, so p I - J = (p I - J)^T (p I - J)/p is semidefinite, for every p."""
    p, J = s.p, sp.Symbol("J")
    entered = of(s.statement, sum_of_squared_norms=1, norm_of_sum=sp.sqrt(J)).slack  # y^T I y and y^T J y
    square = sp.rem(sp.expand((p - J) ** 2), J**2 - p * J, J)  # polynomials in J and the identity, where J^2 = p J
    return square / p, entered, "the square of p I - J over p, with J^2 = p J, against p I - J (for every p)"


def drawn_vectors(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Equal vectors, then integer vectors of a seeded sequence."""
    draws = random.Random(int(instance["seed"]))
    for p in instance["p"]:
        equal_vectors = [(1, 2, -3)] * p
        drawn = [tuple(draws.randint(-9, 9) for _ in range(3)) for _ in range(p)]
        for name, vectors in (("equal", equal_vectors), ("drawn", drawn)):
            length = sp.sqrt(sum(sum(v[k] for v in vectors) ** 2 for k in range(3)))
            squares = sum(x * x for v in vectors for x in v)
            symbols = {"p": p, "norm_of_sum": length, "sum_of_squared_norms": squares}
            yield Values(symbols, {"p": p, "vectors": name})


def any_vectors(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """Vectors y_1, ..., y_p of any dimension."""
    problem, p = PEPit.PEP(), int(instance["p"])
    y = [problem.set_initial_point() for _ in range(p)]
    values = {"p": p, "norm_of_sum^2": sum(y[1:], y[0]) ** 2}
    values["sum_of_squared_norms"] = sum((v**2 for v in y[1:]), y[0] ** 2)
    return WorstCase(problem, values, f"||y_1 + ... + y_{p}||^2 against the squares")


FACT2 = das.statement(
    id="das2022.fact2",
    kind="fact",
    source=Source(das.PAPER, "Fact 2, Appendix E"),
    symbols=(_SUM, _COUNT, _NORMS),
    sides=lambda s: Sides(lhs={"sum": s.norm_of_sum**2}, rhs={"squares": s.p * s.sum_of_squared_norms}),
    checks=battery(
        _every_count,
        map(_sum_of_squares, (2, 3, 4, 5)),
        checks("worst-case", any_vectors, {f"p = {p}": {"p": p} for p in (2, 3, 7)}),
        Check("exact", "equal and drawn vectors", drawn_vectors, {"p": [2, 3, 4, 5, 12], "seed": 1}),
    ),
)

STATEMENTS = (FACT1, FACT2)
