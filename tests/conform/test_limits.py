"""A test of a round ends in time, whatever the round or its module does, and says so in one sentence."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from patience import HANGS, Watch, given_time

import dpfl_theory
from dpfl_theory.cli import main
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.time_limits import TimeoutExceeded, at_most

ROUND = "def round(w, state, clients, cohort, rng):\n    {}\n"
DEAF = "while True:\n    try:\n        import time; time.sleep(9)\n    except Exception:\n        pass\n"
"""It does not listen: what ends it from inside is an exception."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("while True:\n    pass\n", "own.py' cannot be imported: it took longer than {} s and was ended"),
        (
            DEAF + ROUND.format("return w, state"),
            "own.py:round took longer than {} s and was ended: give a longer --limit",
        ),
        (ROUND.format("while True: pass"), "own.py:round took longer than {} s and was ended: give a longer"),
        ("import os\nos._exit(0)\n", "was ended: its process ended with code 0, of itself"),
    ],
)
def test_the_command_ends_in_time(
    module: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.py").write_text(module)

    def ended(seconds: float) -> None:
        with Watch() as watch:
            line = ["conform", f"{tmp_path / 'own.py'}:round", "--as", "fedavg", "--limit", f"{seconds:g}"]
            assert main(line) == 2
        assert watch.seconds < 6.0 + seconds
        out, err = capsys.readouterr()
        assert message.format(f"{seconds:g}") in err
        assert out == ""
        assert err.count("\n") == 1

    given_time(ended, 0.3)


def test_a_sampler_s_module_is_ended_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.py").write_text(ROUND.format("return w, state"))
    (tmp_path / "draws.py").write_text("while True:\n    pass\n")
    line = ["conform", f"{tmp_path / 'own.py'}:round", "--as", "fedavg", "--sampler", f"{tmp_path / 'draws.py'}:draw"]

    def ended(seconds: float) -> None:
        assert main([*line, "--limit", f"{seconds:g}"]) == 2
        assert f"draws.py' cannot be imported: it took longer than {seconds:g} s" in capsys.readouterr().err

    given_time(ended, 0.3)


def test_from_python(tmp_path: Path) -> None:
    def endless(w, state, clients, cohort, rng):  # type: ignore[no-untyped-def]
        while True:
            pass

    with pytest.raises(TimeoutExceeded, match=r"the test of .*endless took longer than 0\.2 s and was ended: give"):
        dpfl_theory.conform(endless, "fedavg", limit=0.2)
    with pytest.raises(InputError, match="`limit` is 0: give a positive number of seconds"):
        dpfl_theory.conform(endless, "fedavg", limit=0)


def test_a_limit_inside_of_another_one_leaves_it_as_it_is() -> None:
    def inside(seconds: float) -> None:
        with at_most(HANGS):
            pass
        with pytest.raises(TimeoutExceeded, match=rf"longer than {seconds / 5:.3g} s"), at_most(seconds / 5):
            time.sleep(HANGS)
        time.sleep(HANGS)

    def both(seconds: float) -> None:
        started = time.monotonic()
        with Watch() as watch, pytest.raises(TimeoutExceeded, match=rf"longer than {seconds:g} s"), at_most(seconds):
            inside(seconds)
        assert time.monotonic() - started > 0.8 * seconds
        assert watch.seconds < 4.5 + seconds

    given_time(both, 0.5)
    with pytest.raises(TimeoutExceeded, match=r"longer than 0\.2 s"), at_most(0.2), at_most(HANGS):
        time.sleep(HANGS)
