"""zhang2021 Theorem 3.1: convergence of DP-FedAvg, as printed, repaired, and with the smaller constants and the longer
steps that (15), sharpened, allows; and the bound on the clipping factors that is stated after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple, replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, Values, battery, checks
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _round as one
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import eq13_to_eq19, eq20_to_eq22
from dpfl_theory.statements.zhang2021._runs import TREE, at_rest, long_run, runs
from dpfl_theory.statements.zhang2021._symbols import printed_limits, repaired_limits, sharpened_limits

LONG, REST = TREE.by(long_run), TREE.by(at_rest)


def _sides(s: Symbols, terms: dict[str, Any], over: str = "N") -> Sides:
    """terms: of the drift and of the sampling; over: the divisor of the square deviations, P as printed or N."""
    clipped = s.eta_g * s.eta_l * s.L * s.Q * s.G**2 * s.N / s[over]
    return Sides(
        lhs={"gradients": s.E_aligned},
        rhs={
            "initialisation": 4 * s.gap / (s.eta_g * s.eta_l * s.Q * s.T),
            "privacy": 2 * s.eta_g * s.L * s.d * s.noise_variance / (s.eta_l * s.P * s.Q),
            **terms,
            "clipping bias": 4 * s.G**2 * s.E_deviation,
            "clipping spread": 6 * clipped * s.E_square_deviation,
        },
    )


def _printed_sides(s: Symbols) -> Sides:
    drift = sp.Rational(25, 2) * s.eta_l**2 * s.L * s.Q * (s.sigma_l**2 + 6 * s.Q * s.sigma_g**2) * s.gamma_1
    gradients = 6 * s.eta_g * s.eta_l * s.L * s.sigma_l**2 / s.P * s.gamma_2
    return _sides(s, {"drift": drift, "stochastic gradients": gradients}, "P")


def _sharpened_sides(s: Symbols) -> Sides:
    noise, apart = s.sigma_l**2, s.Q * s.sigma_g**2
    drift = s.eta_l**2 * s.L**2 * s.Q * (sp.Rational(8, 3) * noise + 2 * apart) * s.gamma_1
    sampling = sp.Rational(64, 5) * noise + sp.Rational(93, 5) * apart
    return _sides(s, {"drift": drift, "sampling": s.eta_g * s.eta_l * s.L / s.P * sampling * s.gamma_2})


def _bounds(s: Formula, of_proof: Any, over: str = "N") -> dict[Any, Any]:
    """The biases and spreads of the proof, at their bounds.

    ||grad f|| <= G and ||update|| <= eta_l Q G bound the biases by eta_l Q G^2 times the deviations. Jensen's
    inequality bounds the spreads by (eta_l Q G)^2 times the mean squares over the clients.
    """
    step = s.eta_l * s.Q
    spread = (step * s.G) ** 2 * s.E_square_deviation * s.N / s[over]
    return {
        of_proof.second_bias: step * s.G**2 * s.E_deviation - of_proof.first_bias,
        of_proof.second_spread: spread - of_proof.first_spread,
    }


def _last_step(previous: Statement, over: str, expected: str = "holds") -> Check:
    @algebra("follows from (22)", expected=expected)
    def bounded(s: Formula) -> Proof:
        """(22) with E f(x_{T+1}) >= f* and its biases and spreads at the bounds that ||g|| <= G gives."""
        summed = of(previous)
        right = summed.rhs.subs({summed.f_now - summed.E_next: s.gap, **_bounds(s, summed, over)})
        return sp.expand(right), sp.expand(s.rhs), "(22) at these bounds against the theorem"

    return bounded


@algebra("rate with the steps of Section 3.1")
def _steps_of_section(s: Formula) -> Proof:
    """eta_g = sqrt(QP), eta_l = 1/(sqrt(T) Q L) in the standard terms, sigma_l = 0: the rate that Section 3.1 states.

    The term of the sampling, which the printed bound lacks, is 54 sqrt(Q/(PT)) sigma_g^2, larger by Q than 1/sqrt(PQT).
    """
    steps = {s.eta_g: sp.sqrt(s.Q * s.P), s.eta_l: 1 / (sp.sqrt(s.T) * s.Q * s.L), s.sigma_l: 0}
    terms, rate = sides_of(s.statement).rhs, 54 * sp.sqrt(s.Q / (s.P * s.T)) * s.sigma_g**2 * s.gamma_2
    start = 4 * s.gap * s.L / sp.sqrt(s.P * s.Q * s.T)
    return [
        (terms["initialisation"].subs(steps), start, "the initialisation with the steps of Section 3.1"),
        (terms["sampling"].subs(steps), rate, "the sampling's term with the steps of Section 3.1"),
    ]


@algebra("one round, from (13) to (18)")
def _one_round(own: Formula) -> Proof:
    """(12) with (13), (14), (15) sharpened, (16), (17), (18) and the squares of (19), sharpened, times
    4/(eta_g eta_l Q): at the limits of the steps no symbol has a larger coefficient than in one round of the theorem.

    Let u = (eta_l Q L)^2 and v = L eta_g eta_l Q/P. The coefficients of the gradient and of the variances only fall as
    u, v and alpha <= 1 grow. That of the local updates only falls as eta_g and alpha grow; so they are evaluated at the
    limits.
    """
    s, limits = symbols_of(eq20_to_eq22.EQ20_REPAIRED), sharpened_limits
    L, Q, P, eta, eta_g, alpha = s.L, s.Q, s.P, s.eta_l, s.eta_g, s.alpha
    drift, squares = of(eq13_to_eq19.EQ15_SHARPENED), of(eq13_to_eq19.EQ19_SHARPENED)
    round_ = eq20_to_eq22.assembled(drift.rhs, squares.rhs)
    bounds = {**_bounds(own, s), s.f_now: own.gap + s.E_next}
    left = sp.expand((4 / (eta_g * eta * Q) * (round_ - s.E_next) + alpha * s.square).subs(bounds))
    rest = slack = sp.expand(of(own.statement, T=1, gamma_1=alpha, gamma_2=alpha**2).rhs - left)
    u, v = sp.symbols("u v", positive=True)
    at_limit = {u: sp.Rational(1, limits.local), v: sp.Rational(1, limits.product), alpha: 1}
    here = {u: (eta * Q * L) ** 2, v: L * eta_g * eta * Q / P}
    # P > 1; with P = 1 nothing is subtracted
    longest = {eta_g: P / (limits.pairs * Q * L * (P - 1) * eta), alpha: 1}
    least = {}
    for name, power, want, at in (
        ("square", s.square, alpha * (1 - 2 * u - 12 * alpha * v * (sp.Rational(3, 2) + 3 * u)), at_limit),
        ("sigma_g", s.sigma_g**2, 12 * alpha**2 * v * (sp.Rational(1, 20) - 3 * u), at_limit),
        ("sigma_l", s.sigma_l**2, 12 * alpha**2 * v / Q * (sp.Rational(1, 15) - 4 * u), at_limit),
        (
            "local_square",
            s.local_square,
            2 / (alpha * eta**2 * Q**2) - 12 * L * eta_g * (P - 1) / (P * eta * Q),
            longest,
        ),
    ):
        coefficient = slack.coeff(power)
        rest -= coefficient * power
        found = equal(sp.expand(coefficient), sp.expand(want.subs(here)), f"the slack's coefficient of {name}")
        if not found.true:
            return found
        least[name] = sp.simplify(want.subs(at))
    if sp.expand(rest) != 0:
        return Outcome(False, f"terms are left over: {sp.expand(rest)}")
    signs = {name: bool(value.is_nonnegative) for name, value in least.items()}
    return Outcome(all(signs.values()), f"at the steps' limits the slack has the coefficients {least}: {signs}")


@algebra("smaller than the repaired bound")
def _smaller(s: Formula) -> Proof:
    """Every constant is at most that of the repaired theorem, and every step that the repaired theorem allows is
    allowed."""
    gain = sp.expand(of(REPAIRED).rhs - s.rhs)
    factors = [term.as_coeff_Mul()[0] for term in sp.Add.make_args(gain)]
    own, old = astuple(sharpened_limits)[:3], astuple(repaired_limits)[:3]
    longer = all(a <= b for a, b in zip(own, old, strict=True)) and own[:2] < old[:2]
    return Outcome(
        all(f > 0 for f in factors) and longer,
        f"the repaired bound is larger by terms with the constants {factors}; the steps' limits have the divisors "
        f"{own} for {old}",
    )


THEOREM: Statement = zhang.statement(
    id="zhang2021.theorem3.1",
    kind="theorem",
    source=zhang.source("Theorem 3.1, Section 3.1"),
    hypotheses=zhang.hypotheses(printed_limits),
    sides=_printed_sides,
    homogeneous=False,
    checks=battery(
        _last_step(eq20_to_eq22.EQ22, "P", "violated"),
        TREE("everybody inside-printed", violated="broken-theorem"),
        TREE.by(partial(long_run, below=True))(violated="long"),
        runs(printed_limits)(violated="printed"),
    ),
    uses=("zhang2021.eq22",),
)

REPAIRED: Statement = replace(
    THEOREM,
    id="zhang2021.theorem3.1.repaired",
    hypotheses=zhang.hypotheses(repaired_limits),
    sides=lambda s: _sides(s, eq20_to_eq22.repaired_terms(s)),
    homogeneous=True,
    checks=battery(
        _last_step(eq20_to_eq22.EQ22_REPAIRED, "N"),
        _steps_of_section,
        TREE("allowed inside-repaired"),
        LONG("long"),
        REST("at-rest"),
        runs(repaired_limits)("repaired"),
    ),
    uses=("zhang2021.eq22.repaired",),
)

SHARPENED: Statement = replace(
    REPAIRED,
    id="zhang2021.theorem3.1.repaired.sharpened",
    hypotheses=zhang.hypotheses(sharpened_limits),
    sides=_sharpened_sides,
    checks=battery(
        _one_round,
        _smaller,
        TREE("allowed longer inside-sharpened"),
        LONG("long"),
        REST("at-rest"),
        one.round_checks(sharpened_limits, ("129/1000", "1/100")),
        runs(sharpened_limits)("sharpened"),
    ),
    smoke=("identical clients, what is left of the start",),
    uses=(
        *("zhang2021.eq13", "zhang2021.eq14.repaired", "zhang2021.eq15.sharpened", "zhang2021.eq16"),
        *("zhang2021.eq17", "zhang2021.eq18.repaired"),
    ),
)

# The bound on |alpha_i - alpha~_i| after the theorem, as printed and repaired.


def _factors(s: Symbols, factor: Any) -> Sides:
    """factor: of the lengths' difference."""
    drawn, mean = (s.c / sp.Max(s.c, s.eta_l * s[name]) for name in ("drawn", "mean"))
    return Sides(lhs={"factors": sp.Abs(drawn - mean)}, rhs={"lengths": factor * sp.Abs(s.drawn - s.mean)})


