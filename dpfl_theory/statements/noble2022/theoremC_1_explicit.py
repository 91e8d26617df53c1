"""noble2022 Theorem C.1 (convex) with explicit constants, derived from Lemma C.7: a bound that a run can be held to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Case, Outcome
from dpfl_theory.statements.formula import letters_of
from dpfl_theory.statements.model import Assumption, Check, Sides, Source, Statement
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _round_instances as exact
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022 import lemmaC_7 as lemma
from dpfl_theory.statements.noble2022._moments import rounds, users_of
from dpfl_theory.statements.symbolic import equal


def _sides(statement: Statement, constants: lemma.Constants) -> Sides:
    import sympy as sp

    s = letters_of(statement)
    gain, alone, shared = (sp.Rational(v.numerator, v.denominator) for v in constants)
    noise = s["eta"] * proof.averaged(s) / gain
    return Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {
            "start": s["D0"] ** 2 / (gain * s["eta"] * s["T"]),
            "noise": alone * noise,
            "drift noise": shared * noise * s["l"] * s["M"] / s["eta_g"] ** 2,
        },
    )


def _telescoped(statement: Callable[[], Statement], source: Callable[[], Statement]) -> Callable[[Any], Outcome]:
    """Lemma C.7 with mu = 0, summed over T rounds from F_0 = 0 (the warm start) and divided by the gain times T."""

    def build(_: Mapping[str, Any]) -> Outcome:
        s, own = letters_of(source()), letters_of(statement())
        claim, ours = source().sides, statement().sides
        assert claim is not None
        assert ours is not None
        right = sum(claim().rhs.values()).subs(s["mu"], 0).expand()
        gain = -right.coeff(s["gap"])
        noise = right.subs({s[name]: 0 for name in ("gap", "distance", "lag")})
        kept = {s[name]: own[name] for name in s if name in own and name != "gap"}
        derived = ((own["D0"] ** 2 / own["T"] + noise) / gain).subs(kept)
        return equal(derived, sum(ours().rhs.values()), "Lemma C.7 summed over the rounds against the right side")

    return build


def mean_cases(constants: lemma.Constants) -> Callable[[Mapping[str, Any]], list[Case]]:
    """(1/T) sum_{t<T} E(F(x^t) - F*) against the right side, on quadratics."""
    gain, alone, shared = constants

    def build(instance: Mapping[str, Any]) -> list[Case]:
        found = []
        for start in instance["start"]:
            for V in instance["V"]:
                u = users_of({**instance, "start": start, "V": V})
                moments = rounds(u, int(instance["T"]))
                for T in range(1, len(moments) + 1):
                    left = sum((m.gap for m in moments[:T]), Fraction(0)) / T
                    noise = u.step * u.variance / u.local_steps * (alone / u.size + shared / u.eta_g**2)
                    right = (moments[0].distance / (u.step * T) + noise) / gain
                    found.append(Case({"T": T, "x^0": start, "V": V}, left, right))
        return found

    return build


def long_cases(constants: lemma.Constants, pace: Fraction = Fraction(1)) -> Callable[[Mapping[str, Any]], list[Case]]:
    """The same for one user and one local step over hundreds of rounds, where standing still would exceed the bound:
    E x'^2 = (1 - eta nu)^2 E x^2 + eta^2 V on F(x) = nu x^2/2, nu = eta_g = 1. pace: the share of eta that is taken."""
    gain, alone, shared = constants

    def build(instance: Mapping[str, Any]) -> list[Case]:
        found = []
        eta = Fraction(1, 24)
        for V in (Fraction(str(v)) for v in instance["V"]):
            square, total = Fraction(1), Fraction(0)
            for T in range(1, int(instance["T"]) + 1):
                total += square / 2
                square = (1 - pace * eta) ** 2 * square + (pace * eta) ** 2 * V
                if T % 60 == 0:
                    right = (1 / (eta * T) + eta * V * (alone + shared)) / gain
                    found.append(Case({"T": T, "V": V}, total / T, right))
        return found

    return build


def _checks(constants: lemma.Constants) -> tuple[Check, ...]:
    out = []
    for name in ("one user", "two far apart, one at a time", "eight users, one at a time"):
        instance = exact.CONVEX[name]
        share = Fraction(int(instance["size"]), len(instance["curvatures"]))
        step = lemma.largest_step(share, Fraction(0))
        out.append(Check("exact", name, mean_cases(constants), {**instance, "eta~ nu": str(step)}))
    out.append(
        Check("exact", "one user, hundreds of rounds", long_cases(constants), {"T": 240, "V": ["0", "1/1000", "1"]})
    )
    return tuple(out)


EXPLICIT: Statement = Statement(
    id="noble2022.theoremC.1.explicit",
    kind="theorem",
    title="DP-SCAFFOLD-warm: convex, with explicit constants",
    source=Source(
        proof.PAPER,
        "derived from Lemma C.7, Appendix C.3",
        note=(
            "for equal weights over x^0, ..., x^{T-1}, which Lemma C.7 bounds; by convexity F(xbar) - F* is at most "
            "the left side. The mean over T + 1 rounds counts the warm round, at x^0, which the second term takes back"
        ),
        provenance="derived",
    ),
    text=(
        "DP-SCAFFOLD-warm with convex nu-smooth F_i, eta_g >= 1 and eta~ = K eta_l eta_g <= l^(2/3)/(24 nu) satisfies "
        "the bound for every T >= 1."
    ),
    symbols=(*proof.letters("eta", "eta_g", "nu", *proof.VARIANCE, *proof.COHORT, "T", "D0", "F0"),),
    expectations=(runs.EXCESS,),
    assumptions=(
        noble.CONVEX,
        noble.SMOOTH,
        noble.GRADIENTS,
        noble.WARM,
        proof.WHOLE,
        proof.GLOBAL,
        Assumption("eta~ <= l^(2/3)/(24 nu)", lemma.step_test),
        noble.ROUNDS,
    ),
    sides=lambda: _sides(EXPLICIT, lemma.PRINTED),
    checks=(
        Check("algebra", "Lemma C.7 over T rounds", _telescoped(lambda: EXPLICIT, lambda: lemma.LEMMA)),
        *_checks(lemma.PRINTED),
        *runs.runs(lambda: EXPLICIT),
    ),
    uses=("noble2022.lemmaC.7",),
)

SHARPENED: Statement = replace(
    EXPLICIT,
    id="noble2022.theoremC.1.explicit.sharpened",
    title="DP-SCAFFOLD-warm: convex, with better constants",
    source=replace(EXPLICIT.source, note=f"from Lemma C.7 sharpened; {EXPLICIT.source.note}"),
    sides=lambda: _sides(SHARPENED, lemma.SHARP),
    checks=(
        Check("algebra", "Lemma C.7 over T rounds", _telescoped(lambda: SHARPENED, lambda: lemma.SHARPENED)),
        *_checks(lemma.SHARP),
        *runs.runs(lambda: SHARPENED, names=runs.SHORT),
    ),
    uses=("noble2022.lemmaC.7.sharpened",),
)

STATEMENTS = (EXPLICIT, SHARPENED)
