"""noble2022 Theorem 4.2: the rates of DP-FedAvg and DP-SCAFFOLD-warm at the private noise scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.errata import UNMEASURED, UNSORTED
from dpfl_theory.statements.model import Assumption, Check, Erratum, Sides, Source, Statement, Symbol, sympy_symbols
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _no_constant as no_constant
from dpfl_theory.statements.noble2022 import _private_runs as private
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022 import theoremC_2
from dpfl_theory.statements.noble2022._letters import LETTERS as PRIVACY
from dpfl_theory.statements.symbolic import equal

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

_CLIP = Symbol("C", "threshold of the records' gradients", (1, -1), "positive", r"\mathcal{C}")
_DIMENSION = Symbol("d", "number of parameters", (0, 0), "integer", "d")


def privacy(s: Mapping[str, Any], factor: int = 1) -> Any:
    """D_0 C sqrt(d log(factor Tl/delta) log(factor/delta))/(epsilon M R)."""
    import sympy as sp

    logs = sp.log(factor * s["T"] * s["l"] / s["delta"]) * sp.log(factor / s["delta"])
    return s["D0"] * s["C"] * sp.sqrt(s["d"] * logs) / (s["epsilon"] * s["M"] * s["R"])


def _sampling(s: Mapping[str, Any]) -> Any:
    import sympy as sp

    return s["c"] * s["varsigma"] * s["D0"] / sp.sqrt(s["s"] * s["R"] * s["l"] * s["M"] * s["K"] * s["T"])


def _scaffold() -> Sides:
    import sympy as sp

    s = sympy_symbols(SCAFFOLD)
    start = s["c"] * s["nu"] * s["D0"] ** 2 / (s["l"] ** sp.Rational(2, 3) * s["T"])
    return Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {"privacy": s["c"] * privacy(s), "sampling": _sampling(s), "start": start},
    )


def _fedavg() -> Sides:
    import sympy as sp

    s = sympy_symbols(FEDAVG)
    third = sp.Rational(1, 3)
    drift = s["D0"] ** (4 * third) * s["nu"] ** third * s["G"] ** (2 * third) / s["T"] ** (2 * third)
    users = s["G"] * s["D0"] * sp.sqrt(1 - s["l"]) / sp.sqrt(s["l"] * s["M"] * s["T"])
    return Sides(
        {"excess": s["excess"]},
        {
            "privacy": s["c"] * privacy(s),
            "sampling": _sampling(s),
            "start": s["c"] * s["B"] ** 2 * s["nu"] * s["D0"] ** 2 / s["T"],
            "users": s["c"] * users,
            "drift": s["c"] * drift,
        },
    )


def _noise_scale(statement: Callable[[], Statement]) -> Callable[[], Mapping[str, Any]]:
    """sigma_g* = s sqrt(lTK log(2Tl/delta) log(2/delta))/(epsilon sqrt(M))."""

    def build() -> Mapping[str, Any]:
        import sympy as sp

        s = sympy_symbols(statement())
        logs = sp.log(2 * s["T"] * s["l"] / s["delta"]) * sp.log(2 / s["delta"])
        return {"sigma_g": s["s"] * sp.sqrt(s["l"] * s["T"] * s["K"] * logs) / (s["epsilon"] * sp.sqrt(s["M"]))}

    return build


def _privacy_term(statement: Callable[[], Statement]) -> Callable[[Mapping[str, Any]], Outcome]:
    """Sigma_g(C) D_0/sqrt(TKlM) at sigma_g* is 2 sqrt(2) times the privacy bound with log(2 .) for log(.)."""

    def build(_: Mapping[str, Any]) -> Outcome:
        import sympy as sp

        itself = statement()
        s = sympy_symbols(itself)
        assert itself.prescription is not None
        Sigma = 2 * s["C"] * sp.sqrt(2 * s["d"]) * itself.prescription()["sigma_g"] / (s["s"] * s["R"])
        left = Sigma * s["D0"] / sp.sqrt(s["T"] * s["K"] * s["l"] * s["M"])
        return equal(left, 2 * sp.sqrt(2) * privacy(s, 2), "the noise term at sigma_g* against the privacy bound")

    return build


def _same_as_theorem_c2(_: Mapping[str, Any]) -> Outcome:
    """All terms but the privacy bound are those of Theorem C.2 (2) without Sigma_g."""
    s, own = sympy_symbols(FEDAVG), sympy_symbols(theoremC_2.CONVEX)
    assert theoremC_2.CONVEX.sides is not None
    given = sum(theoremC_2.CONVEX.sides().rhs.values()).subs(own["Sigma"], 0)
    ours = sum(v for name, v in _fedavg().rhs.items() if name != "privacy")
    return equal(
        given.subs({own[name]: s[name] for name in own if name in s}), ours, "Theorem C.2 against the last terms"
    )


def _defined(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if not 0 < values["delta"] < 1:
        return f"delta = {values['delta']} does not lie in (0, 1)"
    ratio = values["T"] * values["l"] / values["delta"]
    return None if ratio >= 1 else f"T l/delta = {ratio} is below 1, where its logarithm is negative"


DEFINED = Assumption("0 < delta < 1 and T l >= delta, so that the privacy bound is a number", _defined)
_NAMES = ("c", "nu", "varsigma", "s", "R", *proof.COHORT, "T", "D0")
_LETTERS = (*proof.letters(*_NAMES), _CLIP, _DIMENSION, *(PRIVACY[name] for name in ("epsilon", "delta", "sigma_g")))
_BASE = (noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.SAMPLING, noble.ROUNDS, DEFINED)
_MODERATE = ("40 users, epsilon = 500", "300 users, noise leads")
_NOTE = (
    "O stands for a constant c. 'There exist step sizes and weights' is entered with equal weights over the iterates "
    "that the rounds start from, whose mean excess bounds that of the averaged output, and the step sizes of the "
    "proofs. Step sizes of 0 are allowed, so that D_0 = 0, where the right side may be 0, refutes nothing. The runs "
    "are at a delta of 1e-5, where c = 102 (DP-SCAFFOLD-warm) and 12 (DP-FedAvg) serve"
)
_SLIPS = ("The averaged output is over x^1, ..., x^T; the proofs bound x^0, ..., x^{T-1}.",)
_COUNTEREXAMPLE = (
    "d = 1, M = l = K = s = R = C = D_0 = 1, F(x) = x^2/2 up to |x| = 1 and linear beyond, T = 1000, epsilon = 1/1000, "
    "1 - delta = 1e-13: for all step sizes and weights the excess is above 0.245, and the right side is 0.00183 c; for "
    "epsilon = 1/T, log(1/delta) = T^(-5) no c serves for all T. A small delta is no way out: with M = T/delta such "
    "users, one a round (Tl = delta), and epsilon = delta/T^2 the privacy bound is 0 and the right side tends to 0, "
    "but the excess stays near 1/4 or more"
)


def _erratum(name: str, constant: int) -> Erratum:
    return Erratum(
        cause=UNSORTED,
        grade="false",
        effect=UNMEASURED,
        printed="log(Tl/delta) log(1/delta) in the privacy bound, for every delta",
        true=(
            f"with log(2Tl/delta) log(2/delta), as sigma_g* has them, or for delta <= 1/2 and Tl >= 2 delta, the bound "
            f"holds (with c = {constant} for the mean of x^0, ..., x^(T-1)) if x^0 is no minimiser"
        ),
        why=(
            "sigma_g* has log(2Tl/delta) log(2/delta), and the factors 2 were dropped as constants. As delta tends to "
            "1, or Tl/delta to 1, the printed product tends to 0 and that of sigma_g* does not: no constant takes the "
            "one to the other. Nothing is better then than standing still"
        ),
        counterexample=_COUNTEREXAMPLE,
        repaired=f"noble2022.theorem4.2.{name}.repaired",
    )


SCAFFOLD: Statement = Statement(
    id="noble2022.theorem4.2.scaffold",
    kind="theorem",
    title="DP-SCAFFOLD-warm at the private noise scale: convex",
    source=Source(
        proof.PAPER,
        "Theorem 4.2, Section 4.2",
        note=(
            "the display is missing in the text; it is Theorem C.1 (2) at sigma_g*, as Appendix C.2 says, written as "
            f"the one for DP-FedAvg. {_NOTE}; the mean over T + 1 rounds counts the warm one, which the second term "
            "takes back"
        ),
    ),
    text=(
        "DP-SCAFFOLD-warm with convex nu-smooth F_i and sigma_g = sigma_g* has step sizes and weights with which the "
        "excess satisfies the bound, whatever the heterogeneity."
    ),
    symbols=(*_LETTERS, *proof.letters("F0")),
    expectations=(runs.EXCESS,),
    assumptions=(*_BASE, noble.WARM),
    sides=_scaffold,
    universal=False,
    prescription=_noise_scale(lambda: SCAFFOLD),
    checks=(
        Check("algebra", "the privacy bound at sigma_g*", _privacy_term(lambda: SCAFFOLD)),
        *no_constant.checks(lambda: SCAFFOLD),
        *private.private_runs("scaffold", lambda: SCAFFOLD, _MODERATE),
    ),
    expected="violated",
    erratum=_erratum("scaffold", 102),
    uses=("noble2022.theorem4.1.third-party", "noble2022.theorem4.1.server", "noble2022.lemmaC.8"),
    slips=(
        *_SLIPS,
        "Appendix C.2 prints Sigma_g(C) = 2 C d sqrt(2 lTK ...)/(epsilon R sqrt(M)) at sigma_g*, with d where its own "
        "definition has sqrt(d).",
    ),
)

FEDAVG: Statement = Statement(
    id="noble2022.theorem4.2.fedavg",
    kind="theorem",
    title="DP-FedAvg at the private noise scale: convex",
    source=Source(
        proof.PAPER,
        "Theorem 4.2, Section 4.2",
        note=_NOTE,
    ),
    text=(
        "DP-FedAvg with convex nu-smooth F_i of dissimilarity (G, B) and sigma_g = sigma_g* has step sizes and "
        "weights with which the excess satisfies the bound."
    ),
    symbols=(*_LETTERS, *noble.letters("G", "B")),
    expectations=(private.MEAN,),
    assumptions=(*_BASE, noble.DISSIMILAR),
    sides=_fedavg,
    universal=False,
    prescription=_noise_scale(lambda: FEDAVG),
    checks=(
        Check("algebra", "the privacy bound at sigma_g*", _privacy_term(lambda: FEDAVG)),
        Check("algebra", "the other terms are those of Theorem C.2", _same_as_theorem_c2),
        *no_constant.checks(lambda: FEDAVG),
        *private.private_runs("fedavg", lambda: FEDAVG, _MODERATE),
    ),
    expected="violated",
    erratum=_erratum("fedavg", 12),
    uses=(
        "noble2022.theorem4.1.third-party",
        "noble2022.theorem4.1.server",
        "noble2022.lemmaC.1",
        "noble2022.theoremC.2.convex",
    ),
    slips=_SLIPS,
)

STATEMENTS = (FEDAVG, SCAFFOLD)
