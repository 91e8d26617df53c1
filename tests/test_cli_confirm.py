"""`dpfl-theory recommend --confirm`: a table, JSON and a figure of a recommendation's neighbourhood, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recommend.cases import INPUTS

from dpfl_theory.cli import main
from dpfl_theory.recommend import compare, recommend
from dpfl_theory.recommend.search import Plan
from dpfl_theory.runtime import threads
from dpfl_theory.runtime.console import option

Output = pytest.CaptureFixture[str]
TINY = Plan(points=16, replicates=2, generations=2, finalists=3, second=6, best=2, third=8, last=16)
RULE: dict[str, Any] = {
    "clients": 10,
    "dim": 4,
    "smoothness": 1.0,
    "smoothness_max": 1.0,
    "gap": 3.0,
    "residual": 3.0,
    "alpha": 0.1,
    "rounds": 20,
    "epsilon": 8.0,
    "delta": 1e-5,
}
COMMAND = ["recommend", "--algorithm", "dp-norm-ec", "--rule", "printed"]
GIVEN = [text for name, value in RULE.items() for text in (option(name), str(value))]


def test_json_is_the_packages_answer(capsys: Output) -> None:
    assert main([*COMMAND, *GIVEN, "--confirm", "--seed", "3", "--format", "json"]) == 0
    described = json.loads(capsys.readouterr().out)
    (found,) = described["confirmed"]
    expected = recommend("dp-norm-ec", "printed", **RULE, confirm=True, seed=3)
    assert found["lines"] == json.loads(json.dumps(expected["confirmed"][0]["lines"]))
    assert [line["hyperparameter"] for line in found["lines"]] == ["gamma", "beta", "alpha", "rounds"]
    assert (found["statement"], found["replicates"], found["false_alarms"]) == ("shulgin2025.theorem2", 64, 0.01)
    other = recommend("dp-norm-ec", "printed", **RULE, confirm=True, seed=4)["confirmed"][0]
    assert other["lines"][0]["bound"] == found["lines"][0]["bound"]
    assert other["lines"][0]["mean"] != found["lines"][0]["mean"]


def test_the_table_says_where_both_optima_lie_and_how_sure_that_is(capsys: Output) -> None:
    assert main([*COMMAND, *GIVEN, "--confirm"]) == 0
    out = capsys.readouterr().out
    expected = recommend("dp-norm-ec", "printed", **RULE, confirm=True)["confirmed"][0]
    for line in expected["lines"]:
        assert line["sentence"] in out
        table = out[out.index("around this choice") :].splitlines()
        (row,) = (text for text in table if text.startswith(f"{line['hyperparameter']:12} "))
        assert f"{line['recommended']:.3g}" in row
        assert f"{line['measured_least']:.3g}" in row
    assert "bound: shulgin2025.theorem2, min_k E||grad f(x^k)|| over k = 0..K [F/X]" in out
    assert f"a ratio of {expected['cost']['ratio']:.3g}" in out
    assert "with probability at most 0.01, for all comparisons together" in out
    assert main([*COMMAND, *GIVEN]) == 0
    assert "around this choice" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_neighbourhood_is_drawn(tmp_path: Path, capsys: Output) -> None:
    for name, begins in (("found.svg", b"<?xml"), ("found.png", b"\x89PNG")):
        assert main([*COMMAND, *GIVEN, "--confirm", "--figure", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes().startswith(begins)
    capsys.readouterr()
    assert main([*COMMAND, *GIVEN, "--figure", str(tmp_path / "other.svg")]) == 2
    assert "or also give --confirm" in capsys.readouterr().err


@pytest.mark.slow
def test_every_row_of_a_comparison_that_has_a_bound_is_confirmed(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "usual", lambda problem: TINY)
    monkeypatch.setattr(threads, "usable_cores", lambda: 1)
    command = ["recommend", "--data", "breast-cancer", "--features", "2", "--clients", "4", "--epsilon", "8", "--delta"]
    command += ["1e-5", "--rounds", "4", "--unit", "record", "--confirm", "--figure", str(tmp_path / "f.svg")]
    assert main([*command, "--format", "json"]) == 0
    described = json.loads(capsys.readouterr().out)
    rows = [row for row in described["algorithms"] if not row["name"].startswith("dp-sgd")]
    assert [found["algorithm"] for found in described["confirmed"]] == [row["name"] for row in rows]
    for found, row in zip(described["confirmed"], rows, strict=True):
        assert found["hyperparameters"] == row["hyperparameters"]
        assert found["false_alarms"] == pytest.approx(0.01 / len(rows))
        for line in found["lines"]:
            if line["hyperparameter"] == "rounds":
                assert max(line["values"]) <= 4
    assert (tmp_path / "f.svg").exists()
    assert (tmp_path / "f-confirmed.svg").exists()


def options(algorithm: str) -> list[str]:
    return [text for name, value in INPUTS[algorithm].items() for text in (option(name), str(value))]


REFUSED = {
    "no bound": (
        ["--algorithm", "dp-clip21", "--data", "breast-cancer", "--clients", "4", "--epsilon", "1", "--delta", "1e-5"],
        "there is no bound of dp-clip21 to confirm: leave --confirm out",
    ),
    "records": (
        ["--algorithm", "dp-scaffold", "--rule", "printed", *options("dp-scaffold")],
        "to confirm by runs: give --data",
    ),
    "rho": (
        ["--algorithm", "dp-normfedavg", "--rule", "printed", *options("dp-normfedavg")],
        "--confirm certifies the noise of runs: give --epsilon, --delta and --constant, not --rho",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_where_there_is_nothing_to_confirm_that_is_said(case: str, capsys: Output) -> None:
    arguments, sentence = REFUSED[case]
    assert main(["recommend", *arguments, "--confirm"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert [line for line in err.splitlines() if not line.startswith("recommend: ")] == [err.splitlines()[-1]]
