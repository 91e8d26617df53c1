"""The evidence store: results of long work in one SQLite file, each under the hash of all that it depends on.

`Store` is that file: ``get`` and ``put`` of texts under keys, safe for several processes at once. The function `key`
hashes the dependencies of a result. A `Slot` is one result's place: it has the key and the data stored with the result.
From that data ``dpfl-theory store verify`` decides later whether the present code would still give the same key.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "evidence.sqlite") as store:
...     name = key("cell", {"seed": 7, "replicates": 64})
...     store.put(name, "cell", "[1.5]", "an example")
...     store.get(name), store.get(key("cell", {"seed": 8, "replicates": 64}))
('[1.5]', None)
"""

from pathlib import Path

from dpfl_theory.store.entries import KINDS, Entry
from dpfl_theory.store.file import Store, reused
from dpfl_theory.store.keys import canonical, key
from dpfl_theory.store.place import OFF, VARIABLE, place
from dpfl_theory.store.slot import Slot, StoredResult

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
