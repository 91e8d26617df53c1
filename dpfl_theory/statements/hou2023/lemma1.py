"""hou2023 Lemma 1: the noise that makes DP-ScaffNew locally private, when the number of rounds is random."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpfl_theory.core import Hypothesis, Sides, Statement, Symbols, whole
from dpfl_theory.core.check_inputs import ConstantClaim, Escape, PrivacyPoint
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements import prescribed_noise as noise
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.prescribed_noise import BUDGET, repaired_checks
from dpfl_theory.statements.relations import checked

ITERATIONS = Hypothesis(
    lambda s: (s.p > 0, s.p <= 1, s.T >= 1, whole(s.T)),
    r"$T \ge 1$ iterations, each of which communicates with probability $p$ in (0, 1]",
)


def _squared(s: Mapping[str, Any], variance: Any) -> Any:
    """The squared noise multiplier of T messages, each moved by C at most: every iteration communicates."""
    return variance / (s["C"] ** 2 * s["T"])


def _printed(s: Symbols) -> Any:
    return s.v * s.C**2 * s.p * s.T * sp.log(1 / s.delta) / s.epsilon**2


def _enough(s: Symbols) -> Any:
    return 4 * s.C**2 * s.T * sp.log(1 / s.delta) / s.epsilon**2


def _at_least(variance: Callable[[Symbols], Any]) -> dict[str, Any]:
    """The sides and the prescription of noise with at least this variance."""
    sides = lambda s: Sides({"noise": s.noise_variance}, {"prescribed variance": variance(s)})  # noqa: E731
    return {"relation": ">=", "sides": sides, "prescription": lambda s: {"noise_variance": variance(s)}}


def random_rounds_delta(epsilon: Any, squared: Any, T: int, p: Any) -> tuple[Any, Any]:
    """The exact delta (low, high) of T iterations, each of whose releases has this squared noise multiplier."""
    return noise.over_random_rounds(lambda j: noise.one_release(epsilon, squared / j), T, p)


_FEW: dict[str, Any] = {**noise.LADDER, "T": 20, "needed": ["1e-5", "1e-7", "1e-10", "1e-20"]}


@checked("privacy", "no constants, one round expected and epsilon <= 1", expected="violated", **_FEW)
def _one_round_expected(statement: Statement, instance: Mapping[str, Any]) -> ConstantClaim:
    """pT = 1 and epsilon = min(u, 1): more rounds than expected take place with a probability that does not depend on
    delta."""

    def escape(u: Any, v: Any) -> Escape:
        with mpmath.workdps(65):
            T = 2 ** (int(mpmath.ceil(mpmath.log(max(v, 1), 2))) + 1)
            j, p, epsilon = T // 2, mpmath.mpf(1) / T, mpmath.mpf(min(u, 1))
            chance = mpmath.binomial(T, j) * p**j * (1 - p) ** (T - j) * (1 - mpmath.mpf(10) ** -30)
            log = mpmath.log(10**5)
            while True:  # the left side falls like delta^0.61 at most, so the loop ends
                at = {"C": 1, "p": p, "T": T, "u": u, "v": v, "epsilon": epsilon, "delta": mpmath.exp(-log)}
                variance = noise.variance(statement, at)
                low = chance * noise.one_release(epsilon, variance / j)[0]
                if low > at["delta"] or log > 10**9:
                    return Escape(at, at["delta"], low)
                log *= 1.1

    def true_delta(log: Any, v: Any) -> tuple[Any, Any]:
        T = instance["T"]
        return random_rounds_delta(1, v * log, T, mpmath.mpf(1) / T)

    def needed() -> list[PrivacyPoint]:
        found = []
        with mpmath.workdps(50):
            for delta in map(mpmath.mpf, instance["needed"]):
                low, high = noise.smallest_constant(partial(true_delta, -mpmath.log(delta)), delta, 1e-3)
                at = {"epsilon": 1, "delta": delta, "p": 1 / instance["T"], "T": instance["T"]}
                found.append(PrivacyPoint(at, float("inf"), low, high))
        return found

    argument = (
        "For any u and v take pT = 1, epsilon = min(u, 1) and T >= 2j with j >= v. With a probability that does not "
        "depend on delta, j iterations or more communicate. Then all messages together have a noise multiplier of at "
        "most sqrt(ln(1/delta))/epsilon. Their delta is above (1 - exp(-epsilon/10)) Phi(-1.1 sqrt(ln(1/delta))), of "
        "order delta^0.605: it exceeds delta once delta is small enough, however small epsilon is"
    )
    return noise.existence(instance, escape, argument, needed=needed)


LEMMA1: Statement = hou.statement(
    **hou.named("hou2023.lemma1", "lemma", "Lemma 1, Section 2"),
    symbols=hou.NOTATION(
        replace(hou.SYMBOLS["noise_variance"], domain="positive"), replace(hou.SYMBOLS["T"], domain="integer")
    ),
    hypotheses=(
        Hypothesis(lambda s: (s.epsilon > 0, s.epsilon <= s.u * s.p * s.T), r"$0 < \varepsilon \le u p T$"),
        ITERATIONS,
        noise.DELTA,
    ),
    **_at_least(_printed),
    checks=(
        # At p = 1, where the printed pT is T.
        noise.rounds_together(lambda s, variance: _squared(s, variance).subs(s["p"], 1)),
        noise.no_constants(
            *("no constants, every iteration communicates", _squared), lambda T: {"C": 1, "p": 1, "T": T}
        ),
        _one_round_expected,
    ),
)

REPAIRED: Statement = replace(
    LEMMA1,
    id="hou2023.lemma1.repaired",
    hypotheses=(BUDGET, ITERATIONS, noise.DELTA),
    **_at_least(_enough),
    checks=repaired_checks(_squared, {"C": 1, "p": 0.05, "T": 400}, {"T >= 1": {"T": "0"}}),
    smoke=("the smallest constant",),
)

STATEMENTS = (LEMMA1, REPAIRED)
