"""Validations in the store: what a script computed, and what it drew of that, each under a key of its own.

Data rest on the script and all that it imports, on the profile, the seed, the device and the user's data file; figures
on the script, the data and matplotlib, so that they are found wherever the same data are drawn again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpfl_theory.checks.sources import Sources, sources
from dpfl_theory.kernels import select
from dpfl_theory.store import Slot, Store
from dpfl_theory.validation.script import Context, Script, folder

__all__ = ["data_slot", "figures_slot", "fingerprint", "keep_figures", "take_figures"]

_BASE = ("dpfl_theory.validation.run",)
"""What runs every script."""


def data_slot(script: Script, context: Context, store: Store) -> Slot:
    """Where the document of a script that is run like this is kept."""
    parts = {
        "script": script.name,
        "profile": context.profile,
        "seed": context.seed,
        "device": select(context.device).description,
        "data": None if context.data is None else fingerprint(context.data),
    }
    known, name = _of(script.path, script.folder)
    return known.slot(store, "validation", f"{script.name} {context.profile}", parts, on=(name,), base=_BASE)


def figures_slot(path: Path, place: Path | None, data: Mapping[str, Any], store: Store) -> Slot:
    """Where the figures are kept that the script in this file of a folder of scripts draws of these data."""
    drawn = json.dumps(data, sort_keys=True, separators=(",", ":"))
    parts = {"script": path.stem, "drawn": hashlib.sha256(drawn.encode()).hexdigest()}
    known, name = _of(path, place)
    return known.slot(store, "figures", path.stem, parts, on=(name,), base=_BASE, beside=("matplotlib",))


def fingerprint(path: str) -> dict[str, str]:
    """What identifies a data file wherever it lies."""
    return {"name": Path(path).name, "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def keep_figures(slot: Slot, files: Mapping[str, bytes]) -> str:
    """Keep figures by file name; returns why that was not possible, if so."""
    return slot.keep({name: base64.b64encode(zlib.compress(content, 6)).decode() for name, content in files.items()})


def take_figures(slot: Slot) -> dict[str, bytes] | None:
    """The figures by file name, if they are there."""
    found = slot.take()
    return found and {name: zlib.decompress(base64.b64decode(content)) for name, content in found.items()}


def _of(path: Path, place: Path | None) -> tuple[Sources, str]:
    """The hashes that a script's file is found among, and its name there."""
    own, file = folder(), path.resolve()
    if file.is_relative_to(own):
        known = sources()
        return known, file.relative_to(known.graph.package.parent).as_posix()
    return sources((place or path.parent).resolve()), str(file)
