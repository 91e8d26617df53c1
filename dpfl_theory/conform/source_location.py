"""Which lines of a function to look at: lines that ran and that concern a fault."""

from __future__ import annotations

import linecache
import re
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["ROLES", "Line", "executed_lines", "short_name", "suspicious"]

Line = tuple[str, int]
"""A file and a line number in it."""

ROLES = {
    "average": r"\bmean\(|\bsum\(|\baverage\(|/ *(max\([\d., ]*)?(len|r\b|n\b|\w*(size|count|cohort|clients))",
    "clip": r"norm\(|clip|\bmin\(|minimum|max\((?![\d., ]*len\()|maximum|quantile|median",
    "noise": r"normal|laplace|randn|noise|sigma|multiplier|scale=",
    "step": r"return |\bw\s*[-+]?=|\bw\s*[-+]",
    "local": r"gradient\(|\brange\(|\bfor ",
    "control": r"\bc\b|\bc_|control|memor|\bh\b|\bh_|\bv_|state",
    "cohort": r"cohort|choice\(|permutation\(|clients",
}
"""Pattern of the lines of each role."""
_OTHERS = tuple(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "purelib", "platlib"))
_OWN = str(Path(__file__).parent.parent)


def executed_lines(call: Callable[[], Any]) -> list[Line]:
    """The lines of the user's own files that run in a call, sorted by file."""
    found: set[Line] = set()

    def listen(frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        if file.startswith((_OWN, "<frozen", *_OTHERS)):
            return None
        if event == "line":
            found.add((file, frame.f_lineno))
        return listen

    before = sys.gettrace()
    sys.settrace(listen)
    try:
        call()
    finally:
        sys.settrace(before)
    return sorted(found)


def suspicious(lines: Sequence[Line], role: str, maximum: int) -> list[Line]:
    """Those of the lines whose text matches a role."""
    pattern = re.compile(ROLES[role])
    return [line for line in lines if pattern.search(linecache.getline(*line))][:maximum]


def short_name(file: str) -> str:
    """How a report calls a file: a cell of a notebook has a generated name, which says nothing.

    >>> short_name("/home/me/trainer.py"), short_name("/tmp/ipykernel_7/1875551626.py")
    ('trainer.py', 'notebook cell')
    """
    path = Path(file)
    return "notebook cell" if path.parent.name.startswith("ipykernel_") or file.startswith("<ipython-") else path.name
