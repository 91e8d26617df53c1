"""`privacy`: how much privacy a run gives, the noise it needs, the rounds it can afford, and the papers' constants."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from dpfl_theory.console import choice


class _OnDemand(TyperGroup):
    """Makes its commands when they are asked for: their options come from modules that take long to import."""

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
    help="Account for privacy, calibrate noise, compute the constants that the papers leave open, audit the code.",
)
