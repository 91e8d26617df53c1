"""The names of parameters that a round may use are in the documentation and in the command's list, and are accepted."""

from __future__ import annotations

from typing import Any

import pytest

from docs.inserts import algorithms
from dpfl_theory.cli import main
from dpfl_theory.conform.references import parameter_names, references
from dpfl_theory.conform.user_function import Subject


def test_the_reference_has_every_name() -> None:
    shown = algorithms.insert()
    for row in parameter_names():
        others = ", ".join(f"`{other}`" for other in row.also) or "–"
        assert f"| `{row.name}` | {others} | {', '.join(row.algorithms)} |" in shown


def test_the_command_lists_every_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--algorithms"]) == 0
    message = capsys.readouterr().out
    for row in parameter_names():
        assert any(line.startswith(f"{row.name} ") and ", ".join(row.also) in line for line in message.splitlines())


@pytest.mark.parametrize("algorithm", references())
def test_a_round_may_ask_by_any_of_the_names(algorithm: str) -> None:
    for row in parameter_names():
        if algorithm in row.algorithms or row.algorithms == ("every algorithm",):
            for other in (row.name, *row.also):
                space: dict[str, Any] = {}
                exec(f"def round(w, state, clients, cohort, rng, *, {other}): return w, state", space)  # a test's own
                assert Subject(space["round"], references()[algorithm]).taken == {other: row.name}
