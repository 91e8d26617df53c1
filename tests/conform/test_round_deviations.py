"""Sentences about a round without noise: each is true of every code with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.conform.planted import function_of
from dpfl_theory import conform
from dpfl_theory.conform.result import Conformance

Round = Callable[..., tuple[Any, Any]]


def names(found: Conformance) -> list[str]:
    return [one.name for one in found.faults]


def proxskip(chance: Callable[[float], float] = lambda p: p, gain: float = 1.0) -> Round:
    """ProxSkip that returns the mean of the clients' vectors, also in rounds without a communication."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, p: float) -> Any:
        x, h = (np.tile(w, (len(clients), 1)), np.zeros((len(clients), len(w)))) if state is None else state
        ahead = x - lr * (np.stack([client.gradient(at) for client, at in zip(clients, x)]) - h)
        x = np.tile(ahead.mean(axis=0), (len(x), 1)) if rng.random() < chance(p) else ahead
        return x.mean(axis=0), (x, h + gain * p / lr * (x - ahead))

    return round


def test_the_mean_of_the_clients_in_rounds_without_a_communication() -> None:
    found = conform(proxskip(), "scaffnew")
    assert found.conforms, str(found)
    assert found.reading == "w is the mean of the clients' vectors in rounds without a communication"
    assert names(conform(proxskip(gain=-1.0), "scaffnew")) == ["the control variate has the wrong sign"]


@pytest.mark.parametrize("chance", [lambda p: 1.0, lambda p: p / 2 if p < 1.0 else p])
def test_another_probability_of_communication(chance: Callable[[float], float]) -> None:
    found = {one.name: one.description for one in conform(proxskip(chance), "scaffnew").faults}
    said = found["a wrong probability of communication"]
    assert said == "rounds communicate with a probability other than p, on which the control variates depend"


def own_coins(second: bool = False) -> Round:
    """ScaffNew whose clients toss coins of their own; the server has the mean of their vectors."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, gamma: float, p: float) -> Any:
        n = len(clients)
        x, h = (np.tile(w, (n, 1)), np.zeros((n, len(w)))) if state is None else state
        ahead = np.array([x[i] - gamma * (clients[i].gradient(x[i]) - h[i]) for i in range(n)])
        coins = rng.random((2, n))[1] < p if second else rng.random(n) < p
        after, h = ahead.copy(), h.copy()
        if coins.any():
            after[coins] = ahead[coins].mean(axis=0)
            h[coins] += p / gamma * (after - ahead)[coins]
        return after.mean(axis=0), (after, h)

    return round


def test_a_coin_for_each_client_where_the_server_has_their_mean() -> None:
    found = conform(own_coins(), "scaffnew")
    assert names(found) == ["a coin for each client"]
    assert found.reading == "w is the mean of the clients' vectors in rounds without a communication"


def test_a_communication_of_some_clients_is_no_wrong_probability() -> None:
    """The known deviation tosses its coins in another way, so that only the starts of the next round tell."""
    found = conform(own_coins(second=True), "scaffnew")
    assert names(found) == ["another round", "a communication of some clients only"]
    parts = int(found.faults[1].evidence.split()[1])
    share = 1.0 - 0.4**7 - 7 * 0.6 * 0.4**6 - 0.6**7  # of rounds in which two to six of seven clients communicate
    assert abs(parts - 400 * share) < 25


def returned(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float) -> Any:
    return w, state


def lost(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float) -> Any:
    _ = [w - lr * clients[i].gradient(w) for i in cohort]
    return w, state


@pytest.mark.parametrize(
    ("round", "words"),
    [(returned, "no client is asked for a gradient"), (lost, "the clients' gradients have no effect")],
)
@pytest.mark.parametrize("algorithm", ["fedavg-mcmahan", "fedavg-two-sided"])
def test_a_round_that_does_not_move_w(round: Round, words: str, algorithm: str) -> None:
    found = conform(round, algorithm)
    assert names(found) == ["w does not move"]
    assert words in found.faults[0].description


@pytest.mark.parametrize(("times", "more"), [(1.0, []), (0.5, ["another noise"])])
def test_a_round_that_only_adds_noise(times: float, more: list[str]) -> None:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, server_lr: Any, K: Any, C: Any, z: Any
    ) -> Any:
        noise = rng.normal(0.0, z * C / len(cohort), len(w))
        return w + times * server_lr * noise, state

    assert names(conform(round, "dp-fedavg-two-sided", runs=0)) == ["only noise moves w", *more]


def fedavg(message: Callable[[Any, Any], Any], server: Callable[..., Any]) -> Round:
    """A round that sends a function of w and the end, and whose server gets w, messages, records and its step size."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, epochs: int
    ) -> Any:
        sent = []
        for i in cohort:
            y = w.copy()
            for _ in range(epochs):
                y = y - lr * clients[i].gradient(y)
            sent.append(message(w, y))
        return server(w, sent, [len(clients[i]) for i in cohort], server_lr), state

    return round


