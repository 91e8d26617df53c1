"""A hard limit of time: work in a process of its own, which is killed when it takes longer."""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from dpfl_theory.errors import DpflError, EnvironmentFault

__all__ = ["OutOfTime", "limited"]

T = TypeVar("T")


class OutOfTime(DpflError):
    """Work that took longer than it may."""


def limited(work: Callable[[], T], seconds: float) -> T:
    """What ``work`` returns, or raises, within so many seconds.

    It runs in a copy of this process, which ends with it. Raises `OutOfTime`; EnvironmentFault where processes cannot
    be copied, or the copy ended without an answer (a crash, or want of memory).

    >>> limited(lambda: 1 + 1, 60.0)
    2
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        raise EnvironmentFault("a limit of time needs a system that can copy processes (fork): leave the limit out")
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(work, sender))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of copies where there are threads
        process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            raise OutOfTime(f"it took longer than {seconds:g} s and was ended")
        try:
            good, found = receiver.recv()
        except EOFError:
            process.join()
            raise EnvironmentFault(
                f"its process ended with code {process.exitcode}, perhaps for want of memory"
            ) from None
    finally:
        process.kill()
        process.join()
        receiver.close()
    if good:
        return found  # type: ignore[no-any-return]
    raise found


def _work(work: Callable[[], Any], sender: Any) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        found = (True, work())
    except Exception as error:
        found = (False, error)
    try:
        sender.send(found)
    except Exception as error:  # what cannot be sent
        sender.send((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
