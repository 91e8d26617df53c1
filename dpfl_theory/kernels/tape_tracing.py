"""Arrays that record the operations on them, and the tape that holds these (see `dpfl_theory.kernels.tape`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpfl_theory.kernels.tape import ELEMENTWISE, GUARD, MATMUL, REDUCE, SELECT, Operation, Register, Untraceable

__all__ = ["Tape", "Traced", "traced"]

_ALIASES = {"true_divide": "divide", "fabs": "absolute", "invert": "logical_not", "positive": "copy"}
_ON_BOOLS = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "invert": "logical_not"}
_LOGICAL = ("logical_not", "logical_and", "logical_or")
_COMPARE = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


class Tape:
    """Operations in the order in which they were done."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def fresh(self, value: Any) -> Traced:
        """A traced array in a register of its own."""
        value = np.asarray(value)
        if value.size == 0 or value.dtype not in (np.float64, np.int64, np.bool_):
            raise Untraceable(f"an array of type {value.dtype} with {value.size} entries")
        owner = value
        while owner.base is not None:
            owner = owner.base
        if not isinstance(owner, np.ndarray) or owner.size != value.size:
            owner = value = value.copy(order="K")
        return Traced(self, Register(owner), value)

    def record(self, code: int, value: Any, inputs: Sequence[Any], numbers: Sequence[Any] = ()) -> Traced:
        """The result of an operation whose value is already known."""
        out = self.fresh(value)
        self.operations.append(Operation(code, (out,), inputs, numbers))
        return out

    def append(self, code: int, out: Sequence[Traced], inputs: Sequence[Any], numbers: Sequence[Any] = ()) -> None:
        """Record an operation whose results have their registers."""
        self.operations.append(Operation(code, out, inputs, numbers))

    def elementwise(self, name: str, value: Any, *inputs: Any) -> Traced:
        """The same for an operation element by element."""
        return self.record(ELEMENTWISE[name], value, inputs)

    def guard(self, condition: Traced) -> bool:
        """The value of a condition, in which all replayed rounds must agree."""
        outcome = bool(condition.now)
        self.operations.append(Operation(GUARD, (), (condition,), (outcome,)))
        return outcome


def traced(x: Any) -> bool:
    """Whether x is an array that a tape records."""
    return isinstance(x, Traced)


def _now(x: Any) -> Any:
    return x.now if isinstance(x, Traced) else x


