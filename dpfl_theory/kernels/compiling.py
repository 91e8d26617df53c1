"""One sentence on stderr where kernels are compiled for longer than a moment. The first run on a machine takes up to a
minute more than the next ones, and no other message would explain it.

Numba reports when it starts to compile and when it has finished; it does neither where it finds a kernel in its cache.
The variable ``DPFL_THEORY_HINTS=off`` suppresses the sentence.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from numba.core import event

from dpfl_theory.runtime.announce import claim_announcement
from dpfl_theory.runtime.console import print_message

__all__ = ["LONG_SECONDS", "SENTENCE", "Hint", "listen"]

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
