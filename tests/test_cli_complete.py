"""Shell completion, by the protocols of the shells, and help by -h."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import HANGS

import dpfl_theory
from dpfl_theory import statements
from dpfl_theory.cli import application, commands_of, main
from dpfl_theory.validation.script import available

Output = pytest.CaptureFixture[str]
CLI = Path(dpfl_theory.__file__).parent / "cli"


def asking(words: str, shell: str = "bash") -> dict[str, str]:
    """The variables by which a shell requests completions of the last of these words."""
    count = len(words.split()) - (0 if words.endswith(" ") else 1)
    return {
        "_DPFL_THEORY_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(count),
        "_TYPER_COMPLETE_ARGS": words,
    }


def asked(words: str, shell: str = "bash", **more: str) -> list[str]:
    """The completions of the last of these words, which may be empty."""
    environment = {**os.environ, **asking(words, shell), **more}
    if shell != "bash":
        del environment["COMP_WORDS"]
    command = [sys.executable, "-m", "dpfl_theory"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANGS, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_commands_are_offered_before_they_are_named() -> None:
    assert {"list", "check", "validate"} <= set(asked("dpfl-theory "))
    assert asked("dpfl-theory fals") == ["falsify"]


def answered(words: str) -> list[str]:
    """The same, computed in this process."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in asking(words).items():
            patch.setenv(name, value)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.suppress(SystemExit):
            main([])
    assert err.getvalue() == ""
    return out.getvalue().splitlines()


def test_ids_papers_and_kinds() -> None:
    ids = sorted(s.id for s in statements.all_statements())
    fours = [i for i in ids if i.startswith("das2022.theorem4")]
    assert asked("dpfl-theory check das2022.theorem4") == answered("dpfl-theory check das2022.theorem4") == fours
    assert answered("dpfl-theory show das2022.theorem4") == fours
    assert answered("dpfl-theory errata noble") == ["noble2022"]
    assert answered("dpfl-theory list obs") == ["observables"]
    assert answered("dpfl-theory show obs") == ["observable"]
    assert answered("dpfl-theory check --paper z") == ["zhang2021"]


def test_values_of_options() -> None:
    assert answered("dpfl-theory check --method mo") == ["monte-carlo"]
    assert answered("dpfl-theory list --expected v") == ["violated"]
    assert "dp-scaffnew" in answered("dpfl-theory recommend --algorithm dp-s")
    assert answered("dpfl-theory privacy account --algorithm dp-fedavg-") != []


@pytest.mark.slow
def test_validations_in_zsh_and_fish() -> None:
    names = [name for name in available() if name.startswith("das2022_f")]
    assert asked("dpfl-theory validate das2022_f") == names
    assert all(f'"{name}"' in "\n".join(asked("dpfl-theory validate das2022_f", "zsh")) for name in names)
    assert asked("dpfl-theory validate das2022_f", "fish", _TYPER_COMPLETE_FISH_ACTION="get-args") == names


def test_what_is_completed_is_found_without_heavy_imports() -> None:
    """A shell waits for the completion: neither NumPy nor algebra is imported."""
    code = (
        "import sys; from dpfl_theory.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = ('numpy', 'sympy', 'numba', 'rich')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    for words in ("dpfl-theory show das2022.theorem4", "dpfl-theory check das2022.theorem4", "dpfl-theory list das20"):
        environment = {**os.environ, "_DPFL_THEORY_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "2"}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=HANGS, check=True
        )
        assert "das2022" in done.stdout
        assert done.stderr.strip() == "[]", words


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_installed(shell: str) -> None:
    """The script that a shell reads uses the variable to which the command responds."""
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-m", "dpfl_theory", "--show-completion", shell]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANGS, check=True)
    assert f"_DPFL_THEORY_COMPLETE=complete_{shell}" in done.stdout
    assert "dpfl-theory" in done.stdout


def every(command: object, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of all commands, groups among them."""
    yield before
    for name in getattr(command, "list_commands", lambda _: [])(None):
        yield from every(command.get_command(None, name), (*before, name))  # type: ignore[attr-defined]


def test_h_is_help_everywhere(capsys: Output) -> None:
    found = list(every(application()))
    assert len(found) > 15
    for words in found:
        assert main([*words, "-h"]) == 0
        short = capsys.readouterr().out
        assert main([*words, "--help"]) == 0
        assert capsys.readouterr().out == short
        assert "Usage: dpfl-theory" in short


def test_help_of_the_main_commands_has_examples(capsys: Output) -> None:
    for name in ("list", "show", "check", "falsify", "validate", "sweep"):
        assert main([name, "-h"]) == 0
        assert f"\n    dpfl-theory {name} " in capsys.readouterr().out, name


def test_modules_have_the_commands_that_are_listed() -> None:
    """This finds a command without importing the others."""
    for path in CLI.glob("[!_]*.py"):
        for name in commands_of(path.stem):
            assert name in application(name).commands, name
    every_name = {name for path in CLI.glob("[!_]*.py") for name in commands_of(path.stem)}
    assert every_name == set(application().commands)


def test_one_command_alone_is_put_together() -> None:
    assert list(application("show").commands) == ["show"]
    assert set(application("shwo").commands) == set(application().commands)
