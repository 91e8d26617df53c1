"""The engine that records a round: its operations on traced arrays, and its draws of a round with any number."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfl_theory.kernels import philox
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import Replicates
from dpfl_theory.kernels.linear import linear_block
from dpfl_theory.kernels.tape import operations as op
from dpfl_theory.kernels.tape.operations import KERNELS, Untraceable
from dpfl_theory.kernels.tape.tracing import Tape, concrete, contiguous, traced

_ORIGINAL = {name: CpuEngine.__dict__[name] for name in KERNELS}


class RoundNumber:
    """The round number that represents itself and all later ones."""

    def __init__(self, first: int) -> None:
        self.first = first

    def __lt__(self, bound: Any) -> bool:
        return not self >= bound

    def __ge__(self, bound: Any) -> bool:
        if not isinstance(bound, int) or bound > self.first:
            raise Untraceable("the operations depend on the number of the round")
        return True

    def _refuse(self, *_: Any) -> Any:
        raise Untraceable("a number is made from that of the round")

    __index__ = __int__ = __float__ = __bool__ = __le__ = __gt__ = __eq__ = __ne__ = __hash__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __floordiv__ = _refuse
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __array__ = _refuse


class _Module:
    """NumPy, with traced versions of those functions that do not dispatch on their arguments."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    asarray = staticmethod(lambda x: x if traced(x) else np.asarray(x))
    ascontiguousarray = staticmethod(lambda x: x.contiguous() if traced(x) else np.ascontiguousarray(x))


def _addresses(replicates: Replicates, clients: int, by_client: bool, step: int, stream: int) -> Any:
    """The addresses (draws, 4) of the draws of these replicates and clients, one client after the other or one
    replicate after the other."""
    if replicates.parts:
        parts = replicates.by_part(lambda p, _: _addresses(p, clients, by_client, step, stream).reshape(-1, p.count, 4))
        if not by_client:  # all clients of a replicate, then those of the next one
            parts = [part.reshape(1, -1, 4) for part in parts]
        return np.concatenate(parts, axis=1).reshape(-1, 4)
    names = np.empty((clients * replicates.count, 4), dtype=np.uint64)
    everyone = np.empty((0, 0), dtype=np.int64)
    seed, inner = np.uint64(replicates.seed), 0 if by_client else clients
    philox.fill_names(names, everyone, 0, replicates.count, inner, seed, replicates.first, step, stream)
    return names


class RecordingEngine(CpuEngine):
    """Does the operations of the CPU engine, and records those that depend on the round."""

    xp: Any = _Module()

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self.tape = tape
        self.data: Any = None
        """The records of the linear model that the tape uses; it can hold one."""
        if any(CpuEngine.__dict__[name] is not method for name, method in _ORIGINAL.items()):
            raise Untraceable("an operation of the engine has been replaced")

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise Untraceable("an operation on some clients or records")

    normal_of = subsets = linear_record_sums = _refuse

    def asarray(self, x: Any) -> Any:
        return x if traced(x) else super().asarray(x)

    def to_host(self, x: Any) -> Any:
        if traced(x):
            raise Untraceable("an array is read")
        return super().to_host(x)

    def uniform(self, replicates: Replicates, round_: Any, clients: int, stream: int, step: int = 0) -> Any:
        if not isinstance(round_, RoundNumber):
            return super().uniform(replicates, round_, clients, stream, step)
        value = super().uniform(replicates, round_.first, clients, stream, step)
        addresses = _addresses(replicates, clients, False, step, stream)
        return self.tape.record(op.UNIFORM, value, (addresses,), (len(addresses),))

    def normal(
        self, replicates: Replicates, round_: Any, clients: int, d: int, stream: int, step: int = 0, where: Any = None
    ) -> Any:
        if not isinstance(round_, RoundNumber):
            if traced(where):
                raise Untraceable("noise of a fixed round in replicates that change")
            return super().normal(replicates, round_, clients, d, stream, step, where)
        mask = () if where is None else (contiguous(where),)
        value = super().normal(replicates, round_.first, clients, d, stream, step, *(concrete(x) for x in mask))
        addresses = _addresses(replicates, clients, True, step, stream)
        opcode = op.NORMAL_WHERE if mask else op.NORMAL
        return self.tape.record(opcode, value, (addresses, *mask), (len(addresses), d, replicates.count))

    def _record(self, name: str, arrays: Any, indices: Any, numbers: Any, *first: Any, **options: Any) -> Any:
        """Record a kernel's result; ``indices`` are constant arrays of whole numbers."""
        if any(traced(x) for x in indices):
            raise Untraceable("indices that change")
        operands = (*(contiguous(x) for x in arrays), *(np.ascontiguousarray(x, dtype=np.int64) for x in indices))
        value = _ORIGINAL[name](self, *first, *(concrete(x) for x in operands), **options)
        if name == "linear_values":
            value = np.ascontiguousarray(value.T)  # as the compiled kernel writes them, (n, S)
        return self.tape.record(KERNELS[name], value, operands, numbers)

    def segment_update(self, y: Any, factors: Any, rows: Any, offsets: Any) -> Any:
        numbers = (*y.shape, len(offsets) - 1, len(factors))
        return self._record("segment_update", (y, factors), (rows, offsets), numbers)

    def segment_scale(self, z: Any, factors: Any, offsets: Any) -> Any:
        return self._record("segment_scale", (z, factors), (offsets,), (*z.shape, len(offsets) - 1))

    def segment_energy(self, y: Any, eigenvalues: Any, offsets: Any) -> Any:
        return self._record("segment_energy", (y, eigenvalues), (offsets,), (*y.shape, len(offsets) - 1))

    def combine(self, updates: Any, weights: Any) -> Any:
        return self._record("combine", (updates, weights), (), updates.shape)

    def bounded_combine(self, updates: Any, weights: Any, threshold: Any, normalise: bool) -> Any:
        numbers = (*updates.shape, int(normalise))
        return self._record("bounded_combine", (updates, weights, threshold), (), numbers, normalise=normalise)

    def _linear(self, name: str, data: Any, *arrays: Any, **options: Any) -> Any:
        if self.data is not None and self.data is not data:
            raise Untraceable("records of two problems")
        self.data = data
        (replicates, d), features = arrays[0].shape[-2:], data.x.shape[1]
        numbers = (data.clients, replicates * d // features, features, options.get("steps", 0), linear_block(data))
        return self._record(name, arrays, (), numbers, data, **options)

    def linear_local_phase(self, data: Any, w: Any, step: Any, steps: int, cohort: Any = None) -> Any:
        if cohort is not None:
            raise Untraceable("local phases of some clients")
        return self._linear("linear_local_phase", data, w, step, steps=steps)

    def linear_gradients(self, data: Any, w: Any) -> Any:
        return self._linear("linear_gradients", data, w)

    def linear_values(self, data: Any, w: Any) -> Any:
        return self._linear("linear_values", data, w).T.contiguous()
