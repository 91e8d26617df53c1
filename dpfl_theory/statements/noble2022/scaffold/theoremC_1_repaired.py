"""noble2022 Theorem C.1 repaired: Lemmas C.8 and C.9 repaired at eta_g = sqrt(lM), compared with runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Experiment, Outcome, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._step_limit import limit, rate, step_limit_symbolic
from dpfl_theory.statements.noble2022.scaffold import _strongly_convex as strong
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8, lemmaC_9
from dpfl_theory.statements.symbolic import all_equal

_SYMBOLS = ("eta_g", "eta_l", "nu", *noble.VARIANCE, *noble.COHORT, "T")
_BASE = (noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE)


def _steps(s: Symbols, step: Callable[[Symbols], Any]) -> Mapping[str, Any]:
    """eta_g = sqrt(lM), eta_l = eta~/(K eta_g)."""
    eta_g = sp.sqrt(s.l * s.M)
    return {"eta_g": eta_g, "eta_l": step(s) / (s.K * eta_g)}


def _convex_step(s: Symbols) -> Any:
    return sp.Min(step_limit_symbolic(s), s.D0 / sp.sqrt(20 * s.T * noble.averaged(s)))


def _strong_step(s: Symbols) -> Any:
    return sp.Min(step_limit_symbolic(s), s.l / (54 * s.mu), 2 * _log(s) / (s.mu * s.T))


def _log(s: Symbols) -> Any:
    """L = ln max(e, mu^2 D_0^2 T/W), W = 2V/(KlM)."""
    return noble.logarithm(s, 2 * noble.averaged(s))


def _smooth_step(s: Symbols) -> Any:
    return sp.Min(step_limit_symbolic(s), sp.sqrt(12 * s.F0 / (35 * s.nu * s.T * noble.averaged(s))))


def _convex(s: Symbols) -> Sides:
    return Sides(
        {"excess": s.excess},
        {
            "noise": 8 * sp.sqrt(5) * s.D0 * sp.sqrt(noble.averaged(s) / s.T),
            "start": 48 * s.nu * s.D0**2 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    )


def _strongly_convex(s: Symbols) -> Sides:
    return Sides(
        {"excess": s.excess},
        {
            "noise": 84 * _log(s) * noble.averaged(s) / (s.mu * s.T),
            "start": sp.Rational(8, 5) * s.mu * s.D0**2 * sp.exp(-rate(s) * s.T),
        },
    )


def _non_convex(s: Symbols) -> Sides:
    return Sides(
        runs.without_warm_round(s, "slope", "slope0"),
        {
            "noise": 2 * sp.sqrt(sp.Rational(84, 5) * s.nu * s.F0 * noble.averaged(s) / s.T),
            "start": sp.Rational(288, 5) * s.nu * s.F0 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    )


def _at_sqrt(lemma: Statement) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    """The lemma's terms at eta_g = sqrt(lM) are this statement's, squared to be free of roots."""

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        s, own, theirs = symbols_of(statement), symbols_of(lemma), sides_of(lemma).rhs
        named = {own[name]: s[name] for name in own if name in s} | {own.eta_g: sp.sqrt(s.l * s.M)}
        return all_equal(
            *(
                (sp.simplify(theirs[name].subs(named) ** 2), sp.simplify(term**2), name)
                for name, term in sides_of(statement).rhs.items()
            )
        )

    return build


def _log_terms(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """42 L W/(mu T) at W = 2V/(KlM) is the noise term, and mu eta~/2 at both ends of eta~'s limit is the rate of the
    start's."""
    s, stated = symbols_of(statement), sides_of(statement).rhs
    W = 2 * noble.averaged(s)
    start = sp.Rational(8, 5) * s.mu * s.D0**2
    slowest = (
        sp.Min(*(sp.simplify(s.mu * end / 2 * s.nu) for end in (s.l / (54 * s.mu), step_limit_symbolic(s)))) / s.nu
    )
    return all_equal(
        (42 * _log(s) * W / (s.mu * s.T), stated["noise"], "the noise"),
        (start * sp.exp(-slowest * s.T), stated["start"], "the start"),
    )


def averaged(step: Callable[[Mapping[str, float]], float]) -> Callable[[Statement, Mapping[str, Any]], Experiment]:
    """The run whose server shows the weighted mean: over the warm round and T - 1 others, so over x^0, ..., x^{T-1}."""

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        from dpfl_theory.simulation.average import WeightedAverage

        mu = instance["problem"]["parameters"].get("ridge", 0.0)
        found = runs.experiment(instance)
        values = {**found.values, "mu": mu}
        eta = min(step(values), limit(values))
        eta_l = eta / (values["K"] * values["eta_g"])
        known: Any = found.algorithm
        weighted = WeightedAverage(known.with_values(local_step=eta_l), 1 - mu * eta / 2)
        run = replace(found, algorithm=weighted, rounds=int(values["T"]), values=values)
        return runs.claimed(runs.chosen_values(run, statement, eta_l=eta_l), instance)

    return build


