"""A random generator that records its draws, and whose noise can be silenced or set number by number.

A round of a private algorithm is a function of its data and of its noise. With silent noise it can be compared with a
reference exactly. With one number of the noise set at a time, the effect of this number on the result is exact too. So
is the covariance of the noise in the result: no sample is needed.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

_OTHERS = (str(Path(__file__).parent), *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))


@dataclass(frozen=True)
class Draw:
    """A call for noise: the distribution's name, the count of numbers, their smallest and largest standard deviation,
    and the place of the call in the code (file, line)."""

    kind: str
    count: int
    smallest: float
    largest: float
    place: tuple[str, int]


@functools.cache
def _is_other(file: str) -> bool:
    """Whether a file belongs to this package or to a library."""
    return file.startswith(_OTHERS)


def _place() -> tuple[str, int]:
    """The innermost frame outside this package and outside libraries."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not _is_other(file):
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


def _noting(name: str) -> Any:
    """The generator's method of this name, which notes that it is called."""
    own = getattr(np.random.Generator, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if sys._getframe(1).f_code is not method.__code__:  # NumPy's methods call each other: permutation shuffles
            self.others.add(name)
        return own(self, *args, **kwargs)

    return functools.wraps(own)(method)


class RecordingGenerator(np.random.Generator):
    """NumPy's Generator with Gaussian and Laplace draws that are recorded and can be set.

    Mode ``"live"`` gives real draws. Mode ``"quiet"`` gives each draw its mean. With ``set(at, size)`` the number
    ``at``, counted over all draws from 0, is ``size`` standard deviations above its mean and all others have their
    mean. All other draws (choices, permutations, uniform numbers) are real in every mode; ``others`` has the names of
    the methods that make them.

    >>> rng = RecordingGenerator(7)
    >>> rng.use_means().normal(3.0, 2.0, size=2).tolist(), rng.numbers
    ([3.0, 3.0], 2)
    >>> rng.set(3, 0.5).normal(3.0, 2.0, size=2).tolist(), rng.normal(0.0, 4.0, size=2).tolist()
    ([3.0, 3.0], [0.0, 2.0])
    """

    def __init__(self, seed: Any = 0) -> None:
        super().__init__(seed if isinstance(seed, np.random.BitGenerator) else np.random.Philox(seed))
        self.draws: list[Draw] = []
        self.numbers, self.others = 0, set[str]()
        self._mode, self._at, self._size, self._count = "live", -1, 0.0, 1

    def _restarted(self, mode: str, at: int = -1, size: float = 0.0, count: int = 1) -> RecordingGenerator:
        self.draws, self.numbers = [], 0
        self._mode, self._at, self._size, self._count = mode, at, size, count
        return self

    @property
    def true(self) -> bool:
        """Whether draws are real."""
        return self._mode == "live"

    def live(self) -> RecordingGenerator:
        """From now on draws are real."""
        return self._restarted("live")

    def use_means(self) -> RecordingGenerator:
        """From now on noise has its mean."""
        return self._restarted("quiet")

    def set(self, at: int, size: float, count: int = 1) -> RecordingGenerator:
        """From now on noise has its mean, except for one number, or for ``count`` successive numbers: these move by
        different sizes, so that their effects do not cancel."""
        return self._restarted("set", at, size, count)

    def _noise(self, kind: str, mean: Any, deviation: Any, size: Any, true: Callable[[], Any]) -> Any:
        shape = np.broadcast_shapes(np.shape(mean), np.shape(deviation)) if size is None else size
        values = np.empty(shape)
        values[...] = mean
        first, self.numbers = self.numbers, self.numbers + values.size
        if self._mode != "set":  # where the same draws were recorded before
            scales = np.asarray(deviation, dtype=np.float64)
            least, most = (float(scales.min()), float(scales.max())) if values.size else (0.0, 0.0)
            self.draws.append(Draw(kind, values.size, least, most, _place()))
        if self._mode == "live":
            return true()
        for at in range(max(self._at, first), min(self._at + self._count, first + values.size)):
            size = self._size / (1.0 + 0.618 * (at - self._at))
            scales = np.broadcast_to(np.asarray(deviation, dtype=np.float64), values.shape)
            values.flat[at - first] += size * scales.flat[at - first]
        return values if values.ndim or size is not None else float(values)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        parent: Any = super()
        return self._noise("normal", loc, scale, size, lambda: parent.normal(loc, scale, size))

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        if out is not None:
            size = out.shape
        parent: Any = super()
        found = self._noise("normal", 0.0, 1.0, size, lambda: parent.standard_normal(size, dtype))
        if out is None:
            return found if size is None else found.astype(dtype)
        out[...] = found
        return out

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        deviation = np.sqrt(2.0) * np.asarray(scale)
        parent: Any = super()
        return self._noise("laplace", loc, deviation, size, lambda: parent.laplace(loc, scale, size))

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Through standard normal numbers and the symmetric root of the covariance."""
        mean = np.asarray(mean, dtype=np.float64)
        cov = np.asarray(cov, dtype=np.float64)
        if not np.isfinite(cov).all():  # as NumPy's own function, but without messages of LAPACK
            raise np.linalg.LinAlgError("the covariance of multivariate_normal has entries that are not finite")
        values, vectors = np.linalg.eigh(cov)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        shape = () if size is None else tuple(np.atleast_1d(size))
        return mean + self.standard_normal((*shape, len(mean))) @ root

    def spawn(self, n_children: int) -> list[Any]:
        """This generator itself, so that the children's draws are recorded."""
        return [self] * n_children

    def __deepcopy__(self, memo: Any) -> RecordingGenerator:
        """This generator itself: where a round keeps it in its state, its draws stay recorded."""
        return self


_RECORDED = {name for name in vars(RecordingGenerator) if not name.startswith("_")}
for _name in dir(np.random.Generator):
    if callable(getattr(np.random.Generator, _name)) and not _name.startswith("_") and _name not in _RECORDED:
        setattr(RecordingGenerator, _name, _noting(_name))
