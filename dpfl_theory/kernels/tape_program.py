"""A tape converted for the player: rows of numbers, and one block of memory with places for all arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpfl_theory.kernels import philox, tape_vm
from dpfl_theory.kernels.engine import Replicates
from dpfl_theory.kernels.linear import LOSSES, linear_block
from dpfl_theory.kernels.tape import GUARD, MATMUL, REDUCE, SELECT, Operation, Register, Untraceable
from dpfl_theory.kernels.tape_tracing import Traced, traced
from dpfl_theory.kernels.tape_vm import KERNELS, WIDTH

__all__ = ["Program"]

_NO_DATA = (np.zeros((1, 1)), np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(1), 0, 0.0, 1)


def _loops(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[tuple[int, tuple[int, ...]]]:
    """The loops over an array, outermost first: lengths, and the strides of each operand; neighbours are joined."""
    axes = [(m, tuple(s[a] for s in strides)) for a, m in enumerate(shape) if m > 1]
    axes.sort(key=lambda axis: tuple(-abs(s) for s in axis[1]))
    joined: list[tuple[int, tuple[int, ...]]] = []
    for m, steps in axes:
        if joined and all(before == m * step for before, step in zip(joined[-1][1], steps)):
            joined[-1] = (joined[-1][0] * m, steps)
        else:
            joined.append((m, steps))
    return joined


def _names(replicates: Replicates, clients: int, by_client: bool, step: int, stream: int) -> Any:
    """The names of the addresses of these replicates and clients, one client after the other or one replicate after the
    other."""
    if replicates.parts:
        drawn = replicates.by_part(lambda p, _: _names(p, clients, by_client, step, stream).reshape(-1, p.count, 4))
        if not by_client:  # all clients of a replicate, then those of the next one
            drawn = [part.reshape(1, -1, 4) for part in drawn]
        return np.concatenate(drawn, axis=1).reshape(-1, 4)
    names = np.empty((clients * replicates.count, 4), dtype=np.uint64)
    nobody = np.empty((0, 0), dtype=np.int64)
    by_replicate = 0 if by_client else clients
    philox.fill_names(
        names, nobody, 0, replicates.count, by_replicate, np.uint64(replicates.seed), replicates.first, step, stream
    )
    return names


class Program:
    """A tape that can be replayed.

    ``begin``, then: the traced arrays of a round's state before and after it. values: the observables' values,
    (S,) each. Operations before ``boundary`` belong to the round, later ones to observables. data: of the linear model,
    or None.
    """

    def __init__(
        self,
        operations: Sequence[Operation],
        boundary: int,
        begin: Sequence[Traced],
        then: Sequence[Any],
        values: Sequence[Any],
        data: Any,
    ) -> None:
        self._memory: list[tuple[int, Any]] = []  # constants and their places
        self._size = 1
        self._constants: dict[Any, int] = {}
        self._kept: list[Any] = []
        self._ints: list[Any] = []
        self._names: list[Any] = []
        self._places: dict[Register, int] = {}
        self._data = data
        self._begin = [self._place_of(x.register) for x in begin]
        self._begin_shapes = [x.shape for x in begin]
        chosen = self._ordered(operations, boundary, then, values)
        rows = self._rows(chosen, {x.register for x in (*begin, *then, *values) if traced(x)})
        self.always = self._always
        self.code = np.zeros((len(rows), WIDTH), dtype=np.int64)
        for line, row in zip(self.code, rows):
            line[: len(row)] = row
        moves = [
            (self._at(x), place, size)
            for x, place, size in zip(then, self._begin, (x.size for x in begin))
            if not (traced(x) and self._places.get(x.register) == place)
        ]
        self.commits = np.array(moves, dtype=np.int64).reshape(-1, 3)
        self.values = np.array([self._at(x) for x in values], dtype=np.int64)
        self.memory = np.zeros(self._size)
        for at, x in self._memory:
            self.memory[at : at + x.size] = x.ravel(order="K")
        self.ints = np.concatenate([*self._ints, np.zeros(1, dtype=np.int64)])
        self.names = np.concatenate([*self._names, np.zeros((1, 4), dtype=np.uint64)])
        self.data = _NO_DATA
        if data is not None:
            parts = (data.x, data.y, data.offsets, data.threshold)
            self.data = (*parts, LOSSES[data.loss], float(data.ridge), int(data.classes))

    # The operations and their order.
    def _ordered(
        self, operations: Sequence[Operation], boundary: int, then: Sequence[Any], values: Sequence[Any]
    ) -> list[Operation]:
        """The operations that the next state needs, then the others that the observables need; no other operation is
        done."""

        def needed(wanted: set[Register], until: int) -> list[int]:
            found = []
            for index in range(until - 1, -1, -1):
                op = operations[index]
                if op.code == GUARD or any(x.register in wanted for x in op.out):
                    found.append(index)
                    wanted |= {x.register for x in op.inputs if traced(x)}
            return found[::-1]

        state = needed({x.register for x in then if traced(x)}, boundary)
        done = set(state)
        more = needed({x.register for x in values if traced(x)}, len(operations))
        self._always = len(state)
        return [operations[i] for i in state] + [operations[i] for i in more if i not in done]

    # The places of the arrays.
    def _reserve(self, size: int) -> int:
        at = self._size
        self._size += -(-size // 8) * 8
        return at

    def _place_of(self, register: Register) -> int:
        if register not in self._places:
            self._places[register] = self._reserve(register.size)
        return self._places[register]

    def _constant(self, x: Any) -> int:
        """The positions of the numbers of x, in the order in which they are in memory."""
        key = id(x)
        if key not in self._constants:
            self._kept.append(x)  # otherwise its id might be given again
            self._constants[key] = self._reserve(x.size)
            self._memory.append((self._constants[key], np.asarray(x, dtype=np.float64)))
        return self._constants[key]

    def _spread(self, x: Any, like: Any) -> int:
        """The place of a constant operand that is written out in the layout of the result; once for each layout."""
        strides = tuple(s // like.itemsize for s in like.strides)
        key = (float(x) if np.ndim(x) == 0 else id(x), like.shape, strides)
        if key not in self._constants:
            self._kept.append(x)
            whole = np.full(sum((m - 1) * s for m, s in zip(like.shape, strides)) + 1, 0.0)
            np.lib.stride_tricks.as_strided(whole, like.shape, tuple(8 * s for s in strides))[...] = x
            self._constants[key] = self._reserve(whole.size)
            self._memory.append((self._constants[key], whole))
        return int(self._constants[key])

    def _at(self, x: Any) -> int:
        """The start of an array in C order."""
        if not traced(x):
            return self._constant(np.ascontiguousarray(x, dtype=np.float64))
        return self._place_of(x.register) + int(x.place[0])

    def _whole(self, x: Any) -> int:
        """The start of whole numbers."""
        self._ints.append(np.asarray(x, dtype=np.int64).ravel())
        return sum(part.size for part in self._ints[:-1])

    # The rows.
    def _rows(self, operations: Sequence[Operation], pinned: set[Register]) -> list[list[int]]:
        last: dict[Register, int] = {}
        for index, op in enumerate(operations):
            for x in (*op.out, *op.inputs):
                if traced(x):
                    last[x.register] = index
        free: dict[int, list[int]] = {}
        rows = []
        for index, op in enumerate(operations):
            for x in op.out:
                register = x.register
                if register not in self._places and free.get(register.size):
                    self._places[register] = free[register.size].pop()
            rows.append(self._row(op))
            for x in {x.register for x in (*op.out, *op.inputs) if traced(x)}:
                if last[x] == index and x not in pinned:
                    free.setdefault(x.size, []).append(self._places[x])
        return rows

    def _row(self, op: Operation) -> list[int]:
        if op.code < 32:
            return self._elementwise(op)
        if op.code in REDUCE.values():
            return self._reduction(op)
        if op.code == MATMUL:
            return [MATMUL, *op.numbers, self._at(op.out[0]), *(self._at(x) for x in op.inputs)]
        if op.code == SELECT:
            lines, n = op.inputs[0].shape
            return [SELECT, lines, n, op.numbers[0], self._at(op.out[0]), self._at(op.inputs[0])]
        if op.code == GUARD:
            return [GUARD, self._at(op.inputs[0]), int(op.numbers[0])]
        if op.code <= KERNELS["normal"]:
            return self._noise(op)
        if op.code <= KERNELS["segment_energy"]:
            return self._segments(op)
        if op.code <= KERNELS["bounded_combine"]:
            out, norms = self._at(op.out[0]), self._at(op.out[-1])
            inputs = [self._at(x) for x in op.inputs]
            return [op.code, *op.numbers[:3], out, norms, *inputs[:2], inputs[-1], *op.numbers[3:]]
        return self._linear(op)

    def _elementwise(self, op: Operation) -> list[int]:
        out = op.out[0]
        start, strides = out.place
        places, steps = [self._place_of(out.register) + start], [strides]
        for x in op.inputs:
            if traced(x):
                size = x.now.itemsize
                seen = np.broadcast_to(x.now, out.shape)
                places.append(self._place_of(x.register) + x.place[0])
                steps.append(tuple(s // size for s in seen.strides))
            else:  # written out in the layout of the result
                places.append(self._spread(x, out.now))
                steps.append(strides)
        while len(places) < 4:  # operands that an operation does not have
            places.append(places[0])
            steps.append(strides)
        loops = _loops(out.shape, steps)
        if len(loops) > 3:
            raise Untraceable("more than three loops")
        longest = max(range(len(loops)), key=lambda i: loops[i][0] + (8 if loops[i][1][0] == 1 else 0), default=0)
        loops = loops[:longest] + loops[longest + 1 :] + loops[longest : longest + 1]
        loops = [(1, (0,) * 4)] * (3 - len(loops)) + loops
        if loops[-1][0] == 1:
            loops[-1] = (1, (1,) * 4)
        row = [op.code, *(m for m, _ in loops)]
        for operand, at in enumerate(places):
            row += [at, *(steps[operand] for _, steps in loops)]
        return row

    def _reduction(self, op: Operation) -> list[int]:
        source, result = op.inputs[0], op.out[0]
        axes, keepdims = op.numbers
        strides = source.place[1]
        out_strides = list(result.place[1])
        if not keepdims:
            for axis in sorted(axes):
                out_strides.insert(axis, 0)
        both = [(0 if a in axes else out_strides[a], s) for a, s in enumerate(strides)]
        order = sorted((a for a in range(source.ndim) if source.shape[a] > 1), key=lambda a: -abs(strides[a]))
        kept = [(source.shape[a], *both[a]) for a in order if a not in axes]
        gone = [(source.shape[a], strides[a]) for a in order if a in axes]
        joined: list[tuple[int, int]] = []
        for (m, step), axis in zip(gone, [a for a in order if a in axes]):
            neighbours = joined and order.index(axis) > 0 and order[order.index(axis) - 1] in axes
            if neighbours and joined[-1][1] == m * step:
                joined[-1] = (joined[-1][0] * m, step)
            else:
                joined.append((m, step))
        inner = joined.pop() if joined and order[-1] in axes else (1, 0)
        if len(joined) > 1 or len(kept) > 2:
            raise Untraceable("a sum with too many loops")
        outer = joined[0] if joined else (1, 0)
        kept = [(1, 0, 0)] * (2 - len(kept)) + kept
        at_out = self._place_of(result.register) + result.place[0]
        at_in = self._place_of(source.register) + source.place[0]
        lengths, outs, ins = zip(*kept)
        return [op.code, *lengths, at_out, *outs, at_in, *ins, *outer, *inner]

    def _noise(self, op: Operation) -> list[int]:
        replicates, clients, width, stream, step = op.numbers
        names = _names(replicates, clients, op.code == KERNELS["normal"], step, stream)
        first = sum(len(part) for part in self._names)
        self._names.append(names)
        where = [self._at(x) for x in op.inputs] or [-1]
        return [op.code, len(names), self._at(op.out[0]), first, width, *where, replicates.count]

    def _segments(self, op: Operation) -> list[int]:
        S, R, n = op.numbers[:3]
        row = [op.code, S, R, n, self._whole(op.inputs[-1]), self._at(op.out[0]), self._at(op.out[-1])]
        row += [self._at(x) for x in op.inputs[:2]]
        return [*row, self._whole(op.inputs[2]), op.numbers[3]] if op.code == KERNELS["segment_update"] else row

    def _linear(self, op: Operation) -> list[int]:
        data, w = self._data, op.inputs[0]
        rows = (
            w.size // data.x.shape[1]
            if op.code != KERNELS["linear_gradients"]
            else w.size // (data.clients * data.x.shape[1])
        )
        step = self._at(op.inputs[1]) if len(op.inputs) > 1 else 0
        at = [self._at(op.out[0]), self._at(w), step]
        return [op.code, data.clients, rows, data.x.shape[1], *at, *op.numbers, linear_block(data)]

    # Playing.
    def load(self, state: Sequence[Any]) -> None:
        """Put a state's arrays into the places where the next round reads them."""
        for at, x in zip(self._begin, state):
            self.memory[at : at + x.size] = np.asarray(x, dtype=np.float64).ravel()

    def state(self) -> list[Any]:
        """Copies of the state's arrays."""
        return [
            self.memory[at : at + int(np.prod(shape))].reshape(shape).copy()
            for at, shape in zip(self._begin, self._begin_shapes)
        ]

    def play(self, total: Any, smallest: Any, last: Any, series: Any, every: int, first: int, end: int) -> int:
        """Rounds first to end - 1, as `player.play` does them."""
        return int(
            tape_vm.play(
                self.code,
                self.always,
                self.memory,
                self.ints,
                self.names,
                self.data,
                self.commits,
                self.values,
                total,
                smallest,
                last,
                series,
                every,
                first,
                end,
            )
        )
