"""noble2022 Lemma C.7: the progress of one round, and that Lemmas C.4 to C.6 imply it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Performance, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.performance import declared
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._step_limit import least_slacks, limit, step_limit_symbolic
from dpfl_theory.statements.noble2022.scaffold import _lemma_enumeration as draws
from dpfl_theory.statements.noble2022.scaffold import _lemma_runs as runs
from dpfl_theory.statements.noble2022.scaffold import _round_instances as exact
from dpfl_theory.statements.noble2022.scaffold import _round_performance as worst
from dpfl_theory.statements.noble2022.scaffold import _round_steps as steps
from dpfl_theory.statements.noble2022.scaffold import lemmaC_4, lemmaC_5, lemmaC_6
from dpfl_theory.statements.symbolic import all_equal

Constants = tuple[Fraction, Fraction, Fraction]
"""The factors of -eta~ gap, eta~^2 V/(KlM), and eta~^2 V/(K eta_g^2)."""
PRINTED: Constants = (Fraction(1, 2), Fraction(10), Fraction(10))
SHARP: Constants = (Fraction(3, 2), Fraction(5), Fraction(1))
_MU = replace(noble.SYMBOLS["mu"], meaning="convexity constant of every $F_i$, 0 if convex only", domain="nonnegative")


def largest_step(share: Fraction, mu: Fraction) -> Fraction:
    """The largest eta~ nu, rounded down."""
    root = exact.power(share, Fraction(2, 3)) or Fraction(int(float(share) ** (2 / 3) * 10**4), 10**4)
    return min(root / 24, share / (54 * mu)) if mu else root / 24


def _combination(*lemmas: Statement) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    """(10), 27 nu^2 eta~^2/l times Lemma C.5 and (12) over nu add up to no more than the claim, by coefficients.

    (10) is ||x^t - x*||^2 expanded with Lemma C.4 and <grad F_i(y), x* - x> <= F_i(x*) - F_i(x) + nu ||y - x||^2 -
    (mu/4)||x - x*||^2. lemmas: Lemmas C.4, C.5 (alpha = 2/3) and C.6, with ||grad F||^2 <= 2 nu gap where they contain
    it. The corners of the steps decide (`least_slacks`).
    """

    def build(claim: Statement, _: Mapping[str, Any]) -> Outcome:
        s = {**symbols_of(claim)}
        s["drift"] = sp.Symbol("drift", nonnegative=True)

        def side(statement: Statement, which: str) -> Any:
            own = symbols_of(statement)
            named = {own[name]: s[name] for name in own if name in s}
            named |= {own["slope"]: 2 * s["nu"] * s["gap"]} if "slope" in own else {}
            named |= {own["alpha"]: sp.Rational(2, 3)} if "alpha" in own else {}
            return total(statement, which).subs(named)

        move, lag, drift = lemmas
        eta, nu, mu, share = s["eta"], s["nu"], s["mu"], s["l"]
        sum_ = (1 - mu * eta / 2) * s["distance"] - 2 * eta * s["gap"] + 2 * nu * eta * s["drift"] + side(move, "rhs")
        sum_ += 27 * nu**2 * eta**2 / share * side(lag, "rhs") + (side(drift, "rhs") - side(drift, "lhs")) / nu
        slack = sp.expand(side(claim, "rhs") - sum_)
        moments = [s[name] for name in ("gap", "drift", "lag", "distance")]
        parts = {str(m): slack.coeff(m) for m in moments}
        parts["noise"] = slack.subs(dict.fromkeys(moments, 0))
        scale = {
            "gap": eta, "drift": nu * eta, "lag": nu**2 * eta**2, "distance": sp.Integer(1),
            "noise": eta**2 * noble.averaged(s),
        }  # fmt: skip
        slacks = {name: part / scale[name] for name, part in parts.items()}
        return least_slacks(slacks, s, "slope in lM/eta_g^2")

    return build


def _inner_product(_: Statement, instance: Mapping[str, Any]) -> Performance:
    """<grad F(y), x - x*> + nu ||y - x||^2 >= F(x) - F(x*) + (mu/4)||x - x*||^2, behind the display of E[A]."""
    from PEPit import PEP

    mu, problem = float(Fraction(str(instance["mu"]))), PEP()
    (f,) = declared(problem, "strongly convex" if mu else "convex", 1, mu)
    y, x = problem.set_initial_point(), problem.set_initial_point()
    # x* is any point: the smallest slack is asked for through its distance to x, so that both sides are nonnegative.
    star = problem.set_initial_point()
    left = f(x) - f(star) + mu / 4 * (x - star) ** 2 - f.gradient(y) * (x - star)
    return Performance(problem, left, (y - x) ** 2, f"the inner product's error against ||y - x||^2, mu = {mu:g}")


def _sides(s: Symbols, constants: Constants) -> Sides:
    gain, alone, shared = (sp.Rational(v.numerator, v.denominator) for v in constants)
    weight = 27 * s.nu**2 * s.eta**2 / s.l
    shrink = 1 - s.mu * s.eta / 2
    noise = s.eta**2 * noble.averaged(s)
    return Sides(
        {"distance": s.distance_after, "lag": weight * s.lag_after},
        {
            "distance before": shrink * s.distance,
            "lag before": shrink * weight * s.lag,
            "gain": -gain * s.eta * s.gap,
            "noise": alone * noise,
            "drift noise": shared * noise * s.l * s.M / s.eta_g**2,
        },
    )


def _longest(values: Mapping[str, float]) -> float:
    """eta~ nu."""
    return limit(values) * float(values["nu"])


def _limit(mu: Fraction) -> Callable[[Fraction], Fraction]:
    return lambda share: largest_step(share, mu)


def _rounds_add_up(per_round: Fraction) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    """The right side's gain is eta~ gap over ``per_round``, and mu = 0 leaves the distance and the lag's weight as they
    were: so T rounds bound the mean gap by per_round D_0^2/(eta~ T) and the noise, as Lemma C.8's proof needs.

    No single round can show that the gain is there: it only makes the inequality stronger, so that a lemma without it
    follows from this one.
    """

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        s = symbols_of(statement)
        left, right = (sp.expand(total(statement, side).subs(s.mu, 0)) for side in ("lhs", "rhs"))
        times = sp.Rational(per_round.numerator, per_round.denominator)
        found = all_equal(
            (-times * right.coeff(s.gap), s.eta, f"{per_round} times the gain over the gap"),
            (right.coeff(s.distance), left.coeff(s.distance_after), "the distance's factor at mu = 0"),
            (right.coeff(s.lag), left.coeff(s.lag_after), "the lag's factor at mu = 0"),
        )
        return replace(found, true=found.true or None)

    return build


STEP = Hypothesis(
    lambda s: (s.eta <= step_limit_symbolic(s), 54 * s.mu * s.eta <= s.l),
    r"$\eta_l \le \min(l^{2/3}/(24 K \eta_g \nu), l/(54 \mu K \eta_g))$, the second only if $\mu > 0$",
    partial=("mu",),
)

_STRONG = {
    "two users, strongly convex": {**exact.CONVEX["two far apart, one at a time"], "V": ["0", "1"]},
    "one user, strongly convex": exact.CONVEX["one user"],
    "four users, strongly convex": {
        **exact.CONVEX["four users, one at a time"],
        "curvatures": ["1", "1", "1/2", "1/3"],
    },
}


_NO_MU = _limit(Fraction(0))
_ROUNDS = {n: v for n, v in exact.CONVEX.items() if "0" in v["curvatures"] or len(v["curvatures"]) > 4} | exact.GLOBAL
"""Some user is flat, or there are many: where the step size or the errors of others count most."""
_SUM = (
    "the sum of the bound over T rounds, which needs the gain; the other checks decide that a round satisfies the "
    "bound, and none of them can need the gain: it only makes the bound stronger"
)
_STEP = (
    "step of the proof: what a user's gradient at y says about F_i; the round that Lemmas C.4 to C.6 make of it remains"
)


def _checks() -> tuple[Check, ...]:
    strong: list[Check] = []
    for name, instance in _STRONG.items():
        strong += exact.checks(_limit(min(Fraction(v) for v in instance["curvatures"])), {name: instance})
    return (
        *exact.checks(_NO_MU, _ROUNDS, mu="0"),
        *exact.checks(lambda share: largest_step(share, Fraction(1)) / 100, {"short steps": exact.CONVEX["one user"]}),
        *strong,
        *draws.checks(_NO_MU),
        *worst.checks("convex"),
        *worst.checks("strongly convex", of=lambda at: at["M"] == 2, mu="1/2"),
    )


def _beyond(mu: Fraction) -> Callable[[Fraction], Fraction]:
    """A hundredth more than the largest eta~ nu."""
    return lambda share: largest_step(share, mu) * Fraction(101, 100)


_FLAT = {**exact.CONVEX["one user"], "curvatures": ["1", "0"], "offsets": ["0", "0"], "size": 2}
_OUTSIDE = (
    *exact.checks(_beyond(Fraction(0)), {"just outside eta~ <= l^(2/3)/(24 nu)": _FLAT}, "not-applicable"),
    *exact.checks(_beyond(Fraction(1)), steps.just_outside("eta~ <= l/(54 mu)"), "not-applicable"),
    *exact.checks(_NO_MU, {"just outside eta_g >= 1": {**_FLAT, "eta_g": "99/100"}}, "not-applicable"),
)


LEMMA: Statement = Statement(
    id="noble2022.lemmaC.7",
    kind="lemma",

    source=Source(noble.PAPER, "Lemma C.7, Appendix C.3"),

    **runs.symbols(
        (
            *noble.symbols("distance_after", "lag_after", "distance", "lag", "gap", "eta", "eta_g", "nu"),
            _MU,
            *noble.symbols(*noble.VARIANCE, *noble.COHORT),
        ),
        "distance_after",
        "lag_after",
    ),
    hypotheses=(
        noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE, noble.MINIMISER, noble.GLOBAL, STEP,
    ),
    sides=lambda s: _sides(s, PRINTED),
    checks=(
        Check(
            "algebra",
            "Lemmas C.4 to C.6 together",
            _combination(lemmaC_4.C4, lemmaC_5.C5, lemmaC_6.C6),
        ),
        Check("algebra", "T rounds add up", _rounds_add_up(Fraction(2)), part=_SUM),
        *checks("worst-case", _inner_product, {f"inner product, mu = {mu}": {"mu": mu} for mu in ("0", "1/8", "1/2")},
                part=_STEP),
        *_checks(),
        *_OUTSIDE,
        *runs.checks(_longest),
        *runs.checks(_longest, runs=runs.OUTSIDE, expected="not-applicable"),
    ),
    uses=("noble2022.lemmaC.4", "noble2022.lemmaC.5", "noble2022.lemmaC.6"),

)  # fmt: skip

SHARPENED: Statement = replace(
    LEMMA,
    id="noble2022.lemmaC.7.sharpened",
    source=Source(noble.PAPER, "Lemma C.7, Appendix C.3"),
    sides=lambda s: _sides(s, SHARP),
    checks=(
        Check(
            "algebra",
            "Lemmas C.4 to C.6 together",
            _combination(lemmaC_4.C4_SHARPENED, lemmaC_5.C5_SHARPENED, lemmaC_6.C6_SHARPENED),
        ),
        Check("algebra", "T rounds add up", _rounds_add_up(Fraction(2, 3)), part=_SUM),
        *_checks(),
        *_OUTSIDE,
        *runs.checks(_longest, runs=runs.RUNS | runs.CORNERS),
        *runs.checks(_longest, runs=runs.OUTSIDE, expected="not-applicable"),
    ),
    uses=("noble2022.lemmaC.4.sharpened", "noble2022.lemmaC.5.sharpened", "noble2022.lemmaC.6.sharpened"),
)

STATEMENTS = (LEMMA, SHARPENED)
