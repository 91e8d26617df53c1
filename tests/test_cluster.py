"""Work on a Dask cluster on this machine gives the same results as one process, and survives the loss of workers."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from patience import HANGS

from dpfl_theory.cli import main
from dpfl_theory.errors import EnvironmentFault, InputError
from dpfl_theory.runtime import dask_cluster as cluster
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.executor import on, several, spread

if importlib.util.find_spec("distributed") is None:  # an import would take each process of a test run a second
    pytest.skip("Dask is not installed (pip install 'dpfl-theory[cluster]')", allow_module_level=True)

WORKERS = 2
Output = pytest.CaptureFixture[str]


CLUSTER = """
import sys
from distributed import LocalCluster

def serve():
    with LocalCluster(threads_per_worker={threads}, n_workers={workers}, host="127.0.0.1", dashboard_address=":0",
                      silence_logs=50) as made:
        print(made.scheduler_address, flush=True)
        for line in sys.stdin:  # ends when the tests close it
            print(*(nanny.pid for nanny in made.workers.values() if nanny.pid), flush=True)

if __name__ == "__main__":
    serve()
"""
"""A cluster in a separate process, so that a later test does not report leftovers of its threads and sockets."""


SCRIPT = """
from functools import partial
from dpfl_theory.validation import style

TITLE, CAPTION = "Cubes", "Some cubes."
SOURCE = {"paper": "das2022", "where": "Figure 0"}
BUDGET_SECONDS = {"full": 1, "paper": 2}

def cube(k):
    return k**3 / 7

def compute(context):
    return {"values": context.each([partial(cube, k) for k in (1, 2, 3)], ["one", "two", "three"])}

def draw(data):
    figure, axes = style.figure()
    axes.plot(data["values"])
    return {"": figure}
"""


class Local:
    """A cluster of workers on loopback, in a separate process."""

    def __init__(self, workers: int, threads: int) -> None:
        command = [sys.executable, "-c", CLUSTER.format(workers=workers, threads=threads)]
        path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, text=True, bufsize=1, env=path)
        self.scheduler_address = self._process.stdout.readline().strip()  # type: ignore[union-attr]

    def workers(self) -> list[int]:
        """The process ids of its current workers."""
        self._process.stdin.write("\n")  # type: ignore[union-attr]
        return [int(pid) for pid in self._process.stdout.readline().split()]  # type: ignore[union-attr]

    def close(self) -> None:
        self._process.communicate(timeout=HANGS)


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    """A cluster of workers with one thread each."""
    made = Local(WORKERS, 1)
    yield made
    made.close()


def square(x: int) -> tuple[int, int]:
    return x * x, os.getpid()


def slow(x: int) -> int:
    time.sleep(0.2)
    return x


def failing() -> int:
    raise InputError("`x` is 7: give less")


def deadly(place: Path) -> int:
    """A piece that kills its worker the first time."""
    if not place.exists():
        place.write_text("once")
        os.kill(os.getpid(), signal.SIGKILL)
    return 1


def test_results_come_in_the_order_of_the_work(local: Local) -> None:
    reported, left = list[int](), list[int]()
    with on(local.scheduler_address) as workers:
        assert workers == WORKERS
        assert several(1, 1)
        found = spread(
            [partial(square, k) for k in range(40)],
            1,
            list(reversed(range(40))),
            done=lambda i, result: reported.append(i),
            waiting=lambda pieces: left.append(len(pieces)),
        )
    assert [value for value, _ in found] == [k * k for k in range(40)]
    assert sorted(reported) == list(range(40))
    assert left == sorted(left, reverse=True)
    assert os.getpid() not in {pid for _, pid in found}
    assert not several(1, 5), "afterwards work stays here"


def test_the_first_failure_ends_it_with_its_own_sentence(local: Local) -> None:
    with on(local.scheduler_address), pytest.raises(InputError, match="`x` is 7: give less"):
        spread([failing, *(partial(slow, k) for k in range(20))], 1, None)


def late() -> int:
    raise TimeoutError("the piece's own")


def test_a_time_out_of_a_piece_is_its_failure(local: Local) -> None:
    with on(local.scheduler_address), pytest.raises(TimeoutError, match="the piece's own"):
        spread([late], 1, None)


@pytest.mark.slow
def test_a_piece_that_loses_its_worker_is_begun_again(local: Local, tmp_path: Path) -> None:
    reported = list[int]()
    work = [partial(deadly, tmp_path / "died"), *(partial(slow, k) for k in range(8))]
    with on(local.scheduler_address):
        assert spread(work, 1, done=lambda i, _: reported.append(i)) == [1, *range(8)]
    assert sorted(reported) == list(range(9)), "each result exactly once"


@pytest.mark.slow
def test_killed_workers_cost_nothing_but_time(local: Local) -> None:
    """After each tenth finished piece a worker is killed, five in all; Dask's nannies start others."""
    killed, reported = list[int](), list[int]()

    def done(i: int, _: int) -> None:
        reported.append(i)
        if len(reported) >= 10 * (len(killed) + 1) and len(killed) < 5 and (workers := local.workers()):
            killed.append(workers[len(killed) % len(workers)])
            os.kill(killed[-1], signal.SIGKILL)

    with on(local.scheduler_address):
        found = spread([partial(slow, k) for k in range(60)], 1, done=done)
    assert found == list(range(60))
    assert sorted(reported) == list(range(60))
    assert len(killed) >= 3


