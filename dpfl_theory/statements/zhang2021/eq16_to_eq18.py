"""zhang2021 eqs. (16) to (18): the second-order term of the descent inequality."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbols
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _round_runs as simulated
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import _worst_cases as worst
from dpfl_theory.statements.zhang2021._instances import edges, exact
from dpfl_theory.statements.zhang2021._round import rounds

__all__ = ["EQ16", "EQ17", "EQ18", "EQ18_REPAIRED", "EQ18_SETS"]


def _eq16_sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"cohort": s.cohort_clipped},
        rhs={"noise": 3 * s.first_spread, "clients": 3 * s.second_spread, "common factor": 3 * s.cohort_common},
    )


def _three_squares(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """With the three parts a, b and c of the cohort's mean, (16)'s sides differ by the squares of their differences."""
    a, b, c = sp.symbols("a b c", real=True)
    left, right = zhang.sides_with(
        statement, cohort_clipped=(a + b + c) ** 2, first_spread=a**2, second_spread=b**2, cohort_common=c**2
    )
    squares = (a - b) ** 2 + (b - c) ** 2 + (a - c) ** 2
    return equal(sp.expand(right - left), sp.expand(squares), "the slack of (16) against squares")


def _eq17_sides(s: Symbols) -> Sides:
    noise = 2 / s.P * s.eta_l**2 * s.alpha**2 * s.Q * s.sigma_l**2
    return Sides(lhs={"cohort": s.cohort_common}, rhs={"gradients": 2 * s.cohort_local, "noise": noise})


def _two_squares(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(17)'s sides differ by (a - b)^2, with the cohort's mean a of the updates without noise and b of the noises.

    The mean square of b is that of P Q uncorrelated noises over P^2 where every draw is a separate run."""
    a, b = sp.symbols("a b", real=True)
    s = symbols_of(statement)
    left, right = zhang.sides_with(statement, cohort_common=(a + b) ** 2, cohort_local=a**2)
    of_noises = s.eta_l**2 * s.alpha**2 * (s.P * s.Q) * s.sigma_l**2 / s.P**2
    slack = sp.expand(right - left) - 2 * of_noises + 2 * b**2
    return equal(sp.expand(slack), sp.expand((a - b) ** 2), "the slack of (17) against a square")


def _sharpened_sides(s: Symbols) -> Sides:
    noise = sp.Rational(8, 7) / s.P * s.eta_l**2 * s.alpha**2 * s.Q * s.sigma_l**2
    return Sides(lhs={"cohort": s.cohort_common}, rhs={"gradients": s.cohort_local, "noise": noise})


def _products(statement: Statement, _: Mapping[str, Any]) -> Outcome:
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
    first = equal(added.subs(Q, 1), 0, "the sum for Q = 1")
    # With Q + 1 in place of Q the pairs with q = Q come in: the sum over p of h (1 + h)^(Q-p-1) is (1 + h)^Q - 1.
    more = equal(
        sp.expand(added.subs(Q, Q + 1) - added), sp.expand((1 + h) ** Q - 1), "the contribution of one more step"
    )
    series = equal(sp.summation(x**m / sp.factorial(m + 1), (m, 1, sp.oo)), (sp.exp(x) - 1) / x - 1, "the series in x")
    most = 2 * ((sp.exp(x) - 1) / x - 1).subs(x, 1 / sp.sqrt(60))
    s = symbols_of(statement)
    V = s.eta_l**2 * s.alpha**2 * s.Q * s.sigma_l**2 / s.P
    allowed = sp.simplify(total(statement).subs(s.cohort_local, 0) / V - 1)
    enough = bool(most < allowed)
    return Outcome(
        True if first.true and more.true and series.true and enough else None,
        f"{first.reason}; {more.reason}; {series.reason}; 2 E<a, b> is at most {sp.N(most, 5)} <= {allowed} of the "
        "noise",
    )


def _eq18_sides(s: Symbols) -> Sides:
    P, N = s.P, s.N
    return Sides(
        lhs={"cohort": s.cohort_local},
        rhs={"draws": s.local_squares / (P * N), "pairs": P * (P - 1) * s.local_square / P**2},
    )


def _slack(sampling: str) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        """The slack of (18), right side less left side, never negative.

        Let S be the mean of the clients' mean squares. Let m be the square of the mean of their means and v the mean of
        their variances, so that the clients' mean has the mean square m + v/N <= S. A pair of different clients is
        drawn without replacement with probability P(P-1)/(N(N-1)), and the slack is ((P-1)/(P(N-1))) (S - m - v/N). It
        is ((P-1)/P) v/N with replacement and a run for every draw, and 0 with one run for each client.
        """
        (P, M), (S, m, v) = sp.symbols("P M", integer=True, positive=True), sp.symbols("S m v", positive=True)
        N = 1 + M  # with one client no pair exists
        square = m + v / N  # E||(1/N) sum_i Delta_i||^2 of independent clients
        means = S - v  # mean over the clients of their means' squares
        # E||sum over different clients||^2 over the pairs i != j, whose runs are independent: sum of <means>.
        pairs = N**2 * m - N * means
        draws = {
            "without": (P * S + P * (P - 1) / (N * (N - 1)) * pairs, (P - 1) / (P * (N - 1)) * (S - square)),
            "anew": (P * S + P * (P - 1) * m, (P - 1) / P * v / N),
            "shared": (P * S + P * (P - 1) * square, sp.Integer(0)),
        }
        moment, short = draws[sampling]
        left, right = zhang.sides_with(
            statement, P=P, N=N, cohort_local=moment / P**2, local_squares=N * S, local_square=square
        )
        found = equal(right - left, short, f"the slack of (18), sampling {sampling}")
        if statement.relation == "==" and short != 0 and found.true:
            return Outcome(False, f"sampling {sampling}: the right side of (18) is larger by {short}", found.notes)
        return found

    return build


