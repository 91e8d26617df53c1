"""Linear models as problems: n clients with records, one loss, certified constants, kernels on any engine."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.linear import LOSSES, LinearData
from dpfl_theory.kernels.tape.operations import MOST_NUMBERS
from dpfl_theory.problems.base import Array, Constants, Kernels, Problem
from dpfl_theory.problems.losses import LOSS
from dpfl_theory.problems.risk import Rounding
from dpfl_theory.problems.sparse import gathered, is_sparse
from dpfl_theory.problems.validation import choice, count, finite_array, nonnegative, sparse_matrix, vector

if TYPE_CHECKING:
    from dpfl_theory.kernels.engine import Engine
    from dpfl_theory.problems.data import Dataset

_SMALL_COHORT = 0.5
"""The share of clients in a round below which only those are run (the saving is measured in `benchmarks/cohort.py`)."""


def linear_data(
    x: Any,
    y: Any,
    clients: Sequence[NDArray[np.int64]],
    loss: str,
    *,
    threshold: Any = 1.0,
    ridge: float = 0.0,
    classes: int = 1,
) -> LinearData:
    """Records sorted by client, checked; x (N, d0), y (N,), clients: each client's record numbers.

    A SciPy sparse x becomes CSR and is never made dense (`problems.sparse.dense_if_small` says where dense is faster).

    threshold: one number, one for each client, or one for each record of x (Huber only). Raises InputError on values
    that are not finite, shapes that disagree, labels outside the loss's set, a threshold <= 0, a negative ridge, or a
    client without records.

    >>> linear_data([[1.0], [2.0]], [1, -1], [np.array([1]), np.array([0])], "logistic").x.tolist()
    [[2.0], [1.0]]
    """
    choice("loss", loss, tuple(LOSSES))
    x = sparse_matrix("the features x", x) if is_sparse(x) else finite_array("the features x", x, 2)
    y = vector("the labels y", y, x.shape[0])
    count("classes", classes, 2 if loss == "softmax" else 1)
    sizes = [len(own) for own in clients]
    if not sizes or min(sizes) == 0:
        empty = sizes.index(0) if sizes else "any"
        raise InputError(f"client {empty} has no records: give every client at least one record")
    order = np.concatenate([np.asarray(own) for own in clients]).astype(np.int64)
    if order.min() < 0 or order.max() >= len(y):
        raise InputError(f"a client owns record {int(order.max())} of {len(y)}: number the records from 0")
    try:
        bound = np.asarray(threshold, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"threshold is {threshold!r}: give a number above zero, or one for each client") from None
    if bound.ndim == 0:
        bound = np.full(len(order), float(bound))
    elif bound.ndim == 1 and len(bound) == len(sizes):
        bound = np.repeat(bound, sizes)
    elif bound.ndim == 1 and len(bound) == len(y):
        bound = bound[order]
    else:
        raise InputError(
            f"threshold has shape {bound.shape}: give one number, one for each of the {len(sizes)} clients, "
            f"or one for each of the {len(y)} records"
        )
    if not (np.all(np.isfinite(bound)) and np.all(bound > 0.0)):
        worst = bound[~(np.isfinite(bound) & (bound > 0.0))][0]
        raise InputError(f"threshold is {worst}: Huber thresholds must be finite and above zero")
    if loss == "logistic" and not np.all(np.abs(y) == 1.0):
        raise InputError(f"label {y[np.abs(y) != 1.0][0]} is not allowed: logistic labels are -1 and +1")
    if loss == "softmax" and not np.all((y >= 0) & (y < classes) & (y == np.round(y))):
        wrong = y[~((y >= 0) & (y < classes) & (y == np.round(y)))][0]
        raise InputError(f"label {wrong} is not allowed: softmax labels are 0 to {classes - 1}")
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    x, y = x[order] if is_sparse(x) else np.ascontiguousarray(x[order]), np.ascontiguousarray(y[order])
    return LinearData(x, y, offsets, loss, bound, nonnegative("ridge", ridge), classes)


def from_dataset(
    dataset: Dataset,
    clients: Sequence[NDArray[np.int64]],
    loss: str,
    *,
    threshold: Any = 1.0,
    ridge: float = 0.0,
    name: str = "",
) -> LinearModel:
    """A linear model on a data set; clients: each client's record numbers (see ``partition``).

    loss: ``logistic`` for two classes, ``softmax`` for two or more, ``squared`` and ``huber`` for targets. threshold:
    where a Huber loss turns linear [unit of y], one number or one for each client. Raises InputError where the data do
    not fit the loss.

    >>> from dpfl_theory.problems.data import Dataset
    >>> data, parts = Dataset("two", np.ones((2, 1)), np.array([0.0, 1.0]), 2), [np.array([0]), np.array([1])]
    >>> for loss in ("logistic", "squared"):
    ...     print(from_dataset(data, parts, loss).constants.w_star.round(12))
    [0.]
    [0.5]
    """
    if loss == "logistic" and dataset.classes != 2:
        raise InputError(
            f"data set {dataset.name!r} has {dataset.classes} classes: logistic regression needs two, "
            "use a softmax family or another data set"
        )
    if loss == "softmax" and dataset.classes < 2:
        raise InputError(f"data set {dataset.name!r} has no class labels: use a least-squares or Huber family")
    y, classes = 2.0 * dataset.y - 1.0 if loss == "logistic" else dataset.y, dataset.classes if loss == "softmax" else 1
    data = linear_data(dataset.x, y, clients, loss, threshold=threshold, ridge=ridge, classes=classes)
    return LinearModel(data, name or loss)


@dataclass(frozen=True, eq=False)
class LinearModel(Problem):
    """``f_i(w) = (1/m_i) sum_j loss(x_j^T w, y_j) + (ridge/2) ||w||^2``: least squares, Huber, logistic, softmax.

    data: the records, on the host;  name: the problem's name in evidence. For softmax w has classes * features entries,
    (classes, features) in C order.

    >>> data = linear_data([[1.0], [1.0]], [0.0, 2.0], [np.array([0]), np.array([1])], "squared")
    >>> model = LinearModel(data, "two squares")
    >>> model.value(np.array([1.0])), model.constants.w_star.round(12)
    (0.5, array([1.]))
    """

    data: LinearData
    name: str = "linear model"
    n: int = field(init=False)
    d: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", self.data.clients)
        object.__setattr__(self, "d", self.data.parameters)

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        """Whether the records are CSR."""
        return self.data.sparse

    @cached_property
    def constants(self) -> Constants:
        """The certified constants, computed once."""
        from dpfl_theory.problems.certificates import linear_constants

        return linear_constants(self.data)

    def kernels(self, engine: Engine) -> Kernels:
        """The numerical side on the engine's device; the records are sent there once."""
        return LinearKernels(self, engine)

    def own_logits(self, i: int, w: Array) -> tuple[slice, Array]:
        """Client i's records and their logits at w."""
        own = slice(int(self.data.offsets[i]), int(self.data.offsets[i + 1]))
        z = self.data.x[own] @ w.reshape(self.data.classes, -1).T
        return own, z if LOSS[self.data.loss].classwise else z[:, 0]

    def client_value(self, i: int, w: Array) -> float:
        """f_i(w) [F]."""
        own, z = self.own_logits(i, w)
        losses = LOSS[self.data.loss].value(z, self.data.y[own], self.data.threshold[own])
        return float(np.mean(losses)) + 0.5 * self.data.ridge * float(w @ w)

    def client_gradient(self, i: int, w: Array) -> Array:
        """grad f_i(w), shape (d,) [F/X]."""
        own, z = self.own_logits(i, w)
        slopes = LOSS[self.data.loss].slope(z, self.data.y[own], self.data.threshold[own])
        mean = gathered(slopes.reshape(len(z), -1), self.data.x[own]) / len(z)
        return np.asarray(mean.ravel() + self.data.ridge * w)


