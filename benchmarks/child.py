"""One benchmark in its own process, with the given number of threads for its libraries: its tables as JSON on stdout.

``python -m benchmarks.child a --threads 1``; `benchmarks.__main__` starts it, since JAX reads its number of threads
once, before its first computation.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.harness import cases, has_jax, names, race

__all__ = ["settings", "start"]


def settings(threads: int) -> dict[str, str]:
    """Environment variables for JAX: use the processor, with one thread if requested."""
    single = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1", "NPROC": "1"}
    return {"JAX_PLATFORMS": "cpu", **(single if threads == 1 else {})}


def start(module: str, arguments: Sequence[str]) -> Any:
    """The JSON output of a module of this package, run in its own process with these arguments."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("symbol", choices=list(names()))
    parser.add_argument("--size", default="quick")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--target", type=float, default=0.2)
    given = parser.parse_args()
    os.environ.update(settings(given.threads))  # JAX is imported later, by the cases
    built = [c for c in cases(given.symbol, given.size, has_jax()) if given.threads in c.threads]
    print(json.dumps([race(case, given.threads, given.repetitions, given.target) for case in built]))


if __name__ == "__main__":
    main()
