"""The CPU engine for a tape: its operations on traced arrays are recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import Replicates
from dpfl_theory.kernels.tape import RoundNumber, Untraceable
from dpfl_theory.kernels.tape_tracing import Tape, Traced, traced
from dpfl_theory.kernels.tape_vm import KERNELS

__all__ = ["Recorder"]

_KNOWN = {name: CpuEngine.__dict__[name] for name in KERNELS}


class _Module:
    """NumPy, with those functions that do not dispatch on their arguments."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def ascontiguousarray(x: Any) -> Any:
        return x.contiguous() if traced(x) else np.ascontiguousarray(x)

    @staticmethod
    def asarray(x: Any) -> Any:
        return x if traced(x) else np.asarray(x)


def _contiguous(x: Any) -> Any:
    """An operand in C order."""
    return x.contiguous() if traced(x) else np.ascontiguousarray(x)


def _now(x: Any) -> Any:
    return x.now if isinstance(x, Traced) else x


class Recorder(CpuEngine):
    """Does the engine's operations, and records those that depend on the round. ``tape`` None records nothing."""

    xp: Any = _Module()

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self.tape = tape
        self.data: Any = None
        """The records of the linear model that the tape uses; it can hold one."""
        if any(CpuEngine.__dict__[name] is not known for name, known in _KNOWN.items()):
            raise Untraceable("an operation of the engine has been replaced")

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
        return self.tape.record(KERNELS["uniform"], value, (), (replicates, clients, 1, stream, step))

    def normal(
        self, replicates: Replicates, round_: Any, clients: int, d: int, stream: int, step: int = 0, where: Any = None
    ) -> Any:
        if not isinstance(round_, RoundNumber):
            if traced(where):
                raise Untraceable("noise of a fixed round in replicates that change")
            return super().normal(replicates, round_, clients, d, stream, step, where)
        inputs = () if where is None else (_contiguous(where),)
        value = super().normal(replicates, round_.first, clients, d, stream, step, *(_now(x) for x in inputs))
        return self.tape.record(KERNELS["normal"], value, inputs, (replicates, clients, d, stream, step))

    def normal_of(self, *_: Any, **__: Any) -> Any:
        raise Untraceable("noise of some clients")

    def subsets(self, *_: Any, **__: Any) -> Any:
        raise Untraceable("subsets of records")

    def linear_record_sums(self, *_: Any, **__: Any) -> Any:
        raise Untraceable("gradients of single records")

    def segment_update(self, y: Any, factors: Any, rows: Any, offsets: Any) -> tuple[Any, Any]:
        if traced(factors) or traced(rows) or not traced(y):
            raise Untraceable("step sizes that change")
        y = y.contiguous()
        z, norms = (self.tape.fresh(v) for v in super().segment_update(y.now, factors, rows, offsets))
        sizes = (y.shape[0], y.shape[1], len(offsets) - 1, len(factors))
        self.tape.append(
            KERNELS["segment_update"], (z, norms), (y, np.ascontiguousarray(factors), rows, offsets), sizes
        )
        return z, norms

    def segment_scale(self, z: Any, factors: Any, offsets: Any) -> Any:
        z, factors = _contiguous(z), _contiguous(factors)
        out = super().segment_scale(_now(z), _now(factors), offsets)
        sizes = (z.shape[0], z.shape[1], len(offsets) - 1)
        return self.tape.record(KERNELS["segment_scale"], out, (z, factors, offsets), sizes)

    def segment_energy(self, y: Any, eigenvalues: Any, offsets: Any) -> Any:
        y = _contiguous(y)
        out = super().segment_energy(_now(y), eigenvalues, offsets)
        sizes = (y.shape[0], y.shape[1], len(offsets) - 1)
        return self.tape.record(KERNELS["segment_energy"], out, (y, eigenvalues, offsets), sizes)

    def combine(self, updates: Any, weights: Any) -> Any:
        updates, weights = _contiguous(updates), _contiguous(weights)
        out = super().combine(_now(updates), _now(weights))
        return self.tape.record(KERNELS["combine"], out, (updates, weights), updates.shape)

    def bounded_combine(self, updates: Any, weights: Any, threshold: Any, normalise: bool) -> tuple[Any, Any]:
        updates, weights, threshold = _contiguous(updates), _contiguous(weights), _contiguous(threshold)
        values = super().bounded_combine(_now(updates), _now(weights), _now(threshold), normalise)
        out, norms = (self.tape.fresh(v) for v in values)
        numbers = (*updates.shape, int(normalise))
        self.tape.append(KERNELS["bounded_combine"], (out, norms), (updates, weights, threshold), numbers)
        return out, norms

    def _linear(self, name: str, data: Any, value: Any, inputs: Any, steps: int = 0) -> Any:
        if self.data is not None and self.data is not data:
            raise Untraceable("records of two problems")
        self.data = data
        return self.tape.record(KERNELS[name], value, inputs, (steps,))

    def linear_local_phase(self, data: Any, w: Any, step: Any, steps: int, cohort: Any = None) -> Any:
        if cohort is not None:
            raise Untraceable("local phases of some clients")
        w, step = _contiguous(w), _contiguous(step)
        value = super().linear_local_phase(data, _now(w), _now(step), steps)
        return self._linear("linear_local_phase", data, value, (w, step), steps)

    def linear_gradients(self, data: Any, w: Any) -> Any:
        w = _contiguous(w)
        return self._linear("linear_gradients", data, super().linear_gradients(data, _now(w)), (w,))

    def linear_values(self, data: Any, w: Any) -> Any:
        w = _contiguous(w)
        value = super().linear_values(data, _now(w))  # (S, n), and what the kernel writes is (n, S)
        return self._linear("linear_values", data, np.ascontiguousarray(value.T), (w,)).T.contiguous()
