"""The figures that the pages show, in files next to them: SVG where that is small, otherwise PNG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpfl_theory import validation
from dpfl_theory.errors import InputError, format_error
from dpfl_theory.report.entries import natural
from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.runtime.cache import Store
from dpfl_theory.validation.run import figures_slot, take_figures

FOLDER = "figures"
SVG_BYTES = 600_000
"""A larger figure is shown as PNG: browsers are slow with such paths."""


@dataclass(frozen=True)
class Figures:
    """Draws the figures of validations again, or uses those that are there.

    redraw: False uses the figures that are there. folder: the folder of scripts that draw them, the package's own
    when it is None. store: figures are taken from it, unless ``fresh``, and stored in it.
    """

    output: Path
    tell: Callable[[str], None]
    redraw: bool = True
    folder: Path | None = None
    store: Store | None = None
    fresh: bool = False
    scripts: dict[str, Path] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scripts", _scripts(self.folder) if self.redraw else {})

    def figures_of(self, document: Mapping[str, Any]) -> list[dict[str, str]]:
        """The document's figures: ``shown`` (the file for an image), ``alt``, ``stem`` (of the files) and ``part``."""
        name, place = document["name"], self.output / FOLDER
        if name in self.scripts:
            place.mkdir(parents=True, exist_ok=True)
            for file, content in self._drawn(self.scripts[name], document).items():
                write(place / file, content)
        elif self.redraw:
            self.tell(f"there is no script {name!r} here to redraw its figures: those in {str(place)!r} are used")
        stems = [p.stem for p in place.glob("*.png") if p.stem == name or p.stem.startswith(f"{name}-")]
        return [self._shown(stem, document) for stem in sorted(stems, key=natural)]

    def _drawn(self, path: Path, document: Mapping[str, Any]) -> dict[str, bytes]:
        """The figures by file name; a script is loaded only where they are not in the store."""
        if self.store is not None and not self.fresh:
            files = take_figures(figures_slot(path, self.folder, document["data"], self.store))
            if files is not None:
                return files
        script = validation.load(path, self.folder)
        try:
            return validation.redraw(script, document, self.store, self.fresh)
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise InputError(
                f"the figures of {document['name']!r} cannot be drawn from its evidence ({format_error(error)}): make "
                "it again or remove it"
            ) from error

    def _shown(self, stem: str, document: Mapping[str, Any]) -> dict[str, str]:
        part = stem.removeprefix(document["name"]).lstrip("-")
        alt = f"{document['title']}{f' ({part})' if part else ''}: described in the caption"
        svg = self.output / FOLDER / f"{stem}.svg"
        small = svg.is_file() and svg.stat().st_size <= SVG_BYTES
        return {"shown": f"{stem}.{'svg' if small else 'png'}", "alt": alt, "stem": stem, "part": part}


def _scripts(place: Path | None) -> dict[str, Path]:
    try:
        return validation.available(place)
    except InputError:
        return {}
