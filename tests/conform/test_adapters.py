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

    monkeypatch.setattr(adapters.importlib, "import_module", missing)
    for make in (adapters.from_torch, adapters.from_jax, lambda f: adapters.from_flower(f, f)):
        with pytest.raises(EnvironmentFault, match="is not installed here"):
            make(lambda: None)


def test_single_precision_is_refused() -> None:
    with pytest.raises(InputError, match="double precision"):
        conform(lambda w, state, clients, cohort, rng: (w.astype(np.float32), state), "fedavg")


@pytest.mark.parametrize("how", ["randn", "normal", "normal_", "randn_like"])
def test_pytorch(how: str) -> None:
    torch = pytest.importorskip("torch")

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

    assert conform(make(1.0), "dp-fedavg", E=1, runs=300).verdict == "conforms"
    found = conform(make(7**0.5), "dp-fedavg", E=1, runs=0)
    assert [fault.name for fault in found.faults] == ["sqrt(n) too much noise"]
    assert all(file == __file__ for file, _ in found.faults[0].lines)


def test_jax() -> None:
    jax = pytest.importorskip("jax")

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

    assert conform(make("r"), "dp-fedavg", E=1, runs=0).verdict == "conforms"
    found = conform(make("n"), "dp-fedavg", E=1, runs=0)
    assert [fault.name for fault in found.faults] == ["division by n in place of r"]


@pytest.mark.filterwarnings("ignore")
def test_flower() -> None:
    """Flower's own wrapper for clipping on the server, around its own FedAvg."""
    pytest.importorskip("flwr")
    from flwr.server.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg

    class Training:
        def __init__(self, view: Any, eta_l: float, Q: int, alike: bool) -> None:
            self.view, self.eta_l, self.Q, self.alike = view, eta_l, Q, alike

        def fit(self, parameters: Any, config: Any) -> Any:
            (y,) = parameters
            for _ in range(self.Q):
                y = y - self.eta_l * self.view.gradient(y)
            return [y], 1 if self.alike else len(self.view), {}

    def strategy(noise_multiplier: float, c: float, r: float) -> Any:
        return DifferentialPrivacyServerSideFixedClipping(FedAvg(), noise_multiplier, c, int(r))

    def round_of(alike: bool) -> Any:
        return adapters.from_flower(strategy, lambda view, eta_l, Q: Training(view, eta_l, Q, alike))

    found = conform(round_of(True), "dp-fedavg-two-sided", eta_g=1.0, runs=0)
    assert [fault.name for fault in found.faults] == ["the function fails"]  # it divides by the length of an update
    assert "one client without a gradient" in found.faults[0].evidence
    found = conform(round_of(False), "dp-fedavg-two-sided", eta_g=1.0, runs=0)
    names = [fault.name for fault in found.faults]
    assert names[1:] == ["weights by numbers of records", "more than the declared sensitivity"]
