"""Data sets: scikit-learn's bundled ones, LIBSVM and NPZ files, with one preparation for all."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.problems.base import Array
from dpfl_theory.problems.synthetic import noisy_labels
from dpfl_theory.problems.validation import count, matrix, positive, vector

__all__ = ["BUNDLED", "Dataset", "load", "read_libsvm", "read_npz", "standardised"]

BUNDLED = {"breast-cancer": "load_breast_cancer", "diabetes": "load_diabetes", "digits": "load_digits"}
"""The data sets that come with scikit-learn and need no network."""

_MOST_NUMBERS = 1 << 29  # 4 GiB of float64: features are held densely


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records: x (N, d0) float64, y (N,) labels 0..classes-1, or targets when classes = 1.

    >>> Dataset("tiny", np.ones((2, 1)), np.array([0.0, 1.0]), 2).classes
    2
    """

    name: str
    x: Array
    y: Array
    classes: int


def _classes(name: str, x: Any, y: Any) -> Dataset:
    """A classification data set; the labels' sorted values become 0, 1, ..."""
    x, y = matrix(f"the features of {name}", x), vector(f"the labels of {name}", y)
    if len(x) != len(y):
        raise InputError(f"{name} has {len(x)} rows of features and {len(y)} labels: give one label for each row")
    values, labels = np.unique(y, return_inverse=True)
    if len(values) == 1:
        raise InputError(f"all {len(y)} labels of {name} are {values[0]:g}: give data with at least two classes")
    if len(values) > max(2, len(y) // 2):
        raise InputError(f"{name} has {len(values)} different labels in {len(y)} rows: use a regression family for it")
    return Dataset(name, x, labels.astype(np.float64), len(values))


def _targets(name: str, x: Any, y: Any) -> Dataset:
    """A regression data set, targets standardised."""
    x, y = matrix(f"the features of {name}", x), vector(f"the targets of {name}", y)
    if len(x) != len(y):
        raise InputError(f"{name} has {len(x)} rows of features and {len(y)} targets: give one target for each row")
    spread = float(np.std(y))
    return Dataset(name, x, (y - np.mean(y)) / (spread if spread > 0.0 else 1.0), 1)


def _file(path: str | Path) -> Path:
    path = Path(path)
    if not path.is_file():
        raise InputError(f"data file {str(path)!r} does not exist: check the path")
    return path


def read_npz(path: str | Path, regression: bool = False) -> Dataset:
    """An NPZ file with arrays ``x`` (N, d0) and ``y`` (N,); pickled objects are refused.

    Raises InputError when the file is missing, is not NPZ, lacks an array, or holds values that are not finite.
    """
    path = _file(path)
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            found = dict(archive) if isinstance(archive, np.lib.npyio.NpzFile) else None
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"data file {str(path)!r} cannot be read as NPZ ({_short(error)}): save it again") from None
    if found is None:
        raise InputError(f"data file {str(path)!r} holds one bare array: save x and y with numpy.savez")
    missing = sorted({"x", "y"} - set(found))
    if missing:
        raise InputError(f"data file {str(path)!r} has no array {missing[0]!r}: save x and y with numpy.savez")
    x, y = found["x"], found["y"]
    return (_targets if regression else _classes)(path.stem, x, y)


def read_libsvm(path: str | Path, regression: bool = False) -> Dataset:
    """A LIBSVM (svmlight) text file; indices that start at 0 and at 1 are told apart by whether a 0 occurs.

    Raises InputError when the file is missing or malformed, or too large to be held densely.
    """
    from sklearn.datasets import load_svmlight_file

    path = _file(path)
    try:
        x, y = load_svmlight_file(str(path), zero_based="auto")
    except (ValueError, OverflowError, IndexError, UnicodeDecodeError) as error:
        raise InputError(
            f"data file {str(path)!r} cannot be read as LIBSVM text ({_short(error)}): "
            "write one 'label index:value ...' line for each record"
        ) from None
    if x.shape[0] * x.shape[1] > _MOST_NUMBERS:
        raise InputError(
            f"data file {str(path)!r} has {x.shape[0]} x {x.shape[1]} numbers: choose fewer columns or rows"
        )
    return (_targets if regression else _classes)(path.stem, x.toarray(), y)


