"""noble2022 Lemmas C.1 to C.3: a local step's private gradient, the gradient of F by its excess, and the second moment
of a sum."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Check, Hypothesis, Sides, Statement, Symbol, WorstCase, battery, checks
from dpfl_theory.core.check_inputs import Case, Experiment, Performance, Values
from dpfl_theory.lazy import PEPit
from dpfl_theory.lazy import numpy as np
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, average
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.statements import experiments
from dpfl_theory.statements.instances import Instance, edges_of, problem
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022 import _worst_cases as worst
from dpfl_theory.statements.noble2022._runs import one_round
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.symbolic import root, sides_at

# Lemma C.1: a local step's private gradient.

_UNBIASED = "part 1 of the lemma, that H~ is unbiased; the display is part 2, which has its own checks"
_REVERSE = "the reverse inequality, that nothing smaller is true; the inequality itself has its own checks"
_SAMPLING = "the error that the records' sample adds; that the errors of the sample and of the noise add up remains"
_NOISE = "the error that only the noise adds; that the errors of the records' sample and of the noise add up remains"


def _families(instance: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    draw = random.Random(int(instance["seed"]))
    for R, d in product(instance["R"], instance["d"]):
        yield "one record apart", [(1,) + (0,) * (d - 1)] + [(0,) * d] * (R - 1)
        yield "opposite", [tuple((-1) ** j for _ in range(d)) for j in range(R)]
        yield "drawn", [tuple(draw.randint(-9, 9) for _ in range(d)) for _ in range(R)]


def _mean(gradients: Any) -> list[Fraction]:
    return [Fraction(sum(column), len(gradients)) for column in zip(*gradients)]


def errors_of(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """E||H~ - grad F_i||^2 by enumeration of the subsets, plus d (2C sigma_g/(sR))^2.

    The records' gradients are whole numbers, C is at least the longest, and varsigma^2 is the records' own variance.
    ``claimed`` multiplies s; ``drawn`` keeps one size of a sample.
    """
    for name, gradients in _families(instance):
        R, d, mean = len(gradients), len(gradients[0]), _mean(gradients)

        def spread(vectors: list[Any], mean: list[Fraction] = mean) -> Fraction:
            return average([sum(((v - m) ** 2 for v, m in zip(g, mean)), Fraction(0)) for g in vectors])

        C, varsigma = max(sum(abs(v) for v in g) for g in gradients), root(spread(gradients))
        for drawn in [instance["drawn"]] if "drawn" in instance else range(1, R + 1):
            left = spread([_mean(chosen) for chosen in combinations(gradients, drawn)])
            s = Fraction(drawn, R) * Fraction(instance.get("claimed", 1))
            for noise in (Fraction(str(v)) for v in instance["sigma_g"]):
                second = 4 * C**2 * d * noise**2 / Fraction(drawn) ** 2
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
    R, drawn = int(instance["R"]), int(instance["sR"])
    problem, spread, noise, xi = PEPit.PEP(), PEPit.Expression(), PEPit.Expression(), PEPit.Point()
    problem.add_constraint(2 * xi**2 <= noise)
    found = [PEPit.Point() for _ in range(R)]
    mean = average(found)
    problem.add_constraint(average([(g - mean) ** 2 for g in found]) <= spread)
    errors = [average(chosen) - mean for chosen in combinations(found, drawn)]
    left = 0.0 * noise
    for error, sign in product(errors, (1, -1)):
        left = left + (error + sign * xi) ** 2 / (2 * len(errors))
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


def _samples(*sizes: tuple[int, int]) -> tuple[Check, ...]:
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

C1: Statement = noble.statement(
    **noble.named("noble2022.lemmaC.1"),
    hypotheses=(noble.SMOOTH_AT_A_POINT, noble.GRADIENTS, noble.RECORDS),
    sides=lambda s: Sides({"error": s.error}, {"sampling": s.varsigma**2 / (s.s * s.R), "noise": s.Sigma**2}),
    checks=battery(
        _noise_length("the noise's second moment is half of Sigma_g^2", 2),
        Check("exact", "part 1, unbiased", mean_cases, _RECORDS, part=_UNBIASED),
        Check("exact", "part 2, every number of records", errors_of, _RECORDS),
        Check("exact", "part 2, 200 dimensions", errors_of, _HIGH),
        Check("exact", "one record, no noise: attained", attained_cases, _ONE_RECORD, part=_REVERSE),
        _samples((2, 1), (3, 1), (3, 2), (4, 4)),
        one_round(lambda values: 1.0, "last local step", _noise_alone)("samples"),
    ),
    smoke=("last local step, all records, 50 dimensions",),
)

C1_SHARPENED: Statement = replace(
    C1,
    id="noble2022.lemmaC.1.sharpened",
    hypotheses=(*C1.hypotheses, Hypothesis(lambda s: s.R >= 2)),
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
        _samples((2, 1), (3, 2), (4, 3)),
    ),
    smoke=(),
)


# Lemma C.2: the gradient of F by its excess. Convexity, which the paper asks for, is not needed.


def gradient_by_excess(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """F the mean of M functions of a class, with x* the origin.

    The constraints on x*: the gradients there sum to zero, and F(x*) is not above F at x - grad F(x)/nu.
    """
    problem, (nu,) = PEPit.PEP(), worst.floats(instance, nu=1)
    world = FunctionClass(problem, declared(problem, instance["class"], int(instance["M"]), L=nu))
    star, x = world.minimiser_at_origin(), Vector(problem.set_initial_point())
    slope, least = world.mean_gradient(x), world.mean_value(star)
    problem.add_constraint(least <= world.mean_value(x - slope / nu))
    values = {"nu": nu, "slope": world.square(slope), "gap": world.mean_value(x) - least}
    return WorstCase(problem, values, "||grad F||^2 against F - F*")


def quadratics(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """F_i(x) = a_i x^2/2 - b_i x: equality where all a_i = nu; some a_i may be negative as long as F has a minimum."""
    for users in instance["users"]:
        a, b = ([Fraction(v) for v in values] for values in users)
        nu, mean, star = max(abs(v) for v in a), average(a), average(b) / average(a)
        for x in map(Fraction, instance["x"]):
            symbols = {"nu": nu, "slope": mean**2 * (x - star) ** 2, "gap": mean / 2 * (x - star) ** 2}
            yield Values(symbols, {"curvatures": tuple(a), "offsets": tuple(b), "x": x})


def along_iterates(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Along DP-SCAFFOLD's iterates, which noise spreads over many points; ``claimed`` multiplies nu."""
    from dpfl_theory.simulation import Cohort, NoisyGradient, Simulation
    from dpfl_theory.simulation.observables import Reach

    problem = experiments.problem_of(instance)
    nu, start, reach = problem.constants.L_max, 3.0 * np.ones(problem.d), Reach.anywhere(problem)
    run = Scaffold(eta_l=0.5 / nu, eta_g=1.0, K=2)
    algorithm = Simulation(run, Cohort("fixed", 2), NoisyGradient(instance["noise"]))
    values = {"nu": nu * instance.get("claimed", 1.0)}
    return Experiment(problem, algorithm, 20, start, values, replicates=512, reach=reach)


