"""Checking the statements of a test: once in a run of pytest, with the resulting outcome of the test."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpfl_theory.errors import DpflError, InputError, unknown_name
from dpfl_theory.pytest_plugin.options import PluginSettings, settings_of

if TYPE_CHECKING:
    from dpfl_theory.checks.runner import Report
    from dpfl_theory.core import Statement
    from dpfl_theory.core.evidence import Evidence

LIMIT = 600.0
"""Time limit for a round's test and for a check of the user's own, as in ``dpfl-theory check --file`` [s]."""


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


@dataclass(frozen=True)
class Checked:
    """The requested statements, by id, and the report of their checks."""

    statements: Mapping[str, Statement]
    report: Report


_DONE = pytest.StashKey[dict["Request", Checked]]()


class CheckTheorem:
    """Checking of theorems for one test: called by its body, or for each of its marks."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, *ids: str | Statement, **arguments: Any) -> list[Evidence]:
        """Check these statements, fail the test where one does not meet its requirement, and return the evidence."""
        __tracebackhide__ = True
        checked, undecided = self._decided(ids, arguments)
        if undecided:
            pytest.skip(undecided)
        return list(checked.report.evidence)

    def of_mark(self, mark: pytest.Mark) -> str:
        """Check the statements of a mark; return the undecided ones in words, empty where all are decided."""
        __tracebackhide__ = True
        return self._decided(mark.args, dict(mark.kwargs))[1]

    def _decided(self, ids: tuple[Any, ...], arguments: dict[str, Any]) -> tuple[Checked, str]:
        __tracebackhide__ = True
        from dpfl_theory.pytest_plugin.reporting import outcome, properties

        settings = settings_of(self._item.config)
        unusable = ""
        try:
            ask, checked = self._evidence(settings, ids, arguments)
        except DpflError as error:
            unusable = str(error)
        if unusable:  # outside of the handler, so that pytest shows no other exception as the cause
            pytest.fail(unusable, pytrace=False)
        self._item.user_properties.extend(properties(ask, checked.report))
        failure, undecided = outcome(ask, checked)
        if failure:
            pytest.fail(failure, pytrace=False)
        if undecided:
            end_undecided(settings, undecided)
        return checked, undecided

    def _evidence(
        self, settings: PluginSettings, ids: tuple[Any, ...], arguments: dict[str, Any]
    ) -> tuple[Request, Checked]:
        """The request with its results, computed now or by an earlier test of this run."""
        config = self._item.config
        ask = request_from(settings, (self._item.path.parent, config.rootpath), *ids, **arguments)
        done = config.stash.setdefault(_DONE, {})
        same = replace(ask, verdict=None)
        if same not in done:
            with warnings.catch_warnings():
                # A library's warning is not a verdict, also where the user's tests turn warnings into errors.
                warnings.simplefilter("default")
                done[same] = _checked(ask, settings)
        return ask, done[same]


def end_undecided(settings: PluginSettings, why: str) -> None:
    """Fail the test if undecided tests must fail; otherwise the caller may skip it."""
    __tracebackhide__ = True
    if settings.undecided == "fail":
        pytest.fail(why, pytrace=False)


def _checked(ask: Request, settings: PluginSettings) -> Checked:
    """The report of all requested checks. Raises InputError for unknown statements or methods."""
    from dpfl_theory import statements
    from dpfl_theory.checks.runner import plan, run_plan
    from dpfl_theory.runtime.cache import Store

    chosen = _chosen(ask)
    pairs = plan(chosen, ask.methods)
    for statement in chosen:
        if not any(s is statement for s, _ in pairs):
            used = ", ".join(statement.methods) or "none"
            raise InputError(f"no check of {statement.id} uses the method {', '.join(ask.methods)}: it has {used}")
    own = any(statements.file_of(s.id) is None for s in chosen)
    with contextlib.nullcontext() if settings.store is None else Store(settings.store) as store:
        report = run_plan(
            pairs,
            alpha=ask.alpha,
            seed=ask.seed,
            device=ask.device,
            budget=ask.budget,
            file=ask.file,
            store=store,
            limit=LIMIT if own else None,
        )
    if settings.output is not None:
        _leave(ask, chosen, report, settings.output)
    return Checked({s.id: s for s in chosen}, report)


