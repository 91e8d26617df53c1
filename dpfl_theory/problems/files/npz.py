"""NPZ files: arrays ``x``, ``y`` and, if clients are known, ``client``."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.problems.files._records import Records, numbers, short

__all__ = ["ENDINGS", "read"]

ENDINGS = (".npz",)


def read(path: Path, label: str | None, client: str | None) -> Records:
    """The records of an NPZ file with ``x`` (N, d0), ``y`` (N,) and perhaps ``client`` (N,); pickled objects are
    refused."""
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            found = dict(archive) if isinstance(archive, np.lib.npyio.NpzFile) else None
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError(f"data file {str(path)!r} cannot be read as NPZ ({short(error)}): save it again") from None
    if found is None:
        raise InputError(f"data file {str(path)!r} holds one bare array: save x and y with numpy.savez")
    label = label or next((name for name in ("y", "label") if name in found), "y")
    client = client or next((name for name in ("client", "clients") if name in found), None)
    for name in filter(None, ("x", label, client)):
        if name not in found:
            raise InputError(f"data file {str(path)!r} has no array {name!r}: save x and y with numpy.savez")
    x, y = found["x"], found[label]
    clients = None if client is None else found[client]
    if x.ndim != 2 or not x.size:
        raise InputError(f"array 'x' of {str(path)!r} has shape {x.shape}: give records times features")
    for column, own in ((label, y), (client, clients)):
        if own is not None and own.shape != (len(x),):
            raise InputError(
                f"array {column!r} of {str(path)!r} has shape {own.shape}: one entry for each of the {len(x)} records"
            )
    features = tuple(f"x[:, {j}]" for j in range(x.shape[1]))
    x, y, clients = numbers(path, x, features), _known(path, label, y), _known(path, client, clients)
    return Records(path.stem, x, y, clients, features)


def _known(path: Path, name: str | None, values: Any) -> Any:
    """Labels or clients: whole or real numbers, or text."""
    if values is None or values.dtype.kind in "biufU":
        return values
    raise InputError(f"array {name!r} of {str(path)!r} holds {values.dtype}: give numbers or text")
