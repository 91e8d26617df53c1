"""Theorem 4.1 without approximation, as printed and repaired, at a setting given by the paper's letters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["ORDERS", "certified", "implementation", "repaired_epsilon", "three_steps"]

ORDERS = 400
"""The repaired formula is minimised over whole orders up to this one; each gives a valid bound."""


def _named(at: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "users": at["M"],
        "records": at["R"],
        "user_rate": at["l"],
        "record_rate": at["s"],
        "local_steps": at["K"],
        "noise_multiplier": float(at["sigma_g"]),
        "rounds": at["T"],
    }


def three_steps(at: Mapping[str, Any], view: Any = "third-party") -> float:
    """B.4's Steps 1 to 3 without approximation."""
    from dpfl_theory.privacy.noble2022 import epsilon_theorem

    return epsilon_theorem(**_named(at), delta=at["delta"], view=view).epsilon


def implementation(at: Mapping[str, Any]) -> float:
    """B.4's paragraph Implementation, which the experiments use."""
    from dpfl_theory.privacy.noble2022 import epsilon_recipe

    return epsilon_recipe(**_named(at), delta=at["delta"]).epsilon


def mechanism(name: str, at: Mapping[str, Any], view: str = "third-party") -> Any:
    """The certified description of the algorithm."""
    from dpfl_theory.privacy.mechanisms import get

    described: Any = get(name)
    return described(**_named(at), view=view)


def certified(name: str, at: Mapping[str, Any], view: str = "third-party") -> tuple[float, float]:
    """Certified limits of epsilon; the lower one is 0 where messages are counted as seen that need not be."""
    from dpfl_theory.privacy.accounting import lowest_epsilon
    from dpfl_theory.privacy.pld import epsilon_high

    run = mechanism(name, at, view)
    sharp = at["K"] == 1 and (view == "server" or name == "dp-fedavg-record")
    high = epsilon_high(run.event(), at["delta"])
    return min(lowest_epsilon(run, at["delta"]), high) if sharp else 0.0, high


def repaired_epsilon(at: Mapping[str, Any], aggregated: bool = False) -> float:
    r"""The repaired bound towards a third party, with l' = floor(lM)/M and s' = floor(sR)/R,

    .. math:: \min_\alpha \frac{T \log(1 - l' + l' e^{(\alpha-1) K \epsilon''(\alpha, \sigma_g^2)}) + \log(1/\delta)}
              {\alpha - 1},

    where epsilon'' is taken at s' (and at floor(lM) sigma_g^2 for one local step of DP-FedAvg: ``aggregated``).
    """
    import numpy as np

    from dpfl_theory.privacy.noble2022 import lemma_b7

    run = mechanism("dp-fedavg-record", at)
    rate, share = run.cohort / at["M"], run.batch / at["R"]
    variance = float(at["sigma_g"]) ** 2 * (run.cohort if aggregated else 1)
    orders = np.arange(2.0, ORDERS + 1)
    cgf = at["K"] * (orders - 1) * lemma_b7(orders, share, variance)
    rounds = at["T"] * np.logaddexp(math.log1p(-rate) if rate < 1 else -np.inf, math.log(rate) + cgf)
    return float(np.min((rounds - math.log(at["delta"])) / (orders - 1)))
