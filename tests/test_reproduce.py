"""`reproduce`: the same results as its parts one by one, an early page, and no loss when it ends early."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dpfl_theory import reproduce as module
from dpfl_theory import statements
from dpfl_theory.checks.runner import plan, report_of, run_plan
from dpfl_theory.reproduce import reproduce
from dpfl_theory.validation import Context, Script, load
from dpfl_theory.validation.run import RunOptions

Output = pytest.CaptureFixture[str]

BOTH = [statements.get("das2022.lemma10"), statements.get("hou2023.eq3")]
PAIRS = plan(BOTH)
SOME = plan(BOTH, ["exact"])
"""Checks that decide them in less time: processes import little."""
FEW = plan([statements.get("hou2023.eq3")])
"""Checks that take no time."""
SCRIPT = """
import time
from pathlib import Path
import numpy as np
from dpfl_theory.runtime import threads
from dpfl_theory.validation import style

TITLE, CAPTION = "Draws", "Some draws."
SOURCE = {"paper": "das2022", "where": "Figure 0"}
BUDGET_SECONDS = {"full": 1, "paper": 2}

def wait(file):
    ends = time.monotonic() + 120
    while not Path(file).exists() and time.monotonic() < ends:
        time.sleep(0.1)

def compute(context):
    values = np.random.default_rng(context.seed).normal(size=3)
    claim = {"claim": "there are draws", "verdict": "reproduced", "paper": "yes", "measured": "yes"}
    return {"values": values, "threads": threads.available(), "claims": [claim]}

def draw(data):
    figure, axes = style.figure()
    axes.plot(data["values"])
    axes.set(xticks=[], yticks=[])  # marks on the axes take most of the time
    return {"": figure}
