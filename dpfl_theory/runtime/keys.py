"""Keys: the hash of all that a result depends on, the same on every machine and in every process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import PurePath
from types import FunctionType
from typing import Any


def key(kind: str, parts: Mapping[str, object]) -> str:
    """The SHA-256 of a kind of result and of its dependencies, as canonical JSON: in hexadecimal, 64 digits.

    The order of names does not matter, and arrays count with their type, shape and bytes.

    >>> key("cell", {"seed": 1, "step": 0.5}) == key("cell", {"step": 0.5, "seed": 1})
    True
    >>> key("cell", {"seed": 1}) == key("check", {"seed": 1})
    False
    """
    made = json.dumps([kind, canonical(parts)], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(made.encode("utf-8", "surrogatepass")).hexdigest()


def canonical(value: Any, where: str = "parts") -> Any:
    """The canonical form of a value: JSON data that is the same for the same content.

    Arrays become their hash, frozen data the name of their class with their fields (without cached values). Other
    objects become the result of their ``content``, functions their name, and partial calls function and arguments.
    TypeError names a value without such a form.

    >>> import numpy as np
    >>> canonical(np.zeros(2)) == canonical(np.zeros(2)), canonical(np.zeros(2)) == canonical(np.zeros((2, 1)))
    (True, False)
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return float(value) if isinstance(value, float) else value  # NumPy's float64 is a float
    if isinstance(value, PurePath):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        own = {f.name: canonical(getattr(value, f.name), f"{where}.{f.name}") for f in fields(value)}
        return {"class": f"{kind.__module__}.{kind.__qualname__}", "fields": own}
    if isinstance(value, partial):
        call = {"function": value.func, "arguments": value.args, "named": value.keywords}
        return canonical(call, where)
    if hasattr(value, "cache_info"):  # a cached function
        value = value.__wrapped__
    if isinstance(value, FunctionType) and "<" not in value.__qualname__:
        return {"function": f"{value.__module__}.{value.__qualname__}"}
    if hasattr(value, "content") and not isinstance(value, type):
        return canonical(value.content(), where)
    if isinstance(value, Mapping):
        return {str(k): canonical(v, f"{where}[{k!r}]") for k, v in value.items()}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, (list, tuple)):
        return [canonical(v, f"{where}[{i}]") for i, v in enumerate(value)]
    if hasattr(value, "indptr"):  # compressed sparse rows
        parts = {name: canonical(getattr(value, name)) for name in ("data", "indices", "indptr")}
        return {"sparse": parts, "shape": list(value.shape)}
    if hasattr(value, "dtype") and hasattr(value, "tobytes") and not value.dtype.hasobject:
        bytes_ = hashlib.sha256(value.tobytes()).hexdigest()
        return {"array": bytes_, "shape": list(value.shape), "type": str(value.dtype)}
    raise TypeError(f"{where} is a {type(value).__name__}, which has no canonical form")
