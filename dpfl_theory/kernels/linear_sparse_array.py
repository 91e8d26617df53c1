"""Linear models with CSR records on the array engine: client by client, with the module's own sparse products."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.kernels.linear_array import _Group, _losses, _slopes

__all__ = ["linear_gradients", "linear_local_phase", "linear_record_sums", "linear_values"]


def _clients(data: LinearData) -> Iterator[tuple[Any, _Group]]:
    """Each client's records (m, d0), and the rest as a group of one client."""
    for i in range(data.clients):
        own = slice(int(data.offsets[i]), int(data.offsets[i + 1]))
        yield data.x[own], _Group(i, None, data.y[own][None], data.threshold[own][None], None, None)


def _gradient(xp: Any, data: LinearData, x: Any, g: _Group, at: Any) -> Any:
    """The gradients at (rows, d0) of one client's mean loss, ridge included."""
    slopes = _slopes(xp, data, g, (x @ at.T).T[None])[0]
    return (x.T @ slopes.T).T / x.shape[0] + data.ridge * at


def linear_local_phase(xp: Any, data: LinearData, w: Any, step: Any, steps: int) -> Any:
    """`kernels.linear_array.linear_local_phase`."""
    out = xp.empty((data.clients, *w.shape))
    eta = xp.repeat(step, data.classes)[:, None]
    for x, g in _clients(data):
        at = w.reshape(len(eta), -1).copy()
        total = xp.zeros(at.shape)
        for _ in range(steps):
            slope = _gradient(xp, data, x, g, at)
            total += slope
            at -= eta * slope
        out[g.index] = total.reshape(w.shape)
    return out


def linear_gradients(xp: Any, data: LinearData, w: Any) -> Any:
    """`kernels.linear_array.linear_gradients`."""
    out = xp.empty(w.shape)
    for x, g in _clients(data):
        at = w[g.index].reshape(-1, x.shape[1])
        out[g.index] = _gradient(xp, data, x, g, at).reshape(w.shape[1:])
    return out


def linear_values(xp: Any, data: LinearData, w: Any) -> Any:
    """`kernels.linear_array.linear_values`."""
    out = xp.empty((len(w), data.clients))
    penalty = 0.5 * data.ridge * xp.sum(w * w, axis=1)
    for x, g in _clients(data):
        losses = _losses(xp, data, g, (x @ w.reshape(-1, x.shape[1]).T).T[None])[0]
        out[:, g.index] = xp.mean(losses, axis=1) + penalty
    return out


def linear_record_sums(xp: Any, data: LinearData, w: Any, clients: Any, chosen: Any, threshold: Any) -> tuple[Any, Any]:
    """`kernels.linear_records_array.linear_record_sums`."""
    slots, replicates, _ = w.shape
    out, used = xp.empty(w.shape), xp.empty((slots, replicates))
    for a in range(slots):
        for s in range(replicates):
            first, last = (int(end) for end in data.offsets[int(clients[a, s]) :][:2])
            rows = xp.arange(first, last) if chosen is None else first + chosen[a, s][chosen[a, s] >= 0]
            x, at = data.x[rows], w[a, s].reshape(data.classes, -1)
            logits = (x @ at.T).T
            slopes = _slopes(
                xp, data, _Group(None, None, data.y[rows][None], data.threshold[rows][None], None, None), logits[None]
            )[0]
            length = (slopes * slopes).sum(axis=0) * xp.asarray(x.multiply(x).sum(axis=1)).ravel()
            length = length + 2.0 * data.ridge * (slopes * logits).sum(axis=0) + data.ridge**2 * (at * at).sum()
            length = xp.sqrt(xp.maximum(length, 0.0))
            if isinstance(threshold, str):
                bound = xp.median(length) if len(rows) else 0.0
            else:
                bound = math.inf if threshold is None else threshold[s]
            over = length > bound
            factor = xp.where(over, bound / xp.where(over, length, 1.0), 1.0)
            out[a, s] = ((x.T @ (slopes * factor).T).T + data.ridge * factor.sum() * at).ravel()
            used[a, s] = bound
    return out, used
