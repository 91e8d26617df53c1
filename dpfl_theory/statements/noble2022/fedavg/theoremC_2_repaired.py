"""noble2022 Theorem C.2 repaired: DP-FedAvg's rates with their step sizes, their logarithm and explicit constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.formula import Letters
from dpfl_theory.statements.model import Check, Sides, Source, Statement
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _first_step as first
from dpfl_theory.statements.noble2022 import _private_runs as private
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022.fedavg import _moments as moments
from dpfl_theory.statements.noble2022.fedavg import _proof as fedavg_proof
from dpfl_theory.statements.noble2022.fedavg import _round as fedavg_round
from dpfl_theory.statements.noble2022.fedavg import _runs as fedavg_runs
from dpfl_theory.statements.noble2022.fedavg import _steps as steps
from dpfl_theory.statements.noble2022.fedavg import _sums as sums
from dpfl_theory.statements.noble2022.fedavg.theoremC_2 import LONG_ENOUGH

_LETTERS = ("eta_g", "eta_l", "nu", *proof.VARIANCE, *proof.COHORT, "T", "G", "B")
_BASE = (noble.SMOOTH, noble.GRADIENTS, proof.WHOLE, noble.DISSIMILAR)
_NOTE = (
    "repaired: {step}, explicit constants. The round is proved for all M, lM and K (the paper cites Theorem V of "
    "Karimireddy et al. (2020b)); {weights} weights over x^0, ..., x^{{T-1}}"
)


def _heterogeneity(s: Letters) -> Any:
    """nu G^2/(lM)."""
    return s.nu * s.G**2 / (s.l * s.M)


def ratio(s: Letters) -> Any:
    """mu^2 D_0^2 T/W, W = 7V/(5KlM) + 5 (1 - l) G^2/(2lM) + 28 nu G^2/(9 mu T lM)."""
    return s.mu**2 * s.D0**2 * s.T / steps.weight(s, steps.exact)


def _log(s: Letters) -> Any:
    """L = ln max(e, mu^2 D_0^2 T/W)."""
    return sp.log(sp.Max(sp.E, ratio(s)))


def _strongly_convex(s: Letters) -> Sides:
    per_round, log = s.mu * s.T, _log(s)
    users = (1 - s.l) * s.G**2 / (per_round * s.l * s.M)
    return Sides(
        {"excess": s.excess},
        {
            "noise": sp.Rational(147, 50) * log * proof.averaged(s) / per_round,
            "sampling of users": sp.Rational(21, 4) * log * users,
            "heterogeneity": sp.Rational(98, 15) * log**2 * _heterogeneity(s) / per_round**2,
            "start": s.mu * s.D0**2 * sp.exp(-per_round / (16 * (1 + s.B**2) * s.nu)),
        },
    )


def _convex(s: Letters) -> Sides:
    sampling = s.G * s.D0 * sp.sqrt((1 - s.l) / (s.T * s.l * s.M))
    return Sides(
        {"excess": s.excess},
        {
            "noise": sp.sqrt(3) * s.D0 * sp.sqrt(proof.averaged(s) / s.T),
            "sampling of users": sp.Rational(3, 4) * sp.sqrt(10) * sampling,
            "heterogeneity": sp.cbrt(189) / 4 * sp.cbrt(s.D0**4 * _heterogeneity(s) / s.T**2),
            "start": 6 * (1 + s.B**2) * s.nu * s.D0**2 / s.T,
        },
    )


def _non_convex(s: Letters) -> Sides:
    sampling = s.G * sp.sqrt(s.nu * s.F0 * (1 - s.l) / (s.T * s.l * s.M))
    drift = s.F0**2 * s.nu * _heterogeneity(s) / s.T**2
    return Sides(
        {"slope": s.slope},
        {
            "noise": 2 * sp.sqrt(6 * s.nu * s.F0 * proof.averaged(s) / s.T),
            "sampling of users": 6 * sp.sqrt(sp.Rational(6, 5)) * sampling,
            "heterogeneity": 2 * sp.cbrt(sp.Rational(72, 5)) * sp.cbrt(drift),
            "start": 24 * (1 + s.B**2) * s.nu * s.F0 / s.T,
        },
    )


def _prescription(kind: str) -> Callable[[Letters], Mapping[str, Any]]:
    """eta_g = sqrt(lM), and eta_l = eta~/(K eta_g) with the eta~ of `_fedavg_steps`."""

    def build(s: Letters) -> Mapping[str, Any]:
        eta_g, slowest = sp.sqrt(s.l * s.M), 8 * (1 + s.B**2) * s.nu
        if kind == "strongly convex":
            slowest = sp.Max(slowest, s.mu * s.T / (2 * _log(s)))
        else:  # the largest of the reciprocals: nothing is divided by c_1 or c_2, which may be 0
            noise, users, c2 = steps.coefficients(kind, s, steps.exact)
            per_start = s.T / steps.start(kind, s, steps.exact)
            slowest = sp.Max(slowest, sp.sqrt((noise + users) * per_start), sp.cbrt(c2 * per_start))
        return {"eta_g": eta_g, "eta_l": 1 / (s.K * eta_g * slowest)}

    return build


def _round(kind: str) -> tuple[Check, ...]:
    """One round, by algebra for all M, lM and K and by worst cases for few."""
    return (
        Check("algebra", "one round for all users, cohorts and steps", fedavg_proof.proof(kind)),
        *fedavg_round.checks(kind),
    )


STRONGLY_CONVEX: Statement = Statement(
    id="noble2022.theoremC.2.strongly-convex.repaired",
    kind="theorem",
    title="DP-FedAvg with noise at every local step: strongly convex, with its step size",
    source=Source(
        noble.PAPER,
        "Theorem C.2 (1), Appendix C.5",
        note=_NOTE.format(step="a step size of T and its logarithm", weights="(1 - mu K eta_l eta_g/2)^(-t) are the"),
    ),
    text=(
        "DP-FedAvg with mu-strongly convex nu-smooth F_i of dissimilarity (G, B), eta_g = sqrt(lM), T >= 8 (1 + B^2) "
        "nu/mu and K eta_l eta_g = min(1/(8 (1 + B^2) nu), 2L/(mu T)), L = ln max(e, mu^2 D_0^2 T/W), W = 7V/(5KlM) + "
        "5 (1 - l) G^2/(2lM) + 28 nu G^2/(9 mu T lM), V = varsigma^2/(sR) + Sigma^2, satisfies the bound for the mean "
        "of x^0, ..., x^{T-1} with weights (1 - mu K eta_l eta_g/2)^{-t}."
    ),
    symbols=proof.letters(*_LETTERS, "mu", "D0"),
    expectations=(first.EXCESS,),
    assumptions=(noble.STRONGLY_CONVEX, *_BASE, LONG_ENOUGH),
    sides=_strongly_convex,
    prescription=_prescription("strongly convex"),
    checks=(
        Check("algebra", "the step size", sums.logarithm(ratio)),
        *_round("strongly convex"),
        *moments.checks("strongly convex"),
        *fedavg_runs.weighted(),
    ),
    uses=("noble2022.lemmaC.1", "noble2022.lemmaC.2"),
)

CONVEX: Statement = Statement(
    id="noble2022.theoremC.2.convex.repaired",
    kind="theorem",
    title="DP-FedAvg with noise at every local step: convex, with its step size",
    source=Source(
        noble.PAPER, "Theorem C.2 (2), Appendix C.5", note=_NOTE.format(step="one step size", weights="equal")
    ),
    text=(
        "DP-FedAvg with convex nu-smooth F_i of dissimilarity (G, B), eta_g = sqrt(lM) and K eta_l eta_g = min(1/(8 (1 "
        "+ B^2) nu), sqrt(3) D_0/(2 sqrt(c_1 T)), (3 D_0^2/(4 c_2 T))^(1/3)), c_1 = V/(KlM) + 15 (1 - l) G^2/(8lM), "
        "c_2 = 21 nu G^2/(32lM), V = varsigma^2/(sR) + Sigma^2, satisfies the bound for the mean of x^0, ..., x^{T-1}, "
        "T >= 1, if x^0 is not x*; a c that is 0 asks for no shorter step."
    ),
    symbols=proof.letters(*_LETTERS, "D0"),
    expectations=(private.MEAN,),
    assumptions=(noble.CONVEX, *_BASE, noble.ROUNDS, runs.APART),
    sides=_convex,
    prescription=_prescription("convex"),
    checks=(
        Check("algebra", "the step size", sums.three_cases("convex")),
        *_round("convex"),
        *moments.checks("convex"),
        *fedavg_runs.plain("convex"),
    ),
    uses=("noble2022.lemmaC.1", "noble2022.lemmaC.2"),
)

NON_CONVEX: Statement = Statement(
    id="noble2022.theoremC.2.non-convex.repaired",
    kind="theorem",
    title="DP-FedAvg with noise at every local step: smooth, with its step size",
    source=Source(
        noble.PAPER,
        "Theorem C.2 (3), Appendix C.5",
        note=f"{_NOTE.format(step='units, one step size', weights='equal')}. The runs are of convex objectives alone",
    ),
    text=(
        "DP-FedAvg with nu-smooth F_i of dissimilarity (G, B), eta_g = sqrt(lM) and K eta_l eta_g = min(1/(8 (1 + B^2) "
        "nu), sqrt(3 F_0/(c_1 T)), (3 F_0/(c_2 T))^(1/3)), c_1 = 2 nu V/(KlM) + 18 nu (1 - l) G^2/(5lM), c_2 = 8 nu^2 "
        "G^2/(5lM), V = varsigma^2/(sR) + Sigma^2, satisfies the bound for a random one of x^0, ..., x^{T-1}, T >= 1, "
        "if F_0 > 0; a c that is 0 asks for no shorter step."
    ),
    symbols=proof.letters(*_LETTERS, "F0"),
    expectations=(fedavg_runs.SLOPE,),
    assumptions=(*_BASE, noble.ROUNDS, runs.AWAY),
    sides=_non_convex,
    prescription=_prescription("non-convex"),
    checks=(
        Check("algebra", "the step size", sums.three_cases("non-convex")),
        *_round("non-convex"),
        *moments.checks("non-convex"),
        *fedavg_runs.plain("non-convex"),
    ),
    uses=("noble2022.lemmaC.1",),
)

STATEMENTS = (STRONGLY_CONVEX, CONVEX, NON_CONVEX)
