"""shulgin2025 Lemma 3 (Appendix G): the noise that the server's estimate accumulates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.error_feedback import NormEC
from dpfl_theory.core import Case, Check, Experiment, Outcome, Sides, Source, Statement, battery
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import sides_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import average
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, experiment
from dpfl_theory.statements.symbolic import all_equal

_NOISE = shu.at_the_end(
    "noise",
    "estimate-noise",
    (1, -1),
    r"\mathbb{E}\|\hat{v}^{K+1} - v^{K+1}\|",
    r"$E\|\hat v^{K+1} - v^{K+1}\|$, $v$ the mean of the clients' memories",
)


def second_moment(K: int, n: int, d: int, sigma: Fraction, beta: Fraction, message: Fraction = Fraction(1)) -> Fraction:
    """E||vhat^{K+1} - v^{K+1}||^2 after K + 1 rounds.

    The messages Delta_i may be random in any way, as they depend on the noise so far. Here a coordinate of each has the
    second moment ``message``, and they cancel in the difference.

    >>> second_moment(2, 4, 3, Fraction(1), Fraction(2))
    Fraction(9, 1)
    """
    world, names = Quadratics([1] * n, [0] * n, {"noise": sigma**2, "message": message}), itertools.count()
    algorithm = NormEC(gamma=0, beta=beta, sigma=1).replaced(
        bound=lambda a, o, u: world.error("message", next(names)), direction=lambda a, o, estimate: o.zero
    )
    now: Any = world.zero, None
    for t in range(K + 1):
        now = run_round(algorithm, world, *now, t=t).following
    _, (estimate, memories) = now
    found: Fraction = d * world.square(estimate - average(memories))
    return found


def squared(statement: Statement, symbols: Mapping[str, Any], term: str = "") -> Fraction:
    """The square of the right side, or of one of its terms, which is rational."""
    right = sides_of(statement).rhs
    found: Fraction = evaluate(sp.expand((right[term] if term else sum(right.values())) ** 2), symbols, statement.id)
    return found


def both_ways(values: Mapping[str, Any], found: Fraction, printed: Fraction) -> list[Case]:
    """Two numbers that are equal."""
    return [Case(values, found, printed), Case({**values, "compared": "the other way"}, printed, found)]


def moments(
    statement: Statement, instance: Mapping[str, Any], key: str = "runs", term: str = "", times: int = 1
) -> Iterator[Case]:
    """The second moment, or a multiple, against the square of the bound, or of a term: they are equal."""
    for K, n, d, *texts in instance[key]:
        sigma, beta = map(Fraction, texts)
        symbols = {"K": K, "n": n, "d": d, "sigma": sigma, "beta": beta}
        yield from both_ways(symbols, times * second_moment(K, n, d, sigma, beta), squared(statement, symbols, term))


@algebra("the length of a Gaussian vector")
def _gaussian_length(s: Formula) -> Proof:
    """The slack of Jensen's inequality: E||z|| = sqrt(2) Gamma((d+1)/2)/Gamma(d/2) for z ~ N(0, I_d), which is
    sqrt(2/pi) = 0.798 for d = 1 and within 1/(4d) of sqrt(d) for large d."""
    d = s.d
    length = sp.sqrt(2) * sp.gamma((d + 1) / 2) / sp.gamma(d / 2)
    found = all_equal(
        (of(s.statement, K=0, n=1, beta=1, sigma=1).rhs, sp.sqrt(d), "the bound of one standard draw"),
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


_SQUARES = (
    "It decides that the second moment is the square of the right side; that an expected length is at most the root of "
    "its second moment is Jensen's inequality."
)
_RUNS = {"runs": [[0, 1, 1, "1", "1"], [1, 2, 3, "1/2", "3"], [9, 1, 200, "1/3", "1/7"], [20, 10, 3, "5", "1/100"]]}

LEMMA3: Statement = Statement(
    id="shulgin2025.lemma3",
    kind="lemma",
    source=Source(shu.PAPER, "Lemma 3, Appendix G", provenance="restored"),
    symbols=shu.symbols("K", "beta", "n", "d", "sigma"),
    expectations=(_NOISE,),
    hypotheses=(shu.ROUNDS, shu.NOISE),
    sides=lambda s: Sides({"noise": s.noise}, {"bound": s.beta * sp.sqrt((s.K + 1) * s.d * s.sigma**2 / s.n)}),
    checks=battery(
        _gaussian_length,
        Check("exact", "second moment against the squared bound", moments, _RUNS, part=_SQUARES),
        NORMALISE.by(_known, edges=True)("noise-alone", near="one client on the line"),
    ),
    smoke=("one client on the line", "Huber, first round only"),
)

STATEMENTS = (LEMMA3,)
