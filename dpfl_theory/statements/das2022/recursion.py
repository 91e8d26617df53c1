"""das2022 eqs. 36, 37 and 39 (Appendix C.1): DP-FedAvg with clipping, its rounds summed, eta and K substituted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.das2022 import _letters as das
from dpfl_theory.statements.das2022 import _one_round as rounds
from dpfl_theory.statements.das2022 import _step_instances as steps
from dpfl_theory.statements.das2022 import theorem6
from dpfl_theory.statements.das2022._appendix import clipped_term, expanded_rho, privacy_letters
from dpfl_theory.statements.das2022._consistency import same_sides, total
from dpfl_theory.statements.das2022._experiments import alpha_form_experiment, general_experiment, runs, step_experiment
from dpfl_theory.statements.das2022.clipped_step import EQ34
from dpfl_theory.statements.model import Check, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.symbolic import equal

_WHERE = "Appendix C.1, proof of Theorem 6"


def _eq36_sides() -> Sides:
    s = sympy_symbols(EQ36)
    a, rho = s["eta"] * s["L"] * s["E"], expanded_rho(s)
    return Sides(
        lhs={"unclipped": (2 - 2 * a - 4 * a**2) * s["E_unclipped_gap"], "clipped": clipped_term(s)},
        rhs={
            "initialisation": s["D"] ** 2 / (s["eta"] * s["E"] * s["K"]),
            "noise": s["eta"] * s["E"] * s["K"] * s["C_hat"] ** 2 * rho**2,
            "heterogeneity": 2 * a * (1 + 2 * a) * s["E_unclipped_Delta"],
        },
    )


def _eq37_sides() -> Sides:
    s = sympy_symbols(EQ37)
    rho = expanded_rho(s)
    y = 2 * s["gamma"] / (s["C_hat"] * s["K"] * rho)
    return Sides(
        lhs={"unclipped": (2 - y - y**2) * s["E_unclipped_gap"], "clipped": clipped_term(s)},
        rhs={
            "initialisation": (s["L"] * s["D"] ** 2 / s["gamma"] + s["gamma"] / s["L"]) * s["C_hat"] * rho,
            "heterogeneity": y * (1 + y) * s["E_unclipped_Delta"],
        },
    )


def _eq39_sides() -> Sides:
    s = sympy_symbols(EQ39)
    rho = expanded_rho(s)
    x = s["E"] * rho / s["alpha"]
    return Sides(
        lhs={"unclipped": (2 - x - x**2) * s["E_unclipped_gap"], "clipped": clipped_term(s)},
        rhs={
            "initialisation": s["C_hat"] * (s["L"] * s["D"] ** 2 / s["gamma"] + s["gamma"] / s["L"]) * rho,
            "heterogeneity": s["E_unclipped_Delta"] * x * (1 + x),
        },
    )


def _eq37_prescription() -> Mapping[str, Any]:
    s = sympy_symbols(EQ37)
    return {"eta": s["gamma"] / (s["C_hat"] * s["L"] * s["E"] * s["K"] * expanded_rho(s)), "C": s["C_hat"] * s["E"]}


def _eq39_prescription() -> Mapping[str, Any]:
    s = sympy_symbols(EQ39)
    rho = expanded_rho(s)
    K = 2 * s["alpha"] * s["gamma"] / (s["C_hat"] * s["E"] * rho**2)
    return {"K": K, "eta": s["gamma"] / (s["C_hat"] * s["L"] * s["E"] * K * rho), "C": s["C_hat"] * s["E"]}


def _summed(_: Mapping[str, Any]) -> Outcome:
    """(13) with (34): D_{k+1} <= D_k + mean A_i + eta^2 d sigma^2. Over K rounds, with D_K >= 0 dropped and all over
    eta E K, it is (36)."""
    s = sympy_symbols(EQ36)
    noise = s["eta"] ** 2 * s["K"] * (s["C_hat"] * s["E"]) ** 2 * expanded_rho(s) ** 2
    per_round = total(EQ34, "rhs") + noise
    mine = (s["D"] ** 2 / s["K"] + per_round) / (s["eta"] * s["E"])
    return equal(mine, total(EQ36, "rhs") - total(EQ36, "lhs"), "(34) summed over the rounds against (36)")


def _step_substituted(_: Mapping[str, Any]) -> Outcome:
    """(36) at the prescribed eta is (37)."""
    at = {sympy_symbols(EQ36)["eta"]: _eq37_prescription()["eta"]}
    return same_sides(EQ36, at, EQ37, "at the prescribed eta")


def _theorem6(_: Mapping[str, Any]) -> Outcome:
    """(37) is the first display of Theorem 6 with rho written out."""
    at = {sympy_symbols(theorem6.GENERAL)["rho"]: expanded_rho(sympy_symbols(EQ37))}
    return same_sides(theorem6.GENERAL, at, EQ37, "with rho written out")


def _rounds_substituted(_: Mapping[str, Any]) -> Outcome:
    """(38), which is (37), at the prescribed K is (39)."""
    at = {sympy_symbols(EQ37)["K"]: _eq39_prescription()["K"]}
    return same_sides(EQ37, at, EQ39, "at the prescribed K")


def _three_halves(_: Mapping[str, Any]) -> Outcome:
    """With x = E rho/alpha <= 1/2, x(1 + x) <= (3/2) x, equal at x = 1/2: the brace under (39)."""
    import sympy as sp

    x = sp.Symbol("x", positive=True)
    return equal(sp.Rational(3, 2) * x - x * (1 + x), x * (sp.Rational(1, 2) - x), "3x/2 less x(1 + x)")


_LETTERS = das.letters("E", "L", "C", "C_hat", "eta", "K", "D", "Delta_max")
_EXPECTATIONS = das.expected("E_unclipped_gap", "E_clipped_length", "E_unclipped_Delta")
_HYPOTHESES = (das.CONVEX, das.SMOOTH, das.MINIMISER, das.THRESHOLD, das.COHORT, das.ROUNDS)

EQ36: Statement = Statement(
    id="das2022.eq36",
    kind="step",
    title="DP-FedAvg with clipping: the rounds summed",
    source=Source(
        das.PAPER,
        _WHERE,
        "36",
        note=(
            "the sum over k of (35); means over the rounds are the expectations here. Its proof passes through (12), "
            "which fails for independent clients; worst cases of a whole round show that (35) holds all the same"
        ),
    ),
    text=(
        "For convex, L-smooth f_i, eta = beta <= 1/(2L) and C_hat = C/E >= 4 sqrt(L max_j Delta_j*), K rounds of "
        "Algorithm 1, option (i), satisfy the bound."
    ),
    symbols=(*_LETTERS, *privacy_letters()),
    expectations=_EXPECTATIONS,
    assumptions=(*_HYPOTHESES, das.HALF_STEP),
    sides=_eq36_sides,
    checks=(
        Check("algebra", "(34) over the rounds", _summed),
        *rounds.checks("clip"),
        *runs(lambda: EQ36, "clip", steps.RECURSION, experiment=step_experiment),
    ),
    uses=("das2022.eq34", "das2022.eq12"),
    slips=(
        "(7) gives zeta_k one Gaussian law; with independent clients its covariance is |S_k|/r times that, and the "
        "proof needs its mean only.",
    ),
)

EQ37: Statement = Statement(
    id="das2022.eq37",
    kind="step",
    title="DP-FedAvg with clipping: the step size substituted",
    source=Source(das.PAPER, _WHERE, "37", note="(38) is the same with the random round k~"),
    text=(
        "(36) with eta = (gamma/(C_hat L E K)) n epsilon/sqrt(q d log(1/delta)) and K > (2 gamma/(C_hat E)) n "
        "epsilon/sqrt(q d log(1/delta))."
    ),
    symbols=(*_LETTERS, *das.letters("gamma"), *privacy_letters()),
    expectations=_EXPECTATIONS,
    assumptions=(*_HYPOTHESES, das.MANY_ROUNDS),
    sides=_eq37_sides,
    prescription=_eq37_prescription,
    checks=(
        Check("algebra", "(36) at the prescribed eta", _step_substituted),
        Check("algebra", "is Theorem 6's first display", _theorem6),
        *runs(lambda: EQ37, "clip", steps.SUBSTITUTED, experiment=general_experiment),
    ),
    uses=("das2022.eq36",),
)

EQ39: Statement = Statement(
    id="das2022.eq39",
    kind="step",
    title="DP-FedAvg with clipping: the number of rounds substituted",
    source=Source(das.PAPER, _WHERE, "39", note="before the two braces, which replace 1(.) by 1 and 1 + x by 3/2"),
    text=(
        "(38) with K = (2 alpha gamma/(C_hat E)) n^2 epsilon^2/(q d log(1/delta)), alpha >= 1 and E <= (alpha/2) n "
        "epsilon/sqrt(q d log(1/delta))."
    ),
    symbols=(*_LETTERS, *das.letters("gamma", "alpha"), *privacy_letters()),
    expectations=_EXPECTATIONS,
    assumptions=(*_HYPOTHESES, das.ALPHA, das.SHORT_PHASE),
    sides=_eq39_sides,
    prescription=_eq39_prescription,
    checks=(
        Check("algebra", "(37) at the prescribed K", _rounds_substituted),
        Check("algebra", "the brace 3/2", _three_halves),
        *runs(lambda: EQ39, "clip", steps.SUBSTITUTED_ALPHA, experiment=alpha_form_experiment),
    ),
    uses=("das2022.eq37",),
)

STATEMENTS = (EQ36, EQ37, EQ39)
