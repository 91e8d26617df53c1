"""A cumulant generating function (CGF) at integer orders, evaluated where a search needs it, and the search for the
best order.

Both levels of Appendix B have the form log(1 + sum_j binom(alpha, j) q^j exp(t_j)). All orders up to `DENSE` are
evaluated. While a lower bound for all larger orders allows a better one, orders are sampled octave by octave up to
`LARGEST_ORDER`. Then the neighbourhood of the best is bisected down to adjacent integers. Every order gives a valid
bound, so sampling can only lose tightness; compared with all orders up to 4096 it lost none.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from dpfl_theory.privacy.noble2022.lemmas import log_first_term, subsampled_cgf

__all__ = ["DENSE", "LARGEST_ORDER", "Curve", "gaussian_curve", "gaussian_table", "user_curve"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DENSE = 512
"""All orders up to this one are tried."""
LARGEST_ORDER = 1 << 17
"""The largest order that is tried; an optimum there is reported as an optimum at the edge."""
_PER_OCTAVE = 48
_FEW = 5.0  # below this alpha q, the sum's mass is in its first and last `_WINDOW` terms
_WINDOW = 64
_STEP = 0.6  # of the trapezoidal rule; its relative error is below 2 exp(-2 pi^2/step^2) = 3e-24


class Curve:
    """A CGF K(alpha - 1) = (alpha - 1) epsilon(alpha) at the integer orders evaluated so far.

    `cgf` evaluates it; `floor(a)` is a lower bound of epsilon(alpha) for all alpha >= a, which ends the search.
    """

    def __init__(self, cgf: Callable[[IntArray], FloatArray], floor: Callable[[int], float]) -> None:
        self._cgf, self._floor = cgf, floor
        self.orders: IntArray = np.arange(2, min(DENSE, LARGEST_ORDER) + 1)
        self.values: FloatArray = cgf(self.orders)

    def best(self, weight: float, log_term: float) -> tuple[float, int]:
        """The least (weight K + log_term)/(alpha - 1) over integers alpha >= 2, and its alpha."""
        while True:
            objective = (weight * self.values + log_term) / (self.orders - 1)
            i = int(np.argmin(objective))
            last = int(self.orders[-1])
            if last < LARGEST_ORDER and weight * self._floor(last) < objective[i]:
                self._extend()
            elif not self._bisect(i):
                return float(objective[i]), int(self.orders[i])

    def best_each(self, weight: float, log_terms: FloatArray) -> FloatArray:
        """The values of `best` for many log terms, over the orders evaluated so far, shape (n,)."""
        least: FloatArray = ((weight * self.values + log_terms[:, None]) / (self.orders - 1)).min(axis=1)
        return least

    def _extend(self) -> None:
        last = int(self.orders[-1])
        end = min(2 * last, LARGEST_ORDER)
        self._insert(np.unique(np.rint(np.geomspace(last, end, _PER_OCTAVE + 1)).astype(np.int64))[1:])

    def _bisect(self, i: int) -> bool:
        """Evaluate the middle orders on both sides of the i-th; False where its neighbours are adjacent."""
        left, right = self.orders[max(i - 1, 0)], self.orders[min(i + 1, self.orders.size - 1)]
        middle = [(a + b) // 2 for a, b in ((left, self.orders[i]), (self.orders[i], right)) if b - a > 1]
        if middle:
            self._insert(np.array(middle))
        return bool(middle)

    def _insert(self, orders: IntArray) -> None:
        at = np.searchsorted(self.orders, orders)
        self.orders, self.values = np.insert(self.orders, at, orders), np.insert(self.values, at, self._cgf(orders))


def gaussian_curve(rate: float, variance: float) -> Curve:
    """The CGF of Lemma B.7's q-subsampled Gaussian mechanism."""

    def cgf(orders: IntArray) -> FloatArray:
        return _sums(orders, rate, _gaussian_terms(int(orders.max()), variance))

    return Curve(cgf, lambda order: _gaussian_floor(order, rate, variance))


def user_curve(user_rate: float, record_rate: float, local_steps: int, variance: float) -> Curve:
    """The CGF of one round by Wang et al.'s Theorem 9 at rate l, on K composed s-subsampled Gaussian mechanisms.

    The j-th term is exp((j-1) epsilon(j)) with (j-1) epsilon(j) = K times the CGF of Lemma B.7; epsilon(infinity) is
    infinite.
    """
    terms: FloatArray = np.empty(0)

    def cgf(orders: IntArray) -> FloatArray:
        nonlocal terms
        known, needed = terms.size + 1, int(orders.max())
        if needed > known:
            inner = local_steps * gaussian_table(known + 1, needed, record_rate, variance)
            more = np.log(2.0) + inner
            if known == 1:  # the first entry belongs to j = 2, where epsilon(2) is the inner CGF itself
                more[0] = min(log_first_term(float(inner[0])), more[0])
            terms = np.append(terms, more)
        return _sums(orders, user_rate, terms)

    def floor(order: int) -> float:
        # As in _gaussian_floor, with the inner CGF at least 0, at least j log(1 + s) from j = 6/s on, and at least its
        # own floor for the last term. A binomial number exceeds its mean less 1 with probability 1/2.
        odds = user_rate * math.exp(min(local_steps * math.log1p(record_rate), 600.0))
        inner = local_steps * _gaussian_floor(order, record_rate, variance)
        return max(
            math.log1p(user_rate) if order * user_rate >= 6 else 0.0,
            math.log1p(odds) if order * odds / (1 + odds) >= 6 / record_rate + 2 else 0.0,
            math.log(user_rate) * order / (order - 1) + inner,
        )

    return Curve(cgf, floor)