def _short(error: BaseException) -> str:
    """The first line of a library's message."""
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _bundled(name: str, regression: bool) -> Dataset:
    from sklearn import datasets

    if (name == "diabetes") != regression:
        fit = "diabetes" if regression else "breast-cancer or digits"
        raise InputError(f"data set {name!r} does not fit this family: use {fit} or a file")
    found = getattr(datasets, BUNDLED[name])()
    return (_targets if regression else _classes)(name, found.data, found.target)


def _columns(x: Array, features: int | Sequence[int] | None) -> Array:
    """The first principal components (a number) or the listed columns."""
    if features is None:
        return x
    if isinstance(features, (list, tuple)):
        if not features:
            raise InputError("features is an empty list: name at least one column")
        chosen = [count("a column in features", k, 0) for k in features]
        if max(chosen) >= x.shape[1]:
            raise InputError(f"features names column {max(chosen)}: the data have columns 0 to {x.shape[1] - 1}")
        return x[:, chosen]
    most = count("features", features)
    if most > min(x.shape):
        raise InputError(f"features is {most}: the data have only {min(x.shape)} principal components")
    centred = x - x.mean(axis=0)
    _, _, vt = np.linalg.svd(centred, full_matrices=False)
    # The sign of a singular vector is arbitrary; the largest entry is made positive so that every machine agrees.
    lead = vt[np.arange(most), np.argmax(np.abs(vt[:most]), axis=1)]
    return np.asarray(centred @ (vt[:most] * np.sign(lead)[:, None]).T)


def standardised(x: Array, training: NDArray[np.int64], unit: bool = False, bias: bool = True) -> Array:
    """Columns with mean 0 and deviation 1 over the training rows (constant ones 0), then a column of ones (bias).

    unit: scale every row to length 1 before the ones are appended; a row that is zero stays zero.

    >>> standardised(np.array([[1.0], [3.0], [7.0]]), np.array([0, 1]))[:, 0].tolist()
    [-1.0, 1.0, 5.0]
    """
    mean, spread = x[training].mean(axis=0), x[training].std(axis=0)
    constant = spread <= 1e-12 * np.max(np.abs(x[training]), axis=0, initial=0.0)
    x = np.where(constant, 0.0, x - mean)
    x /= np.where(constant, 1.0, spread)
    if unit:
        length = np.linalg.norm(x, axis=1, keepdims=True)
        x /= np.where(length > 0.0, length, 1.0)
    return np.hstack([x, np.ones((len(x), 1))]) if bias else x


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
) -> Dataset:
    """A bundled data set by name, or a file: ``.npz`` is read as NPZ, anything else as LIBSVM text.

    In this order: standardise columns to mean 0 and variance 1 (constant ones become 0), keep ``features`` (a number of
    leading principal components, or a list of columns), append a column of ones (bias), scale all rows by one factor so
    that the longest has length row_norm, replace a fraction label_noise of the labels. Raises InputError, naming what
    is wrong with the file or the option.

    >>> data = load("breast-cancer", features=2, row_norm=1.0)
    >>> data.x.shape, data.classes, round(float(np.linalg.norm(data.x, axis=1).max()), 12)
    ((569, 3), 2, 1.0)
    """
    if name in BUNDLED:
        data = _bundled(name, regression)
    elif Path(name).suffix == ".npz":
        data = read_npz(name, regression)
    elif Path(name).suffix or Path(name).exists() or "/" in name:
        data = read_libsvm(name, regression)
    else:
        raise unknown_name("data set", name, BUNDLED)
    x = data.x
    if standardise:
        spread = x.std(axis=0)
        constant = spread <= 1e-12 * np.max(np.abs(x), axis=0, initial=0.0)
        x = np.where(constant, 0.0, x - x.mean(axis=0)) / np.where(constant, 1.0, spread)
    x = _columns(x, features)
    if bias:
        x = np.hstack([x, np.ones((len(x), 1))])
    if row_norm is not None:
        longest = float(np.max(np.linalg.norm(x, axis=1)))
        x = x * (positive("row_norm", row_norm) / (longest if longest > 0.0 else 1.0))
    y = data.y
    if data.classes > 1:
        rng = np.random.default_rng(count("seed", seed, 0))
        y = noisy_labels(y.astype(np.int64), data.classes, label_noise, rng)
    return replace(data, x=np.ascontiguousarray(x), y=y)
