"""das2022 eq. (12): the second moment of the cohort's average update, as printed and repaired."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

from dpfl_theory.statements.claims import Case, Experiment, Outcome
from dpfl_theory.statements.das2022 import _letters as das
from dpfl_theory.statements.das2022 import _step_instances as steps
from dpfl_theory.statements.das2022._experiments import step_experiment
from dpfl_theory.statements.model import Check, Erratum, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.symbolic import equal

Vector = tuple[int, ...]
Factor = Callable[[Fraction, int], Fraction]
"""What multiplies the mean square on the right, from (r, n)."""


def printed_factor(r: Fraction, n: int) -> Fraction:
    """The factor 1 that eq. (12) prints."""
    return Fraction(1)


def independent_factor(r: Fraction, n: int) -> Fraction:
    """1 + (1 - r/n)/r, the least factor when every client takes part independently with probability r/n."""
    return 1 + (1 - r / n) / r


def vectors(family: str, n: int, seed: int = 0) -> tuple[Vector, ...]:
    """n integer vectors: all equal, of zero sum, orthonormal, a single one that is not zero, or drawn.

    >>> vectors("opposite", 3)
    ((1,), (-1,), (0,))
    """
    if family == "equal":
        return ((1,),) * n
    if family == "opposite":
        return tuple((1,) if i % 2 == 0 else (-1,) for i in range(n - n % 2)) + ((0,),) * (n % 2)
    if family == "orthogonal":
        return tuple(tuple(int(i == k) for k in range(n)) for i in range(n))
    if family == "one-hot":
        return ((1,),) + ((0,),) * (n - 1)
    if family == "drawn":
        draw = random.Random(1000 * seed + n)
        return tuple(tuple(draw.randint(-9, 9) for _ in range(3)) for _ in range(n))
    raise ValueError(f"vector family {family!r} is none of equal, opposite, orthogonal, one-hot, drawn")


@cache
def _cohorts(members: tuple[Vector, ...]) -> tuple[tuple[int, int], ...]:
    """(size, squared norm of the sum) of every subset of the vectors."""
    sums: list[tuple[int, Vector]] = [(0, (0,) * len(members[0]))]
    for v in members:
        sums += [(size + 1, tuple(a + b for a, b in zip(total, v))) for size, total in sums]
    return tuple((size, sum(x * x for x in total)) for size, total in sums)


def second_moment(members: tuple[Vector, ...], r: Fraction, sampling: str) -> Fraction:
    """E||(1/r) sum_{i in S} g_i||^2 by enumeration of all cohorts S, in rational arithmetic.

    sampling: ``independent`` (each client with probability r/n, as in line 3 of Algorithm 1) or ``fixed`` (r clients
    without replacement).

    >>> second_moment(((1,), (1,)), Fraction(1), "independent"), second_moment(((1,), (1,)), Fraction(1), "fixed")
    (Fraction(3, 2), Fraction(1, 1))
    """
    n = len(members)
    cohorts = _cohorts(members)
    if sampling == "independent":
        p = r / n
        weight = [p**size * (1 - p) ** (n - size) for size in range(n + 1)]
    else:
        count = sum(size == r for size, _ in cohorts)
        weight = [Fraction(int(size == r), count) for size in range(n + 1)]
    by_size = [0] * (n + 1)
    for size, square in cohorts:
        by_size[size] += square
    return sum((w * s for w, s in zip(weight, by_size)), Fraction(0)) / r**2


def closed_form(members: tuple[Vector, ...], r: Fraction, sampling: str) -> Fraction:
    """The same by formula, with V the mean of the squared norms and m the squared norm of the mean.

    Independent: (1/r)(1 - r/n) V + m. Fixed size: ((n - r) V + n(r - 1) m)/(r(n - 1)).
    """
    n = len(members)
    square = Fraction(sum(x * x for v in members for x in v), n)
    mean = Fraction(sum(sum(column) ** 2 for column in zip(*members)), n * n)
    if sampling == "independent":
        return (1 - r / n) / r * square + mean
    return square if n == 1 else ((n - r) * square + n * (r - 1) * mean) / (r * (n - 1))


def _sweep(instance: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], tuple[Vector, ...], Fraction]]:
    for n in instance["n"]:
        members = vectors(instance["vectors"], n, int(instance.get("seed", 0)))
        rates: Sequence[Any] = instance.get("r", range(1, n + 1))
        for r in (Fraction(str(value)) for value in rates):
            if r <= n:
                yield {"n": n, "r": r, "vectors": instance["vectors"]}, members, r


def moment_cases(instance: Mapping[str, Any], factor: Factor = printed_factor) -> list[Case]:
    """E||(1/r) sum||^2 <= factor (1/n) sum ||g_i||^2 on every (n, r) of the instance."""

    cases = []
    for values, members, r in _sweep(instance):
        n = len(members)
        square = Fraction(sum(x * x for v in members for x in v), n)
        cases.append(Case(values, second_moment(members, r, instance["sampling"]), factor(r, n) * square))
    return cases


def full_cases(instance: Mapping[str, Any]) -> list[Case]:
    """Full participation: r = n, where every client takes part with probability 1."""
    return [c for n in instance["n"] for c in moment_cases({**instance, "n": [n], "r": [n]})]


def agreement_cases(instance: Mapping[str, Any]) -> list[Case]:
    """Enumeration and closed form, each at most the other; so too E[(1/r) sum_S ||g_i||^2] and (1/n) sum ||g_i||^2."""

    cases = []
    for values, members, r in _sweep(instance):
        sampling = instance["sampling"]
        counted, formula = second_moment(members, r, sampling), closed_form(members, r, sampling)
        norms = tuple((sum(x * x for x in v),) for v in members)
        square = Fraction(sum(v[0] for v in norms), len(norms))
        expected = _first_moment(norms, r, sampling)
        for what, a, b in (("closed form", counted, formula), ("step from (12) to (13)", expected, square)):
            cases += [Case({**values, "compared": what}, a, b), Case({**values, "compared": what}, b, a)]
    return cases


def _first_moment(norms: tuple[Vector, ...], r: Fraction, sampling: str) -> Fraction:
    """E[(1/r) sum over the cohort of one-entry vectors], by enumeration."""
    n, total = len(norms), Fraction(0)
    for size in range(n + 1):
        chosen = sum(sum(norms[i][0] for i in cohort) for cohort in combinations(range(n), size))
        cohorts = sum(1 for _ in combinations(range(n), size))
        p = r / n
        weight = p**size * (1 - p) ** (n - size) if sampling == "independent" else Fraction(int(size == r), cohorts)
        total += weight * chosen
    return total / r


def attained_cases(instance: Mapping[str, Any]) -> list[Case]:
    """The repaired right side against the left one for equal vectors: the factor is attained, so none is smaller."""

    return [Case(c.values, c.rhs, c.lhs) for c in moment_cases(instance, independent_factor)]


def _independent_proof(_: Mapping[str, Any]) -> Outcome:
    """With S = mean square and m = ||mean||^2: independent clients of probability p = r/n have

    E||sum_S g_i||^2 = p(1 - p) n S + p^2 n^2 m, and the slack of the repaired bound is S - m, a variance.
    """
    import sympy as sp

    n, r, S, m = sp.symbols("n r S m", positive=True)
    p = r / n
    moment = (p * (1 - p) * n * S + p**2 * n**2 * m) / r**2
    return equal(
        (1 + (1 - r / n) / r) * S - moment, S - m, "the slack of the repaired bound against the clients' variance"
    )


def _fixed_proof(_: Mapping[str, Any]) -> Outcome:
    """r clients without replacement: pairs are drawn with probability r(r - 1)/(n(n - 1)), so that

    E||sum_S g_i||^2 = (r/n) n S + r(r - 1)/(n(n - 1)) (n^2 m - n S); the slack is n(r - 1)/(r(n - 1)) (S - m) >= 0.
    """
    import sympy as sp

    n, r, S, m = sp.symbols("n r S m", positive=True)
    moment = (r * S + r * (r - 1) / (n * (n - 1)) * (n**2 * m - n * S)) / r**2
    return equal(
        S - moment, n * (r - 1) / (r * (n - 1)) * (S - m), "the slack for r clients against the clients' variance"
    )


def _variance(instance: Mapping[str, Any]) -> Outcome:
    """S - m = (1/n^2) sum over pairs of ||g_i - g_j||^2: the slack is never negative, and 0 if all vectors agree."""
    import sympy as sp

    n = int(instance["n"])
    g = sp.symbols(f"g1:{n + 1}", real=True)
    left = sum(x**2 for x in g) / sp.Integer(n) - (sum(g) / sp.Integer(n)) ** 2
    right = sum((a - b) ** 2 for a, b in combinations(g, 2)) / sp.Integer(n) ** 2
    return equal(
        sp.expand(left), sp.expand(right), f"the variance of {n} vectors against the squared differences of all pairs"
    )


def cohort_experiment(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Algorithm 1 without noise and with a threshold above every update, so that the g_i are the updates."""
    found = step_experiment(statement, instance, "clip")
    return replace(found, algorithm=replace(found.algorithm, sigma=0.0))  # type: ignore[type-var]


