"""The message for an unknown name of an algorithm, and the output of the command without arguments."""

from __future__ import annotations

import pytest

from dpfl_theory.cli import TASKS, application, main
from dpfl_theory.conform.references import references
from dpfl_theory.privacy.mechanisms import mechanisms
from dpfl_theory.recommend.tuned import tuned
from dpfl_theory.related import RELATED, instead
from dpfl_theory.sweep.algorithms import algorithms

KNOWN = (references(), mechanisms(), tuned(), algorithms())


@pytest.mark.parametrize("name", RELATED)
def test_every_nearest_algorithm_exists(name: str) -> None:
    candidates, why = RELATED[name]
    assert set(candidates) <= {known for some in KNOWN for known in some}
    assert "the nearest is" in " ".join(instead(name, known) for known in KNOWN)
    assert why[0] != " "


@pytest.mark.parametrize("name", ["fedlin", "FedLin", "fed-lin", "DP-FedNova"])
def test_another_algorithm_is_no_spelling(name: str) -> None:
    assert "did you mean" not in instead(name, references())


def test_commands_that_take_an_algorithm_name_the_nearest_one_and_all(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        "conform examples/rounds/dp_fedavg.py:one_round --as dp-mime",
        "privacy account --algorithm dp-mime --noise-multiplier 1 --delta 1e-5",
        "recommend --algorithm dp-mime --epsilon 1 --delta 1e-5 --clients 5",
        "simulate --set problem.name=huber --set algorithm.name=dp-mime",
        "sweep --set problem.name=huber --set algorithm.name=dp-mime",
        "show algorithm dp-mime",
    ):
        assert main(command.split()) == 2
        said = capsys.readouterr().err
        assert "Mime too corrects client drift by control variates" in said, command
        assert "choose from" in said
        assert len(said.splitlines()) == 1


def test_without_arguments_there_are_six_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    said = capsys.readouterr().out
    assert len(TASKS) == 6
    assert set(application().commands) >= {command.split()[1] for _, command in TASKS}
    for task, command in TASKS:
        assert f"{task}  " in said
        assert command in said
    assert main(TASKS[0][1].split()[1:]) == 0
    assert main(TASKS[3][1].split()[1:]) == 0
