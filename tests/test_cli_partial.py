"""Ctrl-C during a check, with real signals: finished results are shown or stored, and partial ones are marked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import HANGS, comes

ROOT = Path(__file__).parents[1]
EXAMPLE = (ROOT / "examples" / "my_statements.py").read_text(encoding="utf-8")
WAITS = """    import time
    from pathlib import Path

    Path(__file__).with_suffix(".begun").touch()
    while not Path(__file__).with_suffix(".go").exists():
        time.sleep(0.05)
"""


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A user's file whose check of units ends at once, and whose runs start and wait."""
    head = next(line for line in EXAMPLE.splitlines() if line.startswith("def ") and "instance" in line)
    lines = EXAMPLE.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith(head))
    end = next(i for i in range(at, len(lines)) if lines[i].rstrip().endswith(":"))
    file = tmp_path / "waits.py"
    body = end + 1
    if lines[body].lstrip().startswith('"""'):
        body = next(i for i in range(body, len(lines)) if lines[i].rstrip().endswith('"""')) + 1
    file.write_text("".join([*lines[:body], WAITS, *lines[body:]]), encoding="utf-8")
    return file


def interrupted(file: Path, *more: str) -> tuple[int, str, str]:
    """The check of such a file, interrupted while it waits: exit code, stdout, stderr."""
    command = [sys.executable, "-m", "dpfl_theory", "check", "--file", str(file), "--device", "cpu", *more]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=file.parent, start_new_session=True
    ) as process:
        assert comes(file.with_suffix(".begun").exists)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
        out, err = process.communicate(timeout=HANGS)
    file.with_suffix(".begun").unlink(missing_ok=True)
    assert "Traceback" not in err
    return process.returncode, out, err


@pytest.mark.slow
def test_what_has_ended_is_shown_and_the_same_command_goes_on(waiting: Path) -> None:
    store = ("--store", str(waiting.with_suffix(".sqlite")))
    code, out, err = interrupted(waiting, *store, "--jobs", "1")
    assert code == 130
    table, last = out.strip().split("\n\n")
    assert [line.split()[:5] for line in table.splitlines()[1:]] == [
        ["holds", "-", "mine.noisy-gradient-descent", "algebra", "units"]
    ]
    assert last == "incomplete: 1 of 3 checks, since it was interrupted"
    message = (
        "1 of 3 checks are finished and stored: the same command continues with the other 2\ndpfl-theory: interrupted\n"
    )
    assert err.endswith(message)
    waiting.with_suffix(".go").touch()
    command = [sys.executable, "-m", "dpfl_theory", "check", "--file", str(waiting), "--device", "cpu", "--jobs", "1"]
    done = subprocess.run([*command, *store], capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0
    assert "1 of 3 checks" in done.stderr
    assert "not whole" not in done.stdout


@pytest.mark.slow
def test_several_processes(waiting: Path) -> None:
    code, out, err = interrupted(waiting, "--jobs", "2", "--store", "off")
    assert code == 130
    assert out == "" or "incomplete: 1 of 3 checks" in out  # two of them may wait before the third is there
    last = "1 of 3 checks are finished; the store is off, so that the same command starts again\n"
    assert err.endswith("dpfl-theory: interrupted\n")
    assert ("incomplete" in out) == (last in err)  # no message where nothing is finished


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["json", "text"])
def test_no_document_is_written_in_part(waiting: Path, form: str) -> None:
    target = waiting.with_name("evidence")
    target.write_text("old")
    code, out, err = interrupted(waiting, "--jobs", "1", "--store", "off", "--format", form, "--output", str(target))
    assert (code, out) == (130, "")
    assert target.read_text() == "old"
    assert {path.name for path in waiting.parent.iterdir()} <= {"waits.py", "evidence", "__pycache__"}
    assert "1 of 3 checks are finished; the store is off, so that the same command starts again" in err
