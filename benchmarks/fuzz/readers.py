"""All readers, each with its inputs and their use."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from benchmarks.fuzz.command_line import arguments
from benchmarks.fuzz.contract import command, reader
from benchmarks.fuzz.edits import edited, packed

__all__ = ["READERS", "Reader"]

SCRIPT = """from dpfl_theory.validation import style

TITLE, CAPTION = "Halves", "Some halves."
SOURCE = {"paper": "das2022", "where": "Figure 0"}
BUDGET_SECONDS = {"full": 1.0, "paper": 1.0}


def compute(context):
    claim = {"claim": "a half is less", "verdict": "reproduced", "paper": "yes", "measured": "yes"}
    return {"values": [1.0, 0.5, 0.25], "configuration": {"seed": context.seed}, "claims": [claim]}


def draw(data):
    figure, axes = style.figure()
    axes.plot(data["values"])
    return {"": figure}
"""
EXAMPLES = Path(__file__).parents[2] / "examples"
OWN = """from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbol
from dpfl_theory.core.formula import evaluate_side as valued

LETTERS = (
    Symbol("L", "smoothness", (1, -2), "positive", "L"),
    Symbol("D", "distance", (0, 1), "nonnegative", "D"),
    Symbol("K", "rounds", (0, 0), "integer", "K"),
)


def sides(s):
    return Sides(lhs={"half": s.L * s.D**2 / 2}, rhs={"whole": s.L * s.D**2, "more": s.L * s.D**2 / s.K})


def at(statement, instance):
    values = {"L": instance["L"], "D": 3, "K": 4}
    left, right = valued(statement, "lhs", values), valued(statement, "rhs", values)
    return Outcome(bool(left <= right), f"{left} against {right}")


STATEMENTS = (
    Statement(
        id="mine.half",
        kind="lemma",
        title="Half is at most the whole",
        source=Source("mine", "page 1"),
        text="L D^2/2 <= L D^2 + L D^2/K.",
        symbols=LETTERS,
        sides=sides,
        relation="<=",
        checks=(Check("algebra", "one case", at, {"L": 2}),),
    ),
)
"""
ROUND = b"""import numpy as np


def one(w, state, clients, cohort, rng, lr, server_lr, epochs, clip, noise_multiplier, cohort_size):
    total = np.zeros(len(w))
    for i in cohort:
        y = w.copy()
        for _ in range(epochs):
            y = y - lr * clients[i].gradient(y)
        update = (w - y) / lr
        total += update * min(1.0, clip / max(np.linalg.norm(update), 1e-300))
    noise = noise_multiplier * clip * rng.normal(size=len(w))
    return w - server_lr * (total + noise) / cohort_size, state
"""
CSV = b"x1,x2,label,client\n" + b"1,2,yes,berlin\n3,4.5,no,paris\n5,-9e3,yes,berlin\n-1,2,no,paris\n" * 4
LIBSVM = b"2 qid:8 1:1 2:2.5\n1 qid:9 1:3 7:-4e2 # one\n2 qid:8 2:9\n1 qid:9 1:1\n" * 4


@dataclass(frozen=True)
class Reader:
    """A reader: its name, its inputs, and a function that tests one of them in its own folder, returns the outcome and
    raises `Fault`."""

    name: str
    inputs: Callable[[], st.SearchStrategy[Any]]
    read: Callable[[Any, Path], str]


def _file(name: str, arguments: Sequence[str], own: Sequence[str], content: bytes, folder: Path) -> str:
    """A command that reads a file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return command(arguments, folder, own)


def _data(name: str, content: bytes, folder: Path) -> str:
    """Records from a file, prepared and described as `recommend --data` does."""
    from dpfl_theory.recommend.data import DataSource

    (folder / name).write_bytes(content)

    def read() -> None:
        source = DataSource(str(folder / name))
        source.report(source.problem())

    return reader(read)


def _images(content: tuple[bytes, bytes], folder: Path) -> str:
    images, labels = content
    (folder / "labels.idx").write_bytes(labels)
    return _data("images.idx", images, folder)