def _strong_runs() -> tuple[Check, ...]:
    problem = {"family": "points", "parameters": {"clients": 4, "spread": 0.3, "ridge": 1.0}}
    many = runs.points_of(256, spread=0.3, ridge=1.0)
    chosen = {
        "256 users, with a ridge": runs.run_of(many, 256, 1, 300, 1e-5, clip=10.0, replicates=16),
        "four users, with a ridge": runs.run_of(problem, 4, 2, 600, 0.001, clip=10.0),
        "half of the users, with a ridge": runs.run_of(problem, 2, 1, 1000, 0.001, clip=10.0),
        "four users, a step below the limit": runs.run_of(problem, 4, 2, 2000, 0.05, clip=10.0),
    }
    for edge, T in (("inside", 108), ("outside", 106)):
        chosen[f"four users, just {edge} T >= 108/l"] = runs.run_of(problem, 4, 2, T, 0.001, clip=10.0)
    outside = {"four users, just outside T >= 108/l": "not-applicable"}
    build = averaged(strong.strong_step)
    edges = runs.outside(build, chosen["four users, with a ridge"], "nu", "mu", "l")
    return checks("monte-carlo", build, chosen, outside) + edges


_SHORT_STEPS = {"nu": ["1", "5"], "T": [400], "V": ["1/1000000", "10", "1000"]}
"""At the largest V hardly anything moves: the excess is near nu D_0^2/2, and the start term 48 nu D_0^2/T below it. At
the smallest V the noise term is below the excess, and the start term counts."""
_NAMES = ("half of the records", "three dimensions", "four users, a step below the limit")


def _convex_runs() -> tuple[Check, ...]:
    build = averaged(lemmaC_8.best_step)
    return (
        *checks("monte-carlo", build, {name: runs.RUNS[name] for name in _NAMES}),
        *runs.outside(build, runs.RUNS[runs.ONE], "nu", "l", "s", "D0", "T"),
    )


CONVEX: Statement = Statement(
    id="noble2022.theoremC.1.convex.repaired",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.1 (2), Appendix C.2"),
    symbols=noble.symbols(*_SYMBOLS, "D0"),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(noble.CONVEX, *_BASE, noble.ROUNDS, runs.APART),
    sides=_convex,
    prescription=lambda s: _steps(s, _convex_step),
    checks=(
        Check("algebra", "Lemma C.8 repaired at eta_g = sqrt(lM)", _at_sqrt(lemmaC_8.REPAIRED)),
        Check("exact", "one user whose noise asks for short steps", strong.averaged_steps, _SHORT_STEPS),
        *_convex_runs(),
    ),
    uses=("noble2022.lemmaC.8.repaired",),
)

STRONGLY_CONVEX: Statement = Statement(
    id="noble2022.theoremC.1.strongly-convex.repaired",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.1 (1), Appendix C.2"),
    symbols=noble.symbols(*_SYMBOLS, "mu", "D0"),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(noble.STRONGLY_CONVEX, *_BASE, strong.LONG_ENOUGH),
    sides=_strongly_convex,
    prescription=lambda s: _steps(s, _strong_step),
    checks=(
        Check("algebra", "Lemma C.8 repaired at eta_g = sqrt(lM)", _log_terms),
        Check(
            "exact",
            "one user, one local step",
            strong.one_step,
            {"nu": ["1", "5"], "T": [240, 500], "V": ["1/1000000", "1/10", "10", "100"]},
        ),
        *_strong_runs(),
    ),
    smoke=("half of the users, with a ridge",),
    uses=("noble2022.lemmaC.8.repaired",),
)

NON_CONVEX: Statement = Statement(
    id="noble2022.theoremC.1.non-convex.repaired",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.1 (3), Appendix C.2"),
    symbols=(*noble.symbols(*_SYMBOLS, "F0"), runs.SLOPE0),
    expectations=(runs.SLOPE,),
    hypotheses=(*_BASE, noble.ROUNDS, runs.AWAY),
    sides=_non_convex,
    prescription=lambda s: _steps(s, _smooth_step),
    checks=(
        Check("algebra", "Lemma C.9 repaired at eta_g = sqrt(lM)", _at_sqrt(lemmaC_9.REPAIRED)),
        Check("exact", "one user whose noise asks for short steps", strong.one_user, {"T": [400], "V": ["10", "1000"]}),
        *runs.runs(lemmaC_9.best_step, _NAMES),
        *runs.outside(runs.run(lemmaC_9.best_step), runs.RUNS[runs.ONE], "l", "s", "F0", "T"),
    ),
    uses=("noble2022.lemmaC.9.repaired",),
)

STATEMENTS = (STRONGLY_CONVEX, CONVEX, NON_CONVEX)