@algebra("from the descent of smooth functions")
def descent(s: Formula) -> Proof:
    """F(x*) <= min over t of F(x) - t g^2 + nu t^2 g^2/2, g = ||grad F(x)||: this is what sides() asks for, and no
    less."""
    t, g = sp.Symbol("t"), sp.Symbol("g", positive=True)
    fall = t * g**2 - s.nu * t**2 * g**2 / 2
    (best,) = sp.solve(sp.diff(fall, t), t)
    right = s.rhs.subs(s.gap, fall.subs(t, best))
    return right, g**2, "the right side at the least gap that smoothness allows against ||grad F||^2"


_CONVEX = [[["1", "1"], ["1", "-3"]], [["2", "0"], ["1", "1"]], [["1/7"], ["5"]], [["1", "1", "0"], ["9", "0", "-2"]]]
_OTHER = [[["2", "-1"], ["1", "1"]], [["1", "1", "-1"], ["0", "5", "2"]]]
_POINTS = ["-2", "0", "1/3", "100"]
_HUBER: Instance = {"problem": problem("huber", clients=4, dimension=3, seed=2), "noise": 0.5}
_APART = {"problem": problem("quadratic", clients=4, dimension=3, heterogeneity=5.0, seed=1), "noise": 3.0}


def _gradients(kind: str) -> tuple[Check, ...]:
    sizes = ((1, "1"), (2, "1"), (3, "1"), (2, "1/8"))
    found = {f"{kind}, M = {M}, nu = {nu}": {"class": kind, "M": M, "nu": nu} for M, nu in sizes}
    return checks("worst-case", gradient_by_excess, found)


