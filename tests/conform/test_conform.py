"""The user's view of the conformance test: the command, bad input, noise that is not recorded, cohorts, and reports."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfl_theory
from benchmarks.conform.planted import IMPLEMENTATIONS, Plant, function_of
from dpfl_theory.cli import main
from dpfl_theory.conform.comparisons.sampled import disagreement
from dpfl_theory.conform.fault_search import nearest
from dpfl_theory.conform.randomness import RecordingGenerator
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.time_limits import TimeoutExceeded

SCAFFOLD = f"{IMPLEMENTATIONS / 'scaffold.py'}:round"


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["conform", SCAFFOLD, "--as", "scaffold", "--runs", "50"]) == 0
    assert "conforms" in capsys.readouterr().out
    file = tmp_path / "found.json"
    other = ["conform", SCAFFOLD, "--as", "fedavg-two-sided", "--runs", "0", "--format", "json"]
    assert main([*other, "--output", str(file)]) == 1
    described = json.loads(file.read_text())
    assert described["verdict"] == "differs"
    assert described["notes"] == ["in all rounds that were compared, w is also that of scaffold"]
    assert {line["file"] for fault in described["faults"] for line in fault["lines"]} == {
        str(IMPLEMENTATIONS / "scaffold.py")
    }
    capsys.readouterr()
    assert main(["conform", "--algorithms"]) == 0
    assert "dp-scaffnew" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "no function is given: name one"),
        (["nowhere:round", "--as", "scaffold"], "there is no module 'nowhere'"),
        (["missing.py:round", "--as", "scaffold"], "does not exist"),
        (["round", "--as", "scaffold"], "does not name a function"),
        (["math:pi", "--as", "scaffold"], "name a function"),
        (["math:nothing", "--as", "scaffold"], "has no function 'nothing'"),
        (["math:sqrt", "--as", "scaffold"], "takes x"),
        ([SCAFFOLD, "--as", "scafold"], "did you mean 'scaffold'"),
        ([SCAFFOLD, "--as", "dp-clip21"], "asks for 'eta_l', which is not a parameter of dp-clip21"),
        ([SCAFFOLD, "--as", "scaffold", "--set", "eta_l"], "is not a parameter with a number"),
        ([SCAFFOLD, "--as", "scaffold", "--set", "eta_l=-1"], "give a positive number"),
        ([SCAFFOLD, "--as", "scaffold", "--set", "q=1"], "unknown parameter of scaffold"),
        ([SCAFFOLD, "--as", "scaffold", "--set", "nosuch=1"], "scaffold 'nosuch': choose from E, K, "),
        ([SCAFFOLD, "--as", "scaffold", "--clients", "1e3"], "give a whole number"),
        ([SCAFFOLD, "--as", "scaffold", "--clients", "500"], "from 3 to 100"),
        ([SCAFFOLD, "--as", "scaffold", "--cohort", "9"], "must be between 1 and 7"),
        ([SCAFFOLD, "--as", "scaffold", "--sampling", "some"], "unknown sampling"),
    ],
)
def test_bad_input_is_a_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", *arguments]) == 2
    output = capsys.readouterr()
    assert sentence in output.err
    assert "Traceback" not in output.err
    assert not output.out


def test_a_function_that_never_ends_is_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.py").write_text("def round(w, state, clients, cohort, rng):\n    while True:\n        pass\n")
    assert main(["conform", f"{tmp_path / 'own.py'}:round", "--as", "fedavg", "--limit", "1s"]) == 2
    assert "longer than 1 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("raise RuntimeError('lost')", "raises RuntimeError: lost"),
        ("import sys; sys.exit(0)", "raises SystemExit: 0 in the first round, with every cohort"),
        ("state['c']", "raises TypeError: 'NoneType' object is not subscriptable"),
        ("if state: state['c']\n    return w, {'n': 1}", "raises KeyError: 'c' in the second round, with every cohort"),
        ("return clients[0].grad(w), state", "a client has no 'grad', but gradient(y), "),
        ("return w, (x for x in w)", "returns a state that cannot be copied"),
        ("yield w", "returns a generator, since it has yield"),
        ("pass", "returns None in the first round, with every cohort: return the pair (w, state)"),
        ("return w", "return the pair (w, state)"),
        ("return w[:1], state", "w of shape (1,), and was given (6,)"),
        ("return 'w', state", "not an array of numbers"),
        ("return clients[0].gradient(w[:1]), state", "the parameters have 6 entries"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_line(body: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(f"def round(w, state, clients, cohort, rng):\n    {body}\n")
    from dpfl_theory.conform.user_function import function_named

    with pytest.raises(InputError) as named:
        dpfl_theory.conform(function_named(f"{file}:round"), "fedavg")
    assert sentence in str(named.value)
    if "raise" in body or "gradient" in body:
        assert "own.py, line 2): " in str(named.value)
    with pytest.raises(InputError) as unnamed:
        dpfl_theory.conform(function_named(f"{file}:round"))
    assert str(unnamed.value) == str(named.value)


async def asynchronous(w: Any, state: Any, clients: Any, cohort: Any, rng: Any) -> Any:
    return w, state


@pytest.mark.filterwarnings("error")
def test_a_function_that_is_async_is_told() -> None:
    for algorithm in ("fedavg", None):
        with pytest.raises(InputError, match="the function is async, so that a call of it runs nothing: give a plain"):
            dpfl_theory.conform(asynchronous, algorithm)


def test_a_failure_on_some_clients_is_a_finding() -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, beta: float, r: float, fails: Any = 1) -> Any:
        if any(len(clients[i]) == fails for i in cohort):
            raise ValueError("the variance needs two records")
        return plain(w, state, clients, cohort, rng, eta=1.0, beta=beta, r=r)

    found = dpfl_theory.conform(round, "fedavg", E=1)
    assert found.verdict == "differs"
    assert found.faults[0].name == "the function fails"
    assert found.faults[0].description.startswith(
        "it runs in some rounds, and in others the function raises ValueError"
    )
    assert "it fails on client 1 with 1 record, and runs on the others" in found.faults[0].evidence
    with pytest.raises(InputError, match="the function fails in some rounds, so that no nearest algorithm is found"):
        dpfl_theory.conform(round)


def test_faults_are_named_beside_a_failure() -> None:
    """The division of a clip fails on a message of zeros, and the round has a fault elsewhere."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, r: float, C: float, z: float) -> Any:
        total, records = z * C / r * rng.standard_normal(w.shape), sum(len(clients[i]) for i in cohort)
        for i in cohort:
            u = clients[i].gradient(w)
            if not np.any(u):
                raise ZeroDivisionError("float division by zero")
            total = total + len(clients[i]) / records * u * min(1.0, C / float(np.linalg.norm(u)))
        return w - total, state

    found = dpfl_theory.conform(round, "dp-fedavg", E=1, eta=1.0, beta=1.0, sampling="fixed", runs=0)
    names = [fault.name for fault in found.faults]
    assert names == ["the function fails", "weights by numbers of records", "more than the declared sensitivity"]


