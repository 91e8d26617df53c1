"""Command lines: any command with any of its options, with valid and invalid values."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from benchmarks.fuzz.edits import odd_text

__all__ = ["SLOW", "arguments", "commands"]

SLOW = {"doctor", "reproduce", "validate"}
"""Commands whose work takes minutes with any arguments: they are only run with an odd value."""

_FITTING: dict[str, tuple[str, ...]] = {
    "alpha": ("1e-6", "0.05"),
    "seed": ("0", "7"),
    "budget": ("1s", "0.1"),
    "limit": ("1s", "2"),
    "jobs": ("1",),
    "format": ("text", "json", "junit", "md"),
    "device": ("auto", "cpu"),
    "scheduler": ("tcp://127.0.0.1:1",),
    "store": ("off", "kept.sqlite"),
    "output": ("out.csv", "out.json", "out.svg", "/dev/null", "no/such/folder/x", ".", "there.csv"),
    "folder": (".", "scripts"),
    "figure": ("out.png", "/dev/null"),
    "data": ("small.csv", "breast-cancer", "diabetes"),
    "file": ("own.py", "small.csv"),
    "method": ("algebra", "exact", "worst-case", "monte-carlo", "privacy"),
    "paper": ("das2022", "hou2023"),
    "set": ("rounds=5", "algorithm.eta=0.1", "problem.name=quadratic", "algorithm.name=dp-fedavg", "replicates=2"),
    "algorithm": ("dp-fedavg", "dp-scaffnew", "dp-scaffold", "dp-normfedavg"),
    "epsilon": ("1", "3"),
    "delta": ("1e-5",),
    "rounds": ("5", "100"),
    "clients": ("5", "20"),
    "as": ("dp-fedavg", "scaffold", "dp-norm-ec"),
    "runs": ("0", "20"),
    "over": ("eta", "T", "d", "K"),
    "values": ("1:4:3", "0.1,0.2"),
    "check": ("small", "K = 1"),
}
_WORDS = (
    *("das2022.theorem4a", "das2022.*", "hou2023.lemma1", "das2022", "zhang2021", "config.toml", "plot", "there.csv"),
    *("x=eta", "y=suboptimality", "dp-fedavg", "kept.sqlite", "exported.jsonl", "own.py", "exact_moments"),
    *("my_rounds.py:one", "my_rounds:one", "sharper-rate", "theorem", "algorithms", "observables", "hypotheses"),
)


@cache
def commands() -> dict[tuple[str, ...], tuple[Any, ...]]:
    """The parameters of each command, by its words."""
    from dpfl_theory.cli import application

    found = dict[tuple[str, ...], tuple[Any, ...]]()

    def walk(command: Any, words: tuple[str, ...]) -> None:
        if hasattr(command, "commands"):
            for name, below in command.commands.items():
                walk(below, (*words, name))
        else:
            found[words] = tuple(command.params)

    walk(application(), ())
    return found


@st.composite
def arguments(draw: st.DrawFn) -> list[str]:
    """The words of a command line. Nine in ten start with a command; four in five values are valid, the others are
    odd."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.lists(st.one_of(odd_text(), st.sampled_from(_WORDS)), max_size=4))
    name = draw(st.sampled_from(sorted(commands())))
    options = [p for p in commands()[name] if p.opts[0].startswith("-") and p.name != "help"]
    words, odd = list(name), False
    takes = any(not p.opts[0].startswith("-") for p in commands()[name])
    for _ in range(draw(st.integers(0, 2)) if takes else draw(st.sampled_from([0] * 9 + [1]))):
        words.append(draw(st.sampled_from(_WORDS)) if draw(st.integers(0, 3)) else draw(odd_text()))
    for option in draw(st.lists(st.sampled_from(options), max_size=5)) if options else ():
        words.append(option.opts[-1])
        if not option.is_flag:
            fitting = _FITTING.get(option.opts[-1].lstrip("-"), ("1", "0.5", "name"))
            fits = draw(st.integers(0, 4)) > 0
            odd |= not fits
            words.append(draw(st.sampled_from(fitting)) if fits else draw(odd_text()))
    if name[0] in SLOW and not odd:
        words.append("--no-such-option")
    return words
