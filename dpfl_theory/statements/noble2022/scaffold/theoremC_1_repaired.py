"""noble2022 Theorem C.1 repaired: Lemmas C.8 and C.9 repaired at eta_g = sqrt(lM), compared with runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._step_size import limit, rate, step_limit_symbolic
from dpfl_theory.statements.noble2022.scaffold import _one_user as one_user
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8, lemmaC_9
from dpfl_theory.statements.relations import Formula, Proof, algebra

_SYMBOLS = ("eta_g", "eta_l", "nu", *noble.VARIANCE, *noble.COHORT, "T")
_BASE = (noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE)


def _steps(s: Symbols, *shorter: Any) -> Mapping[str, Any]:
    """eta_g = sqrt(lM), eta_l = eta~/(K eta_g) with the least of these eta~ and the longest one."""
    eta_g = sp.sqrt(s.l * s.M)
    return {"eta_g": eta_g, "eta_l": sp.Min(step_limit_symbolic(s), *shorter) / (s.K * eta_g)}


def _log(s: Symbols) -> Any:
    """L = ln max(e, mu^2 D_0^2 T/W), W = 2V/(KlM)."""
    return noble.logarithm(s, 2 * noble.averaged(s))


def _at_sqrt(name: str, lemma: Statement) -> Check:
    """The lemma's terms at eta_g = sqrt(lM) are this statement's, squared to be free of roots."""

    @algebra(f"{name} repaired at eta_g = sqrt(lM)")
    def step(s: Formula) -> Proof:
        theirs = s.like(lemma, eta_g=sp.sqrt(s.l * s.M)).terms
        return [(sp.simplify(theirs[name] ** 2), sp.simplify(term**2), name) for name, term in s.terms.items()]

    return step


@algebra("Lemma C.8 repaired at eta_g = sqrt(lM)")
def _log_terms(s: Formula) -> Proof:
    """42 L W/(mu T) at W = 2V/(KlM) is the noise term, and mu eta~/2 at both ends of eta~'s limit is the rate of the
    start's."""
    stated, W = s.terms, 2 * noble.averaged(s)
    start = sp.Rational(8, 5) * s.mu * s.D0**2
    ends = (s.l / (54 * s.mu), step_limit_symbolic(s))
    slowest = sp.Min(*(sp.simplify(s.mu * end / 2 * s.nu) for end in ends)) / s.nu
    return [
        (42 * _log(s) * W / (s.mu * s.T), stated["noise"], "the noise"),
        (start * sp.exp(-slowest * s.T), stated["start"], "the start"),
    ]


def strong_step(values: Mapping[str, float]) -> float:
    """eta~ = min(l^(2/3)/(24 nu), l/(54 mu), 2L/(mu T)), L = ln max(e, mu^2 D_0^2 T/W)."""
    v = values
    W = noble.averaged(v) * (1 + v["l"] * v["M"] / v["eta_g"] ** 2)
    return min(limit(v), 2 * noble.log_factor(v["mu"], v["D0"], v["T"], W) / (v["mu"] * v["T"])) if W else limit(v)


_SHORT_STEPS = {"nu": ["1", "5"], "T": [400], "V": ["1/1000000", "10", "1000"]}
"""At the largest V hardly anything moves: the excess is near nu D_0^2/2, and the start term 48 nu D_0^2/T below it. At
the smallest V the noise term is below the excess, and the start term counts."""
_ONE_STEP = {"nu": ["1", "5"], "T": [240, 500], "V": ["1/1000000", "1/10", "10", "100"]}
_SHORT = "one user whose noise asks for short steps"

CONVEX: Statement = Statement(
    id="noble2022.theoremC.1.convex.repaired",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.1 (2), Appendix C.2"),
    symbols=noble.symbols(*_SYMBOLS, "D0"),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(noble.CONVEX, *_BASE, noble.ROUNDS, noble.APART),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {
            "noise": 8 * sp.sqrt(5) * s.D0 * sp.sqrt(noble.averaged(s) / s.T),
            "start": 48 * s.nu * s.D0**2 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    ),
    prescription=lambda s: _steps(s, s.D0 / sp.sqrt(20 * s.T * noble.averaged(s))),
    checks=battery(
        _at_sqrt("Lemma C.8", lemmaC_8.REPAIRED),
        Check("exact", _SHORT, one_user.averaged_steps, _SHORT_STEPS),
        runs.averaged(lemmaC_8.best_step)("half", near="one"),
    ),
    uses=("noble2022.lemmaC.8.repaired",),
)

STRONGLY_CONVEX: Statement = replace(
    CONVEX,
    id="noble2022.theoremC.1.strongly-convex.repaired",
    source=Source(noble.PAPER, "Theorem C.1 (1), Appendix C.2"),
    symbols=noble.symbols(*_SYMBOLS, "mu", "D0"),
    hypotheses=(noble.STRONGLY_CONVEX, *_BASE, noble.LONG_ENOUGH),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {
            "noise": 84 * _log(s) * noble.averaged(s) / (s.mu * s.T),
            "start": sp.Rational(8, 5) * s.mu * s.D0**2 * sp.exp(-rate(s) * s.T),
        },
    ),
    prescription=lambda s: _steps(s, s.l / (54 * s.mu), 2 * _log(s) / (s.mu * s.T)),
    checks=battery(
        _log_terms,
        Check("exact", "one user, one local step", one_user.one_step, _ONE_STEP),
        runs.averaged(strong_step)(
            "ridge", beyond="ridge-outside", near="four users, with a ridge", without=runs.NO_RECORDS
        ),
    ),
    smoke=("half of the users, with a ridge",),
)

NON_CONVEX: Statement = replace(
    CONVEX,
    id="noble2022.theoremC.1.non-convex.repaired",
    source=Source(noble.PAPER, "Theorem C.1 (3), Appendix C.2"),
    symbols=(*noble.symbols(*_SYMBOLS, "F0"), runs.SLOPE0),
    expectations=(runs.SLOPE,),
    hypotheses=(*_BASE, noble.ROUNDS, noble.AWAY),
    sides=lambda s: Sides(
        runs.without_warm_round(s, "slope", "slope0"),
        {
            "noise": 2 * sp.sqrt(sp.Rational(84, 5) * s.nu * s.F0 * noble.averaged(s) / s.T),
            "start": sp.Rational(288, 5) * s.nu * s.F0 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    ),
    prescription=lambda s: _steps(s, sp.sqrt(12 * s.F0 / (35 * s.nu * s.T * noble.averaged(s)))),
    checks=battery(
        _at_sqrt("Lemma C.9", lemmaC_9.REPAIRED),
        Check("exact", _SHORT, one_user.all_rounds, {"T": [400], "V": ["10", "1000"]}),
        runs.runs(lemmaC_9.best_step)("half", beyond="half-outside", near="one"),
    ),
    uses=("noble2022.lemmaC.9.repaired",),
)

STATEMENTS = (STRONGLY_CONVEX, CONVEX, NON_CONVEX)
