"""noble2022 Lemma C.3: the second moment of a sum, by its means and variances (Karimireddy et al. 2020b, Lemma 4)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbol, battery, checks
from dpfl_theory.core.check_inputs import Case, Performance, Values, WorstCase
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._runs import one_round
from dpfl_theory.statements.noble2022.scaffold._rounds import root
from dpfl_theory.statements.relations import Formula, Proof, algebra

_SUM = noble.expected(
    "sum_squared",
    r"$\|A_1 + \dots + A_n\|^2$; a run's $A_i$ are a user's noisy gradients $\tilde H(y^0), \dots, \tilde H(y^{K-1})$",
    "end",
    r"\mathbb{E}\|\sum_{i=1}^n A_i\|^2",
)
_MEANS = noble.expected(
    "means_squared",
    r"$\|a_1 + \dots + a_n\|^2$; a run's $a_i$ are the gradients at $y^0, \dots, y^{K-1}$",
    "end",
    r"\mathbb{E}\|\sum_{i=1}^n a_i\|^2",
)
_PART1 = "part 1 of the lemma, whose right side has n^2 sigma_A^2; the display is part 2, which has its own checks"
_COUNT = Symbol("n", "number of random vectors", (0, 0), "integer", "n")
_DEVIATION = Symbol("sigma_A", "root of the bound of the variances", (1, -1), "nonnegative", r"\sigma_A")


def part1_cases(_: Statement, instance: Mapping[str, Any], power: int = 2) -> Iterator[Case]:
    """E||sum A_i||^2 <= ||sum a_i||^2 + n^power sigma_A^2 for A_i = a_i + z_i over equally likely outcomes of z.

    ``equal``: all z_i are the same +-1 (equality); ``drawn``: dependent integer vectors, centred.
    """
    draw = random.Random(int(instance["seed"]))
    for n, outcomes in product(instance["n"], instance["outcomes"]):
        means = [draw.randint(-3, 3) for _ in range(n)]
        same = [[Fraction(1 if w % 2 else -1)] * n for w in range(2)]
        drawn = [[Fraction(draw.randint(-9, 9)) for _ in range(n)] for _ in range(outcomes)]
        centre = [sum(column) / outcomes for column in zip(*drawn)]
        for name, table in (("equal", same), ("drawn", [[v - c for v, c in zip(row, centre)] for row in drawn])):
            left = sum((sum(means) + sum(row)) ** 2 for row in table) / len(table)
            variance = max(sum(row[i] ** 2 for row in table) / len(table) for i in range(n))
            values = {"n": n, "outcomes": len(table), "vectors": name}
            yield Case(values, Fraction(left), sum(means) ** 2 + n**power * variance)


def _trees(instance: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], list[tuple[Fraction, Fraction]], Fraction]]:
    """(n, family), then of every outcome (sum A, sum a), and sigma_A^2: steps +-scale, conditional means by history.

    ``against``: each a_i undoes what the errors did before; ``with``: each repeats it; ``drawn``: at random.
    """
    draw = random.Random(int(instance["seed"]))
    for n, family in product(instance["n"], ("none", "against", "with", "drawn")):
        chosen: dict[tuple[int, ...], int] = {}
        ends = []
        for signs in product((1, -1), repeat=n):
            A = a = Fraction(0)
            noise = Fraction(0)
            for i in range(n):
                if family == "drawn":
                    mean = Fraction(chosen.setdefault(signs[:i], draw.randint(-4, 4)))
                else:
                    mean = {"none": Fraction(2), "against": -noise, "with": noise / max(i, 1)}[family]
                A, a, noise = A + mean + signs[i], a + mean, noise + signs[i]
            ends.append((A, a))
        yield {"n": n, "means": family}, ends, Fraction(1)


def part2(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Second moments of the sums over all outcomes of fair signs."""
    for at, ends, variance in _trees(instance):
        left = sum((A**2 for A, _a in ends), Fraction(0)) / len(ends)
        means = sum((a**2 for _A, a in ends), Fraction(0)) / len(ends)
        yield Values({"n": at["n"], "sum_squared": left, "means_squared": means, "sigma_A": root(variance)}, at)