def test_the_median_and_the_mean_of_two_messages_are_told_apart() -> None:
    def with_one_left_out(of: Callable[..., Any]) -> Round:
        def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int) -> Any:
            plain = fedavg(lambda w, y: y, lambda w, sent, sizes, step: of(sent, axis=0))
            return plain(w, state, clients, cohort[: max(1, len(cohort) - 1)], rng, lr=lr, server_lr=1.0, epochs=epochs)

        return round

    dropped = "members of the cohort that do not take part"
    for of, name in ((np.mean, "all clients weigh the same"), (np.median, "the median in place of the mean")):
        assert set(names(conform(with_one_left_out(of), "fedavg-mcmahan"))) == {dropped, name}


def test_a_step_of_the_same_length_in_another_direction() -> None:
    found = conform(
        fedavg(lambda w, y: y - w, lambda w, sent, sizes, step: w - step * np.average(sent, axis=0, weights=sizes)),
        "fedavg-mcmahan",
    )
    assert names(found) == ["the step has the wrong sign"]
    assert "in another direction" in found.faults[0].evidence


def test_words_on_weights_claim_nothing_of_other_algorithms() -> None:
    equal = fedavg(lambda w, y: y - w, lambda w, sent, sizes, step: w + step * np.mean(sent, axis=0))
    cases: list[tuple[str, Any]] = [("fedavg-mcmahan", {}), ("fedavgm", {"beta": 0.0})]
    for algorithm, given in cases:
        found = conform(equal, algorithm, **given)
        assert names(found) == ["all clients weigh the same"]
        assert ("fedavg-two-sided" in found.faults[0].description) == (algorithm == "fedavg-mcmahan")


def scaffold(all_alike: bool, after: bool) -> Round:
    """SCAFFOLD with weights by records and momentum. all_alike: also the differences of control variates have these
    weights; after: the correction is added after the momentum."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta_l: float, K: int, eta_g: float) -> Any:
        c, own = (0 * w, np.zeros((len(clients), len(w)))) if state is None else (state[0], state[1].copy())
        sizes = np.array([len(clients[i]) for i in cohort], dtype=float)
        step, change = 0 * w, 0 * w
        for share, i in zip(sizes / sizes.sum(), cohort):
            y, v, correction = w, 0 * w, c - own[i]
            for _ in range(K):
                v = 0.9 * v + clients[i].gradient(y) + (0.0 if after else correction)
                y = y - eta_l * (v + correction if after else v)
            new = own[i] - c + (w - y) / (K * eta_l)
            step, change = step + share * (y - w), change + (share * len(cohort) if all_alike else 1) * (new - own[i])
            own[i] = new
        return w + eta_g * step, (c + change / len(clients), own)

    return round


@pytest.mark.parametrize("all_alike", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_both_readings_of_declared_variations_conform(all_alike: bool, after: bool) -> None:
    found = conform(scaffold(all_alike, after), "scaffold", variations={"weights": "records", "momentum": 0.9})
    assert found.conforms, str(found)
    assert ("c moves by differences with the same weights" in found.reading) == all_alike
    assert ("momentum of the gradients alone" in found.reading) == after
    assert "with declared weights by numbers of records and momentum in the local steps" in str(found)


def test_declared_weights_are_those_of_the_reading() -> None:
    found = conform(function_of("fedyogi"), "fedyogi", variations={"weights": "records"})
    assert found.conforms
    assert "equal weights" not in str(found)
    assert conform(function_of("fedyogi"), "fedyogi", variations={"weights": "all-records"}).verdict == "differs"


def test_the_reading_is_printed_where_a_round_differs() -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, mu: float) -> Any:
        plain = fedavg(lambda w, y: y, lambda w, sent, sizes, step: np.average(sent, axis=0, weights=sizes))
        return plain(w, state, clients, cohort, rng, lr=lr, server_lr=1.0, epochs=epochs)

    found = conform(round, "fedprox", eta_g=1.0)
    assert names(found) == ["no proximal term"]
    assert "those from one reading of the algorithm: weights by numbers of records" in " ".join(str(found).split())
    assert "FedAvg" not in found.faults[0].description
