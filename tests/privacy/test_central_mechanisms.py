"""The accounting of private rounds that people implement: sensitivities and splits by exact computation."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from dpfl_theory.algorithms import get
from dpfl_theory.algorithms.adaptive_clipping import split
from dpfl_theory.conform.operations import Operations
from dpfl_theory.core.algorithm import Setting
from dpfl_theory.errors import InputError
from dpfl_theory.privacy.events import gaussian_multiplier, leaf, simplified
from dpfl_theory.privacy.mechanisms import get as mechanism
from dpfl_theory.problems import make
from dpfl_theory.simulation import Cohort, Simulation, simulate


class Still:
    """A client that moves every difference by the same vector, and has this many records."""

    def __init__(self, u: Any, records: int) -> None:
        self.u, self.records = np.asarray(u, float), records

    def __len__(self) -> int:
        return self.records

    def gradient(self, y: Any, records: Any = None) -> Any:
        return -self.u


class Quiet:
    """A generator whose normal numbers are 0."""

    def normal(self, mean: float, deviation: float, size: int) -> Any:
        return np.zeros(size)


def after(run: Any, clients: list[Any], cohort: list[int], expected: float) -> np.ndarray:
    w = np.zeros(2)
    return np.asarray(run.round(Operations(clients, cohort, Quiet(), expected, 2), w, None)[0])


@pytest.mark.parametrize("reading", get("dp-fedavg-mcmahan").readings, ids=lambda one: one.name)
def test_one_client_moves_the_weighted_sum_by_at_most_its_sensitivity(reading: Any) -> None:
    """McMahan et al. 2018 Lemma 1: S/(q W) for the fixed denominator, 2S/(q W) for the clipped one, over clients with
    any numbers of records, updates and cohorts; both are nearly attained."""
    kind, rng, most = get("dp-fedavg-mcmahan").with_parts(reading.parts), np.random.default_rng(1), 0.0
    n, expected, S = 5, 2.5, 0.7
    run: Any = kind(eta=1.0, E=1, C=S, w_hat=3.0, z=1.0).with_defaults()
    for trial in range(400):
        records = rng.integers(1, 7, n)
        length = 10.0 ** rng.uniform(-2, 2, n)
        direction = rng.standard_normal((n, 2)) if trial % 2 else np.tile([1.0, 0.0], (n, 1))
        if trial % 2 == 0:
            direction[0] = [-1.0, 0.0]
        clients = [Still(a * v, int(m)) for a, v, m in zip(length, direction, records)]
        others = [i for i in range(1, n) if rng.random() < expected / n or trial % 4 == 0]
        moved = np.linalg.norm(np.subtract(*(after(run, clients, who, expected) for who in ([0, *others], others))))
        o = Operations(clients, others, Quiet(), expected, 2)
        unit = S / float(run.noisy_share(o))
        twice = 2.0 if "divisor" in reading.parts else 1.0
        assert moved <= twice * unit * (1 + 1e-12)
        most = max(most, moved / unit)
    assert most > 0.95


@pytest.mark.parametrize(("z", "sigma_b"), [(1.0, 5.0), (0.6, 0.5), (0.2, 0.11), (3.0, 100.0)])
def test_the_split_of_adaptive_clipping_is_one_gaussian_mechanism(z: float, sigma_b: float) -> None:
    """Andrew et al. 2021 Theorem 1: the sum moves by C and the centred count by 1/2: a whitened shift of length 1/z."""
    assert math.hypot(1.0 / split(z, 2.0 * sigma_b), 0.5 / sigma_b) == pytest.approx(1.0 / z)
    found = mechanism("dp-fedavg-adaptive")(clients=9, noise_multiplier=z, count_noise=sigma_b, rounds=1)
    assert gaussian_multiplier(leaf(simplified(found.event()))) == pytest.approx(z)
    assert found.sigma(2.0)["sigma_of_the_sum"] == pytest.approx(2.0 * split(z, 2.0 * sigma_b))
    said = found.setting()["multiplier"]
    assert f"the noise of the sum is {split(z, 2.0 * sigma_b):.6g} C, and that of the count {sigma_b:.6g}" in said
    assert list(found.alternatives(())) == []  # the multiplier of both is no multiplier of an average


def test_a_count_that_spends_everything_is_refused() -> None:
    kind = mechanism("dp-fedavg-adaptive")
    for z, least in ((1.0, "0.5"), (1.5, "0.75")):
        with pytest.raises(InputError, match=f"the count alone has the multiplier 1,.* `count_noise` above {least}$"):
            kind(clients=9, noise_multiplier=z, count_noise=0.5, rounds=1)
    assert split(1.0, 1.0) == math.inf
    with pytest.raises(InputError, match="above 1"):  # a replaced client moves the count by 1
        kind(clients=9, noise_multiplier=1.0, count_noise=0.9, rounds=1, relation="replace")


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.75])
def test_the_threshold_moves_to_the_quantile(quantile: float) -> None:
    """Its fixed point without noise: the share gamma of the updates is within it."""
    clients = [Still([length, 0.0], 1) for length in np.linspace(1.0, 2.0, 101)]
    run: Any = get("dp-fedavg-adaptive")(eta=1.0, eta_s=1e-9, E=1, C=20.0, z=0.0, gamma=quantile).with_defaults()
    w, state = np.zeros(2), None
    for _ in range(300):
        w, state = run.round(Operations(clients, range(101), Quiet(), 101.0, 2), w, state)
    assert float(state[0]) == pytest.approx(1.0 + quantile, abs=0.05)


def test_a_cohort_of_m_has_the_printed_share() -> None:
    """The halves of b_i - 1/2 cancel: b is the share of the updates within C."""
    clients = [Still([length, 0.0], 1) for length in (0.5, 0.7, 3.0)]
    run: Any = get("dp-fedavg-adaptive")(eta=1.0, E=1, C=1.0, z=0.0).with_defaults()
    _, state = run.round(Operations(clients, range(3), Quiet(), 3.0, 2), np.zeros(2), None)
    assert float(state[0]) == pytest.approx(math.exp(-0.2 * (2 / 3 - 0.5)))


def test_local_messages_are_those_of_the_averages_for_the_server() -> None:
    local, central = mechanism("dp-fedavg-local"), mechanism("dp-fedavg")
    setting = {"clients": 50, "cohort": 9, "sampling": "fixed", "rounds": 7}
    for view in ("server", "third-party"):
        one = local(noise_multiplier=2.0, view=view, **setting).event()
        assert one == central(noise_multiplier=6.0, view=view, **setting).event()
    assert local(noise_multiplier=2.0, **setting).view == "server"


SAMPLINGS, RELATIONS = ("full", "poisson", "fixed", "with-replacement"), ("zero-out", "replace", "add-remove")
OBSERVERS = ("third-party", "server")


@pytest.mark.parametrize(
    ("name", "noise", "view"),
    [
        ("dp-fedavg", ("per-client", "average"), "third-party"),
        ("dp-fedavg-local", ("per-client",), "server"),
        ("dp-fedavg-mcmahan", ("average",), "third-party"),
        ("dp-fedavg-adaptive", ("average",), "third-party"),
    ],
)
def test_options_that_are_not_given_are_the_first(name: str, noise: tuple[str, ...], view: str) -> None:
    """But for the observer of local noise, who is the server."""
    own = {f.name: (f.default, f.metadata["choices"]) for f in fields(mechanism(name))}
    assert own["sampling"] == ("full", SAMPLINGS)
    assert own["relation"] == ("zero-out", RELATIONS)
    assert own["noise"] == (noise[0], noise)
    assert own["view"] == (view, OBSERVERS)


def test_a_coin_without_a_given_relation_leaves_a_message_out() -> None:
    own = {f.name: (f.default, f.metadata["choices"]) for f in fields(mechanism("dp-scaffnew"))}
    assert own["relation"] == ("zero-out", ("zero-out", "replace"))


@pytest.mark.parametrize(("relation", "moves"), [("zero-out", 1), ("replace", 2)])
def test_noise_follows_the_threshold_and_what_a_client_moves(relation: str, moves: int) -> None:
    setting = {"clients": 50, "cohort": 9, "sampling": "fixed", "rounds": 7, "relation": relation}
    local = mechanism("dp-fedavg-local")(noise_multiplier=3.0, **setting)
    assert local.sigma(0.5) == {"sigma_of_one_message": 1.5 * moves}
    assert local.setting()["multiplier"].startswith("of 2C, the most" if moves == 2 else "of C: the noise of each mess")
    assert "each message has standard deviation" in local.setting()["multiplier"]
    two_sided = mechanism("dp-fedavg-two-sided")(noise_multiplier=3.0, **setting)
    assert two_sided.sigma(0.5) == {"sigma": 0.5 * moves}  # 1/sqrt(9) of the sum's
    summed = mechanism("dp-fedavg-mcmahan")(noise_multiplier=3.0, **setting)
    assert summed.sigma(0.5) == {"sigma_of_the_sum": 1.5 * moves}


def test_the_multiplier_of_a_message_is_converted() -> None:
    local = mechanism("dp-fedavg-local")(clients=50, cohort=9, sampling="fixed", noise_multiplier=2.0, rounds=7)
    assert local.multiplier_of() == "message"
    assert local.factors() == {"message": 1.0, "sum": pytest.approx(1 / 3), "average": 3.0}
    assert mechanism("dp-fedavg-local")(sampling="fixed", noise_multiplier=2.0).factors() == {}
    assert local.textbook() is None
    outside = local.with_(view="third-party", relation="replace")
    averaged = {"clients": 50, "cohort": 9, "sampling": "fixed", "relation": "replace", "rounds": 7}
    assert outside.textbook() == mechanism("dp-fedavg")(noise_multiplier=6.0, **averaged).textbook()
    assert outside.textbook() is not None


@pytest.mark.parametrize(("relation", "moves"), [("zero-out", 1.0), ("replace", 2.0)])
def test_the_count_without_a_given_noise_has_five_times_the_multiplier(relation: str, moves: float) -> None:
    """Both together: 1/z^2 = 1/z_delta^2 + (moves/(2 sigma_b))^2, where sigma_b = 5 z moves."""
    found = mechanism("dp-fedavg-adaptive")(clients=9, noise_multiplier=0.5, rounds=1, relation=relation)
    assert found.count_noise == 0.0
    z_delta = 1.0 / math.sqrt(1.0 / 0.5**2 - (moves / (2.0 * 2.5 * moves)) ** 2)
    assert found.sigma(3.0)["sigma_of_the_sum"] == pytest.approx(3.0 * moves * z_delta)
    said = found.setting()["multiplier"]
    assert said.endswith(f"the noise of the sum is {moves * z_delta:.6g} C, and that of the count {2.5 * moves:g}")
    unknown = mechanism("dp-fedavg-adaptive")(clients=9, relation=relation)
    assert unknown.setting()["multiplier"] == "of the sum and the count together"
    noisy = found.with_(count_noise=1.5)
    z_delta = 1.0 / math.sqrt(1.0 / 0.5**2 - (moves / 3.0) ** 2)
    assert noisy.sigma(3.0)["sigma_of_the_sum"] == pytest.approx(3.0 * moves * z_delta)


@pytest.mark.parametrize("name", ["dp-fedavg-mcmahan", "dp-fedavg-adaptive", "dp-fedavg-local", "dp-ftrl", "dp-sgd"])
def test_a_replaced_client_needs_twice_the_noise(name: str) -> None:
    """The description's noise is that of its mechanism, for both relations."""
    values = {"eta": 0.1, "C": 0.5, "s" if name == "dp-sgd" else "E": 1}
    problem = make("logistic-synthetic", clients=4, dimension=3, records=2, seed=1)
    spread = {}
    for relation in ("zero-out", "replace"):
        run = get(name)(**values, z=0.5).under(Setting(4, None, "full", relation, "third-party", 1))
        noisy = simulate(Simulation(run, Cohort()), problem, 1, 400, 2, device="cpu").final
        quiet = simulate(Simulation(run.with_values(noise_multiplier=0.0), Cohort()), problem, 1, 1, 2, device="cpu")
        spread[relation] = float(np.sqrt(np.mean((noisy - quiet.final) ** 2)))
    assert spread["replace"] == pytest.approx(2.0 * spread["zero-out"])
