"""Arrays that record the operations on them, and the tape that holds the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpfl_theory.kernels.tape import operations as op
from dpfl_theory.kernels.tape.operations import REDUCTIONS, UFUNCS, Operation, Untraceable


class Register:
    """A register for one array. ``owner`` is the array that NumPy made; views of it are views of the register."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner


class Tape:
    """Operations in the order in which they were done."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def array(self, value: Any) -> TracedArray:
        """A traced array in a new register."""
        value = np.asarray(value)
        if value.size == 0 or value.dtype not in (np.float64, np.int64, np.bool_):
            raise Untraceable(f"an array of type {value.dtype} with {value.size} entries")
        owner = value
        while owner.base is not None:
            owner = owner.base
        if not isinstance(owner, np.ndarray) or owner.size != value.size:
            owner = value = value.copy(order="K")
        return TracedArray(self, Register(owner), value)

    def record(self, opcode: int, values: Any, inputs: Sequence[Any], numbers: Sequence[Any] = ()) -> Any:
        """Record an operation whose value, or tuple of values, is known; the result is traced arrays."""
        outputs = tuple(self.array(value) for value in (values if isinstance(values, tuple) else (values,)))
        self.operations.append(Operation(opcode, outputs, tuple(inputs), tuple(numbers)))
        return outputs if isinstance(values, tuple) else outputs[0]


def traced(x: Any) -> bool:
    """Whether x is an array that a tape records."""
    return isinstance(x, TracedArray)


def concrete(x: Any) -> Any:
    """The value of x in the recorded round."""
    return x.value if isinstance(x, TracedArray) else x


def contiguous(x: Any) -> Any:
    """An operand in C order; a constant becomes an array of floats."""
    return x.contiguous() if traced(x) else np.ascontiguousarray(x, dtype=np.float64)


class TracedArray(NDArrayOperatorsMixin):
    """A recording array: ``value`` is its value in the recorded round, a view of its register's owner."""

    def __init__(self, tape: Tape, register: Register, value: Any) -> None:
        self.tape = tape
        self.register = register
        self.value = value

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    dtype = property(lambda self: self.value.dtype)
    T = property(lambda self: self.view(self.value.T))

    def __len__(self) -> int:
        return len(self.value)

    @property
    def layout(self) -> tuple[int, tuple[int, ...]]:
        """The array's start in its register and its strides, both in entries."""
        size = self.value.itemsize
        start = self.value.__array_interface__["data"][0] - self.register.owner.__array_interface__["data"][0]
        return start // size, tuple(s // size for s in self.value.strides)

    def view(self, value: Any) -> TracedArray:
        """The same entries in another view."""
        owner = self.register.owner
        start = value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        if 0 <= start < owner.nbytes and value.dtype == owner.dtype:
            return TracedArray(self.tape, self.register, value)
        raise Untraceable("a copy where a view was expected")

    def contiguous(self) -> TracedArray:
        """The array in C order."""
        return self if self.value.flags.c_contiguous else self.copy()

    def copy(self) -> Any:
        return self.tape.record(op.COPY, np.array(self.value, order="C"), (self,))

    def reshape(self, *shape: Any) -> TracedArray:
        value = self.value.reshape(*shape)
        return self.view(value) if np.shares_memory(value, self.value) else self.contiguous().reshape(*shape)

    def transpose(self, *axes: Any) -> TracedArray:
        return self.view(self.value.transpose(*axes))

    def __getitem__(self, key: Any) -> TracedArray:
        parts = key if isinstance(key, tuple) else (key,)
        if not all(p is None or p is Ellipsis or isinstance(p, (int, slice, np.integer)) for p in parts):
            raise Untraceable("an index that is an array")
        return self.view(np.asarray(self.value[(*parts, Ellipsis)] if Ellipsis not in parts else self.value[key]))

    def astype(self, kind: Any) -> Any:
        value = self.value.astype(kind)
        if value.dtype not in (np.float64, np.int64) or (value.dtype == np.int64 and self.dtype == np.bool_):
            raise Untraceable(f"numbers of type {value.dtype}")
        return self.tape.record(op.TRUNCATE if value.dtype == np.int64 else op.COPY, value, (self,))

    def __bool__(self) -> bool:
        """The value of a condition: a guard, in which all replayed rounds must agree."""
        outcome = bool(self.value)
        self.tape.operations.append(Operation(op.GUARD, (), (self,), (int(outcome),)))
        return outcome

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise Untraceable("a number of this round is read")

    __array__ = __float__ = __int__ = __index__ = __setitem__ = __contains__ = item = tolist = _refuse
    __array_interface__ = __array_struct__ = property(_refuse)

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f"an array's {name}")

    def _reduce(self, name: str, axis: Any = None, *, keepdims: bool = False, **options: Any) -> Any:
        if name in ("any", "all") and self.dtype != np.bool_:
            return (self != 0)._reduce(name, axis, keepdims=keepdims)
        value = getattr(self.value, name)(axis=axis, keepdims=keepdims, **options)
        axes = range(self.ndim) if axis is None else np.atleast_1d(axis)
        return self.tape.record(REDUCTIONS[name], value, (self,), (tuple(int(a) % self.ndim for a in axes), keepdims))

    sum = partialmethod(_reduce, "sum")
    min = partialmethod(_reduce, "min")
    max = partialmethod(_reduce, "max")
    any = partialmethod(_reduce, "any")
    all = partialmethod(_reduce, "all")

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        total = self._reduce("sum", axis, keepdims=keepdims, dtype=np.float64)
        return total / float(self.size // total.size)

    __hash__ = object.__hash__

    def __pow__(self, power: Any) -> Any:
        """The powers for which NumPy has no rounding of its own."""
        if not isinstance(power, (int, float)) or power not in (0.5, 1, 2):
            raise Untraceable(f"the power {power!r}")
        return np.sqrt(self) if power == 0.5 else self * (self if power == 2 else 1.0)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        out = keywords.pop("out", (None,))[0]
        if method != "__call__" or keywords:
            raise Untraceable(f"{ufunc.__name__}.{method} with {', '.join(keywords)}")
        if ufunc is np.matmul:
            return _matmul(self.tape, *inputs)
        if ufunc is np.square:
            ufunc, inputs = np.multiply, inputs * 2
        if ufunc is np.multiply and out is None and self.dtype == np.float64:
            for one, other in (inputs, inputs[::-1]):
                if isinstance(one, (int, float)) and one == 1:
                    return other  # the same numbers
        values = [concrete(x) for x in inputs]
        value = np.asarray(ufunc(*values))
        if out is not None and (out.dtype != value.dtype or out.shape != value.shape):
            raise Untraceable("an array changed in place into another kind of array")
        booleans = all(np.asarray(x).dtype == np.bool_ for x in values)
        opcode = UFUNCS.get(ufunc.__name__, (None, None))[booleans]
        if opcode is None:
            raise Untraceable(f"the function {ufunc.__name__} of {'booleans' if booleans else 'numbers'}")
        return self.tape.record(opcode, value, inputs)

    def __array_function__(self, function: Any, _: Any, inputs: Any, keywords: Any) -> Any:
        name = function.__name__
        if name in REDUCTIONS or name == "mean":
            return getattr(inputs[0], name)(*inputs[1:], **keywords)
        if name not in _FUNCTIONS:
            raise Untraceable(f"the function {name}")
        return _FUNCTIONS[name](self.tape, *inputs, **keywords)


def _matmul(tape: Tape, a: Any, b: Any) -> Any:
    if np.ndim(concrete(a)) != 2 or np.ndim(concrete(b)) != 2:
        raise Untraceable("a product of other things than two matrices")
    return tape.record(op.MATMUL, concrete(a) @ concrete(b), (contiguous(a), contiguous(b)), (*a.shape, b.shape[1]))


def _stack(tape: Tape, arrays: Sequence[Any], axis: int = 0) -> TracedArray:
    out = tape.array(np.stack([concrete(a) for a in arrays], axis=axis))
    for index, array in enumerate(arrays):
        part = out.view(np.moveaxis(out.value, axis, 0)[index])
        tape.operations.append(Operation(op.COPY, (part,), (array,), ()))
    return out


class _Partitioned:
    """An array in which only the k-th smallest entries are at their place."""

    def __init__(self, array: TracedArray, kth: int, value: Any) -> None:
        self._array, self._kth, self._value = array, kth, value

    def __getitem__(self, key: Any) -> Any:
        if key != (slice(None), slice(self._kth, self._kth + 1)):
            raise Untraceable("entries of a partition that have no place")
        source = self._array.contiguous()
        return source.tape.record(op.SELECT, self._value[key], (source,), (*source.shape, self._kth))


def _partition(_: Tape, array: TracedArray, kth: int, axis: int) -> _Partitioned:
    if array.ndim != 2 or axis not in (1, -1):
        raise Untraceable("a partition along another axis than the last of two")
    return _Partitioned(array, kth, np.partition(array.value, kth, axis=1))


def _einsum(_: Tape, subscripts: str, a: Any, b: Any) -> Any:
    if subscripts != "isk,isk->si":
        raise Untraceable(f"einsum {subscripts}")
    return (a * b).sum(axis=2).T


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": lambda tape, *xs: tape.record(op.WHERE, np.where(*map(concrete, xs)), xs),
    "stack": _stack,
    "repeat": lambda tape, x, m, axis: tape.record(op.COPY, np.repeat(x.value, m, axis=axis), (x,)),
    "partition": _partition,
    "einsum": _einsum,
    "norm": lambda _, x, *, axis, keepdims=False: np.sqrt((x * x).sum(axis=axis, keepdims=keepdims)),
    "clip": lambda _, x, low, high: np.minimum(np.maximum(x, low), high),
    "broadcast_to": lambda _, x, shape: x.view(np.broadcast_to(x.value, tuple(shape))),
    "zeros_like": lambda _, x: np.zeros_like(x.value),
    "ones_like": lambda _, x: np.ones_like(x.value),
}
"""NumPy's other functions; each gets the tape and the function's arguments."""
