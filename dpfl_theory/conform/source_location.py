"""Which lines of a function to look at: lines that ran and that concern a fault.

The number of times that a line ran shows its place: a line of a local step runs as often as gradients are taken, a line
of the server at most once in a round.
"""

from __future__ import annotations

import linecache
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

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
_GRADIENT = r"gradients?\("
_COMPUTES = rf"{_GRADIENT}|(return\b|[^=!<>]=[^=]).*[\w)\]]\s*[-+*/@]|[-+*/@]="
LOCAL_LINES = 6
"""How many lines of a local step are shown."""
_OTHERS = tuple(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "purelib", "platlib"))
_OWN = str(Path(__file__).parent.parent)


def executed_lines(call: Callable[[], Any]) -> Counter[Line]:
    """The lines of the user's own files that run in a call, and how often."""
    found = Counter[Line]()

    def listen(frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        if file.startswith((_OWN, "<frozen", *_OTHERS)):
            return None
        if event == "line":
            found[file, frame.f_lineno] += 1
        return listen

    before = sys.gettrace()
    sys.settrace(listen)
    try:
        call()
    finally:
        sys.settrace(before)
    return found


def suspicious(ran: Mapping[Line, int], role: str, maximum: int, rounds: int) -> list[Line]:
    """Those of the lines that concern a role, in the order of the files: those whose text matches it, or that compute
    something in a local step. rounds: the number of rounds in which they ran."""
    text = {line: linecache.getline(*line) for line in sorted(ran)}
    if role == "local" and (steps := [ran[line] for line in text if re.search(_GRADIENT, text[line])]):
        in_step = [line for line in text if ran[line] >= max(steps) and re.search(_COMPUTES, text[line])]
        in_step.sort(key=lambda line: not re.search(_GRADIENT, text[line]))
        return sorted(in_step[:LOCAL_LINES])
    found = [line for line in text if re.search(ROLES[role], text[line])]
    if role == "step":
        found = [line for line in found if ran[line] <= rounds] or found
    if role == "average":
        found.sort(key=lambda line: ran[line] > rounds)
    return sorted(found[:maximum])


def short_name(file: str) -> str:
    """How a report calls a file: a cell of a notebook has a generated name, which says nothing.

    >>> short_name("/home/me/trainer.py"), short_name("/tmp/ipykernel_7/1875551626.py")
    ('trainer.py', 'notebook cell')
    """
    path = Path(file)
    return "notebook cell" if path.parent.name.startswith("ipykernel_") or file.startswith("<ipython-") else path.name
