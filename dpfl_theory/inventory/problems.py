"""Problem families."""

from __future__ import annotations

import inspect
from dataclasses import replace

from dpfl_theory.inventory.base import Item, Kind, Parameter, first_sentence, parameters_of

__all__ = ["KIND"]

COMMON = {
    "clients": ("the number n of clients", ""),
    "dimension": ("the number d of parameters", ""),
    "records": ("records of each client", ""),
    "features": ("features of a record", ""),
    "classes": ("classes of records", ""),
    "rank": ("rank of each client's quadratic; the dimension without it", ""),
    "condition": ("largest over smallest eigenvalue", ""),
    "smoothness": ("the largest eigenvalue", "F/X^2"),
    "heterogeneity": ("how far the clients' own models lie apart, 0 for not at all", ""),
    "noise": ("standard deviation of the targets' noise", ""),
    "threshold": ("where the loss turns from a square into a line; one number, or one for each client", ""),
    "ridge": ("ridge/2 times the squared length is added to every f_i", "F/X^2"),
    "label_noise": ("share of the labels that are replaced by another one", ""),
    "test_share": ("share of the records that is held out", ""),
    "alpha": ("variance of what the clients' models differ by", ""),
    "beta": ("variance of what the clients' features differ by", ""),
    "data": ("a bundled set's name, or a LIBSVM or NPZ file", ""),
    "partition": ("how records are split among clients: iid, shards or similarity", ""),
    "shards_per_client": ("shards of each client, of records sorted by label", ""),
    "percent": ("per cent of the records that are dealt out evenly", ""),
    "standardise": ("features of mean 0 and variance 1", ""),
    "bias": ("append a column of ones", ""),
    "seed": ("seed of what is drawn", ""),
    "k": ("where the first client's minimum lies, above 4 times c", ""),
    "c": ("the clipping threshold", "X"),
}
"""What parameters mean, and their units, where a family's docstring does not say it."""


def _items() -> list[Item]:
    from dpfl_theory.problems import families

    return [
        Item(
            name, first_sentence(make.__doc__), tuple(map(_told, parameters_of(make))), text=inspect.getdoc(make) or ""
        )
        for name, make in sorted(families().items())
    ]


def _told(p: Parameter) -> Parameter:
    """The parameter, with its usual meaning where nothing is said of it."""
    if p.meaning or p.name not in COMMON:
        return p
    meaning, unit = COMMON[p.name]
    return replace(p, meaning=meaning, unit=p.unit or unit)


KIND = Kind(
    "problems",
    "problem",
    "problem families with certified constants",
    _items,
    "problem.name=NAME in a configuration; dpfl_theory.problems.make('NAME', ...) in Python",
)
