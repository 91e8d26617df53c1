"""Which records' losses vanish at infinity: linear separability of classification data, decided by a linear program.

Without ridge, a logistic or softmax objective has no minimiser when some direction w gives every (record, wrong class)
pair a margin ``z_y - z_c >= 0`` and some pair a positive one. The pairs with a positive margin in *some* such direction
form one largest set; along a direction that realises it their losses tend to 0 and the others' do not change. So the
infimum is the minimum over the remaining pairs, which is attained (Albert and Anderson, Biometrika 71, 1984)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, eye_array, hstack

from dpfl_theory.errors import DpflError
from dpfl_theory.problems.base import EPS, Array
from dpfl_theory.problems.sparse import terms, unit_rows

Mask = NDArray[np.bool_]


def margins(x: Any, y: Array, w: Array, classes: int) -> Array:
    """``y x^T w`` as (m, 1) for two labels +-1 (classes = 1), else ``z_y - z_c`` (m, classes), 0 at c = y.

    >>> margins(np.array([[2.0]]), np.array([-1.0]), np.array([3.0]), 1)
    array([[-6.]])
    """
    if classes == 1:
        return np.asarray(y * (x @ w))[:, None]
    z = x @ w.reshape(classes, -1).T
    return np.asarray(z[np.arange(len(y)), y.astype(np.int64)][:, None] - z)


def pairs(y: Array, classes: int) -> Mask:
    """Which entries of ``margins`` are (record, wrong class) pairs."""
    if classes == 1:
        return np.ones((len(y), 1), dtype=np.bool_)
    return np.asarray(np.arange(classes)[None, :] != y.astype(np.int64)[:, None])


def separates(x: Any, y: Array, w: Array, classes: int) -> bool:
    """Whether w gives every pair a margin that is positive beyond rounding: then no minimiser exists and inf f = 0.

    >>> x = np.array([[1.0], [2.0]])
    >>> separates(x, np.array([1.0, 1.0]), np.array([1.0]), 1), separates(x, np.array([1.0, -1.0]), np.array([1.0]), 1)
    (True, False)
    """
    size = abs(x) @ np.max(np.abs(w.reshape(max(classes, 1), -1)), axis=0)
    floor = 4.0 * (terms(x) + 2) * EPS * size[:, None]
    return bool(np.all((margins(x, y, w, classes) > floor) | ~pairs(y, classes)))


def _pair_rows(x: Array, y: Array, classes: int) -> csr_array:
    """Rows A with ``A w`` = margins of the pairs, in the order of ``pairs``."""
    features = x.shape[1]
    if classes == 1:
        return csr_array(y[:, None] * x)
    record, wrong = np.nonzero(pairs(y, classes))
    own = y.astype(np.int64)[record]
    k = np.arange(features)
    columns = np.concatenate([own[:, None] * features + k, wrong[:, None] * features + k], axis=1)
    values = np.concatenate([x[record], -x[record]], axis=1)
    rows = np.repeat(np.arange(len(record)), 2 * features)
    return csr_array(coo_array((values.ravel(), (rows, columns.ravel())), (len(record), classes * features)))


def _positive_pairs(a: csr_array | Array) -> NDArray[np.bool_]:
    """Which rows of A can be made positive at once with ``A w >= 0``: ``max sum s``, ``A w >= s``, ``0 <= s <= 1``.

    Directions are a cone, so at the optimum every s is 0 or 1.
    """
    count, d = a.shape
    for method in ("highs", "highs-ipm"):
        result = linprog(
            np.concatenate([np.zeros(d), -np.ones(count)]),
            A_ub=hstack([-csr_array(a), eye_array(count)], format="csr"),
            b_ub=np.zeros(count),
            bounds=[(None, None)] * d + [(0.0, 1.0)] * count,
            method=method,
        )
        if result.status == 0 and result.x is not None:
            return np.asarray(result.x[d:] > 0.5)
    raise DpflError(
        f"the linear program that decides the separability of {count} margins stopped with {result.message!r}: "
        "add a ridge, or use fewer records or features"
    )


def _pair_gram(x: Array, y: Array, chosen: Mask, classes: int) -> Array:
    """``A^T A`` for the chosen pairs' rows A of ``_pair_rows``, without forming them."""
    if classes == 1:
        return np.asarray(x[chosen[:, 0]].T @ x[chosen[:, 0]])
    features = x.shape[1]
    gram = np.zeros((classes, features, classes, features))
    for own in range(classes):
        for wrong in range(classes):
            rows = x[(y == own) & chosen[:, wrong]]
            if own != wrong and len(rows):
                part = rows.T @ rows
                gram[own, :, own] += part
                gram[wrong, :, wrong] += part
                gram[own, :, wrong] -= part
                gram[wrong, :, own] -= part
    return gram.reshape(classes * features, classes * features)


def vanishing_pairs(x: Array, y: Array, classes: int, fixed: Mask | None = None) -> Mask:
    """The pairs whose losses vanish at infinity, a mask of the shape of ``margins``.

    Solves ``max sum s`` subject to ``margin_p(w) >= s_p``, ``0 <= s <= 1`` with HiGHS; the tolerance of the decision is
    the solver's, 1e-7 for records scaled to length one.

    x (m, d0); y (m,): +-1 when classes = 1, else 0..classes-1. fixed: pairs that are known not to vanish (they have
    positive weight in a dual-feasible point); the program then runs over the null space of their margins, which is
    small. Raises DpflError when the solver fails.

    >>> y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> quasi = np.array([[-1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [2.0, 1.0]])  # two records coincide, one on each side
    >>> vanishing_pairs(quasi, y, 1)[:, 0]
    array([ True, False, False,  True])
    >>> vanishing_pairs(quasi, y, 1, np.array([[False], [True], [True], [False]]))[:, 0]
    array([ True, False, False,  True])
    """
    wanted = pairs(y, classes)
    unit = unit_rows(x)  # margins keep their signs, and the solver's tolerance means something
    rows: csr_array | Array = _pair_rows(unit, y, classes)
    if fixed is not None:
        values, vectors = np.linalg.eigh(_pair_gram(unit, y, wanted & fixed, classes))
        rows = rows[~fixed[wanted]] @ vectors[:, values <= 1e-12 * max(float(values[-1]), 1e-300)]
        wanted = wanted & ~fixed
    found = np.zeros(wanted.shape, dtype=np.bool_)
    if rows.shape[0] > 0 and rows.shape[1] > 0:
        found[wanted] = _positive_pairs(rows)
    return found
