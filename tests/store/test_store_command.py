"""`dpfl-theory store`: its list, export and merge, altered entries, and deletion."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from dpfl_theory.cli import main
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.keys import key
from dpfl_theory.runtime.slots import Slot
from dpfl_theory.runtime.sources import sources

Output = pytest.CaptureFixture[str]


def slot(store: Store, name: str, seed: int) -> Slot:
    on = ("dpfl_theory.statements.das2022.lemma8",)
    return sources().slot(store, "check", name, {"seed": seed}, on=on)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A store with three checks and an entry of another program."""
    file = tmp_path / "evidence.sqlite"
    with Store(file) as store:
        for seed, name in enumerate(("das2022.lemma8 algebra units", "das2022.eq4 exact one", "hou2023.eq3 exact two")):
            slot(store, name, seed).keep({"seed": seed})
        store.put(key("cell", {"i": 1}), "cell", "[1, 2]", "sweep mine 1")
    return str(file)


def told(capsys: Output, *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["store", *arguments]) == code
    out, err = capsys.readouterr()
    return out, err


def test_it_lists(path: str, capsys: Output) -> None:
    out, err = told(capsys, "ls", "--store", path)
    assert [line.split()[-1] for line in out.splitlines()] == ["about", "1", "one", "units", "two"]
    assert err == f"4 entries in {path}\n"
    out, err = told(capsys, "ls", "--store", path, "--kind", "check", "--about", "das2022.*")
    assert len(out.splitlines()) == 3
    assert err.startswith("2 entries")


def test_entries_go_elsewhere_and_back(path: str, tmp_path: Path, capsys: Output) -> None:
    lines, other, third = (str(tmp_path / name) for name in ("lines.jsonl", "other.sqlite", "third.sqlite"))
    assert "4 entries" in told(capsys, "export", lines, "--store", path)[1]
    assert told(capsys, "merge", lines, "--store", other)[1] == f"4 of 4 entries are new: {other}\n"
    assert told(capsys, "merge", path, "--store", other)[1] == f"0 of 4 entries are new: {other}\n"
    assert told(capsys, "merge", other, "--store", third)[1].startswith("4 of 4")
    with Store(path) as one, Store(third) as two:
        assert list(one.entries()) == list(two.entries())
        slot(one, "das2022.lemma8 algebra units", 0).keep({"seed": "later"})
        slot(two, "das2022.lemma8 algebra units", 7).keep({"seed": 7})
    assert told(capsys, "merge", path, "--store", third)[1].startswith("1 of 4")
    with Store(third) as two:
        assert slot(two, "", 0).take() == {"seed": "later"}
        assert slot(two, "", 7).take() == {"seed": 7}
    assert told(capsys, "merge", lines, "--store", third)[1].startswith("0 of 4"), "the later one stays"


def test_a_line_that_was_altered_is_refused_with_all_others(path: str, tmp_path: Path, capsys: Output) -> None:
    file, other = tmp_path / "lines.jsonl", tmp_path / "other.sqlite"
    told(capsys, "export", str(file), "--store", path)
    good = file.read_text().splitlines()
    entry = json.loads(good[3])
    for bad in (
        json.dumps({**entry, "text": entry["text"].replace("seed", "sead")}),
        json.dumps({**entry, "stored": "now"}),
        json.dumps({**entry, "more": 1}),
        good[3][:-20],
        "[" * 10_000,
        "",
    ):
        file.write_text("\n".join([*good[:3], bad, *good[4:]]))
        out, err = told(capsys, "merge", str(file), "--store", str(other), code=2)
        assert (out, err.count("\n")) == ("", 1)
        assert "line 4" in err
    with Store(other) as store:
        assert list(store.entries()) == []


def test_verify_finds_what_was_altered_and_what_is_old(
    path: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = told(capsys, "verify", "--store", path)
    assert [line.split() for line in out.splitlines()[1:]] == [["check", "3", "0", "0"], ["cell", "0", "1", "0"]]
    from dpfl_theory.runtime import sources as module

    current = module.libraries()
    with monkeypatch.context() as other:
        other.setattr(module, "libraries", lambda beside=(): {**current, "numpy": "1.0"})
        out, _ = told(capsys, "verify", "--store", path)
        assert out.splitlines()[1].split() == ["check", "0", "3", "0"]
    db = sqlite3.connect(path)
    db.execute("UPDATE entries SET text = replace(text, 'seed', 'sead') WHERE about LIKE 'hou2023%'")
    db.commit()
    db.close()
    out, _ = told(capsys, "verify", "--store", path, code=1)
    assert out.splitlines()[1].split() == ["check", "2", "0", "1"]
    assert "altered: check hou2023.eq3 exact two" in out
    # An alteration that also corrects the checksum is detected by the key, which is the hash of the parts.
    with Store(path) as store:
        entry = next(e for e in store.entries("check", "das2022.eq4*"))
        store.put(entry.key, entry.kind, entry.text.replace('"seed": 1', '"seed": 5'), entry.about)
    out, _ = told(capsys, "verify", "--store", path, code=1)
    assert out.splitlines()[1].split() == ["check", "1", "0", "2"]
    assert "3 of 4 entries deleted" in told(capsys, "prune", "--store", path)[1]
    told(capsys, "verify", "--store", path)
    assert "0 of 1" in told(capsys, "prune", "--store", path, "--older-than", "1d")[1]
    assert "1 of 1" in told(capsys, "prune", "--store", path, "--older-than", "0d")[1]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["ls", "--store", "nowhere.sqlite"], "'nowhere.sqlite'"),
        (["ls", "--store", "."], "'.'"),
        (["ls", "--store", "text.txt"], "is damaged"),
        (["ls", "--store", "empty"], "'empty' is empty"),
        (["ls", "--store", "PATH", "--kind", "chek"], "did you mean 'check'?"),
        (["verify", "--store", "off"], "there is no store"),
        (["merge", "nowhere.jsonl", "--store", "PATH"], "'nowhere.jsonl'"),
        (["merge", "text.txt", "--store", "PATH"], "neither a store"),
        (["merge", ".", "--store", "PATH"], "'.'"),
        (["merge", "PATH", "--store", "off"], "no store to merge into"),
        (["merge", "broken.sqlite", "--store", "PATH"], "is damaged"),
        (["export", "/dev/null/lines", "--store", "PATH"], "'/dev/null'"),
        (["prune", "--older-than", "soon", "--store", "PATH"], "'soon'"),
        (["sell"], "'sell'"),
    ],
)
def test_bad_input_gets_one_sentence(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output, arguments: list[str], part: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("a text that is no store\n")
    Path("empty").touch()
    Path("broken.sqlite").write_bytes(Path(path).read_bytes()[:5000])
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    out, err = told(capsys, *(path if a == "PATH" else a for a in arguments), code=2)
    assert (out, err.count("\n")) == ("", 1), err
    assert part in err
    assert {name: data for name, data in before.items() if Path(name).read_bytes() != data} == {}


def test_a_later_version_ends_the_command(path: str, capsys: Output) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 2")
    db.close()
    for arguments in (["store", "ls"], ["check", "das2022.lemma8", "--method", "algebra"]):
        assert main([*arguments, "--store", path]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert "has version 2" in err


def test_it_imports_nothing_heavy(path: str) -> None:
    heavy = ["numpy", "scipy", "numba", "sympy", "matplotlib", "cvxpy"]
    code = (
        f"import sys; from dpfl_theory.cli import main; code = main(['store', 'ls', '--store', {path!r}]);"
        f"print(code, [m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.splitlines()[-1] == "0 []"
