"""Right rounds as people write them conform, and a mistake in each of them is still found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpfl_theory import conform
from dpfl_theory.errors import InputError

Round = Callable[..., tuple[Any, Any]]


def clipped(u: Any, C: float) -> Any:
    return u * min(1.0, C / max(float(np.linalg.norm(u)), 1e-300))


def descended(w: Any, client: Any, rate: Callable[[int], float], steps: int, momentum: float = 0.0) -> Any:
    y, v = w.copy(), np.zeros_like(w)
    for t in range(steps):
        v = momentum * v + client.gradient(y).astype(w.dtype)
        y = y - w.dtype.type(rate(t)) * v
    return y


def two_sided(draw: Callable[[Any, Any], Any], keep: Callable[[Any, Any], Any], single: bool = False) -> Round:
    """DP-FedAvg with two step sizes. keep: the state from the rng and the state before; draw: normal numbers."""

    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        eta_l: float,
        eta_g: float,
        Q: int,
        c: float,
        sigma: Any,
        r: Any,
    ) -> Any:
        state = keep(rng, state)
        w = w.astype(np.float32) if single else w
        total = sum(clipped(descended(w, clients[i], lambda t: eta_l, Q) - w, c) for i in cohort)
        noise = sigma / r**0.5 * draw(rng, state)
        return w + eta_g * (total / r + noise.astype(w.dtype)), state

    return round


def test_a_generator_may_be_kept_in_the_state() -> None:
    def keep(rng: Any, state: Any) -> Any:
        return {"noise": rng.spawn(1)[0]} if state is None else state

    def draw(rng: Any, state: Any) -> Any:
        return state["noise"].standard_normal(6)

    assert conform(two_sided(draw, keep), "dp-fedavg-two-sided", runs=300).conforms
    twice = two_sided(lambda rng, state: 2.0 * draw(rng, state), keep)
    assert not conform(twice, "dp-fedavg-two-sided", runs=0).conforms


@pytest.mark.parametrize("as_", ["dp-fedavg-two-sided", None])
def test_rounds_in_single_precision(as_: str | None) -> None:
    def of(factor: float) -> Round:
        return two_sided(lambda rng, state: factor * rng.standard_normal(6), lambda rng, state: state, single=True)

    found = conform(of(1.0), as_, runs=300)
    assert (found.algorithm, found.verdict) == ("dp-fedavg-two-sided", "conforms")
    assert not conform(of(1.5), as_, runs=0).conforms


def lots(factor: float) -> Round:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta: float, C: float, q: float, z: float
    ) -> Any:
        w, total = w.astype(np.float32), np.zeros(6, dtype=np.float32)
        for client in clients:
            lot = np.flatnonzero(rng.random(len(client)) < q)
            for g in client.record_gradients(w, lot) if len(lot) else ():
                total += clipped(g, C).astype(np.float32)
        noise = (factor * z * C * rng.standard_normal(6)).astype(np.float32)
        return w - np.float32(eta / (q * sum(map(len, clients)))) * (total + noise), state

    return round


def test_samples_in_single_precision_are_compared_with_long_steps() -> None:
    assert conform(lots(1.0), "dp-sgd", runs=800).conforms
    assert not conform(lots(0.8), "dp-sgd", runs=0).conforms


def proxskip(toss: Callable[[Any, float], bool]) -> Round:
    """DP-ScaffNew in single precision, whose first w is rounded also where a round does not communicate."""

    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        eta: float,
        p: float,
        C: float,
        sigma: float,
    ) -> Any:
        n, w, single = len(clients), w.astype(np.float32), np.float32
        x, h = (np.tile(w, (n, 1)), np.zeros((n, 6), dtype=single)) if state is None else state
        x = x - single(eta) * (np.array([client.gradient(x[i]) for i, client in enumerate(clients)]).astype(single) - h)
        if not toss(rng, p):
            return w, (x, h)
        sent = np.array([clipped(u, C) for u in x - w], dtype=single)
        sent += single(sigma) * rng.standard_normal((n, 6), dtype=single)
        mean = sent.mean(axis=0)
        return w + mean, (np.tile(w + mean, (n, 1)), h + single(p / eta) * (mean - sent))

    return round


def test_a_rounded_vector_is_no_communication() -> None:
    assert conform(proxskip(lambda rng, p: rng.random() < p), "dp-scaffnew", runs=0).conforms
    assert not conform(proxskip(lambda rng, p: rng.random() < p / 2), "dp-scaffnew", runs=0).conforms


@pytest.mark.parametrize("momentum", ["momentum", "averaged_momentum", "nesterov_momentum"])
def test_momentum_and_a_decay_within_the_round_are_both_declared(momentum: str) -> None:
    def of(decay: float) -> Round:
        def round(
            w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta_l: float, eta_g: float, Q: int
        ) -> Any:
            ends = []
            for i in cohort:
                y, v = w, np.zeros(6)
                for t in range(Q):
                    g = clients[i].gradient(y)
                    v = 0.9 * v + (0.1 * g if momentum == "averaged_momentum" else g)
                    y = y - eta_l * decay**t * (g + 0.9 * v if momentum == "nesterov_momentum" else v)
                ends.append(y - w)
            return w + eta_g * np.mean(ends, axis=0), state

        return round

    meant = {momentum: 0.9, "step_decay": 0.5}
    assert conform(of(0.5), "fedavg-two-sided", runs=0, variations=meant).conforms
    assert not conform(of(1.0), "fedavg-two-sided", runs=0, variations=meant).conforms


def test_two_optimizers_are_not_declared_together() -> None:
    with pytest.raises(InputError, match="momentum and optimizer are optimizers of the local steps: declare one"):
        conform(of_fednova(1.0), "fednova", variations={"momentum": 0.9, "optimizer": "adam"})


def of_fednova(factor: float) -> Round:
    """FedNova whose clients take numbers of steps of their own; one of them rests, since its gradient is zero."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, E: int) -> Any:
        m, d, effective = sum(len(clients[i]) for i in cohort), np.zeros(6), 0.0
        for i in cohort:
            steps, share = E * (1 + int(i) % 3), len(clients[i]) / m
            d += share * (w - descended(w, clients[i], lambda t: lr, steps)) / (lr * steps)
            effective += share * steps
        return w - factor * server_lr * lr * effective * d, state

    return round


