"""The simulation loop: runs an algorithm on a problem, in blocks of replicates, and streams observables.

A block is the unit of parallel work: one thread takes it through all rounds, and no thread waits for another before the
end. Blocks have a fixed width, so a run is the same bit for bit for any number of threads and under any load.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.core.algorithm import Algorithm as Description
from dpfl_theory.errors import InputError
from dpfl_theory.kernels import select
from dpfl_theory.kernels.engine import Engine, Replicates
from dpfl_theory.kernels.tape.replay import Player, worthwhile
from dpfl_theory.notebook import Tabular, figure
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.validation import count as require_integer
from dpfl_theory.simulation.base import Algorithm, Context
from dpfl_theory.simulation.batched import Simulation
from dpfl_theory.simulation.cohort import Cohort
from dpfl_theory.simulation.divergence import NEVER, DivergenceWarning, divergence_text, first_rounds, lost
from dpfl_theory.simulation.observables import Observable, get

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_REPLICATES = 512
_DEVICE_BYTES = 192 * 2**20
"""Size of an array (clients, replicates, d) of one block on a device whose cores all work on one block."""
_CACHE_BYTES = 4 * 2**20
"""The same where each block has a core of its own: the size of its cache, at which matrix products are still fast."""
_LEAST_REPLICATES = 16
_SPARSE_BYTES = 32 * 2**20
"""The upper limit for sparse records, whose many features may fill the memory with a few replicates."""
_LEAST_PLAYED = 256
"""The minimum number of rounds that are replayed at a time: a few milliseconds."""
_PLAYED_SECONDS = 0.25
"""The time for which rounds are replayed at a time: Ctrl-C has no effect meanwhile."""


@dataclass(frozen=True)
class Stream:
    """One observable over a run, by replicate.

    mean (replicates,): over the observed rounds, by default 0..K-1;  smallest (replicates,): over the same;  last
    (replicates,): after the last round for an observable of w only, in the last observed round otherwise;  series:
    (observed rounds, replicates) or None, with the value after the last round appended for an observable of w only.
    """

    observable: Observable
    mean: Array
    last: Array
    smallest: Array
    series: Array | None

    @property
    def every_round(self) -> Array:
        """The series; ValueError when the run did not keep it."""
        if self.series is None:
            raise ValueError(f"the run kept no series of {self.observable.name}: call simulate with series=True")
        return self.series


@dataclass(frozen=True)
class Run(Tabular):
    """What `simulate` returns: streams by observable name, the final server vectors (replicates, d) and the run's
    configuration."""

    streams: dict[str, Stream]
    final: Array
    configuration: dict[str, Any]
    seconds: float
    again: Callable[[], NDArray[np.int64]] | None = None
    """Computes `diverged` where some replicate diverged."""

    @cached_property
    def diverged(self) -> NDArray[np.int64]:
        """The round after which each replicate's server vector was first lost (`dpfl_theory.simulation.divergence`), -1
        where it never was; (replicates,). Computed on first use: the blocks concerned run again up to there."""
        return np.full(len(self.final), NEVER) if self.again is None else self.again()

    def __getitem__(self, name: str) -> Stream:
        return self.streams[name]

    def records(self) -> list[dict[str, Any]]:
        """A row for each observable: means over the replicates with their standard errors."""
        rows = []
        for name, stream in self.streams.items():
            row: dict[str, Any] = {"observable": name, "unit": stream.observable.unit, "replicates": len(stream.last)}
            for key in ("mean", "last", "smallest"):
                values = np.asarray(getattr(stream, key), dtype=float)
                row[key] = float(values.mean())
                row[f"{key}_error"] = standard_error(values)
            rows.append(row)
        return rows

    def plot(self) -> Figure:
        """Each observable by round: the mean over the replicates, and a band of two standard errors. Raises ValueError
        when the run did not keep its series (``simulate(..., series=True)``)."""
        fig = figure(figsize=(6.0, 2.8 * len(self.streams)), layout="constrained")
        every, rounds = self.configuration["every"], self.configuration["rounds"]
        for ax, (name, stream) in zip(fig.subplots(len(self.streams), squeeze=False)[:, 0], self.streams.items()):
            series = np.asarray(stream.every_round, dtype=float)
            x = np.minimum(every * np.arange(len(series)), rounds)  # the value after the last round comes last
            mean = series.mean(axis=1)
            if series.shape[1] > 1:
                error = np.array([standard_error(values) for values in series])
                ax.fill_between(x, mean - 2 * error, mean + 2 * error, alpha=0.2, linewidth=0)
            ax.plot(x, mean)
            if (mean > 0.0).all():
                ax.set_yscale("log")
            ax.set_ylabel(name)
        ax.set_xlabel("round")
        return fig


def standard_error(values: Array) -> float | None:
    """The standard error of the mean of values (replicates,); None for one value.

    >>> standard_error(np.array([1.0, 3.0])), standard_error(np.array([1.0]))
    (1.0, None)
    """
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None


def simulate(
    algorithm: Algorithm | Description,
    problem: Problem,
    rounds: int,
    replicates: int | Sequence[Replicates] = 1,
    seed: int = 0,
    observe: Sequence[str | Observable] = ("suboptimality",),
    *,
    cohort: Cohort | None = None,
    start: Any = None,
    first_replicate: int = 0,
    series: bool = False,
    every: int = 1,
    device: str | Engine = "auto",
    progress: Callable[[float], None] | None = None,
    warn: bool = True,
) -> Run:
    """Run ``algorithm`` on ``problem`` for ``rounds`` rounds in each replicate, streaming the observables.

    algorithm: one of this package's server loops, or a description with values (`dpfl_theory.algorithms`).

    cohort: how a description's clients are sampled, all of them by default; a server loop has its own.

    start: starting point [X], (d,) for all replicates or (replicates, d); zero by default.

    replicates: the number of replicates. A replicate's noise depends only on (seed, first_replicate + its number): runs
    are extended by further replicates, and two algorithms with the same seed share their noise. ``replicates`` may be
    the blocks themselves, run as they are given on the CPU, whose replicates may be of any seed and number
    (`Replicates.concatenate`); seed and first_replicate then have no meaning.

    series: keep the value of every round; otherwise only means, last and smallest values.

    every: observe only rounds 0, every, 2 every, ..., where observing costs more than running; means are over those.

    progress: called with the share of the work that is done.

    Replicates that diverge affect no others; `DivergenceWarning` reports them unless ``warn`` is False, and
    `Run.diverged` has their rounds.

    Raises InputError for counts that are not whole numbers, starting points of the wrong shape, or hyper-parameters
    that the algorithm cannot use on this problem; EnvironmentFault when the device is missing.

    >>> from dpfl_theory.algorithms.fedavg import DPFedAvg, FedAvg
    >>> from dpfl_theory.problems import make
    >>> problem = make("quadratic", clients=4, dimension=3, seed=1)
    >>> run = simulate(FedAvg(local_step=0.5, local_steps=2), problem, rounds=200, replicates=2, seed=0, device="cpu")
    >>> bool((run["suboptimality"].last < 0.5 * run["suboptimality"].mean).all())
    True
    >>> private = DPFedAvg(eta=0.1, beta=0.1, E=5, C=1.0, sigma=0.5)
    >>> simulate(private, problem, 10, cohort=Cohort("poisson", 2), device="cpu").configuration["algorithm"]["C"]
    1.0
    """
    require_integer("the number of rounds", rounds)
    batches = list(replicates) if isinstance(replicates, (list, tuple)) else None
    if batches is not None:
        replicates = sum(batch.count for batch in batches)
    require_integer("the number of replicates", replicates)
    assert isinstance(replicates, (int, np.integer))
    require_integer("the interval between observed rounds", every)
    require_integer("the seed", seed, minimum=0)
    require_integer("the first replicate", first_replicate, minimum=0)
    if seed >= 2**64 or first_replicate + replicates > 2**32 or rounds > 2**32:
        raise InputError(
            "seed, replicate or round is too large: seeds stay below 2^64, replicates and rounds below 2^32"
        )
    title = algorithm.run.name if isinstance(algorithm, Simulation) else type(algorithm).__name__
    if isinstance(algorithm, Description):
        title, algorithm = algorithm.name, Simulation(algorithm, cohort or Cohort())
    elif cohort is not None:
        raise InputError(f"{title} samples its clients itself: give the cohort to {title}, or simulate a description")
    algorithm.validate(problem, replicates)
    points = _starting_points(start, replicates, problem.d)
    engine = select(device, problem.sparse) if isinstance(device, str) else device
    kernels = problem.kernels(engine)
    chosen = list(dict.fromkeys(get(o) for o in observe))
    names = [o.name for o in chosen]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two observables are called {name!r}: give each a name of its own")
    started = time.perf_counter()
    if batches is None:
        blocks = _blocks(problem, engine, replicates)
        batches = [Replicates(seed, first_replicate + b.start, b.stop - b.start) for b in blocks]
    elif engine.name != "cpu":
        raise InputError(
            "replicates that are given as blocks run only on the CPU: choose `device=cpu`, or give a number"
        )
    ends = list(itertools.accumulate((batch.count for batch in batches), initial=0))
    blocks = [slice(first, end) for first, end in itertools.pairwise(ends)]
    contexts = [Context(engine, problem, kernels, batch, b, points[b]) for batch, b in zip(batches, blocks)]
    tell = _Tally(replicates, progress)
    with engine.single_blas(), np.errstate(over="ignore", invalid="ignore"):  # of replicates that diverge
        parts = _each(
            [partial(_run_block, algorithm, c, rounds, chosen, series, every, tell) for c in contexts],
            min(engine.threads, len(blocks)),
            tell,
        )
    streams = {
        o.name: _join(o, [accumulators[o.name] for accumulators, _ in parts], -(-rounds // every), engine)
        for o in chosen
    }
    configuration = {
        "algorithm": algorithm.describe(),
        "problem": {"name": problem.name, "clients": problem.n, "dimension": problem.d},
        "rounds": rounds,
        "replicates": replicates,
        "first_replicate": first_replicate,
        "every": every,
        "seed": seed,
        "device": engine.description,
    }
    final = np.concatenate([np.asarray(engine.to_host(w)) for _, w in parts])
    seconds = time.perf_counter() - started
    if not lost(final, points).any():
        return Run(streams, final, configuration, seconds)
    run = Run(streams, final, configuration, seconds, partial(first_rounds, algorithm, contexts, final, rounds))
    if warn:
        what = f"{title} on {problem.name!r} {divergence_text(run.diverged)}"
        warnings.warn(f"{what}: take smaller steps, or ignore those replicates", DivergenceWarning, stacklevel=2)
    return run


Part = tuple[dict[str, "_Accumulator"], Any]
"""The result of a block: its observables, and the server's vectors (replicates, d)."""


