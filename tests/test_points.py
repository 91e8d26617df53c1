"""Points of long validations: several processes compute them, once each, with the same results as one process."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpfl_theory.cli import main
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.cached_calls import CallResult, MissingCalls, Reuse
from dpfl_theory.validation import Context, load
from dpfl_theory.validation.run import RunOptions, ScriptResult
from dpfl_theory.validation.tasks import Pieces

Output = pytest.CaptureFixture[str]

SCRIPT = """
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
import os
import numpy as np
from dpfl_theory.validation import style
from . import _helper

TITLE, CAPTION = "Draws", "Some draws."
SOURCE = {"paper": "das2022", "where": "Figure 0"}
BUDGET_SECONDS = {"full": 4, "paper": 2}

def compute(context):
    _helper.log("begun", 0)
    work = [partial(_helper.first, _helper.Case(k), context.seed, range(k)) for k in (1, 2, 3)]
    first = context.each(work, [f"first {k}" for k in (1, 2, 3)])
    second = context.each([partial(_helper.second, sum(x)) for x in first], ["a", "b", "c"])
    return {"values": [np.asarray(x).mean() for x in first] + second, "claims": []}

def draw(data):
    figure, axes = style.figure()
    axes.plot(data["values"])
    return {"": figure}
"""
HELPER = """
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
import numpy as np

@dataclass(frozen=True)
class Case:
    size: int

def log(what, k):
    with Path(__file__).with_suffix(".log").open("a") as file:
        file.write(f"{what}{k} {os.getpid()}\\n")

@cache
def first(case, seed, span):
    log("first", case.size)
    return np.random.default_rng([seed, case.size]).normal(size=case.size + len(span)) / 3

def second(x):
    log("second", round(x, 3))
    if Path(__file__).with_suffix(".bad").exists():
        raise RuntimeError("it is bad")
    return x * x
"""


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    place = tmp_path / "scripts"
    place.mkdir()
    (place / "_helper.py").write_text(HELPER)
    for name in ("one", "two"):
        (place / f"{name}.py").write_text(SCRIPT)
    return place


def calls(scripts: Path) -> Counter[str]:
    """The number of calls of each function since the last query."""
    file = scripts / "_helper.log"
    found = Counter(line.split()[0] for line in file.read_text().splitlines()) if file.exists() else Counter[str]()
    file.unlink(missing_ok=True)
    return found


def validate(scripts: Path, place: Path, *more: str) -> dict[str, Any]:
    """Run both scripts and return their data."""
    assert main(["validate", "--folder", str(scripts), "--output", str(place), "--seed", "3", *more]) == 0
    return {n: json.loads((place / "evidence" / f"{n}.json").read_text())["data"] for n in ("one", "two")}


@pytest.mark.slow
def test_points_are_made_once_and_give_what_one_process_gives(scripts: Path, tmp_path: Path) -> None:
    alone = validate(scripts, tmp_path / "alone", "--jobs", "1", "--store", "off")
    calls(scripts)
    assert validate(scripts, tmp_path / "off", "--jobs", "2", "--store", "off") == alone
    found = calls(scripts)
    assert {name: found[name] for name in ("first1", "first2", "first3")} == {"first1": 1, "first2": 1, "first3": 1}
    assert sum(count for name, count in found.items() if name.startswith("second")) == 3, "of both scripts together"
    store = ("--store", str(tmp_path / "kept.sqlite"))
    assert validate(scripts, tmp_path / "kept", "--jobs", "2", *store) == alone
    with Store(tmp_path / "kept.sqlite") as kept:
        assert sorted(entry.about for entry in kept.entries("point")) == [
            "a",
            "b",
            "c",
            "first 1",
            "first 2",
            "first 3",
        ]
    calls(scripts)
    assert validate(scripts, tmp_path / "again", "--jobs", "2", *store) == alone
    assert calls(scripts) == Counter()


@pytest.mark.slow
def test_points_that_ended_are_there_after_a_failure(scripts: Path, tmp_path: Path, capsys: Output) -> None:
    """A failed point ends the scripts that use it, with its name; other scripts, and other points, are kept."""
    (scripts / "_helper.bad").touch()
    (scripts / "three.py").write_text(SCRIPT.replace('["a", "b", "c"])', '["a", "b", "c"]) if False else []'))
    command = ["validate", "--folder", str(scripts), "--output", str(tmp_path / "out"), "--seed", "3", "--jobs", "2"]
    command += ["--store", str(tmp_path / "kept.sqlite")]
    assert main(command) == 70
    said = capsys.readouterr().err
    for name in ("one", "two"):
        assert f"{name} failed: " in said
    assert "RuntimeError: it is bad" in said
    assert (tmp_path / "out" / "evidence" / "three.json").exists()
    assert not (tmp_path / "out" / "evidence" / "one.json").exists()
    (scripts / "_helper.bad").unlink()
    calls(scripts)
    assert main(command) == 0
    found = calls(scripts)
    assert not any(name.startswith("first") for name in found), "these had ended"


def test_seconds_of_points_count_once(scripts: Path, tmp_path: Path) -> None:
    """A shared point counts for the script that requested it first; a script's seconds include those of its points."""
    how = RunOptions(Context(device="cpu"), tmp_path / "out")
    own = [load(scripts / f"{name}.py", scripts) for name in ("one", "two")]
    pieces = Pieces([[script] for script in own], how)
    work = list(enumerate(pieces.begin))
    made = 0.0
    while work:
        number, piece = work.pop(0)
        result = piece()
        if hasattr(result, "given"):
            made += result.given.seconds
        new = pieces.done(number, result)
        work += enumerate(new, len(pieces.labels) - len(new))
    assert sorted(ending.name for ending in pieces.endings) == ["one", "two"]
    seconds = sum(ending.seconds for ending in pieces.endings)
    assert made <= seconds + 0.01
    assert all(isinstance(ending, ScriptResult) and not ending.failure for ending in pieces.endings)


