"""Each operation that a tape records is replayed as NumPy does it, bit for bit, on numbers that were not recorded."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpfl_theory.kernels.tape.operations import REDUCTIONS, UFUNCS, Untraceable
from dpfl_theory.kernels.tape.program import Program
from dpfl_theory.kernels.tape.record import RoundNumber
from dpfl_theory.kernels.tape.tracing import Tape, contiguous

SHAPES = [(3, 5, 4), (1, 1, 1), (2, 3, 300), (300, 2, 1)]
"""Clients, replicates, dimension; NumPy sums more than 8 and more than 128 numbers in other orders."""


def data(shape: tuple[int, ...], seed: int) -> Any:
    """Numbers of many sizes, some of which are special."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)
    return np.where(rng.random(shape) < 0.2, rng.choice([0.0, 1.0, -1.0, np.inf, np.nan], shape), numbers)


def replayed_as_numpy(function: Callable[..., Any], *arrays: Any) -> bool:
    """Whether a function recorded on other arrays gives on these what NumPy gives."""
    with np.errstate(all="ignore"):
        expected = np.asarray(function(*arrays), dtype=np.float64)
        tape = Tape()
        inputs = [tape.array(data(x.shape, 7)) for x in arrays]
        space = tape.array(np.zeros(expected.shape))
        result = contiguous(function(*inputs).astype(np.float64))
    program = Program(tape.operations, len(tape.operations), [*inputs, space], [*inputs, result], [], None)
    program.load(arrays)
    nothing = np.zeros((0, 1))
    assert program.run((nothing, nothing, nothing, np.zeros((0, 0, 1))), 1, 0, 1) == 1
    return np.array_equal(program.state()[-1], expected, equal_nan=True)


@pytest.mark.parametrize("booleans", [False, True], ids=["numbers", "booleans"])
@pytest.mark.parametrize("name", UFUNCS)
def test_every_function_of_the_table(name: str, booleans: bool) -> None:
    ufunc = getattr(np, name)

    def function(x: Any, y: Any) -> Any:
        operands = (x, y.T.reshape(x.shape), y[:1], y[:, :1, :1], 0.5)[: 5 if ufunc.nin == 2 else 2]
        results = [ufunc(*((v > 0 for v in vs) if booleans else vs)) for vs in pairs(operands)]
        return sum(results[1:], start=results[0] * 1.0)

    def pairs(operands: Any) -> list[tuple[Any, ...]]:
        return [(v,) for v in operands] if ufunc.nin == 1 else [(operands[0], v) for v in operands[1:]]

    shape = (3, 5, 4)
    if UFUNCS[name][booleans] is None:
        tape = Tape()
        with pytest.raises((Untraceable, TypeError)):
            function(tape.array(data(shape, 1)), tape.array(data(shape, 2)))
    else:
        assert replayed_as_numpy(function, data(shape, 1), data(shape, 2))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*REDUCTIONS, "mean"])
def test_every_reduction_over_all_axes(name: str, shape: tuple[int, ...]) -> None:
    x = data(shape, 3)
    finite = np.nan_to_num(x, posinf=1.0)
    axes = [None, *range(3), *itertools.combinations(range(3), 2)]
    for axis, keepdims, turned, booleans in itertools.product(axes, *[(False, True)] * 3):
        reduced = partial(reduction, name, axis, keepdims, turned, booleans)
        for values in (x, finite):
            assert replayed_as_numpy(reduced, values), (axis, keepdims, turned, booleans)


def reduction(name: str, axis: Any, keepdims: bool, turned: bool, booleans: bool, x: Any) -> Any:
    y = x.transpose(2, 0, 1) if turned else x
    return getattr(np, name)(y > 0 if booleans else y, axis=axis, keepdims=keepdims)


OTHERS: dict[str, Callable[..., Any]] = {
    "where": lambda x, y: np.where(x[:1, :, :1] > 0.0, x, y[0]),
    "where, with constants": lambda x, y: np.where(x > y, 1.0, np.arange(4.0)),
    "norm": lambda x, y: np.linalg.norm(x, axis=2, keepdims=True) + np.linalg.norm(y, axis=0),
    "clip": lambda x, y: np.clip(x, -0.5, y * y),
    "square, powers": lambda x, y: np.square(x) + y**2 + abs(x) ** 0.5 + y**1,
    "stack": lambda x, y: np.stack([x[0], y[1], np.ones((5, 4))], axis=1),
    "product of matrices": lambda x, y: x[0] @ y[1].T,
    "broadcast, repeat": lambda x, y: np.broadcast_to(x[:1], x.shape) + np.repeat(y[:1], 3, axis=0),
    "in place": lambda x, y: in_place(x * 1.0, y),
    "counts": lambda x, y: (x > 0.0).sum(axis=0) / 3 - (y > 0.0).mean(axis=0),
}


def in_place(x: Any, y: Any) -> Any:
    x += y
    x *= 2.0
    return x


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(name: str) -> None:
    x, y = (np.nan_to_num(data((3, 5, 4), seed), posinf=2.0) for seed in (4, 5))
    assert replayed_as_numpy(OTHERS[name], x, y)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "logarithm": np.log,
    "sort": np.sort,
    "index by a mask": lambda x: x[x > 0.0],
    "assignment": lambda x: x.__setitem__(0, 1.0),
    "number": lambda x: float(x[0, 0, 0]),
    "power": lambda x: x**3,
    "attribute": lambda x: x.flat,
    "reduction of a function": lambda x: np.add.reduce(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_in_the_tables_is_refused(name: str) -> None:
    with pytest.raises(Untraceable):
        REFUSED[name](Tape().array(np.ones((2, 3, 4))))


def test_a_round_number_is_at_least_its_own_and_nothing_else() -> None:
    k = RoundNumber(2)
    assert k >= 2
    assert not k < 1
    for function in (lambda: k >= 3, lambda: k < 3, lambda: k + 1, lambda: 2 * k, lambda: k == 2, lambda: range(k)):
        with pytest.raises(Untraceable):
            function()
