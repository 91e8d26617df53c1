"""noble2022 Lemma C.1: the mean and the variance of a local step's private gradient."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

from dpfl_theory.core import Check, Expected, Hypothesis, Sides, Source, Statement, Symbols, checks, whole
from dpfl_theory.core.check_inputs import Case, Outcome, Values
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022.scaffold import _lemma_runs as runs
from dpfl_theory.statements.noble2022.scaffold import _user_performance as user
from dpfl_theory.statements.noble2022.scaffold._round_instances import root
from dpfl_theory.statements.symbolic import equal, sides_at

_ERROR = Expected(
    "error",
    (("scaffold-gradient-error", 1),),
    (2, -2),
    r"\mathbb{E}\|\tilde{H}_i^k(y_i^{k-1}) - \nabla F_i(y_i^{k-1})\|^2",
    r"squared length of $\tilde H_i^k(y) - \nabla F_i(y)$",
    "end",
)
_WHERE = "Lemma C.1, Appendix C.1"


def _noise_alone(values: Mapping[str, float]) -> dict[str, float]:
    """The error of a gradient from all records is the privacy noise, whose second moment is half of Sigma_g^2."""
    return {"scaffold-gradient-error (end)": values["Sigma"] ** 2 / 2}


_PART1 = "part 1 of the lemma, that H~ is unbiased; the display is part 2, which has its own checks"
_REVERSE = "the reverse inequality, that nothing smaller is true; the inequality itself has its own checks"
_SAMPLING = "the error that the records' sample adds; that the errors of the sample and of the noise add up remains"
_NOISE = "the error that only the noise adds; that the errors of the records' sample and of the noise add up remains"


def _families(instance: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    draw = random.Random(int(instance["seed"]))
    for R in instance["R"]:
        for d in instance["d"]:
            yield "one record apart", [(1,) + (0,) * (d - 1)] + [(0,) * d] * (R - 1)
            yield "opposite", [tuple((-1) ** j for _ in range(d)) for j in range(R)]
            yield "drawn", [tuple(draw.randint(-9, 9) for _ in range(d)) for _ in range(R)]


def errors_of(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """E||H~ - grad F_i||^2 by enumeration of the subsets, plus d (2C sigma_g/(sR))^2.

    The records' gradients are whole numbers, C is at least the longest, and varsigma^2 is the records' own variance.
    ``claimed`` multiplies s; ``drawn`` keeps one size of a sample.
    """
    found = []
    for name, gradients in _families(instance):
        R, d = len(gradients), len(gradients[0])
        mean = [Fraction(sum(column), R) for column in zip(*gradients)]
        threshold = max(sum(abs(v) for v in g) for g in gradients)
        spread = sum(((g[k] - mean[k]) ** 2 for g in gradients for k in range(d)), Fraction(0)) / R
        for drawn in [instance["drawn"]] if "drawn" in instance else range(1, R + 1):
            subsets = list(combinations(gradients, drawn))
            left = Fraction(0)
            for chosen in subsets:
                left += sum(
                    ((Fraction(sum(g[k] for g in chosen), drawn) - mean[k]) ** 2 for k in range(d)), Fraction(0)
                )
            left /= len(subsets)
            for noise in (Fraction(str(v)) for v in instance["sigma_g"]):
                second = 4 * threshold**2 * d * noise**2 / Fraction(drawn) ** 2
                at = {"R": R, "sR": drawn, "d": d, "sigma_g": noise, "gradients": name}
                symbols = {
                    "R": R,
                    "s": Fraction(drawn, R) * Fraction(instance.get("claimed", 1)),
                    "varsigma": root(spread),
                    "Sigma": root(2 * second),
                }
                found.append(Values({**symbols, "error": left + second}, at))
    return found


def mean_cases(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """Part 1: every coordinate of the mean over the subsets, in both directions; the noise has mean zero."""
    cases = []
    for name, gradients in _families(instance):
        R, d = len(gradients), len(gradients[0])
        for drawn in range(1, R + 1):
            subsets = list(combinations(gradients, drawn))
            for k in range(d):
                a = Fraction(sum(g[k] for chosen in subsets for g in chosen), drawn * len(subsets))
                b = Fraction(sum(g[k] for g in gradients), R)
                values = {"R": R, "sR": drawn, "coordinate": k, "gradients": name}
                cases += [Case(values, a, b), Case(values, b, a)]
    return cases


def attained_cases(statement: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """The statement's right side against its left one: they are equal."""
    found = []
    for values in errors_of(statement, instance):
        left, right = sides_at(statement, values.symbol_values)
        found.append(Case(values.instance, right, left))
    return found