def _evidence(text: str) -> Any:
    """Evidence without its durations."""
    found = json.loads(text)
    for one in found["evidence"]:
        del one["seconds"]
        one["notes"].pop("replicate_seconds", None)
    return list(found["evidence"])


@pytest.mark.slow
def test_checks_of_a_users_file_give_the_same_evidence(local: Local, tmp_path: Path) -> None:
    own = str(Path(__file__).parent.parent / "examples" / "my_statements.py")
    command = ["check", "--file", own, "--format", "json", "--output"]
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    codes = {main([*command, str(here), "--jobs", "1"]), main([*command, str(there), "--scheduler",
                                                              local.scheduler_address])}  # fmt: skip
    assert codes == {0}
    assert _evidence(here.read_text()) == _evidence(there.read_text())


def elsewhere(place: str) -> None:
    """Put a worker into another folder, and make it refuse to open any store."""
    import sys

    def refuse(event: str, arguments: object) -> None:
        if event == "sqlite3.connect":
            raise RuntimeError("a worker opens a store")

    os.chdir(place)
    sys.addaudithook(refuse)


@pytest.mark.slow
def test_what_workers_make_is_in_the_coordinators_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    """The workers are in a separate folder and cannot open a store: evidence, points and figures travel back, and the
    second run computes nothing."""
    from distributed import Client

    own, scripts = tmp_path / "own", tmp_path / "scripts"
    for folder in (own, scripts, tmp_path / "there"):
        folder.mkdir()
    monkeypatch.chdir(own)
    (scripts / "cubes.py").write_text(SCRIPT)
    other = Local(2, 1)
    with contextlib.closing(other):
        with Client(other.scheduler_address, set_as_default=False) as client:
            client.run(elsewhere, str(tmp_path / "there"))
        check = ["check", "das2022.lemma10", "--method", "algebra", "--store", "kept.sqlite"]
        validate = ["validate", "--folder", str(scripts), "--output", str(tmp_path / "out"), "--store", "kept.sqlite"]
        on_cluster = ["--scheduler", other.scheduler_address]
        assert main([*check, *on_cluster]) == 0
        assert main([*validate, *on_cluster]) == 0
    assert "store" not in capsys.readouterr().err
    assert not list((tmp_path / "there").rglob("*.sqlite"))
    with Store(own / "kept.sqlite") as kept:
        kinds = sorted(entry.kind for entry in kept.entries())
    assert {"check", "figures", "point", "validation"} == set(kinds)
    assert kinds.count("point") == 3
    assert main([*check, "--jobs", "1"]) == 0
    assert "come from the store" in capsys.readouterr().err
    assert main([*validate, "--jobs", "1"]) == 0
    assert "1 of 1 validations comes from the store" in capsys.readouterr().err


def test_other_versions_are_refused(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "_versions", lambda: {"numpy": "0.1"})
        with on(local.scheduler_address), pytest.raises(EnvironmentFault, match=r"has numpy .* for 0\.1: install the"):
            spread([partial(slow, 1)], 1)


@pytest.mark.slow
def test_workers_with_several_threads_are_refused() -> None:
    two = Local(1, 2)
    message = "has 2 threads: start workers with one each"
    with contextlib.closing(two), on(two.scheduler_address), pytest.raises(EnvironmentFault, match=message):
        spread([partial(slow, 1)], 1)


def test_where_there_is_no_scheduler_that_is_said(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_SECONDS", 2.0)
    for address, code, sentence in (
        ("127.0.0.1", 2, "--scheduler is '127.0.0.1': write it as the scheduler prints it, tcp://HOST:PORT"),
        ("inproc://x", 2, "--scheduler is 'inproc://x'"),
        ("tcp://127.0.0.1:1", 5, "no Dask scheduler answers at tcp://127.0.0.1:1: start one"),
    ):
        assert main(["check", "hou2023.lemma1", "--scheduler", address]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert sentence in err
        assert err.strip().count("\n") == 0


@pytest.mark.slow
def test_a_sweep_gives_the_same_file_with_the_same_cell_that_fails(local: Local, tmp_path: Path) -> None:
    """Each cell runs in a separate process on its worker, which could be ended."""
    words = ["sweep", "--set", "problem.name=quadratic", "--set", "algorithm.name=dp-fedavg", "--set", "rounds=5"]
    words += ["--set", "algorithm.sigma=0.01", "--set", "grid.problem.rank=[2,3,9]", "--set", "grid.seed=[1,2]"]
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    assert main([*words, "--output", str(here), "--jobs", "1"]) == 1
    more = ["--pack", "1", "--limit", "60", "--scheduler", local.scheduler_address]
    assert main([*words, "--output", str(there), *more]) == 1
    assert here.read_bytes() == there.read_bytes()
    assert here.read_text().count("rank 9 is larger than the dimension") == 2


@pytest.mark.slow
def test_a_piece_that_always_kills_its_worker_is_given_up(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """This test is the last one here, because the nannies may not restart all workers that it kills."""
    monkeypatch.setattr(cluster, "LIVES", 1)
    work = [partial(os._exit, 9), partial(slow, 1)]
    with on(local.scheduler_address), pytest.raises(EnvironmentFault, match="piece 1 of 2 has lost 1 workers"):
        spread(work, 1)
