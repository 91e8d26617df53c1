"""zhang2021 Theorem 3.2: the noise that makes DP-FedAvg private for its clients.

With v = 4 and u = 1 the noise that relies on sampling is enough for zero-out neighbours. The proof, with L =
ln(1/delta), x = epsilon/L in (0, 1/2] and z a round's noise multiplier, 1/z^2 = epsilon^2/(4 q^2 T L) = s. Let every
client take part independently with probability q. For a whole number alpha a round has the Renyi moment
exp((alpha - 1) D) = E e^{s J(J-1)/2}, J ~ Bin(alpha, q) (the other order of the pair has no larger one: Mironov,
Talwar and Zhang 2019, Theorem 5). As e^y - 1 <= y e^y, (alpha - 1) D <= (s/2) alpha (alpha - 1) q^2 E e^{s (J'+1)
(J'+2)/2} with J' ~ Bin(m, q), m = alpha - 2, and X = J' + 3/2 is sub-Gaussian with proxy m/4 (Hoeffding): with b =
s m/4,

    E e^{s X^2/2 - s/8} <= (1 - b)^{-1/2} exp(s (m q + 3/2)^2/(2 (1 - b)) - s/8) =: F.

With alpha = 1 + ceil(sqrt(8)/x) = 1 + a/x, so m <= sqrt(8)/x: epsilon <= q^2 T gives s <= x/4 and b <= sqrt(2)/8, T >=
80 L gives s (m q)^2/2 <= L/T <= 1/80. T rounds and the change from Renyi divergence to (epsilon, delta) then cost at
most

    T alpha q^2 s F/2 + L/(alpha - 1) = epsilon (F (a + x)/8 + 1/a),  sqrt(8) <= a < sqrt(8) + x,

which is below epsilon for all x in (0, 1/2].
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Statement, Symbol, battery, formula, whole
from dpfl_theory.core.check_inputs import ConstantClaim, Escape, PrivacyClaim, PrivacyPoint
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements import prescribed_noise as noise
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.zhang2021 import _symbols as zhang

_NOISE = "variance of each coordinate of a client's noise $z_i^t$"
_SYMBOLS = (
    replace(zhang.SYMBOLS["noise_variance"], meaning=_NOISE, domain="positive"),
    *zhang.symbols("c P N T epsilon delta"),
)
_CONSTANTS = (
    Symbol("u", r"constant of the range of $\varepsilon$", (0, 0), "positive", "u"),
    Symbol("v", "constant of the noise", (0, 0), "positive", "v"),
)


def _cohort(s: Any) -> tuple[Any, ...]:
    return s.P >= 1, s.P <= s.N, whole(s.P)


COHORT = Hypothesis(_cohort, "exactly $P$ of the $N$ clients take part in every round")
SHARE = Hypothesis(_cohort, r"$1 \le P \le N$, where $P$ is the expected number of clients in a round")


def _squared(s: Mapping[str, Any], variance: Any) -> Any:
    """The squared noise multiplier of T sums of P messages. One message moves a sum by c at most; each has independent
    noise."""
    return s["P"] * variance / (s["c"] ** 2 * s["T"])


def _prescribed(id_: str, variance: Any, checks: tuple[Check, ...], **more: Any) -> Statement:
    """The noise is at least the prescribed one; variance: a function of the symbols."""
    return Statement(
        id=id_,
        kind="theorem",
        relation=">=",
        sides=lambda s: Sides({"noise": s.noise_variance}, {"prescribed variance": variance(s)}),
        prescription=lambda s: {"noise_variance": variance(s)},
        checks=checks,
        **{"source": zhang.source("Theorem 3.2, Section 3.2"), "symbols": _SYMBOLS, **more},
    )


def _by_sampling(s: Any, v: Any) -> Any:
    return v * s.c**2 * s.P * s.T * sp.log(1 / s.delta) / (s.N**2 * s.epsilon**2)


# As printed.


def _every_client(statement: Statement, instance: Mapping[str, Any]) -> ConstantClaim:
    escape = noise.many_rounds(statement, _squared, lambda T: {"P": 100, "N": 100, "c": 1, "T": T})
    return noise.existence(instance, escape, noise.fails())


def _sampled_clients(statement: Statement, instance: Mapping[str, Any]) -> ConstantClaim:
    """At the experiments' own participation: P of N clients, drawn uniformly in each round."""
    P, N = instance["P"], instance["N"]

    def escape(u: Any, v: Any) -> Escape:
        epsilon, delta = noise.budget(v, 64)
        T = int(epsilon * N**2 / (u * P**2)) + 2
        at = {"P": P, "N": N, "c": 1, "T": T, "u": u, "v": v, "epsilon": epsilon, "delta": delta}
        with mpmath.workdps(65):
            variance = formula.evaluate_side(statement, "rhs", at)
            of_a_round, rate = mpmath.sqrt(_squared(at, variance) * T), mpmath.mpf(P) / N
        return Escape(at, delta, noise.sampled_sum_delta(epsilon, of_a_round, T, rate))

    argument = (
        "For any u, v and any participation q = P/N let s^2 = v ln(1/delta) >= 1 with delta <= 1/e, epsilon = 64 s^2 "
        "and T so large that epsilon <= u q^2 T and q T >= 8: the event that all messages together exceed a quarter of "
        "the mean shows delta >= (1 - exp(-q T/8)) Phi(16 s) - e^epsilon Phi(-16 s) > 0.6, so no constants exist, for "
        "no q"
    )
    return noise.existence(instance, escape, argument)


