"""zhang2021 Theorem 3.1, repaired, with the smaller constants and longer steps that (15), sharpened, allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _instances as instances
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import _worst_cases as worst
from dpfl_theory.statements.zhang2021 import eq15, eq20, theorem3_1
from dpfl_theory.statements.zhang2021._instances import step_edges
from dpfl_theory.statements.zhang2021._runs import at_rest, long_run, runs, tree
from dpfl_theory.statements.zhang2021._symbols import hypotheses, repaired_limits, sharpened_limits

__all__ = ["SHARPENED"]


def _sides(s: Symbols) -> Sides:
    L, Q, P, eta, eta_g = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g"))
    noise, apart = s.sigma_l**2, s.sigma_g**2
    drifting = sp.Rational(8, 3) * noise + 2 * Q * apart
    sampling = sp.Rational(64, 5) * noise + sp.Rational(93, 5) * Q * apart
    return Sides(
        lhs={"gradients": s.E_aligned},
        rhs={
            **theorem3_1.shared(s),
            "drift": eta**2 * L**2 * Q * drifting * s.gamma_1,
            "sampling": eta_g * eta * L / P * sampling * s.gamma_2,
            **theorem3_1.clipping(s, "N"),
        },
    )


def _squared_updates(s: Symbols) -> Any:
    """N eta^2 alpha^2 times a bound of the clients' mean ||sum_q grad f_i(x_q)||^2.

    By Young's inequality this mean is at most the sum of two terms. The first is (3/2) Q^2 times the mean ||grad
    f_i(x_t)||^2, which is at most ||grad f||^2 + sigma_g^2. The second is 3 Q times the bound of the middle line of
    (15), the clients' mean of sum_q ||grad f_i(x_q) - grad f_i(x_t)||^2.
    """
    start = sp.Rational(3, 2) * s.Q**2 * (s.square + s.sigma_g**2)
    return s.N * s.eta_l**2 * s.alpha**2 * (start + 3 * s.Q * total(eq15.SHARPENED))


def _one_round(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(12) with (13), (14), (15) sharpened, (16), (17), (18) and the squares above, times 4/(eta_g eta_l Q): at the
    limits of the steps no symbol has a larger coefficient than in one round of the theorem.

    Let u = (eta_l Q L)^2 and v = L eta_g eta_l Q/P. The coefficients of the gradient and of the variances only fall as
    u, v and alpha <= 1 grow. That of the local updates only falls as eta_g and alpha grow; so they are evaluated at the
    limits.
    """
    s = symbols_of(eq20.EQ20_REPAIRED)
    own = symbols_of(statement)
    L, Q, P, eta, eta_g, alpha = (s[name] for name in ("L", "Q", "P", "eta_l", "eta_g", "alpha"))
    round_ = eq20.assembled(total(eq15.SHARPENED), _squared_updates(s))
    # ||grad f|| <= G and ||update|| <= eta_l Q G bound the biases and, with Jensen's inequality, the spreads.
    step = eta * Q
    bounds = {
        s.second_bias: step * own.G**2 * own.E_deviation - s.first_bias,
        s.second_spread: (step * own.G) ** 2 * own.E_square_deviation - s.first_spread,
        s.f_now: own.gap + s.E_next,
    }
    left = sp.expand((4 / (eta_g * step) * (round_ - s.E_next) + alpha * s.square).subs(bounds))
    _, right = zhang.sides_with(statement, T=1, gamma_1=alpha, gamma_2=alpha**2)
    slack = sp.expand(right - left)
    u, v = sp.symbols("u v", positive=True)
    limits = sharpened_limits
    at_limit = {u: sp.Rational(1, limits.local), v: sp.Rational(1, limits.product), alpha: 1}
    here = {u: (eta * Q * L) ** 2, v: L * eta_g * eta * Q / P}
    due = {
        "square": alpha * (1 - 2 * u - 12 * alpha * v * (sp.Rational(3, 2) + 3 * u)),
        "sigma_g": 12 * alpha**2 * v * (sp.Rational(1, 20) - 3 * u),
        "sigma_l": 12 * alpha**2 * v / Q * (sp.Rational(1, 15) - 4 * u),
        "local_square": 2 / (alpha * eta**2 * Q**2) - 12 * L * eta_g * (P - 1) / (P * eta * Q),
    }
    rest, least = slack, {}
    for name, want in due.items():
        symbol = s[name] if name in ("square", "local_square") else s[name] ** 2
        coefficient = slack.coeff(symbol)
        rest -= coefficient * symbol
        found = equal(sp.expand(coefficient), sp.expand(want.subs(here)), f"the slack's coefficient of {name}")
        if not found.true:
            return found
        longest = {
            eta_g: P / (limits.pairs * Q * L * (P - 1) * eta),
            alpha: 1,
        }  # P > 1; with P = 1 nothing is subtracted
        least[name] = sp.simplify(want.subs(longest if name == "local_square" else at_limit))
    if sp.expand(rest) != 0:
        return Outcome(False, f"terms are left over: {sp.expand(rest)}")
    signs = {name: bool(value.is_nonnegative) for name, value in least.items()}
    return Outcome(all(signs.values()), f"at the steps' limits the slack has the coefficients {least}: {signs}")


