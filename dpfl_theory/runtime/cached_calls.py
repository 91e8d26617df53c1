"""Cached calls: the result of a search, a confirmation or one point of a validation. The key is a hash of the arguments
and of everything that the function depends on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.keys import canonical, key
from dpfl_theory.runtime.recorded_warnings import Warned
from dpfl_theory.runtime.slots import Slot, StoredResult
from dpfl_theory.runtime.sources import sources_of

Call = partial[Any]

_NOTHING = object()


@dataclass(frozen=True)
class RequestedCall:
    """A call whose result is missing, its place in the store, and its name within a run of the program: a hash of
    function and arguments."""

    call: Call
    slot: Slot
    name: str

    def __call__(self) -> StoredResult[Any]:
        """The result of the call, as it is read from the store, where it now is."""
        result = json.loads(json.dumps(self.call(), default=lambda value: value.tolist()))
        return StoredResult(result, self.slot.keep(result))


class MissingCalls(BaseException):
    """Calls that other processes must make before this one can continue. (Not an Exception: no script catches it by
    mistake.)"""

    def __init__(self, asked: Sequence[RequestedCall]) -> None:
        super().__init__(f"{len(asked)} calls")
        self.asked = tuple(asked)


@dataclass(frozen=True)
class CallResult:
    """A result that another process computed, the seconds it needed, and the warnings issued meanwhile."""

    result: Any
    seconds: float
    warned: tuple[Warned, ...] = ()


@dataclass
class Reuse:
    """A store, and how many results came from it.

    fresh: whether everything is computed again and stored. parts: what all results depend on in addition. kind: what
    the store calls them. given: results that other processes computed, by the names of `RequestedCall`. Where it is not
    None, this process computes nothing: a result that is neither given nor in the store raises `MissingCalls`.
    """

    store: Store | None = None
    fresh: bool = False
    parts: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "recommend"
    given: Mapping[str, CallResult] | None = None
    requested: int = field(default=0, init=False)
    taken: int = field(default=0, init=False)
    spent: float = field(default=0.0, init=False)
    """Seconds that other processes needed for the given results."""
    warned: list[Warned] = field(default_factory=list, init=False)
    """Warnings that were issued while other processes computed them."""

    def each(
        self,
        calls: Sequence[Call],
        about: Sequence[str],
        run: Callable[[Sequence[Callable[[], Any]], Sequence[int]], Sequence[Any]],
    ) -> list[Any]:
        """The results of these calls, JSON data, in their order. ``run`` computes those that the store lacks and gets
        them with their numbers. Each is stored as soon as it ends, in the process that computed it."""
        if self.store is None and self.given is None:
            return list(run(calls, range(len(calls))))
        every = [self._requested(call, name) for call, name in zip(calls, about, strict=True)]
        found = {i: result for i, one in enumerate(every) if (result := self._available(one)) is not _NOTHING}
        left = [i for i in range(len(calls)) if i not in found]
        asked = [every[i] for i in left]
        if asked and self.given is not None:
            raise MissingCalls(asked)
        made: Sequence[StoredResult[Any]] = run(asked, left) if left else ()
        for i, end in zip(left, made, strict=True):
            if self.store is not None:
                self.store.report_problem(end.trouble)
            found[i] = end.result
        self.requested += len(calls)
        self.taken += len(calls) - len(left)
        return [found[i] for i in range(len(calls))]

    def one(self, call: Call, about: str) -> Any:
        """The result of one call, computed here if the store lacks it."""
        return self.each([call], [about], lambda work, _: [piece() for piece in work])[0]

    def _available(self, call: RequestedCall) -> Any:
        """The result that was given, or is in the store."""
        if self.given is not None and call.name in self.given:
            self.spent += self.given[call.name].seconds
            self.warned += self.given[call.name].warned
            return self.given[call.name].result
        found = None if self.fresh else call.slot.take()
        return _NOTHING if found is None else found

    def _requested(self, call: Call, about: str) -> RequestedCall:
        known, name = sources_of(Path(sys.modules[call.func.__module__].__file__ or ""))
        parts = canonical({**self.parts, "call": call})
        return RequestedCall(call, known.slot(self.store, self.kind, about, parts, on=(name,)), key(self.kind, parts))
