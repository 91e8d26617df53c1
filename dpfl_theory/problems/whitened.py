"""A risk in coordinates in which it is well conditioned, dense or with CSR records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.problems.base import EPS, Array
from dpfl_theory.problems.risk import Risk
from dpfl_theory.problems.sparse import scaled

_RECORDS = 4096
"""Records whose share of a softmax Hessian is formed at once: it stays in the cache, twice as fast as all."""
_ORDER = 4096
"""The largest Gram matrix whose eigenvectors are computed, a quarter of a minute."""
_NUMBERS = 1 << 26
"""The maximum size of records in whitened coordinates, half a gigabyte."""
_BLOCK = 128


@dataclass(frozen=True, eq=False)
class Whitened:
    """A risk in coordinates q in which its largest Hessian is the identity: ``w = contrast q basis^T``.

    basis (d0, r) spans the rows of x, scaled by ``1/sqrt(c s^2 + ridge)`` (s: singular values of the weighted features,
    c: the loss's curvature), so rank-deficient and badly scaled data need no care in Newton's method. For softmax,
    contrast (classes, classes - 1) has orthonormal columns that sum to zero, which fixes the gauge: adding one vector
    to all classes changes nothing. A direct consequence: q has only directions in which the data can move f.
    """

    risk: Risk

    @cached_property
    def basis(self) -> Array:
        """(d0, r)."""
        r = self.risk
        weighted = np.sqrt(r.weight)[:, None] * r.x
        _, s, vt = np.linalg.svd(weighted, full_matrices=False)
        rank = int(np.sum(s > 4.0 * max(r.x.shape) * EPS * s[0])) if len(s) and s[0] > 0.0 else 0
        return np.asarray(vt[:rank].T / np.sqrt(r.loss.curvature_bound * s[:rank] ** 2 + r.ridge))

    @cached_property
    def contrast(self) -> Array:
        """(classes, classes - 1) for softmax, else (1, 1)."""
        classes = self.risk.classes
        if not self.risk.loss.classwise:
            return np.ones((1, 1))
        columns = np.triu(np.ones((classes, classes - 1))) - np.arange(1, classes) * np.eye(classes, classes - 1, -1)
        return np.asarray(columns / np.linalg.norm(columns, axis=0))

    @cached_property
    def x(self) -> Array:
        """The features in these coordinates (m, r)."""
        return np.asarray(self.risk.x @ self.basis)

    @cached_property
    def penalty(self) -> Array:
        """The ridge in these coordinates, one number for each coordinate of q."""
        return np.tile(self.risk.ridge * np.sum(self.basis**2, axis=0), self.contrast.shape[1])

    @property
    def rank(self) -> int:
        """The number r of directions that the records span."""
        return int(self.basis.shape[1])

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return int(self.contrast.shape[1]) * self.rank

    def _grid(self, q: Array) -> Array:
        return q.reshape(self.contrast.shape[1], self.rank)

    def parameters(self, q: Array) -> Array:
        """The flat parameter vector w of q."""
        return np.asarray(self.contrast @ self._grid(q) @ self.basis.T).ravel()

    def project(self, w: Array) -> Array:
        """The coordinates q of a parameter vector w in the span of the records (one output)."""
        return np.asarray(np.linalg.lstsq(self.basis, w, rcond=None)[0]) if self.size else np.zeros(0)

    def move(self, q: Array) -> Array:
        """The change of the logits along q, (m,) or (m, classes)."""
        z = self.x @ self._grid(q).T @ self.contrast.T
        return np.asarray(z if self.risk.loss.classwise else z[:, 0])

    def logits(self, q: Array) -> Array:
        """The logits at q, with removed classes at -inf."""
        z = self.move(q)
        return z if self.risk.allowed is None else np.where(self.risk.allowed, z, -np.inf)

    def value(self, q: Array) -> float:
        """f at q [F]."""
        r = self.risk
        losses = r.loss.value(self.logits(q), r.y, r.threshold)
        return float(r.weight @ losses) + 0.5 * float(self.penalty @ (q * q))

    def pull(self, slopes: Array) -> Array:
        """``sum_j a_j slope_j x_j`` in these coordinates."""
        columns = slopes.reshape(len(slopes), -1) * self.risk.weight[:, None]
        return np.asarray(self.contrast.T @ columns.T @ self.x).ravel()

    def gradient(self, q: Array) -> Array:
        """The gradient with respect to q."""
        r = self.risk
        return self.pull(r.loss.slope(self.logits(q), r.y, r.threshold)) + self.penalty * q

    def curvature(self, q: Array) -> Array:
        """The losses' curvature at q: see ``Loss.curvature``."""
        r = self.risk
        return r.loss.curvature(self.logits(q), r.y, r.threshold)

    def bend(self, curvature: Array, move: Array) -> Array:
        """The change of the slopes for a change of the logits."""
        if curvature.ndim == 1:
            return curvature * move
        scaled = curvature * move
        return np.asarray(scaled - curvature * np.sum(scaled, axis=1, keepdims=True))

    def hessian(self, curvature: Array) -> Array:
        """The Hessian with respect to q for the losses' curvature there."""
        r = self.risk
        if curvature.ndim == 1:
            h = (self.x * (r.weight * curvature)[:, None]).T @ self.x
        else:
            h = np.zeros((self.size, self.size))
            for first in range(0, len(r.weight), _RECORDS):
                h += self._softmax_hessian(curvature, slice(first, first + _RECORDS))
        h[np.diag_indices_from(h)] += self.penalty
        return np.asarray(h)

    def _softmax_hessian(self, curvature: Array, part: slice) -> Array:
        """The share of some records in the Hessian of a softmax loss."""
        x, p, weight = self.x[part], curvature[part], self.risk.weight[part]
        blocks = np.stack([(x * (weight * own)[:, None]).T @ x for own in p.T])
        h = np.einsum("ck,cl,cij->kilj", self.contrast, self.contrast, blocks, optimize=True)
        h = h.reshape(self.size, self.size)
        means = np.sqrt(weight)[:, None] * (p @ self.contrast)
        outer = (means[:, :, None] * x[:, None, :]).reshape(len(x), self.size)
        h -= outer.T @ outer
        return np.asarray(h)


def spannable(x: Any) -> bool:
    """Whether CSR features are small enough, in records or in columns, for whitened coordinates."""
    order = min(x.shape)
    return bool(order <= _ORDER and x.shape[0] * order <= _NUMBERS)


class Spanned(Whitened):
    """`Whitened` for CSR features, without a dense matrix of records times features.

    The rows of the weighted features A = diag(sqrt a) X span at most min(m, d0) directions. Their singular values and
    vectors are computed from the smaller of the Gram matrices A A^T and A^T A. So the basis is either ``A^T U`` (kept
    as the small factor U) or short itself. Squaring halves the digits with which small singular values are
    distinguished from zero: directions below ``sqrt(4 min(m, d0) eps)`` of the largest are left out. Nothing depends
    on the basis being orthonormal: values, logits and gradients are those of ``w`` itself, so a direction left out
    shows in the certificate.
    """

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        """Singular vectors, those of the records (m, r) or of the columns (d0, r), and values (r,)."""
        a = scaled(self.risk.x, np.sqrt(self.risk.weight))
        squares, vectors = np.linalg.eigh((a @ a.T if self._by_records else a.T @ a).toarray())
        kept = squares > 4.0 * len(squares) * EPS * max(float(squares[-1]), 0.0)
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
