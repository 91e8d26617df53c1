"""noble2022 Lemma C.1: the mean and the variance of a local step's private gradient."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, WorstCase, battery, checks
from dpfl_theory.core.check_inputs import Case, Values
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._runs import one_round
from dpfl_theory.statements.noble2022.scaffold._rounds import root
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.symbolic import sides_at

_ERROR = noble.expected(
    "error",
    r"squared length of $\tilde H_i^k(y) - \nabla F_i(y)$",
    "end",
    r"\mathbb{E}\|\tilde{H}_i^k(y_i^{k-1}) - \nabla F_i(y_i^{k-1})\|^2",
)
_PART1 = "part 1 of the lemma, that H~ is unbiased; the display is part 2, which has its own checks"
_REVERSE = "the reverse inequality, that nothing smaller is true; the inequality itself has its own checks"
_SAMPLING = "the error that the records' sample adds; that the errors of the sample and of the noise add up remains"
_NOISE = "the error that only the noise adds; that the errors of the records' sample and of the noise add up remains"


def _families(instance: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    draw = random.Random(int(instance["seed"]))
    for R, d in product(instance["R"], instance["d"]):
        yield "one record apart", [(1,) + (0,) * (d - 1)] + [(0,) * d] * (R - 1)
        yield "opposite", [tuple((-1) ** j for _ in range(d)) for j in range(R)]
        yield "drawn", [tuple(draw.randint(-9, 9) for _ in range(d)) for _ in range(R)]


def _mean(gradients: Sequence[tuple[int, ...]]) -> list[Fraction]:
    return [Fraction(sum(column), len(gradients)) for column in zip(*gradients)]


def errors_of(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """E||H~ - grad F_i||^2 by enumeration of the subsets, plus d (2C sigma_g/(sR))^2.

    The records' gradients are whole numbers, C is at least the longest, and varsigma^2 is the records' own variance.
    ``claimed`` multiplies s; ``drawn`` keeps one size of a sample.
    """
    for name, gradients in _families(instance):
        R, d, mean = len(gradients), len(gradients[0]), _mean(gradients)

        def spread(vectors: list[Any], mean: list[Fraction] = mean) -> Fraction:
            return sum(((v - m) ** 2 for g in vectors for v, m in zip(g, mean)), Fraction(0)) / len(vectors)

        threshold, varsigma = max(sum(abs(v) for v in g) for g in gradients), root(spread(gradients))
        for drawn in [instance["drawn"]] if "drawn" in instance else range(1, R + 1):
            left = spread([_mean(chosen) for chosen in combinations(gradients, drawn)])
            s = Fraction(drawn, R) * Fraction(instance.get("claimed", 1))
            for noise in (Fraction(str(v)) for v in instance["sigma_g"]):
                second = 4 * threshold**2 * d * noise**2 / Fraction(drawn) ** 2
                symbols = {"R": R, "s": s, "varsigma": varsigma, "Sigma": root(2 * second)}
                at = {"R": R, "sR": drawn, "d": d, "sigma_g": noise, "gradients": name}
                yield Values({**symbols, "error": left + second}, at)


def mean_cases(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """Part 1: every coordinate of the mean over the subsets, in both directions; the noise has mean zero."""
    for name, gradients in _families(instance):
        for drawn in range(1, len(gradients) + 1):
            drawings = [g for chosen in combinations(gradients, drawn) for g in chosen]
            for k, (a, b) in enumerate(zip(_mean(drawings), _mean(gradients))):
                values = {"R": len(gradients), "sR": drawn, "coordinate": k, "gradients": name}
                yield from (Case(values, a, b), Case(values, b, a))


def attained_cases(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """The statement's right side against its left one: they are equal."""
    for values in errors_of(statement, instance):
        left, right = sides_at(statement, values.symbol_values)
        yield Case(values.instance, right, left)


