"""Model of the time on clusters that are not available: pieces with their dependencies, a number of workers, and one
coordinator."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["Job", "makespan"]


@dataclass
class Job:
    """A piece of work with its seconds, and the pieces that may start when this one and others have ended."""

    seconds: float
    then: list[Job] = field(default_factory=list)
    needs: int = 0

    def before(self, other: Job) -> None:
        """Make the other one wait for this."""
        self.then.append(other)
        other.needs += 1


AHEAD = 4
"""Number of pieces that the scheduler has for each worker."""


def makespan(jobs: Iterable[Job], workers: int, coordinator: float) -> float:
    """Seconds until all jobs have ended. They start in their order, as they become ready. For each one that has ended
    the coordinator needs ``coordinator`` seconds, one after the other, before it sends another; the scheduler has
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
            started = max(heapq.heappop(free), since, handled if sent >= AHEAD * workers else 0.0)
            sent += 1
            heapq.heappush(free, started + job.seconds)
            heapq.heappush(running, (started + job.seconds, count, job))
            count += 1
        ended, _, job = heapq.heappop(running)
        handled = max(handled, ended) + coordinator
        for other in job.then:
            open_[id(other)] -= 1
            if not open_[id(other)]:
                ready.append((handled, other))
    return handled
