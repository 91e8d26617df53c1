"""The plugin's options, on pytest's command line and in its ini file, and the settings from both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dpfl_theory.runtime.console import choice, parse_alpha, parse_budget, parse_seed

UNDECIDED = ("skip", "fail")
"""Outcomes of a test whose theorem is undecided."""


@dataclass(frozen=True)
class PluginSettings:
    """The settings of a run of pytest.

    alpha: false-alarm probability of each call that checks; budget: its seconds, None for no cap; seed: of all
    randomness; undecided: one of `UNDECIDED`; output: the evidence is written to its subfolder ``evidence``; store: the
    file of an evidence store, or None.
    """

    alpha: float
    budget: float | None
    seed: int
    undecided: str
    output: Path | None
    store: Path | None
    given: frozenset[str]
    """The names of those that are set on the command line or in the ini file."""


_OPTIONS: dict[str, tuple[str, str | None, Callable[[Any], Any], str]] = {
    "alpha": ("A", "1e-6", parse_alpha, "False-alarm probability of each test's simulations (1e-6)."),
    "budget": (
        "60s",
        None,
        parse_budget,
        "Time limit for each test's theorems; unfinished checks are undecided. No default.",
    ),
    "seed": ("N", "0", parse_seed, "Seed of all randomness (0)."),
    "undecided": (
        "skip|fail",
        "skip",
        lambda text: choice("outcome of an undecided theorem", text, UNDECIDED),
        "Outcome of a test whose theorem is undecided (skip).",
    ),
    "output": (
        "DIR",
        None,
        lambda text: text,
        "Write the evidence to DIR/evidence, for 'dpfl-theory report --output DIR'.",
    ),
    "store": ("PATH", None, lambda text: text, "Reuse evidence in this store, and add new evidence; none by default."),
}
"""Name -> form of the value, default as text, parser, help."""
_KEY = pytest.StashKey[PluginSettings]()


def add_options(parser: pytest.Parser) -> None:
    """Add ``--theorem-NAME`` to the command line and ``theorem_NAME`` to the ini file for each option."""
    group = parser.getgroup("theorem", "theorems (dpfl-theory)")
    for name, (metavar, _, _, help_) in _OPTIONS.items():
        group.addoption(f"--theorem-{name}", metavar=metavar, default=None, help=help_)
        parser.addini(f"theorem_{name}", help_, default=None)


def settings_of(config: pytest.Config) -> PluginSettings:
    """The settings of a run of pytest: the command line's, else the ini file's, else the defaults.

    Raises pytest.UsageError, one sentence, for an invalid value.
    """
    if _KEY not in config.stash:
        values = {name: _value(config, name) for name in _OPTIONS}
        output, store = values.pop("output"), values.pop("store")
        config.stash[_KEY] = PluginSettings(
            **values,
            output=None if output is None else config.invocation_params.dir / output,
            store=None if store in (None, "off") else config.rootpath / store,
            given=frozenset(name for name in _OPTIONS if _text(config, name) not in (None, "")),
        )
    return config.stash[_KEY]


def _text(config: pytest.Config, name: str) -> str | None:
    given = config.getoption(f"theorem_{name}")
    return config.getini(f"theorem_{name}") if given is None else given  # type: ignore[no-any-return]


def _value(config: pytest.Config, name: str) -> Any:
    text, (_, default, parse, _) = _text(config, name), _OPTIONS[name]
    try:
        return parse(default if text in (None, "") else text)
    except ValueError as error:
        here = config.getoption(f"theorem_{name}") is not None
        message = str(error).replace(f"--{name} ", "")
        raise pytest.UsageError(
            f"{f'--theorem-{name}' if here else f'theorem_{name} of the ini file'}: {message}"
        ) from None
