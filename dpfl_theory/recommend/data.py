"""Inputs from a data set: it is split among clients, and the problem's constants become the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.data import Dataset, load
from dpfl_theory.problems.linear_model import LinearModel, from_dataset
from dpfl_theory.problems.partition import natural_groups
from dpfl_theory.problems.partition import partition as split
from dpfl_theory.recommend.constants_from_data import MissingConstantError, constants_of, gap_at_start, measures_of
from dpfl_theory.recommend.inputs import CLIENTS, DataOptions, Document, inputs_of, quote_option
from dpfl_theory.recommend.setting import Setting


class DataSource(DataOptions):
    """Data, and the problem that is made from them. The clients are by default a file's own; other records are split
    i.i.d."""

    @cached_property
    def dataset(self) -> Dataset:
        """The prepared records."""
        return load(
            str(self.data), features=self.features, row_norm=self.row_norm, label=self.label, client=self.client
        )

    @property
    def own_clients(self) -> bool:
        """Whether the clients are those of the file."""
        return self.partition is None and self.dataset.clients is not None

    @property
    def width(self) -> int:
        """The number of features, without the bias: those that principal components may replace."""
        return int(self.dataset.x.shape[1]) - 1

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.dataset.y)

    @property
    def constant(self) -> list[str]:
        """The features that are 0 after standardisation, by name or, without names, by number (from 1)."""
        if self.features is not None or not isinstance(self.dataset.x, np.ndarray):
            return []
        names = self.dataset.features or [str(j + 1) for j in range(self.width)]
        return [name for name, zero in zip(names, (self.dataset.x[:, : self.width] == 0.0).all(axis=0)) if zero]

    def with_features(self, features: int) -> DataSource:
        """The same with this number of principal components."""
        return replace(self, features=features)

    def problem(self, clients: int | None = None, copies: int = 1) -> LinearModel:
        """The problem: with the file's own clients, or with the records split among this number of clients (10); each
        repeated the given number of times.

        >>> DataSource("breast-cancer", features=2).problem(4).d
        3
        """
        found = self.dataset
        if self.own_clients:
            assert found.clients is not None
            parts = natural_groups(found.clients.tolist())
            if clients is not None and clients != len(parts):
                raise InputError(
                    f"`clients` is {clients}, and {found.name} has {len(parts)} clients of its own: leave `clients` "
                    "out, or choose with `partition` how to split the records again"
                )
        else:
            parts = split(self.partition or "iid", found.y, CLIENTS if clients is None else clients)
        parts = [own for _ in range(copies) for own in parts]
        loss = "logistic" if found.classes == 2 else "softmax"
        return from_dataset(found, parts, loss, ridge=self.ridge, name=f"{loss} regression on {found.name}")

    def summary(self, problem: LinearModel) -> Document:
        """The source, the problem, and the numbers of clients and records."""
        return {
            "source": str(self.data),
            "problem": problem.name,
            "clients": problem.n,
            "records": len(problem.data.y),
            "partition": "own" if self.own_clients else self.partition or "iid",
            "ridge": float(self.ridge),
        }

    def report(self, problem: Problem) -> Document:
        """A description of the data: the numbers of clients, records and features, the problem's constants with their
        certificates, and the parts that are not private."""
        assert isinstance(problem, LinearModel)
        sizes = np.diff(problem.data.offsets)
        return {
            **self.summary(problem),
            "records_of_a_client": [int(sizes.min()), int(sizes.max())],
            "features": int(problem.data.x.shape[1]),
            "constant_features": self.constant,
            "constants": constants_of(problem),
            "not_private": (
                "these numbers and the choice of algorithm and hyper-parameters use the data and are not counted in "
                "epsilon"
            ),
        }


def _missing_constants_text(
    kind: type[Setting],
    source: DataSource,
    clients: int | None,
    known: Mapping[str, Any],
    names: list[str],
    absent: MissingConstantError,
) -> str:
    """The message for absent constants: the remedy, unless the other ridge that it needs removes another constant."""
    other = replace(source, ridge=0.0 if source.ridge else 1.0).problem(clients)
    remedy, loses = absent.remedy, ""
    if lost := [*measures_of(kind, other, [name for name, value in known.items() if value is not None])[1]]:
        loses = f"{'without' if source.ridge else 'with'} `ridge` it would lack {quote_option(lost[0])} instead, so "
        remedy = absent.besides
    needed = " and ".join(map(quote_option, names))
    advice = ", or ".join(text for text in (remedy, f"give {needed} yourself") if text)
    return f"{kind.name} needs {needed}, and {absent.why}: {loses}{advice}"


def measure(kind: type[Setting], source: DataSource, known: Mapping[str, Any]) -> tuple[dict[str, Any], Document]:
    """The inputs of an algorithm, those ``known`` before those that the data give, and the report on the latter.

    Raises InputError for all needed constants that do not exist.
    """
    (number,) = (name for name, one in inputs_of(kind).items() if one.measured == "clients")
    clients = known.get(number)
    if isinstance(clients, float) and clients.is_integer():
        clients = int(clients)
    problem = source.problem(clients)
    found, lacking = measures_of(kind, problem, [name for name, value in known.items() if value is not None])
    absences: dict[str, tuple[list[str], MissingConstantError]] = {}
    for name, absent in lacking.items():
        absences.setdefault(absent.why, ([], absent))[0].append(name)
    if absences:
        raise InputError(
            "; and ".join(_missing_constants_text(kind, source, clients, known, *a) for a in absences.values())
        )
    constants = {name: m.describe() for name, m in found.items()}
    norm = float(np.linalg.norm(problem.gradient(np.zeros(problem.d))))
    return {**known, **{name: m.value for name, m in found.items()}}, {
        **source.summary(problem),
        "features": source.features,
        "row_norm": source.row_norm,
        "start": "0",
        "at_start": {"[F]": gap_at_start(problem), "[F/X]": norm, "[F^2/X^2]": norm * norm},
        "constants": constants,
    }


def against_start(document: Document, lines: Document) -> Document:
    """The warning for a recommendation whose bound is not less than its left side at the start of every run.

    >>> bound = {"bound": 0.41, "certificate": {"bounds": "E f(w) - f(w*) [F]", "trivial": 0.42, "vacuous": False}}
    >>> against_start(bound, {"at_start": {"[F]": 0.34}})["vacuous"].partition(",")[0]
    'This bound promises nothing: 0.41 is not below 0.34 [F]'
    >>> against_start(bound, {"at_start": {"[F]": 0.5}})
    {}
    """
    bound, said = document["bound"], document["certificate"]
    unit = next((u for u in lines["at_start"] if said["bounds"].endswith(u)), None)
    if bound is None or unit is None or bound < (least := lines["at_start"][unit]):
        return {}
    where = f"below {least:.6g} {unit}, the value of these data at the start, w = 0, without any run"
    if before := document.get("vacuous"):
        sentence = f"{before}; and the bound would also have to be {where}"
    else:
        sentence = f"This bound promises nothing: {bound:.6g} is not {where}"
    return {
        "vacuous": sentence,
        "certificate": {**said, "vacuous": True, "trivial": min(said["trivial"], least)},
    }
