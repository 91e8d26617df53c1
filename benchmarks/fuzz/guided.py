"""The same inputs and promises, guided by which lines of the package an input reaches (needs atheris).

    python -m benchmarks.fuzz.guided LIBSVM 10000

Ends with the first input that breaks a promise; the outcomes of the inputs are printed as JSON before.
"""

from __future__ import annotations

import json
import os
import pkgutil
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

__all__ = ["GUIDED", "main"]

GUIDED = ("CSV", "LIBSVM", "NPZ", "Parquet", "IDX", "TOML (sweep --dry-run)")
"""Readers whose code is Python of this package, and whose valid inputs need nothing that the package makes itself."""
PACKAGES = tuple(f"dpfl_theory.{name}" for name in ("cli", "problems.files", "recommend", "schemas", "sweep"))
CORPUS = 64
"""Initial inputs."""
BYTES = 2048
"""Number of random bytes from which an input is drawn."""
MEGABYTES = 8000
"""Limit of memory, above which the process counts as leaking."""


def main(arguments: Sequence[str]) -> None:
    """Run one reader until its inputs are spent; never returns, since atheris ends the process."""
    import atheris
    from hypothesis.errors import StopTest

    with atheris.instrument_imports(include=["dpfl_theory"]):
        for package in PACKAGES:
            for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
                import_module(module.name)
        from benchmarks.fuzz.readers import READERS
        from benchmarks.fuzz.run import test_of

    reader, runs = next(reader for reader in READERS if reader.name == arguments[0]), int(arguments[1])
    ended = Counter[str]()
    fuzz_one = test_of(reader, 1, ended).hypothesis.fuzz_one_input

    def one(data: bytes) -> None:
        try:
            fuzz_one(data)
        except StopTest:  # too few bytes to draw an input from
            return
        if ended.total() == runs:
            print(json.dumps(ended), flush=True)
            os._exit(0)

    with tempfile.TemporaryDirectory(prefix="dpfl-corpus-") as corpus:
        for i in range(CORPUS):
            (Path(corpus) / str(i)).write_bytes(random.Random(i).randbytes(BYTES))
        memory = f"-rss_limit_mb={MEGABYTES}"  # of all inputs together: problems are kept for a while
        flags = [f"-max_len={BYTES}", "-len_control=0", f"-artifact_prefix={corpus}/", memory]
        atheris.Setup([sys.argv[0], *flags, corpus], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