def _printed_sides() -> Sides:
    s = sympy_symbols(EQ12)
    return Sides(lhs={"cohort": s["second_moment"]}, rhs={"clients": s["mean_square"]})


def _repaired_sides() -> Sides:
    s = sympy_symbols(REPAIRED)
    return Sides(
        lhs={"cohort": s["second_moment"]},
        rhs={"clients": s["mean_square"], "cohort size": (1 - s["r"] / s["n"]) / s["r"] * s["mean_square"]},
    )


_SIZES = [2, 3, 4, 5, 6, 7, 8]
_FAMILIES = ("equal", "opposite", "orthogonal", "one-hot", "drawn")


def _instance(family: str, sampling: str, **more: Any) -> dict[str, Any]:
    return {"vectors": family, "sampling": sampling, "n": _SIZES, **({"seed": 1} if family == "drawn" else {}), **more}


EQ12: Statement = Statement(
    id="das2022.eq12",
    kind="step",
    title="Second moment of the sampled average",
    source=Source(
        das.PAPER,
        "Appendix C.1, proof of Theorem 6, step from (11) through (12) to (13)",
        "12",
        "for the cohorts of Algorithm 1, line 3: each client joins with probability r/n; the average divides by r, not "
        "by |S_k|",
    ),
    text=(
        "For all vectors g_1, ..., g_n, E||(1/r) sum_{i in S_k} g_i||^2 <= E[(1/r) sum_{i in S_k} ||g_i||^2] = (1/n) "
        "sum_i ||g_i||^2 ('by Fact 2')."
    ),
    symbols=das.letters("r", "n"),
    expectations=das.expected("second_moment", "mean_square"),
    assumptions=(das.COHORT,),
    sides=_printed_sides,
    checks=(
        *(
            Check(
                "exact",
                f"independent sampling, {family} vectors",
                moment_cases,
                _instance(family, "independent"),
                "violated" if family in ("equal", "drawn") else "holds",
            )
            for family in _FAMILIES
        ),
        Check(
            "exact",
            "independent sampling, half a client expected",
            moment_cases,
            _instance("one-hot", "independent", r=["1/2"]),
            "violated",
        ),
        *(
            Check("exact", f"full participation, {family} vectors", full_cases, _instance(family, "independent"))
            for family in _FAMILIES
        ),
        Check("exact", "closed form, and (12) to (13)", agreement_cases, _instance("drawn", "independent")),
        *(
            Check("monte-carlo", name, lambda i: cohort_experiment(EQ12, i), i, verdict)
            for name, (i, verdict) in steps.COHORTS.items()
        ),
    ),
    expected="violated",
    erratum=Erratum(
        printed=(
            "(12): E||(1/r) sum_{i in S_k} g_i||^2 <= E[(1/r) sum_{i in S_k} ||g_i||^2] = (1/n) sum_i ||g_i||^2, by "
            "Fact 2."
        ),
        true=(
            "E||(1/r) sum_{i in S_k} g_i||^2 = (1/r)(1 - r/n) (1/n) sum_i ||g_i||^2 + ||(1/n) sum_i g_i||^2, which is "
            "at most (1 + (1 - r/n)/r) (1/n) sum_i ||g_i||^2, with equality when all g_i are equal: no smaller factor "
            "will do. As printed, it holds for exactly r clients drawn without replacement, and for full participation."
        ),
        cause=(
            "Algorithm 1 samples each client independently, so |S_k| is random and only E|S_k| = r. Fact 2 gives "
            "||(1/r) sum_{S_k} g_i||^2 <= (|S_k|/r) (1/r) sum_{S_k} ||g_i||^2, and |S_k|/r was taken to be 1; a cohort "
            "that is larger than r has a longer update as well as more terms. The second-moment terms of the theorems "
            "that use (12) grow by the factor."
        ),
        counterexample=(
            "n = 2, r = 1, g_1 = g_2 of norm 1: |S_k| is 0, 1, 2 with probability 1/4, 1/2, 1/4, so the left side is "
            "1/2 + 4/4 = 3/2 and the right side is 1"
        ),
        repaired="das2022.eq12.repaired",
        affects=(
            "das2022.eq35",
            "das2022.eq47",
            "das2022.theorem4a",
            "das2022.theorem4b",
            "das2022.theorem6",
            "das2022.theorem6.alpha",
            "das2022.theorem7",
            "das2022.theorem7.alpha",
        ),
    ),
    uses=("das2022.fact2",),
)

