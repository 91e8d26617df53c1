"""shulgin2025 Corollary 1: the rate of alpha-NormEC without noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Case, Check, Hypothesis, Sides, Source, Statement, Symbol, Symbols, Values, battery
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, special_form
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._instances import JUST_INSIDE
from dpfl_theory.statements.shulgin2025._line import root, runs_on_the_line
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, ROUND, accurate, fit
from dpfl_theory.statements.shulgin2025.theorem1 import THEOREM1, UPHILL

_LENGTH = Symbol("c", r"step size times $\sqrt{K + 1}$", (0, 1), "positive", "c")


def _sides(s: Symbols) -> Sides:
    root = sp.sqrt(s.K + 1)
    return Sides(
        {"gradient": s.least},
        {"initialisation": s.gap / (s.c * root), "memory": 2 * s.D / root, "curvature": s.L * s.c / (2 * root)},
    )


@algebra(
    "Theorem 1 allows the step",
    part="It decides that Theorem 1 allows this step, so that its bound is available; the two sides are that bound's.",
)
def _step_is_allowed(_: Formula) -> Proof:
    """Theorem 1's limit less Corollary 1's, over beta/L_max, with t = sqrt(K + 1) >= 1: D/(alpha t + D) - D/((alpha +
    D) t) = D^2 (t - 1)/(t (alpha + D)(alpha t + D)) >= 0."""
    a, D, t = sp.symbols("alpha D t", positive=True)
    R = D / t
    limits = R / (a + R) - D / ((a + D) * t)
    return limits, D**2 * (t - 1) / (t * (a + D) * (a * t + D)), "Theorem 1's limit of the step less this one"


@algebra("the exponent of K + 1")
def _exponent(s: Formula) -> Proof:
    """With c and D fixed, the bound's logarithm changes with that of K + 1 by -1/2, exactly."""
    return (s.K + 1) * sp.diff(s.rhs, s.K), -s.rhs / 2, "the exponent of K + 1"


def _flat(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """One client with Huber's function, L = gap = D = alpha = beta = 1, c = 1/2, zero memories: it keeps its slope t =
    1/sqrt(K + 1) over the whole distance gamma (K + 1), so that min_k |f'(x^k)| = t, compared with a bound of 17/4
    t."""
    for m in map(Fraction, instance["roots"]):  # of K + 1
        t, way, x = 1 / m, m / 2, m + 1 / (2 * m)  # f(x) = t x - t^2/2 = 1
        if x - way < t:
            raise ValueError(f"the run ends at {x - way}, below {t}, from where on the slope is no longer t")
        symbols = dict.fromkeys(("gap", "D", "alpha", "beta", "L", "L_max"), Fraction(1))
        symbols |= {"K": m**2 - 1, "R": t, "c": Fraction(1, 2), "gamma": 1 / (2 * m)}
        yield Values({**symbols, "least": t}, symbols)


def attained(
    share: Fraction,
    least: str,
    runs: Callable[..., Iterator[Values]],
    statement: Statement,
    instance: Mapping[str, Any],
) -> Iterator[Case]:
    """A share of the bound against the least gradients of runs."""
    for i in runs(statement, instance):
        bound = share * evaluate_side(statement, "rhs", i.symbol_values)
        yield Case(i.evidence_instance, bound, i.symbol_values[least])


def _uphill(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The last round of runs on the line whose memories lead away from the optimum: D = sqrt(K + 1), as R = 1."""
    for run in runs_on_the_line(instance):
        times = root(Fraction(len(run.rounds)))
        symbols = {**run.symbols, "K": Fraction(len(run.rounds) - 1), "D": times, "c": run.symbols["gamma"] * times}
        yield Values({**symbols, "least": run.least}, symbols)


_UPHILL = {**UPHILL, "runs": [["1/6", "1", "1/2", "2/3", ["1"]]]}
"""alpha = 1, beta = 1/4, K = 3: gamma = 1/12 is the limit, D beta/((alpha + D) L_max sqrt(K + 1)) at D = 2."""
_ATTAINED = partial(attained, Fraction(4, 17), "least", _flat)
_ORDER = "It decides that the order is attained: the runs' least gradient is at least 4/17 of the right side."
_ROOTS = {"roots": [1, 2, 10, 99]}
_ROUNDS = (
    {"L": "1", "gradient": "5", "error": "33/32", "estimates": ["5", "6", "5", "4", "5", "6"]},
    {"L": "1", "gradient": "6", "error": "5/4", "estimates": ["6", "5", "6", "7", "6", "5", "6", "7"]},
)
"""As in `theorem1`: the estimates are within R of gradients that are all longer than ``gradient``; R > L gamma, since D
> L_max gamma sqrt(K + 1)."""

COROLLARY1: Statement = Statement(
    id="shulgin2025.corollary1",
    kind="corollary",
    source=Source(shu.PAPER, "Corollary 1, Section 4", provenance="restored"),
    symbols=(*shu.symbols("gap", "gamma", "K", "R", "D", "alpha", "beta", "L", "L_max"), _LENGTH),
    expectations=(shu.LEAST,),
    hypotheses=(
        *(shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.STEP, shu.ROUNDS, shu.QUIET, shu.ACCURATE),
        Hypothesis(
            lambda s: (sp.Eq(s.c, s.gamma * sp.sqrt(s.K + 1)), s.c <= shu.step_limit(s, s.D)),
            r"$\gamma \sqrt{K + 1} = c \le D \beta/((\alpha + D) L_\text{max})$",
        ),
    ),
    sides=_sides,
    checks=battery(
        special_form(
            "Theorem 1 with R and gamma",
            THEOREM1,
            "with R = D/sqrt(K + 1), gamma = c/sqrt(K + 1)",
            R=lambda s: s.D / sp.sqrt(s.K + 1),
            gamma=lambda s: s.c / sp.sqrt(s.K + 1),
        ),
        _step_is_allowed,
        _exponent,
        Check("exact", "the slope stays 1/sqrt(K + 1)", _flat, _ROOTS),
        Check("exact", "the order is attained where the slope stays 1/sqrt(K + 1)", _ATTAINED, _ROOTS, part=_ORDER),
        Check("exact", "memories that lead away from the optimum", _uphill, _UPHILL),
        ROUND("corollary1", near=JUST_INSIDE, beyond="corollary1-outside"),
        worst.grid_of(worst.rounds, _ROUNDS),
        NORMALISE.by(accurate)("accurate"),
        NORMALISE.by(fit)("exponents1"),
    ),
    uses=("shulgin2025.theorem1",),
)

STATEMENTS = (COROLLARY1,)
