"""Ctrl-C ends a command also where compiled code runs, which Python does not interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from patience import HANGS, Watch

from dpfl_theory.cli import main
from dpfl_theory.runtime.interrupts import without_interrupts

FOREVER = """
import sys, threading, time
import numpy as np
from dpfl_theory.runtime.console import print_message, run_app
from dpfl_theory.runtime import interrupts
from dpfl_theory.runtime.interrupts import on_interrupt
from numba import njit

interrupts.PATIENCE = 1.0
inside = np.zeros(1)

@njit(nogil=True)
def forever(x, inside):
    while x >= 0.0:
        inside[0] = 1.0
        x += 1.0
        if x > 1e15:
            x = 0.0
    return x

def tell():
    while not inside[0]:
        time.sleep(0.01)
    print("begun", flush=True)

def app(args, prog_name, standalone_mode):
    forever(-1.0, inside)
    threading.Thread(target=tell, daemon=True).start()
    with on_interrupt(lambda: 1 / 0), on_interrupt(lambda: print_message("so far")):
        forever(0.0, inside)

sys.exit(run_app(app, []))
"""


LONG = """
import sys
from dpfl_theory.kernels.tape import replay
from dpfl_theory.cli import main

play = replay.Player.play

def told(self, *arguments):
    found = play(self, *arguments)
    print("begun", flush=True)
    return found

replay.Player.play = told
sys.exit(main(sys.argv[1:]))
"""
"""The command, which reports when it has run the first of many rounds."""


def interrupted(command: list[str]) -> tuple[int, str, float, float]:
    """Interrupt a command after its first line; return its exit code, its last output, and the time that the end took.

    The time is in seconds, and in seconds of a quiet machine.
    """
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    with Watch() as watch:
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANGS)
        seconds = time.monotonic() - started
    return process.returncode, said, seconds, watch.seconds


def test_where_python_never_hears_of_it() -> None:
    code, said, seconds, quiet = interrupted([sys.executable, "-c", FOREVER])
    assert (code, said) == (130, "so far\ndpfl-theory: interrupted\n")
    assert seconds > 1.0 - 0.1
    assert quiet < 1.0 + 10


@pytest.mark.slow
def test_a_long_run_hears_of_it(tmp_path: Path) -> None:
    """Any number of rounds is run in parts that take less than a second each."""
    words = ["problem.name=quadratic", "algorithm.name=dp-fedavg", "algorithm.sigma=0.1", "rounds=1000000000"]
    words += ["every=1000", "replicates=64"]
    command = [sys.executable, "-c", LONG, "simulate", *(part for word in words for part in ("--set", word))]
    code, said, _, _ = interrupted(command)
    assert code == 130
    assert said.endswith("dpfl-theory: interrupted\n")
    assert "Traceback" not in said


def test_how_long_rounds_are_played_changes_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpfl_theory.algorithms.fedavg import DPFedAvg
    from dpfl_theory.problems import make
    from dpfl_theory.simulation import simulate

    problem = make("quadratic", clients=4, dimension=3, seed=1)
    algorithm = DPFedAvg(eta=0.1, E=2, C=1.0, sigma=0.2)

    def numbers() -> list[bytes]:
        run = simulate(algorithm, problem, 3000, 8, seed=2, observe=["suboptimality"], series=True, every=7)
        stream = run["suboptimality"]
        return [x.tobytes() for x in (stream.mean, stream.last, stream.smallest, stream.every_round, run.final)]

    module = sys.modules["dpfl_theory.simulation.simulate"]  # the name in the package is the function's
    usual = numbers()
    monkeypatch.setattr(module, "_PLAYED_SECONDS", 0.0)
    monkeypatch.setattr(module, "_LEAST_PLAYED", 11)
    assert numbers() == usual


def test_a_run_that_takes_longer_than_its_limit_has_failed(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["problem.name=quadratic", "algorithm.name=dp-fedavg", "algorithm.sigma=0.1", "rounds=1000000000"]
    words += ["every=10000000", "replicates=64"]
    assert main(["simulate", *(part for word in words for part in ("--set", word)), "--limit", "1"]) == 1
    assert capsys.readouterr().err.endswith("dpfl-theory: it took longer than 1 s and was ended\n")


def test_ctrl_c_waits_where_processes_are_begun() -> None:
    """It waits also where another thread of the process receives the signal."""
    reached = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with without_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            thread = threading.Thread(target=signal.raise_signal, args=(signal.SIGINT,))
            thread.start()
            thread.join()
            time.sleep(0.05)
            reached.append("the end")
        reached.append("beyond")
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