def drawn(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """A single stochastic gradient g = a or b with probability 1/2 each (Q = 1, one dimension): both values of g."""
    eta = Fraction(instance["eta_l"])
    for c in map(Fraction, instance["c"]):
        for low, high in instance["g"]:
            a, b = Fraction(low), Fraction(high)
            yield from (Values({"c": c, "eta_l": eta, "drawn": abs(g), "mean": abs(a + b) / 2}) for g in (a, b))


def _near_threshold(expected: str = "holds") -> Check:
    @algebra("just above the threshold", expected=expected, letters="gap")
    def ratio(s: Formula, gap: Any) -> Proof:
        """Both lengths tend to the threshold from above: the largest ratio of the sides there must be at most 1.

        c/max(c, y) has the slope -1/c just above c, the steepest that it has.
        """
        near = of(s.statement, mean=s.c / s.eta_l, drawn=(s.c + gap) / s.eta_l)
        found = sp.limit(sp.simplify(near.lhs / near.rhs), gap, 0, "+")
        at_half = found.subs(s.c, sp.Rational(1, 2))
        said = f"just above the threshold the sides have the ratio {found}, {at_half} at c = 1/2"
        return Outcome(bool(at_half <= 1), said)

    return ratio


@algebra("both clipped", letters="gap beyond")
def _both_clipped(s: Formula, gap: Any, beyond: Any) -> Proof:
    """For lengths y > z >= c: |y - z|/c - |c/y - c/z| = (y - z)(y z - c^2)/(c y z), which is not negative."""
    y, z = s.c + beyond + gap, s.c + beyond
    slack = of(s.statement, drawn=y / s.eta_l, mean=z / s.eta_l).slack
    return slack, gap * (y * z - s.c**2) / (s.c * y * z), "the slack where both are clipped"


@algebra("one clipped", letters="below beyond")
def _one_clipped(s: Formula, below: Any, beyond: Any) -> Proof:
    """For lengths y <= c < z: (z - y)/c - (1 - c/z) = (c - y)/c + (z - c)^2/(c z), which is not negative."""
    # y = c/(1 + below), so that y is positive and below c for all values.
    c, y, z = s.c, s.c / (1 + below), s.c + beyond
    slack = of(s.statement, drawn=y / s.eta_l, mean=z / s.eta_l).slack
    return slack, (c - y) / c + (z - c) ** 2 / (c * z), "the slack where one is clipped"


_DRAWS = [["1/2", "1"], ["0", "2"], ["-1", "1"], ["1/10", "1/5"], ["-3", "4"]]
_DRAWN = {
    name: {"c": c, "g": _DRAWS, "eta_l": eta}
    for name, c, eta in (("c < 1", ["1/2", "1/10"], "1"), ("c >= 1", ["1", "3"], "1/2"))
}

ALPHA_BOUND: Statement = zhang.statement(
    id="zhang2021.alpha-bound",
    kind="step",
    source=zhang.source("Section 3.1, paragraph after Theorem 3.1"),
    sides=lambda s: _factors(s, s.eta_l),
    homogeneous=False,
    checks=battery(_near_threshold("violated"), checks("exact", drawn, _DRAWN, {"c < 1": "violated"})),
)

ALPHA_BOUND_REPAIRED: Statement = replace(
    ALPHA_BOUND,
    id="zhang2021.alpha-bound.repaired",
    sides=lambda s: _factors(s, s.eta_l / s.c),
    homogeneous=True,
    checks=battery(_near_threshold(), _both_clipped, _one_clipped, checks("exact", drawn, _DRAWN)),
)

STATEMENTS = (THEOREM, REPAIRED, SHARPENED, ALPHA_BOUND, ALPHA_BOUND_REPAIRED)