def _every_size(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """m of R records without replacement: with S = sum_j ||g_j - mean||^2 two different records have inner product
    -S/(R(R - 1)) on average, so E||mean of the drawn - mean||^2 = (m S/R - m(m - 1) S/(R(R - 1)))/m^2.
    """
    s, stated = symbols_of(statement), sides_of(statement).rhs["sampling"]
    m, S, R = sp.Symbol("m", integer=True, positive=True), sp.Symbol("S", positive=True), s.R
    found = (m * S / R - m * (m - 1) * S / (R * (R - 1))) / m**2
    stated = stated.subs({s.varsigma: sp.sqrt(S / R), s.s: m / R})
    found, stated = (sp.simplify(side * (R - 1)) for side in (found, stated))  # no pole where they are compared
    return equal(found, stated, "R - 1 times the variance of m of R records against the sampling term")


def _noise_length(times: int) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    """E||(2C/(sR)) N(0, sigma_g^2 I_d)||^2 = 4 C^2 d sigma_g^2/(sR)^2 is half of Sigma_g^2; ``times`` that is the noise
    term."""

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        C, sigma, z = sp.symbols("C sigma_g z", positive=True)
        d, n = sp.symbols("d n", integer=True, positive=True)
        density = sp.exp(-(z**2) / 2) / sp.sqrt(2 * sp.pi)
        one = 2 * sp.integrate(z**2 * density, (z, 0, sp.oo))
        Sigma = 2 * C * sp.sqrt(2 * d) * sigma / n
        stated = sides_of(statement).rhs["noise"].subs(symbols_of(statement).Sigma, Sigma)
        what = f"{times} times the noise's second moment against the noise term"
        return equal(times * (2 * C / n) ** 2 * sigma**2 * d * one, stated, what)

    return build


def _sides(s: Symbols) -> Sides:
    return Sides({"error": s.error}, {"sampling": s.varsigma**2 / (s.s * s.R), "noise": s.Sigma**2})


def _sharp_sides(s: Symbols) -> Sides:
    sampling = (1 - s.s) / (1 - 1 / s.R) * s.varsigma**2 / (s.s * s.R)
    return Sides({"error": s.error}, {"sampling": sampling, "noise": s.Sigma**2 / 2})


def _one_step(values: Mapping[str, float]) -> float:
    """eta~ nu; the lemma has no condition on it."""
    return 1.0


def _worst(*sizes: tuple[int, int]) -> tuple[Check, ...]:
    found = {f"part 2, vectors, R = {R}, sR = {drawn}": {"R": R, "sR": drawn} for R, drawn in sizes}
    return checks("worst-case", user.error_of_a_sample, found)


RECORDS = Hypothesis(
    lambda s: (s.s > 0, s.s <= 1, s.s * s.R >= 1, whole(s.s * s.R)),
    r"$sR$ is a whole number of records: Algorithm 1 draws $\lfloor sR\rfloor$ of them and divides by $sR$",
    rounding=noble.SLACK,
)
_RECORDS = {"R": [1, 2, 3, 5, 6], "d": [1, 2, 5], "sigma_g": ["0", "1/2", "40"], "seed": 4}
_MANY = {**_RECORDS, "R": [2, 3, 5, 6]}
_PARTLY = {**_MANY, "R": [5], "claimed": "51/50"}
_ONE_RECORD = {"R": [1, 2, 3, 5], "d": [1, 2], "sigma_g": ["0"], "drawn": 1, "seed": 4}
"""Where sR = 1 record is drawn and nothing is added, the error is the sampling term: one in 1/s^2 would be larger."""
_HIGH = {"R": [1, 3], "d": [200], "sigma_g": ["1"], "seed": 4}

LEMMA: Statement = Statement(
    id="noble2022.lemmaC.1",
    kind="lemma",
    source=Source(noble.PAPER, _WHERE),
    symbols=noble.symbols("varsigma", "s", "R", "Sigma"),
    expectations=(_ERROR,),
    hypotheses=(noble.SMOOTH_AT_A_POINT, noble.GRADIENTS, RECORDS),
    sides=_sides,
    checks=(
        Check("algebra", "the noise's second moment is half of Sigma_g^2", _noise_length(2), part=_NOISE),
        Check("exact", "part 1, unbiased", mean_cases, _RECORDS, part=_PART1),
        Check("exact", "part 2, every number of records", errors_of, _RECORDS),
        Check("exact", "part 2, 200 dimensions", errors_of, _HIGH),
        Check("exact", "one record, no noise: attained", attained_cases, _ONE_RECORD, part=_REVERSE),
        *_worst((2, 1), (3, 1), (3, 2), (4, 4)),
        *runs.checks(_one_step, runs=runs.SAMPLES, label="last local step", known=_noise_alone),
        *runs.checks(_one_step, runs=runs.outside("s"), label="last local step", expected="not-applicable"),
    ),
    smoke=("last local step, all records, 50 dimensions",),
)

SHARPENED: Statement = Statement(
    id="noble2022.lemmaC.1.sharpened",
    kind="lemma",
    source=Source(noble.PAPER, _WHERE),
    symbols=LEMMA.symbols,
    expectations=LEMMA.expectations,
    hypotheses=(*LEMMA.hypotheses, Hypothesis(lambda s: s.R >= 2)),
    sides=_sharp_sides,
    checks=(
        Check("algebra", "draws without replacement, every R", _every_size, part=_SAMPLING),
        Check("algebra", "the noise's second moment", _noise_length(1), part=_NOISE),
        Check("exact", "every number of records", errors_of, _MANY),
        Check("exact", "the bound is attained", attained_cases, _MANY, part=_REVERSE),
        Check("exact", "one record, outside R >= 2", errors_of, {**_MANY, "R": [1]}, "not-applicable"),
        Check("exact", "2% of a record more than a whole one", errors_of, _PARTLY, "not-applicable"),
        *_worst((2, 1), (3, 2), (4, 3)),
    ),
)

STATEMENTS = (LEMMA, SHARPENED)
