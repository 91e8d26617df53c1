"""Rounds that are written for PyTorch, JAX or Flower, as rounds on NumPy arrays. Each library is imported only when its
adapter is used; noise that it draws on the way is heard.

    round = from_torch(my_round)      # my_round(w, state, clients, cohort, generator, **letters) on tensors
    round = from_jax(my_round)        # my_round(w, state, clients, cohort, key, **letters) on JAX arrays
    round = from_flower(make_strategy, make_client)

All three are functions that `dpfl_theory.conform` takes, and keep the names of the letters that the given ones ask for.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpfl_theory.conform.subject import POSITIONS
from dpfl_theory.conform.world import Client
from dpfl_theory.errors import EnvironmentFault
from dpfl_theory.problems.base import Array

__all__ = ["from_flower", "from_jax", "from_torch"]

Round = Callable[..., Any]


def _needed(name: str, what: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise EnvironmentFault(f"{what} is not installed here: install it, or give a round on NumPy arrays") from None


class _Seen:
    """A client whose arrays are another library's."""

    def __init__(self, client: Client, there: Callable[[Array], Any], back: Callable[[Any], Array]) -> None:
        self._client, self._there, self._back = client, there, back
        self.number = client.number

    def __len__(self) -> int:
        return len(self._client)

    @functools.cached_property
    def records(self) -> Any:
        """The records, copied: what others change stays theirs."""
        own = self._client.records
        return type(own)(self._there(own.x.copy()), self._there(own.y.copy()))

    def gradient(self, w: Any, batch: Any = None) -> Any:
        """As of a `Client`."""
        return self._there(self._client.gradient(self._back(w), batch))

    def record_gradients(self, w: Any, batch: Any = None) -> Any:
        """As of a `Client`."""
        return self._there(self._client.record_gradients(self._back(w), batch))


def from_torch(round_: Round) -> Round:
    """A round on PyTorch tensors of double precision, with a ``torch.Generator`` in place of rng.

    ``torch.randn``, ``randn_like``, ``normal`` and ``Tensor.normal_`` take their numbers from the rng that the test
    listens
    to. Raises EnvironmentFault where PyTorch is not installed.
    """
    torch = _needed("torch", "PyTorch")

    def there(x: Array) -> Any:
        return torch.tensor(x, dtype=torch.float64)

    def back(x: Any) -> Array:
        return np.asarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x)

    @functools.wraps(round_)
    def played(w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, **letters: Any) -> Any:
        seen = [_Seen(client, there, back) for client in clients]
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        with _replaced(_torch_noise(torch, rng)):
            after, state = round_(there(w), state, seen, [int(i) for i in cohort], generator, **letters)
        return back(after), state

    return played


def _torch_noise(torch: Any, rng: Any) -> Mapping[tuple[Any, str], Any]:
    def shaped(values: Any, like: Any = None, dtype: Any = None) -> Any:
        return torch.tensor(values, dtype=dtype or (torch.float64 if like is None else like.dtype))

    def randn(*size: Any, dtype: Any = None, **_: Any) -> Any:
        return shaped(
            rng.standard_normal(tuple(size[0]) if size and not isinstance(size[0], int) else size), dtype=dtype
        )

    def randn_like(x: Any, **_: Any) -> Any:
        return shaped(rng.standard_normal(tuple(x.shape)), x)

    def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, **_: Any) -> Any:
        mean, std = (v.detach().numpy() if hasattr(v, "detach") else v for v in (mean, std))
        return shaped(rng.normal(mean, std, None if size is None else tuple(size)))

    def normal_(x: Any, mean: float = 0.0, std: float = 1.0, **_: Any) -> Any:
        return x.copy_(shaped(rng.normal(mean, std, tuple(x.shape)), x))

    here = {"randn": randn, "randn_like": randn_like, "normal": normal}
    return {**{(torch, name): function for name, function in here.items()}, (torch.Tensor, "normal_"): normal_}


