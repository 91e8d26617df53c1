"""Fuzzing of all parsers with few inputs, and planted faults that it must find. benchmarks/fuzz/FUZZ.md has thousands
of inputs for each parser (`make soak`)."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from patience import HANGS

from benchmarks.fuzz import contract
from benchmarks.fuzz.readers import READERS, Reader
from benchmarks.fuzz.run import test_of as fuzzing
from dpfl_theory.errors import InputError

INPUTS = 12


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_nearly_right_input_gets_an_answer_or_a_sentence(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each parser returns or is interrupted before it would count as stuck on the slowest machine."""
    monkeypatch.setattr(contract, "ENOUGH", HANGS)
    monkeypatch.setattr(contract, "HANGS", HANGS)
    ended = Counter[str]()
    fuzzing(reader, INPUTS, ended)()
    assert ended.total() >= INPUTS
    assert ended["refused"] + ended["done"] > 0


def _writes(name: str) -> Callable[[Sequence[str]], int]:
    def main(arguments: Sequence[str]) -> int:
        Path(name).write_text("half")
        print("dpfl-theory: no", file=sys.stderr)
        return 2

    return main


def _says(text: str, code: int) -> Callable[[Sequence[str]], int]:
    def main(arguments: Sequence[str]) -> int:
        print(text, file=sys.stderr)
        return code

    return main


def _raises(arguments: Sequence[str]) -> int:
    raise KeyError("x")


def _deaf(arguments: Sequence[str]) -> int:
    for _ in range(2):
        try:
            time.sleep(HANGS)
        except KeyboardInterrupt:
            continue
    return 0


@pytest.mark.parametrize(
    ("main", "message"),
    [
        (_says("dpfl-theory: internal error", 70), "exit code 70"),
        (_says("Traceback (most recent call last):", 1), "Traceback"),
        (_says("", 2), "no sentence"),
        (_writes("out.csv"), "refused, and yet changed: ['out.csv']"),
        (_writes("kept.csv"), "refused, and yet changed: ['kept.csv']"),
        (_raises, "KeyError comes out"),
        (_deaf, "it does not end: .*_deaf"),
    ],
)
def test_a_command_that_breaks_a_promise_is_a_fault(
    main: Callable[[Sequence[str]], int], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept.csv").write_text("what was there before")
    monkeypatch.setattr(contract, "main", main)
    seconds = 0.3 if main is _deaf else HANGS
    monkeypatch.setattr(contract, "ENOUGH", seconds)
    with pytest.raises(contract.Fault, match=message if "*" in message else message.replace("[", r"\[")):
        contract.command(["check"], tmp_path, seconds=seconds)


def test_a_part_of_a_file_that_stays_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def main(arguments: Sequence[str]) -> int:
        Path(".tmp123").touch()
        return 0

    monkeypatch.setattr(contract, "main", main)
    with pytest.raises(contract.Fault, match="left behind"):
        contract.command(["check"], tmp_path)


def test_a_reader_that_breaks_a_promise_is_a_fault() -> None:
    def refuses(sentence: str) -> Callable[[], None]:
        def read() -> None:
            raise InputError(sentence)

        return read

    assert contract.reader(refuses("the file is empty: give another")) == "refused"
    for read, reported in ((refuses("two\nlines"), "no sentence"), (lambda: [][1], "IndexError comes out")):
        with pytest.raises(contract.Fault, match=reported):
            contract.reader(read)
