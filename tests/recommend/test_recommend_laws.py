"""Laws that every algorithm's recommendation obeys: a new algorithm gets these tests automatically."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recommend.cases import INPUTS

import dpfl_theory
from dpfl_theory import statements
from dpfl_theory.core.prose import plain
from dpfl_theory.errors import InputError
from dpfl_theory.recommend import get, recommend, rules, settings
from dpfl_theory.recommend.inputs import inputs_of

every = pytest.mark.parametrize("algorithm", sorted(INPUTS))

# The unit (F, X) of everything that is recommended; 'bound' and 'terms' differ between algorithms.
UNITS: dict[str, dict[str, tuple[int, int]]] = {
    "dp-scaffnew": {"eta": (-1, 2), "psi_0": (0, 2), "bound": (0, 2), "sigma": (0, 1), "trivial": (0, 2)},
    "dp-fedavg": {
        "eta": (-1, 2),
        "beta": (-1, 2),
        "C": (1, -1),
        "gamma": (1, -1),
        "bound": (1, 0),
        "sigma": (1, -1),
        "sigma_of_one_message": (1, -1),
        "trivial": (1, 0),
    },
    "dp-fedavg-two-sided": {
        "eta_l": (-1, 2),
        "c": (0, 1),
        "bound": (2, -2),
        "sigma": (0, 1),
        "trivial": (2, -2),
    },
    "dp-norm-ec": {
        "gamma": (0, 1),
        "beta": (1, -1),
        "beta_0": (1, -1),
        "alpha": (1, -1),
        "bound": (1, -1),
        "trivial": (1, -1),
    },
    "dp-scaffold": {
        "eta_l": (-1, 2),
        "bound": (1, 0),
        "sigma_of_one_step": (1, -1),
        "trivial": (1, 0),
    },
}
UNITS["dp-fedavg-record"] = UNITS["dp-scaffold"]
UNITS["dp-normfedavg"] = UNITS["dp-fedavg"]


def _unit(text: str) -> tuple[int, int]:
    """The unit that an input's help states in brackets, (0, 0) without a unit.

    >>> _unit("smoothness constant [F/X^2]"), _unit("variance [F^2/X^2]"), _unit("number of clients")
    ((1, -2), (2, -2), (0, 0))
    """
    found = re.search(r"\[([FX^\d/]+)\]", text)
    powers = {"F": 0, "X": 0}
    for sign, part in zip((1, -1), found[1].split("/") if found else []):
        symbol, _, power = part.partition("^")
        powers[symbol] += sign * int(power or 1)
    return powers["F"], powers["X"]


def _numbers(document: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """Every number of a recommendation by path, with the name that decides its unit."""
    found: dict[str, tuple[str, Any]] = {}

    def walk(value: Any, path: str, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                inside = "bound" if key == "terms" else key
                walk(inner, f"{path}/{key}", name if name == "bound" else inside)
        elif isinstance(value, (int, float)):
            found[path] = (name, value)

    walk({k: v for k, v in document.items() if k != "inputs"}, "", "")
    return found


def test_every_algorithm_is_tried() -> None:
    assert sorted(INPUTS) == sorted(settings())
    assert list(rules()) == ["bound-optimal", "printed"]


@every
def test_the_shape(algorithm: str) -> None:
    found = recommend(algorithm, "printed", **INPUTS[algorithm])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["algorithm"] == algorithm
    assert found["rule"] == "printed"
    assert found["inputs"].items() >= INPUTS[algorithm].items()
    certificate = found["certificate"]
    assert set(certificate) >= {"reason", "bounds", "applies", "vacuous", "trivial", "statements"}
    assert certificate["applies"], certificate
    for cited in certificate["statements"]:
        statement = statements.get(cited["id"])
        assert cited["verdict"] == statement.expected
        assert (cited["erratum"] is None) == (statement.erratum is None)
        assert (cited["remark"] is None) == (statement.remark is None)
        assert (cited["provenance"], cited["reading"] or "") == (statement.provenance, plain(statement.reading))
    assert found["noise"]["calibration"] == "paper"
    counts = [found[name] for name in ("iterations", "rounds") if name in found]
    assert counts
    assert all(isinstance(n, int) and n >= 1 for n in counts)


@every
def test_the_package_is_the_function(algorithm: str) -> None:
    assert dpfl_theory.recommend(algorithm, "printed", **INPUTS[algorithm]) == recommend(
        algorithm, "printed", **INPUTS[algorithm]
    )


@pytest.mark.exhaustive(keep=4)
@every
@given(power_f=st.integers(-3, 3), power_x=st.integers(-3, 3))
def test_it_scales_with_the_units(algorithm: str, power_f: int, power_x: int) -> None:
    """f -> 4^a f and x -> 4^b x: every number scales with its unit, and counts and probabilities stay."""
    c, a = 4.0**power_f, 4.0**power_x  # powers of 4, so that square roots are exact too
    units = {name: _unit(one.text) for name, one in inputs_of(get(algorithm)).items()}
    scaled = {
        name: value * c ** units[name][0] * a ** units[name][1] if units[name] != (0, 0) else value
        for name, value in INPUTS[algorithm].items()
    }
    before, after = (_numbers(recommend(algorithm, "printed", **inputs)) for inputs in (INPUTS[algorithm], scaled))
    assert before.keys() == after.keys()
    for path, (name, value) in before.items():
        f, x = UNITS[algorithm].get(name, (0, 0))
        assert after[path][1] == pytest.approx(value * c**f * a**x, rel=1e-9), path


def test_the_units_of_the_inputs_are_stated() -> None:
    """The law above would be empty if no input had a unit."""
    for kind in settings().values():
        assert sum(_unit(one.text) != (0, 0) for one in inputs_of(kind).values()) >= 4, kind.name


@every
def test_a_missing_input_is_named(algorithm: str) -> None:
    for name, one in inputs_of(get(algorithm)).items():
        if name in INPUTS[algorithm] and not one.optional:
            short = {k: v for k, v in INPUTS[algorithm].items() if k != name}
            with pytest.raises(InputError, match=rf"{algorithm} needs `{name}`: give the "):
                recommend(algorithm, "printed", **short)


@every
def test_a_bad_number_is_refused(algorithm: str) -> None:
    for name, one in inputs_of(get(algorithm)).items():
        if one.kind != "word" and name in INPUTS[algorithm]:
            for bad in (-1.0, math.nan, math.inf, 10**400, True, "3", 0 if one.kind != "nonnegative" else -2):
                with pytest.raises(InputError, match=f"`{name}` is "):
                    recommend(algorithm, "printed", **{**INPUTS[algorithm], name: bad})


def test_numpys_numbers_are_numbers() -> None:
    inputs = {k: v for k, v in INPUTS["dp-scaffnew"].items() if not isinstance(v, str)}
    values = {k: np.int64(v) if isinstance(v, int) else np.float64(v) for k, v in inputs.items()}
    assert json.dumps(recommend("dp-scaffnew", "printed", **values)) == json.dumps(
        recommend("dp-scaffnew", "printed", **inputs)
    )


def test_unknown_names() -> None:
    with pytest.raises(InputError, match="did you mean 'dp-scaffnew'"):
        recommend("dp-scafnew", "printed")
    with pytest.raises(InputError, match="takes no `lipschitz`: it takes `clients`, `dim`"):
        recommend("dp-scaffnew", "printed", lipschitz=1.0)
    with pytest.raises(InputError, match="unknown rule 'print'"):
        recommend("dp-scaffnew", "print")


@pytest.mark.parametrize("change", [{"clip": 1e200}, {"strong_convexity": 1e-90}, {"distance": 1e200}])
def test_what_leaves_double_precision_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(InputError, match="beyond double precision"):
        recommend("dp-scaffnew", "printed", **{**INPUTS["dp-scaffnew"], **change})
