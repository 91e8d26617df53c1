"""A tape: the operations of one round on its arrays, recorded once and replayed for every other round.

Algorithms, problems and observables are written over an array module. On small problems nearly all the time of a round
is the overhead of Python and NumPy for each operation. Here a round runs once on arrays that record the operations that
made them (`dpfl_theory.kernels.tape_tracing`). The list of operations, in terms of places in one block of memory, is
then replayed for all further rounds by one compiled loop (`dpfl_theory.kernels.tape_vm`). Nothing is translated: the
replayed operations are those that were run.

Operations on arrays that do not change from round to round are done once, while recording. A decision that depends on a
traced array is recorded as a guard: where a later round would decide differently, the player stops before it. An
operation that cannot be recorded raises `Untraceable`, and the run continues without a tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "ELEMENTWISE",
    "GUARD",
    "MATMUL",
    "MOST_NUMBERS",
    "REDUCE",
    "SELECT",
    "Operation",
    "Register",
    "RoundNumber",
    "Untraceable",
]


class Untraceable(Exception):
    """Something that a tape cannot hold."""


_NAMES = (
    "copy negative sqrt absolute logical_not trunc add subtract multiply divide maximum minimum less less_equal "
    "greater greater_equal equal not_equal logical_and logical_or where"
)
ELEMENTWISE = {name: code for code, name in enumerate(_NAMES.split(" "))}
"""Operations element by element, and their codes in the player."""
REDUCE = {"sum": 32, "min": 33, "max": 34}
MATMUL, SELECT, GUARD = 40, 41, 47
MOST_NUMBERS = 1 << 16
"""The size of an array (clients, replicates, d) or (replicates, records) up to which a tape is faster
(`benchmarks/rounds.py`)."""


class Register:
    """A register for one array. ``owner`` is the array that NumPy made; views of it are views of the register."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.size = int(owner.size)


class Operation:
    """One entry of a tape: a code, the registers it writes and reads as Traced or constant arrays, and numbers."""

    def __init__(self, code: int, out: Sequence[Any], inputs: Sequence[Any], numbers: Sequence[Any] = ()) -> None:
        self.code = code
        self.out = tuple(out)
        self.inputs = tuple(inputs)
        self.numbers = tuple(numbers)


class RoundNumber:
    """The round number that represents itself and all later ones."""

    def __init__(self, first: int) -> None:
        self.first = first

    def _decided(self, bound: Any) -> None:
        if not isinstance(bound, int) or bound > self.first:
            raise Untraceable("the operations depend on the number of the round")

    def __lt__(self, other: Any) -> bool:
        self._decided(other)
        return False

    def __ge__(self, other: Any) -> bool:
        self._decided(other)
        return True

    def _refuse(self, *_: Any) -> Any:
        raise Untraceable("a number is made from that of the round")

    __index__ = __int__ = __float__ = __bool__ = __le__ = __gt__ = __eq__ = __ne__ = __hash__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __floordiv__ = _refuse
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __array__ = _refuse
