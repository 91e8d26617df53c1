"""The CPU seconds of whole commands, compared with ``import numpy``, and of the first run without compiled kernels.

Commands take turns. The table has medians of the CPU seconds of a process and its children, and the ratio to the first
command.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

__all__ = ["CASES", "section"]

_CLI = [sys.executable, "-m", "dpfl_theory"]
CASES: Mapping[str, Sequence[str]] = {
    "import numpy": [sys.executable, "-c", "import numpy"],
    "dpfl-theory --help": [*_CLI, "--help"],
    "dpfl-theory list": [*_CLI, "list"],
    "dpfl-theory list --format json": [*_CLI, "list", "--format", "json"],
    "dpfl-theory show das2022.theorem4b": [*_CLI, "show", "das2022.theorem4b"],
}
"""Commands, the first of which is the measure of the others."""
_COMPILE = [sys.executable, "-c", "from dpfl_theory.precompile import compile_kernels; compile_kernels('cpu')"]
_ONE_RUN = [*_CLI, "check", "das2022.lemma10", "--method", "monte-carlo", "--store", "off", "--jobs", "1"]


def cpu_seconds(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """The CPU seconds of a process and its children. Raises CalledProcessError when it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        env={**os.environ, "DPFL_THEORY_HINTS": "off", **(environment or {})},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def section(repetitions: int) -> str:
    """The table as Markdown."""
    for command in CASES.values():  # bytecode is compiled
        cpu_seconds(command)
    seconds: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(repetitions):
        for name, command in CASES.items():
            seconds[name].append(cpu_seconds(command))
    middle = {name: median(found) for name, found in seconds.items()}
    first = next(iter(middle.values()))
    lines = [
        "### Start of a command",
        "",
        f"CPU seconds of whole processes, medians of {repetitions} in turns. The last rows start with an empty folder "
        "of machine code (`dpfl_theory/kernels/compiled.py`): what a first run takes more than later ones.",
        "",
        "|  | seconds | more than `import numpy` | ratio |",
        "| --- | ---: | ---: | ---: |",
        *(f"| `{name}` | {s:.3f} | {s - first:.3f} | {s / first:.3g} |" for name, s in middle.items()),
    ]
    for name, command in (("one simulated check", _ONE_RUN), ("all kernels", _COMPILE)):
        with tempfile.TemporaryDirectory() as folder:
            place = {"NUMBA_CACHE_DIR": str(Path(folder, "code"))}
            cold = cpu_seconds(command, place)
            warm = median(cpu_seconds(command, place) for _ in range(3))
        lines.append(f"| {name}, first time | {cold:.1f} | {cold - warm:.1f} more than warm | {cold / first:.3g} |")
    return "\n".join(lines) + "\n"