def _chosen(ask: Request) -> tuple[Statement, ...]:
    """The requested statements: of the file, if there is one, and else of the catalogue."""
    from dpfl_theory import statements

    if ask.file is None:
        return tuple(dict.fromkeys(statements.get(s) if isinstance(s, str) else s for s in ask.ids))
    own = {s.id: s for s in statements.load_file(ask.file, ask.budget)}
    for id_ in ask.ids:
        if id_ not in own:
            raise unknown_name(f"statement of {str(ask.file)!r}", str(id_), own)
    return tuple(own[str(id_)] for id_ in dict.fromkeys(ask.ids)) if ask.ids else tuple(own.values())


def _leave(ask: Request, chosen: Sequence[Statement], report: Report, output: Path) -> None:
    """Write the evidence where ``dpfl-theory report`` finds it, one file for each request."""
    from dpfl_theory import statements
    from dpfl_theory.report.user_statements import described
    from dpfl_theory.runtime.atomic_files import write

    place = output / "evidence"
    place.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9.]+", "-", report.evidence[0].statement)
    asked = [
        [e.statement for e in report.evidence],
        str(ask.file),
        ask.methods,
        ask.seed,
        ask.alpha,
        ask.budget,
        ask.device,
    ]
    own = hashlib.sha256(repr(asked).encode()).hexdigest()[:8]
    document = report.to_json()
    if of_users := [s for s in chosen if statements.file_of(s.id) is None]:
        document["own"] = described(of_users, report.evidence, file=ask.file and _from_here(ask.file))
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    write(place / f"test-{name}-{own}.json", text + "\n")


def _from_here(file: Path) -> Path:
    """The file's path relative to the working directory, where it is inside: reports go to other machines."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


class Conforms:
    """Comparison of a function of one round with a reference, for one test."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, function: Callable[..., Any], as_: str = "dp-fedavg", **options: Any) -> Any:
        """Return the report of ``dpfl_theory.conform``.

        The test fails where the function differs from the reference, and is undecided where the comparison takes longer
        than the budget.
        """
        __tracebackhide__ = True
        import dpfl_theory
        from dpfl_theory.runtime.time_limits import TimeoutExceeded

        settings = settings_of(self._item.config)
        conform: Callable[..., Any] = dpfl_theory.conform
        usual = {"alpha": settings.alpha, "seed": settings.seed}
        options = {name: value for name, value in usual.items() if name in settings.given} | options
        options.setdefault("limit", LIMIT if settings.budget is None else settings.budget)
        unusable = late = ""
        try:
            report = conform(function, as_=as_, **options)
        except TimeoutExceeded as error:
            late = f"{as_}: {error}"
        except DpflError as error:
            unusable = str(error)
        if late:
            end_undecided(settings, late)
            pytest.skip(late)
        if unusable:  # outside of the handler, so that pytest shows no other exception as the cause
            pytest.fail(unusable, pytrace=False)
        name = getattr(function, "__qualname__", type(function).__name__)
        faults = ", ".join(fault.name for fault in report.faults)
        described = {"function": name, "as": as_, "verdict": report.verdict, "faults": faults}
        self._item.user_properties.extend((key, value) for key, value in described.items() if value)
        if report.verdict == "differs":
            pytest.fail(f"{name} does not conform to {as_}\n{report}", pytrace=False)
        if report.verdict != "conforms":
            why = f"whether {name} conforms to {as_} is undecided\n{report}"
            end_undecided(settings, why)
            pytest.skip(why)
        return report
