"""The request of a test: statements, methods, and the required verdicts."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.pytest_plugin.options import PluginSettings

if TYPE_CHECKING:
    from dpfl_theory.core import Statement


@dataclass(frozen=True)
class Request:
    """A request: ids of statements or `Statement` objects, the user's file or None, and the methods (empty for all).

    Further fields are the verdict that each statement must have, or None, and the settings of the check.
    """

    ids: tuple[Statement | str, ...]
    file: Path | None
    methods: tuple[str, ...]
    verdict: str | None
    seed: int
    alpha: float
    budget: float | None
    device: str


def request_from(settings: PluginSettings, folders: tuple[Path, ...], *ids: Any, **given: Any) -> Request:
    """The arguments of a mark or of a fixture's call, with the settings of the run as defaults.

    folders: where a relative file is searched, in this order. Raises InputError for invalid arguments.
    """
    for name in given:
        if name not in _ARGUMENTS:
            raise unknown_name("argument of a theorem", name, _ARGUMENTS)
    return _request(settings, folders, ids, **given)


def _request(
    settings: PluginSettings,
    folders: tuple[Path, ...],
    ids: tuple[Any, ...],
    *,
    file: str | Path | None = None,
    methods: str | list[str] | tuple[str, ...] = (),
    verdict: str | None = None,
    seed: int | None = None,
    alpha: float | None = None,
    budget: str | float | None = None,
    device: str = "auto",
) -> Request:
    from dpfl_theory.core import Statement
    from dpfl_theory.core.evidence import OF_STATEMENTS
    from dpfl_theory.runtime.console import choice, parse_budget

    if not ids and file is None:
        raise InputError("no theorem is named: give the id of a statement, or file='my.py' with statements of your own")
    for id_ in ids:
        if not isinstance(id_, (str, Statement)):
            raise InputError(
                f"{id_!r} is not a statement: give its id, such as 'das2022.theorem4a', or a Statement object"
            )
    return Request(
        ids,
        None if file is None else _resolve_file(Path(file), folders),
        (methods,) if isinstance(methods, str) else tuple(methods),
        None if verdict is None else choice("verdict of a statement", verdict, OF_STATEMENTS),
        settings.seed if seed is None else seed,
        settings.alpha if alpha is None else alpha,
        settings.budget if budget is None else parse_budget(budget) if isinstance(budget, str) else float(budget),
        device,
    )


_ARGUMENTS = [p.name for p in inspect.signature(_request).parameters.values() if p.kind is p.KEYWORD_ONLY]


def _resolve_file(file: Path, folders: tuple[Path, ...]) -> Path:
    places = list(dict.fromkeys(folder / file for folder in folders))
    for place in places:
        if place.is_file():
            return place
    raise InputError(f"there is no file {' or '.join(repr(str(place)) for place in places)}: give the path of one")
