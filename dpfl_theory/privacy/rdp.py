"""The bound by Renyi divergences (moments), from dp-accounting, for the mechanisms that it has."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpfl_theory.privacy.mechanisms.base import Mechanism

ORDERS = tuple(
    sorted(
        {
            *np.round(1 + np.geomspace(0.01, 20, 60)[1:], 6),
            *np.unique(np.geomspace(2, 1e4, 90).astype(int)),
            *range(2, 65),
        }
    )
)
"""The orders that are tried: a fine grid near 1, and whole numbers; sampling without replacement allows only whole
numbers. dp-accounting gives no epsilon for orders up to 1.01."""


@dataclass(frozen=True)
class Moments:
    """epsilon at the best order; ``warning`` when that order is the first or the last that was tried."""

    epsilon: float
    order: float
    warning: str | None = None


def moments_bound(mechanism: Mechanism, delta: float) -> Moments | None:
    """dp-accounting's bound for this mechanism, or None when it has no accountant for it.

    >>> from dpfl_theory.privacy.mechanisms import get
    >>> bound = moments_bound(get("dp-fedavg")(clients=10, noise_multiplier=10.0, rounds=100), 1e-5)
    >>> print(f"{bound.epsilon:.2f}")
    4.73
    """
    described = mechanism.textbook()
    if described is None:
        return None
    from dp_accounting.rdp import RdpAccountant

    event, relation = described
    accountant = RdpAccountant(list(map(float, ORDERS)), relation)
    with _quiet():
        accountant.compose(event)
        epsilon, order = accountant.get_epsilon_and_optimal_order(delta)
    warning = None
    if order in (ORDERS[0], ORDERS[-1]):
        warning = f"The best order {order:g} of the moments bound is an end of the orders tried: it may be too large."
    return Moments(float(epsilon), float(order), warning)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses dp-accounting's message for every fractional order that it omits because its series does not
    converge."""
    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
