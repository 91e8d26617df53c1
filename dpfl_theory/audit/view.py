"""The observer's view of a run, and the scores computed from it. The list of scores is fixed before the run.

The **third party** sees the server's vectors w_0, ..., w_T, hence every release ``a_k = w_k - w_{k+1}`` (the averaged
noisy updates times the global step size; engines expose no other record of them). The **server** sees each client's
message, where the algorithm's state allows its recovery (`Messages`). The state of FedAvg does not, since its engine
adds clipped updates and draws per-client noise in one pass.

All releases are multiplied by the sign with which the canary acts in their round, which an observer knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.audit.canaries import Canary
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.engine import Engine, Replicates
from dpfl_theory.problems.base import Array, Kernels, Problem
from dpfl_theory.simulation.base import Algorithm, Context

_BATCH_NUMBERS = 2**19
"""The number of features in a batch of replicates: batches that fit into the processor's cache are fastest."""

Messages = Callable[[Any, Any], Any]
"""(state before, state after) -> each client's message in that round, (n, S, d), zero where nothing was sent, with the
sign of ``w_k - w_{k+1}``."""


def scaffnew_messages(run: Any) -> Messages:
    """ScaffNew's clients' messages, from their control variates ``h_i' = h_i + (p/eta)(mean - sent_i)``: (n, S, d)."""
    weight = run.step / run.probability

    def messages(previous: Any, after: Any) -> Any:
        (_, h), (_, moved) = previous.inner, after.inner
        return weight * (moved - h) - (after.w - previous.w)[None]

    return messages


def control_variates(run: Any) -> Messages:
    """SCAFFOLD's clients' messages at K = 1, up to the step size: the new control variate is the noisy gradient."""
    return lambda previous, after: after.inner[1]


@dataclass(frozen=True, eq=False)
class Observer:
    """Runs replicates of either data set in batches and computes the observer's features, whose columns are those of
    `fixed_scores`."""

    algorithm: Algorithm
    canary: Canary
    rounds: int
    seed: int
    messages: Messages | None
    engine: Engine

    @cached_property
    def _kernels(self) -> dict[int, Kernels]:
        return {id(p): p.kernels(self.engine) for p in (self.canary.present, self.canary.absent)}

    def batches(self, problem: Problem, first: int, count: int) -> Iterator[Array]:
        """The features of the replicates first, ..., first + count - 1, batch by batch."""
        senders = 1 if self.messages is None else problem.n
        size = max(1, math.ceil(_BATCH_NUMBERS / (2 * self.rounds * senders * problem.d)))
        for begin in range(first, first + count, size):
            yield self._features(problem, Replicates(self.seed, begin, min(size, first + count - begin)))

    def collect(self, problem: Problem, first: int, count: int) -> Array:
        """The features of these replicates at once, (count, F)."""
        return np.concatenate(list(self.batches(problem, first, count)))

    def _features(self, problem: Problem, replicates: Replicates) -> Array:
        """Runs replicates and returns the features of each, (S, F)."""
        algorithm, engine = self.algorithm, self.engine
        start = engine.asarray(np.zeros((replicates.count, problem.d)))
        batch = slice(replicates.first, replicates.first + replicates.count)
        context = Context(engine, problem, self._kernels[id(problem)], replicates, batch, start)
        state = algorithm.initial_state(context)
        w = np.asarray(engine.to_host(algorithm.server(state)))
        seen, signs = [], []
        with engine.single_blas():
            for k in range(self.rounds):
                after, _ = algorithm.round(context, state, k)
                at = np.asarray(engine.to_host(algorithm.server(after)))
                found = None if self.messages is None else self.messages(state, after)
                seen.append((w - at)[None] if found is None else np.asarray(engine.to_host(found)))
                signs.append(self.canary.sign(w))
                state, w = after, at
        columns = [sent * sign[None, :, None] for sent, sign in zip(seen, signs)]
        if self.canary.towards is not None:
            # the release before, with the sign of this round: noise used twice is in both
            columns += [sent * sign[None, :, None] for sent, sign in zip(seen[:-1], signs[1:])]
        flat = np.concatenate([x for block in columns for x in block], axis=1)
        squares = sum((sent * sent).sum(axis=(0, 2)) for sent in seen)
        features = np.concatenate([flat, np.asarray(squares)[:, None]], axis=1)
        if not np.isfinite(features).all():
            raise InputError(
                f"the run with {problem.name} gives numbers that are not finite: give a smaller step size or pull"
            )
        return features


@dataclass(frozen=True, eq=False)
class Linear:
    """The score ``features @ column``, column (F,)."""

    column: Array

    def __call__(self, features: Array) -> Array:
        return np.asarray(features @ self.column)


