"""Results of sweeps: rows, bounds of statements, files, figures, and cost estimates."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfl_theory as dpfl
from dpfl_theory.cli import main
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import account
from dpfl_theory.privacy.mechanisms import get
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Problem
from dpfl_theory.sweep.bounds import spoken_of
from dpfl_theory.sweep.plot import assigned, draw
from dpfl_theory.sweep.table import Table, load
from dpfl_theory.validation.style import render

HUBER = {"name": "huber", "clients": 20, "dimension": 3, "heterogeneity": 0.3}


def row_of(problem: dict[str, Any], algorithm: dict[str, Any], **more: Any) -> dict[str, Any]:
    config = {"problem": problem, "algorithm": algorithm, "replicates": 4, "rounds": 50, **more}
    (row,) = dpfl.sweep(config).rows
    assert row["status"] == "done", row["cause"]
    return row


def test_the_certified_epsilon_is_the_accountants() -> None:
    row = row_of(HUBER, {"name": "dp-fedavg", "C": 0.8, "sigma": 0.11}, privacy={"delta": 1e-6})
    kind: Any = get("dp-fedavg")
    run = kind(clients=20, noise="per-client", rounds=50, noise_multiplier=20 * 0.11 / 0.8)
    assert row["epsilon"] == pytest.approx(account(run, delta=1e-6).epsilon.high, rel=1e-8)
    assert row_of(HUBER, {"name": "dp-fedavg"})["epsilon"] is None
    calibrated = row_of(HUBER, {"name": "dp-scaffnew", "p": 0.5}, privacy={"epsilon": 3.0})
    assert 2.99 < calibrated["epsilon"] <= 3.0


def test_theorem_4_of_das2022_is_evaluated_as_it_stands() -> None:
    algorithm = {"name": "dp-fedavg", "eta": 0.02, "C": 3.0, "E": 2, "sigma": 0.1}
    row = row_of(HUBER, algorithm, statements=["das2022.theorem4a"])
    problem: Problem = make(**{**{k: v for k, v in HUBER.items() if k != "name"}, "kind": "huber"})
    c = problem.constants
    assert c.w_star is not None
    rho = 0.1 * math.sqrt(3 / 50) / 3.0
    alpha, G = rho / (2 * 0.02 * c.L_max), 3.0 / 2
    gamma = 50 * 3.0 * rho**2 / (2 * alpha)
    x = rho * 2 / alpha
    D, Delta = float(np.linalg.norm(c.w_star)), float(c.delta_i_star.mean())
    bound = G * (c.L_max * D**2 / gamma + gamma / c.L_max) * rho + 1.5 * 2 / alpha * Delta * rho
    measured = (2 - x - x**2) * row["suboptimality_average"]
    assert row["das2022.theorem4a:bound"] == pytest.approx(bound, rel=1e-12)
    assert row["das2022.theorem4a:measured"] == pytest.approx(measured, rel=1e-12)
    assert row["das2022.theorem4a:ratio"] == pytest.approx(measured / bound, rel=1e-12)
    error = (2 - x - x**2) * row["suboptimality_average_error"]
    assert row["das2022.theorem4a:measured_error"] == pytest.approx(error, rel=1e-9)
    assert row["das2022.theorem4a:limit"] == pytest.approx(bound / (2 - x - x**2), rel=1e-12)
    assert row["das2022.theorem4a:of"] == "suboptimality_average"
    assert row["das2022.theorem4a:met"] is False  # alpha is below 1
    assert "alpha >= 1" in row["das2022.theorem4a:hypotheses"]
    inside = row_of(HUBER, {**algorithm, "eta": 0.004}, statements=["das2022.theorem4a"])
    assert (inside["das2022.theorem4a:met"], inside["das2022.theorem4a:hypotheses"]) == (True, "met")
    assert 0 < inside["das2022.theorem4a:ratio"] < 1
    other = row_of(HUBER, {**algorithm, "eta": 0.004, "beta": 0.008}, statements=["das2022.theorem4a"])
    assert "beta = 0.008 is not eta = 0.004" in other["das2022.theorem4a:hypotheses"]


def test_theorem_1_of_hou2023_is_evaluated_as_it_stands() -> None:
    table = {"name": "quadratic", "clients": 4, "dimension": 3}
    row = row_of(
        table, {"name": "dp-scaffnew", "eta": 0.5, "p": 0.5, "C": 50.0, "sigma": 0.1}, statements=["hou2023.theorem1"]
    )
    problem = make("quadratic", clients=4, dimension=3)
    c = problem.constants
    assert c.w_star is not None
    theta = max(1 - c.mu_min * 0.5, 1 - 0.25)
    psi = 4 * float(c.w_star @ c.w_star) + float(np.sum(problem.gradients_at_star**2))
    bound = theta**50 * psi + 0.5 * 4 * 3 * 0.01 / (1 - theta)
    assert row["hou2023.theorem1:bound"] == pytest.approx(bound, rel=1e-9)
    assert row["hou2023.theorem1:met"] is None
    assert "clipping to C = 50 was never active" in row["hou2023.theorem1:hypotheses"]
    assert 0 < row["hou2023.theorem1:ratio"] < 1
    quiet = row_of(table, {"name": "scaffnew", "eta": 0.5, "p": 0.5}, statements=["hou2023.theorem1"])
    assert quiet["hou2023.theorem1:bound"] == pytest.approx(theta**50 * psi, rel=1e-9)
    assert quiet["hou2023.theorem1:met"] is True


def test_theorem_2_of_shulgin2025_is_evaluated_as_it_stands() -> None:
    parameters = {"gamma": 0.02, "beta": 0.05, "alpha": 0.4, "sigma": 0.3}
    table = {"name": "quadratic", "clients": 4, "dimension": 3}
    row = row_of(
        table,
        {"name": "dp-norm-ec", **parameters},
        statements=["shulgin2025.theorem2"],
        series=True,
        observe=["gradient-norm"],
    )
    problem = make("quadratic", clients=4, dimension=3)
    c, zero = problem.constants, np.zeros(3)
    R = max(float(np.linalg.norm(problem.client_gradient(i, zero))) for i in range(4))
    gap = problem.value(zero) - c.f_star
    bound = gap / (0.02 * 50) + 2 * R + c.L_f * 0.02 / 2 + 2 * 0.05 * math.sqrt(50 * 3 * 0.09 / 4)
    assert row["shulgin2025.theorem2:bound"] == pytest.approx(bound, rel=1e-9)
    least = min(row["series"]["gradient-norm"]["mean"][:50])
    assert row["shulgin2025.theorem2:measured"] == pytest.approx(least, rel=1e-12)


def test_every_statement_that_is_offered_can_be_evaluated() -> None:
    for name, parameters in {
        "dp-fedavg": {"C": 3.0, "sigma": 0.1},
        "dp-normfedavg": {"C": 3.0, "sigma": 0.1},
        "dp-scaffnew": {"sigma": 0.1},
        "dp-norm-ec": {"sigma": 0.1},
    }.items():
        ids = spoken_of(name)
        assert ids
        row = row_of({**HUBER, "ridge": 0.1}, {"name": name, **parameters}, statements=ids)
        assert all(math.isfinite(row[f"{id_}:bound"]) for id_ in ids)
        assert all(row[f"{id_}:hypotheses"] for id_ in ids)


def test_own_data_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 2))
    np.savez(tmp_path / "d.npz", x=x, y=(x[:, 0] > 0).astype(int), client=np.arange(30) % 3)
    lines = ["a,b,label,client", *(f"{a},{b},{int(a > 0)},{i % 3}" for i, (a, b) in enumerate(x.tolist()))]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    rows = [
        row_of({"data": str(tmp_path / name), "ridge": 0.1}, {"name": "fedavg", "eta": 0.5})
        for name in ("d.npz", "d.csv")
    ]
    assert rows[0]["suboptimality"] == pytest.approx(rows[1]["suboptimality"], rel=1e-9)


@pytest.fixture(scope="module")
def results() -> Table:
    algorithms = [{"name": "dp-fedavg", "C": 3.0, "sigma": 0.1}, {"name": "dp-normfedavg", "C": 3.0, "sigma": 0.1}]
    return dpfl.sweep(
        {
            "problem": HUBER,
            "algorithm": algorithms,
            "rounds": 8,
            "replicates": 3,
            "every": 1,
            "series": True,
            "statements": ["das2022.theorem4a"],
            "grid": {"eta": [0.002, 0.004, 0.1]},
        }
    )


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_files_hold_the_rows_and_what_they_rest_on(results: Table, tmp_path: Path, name: str) -> None:
    written = results.write(tmp_path / name)
    assert [path.name for path in written] == [name, name.replace("r.", "r-rounds.")]
    again = load(written[0])
    assert again.metadata == results.metadata
    assert {"numpy", "numba", "dpfl-theory"} <= set(again.metadata["versions"])
    assert again.metadata["configuration"]["problem"] == HUBER
    assert again.columns == results.columns
    for row, own in zip(again.rows, results.rows, strict=True):
        assert {n: v for n, v in row.items() if v is not None} == {
            n: v for n, v in own.items() if n != "series" and v is not None
        }
    lines = load(written[1]).rows
    assert len(lines) == 6 * 9
    assert [line["suboptimality"] for line in lines if line["cell"] == 4] == results.rows[4]["series"]["suboptimality"][
        "mean"
    ]
    assert lines[8]["round"] == 8


def test_whole_numbers_that_are_no_counts_are_read_as_floats(results: Table, tmp_path: Path) -> None:
    """A number of 400 digits in an edited file is infinite, and the largest seed stays an integer."""
    place = tmp_path / "steps.csv"
    results.write(place)
    head, _, rest = place.read_text().partition("\n")
    names, first, *others = csv.reader(io.StringIO(rest))
    values = dict(zip(names, first), seed=str(2**64 - 1), suboptimality="9" * 400)
    with place.open("w") as file:
        file.write(f"{head}\n")
        csv.writer(file).writerows([names, list(values.values()), *others])
    found = load(place).rows[0]
    assert (found["seed"], found["suboptimality"]) == (2**64 - 1, math.inf)
    assert draw(load(place), "eta", "suboptimality").axes


def test_files_that_hold_no_results_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no")
    for name in ("x.csv", "x.parquet"):
        with pytest.raises(InputError, match="has no results of a sweep"):
            load(tmp_path / name)
    with pytest.raises(InputError, match=r"ends in \.csv or \.parquet"):
        load(tmp_path / "x.txt")


def test_a_figure_shows_means_errors_and_bounds_inside_the_hypotheses(results: Table) -> None:
    figure = draw(results, "eta", "das2022.theorem4a:measured", "algorithm")
    (ax,) = figure.axes
    solid, dashed = (
        [line for line in ax.lines if line.get_linestyle() == style and len(line.get_xdata()) > 1]
        for style in ("-", "--")
    )
    means = {tuple(line.get_ydata()) for line in solid}
    assert means == {tuple(row["das2022.theorem4a:measured"] for row in results.rows[:3])}
    (bound,) = dashed
    inside = [row for row in results.rows[:3] if row["das2022.theorem4a:met"]]
    assert [row["eta"] for row in inside] == [0.002, 0.004]  # at 0.1 alpha is below 1
    assert list(bound.get_ydata()) == [row["das2022.theorem4a:bound"] for row in inside]
    averages = draw(results, "eta", "suboptimality_average", "algorithm").axes[0]
    limits = [row["das2022.theorem4a:limit"] for row in inside]
    assert [list(line.get_ydata()) for line in averages.lines if line.get_linestyle() == "--"] == [limits]
    assert set(render(figure)) == {"png", "svg"}
    assert draw(results, "eta", "suboptimality", None, ["logx"]).axes[0].get_xscale() == "log"


def test_a_figure_of_what_is_not_there_is_refused(results: Table) -> None:
    for words, reported in (
        (["y=suboptimality"], "a plot needs x"),
        (["x=eta", "y=a", "z=3"], "'z=3' is not a plot option"),
    ):
        with pytest.raises(InputError, match=reported):
            assigned(words)
    with pytest.raises(InputError, match="did you mean 'suboptimality'"):
        draw(results, "eta", "suboptimallity")
    with pytest.raises(InputError, match="no finished cell has a number"):
        draw(results, "eta", "algorithm")


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "problem.name=quadratic", "--set", "algorithm.name=dp-fedavg", "--set", "algorithm.sigma=0.1"]
    assert main(["simulate", *words, "--output", str(tmp_path / "one.csv")]) == 0
    out = capsys.readouterr().out
    assert "is the certified epsilon at delta = 1e-05, for one client" in out
    assert [line.split()[0] for line in out.splitlines()[-2:]] == ["91", "100"]
    assert len(load(tmp_path / "one-rounds.csv").rows) == 101
    assert (
        main(["simulate", *words, "--set", "algorithm.eta=50", "--set", "algorithm.C=1e90", "--set", "rounds=400"]) == 1
    )
    assert "diverged in 16 of 16 replicates, the first after round" in capsys.readouterr().out
    for command in ("simulate", "sweep"):
        assert main([command, "--schema"]) == 0
        assert json.loads(capsys.readouterr().out)["type"] == "object"
    sweep = ["sweep", *words, "--set", "grid.eta=[0.1,0.2]", "--set", "rounds=5"]
    named = ["--set", "output=named.parquet", "--folder", str(tmp_path)]
    assert main([*sweep, *named]) == 0
    capsys.readouterr()
    figure = tmp_path / "f.svg"
    plot = ["sweep", "plot", str(tmp_path / "named.parquet"), "x=eta", "y=suboptimality", "--output", str(figure)]
    assert main(plot) == 0
    assert figure.read_bytes().startswith(b"<?xml")
    assert main([*sweep, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == ["cells", "packs", "operations", "time", "memory"]
    assert out.splitlines()[0].split()[1] == "2"
    for refused in (
        [*sweep, "--set", "output=../x.csv"],
        [*sweep, "--output", str(tmp_path / "x.txt")],
        [*sweep, "--limit", "-1"],
        [*sweep, "--pack", "0"],
        [*sweep, "--set", "algorithm.etaa=1"],
        ["sweep", "plot"],
        ["sweep", "nowhere.toml"],
        ["simulate", "nowhere.toml"],
        ["sweep", str(tmp_path), "more"],
    ):
        assert main(refused) == 2, refused
