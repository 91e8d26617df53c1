"""noble2022 Lemma C.7: the progress of one round, and that Lemmas C.4 to C.6 imply it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Performance, Sides, Statement, Symbols, battery, checks
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022 import _worst_cases as worst
from dpfl_theory.statements.noble2022._instances import QUADRATICS
from dpfl_theory.statements.noble2022._runs import one_round
from dpfl_theory.statements.noble2022._step_size import least_slacks, limit, step_limit_symbolic
from dpfl_theory.statements.noble2022.scaffold import _rounds as exact
from dpfl_theory.statements.noble2022.scaffold import lemmaC_4_to_6 as lemmas
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import proved

Constants = tuple[Fraction, Fraction, Fraction]
"""The factors of -eta~ gap, eta~^2 V/(KlM), and eta~^2 V/(K eta_g^2)."""
PRINTED: Constants = (Fraction(1, 2), Fraction(10), Fraction(10))
SHARP: Constants = (Fraction(3, 2), Fraction(5), Fraction(1))
_MU = replace(noble.SYMBOLS["mu"], meaning="convexity constant of every $F_i$, 0 if convex only", domain="nonnegative")


def largest_step(share: Fraction, mu: Fraction = Fraction(0)) -> Fraction:
    """The largest eta~ nu, rounded down."""
    root = exact.power(share, Fraction(2, 3)) or Fraction(int(float(share) ** (2 / 3) * 10**4), 10**4)
    return min(root / 24, share / (54 * mu)) if mu else root / 24


def in_symbols(s: Mapping[str, Any], lemma: Statement) -> Formula:
    """One of Lemmas C.4 to C.6 in these symbols: alpha = 2/3, and where there is no slope ||grad F||^2 <= 2 nu gap."""
    own = symbols_of(lemma)
    swaps = {name: s[name] for name in own if name in s}
    swaps |= {"slope": 2 * s["nu"] * s["gap"]} if "slope" in own and "slope" not in s else {}
    swaps |= {"alpha": sp.Rational(2, 3)} if "alpha" in own else {}
    return of(lemma, **swaps)


def combination(*of_round: Statement) -> Check:
    """(10), 27 nu^2 eta~^2/l times Lemma C.5 and (12) over nu add up to no more than the claim, by coefficients.

    (10) is ||x^t - x*||^2 expanded with Lemma C.4 and <grad F_i(y), x* - x> <= F_i(x*) - F_i(x) + nu ||y - x||^2 -
    (mu/4)||x - x*||^2. of_round: Lemmas C.4, C.5 and C.6. The corners of the steps decide (`least_slacks`).
    """

    @algebra("Lemmas C.4 to C.6 together")
    def step(s: Formula) -> Proof:
        known = {**s, "drift": sp.Symbol("drift", nonnegative=True)}
        move, lag, drift = (in_symbols(known, lemma) for lemma in of_round)
        eta, nu = s.eta, s.nu
        sum_ = (1 - s.mu * eta / 2) * s.distance - 2 * eta * s.gap + 2 * nu * eta * known["drift"] + move.rhs
        sum_ += 27 * nu**2 * eta**2 / s.l * lag.rhs + drift.slack / nu
        noise = eta**2 * noble.averaged(s)
        units = {"gap": eta, "drift": nu * eta, "lag": nu**2 * eta**2, "distance": sp.Integer(1), "noise": noise}
        return least_slacks(s.rhs - sum_, units, known, "slope in lM/eta_g^2")

    return step


def _inner_product(_: Statement, instance: Mapping[str, Any]) -> Performance:
    """<grad F(y), x - x*> + nu ||y - x||^2 >= F(x) - F(x*) + (mu/4)||x - x*||^2, behind the display of E[A]."""
    (mu,) = worst.floats(instance, mu=0)
    world, y, _ = worst.opened("strongly convex" if mu else "convex", 1, mu, errs=False)
    # x* is any point: the smallest slack is asked for through its distance to x, so that both sides are nonnegative.
    x, star = (Vector(world.problem.set_initial_point()) for _ in range(2))
    left = world.value(0, x) - world.value(0, star) + mu / 4 * world.square(x - star)
    left = left - world.inner(world.gradient(0, y).known, (x - star).known)
    what = f"the inner product's error against ||y - x||^2, mu = {mu:g}"
    return Performance(world.problem, left, world.square(y - x), what)


def _sides(s: Symbols, constants: Constants) -> Sides:
    gain, alone, shared = map(sp.Rational, constants)
    weight, shrink = 27 * s.nu**2 * s.eta**2 / s.l, 1 - s.mu * s.eta / 2
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


def _rounds_add_up(per_round: Fraction) -> Check:
    """The right side's gain is eta~ gap over ``per_round``, and mu = 0 leaves the distance and the lag's weight as they
    were: so T rounds bound the mean gap by per_round D_0^2/(eta~ T) and the noise, as Lemma C.8's proof needs.

    No single round can show that the gain is there: it only makes the inequality stronger, so that a lemma without it
    follows from this one.
    """

    @algebra(
        "T rounds add up",
        part="the sum of the bound over T rounds, which needs the gain; the other checks decide that a round satisfies "
        "the bound, and none of them can need the gain: it only makes the bound stronger",
    )
    def step(s: Formula) -> Proof:
        left, right = (sp.expand(side.subs(s.mu, 0)) for side in (s.lhs, s.rhs))
        return proved(
            (-sp.Rational(per_round) * right.coeff(s.gap), s.eta, f"{per_round} times the gain over the gap"),
            (right.coeff(s.distance), left.coeff(s.distance_after), "the distance's factor at mu = 0"),
            (right.coeff(s.lag), left.coeff(s.lag_after), "the lag's factor at mu = 0"),
        )

    return step


STEP = Hypothesis(
    lambda s: (s.eta <= step_limit_symbolic(s), 54 * s.mu * s.eta <= s.l),
    r"$\eta_l \le \min(l^{2/3}/(24 K \eta_g \nu), l/(54 \mu K \eta_g))$, the second only if $\mu > 0$",
    partial=("mu",),
)


def _exact() -> Iterator[Check]:
    """On quadratics at the largest steps, a hundredth beyond them, and over every draw; and worst cases."""
    convex = QUADRATICS["convex"]
    one, two = convex["one user"], {**convex["two far apart, one at a time"], "V": ["0", "1"]}
    four = {**convex["four users, one at a time"], "curvatures": ["1", "1", "1/2", "1/3"]}
    flat = {**one, "curvatures": ["1", "0"], "offsets": ["0", "0"], "size": 2}
    yield from exact.checks(largest_step, "flat", mu="0")
    found = exact.at_limit(lambda share: largest_step(share, Fraction(1)) / 100, {"short steps": one})
    for name, instance, mu in (("two users", two, "1/4"), ("one user", one, "1"), ("four users", four, "1/3")):
        found |= exact.at_limit(partial(largest_step, mu=Fraction(mu)), {f"{name}, strongly convex": instance})
    yield from checks("exact", exact.rounds_of, found)
    yield exact.outside("eta~ <= l^(2/3)/(24 nu)", Fraction(101, 2400), flat)
    yield exact.outside("eta~ <= l/(54 mu)", Fraction(101, 5400))
    yield exact.outside("eta_g >= 1", Fraction(1, 24), flat, eta_g="99/100")
    yield from exact.draws(largest_step)
    yield from worst.of_scaffold("convex")
    yield from worst.of_scaffold("strongly convex", of=lambda at: at["M"] == 2, mu="1/2")


_RUNS = one_round(lambda values: limit(values) * float(values["nu"]))
_STEP = (
    "step of the proof: what a user's gradient at y says about F_i; the round that Lemmas C.4 to C.6 make of it remains"
)

LEMMA: Statement = noble.statement(
    **noble.named("noble2022.lemmaC.7"),
    symbols=noble.NOTATION(_MU),
    hypotheses=(noble.CONVEX, *lemmas.BASE, noble.MINIMISER, noble.GLOBAL, STEP),
    sides=lambda s: _sides(s, PRINTED),
    checks=battery(
        combination(lemmas.C4, lemmas.C5, lemmas.C6),
        _rounds_add_up(Fraction(2)),
        checks("worst-case", _inner_product, {f"inner product, mu = {m}": {"mu": m} for m in ("0", "1/8", "1/2")},
            part=_STEP),
        _exact(),
        _RUNS("round"),
    ),
    uses=("noble2022.lemmaC.4", "noble2022.lemmaC.5", "noble2022.lemmaC.6"),
)  # fmt: skip

SHARPENED: Statement = replace(
    LEMMA,
    id="noble2022.lemmaC.7.sharpened",
    sides=lambda s: _sides(s, SHARP),
    checks=battery(
        combination(lemmas.C4_SHARPENED, lemmas.C5_SHARPENED, lemmas.C6_SHARPENED),
        _rounds_add_up(Fraction(2, 3)),
        _exact(),
        _RUNS("round corners"),
    ),
    uses=("noble2022.lemmaC.4.sharpened", "noble2022.lemmaC.5.sharpened", "noble2022.lemmaC.6.sharpened"),
)

STATEMENTS = (LEMMA, SHARPENED)
