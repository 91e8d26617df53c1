"""IDX files, the format of MNIST and similar data sets: images in one file, their labels in another."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.problems.files._records import Records, numbers, short

__all__ = ["read"]

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_IMAGES, _LABELS = ("images", "idx3"), ("labels", "idx1")


def read(path: Path, label: str | None, client: str | None) -> Records:
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
    x, y = _array(path), _array(beside)
    if x.ndim < 2 or 0 in x.shape:
        raise InputError(f"IDX file {str(path)!r} holds an array of shape {x.shape}: give records times features")
    if y.shape != x.shape[:1]:
        raise InputError(f"IDX file {str(beside)!r} holds {y.shape}: one label for each of the {x.shape[0]} records")
    features = tuple(f"pixel {', '.join(map(str, place))}" for place in np.ndindex(x.shape[1:]))
    x = numbers(path, x.reshape(x.shape[0], -1), features)
    return Records(path.name.split(".")[0], x, y, None, features)


def _array(path: Path) -> Any:
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
