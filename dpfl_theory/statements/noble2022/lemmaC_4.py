"""noble2022 Lemma C.4: the variance of the server's update, as printed and without convexity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.model import Assumption, Check, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _round_instances as exact
from dpfl_theory.statements.noble2022 import _round_performance as worst
from dpfl_theory.statements.noble2022 import _round_steps as steps
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._moments import RoundMoments, Users
from dpfl_theory.statements.symbolic import equal

if TYPE_CHECKING:
    pass


def _move(slope: Any, *factors: Any) -> Callable[[Users, RoundMoments], tuple[Fraction, Fraction]]:
    """factors of drift, lag, slope or gap (``slope`` tells which), and V/(KlM)."""

    def bound(u: Users, m: RoundMoments) -> tuple[Fraction, Fraction]:
        a, b, c, d = (Fraction(f) for f in factors)
        nu, W = u.smoothness, u.variance / (u.local_steps * u.size)
        start = c * (m.slope if slope == "slope" else nu * m.gap)
        return m.move, u.step**2 * (a * nu**2 * m.drift + b * nu**2 * m.lag + start + d * W)

    return bound


def _worst_move(r: worst.Round, _: Mapping[str, Any]) -> tuple[Any, Any]:
    return r.move / r.step**2, 4 * r.drift + 8 * r.lag + 8 * r.gap + 9 * r.W


def _worst_sharp_move(r: worst.Round, _: Mapping[str, Any]) -> tuple[Any, Any]:
    return r.move / r.step**2, 4 * r.drift + 8 / 3 * r.lag + 4 / 3 * r.slope + 4 * r.W


def _worst(build: Any, kind: str, step: str) -> tuple[Check, ...]:
    """All sizes at a short step, where the drift helps least, and the first four at the longest one."""
    return worst.checks(build, kind, ("0",), step=step)[: 4 if step == "24" else None]


def _c4_sides() -> Sides:
    s = sympy_symbols(C4)
    square = s["eta"] ** 2
    return Sides(
        {"move": s["move"]},
        {
            "drift": 4 * square * s["nu"] ** 2 * s["drift"],
            "lag": 8 * s["nu"] ** 2 * square * s["lag"],
            "excess": 8 * s["nu"] * square * s["gap"],
            "noise": 9 * square * proof.averaged(s),
        },
    )


def _c4_sharp_sides() -> Sides:
    import sympy as sp

    s = sympy_symbols(C4_SHARPENED)
    square = s["eta"] ** 2
    return Sides(
        {"move": s["move"]},
        {
            "drift": 4 * square * s["nu"] ** 2 * s["drift"],
            "lag": sp.Rational(8, 3) * s["nu"] ** 2 * square * s["lag"],
            "slope": sp.Rational(4, 3) * square * s["slope"],
            "noise": 4 * square * proof.averaged(s),
        },
    )


def _c4_proof(_: Mapping[str, Any]) -> Outcome:
    """x^t - x^{t-1} = -eta~ (e + g + w + q + n): e the mean over the cohort of grad F_i(y) - grad F_i(x), g = grad
    F(x), w and q what sampling makes of the lag and of the old errors (zero on average over the cohort), n the new
    errors (zero on average given all else but e). So E||X + e||^2 <= 4 E||e||^2 + (4/3) E||X||^2 with E||X||^2 <=
    ||g||^2 + 2||w||^2 + 2||q||^2 + ||n||^2, ||w||^2 <= nu^2 lag and ||q||^2, ||n||^2 <= V/(KlM)."""
    import sympy as sp

    e, X = sp.symbols("e X", real=True)
    slack = 4 * e**2 + sp.Rational(4, 3) * X**2 - (e + X) ** 2
    return equal(sp.expand(slack), sp.expand((3 * e - X) ** 2 / 3), "4 e^2 + (4/3) X^2 - (e + X)^2 against a square")


def _cohort_factor(_: Mapping[str, Any]) -> Outcome:
    """What sampling leaves of a mean square, (1 - l) M/((M - 1) lM), is at most 1: its slack is M (lM - 1)/(lM (M -
    1)).

    With a cohort of r = lM users the variance of their mean is (M - r)/((M - 1) r) times that of one user's vector; for
    M = 1 there is nothing to sample."""
    import sympy as sp

    M, r = sp.symbols("M r", positive=True)
    slack = 1 - (M - r) / ((M - 1) * r)
    return equal(
        slack, M * (r - 1) / (r * (M - 1)), "1 less the cohort's variance factor against M (r - 1)/(r (M - 1))"
    )


_C4_WHAT = "the server's move against Lemma C.4"
_C4_NOTE = f"the proof's displays are garbled; {proof.WHOLE_NOTE}"
C4: Statement = Statement(
    id="noble2022.lemmaC.4",
    kind="lemma",
    title="Variance of the server's update",
    source=Source(proof.PAPER, "Lemma C.4, Appendix C.3", note=_C4_NOTE),
    text="If every F_i is convex and nu-smooth and eta~ = K eta_l eta_g <= 1/nu, then every round satisfies the bound.",
    symbols=steps.letters("move", "gap", *steps.ROUND),
    assumptions=(*steps.BASE, noble.CONVEX, proof.MINIMISER, Assumption("eta~ <= 1/nu", steps.step_limit(1.0, "0"))),
    sides=_c4_sides,
    checks=(
        Check("algebra", "from the sharpened form", steps.by_lemma_c2(lambda: C4, lambda: C4_SHARPENED)),
        *exact.exact_checks(_move("gap", 4, 8, 8, 9), steps.whole_step(Fraction(1)), exact.CONVEX),
        *(
            check
            for step in ("24", "1/10")
            for check in _worst(steps.performance(_worst_move, True, _C4_WHAT), "convex", step)
        ),
    ),
    uses=("noble2022.lemmaC.2", "noble2022.lemmaC.3", "noble2022.corollaryC.1"),
    slips=(
        "The proof replaces E[grad F_i(y_i^{k-1}) | y^0] by grad F_i(y_i^{k-1}), and E[c_i^{t-1} | y^0] by gradients "
        "whatever x^{t-1} says of the errors in c_i^{t-1}; the bound holds without either (see the sharpened form).",
        "The condition eta~ <= 1/nu is not used.",
    ),
)

C4_SHARPENED: Statement = replace(
    C4,
    id="noble2022.lemmaC.4.sharpened",
    title="Variance of the server's update, without convexity",
    source=Source(proof.PAPER, "Lemma C.4, Appendix C.3", note="derived, with smaller factors and for every step size"),
    text="If every F_i is nu-smooth, convex or not, then every round satisfies the bound, for every step size.",
    symbols=steps.letters("move", "slope", *steps.ROUND),
    assumptions=steps.BASE,
    sides=_c4_sharp_sides,
    checks=(
        Check("algebra", "the drift apart from the rest", _c4_proof),
        Check("algebra", "what sampling leaves", _cohort_factor),
        *exact.exact_checks(
            _move("slope", 4, Fraction(8, 3), Fraction(4, 3), 4),
            steps.whole_step(Fraction(1)),
            {**exact.CONVEX, **exact.OTHER},
        ),
        *exact.exact_checks(
            _move("slope", 4, Fraction(8, 3), Fraction(4, 3), 4), steps.whole_step(Fraction(5)), exact.OTHER
        ),
        *(
            check
            for step in ("24", "1/10")
            for check in _worst(steps.performance(_worst_sharp_move, False, _C4_WHAT), "non-convex", step)
        ),
    ),
    uses=(),
    slips=(),
)

STATEMENTS = (C4, C4_SHARPENED)