def _blocks(problem: Problem, engine: Engine, replicates: int) -> list[slice]:
    """The run's replicates in blocks, which depend only on the problem, the kind of device and the number of
    replicates.

    If there is more than one block, there is an even number of nearly equal ones, so that two or four threads have
    equal work."""
    replicate = 8 * problem.n * problem.d
    few = min(_LEAST_REPLICATES, max(1, _SPARSE_BYTES // replicate)) if problem.sparse else _LEAST_REPLICATES
    least, size = (few, _CACHE_BYTES) if engine.name == "cpu" else (1, _DEVICE_BYTES)
    width = min(_MOST_REPLICATES, max(least, size // replicate))
    count = 1 if replicates <= width else 2 * max(1, round(replicates / (2 * width)))
    ends = [replicates * i // count for i in range(count + 1)]
    return [slice(first, end) for first, end in itertools.pairwise(ends)]


class _Tally:
    """Adds up the progress of the blocks, reports it, and stops them all when one of them failed."""

    def __init__(self, replicates: int, progress: Callable[[float], None] | None) -> None:
        self._replicates = replicates
        self._progress = progress
        self._done = 0.0
        self._lock = threading.Lock()
        self.stopped = False

    def add(self, width: int, share: float) -> None:
        """A block of this many replicates has done another share of its rounds."""
        if self._progress is not None:
            with self._lock:
                self._done += width * share
                self._progress(min(1.0, self._done / self._replicates))


def _each(tasks: Sequence[Callable[[], Part]], threads: int, tally: _Tally) -> list[Part]:
    """The results of the tasks, in their order, from this many threads; the first failure, or Ctrl-C, stops all of
    them."""
    if threads <= 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(copy_context().run, task) for task in tasks]
        try:
            for done in as_completed(running):
                done.result()
        except BaseException:
            tally.stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in running]


MAX_START_NORM = 1e150
"""The largest entry of a starting point: the squares of smaller ones are finite."""


def _starting_points(start: Any, replicates: int, d: int) -> Array:
    if start is None:
        return np.zeros((replicates, d))
    try:
        points = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        need = f"an array of shape ({d},) or ({replicates}, {d}) is needed"
        raise InputError(f"the starting point cannot be read as numbers: {need}") from None
    if points.shape == (d,):
        points = np.broadcast_to(points, (replicates, d))
    if points.shape != (replicates, d):
        raise InputError(f"the starting point has shape {points.shape}: ({d},) or ({replicates}, {d}) is needed")
    if not np.isfinite(points).all():
        raise InputError("the starting point contains NaN or infinity: give finite numbers")
    if (far := float(np.abs(points).max(initial=0.0))) > MAX_START_NORM:
        raise InputError(
            f"the starting point has an entry of size {far:.3g}, whose square overflows: at most {MAX_START_NORM:g}"
        )
    return points


class _Accumulator:
    """Streams one observable of one batch."""

    def __init__(self, observable: Observable, keep: bool) -> None:
        self.observable = observable
        self.total: Any = None
        self.last: Any = None
        self.smallest: Any = None
        self.series: list[Any] | None = [] if keep else None

    def add(self, value: Any, xp: Any) -> None:
        self.total = value.copy() if self.total is None else self.total + value
        self.smallest = value.copy() if self.smallest is None else xp.minimum(self.smallest, value)
        self.keep(value)

    def keep(self, value: Any) -> None:
        self.last = value
        if self.series is not None:
            self.series.append(value)


def _run_block(
    algorithm: Algorithm,
    context: Context,
    rounds: int,
    observables: Sequence[Observable],
    series: bool,
    every: int,
    tally: _Tally,
) -> Part:
    xp = context.engine.xp
    context = replace(context, start=context.engine.asarray(context.start))
    accumulators = {o.name: _Accumulator(o, series) for o in observables}
    state = algorithm.initial_state(context)
    report_every, reported, k, stretch = max(1, rounds // 50), 0, 0, _LEAST_PLAYED
    player = Player(algorithm, context, observables, every) if worthwhile(context, rounds, every) else None
    kept = list(accumulators.values())
    while k < rounds:
        if tally.stopped:
            raise RuntimeError("another block of replicates failed")
        before = k
        if player is not None and player.ready:
            started = time.perf_counter()
            state, k = player.play(state, kept, k, min(rounds, k + stretch))
            longer = _PLAYED_SECONDS / max(time.perf_counter() - started, 1e-9)
            stretch = max(_LEAST_PLAYED, int(min(rounds, stretch * min(4.0, longer))))
        if k == before:
            state, round_ = algorithm.round(context, state, k)
            if k % every == 0:
                for o in observables:
                    accumulators[o.name].add(o.evaluate(round_), xp)
            if player is not None:
                player.watch(state, k, kept)
            k += 1
        if k - reported >= report_every or k == rounds or k > before + 1:
            tally.add(context.replicates.count, (k - reported) / rounds)
            reported = k
    if any(o.of_state for o in observables):
        after = algorithm.after(context, state, rounds)
        for o in observables:
            if o.of_state:
                accumulators[o.name].keep(o.evaluate(after))
    return accumulators, algorithm.server(state)


def _join(observable: Observable, parts: Sequence[_Accumulator], observed: int, engine: Engine) -> Stream:
    def host(values: list[Any]) -> Array:
        return np.concatenate([np.asarray(engine.to_host(v), dtype=np.float64) for v in values])

    kept = None
    if parts[0].series is not None:
        kept = np.concatenate(
            [np.stack([np.asarray(engine.to_host(v)) for v in p.series or []]) for p in parts], axis=1
        )
    return Stream(
        observable,
        mean=host([p.total for p in parts]) / observed,
        last=host([p.last for p in parts]),
        smallest=host([p.smallest for p in parts]),
        series=kept,
    )
