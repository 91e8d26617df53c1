"""A tape compiled for the virtual machine: instructions, and one block of memory with an address for each register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpfl_theory.kernels.linear import LOSSES
from dpfl_theory.kernels.tape import operations as op
from dpfl_theory.kernels.tape import virtual_machine
from dpfl_theory.kernels.tape.operations import Operation, Untraceable
from dpfl_theory.kernels.tape.tracing import Register, traced

Operations = Sequence[Operation]
Arrays = Sequence[Any]
_NO_DATA = (np.zeros((1, 1)), np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(1), 0, 0.0, 1)


def _loops(axes: Sequence[tuple[int, tuple[int, ...]]]) -> list[tuple[int, tuple[int, ...]]]:
    """Loops over axes, outermost first, as lengths and the strides of each operand; neighbours become one loop."""
    joined: list[tuple[int, tuple[int, ...]]] = []
    for m, strides in sorted((x for x in axes if x[0] > 1), key=lambda x: tuple(-abs(s) for s in x[1])):
        if joined and all(outer == m * s for outer, s in zip(joined[-1][1], strides)):
            joined[-1] = (joined[-1][0] * m, strides)
        else:
            joined.append((m, strides))
    return joined


class Program:
    """A tape that can be replayed.

    ``state`` and ``next_state``: the arrays of a round's state before and after it. values: the observables' values,
    (S,) each. Operations before ``boundary`` belong to the round, later ones to observables. data: of the linear
    model, or None.
    """

    def __init__(
        self, operations: Operations, boundary: int, state: Arrays, next_state: Arrays, values: Arrays, data: Any
    ) -> None:
        self._size = 0
        self._addresses: dict[Register, int] = {}
        self._constants: dict[Any, tuple[int, Any]] = {}
        """Addresses of constants, and the constants: the id of one that is gone might be given again."""
        self._pools: dict[Any, list[Any]] = {np.float64: [], np.int64: [], np.uint64: []}
        self._state = [(self._register(x.register), x.shape) for x in state]
        live, always = self._live(operations, boundary, next_state, values)
        pinned = {x.register for x in (*state, *next_state, *values) if traced(x)}
        instructions = self._allocated(live, pinned)
        code = np.zeros((len(instructions), max(map(len, instructions), default=1)), dtype=np.int64)
        for row, instruction in zip(code, instructions):
            row[: len(instruction)] = instruction
        moves = [(self._address(x), at, own.size) for x, own, (at, _) in zip(next_state, state, self._state)]
        moved = np.array([m for m in moves if m[0] != m[1]], dtype=np.int64).reshape(-1, 3)
        observed = np.array([self._address(x) for x in values], dtype=np.int64)
        self._memory = np.zeros(self._size)
        for at, x in self._pools[np.float64]:
            self._memory[at : at + x.size] = x.ravel()
        indices = np.concatenate([*self._pools[np.int64], np.zeros(1, dtype=np.int64)])
        draws = np.concatenate([*self._pools[np.uint64], np.zeros((1, 4), dtype=np.uint64)])
        model: Any = _NO_DATA
        if data is not None:
            parts = (data.x, data.y, data.offsets, data.threshold)
            model = (*parts, LOSSES[data.loss], float(data.ridge), int(data.classes))
        self._program = (code, always, indices, draws, model, moved, observed)

    @staticmethod
    def _live(operations: Operations, boundary: int, next_state: Arrays, values: Arrays) -> tuple[Operations, int]:
        """The operations without dead code: those that the next state needs, then the others that the observables need;
        and the number of the former."""

        def needed(results: Arrays, end: int) -> list[int]:
            wanted, indices = {x.register for x in results if traced(x)}, []
            for index in range(end - 1, -1, -1):
                operation = operations[index]
                if operation.opcode == op.GUARD or any(x.register in wanted for x in operation.outputs):
                    indices.append(index)
                    wanted |= {x.register for x in operation.inputs if traced(x)}
            return indices[::-1]

        update = needed(next_state, boundary)
        observe = [i for i in needed(values, len(operations)) if i not in set(update)]
        return [operations[i] for i in (*update, *observe)], len(update)

    def _reserve(self, size: int) -> int:
        at = self._size
        self._size += -(-size // 8) * 8
        return at

    def _register(self, register: Register) -> int:
        if register not in self._addresses:
            self._addresses[register] = self._reserve(register.owner.size)
        return self._addresses[register]

    def _constant(self, x: Any, key: Any) -> int:
        """The address of a constant in the pool of its type."""
        if key not in self._constants:
            pool = self._pools[x.dtype.type]
            at = self._reserve(x.size) if x.dtype == np.float64 else sum(len(part) for part in pool)
            pool.append((at, x) if x.dtype == np.float64 else x)
            self._constants[key] = at, x
        return self._constants[key][0]

    def _address(self, x: Any) -> int:
        """The start of an array in C order."""
        return self._register(x.register) + int(x.layout[0]) if traced(x) else self._constant(x, id(x))

    def _filled(self, x: Any, like: Any) -> int:
        """The address of a constant operand that is written out in the layout of the result."""
        strides = tuple(s // like.itemsize for s in like.strides)
        size = sum((m - 1) * s for m, s in zip(like.shape, strides)) + 1
        if np.ndim(x) == 0:
            return self._constant(np.full(size, x, dtype=np.float64), (np.float64(x).tobytes(), size))
        whole = np.zeros(size)
        np.lib.stride_tricks.as_strided(whole, like.shape, tuple(8 * s for s in strides))[...] = x
        return self._constant(whole, whole.tobytes())

    def _allocated(self, operations: Operations, pinned: set[Register]) -> list[list[int]]:
        """The instructions. Linear scan allocates registers: where the lifetime of one has ended, its memory is given
        to the next one of its size. Pinned registers live from one round to the next."""
        last: dict[Register, int] = {}
        for index, operation in enumerate(operations):
            last.update((x.register, index) for x in (*operation.outputs, *operation.inputs) if traced(x))
        free: dict[int, list[int]] = {}
        instructions = []
        for index, operation in enumerate(operations):
            for register in (x.register for x in operation.outputs):
                if register not in self._addresses and free.get(register.owner.size):
                    self._addresses[register] = free[register.owner.size].pop()
            instructions.append(self._instruction(operation))
            for register in {x.register for x in (*operation.outputs, *operation.inputs) if traced(x)}:
                if last[register] == index and register not in pinned:
                    free.setdefault(register.owner.size, []).append(self._addresses[register])
        return instructions

    def _instruction(self, operation: Operation) -> list[int]:
        """An opcode, then whole numbers, then the addresses of outputs and inputs; or loops over strides."""
        if operation.opcode <= op.WHERE:
            return self._elementwise(operation)
        if operation.opcode <= op.MAX:
            return self._reduction(operation)
        addresses = (self._address(x) for x in (*operation.outputs, *operation.inputs))
        return [operation.opcode, *operation.numbers, *addresses]

    def _elementwise(self, operation: Operation) -> list[int]:
        """Three loops, of which the last one is the longest, and the result and three operands."""
        out = operation.outputs[0]
        start, strides = out.layout
        starts, steps = [self._register(out.register) + start], [strides]
        for x in operation.inputs:
            if traced(x):
                seen = np.broadcast_to(x.value, out.shape)
                starts.append(self._address(x))
                steps.append(tuple(s // seen.itemsize for s in seen.strides))
            else:
                starts.append(self._filled(x, out.value))
                steps.append(strides)
        starts += starts[:1] * (4 - len(starts))  # operands that an operation does not have
        steps += steps[:1] * (4 - len(steps))
        loops = _loops(list(zip(out.shape, zip(*steps))))
        if len(loops) > 3:
            raise Untraceable("more than three loops")
        longest = max(range(len(loops)), key=lambda i: loops[i][0] + (8 if loops[i][1][0] == 1 else 0), default=0)
        loops = loops[:longest] + loops[longest + 1 :] + loops[longest : longest + 1]
        loops = [(1, (0,) * 4)] * (3 - len(loops)) + loops
        if loops[-1][0] == 1:
            loops[-1] = (1, (1,) * 4)
        operands = [(at, *(strides[i] for _, strides in loops)) for i, at in enumerate(starts)]
        return [operation.opcode, *(m for m, _ in loops), *(number for operand in operands for number in operand)]

    def _reduction(self, operation: Operation) -> list[int]:
        """Two kept loops, then an outer and an inner reduced one: the inner one is that over neighbours, which NumPy
        sums by pairs."""
        source, result = operation.inputs[0], operation.outputs[0]
        axes, keepdims = operation.numbers
        strides, out_strides = source.layout[1], list(result.layout[1])
        if not keepdims:
            for axis in sorted(axes):
                out_strides.insert(axis, 0)
        kept = _loops([(source.shape[a], (strides[a], out_strides[a])) for a in range(source.ndim) if a not in axes])
        reduced = _loops([(source.shape[a], (strides[a],)) for a in axes])
        pairwise = len(reduced) > 0 and all(abs(reduced[-1][1][0]) < abs(s[0]) for _, s in kept)
        inner = reduced.pop() if pairwise else (1, (0,))
        if len(reduced) > 1 or len(kept) > 2:
            raise Untraceable("a reduction with too many loops")
        outer = reduced[0] if reduced else (1, (0,))
        lengths, steps = zip(*([(1, (0, 0))] * (2 - len(kept)) + kept))
        ins, outs = zip(*steps)
        addresses = (self._address(result), *outs, self._address(source), *ins)
        return [operation.opcode, *lengths, *addresses, outer[0], *outer[1], inner[0], *inner[1]]

    def load(self, state: Sequence[Any]) -> None:
        """Put a state's arrays where the next round reads them."""
        for (at, _), x in zip(self._state, state):
            self._memory[at : at + x.size] = np.asarray(x, dtype=np.float64).ravel()

    def state(self) -> list[Any]:
        """Copies of the state's arrays."""
        return [self._memory[at : at + int(np.prod(m))].reshape(m).copy() for at, m in self._state]

    def run(self, sums: tuple[Any, Any, Any, Any], every: int, first: int, end: int) -> int:
        """Run rounds first, ..., end - 1 as `virtual_machine.run` does."""
        return int(virtual_machine.run(self._program, self._memory, sums, every, first, end))
