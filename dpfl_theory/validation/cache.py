"""Validations in the store: the data that a script computed, and its figures, each under a key of its own.

Data depend on the script and all its imports, on the profile, the seed, the device and the user's data file. Figures
depend on the script, the data and matplotlib, so they are found wherever the same data are drawn again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpfl_theory.kernels import select
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.slots import Slot
from dpfl_theory.runtime.sources import Sources, sources_of
from dpfl_theory.validation.script import Context, Script, folder

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
