"""Rounds on PyTorch tensors."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpfl_theory.conform.adapters.common import Round, Seen, apart, needed
from dpfl_theory.conform.rng_reuse import NoiseWatcher
from dpfl_theory.conform.user_function import replaced
from dpfl_theory.conform.world import Client
from dpfl_theory.problems.base import Array


def from_torch(round_: Round) -> Round:
    """A round on PyTorch tensors of double precision, with a ``torch.Generator`` in place of rng.

    ``torch.randn``, ``randn_like``, ``normal`` and ``Tensor.normal_`` take their numbers from the rng that the test
    records. Where a generator is in a state from which it drew before, they take the same numbers again. If the round
    itself sets the seed of a generator to the same number in every run, its draws stay unchanged. Raises
    EnvironmentFault where PyTorch is not installed.
    """
    torch = needed("torch", "PyTorch")
    noise = NoiseWatcher()
    # Without a GPU in use only the CPU's generator is seeded: torch.manual_seed takes a millisecond to note its caller
    # for each kind of device.
    reseeded = torch.manual_seed if torch.cuda.is_initialized() else torch.default_generator.manual_seed

    def there(x: Array) -> Any:
        return torch.tensor(x, dtype=torch.float64)

    def back(x: Any) -> Array:
        return np.asarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x)

    @functools.wraps(round_)
    def played(w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, **hyperparameters: Any) -> Any:
        def play(seed: int, state: Any, clients: Sequence[Client]) -> Any:
            reseeded(seed + 1)
            seen = [Seen(client, there, back) for client in clients]
            members = [int(i) for i in cohort]
            return round_(there(w), state, seen, members, torch.Generator().manual_seed(seed), **hyperparameters)

        before = torch.get_rng_state()
        try:
            with replaced(_torch_noise(torch, rng, noise)):
                noise.round(rng, state, lambda seed, state: play(seed, state, apart(clients))[1])
                after, state = play(int(rng.integers(2**62)), state, clients)
        finally:
            torch.set_rng_state(before)
        return back(after), state

    played.findings = noise.findings  # type: ignore[attr-defined]
    return played


def _torch_noise(torch: Any, rng: Any, noise: NoiseWatcher) -> Mapping[tuple[Any, str], Any]:
    def drawn(original: Any, arguments: Any, generator: Any, keywords: Any) -> tuple[Any, Any]:
        """The numbers that PyTorch draws, and the standard normal numbers that replace them; None where they stay."""
        state = (torch.default_generator if generator is None else generator).get_state()
        true = original(*arguments, generator=generator, **keywords)
        standard = noise.normal(state.numpy().tobytes(), rng, true, lambda: rng.standard_normal(tuple(true.shape)))
        return true, None if standard is true else torch.as_tensor(standard, dtype=true.dtype)

    randn_, normal_, inside_ = torch.randn, torch.normal, torch.Tensor.normal_

    def randn(*size: Any, generator: Any = None, **keywords: Any) -> Any:
        true, standard = drawn(randn_, size, generator, keywords)
        return true if standard is None else standard.clone()

    def randn_like(x: Any, generator: Any = None, **keywords: Any) -> Any:
        return randn(x.shape, generator=generator, **{"dtype": x.dtype, **keywords})

    def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, generator: Any = None, **keywords: Any) -> Any:
        true, standard = drawn(normal_, (mean, std) if size is None else (mean, std, size), generator, keywords)
        return true if standard is None else mean + std * standard

    def inside(x: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
        true, standard = drawn(inside_, (x, mean, std), generator, {})
        return true if standard is None else x.copy_(mean + std * standard)

    here = {"randn": randn, "randn_like": randn_like, "normal": normal}
    return {**{(torch, name): function for name, function in here.items()}, (torch.Tensor, "normal_"): inside}


def least_squares(w: Any, layers: Sequence[slice] = (slice(None),)) -> Any:
    """The clients' model as a ``torch.nn.Module`` in double precision: a linear layer without bias for each layer of w,
    whose outputs are added.

    ``loss(x, y)`` is a client's loss on records, ``vector()`` gives w again. It has no other loss or layers than the
    test's clients, so code that trains a module can be run on them.
    """
    torch = needed("torch", "PyTorch")

    class LeastSquares(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            at = torch.as_tensor(w, dtype=torch.float64)
            parts = [torch.nn.Linear(len(at[layer]), 1, bias=False, dtype=torch.float64) for layer in layers]
            for part, layer in zip(parts, layers):
                part.weight.data = at[layer].clone()[None]
            self.parts = torch.nn.ModuleList(parts)

        def forward(self, x: Any) -> Any:
            return sum(part(x[:, layer]) for part, layer in zip(self.parts, layers))[:, 0]

        def loss(self, x: Any, y: Any) -> Any:
            return 0.5 * ((self(x) - y) ** 2).mean()

        def vector(self) -> Any:
            return torch.cat([part.weight.detach()[0] for part in self.parts]).clone()

    return LeastSquares()
