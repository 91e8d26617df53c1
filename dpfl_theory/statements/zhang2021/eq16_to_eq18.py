"""zhang2021 eqs. (16) to (18): the second-order term of the descent inequality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _round as one
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021._runs import EXACT, SAMPLED


@algebra("three squares")
def _three_squares(s: Formula) -> Proof:
    """With the three parts a, b and c of the cohort's mean, (16)'s sides differ by the squares of their differences."""
    a, b, c = sp.symbols("a b c", real=True)
    squares = {"first_spread": a**2, "second_spread": b**2, "cohort_common": c**2}
    slack = of(s.statement, cohort_clipped=(a + b + c) ** 2, **squares).slack
    return slack, (a - b) ** 2 + (b - c) ** 2 + (a - c) ** 2, "the slack of (16) against squares"


def _noise(s: Symbols) -> Any:
    """The mean square of the noises of a cohort's mean where every draw is a separate run: P Q of them over P^2."""
    return s.eta_l**2 * s.alpha**2 * s.Q * s.sigma_l**2 / s.P


@algebra("two squares")
def _two_squares(s: Formula) -> Proof:
    """(17)'s sides differ by (a - b)^2, with the cohort's mean a of the updates without noise and b of the noises.

    The mean square of b is that of P Q uncorrelated noises over P^2 where every draw is a separate run."""
    a, b = sp.symbols("a b", real=True)
    slack = of(s.statement, cohort_common=(a + b) ** 2, cohort_local=a**2).slack
    of_noises = s.eta_l**2 * s.alpha**2 * (s.P * s.Q) * s.sigma_l**2 / s.P**2
    return slack - 2 * of_noises + 2 * b**2, (a - b) ** 2, "the slack of (17) against a square"


@algebra("products of gradients and noises")
def _products(s: Formula) -> Proof:
    """With the cohort's mean a of the updates without noise and b of the noises, E||a + b||^2 = E||a||^2 + E||b||^2 +
    2 E<a, b>, where E||b||^2 is at most V = eta^2 alpha^2 Q sigma_l^2/P.

    Different draws have separate runs, so only products of one draw's gradients and noises matter: P of P^2 products.
    Without the noise of step p the point before step q > p moves by at most eta (1 + h)^(q-p-1) times its length, h =
    eta L; terms that do not depend on that noise have the product 0 with it. So 2 E<a, b> is at most 2/Q times the sum
    over p < q of h (1 + h)^(q-p-1), times V. The sum is ((1 + h)^Q - 1)/h - Q, and at h = x/Q at most Q ((e^x - 1)/x -
    1), which increases with x, a power series with positive coefficients; its value at x = 1/sqrt(60) is enough.
    """
    h, Q, x, m = sp.symbols("h Q x m", positive=True)
    added = ((1 + h) ** Q - 1) / h - Q
    # With Q + 1 in place of Q the pairs with q = Q come in: the sum over p of h (1 + h)^(Q-p-1) is (1 + h)^Q - 1.
    more = sp.expand(added.subs(Q, Q + 1) - added), sp.expand((1 + h) ** Q - 1), "the contribution of one more step"
    series = sp.summation(x**m / sp.factorial(m + 1), (m, 1, sp.oo)), (sp.exp(x) - 1) / x - 1, "the series in x"
    found = [equal(*step) for step in ((added.subs(Q, 1), 0, "the sum for Q = 1"), more, series)]
    most = 2 * ((sp.exp(x) - 1) / x - 1).subs(x, 1 / sp.sqrt(60))
    V = s.eta_l**2 * s.alpha**2 * s.Q * s.sigma_l**2 / s.P
    allowed = sp.simplify(of(s.statement, cohort_local=0).rhs / V - 1)
    return Outcome(
        True if all(one.true for one in found) and bool(most < allowed) else None,
        f"{'; '.join(one.reason for one in found)}; 2 E<a, b> is at most {sp.N(most, 5)} <= {allowed} of the noise",
    )


