"""Each cause of errata has a script that redoes its smallest counterexample, with NumPy and without the package."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from patience import HANGS

from dpfl_theory import statements
from dpfl_theory.core import Cause
from dpfl_theory.core.prose import plain

CAUSES = {s.erratum.cause.id: s.erratum.cause for s in statements.all_statements() if s.erratum is not None}
ALLOWED = {"numpy", "math", "fractions", "itertools", "mpmath", "scipy", "statistics"}
NUMBER = re.compile(r"-?\d+(?:/\d+|(?:\.\d+)?(?:e-?\d+)?)")

LONG = {"comparison.py"}
"""Scripts that take about ten seconds."""

every = pytest.mark.parametrize("cause", CAUSES.values(), ids=lambda c: c.id)
running = pytest.mark.parametrize(
    "cause",
    [pytest.param(c, id=c.id, marks=[pytest.mark.slow] * (c.script in LONG)) for c in CAUSES.values()],
)


def script_of(cause: Cause) -> Path:
    place = Path(str(resources.files("dpfl_theory"))) / "statements" / cause.paper / "counterexamples"
    return place / cause.script


RUNNER = """
import contextlib, io, json, sys, traceback
told = {}
for name, source in json.load(sys.stdin).items():
    out, error = io.StringIO(), ""
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(source, name, "exec"), {"__name__": "__main__"})
        except BaseException:
            error = traceback.format_exc()
    told[name] = {"out": out.getvalue(), "error": error}
json.dump(told, sys.stdout)
"""


def turned(text: str) -> str:
    """A script with every asserted comparison reversed."""
    tree = ast.parse(text)
    asserts = [node for node in tree.body if isinstance(node, ast.Assert)]
    assert asserts
    for node in asserts:
        node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
    ast.fix_missing_locations(tree)
    return ast.unparse(tree)


@pytest.fixture(scope="module")
def told(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The output and the error of each script in this run, unchanged or with reversed comparisons: one isolated process
    runs them all."""
    sources = dict[str, str]()
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.path == Path(__file__) and "told" in item.fixturenames:
            cause = item.callspec.params["cause"]
            text = script_of(cause).read_text()
            if item.originalname == test_it_decides_by_itself.__name__:
                sources[f"{cause.id} turned"] = turned(text)
            else:
                sources[cause.id] = text
    command = [sys.executable, "-I", "-c", RUNNER]
    done = subprocess.run(
        command, input=json.dumps(sources), capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@every
def test_it_stands_alone_and_is_short(cause: Cause) -> None:
    text = script_of(cause).read_text()
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else name.name).split(".")[0]  # type: ignore[union-attr]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
    }
    assert imported <= ALLOWED
    code = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(code) <= 30


@pytest.mark.exhaustive(keep=4)
@running
def test_it_runs_and_prints_the_numbers_of_the_letter(cause: Cause, told: dict[str, Any]) -> None:
    assert told[cause.id]["error"] == ""
    printed = NUMBER.findall(told[cause.id]["out"].replace("e-0", "e-"))
    assert printed, "it prints both sides"
    reported = set(NUMBER.findall(plain(cause.example).replace("e-0", "e-")))
    assert set(printed) <= reported, f"the report to the authors lacks {sorted(set(printed) - reported)}"


@pytest.mark.exhaustive(keep=2)
@running
def test_it_decides_by_itself(cause: Cause, told: dict[str, Any]) -> None:
    """The script asserts that the counterexample is valid: with every comparison reversed it fails."""
    assert "AssertionError" in told[f"{cause.id} turned"]["error"]


def test_every_script_belongs_to_a_cause() -> None:
    found = Path(str(resources.files("dpfl_theory"))).glob("statements/*/counterexamples/*.py")
    assert {(p.parent.parent.name, p.name) for p in found} == {(c.paper, c.script) for c in CAUSES.values()}