class Traced(NDArrayOperatorsMixin):
    """A recording array: ``now`` is its value in the recorded round, a view of its register's owner."""

    def __init__(self, tape: Tape, register: Register, now: Any) -> None:
        self.tape = tape
        self.register = register
        self.now = now

    # The properties of an array.
    shape = property(lambda self: self.now.shape)
    ndim = property(lambda self: self.now.ndim)
    size = property(lambda self: self.now.size)
    dtype = property(lambda self: self.now.dtype)
    T = property(lambda self: self.view(self.now.T))

    def __len__(self) -> int:
        return len(self.now)

    @property
    def place(self) -> tuple[int, tuple[int, ...]]:
        """Where the array starts in its register, and its strides, both in entries."""
        size = self.now.itemsize
        start = self.now.__array_interface__["data"][0] - self.register.owner.__array_interface__["data"][0]
        return start // size, tuple(s // size for s in self.now.strides)

    def view(self, now: Any) -> Traced:
        """The same entries in another view; a copy is recorded where NumPy made one."""
        owner = self.register.owner
        start = now.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        if 0 <= start < owner.nbytes and now.dtype == owner.dtype:
            return Traced(self.tape, self.register, now)
        raise Untraceable("a copy where a view was expected")

    def contiguous(self) -> Traced:
        """The array in C order."""
        if self.now.flags.c_contiguous:
            return self
        return self.tape.elementwise("copy", np.array(self.now, order="C"), self)

    def copy(self) -> Traced:
        return self.tape.elementwise("copy", np.array(self.now, order="C"), self)

    def reshape(self, *shape: Any) -> Traced:
        new = self.now.reshape(*shape)
        if np.shares_memory(new, self.now):
            return self.view(new)
        return self.contiguous().reshape(*shape)

    def transpose(self, *axes: Any) -> Traced:
        return self.view(self.now.transpose(*axes))

    def __getitem__(self, key: Any) -> Traced:
        parts = key if isinstance(key, tuple) else (key,)
        if not all(p is None or p is Ellipsis or isinstance(p, (int, slice, np.integer)) for p in parts):
            raise Untraceable("an index that is an array")
        return self.view(np.asarray(self.now[(*parts, Ellipsis)] if Ellipsis not in parts else self.now[key]))

    def astype(self, kind: Any) -> Traced:
        new = self.now.astype(kind)
        if new.dtype not in (np.float64, np.int64) or (new.dtype == np.int64 and self.dtype == np.bool_):
            raise Untraceable(f"numbers of type {new.dtype}")
        return self.tape.elementwise("trunc" if new.dtype == np.int64 else "copy", new, self)

    # Python must not read numbers: only the result of a guard.
    def __bool__(self) -> bool:
        return self.tape.guard(self)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise Untraceable("a number of this round is read")

    __array__ = __float__ = __int__ = __index__ = __setitem__ = __contains__ = item = tolist = _refuse
    __array_interface__ = __array_struct__ = property(_refuse)

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f"an array's {name}")

    # Reductions.
    def _reduce(self, kind: str, axis: Any, keepdims: bool, value: Any) -> Traced:
        axes = range(self.ndim) if axis is None else np.atleast_1d(axis)
        return self.tape.record(REDUCE[kind], value, (self,), (tuple(int(a) % self.ndim for a in axes), keepdims))

    def sum(self, axis: Any = None, keepdims: bool = False) -> Traced:
        return self._reduce("sum", axis, keepdims, self.now.sum(axis=axis, keepdims=keepdims))

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        total = np.asarray(self.now.sum(axis=axis, keepdims=keepdims, dtype=np.float64))
        count = float(self.size // total.size)
        return self._reduce("sum", axis, keepdims, total) / count

    def min(self, axis: Any = None, keepdims: bool = False) -> Traced:
        return self._reduce("min", axis, keepdims, self.now.min(axis=axis, keepdims=keepdims))

    def max(self, axis: Any = None, keepdims: bool = False) -> Traced:
        return self._reduce("max", axis, keepdims, self.now.max(axis=axis, keepdims=keepdims))

    def any(self, axis: Any = None, keepdims: bool = False) -> Traced:
        return self._reduce("max", axis, keepdims, self.now.any(axis=axis, keepdims=keepdims))

    def all(self, axis: Any = None, keepdims: bool = False) -> Traced:
        return self._reduce("min", axis, keepdims, self.now.all(axis=axis, keepdims=keepdims))

    # Operators, by the mixin, go through NumPy's own functions.
    __hash__ = object.__hash__

    def __pow__(self, power: Any) -> Any:
        if not isinstance(power, (int, float)) or power not in (1, 2):
            raise Untraceable(f"the power {power!r}")
        return self * self if power == 2 else self * 1.0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        out = keywords.pop("out", (None,))[0]
        if method != "__call__" or keywords:
            raise Untraceable(f"{ufunc.__name__}.{method} with {', '.join(keywords)}")
        if ufunc is np.matmul:
            return _matmul(self.tape, *inputs)
        value = ufunc(*(_now(x) for x in inputs))
        if not isinstance(value, np.ndarray):
            value = np.asarray(value)
        if out is not None and (out.dtype != value.dtype or out.shape != value.shape):
            raise Untraceable("an array changed in place into another kind of array")
        bools = all(_now(x).dtype == np.bool_ if hasattr(_now(x), "dtype") else x in (True, False) for x in inputs)
        name = ufunc.__name__
        if name in _ON_BOOLS:
            if value.dtype != np.bool_:
                raise Untraceable(f"{name} of numbers")
            name = _ON_BOOLS[name]
        name = _ALIASES.get(name, name)
        if name not in ELEMENTWISE or (value.dtype == np.bool_ and bools and name not in (*_LOGICAL, *_COMPARE)):
            raise Untraceable(f"the function {name}")
        if name in _LOGICAL and not bools:
            raise Untraceable(f"{name} of numbers")
        return self.tape.elementwise(name, value, *inputs)

    def __array_function__(self, function: Any, _: Any, inputs: Any, keywords: Any) -> Any:
        known = _FUNCTIONS.get(function.__name__)
        if known is None:
            raise Untraceable(f"the function {function.__name__}")
        return known(self.tape, *inputs, **keywords)


def _matmul(tape: Tape, a: Any, b: Any) -> Traced:
    """A product of matrices; `player` knows (M, K) times (K, N)."""
    x, y = _now(a), _now(b)
    if np.ndim(x) != 2 or np.ndim(y) != 2:
        raise Untraceable("a product of other things than two matrices")
    left, right = (v.contiguous() if traced(v) else v for v in (a, b))
    return tape.record(MATMUL, x @ y, (left, right), (*x.shape, y.shape[1]))


def _where(tape: Tape, condition: Any, yes: Any, no: Any) -> Traced:
    value = np.where(*(_now(x) for x in (condition, yes, no)))
    return tape.elementwise("where", value, condition, yes, no)


def _stack(tape: Tape, arrays: Sequence[Any], axis: int = 0) -> Traced:
    value = np.stack([_now(a) for a in arrays], axis=axis)
    out = tape.fresh(value)
    for index, array in enumerate(arrays):
        part = out.view(np.moveaxis(out.now, axis, 0)[index])
        tape.operations.append(Operation(ELEMENTWISE["copy"], (part,), (array,)))
    return out


def _repeat(tape: Tape, array: Traced, repeats: int, axis: int) -> Traced:
    if array.shape[axis] != 1:
        raise Untraceable("repeating along an axis that is not of length 1")
    shape = [repeats if a == axis else m for a, m in enumerate(array.shape)]
    return tape.elementwise("copy", np.repeat(array.now, repeats, axis=axis), array.view(_broadcast(array, shape)))


def _broadcast(array: Traced, shape: Any) -> Any:
    return np.broadcast_to(array.now, tuple(shape))


class _Partitioned:
    """An array in which only the k-th smallest entries are at their place."""

    def __init__(self, array: Traced, kth: int, now: Any) -> None:
        self._array, self._kth, self._now = array, kth, now

    def __getitem__(self, key: Any) -> Traced:
        if key != (slice(None), slice(self._kth, self._kth + 1)):
            raise Untraceable("entries of a partition that have no place")
        return self._array.tape.record(SELECT, self._now[key], (self._array.contiguous(),), (self._kth,))


def _partition(_: Tape, array: Traced, kth: int, axis: int) -> _Partitioned:
    if array.ndim != 2 or axis not in (1, -1):
        raise Untraceable("a partition along another axis than the last of two")
    return _Partitioned(array, kth, np.partition(array.now, kth, axis=1))


def _einsum(_: Tape, justification: str, a: Any, b: Any) -> Any:
    if justification != "isk,isk->si":
        raise Untraceable(f"einsum {justification}")
    return (a * b).sum(axis=2).T


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "stack": _stack,
    "repeat": _repeat,
    "partition": _partition,
    "einsum": _einsum,
    "broadcast_to": lambda tape, array, shape: array.view(_broadcast(array, shape)),
    "zeros_like": lambda tape, array: np.zeros_like(array.now),
    "ones_like": lambda tape, array: np.ones_like(array.now),
    "sum": lambda tape, array, axis=None: array.sum(axis=axis),
    "mean": lambda tape, array, axis=None: array.mean(axis=axis),
}
