"""Validations, reproduce, report and recommend: a second run writes the same and computes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpfl_theory import reproduce as module
from dpfl_theory import statements
from dpfl_theory.checks.runner import plan
from dpfl_theory.cli import main
from dpfl_theory.problems import make
from dpfl_theory.recommend import compare as comparing
from dpfl_theory.recommend.compare import compare
from dpfl_theory.recommend.search import Plan
from dpfl_theory.recommend.tuned import Budget
from dpfl_theory.reproduce import reproduce
from dpfl_theory.runtime import sources
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.cached_calls import Reuse
from dpfl_theory.validation import Context, load
from dpfl_theory.validation.run import RunOptions

Output = pytest.CaptureFixture[str]

SCRIPT = """
from functools import partial
from pathlib import Path
from dpfl_theory.validation import style
from . import _helper

TITLE, CAPTION, DATA = "Draws", "Some draws.", "a text file"
SOURCE = {"paper": "das2022", "where": "Figure 0"}
BUDGET_SECONDS = {"full": 1, "paper": 2}

def log(word):
    with Path(__file__).with_name("log").open("a") as file:
        file.write(word + " ")

def compute(context):
    log("compute")
    return {"values": [_helper.FIRST, context.seed, 2.5, float("inf")], "claims": []}

def draw(data):
    log("draw")
    figure, axes = style.figure()
    axes.plot(data["values"][:3])
    axes.set(xticks=[], yticks=[])  # marks on the axes take most of the time
    return {"": figure}
"""


POINT = """
def point(i):
    if i == 3 and not Path(__file__).with_name("ready").exists():
        raise RuntimeError("not yet")
    log("compute")
    return 2.0 * i

"""
VALUES = '"values": context.each([partial(point, i) for i in (1, 2, 3)], [f"point {i}" for i in (1, 2, 3)])'


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    place = tmp_path / "scripts"
    place.mkdir()
    (place / "_helper.py").write_text("FIRST = 1.0\n")
    for name in ("one", "two"):
        (place / f"{name}.py").write_text(SCRIPT)
    return place


def log(scripts: Path) -> tuple[int, int]:
    """How often the scripts computed and drew since the last call."""
    file = scripts / "log"
    words = file.read_text().split() if file.exists() else []
    file.unlink(missing_ok=True)
    return words.count("compute"), words.count("draw")


def files(place: Path) -> dict[str, bytes]:
    return {str(p.relative_to(place)): p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}


@pytest.mark.slow
def test_validate_takes_data_and_figures(scripts: Path, tmp_path: Path, capsys: Output) -> None:
    kept, data = tmp_path / "kept.sqlite", tmp_path / "data.txt"

    def run(*arguments: str, names: tuple[str, ...] = ()) -> tuple[dict[str, bytes], tuple[int, int]]:
        output = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        own = ["--folder", str(scripts), "--output", str(output), "--jobs", "1", "--device", "cpu"]
        assert main(["validate", *names, *own, "--store", str(kept), *arguments]) == 0
        return files(output), log(scripts)

    first, made = run()
    assert made == (2, 2)
    assert {"evidence/one.json", "figures/one.png", "figures/two.svg"} <= first.keys()
    capsys.readouterr()
    assert run() == (first, (0, 0))
    assert f"2 of 2 validations come from the store {kept}; --fresh computes them again" in capsys.readouterr().err
    own = ("one",)
    assert run("--fresh", names=own)[1] == (1, 1)
    assert run("--seed", "3", names=own)[1] == (1, 1)
    assert run("--paper", names=own)[1] == (1, 0), "what is drawn is the same"
    (scripts / "_helper.py").write_text("FIRST = 2.0\n")
    assert run(names=own)[1] == (1, 1)
    assert run(names=own)[1] == (0, 0)
    for text in ("a", "b"):
        data.write_text(text)
        assert run("--data", str(data), names=own)[1] == (1, 1), "its hash is among the data"
        assert run("--data", str(data), names=own)[1] == (0, 0)


def test_the_points_of_a_validation_that_ended_are_kept(scripts: Path, tmp_path: Path) -> None:
    """A script fails at its third point: a second run computes only that one."""
    long = SCRIPT.replace('    log("compute")\n', "").replace(
        '"values": [_helper.FIRST, context.seed, 2.5, float("inf")]', VALUES
    )
    (scripts / "two.py").unlink()
    (scripts / "one.py").write_text(long.replace("def compute", POINT + "def compute"))
    own = ["--folder", str(scripts), "--output", str(tmp_path / "out"), "--jobs", "1", "--device", "cpu"]
    arguments = ["validate", *own, "--store", str(tmp_path / "kept.sqlite")]
    assert main(arguments) == 70
    assert log(scripts) == (2, 0)
    with Store(tmp_path / "kept.sqlite") as store:
        assert [e.about for e in store.entries()] == ["point 1", "point 2"]
    (scripts / "ready").touch()
    assert main(arguments) == 0
    assert log(scripts) == (1, 1)
    assert '"values": [\n   2.0,\n   4.0,\n   6.0\n  ]' in (tmp_path / "out" / "evidence" / "one.json").read_text()


def test_report_takes_figures(scripts: Path, tmp_path: Path) -> None:
    output, kept = tmp_path / "out", tmp_path / "kept.sqlite"
    common = ["--folder", str(scripts), "--output", str(output), "--store", str(kept)]
    assert main(["validate", *common, "--jobs", "1", "--device", "cpu"]) == 0
    log(scripts)
    before = files(output)
    assert main(["report", *common]) == 0
    assert log(scripts) == (0, 0)
    assert {name: data for name, data in files(output).items() if "html" not in name} == before
    assert main(["report", *common, "--fresh"]) == 0
    assert log(scripts) == (0, 2)
    assert {name: data for name, data in files(output).items() if "html" not in name} == before
    evidence = output / "evidence" / "one.json"
    evidence.write_text(evidence.read_text().replace("2.5", "3.5"))
    assert main(["report", *common]) == 0
    assert log(scripts) == (0, 1), "other data are drawn"


def test_the_second_reproduce_computes_nothing(
    scripts: Path, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evidence, figures and pages are the same except for times; no process is started."""
    pairs = plan([statements.get("das2022.eq12"), statements.get("hou2023.eq3")], ["algebra"])
    started: list[int] = []

    def here(work: Any, jobs: int, order: Any, *, done: Any, waiting: Any) -> None:
        started.append(len(order))
        for i in order:
            done(i, work[i]())

    monkeypatch.setattr(module, "spread", here)
    monkeypatch.setattr(module, "compile_kernels", lambda device: None)
    found = []
    with Store(tmp_path / "kept.sqlite") as store:
        for name in ("first", "second"):
            how = RunOptions(Context("full", device="cpu"), tmp_path / name, store)
            own = [load(scripts / f"{script}.py", scripts) for script in ("one", "two")]
            assert reproduce(pairs, own, how, alpha=1e-6, jobs=2) == 0
            made = files(tmp_path / name)
            found.append({n: b"" if n == "evidence/check.json" else data for n, data in made.items()})
            assert log(scripts) == ((2, 2) if name == "first" else (0, 0))
    assert found[0] == found[1]
    assert started == [len(pairs) + 3]
    said = capsys.readouterr().err
    assert f"{len(pairs)} of {len(pairs)} checks come" in said
    assert "2 of 2 validations come from the store" in said


