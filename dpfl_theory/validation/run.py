"""One run of a script: its settings, its evidence as JSON, its figures drawn only from that, and its result.

A store has the data that a script computed and its figures, each under a key of its own. Data depend on the script and
all its imports, on the profile, the seed, the device and the user's data file. Figures depend on the script, the data
and matplotlib, so they are found wherever the same data are drawn again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpfl_theory.errors import DpflError, InputError, format_error, place
from dpfl_theory.kernels import select
from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.cached_calls import CallResult, Reuse
from dpfl_theory.runtime.console import as_options, print_message
from dpfl_theory.runtime.recorded_warnings import counted, in_words, recorded, total
from dpfl_theory.runtime.slots import Slot
from dpfl_theory.runtime.sources import Sources, sources_of
from dpfl_theory.validation.claims import ANSWERS, CLAIM_VERDICTS, UNDECIDED, fault
from dpfl_theory.validation.script import Context, Script, command, folder

SCHEMA = "dpfl-theory/validation/1"


def to_json(value: Any, where: str = "data") -> Any:
    """The value as JSON data: arrays as lists, numbers that are not finite as None. TypeError names a value of another
    type."""
    if isinstance(value, Mapping):
        return {str(k): to_json(v, f"{where}[{k!r}]") for k, v in value.items()}
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return to_json(value.tolist(), where)
    if isinstance(value, (list, tuple)):
        return [to_json(v, f"{where}[{i}]") for i, v in enumerate(value)]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    raise TypeError(f"{where} is a {type(value).__name__}, which JSON cannot represent")


def _checked(data: Any, name: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise TypeError(f"compute() of {name} returned a {type(data).__name__} instead of a dict")
    made: dict[str, Any] = to_json(data)
    for claim in made.get("claims", []):
        wrong = fault(claim)
        if wrong is not None:
            raise TypeError(f"a claim of {name} {wrong}")
    return made


def run(
    script: Script,
    context: Context,
    output: Path,
    store: Store | None = None,
    fresh: bool = False,
    results: Mapping[str, CallResult] | None = None,
) -> dict[str, Any]:
    """Run a script and write ``evidence/<name>.json`` and ``figures/<name>*.{png,svg}`` to the output folder.

    Nothing is written unless everything worked. Returns the document that was written.

    store: data and figures are taken from it unless ``fresh``, and missing ones are stored in it.

    results: results of the calls of ``context.each`` that other processes computed; where it is not None, a missing one
    raises `dpfl_theory.runtime.cached_calls.MissingCalls`.
    """
    slot = None if store is None else data_slot(script, context, store)
    document = None if slot is None or fresh else slot.take()
    if document is None:
        mark = {
            "data": None if context.data is None else fingerprint(context.data),
            "device": select(context.device).description,
        }
        reuse = Reuse(store, fresh, mark, "point", results)
        document = json.loads(_text(_computed(script, replace(context, reuse=reuse))))
        if slot is not None and store is not None:
            store.report_problem(slot.keep(document))
    figures = redraw(script, document, store, fresh)
    target = subfolder(output, "evidence") / f"{script.name}.json"
    _leave(figures, subfolder(output, "figures"), script.name)
    write(target, _text(document))
    return dict(document)


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _computed(script: Script, context: Context) -> dict[str, Any]:
    """The document that a script makes."""
    from dpfl_theory.core.evidence import versions

    device = select(context.device).description
    started = time.perf_counter()
    with recorded() as warned:
        data = _checked(script.compute(context), script.name)
    others = () if context.reuse is None else context.reuse.warned
    seconds = time.perf_counter() - started + (context.reuse.spent if context.reuse is not None else 0.0)
    if context.data is not None:
        data["configuration"] = {**data.get("configuration", {}), "data file": fingerprint(context.data)}
    return {
        "schema": SCHEMA,
        "name": script.name,
        "title": script.title,
        "caption": script.caption,
        "source": dict(script.source),
        "command": command(script.name, context),
        "profile": context.profile,
        "seed": context.seed,
        "device": device,
        "versions": versions(),
        "seconds": round(seconds, 3),
        "warnings": [*others, *counted(warned)],
        "data": data,
    }


def redraw(
    script: Script, document: Mapping[str, Any], store: Store | None = None, fresh: bool = False
) -> dict[str, bytes]:
    """The figures of a document by file name, drawn only from its data, or taken from a store that has them."""
    slot = None if store is None else figures_slot(script.path, script.folder, document["data"], store)
    files = None if slot is None or fresh else take_figures(slot)
    if files is None:
        files = _drawn(script, document)
        if slot is not None and store is not None:
            store.report_problem(keep_figures(slot, files))
    return files


def _drawn(script: Script, document: Mapping[str, Any]) -> dict[str, bytes]:
    from dpfl_theory.validation import style

    with style.figure_style():
        drawn = script.draw(document["data"])
    files: dict[str, bytes] = {}
    for key, figure in drawn.items():
        if not re.fullmatch(r"[A-Za-z0-9._-]*", key):
            raise ValueError(f"draw() of {script.name} names a figure {key!r}: use letters, digits, dots and hyphens")
        stem = f"{script.name}-{key}" if key else script.name
        files.update({f"{stem}.{kind}": content for kind, content in style.render(figure).items()})
    return files


def _leave(files: Mapping[str, bytes], place: Path, name: str) -> None:
    """Write the figures, and remove those of the same script that it no longer draws."""
    for file, content in files.items():
        write(place / file, content)
    for old in (*place.glob(f"{name}.*"), *place.glob(f"{name}-*.*")):
        if old.suffix in (".png", ".svg") and old.name not in files:
            old.unlink()


def subfolder(output: Path, name: str) -> Path:
    """A folder in the output folder, created if it is missing."""
    place = output / name
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {str(place)!r}: {error.strerror}; choose another `output`") from error
    return place


_BASE = ("dpfl_theory.validation.run",)
"""The module that runs every script."""


def data_slot(script: Script, context: Context, store: Store) -> Slot:
    """The place of the document of a script that is run with these settings."""
    parts = {
        "script": script.name,
        "profile": context.profile,
        "seed": context.seed,
        "device": select(context.device).description,
        "data": None if context.data is None else fingerprint(context.data),
    }
    known, name = _sources_of(script.path, script.folder)
    return known.slot(store, "validation", f"{script.name} {context.profile}", parts, on=(name,), base=_BASE)


def figures_slot(path: Path, place: Path | None, data: Mapping[str, Any], store: Store) -> Slot:
    """The place of the figures that the script in this file of a folder of scripts draws from these data."""
    drawn = json.dumps(data, sort_keys=True, separators=(",", ":"))
    parts = {"script": path.stem, "drawn": hashlib.sha256(drawn.encode()).hexdigest()}
    known, name = _sources_of(path, place)
    return known.slot(store, "figures", path.stem, parts, on=(name,), base=_BASE, packages=("matplotlib",))


def fingerprint(path: str) -> dict[str, str]:
    """The identity of a data file, independent of its folder."""
    return {"name": Path(path).name, "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def keep_figures(slot: Slot, files: Mapping[str, bytes]) -> str:
    """Store figures by file name; returns the reason if that was not possible."""
    return slot.keep({name: base64.b64encode(zlib.compress(content, 6)).decode() for name, content in files.items()})


def take_figures(slot: Slot) -> dict[str, bytes] | None:
    """The figures by file name, if they are there."""
    found = slot.take()
    return found and {name: zlib.decompress(base64.b64decode(content)) for name, content in found.items()}


def _sources_of(path: Path, place: Path | None) -> tuple[Sources, str]:
    return sources_of(path, None if path.resolve().is_relative_to(folder()) else place or path.parent)


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
