"""How long work takes on clusters that are not at hand: every piece with what it waits for, on so many workers, behind
one coordinator."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["Job", "makespan"]


@dataclass
class Job:
    """A piece of work of so many seconds, and the pieces that may begin when this one and others have ended."""

    seconds: float
    then: list[Job] = field(default_factory=list)
    needs: int = 0

    def before(self, other: Job) -> None:
        """The other one waits for this."""
        self.then.append(other)
        other.needs += 1


AHEAD = 4
"""Pieces that the scheduler has for each worker."""


def makespan(jobs: Iterable[Job], workers: int, coordinator: float) -> float:
    """Seconds until all jobs have ended. They are begun in their order, as they become ready. For each one that has
    ended the coordinator needs so many seconds, one after the other, before it sends another; the scheduler has
    `AHEAD` for each worker.

    >>> first, second = Job(3.0), Job(1.0)
    >>> first.before(second)
    >>> makespan([first, second, Job(2.0)], 2, 0.0), makespan([Job(0.5) for _ in range(4000)], 1000, 0.125)
    (4.0, 500.5)
    """
    every = list(jobs)
    open_ = {id(job): job.needs for job in every}
    ready = deque((0.0, job) for job in every if not job.needs)
    free = [0.0] * workers
    running: list[tuple[float, int, Job]] = []
    handled, count, sent = 0.0, 0, 0
    while ready or running:
        while ready and len(running) < AHEAD * workers:
            since, job = ready.popleft()
            begun = max(heapq.heappop(free), since, handled if sent >= AHEAD * workers else 0.0)
            sent += 1
            heapq.heappush(free, begun + job.seconds)
            heapq.heappush(running, (begun + job.seconds, count, job))
            count += 1
        ended, _, job = heapq.heappop(running)
        handled = max(handled, ended) + coordinator
        for other in job.then:
            open_[id(other)] -= 1
            if not open_[id(other)]:
                ready.append((handled, other))
    return handled