def test_a_result_that_is_nothing_is_a_result() -> None:
    """The result None is returned, and computed only once."""
    reuse = Reuse(given={})
    with pytest.raises(MissingCalls):
        Reuse(given={}).each([partial(json.loads, "null")], ["nothing"], lambda work, _: [])
    try:
        reuse.each([partial(json.loads, "null")], ["nothing"], lambda work, _: [])
    except MissingCalls as wanted:
        key = wanted.asked[0].name
    found = Reuse(given={key: CallResult(None, 1.5)})
    assert found.each([partial(json.loads, "null")], ["nothing"], lambda work, _: []) == [None]
    assert found.spent == 1.5


def test_costs_stay_whole_while_scripts_wait(scripts: Path, tmp_path: Path) -> None:
    """The costs of finished, open and waiting parts add up to the total.

    A script's own parts say how much of that its points take, so that no remaining time appears later.
    """
    text = SCRIPT.replace("context.each(work", "_helper.part(context, 0).each(work")
    text = text.replace("context.each([partial(_helper.second", "_helper.part(context, 1).each([partial(_helper.second")
    (scripts / "_helper.py").write_text(
        f"from dataclasses import replace\n{HELPER}\ndef part(context, i):\n"
        "    parts = context.part(0, 4), lambda share: context.progress((1 + 3 * share) / 4)\n"
        "    return replace(context, progress=parts[i])\n"
    )
    (scripts / "one.py").write_text(text)
    script = load(scripts / "one.py", scripts)
    pieces = Pieces([[script]], RunOptions(Context(device="cpu"), tmp_path / "out"))
    open_, ended, seen = dict(enumerate(pieces.begin)), list[int](), list[float]()
    whole = pieces.cost(0)
    while open_:
        number = min(open_)
        new = pieces.done(number, open_.pop(number)())
        ended.append(number)
        open_ |= dict(enumerate(new, max([*ended, *open_]) + 1))
        left, done = (sum(map(pieces.cost, numbers)) for numbers in (open_, ended))
        assert left + done + pieces.pending == pytest.approx(whole)
        seen.append(done / whole)
    assert pieces.endings[0].failure == ""
    # the script, three points of a quarter, the script, three points of three quarters, and the script, which draws
    assert seen == pytest.approx([0.0, 1 / 12, 2 / 12, 3 / 12, 3 / 12, 6 / 12, 9 / 12, 1.0, 1.0])