def test_a_failure_on_clients_that_come_again_is_a_finding() -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta: float, beta: float, r: float) -> Any:
        if set(state or []) & set(cohort):
            raise KeyError("again")
        return plain(w, None, clients, cohort, rng, eta=eta, beta=beta, r=r)[0], [*(state or []), *cohort]

    found = dpfl_theory.conform(round, "fedavg", E=1)
    assert found.faults[0].name == "the function fails"


@pytest.mark.parametrize("algorithm", ["scaffnew", None])
def test_a_round_that_does_nothing_conforms_to_no_algorithm(algorithm: str | None) -> None:
    assert dpfl_theory.conform(lambda w, state, clients, cohort, rng: (w, state), algorithm).verdict == "differs"


def test_a_report_on_a_round_without_noise_says_nothing_of_noise_and_of_its_only_reading() -> None:
    text = str(dpfl_theory.conform(plain, "fedavg", E=1))
    assert "as printed" not in text
    assert "covariances" not in text


def test_libraries_print_nothing_of_numbers_that_are_not_finite(capfd: pytest.CaptureFixture[str]) -> None:
    def off(x: Any) -> Any:
        return np.array([1.0, 2.0]) if x[0] == 0.5 else np.full(2, np.nan)

    assert nearest(off, [(0.5,)]) is None
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        RecordingGenerator(0).multivariate_normal(np.zeros(2), np.full((2, 2), np.nan))
    assert capfd.readouterr() == ("", "")


