"""A risk with CSR records in whitened coordinates, without a dense matrix of records times features.

The rows of the weighted features A = diag(sqrt a) X span at most min(m, d0) directions. Their singular values and
vectors are computed from the smaller of the Gram matrices A A^T and A^T A. So the basis is either ``A^T U`` (kept as
the small factor U) or short itself. Squaring halves the digits with which small singular values are distinguished from
zero: directions below ``sqrt(4 min(m, d0) eps)`` of the largest are left out. Nothing depends on the basis being
orthonormal: values, logits and gradients are those of ``w`` itself, so a direction left out shows in the certificate.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.problems.base import Array
from dpfl_theory.problems.risk import Whitened
from dpfl_theory.problems.sparse import scaled

__all__ = ["Spanned", "spannable"]

_EPS = float(np.finfo(np.float64).eps)
_ORDER = 4096
"""The largest Gram matrix whose eigenvectors are computed, a quarter of a minute."""
_NUMBERS = 1 << 26
"""The maximum size of records in whitened coordinates, half a gigabyte."""
_BLOCK = 128


def spannable(x: Any) -> bool:
    """Whether CSR features are small enough, in records or in columns, for whitened coordinates."""
    order = min(x.shape)
    return bool(order <= _ORDER and x.shape[0] * order <= _NUMBERS)


class Spanned(Whitened):
    """`Whitened` for CSR features."""

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        """Singular vectors, those of the records (m, r) or of the columns (d0, r), and values (r,)."""
        a = scaled(self.risk.x, np.sqrt(self.risk.weight))
        squares, vectors = np.linalg.eigh((a @ a.T if self._by_records else a.T @ a).toarray())
        kept = squares > 4.0 * len(squares) * _EPS * max(float(squares[-1]), 0.0)
        kept &= squares > 0.0
        return vectors[:, kept][:, ::-1], np.sqrt(squares[kept])[::-1]

    @property
    def _by_records(self) -> bool:
        return bool(self.risk.x.shape[0] <= self.risk.x.shape[1])

    @cached_property
    def _lengths(self) -> Array:
        """The lengths of the basis vectors (r,)."""
        s = self._factors[1]
        return np.asarray(1.0 / np.sqrt(self.risk.loss.curvature_bound * s**2 + self.risk.ridge))

    @cached_property
    def _inner(self) -> Array:
        """basis = X^T inner where records are fewer than columns, else basis = inner."""
        vectors, s = self._factors
        if not self._by_records:
            return np.asarray(vectors * self._lengths)
        return np.asarray(np.sqrt(self.risk.weight)[:, None] * vectors * (self._lengths / s))

    @property
    def rank(self) -> int:
        return int(self._inner.shape[1])

    @cached_property
    def x(self) -> Array:
        if not self._by_records:
            return np.asarray(self.risk.x @ self._inner)
        found = np.empty(self._inner.shape)
        for k in range(0, self.rank, _BLOCK):  # the basis, some of its vectors at a time
            part = slice(k, k + _BLOCK)
            found[:, part] = self.risk.x @ (self.risk.x.T @ self._inner[:, part])
        return found

    @cached_property
    def penalty(self) -> Array:
        return np.tile(self.risk.ridge * self._lengths**2, self.contrast.shape[1])

    def parameters(self, q: Array) -> Array:
        rows = self._inner @ (self.contrast @ self._grid(q)).T
        return np.ascontiguousarray((self.risk.x.T @ rows if self._by_records else rows).T).ravel()

    def project(self, w: Array) -> Array:
        """The coordinates of w (one output), to the accuracy with which the basis is orthogonal."""
        back = self._inner.T @ (self.risk.x @ w) if self._by_records else self._inner.T @ w
        return np.asarray(back / self._lengths**2)

    def logits(self, q: Array) -> Array:
        return self.risk.logits(self.parameters(q))

    def value(self, q: Array) -> float:
        return self.risk.value(self.parameters(q))

    def gradient(self, q: Array) -> Array:
        g = self.risk.gradient(self.parameters(q)).reshape(self.risk.classes, -1).T
        back = self._inner.T @ (self.risk.x @ g if self._by_records else g)
        return np.asarray((back @ self.contrast).T).ravel()
