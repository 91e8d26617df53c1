"""Calls in the store: what a search, a confirmation or one point of a validation gives, under the hash of its arguments
and of all that its function rests on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dpfl_theory.checks.sources import sources
from dpfl_theory.store import Ended, Slot, Store, canonical

__all__ = ["Reuse"]

Call = partial[Any]


@dataclass
class Reuse:
    """A store, and how many results came from it.

    fresh: whether everything is made again, and stored. parts: what all results rest on besides.
    """

    store: Store | None = None
    fresh: bool = False
    parts: Mapping[str, Any] = field(default_factory=dict)
    asked: int = field(default=0, init=False)
    taken: int = field(default=0, init=False)

    def each(
        self,
        calls: Sequence[Call],
        about: Sequence[str],
        run: Callable[[Sequence[Callable[[], Any]], Sequence[int]], Sequence[Any]],
    ) -> list[Any]:
        """What these calls give, JSON data, in their order: those that the store lacks are made by ``run``, which gets
        them with their numbers; each is kept as soon as it ends, in the process that made it."""
        if self.store is None:
            return list(run(calls, range(len(calls))))
        slots = [self._slot(self.store, call, name) for call, name in zip(calls, about, strict=True)]
        found = {} if self.fresh else {i: slot.take() for i, slot in enumerate(slots)}
        found = {i: result for i, result in found.items() if result is not None}
        left = [i for i in range(len(calls)) if i not in found]
        made: Sequence[Ended[Any]] = run([partial(_kept, calls[i], slots[i]) for i in left], left) if left else ()
        for i, end in zip(left, made, strict=True):
            self.store.tell(end.trouble)
            found[i] = end.result
        self.asked += len(calls)
        self.taken += len(calls) - len(left)
        return [found[i] for i in range(len(calls))]

    def one(self, call: Call, about: str) -> Any:
        """What one call gives, made here if the store lacks it."""
        return self.each([call], [about], lambda work, _: [piece() for piece in work])[0]

    def _slot(self, store: Store, call: Call, about: str) -> Slot:
        known = sources()
        own, file = known.graph.package.parent, Path(sys.modules[call.func.__module__].__file__ or "").resolve()
        name = file.relative_to(own).as_posix() if file.is_relative_to(own) else str(file)
        if not file.is_relative_to(own):
            known = sources(file.parent)
        return known.slot(store, "recommend", about, canonical({**self.parts, "call": call}), on=(name,))


def _kept(call: Call, slot: Slot) -> Ended[Any]:
    """What a call gives, as it will be read from the store."""
    result = json.loads(json.dumps(call(), default=lambda value: value.tolist()))
    return Ended(result, slot.keep(result))
