"""Theorem 4.1 without approximation, as printed and repaired, at a setting given by the paper's symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import mpmath

ORDERS = 400
"""The repaired formula is minimised over whole orders up to this one; each gives a valid bound."""


_NAMES = {
    "M": "users",
    "R": "records",
    "l": "user_rate",
    "s": "record_rate",
    "K": "local_steps",
    "sigma_g": "noise_multiplier",
    "T": "rounds",
}


def named(point: Mapping[str, Any]) -> dict[str, Any]:
    """The point's symbols under the names of `dpfl_theory.privacy`."""
    return {name: float(point[k]) if k == "sigma_g" else point[k] for k, name in _NAMES.items() if k in point}


def three_steps(point: Mapping[str, Any], view: Any = "third-party") -> float:
    """B.4's Steps 1 to 3 without approximation."""
    from dpfl_theory.privacy.noble2022 import epsilon_theorem

    return epsilon_theorem(**named(point), delta=point["delta"], view=view).epsilon


def implementation(point: Mapping[str, Any]) -> float:
    """B.4's paragraph Implementation, which the experiments use."""
    from dpfl_theory.privacy.noble2022 import epsilon_recipe

    return epsilon_recipe(**named(point), delta=point["delta"]).epsilon


def mechanism(name: str, point: Mapping[str, Any], view: str = "third-party") -> Any:
    """The certified description of the algorithm."""
    from dpfl_theory.privacy.mechanisms import get

    described: Any = get(name)
    return described(**named(point), view=view)


def certified(name: str, point: Mapping[str, Any], view: str = "third-party") -> tuple[float, float]:
    """Certified limits of epsilon; the lower one is 0 where messages that need not be seen are counted as seen."""
    from dpfl_theory.privacy.accounting import lowest_epsilon
    from dpfl_theory.privacy.pld import epsilon_high

    run = mechanism(name, point, view)
    sharp = point["K"] == 1 and (view == "server" or name == "dp-fedavg-record")
    high = epsilon_high(run.event(), point["delta"])
    return min(lowest_epsilon(run, point["delta"]), high) if sharp else 0.0, high


def best_three_steps(point: Mapping[str, Any], view: Any) -> tuple[float, float]:
    """The order alpha and the share x of delta at which `three_steps` has its minimum."""
    from dpfl_theory.privacy.noble2022 import epsilon_theorem

    bound = epsilon_theorem(**named(point), delta=point["delta"], view=view)
    if bound.order is None or bound.x is None:
        raise ValueError(f"the three steps overflow at {dict(point)}")
    return float(bound.order), float(bound.x)


def step_budget(order: float, point: Mapping[str, Any]) -> float:
    """eps''(alpha, sigma_g^2) of one local step."""
    from dpfl_theory.privacy.noble2022 import eq8

    return float(eq8(order, point["s"], float(point["sigma_g"]) ** 2))


def repaired_epsilon(statement: Statement, point: Mapping[str, Any], aggregated: bool = False) -> float:
    """The repaired bound towards a third party: the least value of the statement's right side over whole orders. There
    l' = floor(lM)/M replaces l, and epsilon'' is at s' = floor(sR)/R (and at floor(lM) sigma_g^2 for one local step of
    DP-FedAvg: ``aggregated``)."""
    import numpy as np

    from dpfl_theory.privacy.noble2022 import lemma_b7

    run = mechanism("dp-fedavg-record", point)
    variance = float(point["sigma_g"]) ** 2 * (run.cohort if aggregated else 1)
    orders = np.arange(2.0, ORDERS + 1)
    known = {"l": mpmath.mpf(run.cohort) / point["M"], "T": point["T"], "K": point["K"], "delta": point["delta"]}
    budgets = zip(orders, lemma_b7(orders, run.batch / point["R"], variance))
    each = ({**known, "alpha": float(order), "rdp_step": float(budget)} for order, budget in budgets)
    return float(min(evaluate_side(statement, "rhs", values) for values in each))
