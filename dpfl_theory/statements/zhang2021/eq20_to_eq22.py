"""zhang2021 eqs. (20) to (22), as printed and repaired: the descent inequality of one round, all steps put together;
simplified by the limits of the steps; and summed over the rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, battery
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _round as one
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import eq13_to_eq19 as steps
from dpfl_theory.statements.zhang2021._runs import EXACT, SAMPLED, TREE
from dpfl_theory.statements.zhang2021._symbols import SMOOTH_BY_CONSTRUCTION, printed_limits, repaired_limits


def _variances(s: Symbols) -> Any:
    return s.sigma_l**2 + 6 * s.Q * s.sigma_g**2


def _shared_terms(s: Symbols) -> dict[str, Any]:
    """The common terms of all versions of the inequality: f(x_t), the biases and spreads of clipping, and the privacy
    noise."""
    return {
        "now": s.f_now,
        "clipping bias": s.eta_g * (s.first_bias + s.second_bias),
        "clipping spread": sp.Rational(3, 2) * s.L * s.eta_g**2 * (s.first_spread + s.second_spread),
        "privacy": s.L / 2 * s.eta_g**2 * s.noise_variance * s.d / s.P,
    }


# (20).


def _first_order(s: Symbols) -> dict[str, Any]:
    """(13) to (15), and the noise term of (17)."""
    L, Q, P, eta, eta_g, alpha = s.L, s.Q, s.P, s.eta_l, s.eta_g, s.alpha
    drift = 5 * L**2 * Q**2 * eta**2 * _variances(s) + 30 * L**2 * Q**3 * eta**2 * s.square
    return {
        "gradient": -eta_g * eta * alpha * Q / 2 * s.square,
        "updates": -eta_g * eta * alpha / (2 * Q) * s.local_square / (eta * alpha) ** 2,
        "drift": eta_g * eta * alpha / 2 * drift,
        "pairs": 3 * L * eta_g**2 * (P - 1) / P * s.local_square,
        "stochastic gradients": 3 * L / P * eta_g**2 * eta**2 * alpha**2 * Q * s.sigma_l**2,
    }


def _eq20_sides(s: Symbols) -> Sides:
    L, Q, P, eta, eta_g, alpha = s.L, s.Q, s.P, s.eta_l, s.eta_g, s.alpha
    both = s.square + s.sigma_g**2
    sampling = {
        "sampling, noise": 30 / P * eta**4 * eta_g**2 * alpha * L**2 * Q**2 * s.sigma_l**2,
        "sampling": 12 / P * eta**2 * eta_g**2 * alpha * Q**3 * (15 * L**2 * eta**2 + 1) * both,
    }
    return Sides({"next": s.E_next}, {**_shared_terms(s), **_first_order(s), **sampling})


def _eq20_repaired_sides(s: Symbols) -> Sides:
    factor = 3 * s.L * s.eta_g**2 / s.P
    squares = {f"sampling, {name}": factor * term for name, term in steps.repaired_squares(s).items()}
    return Sides({"next": s.E_next}, {**_shared_terms(s), **_first_order(s), **squares})


def assembled(drift: Any, squares: Any) -> Any:
    """The bound of E f(x_{t+1}) by (12) with (13), (14), (16), (17) and (18), with these bounds of A_1 and of the
    clients' squared updates."""
    s = symbols_of(EQ20_REPAIRED)
    product = of(steps.EQ14_REPAIRED, drift_square=drift).rhs
    sampled = of(steps.EQ18_REPAIRED, local_squares=squares).rhs
    inner = of(steps.EQ17, cohort_local=sampled).rhs
    first, outer = of(steps.EQ13, common_product=product).rhs, of(steps.EQ16, cohort_common=inner).rhs
    noise = s.L / 2 * s.eta_g**2 * s.noise_variance * s.d / s.P
    return s.f_now + s.eta_g * first + s.L / 2 * s.eta_g**2 * outer + noise


@algebra("(12) to (19) put together")
def _bookkeeping(s: Formula) -> Proof:
    """(12) with (13), (14), (15), (16), (17), (18) and (19), term by term.

    (L/2) eta_g^2 times 3 (16), 2 (17) and (18) leaves 3 L eta_g^2 ((1/(P N)) (19) + ((P-1)/P) local_square).
    """
    combined = assembled(of(steps.EQ15).rhs, of(steps.EQ19_REPAIRED).rhs)
    return sp.expand(combined), sp.expand(s.rhs), "(12) to (19) put together against (20)"


@algebra("the terms that (18) and (19) add", expected="violated")
def _missing(s: Formula) -> Proof:
    """The two terms that (18) and (19) add must be (3 L eta_g^2/(P N)) times (19); as printed the L is missing."""
    squares = of(steps.EQ19)
    due = 3 * s.L * s.eta_g**2 / (s.P * squares.N) * squares.rhs
    added = s.terms["sampling, noise"] + s.terms["sampling"]
    return added, due, "the last two terms against 3 L eta_g^2/(P N) times (19)"


