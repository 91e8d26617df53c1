"""Faults found by trying the command line as a new user, command by command, unless another test covers them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import junitparser
import numpy as np
import pytest
from patience import Watch

import dpfl_theory as dpfl
from dpfl_theory.cli import main
from dpfl_theory.errors import InputError

EXAMPLE = Path(__file__).parent.parent / "examples" / "my_statements.py"
Output = pytest.CaptureFixture[str]


def test_1_a_lower_bound_is_not_certified_by_looking_at_an_upper_one(tmp_path: Path, capsys: Output) -> None:
    text = EXAMPLE.read_text().replace("    sides=sides,\n", '    sides=sides,\n    relation=">=",\n')
    file = tmp_path / "mine.py"
    file.write_text(text.replace('"noise": s.eta', '"noise": 100 * s.eta'))
    assert main(["check", "--file", str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "monte-carlo compares by <= and ==, and not by >=; exchange the two sides and state <= (mine.py, line" in err


def test_2_the_clients_of_a_file_are_its_clients(tmp_path: Path, capsys: Output) -> None:
    """Label-sorted clients have another heterogeneity than the same records distributed at random."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = (x[:, 0] + rng.normal(size=200) > 0).astype(float)
    order = np.argsort(y)
    np.savez(tmp_path / "own.npz", x=x[order], y=y[order], client=np.repeat(np.arange(4), 50))
    np.savez(tmp_path / "none.npz", x=x[order], y=y[order])
    rows = [
        f"{int(y[i])} qid:{n // 50} " + " ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(x[i]))
        for n, i in enumerate(order)
    ]
    (tmp_path / "own.libsvm").write_text("\n".join(rows) + "\n")
    command = "recommend --algorithm dp-fedavg --rule printed --epsilon 3 --delta 1e-5 --cohort 2 --local-steps 1"
    found = {}
    for name, more in (("own.npz", []), ("own.libsvm", []), ("none.npz", ["--clients", "4"])):
        options = ["--alpha", "1", "--store", "off", "--format", "json", "--data", str(tmp_path / name), *more]
        assert main([*command.split(), *options]) == 0, capsys.readouterr().err
        reported = json.loads(capsys.readouterr().out)["data"]
        found[name] = (reported["partition"], reported["clients"], reported["constants"]["heterogeneity"]["value"])
    assert found["own.npz"][:2] == found["own.libsvm"][:2] == ("own", 4)
    assert found["own.npz"][2] == pytest.approx(found["own.libsvm"][2], rel=1e-6)
    assert found["none.npz"][0] == "iid"
    assert found["own.npz"][2] > 2 * found["none.npz"][2]


def test_4_a_counterexample_that_stopped_working_fails_in_ci(tmp_path: Path, capsys: Output) -> None:
    """It is recorded as outside the hypotheses, and now it holds."""
    file = tmp_path / "mine.py"
    text = EXAMPLE.read_text().replace(
        '            "the noise dominates": {"eta L": 0.1, "rounds": 2000, "sigma/G": 1.0},\n        },\n',
        '        },\n        {"the start dominates": "not-applicable"},\n',
    )
    file.write_text(text)
    assert main(["check", "--file", str(file), "--store", "off", "--format", "junit"]) == 1
    suite = next(iter(junitparser.JUnitXml.fromstring(capsys.readouterr().out.encode())))
    assert suite.failures == 1
    (failed,) = [case for case in suite if case.result]
    assert failed.name == "monte-carlo: the start dominates"


@pytest.mark.parametrize(
    ("rounds", "budget"), [(3_000_000, "0.2"), pytest.param(100_000_000, "1", marks=pytest.mark.slow)]
)
def test_9_an_accountant_has_a_budget(rounds: int, budget: str, capsys: Output) -> None:
    """100 000 000 rounds of Poisson sampling took longer than any user waits; 3 000 000 would take seconds."""
    command = (
        "privacy account --algorithm dp-fedavg --clients 5000 --cohort 1000 --sampling poisson --noise average "
        f"--noise-multiplier 2.7 --rounds {rounds} --delta 1e-5 --budget {budget}s"
    )
    with Watch() as watch:
        assert main(command.split()) == 3
    assert watch.seconds < 30
    out, err = capsys.readouterr()
    assert out == ""
    assert f"it took longer than {budget} s and was ended: give a larger --budget, or ask for fewer --rounds" in err


def test_9_a_budget_that_is_enough_changes_nothing(capsys: Output) -> None:
    words = "privacy account --algorithm dp-norm-ec --rounds 10 --noise-multiplier 9 --delta 1e-5 --format json"
    command = words.split()
    assert main(command) == 0
    without = json.loads(capsys.readouterr().out)
    assert main([*command, "--budget", "60s"]) == 0
    assert json.loads(capsys.readouterr().out) == without


def test_10_numbers_that_cannot_be_are_told() -> None:
    problem = dpfl.problems.make("huber", clients=3, dimension=4, seed=1)
    algorithm = dpfl.algorithms.FedAvg(local_step=0.1)
    with pytest.raises(InputError, match=r"an entry of size 1e\+200, whose square overflows: at most 1e\+150"):
        dpfl.simulate(algorithm, problem, rounds=2, replicates=2, seed=0, start=np.full(4, 1e200))
    run = dpfl.simulate(algorithm, problem, rounds=2, replicates=2, seed=0, start=np.full(4, 1e150))
    assert np.isfinite(run["suboptimality"].last).all()
    with pytest.raises(InputError, match="fedavg has no parameter 'threshold'"):
        dpfl.algorithms.FedAvg(local_step=0.1, threshold=1.0)
    quadratic = dpfl.problems.make("quadratic", clients=3, dimension=4, seed=1)
    steep = dpfl.algorithms.FedAvg(local_step=1000 / quadratic.constants.L_max)
    with pytest.warns(RuntimeWarning, match="diverged in 2 of 2 replicates"):
        dpfl.simulate(steep, quadratic, rounds=200, replicates=2, seed=0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_11_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dpfl_theory", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )
    assert done.returncode == 5
    sentence = "dpfl-theory: the output cannot be written: No space left on device; make room, or name another place\n"
    assert done.stderr == sentence
