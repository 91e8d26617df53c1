"""alpha-NormEC on the line in rational numbers: whole runs for the exact checks of shulgin2025's theorems.

The clients are f_i = curvature_i (x - centre_i)^2/2. R = 1 is the unit of gradients, alpha and beta are squares of
rational numbers, so that Theorem 1's bounds are rational, or roots of rational numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.formula import letters_of, sides_of
from dpfl_theory.statements.model import Statement

__all__ = ["Round", "Run", "alpha_norm_ec", "exactly", "is_square", "least_with_noise", "root", "runs_on_the_line"]


@dataclass(frozen=True)
class Round:
    """One round: |f'(x^k)|, the largest |f_i'(x^k) - v_i^k| and |f_i'(x^k) - v_i^{k+1}|, and v^{k+1}."""

    slope: Fraction
    before: Fraction
    after: Fraction
    estimate: Fraction


@dataclass(frozen=True)
class Run:
    """A run's rounds and the letters of Theorem 1, but for K."""

    letters: Mapping[str, Fraction]
    rounds: Sequence[Round]


def _sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)


def alpha_norm_ec(
    curvatures: Sequence[Fraction],
    centres: Sequence[Fraction],
    x: Fraction,
    memories: Sequence[Fraction],
    alpha: Fraction,
    beta: Fraction,
    gamma: Fraction,
    count: int,
) -> list[Round]:
    """Algorithm 1 without noise, 0/0 = 0.

    >>> one, zero = Fraction(1), Fraction(0)
    >>> run = alpha_norm_ec([one], [zero], 3 * one, [2 * one], one, one, one / 2, 2)
    >>> [str(r.slope) for r in run], [str(r.after) for r in run]
    (['3', '5/2'], ['1/2', '0'])
    """
    found, v = [], list(memories)
    for _ in range(count):
        gradients = [a * (x - c) for a, c in zip(curvatures, centres)]
        missing = [g - m for g, m in zip(gradients, v)]
        v = [m + (beta * e / (alpha + abs(e)) if e else 0) for m, e in zip(v, missing)]
        mean, estimate = (sum(numbers, Fraction(0)) / len(v) for numbers in (gradients, v))
        after = max(abs(g - m) for g, m in zip(gradients, v))
        found.append(Round(abs(mean), max(map(abs, missing)), after, estimate))
        x -= gamma * _sign(estimate)
    return found


def runs_on_the_line(instance: Mapping[str, Any]) -> Iterator[Run]:
    """instance: ``clients``, each (curvatures, centres); ``runs``: (x^0, root of alpha, root of beta, gamma over its
    limit, residuals of the clients in turn, of which the first is 1 or -1 and no other is longer); ``rounds``."""
    for texts in instance["clients"]:
        curvatures, centres = ([Fraction(t) for t in row] for row in texts)
        n = len(curvatures)
        L, L_max = sum(curvatures, Fraction(0)) / n, max(curvatures)
        star = sum((a * c for a, c in zip(curvatures, centres)), Fraction(0)) / (n * L)
        for start, root_a, root_b, step, residuals in instance["runs"]:
            x, alpha, beta = Fraction(start), Fraction(root_a) ** 2, Fraction(root_b) ** 2
            off = [Fraction(residuals[i % len(residuals)]) for i in range(n)]
            if max(map(abs, off)) != 1:
                raise ValueError(f"the longest of the residuals {', '.join(map(str, off))} is not R = 1")
            if beta >= alpha + 1:
                raise ValueError(f"beta = {beta} is not below alpha + R = {alpha + 1}")
            gamma = Fraction(step) * beta / ((alpha + 1) * L_max)
            memories = [a * (x - c) - e for a, c, e in zip(curvatures, centres, off)]
            letters = {
                "gap": L * (x - star) ** 2 / 2,
                "gamma": gamma,
                "R": Fraction(1),
                "alpha": alpha,
                "beta": beta,
                "L": L,
                "L_max": L_max,
                "n": Fraction(n),
            }
            rounds = alpha_norm_ec(curvatures, centres, x, memories, alpha, beta, gamma, int(instance["rounds"]))
            yield Run(letters, rounds)


def _tail(squared: Fraction) -> Fraction:
    """Not below P(Z > t) for a standard normal Z and t^2 = ``squared``: exp(-t^2/2)/2, rounded up."""
    import mpmath

    with mpmath.workdps(60):
        value = mpmath.exp(-mpmath.mpf(squared.numerator) / squared.denominator / 2) / 2
        return Fraction(int(mpmath.ceil(value * 10**40)) + 1, 10**40)


def least_with_noise(run: Run, K: int, moments: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Limits of min_k E|f'(x^k)| over k = 0..K where the server's estimate has Gaussian noise of variance moments[k] in
    round k.

    The sign of v^{k+1} decides the step, and the memories do not see the noise: until it turns a sign the run is the
    one without noise, afterwards |f'(x^k)| is at most |f'(x^0)| + L gamma k.
    """
    most, least, turned = [], [], Fraction(0)
    for k in range(K + 1):
        slope = run.rounds[k].slope
        far = run.rounds[0].slope + run.letters["L"] * run.letters["gamma"] * k
        share = min(turned, Fraction(1))
        most.append((1 - share) * slope + share * far if far > slope else slope)
        least.append((1 - share) * slope)
        turned += _tail(run.rounds[k].estimate ** 2 / moments[k])
    return min(least), min(most)


def is_square(number: Fraction) -> bool:
    """Whether a nonnegative fraction has a rational root.

    >>> is_square(Fraction(9, 4)), is_square(Fraction(2))
    (True, False)
    """
    return all(math.isqrt(x) ** 2 == x for x in (number.numerator, number.denominator))


def root(number: Fraction) -> Fraction:
    """The root of the square of a fraction."""
    if not is_square(number):
        raise ValueError(f"{number} is not the square of a fraction")
    return Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))


def exactly(
    statement: Statement,
    letters: Mapping[str, Fraction],
    power: int = 1,
    terms: Sequence[str] | None = None,
    given: Mapping[str, Any] | None = None,
) -> Fraction:
    """The statement's own right side, or some of its terms, at these letters, to a power that makes it rational.
    ``given``: letters in sympy's terms, such as a delta with a rational logarithm."""
    import sympy as sp

    assert statement.sides is not None
    symbols = letters_of(statement)
    numbers = {symbols[k]: sp.Rational(v.numerator, v.denominator) for k, v in letters.items() if k in symbols}
    numbers.update({symbols[k]: v for k, v in (given or {}).items()})
    right = sides_of(statement).rhs
    value = sp.expand(sum(right[name].subs(numbers) for name in terms or right) ** power)
    if not value.is_Rational:
        raise ValueError(f"the bound of {statement.id} is {value}, which is no rational number")
    return Fraction(int(value.p), int(value.q))
