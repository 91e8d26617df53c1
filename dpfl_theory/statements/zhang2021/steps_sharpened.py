"""zhang2021 eqs. (17) and (19) with smaller constants, for the steps that Theorem 3.1 allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.formula import Letters, letters_of, total
from dpfl_theory.statements.model import Check, Sides, Source, Statement, checks
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _letters as zhang
from dpfl_theory.statements.zhang2021 import _round_runs as simulated
from dpfl_theory.statements.zhang2021 import _step_performance as worst
from dpfl_theory.statements.zhang2021 import drift as local_drift
from dpfl_theory.statements.zhang2021._limits import LOCAL_STEP
from dpfl_theory.statements.zhang2021._proof_instances import edges, exact
from dpfl_theory.statements.zhang2021.second_order import EQ17
from dpfl_theory.statements.zhang2021.squared_updates import EQ19_REPAIRED, MANY_STEPS, SUMS, local_sum, noise_alone

__all__ = ["EQ17_SHARPENED", "EQ19_SHARPENED"]

_WHERE = f"Appendix A.1, proof of Theorem 3.1 ({zhang.VERSION})"


def _eq17_sides(s: Letters) -> Sides:
    noise = sp.Rational(8, 7) / s.P * s.eta_l**2 * s.alpha**2 * s.Q * s.sigma_l**2
    return Sides(lhs={"cohort": s.cohort_common}, rhs={"gradients": s.cohort_local, "noise": noise})


def _products(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """With the cohort's mean a of the updates without noise and b of the noises, E||a + b||^2 = E||a||^2 + E||b||^2 +
    2 E<a, b>, where E||b||^2 is at most V = eta^2 alpha^2 Q sigma_l^2/P.

    Different draws have runs of their own, so only a draw's gradients and noises matter: P of P^2 products. Without the
    noise of step p the point before step q > p moves by at most eta (1 + h)^(q-p-1) times its length, h = eta L; what
    does not depend on that noise has the product 0 with it. So 2 E<a, b> is at most 2/Q times the sum over p < q of h
    (1 + h)^(q-p-1), times V. The sum is ((1 + h)^Q - 1)/h - Q, and at h = x/Q at most Q ((e^x - 1)/x - 1), which
    increases with x, a power series with positive coefficients; its value at x = 1/sqrt(60) is enough.
    """
    h, Q, x, m = sp.symbols("h Q x m", positive=True)
    added = ((1 + h) ** Q - 1) / h - Q
    first = equal(added.subs(Q, 1), 0, "the sum for Q = 1")
    # With Q + 1 in place of Q the pairs with q = Q come in: the sum over p of h (1 + h)^(Q-p-1) is (1 + h)^Q - 1.
    more = equal(sp.expand(added.subs(Q, Q + 1) - added), sp.expand((1 + h) ** Q - 1), "what one step more adds")
    series = equal(sp.summation(x**m / sp.factorial(m + 1), (m, 1, sp.oo)), (sp.exp(x) - 1) / x - 1, "the series in x")
    most = 2 * ((sp.exp(x) - 1) / x - 1).subs(x, 1 / sp.sqrt(60))
    s = letters_of(statement)
    V = s.eta_l**2 * s.alpha**2 * s.Q * s.sigma_l**2 / s.P
    allowed = sp.simplify(total(statement).subs(s.cohort_local, 0) / V - 1)
    enough = bool(most < allowed)
    return Outcome(
        True if first.true and more.true and series.true and enough else None,
        f"{first.reason}; {more.reason}; {series.reason}; 2 E<a, b> is at most {sp.N(most, 5)} <= {allowed} of the "
        "noise",
    )


def _eq19_sides(s: Letters) -> Sides:
    N, L, eta, Q, alpha = (s[name] for name in ("N", "L", "eta_l", "Q", "alpha"))
    both = s.square + s.sigma_g**2
    return Sides(
        lhs={"updates": s.local_squares},
        rhs={
            "noise": 4 * N * eta**4 * alpha**2 * L**2 * Q**3 * s.sigma_l**2,
            "gradients": sp.Rational(3, 2) * N * eta**2 * alpha**2 * Q**2 * (2 * Q**2 * L**2 * eta**2 + 1) * both,
        },
    )


def _young(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """||sum_q a_q||^2 <= 3/2 ||Q g||^2 + 3 Q sum_q ||a_q - g||^2 for g = grad f_i(x_t), and the middle line of (15)
    with its smaller constants; ||g||^2 on average at most ||grad f||^2 + sigma_g^2."""
    s, of = letters_of(statement), letters_of(local_drift.SHARPENED)
    u, v = sp.symbols("u v", real=True)
    square = equal(
        sp.expand(sp.Rational(3, 2) * u**2 + 3 * v**2 - (u + v) ** 2),
        sp.expand((u - 2 * v) ** 2 / 2),
        "the slack of Young's inequality against a square",
    )
    if not square.true:
        return square
    drift = total(local_drift.SHARPENED).subs({of[name]: s[name] for name in of if name in s})
    both = s.square + s.sigma_g**2
    Q = s.Q
    proved = s.N * (s.eta_l * s.alpha) ** 2 * (sp.Rational(3, 2) * Q**2 * both + 3 * Q * drift)
    return equal(sp.expand(proved), sp.expand(total(statement)), "what follows from (15), sharpened")


_NOISIEST = (
    "one round in two dimensions, noise decides",
    "four of eight clients in 200 dimensions, stochastic gradients",
    "one of two clients, f of condition 20000",
)
"""Where the gradients make most of it the bound is nearly an equality, which samples cannot decide."""

_MINIMUM = "at a minimum, Q from 32"

EQ17_SHARPENED: Statement = replace(
    EQ17,
    id="zhang2021.eq17.sharpened",
    title="The noise of the stochastic gradients split off, with smaller constants",
    source=Source(
        zhang.PAPER,
        _WHERE,
        "17",
        "sharpened: 1 and 8/7 in place of 2 and 2, for the steps that the theorem allows: the noises of earlier steps "
        "move the later gradients little. Without replacement, or with it where every draw is a local run of its own",
    ),
    text=(
        "For eta_l <= 1/(sqrt(60) QL), E||(1/P) sum_{P_t} Delta-bar||^2 <= E||(1/P) sum_{P_t} Delta-breve||^2 + "
        "(8/(7P)) eta_l^2 alpha-bar^2 Q sigma_l^2."
    ),
    symbols=(*EQ17.symbols, *zhang.letters("L")),
    assumptions=(LOCAL_STEP,),
    sides=_eq17_sides,
    checks=(
        Check("algebra", "products of gradients and noises", _products),
        *exact(samplings=["without", "anew"]),
        *edges(),
        *worst.checks(("without", "anew")),
        *simulated.runs({name: simulated.NOISY[name] for name in _NOISIEST}),
    ),
    slips=(),
)

EQ19_SHARPENED: Statement = replace(
    EQ19_REPAIRED,
    id="zhang2021.eq19.repaired.sharpened",
    title="The clients' squared updates, repaired, with smaller constants",
    source=Source(
        zhang.PAPER,
        _WHERE,
        "19",
        "sharpened: Young's inequality with 3/2 and 3 in place of 2 and 2, and (15) with its smaller constants",
    ),
    text=(
        "E sum_i ||Delta-breve_i||^2 <= 4 N eta_l^4 alpha-bar^2 L^2 Q^3 sigma_l^2 + (3/2) N eta_l^2 alpha-bar^2 Q^2 "
        "(2 Q^2 L^2 eta_l^2 + 1)(||grad f(x_t)||^2 + sigma_g^2), for eta_l <= 1/(sqrt(60) QL)."
    ),
    sides=_eq19_sides,
    checks=(
        Check("algebra", "follows from (15), sharpened", _young),
        *exact(),
        *simulated.runs(simulated.LOCAL, simulated.local_phase),
        Check("exact", _MINIMUM, noise_alone, MANY_STEPS[_MINIMUM]),
        *edges(),
        *checks("worst-case", local_sum, SUMS),
    ),
    uses=("zhang2021.eq15.sharpened",),
)

STATEMENTS = (EQ17_SHARPENED, EQ19_SHARPENED)
