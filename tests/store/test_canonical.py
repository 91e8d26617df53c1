"""Canonical forms in full: the data of which a key is the hash."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dpfl_theory.runtime.keys import canonical, key


@dataclass(frozen=True)
class Point:
    """Data with two fields."""

    x: float
    y: Any = None


class WithContent:
    """Data that names its dependencies."""

    def content(self) -> Any:
        return {"a": 1}


def function() -> None:
    """A function of a module."""


@functools.lru_cache
def remembered() -> None:
    """A cached function."""


HERE = __name__
ARRAY = np.array([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, None),
        (True, True),
        (3, 3),
        ("ü", "ü"),
        (0.5, 0.5),
        (PurePosixPath("a/b"), "a/b"),
        (Path("a"), "a"),
        (Point(1.0, (2, 3)), {"class": f"{HERE}.Point", "fields": {"x": 1.0, "y": [2, 3]}}),
        (WithContent(), {"a": 1}),
        (function, {"function": f"{HERE}.function"}),
        (remembered, {"function": f"{HERE}.remembered"}),
        (
            partial(function, 1, b=2),
            {"function": {"function": f"{HERE}.function"}, "arguments": [1], "named": {"b": 2}},
        ),
        ({"a": [1], 2: (3,)}, {"a": [1], "2": [3]}),
        (range(1, 9, 2), {"range": [1, 9, 2]}),
        ([1, (2, [3])], [1, [2, [3]]]),
        (ARRAY, {"array": hashlib.sha256(ARRAY.tobytes()).hexdigest(), "shape": [1, 2], "type": "float64"}),
    ],
)
def test_forms(value: Any, form: Any) -> None:
    found = canonical(value)
    assert found == form
    assert type(found) is type(form)
    json.dumps(found)


def test_numbers_of_numpy_count_as_those_of_python() -> None:
    assert type(canonical(np.float64(0.5))) is float
    assert canonical(True) is True
    rows = canonical(sparse.csr_array(np.array([[0.0, 2.0]])))
    assert set(rows) == {"sparse", "shape"}
    assert rows["shape"] == [1, 2]
    assert set(rows["sparse"]) == {"data", "indices", "indptr"}
    assert rows["sparse"]["data"]["type"] == "float64"
    assert rows["sparse"]["data"]["array"] == hashlib.sha256(np.array([2.0]).tobytes()).hexdigest()


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({1, 2}, "parts"),
        ([0, {1}], r"parts\[1\]"),
        ({"a": {1}}, r"parts\['a'\]"),
        (Point(1.0, {1}), r"parts\.y"),
        (partial(function, {1}), r"parts\['arguments'\]\[0\]"),
        (lambda: None, "parts"),
        (WithContent, "parts"),
        (Point, "parts"),
        (np.array([None]), "parts"),
        (1j, "parts"),
    ],
)
def test_what_has_no_form_is_named_with_its_place(value: Any, where: str) -> None:
    with pytest.raises(TypeError, match=f"^{where} is a .*, which has no canonical form$"):
        canonical(value)


def test_a_key_is_the_hash_of_kind_and_parts_in_one_order() -> None:
    text = '["cell",{"a":[1,2.5],"b":"ü"}]'
    assert key("cell", {"b": "ü", "a": (1, 2.5)}) == hashlib.sha256(text.encode()).hexdigest()
    assert len(key("cell", {})) == 64
    assert key("cell", {"a": 1}) != key("cell", {"a": 1.5})
