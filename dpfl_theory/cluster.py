"""Work on a Dask cluster: pieces go to its workers, results come back as they end, and what dies is begun again.

A worker is a process with one thread, with this package in the versions that the coordinator has; each piece says so
itself, since workers come and go. A piece whose worker is killed is begun again, elsewhere or there, and its result is
the same: all that it rests on is sent with it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, TypeVar

from dpfl_theory.errors import DpflError, EnvironmentFault, InputError
from dpfl_theory.kernels import threads

__all__ = ["connected", "spread", "workers_of"]

T = TypeVar("T")

LIVES = 50
"""How often a piece may lose its worker. A piece that kills its workers itself is given up after so many."""
_SECONDS = 60.0
"""For how long a cluster may have no scheduler or no worker at first."""
_TELL_SECONDS = 1.0
_RESTS_ON = ("dpfl-theory", "numpy", "scipy", "numba", "cvxpy", "clarabel", "sympy", "mpmath")


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address, ``tcp://host:8786``, that has at least one worker.

    Raises InputError for what is no address; EnvironmentFault where Dask is not installed, and where no scheduler or no
    worker answers within a minute.
    """
    try:
        from distributed import Client
        from distributed.comm import parse_address
    except ImportError as error:
        told = "`scheduler` needs Dask, which is not installed: pip install 'dpfl-theory[cluster]'"
        raise EnvironmentFault(told) from error
    scheme, place = parse_address(address)
    if scheme not in ("tcp", "tls", "ws", "wss") or not place.rpartition(":")[2].isdigit():
        raise InputError(f"`scheduler` is {address!r}: write it as the scheduler tells it, tcp://HOST:PORT")
    try:
        client = Client(address, timeout=_SECONDS / 4, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EnvironmentFault(f"no Dask scheduler answers at {address}: start one (dask scheduler), or name another"
                               ) from error  # fmt: skip
    try:
        try:
            client.wait_for_workers(1, timeout=_SECONDS)
        except TimeoutError as error:
            told = f"the scheduler at {address} has no worker: start some (dask worker {address} --nthreads 1)"
            raise EnvironmentFault(told) from error
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=5)


def workers_of(client: Any) -> int:
    """How many workers a cluster has now, at least 1."""
    return max(1, len(client.scheduler_info(n_workers=-1)["workers"]))


@cache
def _versions() -> dict[str, str]:
    """What numbers rest on, of this process."""
    return {"Python": ".".join(platform.python_version_tuple()[:2]), **{name: version(name) for name in _RESTS_ON}}


def _piece(work: Callable[[], T], needed: Mapping[str, str]) -> T:
    """A worker's part: a piece on one thread, if this worker is one that may do it."""
    from distributed import get_worker

    # Where a piece has a limit of time, it has a process of its own; Python allows Dask's workers none.
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    worker, own = get_worker(), _versions()
    if worker.state.nthreads != 1:
        told = f"the worker at {worker.address} has {worker.state.nthreads} threads: start workers with one each"
        raise EnvironmentFault(told)
    if other := [f"{name} {own[name]} for {needed[name]}" for name in needed if own[name] != needed[name]]:
        told = f"the worker at {worker.address} has {', '.join(other)}: install the same versions there"
        raise EnvironmentFault(told)
    with threads.bounded(1), threads.single_blas():
        return work()


def _alone(client: Any, since: float) -> float:
    """Since when the cluster is without workers: now, where it has some."""
    if client.scheduler_info(n_workers=-1)["workers"]:
        return time.monotonic()
    if time.monotonic() - since > _SECONDS:
        told = f"the cluster has been without workers for {_SECONDS:g} s"
        raise EnvironmentFault(f"{told}: start some; what was kept is not done again")
    return since


def spread(
    client: Any,
    work: Sequence[Callable[[], T]],
    order: Sequence[int] | None,
    done: Callable[[int, T], None],
    waiting: Callable[[list[int]], None],
) -> list[T]:
    """As `dpfl_theory.processes.spread`, on the workers of a client's cluster.

    Raises EnvironmentFault where the scheduler is gone, where a worker has other versions or more than one thread, and
    where one piece has lost `LIVES` workers.
    """
    from distributed import wait
    from distributed.scheduler import KilledWorker

    first = list(range(len(work)) if order is None else order)
    lives = dict.fromkeys(first, LIVES)
    found: dict[int, T] = {}
    of: dict[Any, int] = {}
    alone = time.monotonic()

    def begin(piece: int, place: int) -> None:
        of[client.submit(_piece, work[piece], _versions(), pure=False, priority=-place)] = piece

    try:
        for place, piece in enumerate(first):
            begin(piece, place)
        while of:
            waiting([piece for piece in first if piece in set(of.values())])
            alone = _alone(client, alone)
            try:
                with client.as_current():
                    ended = wait(list(of), timeout=_TELL_SECONDS, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                continue
            for future in sorted(ended, key=lambda f: first.index(of[f])):
                piece = of[future]
                try:
                    found[piece] = future.result(timeout=_TELL_SECONDS)
                except TimeoutError:  # its worker was killed before it was asked: Dask begins it again
                    continue
                except KilledWorker as error:
                    del of[future]
                    lives[piece] -= 1
                    if not lives[piece]:
                        told = f"piece {piece + 1} of {len(work)} has lost {LIVES} workers, perhaps for want of memory"
                        raise EnvironmentFault(f"{told}: give workers more, or smaller pieces") from error
                    begin(piece, first.index(piece))
                    continue
                del of[future]
                done(piece, found[piece])
    except BaseException as error:
        with contextlib.suppress(Exception):
            client.cancel(list(of), force=True)
        if not isinstance(error, (DpflError, KeyboardInterrupt)) and client.status != "running":
            told = f"the scheduler at {client.scheduler.address if client.scheduler else 'the address'} is gone"
            raise EnvironmentFault(f"{told}: start it again, and what has been kept is not done again") from error
        raise
    return [found[i] for i in sorted(found)]