def _slack(sampling: str, name: str, expected: str = "holds") -> Check:
    @algebra(name, expected=expected)
    def slack(s: Formula) -> Proof:
        """The slack of (18), right side less left side, never negative.

        Let S be the mean of the clients' mean squares. Let m be the square of the mean of their means and v the mean of
        their variances, so that the clients' mean has the mean square m + v/N <= S. A pair of different clients is
        drawn without replacement with probability P(P-1)/(N(N-1)), and the slack is ((P-1)/(P(N-1))) (S - m - v/N). It
        is ((P-1)/P) v/N with replacement and a run for every draw, and 0 with one run for each client.
        """
        (P, M), (S, m, v) = sp.symbols("P M", integer=True, positive=True), sp.symbols("S m v", positive=True)
        N = 1 + M  # with one client no pair exists
        square = m + v / N  # E||(1/N) sum_i Delta_i||^2 of independent clients
        # E||sum over different clients||^2 over the pairs i != j, whose runs are independent: sum of <means>. S - v is
        # the mean over the clients of their means' squares.
        pairs = N**2 * m - N * (S - v)
        moment, short = {
            "without": (P * S + P * (P - 1) / (N * (N - 1)) * pairs, (P - 1) / (P * (N - 1)) * (S - square)),
            "anew": (P * S + P * (P - 1) * m, (P - 1) / P * v / N),
            "shared": (P * S + P * (P - 1) * square, sp.Integer(0)),
        }[sampling]
        right = of(s.statement, P=P, N=N, cohort_local=moment / P**2, local_squares=N * S, local_square=square)
        found = equal(right.slack, short, f"the slack of (18), sampling {sampling}")
        if s.statement.relation == "==" and short != 0 and found.true:
            return Outcome(False, f"sampling {sampling}: the right side of (18) is larger by {short}", found.notes)
        return found

    return slack


EQ16: Statement = zhang.proof_step(
    "zhang2021.eq16",
    symbols=zhang.symbols("first_spread second_spread cohort_common"),
    expectations=zhang.expected("cohort_clipped"),
    sides=lambda s: Sides(
        {"cohort": s.cohort_clipped},
        {"noise": 3 * s.first_spread, "clients": 3 * s.second_spread, "common factor": 3 * s.cohort_common},
    ),
    checks=battery(_three_squares, EXACT("all"), one.step_checks(clipped=True), SAMPLED("clipped")),
)

EQ17: Statement = zhang.proof_step(
    "zhang2021.eq17",
    symbols=zhang.symbols("cohort_local P eta_l alpha Q sigma_l"),
    expectations=zhang.expected("cohort_common"),
    sides=lambda s: Sides({"cohort": s.cohort_common}, {"gradients": 2 * s.cohort_local, "noise": 2 * _noise(s)}),
    checks=battery(_two_squares, EXACT("fair"), one.step_checks(("without", "anew")), SAMPLED("noisy")),
)

EQ17_SHARPENED: Statement = replace(
    EQ17,
    id="zhang2021.eq17.sharpened",
    symbols=(*EQ17.symbols, *zhang.symbols("L")),
    hypotheses=(zhang.LOCAL_STEP,),
    sides=lambda s: Sides(
        {"cohort": s.cohort_common}, {"gradients": s.cohort_local, "noise": sp.Rational(8, 7) * _noise(s)}
    ),
    checks=battery(_products, EXACT("fair inside"), one.step_checks(("without", "anew")), SAMPLED("noisiest")),
)


def _equality(direction: str, instance: Mapping[str, Any]) -> str:
    """The left side of (18) is smaller where two clients are drawn, unless a client that is drawn twice runs once. With
    a run for every draw it is smaller only through the noise."""
    short = instance["P"] > 1 and (instance["sampling"] == "without" or instance["noisy"])
    return "violated" if direction == ">=" and short and instance["sampling"] != "shared" else "holds"


EQ18: Statement = zhang.proof_step(
    "zhang2021.eq18",
    symbols=zhang.symbols("local_squares local_square P N"),
    expectations=zhang.expected("cohort_local"),
    relation="==",
    sides=lambda s: Sides(
        {"cohort": s.cohort_local}, {"draws": s.local_squares / (s.P * s.N), "pairs": (s.P - 1) / s.P * s.local_square}
    ),
    checks=battery(
        _slack("shared", "with replacement, one run for each client"),
        EXACT("shared"),
        one.step_checks(("shared",), _equality, ("<=", ">=")),
        SAMPLED("drawn"),
    ),
)

EQ18_SETS: Statement = replace(
    EQ18,
    id="zhang2021.eq18.algorithm3",
    checks=battery(
        _slack("without", "without replacement", "violated"),
        _slack("anew", "with replacement, a run for every draw", "violated"),
        EXACT(violated="draws"),
        one.step_checks(("without", "anew"), _equality, ("<=", ">=")),
        SAMPLED(violated="sampled"),
    ),
    reading_of="zhang2021.eq18",
)

_SAMPLINGS = ("without", "anew", "shared")

EQ18_REPAIRED: Statement = replace(
    EQ18,
    id="zhang2021.eq18.repaired",
    relation="<=",
    checks=battery(
        [_slack(sampling, f"slack, {sampling}") for sampling in _SAMPLINGS],
        EXACT("draws all"),
        one.step_checks(_SAMPLINGS),
        SAMPLED("sampled"),
    ),
)

STATEMENTS = (EQ16, EQ17, EQ17_SHARPENED, EQ18, EQ18_SETS, EQ18_REPAIRED)
