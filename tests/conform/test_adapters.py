"""Rounds for PyTorch, JAX and Flower; each is skipped where its library is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpfl_theory.conform import adapters
from dpfl_theory.conform.run import conform
from dpfl_theory.errors import EnvironmentFault, InputError


def test_a_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(adapters.common.importlib, "import_module", missing)
    flower = lambda f: adapters.from_flower(f, f)  # noqa: E731
    for make in (adapters.from_torch, adapters.from_jax, flower, adapters.from_pfl, adapters.least_squares):
        with pytest.raises(EnvironmentFault, match="is not installed here"):
            make(lambda: None)


def test_half_precision_is_refused() -> None:
    with pytest.raises(InputError, match="single or double precision"):
        conform(lambda w, state, clients, cohort, rng: (w.astype(np.float16), state), "fedavg")


@pytest.mark.parametrize("how", ["randn", "normal", "normal_", "randn_like"])
def test_pytorch(how: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed here: pip install torch")

    def noise(w: Any, deviation: float, generator: Any) -> Any:
        if how == "randn":
            return deviation * torch.randn(w.shape, generator=generator, dtype=torch.float64)
        if how == "normal":
            return torch.normal(0.0, deviation, size=w.shape, generator=generator)
        return torch.empty_like(w).normal_(0.0, deviation) if how == "normal_" else deviation * torch.randn_like(w)

    def make(factor: float) -> Any:
        def round(
            w: Any,
            state: Any,
            clients: Any,
            cohort: Any,
            generator: Any,
            *,
            eta: float,
            beta: float,
            C: float,
            r: float,
            sigma: float,
        ) -> Any:
            total = torch.zeros_like(w)
            for i in cohort:
                x, y = clients[i].records
                at = w.clone().requires_grad_(True)
                (0.5 * ((x @ at - y) ** 2).mean()).backward()
                total += at.grad * min(1.0, C / max(float(at.grad.norm()), 1e-300))
            return w - beta * (total / r + factor * noise(w, sigma, generator)), state

        return adapters.from_torch(round)

    fixed = {"E": 1, "eta": 0.1, "beta": 0.7, "C": 0.8, "sigma": 0.3}
    runs = 300 if how == "randn" else 0  # live noise once
    assert conform(make(1.0), "dp-fedavg", runs=runs, **fixed).verdict == "conforms"
    found = conform(make(7**0.5), "dp-fedavg", runs=0, **fixed)
    assert [fault.name for fault in found.faults] == ["another noise"]  # the factor does not follow n
    assert all(file == __file__ for file, _ in found.faults[0].lines)


def averaged(w: Any, clients: Any, cohort: Any, C: float, r: float, zero: Any) -> Any:
    """DP-FedAvg with one local step and without noise: the clipped gradients over r."""
    total = zero
    for i in cohort:
        g = clients[i].gradient(w)
        total = total + g * min(1.0, C / max(float((g**2).sum()) ** 0.5, 1e-300))
    return total / r


def seen(round_: Any) -> tuple[list[str], list[str]]:
    """The test's findings on a round, and those of its adapter."""
    found = conform(round_, "dp-fedavg", E=1, noise_multiplier=1.0, beta=0.7, C=0.8, clients=3, cohort=2, runs=0)
    return [fault.name for fault in found.faults], [finding.name for finding in round_.findings()]


RESEEDED: dict[str, tuple[list[str], list[str]]] = {
    "the generator that it is given": ([], []),
    "a generator made from it": ([], []),
    "a seed that is set again in every round": (["noise from a fixed seed"], ["noise from a fixed seed"]),
    "a seed that is set again for every client": (
        ["the same noise for all clients"],
        ["the same noise twice in a round"],
    ),
    "a generator of its own with a fixed seed": (["noise from a fixed seed"], ["noise from a fixed seed"]),
    "a seed that counts the rounds": (["noise from a fixed seed"], ["noise from a fixed seed"]),
}


