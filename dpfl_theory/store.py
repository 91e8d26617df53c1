"""The evidence store: results by the hash of everything that they depend on, in one SQLite file.

A result is reused only where its key is the same, and the key covers all that affects it. An altered entry never
matches its checksum, so it is never returned. The parts are in `dpfl_theory.runtime`.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "evidence.sqlite") as store:
...     name = key("cell", {"seed": 7, "replicates": 64})
...     store.put(name, "cell", "[1.5]", "an example")
...     store.get(name), store.get(key("cell", {"seed": 8, "replicates": 64}))
('[1.5]', None)
"""

from pathlib import Path

from dpfl_theory.runtime.cache import KINDS, OFF, VARIABLE, Entry, Store, place, reused
from dpfl_theory.runtime.keys import canonical, key
from dpfl_theory.runtime.slots import Slot, StoredResult

__all__ = [
    "KINDS",
    "OFF",
    "VARIABLE",
    "Entry",
    "Path",
    "Slot",
    "Store",
    "StoredResult",
    "canonical",
    "key",
    "place",
    "reused",
]
