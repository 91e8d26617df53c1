"""Keys: equal for the same content, different for every difference."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dpfl_theory.problems import make
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.keys import key
from dpfl_theory.runtime.slots import Slot, state_of

DIFFERENT: list[Any] = [
    0,
    False,
    "0",
    None,
    [],
    {},
    [0],
    0.1,
    float("inf"),
    float("nan"),
    Path("a/b"),
    np.zeros(2),
    np.zeros(2, dtype=np.float32),
    np.zeros((1, 2)),
    np.array([0.0, -0.0]),
    np.zeros(2, dtype=np.int64),
    sparse.csr_array(np.eye(2)),
    sparse.csr_array(np.eye(3)),
    make("quadratic", clients=2, dimension=2, seed=1),
    make("quadratic", clients=2, dimension=2, seed=2),
    make("logistic-synthetic", clients=2, dimension=2, records=6),
    make("logistic-synthetic", clients=2, dimension=2, records=6, ridge=0.1),
]


def test_what_differs_has_another_key() -> None:
    keys = [key("cell", {"value": value}) for value in DIFFERENT]
    assert len(set(keys)) == len(DIFFERENT)


def test_what_is_the_same_has_the_same_key_in_every_process() -> None:
    here = key("cell", {"b": [1, 2.5], "a": {"x": "ü", "y": None}})
    assert here == key("cell", {"a": {"y": None, "x": "ü"}, "b": (1, np.float64(2.5))})
    code = "from dpfl_theory.store import key; print(key('cell', {'a': {'y': None, 'x': 'ü'}, 'b': [1, 2.5]}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == here
    assert here != key("check", {"b": [1, 2.5], "a": {"x": "ü", "y": None}})


def test_what_was_computed_of_a_problem_does_not_matter() -> None:
    problem = make("quadratic", clients=2, dimension=2, seed=1)
    before = key("recommend", {"problem": problem})
    assert problem.constants.L_max > 0.0
    assert key("recommend", {"problem": problem}) == before


def test_what_has_no_canonical_form_is_refused() -> None:
    for strange in (object(), Fraction(1, 3), np.array([object()]), {1, 2}):
        with pytest.raises(TypeError, match=r"parts\['x'\]\[1\] is a "):
            key("cell", {"x": [0, strange]})


def test_a_result_is_not_kept_where_sources_changed_meanwhile(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "module.py").write_text("X = 1\n")
    with Store(tmp_path / "evidence.sqlite") as store:
        slot = Slot(store, "cell", "one", {"seed": 1}, watched={folder: state_of(folder)})
        assert slot.keep([1.5, float("inf"), np.arange(2)]) == ""
        assert slot.take() == [1.5, float("inf"), [0, 1]]
        (folder / "module.py").write_text("X = 2  # edited while it ran\n")
        other = replace(slot, parts={"seed": 2})
        assert "changed while this ran" in other.keep([2.5])
        assert other.take() is None
        (folder / "new").mkdir()
        was = state_of(folder)
        (folder / "new" / "more.py").write_text("")
        assert state_of(folder) != was
        was = state_of(folder / "module.py")
        (folder / "module.py").write_text("")
        assert state_of(folder / "module.py") != was != state_of(folder / "none.py")