EQ20: Statement = zhang.proof_step(
    "zhang2021.eq20",
    hypotheses=(zhang.LOCAL_STEP,),
    sides=_eq20_sides,
    homogeneous=False,
    checks=battery(_missing, EXACT("fair inside", violated="sampled")),
    uses=(
        *("zhang2021.eq13", "zhang2021.eq14", "zhang2021.eq15", "zhang2021.eq16", "zhang2021.eq17"),
        *("zhang2021.eq18", "zhang2021.eq19"),
    ),
)

EQ20_REPAIRED: Statement = replace(
    EQ20,
    id="zhang2021.eq20.repaired",
    sides=_eq20_repaired_sides,
    homogeneous=True,
    checks=battery(_bookkeeping, EXACT("fair sampled inside"), SAMPLED("descents")),
    smoke=("one round in two dimensions, privacy noise decides",),
    uses=(
        *("zhang2021.eq13", "zhang2021.eq14.repaired", "zhang2021.eq15", "zhang2021.eq16", "zhang2021.eq17"),
        *("zhang2021.eq18.repaired", "zhang2021.eq19.repaired"),
    ),
)


# (21).


def _sampling(s: Symbols) -> Any:
    """What the draw of the cohort costs, 13 sigma_l^2 + 54 Q sigma_g^2, before its factor."""
    return 13 * s.sigma_l**2 + 54 * s.Q * s.sigma_g**2


def _eq21_sides(s: Symbols, more: Any, **last: Any) -> Sides:
    """more: the factor of the drift; last: the last term over L (eta_g eta alpha)^2 Q."""
    step = s.eta_g * s.eta_l * s.alpha
    gradient = {"gradient": -step * s.Q / 4 * s.square}
    drift = {"drift": sp.Rational(5, 2) * step * s.eta_l**2 * more * s.L**2 * s.Q**2 * _variances(s)}
    terms = {name.replace("_", " "): s.L * step**2 * s.Q * term for name, term in last.items()}
    return Sides({"next": s.E_next}, {**_shared_terms(s), **gradient, **drift, **terms})


@algebra("what (21) drops of (20)", expected="violated")
def _dropped(s: Formula) -> Proof:
    """From (20) to (21) the terms in sigma_g^2 must not become smaller: (21) less (20) at their common symbols."""
    gap = (s.rhs - of(EQ20, local_square=0).rhs).subs({s.sigma_l: 0, s.square: 0})
    left = -12 / s.P * s.eta_g**2 * s.eta_l**2 * s.alpha * s.Q**3 * s.sigma_g**2
    found = equal(gap.expand(), left.expand(), "(21) less (20) in sigma_g^2 against -(12/P) eta_g^2 eta_l^2 alpha Q^3")
    lacks = "(21) lacks exactly (12/P) eta_g^2 eta_l^2 alpha Q^3 sigma_g^2 of (20), so that (20) does not imply it"
    return Outcome(False, lacks, found.notes) if found.true else found


@algebra("follows from (20)")
def _follows(s: Formula) -> Proof:
    """(21) repaired less (20) repaired, at their worst: with u = eta_l^2 Q^2 L^2 <= 1/120 and v = L eta_g eta_l Q/P <=
    1/120, alpha <= 1, the coefficients of all symbols are nonnegative."""
    eta, eta_g, Q, alpha = s.eta_l, s.eta_g, s.Q, s.alpha
    gap = rest = sp.expand(s.rhs - of(EQ20_REPAIRED, local_square=0).rhs)
    u, v = (eta * Q * s.L) ** 2, s.L * eta_g * eta * Q / s.P
    for power, want in (
        (s.square, sp.Rational(1, 4) - 15 * u - 12 * alpha * v * (15 * u + 1)),
        (s.sigma_g**2, alpha * v * (sp.Rational(27, 2) - 12 * (15 * u + 1))),
        (s.sigma_l**2, alpha * v / Q * (sp.Rational(1, 4) - 30 * u)),
    ):
        coefficient = gap.coeff(power)
        rest -= coefficient * power
        found = equal(coefficient / (eta_g * eta * alpha * Q), want, f"the coefficient of {power}")
        if not found.true:
            return found
    at_limit = [sp.Rational(1, 4) - 15 * x - 12 * x * (15 * x + 1) for x in (sp.Rational(0), sp.Rational(1, 120))]
    if sp.expand(rest) != 0 or min(at_limit) < 0:
        return Outcome(False, f"terms are left over ({sp.expand(rest)}), or a coefficient is negative: {at_limit}")
    return Outcome(
        True,
        "(21) less (20) has the coefficients 1/4 - 15u - 12 alpha v (15u + 1) >= 0.012, 12 alpha v (1/8 - 15u) >= 0 "
        "and alpha v (1/4 - 30u)/Q >= 0 for u, v <= 1/120; the terms in the local updates cancel for eta_g eta_l <= "
        "P/(6QL(P-1))",
    )


