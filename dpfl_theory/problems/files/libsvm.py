"""LIBSVM (svmlight) text, plain or compressed; ``qid:K`` names the client."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scipy import sparse

from dpfl_theory.errors import InputError
from dpfl_theory.problems.files._records import Records, is_number, numbers, short
from dpfl_theory.problems.sparse import dense_if_small

_MOST = 1 << 24
"""The maximum number of features; the parameters of a problem have one entry for each, in every replicate."""


def read(path: Path, label: str | None, client: str | None) -> Records:
    """The records of a LIBSVM file. Whether indices start at 0 or at 1 is decided by whether a 0 occurs."""
    from sklearn.datasets import load_svmlight_file

    for given in (label, client):
        if given is not None:
            raise InputError(f"column {given!r} was requested, but LIBSVM text has no names: write qid:K for client K")
    try:
        x, y, query = load_svmlight_file(str(path), zero_based="auto", query_id=True)
    except (ValueError, OverflowError, IndexError, UnicodeDecodeError, EOFError, OSError, zlib.error) as error:
        raise InputError(
            f"data file {str(path)!r} cannot be read as LIBSVM text ({_place(path) or short(error)}): "
            "write one 'label index:value ...' line for each record"
        ) from None
    if not x.shape[0]:
        raise InputError(f"data file {str(path)!r} has no records: write one 'label index:value ...' line for each")
    if len(query) not in (0, len(y)):
        raise InputError(f"{len(query)} of {len(y)} records of {str(path)!r} have a qid: give one to each, or to none")
    if x.shape[1] > _MOST:
        raise InputError(
            f"the largest index in {str(path)!r} means {x.shape[1]} features, and at most {_MOST} can be read: number "
            "those that occur from 1 on"
        )
    x = dense_if_small(numbers(path, sparse.csr_array(x), [f"index {j}" for j in range(x.shape[1])]))
    clients = query if len(query) else None
    return Records(path.name.split(".")[0], x, y, clients, tuple(f"index {j}" for j in range(x.shape[1])))


def _place(path: Path) -> str:
    """The first invalid entry, and its record; empty where all are valid, or the file is not text."""
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
    record = 0
    try:
        with openers.get(path.suffix.lower(), open)(path, "rt", encoding="utf-8") as file:
            for line in file:
                words = line.split("#")[0].split()
                record += bool(words)
                for position, word in enumerate(words):
                    index, colon, value = word.rpartition(":")
                    named = index.isdecimal() or (index == "qid" and position == 1)
                    if not (is_number(value) and (named if position else not colon)):
                        return f"record {record} has {word[:40]!r}"
    except (OSError, EOFError, UnicodeDecodeError, zlib.error):
        pass
    return ""
