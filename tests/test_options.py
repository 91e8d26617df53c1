"""The library's messages name arguments in backquotes, and the command line shows each as an existing option."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import Any

import pytest

import dpfl_theory
from dpfl_theory import statements
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.cli import application, main
from dpfl_theory.cli._privacy import commands
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.console import as_options, option

ROOT = Path(dpfl_theory.__file__).parent
LIBRARY = [p for p in ROOT.rglob("*.py") if p.parent != ROOT / "cli" and p != ROOT / "runtime/console.py"]


@functools.cache
def texts(path: Path) -> tuple[str, ...]:
    """The string constants of a file except docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    docs = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
    return tuple(
        n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in docs
    )


def options() -> set[str]:
    """Every option of every command."""
    found: set[str] = set()
    left = [application(), *commands().values()]
    while left:
        command = left.pop()
        found |= {name for p in command.params for name in p.opts}
        left += getattr(command, "commands", {}).values()
    return found


def test_every_argument_in_backquotes_is_an_option() -> None:
    known = options()
    named = {(p.name, m[1]) for p in LIBRARY for t in texts(p) for m in re.finditer(r"`([a-z][a-z0-9_]*)[`=]", t)}
    assert len(named) > 30
    assert {(file, name) for file, name in named if option(name) not in known} == set()


def test_no_message_of_the_library_names_an_option() -> None:
    """Complete commands in quotation marks and git's own options are exempt."""
    quoted = re.compile(r"dpfl-theory |^check --format|^--[a-z-]+$|^ --[a-z]+ ?|errata ")
    found = [(p.name, t) for p in LIBRARY for t in texts(p) if re.search(r"(^|\s)--[a-z]", t) and not quoted.search(t)]
    assert found == []


def test_values_are_shown_behind_their_option() -> None:
    assert as_options("`user_rate` of `users=2`") == "--user-rate of --users 2"
    assert as_options("`Statement.smoke` and `x y` stay") == "`Statement.smoke` and `x y` stay"


def test_the_same_error_in_python_and_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = plan([statements.get("das2022.lemma8")], ["algebra"])
    cases: dict[str, Any] = {"jobs": 0, "alpha": 2.0, "seed": -1, "budget": 0.0, "device": "tpu"}
    for name, value in cases.items():
        with pytest.raises(InputError) as raised:
            run_plan(pairs, **{name: value})
        assert str(raised.value).startswith(f"`{name}` is {value!r}")
        assert as_options(str(raised.value)).startswith(f"--{name} is {value!r}")
    arguments = ["--users", "4", "--records", "9", "--user-rate", "0.1", "--record-rate", "0.5", "--local-steps", "2"]
    more = ["--noise-multiplier", "2", "--rounds", "3", "--delta", "1e-5"]
    assert main(["privacy", "account", "--algorithm", "dp-scaffold", *arguments, *more]) == 2
    message = capsys.readouterr().err
    assert "--user-rate 0.1 of --users 4 is less than one user" in message
    assert "`" not in message
