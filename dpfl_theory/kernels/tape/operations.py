"""The operations that a tape holds: their opcodes, and the operations of NumPy and of the engine that become them.

These tables are the only lists of operations: the recorder looks NumPy's names up in them, and the virtual machine
branches on their opcodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

MOST_NUMBERS = 1 << 16
"""The size of an array (clients, replicates, d) or (replicates, records) up to which a tape is faster
(`benchmarks/rounds.py`)."""


class Untraceable(Exception):
    """An operation that a tape cannot hold."""


class Operation(NamedTuple):
    """One entry of a tape: an opcode, the arrays that it writes and reads, and whole numbers. Outputs are traced
    arrays; inputs are traced arrays or constants."""

    opcode: int
    outputs: tuple[Any, ...]
    inputs: tuple[Any, ...]
    numbers: tuple[Any, ...]


# Element by element; the virtual machine represents booleans by 0.0 and 1.0.
COPY, NEGATIVE, SQRT, ABSOLUTE, LOGICAL_NOT, TRUNCATE = range(6)
ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, MINIMUM = range(6, 12)
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL = range(12, 18)
LOGICAL_AND, LOGICAL_OR, WHERE = range(18, 21)
# Of whole arrays.
SUM, MIN, MAX, MATMUL, SELECT, GUARD = range(21, 27)
# Of the engine.
UNIFORM, NORMAL, NORMAL_WHERE = range(27, 30)
SEGMENT_UPDATE, SEGMENT_SCALE, SEGMENT_ENERGY, COMBINE, BOUNDED_COMBINE = range(30, 35)
LINEAR_LOCAL_PHASE, LINEAR_GRADIENTS, LINEAR_VALUES = range(35, 38)

UFUNCS: dict[str, tuple[int | None, int | None]] = {
    "positive": (COPY, None),
    "negative": (NEGATIVE, None),
    "sqrt": (SQRT, None),
    "absolute": (ABSOLUTE, COPY),
    "fabs": (ABSOLUTE, None),
    "add": (ADD, LOGICAL_OR),
    "subtract": (SUBTRACT, None),
    "multiply": (MULTIPLY, LOGICAL_AND),
    "divide": (DIVIDE, DIVIDE),
    "maximum": (MAXIMUM, LOGICAL_OR),
    "minimum": (MINIMUM, LOGICAL_AND),
    "less": (LESS, LESS),
    "less_equal": (LESS_EQUAL, LESS_EQUAL),
    "greater": (GREATER, GREATER),
    "greater_equal": (GREATER_EQUAL, GREATER_EQUAL),
    "equal": (EQUAL, EQUAL),
    "not_equal": (NOT_EQUAL, NOT_EQUAL),
    "logical_not": (LOGICAL_NOT, LOGICAL_NOT),
    "logical_and": (LOGICAL_AND, LOGICAL_AND),
    "logical_or": (LOGICAL_OR, LOGICAL_OR),
    "invert": (None, LOGICAL_NOT),
    "bitwise_and": (None, LOGICAL_AND),
    "bitwise_or": (None, LOGICAL_OR),
}
"""NumPy's functions element by element, with their opcodes on numbers and on booleans; None is not recorded."""
REDUCTIONS = {"sum": SUM, "min": MIN, "max": MAX, "any": MAX, "all": MIN}
"""NumPy's reductions; `any` and `all` are those of booleans."""
KERNELS = {
    "uniform": UNIFORM,
    "normal": NORMAL,
    "segment_update": SEGMENT_UPDATE,
    "segment_scale": SEGMENT_SCALE,
    "segment_energy": SEGMENT_ENERGY,
    "combine": COMBINE,
    "bounded_combine": BOUNDED_COMBINE,
    "linear_local_phase": LINEAR_LOCAL_PHASE,
    "linear_gradients": LINEAR_GRADIENTS,
    "linear_values": LINEAR_VALUES,
}
"""The methods of the CPU engine that are recorded."""