class LinearKernels:
    """The numerical side of a `LinearModel` on one device."""

    def __init__(self, problem: LinearModel, engine: Engine) -> None:
        self.problem = problem
        self.engine = engine
        data = problem.data
        self.data = replace(
            data, x=engine.asarray(data.x), y=engine.asarray(data.y), threshold=engine.asarray(data.threshold)
        )

    @cached_property
    def records(self) -> Any:
        """The number of records of each client, (n,)."""
        return self.engine.asarray(self.data.records)

    @cached_property
    def _client_infima(self) -> Any:
        return self.engine.asarray(self.problem.constants.f_i_star)

    @cached_property
    def _rounding(self) -> Rounding:
        return Rounding.from_records(self.problem.data)

    def _above(self, values: Any, infima: Any, constant: str, w: Any) -> Any:
        """``values - infima``, (S,) or (S, n), not below zero. Raises InputError where it is farther below than the
        error of the infimum's certificate and the rounding of the value at w (S, d) explain."""
        xp = self.engine.xp
        gap = values - infima
        below = gap < 0.0
        if bool(below.any()):  # only at the minimum, so a run rarely pays for the following lines
            replicates = below if below.ndim == 1 else below.any(axis=1)
            certificate = self.problem.constants.certificates.get(constant)
            error = 0.0 if certificate is None else certificate.error
            rounding = self._rounding.bound(xp, w[replicates], values[replicates])
            excess = float((gap[replicates] + error + rounding).min())
            if excess < 0.0:
                raise InputError(
                    f"a value of {self.problem.name} lies {float(-gap.min()):.3g} below the {constant} of its "
                    f"constants, {-excess:.3g} more than the certificate's error {error:.3g} and rounding explain, so "
                    f"that is not an infimum: correct {constant}"
                )
        return xp.maximum(gap, 0.0)

    def local_phase(self, w: Any, step: Any, steps: int) -> LinearPhase:
        """E local gradient steps of every client from w (S, d) with step (S,)."""
        return LinearPhase(self.engine, self.data, w, step, steps)

    def client_gradients(self, w: Any) -> Any:
        """grad f_i(w_i) at per-client parameters (n, S, d): shape (n, S, d)."""
        return self.engine.linear_gradients(self.data, w)

    def gradients_of(self, w: Any, clients: Any) -> Any:
        """grad f_i(w) of clients (A, S) at their own parameters (A, S, d): shape (A, S, d)."""
        sums, _ = self.record_sums(w, clients)
        return sums / self.records[clients][:, :, None]

    def record_sums(self, w: Any, clients: Any, chosen: Any = None, threshold: Any = None) -> tuple[Any, Any]:
        """Sums of (clipped) gradients of single records, and the thresholds: `Engine.linear_record_sums`."""
        return self.engine.linear_record_sums(self.data, w, clients, chosen, threshold)

    def gradient(self, w: Any) -> Any:
        """grad f(w), (S, d): the mean of the clients' first local gradients."""
        xp = self.engine.xp
        replicates = w.shape[0]
        gradients = self.engine.linear_local_phase(self.data, w, xp.zeros(replicates), 1)
        return self.engine.combine(gradients, xp.full((replicates, self.problem.n), 1.0 / self.problem.n))

    def client_excess(self, w: Any) -> Any:
        """f_i(w) - inf f_i, (S, n)."""
        # A difference of values: below about 1e-16 |f_i| it is rounding, which must not become negative.
        return self._above(self.engine.linear_values(self.data, w), self._client_infima, "f_i_star", w)

    def suboptimality(self, w: Any) -> Any:
        """f(w) - inf f, (S,)."""
        # The rounding floor is about 1e-16 |f(w)|: a linear model has no form of this without cancellation.
        mean = self.engine.linear_values(self.data, w).mean(axis=1)
        return self._above(mean, self.problem.constants.f_star, "f_star", w)


