"""What a report says about privacy, and rounds that a paper or a declaration allows in a second form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpfl_theory.conform.comparisons import neighbours
from dpfl_theory.conform.comparisons.cohort import sampled
from dpfl_theory.conform.probes import probe_without_noise
from dpfl_theory.conform.references import references
from dpfl_theory.conform.run import conform
from dpfl_theory.conform.settings import SHARES, cohorts, settings, world
from dpfl_theory.errors import InputError


def clip(u: Any, C: float) -> Any:
    return u * min(1.0, C / max(float(np.linalg.norm(u)), 1e-300))


def trained(w: Any, client: Any, step: float, steps: int) -> Any:
    """The end of local steps."""
    y = w.copy()
    for _ in range(steps):
        y = y - step * client.gradient(y)
    return y


def two_sided(noise: Callable[..., float]) -> Callable[..., Any]:
    """DP-FedAvg on differences; the server adds noise of this standard deviation to the average."""

    def round(w, state, clients, cohort, rng, *, eta_l, eta_g, Q, c, noise_multiplier, r):  # type: ignore[no-untyped-def]
        total = 0.0 * w
        for i in cohort:
            total = total + clip(trained(w, clients[i], eta_l, Q) - w, c)
        step = total / r + rng.normal(0.0, noise(noise_multiplier, c, r), len(w))
        return w + eta_g * step, state

    return round


@pytest.mark.parametrize(
    ("noise", "name", "breaks"),
    [
        (lambda z, c, r: z, "sigma where the multiplier was meant", False),  # more than z c/r, as r exceeds c
        (lambda z, c, r: z * c / r / 2, "half the sensitivity", True),
        (lambda z, c, r: 2 * z * c / r, "twice the sensitivity", False),
        (lambda z, c, r: z * c / r**2, "noise divided by r twice", True),
        (lambda z, c, r: (z * c / r) ** 0.5, "square root of the standard deviation", False),
        (lambda z, c, r: (z * c / r) ** 2, "variance in place of the standard deviation", True),
    ],
)
def test_noise_breaks_privacy_where_it_is_too_small(noise: Any, name: str, breaks: bool) -> None:
    found = conform(two_sided(noise), "dp-fedavg-two-sided")
    assert [(fault.name, fault.private) for fault in found.faults] == [(name, breaks)]


def test_a_sum_that_is_not_divided_keeps_its_privacy() -> None:
    """The noise of the sum is as it should be."""
    right = two_sided(lambda z, c, r: z * c / r)

    def round(w, state, clients, cohort, rng, *, eta_l, eta_g, Q, c, noise_multiplier, r):  # type: ignore[no-untyped-def]
        after, state = right(
            w, state, clients, cohort, rng, eta_l=eta_l, eta_g=1.0, Q=Q, c=c, noise_multiplier=noise_multiplier, r=r
        )
        return w + eta_g * r * (after - w), state

    found = conform(round, "dp-fedavg-two-sided")
    assert not found.conforms
    assert not any(fault.private for fault in found.faults)


def scaffold(steps_of: Any, size_of: Any) -> Callable[..., Any]:
    """SCAFFOLD whose clients take their own numbers of steps, or steps of a size that changes, and divide by these."""

    def round(w, state, clients, cohort, rng, *, eta_l, eta_g, K, round_number):  # type: ignore[no-untyped-def]
        c, own = state if state is not None else (0.0 * w, dict.fromkeys(range(len(clients)), 0.0 * w))
        own, moves, changes = dict(own), [], []
        steps, size = (lambda i: steps_of(K, len(clients[i]))), size_of(eta_l, round_number)
        for i in cohort:
            y = w.copy()
            for _ in range(steps(i)):
                y = y - size * (clients[i].gradient(y) - own[i] + c)
            new = own[i] - c + (w - y) / (steps(i) * size)
            moves.append(y - w)
            changes.append(new - own[i])
            own[i] = new
        return w + eta_g * np.mean(moves, axis=0), (c + np.sum(changes, axis=0) / len(clients), own)

    return round


@pytest.mark.parametrize(
    ("round", "declared"),
    [
        (scaffold(lambda K, records: K, lambda eta, k: eta * 0.9**k), {"lr_decay": 0.9}),
        (scaffold(lambda K, records: K * records, lambda eta, k: eta), {"steps": "own"}),
    ],
)
def test_control_variates_divide_by_what_a_client_took(round: Any, declared: dict[str, Any]) -> None:
    found = conform(round, "scaffold", variations=declared)
    assert found.conforms, str(found)
    assert "own steps" in found.reading


def mcmahan(each: bool) -> Callable[..., Any]:
    """DP-FedAvg of McMahan et al. 2018, with clipping after each step or at the end."""

    def round(w, state, clients, cohort, rng, *, lr, server_lr, E, S, w_hat, noise_multiplier, r):  # type: ignore[no-untyped-def]
        weights = [min(len(client) / w_hat, 1.0) for client in clients]
        share, total = r / len(clients) * sum(weights), 0.0 * w
        for i in cohort:
            y = w.copy()
            for _ in range(E):
                y = y - lr * clients[i].gradient(y)
                y = w + clip(y - w, S) if each else y
            total = total + weights[i] * clip(y - w, S)
        return w + server_lr * (total + rng.normal(0.0, noise_multiplier * S, len(w))) / share, state

    return round


@pytest.mark.parametrize("each", [False, True])
def test_clipping_after_each_step_is_a_reading(each: bool) -> None:
    found = conform(mcmahan(each), "dp-fedavg-mcmahan")
    assert found.conforms, str(found)
    assert found.reading == (
        "differences are clipped after each local step"
        if each
        else "differences are clipped once, after the local steps"
    )


def local(factor: float) -> Callable[..., Any]:
    """FedAvg with noise on each message, times a factor."""

    def round(w, state, clients, cohort, rng, *, lr, server_lr, E, C, noise_multiplier):  # type: ignore[no-untyped-def]
        total = 0.0 * w
        for i in cohort:
            total = (
                total
                + clip(trained(w, clients[i], lr, E) - w, C)
                + rng.normal(0.0, factor * noise_multiplier * C, len(w))
            )
        return w + server_lr * total / max(len(cohort), 1), state

    return round


def test_noise_of_messages_is_named_for_cohorts_of_any_size() -> None:
    found = conform(local(0.5), "dp-fedavg-local", sampling="poisson")
    assert [(fault.name, fault.private) for fault in found.faults] == [("half the sensitivity", True)]


def test_the_epsilon_of_a_message_that_others_see() -> None:
    """n = 7 messages are averaged, so that one alone has a multiplier that is sqrt(7) times smaller."""

    def round(w, state, clients, cohort, rng, *, gamma, tau, sigma):  # type: ignore[no-untyped-def]
        v, memory = state if state is not None else (0.0 * w, np.zeros((len(clients), len(w))))
        sent = np.array([clip(client.gradient(w) - memory[i], tau) for i, client in enumerate(clients)])
        noisy = sent + rng.normal(0.0, sigma, sent.shape)
        v = v + noisy.mean(axis=0)
        return w - gamma * v, (v, memory + sent)

    found = conform(round, "dp-clip21")
    assert found.conforms, str(found)
    assert "towards those who see w alone (" in found.privacy["told"]
    assert "towards those who see its message, where each client adds its own noise)" in found.privacy["told"]


def test_noise_that_shrinks_with_the_cohort_breaks_privacy_in_large_ones() -> None:
    """It has the right size for cohorts of r."""

    def round(w, state, clients, cohort, rng, *, eta, beta, E, C, noise_multiplier, r):  # type: ignore[no-untyped-def]
        total = 0.0 * w
        for i in cohort:
            total = total + clip((w - trained(w, clients[i], eta, E)) / eta, C)
        noise = rng.normal(0.0, noise_multiplier * C / max(len(cohort), 1), len(w))
        return w - beta * (total / r + noise), state

    found = conform(round, "dp-fedavg")
    assert [(fault.name, fault.private) for fault in found.faults] == [("noise divided by |S|", True)]
    assert "and more in a smaller cohort" in found.privacy["told"]


def test_a_constant_beside_the_noise_costs_no_privacy() -> None:
    right = two_sided(lambda z, c, r: z * c / r)

    def round(w, state, clients, cohort, rng, *, eta_l, eta_g, Q, c, noise_multiplier, r):  # type: ignore[no-untyped-def]
        values = {"eta_l": eta_l, "eta_g": eta_g, "Q": Q, "c": c, "noise_multiplier": noise_multiplier, "r": r}
        after, state = right(w, state, clients, cohort, rng, **values)
        return after + 0.01, state

    (fault,) = conform(round, "dp-fedavg-two-sided").faults
    assert "a constant, or a mean of the noise" in fault.description
    assert not fault.private


def test_samples_are_not_compared_where_noise_passes_through_a_normalisation() -> None:
    """The mean of a normalised noisy vector is not the normalised vector without noise."""
    own = np.random.default_rng(5)

    def round(w, state, clients, cohort, rng, *, gamma, beta, alpha, sigma):  # type: ignore[no-untyped-def]
        v, memory = state if state is not None else (0.0 * w, np.zeros((len(clients), len(w))))
        missing = np.array([client.gradient(w) - memory[i] for i, client in enumerate(clients)])
        sent = missing / (alpha + np.linalg.norm(missing, axis=1, keepdims=True))
        v = v + beta * (sent + own.normal(0.0, sigma, sent.shape)).mean(axis=0)
        return w - gamma * v / np.linalg.norm(v), (v, memory + beta * sent)

    found = conform(round, "dp-norm-ec")
    assert found.verdict == "undecided", str(found)
    assert any("no linear function" in note for note in found.notes)


def test_a_mask_of_clients_is_refused() -> None:
    with pytest.raises(InputError, match="gives a mask of clients"):
        sampled(lambda n, rng: rng.random(n) < 0.5, {"n": 6, "r": 3.0, "scheme": "poisson"}, 0, 1e-6)
    with pytest.raises(InputError, match="client -1"):
        sampled(lambda n, rng: [-1, 5], {"n": 6, "r": 2.0, "scheme": "fixed"}, 0, 1e-6)


def clipped_means(w, state, clients, cohort, rng, *, lr, max_grad_norm, q, noise_multiplier):  # type: ignore[no-untyped-def]
    """DP-SGD that clips the mean of a client's part of the lot."""
    total = 0.0 * w
    for client in clients:
        picked = np.nonzero(rng.random(len(client)) < q)[0]
        if picked.size:
            total = total + picked.size * clip(client.gradient(w, picked), max_grad_norm)
    total = total + rng.normal(0.0, noise_multiplier * max_grad_norm, len(w))
    return w - lr * total / (q * sum(len(client) for client in clients)), state


