"""Files of arrays, NPZ and IDX.

NPZ has arrays ``x``, ``y`` and, if clients are known, ``client``; or ``x``'s CSR parts in its place. IDX is the format
of MNIST and similar data sets: images in one file, their labels in another.
"""

from __future__ import annotations

import gzip
import math
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dpfl_theory.errors import InputError
from dpfl_theory.problems.files._records import Records, numbers, short
from dpfl_theory.problems.sparse import dense_if_small

_PARTS = ("data", "indices", "indptr", "shape")
"""A CSR matrix, as `scipy.sparse.save_npz` names its arrays."""


def read_npz(path: Path, label: str | None, client: str | None) -> Records:
    """The records of an NPZ file with ``x`` (N, d0), ``y`` (N,) and possibly ``client`` (N,); pickled objects are
    refused. Instead of x it may have ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix."""
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
    parts = () if "x" in found or not set(found) & set(_PARTS) else _PARTS
    for name in filter(None, (*(parts or ("x",)), label, client)):
        if name not in found:
            raise InputError(f"data file {str(path)!r} has no array {name!r}: save x and y with numpy.savez")
    x, y = _matrix(path, found) if parts else found["x"], found[label]
    clients = None if client is None else found[client]
    if x.ndim != 2 or 0 in x.shape:
        raise InputError(f"array 'x' of {str(path)!r} has shape {x.shape}: give records times features")
    for column, own in ((label, y), (client, clients)):
        if own is not None and own.shape != (x.shape[0],):
            raise InputError(
                f"array {column!r} of {str(path)!r} has shape {own.shape}: one entry for each of the {x.shape[0]} "
                "records"
            )
    features = tuple(f"x[:, {j}]" for j in range(x.shape[1]))
    x = numbers(path, x, features)
    x, y, clients = dense_if_small(x) if parts else x, _known(path, label, y), _known(path, client, clients)
    return Records(path.stem, x, y, clients, features)


def _matrix(path: Path, found: dict[str, Any]) -> Any:
    """The CSR matrix with these parts; entries that are given twice are added."""
    try:
        data, indices, indptr, shape = (found[name] for name in _PARTS)
        rows, columns = (int(size) for size in shape)
        matrix = sparse.csr_array((data, indices, indptr), shape=(rows, columns))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise InputError(
            f"the arrays {', '.join(_PARTS)} of {str(path)!r} are not a CSR matrix ({short(error)}): save them as "
            "scipy.sparse.save_npz does"
        ) from None
    matrix.sum_duplicates()
    return matrix


def _known(path: Path, name: str | None, values: Any) -> Any:
    """Labels or clients: whole or real numbers, or text."""
    if values is None or values.dtype.kind in "biufU":
        return values
    raise InputError(f"array {name!r} of {str(path)!r} holds {values.dtype}: give numbers or text")


_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_IMAGES, _LABELS = ("images", "idx3"), ("labels", "idx1")


def read_idx(path: Path, label: str | None, client: str | None) -> Records:
    """The records of a file of images, plain or compressed by gzip, with the labels of another file in its folder.

    The name of the file of labels has ``labels`` (and ``idx1``) where this one's has ``images`` (and ``idx3``). An
    image of r x c pixels is a record of r c features."""
    for given in (label, client):
        if given is not None:
            raise InputError(f"column {given!r} was requested, but IDX files have no names: leave it out")
    if _IMAGES[0] not in path.name:
        raise InputError(f"IDX file {str(path)!r} has no 'images' in its name: give the file of the images")
    name = path.name
    for images, labels in zip(_IMAGES, _LABELS):
        name = name.replace(images, labels)
    others = [path.with_name(name), path.with_name(name.removesuffix(".gz")), path.with_name(f"{name}.gz")]
    beside = next((other for other in others if other.is_file()), None)
    if beside is None:
        raise InputError(f"the labels of {str(path)!r} are not in its folder: put {name!r} into the same folder")
    x, y = _idx_array(path), _idx_array(beside)
    if x.ndim < 2 or 0 in x.shape:
        raise InputError(f"IDX file {str(path)!r} holds an array of shape {x.shape}: give records times features")
    if y.shape != x.shape[:1]:
        raise InputError(f"IDX file {str(beside)!r} holds {y.shape}: one label for each of the {x.shape[0]} records")
    features = tuple(f"pixel {', '.join(map(str, place))}" for place in np.ndindex(x.shape[1:]))
    x = numbers(path, x.reshape(x.shape[0], -1), features)
    return Records(path.name.split(".")[0], x, y, None, features)


def _idx_array(path: Path) -> Any:
    """The array of an IDX file: two zero bytes, the type, the number of sizes, the sizes, and the entries, each with
    its highest byte first."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
        zeros, kind, count = struct.unpack_from(">HBB", content)
        if zeros or kind not in _TYPES:
            raise ValueError(f"it starts with {content[:4].hex()}")
        shape = struct.unpack_from(f">{count}I", content, 4)
        entries, given = math.prod(shape) * np.dtype(_TYPES[kind]).itemsize, len(content) - 4 - 4 * count
        if entries != given:
            raise ValueError(f"its sizes {shape} make {entries} bytes, and it has {given}")
        found = np.frombuffer(content, _TYPES[kind], offset=4 + 4 * count).reshape(shape)
        return found.astype(found.dtype.newbyteorder("="))
    except (OSError, EOFError, ValueError, struct.error, zlib.error) as error:
        raise InputError(f"data file {str(path)!r} cannot be read as IDX ({short(error)}): download it again") from None