def test_steps_of_a_client_at_rest_count() -> None:
    assert conform(of_fednova(1.0), "fednova", runs=0, variations={"steps": "own"}).conforms
    assert not conform(of_fednova(1.1), "fednova", runs=0, variations={"steps": "own"}).conforms


def unreliable_scaffold(left_out: bool) -> Round:
    """SCAFFOLD whose members drop out. left_out: of the average too."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta_l: float, eta_g: float, K: int) -> Any:
        c, own = (np.zeros(6), np.zeros((len(clients), 6))) if state is None else (state[0], state[1].copy())
        alive, step, moved = [i for i in cohort if rng.random() > 0.3], np.zeros(6), np.zeros(6)
        for i in alive:
            y = w
            for _ in range(K):
                y = y - eta_l * (clients[i].gradient(y) - own[i] + c)
            new = own[i] - c + (w - y) / (K * eta_l)
            step, moved, own[i] = step + y - w, moved + new - own[i], new
        return w + eta_g * step / max(len(alive if left_out else cohort), 1), (c + moved / len(clients), own)

    return round


def test_declared_drop_outs_of_scaffold() -> None:
    meant = {"dropouts": "own"}
    assert conform(unreliable_scaffold(True), "scaffold", runs=0, variations=meant).conforms
    assert not conform(unreliable_scaffold(False), "scaffold", runs=0, variations=meant).conforms


def batches_of(client: Any, w: Any, rows: Any, raw: bool) -> Any:
    """The mean gradient of some records: from the records themselves, or from the gradients of all."""
    if not raw:
        return client.record_gradients(w)[rows].mean(axis=0)
    x, y = client.records.x[rows], client.records.y[rows]
    return x.T @ (x @ w - y) / len(rows)


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("shuffled", [True, False])
def test_batches_that_cannot_be_seen_are_not_accused(raw: bool, shuffled: bool) -> None:
    def of(factor: float) -> Round:
        def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, B: int) -> Any:
            sizes, total = [len(clients[i]) for i in cohort], np.zeros(6)
            for m, i in zip(sizes, cohort):
                y = w
                for _ in range(epochs):
                    order = rng.permutation(m) if shuffled else np.arange(m)
                    for k in range(0, m, B or m):
                        y = y - factor * lr * batches_of(clients[i], y, order[k : k + (B or m)], raw)
                total += m * y
            return total / sum(sizes), state

        return round

    found = conform(of(1.0), "fedavg-mcmahan", runs=0, eta_g=1)
    assert (found.verdict, found.faults) == ("undecided", ())
    whole = conform(of(1.0), "fedavg-mcmahan", runs=0, eta_g=1, B=0)
    assert whole.verdict == "conforms" or shuffled  # sums in another order are equal up to rounding
    assert conform(of(2.0), "fedavg-mcmahan", runs=0, eta_g=1, B=0).verdict != "conforms"


def drawn_with_replacement(once: bool) -> Round:
    """once: a client that is drawn twice counts once."""

    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        eta_l: float,
        eta_g: float,
        Q: int,
        c: float,
        sigma: Any,
        r: Any,
    ) -> Any:
        members = sorted({int(i) for i in cohort}) if once else cohort
        total = np.zeros(6)
        for i in members:
            total += clipped(descended(w, clients[i], lambda t: eta_l, Q) - w, c) + sigma * rng.standard_normal(6)
        return w + eta_g * total / r, state

    return round


def test_a_client_that_is_drawn_twice_counts_twice() -> None:
    keywords: dict[str, Any] = {"as_": "dp-fedavg-two-sided", "sampling": "with-replacement"}
    found = conform(drawn_with_replacement(False), runs=300, **keywords)
    assert found.conforms
    assert "for a client that takes part once" in found.privacy["told"]
    assert not conform(drawn_with_replacement(True), runs=0, **keywords).conforms


def test_a_sampler_may_give_a_set() -> None:
    def sampler(n: int, rng: Any) -> set[int]:
        return {int(i) for i in rng.choice(n, 3, replace=False)}

    keywords: dict[str, Any] = {"as_": "dp-fedavg-two-sided", "sampling": "fixed", "cohort": 3, "runs": 0}
    assert conform(drawn_with_replacement(False), sampler=sampler, **keywords).conforms
    fewer = conform(drawn_with_replacement(False), sampler=lambda n, rng: {0, 1}, **keywords)
    assert not fewer.conforms


def of_mcmahan(factor: float) -> Round:
    """Weights 1, without the argument w_hat."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, S: float, z: float, r: float
    ) -> Any:
        total = sum((clipped(descended(w, clients[i], lambda t: lr, epochs) - w, S) for i in cohort), np.zeros(6))
        return w + (total + factor * z * S * rng.standard_normal(6)) / r, state

    return round


