"""The decorator of all kernels: Numba compiles each one once on a machine.

Machine code is kept in a folder of the user, not of the checkout: ``$NUMBA_CACHE_DIR`` where that is set, else
``$XDG_CACHE_HOME/dpfl-theory`` or ``~/.cache/dpfl-theory``. Its subfolder is named after the contents of all modules of
this package and Numba's version. So checkouts and environments share it, and a change of a kernel that others call
makes new code for all of them. Where the folder cannot be written, Numba's own folders are used.

Of several processes that need a kernel at the same time, one compiles it and the others wait for it.

The first run on a machine takes up to a minute more than the next ones. Numba reports when it starts to compile and
when it has finished; it does neither where it finds a kernel in its cache. Where it compiles for longer than a moment,
one sentence on stderr says so, unless ``DPFL_THEORY_HINTS=off``."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numba
import numpy as np
from numba.core import config, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserWideCacheLocator

from dpfl_theory.runtime.console import claim_announcement, print_message

KEPT = 8
"""The number of folders that are kept, one for each version of the kernels; the oldest ones are removed."""
PATIENCE_SECONDS = 300.0
"""A process that has waited this long for another one compiles the kernel itself."""
_POLL_SECONDS = 0.05


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function on its first call, without Python's global lock, and keep the machine code.

    options: of `numba.njit`. Three habits keep compilation short. Calls of other kernels pass ``np.int64(0)``, since a
    literal number compiles the kernel again. So does a read-only array: pass `mutable` ones. Kernels copy arrays in
    loops, since an assignment to a slice takes Numba five seconds.

    >>> @kernel()
    ... def twice(x: float) -> float:
    ...     return 2.0 * x
    >>> twice.targetoptions["nogil"]
    True
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
        with contextlib.suppress(RuntimeError):  # a function without a file, such as one of a doctest, is not cached
            dispatcher._cache = _Kept(function)
        return dispatcher

    return decorate


def mutable(x: Any, dtype: Any = np.float64) -> Any:
    """The numbers without gaps, in an array that may be written; a copy only where x has gaps or may not.

    >>> fixed = np.broadcast_to(1.0, (2, 2))
    >>> mutable(fixed).flags.writeable
    True
    """
    if type(x) is np.ndarray and x.dtype == dtype:  # as nearly always; NumPy's function takes longer to see that
        flags = x.flags
        if flags.c_contiguous and flags.writeable:
            return x
    return np.require(x, dtype, ["C", "W"])


@functools.cache
def place() -> Path:
    """The folder of the machine code of these kernels."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(config.CACHE_DIR or cache / "dpfl-theory") / f"kernels-{_digest()}"


def _digest() -> str:
    """A digest of everything that the machine code of a kernel can depend on, except the processor, which Numba
    checks."""
    found = hashlib.sha256(numba.__version__.encode())
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def _remove_old(folder: Path) -> None:
    """Remove the oldest folders but `KEPT`."""
    others = sorted(folder.parent.glob("kernels-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


class _Place(UserWideCacheLocator):  # type: ignore[misc]  # numba has no types
    """Numba's cache of a kernel; the folder's name determines whether it is up to date."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
        self._cache_path = str(place())

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Place | None:
        """The place of a function of this package; None for all others, whose source the folder's name does not
        cover."""
        return super().from_function(py_func, py_file) if Path(__file__).parent in Path(py_file).parents else None

    def ensure_cache_path(self) -> None:
        """Make the folder, and remove old ones when it is new."""
        new = not place().is_dir()
        super().ensure_cache_path()
        if new:
            with contextlib.suppress(OSError):
                _remove_old(place())

    def get_source_stamp(self) -> str:
        """The same as long as the folder is the same."""
        return place().name


class _Code(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Place, *CompileResultCacheImpl._locator_classes)


class _Kept(FunctionCache):  # type: ignore[misc]
    """The cached machine code of one kernel, which one process at a time makes."""

    _impl_class = _Code

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._held: IO[bytes] | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code where it is cached. Otherwise waits for the process that makes it, or makes it itself."""
        found = super().load_overload(sig, target_context)
        if found is None and self._held is None and self._acquire():
            found = super().load_overload(sig, target_context)
            if found is not None:
                self._release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Cache the machine code, and release it to other processes."""
        try:
            super().save_overload(sig, data)
        finally:
            self._release()

    def _acquire(self) -> bool:
        """Take the kernel's lock, after a process that holds it; False where there is no lock to take."""
        try:
            lock = Path(self.cache_path, f"{self._impl.filename_base}.lock").open("wb")  # noqa: SIM115  closed in _release
        except OSError:
            return False
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                time.sleep(_POLL_SECONDS)
            except OSError:  # a file system without locks
                break
            else:
                self._held = lock
                return True
        lock.close()
        return False

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None


LONG_SECONDS = 2.0
"""Compilation that takes longer in total is reported."""
SENTENCE = "compiling the kernels (once on this machine; up to a minute)"
_PACKAGE = __name__.partition(".")[0]


class Hint(event.Listener):  # type: ignore[misc]  # numba has no types
    """Listens to compilations of kernels, adds up their time, and calls ``tell`` once it is long.

    Kernels of other packages, and those that are not cached, do not count: the sentence would not be true of them.
    """

    def __init__(self, tell: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.tell, self.clock = tell, clock
        self.spent, self.since, self.depth = 0.0, 0.0, 0
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """A compilation starts; one within another counts with that."""
        self.depth += 1
        if self.depth == 1 and _ours(event.data):
            self.since = self.clock()
            self.timer = threading.Timer(max(0.0, LONG_SECONDS - self.spent), self.tell)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: Any) -> None:
        """A compilation has ended, or failed."""
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()
            self.timer = None
            self.spent += self.clock() - self.since


def _ours(data: Any) -> bool:
    """Whether a kernel of this package whose machine code is cached is being compiled."""
    kernel = data.get("dispatcher") if isinstance(data, dict) else None
    if kernel is None:
        return False
    module = getattr(getattr(kernel, "py_func", None), "__module__", "")
    return module.partition(".")[0] == _PACKAGE and kernel.stats.cache_path is not None


def _announce() -> None:
    if claim_announcement():
        print_message(SENTENCE)


def listen() -> None:
    """Start to listen to compilations in this process, unless hints are switched off."""
    if os.environ.get("DPFL_THEORY_HINTS") != "off":
        event.register("numba:compile", Hint(_announce))