C2: Statement = noble.statement(
    **noble.named("noble2022.lemmaC.2"),
    symbols=noble.NOTATION(
        *(
            noble.observed(name, observable, noble.SYMBOLS[name].unit, rf"\mathbb{{E}}{latex}", meaning, "mean")
            for name, observable, latex, meaning in (
                ("slope", "gradient-norm-squared", r"\|\nabla F(x)\|^2", "squared gradient of $F$"),
                ("gap", "suboptimality", "(F(x) - F^*)", "excess of $F$"),
            )
        )
    ),
    hypotheses=(noble.CONVEX, noble.SMOOTH, noble.MINIMISER),
    sides=lambda s: Sides({"slope": s.slope}, {"gap": 2 * s.nu * s.gap}),
    checks=battery(
        descent,
        _gradients("convex"),
        Check("exact", "quadratics", quadratics, {"users": _CONVEX, "x": _POINTS}),
        Check("monte-carlo", "heterogeneous quadratics", along_iterates, _APART),
        Check("monte-carlo", "Huber", along_iterates, _HUBER),
        edges_of("monte-carlo", along_iterates, _HUBER, {"nu-smooth F_i": {"claimed": 0.99}}),
    ),
    smoke=("quadratics", "heterogeneous quadratics"),
)

C2_SHARPENED: Statement = replace(
    C2,
    id="noble2022.lemmaC.2.sharpened",
    hypotheses=(noble.SMOOTH_BY_CLASS, noble.MINIMISER),
    checks=battery(
        descent,
        _gradients("non-convex"),
        Check("exact", "quadratics, some of them concave", quadratics, {"users": _OTHER, "x": _POINTS}),
    ),
    symbols=noble.NOTATION(
        replace(noble.SYMBOLS["slope"], meaning=r"$\|\nabla F(x)\|^2$", latex=r"\|\nabla F(x)\|^2"),
        replace(noble.SYMBOLS["gap"], meaning="$F(x) - F(x^*)$", latex=r"(F(x) - F^*)"),
    ),
)


# Lemma C.3: the second moment of a sum, by its means and variances (Karimireddy et al. 2020b, Lemma 4).

_PART1 = "part 1 of the lemma, whose right side has n^2 sigma_A^2; the display is part 2, which has its own checks"


def part1_cases(_: Statement, instance: Mapping[str, Any], power: int = 2) -> Iterator[Case]:
    """E||sum A_i||^2 <= ||sum a_i||^2 + n^power sigma_A^2 for A_i = a_i + z_i over equally likely outcomes of z.

    ``equal``: all z_i are the same +-1 (equality); ``drawn``: dependent integer vectors, centred.
    """
    draw = random.Random(int(instance["seed"]))
    for n, outcomes in product(instance["n"], instance["outcomes"]):
        means = [draw.randint(-3, 3) for _ in range(n)]
        drawn = [[Fraction(draw.randint(-9, 9)) for _ in range(n)] for _ in range(outcomes)]
        centred = [[v - c for v, c in zip(row, map(average, zip(*drawn)))] for row in drawn]
        for name, table in (("equal", [[Fraction(-1)] * n, [Fraction(1)] * n]), ("drawn", centred)):
            left = average([(sum(row, Fraction(sum(means)))) ** 2 for row in table])
            variance = max(average([v**2 for v in column]) for column in zip(*table))
            values = {"n": n, "outcomes": len(table), "vectors": name}
            yield Case(values, left, sum(means) ** 2 + n**power * variance)