# Repaired: v = 4 and u = 1.


@algebra("T rounds at the prescribed noise", letters="log")
def _composed(s: Formula, log: Any) -> Proof:
    """At the prescribed noise s is epsilon^2/(4 q^2 T ln(1/delta)), and T rounds of alpha q^2 s/2 are alpha
    epsilon^2/(8 ln(1/delta))."""
    inverse = s.c**2 / (s.P * s.rhs)  # of the square of a round's noise multiplier
    rounds = sp.simplify((s.T * (s.P / s.N) ** 2 * inverse / 2).subs(s.delta, sp.exp(-log)))
    return rounds, s.epsilon**2 / (8 * log), "T rounds at alpha = 1"


def share(x: float, a: float, widest: float | None = None) -> float:
    """F (a + x)/8 + 1/a, with F at ``widest`` >= x: the cost of the T rounds, over epsilon.

    >>> round(share(0.5, math.sqrt(8)), 3), round(share(0.5, math.sqrt(8) + 0.5), 3)
    (0.956, 0.993)
    """
    y = x if widest is None else widest
    b = math.sqrt(2) / 8
    reach = (math.sqrt(1 / zhang.LEAST_ROUNDS) + 1.5 * math.sqrt(y / 8)) ** 2
    F = math.exp(reach / (1 - b) - y / 32) / math.sqrt(1 - b)
    return F * (a + y) / 8 + 1 / a


@algebra(
    "room for the moments",
    "It decides that T rounds cost less than epsilon at the noise that another check takes from the right side.",
    cells=2000,
)
def _room(_: Formula, cells: int) -> Proof:
    """The cost's share of epsilon on cells [x, x + h] that cover (0, 1/2]: it is convex in a, so that the ends of
    [sqrt(8), sqrt(8) + x + h] decide, and F grows with x (s/8 is subtracted with less than the rest's slope)."""
    h, root = zhang.MOST / cells, math.sqrt(8)
    # On a cell F and a + x are at most those of its right end, at the least and at the largest a.
    worst = max(share(k * h, a, (k + 1) * h) for k in range(cells) for a in (root, root + (k + 1) * h))
    return Outcome(worst < 1 - 1e-3, f"T rounds cost at most {worst:.4f} epsilon for all epsilon <= ln(1/delta)/2")


def _certified(
    statement: Statement,
    instance: Mapping[str, Any],
    sampling: str = "poisson",
    proof: Any = None,
    replace: bool = False,
) -> PrivacyClaim:
    """instance: points, and ``times``, by how much the noise's variance exceeds the prescribed one (1 where absent)."""
    from dpfl_theory.privacy import sampling as schemes
    from dpfl_theory.privacy.events import Repeated
    from dpfl_theory.privacy.pld import epsilon_limits, epsilon_low

    def points() -> list[PrivacyPoint]:
        found = []
        for N, P, T, epsilon in instance["N, P, T, epsilon"]:
            symbols = {"N": N, "P": P, "T": T, "c": 1, "epsilon": epsilon, "delta": float(instance["delta"])}
            scheme, times = getattr(schemes, sampling), int(instance.get("times", 1))
            z = math.sqrt(P * formula.evaluate_side(statement, "rhs", symbols))
            if times > 1:  # for comparison: a lower limit for the prescribed noise itself
                symbols["epsilon without the factor, at least"] = epsilon_low(
                    Repeated(scheme(P / N, z, replace), T), symbols["delta"]
                )
            limits = epsilon_limits(Repeated(scheme(P / N, math.sqrt(times) * z, replace), T), symbols["delta"])
            found.append(PrivacyPoint(symbols, epsilon, limits.low, limits.high))
        return found

    return PrivacyClaim("the true epsilon", points, proof)


