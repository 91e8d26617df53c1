"""Why clipping survives clients that join independently, although (12) does not: one round of das2022's Algorithm 1.

For cohorts of mean size r >= 1 the second moment of the cohort's average exceeds what (12) allows by at most
||(1/n) sum_i g_i||^2. The slack of Theorem 6's proof covers that while h = eta L E is small. Let delta_i = L E^2
Delta_i/C^2 <= 1/16, and let s be the share of clipped clients. In units of eta/(LE) the slack is

    ||u_i - E grad f_i(w*)||^2                           for an unclipped client (co-coercivity, which (27) leaves out),
    C^2 (5/8 - eta L - 2 delta_i)                        for a clipped one (Lemma 8 with eta L, (19) to (22)),
    3 h C^2 delta_i more for a clipped one               where the bound counts its Delta_i, as Theorem 6's second form
                                                         does.

The gradients at w* sum to zero. So the mean g is a + b with ||a||^2/(1 - s) at most the mean of the first line and
||b|| <= s C + min(s, 1 - s) C/sqrt(8). With the weight beta = h (1 - s) on a, h ||g||^2 is at most ||a||^2/(1 - s) +
h ||b||^2/(1 - beta), and the second term is at most s times the second line. Each step is a check below.
"""

from __future__ import annotations

from math import comb
from typing import Any

from dpfl_theory.core import Check, Outcome
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022.eq18_to_34 import EQ22
from dpfl_theory.statements.das2022.facts import FACT2
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import all_equal

_REST = " The bound itself follows from these steps together with (34); worst cases and runs decide it by themselves."


@algebra(
    "independent clients: the cohort's excess over (12)",
    part=f"It decides that the cohort exceeds (12) by no more than the squared mean update.{_REST}",
)
def _excess(_: Formula) -> Proof:
    """With S = (1/n) sum ||g_i||^2 >= m = ||(1/n) sum g_i||^2 and kappa = (1/r)(1 - r/n), the second moment is kappa S
    + m; m less its excess over S is (1 - kappa) S, and 1 - kappa = (r - 1)/r + 1/n > 0 for r >= 1."""
    r, n, S, m = sp.symbols("r n S m", positive=True)
    kappa = (1 - r / n) / r
    return [
        (1 - kappa, (r - 1) / r + 1 / n, "1 - kappa against two terms that are nonnegative for r >= 1"),
        (m - (kappa * S + m - S), (1 - kappa) * S, "m less the excess over (12)"),
    ]


@algebra(
    "independent clients: the three-point bound",
    part=f"It decides what co-coercivity adds to a step's progress.{_REST}",
)
def _three_points(_: Formula) -> Proof:
    """<g, w - w*> less f_i(w) - f_i(w*) - (L/2)||w - x||^2 + ||g - c||^2/(2L), for g, c the gradients at x, w*, is the
    slack of smoothness from x to w plus that of co-coercivity between x and w*."""
    L, at_w, at_x, at_star, back, to_star, way, apart = sp.symbols("L f_w f_x f_star gw gs D Q", positive=True)
    smooth = at_x + back + L / 2 * way - at_w  # back = <g, w - x>
    cocoercive = at_star - at_x - to_star - apart / (2 * L)  # to_star = <g, w* - x>
    left = (back - to_star) - (at_w - at_star - L / 2 * way + apart / (2 * L))
    return left, smooth + cocoercive, "the three-point bound's slack"


@algebra(
    "independent clients: what an unclipped client gives",
    part=f"It decides the slack of an unclipped client's progress, by Fact 2.{_REST}",
)
def _fact2(_: Formula) -> Proof:
    """Over the local steps, (1/(2L)) sum ||g_tau - c||^2 >= ||u - E c||^2/(2LE) by Fact 2; -2 eta times it is -eta/(LE)
    ||u - E c||^2. And ||E c||^2 <= 2 L E^2 Delta_i (Fact 1) is C^2/8 at the largest Delta_i, below (5C/14)^2."""
    L, E, eta, C, Q = sp.symbols("L E eta C Q", positive=True)
    fact = of(FACT2, p=E)
    least = Q / (fact.rhs / fact.sum_of_squared_norms)
    largest = E**2 * 2 * L * C**2 / (16 * L * E**2)
    found = all_equal(
        (-2 * eta * least / (2 * L), -eta / (L * E) * Q, "what an unclipped client gives"),
        (largest, C**2 / 8, "the largest ||E grad f_i(w*)||^2"),
    )
    if not found.true:
        return found
    return Outcome(bool(sp.Rational(5, 14) ** 2 >= sp.Rational(1, 8)), "1/8 <= (5/14)^2 = 25/196")


