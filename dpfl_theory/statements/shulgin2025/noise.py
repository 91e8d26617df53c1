"""shulgin2025, Section 5: the noise with which alpha-NormEC is said to be differentially private."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbols, battery
from dpfl_theory.core.check_inputs import PrivacyPoint, claim
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements import prescribed_noise as shared
from dpfl_theory.statements.instances import edges_of
from dpfl_theory.statements.prescribed_noise import BUDGET, PROOF, repaired_checks
from dpfl_theory.statements.shulgin2025._symbols import NOTATION, PAPER, SYMBOLS, statement, whole_rounds

ROUNDS = Hypothesis(whole_rounds, "every client sends in each of the $K + 1$ rounds")


def _squared(s: Mapping[str, Any], variance: Any) -> Any:
    """The squared noise multiplier of K + 1 messages, each of which has norm at most 1."""
    return variance / (s["K"] + 1)


def _deviation(s: Symbols, constant: Any = None) -> Any:
    return (sp.sqrt(s.v) if constant is None else constant) * sp.sqrt((s.K + 1) * sp.log(1 / s.delta)) / s.epsilon


@claim("the true delta", f"10 <= 2 log(1/delta) where delta <= e^-5; {PROOF}")
def _on_the_range(statement: Statement, instance: Mapping[str, Any]) -> Iterator[PrivacyPoint]:
    with mpmath.workdps(65):
        axes = (map(mpmath.mpf, instance[name]) for name in ("epsilon", "log(1/delta)"))
        for epsilon, log in itertools.product(*axes):
            at = {"K": 299, "v": 4, "epsilon": epsilon, "delta": mpmath.exp(-log)}
            squared = _squared(at, shared.variance(statement, at))
            yield PrivacyPoint(at, at["delta"], *shared.one_release(epsilon, squared))


_RANGE_GRID = {"epsilon": ["1/1000", "1", "5", "10"], "log(1/delta)": ["5", "7", "11.512925464970228", "50", "2000"]}

_EDGE = {"epsilon": ["10"], "log(1/delta)": ["5"]}
_OUTSIDE: dict[str, dict[str, Any]] = {
    "epsilon <= 10": {"epsilon": ["51/5"]},
    "delta <= e^-5": {"log(1/delta)": ["4.985"]},
    "delta > 0": {"stated": {"delta": "0"}},
    "K >= 0": {"stated": {"K": "-300"}},
}

NOISE: Statement = statement(
    id="shulgin2025.noise",
    kind="corollary",
    source=Source(PAPER, "Utility guarantees, Section 5", provenance="restored"),
    symbols=NOTATION(replace(SYMBOLS["sigma"], domain="positive")),
    hypotheses=(
        Hypothesis(
            lambda s: (s.epsilon > 0, s.epsilon <= 10, s.delta <= sp.exp(-5)),
            r"$0 < \varepsilon \le 10$ and $\delta \le e^{-5}$",
        ),
        ROUNDS,
        shared.DELTA,
    ),
    relation="==",
    sides=lambda s: Sides({"noise": s.sigma}, {"prescribed deviation": _deviation(s)}),
    prescription=lambda s: {"sigma": _deviation(s)},
    checks=battery(
        shared.rounds_together(_squared),
        Check("privacy", "v = 4 on the whole range", _on_the_range, _RANGE_GRID),
        edges_of("privacy", _on_the_range, _EDGE, _OUTSIDE),
    ),
    universal=False,
)

ANY_EPSILON: Statement = replace(
    NOISE,
    id="shulgin2025.noise.any-epsilon",
    hypotheses=(Hypothesis(lambda s: (s.epsilon > 0, s.epsilon <= s.u * (s.K + 1))), ROUNDS, shared.DELTA),
    checks=battery(
        shared.rounds_together(_squared),
        shared.no_constants("no constant, every client in every round", _squared, lambda rounds: {"K": rounds - 1}),
    ),
    reading_of="shulgin2025.noise",
    universal=True,
)

REPAIRED: Statement = replace(
    NOISE,
    id="shulgin2025.noise.repaired",
    source=Source(PAPER, "Utility guarantees, Section 5"),
    hypotheses=(BUDGET, ROUNDS, shared.DELTA),
    sides=lambda s: Sides({"noise": s.sigma}, {"prescribed deviation": _deviation(s, 2)}),
    prescription=lambda s: {"sigma": _deviation(s, 2)},
    checks=repaired_checks(_squared, {"K": 299}, {"K >= 0": {"K": "-300"}}),
    smoke=("the smallest constant",),
    universal=True,
)

STATEMENTS = (NOISE, ANY_EPSILON, REPAIRED)