_proved = partial(
    _certified,
    proof="proved for every q = P/N, delta in (0, 1) and T >= 80 ln(1/delta), by the moments of the sampled Gaussian "
    "of order 1 + ceil(sqrt(8) ln(1/delta)/epsilon)",
)
_REPLACED = "It certifies v = 16 for the other neighbours, at these points; the statement concerns zero-out with v = 4."


def _points(*points: list[float]) -> dict[str, Any]:
    return {"N, P, T, epsilon": list(points), "delta": "1e-5"}


def _certificates() -> Iterator[Check]:
    # The paper's own settings with two numbers of rounds, and the corners of the range, with little and all sampling.
    everybody = [10, 10, 1000, 5.75]
    of_paper = ([1920, 80, T, epsilon] for T, epsilon in ((1000, 1.5), (10000, 5.0), (3316, 5.75)))
    points = _points(*of_paper, [100, 2, 14400, 5.75], everybody)
    yield Check("privacy", "independent clients", _proved, points)
    yield Check("privacy", "cohorts of fixed size, at these points", partial(_certified, sampling="fixed_size"), points)
    for clients, sampling in (("independent clients", "poisson"), ("cohorts of fixed size", "fixed_size")):
        name = f"4 times the noise where a client's data set is replaced, {clients}, at these points"
        build = partial(_certified, sampling=sampling, replace=True)
        yield Check("privacy", name, build, {**points, "times": 4}, part=_REPLACED)
    # ln(1/delta) = 11.513.
    for name, T, epsilon in (
        ("inside T >= 80 ln(1/delta)", 922, 1.5),
        ("outside T >= 80 ln(1/delta)", 921, 1.5),
        ("outside epsilon <= (P/N)^2 T", 3300, 5.75),
        ("outside epsilon <= ln(1/delta)/2", 3400, 5.76),
    ):
        known = "holds" if name.startswith("inside") else "not-applicable"
        yield Check("privacy", f"just {name}", _proved, _points([1920, 80, T, epsilon]), known)
    fewer = {**_points(everybody), "stated": {"N": "-1"}}
    yield Check("privacy", "just outside P <= N", _proved, fewer, "not-applicable")


THEOREM3_2: Statement = _prescribed(
    "zhang2021.theorem3.2",
    lambda s: _by_sampling(s, s.v),
    symbols=(*_SYMBOLS, *_CONSTANTS),
    hypotheses=(
        Hypothesis(
            lambda s: (s.epsilon > 0, s.epsilon <= s.u * s.P**2 * s.T / s.N**2), r"$0 < \varepsilon \le u (P/N)^2 T$"
        ),
        COHORT,
        noise.DELTA,
    ),
    checks=battery(
        noise.rounds_together(_squared, "v", {"P": "N"}),
        Check(
            *("privacy", "no constants, every client in every round", _every_client),
            *({**noise.LADDER, "needed": noise.NEEDED}, "violated"),
        ),
        Check(
            *("privacy", "no constants, 80 of 1920 clients in a round", _sampled_clients),
            *({**noise.LADDER, "needed": [], "P": 80, "N": 1920}, "violated"),
        ),
    ),
    smoke=("no constants, 80 of 1920 clients in a round",),
    expected="violated",
)

REPAIRED: Statement = _prescribed(
    "zhang2021.theorem3.2.repaired",
    lambda s: _by_sampling(s, 4),
    hypotheses=(zhang.RANGE, zhang.LONG, SHARE, noise.DELTA),
    checks=battery(_composed, _room, _certificates()),
)

EVERY_T: Statement = _prescribed(
    "zhang2021.theorem3.2.every-T",
    lambda s: 4 * s.c**2 * s.T * sp.log(1 / s.delta) / (s.P * s.epsilon**2),
    source=zhang.source("Theorem 3.2, Section 3.2", provenance="derived"),
    hypotheses=(noise.BUDGET, COHORT, noise.DELTA),
    checks=noise.repaired_checks(_squared, {"P": 80, "N": 1920, "T": 100, "c": 1}, {"P <= N": {"P": "+1841"}}),
    smoke=("the exponent", "the smallest constant"),
    reading_of="zhang2021.theorem3.2",
)

STATEMENTS = (THEOREM3_2, REPAIRED, EVERY_T)
