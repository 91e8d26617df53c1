"""Terminals and locales without UTF-8: no command fails on its output, JSON stays JSON, files are UTF-8."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dpfl_theory.encoding import as_utf8, tolerant
from dpfl_theory.runtime.atomic_files import write

POOR = {
    "an ASCII terminal": {"PYTHONIOENCODING": "ascii"},
    "the C locale": {"LC_ALL": "C"},
    "the C locale without UTF-8": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
STATEMENTS = """
from dpfl_theory.core import Check, Outcome, Source, Statement
def build(statement, instance):
    return Outcome(True, "größer als null, ∥x∥ ≥ 0")
STATEMENTS = (
    Statement("mine.größe", "lemma", "Größe", Source("mine", "§ 1"), "∥x∥ ≥ 0",
              checks=(Check("algebra", "für alle", build),)),
)
"""
ROUND = """
import numpy as np
def mittelwert_ä(w, state, clients, cohort, rng, *, lr, server_lr, epochs):
    ends = []
    for i in cohort:
        y = w.copy()
        for _ in range(epochs):
            y = y - lr * clients[i].gradient(y)
        ends.append((w - y) / lr)
    return w - server_lr * np.sum(ends, axis=0) / len(clients), state  # geteilt durch alle: ÷ n
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    here = tmp_path / "übung"
    here.mkdir()
    (here / "sätze.py").write_text(STATEMENTS, encoding="utf-8")
    (here / "runde_ü.py").write_text(ROUND, encoding="utf-8")
    x = np.random.default_rng(0).normal(size=(12, 2))
    rows = "".join(f"{a:.3f},{b:.3f},{int(a > b)}\n" for a, b in x)
    (here / "daten_ß.csv").write_text(f"höhe,breite,y\n{rows}", encoding="utf-8")
    return here


def run(words: Sequence[str], folder: Path, poor: dict[str, str]) -> tuple[int, bytes, bytes]:
    environment = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LANG", "PYTHONIOENCODING", "PYTHONUTF8")}
    command = [sys.executable, "-m", "dpfl_theory", *words]
    done = subprocess.run(command, cwd=folder, env={**environment, **poor}, capture_output=True, check=False)
    assert b"internal error" not in done.stderr, done.stderr
    assert b"UnicodeEncodeError" not in done.stderr, done.stderr
    assert b"Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


COMMANDS = {
    "check": ("check --file sätze.py --jobs 1", 0, "gr\\u00f6\\u00dfe"),
    "conform": ("conform runde_ü.py:mittelwert_ä --as fedavg --runs 0", 1, "mittelwert_\\u00e4"),
    "simulate": (
        "simulate --set problem.data=daten_ß.csv --set algorithm.name=fedavg --set problem.clients=2 --set rounds=2 "
        "--output läufe.csv",
        0,
        ".csv",
    ),
    "list": ("list größe", 0, "gr"),
    "report": ("report --file sätze.py --output bericht_ö", 0, "bericht_"),
}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("poor", [name for name in POOR if name != "the C locale"])  # whose streams are UTF-8
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_print_what_the_terminal_lacks_as_escapes(command: str, poor: str, folder: Path) -> None:
    words, code, reported = COMMANDS[command]
    found, out, err = run(words.split(), folder, POOR[poor])
    assert found == code, err
    assert (out + err).isascii()
    assert reported in (out + err).decode()


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("poor", POOR)
def test_json_stays_json_and_files_are_utf_8(poor: str, folder: Path) -> None:
    words = ["check", "--file", "sätze.py", "--format", "json", "--jobs", "1"]
    _, out, _ = run(words, folder, POOR[poor])
    run([*words, "--output", "befund.json"], folder, POOR[poor])
    for reported in map(json.loads, (out.decode(), (folder / "befund.json").read_bytes().decode())):
        assert list(reported["summary"]["statements"]) == ["mine.größe"]
        assert reported["evidence"][0]["reason"] == "größer als null, ∥x∥ ≥ 0"
    assert "größer" in (folder / "befund.json").read_text(encoding="utf-8")


def test_any_text_can_be_written_and_nothing_is_changed_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stream)
    with tolerant():
        print("é ≥ \udcff 😀", end="")
    assert stream.errors == "strict"
    stream.flush()
    assert stream.buffer.getvalue() == b"\xe9 \\u2265 \\udcff \\ud83d\\ude00"
    assert write(tmp_path / "a.txt", "é \udcff").read_bytes() == "é \\udcff".encode()
    assert as_utf8("\udcc3\udca9") == "é"
    assert as_utf8("\udcff") == "\udcff"