class LinearPhase:
    """The updates (n, S, d) of a local phase, computed when they are needed.

    A sum over a small cohort runs only the clients that are in it. Where a run may use a tape, which does the same in
    every round, it runs all of them.
    """

    def __init__(self, engine: Engine, data: LinearData, w: Any, step: Any, steps: int) -> None:
        self._engine = engine
        self._phase = partial(engine.linear_local_phase, data, w, step, steps)
        self._may_choose = len(w) * max(data.clients * data.parameters, len(data.y) * data.classes) > MOST_NUMBERS
        self._updates: Any = None

    def _of(self, weights: Any) -> Any:
        """All updates, or only those that have a weight, where these are few and all of them were not needed before."""
        chooses = self._updates is None and self._may_choose and self._engine.name == "cpu"
        if chooses and np.count_nonzero(weights) < _SMALL_COHORT * weights.size:
            return self._phase(weights)
        return self.updates()

    def combine(self, weights: Any) -> Any:
        """``sum_i weights[s, i] updates[i, s]``, (S, d)."""
        return self._engine.combine(self._of(weights), weights)

    def bounded_combine(self, weights: Any, threshold: Any, normalise: bool) -> Any:
        """``sum_i weights[s, i] bound(updates[i, s])``, (S, d)."""
        total, _ = self._engine.bounded_combine(self._of(weights), weights, threshold, normalise)
        return total

    def updates(self) -> Any:
        """(n, S, d)."""
        if self._updates is None:
            self._updates = self._phase()
        return self._updates

    def only(self, weights: Any) -> LinearPhase:
        """The phase of the clients that have a weight (S, n), where these are few."""
        found = copy(self)
        found._updates = self._of(weights)
        return found

    @property
    def lengths(self) -> Any:
        """The updates' lengths (S, n), summed in the order in which a tape sums."""
        updates = self.updates()
        return self._engine.xp.sqrt((updates * updates).sum(axis=2).T)