def test_a_validation_does_not_rest_on_statements_that_it_does_not_name() -> None:
    known = sources.sources()
    file = known.graph.package.parent / "validations" / "das2022" / "das2022_figure1.py"
    closure = known._closure([str(file)])
    assert file.with_name("_appendix_f.py") in closure
    assert any(f.name == "simulate.py" for f in closure)
    assert not any("statements" in f.parts for f in closure)


def test_searches_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is the same to the last digit; another budget, seed, plan or problem is another search."""
    problem = make("logistic-synthetic", clients=5, dimension=2, records=20)
    small = Plan(points=8, replicates=1, generations=2, finalists=2, second=2, best=1, third=2, last=4)
    row, searched = comparing._row, []

    def reported(one: Any, *rest: Any) -> Any:
        searched.append(one.name)
        return row(one, *rest)

    reported.__module__, reported.__qualname__ = row.__module__, row.__qualname__
    monkeypatch.setattr(comparing, "_row", reported)

    def found(reuse: Reuse | None, epsilon: float = 8.0, seed: int = 0, plan: Plan = small, on: Any = problem) -> Any:
        searched.clear()
        budget = Budget(epsilon, 1e-5, rounds=4)
        return compare(on, budget, algorithms=("dp-clip21",), seed=seed, plan=plan, reuse=reuse)

    computed = found(None)
    assert searched == ["dp-clip21"]
    with Store(tmp_path / "kept.sqlite") as store:
        reuse = Reuse(store)
        assert found(reuse) == computed
        assert (searched, reuse.taken) == (["dp-clip21"], 0)
        assert found(reuse) == computed
        assert (searched, reuse.taken, reuse.requested) == ([], 1, 2)
        assert found(Reuse(store, fresh=True)) == computed
        assert searched == ["dp-clip21"]
        other = make("logistic-synthetic", clients=5, dimension=2, records=20, ridge=0.1)
        changes: list[dict[str, Any]] = [
            {"epsilon": 4.0},
            {"seed": 1},
            {"plan": Plan(**{**vars(small), "last": 5})},
            {"on": other},
        ]
        for change in changes:
            found(reuse, **change)
            assert searched == ["dp-clip21"], change
        assert len(list(store.entries("recommend"))) == 5
