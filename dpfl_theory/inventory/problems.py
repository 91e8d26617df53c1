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
    "heterogeneity": ("distance between the clients' own models; 0 for equal ones", ""),
    "noise": ("standard deviation of the targets' noise", ""),
    "threshold": ("where the loss changes from quadratic to linear; one number, or one for each client", ""),
    "ridge": ("ridge/2 times the squared norm is added to every f_i", "F/X^2"),
    "label_noise": ("fraction of the labels that are replaced by another one", ""),
    "test_share": ("fraction of the records that is held out", ""),
    "alpha": ("variance of the differences between the clients' models", ""),
    "beta": ("variance of the differences between the clients' features", ""),
    "data": ("a bundled set's name, or a LIBSVM or NPZ file", ""),
    "partition": ("how records are split among clients: iid, shards or similarity", ""),
    "shards_per_client": ("shards of each client, of records sorted by label", ""),
    "percent": ("per cent of the records that are distributed evenly", ""),
    "standardise": ("features of mean 0 and variance 1", ""),
    "bias": ("append a column of ones", ""),
    "seed": ("seed of the random data", ""),
    "k": ("location of the first client's minimum, above 4 times c", ""),
    "c": ("the clipping threshold", "X"),
}
"""Meanings and units of parameters that a family's docstring does not give."""


def _items() -> list[Item]:
    from dpfl_theory.problems import families

    return [
        Item(
            name, first_sentence(make.__doc__), tuple(map(_told, parameters_of(make))), text=inspect.getdoc(make) or ""
        )
        for name, make in sorted(families().items())
    ]


def _told(p: Parameter) -> Parameter:
    """The parameter, with its usual meaning where the docstring has none."""
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
