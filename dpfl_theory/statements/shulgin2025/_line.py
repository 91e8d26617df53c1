"""alpha-NormEC and Clip21 on the line in rational numbers: whole runs for the exact checks of shulgin2025's theorems.

The clients are f_i = curvature_i (x - centre_i)^2/2. R = 1 is the unit of gradients, alpha and beta are squares of
rational numbers, so that Theorem 1's bounds are rational, or roots of rational numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from dpfl_theory.algorithms.error_feedback import ErrorFeedback, NormEC
from dpfl_theory.core import Statement, Values
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, average
from dpfl_theory.semantics.operations import WorldOperations, run_round
from dpfl_theory.semantics.rational import Quadratics, root
from dpfl_theory.statements.shulgin2025._instances import chosen


class Round(NamedTuple):
    """x^k, |f'(x^k)|, the clients' f_i'(x^k) - v_i^k, the largest residual after the memories' update, and v^{k+1}."""

    x: Fraction
    slope: Fraction
    residuals: Sequence[Fraction]
    after: Fraction
    estimate: Fraction


class LineRun(NamedTuple):
    """A run's rounds, and the symbols of Theorem 1 except K: those of the algorithm, and the clients' constants."""

    symbols: Mapping[str, Fraction]
    rounds: Sequence[Round]

    @property
    def end(self) -> dict[str, Any]:
        """The symbols after the last of a square number of rounds, and min_k |f'(x^k)|."""
        s, count = self.symbols, Fraction(len(self.rounds))
        found = {**s, "K": count - 1, "d": Fraction(1), "D": s["R"] * root(count), "c": s["gamma"] * root(count)}
        return {**found, "least": min(r.slope for r in self.rounds)}


def clients(texts: Sequence[Sequence[str]]) -> Quadratics:
    """The clients with these curvatures and centres."""
    curvatures, centres = ([Fraction(text) for text in row] for row in texts)
    return Quadratics(curvatures, [a * c for a, c in zip(curvatures, centres)])


def run_of(algorithm: ErrorFeedback, world: Quadratics, x: Fraction, lacks: Sequence[Fraction], count: int) -> LineRun:
    """Rounds of an algorithm without noise, from x; lacks: what the memories lack of the clients' first gradients.

    >>> one = clients([["1"], ["0"]])
    >>> run = run_of(NormEC(gamma=Fraction(1, 2), alpha=1, beta=1, sigma=0), one, Fraction(3), [Fraction(1)], 2)
    >>> [str(r.slope) for r in run.rounds], [str(r.after) for r in run.rounds], str(run.symbols["gap"])
    (['3', '5/2'], ['1/2', '0'], '9/2')
    """
    point = Vector(x)
    v_i = tuple(world.gradient(i, point) - Vector(lack) for i, lack in enumerate(lacks))
    found, estimate = list[Round](), average(v_i)
    for _ in range(count):
        gradients = [world.gradient(i, point) for i in range(world.clients)]
        after = run_round(algorithm, world, point, (estimate, v_i))
        estimate, kept = after.state
        before, left = (tuple((g - v).known for g, v in zip(gradients, own)) for own in (v_i, kept))
        slope, longest = abs(average(gradients).known), max(map(abs, left))
        found.append(Round(point.known, slope, before, longest, estimate.known))
        point, v_i = after.x, kept
    own = {p.symbol: getattr(algorithm, name) for name, p in algorithm.parameters.items()}
    R, n, curvatures = max(map(abs, lacks)), Fraction(world.clients), world.curvatures
    constants = {"gap": world.suboptimality(Vector(x)), "L": average(curvatures), "L_max": max(curvatures)}
    return LineRun({**own, **constants, "n": n, "R": R, "residual_0": R}, found)


def runs_on_the_line(instance: Mapping[str, Any]) -> Iterator[LineRun]:
    """instance: ``clients``, each (curvatures, centres); ``runs``: (x^0, root of alpha, root of beta, gamma over its
    limit, residuals of the clients in turn). The first residual is 1 or -1, and no other is longer; ``rounds``."""
    for texts in instance["clients"]:
        world = clients(texts)
        for start, root_a, root_b, step, residuals in instance["runs"]:
            alpha, beta = Fraction(root_a) ** 2, Fraction(root_b) ** 2
            off = [Fraction(residuals[i % len(residuals)]) for i in range(world.clients)]
            if max(map(abs, off)) != 1:
                raise ValueError(f"the longest of the residuals {', '.join(map(str, off))} is not R = 1")
            if beta >= alpha + 1:
                raise ValueError(f"beta = {beta} is not below alpha + R = {alpha + 1}")
            shares = {"alpha": alpha, "beta": beta / (alpha + 1), "step": Fraction(step)}
            _, *parameters = chosen(shares, Fraction(1), max(world.curvatures)).items()
            yield run_of(NormEC(**dict(parameters), sigma=0), world, Fraction(start), off, int(instance["rounds"]))


