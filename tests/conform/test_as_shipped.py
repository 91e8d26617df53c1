"""Ports of reported mistakes with the other deviations of such code: each is named, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpfl_theory import conform

LAYERS = (slice(0, 2), slice(2, 6))
MOMENTUM, DECAY, NO_STEP = "momentum in the local steps", "weight decay in the local steps", "no global step size"
Term = Callable[[Any, Any, float], Any]


def descended(w: Any, client: Any, lr: float, K: int, term: Callable[[Any], Any], beta: float, decay: float) -> Any:
    y, v = w.copy(), 0.0 * w
    for _ in range(K):
        v = beta * v + client.gradient(y) + decay * y + term(y)
        y = y - lr * v
    return y


def unit(u: Any) -> Any:
    length = float(np.linalg.norm(u))
    return u / length if length > 0.0 else u


def layers(y: Any, w: Any, mu: float) -> Any:
    return mu / 2 * np.concatenate([unit((y - w)[layer]) for layer in LAYERS])


def fedprox(term: Term, beta: float = 0.0, decay: float = 0.0, server: bool = True) -> Any:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, mu: float, server_lr: float
    ) -> Any:
        ends = [descended(w, clients[i], lr, epochs, lambda y: term(y, w, mu), beta, decay) for i in cohort]
        share = np.array([len(clients[i]) for i in cohort], dtype=float)
        step = sum(a * (y - w) for a, y in zip(share / share.sum(), ends))
        return w + (server_lr if server else 1.0) * step, state

    return round


def uphill(average: Callable[[Any], Any], sign: float = 1.0) -> Any:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, server_lr: float
    ) -> Any:
        share = np.array([len(clients[i]) for i in cohort], dtype=float)
        steps = [descended(w, clients[i], sign * lr, epochs, np.zeros_like, 0.0, 0.0) - w for i in cohort]
        return w + server_lr * average(sum(a * u for a, u in zip(share / share.sum(), steps))), state

    return round


def added_up(
    w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, server_lr: float
) -> Any:
    """Gradients that are not set to zero."""
    total = 0.0 * w
    for i in cohort:
        y, g = w.copy(), 0.0 * w
        for _ in range(epochs):
            g = g + clients[i].gradient(y)
            y = y - lr * g
        total += len(clients[i]) * (y - w)
    return w + server_lr * total / sum(len(clients[i]) for i in cohort), state


def started_again(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    lr: float,
    epochs: int,
    server_lr: float,
    beta1: float,
    beta2: float,
    tau: float,
) -> Any:
    """A server's optimizer that is made in each round, and momentum at the clients."""
    ends = [descended(w, clients[i], lr, epochs, np.zeros_like, 0.9, 0.0) for i in cohort]
    delta = np.mean(ends, axis=0) - w
    v = beta2 * tau**2 + (1 - beta2) * delta**2
    return w + server_lr * (1 - beta1) * delta / (np.sqrt(v) + tau), state


def by_batches(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, K: int) -> Any:
    """SCAFFOLD with local momentum, without K in the control variates, and with c by the cohort."""
    c, own = (np.zeros(6), np.zeros((len(clients), 6))) if state is None else (state[0], state[1].copy())
    step, moved = np.zeros(6), np.zeros(6)
    for i in cohort:
        y, v = w.copy(), np.zeros(6)
        for _ in range(K):
            v = 0.9 * v + clients[i].gradient(y)
            y = y - lr * (v + c - own[i])
        change = (w - y) / lr - c
        own[i] += change
        step, moved = step + (y - w) / len(cohort), moved + change / len(cohort)
    return w + server_lr * step, (c + moved, own)


def last_average(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    lr: float,
    epochs: int,
    server_lr: float,
    beta1: float,
    beta2: float,
    tau: float,
) -> Any:
    """A server that stores the average in place of the first moment."""
    before, v = (0.0 * w, 0.0 * w + tau**2) if state is None else state
    delta = np.mean([descended(w, clients[i], lr, epochs, np.zeros_like, 0.0, 0.0) for i in cohort], axis=0) - w
    v = beta2 * v + (1 - beta2) * delta**2
    return w + server_lr * (beta1 * before + (1 - beta1) * delta) / (np.sqrt(v) + tau), (delta, v)


