"""shulgin2025 Lemma 3 (Appendix G): the noise that the server's estimate accumulates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.claims import Case, Experiment, Outcome
from dpfl_theory.statements.formula import Letters, evaluate, letters_of, sides_of, total
from dpfl_theory.statements.model import Check, Expected, Sides, Source, Statement
from dpfl_theory.statements.shulgin2025 import _letters as shu
from dpfl_theory.statements.shulgin2025._experiments import experiment, runs
from dpfl_theory.statements.shulgin2025._instances import NOISY, ONE_CLIENT
from dpfl_theory.statements.symbolic import all_equal

__all__ = ["LEMMA3", "STATEMENTS", "second_moment", "squared"]

_NOISE = Expected(
    "noise",
    (("estimate-noise", 1),),
    (1, -1),
    r"\mathbb{E}\|\hat{v}^{K+1} - v^{K+1}\|",
    "E||vhat^{K+1} - v^{K+1}||, v the mean of the clients' memories",
    when="end",
)


def second_moment(
    K: int, n: int, d: int, sigma: Fraction, beta: Fraction, message: Fraction = Fraction(1), leaked: bool = False
) -> Fraction:
    """E||vhat^{K+1} - v^{K+1}||^2 by the recursion of second moments of (vhat, v_1, ..., v_n), which (9) and (10) move
    linearly: vhat by (beta/n) sum_i (Delta_i + z_i), v_i by beta Delta_i.

    The messages Delta_i may be random in any way, as they depend on the noise so far. Here a coordinate of each has the
    second moment ``message`` and, with another client's, half of it; they leave the difference. leaked: a wrong
    algorithm, in which the memories take up the noisy messages.

    >>> second_moment(2, 4, 3, Fraction(1), Fraction(2))
    Fraction(9, 1)
    >>> second_moment(2, 4, 3, Fraction(1), Fraction(2), leaked=True)
    Fraction(0, 1)
    """
    noise = [[sigma * sigma if i == j else Fraction(0) for j in range(n)] for i in range(n)]
    sent = [[message if i == j else message / 2 for j in range(n)] for i in range(n)]
    total = [[a + b for a, b in zip(x, y)] for x, y in zip(sent, noise)]
    # What one round adds to the second moments: of vhat, of vhat with v_i, of v_i with v_j.
    kept = total if leaked else sent
    server = sum((x for row in total for x in row), Fraction(0)) / (n * n)
    mixed = [sum(row, Fraction(0)) / n for row in kept]
    square = beta * beta
    vhat, cross, own = Fraction(0), [Fraction(0)] * n, [[Fraction(0)] * n for _ in range(n)]
    for _ in range(K + 1):
        vhat += square * server
        cross = [c + square * m for c, m in zip(cross, mixed)]
        own = [[o + square * t for o, t in zip(x, y)] for x, y in zip(own, kept)]
    return d * (vhat - 2 * sum(cross, Fraction(0)) / n + sum((x for row in own for x in row), Fraction(0)) / (n * n))


def _sides(s: Letters) -> Sides:
    return Sides({"noise": s.noise}, {"bound": s.beta * sp.sqrt((s.K + 1) * s.d * s.sigma**2 / s.n)})


def _moments(statement: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """The second moment against the square of the bound, which Jensen's inequality compares: they are equal."""
    cases = []
    for K, n, d, *texts in instance["runs"]:
        sigma, beta = map(Fraction, texts)
        found = second_moment(K, n, d, sigma, beta)
        printed = squared(statement, {"K": K, "beta": beta, "n": n, "d": d, "sigma": sigma})
        values = {"K": K, "n": n, "d": d, "sigma": texts[0], "beta": texts[1]}
        cases += [Case(values, found, printed), Case({**values, "compared": "the other way"}, printed, found)]
    return cases