@cache
def _made() -> Path:
    """A folder with what the package itself writes: evidence, a store, entries that were exported, a table."""
    folder = Path(tempfile.mkdtemp(prefix="dpfl-fuzz-"))
    (folder / "own.py").write_text(OWN)
    (folder / "scripts").mkdir()
    (folder / "scripts" / "halves.py").write_text(SCRIPT)
    fixed = ["problem.name=quadratic", "algorithm.name=dp-fedavg", "rounds=5", "replicates=2", "grid.eta=[0.1, 0.2]"]
    words = [word for value in fixed for word in ("--set", value)]
    for line in (
        ["check", "das2022.lemma9", "--method", "algebra", "--format", "json", "--output", "check.json", "--jobs", "1"],
        ["check", "--file", "own.py", "--format", "json", "--output", "own.json", "--store", "off"],
        ["sweep", *words, "--output", "steps.csv", "--store", "kept.sqlite", "--jobs", "1"],
        ["sweep", *words, "--output", "steps.parquet", "--store", "kept.sqlite", "--jobs", "1"],
        ["validate", "--folder", "scripts", "--output", ".", "--store", "off", "--jobs", "1"],
        ["store", "export", "exported.jsonl", "--store", "kept.sqlite"],
    ):
        assert command(line, folder, seconds=600.0) == "done", line
    return folder


def _bytes(*names: str) -> list[bytes]:
    return [(_made() / name).read_bytes() for name in names]


