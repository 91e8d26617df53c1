"""Names of deviations in one client's message, in one layer, and of faults that no observation distinguishes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.conform import equivalent
from benchmarks.conform.planted import Plant, function_of
from dpfl_theory import conform

Round = Callable[..., tuple[Any, Any]]


def fedavg(server: bool = True, momentum: float = 0.0, decay: float = 1.0, places: slice = slice(None)) -> Round:
    """FedAvg with weights by records. decay: of a client's step size after each of its rounds; places: of the cohort's
    differences that are added."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, epochs: int
    ) -> Any:
        rounds = {} if state is None else dict(state)
        messages = []
        for i in cohort:
            y, v = w.copy(), np.zeros_like(w)
            for _ in range(epochs):
                v = momentum * v + clients[i].gradient(y)
                y = y - lr * decay ** rounds.get(int(i), 0) * v
            rounds[int(i)] = rounds.get(int(i), 0) + 1
            messages.append(len(clients[i]) * (y - w))
        step = sum(messages[places], 0 * w) / sum(len(clients[i]) for i in cohort)
        return w + (server_lr if server else 1.0) * step, rounds

    return round


def names(round: Round, algorithm: str, **given: Any) -> set[str]:
    return {one.name for one in conform(round, algorithm, runs=0, **given).faults}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("places", "name"),
    [
        (slice(1, None), "the first client of a cohort is left out"),
        (slice(0, -1), "the last client of a cohort is left out"),
    ],
)
def test_a_message_that_is_left_out_is_named_with_what_the_code_has_besides(places: slice, name: str) -> None:
    found = names(fedavg(server=False, momentum=0.9, places=places), "fedavg-mcmahan")
    assert found == {"momentum in the local steps", "no global step size", name}


def test_a_decay_by_own_rounds_is_named_or_declared() -> None:
    own = "a step size that decays with a client's own rounds"
    assert names(fedavg(decay=0.8, momentum=0.9), "fedavg-mcmahan") == {"momentum in the local steps", own}
    assert conform(fedavg(decay=0.8), "fedavg-mcmahan", runs=0, variations={"own_lr_decay": 0.8}).conforms
    assert names(fedavg(decay=0.8), "fedavg-mcmahan", variations={"lr_decay": 0.8})  # which follows the round's number


def test_the_weight_of_a_message_is_fitted() -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, eta_g: float) -> Any:
        total = np.zeros_like(w)
        for k, i in enumerate(cohort):
            y = w.copy()
            for _ in range(epochs):
                y = y - lr * clients[i].gradient(y)
            total += (0.37 if k == 0 else 1.0) * (y - w)
        return w + eta_g * total / len(cohort), state

    (found,) = conform(round, "fedavg-two-sided", runs=0).faults
    assert found.name == "the first client of a cohort has another weight"
    assert "counts 0.37 times as much" in found.description


def test_the_cause_of_numbers_that_are_not_finite_is_named() -> None:
    plant = Plant("fedyogi", "np.sign(v - square)", "np.sign(square - v)", "")
    found = {one.name: one for one in conform(function_of("fedyogi", plant), "fedyogi", runs=0).faults}
    assert {*found} == {"numbers that are not finite", "the sign of the second moment"}
    assert "nan" not in found["the sign of the second moment"].evidence


def test_noise_is_added_to_all_layers() -> None:
    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        layers: Any,
        eta_g: float,
        c: float,
        z: float,
        r: float,
    ) -> Any:
        total = np.zeros_like(w)
        for i in cohort:
            u = -0.05 * clients[i].gradient(w)
            total += u * min(1.0, c / max(np.linalg.norm(u), 1e-300))
        noise = rng.normal(0.0, z * c, w.shape)
        noise[layers[0]] = 0.0
        return w + eta_g * (total + noise) / r, state

    found = conform(round, "dp-fedavg-two-sided", runs=0, eta_l=0.05, Q=1).faults
    assert [one.name for one in found] == ["noise on one layer alone"]
    assert "only the last layer" in found[0].description


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("algorithm", ["feddyn", "scaffold", "scaffnew", "fedadam"])
def test_reports_name_all_equivalent_faults(algorithm: str) -> None:
    assert equivalent.main([algorithm]) == 0


def test_server_momentum_has_an_effect_in_every_round() -> None:
    correct = function_of("scaffold")

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta_l: float, eta_g: float, K: int) -> Any:
        inner, m = (None, np.zeros_like(w)) if state is None else state
        after, inner = correct(w, inner, clients, cohort, rng, eta_l=eta_l, eta_g=eta_g, K=K)
        m = 0.7 * m + after - w
        return w + m, (inner, m)

    assert names(round, "scaffold") == {"server momentum"}
    assert conform(round, "scaffold", runs=0, variations={"server_momentum": 0.7}).conforms


def rmsprop(g: Any, v: Any, t: int) -> Any:
    v = 0.99 * v + 0.01 * g * g
    return g / (np.sqrt(v) + 1e-8), v


def adam(g: Any, memory: Any, t: int) -> Any:
    m, v = (0.0, 0.0) if memory is None else memory
    m, v = 0.9 * m + (1 - 0.9) * g, 0.999 * v + (1 - 0.999) * g**2
    return (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), (m, v)


def adagrad(g: Any, v: Any, t: int) -> Any:
    v = v + g * g
    return g / (np.sqrt(v) + 1e-10), v


def added_up(g: Any, total: Any, t: int) -> Any:
    """Gradients that are not set to zero."""
    return total + g, total + g


def stepping(step: Any, first: Any, decay: float = 0.0, late: float = 0.0) -> Round:
    """FedAvg whose clients step by an optimizer. decay: of the weights, added to a gradient; late: added to a step."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, server_lr: float
    ) -> Any:
        total = np.zeros_like(w)
        for i in cohort:
            y, memory = w.copy(), first
            for t in range(1, epochs + 1):
                d, memory = step(clients[i].gradient(y) + decay * y, memory, t)
                y = y - lr * (d + late * y)
            total += len(clients[i]) * (y - w)
        return w + server_lr * total / sum(len(clients[i]) for i in cohort), state

    return round


@pytest.mark.parametrize(("step", "first"), [(adam, None), (rmsprop, 0.0), (adagrad, 0.0)])
def test_an_optimizer_of_the_clients_is_named_or_declared(step: Any, first: Any) -> None:
    name, own = "an adaptive optimizer in the local steps", {"optimizer": step.__name__}
    assert names(stepping(step, first, 1e-2), "fedavg-mcmahan") == {name, "weight decay in the local steps"}
    assert conform(stepping(step, first), "fedavg-mcmahan", runs=0, variations=own).conforms
    assert not conform(
        stepping(adam if step is rmsprop else rmsprop, None if step is rmsprop else 0.0),
        "fedavg-mcmahan",
        runs=0,
        variations=own,
    ).conforms


@pytest.mark.parametrize("when", ["decay", "late"])
def test_gradients_that_add_up_are_named_beside_weight_decay(when: str) -> None:
    both = {"gradients add up over the local steps", "weight decay in the local steps"}
    assert names(stepping(added_up, 0.0, **{when: 1e-3}), "fedavg-mcmahan") == both
