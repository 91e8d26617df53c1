"""noble2022 Lemma C.6: the drift of the users, as printed and without convexity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.model import Assumption, Check, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _round_instances as exact
from dpfl_theory.statements.noble2022 import _round_performance as worst
from dpfl_theory.statements.noble2022 import _round_steps as steps
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._moments import RoundMoments, Users

if TYPE_CHECKING:
    pass


def _drift(start: str) -> Callable[[Users, RoundMoments], tuple[Fraction, Fraction]]:
    def bound(u: Users, m: RoundMoments) -> tuple[Fraction, Fraction]:
        nu, half = u.smoothness, Fraction(9, 2)
        gap = m.slope / (2 * nu) if start == "slope" else m.gap
        noise = Fraction(27, 40) * u.step**2 * nu / (u.local_steps * u.eta_g**2) * u.variance
        right = half * nu**3 * u.step**2 * m.lag + Fraction(9, 40) * u.step * nu / u.eta_g**2 * gap + noise
        return half * nu**2 * u.step * m.drift, right

    return bound


def _worst_drift(sharp: bool) -> Callable[[worst.Round, Mapping[str, Any]], tuple[Any, Any]]:
    def bound(r: worst.Round, _: Mapping[str, Any]) -> tuple[Any, Any]:
        start = r.slope / 2 if sharp else r.gap
        noise = 3 / 20 * r.step / (r.local_steps * r.eta_g**2) * r.V
        return r.drift, r.step * r.lag + start / (20 * r.eta_g**2) + noise

    return bound


def _c6_sides(statement: Statement) -> Sides:
    import sympy as sp

    s = sympy_symbols(statement)
    half, part = sp.Rational(9, 2), sp.Rational(9, 40)
    gap = s["gap"] if "gap" in s else s["slope"] / (2 * s["nu"])
    return Sides(
        {"drift": half * s["nu"] ** 2 * s["eta"] * s["drift"]},
        {
            "lag": half * s["nu"] ** 3 * s["eta"] ** 2 * s["lag"],
            "excess" if "gap" in s else "slope": part * s["eta"] * s["nu"] / s["eta_g"] ** 2 * gap,
            "noise": 3 * part * s["eta"] ** 2 * s["nu"] / (s["K"] * s["eta_g"] ** 2) * proof.variance(s),
        },
    )


_C6_STEP = Assumption("eta_l <= 1/(24 nu K eta_g), that is eta~ <= 1/(24 nu)", steps.step_limit(1 / 24, "0"))
_C6_LETTERS = ("eta", "nu", "drift", "lag", "eta_g", "K", *proof.VARIANCE, "l", "M")


def _drift_checks(sharp: bool) -> tuple[Check, ...]:
    instances = {**exact.CONVEX, **exact.OTHER} if sharp else exact.CONVEX
    kind = "non-convex" if sharp else "convex"
    build = steps.performance(_worst_drift(sharp), not sharp, "the user drift against Lemma C.6")
    return (
        *exact.exact_checks(_drift("slope" if sharp else "gap"), steps.whole_step(Fraction(1, 24)), instances),
        *worst.checks(build, kind, ("0",)),
    )


C6: Statement = Statement(
    id="noble2022.lemmaC.6",
    kind="lemma",
    title="Drift of the users",
    source=Source(proof.PAPER, "Lemma C.6, Appendix C.3", note=f"the paper gives no proof; {proof.WHOLE_NOTE}"),
    text=(
        "If every F_i is convex and nu-smooth, eta_g >= 1 and eta_l <= 1/(24 nu K eta_g), then every round satisfies "
        "the bound."
    ),
    symbols=steps.letters("gap", *_C6_LETTERS),
    assumptions=(*steps.BASE, noble.CONVEX, proof.MINIMISER, proof.GLOBAL, _C6_STEP),
    sides=lambda: _c6_sides(C6),
    checks=(
        Check("algebra", "from the sharpened form", steps.by_lemma_c2(lambda: C6, lambda: C6_SHARPENED)),
        *_drift_checks(sharp=False),
    ),
    uses=("noble2022.lemmaC.1", "noble2022.lemmaC.2"),
)
C6_SHARPENED: Statement = replace(
    C6,
    id="noble2022.lemmaC.6.sharpened",
    title="Drift of the users, without convexity",
    source=Source(
        proof.PAPER, "Lemma C.6, Appendix C.3", note="derived: by ||grad F||^2, convex or not, as Lemma C.9 needs it"
    ),
    text=(
        "If every F_i is nu-smooth, convex or not, eta_g >= 1 and eta~ <= 1/(24 nu), then every round satisfies the "
        "bound."
    ),
    symbols=steps.letters("slope", *_C6_LETTERS),
    assumptions=(*steps.BASE, proof.GLOBAL, _C6_STEP),
    sides=lambda: _c6_sides(C6_SHARPENED),
    checks=_drift_checks(sharp=True),
    uses=(),
)

STATEMENTS = (C6, C6_SHARPENED)