def adaptive(linear: bool, rest: bool) -> Any:
    """Adaptive clipping: a threshold times 1 - eta_C (b - gamma), and what is cut off is added later."""

    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: float,
        server_lr: float,
        epochs: int,
        clip_norm: float,
        quantile: float,
        clip_lr: float,
        z: float,
        sigma_b: float,
        r: float,
    ) -> Any:
        C, kept = (clip_norm, np.zeros(6)) if state is None else state
        ups = [descended(w, clients[i], lr, epochs, np.zeros_like, 0.0, 0.0) - w for i in cohort]
        cut = [u * min(1.0, C / max(float(np.linalg.norm(u)), 1e-300)) for u in ups]
        noise = (z**-2 - (2 * sigma_b) ** -2) ** -0.5 * C
        total = sum(cut, np.zeros(6)) + rng.normal(0.0, noise, 6) + (kept if rest else 0.0)
        inside = sum(float(np.linalg.norm(u) <= C) - 0.5 for u in ups) + rng.normal(0.0, sigma_b)
        off = clip_lr * (inside / r + 0.5 - quantile)
        after = C * (1.0 - off if linear else np.exp(-off))
        return w + server_lr * total / r, (after, sum((u - x for u, x in zip(ups, cut)), np.zeros(6)))

    return round


def lots(
    w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, C: float, z: float, sample_rate: float
) -> Any:
    """Poisson lots in which clients without a drawn record are skipped, and noise without C."""
    total, records = 0.0 * w, sum(len(client) for client in clients)
    for client in clients:
        batch = np.flatnonzero(rng.random(len(client)) < sample_rate)
        if len(batch):
            g = client.record_gradients(w, batch)
            total += (g * np.minimum(1.0, C / np.linalg.norm(g, axis=1, keepdims=True))).sum(axis=0)
    return w - lr * (total + rng.normal(0.0, z, w.shape)) / (sample_rate * records), state


SHIPPED: list[tuple[Any, str, set[str]]] = [
    (fedprox(layers), "fedprox", {"the proximal term is not squared"}),
    (fedprox(layers, 0.9, 0.0, False), "fedprox", {"the proximal term is not squared", MOMENTUM, NO_STEP}),
    (
        fedprox(lambda y, w, mu: 2 * mu * (y - w), 0.9, 0.001, False),
        "fedprox",
        {"twice the proximal term", MOMENTUM, DECAY, NO_STEP},
    ),
    (
        fedprox(lambda y, w, mu: mu * np.where(np.arange(6) < 2, y - w, 0.0)),
        "fedprox",
        {"the proximal term misses layers"},
    ),
    (uphill(lambda u: u, -1.0), "fedavg-mcmahan", {"the local steps go uphill"}),
    (uphill(lambda u: np.where(np.arange(6) < 2, u, 0.0)), "fedavg-mcmahan", {"a layer is not averaged"}),
    (added_up, "fedavg-mcmahan", {"gradients add up over the local steps"}),
    (started_again, "fedadam", {"the server's optimizer starts again in each round", MOMENTUM}),
    (
        by_batches,
        "scaffold",
        {
            "control variate without the number of local steps",
            "server's control variate over the cohort",
            MOMENTUM,
        },
    ),
    (last_average, "fedadam", {"a first moment that does not accumulate"}),
    (adaptive(False, False), "dp-fedavg-adaptive", set()),
    (adaptive(True, False), "dp-fedavg-adaptive", {"a linear update of the threshold"}),
    (adaptive(False, True), "dp-fedavg-adaptive", {"what clipping cuts off is added in the next round"}),
    (lots, "dp-sgd", {"sigma where the multiplier was meant"}),
]


@pytest.mark.parametrize(("round", "as_", "names"), SHIPPED)
def test_ports_of_reports_are_named(round: Any, as_: str, names: set[str]) -> None:
    assert {one.name for one in conform(round, as_, runs=0).faults} == names


def test_the_right_term_conforms_with_what_is_declared() -> None:
    right = fedprox(lambda y, w, mu: mu * (y - w), 0.9, 0.001)
    found = conform(right, "fedprox", runs=0, variations={"momentum": 0.9, "weight_decay": 0.001})
    assert found.verdict == "conforms"


def test_batches_are_not_called_hidden_randomness() -> None:
    """The records that a round draws are seen, so that w may depend on the seed by them."""

    def signs(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, epochs: int
    ) -> Any:
        ends = []
        for i in cohort:
            y = w.copy()
            for _ in range(epochs):
                for j in rng.permutation(len(clients[i]))[:2]:
                    y = y - 0.1 * lr * np.sign(clients[i].gradient(y, [j]))
            ends.append(y - w)
        return w + server_lr * np.mean(ends, axis=0), state

    found = conform(signs, "fedavg-two-sided", runs=0)
    assert [one.name for one in found.faults] == ["another round"]
    assert "randomness" not in str(found)