def squared(statement: Statement, letters: Mapping[str, Any], term: str = "") -> Fraction:
    """The square of the right side, or of one of its terms, which is rational."""
    right = sides_of(statement).rhs
    found: Fraction = evaluate(sp.expand((right[term] if term else sum(right.values())) ** 2), letters, statement.id)
    return found


_SQUARES = (
    "It decides that the second moment is the square of the right side; that an expected length is at most the root of "
    "its second moment is Jensen's inequality."
)


def _gaussian_length(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """What Jensen's inequality gives away: E||z|| = sqrt(2) Gamma((d+1)/2)/Gamma(d/2) for z ~ N(0, I_d), which is
    sqrt(2/pi) = 0.798 for d = 1 and within 1/(4d) of sqrt(d) for large d."""
    s = letters_of(statement)
    d = s.d
    length = sp.sqrt(2) * sp.gamma((d + 1) / 2) / sp.gamma(d / 2)
    entered = total(statement).subs({s.K: 0, s.n: 1, s.beta: 1, s.sigma: 1})
    found = all_equal(
        (entered, sp.sqrt(d), "the bound of one standard draw"),
        (length.subs(d, 1), sp.sqrt(2 / sp.pi), "E|z| for d = 1"),
    )
    if not found.true:
        return found
    for dimension in (1, 2, 3, 10, 100):
        if not bool(length.subs(d, dimension) ** 2 < dimension):
            return Outcome(False, f"E||z||^2 is not below d = {dimension}")
    return Outcome(True, "E||z|| is below sqrt(d), by the factor 0.798 for d = 1")


def _known(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run, whose left side is that of a Gaussian vector: the bound times E||z||/sqrt(d) for z ~ N(0, I_d)."""
    found = experiment(statement, instance)
    v = found.values
    length = math.sqrt(2.0) * math.exp(math.lgamma((v["d"] + 1.0) / 2.0) - math.lgamma(v["d"] / 2.0))
    noise = v["beta"] * v["sigma"] * math.sqrt((v["K"] + 1.0) / v["n"]) * length
    return replace(found, known={_NOISE.column("estimate-noise"): noise})


_RUNS = {
    "runs": [[0, 1, 1, "1", "1"], [1, 2, 3, "1/2", "3"], [9, 1, 200, "1/3", "1/7"], [20, 10, 3, "5", "1/100"]],
}

LEMMA3: Statement = Statement(
    id="shulgin2025.lemma3",
    kind="lemma",
    title="Noise that the server's estimate accumulates",
    source=Source(
        shu.PAPER,
        "Lemma 3, Appendix G",
        note=("here for the last round K; so for every k"),
        provenance="restored",
        restoration=(
            "from its proof, 'By applying the equation recursively', the triangle inequality and Jensen's inequality "
            "over independent noises; that vhat^0 is the mean of the v_i^0, and each letter, is a "
            "judgement"
        ),
    ),
    text=(
        "If vhat^0 = (1/n) sum_i v_i^0 and z_i^k ~ N(0, sigma^2 I_d) are independent, then the server's estimate "
        "satisfies the bound."
    ),
    symbols=shu.letters("K", "beta", "n", "d", "sigma"),
    expectations=(_NOISE,),
    assumptions=(shu.ROUNDS, shu.NOISE),
    sides=_sides,
    checks=(
        Check("algebra", "the length of a Gaussian vector", _gaussian_length),
        Check("exact", "second moment against the squared bound", _moments, _RUNS, part=_SQUARES),
        *runs(
            {**{name: {**i, "lanes": 4096} for name, i in NOISY.items()}, "one client on the line": ONE_CLIENT}, _known
        ),
        *runs(
            {
                f"just outside {words}": {**ONE_CLIENT, "stated": stated}
                for words, stated in (("K >= 0", {"K": "+1/50"}), ("n as the number of clients", {"n": "+1/50"}))
            },
            expected="not-applicable",
        ),
    ),
    smoke=("one client on the line", "Huber, first round only"),
)

STATEMENTS = (LEMMA3,)
