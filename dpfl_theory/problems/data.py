"""Data sets: scikit-learn's bundled ones and the user's own files, with one preparation for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.problems import files
from dpfl_theory.problems.base import Array
from dpfl_theory.problems.files import Records
from dpfl_theory.problems.preparation import prepared
from dpfl_theory.problems.synthetic import noisy_labels
from dpfl_theory.problems.validation import count, vector

BUNDLED = {"breast-cancer": "load_breast_cancer", "diabetes": "load_diabetes", "digits": "load_digits"}
"""The data sets that are part of scikit-learn and need no network."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records: x (N, d0) float64, y (N,) labels 0..classes-1, or targets when classes = 1.

    labels: the source's names of the classes; clients (N,): the number of each record's client, or None where the
    source names no clients; client_names: their names there; features: its columns' names.

    >>> Dataset("tiny", np.ones((2, 1)), np.array([0.0, 1.0]), 2).classes
    2
    """

    name: str
    x: Array
    y: Array
    classes: int
    labels: tuple[str, ...] = ()
    clients: NDArray[np.int64] | None = None
    client_names: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


def _classes(name: str, x: Any, y: Any) -> Dataset:
    """A classification data set; the labels' sorted values become 0, 1, ..."""
    if np.asarray(y).dtype.kind != "U":
        y = vector(f"the labels of {name}", y)
    _one_each(name, x, y, "label")
    values, labels = np.unique(y, return_inverse=True)
    if len(values) == 1:
        raise InputError(f"all {len(y)} labels of {name} are {_shown(values[0])}: give data with at least two classes")
    if len(values) > max(2, len(y) // 2):
        raise InputError(f"{name} has {len(values)} different labels in {len(y)} rows: use a regression family for it")
    return Dataset(name, x, labels.astype(np.float64), len(values), labels=tuple(_shown(v) for v in values))


def _targets(name: str, x: Any, y: Any) -> Dataset:
    """A regression data set, targets standardised."""
    if np.asarray(y).dtype.kind == "U":
        raise InputError(f"the targets of {name} are text such as {str(y[0])!r}: give numbers")
    y = vector(f"the targets of {name}", y)
    _one_each(name, x, y, "target")
    spread = float(np.std(y))
    return Dataset(name, x, (y - np.mean(y)) / (spread if spread > 0.0 else 1.0), 1)


def _one_each(name: str, x: Any, y: Any, label: str) -> None:
    if x.shape[0] != len(y):
        raise InputError(
            f"{name} has {x.shape[0]} rows of features and {len(y)} {label}s: give one {label} for each row"
        )


def _shown(label: Any) -> str:
    return str(label) if isinstance(label, str) else f"{label:g}"


def from_records(records: Records, regression: bool = False) -> Dataset:
    """The records of a file as a data set: the sorted values of labels and of clients become 0, 1, ...

    >>> found = from_records(Records("pets", np.eye(3), np.array(["dog", "cat", "dog"]), np.array([7, 3, 3]), ("a",)))
    >>> found.y.tolist(), found.labels, found.clients.tolist(), found.client_names
    ([1.0, 0.0, 1.0], ('cat', 'dog'), [1, 0, 0], ('3', '7'))
    """
    found = (_targets if regression else _classes)(records.name, records.x, records.y)
    if records.clients is not None:
        names, numbers = np.unique(records.clients, return_inverse=True)
        found = replace(found, clients=numbers, client_names=tuple(_shown(name) for name in names))
    return replace(found, features=records.features)


def _bundled(name: str, regression: bool) -> Dataset:
    from sklearn import datasets

    if (name == "diabetes") != regression:
        fit = "diabetes" if regression else "breast-cancer or digits"
        raise InputError(f"data set {name!r} does not fit this family: use {fit} or a file")
    found = getattr(datasets, BUNDLED[name])()
    return (_targets if regression else _classes)(name, found.data, found.target)


def load(
    name: str,
    *,
    standardise: bool = True,
    bias: bool = True,
    row_norm: float | None = None,
    features: int | Sequence[int] | None = None,
    label_noise: float = 0.0,
    regression: bool = False,
    seed: int = 0,
    label: str | None = None,
    client: str | None = None,
) -> Dataset:
    """A bundled data set by name, or a file, whose ending determines its format (`dpfl_theory.problems.files`).

    label, client: the file's columns of labels and of clients, where they have other names. The steps are, in this
    order:

    1. standardise columns to mean 0 and variance 1 (constant ones become 0; columns of sparse features are only scaled,
       to a mean square of 1, so that they stay sparse);
    2. keep ``features`` (a number of leading principal components, or a list of columns);
    3. append a column of ones (bias);
    4. scale all rows by one factor so that the longest has length row_norm;
    5. replace a fraction label_noise of the labels.

    Raises InputError that names the error in the file or the option.

    >>> data = load("breast-cancer", features=2, row_norm=1.0)
    >>> data.x.shape, data.classes, round(float(np.linalg.norm(data.x, axis=1).max()), 12)
    ((569, 3), 2, 1.0)
    """
    if name in BUNDLED:
        data = _bundled(name, regression)
    elif Path(name).suffix or Path(name).exists() or "/" in name:
        data = from_records(files.read(name, label, client), regression)
    else:
        raise unknown_name("data set", name, BUNDLED)
    x = prepared(data.x, standardise, features, bias, row_norm)
    y = data.y
    if data.classes > 1:
        rng = np.random.default_rng(count("seed", seed, 0))
        y = noisy_labels(y.astype(np.int64), data.classes, label_noise, rng)
    return replace(data, x=x, y=y)
