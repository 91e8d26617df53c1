"""A cumulant generating function (CGF) at integer orders, evaluated where a search needs it, and the search for the
best order.

Both levels of Appendix B have the form log(1 + sum_j binom(alpha, j) q^j exp(t_j)). All orders up to `DENSE` are
evaluated. While a lower bound for all larger orders allows a better one, orders are sampled octave by octave up to
the largest one. Then the neighbourhood of the best is bisected down to adjacent integers. Every order gives a valid
bound, so sampling can only lose tightness; compared with all orders up to 4096 it lost none.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.privacy.noble2022.lemmas import log_first_term, subsampled_cgf

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DENSE = 512
"""All orders up to this one are tried."""
LARGEST_ORDER = 1 << 17
"""The largest order of one mechanism that is tried; an optimum there is reported as an optimum at the edge."""
LARGEST_OF_ROUNDS = 1 << 13
"""The same for a round, whose bound needs all smaller orders; its least epsilon is log(1/delta)/8191."""
_PER_OCTAVE = 48


class Curve:
    """A CGF K(alpha - 1) = (alpha - 1) epsilon(alpha) at the integer orders evaluated so far.

    `cgf` evaluates it; `floor(a)` is a lower bound of epsilon(alpha) for all alpha >= a, which ends the search.
    """

    def __init__(
        self, cgf: Callable[[IntArray], FloatArray], floor: Callable[[int], float], largest: int = LARGEST_ORDER
    ) -> None:
        self._cgf, self._floor, self.largest = cgf, floor, largest
        self.orders: IntArray = np.arange(2, DENSE + 1)
        self.values: FloatArray = cgf(self.orders)

    def best(self, weight: float, log_term: float) -> tuple[float, int]:
        """The least (weight K + log_term)/(alpha - 1) over integers alpha >= 2, and its alpha."""
        while True:
            objective = (weight * self.values + log_term) / (self.orders - 1)
            i = int(np.argmin(objective))
            last = int(self.orders[-1])
            if last < self.largest and weight * self._floor(last) < objective[i]:
                self._extend()
            elif not self._bisect(i):
                return float(objective[i]), int(self.orders[i])

    def best_each(self, weight: float, log_terms: FloatArray) -> FloatArray:
        """The values of `best` for many log terms, over the orders evaluated so far, shape (n,)."""
        least: FloatArray = ((weight * self.values + log_terms[:, None]) / (self.orders - 1)).min(axis=1)
        return least

    def _extend(self) -> None:
        last = int(self.orders[-1])
        end = min(2 * last, self.largest)
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
            orders_of_steps = np.arange(known + 1, needed + 1)
            inner = local_steps * _sums(orders_of_steps, record_rate, _gaussian_terms(needed, variance))
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

    return Curve(cgf, floor, LARGEST_OF_ROUNDS)


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