def test_a_record_of_a_client_with_several_may_count_more() -> None:
    found = conform(clipped_means, "dp-sgd", runs=0)
    assert [fault.name for fault in found.faults] == ["clip of the lot's mean", "more than the declared sensitivity"]
    assert "which has 6" in found.faults[1].evidence
    assert found.privacy["distance"] > 5.0 * found.privacy["sensitivity"]


@pytest.mark.parametrize("name", ["dp-fedavg-record", "dp-scaffold", "dp-sgd"])
@pytest.mark.parametrize("relation", ["zero-out", "replace"])
def test_a_record_moves_algorithms_as_allowed_whatever_the_data(name: str, relation: str) -> None:
    reference = references()[name]
    taken = {p.symbol for p in reference.parameters}
    v = settings(reference, {}, taken, clients=7, cohort=None, scheme=None, relation=relation)[0]
    level = float(v[reference.level])
    for seed, lengths in enumerate(SHARES):
        on = world(reference, v, lengths, seed)
        (who,) = cohorts(v, 1, seed)
        most = max(map(int, who), key=lambda j: len(on.records[j].y))
        sizes = [len(on.records[j].y) for j in sorted(range(on.n), key=lambda j: j != most)]
        for _, one, other, path in neighbours.pairs_of_client(v, on, who, most, level, (0.5, 1e3)):
            ends = [probe_without_noise(reference.round, x, v, path.who).w[-1] for x in (one, other)]
            allowed = reference.sensitivity({**v, "sizes": sizes})
            assert allowed is not None
            assert float(np.linalg.norm(ends[0] - ends[1])) <= allowed * (1.0 + neighbours.ROUNDING)
