"""A test of a round ends in time, whatever the round or its module does, and says so in one sentence."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import dpfl_theory
from dpfl_theory.cli import main
from dpfl_theory.errors import InputError
from dpfl_theory.limited import OutOfTime, at_most

ROUND = "def round(w, state, clients, cohort, rng):\n    {}\n"
DEAF = "while True:\n    try:\n        import time; time.sleep(9)\n    except Exception:\n        pass\n"
"""It does not listen: what ends it from inside is an exception."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("while True:\n    pass\n", "own.py' cannot be imported: it took longer than 0.3 s and was ended"),
        (DEAF + ROUND.format("return w, state"), "was ended: it took longer than 0.3 s and was ended"),
        (ROUND.format("while True: pass"), "was ended: it took longer than 0.3 s and was ended"),
        ("import os\nos._exit(0)\n", "was ended: its process ended with code 0, of itself"),
    ],
)
def test_the_command_ends_in_time(module: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.py").write_text(module)
    begun = time.monotonic()
    assert main(["conform", f"{tmp_path / 'own.py'}:round", "--as", "fedavg", "--limit", "0.3"]) == 2
    assert time.monotonic() - begun < 6.0
    out, err = capsys.readouterr()
    assert told in err
    assert out == ""
    assert err.count("\n") == 1


def test_a_sampler_s_module_is_ended_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.py").write_text(ROUND.format("return w, state"))
    (tmp_path / "draws.py").write_text("while True:\n    pass\n")
    line = ["conform", f"{tmp_path / 'own.py'}:round", "--as", "fedavg", "--sampler", f"{tmp_path / 'draws.py'}:draw"]
    assert main([*line, "--limit", "0.3"]) == 2
    assert "draws.py' cannot be imported: it took longer than 0.3 s" in capsys.readouterr().err


def test_from_python(tmp_path: Path) -> None:
    def endless(w, state, clients, cohort, rng):  # type: ignore[no-untyped-def]
        while True:
            pass

    with pytest.raises(OutOfTime, match=r"the test of .*endless was ended: it took longer than 0\.2 s"):
        dpfl_theory.conform(endless, "fedavg", limit=0.2)
    with pytest.raises(InputError, match="`limit` is 0: give a positive number of seconds"):
        dpfl_theory.conform(endless, "fedavg", limit=0)


def test_a_limit_inside_of_another_one_leaves_it_as_it_is() -> None:
    def both() -> None:
        with at_most(60.0):
            pass
        with pytest.raises(OutOfTime, match=r"longer than 0\.1 s"), at_most(0.1):
            time.sleep(30.0)
        time.sleep(30.0)

    begun = time.monotonic()
    with pytest.raises(OutOfTime, match=r"longer than 0\.5 s"), at_most(0.5):
        both()
    assert 0.4 < time.monotonic() - begun < 5.0
    with pytest.raises(OutOfTime, match=r"longer than 0\.2 s"), at_most(0.2), at_most(60.0):
        time.sleep(30.0)