@dataclass(frozen=True, eq=False)
class LikelihoodRatio:
    r"""Log likelihood ratio of rounds in which the canary takes part by chance, for Gaussian noise:

    .. math:: \sum_k \log\big(1 - q + q\, e^{m_k x_k - m_k^2/2}\big)

    x_k is round k's release along the canary (rows of ``columns``), in standard deviations from its mean without it.
    m_k is the distance by which the canary moves it. The validity of the audit does not depend on this form: any
    function of the observations is a score.
    """

    columns: Array
    means: Array
    deviations: Array
    shifts: Array
    rate: float

    def __call__(self, features: Array) -> Array:
        x = (features @ self.columns.T - self.means) / self.deviations
        weight = np.exp(np.clip(self.shifts * x - 0.5 * self.shifts**2, -700.0, 700.0))
        return np.asarray(np.log1p(self.rate * (weight - 1.0)).sum(axis=1))


Score = Callable[[Array], Array]
"""Features (S, F) -> one number for each replicate (S,)."""


def fixed_scores(canary: Canary, rounds: int, senders: int) -> dict[str, Linear]:
    """The scores that are fixed in advance; ``senders`` is 1 for the third party and n for the server.

    Along the canary's direction: all rounds together, each round, and each round less the one before (to detect noise
    used twice). Each coordinate (to detect missing noise). For the server also the canary's message less each other
    client's (noise used twice). Last, the squared length of all features (a variance that depends on the data).
    """
    v, d = canary.direction, len(canary.direction)
    own = canary.client if senders > 1 else 0
    repeats = rounds - 1 if canary.towards is not None else 0
    width = (rounds + repeats) * senders * d + 1
    found: dict[str, Linear] = {}

    def block(k: int, sender: int) -> slice:
        first = (k * senders + sender) * d
        return slice(first, first + d)

    def score(name: str, *parts: tuple[slice, Array]) -> None:
        column = np.zeros(width)
        for where, values in parts:
            column[where] += values
        found[name] = Linear(column)

    every = range(rounds)
    score("along the canary", *((block(k, own), v) for k in every))
    for j in range(d):
        e = np.zeros(d)
        e[j] = np.sign(v[j])
        score(f"coordinate {j}", *((block(k, own), e) for k in every))
    if rounds > 1:
        for k in every:
            score(f"round {k}", (block(k, own), v))
        for k in every[1:]:
            before = block(rounds + k - 1, own) if repeats else block(k - 1, own)
            score(f"round {k} less round {k - 1}", (block(k, own), v), (before, -v))
    for i in range(senders):
        if i != own:
            score(f"less client {i}", *(part for k in every for part in ((block(k, own), v), (block(k, i), -v))))
    score("squared length", (slice(width - 1, width), np.ones(1)))
    return found


def fitted(named_scores: dict[str, Linear], one: Array, zero: Array, rate: float, rounds: int) -> dict[str, Score]:
    """Scores that the pilot's features with (one) and without (zero) the canary, (S, F), determine: Fisher's linear
    discriminant, and a likelihood ratio where the canary takes part by chance in several rounds.

    The discriminant finds combinations that no list anticipates, such as noise that cancels between coordinates and
    rounds. The pilot is used only to fit: a replicate that fits a score is not tested by it.
    """
    found: dict[str, Score] = {"discriminant fitted on the pilot": _discriminant(one, zero)}
    if rate < 1.0 and rounds > 1:
        columns = np.stack([named_scores[f"round {k}"].column for k in range(rounds)])
        x, y = one @ columns.T, zero @ columns.T
        deviations = y.std(axis=0)
        seen = deviations > 0.0
        deviations = np.where(seen, deviations, 1.0)
        shifts = np.where(seen, (x.mean(axis=0) - y.mean(axis=0)) / (rate * deviations), 0.0)
        found["likelihood ratio"] = LikelihoodRatio(columns, y.mean(axis=0), deviations, shifts, rate)
    return found


def _discriminant(one: Array, zero: Array) -> Linear:
    a, b = one[:, :-1], zero[:, :-1]
    covariance = 0.5 * (np.cov(a, rowvar=False) + np.cov(b, rowvar=False))
    values, vectors = np.linalg.eigh(np.atleast_2d(covariance))
    floor = 1e-12 * max(float(values[-1]), 1e-300)
    difference = vectors.T @ (a.mean(axis=0) - b.mean(axis=0))
    direction = vectors @ (difference / np.maximum(values, floor))
    length = float(np.linalg.norm(direction))
    return Linear(np.append(direction / length if length > 0.0 else direction, 0.0))
