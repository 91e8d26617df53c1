"""`privacy`: the privacy of a run, the noise it needs, the rounds it can afford, and the papers' constants."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from dpfl_theory.runtime.console import choice


class _OnDemand(TyperGroup):
    """A group that creates its commands on demand, since their options come from modules that take long to import."""

    def _make(self) -> None:
        if not self.commands:
            from dpfl_theory.cli._privacy import commands

            self.commands.update(commands())

    def list_commands(self, ctx: Any) -> list[str]:
        self._make()
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        self._make()
        return self.commands[choice("command", cmd_name, tuple(self.commands))]


app = typer.Typer(
    name="privacy",
    cls=_OnDemand,
    no_args_is_help=True,
    help="Account for privacy, calibrate noise, compute the constants that papers leave unspecified, audit the code.",
)
