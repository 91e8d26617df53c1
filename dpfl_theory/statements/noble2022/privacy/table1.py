"""noble2022 Tables 1 and 4: the largest number of rounds for each noise level and number of local steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, PrivacyPoint, Statement, battery, claim
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022.privacy import DELTA, NOISE, SAMPLING, edges, stated
from dpfl_theory.statements.noble2022.privacy import _formulas as formulas

SETTING = {"M": 100, "R": 4000, "l": 0.05, "s": 0.2, "delta": 1 / 400_000}
"""Appendix D.2: 100 users, of whose 5000 records 80 % enter training; delta = 1/(MR)."""
BUDGET = 3.0
LOCAL_STEPS = (1, 5, 10, 20, 40)
PRINTED = {
    "10": [542, 488, 428, 324, 72],
    "20": [545, 502, 451, 352, 83],
    "40": [546, 505, 457, 360, 86],
    "80": [546, 506, 458, 362, 87],
    "160": [546, 506, 458, 362, 87],
}
"""Rounds T by sigma_g, for K = 1, 5, 10, 20, 40; the same in both tables."""
CORRECTED = {**PRINTED, "160": [546, 507, 459, 363, 87]}


def entries(table: Mapping[str, list[int]]) -> list[tuple[dict[str, Any], int]]:
    return [
        ({**SETTING, "sigma_g": float(sigma), "K": steps, "epsilon": BUDGET}, rounds)
        for sigma, row in table.items()
        for steps, rounds in zip(LOCAL_STEPS, row)
    ]


@claim("the largest T with which Implementation's epsilon is at most 3", "all entries", "==")
def _largest(_: Statement, instance: Mapping[str, Any]) -> Iterator[PrivacyPoint]:
    from dpfl_theory.privacy.noble2022 import rounds_recipe

    for at, printed in entries(instance["T"]):
        rounds = rounds_recipe(**formulas.named(at), epsilon=at["epsilon"], delta=at["delta"])
        yield PrivacyPoint(at, printed, rounds, rounds)


@claim(
    "epsilon of DP-SCAFFOLD towards a third party",
    "all entries; participation counted as seen, messages too, and composed by privacy loss distributions",
)
def _private(_: Statement, instance: Mapping[str, Any]) -> Iterator[PrivacyPoint]:
    from dpfl_theory.privacy.pld import epsilon_high

    for at, rounds in entries(instance["T"]):
        here = {**at, "T": rounds}
        high = epsilon_high(formulas.mechanism("dp-scaffold", here).event(), at["delta"])
        yield PrivacyPoint(here, at["epsilon"], 0.0, high)


ROUNDS: Statement = noble.statement(
    **noble.named("noble2022.table1.rounds", "Table 1, Section 5; Table 4, Appendix D.3.2"),
    symbols=noble.NOTATION.also("T", "K", "epsilon"),
    hypotheses=(SAMPLING, NOISE, DELTA),
    relation="==",
    checks=battery(
        Check("privacy", "the largest T", _largest, {"T": PRINTED}, "violated"),
        Check("privacy", "the printed T are private", _private, {"T": PRINTED}),
    ),
    smoke=("the largest T",),
    uses=("noble2022.theorem4.1.third-party", "noble2022.eq5", "noble2022.eq8"),
)

_EDGES = {"s <= 1": stated(s="51/10"), "sigma_g > 0": stated(sigma_g="0"), "delta < 1": stated(delta="400000")}

REPAIRED: Statement = replace(
    ROUNDS,
    id="noble2022.table1.rounds.repaired",
    checks=battery(
        Check("privacy", "the largest T", _largest, {"T": CORRECTED}),
        Check("privacy", "these T are private", _private, {"T": {"160": CORRECTED["160"]}}),
        edges(_largest, {"T": {"160": CORRECTED["160"]}}, _EDGES),
    ),
    smoke=("the largest T",),
    uses=("noble2022.eq5", "noble2022.eq8"),
)

STATEMENTS = (ROUNDS, REPAIRED)
