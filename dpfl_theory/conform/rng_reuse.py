"""Detection of re-used keys and seeds, for libraries whose generators are keys or states.

A draw of noise is made from a *place*: the bytes of a JAX key, or of a PyTorch generator's state. The first draw from a
place comes from the rng that the test records. A second draw from it gives the same numbers, as it does in the library.
Some places are made by the round itself, whatever generator it is given: a key of a fixed number, or a seed that is set
again. To find them, the round is played twice more with other generators: these are the places that both rounds draw
from. Draws from such a place stay unchanged. They are the same in every run, and no noise to anyone who knows the
program.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from dpfl_theory.conform.result import Finding
from dpfl_theory.runtime.time_limits import TimeoutExceeded

SEEDS = (73_939_133, 433_494_437)
"""Seeds of the generators of the two additional rounds."""
Play = Callable[[int, Any], Any]
"""(seed, state) -> the state after the round."""


FIXED = Finding(
    "noise from a fixed seed",
    "noise is drawn from a key, or from a generator whose seed is set, that is the same in every run, whatever "
    "generator the round is given: whoever knows the program can remove the noise; make it from the generator that the "
    "round is given",
    private=True,
    unaccounted=True,
)
AGAIN = Finding(
    "noise re-used",
    "noise is drawn from a key or generator state from which noise was drawn in an earlier round, so that differences "
    "of rounds cancel it: split the key, and do not set a seed again",
    private=True,
    unaccounted=True,
)
STREAM_REUSED = Finding(
    "the same noise twice in a round",
    "noise is drawn twice from one key, or from a generator that is reset in between, and is the same both times: "
    "split the key for every draw, and do not set a seed again",
    private=True,
    unaccounted=True,
)


class _Run:
    """One run: the draws from each place, and the states of the two additional rounds."""

    def __init__(self) -> None:
        self.drawn: dict[tuple[Any, ...], Any] = {}
        self.beside: list[Any] = []
        self.fixed: set[bytes] = set()
        self.rounds = 0


class NoiseWatcher:
    """The noise of one function.

    >>> import numpy as np
    >>> noise, rng = NoiseWatcher(), np.random.Generator(np.random.Philox(0))
    >>> def normal(place):
    ...     return noise.normal(place, rng, np.zeros(2), lambda: rng.standard_normal(2))
    >>> with_one_key = [normal(b"key"), normal(b"key"), normal(b"other")]
    >>> [bool(np.array_equal(with_one_key[0], x)) for x in with_one_key]
    [True, True, False]
    """

    def __init__(self) -> None:
        self._runs: weakref.WeakKeyDictionary[Any, _Run] = weakref.WeakKeyDictionary()
        self._plain: tuple[Any, _Run] | None = None
        self._has_fixed: bool | None = None
        self._beside: set[bytes] | None = None
        self._seen: dict[str, Finding] = {}

    def findings(self) -> list[Finding]:
        """The findings so far: places that do not change from run to run, or that were drawn from twice."""
        return list(self._seen.values())

    def _of(self, rng: Any) -> _Run:
        try:
            return self._runs.setdefault(rng, _Run())
        except TypeError:  # NumPy's own generators cannot be referred to weakly
            if self._plain is None or self._plain[0] is not rng:
                self._plain = (rng, _Run())
            return self._plain[1]

    def round(self, rng: Any, state: Any, play: Play) -> None:
        """Find the places that the round itself makes; to be called before a round of a run with this rng. Additional
        rounds are played until one draws noise, and after that only where there are such places."""
        run = self._of(rng)
        run.rounds += 1
        if state is None:
            run.beside, run.fixed, run.drawn, run.rounds = [None] * len(SEEDS), set(), {}, 1
        if self._has_fixed is False or not run.beside:
            return
        places: list[set[bytes]] = []
        for k, seed in enumerate(SEEDS):
            self._beside = set()
            try:
                run.beside[k] = copy.deepcopy(play(seed, run.beside[k]))
            except TimeoutExceeded:
                raise
            except Exception:
                run.beside = []  # a failure is reported where the round is really played
                return
            finally:
                seen, self._beside = self._beside, None
            places.append(seen or set())
        run.fixed |= places[0] & places[1]
        if places[0]:
            self._has_fixed = bool(run.fixed)

    def normal(self, place: bytes, rng: Any, true: Any, standard: Callable[[], Any]) -> Any:
        """The normal numbers drawn from a place. true: those that the library itself draws there."""
        if self._beside is not None:
            self._beside.add(place)
            return true
        run = self._of(rng)
        if place in run.fixed:
            self._seen.setdefault(FIXED.name, FIXED)
            return true
        key = (place, getattr(true, "shape", ()))
        if key not in run.drawn:
            run.drawn[key] = (run.rounds, standard())
        elif true.size if isinstance(true, np.ndarray) else true.numel():
            found = AGAIN if run.drawn[key][0] < run.rounds else STREAM_REUSED
            self._seen.setdefault(found.name, found)
        return run.drawn[key][1]
