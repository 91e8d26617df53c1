"""No command writes over a file that it reads, by whatever name."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from dpfl_theory.cli import main

RUN = "--set rounds=2 --set algorithm.name=fedavg --set problem.data=mine.csv --set problem.clients=2"
COMMANDS = [
    "simulate mine.csv --output {}",
    f"simulate {RUN} --output {{}}",
    f"sweep {RUN} --set grid.seed=[1,2] --output {{}}",
    "sweep --set rounds=2 --set algorithm.name=fedavg --set 'problem=[{{data=\"mine.csv\",clients=2}}]' --output {}",
    f"sweep {RUN} --set grid.seed=[1,2] --set output=mine.csv",
    "sweep plot mine.csv x=x y=y --output {}",
    "recommend --data mine.csv --epsilon 3 --delta 1e-5 --output {}",
    "recommend --data mine.csv --epsilon 3 --delta 1e-5 --figure {}",
    "plot --file example.py --over eta --check 'K = 1' --data mine.csv --output mine.svg",
    "conform mine:round --as fedavg --output mine.py",
    "conform mine:round --as fedavg --sampler mine.py:round --output mine.py",
]
CONFIG = 'problem = {name = "quadratic"}\nalgorithm = {name = "fedavg"}\n'
EXAMPLE = Path(__file__).parents[1] / "examples" / "private_gradient_descent.py"


@pytest.mark.parametrize("name", ["mine.csv", "./mine.csv", "link.csv"])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_read_is_not_overwritten(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(40))
    Path("mine.csv").write_text(CONFIG if command.startswith("simulate mine") else f"x,y,label\n{rows}")
    for file in ("mine.py", "example.py"):
        Path(file).write_text(EXAMPLE.read_text())
    Path("link.csv").symlink_to("mine.csv")
    before = {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()}
    assert main(shlex.split(command.format(name))) == 2
    assert "is an input of the command and would be overwritten: give another name" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_store_is_not_overwritten_by_its_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "kept.sqlite"
    monkeypatch.setenv("DPFL_THEORY_STORE", str(store))
    assert main(["check", "das2022.lemma9", "--method", "algebra"]) == 0
    before = store.read_bytes()
    assert main(["store", "export", str(store)]) == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert store.read_bytes() == before
