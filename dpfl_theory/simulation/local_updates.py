"""Values of clients that are multiples of the updates of one local phase: their arrays are formed only when needed.

Bounds and sums of such values need lengths and weighted sums of the updates. A problem may have both without the
updates (`dpfl_theory.problems.base.LocalPhase`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from dpfl_theory.problems.base import LocalPhase


class LocalUpdates:
    """base + factor u_i for each client, with the updates u_i of a phase.

    base: the same for all clients, (S, d), None for zero. factor: a number, or one for each replicate (S, 1), or for
    each client and replicate (n, S, 1).
    """

    __array_ufunc__ = None  # arrays leave operations with this class to it

    def __init__(
        self, xp: Any, shape: tuple[int, int, int], phase: LocalPhase, base: Any, factor: Any, bound: Any = None
    ) -> None:
        self._xp, self.shape, self._phase, self.base, self._before, self._bound = xp, shape, phase, base, factor, bound

    def bounded(self, threshold: Any, normalise: bool) -> LocalUpdates:
        """Each value clipped to a threshold, or normalised to it. There is no base.

        The phase does this in one pass with a sum. So the factors are formed only where something else is asked for.
        """
        if len(getattr(self._factor, "shape", ())) > 2 or self._bound is not None:
            found: LocalUpdates = self * shrunk(self._xp, self.length, threshold, normalise)
            return found
        bound = (threshold / self._xp.abs(self._factor), normalise)
        return LocalUpdates(self._xp, self.shape, self._phase, None, self._factor, bound)

    @cached_property
    def _factor(self) -> Any:
        if self._bound is None:
            return self._before
        return self._before * shrunk(self._xp, self._phase.lengths.T[:, :, None], *self._bound)

    def _with(self, base: Any, factor: Any) -> LocalUpdates:
        return LocalUpdates(self._xp, self.shape, self._phase, base, factor)

    @cached_property
    def dense(self) -> Any:
        """The array (n, S, d)."""
        moved = self._factor * self._phase.updates()
        return moved if self.base is None else self.base + moved

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dense, name)

    def __getitem__(self, key: Any) -> Any:
        return self if key is Ellipsis else self.dense[key]

    # Arithmetic.
    def __neg__(self) -> LocalUpdates:
        return self._with(None if self.base is None else -self.base, -self._factor)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, LocalUpdates):
            if other._phase is not self._phase:
                return self.dense + other.dense
            base = other.base if self.base is None else self.base if other.base is None else self.base + other.base
            return self._with(base, self._factor + other._factor)
        if len(getattr(other, "shape", ())) > 2:
            return self.dense + other
        return self._with(other if self.base is None else self.base + other, self._factor)

    def __sub__(self, other: Any) -> Any:
        return self._with(None, self._factor) if other is self.base else self + -other

    def __rsub__(self, other: Any) -> Any:
        return -(self - other)

    def __mul__(self, other: Any) -> Any:
        other = dense(other)
        if getattr(other, "shape", (1,))[-1:] not in ((1,), ()):
            return self.dense * other
        return self._with(None if self.base is None else self.base * other, self._factor * other)

    def __truediv__(self, other: Any) -> Any:
        other = dense(other)
        if getattr(other, "shape", (1,))[-1:] not in ((1,), ()):
            return self.dense / other
        return self._with(None if self.base is None else self.base / other, self._factor / other)

    __radd__, __rmul__ = __add__, __mul__

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.dense

    # What needs no array (n, S, d).
    @property
    def length(self) -> Any:
        """The lengths (n, S, 1), where there is no base."""
        return self._xp.abs(self._factor) * self._phase.lengths.T[:, :, None]

    def total(self, counts: Any) -> Any:
        """The sum over the clients, each of which takes part counts (S, n) times."""
        if self._bound is not None:
            threshold, normalise = self._bound
            rows = self._xp.ascontiguousarray((threshold + self._xp.zeros((self.shape[1], 1)))[:, 0])
            weights = self._xp.ascontiguousarray(counts * self._before)
            total: Any = self._phase.bounded_combine(weights, rows, normalise)
            return total
        factor = self._factor
        weights = counts * (factor[:, :, 0].T if len(getattr(factor, "shape", ())) == 3 else factor)
        total = self._phase.combine(self._xp.ascontiguousarray(weights))
        return total if self.base is None else total + counts.sum(axis=1)[:, None] * self.base


def dense(value: Any) -> Any:
    """A value as an array or a number."""
    return value.dense if isinstance(value, LocalUpdates) else value


def shrunk(xp: Any, length: Any, threshold: Any, normalise: bool) -> Any:
    """The factors that clip vectors of these lengths to a threshold, or normalise them to it; 0 stays."""
    over = length > (0.0 if normalise else threshold)
    return xp.where(over, threshold / xp.where(over, length, 1.0), 0.0 if normalise else 1.0)