@algebra(
    "independent clients: what a clipped client gives",
    part=f"It decides the slack of a clipped client's progress, (22) less A_i.{_REST}",
)
def _clipped(_: Formula) -> Proof:
    """(15) with Lemma 8's first line, ||w - w*||^2 - ||w_E - w*||^2 >= (eta/(LE))(1 - eta L)||u||^2 - 2 eta E Delta:
    with ||u|| = C (1 + t), (22) less A_i is at least (eta/(LE)) C^2 (5/8 - eta L - 2 delta) plus terms of one sign."""
    t, delta = sp.symbols("t delta", positive=True)
    s = of(EQ22)
    eta, L, E, C = s.eta, s.L, s.E, s.C
    u, Delta = C * (1 + t), delta * C**2 / (L * E**2)
    progress = (eta / (L * E)) * (1 - eta * L) * u**2 - 2 * eta * E * Delta
    line15 = -(C / u) * (progress + eta**2 * u**2) + eta**2 * C**2
    unit = eta * C**2 / (L * E)
    given = unit * (sp.Rational(5, 8) - eta * L - 2 * delta)
    more = unit * (t * (sp.Rational(5, 8) - eta * L) + 2 * delta * t / (1 + t) + eta * L * E * t)
    line22 = of(EQ22, E_clipped_length=u).rhs
    return line22 - line15, given + more, "what (22) drops for a clipped client, eta L <= 5/8"


@algebra(
    "independent clients: the weights",
    part=f"It decides the weights by which the mean update is split between the two kinds of clients.{_REST}",
)
def _weights(_: Formula) -> Proof:
    """a^2/t + b^2/(1 - t) less (a + b)^2 is ((1 - t) a - t b)^2/(t (1 - t)); h/t = 1/(1 - s) at t = h (1 - s)."""
    a, b, t, h, s = sp.symbols("a b t h s", positive=True)
    weighted = a**2 / t + b**2 / (1 - t) - (a + b) ** 2
    return [
        (weighted, ((1 - t) * a - t * b) ** 2 / (t * (1 - t)), "the weighted square"),
        (h / (h * (1 - s)), 1 / (1 - s), "the weight of a"),
    ]


def _room(most: str, counts_clipped: bool, least_E: int) -> Check:
    """h (s + (5/14) min(s, 1 - s))^2 <= s (1 - h + h s) S for 0 <= s <= 1 and h up to ``most``: nonnegative Bernstein
    coefficients on both halves of [0, 1].

    S is the least that a clipped client gives in units of C^2, at delta = 1/16: 1/2 - h/E, and 3h/16 more where its
    Delta_i is counted.
    """
    instance: dict[str, Any] = {"h": most, "counts clipped clients' Delta": counts_clipped, "least E": least_E}

    @algebra(
        f"independent clients: it is enough for eta L E <= {most}",
        part=f"It decides that the slack covers the cohort's excess where eta L E <= {most}.{_REST}",
        **instance,
    )
    def check(_: Formula, **room: Any) -> Proof:
        h, s = sp.symbols("h s", nonnegative=True)
        given = sp.Rational(1, 2) - h / sp.Integer(room["least E"])
        if room["counts clipped clients' Delta"]:
            given += sp.Rational(3, 16) * h
        end, half, k = sp.Rational(room["h"]), sp.Rational(1, 2), sp.Rational(5, 14)
        lower = (1 - h + h * s) * given - h * s * (1 + k) ** 2  # over s
        upper = s * (1 - h + h * s) * given - h * (s + (1 - s) * k) ** 2
        halves = ((lower, (0, half)), (upper, (half, 1)))
        least = [_bernstein(sp.expand(p), (h, 0, end), (s, *r)) for p, r in halves]
        return Outcome(
            bool(min(least) >= 0),
            f"for eta L E <= {end} the smallest Bernstein coefficients are {least[0]} (s <= 1/2) and {least[1]} (s >= "
            "1/2)",
        )

    return check


def _bernstein(polynomial: Any, *boxes: tuple[Any, Any, Any]) -> Any:
    """The smallest Bernstein coefficient of a polynomial in two symbols over a box: a lower bound of it there."""
    symbols = [x for x, _, _ in boxes]
    scaled = polynomial.subs({x: low + (high - low) * x for x, low, high in boxes}, simultaneous=True)
    terms = dict(sp.Poly(scaled, *symbols).terms())
    m, n = (max(powers[i] for powers in terms) for i in (0, 1))
    return min(
        sum(
            value * sp.Rational(comb(i, a) * comb(j, b), comb(m, a) * comb(n, b))
            for (a, b), value in terms.items()
            if a <= i and b <= j
        )
        for i in range(m + 1)
        for j in range(n + 1)
    )


def checks(h: str, counts_clipped: bool, least_E: int = 1) -> tuple[Check, ...]:
    """The argument's steps, the last one for eta L E up to h."""
    return (_excess, _three_points, _fact2, _clipped, _weights, _room(h, counts_clipped, least_E))
