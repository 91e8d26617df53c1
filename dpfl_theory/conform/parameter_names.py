"""The hyper-parameters of all algorithms, with the other names that a function may use for them."""

from __future__ import annotations

from typing import NamedTuple

from dpfl_theory.conform.references import references

__all__ = ["NameRow", "names"]


class NameRow(NamedTuple):
    """A hyper-parameter: its name, its other names as declared, its meaning with its unit, and the algorithms that
    declare it in this way."""

    name: str
    also: tuple[str, ...]
    meaning: str
    algorithms: tuple[str, ...]


ALL = (
    NameRow("r", ("cohort_size",), "expected number of clients in a round", ("every algorithm",)),
    NameRow("n", (), "number of clients", ("every algorithm",)),
    NameRow(
        "sigma",
        (),
        "standard deviation of the noise, in place of noise_multiplier",
        ("every algorithm with noise",),
    ),
)
"""The parameters that every round may take."""


def names() -> list[NameRow]:
    """All rows, in the order of the names.

    >>> [row.also for row in names() if row.name == "eta" and "dp-fedavg" in row.algorithms]
    [('local_step', 'lr', 'learning_rate', 'eta_l')]
    """
    found: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for name, reference in references().items():
        for p in reference.parameters:
            found.setdefault((p.symbol, p.aliases, p.text), []).append(name)
    rows = [NameRow(*key, tuple(algorithms)) for key, algorithms in found.items()]
    return [*ALL, *sorted(rows, key=lambda row: (row.name.lower(), row.algorithms))]
