"""One run of a script: its settings, and its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dpfl_theory.errors import DpflError, format_error, place
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.cached_calls import CallResult
from dpfl_theory.runtime.console import as_options, print_message
from dpfl_theory.runtime.recorded_warnings import in_words, total
from dpfl_theory.validation.cache import data_slot, figures_slot
from dpfl_theory.validation.claims import ANSWERS, CLAIM_VERDICTS, UNDECIDED
from dpfl_theory.validation.run import run
from dpfl_theory.validation.script import Context, Script

INTERNAL = 70


@dataclass(frozen=True)
class ScriptResult:
    """The result of a script: the verdicts of its claims and the answers to questions of our own, the unexpected ones
    among them, or the reason why it failed."""

    name: str
    verdicts: tuple[str, ...] = ()
    surprises: frozenset[str] = frozenset()
    seconds: float = 0.0
    failure: str = ""
    code: int = 0
    troubles: tuple[str, ...] = ()
    """The error of the store, if any."""
    warned: int = 0
    """Warnings in its evidence."""


@dataclass(frozen=True)
class RunOptions:
    """The settings of scripts: the context, the output folder, the store that they use, and whether they compute
    everything again; ``fit`` adapts it to another process."""

    context: Context
    output: Path
    store: Store | None = None
    fresh: bool = False

    def fit(self) -> RunOptions:
        """The settings without the progress, which is reported only here."""
        return replace(self, context=replace(self.context, progress=Context().progress))

    def reused(self, scripts: Iterable[Script]) -> list[Script]:
        """Those of the scripts whose data and figures are in the store."""
        if self.store is None or self.fresh:
            return []
        found = []
        for script in scripts:
            document = data_slot(script, self.context, self.store).take()
            if document and figures_slot(script.path, script.folder, document["data"], self.store).take():
                found.append(script)
        return found


def failure(name: str, error: Exception) -> ScriptResult:
    """The result of a script in which, or for which, this error occurred."""
    if isinstance(error, DpflError):
        return ScriptResult(name, failure=str(error), code=error.exit_code)
    return ScriptResult(name, failure=f"internal error: {format_error(error)}, {place(error)}", code=INTERNAL)


def attempt(script: Script, options: RunOptions, results: Mapping[str, CallResult] | None = None) -> ScriptResult:
    """Run a script and return its result; a failure is reported, not raised.

    results: results of the calls that it requests, where other processes compute these: a missing one raises
    `dpfl_theory.runtime.cached_calls.MissingCalls`."""
    try:
        document = run(script, options.context, options.output, options.store, options.fresh, results)
    except Exception as error:
        return failure(script.name, error)
    claims = document["data"].get("claims", [])
    return ScriptResult(
        script.name,
        tuple(c["verdict"] for c in claims),
        frozenset(c["verdict"] for c in claims if c["verdict"] != c.get("expected", c["verdict"])),
        document["seconds"],
        troubles=() if options.store is None else options.store.problems,
        warned=total(document.get("warnings", ())),
    )


def report(ending: ScriptResult, options: RunOptions) -> None:
    """Report on stderr the result of a script."""
    for trouble in ending.troubles if options.store is not None else ():
        options.store.report_problem(trouble)  # type: ignore[union-attr]
    if ending.failure:
        print_message(f"{ending.name} failed: {as_options(ending.failure)}")
        return
    groups = {"claims": CLAIM_VERDICTS, "our own questions": ANSWERS}
    counts = {
        what: ", ".join(f"{ending.verdicts.count(v)} {v}" for v in known if v in ending.verdicts)
        for what, known in groups.items()
    }
    found = "; ".join(f"{what}: {said}" for what, said in counts.items() if said) or "done"
    found = "; ".join(filter(None, (found, in_words(ending.warned))))
    print_message(f"{ending.name}: {found} in {ending.seconds:.1f} s: {options.output / 'evidence' / ending.name}.json")


def exit_code(endings: Iterable[ScriptResult]) -> int:
    """0 unless a claim has another verdict than its script records as ``expected`` (1; 3 when all such are
    undecided); the exit code of the first script that failed, if one did."""
    made = list(endings)
    failure = next((e.code for e in made if e.code), 0)
    surprises = frozenset().union(*(e.surprises for e in made))
    if failure or not surprises:
        return failure
    return 3 if surprises <= UNDECIDED else 1
