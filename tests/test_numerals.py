"""The command line refuses numbers that a float cannot hold, and does not take them for 0."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from dpfl_theory.cli import main
from dpfl_theory.errors import InputError
from dpfl_theory.numerals import number_of

ROUND = """
def round(w, state, clients, cohort, rng, *, eta):
    return w - eta * sum(clients[i].gradient(w) for i in cohort) / len(cohort), state
"""
EXAMPLE = Path(__file__).parents[1] / "examples" / "private_gradient_descent.py"
RUN = "--set problem.name=quadratic --set algorithm.name=fedavg --set rounds=2"
BOUND = "recommend --algorithm dp-scaffnew --rule printed --clients 10 --dim 20 --smoothness 1 --strong-convexity .05"
COMMANDS = [
    "conform mine.py:round --as fedavg --set z={}",
    "conform mine.py:round --as fedavg --alpha {}",
    "recommend --data breast-cancer --epsilon 3 --delta {}",
    "recommend --data breast-cancer --epsilon 3 --delta 1e-5 --ridge {}",
    f"{BOUND} --distance {{}} --clip 1 --epsilon 8 --delta 1e-5 --gradient-norm-at-optimum 0",
    "privacy account --algorithm dp-fedavg --noise-multiplier {} --rounds 3 --delta 1e-5",
    "privacy account --algorithm poisson-gaussian --noise-multiplier 1 --steps 3 --delta 1e-5 --sampling-rate {}/2",
    "plot --file example.py --over eta --check 'K = 50' --data breast-cancer --ridge {}",
    "plot das2022.theorem4b --over E --values 1,{}",
    "list --power-above {}",
    f"simulate {RUN} --set algorithm.eta={{}}",
    f"sweep {RUN} --set 'grid.eta=[0.1, {{}}]'",
    "sweep mine.toml",
    f"simulate {RUN} --limit {{}}",
]


@pytest.mark.parametrize("text", ["1e-400", "-1e400"])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_float_cannot_hold_is_refused(
    command: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(ROUND)
    Path("example.py").write_text(EXAMPLE.read_text())
    Path("mine.toml").write_text(f"rounds = 2\n[grid]\neta = [0.1, {text}]\n")
    assert main([word.format(text) for word in shlex.split(command)]) == 2
    found = capsys.readouterr()
    assert not found.out
    assert len(found.err.splitlines()) == 1
    assert f"'{text}', which rounds to {'0: give 0, or' if '-4' in text else 'infinity: give at most'}" in found.err


def test_a_quotient_that_vanishes_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    command = "privacy account --algorithm poisson-gaussian --noise-multiplier 1 --steps 3 --delta 1e-5 --sampling-rate"
    assert main([*command.split(), "1e-200/1e200"]) == 2
    assert "'1e-200/1e200', which rounds to 0" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "-0.0e5", "0e-400", "5e-324", "1e308", "1_0.5", " 2 "])
def test_what_a_float_holds_is_read_as_it_is(text: str) -> None:
    assert number_of("x", text) == float(text)


@pytest.mark.parametrize("text", ["0." + "0" * 400 + "1", "1E-9999999999999999999", "\u0661e-400", "-2e-400"])
def test_every_spelling_that_vanishes_is_refused(text: str) -> None:
    assert float(text) == 0.0
    with pytest.raises(InputError, match="which rounds to 0"):
        number_of("x", text)