def from_jax(round_: Round) -> Round:
    """A round on JAX arrays of double precision, with a key in place of rng; it runs without compilation.

    ``jax.random.normal`` takes its numbers from the rng that the test listens to. Raises EnvironmentFault where JAX
    is not
    installed.
    """
    jax = _needed("jax", "JAX")
    jnp = _needed("jax.numpy", "JAX")

    @functools.wraps(round_)
    def played(w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, **letters: Any) -> Any:
        def normal(key: Any, shape: Any = (), dtype: Any = None, **_: Any) -> Any:
            return jnp.asarray(rng.standard_normal(tuple(shape)), dtype=dtype)

        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        try:
            with jax.disable_jit(), _replaced({(jax.random, "normal"): normal}):
                seen = [_Seen(client, jnp.asarray, np.asarray) for client in clients]
                key = jax.random.key(int(rng.integers(2**31)))
                after, state = round_(jnp.asarray(w), state, seen, [int(i) for i in cohort], key, **letters)
                return np.asarray(after), state
        finally:
            jax.config.update("jax_enable_x64", before)

    return played


def from_flower(strategy: Callable[..., Any], client: Callable[..., Any]) -> Round:
    """A round of a Flower strategy with Flower clients.

    strategy: makes the strategy, ``strategy(**letters)``, once for a run;  client: makes a client (with
    ``fit(parameters,
    config)``, as NumPyClient's), ``client(view, **letters)``, of a client as a round sees it. Both ask for letters by
    name.

    Raises EnvironmentFault where Flower is not installed.
    """
    common = _needed("flwr.common", "Flower")

    def asked(function: Callable[..., Any], skipped: int) -> list[str]:
        return list(inspect.signature(function).parameters)[skipped:]

    of_strategy, of_client = asked(strategy, 0), asked(client, 1)

    def round(w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, **letters: Any) -> Any:
        now = strategy(**{name: letters[name] for name in of_strategy}) if state is None else state
        parameters, manager = common.ndarrays_to_parameters([w]), _Manager([clients[int(i)] for i in cohort])
        results = []
        for proxy, instructions in now.configure_fit(1, parameters, manager):
            own = client(proxy.view, **{name: letters[name] for name in of_client})
            arrays, count, metrics = own.fit(
                common.parameters_to_ndarrays(instructions.parameters), instructions.config
            )
            status = common.Status(common.Code.OK, "")
            results.append((proxy, common.FitRes(status, common.ndarrays_to_parameters(arrays), count, metrics)))
        found, _ = now.aggregate_fit(1, results, [])
        return (w if found is None else common.parameters_to_ndarrays(found)[0]), now

    kinds = inspect.Parameter
    names = [*dict.fromkeys([*of_strategy, *of_client])]
    first = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in POSITIONS]
    round.__signature__ = inspect.Signature([*first, *(kinds(n, kinds.KEYWORD_ONLY) for n in names)])  # type: ignore[attr-defined]
    return round


class _Proxy:
    """What a strategy sees of a client."""

    def __init__(self, view: Client) -> None:
        self.view, self.cid = view, str(view.number)


class _Manager:
    """The clients of a round, all of which are sampled."""

    def __init__(self, members: Sequence[Client]) -> None:
        self._members = [_Proxy(view) for view in members]

    def num_available(self) -> int:
        """How many there are."""
        return len(self._members)

    def sample(self, *_: Any, **__: Any) -> list[_Proxy]:
        """All of them."""
        return self._members


@contextlib.contextmanager
def _replaced(functions: Mapping[tuple[Any, str], Any]) -> Iterator[None]:
    """These attributes are others inside."""
    before = {place: getattr(*place) for place in functions}
    try:
        for (owner, name), function in functions.items():
            setattr(owner, name, function)
        yield
    finally:
        for (owner, name), function in before.items():
            setattr(owner, name, function)