def test_what_was_seen_at_the_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: Any) -> Any:
        raise TimeoutExceeded("it took longer than 2 s and was ended")

    monkeypatch.setattr(sys.modules["dpfl_theory.conform.run"], "explained", late)
    found = dpfl_theory.conform(plain, "fedavg")
    assert found.verdict == "differs"
    assert [fault.name for fault in found.faults] == ["another round"]
    assert "in round 1 w moves by" in found.faults[0].evidence
    assert "it took longer than 2 s" in found.notes[-1]
    with pytest.raises(TimeoutExceeded):  # all that was seen is right
        dpfl_theory.conform(plain, "fedavg", E=1)


def plain(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta: float, beta: float, r: float) -> Any:
    return w - beta * sum(clients[i].gradient(w) for i in cohort) / r, state


def test_letters_that_are_not_asked_for_are_built_in() -> None:
    assert dpfl_theory.conform(plain, "fedavg", E=1).verdict == "conforms"
    found = dpfl_theory.conform(plain, "fedavg")
    assert [fault.name for fault in found.faults] == ["a single local step", "fails without clients"][:1]


@pytest.mark.slow
def test_noise_that_is_not_heard_is_tested_on_samples() -> None:
    """Two functions, each tested with an error probability of 1e-6."""
    found = dpfl_theory.conform(function_of("own_generator"), "dp-fedavg", runs=800)
    assert found.verdict == "conforms"
    assert found.reading == "the server adds noise to the average"
    assert "was not recorded" in found.notes[0]
    half = Plant("own_generator", "sigma, len(w)", "sigma / 2, len(w)", "half the sensitivity")
    wrong = dpfl_theory.conform(function_of("own_generator", half), "dp-fedavg", runs=800)
    assert [fault.name for fault in wrong.faults] == ["half the sensitivity"]


def test_methods_of_the_rng_are_noted_as_the_round_calls_them() -> None:
    """NumPy's permutation calls shuffle, and its choice calls integers or random."""
    rng = RecordingGenerator(0).use_means()
    rng.permutation(3)
    rng.choice(5, 2, p=[0.2] * 5)
    rng.choice(5)
    rng.normal()
    assert rng.others == {"permutation", "choice"}
    rng.random()
    assert rng.others == {"permutation", "choice", "random"}


@pytest.mark.parametrize("place", ["expected", "found"])
def test_samples_do_not_agree_with_numbers_that_are_not_finite(place: str) -> None:
    """Every comparison of NaN is false, and so is one with a bound on the difference."""
    w, mean = np.random.default_rng(0).standard_normal((50, 2)), np.zeros(2)
    assert disagreement(w, mean, np.eye(2), 1e-6) is None
    (mean if place == "expected" else w[0])[1] = np.nan
    assert "not finite" in str(disagreement(w, mean, np.eye(2), 1e-6))


