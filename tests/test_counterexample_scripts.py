"""Each cause of errata has a script that redoes its smallest counterexample, with NumPy and without the package."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from dpfl_theory import statements
from dpfl_theory.statements.errata import Cause

CAUSES = {s.erratum.cause.id: s.erratum.cause for s in statements.all_statements() if s.erratum is not None}
ALLOWED = {"numpy", "math", "fractions", "itertools", "mpmath", "scipy", "statistics"}
NUMBER = re.compile(r"-?\d+(?:/\d+|(?:\.\d+)?(?:e-?\d+)?)")

every = pytest.mark.parametrize("cause", CAUSES.values(), ids=lambda c: c.id)


def script_of(cause: Cause) -> Path:
    place = Path(str(resources.files("dpfl_theory"))) / "statements" / cause.paper / "counterexamples"
    return place / cause.script


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


@every
def test_it_runs_and_prints_the_numbers_of_the_letter(cause: Cause) -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(script_of(cause))], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    printed = NUMBER.findall(done.stdout)
    assert printed, "it prints both sides"
    told = set(NUMBER.findall(cause.example))
    assert set(printed) <= told, f"the letter does not say {sorted(set(printed) - told)}"


@every
def test_it_decides_by_itself(cause: Cause) -> None:
    """The script asserts that the counterexample is one: with every comparison turned round it fails."""
    tree = ast.parse(script_of(cause).read_text())
    asserts = [node for node in tree.body if isinstance(node, ast.Assert)]
    assert asserts
    turned = [ast.Assert(test=ast.UnaryOp(op=ast.Not(), operand=node.test)) for node in asserts]
    tree.body = [turned[asserts.index(node)] if node in asserts else node for node in tree.body]
    ast.fix_missing_locations(tree)
    done = subprocess.run(
        [sys.executable, "-I", "-c", ast.unparse(tree)], capture_output=True, text=True, timeout=120, check=False
    )
    assert "AssertionError" in done.stderr


def test_every_script_belongs_to_a_cause() -> None:
    found = Path(str(resources.files("dpfl_theory"))).glob("statements/*/counterexamples/*.py")
    assert {(p.parent.parent.name, p.name) for p in found} == {(c.paper, c.script) for c in CAUSES.values()}