def _gaussian_floor(order: int, q: float, variance: float) -> float:
    """A lower bound of Lemma B.7's epsilon'(alpha) for all alpha >= order.

    The sum from j = 3 is at least 2 (1 + q)^alpha less its terms j <= 2, and with the 1 in front this is at least
    2 (1 + q)^alpha - (1 + alpha q)^2. From alpha q = 6 on, (1 + q)^alpha >= 2^(alpha q) >= (1 + alpha q)^2, and so the
    bound exceeds log(1 + q). It also exceeds what its last term gives alone.
    """
    last_term = math.log(q) * order / (order - 1) + order / (2 * variance)
    return max(math.log1p(q) if order * q >= 6 else 0.0, last_term)


def _sums(orders: IntArray, rate: float, terms: FloatArray) -> FloatArray:
    return np.array([subsampled_cgf(int(a), rate, terms) for a in orders])


def _gaussian_terms(largest: int, variance: float) -> FloatArray:
    j = np.arange(2, largest + 1, dtype=float)
    terms: FloatArray = np.log(2.0) + j * (j - 1) / (2 * variance)
    terms[0] = min(log_first_term(1 / variance), terms[0])
    return terms


def gaussian_table(first: int, last: int, rate: float, variance: float) -> FloatArray:
    """The CGF of Lemma B.7 at all orders first..last.

    Up to `DENSE` the sum is formed term by term, which is quadratic in the order. Beyond, with Z standard normal,

        sum_{i=0}^{j} binom(j, i) q^i e^{i(i-1)/(2v)} = E (1 + q e^{Z/sqrt(v) - 1/(2v)})^j

    is integrated by the trapezoidal rule, less the terms i <= 2. Where jq is small these dominate and would cancel;
    then all that matters is in the first and the last terms, which are summed.
    """
    orders = np.arange(first, last + 1)
    few = orders * rate <= _FEW
    parts = [_sums(orders[orders <= DENSE], rate, _gaussian_terms(DENSE, variance))]
    for group, higher in ((orders[(orders > DENSE) & few], _ends), (orders[(orders > DENSE) & ~few], _quadrature)):
        for start in range(0, group.size, 512):
            j = group[start : start + 512].astype(float)
            second = np.log(j * (j - 1) / 2) + 2 * np.log(rate) + _gaussian_terms(2, variance)[0]
            rest = np.log(2.0) + higher(j, rate, 1 / variance)
            parts.append(np.logaddexp(0.0, np.logaddexp(second, rest)))
    return np.concatenate(parts)


def _ends(j: FloatArray, q: float, v: float) -> FloatArray:
    """log of the sum from i = 3: its first and last terms. With jq <= 5 all others are below 1e-30 of these."""
    low = np.broadcast_to(np.arange(3.0, 3 + _WINDOW), (j.size, _WINDOW))
    i = np.concatenate([low, j[:, None] - np.arange(_WINDOW)], axis=1)
    n = j[:, None]
    choose = gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1)
    total: FloatArray = logsumexp(choose + i * np.log(q) + i * (i - 1) * (v / 2), axis=1)
    return total


def _quadrature(j: FloatArray, q: float, v: float) -> FloatArray:
    """log of the sum from i = 3, by the expectation; v is 1/variance here.

    The integrand is a mixture of unit Gaussians centred at i sqrt(v), i = 0..j, which bounds both the error of the rule
    and the mass outside the nodes.
    """
    root = np.sqrt(v)
    z = np.arange(-9.0, j[-1] * root + 9.0 + _STEP, _STEP)
    log_base = np.logaddexp(0.0, np.log(q) + root * z - v / 2)
    ends = j[[0, j.size // 2, -1]][:, None] * log_base - z * z / 2
    peak = ends.max(axis=1)
    # At a node the exponent is linear in j, and the peak is convex. So a node 60 below it at both ends stays 40 below
    # in between, if the peak at the middle is at most 10 below its chord.
    if peak[0] + peak[2] - 2 * peak[1] <= 20:
        kept = (ends[0] > peak[0] - 60) | (ends[2] > peak[2] - 60)
        z, log_base = z[kept], log_base[kept]
    weights = np.log(_STEP / np.sqrt(2 * np.pi)) - z * z / 2
    whole: FloatArray = logsumexp(j[:, None] * log_base + weights, axis=1)
    first = np.logaddexp(np.log1p(j * q), np.log(j * (j - 1) / 2) + 2 * np.log(q) + v)
    total: FloatArray = whole + np.log1p(-np.exp(np.minimum(first - whole, -1e-16)))
    return total