"""


def script(place: Path, name: str, old: str = "", new: str = "") -> Script:
    path = place / f"{name}.py"
    assert old in SCRIPT
    path.write_text(SCRIPT.replace(old, new) if old else SCRIPT)
    return load(path)


def run(place: Path, scripts: list[Script], jobs: int = 2, profile: str = "full", pairs: Sequence[Any] = PAIRS) -> int:
    context = Context(profile, device="cpu", seed=3)
    return reproduce(pairs, scripts, RunOptions(context, place / "out"), alpha=1e-6, jobs=jobs)


def here(
    work: Sequence[Callable[[], Any]],
    jobs: int,
    order: Sequence[int],
    *,
    done: Callable[[int, Any], None],
    waiting: Callable[[list[int]], None],
) -> None:
    """A replacement of `processes.spread` in tests that do not concern processes: the same calls, one after another."""
    left = list(order)
    while left:
        waiting(left)
        piece = left.pop(0)
        done(piece, work[piece]())


def evidence(place: Path, name: str = "check") -> list[dict[str, Any]]:
    found = json.loads((place / "out" / "evidence" / f"{name}.json").read_text())["evidence"]
    return [{k: v for k, v in e.items() if k not in ("seconds", "notes")} for e in found]


def test_it_finds_what_its_parts_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """Early pages change nothing; one script lasts until a page has reported that nothing else is left."""
    monkeypatch.setattr(module, "FIRST_PAGE_SECONDS", 0.0)
    monkeypatch.setattr(module, "RENEWAL_SECONDS", 0.5)
    pages: list[str] = []

    message = tmp_path / "told"

    def keep(output: Path, *arguments: Any, **options: Any) -> Path:
        pages.append(options.get("unfinished", ""))
        if "0 checks and 1 figures and tables are still to come" in pages[-1]:
            message.touch()
        if pages[-1] and len(pages) > 1:  # one on the way is enough, which takes a second
            return output / "index.html"
        return build(output, *arguments, **options)

    build = module.build
    monkeypatch.setattr(module, "build", keep)
    slow = script(tmp_path, "two", "values = np", f"wait({str(message)!r}); values = np")
    assert run(tmp_path, [script(tmp_path, "one"), slow], pairs=SOME) == 0
    assert message.exists()
    assert pages[-1] == ""
    alone = [e.to_json() for e in run_plan(SOME, device="cpu", seed=3).evidence]
    assert evidence(tmp_path) == [{k: v for k, v in e.items() if k not in ("seconds", "notes")} for e in alone]
    data = [json.loads((tmp_path / "out" / "evidence" / f"{n}.json").read_text())["data"] for n in ("one", "two")]
    assert data[0] == data[1]
    assert data[0]["threads"] == 1, "one thread in each process"
    page = (tmp_path / "out" / "index.html").read_text()
    assert "This page is of a run in progress" not in page
    assert 'href="statements/das2022.lemma10.html"' in page
    assert 'src="one.svg"' in (tmp_path / "out" / "figures" / "one.html").read_text()
    assert not (tmp_path / "out" / "evidence" / "check-so-far.json").exists()
    said = capsys.readouterr().err
    assert "one: claims: 1 reproduced" in said
    assert "2 statements (2 holds), 2 as expected" in said


def test_the_standard_profile_finds_what_the_full_one_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    """There are fewer checks with the same evidence, the same verdict of each statement, and a message about it."""
    monkeypatch.setattr(module, "spread", here)
    found = {}
    for profile in ("full", "standard"):
        place = tmp_path / profile
        place.mkdir()
        assert run(place, [script(tmp_path, "one")], profile=profile) == 0
        document = json.loads((place / "out" / "evidence" / "check.json").read_text())
        assert document["profile"] == profile
        assert json.loads((place / "out" / "evidence" / "one.json").read_text())["profile"] == profile
        found[profile] = {(e["statement"], e["method"], e["check"]): e for e in evidence(place)}
        verdicts = {id_: s["verdict"] for id_, s in document["summary"]["statements"].items()}
        assert verdicts == {s.id: s.expected for s, _ in PAIRS}
    assert found["standard"] == {key: found["full"][key] for key in found["standard"]}, "the same share of alpha, too"
    left = len(found["full"]) - len(found["standard"])
    assert left > 0
    assert f"{left} of {len(PAIRS)} checks are left out: --full runs all" in capsys.readouterr().err
    pages = {profile: (tmp_path / profile / "out" / "index.html").read_text() for profile in found}
    assert f"This is the standard profile: {len(found['standard'])} of {len(PAIRS)} checks" in pages["standard"]
    assert "standard profile" not in pages["full"]
    statement = (tmp_path / "standard" / "out" / "statements" / "das2022.lemma10.html").read_text()
    own = sum(s == "das2022.lemma10" for s, _, _ in found["full"]) - sum(
        s == "das2022.lemma10" for s, _, _ in found["standard"]
    )
    assert f"the command runs {own} more check" in statement


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('"verdict": "reproduced"', '"verdict": "not-reproduced", "expected": "reproduced"', 1),
        ('"verdict": "reproduced"', '"verdict": "inconclusive", "expected": "reproduced"', 3),
        ("values = np", "raise ZeroDivisionError; values = np", 70),
    ],
)
def test_exit_codes_and_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output, old: str, new: str, code: int
) -> None:
    monkeypatch.setattr(module, "spread", here)
    monkeypatch.setattr(module, "compile_kernels", lambda device: None)
    assert run(tmp_path, [script(tmp_path, "bad", old, new), script(tmp_path, "good")], pairs=FEW) == code
    assert (tmp_path / "out" / "evidence" / "good.json").exists(), "a script that fails does not stop the others"
    assert len(evidence(tmp_path)) == len(FEW)
    assert ("bad failed: internal error: ZeroDivisionError" in capsys.readouterr().err) == (code == 70)


def test_a_check_off_its_record_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def differing(pairs: Any, found: Any, *rest: Any) -> Any:
        return report_of(pairs, [dataclasses.replace(e, verdict="violated") for e in found], *rest)

    monkeypatch.setattr(module, "report_of", differing)
    monkeypatch.setattr(module, "spread", here)
    assert run(tmp_path, [], pairs=FEW) == 1


LONG = """
import sys
from pathlib import Path
from dpfl_theory import reproduce as module
from dpfl_theory.checks.runner import plan
from dpfl_theory.cli import main
from dpfl_theory import statements
if __name__ == "__main__":
    kept = [statements.get("das2022.lemma10")]
    statements.all_statements = lambda: tuple(kept)
    sys.exit(main(["reproduce", "--folder", "validations", "--output", "out", "--device", "cpu", "--jobs", "2"]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX systems")
def test_what_has_ended_is_kept_when_it_is_interrupted(tmp_path: Path) -> None:
    place = tmp_path / "validations"
    place.mkdir()
    script(place, "quick")
    script(place, "endless", "values = np", "time.sleep(600); values = np")
    (tmp_path / "long.py").write_text(LONG)
    before = tmp_path / "out" / "evidence" / "check.json"
    process = subprocess.Popen(
        [sys.executable, "long.py"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        ends = time.monotonic() + 120
        while not (tmp_path / "out" / "evidence" / "quick.json").exists() and time.monotonic() < ends:
            time.sleep(0.2)
        time.sleep(3.0)  # until the last message of the process that wrote it has come
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "1 of 2 validations" in said
    assert not before.exists()
    assert evidence(tmp_path, "check-so-far")
    assert "it was stopped before the end" in (tmp_path / "out" / "index.html").read_text()