def test_the_declared_sensitivity_is_that_of_the_reading() -> None:
    found = conform(of_mcmahan(1.0), "dp-fedavg-mcmahan", runs=0)
    assert found.conforms
    assert found.privacy["sensitivity"] == pytest.approx(found.privacy["distance"], rel=1e-6)


def test_sigma_is_no_argument_where_its_meaning_is_open() -> None:
    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: float,
        epochs: int,
        S: float,
        sigma: float,
        r: float,
    ) -> Any:
        return of_mcmahan(1.0)(w, state, clients, cohort, rng, lr=lr, epochs=epochs, S=S, z=sigma, r=r)

    with pytest.raises(InputError, match="asks for 'sigma', which is not a parameter of dp-fedavg-mcmahan"):
        conform(round, "dp-fedavg-mcmahan")


@pytest.mark.parametrize("option", ["dropouts", "steps"])
def test_declared_choices_beside_noise_are_no_other_randomness(option: str) -> None:
    def of(factor: float) -> Round:
        def round(
            w: Any,
            state: Any,
            clients: Any,
            cohort: Any,
            rng: Any,
            *,
            eta_l: float,
            eta_g: float,
            Q: int,
            c: float,
            sigma: Any,
            r: Any,
        ) -> Any:
            total = np.zeros(6)
            for i in cohort:
                if option == "dropouts" and rng.random() < 0.3:
                    continue
                steps = int(rng.integers(1, Q + 1)) if option == "steps" else Q
                total += clipped(descended(w, clients[i], lambda t: eta_l, steps) - w, c)
            return w + eta_g * (total / r + factor * sigma / r**0.5 * rng.standard_normal(6)), state

        return round

    meant = {option: "own"}
    assert conform(of(1.0), "dp-fedavg-two-sided", runs=400, variations=meant).conforms
    assert not conform(of(1.3), "dp-fedavg-two-sided", runs=0, variations=meant).conforms


def test_a_gaussian_by_its_radius_and_direction() -> None:
    """Its radius comes from a chi-square number, which is not recorded: samples are compared. Errs with probability
    1e-6."""

    def of(factor: float) -> Round:
        def draw(rng: Any, state: Any) -> Any:
            direction = rng.standard_normal(6)
            length = float(np.linalg.norm(direction))
            return factor * rng.chisquare(6) ** 0.5 * direction / (length or 1.0)

        return two_sided(draw, lambda rng, state: state)

    found = conform(of(1.0), "dp-fedavg-two-sided", runs=400)
    assert found.conforms
    assert "some of the noise comes from rng.chisquare" in found.notes[0]
    assert not conform(of(1.3), "dp-fedavg-two-sided", runs=400).conforms