EQ16: Statement = zhang.proof_step(
    "zhang2021.eq16",
    "16",
    symbols=zhang.symbols("first_spread", "second_spread", "cohort_common"),
    expectations=zhang.expected("cohort_clipped"),
    sides=_eq16_sides,
    checks=(
        Check("algebra", "three squares", _three_squares),
        *exact(),
        *worst.step_checks(clipped=True),
        *simulated.runs(simulated.CLIPPED),
    ),
)

_FAIR = {"samplings": ["without", "anew"]}

EQ17: Statement = zhang.proof_step(
    "zhang2021.eq17",
    "17",
    symbols=zhang.symbols("cohort_local", "P", "eta_l", "alpha", "Q", "sigma_l"),
    expectations=zhang.expected("cohort_common"),
    sides=_eq17_sides,
    checks=(
        Check("algebra", "two squares", _two_squares),
        *exact(step=_FAIR),
        *worst.step_checks(("without", "anew")),
        *simulated.runs(simulated.NOISY),
    ),
)

_NOISIEST = (
    "one round in two dimensions, noise decides",
    "four of eight clients in 200 dimensions, stochastic gradients",
    "one of two clients, f of condition 20000",
)
"""Where the gradients contribute most, the bound is nearly an equality, which samples cannot decide."""

EQ17_SHARPENED: Statement = replace(
    EQ17,
    id="zhang2021.eq17.sharpened",
    source=Source(zhang.PAPER, zhang.PROOF, "17"),
    symbols=(*EQ17.symbols, *zhang.symbols("L")),
    hypotheses=(zhang.LOCAL_STEP,),
    sides=_sharpened_sides,
    checks=(
        Check("algebra", "products of gradients and noises", _products),
        *exact(samplings=["without", "anew"]),
        *edges(),
        *worst.step_checks(("without", "anew")),
        *simulated.runs({name: simulated.NOISY[name] for name in _NOISIEST}),
    ),
)

_OPPOSITE = {"q": ["1", "1"], "m": ["-1", "1"], "x": ["0"], "Q": 1, "P": 2, "eta_l": "1/10", "sampling": "without"}
"""Everyone takes part, and the updates cancel."""
_TWICE = {
    "q": ["1", "1"],
    "m": ["0", "0"],
    "x": ["0"],
    "Q": 2,
    "P": 2,
    "eta_l": "1/20",
    "noise": "1",
    "sampling": "anew",
}
"""Identical clients with independent noise in every run."""
_SAMPLINGS = ("without", "anew", "shared")
_EVERYONE = "everyone takes part, opposite updates"
_DRAWN = "two draws of two identical clients, a run for every draw"


def _equality(direction: str, instance: Mapping[str, Any]) -> str:
    """The left side of (18) is smaller where two clients are drawn, unless a client that is drawn twice runs once. With
    a run for every draw it is smaller only through the noise."""
    short = instance["P"] > 1 and (instance["sampling"] == "without" or instance["noisy"])
    return "violated" if direction == ">=" and short and instance["sampling"] != "shared" else "holds"


EQ18: Statement = zhang.proof_step(
    "zhang2021.eq18",
    "18",
    symbols=zhang.symbols("local_squares", "local_square", "P", "N"),
    expectations=zhang.expected("cohort_local"),
    relation="==",
    sides=_eq18_sides,
    checks=(
        Check("algebra", "with replacement, one run for each client", _slack("shared")),
        *exact(samplings=["shared"]),
        *worst.step_checks(("shared",), _equality, ("<=", ">=")),
        *simulated.runs(simulated.DRAWN),
    ),
)

EQ18_SETS: Statement = zhang.proof_step(
    "zhang2021.eq18.algorithm3",
    "18",
    symbols=EQ18.symbols,
    expectations=EQ18.expectations,
    relation="==",
    sides=_eq18_sides,
    checks=(
        Check("algebra", "without replacement", _slack("without"), {}, "violated"),
        Check("algebra", "with replacement, a run for every draw", _slack("anew"), {}, "violated"),
        Check("exact", _EVERYONE, rounds, _OPPOSITE, "violated"),
        Check("exact", _DRAWN, rounds, _TWICE, "violated"),
        *worst.step_checks(("without", "anew"), _equality, ("<=", ">=")),
        *simulated.runs(simulated.SAMPLED, expected="violated"),
    ),
    expected="violated",
    reading_of="zhang2021.eq18",
)

EQ18_REPAIRED: Statement = zhang.proof_step(
    "zhang2021.eq18.repaired",
    "18",
    symbols=zhang.symbols("local_squares", "local_square", "P", "N"),
    expectations=zhang.expected("cohort_local"),
    sides=_eq18_sides,
    checks=(
        *(Check("algebra", f"slack, {how}", _slack(how)) for how in _SAMPLINGS),
        Check("exact", _EVERYONE, rounds, _OPPOSITE),
        Check("exact", _DRAWN, rounds, _TWICE),
        *exact(),
        *worst.step_checks(_SAMPLINGS),
        *simulated.runs(simulated.SAMPLED),
    ),
)

STATEMENTS = (EQ16, EQ17, EQ17_SHARPENED, EQ18, EQ18_SETS, EQ18_REPAIRED)
