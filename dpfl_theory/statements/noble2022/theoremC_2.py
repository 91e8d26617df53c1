"""noble2022 Theorem C.2: the rates of DP-FedAvg with noise at every local step, under bounded dissimilarity; as
printed, and repaired, with their step sizes, their logarithm and explicit constants."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Experiment, Sides, Source, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.noble2022 import _fedavg_round as one_round
from dpfl_theory.statements.noble2022 import _moments as moments
from dpfl_theory.statements.noble2022 import _no_constant as refuting
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _step_size as step_size
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._instances import TABLE

_COMMON = ("c", "eta_g", "eta_l", "nu", "M", "l", "R", "s", "K", "T", "varsigma", "Sigma", "G", "B")
_PRINTED = (noble.SMOOTH, noble.GRADIENTS, noble.DISSIMILAR, noble.SAMPLING)


def _steps(s: Symbols) -> Mapping[str, Any]:
    """eta_g = sqrt(lM), eta_l = 1/(8 (1 + B^2) nu K eta_g)."""
    eta_g = sp.sqrt(s.l * s.M)
    return {"eta_g": eta_g, "eta_l": 1 / (8 * (1 + s.B**2) * s.nu * s.K * eta_g)}


def _convex(s: Symbols) -> Sides:
    third = sp.Rational(1, 3)
    return Sides(
        {"excess": s.excess},
        {
            "noise": s.c * s.D0 * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M),
            "sampling of users": s.c * s.G * s.D0 * sp.sqrt(1 - s.l) / sp.sqrt(s.T * s.l * s.M),
            "heterogeneity": s.c * s.D0 ** (4 * third) * s.nu**third * s.G ** (2 * third) / s.T ** (2 * third),
            "start": s.c * s.B**2 * s.nu * s.D0**2 / s.T,
        },
    )


def _non_convex(s: Symbols) -> Sides:
    third = sp.Rational(1, 3)
    return Sides(
        {"gradient": s.gradient},
        {
            "noise": s.c * s.nu * sp.sqrt(s.F0) * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M),
            "sampling of users": s.c * s.nu * s.G * sp.sqrt(s.F0 * (1 - s.l)) / sp.sqrt(s.T * s.l * s.M),
            "heterogeneity": s.c * s.F0 ** (2 * third) * s.nu**third * s.G ** (2 * third) / s.T ** (2 * third),
            "start": s.c * s.B**2 * s.nu * s.F0 / s.T,
        },
    )


CONVEX: Statement = Statement(
    id="noble2022.theoremC.2.convex",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.2 (2), Appendix C.5"),
    symbols=noble.symbols(*_COMMON, "D0"),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(noble.CONVEX, *_PRINTED, noble.ROUNDS),
    sides=_convex,
    prescription=_steps,
    checks=battery(
        refuting.starts_at_the_minimiser("D0"), refuting.two_slopes, refuting.first_step("excess", "fedavg")
    ),
    expected="violated",
    uses=("noble2022.lemmaC.1",),
)

STRONGLY_CONVEX: Statement = replace(
    CONVEX,
    id="noble2022.theoremC.2.strongly-convex",
    source=Source(noble.PAPER, "Theorem C.2 (1), Appendix C.5"),
    symbols=noble.symbols(*_COMMON, "mu", "D0"),
    hypotheses=(noble.STRONGLY_CONVEX, *_PRINTED, noble.LONG_ENOUGH_FEDAVG),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {
            "noise": s.c * noble.averaged(s) / (s.mu * s.T),
            "sampling of users": s.c * (1 - s.l) * s.G**2 / (s.mu * s.T * s.l * s.M),
            "heterogeneity": s.c * s.nu * s.G**2 / (s.mu**2 * s.T**2),
            "start": s.c * s.mu * s.D0**2 * sp.exp(-s.mu / (16 * (1 + s.B**2) * s.nu) * s.T),
        },
    ),
    checks=battery(
        refuting.two_slopes, refuting.bounded_gradients, runs.averaged(method="fedavg", edges=False, c=1.0)("moderate")
    ),
    smoke=("four users, T = 600, c = 1",),
)

NON_CONVEX: Statement = replace(
    CONVEX,
    id="noble2022.theoremC.2.non-convex",
    source=Source(noble.PAPER, "Theorem C.2 (3), Appendix C.5"),
    symbols=noble.symbols(*_COMMON, "F0"),
    expectations=(noble.OUTPUT_GRADIENT,),
    hypotheses=(*_PRINTED, noble.ROUNDS),
    sides=_non_convex,
    checks=battery(
        refuting.starts_at_the_minimiser("F0"), refuting.noise_stays, refuting.first_step("gradient", "fedavg")
    ),
    homogeneous=False,
)


_SYMBOLS = ("eta_g", "eta_l", "nu", *noble.VARIANCE, *noble.COHORT, "T", "G", "B")
_BASE = (noble.SMOOTH, noble.GRADIENTS, noble.WHOLE, noble.DISSIMILAR)


def _heterogeneity(s: Symbols) -> Any:
    """nu G^2/(lM)."""
    return s.nu * s.G**2 / (s.l * s.M)


def ratio(s: Symbols) -> Any:
    """mu^2 D_0^2 T/W, W = 7V/(5KlM) + 5 (1 - l) G^2/(2lM) + 28 nu G^2/(9 mu T lM)."""
    return s.mu**2 * s.D0**2 * s.T / step_size.weight(s, sp.Rational)


def _log(s: Symbols) -> Any:
    """L = ln max(e, mu^2 D_0^2 T/W)."""
    return sp.log(sp.Max(sp.E, ratio(s)))


def _strongly_convex_sides(s: Symbols) -> Sides:
    per_round, log = s.mu * s.T, _log(s)
    users = (1 - s.l) * s.G**2 / (per_round * s.l * s.M)
    return Sides(
        {"excess": s.excess},
        {
            "noise": sp.Rational(147, 50) * log * noble.averaged(s) / per_round,
            "sampling of users": sp.Rational(21, 4) * log * users,
            "heterogeneity": sp.Rational(98, 15) * log**2 * _heterogeneity(s) / per_round**2,
            "start": s.mu * s.D0**2 * sp.exp(-per_round / (16 * (1 + s.B**2) * s.nu)),
        },
    )


def _convex_sides(s: Symbols) -> Sides:
    sampling = s.G * s.D0 * sp.sqrt((1 - s.l) / (s.T * s.l * s.M))
    return Sides(
        {"excess": s.excess},
        {
            "noise": sp.sqrt(3) * s.D0 * sp.sqrt(noble.averaged(s) / s.T),
            "sampling of users": sp.Rational(3, 4) * sp.sqrt(10) * sampling,
            "heterogeneity": sp.cbrt(189) / 4 * sp.cbrt(s.D0**4 * _heterogeneity(s) / s.T**2),
            "start": 6 * (1 + s.B**2) * s.nu * s.D0**2 / s.T,
        },
    )


def _non_convex_sides(s: Symbols) -> Sides:
    sampling = s.G * sp.sqrt(s.nu * s.F0 * (1 - s.l) / (s.T * s.l * s.M))
    drift = s.F0**2 * s.nu * _heterogeneity(s) / s.T**2
    return Sides(
        {"slope": s.slope},
        {
            "noise": 2 * sp.sqrt(6 * s.nu * s.F0 * noble.averaged(s) / s.T),
            "sampling of users": 6 * sp.sqrt(sp.Rational(6, 5)) * sampling,
            "heterogeneity": 2 * sp.cbrt(sp.Rational(72, 5)) * sp.cbrt(drift),
            "start": 24 * (1 + s.B**2) * s.nu * s.F0 / s.T,
        },
    )


def _prescription(kind: str) -> Callable[[Symbols], Mapping[str, Any]]:
    """eta_g = sqrt(lM), and eta_l = eta~/(K eta_g) with the eta~ of `_step_size`."""

    def build(s: Symbols) -> Mapping[str, Any]:
        eta_g, slowest = sp.sqrt(s.l * s.M), 8 * (1 + s.B**2) * s.nu
        if kind == "strongly convex":
            slowest = sp.Max(slowest, s.mu * s.T / (2 * _log(s)))
        else:  # the largest of the reciprocals: nothing is divided by c_1 or c_2, which may be 0
            noise, users, c2 = step_size.coefficients(kind, s, sp.Rational)
            per_start = s.T / step_size.start(kind, s, sp.Rational)
            slowest = sp.Max(slowest, sp.sqrt((noise + users) * per_start), sp.cbrt(c2 * per_start))
        return {"eta_g": eta_g, "eta_l": 1 / (s.K * eta_g * slowest)}

    return build


def _run(step: Callable[[Mapping[str, float]], float], weighted: bool = False) -> Runs:
    """Runs with B = 1, G from the users' gradients and this step size: means over x^0, ..., x^{T-1}; weighted: one mean
    of them with weights (1 - mu eta~/2)^{-t}, after the last round."""

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        from dpfl_theory.simulation.average import WeightedAverage

        found = runs.experiment(instance)
        mu = instance["problem"]["parameters"].get("ridge", 0.0)
        v = {**found.values, "G": runs.dissimilarity(found.problem), "B": 1.0, "mu": mu}
        v["eta_l"] = step(v) / (v["K"] * v["eta_g"])
        fedavg = runs.claimed(
            runs.chosen_values(replace(runs.as_fedavg(found, v["eta_l"]), values=v), statement), instance
        )
        if not weighted:
            return fedavg
        known = fedavg.values
        ratio = 1 - known["mu"] * known["K"] * known["eta_g"] * known["eta_l"] / 2
        average = WeightedAverage(fedavg.algorithm, ratio, with_start=True)
        return replace(fedavg, algorithm=average, rounds=fedavg.rounds - 1)

    return Runs(TABLE, build)


def _plain(kind: str) -> Callable[[Statement], Iterator[Check]]:
    step = functools.partial(step_size.step, kind)
    return _run(step)("users", near="four of eight users", without=runs.NO_RECORDS)


CONVEX_REPAIRED: Statement = Statement(
    id="noble2022.theoremC.2.convex.repaired",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.2 (2), Appendix C.5"),
    symbols=noble.symbols(*_SYMBOLS, "D0"),
    expectations=(noble.MEAN_EXCESS,),
    hypotheses=(noble.CONVEX, *_BASE, noble.ROUNDS, noble.APART),
    sides=_convex_sides,
    prescription=_prescription("convex"),
    checks=battery(
        step_size.three_cases("convex"), one_round.checks("convex"), moments.of_fedavg("convex"), _plain("convex")
    ),
    uses=("noble2022.lemmaC.1", "noble2022.lemmaC.2"),
)

STRONGLY_CONVEX_REPAIRED: Statement = replace(
    CONVEX_REPAIRED,
    id="noble2022.theoremC.2.strongly-convex.repaired",
    source=Source(noble.PAPER, "Theorem C.2 (1), Appendix C.5"),
    symbols=noble.symbols(*_SYMBOLS, "mu", "D0"),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(noble.STRONGLY_CONVEX, *_BASE, noble.LONG_ENOUGH_FEDAVG),
    sides=_strongly_convex_sides,
    prescription=_prescription("strongly convex"),
    checks=battery(
        step_size.logarithm(ratio),
        one_round.checks("strongly convex"),
        moments.of_fedavg("strongly convex"),
        _run(step_size.strong_step, weighted=True)(
            "ridge-users", near="four users, with a ridge", without=runs.NO_RECORDS
        ),
    ),
)

NON_CONVEX_REPAIRED: Statement = replace(
    CONVEX_REPAIRED,
    id="noble2022.theoremC.2.non-convex.repaired",
    source=Source(noble.PAPER, "Theorem C.2 (3), Appendix C.5"),
    symbols=noble.symbols(*_SYMBOLS, "F0"),
    expectations=(noble.MEAN_SLOPE,),
    hypotheses=(*_BASE, noble.ROUNDS, noble.AWAY),
    sides=_non_convex_sides,
    prescription=_prescription("non-convex"),
    checks=battery(
        step_size.three_cases("non-convex"),
        one_round.checks("non-convex"),
        moments.of_fedavg("non-convex"),
        _plain("non-convex"),
    ),
    uses=("noble2022.lemmaC.1",),
)

STATEMENTS = (STRONGLY_CONVEX, CONVEX, NON_CONVEX, STRONGLY_CONVEX_REPAIRED, CONVEX_REPAIRED, NON_CONVEX_REPAIRED)