REPAIRED: Statement = Statement(
    id="das2022.eq12.repaired",
    kind="step",
    title="Second moment of the sampled average, for independently sampled clients",
    source=Source(
        das.PAPER,
        "Appendix C.1, proof of Theorem 6, step from (11) through (12) to (13)",
        "12",
        "repaired: the factor 1 + (1 - r/n)/r, which equal vectors attain; with exactly r clients it is 1, as printed",
    ),
    text=(
        "For all vectors and clients that join independently with probability r/n, E||(1/r) sum_{i in S_k} g_i||^2 <= "
        "(1 + (1 - r/n)/r) (1/n) sum_i ||g_i||^2; for r clients drawn without replacement it is at most (1/n) sum_i "
        "||g_i||^2."
    ),
    symbols=EQ12.symbols,
    expectations=EQ12.expectations,
    assumptions=EQ12.assumptions,
    sides=_repaired_sides,
    checks=(
        Check("algebra", "slack, independent sampling", _independent_proof),
        Check("algebra", "slack, fixed size", _fixed_proof),
        *(Check("algebra", f"variance as squared differences, n = {n}", _variance, {"n": n}) for n in (2, 3, 4)),
        *(
            Check("exact", f"independent sampling, {family} vectors", lambda i: moment_cases(i, independent_factor), i)
            for family in _FAMILIES
            for i in (_instance(family, "independent"),)
        ),
        Check(
            "exact",
            "independent sampling, half a client expected",
            lambda i: moment_cases(i, independent_factor),
            _instance("one-hot", "independent", r=["1/2"]),
        ),
        Check("exact", "the factor is attained", attained_cases, _instance("equal", "independent")),
        *(
            Check("exact", f"fixed size, {family} vectors", moment_cases, _instance(family, "fixed"))
            for family in _FAMILIES
        ),
        Check("exact", "closed form, fixed size", agreement_cases, _instance("drawn", "fixed")),
        *(
            Check("monte-carlo", name, lambda i: cohort_experiment(REPAIRED, i), i)
            for name, (i, verdict) in steps.COHORTS.items()
            if verdict == "holds"  # on the others the repaired form is an equality, which samples cannot decide
        ),
    ),
    uses=("das2022.fact2",),
)

STATEMENTS = (EQ12, REPAIRED)