UPHILL: dict[str, Any] = {"clients": [[["1"], ["0"]]], "runs": [["1/4", "1", "1/2", "1", ["1"]]], "rounds": 4}
"""The memory points away from the gradient in all four rounds: x goes from 1/4 to 5/8, and the other two terms of
Theorem 1's bound are below 1/4."""
LONG: dict[str, Any] = {
    "clients": [[["1"], ["0"]], [["3/4", "1", "1/2", "1"], ["3", "-2", "1", "0"]]],
    "runs": [["10", "0", "3/4", "1", ["1"]], ["-11", "0", "3/4", "1", ["-1"]], ["15", "0", "9/10", "1", ["1", "-1/2"]]],
    "rounds": 16,
}
"""Runs so long that an algorithm that never moves, or moves away, would break the bound."""


def least_with_noise(run: LineRun, K: int, moments: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Limits of min_k E|f'(x^k)| over k = 0..K with Gaussian noise of variance moments[k] in the server's estimate of
    round k.

    The sign of v^{k+1} decides the step, and the memories do not see the noise. Until the noise changes a sign, the run
    is the one without noise; afterwards |f'(x^k)| is at most |f'(x^0)| + L gamma k. A standard normal number exceeds t
    with probability exp(-t^2/2)/2 at most, which is rounded up.
    """
    most, least, turned = [], [], Fraction(0)
    for k, now in enumerate(run.rounds[: K + 1]):
        far = run.rounds[0].slope + run.symbols["L"] * run.symbols["gamma"] * k
        share = min(turned, Fraction(1))
        most.append((1 - share) * now.slope + share * max(far, now.slope))
        least.append((1 - share) * now.slope)
        squared = now.estimate**2 / moments[k]
        with mpmath.workdps(60):
            tail = mpmath.exp(-mpmath.mpf(squared.numerator) / squared.denominator / 2) / 2
            turned += Fraction(int(mpmath.ceil(tail * 10**40)) + 1, 10**40)
    return min(least), min(most)


def residual_after_update(r: Fraction, alpha: Fraction, beta: Fraction) -> Fraction:
    """|1 - beta/(alpha + r)| r, with 0/0 = 0.

    >>> residual_after_update(Fraction(1, 10), Fraction(0), Fraction(9, 10))
    Fraction(4, 5)
    """
    world, g = Quadratics([1], [0]), Vector(r)
    memory = NormEC(alpha=alpha, beta=beta).updated(WorldOperations(world), g, world.zero)
    return world.length(g - memory)


def largest_residual(R: Fraction, alpha: Fraction, beta: Fraction) -> Fraction:
    """A of `_symbols.largest_residual`, for alpha and beta that are squares of fractions.

    >>> str(largest_residual(Fraction(1), Fraction(1, 16), Fraction(1)))
    '9/16'
    """
    return max(R - beta * R / (alpha + R), max(Fraction(0), root(beta) - root(alpha)) ** 2)


def one_step(r: Fraction, R: Fraction, alpha: Fraction, beta: Fraction) -> Fraction:
    """The next residual of one client on the line with f_i = x^2/2, whose memory points along the step of length gamma
    = beta R/(alpha + R).

    A client at x = 50 R with memory x - r sends r/(alpha + r), and the gradient then moves by gamma towards 0.

    >>> one_step(Fraction(1, 10), Fraction(1), Fraction(0), Fraction(9, 10))
    Fraction(17, 10)
    """
    algorithm = NormEC(gamma=beta * R / (alpha + R), alpha=alpha, beta=beta, sigma=0)
    first, second = run_of(algorithm, clients([["1"], ["0"]]), 50 * R, [r], 2).rounds
    if first.estimate <= 0:
        raise ValueError(f"the memory {first.estimate} does not point along the step: the residual {r} is too large")
    return abs(second.residuals[0])


def one_round(_: Statement, instance: Mapping[str, Any]) -> Values:
    """The first gradient, K = 0, of f = L x^2/2 in one client, with all symbols of the theorems and corollaries.

    instance: symbols; ``beta share``: beta over alpha + R, ``step``: gamma over its limit. A delta with the rational
    ln(1/delta) = ``log``.
    """
    given = {k: Fraction(v) for k, v in instance.items()}
    L, slope, R, alpha, zero = given["L"], given["slope"], given["R"], given["alpha"], Fraction(0)
    share = given.get("beta share", given.get("beta", zero) / (alpha + R))
    symbols: dict[str, Any] = chosen({"alpha": alpha / R, "beta": share, "step": given.get("step", zero)}, R, L)
    symbols |= {"K": zero, "sigma": zero, "n": Fraction(1), "d": Fraction(1), "L_max": L, "D": R}
    symbols |= {"gap": slope**2 / (2 * L), "least": slope, "E_least": slope}
    symbols |= {k: v for k, v in given.items() if k not in ("slope", "step", "beta share", "log")}
    symbols = {"c": symbols["gamma"], "beta_0": symbols["beta"], **symbols}
    return Values(symbols | ({"delta": sp.exp(-given["log"])} if "log" in given else {}), instance=instance)