def error_of_a_sample(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """Part 2 in the worst case: the mean of sR of R vectors, plus noise +xi or -xi with xi^2 <= Sigma_g^2/2. varsigma^2
    is at least the vectors' variance. They are the records' gradients at one point, where smooth functions may have
    any."""
    from PEPit import PEP, Expression, Point

    R, drawn = int(instance["R"]), int(instance["sR"])
    problem, spread, noise = PEP(), Expression(), Expression()
    xi = Point()
    problem.add_constraint(2 * xi**2 <= noise)
    found = [Point() for _ in range(R)]
    mean = sum(found[1:], found[0]) / R
    squares = [(g - mean) ** 2 for g in found]
    problem.add_constraint(sum(squares[1:], squares[0]) / R <= spread)
    samples = list(combinations(found, drawn))
    left = 0.0 * noise
    for chosen, sign in product(samples, (1, -1)):
        error = sum(chosen[1:], chosen[0]) / drawn - mean
        left = left + (error + sign * xi) ** 2 / (2 * len(samples))
    symbols = {"R": R, "s": Fraction(drawn, R), "varsigma^2": spread, "Sigma^2": noise, "error": left}
    return WorstCase(problem, symbols, f"the error of {drawn} of {R} records")


@algebra("draws without replacement, every R", part=_SAMPLING)
def _every_size(s: Formula) -> Proof:
    """m of R records without replacement: with S = sum_j ||g_j - mean||^2 two different records have inner product
    -S/(R(R - 1)) on average, so E||mean of the drawn - mean||^2 = (m S/R - m(m - 1) S/(R(R - 1)))/m^2.
    """
    m, S, R = sp.Symbol("m", integer=True, positive=True), sp.Symbol("S", positive=True), s.R
    found = (m * S / R - m * (m - 1) * S / (R * (R - 1))) / m**2
    stated = s.terms["sampling"].subs({s.varsigma: sp.sqrt(S / R), s.s: m / R})
    found, stated = (sp.simplify(side * (R - 1)) for side in (found, stated))  # no pole where they are compared
    return found, stated, "R - 1 times the variance of m of R records against the sampling term"


def _noise_length(name: str, times: int) -> Check:
    """E||(2C/(sR)) N(0, sigma_g^2 I_d)||^2 = 4 C^2 d sigma_g^2/(sR)^2 is half of Sigma_g^2; ``times`` that is the noise
    term."""

    @algebra(name, part=_NOISE)
    def step(s: Formula) -> Proof:
        C, sigma, z = sp.symbols("C sigma_g z", positive=True)
        d, n = sp.symbols("d n", integer=True, positive=True)
        density = sp.exp(-(z**2) / 2) / sp.sqrt(2 * sp.pi)
        one = 2 * sp.integrate(z**2 * density, (z, 0, sp.oo))
        stated = s.terms["noise"].subs(s.Sigma, 2 * C * sp.sqrt(2 * d) * sigma / n)
        what = f"{times} times the noise's second moment against the noise term"
        return times * (2 * C / n) ** 2 * sigma**2 * d * one, stated, what

    return step


def _worst(*sizes: tuple[int, int]) -> tuple[Check, ...]:
    found = {f"part 2, vectors, R = {R}, sR = {drawn}": {"R": R, "sR": drawn} for R, drawn in sizes}
    return checks("worst-case", error_of_a_sample, found)


def _noise_alone(values: Mapping[str, float]) -> dict[str, float]:
    """The error of a gradient from all records is the privacy noise, whose second moment is half of Sigma_g^2."""
    return {"scaffold-gradient-error (end)": values["Sigma"] ** 2 / 2}


_RECORDS = {"R": [1, 2, 3, 5, 6], "d": [1, 2, 5], "sigma_g": ["0", "1/2", "40"], "seed": 4}
_MANY = {**_RECORDS, "R": [2, 3, 5, 6]}
_PARTLY = {**_MANY, "R": [5], "claimed": "51/50"}
_ONE_RECORD = {"R": [1, 2, 3, 5], "d": [1, 2], "sigma_g": ["0"], "drawn": 1, "seed": 4}
"""Where sR = 1 record is drawn and nothing is added, the error is the sampling term: one in 1/s^2 would be larger."""
_HIGH = {"R": [1, 3], "d": [200], "sigma_g": ["1"], "seed": 4}

LEMMA: Statement = Statement(
    id="noble2022.lemmaC.1",
    kind="lemma",
    source=Source(noble.PAPER, "Lemma C.1, Appendix C.1"),
    symbols=noble.symbols("varsigma", "s", "R", "Sigma"),
    expectations=(_ERROR,),
    hypotheses=(noble.SMOOTH_AT_A_POINT, noble.GRADIENTS, noble.RECORDS),
    sides=lambda s: Sides({"error": s.error}, {"sampling": s.varsigma**2 / (s.s * s.R), "noise": s.Sigma**2}),
    checks=battery(
        _noise_length("the noise's second moment is half of Sigma_g^2", 2),
        Check("exact", "part 1, unbiased", mean_cases, _RECORDS, part=_PART1),
        Check("exact", "part 2, every number of records", errors_of, _RECORDS),
        Check("exact", "part 2, 200 dimensions", errors_of, _HIGH),
        Check("exact", "one record, no noise: attained", attained_cases, _ONE_RECORD, part=_REVERSE),
        _worst((2, 1), (3, 1), (3, 2), (4, 4)),
        one_round(lambda values: 1.0, "last local step", _noise_alone)("samples"),
    ),
    smoke=("last local step, all records, 50 dimensions",),
)

SHARPENED: Statement = replace(
    LEMMA,
    id="noble2022.lemmaC.1.sharpened",
    hypotheses=(*LEMMA.hypotheses, Hypothesis(lambda s: s.R >= 2)),
    sides=lambda s: Sides(
        {"error": s.error},
        {"sampling": (1 - s.s) / (1 - 1 / s.R) * s.varsigma**2 / (s.s * s.R), "noise": s.Sigma**2 / 2},
    ),
    checks=battery(
        _every_size,
        _noise_length("the noise's second moment", 1),
        Check("exact", "every number of records", errors_of, _MANY),
        Check("exact", "the bound is attained", attained_cases, _MANY, part=_REVERSE),
        Check("exact", "one record, outside R >= 2", errors_of, {**_MANY, "R": [1]}, "not-applicable"),
        Check("exact", "2% of a record more than a whole one", errors_of, _PARTLY, "not-applicable"),
        _worst((2, 1), (3, 2), (4, 3)),
    ),
    smoke=(),
)

STATEMENTS = (LEMMA, SHARPENED)