@pytest.mark.slow
def test_what_only_live_runs_show_is_shown() -> None:
    """Noise that is another one only when the generator really draws, all numbers at once."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, gamma: float, tau: float, sigma: float
    ) -> Any:
        return function_of("clip21")(w, state, clients, cohort, Loud(rng), gamma=gamma, tau=tau, sigma=sigma)

    class Loud:
        def __init__(self, rng: Any) -> None:
            self.rng = rng

        def normal(self, mean: float, sigma: float, size: int) -> Any:
            drawn = self.rng.normal(mean, sigma, size)
            return 0.5 * drawn if (drawn != 0.0).all() else drawn

    found = dpfl_theory.conform(round, "dp-clip21")
    assert found.faults[0].name in ("refuted by the audit", "randomness that was not recorded")


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(
    ("sampler", "sampling", "name"),
    [
        (lambda n, rng: np.flatnonzero(rng.random(n) < 3 / 7), "poisson", None),
        (lambda n, rng: rng.choice(n, 3, replace=False), "fixed", None),
        (lambda n, rng: rng.choice(n, 3, replace=False), "poisson", "fixed-size cohorts accounted as Poisson"),
        (lambda n, rng: np.flatnonzero(rng.random(n) < 0.5), "fixed", "cohorts of varying size"),
        (lambda n, rng: rng.choice(n, 3), "fixed", "clients drawn twice"),
        (lambda n, rng: np.flatnonzero(rng.random(n) < 0.6), "poisson", "a wrong sampling rate"),
        (lambda n, rng: np.arange(3), "fixed", "cohorts that can be predicted"),
        (lambda n, rng: np.arange(n) if rng.random() < 3 / 7 else [], "poisson", "clients that are not independent"),
        (lambda n, rng: 1 / 0, "fixed", "the sampler fails"),
    ],
)
def test_cohorts_are_held_against_their_accounting(sampler: Any, sampling: str, name: str | None) -> None:
    """Each errs with probability 1e-6."""
    found = dpfl_theory.conform(plain, "fedavg", E=1, sampler=sampler, sampling=sampling, cohort=3)
    assert [fault.name for fault in found.faults] == ([] if name is None else [name])


def test_letters_given_twice_contradict_each_other() -> None:
    with pytest.raises(InputError, match="leave one out"):
        dpfl_theory.conform(function_of("clip21"), "dp-clip21", sigma=1.0, noise_multiplier=1.0)


def test_a_generator_that_is_heard_draws_as_numpys() -> None:
    ours, theirs = RecordingGenerator(3).live(), np.random.Generator(np.random.Philox(3))
    assert np.array_equal(ours.normal(1.0, [2.0, 3.0]), theirs.normal(1.0, [2.0, 3.0]))
    assert np.array_equal(ours.standard_normal((2, 2)), theirs.standard_normal((2, 2)))
    assert np.array_equal(ours.laplace(0.0, 2.0, 3), theirs.laplace(0.0, 2.0, 3))
    assert [draw.largest for draw in ours.draws] == pytest.approx([3.0, 1.0, 2.0 * 2**0.5])
    assert ours.draws[0].place[0] == __file__
    out = np.empty(2)
    assert ours.use_means().standard_normal(out=out) is out
    assert not out.any()
    whole = ours.set(1, 1.0).multivariate_normal([0.0, 0.0], [[4.0, 0.0], [0.0, 9.0]])
    assert whole.tolist() == [0.0, 3.0]


def noisy(scale: Any) -> Any:
    """DP-FedAvg with one local step, whose clients' noise is too large by a factor that depends on the size of the
    cohort."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, beta: Any, C: Any, r: Any, sigma: Any) -> Any:
        gradients = [clients[i].gradient(w) for i in cohort]
        total = sum((g * min(1.0, C / max(float(np.linalg.norm(g)), 1e-300)) for g in gradients), 0.0 * w)
        noise = rng.normal(0.0, sigma * r**0.5 * scale(len(cohort)), (len(cohort), len(w)))
        return w - beta * (total + noise.sum(axis=0)) / r, state

    return round


@pytest.mark.slow
def test_noise_that_depends_on_the_cohort_is_not_said_to_depend_on_the_data() -> None:
    """Of all clients on average, so that the cohorts of other sizes have the fewest numbers and are compared first."""
    found = dpfl_theory.conform(noisy(lambda size: 1.7 + 0.1 * size), "dp-fedavg", E=1, cohort=7, runs=0)
    assert [fault.name for fault in found.faults] == ["another noise"]


def test_a_function_that_fails_in_some_rounds_alone_is_told() -> None:
    """It ends no test, whatever is asked of the function afterwards."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, beta: Any, C: Any, r: Any, sigma: Any) -> Any:
        if rng.normal(0.0, sigma) != 0.0:
            raise RuntimeError("noise")
        return correct(w, state, clients, cohort, rng, beta=beta, C=C, r=r, sigma=sigma)

    correct = noisy(lambda size: 1.0)
    found = dpfl_theory.conform(round, "dp-fedavg", E=1, runs=300)
    assert found.verdict == "differs"
    assert found.faults[0].name == "the function fails"
    assert "noise" in found.faults[0].description


@pytest.mark.slow
def test_more_noise_than_can_be_taken_apart_is_refused() -> None:
    with pytest.raises(InputError, match="give fewer clients or local steps"):
        dpfl_theory.conform(function_of("dp_scaffold"), "dp-scaffold", K=100, clients=50, runs=0)


def test_generators_of_libraries_are_left_as_they_were() -> None:
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]  # noqa: NPY002
    dpfl_theory.conform(noisy(lambda size: 1.0), "dp-fedavg", E=1, runs=300)
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index, union-attr]  # noqa: NPY002


def test_what_a_function_prints_stays_out_of_the_document(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.py").write_text(
        "print('imported')\ndef round(w, state, clients, cohort, rng):\n    print('called')\n    return w, state\n"
    )
    assert main(["conform", f"{tmp_path / 'own.py'}:round", "--as", "fedavg", "--format", "json"]) == 1
    out, err = capfd.readouterr()
    assert json.loads(out)["verdict"] == "differs"
    assert "imported" in err
    assert "called" in err
