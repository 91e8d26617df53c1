"""Adapters from rounds written for PyTorch, JAX or Flower to rounds on NumPy arrays. Each library is imported only when
its adapter is used. The noise that the library draws is recorded, and the re-use of a key or a seed is detected
(`rng_reuse`).

    round = from_torch(my_round)      # my_round(w, state, clients, cohort, generator, **parameters) on tensors
    round = from_jax(my_round)        # my_round(w, state, clients, cohort, key, **parameters) on JAX arrays
    round = from_flower(make_strategy, make_client)

`dpfl_theory.conform` accepts the results of all three. They keep the names of the parameters that the given functions
take. The results of the first two have ``findings()``: the re-use of keys and seeds that was seen.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpfl_theory.conform.rng_reuse import NoiseWatcher
from dpfl_theory.conform.user_function import POSITIONS
from dpfl_theory.conform.world import Client, Records
from dpfl_theory.errors import EnvironmentFault
from dpfl_theory.problems.base import Array

__all__ = ["from_flower", "from_jax", "from_torch"]

Round = Callable[..., Any]


def _needed(name: str, label: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise EnvironmentFault(f"{label} is not installed here: install it, or give a round on NumPy arrays") from None


class _Seen:
    """A client whose arrays belong to another library."""

    def __init__(self, client: Client, there: Callable[[Array], Any], back: Callable[[Any], Array]) -> None:
        self._client, self._there, self._back = client, there, back
        self.number = client.number

    def __len__(self) -> int:
        return len(self._client)

    @functools.cached_property
    def records(self) -> Any:
        """A copy of the records, so that a change by the caller does not reach the client."""
        own = self._client.records
        return type(own)(self._there(own.x.copy()), self._there(own.y.copy()))

    def gradient(self, w: Any, batch: Any = None) -> Any:
        """As of a `Client`."""
        return self._there(self._client.gradient(self._back(w), batch))

    def record_gradients(self, w: Any, batch: Any = None) -> Any:
        """As of a `Client`."""
        return self._there(self._client.record_gradients(self._back(w), batch))


def _apart(clients: Sequence[Client]) -> list[Client]:
    """The same clients, with gradients that are not logged."""
    return [Client(own.number, Records(own.records.x.copy(), own.records.y.copy())) for own in clients]


def from_torch(round_: Round) -> Round:
    """A round on PyTorch tensors of double precision, with a ``torch.Generator`` in place of rng.

    ``torch.randn``, ``randn_like``, ``normal`` and ``Tensor.normal_`` take their numbers from the rng that the test
    records. Where a generator is in a state from which it drew before, they take the same numbers again. If the round
    itself sets the seed of a generator to the same number in every run, its draws stay unchanged. Raises
    EnvironmentFault where PyTorch is not installed.
    """
    torch = _needed("torch", "PyTorch")
    noise = NoiseWatcher()

    def there(x: Array) -> Any:
        return torch.tensor(x, dtype=torch.float64)

    def back(x: Any) -> Array:
        return np.asarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x)

    @functools.wraps(round_)
    def played(w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, **hyperparameters: Any) -> Any:
        def play(seed: int, state: Any, clients: Sequence[Client]) -> Any:
            torch.manual_seed(seed + 1)
            seen = [_Seen(client, there, back) for client in clients]
            members = [int(i) for i in cohort]
            return round_(there(w), state, seen, members, torch.Generator().manual_seed(seed), **hyperparameters)

        before = torch.get_rng_state()
        try:
            with _replaced(_torch_noise(torch, rng, noise)):
                noise.round(rng, state, lambda seed, state: play(seed, state, _apart(clients))[1])
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


def from_jax(round_: Round) -> Round:
    """A round on JAX arrays of double precision, with a key in place of rng; it runs without compilation.

    ``jax.random.normal`` takes its numbers from the rng that the test records, and the same numbers where a key is used
    again. If the round itself makes a key that is the same in every run, draws from this key stay unchanged. Raises
    EnvironmentFault where JAX is not installed.
    """
    jax = _needed("jax", "JAX")
    jnp = _needed("jax.numpy", "JAX")
    noise = NoiseWatcher()

    @functools.wraps(round_)
    def played(w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, **hyperparameters: Any) -> Any:
        def play(seed: int, state: Any, clients: Sequence[Client]) -> Any:
            seen = [_Seen(client, jnp.asarray, np.asarray) for client in clients]
            members = [int(i) for i in cohort]
            return round_(jnp.asarray(w), state, seen, members, jax.random.key(seed), **hyperparameters)

        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        try:
            with jax.disable_jit(), _replaced({**_jax_keys(jax), (jax.random, "normal"): _jax_normal(jax, rng, noise)}):
                noise.round(rng, state, lambda seed, state: play(seed, state, _apart(clients))[1])
                after, state = play(int(rng.integers(2**31)), state, clients)
                return np.asarray(after), state
        finally:
            jax.config.update("jax_enable_x64", before)

    played.findings = noise.findings  # type: ignore[attr-defined]
    return played


def _jax_keys(jax: Any) -> Mapping[tuple[Any, str], Any]:
    """The functions that make keys, and numbers from keys, compiled: without compilation they take most of a test's
    time."""

    def compiled(function: Any) -> Any:
        @functools.wraps(function)
        def made(*arguments: Any, **keywords: Any) -> Any:
            with jax.disable_jit(False):
                return function(*arguments, **keywords)

        return made

    names = ("key", "PRNGKey", "split", "fold_in", "bits", "uniform", "randint", "bernoulli", "permutation", "choice")
    return {(jax.random, name): compiled(getattr(jax.random, name)) for name in names}


def _jax_normal(jax: Any, rng: Any, noise: NoiseWatcher) -> Any:
    original = jax.random.normal

    def normal(key: Any, shape: Any = (), *arguments: Any, **keywords: Any) -> Any:
        with jax.disable_jit(False):
            true = original(key, shape, *arguments, **keywords)
        typed = jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key)

        def numbers(place: Any, true: Any) -> Array:
            place, true = np.asarray(place).tobytes(), np.asarray(true)
            found = noise.normal(place, rng, true, lambda: rng.standard_normal(true.shape))
            return np.asarray(found, dtype=true.dtype)

        data = jax.random.key_data(key) if typed else key
        if isinstance(data, jax.core.Tracer):  # one of many keys, under vmap
            result = jax.ShapeDtypeStruct(true.shape, true.dtype)
            return jax.pure_callback(numbers, result, data, true, vmap_method="sequential")
        return jax.numpy.asarray(numbers(data, true))

    return normal


def from_flower(strategy: Callable[..., Any], client: Callable[..., Any]) -> Round:
    """A round of a Flower strategy with Flower clients.

    strategy: ``strategy(**parameters)`` makes the strategy, once for a run;  client: ``client(view, **parameters)``
    makes a client (with ``fit(parameters, config)``, as NumPyClient has) from a client as a round sees it. Both take
    hyper-parameters by name.

    Raises EnvironmentFault where Flower is not installed.
    """
    common = _needed("flwr.common", "Flower")

    def asked(function: Callable[..., Any], skipped: int) -> list[str]:
        return list(inspect.signature(function).parameters)[skipped:]

    of_strategy, of_client = asked(strategy, 0), asked(client, 1)

    def round(w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, **hyperparameters: Any) -> Any:
        now = strategy(**{name: hyperparameters[name] for name in of_strategy}) if state is None else state
        parameters, manager = common.ndarrays_to_parameters([w]), _Manager([clients[int(i)] for i in cohort])
        results = []
        for proxy, instructions in now.configure_fit(1, parameters, manager):
            own = client(proxy.view, **{name: hyperparameters[name] for name in of_client})
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
    """A client as a strategy sees it."""

    def __init__(self, view: Client) -> None:
        self.view, self.cid = view, str(view.number)


class _Manager:
    """The clients of a round, all of which are sampled."""

    def __init__(self, members: Sequence[Client]) -> None:
        self._members = [_Proxy(view) for view in members]

    def num_available(self) -> int:
        """Their number."""
        return len(self._members)

    def sample(self, *_: Any, **__: Any) -> list[_Proxy]:
        """All of them."""
        return self._members


@contextlib.contextmanager
def _replaced(functions: Mapping[tuple[Any, str], Any]) -> Iterator[None]:
    """Replaces these attributes inside the context."""
    before = {place: getattr(*place) for place in functions}
    try:
        for (owner, name), function in functions.items():
            setattr(owner, name, function)
        yield
    finally:
        for (owner, name), function in before.items():
            setattr(owner, name, function)
