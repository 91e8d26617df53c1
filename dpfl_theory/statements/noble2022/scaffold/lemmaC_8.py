"""noble2022 Lemma C.8: the convergence of DP-SCAFFOLD-warm for convex objectives, printed and with a step size; and
Theorem C.1 (convex) with explicit constants, derived from Lemma C.7: a bound that a run can be compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Statement, Symbols, Values, battery, checks
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.instances import edges_of
from dpfl_theory.statements.noble2022 import _moments as one_user
from dpfl_theory.statements.noble2022 import _no_constant as refuting
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022._instances import QUADRATICS
from dpfl_theory.statements.noble2022._step_size import rate, step_limit_symbolic, two_cases
from dpfl_theory.statements.noble2022.scaffold import lemmaC_7 as lemma
from dpfl_theory.statements.noble2022.scaffold.lemmaC_7 import STEP
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.symbolic import equal, proved


def _explicit_sides(s: Symbols, constants: lemma.Constants) -> Sides:
    gain, alone, shared = map(sp.Rational, constants)
    noise = s.eta * noble.averaged(s) / gain
    return Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {
            "start": s.D0**2 / (gain * s.eta * s.T),
            "noise": alone * noise,
            "drift noise": shared * noise * s.l * s.M / s.eta_g**2,
        },
    )


def _telescoped(source: Statement) -> Check:
    """Lemma C.7 with mu = 0, summed over T rounds from F_0 = 0 (the warm start) and divided by the gain times T."""

    @algebra("Lemma C.7 over T rounds")
    def step(s: Formula) -> Proof:
        one_round = s.like(source, mu=0)
        noise = s.like(source, mu=0, gap=0, distance=0, lag=0).rhs
        gain = -one_round.rhs.expand().coeff(one_round.gap)
        return (s.D0**2 / s.T + noise) / gain, s.rhs, "Lemma C.7 summed over the rounds against the right side"

    return step


def _means() -> Iterator[Check]:
    convex = QUADRATICS["convex"]
    one, found = convex["one user"], {}
    for name in ("one user", "two far apart, one at a time", "eight users, one at a time"):
        step = lemma.largest_step(Fraction(int(convex[name]["size"]), len(convex[name]["curvatures"])))
        found[name] = {**convex[name], "eta~ nu": str(step), "T": list(range(1, convex[name]["T"] + 1))}
    yield from checks("exact", one_user.all_rounds, found)
    yield Check("exact", "one user, hundreds of rounds", one_user.all_rounds, _LONG)
    outside = {"eta~ <= l^(2/3)/(24 nu)": {"eta~ nu": "101/2400"}, "eta_g >= 1": {"eta~ nu": "1/24", "eta_g": "99/100"}}
    yield from edges_of("exact", one_user.all_rounds, {**one, "T": [1]}, outside)


_LONG = {"eta~ nu": "1/24", "T": [60, 120, 180, 240], "V": ["0", "1/1000", "1"]}
"""Standing still would exceed the bound."""


_BASE = (noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE, noble.GLOBAL)
_LONGEST = Hypothesis(lambda s: s.eta <= step_limit_symbolic(s), r"$\tilde\eta \le l^{2/3}/(24 \nu)$")

EXPLICIT: Statement = noble.statement(
    **noble.named("noble2022.theoremC.1.explicit", "derived from Lemma C.7, Appendix C.3", provenance="derived"),
    symbols=noble.WARM_MEANS,
    hypotheses=(*_BASE, _LONGEST, noble.ROUNDS),
    sides=lambda s: _explicit_sides(s, lemma.PRINTED),
    checks=battery(_telescoped(lemma.LEMMA), _means(), runs.runs()("long minimiser", near="one of eight users")),
    uses=("noble2022.lemmaC.7",),
)

EXPLICIT_SHARPENED: Statement = replace(
    EXPLICIT,
    id="noble2022.theoremC.1.explicit.sharpened",
    sides=lambda s: _explicit_sides(s, lemma.SHARP),
    checks=battery(_telescoped(lemma.SHARPENED), _means(), runs.runs()("short", near="one")),
    uses=("noble2022.lemmaC.7.sharpened",),
)


def strongly_convex(s: Symbols) -> Any:
    """The printed right side for strongly convex objectives."""
    noise = noble.averaged(s) / (s.mu * s.T) * noble.shared(s)
    return s.c * (noise + s.mu * s.D0**2 * sp.exp(-rate(s) * s.T))


def _too_short_a_step(s: Formula, strongly: bool) -> Proof:
    """M = l = K = s = eta_g = 1, x^0 = D_0. Convex: F(x) = nu x^2/2 up to |x| = D_0 and linear beyond, so that
    gradients are at most nu D_0 and E x^t >= D_0 - t eta_l nu D_0; strongly convex: F(x) = nu x^2/2, E x^t = (1 - eta_l
    nu)^t D_0 (Bernoulli). By Jensen's inequality E F(xbar) - F* >= (nu/2)(1 - 1/1000)^2 D_0^2 for all weights. With
    Sigma = nu D_0/(100 c) and T = 100 c (T = 10^5 (1 + ln c) in the strongly convex case, mu = nu) the right side is
    smaller, whatever c >= 1 is (`too_short_a_step`).
    """
    right = strongly_convex(Symbols({**s, "mu": s.nu}, s.statement.id)) if strongly else s.rhs
    T = 10**5 * (1 + sp.log(s.c)) if strongly else 100 * s.c
    one = refuting.single(s, "K", "M", "l", "s", "R", "eta_g", "nu", "D0") | {s.Sigma: 1 / (100 * s.c), s.T: T}
    left = sp.Rational(999, 1000) ** 2 / 2
    return refuting.too_short_a_step(s, right.subs(one), left, "nu D_0^2")  # which is the unit of both sides


def short_steps(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The convex half of `_too_short_a_step` in fractions, with eta_g = 4/3 for a rational root: a lower limit of the
    left side, for several constants c."""
    for c in instance["c"]:
        T, Sigma, eta_g = 100 * int(c), Fraction(1, 100 * int(c)), Fraction(4, 3)
        values: dict[str, Any] = dict.fromkeys(("K", "M", "l", "s", "R", "nu", "D0"), 1) | {"varsigma": 0}
        values |= {"c": int(c), "T": T, "Sigma": Sigma, "eta_g": eta_g, "eta_l": Fraction(1, 1000 * T)}
        yield Values({**values, "excess": (1 - eta_g / 1000) ** 2 / 2}, {"c": c, "T": T, "Sigma": Sigma})


