"""Configurations: their cells, and all their faults in one message."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

from dpfl_theory.errors import InputError
from dpfl_theory.problems import families
from dpfl_theory.recommend.tuned import tuned
from dpfl_theory.runtime.keys import key as made_of
from dpfl_theory.sweep.algorithms import algorithms
from dpfl_theory.sweep.config import inside, read, schema, with_assignments
from dpfl_theory.sweep.design import designed
from dpfl_theory.sweep.problems import problems
from dpfl_theory.sweep.run import parts_of, planned

BASE: dict[str, Any] = {"problem": {"name": "quadratic"}, "algorithm": {"name": "dp-fedavg"}}
EXAMPLES = Path(__file__).parents[2] / "examples"


def refused(config: dict[str, Any], sweep: bool = True) -> str:
    with pytest.raises(InputError) as found:
        planned(config, sweep=sweep)
    return str(found.value)


def test_registries_are_whole() -> None:
    assert set(problems()) == {*families(), "data"}
    assert set(algorithms()) > set(tuned())
    for name, kind in algorithms().items():
        assert kind(name=name).name == name  # every hyper-parameter has a usual value
        assert set(kind.shared) <= set(kind.model_fields)


def test_a_grid_a_list_and_several_tables_are_combined() -> None:
    config = {
        "problem": [{"name": "quadratic"}, {"name": "huber", "clients": 3}],
        "algorithm": [{"name": "dp-fedavg"}, {"name": "scaffold"}],
        "grid": {"eta": [0.1, 0.2], "seed": [3, 4]},
        "list": [{"rounds": 5, "replicates": 2}, {"rounds": 7, "replicates": 3}],
    }
    cells = designed(config).cells
    assert len(cells) == 2 * (2 * 2 * 2 + 2 * 2)  # scaffold has no eta: its cells do not differ by it
    assert {(c.common.rounds, c.common.replicates) for c in cells} == {(5, 2), (7, 3)}
    assert {c.common.seed for c in cells} == {3, 4}
    assert designed({**config, "grid": {"problem": {"heterogeneity": [0, 1]}}}).axes[0] == "problem.heterogeneity"


def test_names_of_algorithms_and_problems_may_vary() -> None:
    grid = {"algorithm.name": ["fedavg", "scaffnew"], "problem.name": ["quadratic", "huber"], "eta": [0.1]}
    cells = designed({"grid": grid}).cells
    assert [(c.algorithm.name, c.problem["name"]) for c in cells] == [
        ("fedavg", "quadratic"),
        ("fedavg", "huber"),
        ("scaffnew", "quadratic"),
        ("scaffnew", "huber"),
    ]


def test_equal_cells_are_one() -> None:
    assert len(designed({**BASE, "grid": {"eta": [0.1, 0.2, 0.1]}}).cells) == 2


def test_a_sobol_design_is_the_one_of_scipy() -> None:
    ranges = {
        "eta": {"low": 0.01, "high": 1.0, "scale": "log"},
        "C": {"low": 0.5, "high": 2.0},
        "E": {"low": 1, "high": 9, "whole": True},
    }
    cells = designed({**BASE, "sobol": {"points": 24, "seed": 7, "ranges": ranges}}).cells
    points = qmc.Sobol(3, scramble=True, rng=7).random(32)[:24]
    for cell, (u, v, w) in zip(cells, points, strict=True):
        model: Any = cell.algorithm
        assert math.isclose(model.eta, 0.01 * 100**u, rel_tol=1e-12)
        assert math.isclose(model.C, 0.5 + 1.5 * v, rel_tol=1e-12)
        assert round(1 + 8 * w) == model.E
    again = designed({**BASE, "sobol": {"points": 24, "seed": 8, "ranges": ranges}}).cells
    assert [c.algorithm for c in again] != [c.algorithm for c in cells]
    spread = np.array([math.log(c.algorithm.eta, 100) + 1 for c in cells])  # type: ignore[attr-defined]
    assert qmc.discrepancy(spread[:, None]) < 0.01  # 24 random points have about 0.02


def test_all_faults_are_told_at_once() -> None:
    text = refused(
        {
            "problem": {"name": "quadratic", "client": 3, "dimension": 2.5},
            "algorithm": {"name": "dp-fedavg", "etaa": 0.1, "C": -1},
            "rounds": 0,
            "roundz": 3,
            "grid": {"sigma": [0.1, -0.5], "seed": []},
            "observe": ["subopt"],
            "privacy": {"epsilon": "3"},
        }
    )
    lines = text.splitlines()
    assert lines[0] == "the configuration has 10 faults:"
    assert [line.strip() for line in lines[1:]] == [
        "roundz is 3: there is no such key; did you mean 'rounds'?",
        "grid.seed is []: it is not a list of values; put them in brackets",
        "problem.dimension is 2.5: it is not a whole number; give one, without a fraction",
        "problem.client is 3: there is no such key; did you mean 'clients'?",
        "algorithm.C is -1: it must be above 0; give a larger number",
        "algorithm.etaa is 0.1: there is no such key; did you mean 'eta'?",
        "rounds is 0: it must be at least 1; give a larger number",
        "observe[0] is 'subopt', which is unknown: did you mean 'suboptimality'?",
        "privacy.epsilon is '3': it is not a number; give one",
        "grid.sigma is -0.5: it must be at least 0; give a larger number",
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "problem is missing: give a table with a name, such as problem.name = 'quadratic'"),
        ({**BASE, "problem": {"name": "quadratc"}}, "which is unknown: did you mean 'quadratic'?"),
        ({**BASE, "algorithm": {"name": "dp-fedvag"}}, "which is unknown: did you mean 'dp-fedavg"),
        ({**BASE, "problem": 3}, "problem is 3: it is not a table; give keys and values"),
        ({**BASE, "problem": {"data": "nowhere.csv"}}, "problem.data is 'nowhere.csv': there is no such file"),
        ({**BASE, "grid": {"gama": [1.0]}}, "grid.gama is 1.0: no algorithm of this sweep has such a key"),
        ({**BASE, "grid": {"eta": [1.0]}, "list": [{"eta": 2.0}]}, "eta is varied twice"),
        ({**BASE, "replicates": 0}, "replicates is 0: it must be at least 1; give a larger number"),
        ({**BASE, "algorithm": {"name": "dp-fedavg", "eta": math.nan}}, "algorithm.eta is nan"),
        ({**BASE, "algorithm": {"name": "dp-fedavg", "eta": True}}, "algorithm.eta is True: it is not a number"),
        ({**BASE, "statements": ["das2022.theorem4"]}, "did you mean 'das2022.theorem4"),
        ({**BASE, "statements": ["hou2023.theorem1"]}, "it does not concern runs of dp-fedavg"),
        ({**BASE, "statements": ["das2022.theorem4a"], "every": 2}, "concerns all rounds; leave every at 1"),
        ({**BASE, "sobol": {"points": 3, "ranges": {"eta": {"low": 0.0, "high": 1.0, "scale": "log"}}}}, "logarithmic"),
        (
            {**BASE, "grid": {"eta": [0.1] * 2000, "seed": list(range(2000))}},
            "makes 4000000 cells: at most 1000000 are allowed",
        ),
    ],
)
def test_a_fault_is_told_with_its_remedy(config: dict[str, Any], message: str) -> None:
    assert message in refused(config)


def test_a_design_is_for_sweeps() -> None:
    assert "grid is {'eta': [0.1]}: there is no such key; that is for dpfl-theory sweep" in refused(
        {**BASE, "grid": {"eta": [0.1]}}, sweep=False
    )


def test_the_command_line_goes_before_the_file() -> None:
    found = with_assignments(
        {"rounds": 3, "problem": {"name": "huber"}}, ["rounds=5", "problem.clients=4", "output=a b.csv"]
    )
    assert found == {"rounds": 5, "problem": {"name": "huber", "clients": 4}, "output": "a b.csv"}
    with pytest.raises(InputError, match="is not an assignment"):
        with_assignments({}, ["rounds"])
    with pytest.raises(InputError, match="is not a table"):
        with_assignments({"rounds": 3}, ["rounds.x=1"])


@pytest.mark.parametrize("content", [b"a = ", b"\xff\xfe", b"a = 1\na = 2", b"[[" * 2000])
def test_what_is_no_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "c.toml"
    file.write_bytes(content)
    with pytest.raises(InputError, match="is not a TOML file"):
        read(file)


@pytest.mark.parametrize("name", ["../x.csv", "/tmp/x.csv", "a/../../x.csv", "", "..", "x\0.csv", "out/x.csv"])
def test_a_configuration_writes_into_the_output_folder_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "out").symlink_to(tmp_path)
    with pytest.raises(InputError, match="output is"):
        inside(name, tmp_path / "inner")
    assert inside("x.csv", tmp_path / "inner") == tmp_path / "inner" / "x.csv"


def test_the_schema_names_every_key() -> None:
    found = schema(sweep=True)
    assert {"problem", "algorithm", "grid", "list", "sobol", "rounds", "statements"} <= set(found["properties"])
    assert found["additionalProperties"] is False
    named = {d["properties"]["name"]["const"] for d in found["$defs"].values() if "name" in d.get("properties", {})}
    assert named == {*families(), *algorithms()}
    assert "grid" not in schema(sweep=False)["properties"]


def test_examples_are_valid() -> None:
    assert len(planned(read(EXAMPLES / "simulate.toml"), sweep=False).cells) == 1
    assert len(planned(read(EXAMPLES / "sweep.toml")).cells) == 30


def test_a_key_changes_with_all_that_its_numbers_rest_on(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("a,label\n1,0\n2,1\n3,0\n4,1\n")
    base = {"problem": {"data": str(data), "clients": 2}, "algorithm": {"name": "fedavg", "eta": 0.1}}

    def key(config: dict[str, Any]) -> str:
        return made_of("cell", parts_of(designed(config).cells[0]))

    first = key(base)
    assert key(json.loads(json.dumps(base))) == first
    changed = [{**base, "seed": 1}, {**base, "replicates": 3}, {**base, "algorithm": {"name": "fedavg", "eta": 0.2}}]
    keys = {first, *map(key, changed)}
    data.write_text("a,label\n1,0\n2,1\n3,0\n5,1\n")
    keys.add(key(base))
    assert len(keys) == 5