@pytest.mark.parametrize("how", RESEEDED)
def test_seeds_that_are_set_again_are_seen_in_pytorch(how: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed here: pip install torch")

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, generator: Any, *, beta: Any, C: Any, r: Any, sigma: Any
    ) -> Any:
        count, own, seed = state or 0, generator, generator.initial_seed()
        if how == "a generator made from it":
            own = torch.Generator().manual_seed(int(torch.randint(2**40, (1,), generator=generator)))
        elif how == "a seed that is set again in every round":
            torch.manual_seed(0)
            own = None
        elif how == "a generator of its own with a fixed seed":
            own = torch.Generator().manual_seed(7)
        elif how == "a seed that counts the rounds":
            own = torch.Generator().manual_seed(1234 + count)
        average = averaged(w, clients, cohort, C, r, torch.zeros_like(w))
        if how == "a seed that is set again for every client":
            for _ in cohort:
                own.manual_seed(seed)
                average += sigma / r**0.5 * torch.randn(w.shape, generator=own, dtype=torch.float64)
        else:
            average += sigma * torch.randn(w.shape, generator=own, dtype=torch.float64)
        return w - beta * average, count + 1

    before = torch.get_rng_state()
    assert seen(adapters.from_torch(round)) == RESEEDED[how]
    assert torch.equal(before, torch.get_rng_state())


KEYS: dict[str, tuple[list[str], list[str]]] = {
    "split for every client": ([], []),
    "split for all clients at once": ([], []),
    "kept and split in every round": ([], []),
    "the same for all clients": (["the same noise for all clients"], ["the same noise twice in a round"]),
    "kept and used again": (["noise re-used"], ["noise re-used"]),
    "of a fixed number": (["noise from a fixed seed"], ["noise from a fixed seed"]),
    "of the round's number": (["noise from a fixed seed"], ["noise from a fixed seed"]),
}


@pytest.mark.parametrize("how", KEYS)
def test_keys_that_are_used_again_are_seen_in_jax(how: str) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed here: pip install jax")

    def round(w: Any, state: Any, clients: Any, cohort: Any, key: Any, *, beta: Any, C: Any, r: Any, sigma: Any) -> Any:
        count, kept = (0, key) if state is None else state
        if how.startswith("kept"):
            key = kept
            kept = jax.random.split(kept)[0] if how == "kept and split in every round" else kept
        elif how.startswith("of "):
            key = jax.random.key(3 + (count if how == "of the round's number" else 0))
        average = averaged(w, clients, cohort, C, r, 0.0 * w)
        if "all clients" in how or "every client" in how:
            keys = [key] * len(cohort) if how == "the same for all clients" else jax.random.split(key, len(cohort))
            if how == "split for all clients at once":
                every = jax.vmap(lambda one: jax.random.normal(one, w.shape))(keys) if len(cohort) else w[None] * 0.0
            else:
                every = [jax.random.normal(one, w.shape) for one in keys]
            average = average + sigma / r**0.5 * sum(every)
        else:
            average = average + sigma * jax.random.normal(jax.random.split(key)[1], w.shape)
        return w - beta * average, (count + 1, kept)

    assert seen(adapters.from_jax(round)) == KEYS[how]


def test_jax() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed here: pip install jax")

    def make(divisor: str) -> Any:
        @jax.jit
        def clipped(u: Any, C: float) -> Any:
            return u * jax.numpy.minimum(1.0, C / jax.numpy.maximum(jax.numpy.linalg.norm(u), 1e-300))

        def round(
            w: Any,
            state: Any,
            clients: Any,
            cohort: Any,
            key: Any,
            *,
            eta: float,
            beta: float,
            C: float,
            r: float,
            n: int,
            sigma: float,
        ) -> Any:
            total = sum((clipped(clients[i].gradient(w), C) for i in cohort), 0.0 * w)
            noise = sigma * jax.random.normal(key, w.shape)
            return w - beta * (total / {"r": r, "n": n}[divisor] + noise), state

        return adapters.from_jax(round)

    fixed = {"E": 1, "eta": 0.1, "beta": 0.7, "C": 0.8, "sigma": 0.3}
    assert conform(make("r"), "dp-fedavg", clients=4, cohort=2, runs=0, **fixed).verdict == "conforms"
    found = conform(make("n"), "dp-fedavg", clients=4, cohort=2, runs=0, **fixed)
    assert [fault.name for fault in found.faults] == ["division by n in place of r"]
