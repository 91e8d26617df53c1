"""Run the benchmarks and write their tables as Markdown: ``python -m benchmarks --output benchmarks/RESULTS.md``.

Each benchmark and number of threads has its own process, in which contestants take turns. ``--busy`` measures next to
one busy process, ``--quiet`` (the default) without it; both options together give both.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import child, machine, scaling, start, table
from benchmarks.harness import has_jax, names

SPINNER = """
import os
import numpy as np
parent, a = os.getppid(), np.ones((300, 300))
while os.getppid() == parent:
    sum(range(100000))
    a @ a
"""
TITLES = {"a": "Appendix F of das2022", "b": "Logistic regression"}


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """One process that computes all the time; it is ended at the end."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-c", SPINNER], env=environment) as spinner:
        try:
            yield
        finally:
            spinner.kill()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--output", type=Path, help="the Markdown file to write; standard output otherwise")
    parser.add_argument("--only", help=f"some of {','.join(names())},scaling,start")
    parser.add_argument("--quick", action="store_true", help="smaller samples, and smaller sizes where runs are long")
    parser.add_argument("--quiet", action="store_true", help="without a busy process (the default)")
    parser.add_argument("--busy", action="store_true", help="next to a busy process")
    parser.add_argument("--repetitions", type=int, help="how often each contestant is timed, at least 5")
    given = parser.parse_args()
    known = [*names(), "scaling", "start"]
    chosen = known if given.only is None else given.only.split(",")
    if not set(chosen) <= set(known):
        parser.error(f"--only {given.only}: choose some of {','.join(known)}")
    size, target = ("quick", 0.2) if given.quick else ("full", 1.5)
    repetitions = max(5, given.repetitions or (5 if given.quick else 7))
    profile = f"Profile: {size}, {repetitions} repetitions, samples of some {target:g} s, contestants in turns"
    head = f"# What the package's runs cost\n\n{machine.description(profile, has_jax())}"
    parts = [f"{head}\n\nColumns and what limits each case: [NOTES.md](NOTES.md).\n"]
    for mode in [name for name in ("quiet", "busy") if getattr(given, name)] or ["quiet"]:
        with busy() if mode == "busy" else contextlib.nullcontext():
            for symbol in chosen:
                if symbol not in ("scaling", "start"):
                    parts += benchmark(symbol, size, repetitions, target, mode)
            if "scaling" in chosen and mode == "quiet":
                for symbol in scaling.GRIDS:
                    print(f"scaling of {symbol}", file=sys.stderr)
                    parts.append(table.scaling_of(symbol, TITLES[symbol], scaling.tables(symbol)))
            if "start" in chosen and mode == "quiet":
                parts.append(start.section(repetitions))
    text = "\n".join(parts)
    if given.output is None:
        print(text)
    else:
        given.output.write_text(text, encoding="utf-8")


def benchmark(symbol: str, size: str, repetitions: int, target: float, mode: str) -> list[str]:
    """The sections of one benchmark, for one thread and for two."""
    sections = []
    for threads in (1, 2):
        print(f"{symbol}, {threads} thread(s), {mode}", file=sys.stderr)
        arguments = [symbol, "--size", size, "--threads", str(threads)]
        arguments += ["--repetitions", str(repetitions), "--target", str(target)]
        sections += [table.section(symbol, found, mode) for found in child.start("child", arguments)]
    return sections


if __name__ == "__main__":
    main()
