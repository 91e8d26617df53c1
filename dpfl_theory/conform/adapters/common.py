"""What the adapters have in common: the libraries, and clients whose arrays belong to another library."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from dpfl_theory.conform.user_function import POSITIONS
from dpfl_theory.conform.world import Client, Records
from dpfl_theory.errors import EnvironmentFault
from dpfl_theory.problems.base import Array

Round = Callable[..., Any]
LIBRARIES = {"from_torch": "torch", "from_jax": "jax", "from_flower": "flwr", "from_pfl": "pfl"}
"""The package that each adapter needs."""


def needed(name: str, label: str) -> Any:
    """The module of this name. Raises EnvironmentFault where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        need = f"pip install {name.partition('.')[0]}"
        raise EnvironmentFault(
            f"{label} is not installed here: install it ({need}), or give a round on NumPy arrays"
        ) from None


def asked(function: Callable[..., Any], skipped: int) -> list[str]:
    """The names of a function's parameters after the first ones."""
    return list(inspect.signature(function).parameters)[skipped:]


def taking(round_: Round, names: Sequence[str]) -> Round:
    """The round, which now declares that it takes these hyper-parameters by name."""
    kinds = inspect.Parameter
    first = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in POSITIONS]
    own = [kinds(name, kinds.KEYWORD_ONLY) for name in dict.fromkeys(names)]
    round_.__signature__ = inspect.Signature([*first, *own])  # type: ignore[attr-defined]
    return round_


class Seen:
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


def apart(clients: Sequence[Client]) -> list[Client]:
    """The same clients, with gradients that are not logged."""
    return [Client(own.number, Records(own.records.x.copy(), own.records.y.copy())) for own in clients]