def _smaller(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Every constant is at most that of the repaired theorem, and every step that the repaired theorem allows is
    allowed."""
    s, before = symbols_of(statement), symbols_of(theorem3_1.REPAIRED)
    gain = sp.expand(total(theorem3_1.REPAIRED).subs({before[k]: s[k] for k in s}) - total(statement))
    factors = [term.as_coeff_Mul()[0] for term in sp.Add.make_args(gain)]
    own, old = astuple(sharpened_limits)[:3], astuple(repaired_limits)[:3]
    longer = all(a <= b for a, b in zip(own, old, strict=True)) and own[:2] < old[:2]
    return Outcome(
        all(f > 0 for f in factors) and longer,
        f"the repaired bound is larger by terms with the constants {factors}; the steps' limits have the divisors "
        f"{own} for {old}",
    )


_FEW = (
    "identical clients, what is left of the start",
    "two clients apart, one takes part",
    "identical clients, privacy noise",
    "Huber, two of six clients, clipped to the median",
)

_RUNS = {name: instances.SIMULATED[name] for name in _FEW}
_PULLED = "nine of ten clients clipped to a thousandth"
"""With 0.315 of the longest steps, as long as 0.7 of the repaired theorem's."""

SHARPENED: Statement = Statement(
    id="zhang2021.theorem3.1.repaired.sharpened",
    kind="theorem",
    source=Source(zhang.PAPER, f"Theorem 3.1, Section 3.1 ({zhang.VERSION})"),
    symbols=theorem3_1.REPAIRED.symbols,
    expectations=theorem3_1.REPAIRED.expectations,
    hypotheses=hypotheses(sharpened_limits),
    sides=_sides,
    checks=(
        Check("algebra", "one round, from (13) to (18)", _one_round),
        Check("algebra", "smaller than the repaired bound", _smaller),
        *checks("exact", tree, {**instances.ALLOWED, **instances.LONGER}),
        *checks("exact", long_run, instances.LONG),
        *checks("exact", at_rest, instances.AT_REST),
        *step_edges(sharpened_limits, tree, **instances.ONE_ROUND),
        *worst.round_checks(sharpened_limits, ("129/1000", "1/100")),
        *runs(sharpened_limits, {_PULLED: {**instances.SIMULATED[_PULLED], "product": 0.315}, **_RUNS}),
    ),
    smoke=("identical clients, what is left of the start",),
    uses=(
        "zhang2021.eq13",
        "zhang2021.eq14.repaired",
        "zhang2021.eq15.sharpened",
        "zhang2021.eq16",
        "zhang2021.eq17",
        "zhang2021.eq18.repaired",
    ),
)

STATEMENTS = (SHARPENED,)
