"""Runs one script: its evidence as JSON, and its figures drawn only from that."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.kernels import select
from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.cached_calls import CallResult, Reuse
from dpfl_theory.runtime.recorded_warnings import counted, recorded
from dpfl_theory.validation.cache import data_slot, figures_slot, fingerprint, keep_figures, take_figures
from dpfl_theory.validation.claims import fault
from dpfl_theory.validation.script import Context, Script, command

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
