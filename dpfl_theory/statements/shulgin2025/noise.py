"""shulgin2025, Section 5: the noise with which alpha-NormEC is said to be differentially private."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements import prescribed_noise as shared
from dpfl_theory.statements.claims import ConstantClaim
from dpfl_theory.statements.errata import UNMEASURED, UNSORTED
from dpfl_theory.statements.model import Assumption, Check, Erratum, Sides, Source, Statement, Symbol, sympy_symbols
from dpfl_theory.statements.repaired_noise import BUDGET, repaired_checks
from dpfl_theory.statements.shulgin2025._letters import whole_rounds

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

PAPER = "shulgin2025"
_LETTERS = (
    Symbol("sigma", "standard deviation of each coordinate of a client's noise", (0, 0), "positive", r"\sigma"),
    Symbol("K", "index of the last round; there are K + 1", (0, 0), "nonnegative", "K"),
    Symbol("epsilon", "privacy budget", (0, 0), "positive", r"\varepsilon"),
    Symbol("delta", "privacy failure probability", (0, 0), "probability", r"\delta"),
)
_CONSTANTS = (
    Symbol("u", "constant of the range of epsilon in Theorem 1 of Abadi et al.", (0, 0), "positive", "u"),
    Symbol("v", "square of the constant that O hides", (0, 0), "positive", "v"),
)


def _range(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    most = values["u"] * (values["K"] + 1)
    return None if 0 < values["epsilon"] <= most else f"epsilon = {values['epsilon']} exceeds u (K + 1) = {most}"


ROUNDS = Assumption("every client sends in each of the K + 1 rounds", whole_rounds)


def _squared(s: Mapping[str, Any], variance: Any) -> Any:
    """Of K + 1 messages, each of which has norm at most 1."""
    return variance / (s["K"] + 1)


def _deviation(statement: Statement, constant: Any = None) -> Any:
    import sympy as sp

    s = sympy_symbols(statement)
    root = sp.sqrt(s["v"]) if constant is None else constant
    return root * sp.sqrt((s["K"] + 1) * sp.log(1 / s["delta"])) / s["epsilon"]


def _every_client(instance: Mapping[str, Any]) -> ConstantClaim:
    escape = shared.many_rounds(lambda: NOISE, _squared, lambda rounds: {"K": rounds - 1})
    return shared.existence(instance, escape, shared.fails())


NOISE: Statement = Statement(
    id="shulgin2025.noise",
    kind="corollary",
    title="noise that makes alpha-NormEC differentially private",
    source=Source(
        PAPER,
        "Utility guarantees, Section 5",
        note=(
            "the display is lost in the text at hand and was restored from the words around it. By Theorem 1 of Abadi "
            "et al. (2016), with sensitivity 1, every client in every round. No range of epsilon is given with it; the "
            "one of that theorem, epsilon <= u (K + 1), is taken, with which it claims less. Zero-out: a client's "
            "message is replaced by noise only; each client's messages are seen. Where only their sum over n clients "
            "is seen, the case of one client is the same"
        ),
    ),
    text=(
        "With noise of standard deviation sigma = O(sqrt((K + 1) log(1/delta))/epsilon) on every client's normalised "
        "message, alpha-NormEC is (epsilon, delta)-differentially private."
    ),
    symbols=(*_LETTERS, *_CONSTANTS),
    assumptions=(Assumption("0 < epsilon <= u (K + 1)", _range), ROUNDS, shared.DELTA),
    relation="==",
    sides=lambda: Sides({"noise": sympy_symbols(NOISE)["sigma"]}, {"prescribed deviation": _deviation(NOISE)}),
    prescription=lambda: {"sigma": _deviation(NOISE)},
    checks=(
        shared.rounds_together(lambda: NOISE, _squared),
        Check(
            "privacy",
            "no constant, every client in every round",
            _every_client,
            {**shared.LADDER, "needed": shared.NEEDED},
            "violated",
        ),
    ),
    expected="violated",
    erratum=Erratum(
        cause=UNSORTED,
        grade="false",
        effect=UNMEASURED,
        printed="one constant times sqrt((K + 1) log(1/delta))/epsilon is enough noise, with no range for epsilon",
        true=(
            "The square v of the constant must be at least about epsilon/(2 log(1/delta)), whatever K is; v = 4 is "
            "enough for epsilon <= 2 log(1/delta), and 2 + sqrt(3) = 3.732 is the smallest such v."
        ),
        why=(
            "The proof of Theorem 1 of Abadi et al. chooses a moment of order about log(1/delta)/epsilon, which must "
            "be at least 1, and needs a sampling probability below 1/(16 z), z being the noise multiplier, while here "
            "every client takes part in every round"
        ),
        counterexample=(
            "v = 4, delta = 1e-5, K + 1 = epsilon = 37: sigma = 2 sqrt(37 log(1e5))/37 = 1.116, and the true delta of "
            "all rounds together is 1.36e-5"
        ),
        repaired="shulgin2025.noise.repaired",
        affects=("shulgin2025.corollary2",),
    ),
)

REPAIRED: Statement = Statement(
    id="shulgin2025.noise.repaired",
    kind="corollary",
    title="noise that makes alpha-NormEC differentially private, epsilon <= 2 log(1/delta)",
    source=Source(
        PAPER,
        "Utility guarantees, Section 5",
        note="repaired: 0 < epsilon <= 2 log(1/delta), and the constant is 2; 4 with replacement instead of zero-out",
    ),
    text=(
        "For any delta in (0, 1) and 0 < epsilon <= 2 log(1/delta), with noise of standard deviation sigma = 2 sqrt((K "
        "+ 1) log(1/delta))/epsilon on every client's normalised message, alpha-NormEC is (epsilon, "
        "delta)-differentially private."
    ),
    symbols=_LETTERS,
    assumptions=(BUDGET, ROUNDS, shared.DELTA),
    relation="==",
    sides=lambda: Sides({"noise": sympy_symbols(REPAIRED)["sigma"]}, {"prescribed deviation": _deviation(REPAIRED, 2)}),
    prescription=lambda: {"sigma": _deviation(REPAIRED, 2)},
    checks=repaired_checks(lambda: REPAIRED, _squared, {"K": 299}),
)

STATEMENTS = (NOISE, REPAIRED)
