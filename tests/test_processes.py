"""Ctrl-C and the processes that a command starts: they never receive it, from their first instruction on."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

from patience import HANGS

from dpfl_theory.runtime.executor import spread
from dpfl_theory.runtime.interrupts import without_interrupts
from dpfl_theory.runtime.time_limits import forked, limited

_NO_SIGNALS: list[signal.Signals] = []


def blocked() -> bool:
    """Whether this process blocks Ctrl-C."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, _NO_SIGNALS)


def test_what_is_started_never_gets_an_interrupt_and_this_process_still_does() -> None:
    asked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with without_interrupts():
        assert blocked()
        reported = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    assert reported.strip() == "True"
    assert not blocked()


def test_workers_are_started_so() -> None:
    assert spread([blocked, blocked], 2) == [True, True]
    assert not blocked()


def test_work_with_a_limit_of_time_is_started_so() -> None:
    assert limited(blocked, HANGS)
    assert not blocked()


def test_a_script_that_is_not_guarded_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, dpfl_theory\nprint('begun')\n"
        "from dpfl_theory.runtime.executor import spread\n"
        "print(len(set(spread([os.getpid] * 8, 2)) - {os.getpid()}) > 0)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=HANGS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "begun\nTrue\n", "")


def test_pieces_in_forks_are_started_so_and_their_results_keep_the_order() -> None:
    waited: list[int] = []
    assert list(forked(lambda _: blocked(), range(3), 2, waited.append)) == [True] * 3
    assert not blocked()
    assert list(dict.fromkeys(waited)) == [0, 1, 2]


def test_forks_start_only_in_the_thread_that_asks_for_them() -> None:
    """A fork in another thread may copy a lock that nobody releases."""
    assert list(forked(lambda _: threading.main_thread().name, range(4), 2)) == ["MainThread"] * 4