EQ21: Statement = zhang.proof_step(
    "zhang2021.eq21",
    hypotheses=(zhang.steps(printed_limits),),
    sides=lambda s: _eq21_sides(s, 1 + 12 * s.eta_l * s.eta_g / s.P, stochastic_gradients=3 * s.sigma_l**2 / s.N),
    homogeneous=False,
    checks=battery(_dropped, EXACT("inside-printed", violated="optimum-printed"), one.round_checks()),
    uses=("zhang2021.eq20",),
)

EQ21_REPAIRED: Statement = replace(
    EQ21,
    id="zhang2021.eq21.repaired",
    hypotheses=(zhang.steps(repaired_limits),),
    sides=lambda s: _eq21_sides(s, 1, sampling=_sampling(s) / (4 * s.P)),
    homogeneous=True,
    checks=battery(
        _follows,
        EXACT("optimum-repaired short inside-repaired"),
        one.round_checks(repaired_limits, ("91/1000", "1/100")),
        SAMPLED("descents"),
    ),
    uses=("zhang2021.eq20.repaired",),
)


# (22).

_SUMMED = zhang.NOTATION(
    replace(zhang.SYMBOLS["f_now"], meaning="$f(x_1)$, of the first round", latex="f(x_1)"),
    replace(zhang.SYMBOLS["E_next"], meaning="$E f(x_{T+1})$, after the last round", latex=r"\mathbb{E} f(x_{T+1})"),
    *(
        replace(zhang.SYMBOLS[name], meaning=f"mean over the rounds of {zhang.SYMBOLS[name].meaning}")
        for name in ("first_bias", "second_bias", "first_spread", "second_spread")
    ),
)


def _summed_terms(s: Symbols) -> dict[str, Any]:
    L, Q, P, eta, eta_g = s.L, s.Q, s.P, s.eta_l, s.eta_g
    return {
        "initialisation": 4 / (s.T * eta_g * eta * Q) * (s.f_now - s.E_next),
        "privacy": 2 * L * eta_g / (eta * Q * P) * s.d * s.noise_variance,
        "clipping bias": 4 / (eta * Q) * (s.first_bias + s.second_bias),
        "clipping spread": 6 * L / (eta * Q) * eta_g * (s.first_spread + s.second_spread),
    }


def _eq22_sides(s: Symbols) -> Sides:
    L, Q, P, eta, eta_g = s.L, s.Q, s.P, s.eta_l, s.eta_g
    own = {
        "drift": 10 * eta**2 * L**2 * Q * (1 + 12 * eta * eta_g / P) * _variances(s) * s.gamma_1,
        "stochastic gradients": 12 * L / P * eta_g * eta * s.sigma_l**2 * s.gamma_2,
    }
    return Sides({"gradients": s.E_aligned}, {**_summed_terms(s), **own})


def repaired_terms(s: Symbols) -> dict[str, Any]:
    """The drift of the local steps and the sampling of the clients in the repaired forms, on average over the
    rounds."""
    return {
        "drift": 10 * s.eta_l**2 * s.L**2 * s.Q * _variances(s) * s.gamma_1,
        "sampling": s.L / s.P * s.eta_g * s.eta_l * _sampling(s) * s.gamma_2,
    }


def _rearranged(once: Statement, expected: str = "holds") -> Check:
    @algebra("follows from (21)", expected=expected)
    def summed(s: Formula) -> Proof:
        """One round's inequality times 4/(eta_g eta_l Q), T = 1, with alpha E||grad f||^2 taken to the left."""
        single = of(once)
        left = sp.expand(4 / (s.eta_g * s.eta_l * s.Q) * (single.rhs - single.E_next) + single.alpha * single.square)
        left = left.subs({single.f_now: s.f_now, single.E_next: s.E_next})
        right = of(s.statement, T=1, gamma_1=single.alpha, gamma_2=single.alpha**2).rhs
        return left, sp.expand(right), "one round's inequality, rearranged, against one round of the sum"

    return summed


EQ22: Statement = zhang.proof_step(
    "zhang2021.eq22",
    symbols=_SUMMED,
    hypotheses=zhang.hypotheses(printed_limits),
    sides=_eq22_sides,
    homogeneous=False,
    checks=battery(_rearranged(EQ21, "violated"), TREE("everybody inside-printed", violated="broken")),
    uses=("zhang2021.eq21",),
)

EQ22_REPAIRED: Statement = replace(
    EQ22,
    id="zhang2021.eq22.repaired",
    hypotheses=zhang.hypotheses(repaired_limits, SMOOTH_BY_CONSTRUCTION),
    sides=lambda s: Sides(lhs={"gradients": s.E_aligned}, rhs={**_summed_terms(s), **repaired_terms(s)}),
    homogeneous=True,
    checks=battery(_rearranged(EQ21_REPAIRED), TREE("allowed inside-repaired")),
    uses=("zhang2021.eq21.repaired",),
)

STATEMENTS = (EQ20, EQ20_REPAIRED, EQ21, EQ21_REPAIRED, EQ22, EQ22_REPAIRED)