def _trees(instance: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], list[tuple[Fraction, Fraction]]]]:
    """(n, family), then of every outcome (sum A, sum a): steps +-1, so that sigma_A = 1, and conditional means by
    history.

    ``against``: each a_i undoes what the errors did before; ``with``: each repeats it; ``drawn``: at random.
    """
    draw = random.Random(int(instance["seed"]))
    for n, family in product(instance["n"], ("none", "against", "with", "drawn")):
        chosen: dict[tuple[int, ...], int] = {}
        ends = []
        for signs in product((1, -1), repeat=n):
            A = a = noise = Fraction(0)
            for i in range(n):
                if family == "drawn":
                    mean = Fraction(chosen.setdefault(signs[:i], draw.randint(-4, 4)))
                else:
                    mean = {"none": Fraction(2), "against": -noise, "with": noise / max(i, 1)}[family]
                A, a, noise = A + mean + signs[i], a + mean, noise + signs[i]
            ends.append((A, a))
        yield {"n": n, "means": family}, ends


def part2(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Second moments of the sums over all outcomes of fair signs."""
    for at, ends in _trees(instance):
        left, means = (average([pair[i] ** 2 for pair in ends]) for i in (0, 1))
        yield Values({"n": at["n"], "sum_squared": left, "means_squared": means, "sigma_A": 1}, at)


def martingale(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """Part 2 for all vectors: steps +-xi, a conditional mean and an error of its own at every node of the tree."""
    n, problem, variance = int(instance["n"]), PEPit.PEP(), PEPit.Expression()
    *before, ends = (list(product((1, -1), repeat=i)) for i in range(n + 1))
    nodes = {signs: (PEPit.Point(), PEPit.Point()) for one in before for signs in one}
    for one in before:
        problem.add_constraint(average([nodes[signs][1] ** 2 for signs in one]) <= variance)
    means = [n * average([nodes[signs[:i]][0] for i in range(n)]) for signs in ends]
    errors = [n * average([signs[i] * nodes[signs[:i]][1] for i in range(n)]) for signs in ends]
    left, right = average([(a + e) ** 2 for a, e in zip(means, errors)]), average([a**2 for a in means])
    values = {"n": n, "sum_squared": left, "means_squared": right, "sigma_A^2": variance}
    return WorstCase(problem, values, f"n = {n} martingale steps")


def part1_performance(_: Statement, instance: Mapping[str, Any], factor: float = 1.0) -> Performance:
    """Part 1 for all vectors over three equally likely outcomes, dependent in every way: ||sum a_i||^2 + factor n^2
    sigma_A^2."""
    n, problem, variance = int(instance["n"]), PEPit.PEP(), PEPit.Expression()
    a = PEPit.Point()  # the sum of the means
    totals = [a, a, a]
    for _i in range(n):
        one, two = PEPit.Point(), PEPit.Point()
        errors = [one, two, -one - two]
        problem.add_constraint(average([e**2 for e in errors]) <= variance)
        totals = [t + e for t, e in zip(totals, errors)]
    left = average([t**2 for t in totals])
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


C3: Statement = noble.statement(
    **noble.named("noble2022.lemmaC.3"),
    symbols=noble.NOTATION(Symbol("n", "number of random vectors", (0, 0), "integer", "n")),
    sides=lambda s: Sides({"sum": s.sum_squared}, {"means": 2 * s.means_squared, "variances": 2 * s.n * s.sigma_A**2}),
    checks=battery(
        map(_mean_of_squares, (2, 3, 4)),
        _young,
        Check("exact", "part 1, dependent vectors", part1_cases, _DEPENDENT, part=_PART1),
        Check("exact", "part 2, means that follow the errors", part2, {"n": [1, 2, 3, 6, 9], "seed": 3}),
        checks("worst-case", part1_performance, {f"part 1, n = {n}": {"n": n} for n in (1, 2, 4)}, part=_PART1),
        checks("worst-case", martingale, {f"part 2, n = {n}": {"n": n} for n in (1, 2, 3)}),
        one_round(lambda values: 1.0, "part 2")("sums"),
    ),
)

STATEMENTS = (C1, C1_SHARPENED, C2, C2_SHARPENED, C3)