def performance(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """Part 2 for all vectors: steps +-xi, a conditional mean and an error of its own at every node of the tree."""
    from PEPit import PEP, Expression, Point

    n = int(instance["n"])
    problem, variance = PEP(), Expression()
    nodes: dict[tuple[int, ...], tuple[Any, Any]] = {}
    for i in range(n):
        errors = []
        for signs in product((1, -1), repeat=i):
            nodes[signs] = (Point(), Point())
            errors.append(nodes[signs][1] ** 2)
        problem.add_constraint(sum(errors[1:], errors[0]) / len(errors) <= variance)
    left = right = 0.0 * variance
    for signs in product((1, -1), repeat=n):
        means = [nodes[signs[:i]][0] for i in range(n)]
        a = sum(means[1:], means[0])
        total = a
        for i in range(n):
            total = total + signs[i] * nodes[signs[:i]][1]
        left, right = left + total**2 / 2**n, right + a**2 / 2**n
    values = {"n": n, "sum_squared": left, "means_squared": right, "sigma_A^2": variance}
    return WorstCase(problem, values, f"n = {n} martingale steps")


def part1_performance(_: Statement, instance: Mapping[str, Any], factor: float = 1.0) -> Performance:
    """Part 1 for all vectors over three equally likely outcomes, dependent in every way: ||sum a_i||^2 + factor n^2
    sigma_A^2."""
    from PEPit import PEP, Expression, Point

    n = int(instance["n"])
    problem, variance, a = PEP(), Expression(), Point()  # a is the sum of the means
    totals = [a, a, a]
    for _i in range(n):
        one, two = Point(), Point()
        errors = [one, two, -one - two]
        problem.add_constraint(sum((e**2 for e in errors[1:]), errors[0] ** 2) / 3 <= variance)
        totals = [t + e for t, e in zip(totals, errors)]
    left = sum((t**2 for t in totals[1:]), totals[0] ** 2) / 3
    return Performance(problem, left, a**2 + factor * n**2 * variance, f"part 1, n = {n}, factor {factor:g}")


@algebra("part 2, every n")
def _young(s: Formula) -> Proof:
    """The right side less ||a + z||^2 is ||a - z||^2, with z the sum of the errors, E||z||^2 <= n sigma_A^2."""
    a, z = sp.symbols("a z", real=True)
    right = s.rhs.subs({s.means_squared: a**2, s.sigma_A: sp.Abs(z) / sp.sqrt(s.n)})
    return sp.expand(right - (a + z) ** 2), sp.expand((a - z) ** 2), "the slack against a square"


def _mean_of_squares(n: int) -> Check:
    """n sum z_i^2 - (sum z_i)^2 = sum over pairs of (z_i - z_j)^2, coordinate by coordinate: part 1."""

    @algebra(f"part 1, squared differences, n = {n}", part=_PART1, n=n)
    def step(s: Formula, n: int) -> Proof:
        z = sp.symbols(f"z1:{n + 1}", real=True)
        left = n * sum(v**2 for v in z) - sum(z) ** 2
        right = sum((u - v) ** 2 for u, v in combinations(z, 2))
        return sp.expand(left), sp.expand(right), f"n = {n}: the slack of part 1 against squared differences"

    return step


_DEPENDENT = {"n": [1, 2, 3, 7], "outcomes": [2, 5], "seed": 2}


LEMMA: Statement = Statement(
    id="noble2022.lemmaC.3",
    kind="lemma",
    source=Source(noble.PAPER, "Lemma C.3, Appendix C.1"),
    symbols=(_COUNT, _DEVIATION),
    expectations=(_SUM, _MEANS),
    sides=lambda s: Sides({"sum": s.sum_squared}, {"means": 2 * s.means_squared, "variances": 2 * s.n * s.sigma_A**2}),
    checks=battery(
        map(_mean_of_squares, (2, 3, 4)),
        _young,
        Check("exact", "part 1, dependent vectors", part1_cases, _DEPENDENT, part=_PART1),
        Check("exact", "part 2, means that follow the errors", part2, {"n": [1, 2, 3, 6, 9], "seed": 3}),
        checks("worst-case", part1_performance, {f"part 1, n = {n}": {"n": n} for n in (1, 2, 4)}, part=_PART1),
        checks("worst-case", performance, {f"part 2, n = {n}": {"n": n} for n in (1, 2, 3)}),
        one_round(lambda values: 1.0, "part 2")("sums"),
    ),
)

STATEMENTS = (LEMMA,)
