"""zhang2021 Theorem 3.2: the noise that makes DP-FedAvg private for its clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbol, Symbols, formula, whole
from dpfl_theory.core.check_inputs import ConstantClaim, Escape
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements import prescribed_noise as noise
from dpfl_theory.statements.prescribed_noise import BUDGET, repaired_checks
from dpfl_theory.statements.zhang2021 import _sampled_noise as sampled
from dpfl_theory.statements.zhang2021 import _symbols as zhang

_SYMBOLS = (
    Symbol(
        "noise_variance", "variance of each coordinate of a client's noise $z_i^t$", (0, 2), "positive", r"\sigma^2"
    ),
    Symbol("c", "clipping threshold of update differences", (0, 1), "positive", "c"),
    Symbol("P", "clients in a round", (0, 0), "integer", "P"),
    Symbol("N", "number of clients", (0, 0), "integer", "N"),
    Symbol("T", "rounds", (0, 0), "integer", "T"),
    Symbol("epsilon", "privacy budget", (0, 0), "positive", r"\varepsilon"),
    Symbol("delta", "privacy failure probability", (0, 0), "probability", r"\delta"),
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


def _printed(s: Symbols, v: Any = None) -> dict[str, Any]:
    factor = s.v if v is None else v
    return {"noise_variance": factor * s.c**2 * s.P * s.T * sp.log(1 / s.delta) / (s.N**2 * s.epsilon**2)}


def _repaired(s: Symbols) -> dict[str, Any]:
    return _printed(s, 4)


def _enough(s: Symbols) -> dict[str, Any]:
    return {"noise_variance": 4 * s.c**2 * s.T * sp.log(1 / s.delta) / (s.P * s.epsilon**2)}


def _at_least(prescription: Callable[[Symbols], Mapping[str, Any]]) -> Callable[[Symbols], Sides]:
    """The noise is at least the prescribed one."""

    def sides(s: Symbols) -> Sides:
        return Sides({"noise": s.noise_variance}, {"prescribed variance": prescription(s)["noise_variance"]})

    return sides


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


THEOREM3_2: Statement = Statement(
    id="zhang2021.theorem3.2",
    kind="theorem",
    source=Source(zhang.PAPER, f"Theorem 3.2, Section 3.2 ({zhang.VERSION})"),
    symbols=(*_SYMBOLS, *_CONSTANTS),
    hypotheses=(
        Hypothesis(
            lambda s: (s.epsilon > 0, s.epsilon <= s.u * s.P**2 * s.T / s.N**2), (r"$0 < \varepsilon \le u (P/N)^2 T$")
        ),
        COHORT,
        noise.DELTA,
    ),
    relation=">=",
    sides=_at_least(_printed),
    prescription=_printed,
    checks=(
        noise.rounds_together(_squared, "v", {"P": "N"}),
        Check(
            "privacy",
            "no constants, every client in every round",
            _every_client,
            {**noise.LADDER, "needed": noise.NEEDED},
            "violated",
        ),
        Check(
            "privacy",
            "no constants, 80 of 1920 clients in a round",
            _sampled_clients,
            {**noise.LADDER, "needed": [], "P": 80, "N": 1920},
            "violated",
        ),
    ),
    smoke=("no constants, 80 of 1920 clients in a round",),
    expected="violated",
)

REPAIRED: Statement = Statement(
    id="zhang2021.theorem3.2.repaired",
    kind="theorem",
    source=Source(zhang.PAPER, f"Theorem 3.2, Section 3.2 ({zhang.VERSION})"),
    symbols=_SYMBOLS,
    hypotheses=(sampled.RANGE, sampled.LONG, SHARE, noise.DELTA),
    relation=">=",
    sides=_at_least(_repaired),
    prescription=_repaired,
    checks=sampled.CHECKS,
)

EVERY_T: Statement = Statement(
    id="zhang2021.theorem3.2.every-T",
    kind="theorem",
    source=Source(zhang.PAPER, f"Theorem 3.2, Section 3.2 ({zhang.VERSION})", provenance="derived"),
    symbols=_SYMBOLS,
    hypotheses=(BUDGET, COHORT, noise.DELTA),
    relation=">=",
    sides=_at_least(_enough),
    prescription=_enough,
    checks=repaired_checks(_squared, {"P": 80, "N": 1920, "T": 100, "c": 1}, {"P <= N": {"P": "+1841"}}),
    smoke=("the exponent", "the smallest constant"),
    reading_of="zhang2021.theorem3.2",
)

STATEMENTS = (THEOREM3_2, REPAIRED, EVERY_T)
