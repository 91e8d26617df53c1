"""The second moment of a cohort's average, counted over every cohort and in closed form, in rational arithmetic."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

from dpfl_theory.algorithms.fedavg import DPFedAvg, FedAvg
from dpfl_theory.core import Case, Check, Statement, Values
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector as WorldVector
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.rational import Quadratics

Vector = tuple[int, ...]


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
    raise ValueError(f"vector family {family!r} is not one of equal, opposite, orthogonal, one-hot, drawn")


@cache
def _cohorts(members: tuple[Vector, ...]) -> tuple[tuple[int, int], ...]:
    """(size, squared norm of the sum) of every subset of the vectors."""
    sums: list[tuple[int, Vector]] = [(0, (0,) * len(members[0]))]
    for v in members:
        sums += [(size + 1, tuple(a + b for a, b in zip(total, v))) for size, total in sums]
    return tuple((size, sum(x * x for x in total)) for size, total in sums)


def _weights(n: int, r: Fraction, sampling: str) -> list[Fraction]:
    """The probability of one cohort of each size."""
    if sampling == "independent":
        p = r / n
        return [p**size * (1 - p) ** (n - size) for size in range(n + 1)]
    return [Fraction(int(size == r), comb(n, size)) for size in range(n + 1)]


def second_moment(members: tuple[Vector, ...], r: Fraction, sampling: str) -> Fraction:
    """E||(1/r) sum_{i in S} g_i||^2 by enumeration of all cohorts S, in rational arithmetic.

    sampling: ``independent`` (each client with probability r/n, as in line 3 of Algorithm 1) or ``fixed`` (r clients
    without replacement).

    >>> second_moment(((1,), (1,)), Fraction(1), "independent"), second_moment(((1,), (1,)), Fraction(1), "fixed")
    (Fraction(3, 2), Fraction(1, 1))
    """
    by_size = [0] * (len(members) + 1)
    for size, square in _cohorts(members):
        by_size[size] += square
    return sum((w * s for w, s in zip(_weights(len(members), r, sampling), by_size)), Fraction(0)) / r**2


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


def moments(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """E||(1/r) sum||^2, counted over all cohorts, and (1/n) sum ||g_i||^2 on every (n, r) of the instance."""
    for named, members, r in _sweep(instance):
        n = len(members)
        square = Fraction(sum(x * x for v in members for x in v), n)
        kappa = (1 - r / n) / r if instance["sampling"] == "independent" else Fraction(0)
        counted = second_moment(members, r, instance["sampling"])
        yield Values({"n": n, "r": r, "kappa": kappa, "second_moment": counted, "mean_square": square}, named)


def full(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """Full participation: r = n, where every client takes part with probability 1."""
    return [c for n in instance["n"] for c in moments(statement, {**instance, "n": [n], "r": [n]})]


def agreement(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """Enumeration and closed form, each at most the other; so too E[(1/r) sum_S ||g_i||^2] and (1/n) sum ||g_i||^2."""
    for values, members, r in _sweep(instance):
        sampling, n = instance["sampling"], len(members)
        counted, formula = second_moment(members, r, sampling), closed_form(members, r, sampling)
        squares = [sum(x * x for x in v) for v in members]
        weights = enumerate(_weights(n, r, sampling))
        expected = sum(weight * sum(cohort) for size, weight in weights for cohort in combinations(squares, size)) / r
        for what, a, b in (
            ("closed form", counted, formula),
            ("step from (12) to (13)", expected, Fraction(sum(squares), n)),
        ):
            yield from (Case({**values, "compared": what}, *pair) for pair in ((a, b), (b, a)))


def attained(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """The statement's right side against its left one for equal vectors: the factor is attained, so no smaller one is
    enough."""
    for i in moments(statement, instance):
        yield Case(i.evidence_instance, *(evaluate_side(statement, side, i.symbol_values) for side in ("rhs", "lhs")))


EQUAL = {"eta": "1/2", "C/||u||": "99/100", "r": "1", "n": 200}


def equal_clients(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """One round: n clients with f_i = w^2/2 from w = 1, C = (C/||u||) ||u||, every update clipped, one dimension.

    They act as one client, whose message has an error: C^2 times the variance of |S_k|/r, and K C^2 rho^2 of noise.
    """
    eta, r, n = Fraction(instance["eta"]), Fraction(instance["r"]), int(instance["n"])
    rho, K = Fraction(instance.get("rho", 0)), int(instance.get("K", 1))
    spread = (1 - r / n) / r if instance["sampling"] == "independent" else Fraction(0)
    noise = {"K": K, "n": n, "d": 1, "epsilon": 1, "delta": Fraction(1, 2), "q": sp.Rational(rho * n) ** 2 / sp.log(2)}
    start = WorldVector(Fraction(1))
    for E in instance["E"]:
        u = (start - run_round(FedAvg(eta=eta, beta=1, E=E), Quadratics([1], [0]), start).x).known
        C = Fraction(instance["C/||u||"]) * u
        world = Quadratics([1], [0], {"noise": C**2 * (spread + K * rho**2)})
        after = world.square(run_round(DPFedAvg(eta=eta, beta=eta, E=E, C=C, sigma=1), world, start).x)
        values = {**noise, "eta": eta, "E": E, "L": 1, "C_hat": C / E, "kappa": spread, "r": r, "distance": 1}
        values |= {"next_distance": sp.sqrt(sp.Rational(after)), "E_clipped_length": u}
        values |= {"E_unclipped_gap": 0, "E_unclipped_Delta": 0}
        yield Values(values, {"n": n, "r": r, "eta L": eta, "E": E, "C": C})


def same_clients(name: str, sampling: str, E: list[int], expected: str = "holds", **more: Any) -> Check:
    """The check on one round of `equal_clients`, 200 of them and r = 1 unless ``more`` has others."""
    return Check("exact", name, equal_clients, {**EQUAL, "E": E, "sampling": sampling, **more}, expected)