def _balance(s: Symbols) -> Any:
    """The eta~ at which the two terms of Theorem C.1.explicit are equal: D_0/sqrt(10 T W)."""
    return s.D0 / sp.sqrt(10 * s.T * noble.averaged(s) * noble.shared(s))


@algebra("the step size, convex")
def _two_cases(s: Formula) -> Proof:
    """f is the bound of Theorem C.1.explicit."""
    f = s.like(EXPLICIT).terms
    return two_cases(s, f["start"], f["noise"] + f["drift noise"], _balance(s))


_SECOND = (
    "It decides the second half, for strongly convex objectives, whose bound is in the text; the sides are those of "
    "the first half, which the other checks decide."
)


@algebra("the weights, strongly convex", part=_SECOND, T=[1, 2, 3, 5])
def _weights(s: Formula, T: list[int]) -> Proof:
    """With a = mu eta~/2 the weights (1 - a)^{-t}, t = 1..T, add up to ((1 - a)^{-T} - 1)/a, so that Lemma C.7 gives
    the weighted mean of F(x^{t-1}) - F* at most 2 D^2/(eta~ S) + 20 eta~ W = mu D^2 (1 - a)^T/(1 - (1 - a)^T) + 20
    eta~ W."""
    a, mu, D, eta = sp.symbols("a mu D eta", positive=True)
    steps = []
    for count in T:
        total = sum((1 - a) ** (-t) for t in range(1, count + 1))
        claimed = (mu * D**2 * (1 - a) ** count / (1 - (1 - a) ** count)).subs(mu, 2 * a / eta)
        steps.append((2 * D**2 / (eta * total), claimed, f"T = {count}"))
    return proved(*steps)


@algebra("the step size, strongly convex", part=_SECOND)
def _logarithm(s: Formula) -> Proof:
    """eta~ = min(eta_max, 2 L/(mu T)), L = ln max(e, mu^2 D^2 T/W), with a T >= 1 at both: (1 - a)^T <= e^{-aT} <=
    1/e and 1/(1 - 1/e) < 1.6. The first choice gives 1.6 mu D^2 exp(-mu eta_max T/2), the second 1.6 mu D^2 e^{-L} <=
    1.6 W/(mu T) or less; 20 eta~ W <= 40 L W/(mu T); together at most 42 L W/(mu T) + 1.6 mu D^2 exp(-mu eta_max
    T/2)."""
    mu, T, W, D = sp.symbols("mu T W D", positive=True)
    start = mu * D**2 * sp.exp(-sp.log(mu**2 * D**2 * T / W))
    first = equal(start, W / (mu * T), "the start's share at the shorter step")
    enough = bool(1 / (1 - sp.exp(-1)) < sp.Rational(8, 5)) and sp.Rational(8, 5) + 40 <= 42
    return Outcome(True if first.true and enough else None, f"{first.reason}; 1/(1 - 1/e) < 8/5 and 8/5 + 40 <= 42")


_SHORT = "a step that is too short, convex"

LEMMA: Statement = noble.statement(
    **noble.named("noble2022.lemmaC.8"),
    symbols=noble.NOTATION.also("eta_l"),
    hypotheses=(*_BASE, noble.ROUNDS),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {
            "noise": s.c * s.D0 * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M) * sp.sqrt(noble.shared(s)),
            "start": s.c * s.nu / s.T * s.D0**2 * (1 / s.l) ** sp.Rational(2, 3),
        },
    ),
    checks=battery(
        algebra(_SHORT, expected="violated", strongly=False)(_too_short_a_step),
        algebra("a step that is too short, strongly convex", _SECOND, "violated", strongly=True)(_too_short_a_step),
        Check("exact", _SHORT, short_steps, {"c": [1, 100, 10000]}, "violated"),
        refuting.first_step("excess", "scaffold"),
    ),
    uses=("noble2022.lemmaC.7",),
)

REPAIRED: Statement = noble.statement(
    **noble.named("noble2022.lemmaC.8.repaired"),
    symbols=noble.WARM_MEANS,
    hypotheses=(*_BASE, noble.ROUNDS, STEP, noble.APART),
    sides=lambda s: Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {
            "noise": 4 * sp.sqrt(10) * s.D0 * sp.sqrt(noble.averaged(s) * noble.shared(s) / s.T),
            "start": 48 * s.nu * s.D0**2 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    ),
    prescription=lambda s: {"eta": sp.Min(step_limit_symbolic(s), _balance(s))},
    checks=battery(
        _two_cases,
        _weights,
        _logarithm,
        one_user.of_all_rounds("D_0 > 0"),
        runs.runs()("long", near="below", without=runs.one_user_has("D_0 > 0")),
    ),
    uses=("noble2022.lemmaC.7", "noble2022.theoremC.1.explicit"),
)

STATEMENTS = (EXPLICIT, EXPLICIT_SHARPENED, LEMMA, REPAIRED)
