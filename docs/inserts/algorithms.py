"""The algorithms that configurations name, with their hyper-parameters, and which commands know each."""

from __future__ import annotations

from typing import Any

from docs.inserts import rendered
from dpfl_theory.conform.references import references
from dpfl_theory.errors import InputError
from dpfl_theory.inventory.algorithms import KIND
from dpfl_theory.privacy.mechanisms import mechanisms
from dpfl_theory.recommend.algorithms import settings
from dpfl_theory.recommend.tuned import tuned
from dpfl_theory.sweep.algorithms import algorithms

__all__ = ["insert", "protected"]


def protected(name: str) -> str:
    """Whose data an algorithm's noise protects: ``client``, ``record``, or nothing, for one without noise.

    >>> protected("dp-fedavg"), protected("dp-sgd-record"), protected("fedavg")
    ('client', 'record', '')
    """
    if algorithms()[name].noise is None:
        return ""
    for known in (tuned(), mechanisms()):
        if name in known:
            return str(known[name].protects)
    raise InputError(f"nothing says whose data the noise of {name} protects")


def insert() -> str:
    """A table of all, and one of each one's hyper-parameters."""
    rows: list[dict[str, Any]] = [
        {
            "item": item,
            "unit": protected(item.name),
            "searched": item.name in tuned(),
            "ruled": item.name in settings(),
            "held": item.name in references(),
        }
        for item in KIND.items()
        if item.name in algorithms()  # the others are classes, which stand in the reference
    ]
    return rendered("algorithms.html.j2", rows=rows)
