"""das2022 eq. 47 (Appendix D.1): the recursion (40) with (46), summed over the rounds."""

from __future__ import annotations

from dpfl_theory.core import Erratum, Sides, Source, Statement, Symbols, battery
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import _worst_cases as worst
from dpfl_theory.statements.das2022 import theorem7
from dpfl_theory.statements.das2022._causes import INDEPENDENT, SAMPLING
from dpfl_theory.statements.das2022._runs import NORMALISE
from dpfl_theory.statements.das2022._weights import FINITE, diverging
from dpfl_theory.statements.das2022.eq12 import COHORT_EFFECT, NOT_TOUCHED
from dpfl_theory.statements.das2022.eq41_to_46 import EQ46
from dpfl_theory.statements.relations import Formula, Proof, algebra, of, special_form


def _eq47_sides(s: Symbols) -> Sides:
    rho = das.expanded_rho(s)
    y = 2 * s.gamma / (s.C_hat * s.K * rho)
    return Sides(
        lhs={"unclipped": (2 - y**2) * s.E_unclipped_weighted_gap, "clipped": das.clipped_term(s)},
        rhs={
            "initialisation": (s.L * s.D**2 / s.gamma + s.gamma / s.L) * s.C_hat * rho,
            "normalisation": s.gamma * s.C_hat / (s.L * s.K * rho) * s.E_unclipped_share,
            "heterogeneity": y**2 * s.E_unclipped_weighted_Delta,
        },
    )


@algebra("from (46), over the rounds")
def _from_eq46(s: Formula) -> Proof:
    """(40) with (46), summed over K rounds and over eta E K, at the prescribed eta is (47)."""
    eta = s.prescribed["eta"]
    mine = das.summed(s, of(EQ46, eta=eta).rhs, eta, das.expanded_rho(s))
    return mine, s.slack, "(46) summed over the rounds against (47)"


EQ47: Statement = Statement(
    id="das2022.eq47",
    kind="step",
    title="DP-NormFedAvg: the rounds summed, at the prescribed step size",
    source=Source(
        das.PAPER,
        "Appendix D.1, proof of Theorem 7, last display",
        "47",
        note=r"$\rho$ is written out; worst cases are of one round of (40) with (46), of which (47) is the sum",
    ),
    reading=INDEPENDENT,
    text=(
        r"Under the hypotheses of (46), $K > (2 \gamma/(\hat C E)) n \varepsilon/\sqrt{q d \log(1/\delta)}$ and $\eta "
        r"= (\gamma/(\hat C L E K)) n \varepsilon/\sqrt{q d \log(1/\delta)}$, the iterate of a random round satisfies "
        "the bound."
    ),
    symbols=(*das.symbols("E", "K", "gamma", "L", "C", "C_hat", "eta", "D", "Delta_max"), *das.privacy_symbols()),
    expectations=das.expected(
        "E_unclipped_weighted_gap", "E_clipped_length", "E_unclipped_share", "E_unclipped_weighted_Delta"
    ),
    hypotheses=(das.CONVEX, das.SMOOTH, das.MINIMISER, das.THRESHOLD, das.MANY_ROUNDS, das.COHORT, das.ROUNDS, FINITE),
    sides=_eq47_sides,
    prescription=lambda s: das.prescription(s, rho=das.expanded_rho(s)),
    checks=battery(
        special_form("is Theorem 7's first display", theorem7.GENERAL, "with rho written out", rho=das.expanded_rho),
        _from_eq46,
        diverging("E_unclipped_weighted_gap", "E_unclipped_weighted_Delta"),
        worst.round_checks("dp-normfedavg", ("independent",)),
        NORMALISE("norm", violated="norm-jumps", cohorts="poisson"),
    ),
    expected="violated",
    erratum=Erratum(
        cause=SAMPLING,
        grade="constant",
        effect=COHORT_EFFECT,
        printed=(
            "(47) follows from (46) for Algorithm 1's cohorts, where each client takes part with probability $r/n$."
        ),
        corrected=(
            "It follows for cohorts of exactly $r$ clients (das2022.eq47.fixed-size) and for full participation; for "
            "independent clients the share in the normalisation term grows by $(1/r)(1 - r/n)$."
        ),
        why="(40) takes over the step from (11) to (12).",
        counterexample=(
            r"one round of ten clients with $f_i(w) = w^2/2$ $(L = 1)$, $r = 1$, $E = 1$, $\eta L = 1/20$, $w_k = 1$, "
            r"$C = 100$, no noise: each client that joins moves $w$ by 5, so that $E w_{k+1}^2 = (1 - 5)^2 + 25 \cdot "
            "0.9 = 38.5$, and (40) with (46) allows 21.025; over 100 rounds, Theorem 7's counterexample breaks (47) "
            "by a factor of 1.9"
        ),
        repaired="das2022.theorem7.repaired",
        affects=("das2022.theorem7", "das2022.theorem7.alpha", "das2022.theorem4b"),
        survives=NOT_TOUCHED,
    ),
    uses=("das2022.eq46", "das2022.eq12"),
    typos=(
        r"After (47), '$K > \dots$ (so that $\eta L E \le 1/2$)': this $K$ gives $\eta L \le 1/2$, which is what the "
        r"proof needs; $\eta L E \le 1/2$ would need $E$ times as many rounds.",
        r"'following the same process' solves the recursion for the weighted gap by moving $E[z \Delta_i^*]$ to the "
        "right. In every round (41) to (46) hold, and (40) with exactly $r$ clients, but where that mean is infinite "
        "(das2022.theorem4b) so are both sides of (47).",
    ),
)

STATEMENTS = (EQ47,)