def _saved(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _npz() -> list[bytes]:
    x, y = np.array([[1, 2], [3, 4.5], [5, 9], [1, 2]] * 3), np.array(["yes", "no"] * 6)
    parts = {"data": [1.0, 2.0, 3.0], "indices": [0, 1, 0], "indptr": [0, 1, 2, *[3] * 10], "shape": [12, 2]}
    return [_saved(x=x, y=y), _saved(x=x, y=[0, 1, 0, 1] * 3, client=[7, 8, 7, 8] * 3), _saved(y=y, **parts)]


@st.composite
def _arrays(draw: st.DrawFn) -> bytes:
    """NPZ files that are whole, with arrays of any kind and shape."""
    from hypothesis.extra import numpy as arrays

    kinds = [np.dtype(code) for code in ("f8", "f4", "i8", "u1", "?", "c16", "U3", "S3", "M8[s]")]
    records, found = draw(st.integers(1, 12)), dict[str, Any]()
    for name in draw(st.sampled_from([("x", "y"), ("x", "y", "client"), ("data", "indices", "indptr", "shape", "y")])):
        if name in ("x", "y", "client") and draw(st.integers(0, 2)):
            rows = st.lists(st.floats(-9.0, 9.0, width=32), min_size=2, max_size=2)
            each = {"x": rows, "y": st.sampled_from([0, 1]), "client": st.sampled_from(["a", "b"])}[name]
            found[name] = np.array(draw(st.lists(each, min_size=records, max_size=records)))
            continue
        fitting = (records, draw(st.integers(1, 3))) if name == "x" else (records,)
        shape = fitting if draw(st.integers(0, 7)) else draw(arrays.array_shapes(min_dims=0, max_dims=3, max_side=4))
        found[name] = draw(arrays.arrays(draw(st.sampled_from(kinds[: draw(st.sampled_from([2, 4, 9]))])), shape))
    return _saved(**found)


def _parquet() -> list[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    file = io.BytesIO()
    table = {"x1": [1, 3, 5, 1], "x2": [2.0, 4.5, 9.0, 2.0], "label": ["yes", "no"] * 2, "client": ["a", "b"] * 2}
    parquet.write_table(pa.table(table), file)
    return [file.getvalue()]


def _idx(values: Any) -> bytes:
    array = np.array(values, "u1")
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def _image_files() -> st.SearchStrategy[tuple[bytes, bytes]]:
    images, labels = _idx(np.arange(48).reshape(12, 2, 2)), _idx([1, 0, 1, 0] * 3)
    nearly = st.tuples(edited([images]), st.one_of(st.just(labels), edited([labels])))
    return st.one_of(nearly, st.tuples(st.just(images), edited([labels])))


def _config() -> st.SearchStrategy[bytes]:
    short = (
        b"rounds = 5\nreplicates = 2\n"
        b'[problem]\nname = "quadratic"\n[algorithm]\nname = "dp-fedavg"\n[grid]\neta = [0.1]\n'
    )
    return edited([short, *((EXAMPLES / name).read_bytes() for name in ("sweep.toml", "simulate.toml"))])


def _documents(*names: str) -> st.SearchStrategy[bytes]:
    """JSON documents with a value somewhere replaced by another of any kind, left out or doubled; or edited as text."""
    texts = _bytes(*names)
    simple = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
    values = st.recursive(simple, lambda x: st.one_of(st.lists(x, max_size=3), st.dictionaries(st.text(max_size=3), x)))

    @st.composite
    def replaced(draw: st.DrawFn) -> bytes:
        lines = draw(st.sampled_from(texts))
        document = json.loads(lines if names[0].endswith(".json") else lines.splitlines()[-1])
        for _ in range(draw(st.integers(1, 3))):
            place = document
            while True:
                keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
                if not keys:
                    break
                key = draw(st.sampled_from(keys))
                if isinstance(place[key], dict | list) and draw(st.integers(0, 4)):
                    place = place[key]
                elif draw(st.integers(0, 3)) == 0:
                    del place[key]
                    break
                else:
                    place[key] = draw(values)
                    break
        text = json.dumps(document).encode()
        return text if names[0].endswith(".json") else b"\n".join([*lines.splitlines()[:-1], text])

    return st.one_of(replaced(), replaced(), edited(texts))


def _own() -> st.SearchStrategy[bytes]:
    return edited([OWN.encode(), OWN.encode(), (EXAMPLES / "my_statements.py").read_bytes()])


def _typed(words: list[str], folder: Path) -> str:
    (folder / "own.py").write_text(OWN)
    (folder / "my_rounds.py").write_bytes(ROUND)
    (folder / "small.csv").write_bytes(CSV)
    (folder / "there.csv").write_text("what was there before\n")
    for name in ("steps.csv", "exported.jsonl", "kept.sqlite"):
        (folder / name).write_bytes((_made() / name).read_bytes())
    return command(words, folder, ("kept.sqlite", ".dpfl-theory", "reports"), seconds=2.0)


_CHECK = ["check", "--file", "own.py", "--store", "off", "--jobs", "1", "--budget", "1s", "--limit", "1"]
_CONFORM = ["conform", "my_rounds.py:one", "--as", "dp-fedavg", "--runs", "0", "--limit", "5s"]
_STORE = ("kept.sqlite",)

READERS: tuple[Reader, ...] = (
    Reader("command line", arguments, _typed),
    Reader("TOML (sweep --dry-run)", _config, partial(_file, "c.toml", ["sweep", "c.toml", "--dry-run"], ())),
    Reader(
        "TOML (simulate)",
        _config,
        partial(_file, "c.toml", ["simulate", "c.toml", "--limit", "5"], ("figure", "out")),
    ),
    Reader(
        "JSON evidence (report)",
        lambda: _documents("check.json", "own.json"),
        partial(_file, "r/evidence/check.json", ["report", "--output", "r", "--store", "off"], ()),
    ),
    Reader(
        "JSON of validations (report)",
        lambda: _documents("evidence/halves.json"),
        partial(_file, "r/evidence/halves.json", ["report", "--output", "r", "--store", "off"], ()),
    ),
    Reader(
        "exported evidence (store merge)",
        lambda: _documents("exported.jsonl"),
        partial(_file, "e.jsonl", ["store", "merge", "e.jsonl", "--store", "kept.sqlite"], _STORE),
    ),
    Reader(
        "store file (store verify)",
        lambda: edited(_bytes("kept.sqlite")),
        partial(_file, "kept.sqlite", ["store", "verify", "--store", "kept.sqlite"], _STORE),
    ),
    Reader(
        "sweep's table, CSV (sweep plot)",
        lambda: edited(_bytes("steps.csv")),
        partial(_file, "s.csv", ["sweep", "plot", "s.csv", "x=eta", "y=suboptimality", "--output", "s.svg"], ()),
    ),
    Reader("CSV", lambda: edited([CSV, CSV.replace(b",", b"\t")]), partial(_data, "d.csv")),
    Reader("CSV, gzip", lambda: packed(edited([CSV])), partial(_data, "d.csv.gz")),
    Reader("LIBSVM", lambda: edited([LIBSVM]), partial(_data, "d.svm")),
    Reader("LIBSVM, gzip", lambda: packed(edited([LIBSVM])), partial(_data, "d.svm.gz")),
    Reader("NPZ", lambda: st.one_of(_arrays(), edited(_npz())), partial(_data, "d.npz")),
    Reader("Parquet", lambda: edited(_parquet()), partial(_data, "d.parquet")),
    Reader("IDX", _image_files, _images),
    Reader("statements (check --file)", _own, partial(_file, "own.py", _CHECK, ())),
    Reader("a round (conform)", lambda: edited([ROUND]), partial(_file, "my_rounds.py", _CONFORM, ())),
)
