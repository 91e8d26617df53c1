"""Which lines of a function to look at: lines that ran and that concern a fault.

The number of times that a line ran shows its place: a line of a local step runs as often as gradients are taken, a line
of the server at most once in a round. The text shows which lines assign what a round returns.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
_COMPUTES = rf"{_GRADIENT}|(return\b|append\(|[^=!<>]=[^=]).*[\w)\]]\s*[-+*/@]|[-+*/@]="
_LOOP, _INLINE = r"\s*(for|while)\b", r"\S.*\bfor\b"
SEVERAL = 6
"""How many lines of a local step, or of what is kept between rounds, are shown."""
_OTHERS = tuple(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "purelib", "platlib"))
_OWN = str(Path(__file__).parent.parent)


_Assigns = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr
"""Statements that may change the value of a name; the last one by a call of its method, such as append."""

_INNER = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
"""Expressions with a part that runs more often than the whole, or later."""


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


def suspicious(ran: Mapping[Line, int], role: str, maximum: int, rounds: int, participations: int) -> list[Line]:
    """Those of the lines that concern a role, in the order of the files: those whose text matches it; those that
    compute something in a local step; or those that compute what a round returns. rounds: the number of rounds in which
    they ran; participations: how often a client took part in these."""
    text = {line: linecache.getline(*line) for line in sorted(ran)}
    if role == "local" and (steps := [ran[line] for line in text if re.search(_GRADIENT, text[line])]):
        return _of_local_steps(ran, text, max(steps), rounds, participations)
    found = [line for line in text if re.search(ROLES[role], text[line])]
    if role == "step":
        found = [line for line in found if ran[line] <= rounds] or found
    if role in ("step", "control"):
        results, first = _results(ran, rounds if role == "step" else participations, kept=role == "control")
        own = results - first
        computes = {line for line in text if re.search(_COMPUTES, text[line])} - first
        ranks = {line: (line not in own & computes, line not in computes, line not in own) for line in text}
        found = sorted({*found, *results}, key=lambda line: (ranks[line], line))
        return sorted(found[:SEVERAL])
    if role == "average":
        found.sort(key=lambda line: ran[line] > rounds)
    return sorted(found[:maximum])


def _of_local_steps(
    ran: Mapping[Line, int], text: Mapping[Line, str], steps: int, rounds: int, participations: int
) -> list[Line]:
    """The lines that run more than once where a client takes several steps. Gradients come first. Then comes what is
    computed in every step, in some of them, and the loops of a client. The first line of a loop runs at its end too."""
    own = [
        line
        for line in text
        if ran[line] >= steps or (ran[line] > participations and not re.search(_INLINE, text[line]))
    ]
    gradients = {line for line in own if re.search(_GRADIENT, text[line])}
    computes = {line for line in own if re.search(_COMPUTES, text[line])}
    loops = {line for line in own if re.match(_LOOP, text[line]) and ran[line] > participations + rounds}
    key = lambda line: (line not in gradients, line not in computes, ran[line] < steps, line)  # noqa: E731
    return sorted(sorted(computes | loops, key=key)[:SEVERAL])


def _results(ran: Mapping[Line, int], most: int, kept: bool) -> tuple[set[Line], set[Line]]:
    """The lines that run at most so often and assign what a function returns, and lines that concern only a first
    round. kept: only what it returns besides the first value, as a round returns what is kept for the next one. Lines
    that assign this may run more often, for example for all clients."""
    results, first = set[Line](), set[Line]()
    for file in dict.fromkeys(file for file, _ in ran):
        for function in _functions(file):
            nodes = [node for node in ast.walk(function) if isinstance(node, ast.Return | _Assigns)]
            often = {node: _times(ran, file, node) for node in nodes}
            ends = [x.value for x in nodes if isinstance(x, ast.Return) and x.value and 0 < often[x] <= most]
            returned = [part for value in ends for part in _parts(value, kept)]
            names = {name for value in returned for name in _names(value)}
            assigned = [x for x in nodes if isinstance(x, _Assigns) and 0 < often[x] and (kept or often[x] <= most)]
            for one in reversed(assigned):  # what is kept under another name
                if isinstance(one.value, ast.Name) and _targets(one) & names:
                    names.add(one.value.id)
            results |= {(file, one.lineno) for one in assigned if _targets(one) & names}
            results |= {(file, x.lineno) for x in returned if any(isinstance(y, ast.BinOp) for y in ast.walk(x))}
            first |= {(file, line) for node in ast.walk(function) for line in _if_none(node)}
    return {line for line in results if line in ran}, first


def _times(ran: Mapping[Line, int], file: str, statement: ast.stmt) -> int:
    """How often a statement ran: as often as that of its lines that ran least, since a call over several lines comes
    back to its first one; 1 where a part may run more often than the whole."""
    lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    least = min((ran[file, line] for line in lines if (file, line) in ran), default=0)
    return min(least, 1) if any(isinstance(node, _INNER) for node in ast.walk(statement)) else least


def _functions(file: str) -> list[ast.FunctionDef]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:  # a cell of a notebook with commands that are not Python
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _parts(value: ast.expr, kept: bool) -> Sequence[ast.expr]:
    """What is returned; or without the first of several values."""
    return value.elts[1:] if kept and isinstance(value, ast.Tuple) else [value]


def _names(tree: ast.AST) -> Iterator[str]:
    return (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _targets(statement: _Assigns) -> set[str]:
    """The names of what is assigned, or of what it is a part of."""
    if isinstance(statement, ast.Expr):
        call = statement.value
        targets = [call.func.value] if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else []
    else:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    parts = [part for one in targets for part in (one.elts if isinstance(one, ast.Tuple) else [one])]
    found = set[str]()
    for part in parts:
        while isinstance(part, (ast.Attribute, ast.Subscript, ast.Starred)):
            part = part.value
        found |= {part.id} if isinstance(part, ast.Name) else set()
    return found


def _if_none(node: ast.AST) -> Iterator[int]:
    """The lines that run where something is None, as a state is in the first round, or that choose by it."""
    if not isinstance(node, (ast.If, ast.IfExp)) or not isinstance(node.test, ast.Compare):
        return
    if not any(isinstance(one, ast.Constant) and one.value is None for one in node.test.comparators):
        return
    parts: list[ast.AST] = [node]
    if isinstance(node, ast.If):
        parts = [*(node.body if isinstance(node.test.ops[0], ast.Is) else node.orelse)]
    for part in parts:
        yield from range(getattr(part, "lineno", 0), (getattr(part, "end_lineno", 0) or 0) + 1)


def short_name(file: str) -> str:
    """How a report calls a file: a cell of a notebook has a generated name, which says nothing.

    >>> short_name("/home/me/trainer.py"), short_name("/tmp/ipykernel_7/1875551626.py")
    ('trainer.py', 'notebook cell')
    """
    path = Path(file)
    return "notebook cell" if path.parent.name.startswith("ipykernel_") or file.startswith("<ipython-") else path.name
