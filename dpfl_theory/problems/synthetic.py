"""Synthetic records: linear targets and noisy class labels, heterogeneous over clients."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.problems.base import Array
from dpfl_theory.problems.validation import count, fraction, nonnegative

Parts = list[NDArray[np.int64]]


def _features(clients: int, dimension: int, records: int, rng: np.random.Generator) -> tuple[Array, Parts]:
    x = rng.standard_normal((clients * records, dimension)) / math.sqrt(dimension)
    return x, np.split(np.arange(clients * records), clients)


def synthetic_regression(
    clients: int, dimension: int, records: int, heterogeneity: float, noise: float, seed: int
) -> tuple[Array, Array, Parts]:
    """x (N, d), y (N,) and each client's records: ``y = x^T (w_0 + heterogeneity z_i) + noise N(0, 1)``.

    >>> x, y, parts = synthetic_regression(2, 3, 4, 1.0, 0.0, seed=0)
    >>> x.shape, y.shape, [len(own) for own in parts]
    ((8, 3), (8,), [4, 4])
    """
    clients, dimension, records = count("clients", clients), count("dimension", dimension), count("records", records)
    spread, noise = nonnegative("heterogeneity", heterogeneity), nonnegative("noise", noise)
    rng = np.random.default_rng(count("seed", seed, 0))
    x, parts = _features(clients, dimension, records, rng)
    w = rng.standard_normal(dimension) + spread * rng.standard_normal((clients, dimension))
    y = np.einsum("ijk,ik->ij", x.reshape(clients, records, dimension), w).ravel()
    return x, y + noise * rng.standard_normal(len(y)), parts


def synthetic_classes(
    clients: int, dimension: int, records: int, classes: int, heterogeneity: float, label_noise: float, seed: int
) -> tuple[Array, Array, Parts]:
    """x (N, d), y (N,) in 0..classes-1: the largest logit under ``W_0 + heterogeneity Z_i``, then label noise.

    label_noise: the probability that a label is replaced by one of the others.

    >>> x, y, parts = synthetic_classes(2, 3, 4, 3, 1.0, 0.1, seed=0)
    >>> bool(np.all((y >= 0) & (y < 3)))
    True
    """
    clients, dimension, records = count("clients", clients), count("dimension", dimension), count("records", records)
    classes, spread = count("classes", classes, 2), nonnegative("heterogeneity", heterogeneity)
    rng = np.random.default_rng(count("seed", seed, 0))
    x, parts = _features(clients, dimension, records, rng)
    w = rng.standard_normal((dimension, classes)) + spread * rng.standard_normal((clients, dimension, classes))
    y = np.argmax(x.reshape(clients, records, dimension) @ w, axis=2).ravel()
    return x, noisy_labels(y, classes, label_noise, rng), parts


def noisy_labels(y: NDArray[np.int64], classes: int, label_noise: float, rng: np.random.Generator) -> Array:
    """Labels of which a fraction, chosen at random, is replaced by another class, uniformly.

    >>> noisy_labels(np.array([0, 1]), 2, 1.0, np.random.default_rng(0))
    array([1., 0.])
    """
    flips = rng.random(len(y)) < fraction("label_noise", label_noise)
    shift = rng.integers(1, classes, len(y))
    return np.where(flips, (y + shift) % classes, y).astype(np.float64)
