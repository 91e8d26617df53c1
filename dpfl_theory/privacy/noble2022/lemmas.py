"""The lemmas and equations of Appendix B.1 and B.2, exactly as printed, one function each.

Orders are alpha > 1 (alpha = lambda + 1); all quantities are numbers without unit. Sums over binomial coefficients are
formed from logarithms, so that nothing overflows; beyond order 10^4 the logarithms themselves cost some digits, and the
relative error is about 10^-10 at order 10^5.

Source: Noble, Bellet, Dieuleveut, "Differentially Private Federated Learning on Heterogeneous Data", AISTATS 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dpfl_theory.errors import InputError
from dpfl_theory.privacy.noble2022.inputs import above, inside

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Real = float | FloatArray
Floats = Any
"""A float, or an array of floats of the shape to which the arguments broadcast."""


def lemma_b1(epsilon: Real, delta: Real, rounds: Real, slack: Real) -> tuple[Floats, Floats]:
    r"""Strong adaptive composition of T mechanisms that are (epsilon, delta)-DP each, as (epsilon-bar, delta-bar).

    .. math:: \bar\varepsilon = \varepsilon \sqrt{2 T \log(1/\delta')} + T \varepsilon (e^\varepsilon - 1), \qquad
              \bar\delta = T \delta + \delta'

    Args:
        epsilon, delta: the guarantee of each mechanism, arrays of any shape, or numbers.
        rounds: T, the number of mechanisms.
        slack: delta', in (0, 1]. The paper says "for any delta' > 0"; above 1 the root has no real value.

    Raises:
        InputError: when delta' is not in (0, 1].

    Source: Lemma B.1, after Dwork, Rothblum, Vadhan 2010.

    >>> epsilon, delta = lemma_b1(0.1, 1e-6, 10, 1e-5)
    >>> print(f"{epsilon:.6f} {delta:g}")
    1.622598 2e-05
    """
    e, t, d = np.asarray(epsilon, float), np.asarray(rounds, float), np.asarray(slack, float)
    if not np.all((d > 0) & (d <= 1)):
        raise InputError(f"delta' is {slack}: strong composition needs a number in (0, 1]")
    with np.errstate(over="ignore"):
        total = e * np.sqrt(-2 * t * np.log(d)) + t * e * np.expm1(e)
    return _plain(total), _plain(t * np.asarray(delta, float) + d)


def lemma_b2(epsilon: Real, delta: Real, rate: Real) -> tuple[Floats, Floats]:
    r"""Amplification by subsampling without replacement at rate q = m/n, as (epsilon', delta').

    .. math:: \varepsilon' = \log(1 + q (e^\varepsilon - 1)), \qquad \delta' = q \delta

    Raises InputError when q is not in (0, 1].

    Source: Lemma B.2, after Kasiviswanathan et al. 2011.

    >>> epsilon, delta = lemma_b2(1.0, 1e-6, 0.05)
    >>> print(f"{epsilon:.6f} {delta:g}")
    0.082422 5e-08
    """
    e, q = np.asarray(epsilon, float), np.asarray(rate, float)
    if not np.all((q > 0) & (q <= 1)):
        raise InputError(f"the sampling rate is {rate}: give a number in (0, 1]")
    # e^epsilon overflows from 710 on; there the logarithm is split.
    small = np.log1p(q * np.expm1(np.minimum(e, 40.0)))
    large = e + np.log(q) + np.log1p((1 - q) / q * np.exp(-np.maximum(e, 40.0)))
    return _plain(np.where(e < 40.0, small, large)), _plain(q * np.asarray(delta, float))


def lemma_b7(order: Real, rate: float, variance: float) -> Floats:
    r"""The Renyi DP bound of the q-subsampled Gaussian mechanism, sensitivity 1, at integer orders.

    .. math:: \varepsilon'(\alpha, \sigma_g^2) \le \frac{1}{\alpha-1} \log\Big(1 + 2 q^2 \binom{\alpha}{2}
              \min\{2(e^{1/\sigma_g^2} - 1), e^{1/\sigma_g^2}\}
              + \sum_{j=3}^{\alpha} 2 q^j \binom{\alpha}{j} e^{j(j-1)/2\sigma_g^2}\Big)

    Args:
        order: alpha, an integer >= 2, or an array of them.
        rate: q, in (0, 1).
        variance: sigma_g^2 > 0; for an aggregate of users the paper puts lM sigma_g^2 here.

    Raises:
        InputError: when an order is not an integer >= 2, q is outside (0, 1), or the variance is not positive.

    Source: Lemma B.7, which is Theorem 9 of Wang, Balle, Kasiviswanathan for the Gaussian mechanism. Neighbouring data
    sets differ by one replaced record.

    >>> print(f"{lemma_b7(2, 0.2, 100.0):.9f} {lemma_b7(100_000, 1e-5, 1e6):.9f}")
    0.001606735 0.000003622
    """
    above("the variance", variance, 0)
    return wang_theorem9(order, rate, lambda j: j / (2 * variance))


def wang_theorem9(order: Real, rate: float, rdp: Callable[[FloatArray], FloatArray]) -> Floats:
    r"""The Renyi DP of a mechanism with budgets epsilon(j), run on a subsample without replacement at rate q.

    .. math:: \varepsilon'(\alpha) \le \frac{1}{\alpha-1} \log\Big(1 + q^2 \binom{\alpha}{2}
              \min\{4 (e^{\varepsilon(2)} - 1), 2 e^{\varepsilon(2)}\}
              + \sum_{j=3}^{\alpha} 2 q^j \binom{\alpha}{j} e^{(j-1)\varepsilon(j)}\Big)

    Args:
        order: alpha, an integer >= 2, or an array of them.
        rate: q, in (0, 1).
        rdp: epsilon(j) for an array of integers j >= 2, given as floats.

    Raises:
        InputError: when an order is not an integer >= 2, or q is outside (0, 1).

    Source: Wang, Balle, Kasiviswanathan, "Subsampled Renyi differential privacy and analytical moments accountant",
    2019/2020, Theorem 9; Noble et al. cite it in the Implementation paragraph of Appendix B.4. Here epsilon(infinity)
    is infinite, as for the Gaussian mechanism and its compositions.

    >>> print(f"{wang_theorem9(3, 0.1, lambda j: 0.05 * j):.9f}")
    0.007602029
    """
    orders = _integers(order)
    inside("the sampling rate", rate, 0, 1)
    j = np.arange(2, orders.max(initial=2) + 1, dtype=float)
    budgets = np.asarray(rdp(j), float)
    terms = np.log(2.0) + (j - 1) * budgets
    terms[0] = min(log_first_term(float(budgets[0])), terms[0])
    cgf = [subsampled_cgf(int(a), rate, terms) for a in orders.ravel()]
    return _plain(np.reshape(cgf, orders.shape) / (orders - 1))


def log_first_term(budget: float) -> float:
    """The logarithm of 4(e^epsilon(2) - 1), which small budgets must not round to minus infinity."""
    if budget > 1:
        return float(np.log(4.0) + budget + np.log(-np.expm1(-budget)))
    return float(np.log(4.0) + np.log(np.expm1(budget))) if budget > 0 else -np.inf


def subsampled_cgf(order: int, rate: float, terms: FloatArray) -> float:
    """log(1 + sum_{j=2}^{alpha} binom(alpha, j) q^j exp(terms[j - 2])), which is (alpha - 1) epsilon'(alpha)."""
    j, factorial = _tables(1 << int(order).bit_length())
    j = j[2 : order + 1]
    exponents = factorial[order] - factorial[2 : order + 1] - factorial[order - 2 :: -1] + j * np.log(rate)
    exponents += terms[: order - 1]
    top = float(exponents.max())
    if not np.isfinite(top):
        return max(top, 0.0)
    return float(np.logaddexp(0.0, top + np.log(np.exp(exponents - top).sum())))


@cache
def _tables(size: int) -> tuple[FloatArray, FloatArray]:
    """0, 1, ..., size - 1, and the logarithms of their factorials."""
    j = np.arange(size, dtype=float)
    return j, gammaln(j + 1)


def eq7(lam: Real, cgf: Callable[[int], float]) -> Floats:
    r"""The bound of a CGF at real lambda by linear interpolation between integers; the CGF is convex.

    .. math:: K_M(\lambda) \le (1 - \lambda + \lfloor\lambda\rfloor) K_M(\lfloor\lambda\rfloor)
              + (\lambda - \lfloor\lambda\rfloor) K_M(\lceil\lambda\rceil)

    Args:
        lam: lambda > 0, a number or an array.
        cgf: K_M at an integer >= 1; at 0 it is 0 and is not called.

    Raises InputError when some lambda is not positive.

    Source: Equation (7).

    Since the interpolant is a straight line between integers, (log(1/delta) + K)/lambda is monotone there: equation (5)
    attains its minimum over all real lambda at an integer.

    >>> eq7([0.5, 2.25], lambda n: n * n)
    array([0.5 , 5.25])
    """
    x = np.asarray(lam, float)
    if not np.all(x > 0):
        raise InputError(f"lambda is {lam}: give positive numbers")
    low, high = np.floor(x), np.ceil(x)
    at = {int(n): 0.0 if n == 0 else cgf(int(n)) for n in np.union1d(low, high)}
    bottom = np.reshape([at[int(n)] for n in low.ravel()], x.shape)
    top = np.reshape([at[int(n)] for n in high.ravel()], x.shape)
    return _plain((1 - x + low) * bottom + (x - low) * top)


def eq8(order: Real, rate: float, variance: float) -> Floats:
    r"""The Renyi DP bound of the q-subsampled Gaussian mechanism at real orders alpha > 1.

    .. math:: \varepsilon''(\alpha, \sigma_g^2) \le (1 - \alpha + \lfloor\alpha\rfloor)
              \frac{\lfloor\alpha\rfloor - 1}{\alpha - 1} \varepsilon'(\lfloor\alpha\rfloor, \sigma_g^2)
              + (\alpha - \lfloor\alpha\rfloor) \frac{\lceil\alpha\rceil - 1}{\alpha - 1}
              \varepsilon'(\lceil\alpha\rceil, \sigma_g^2)

    With alpha in (1, 2) the first term holds epsilon'(1), which Lemma B.7 leaves undefined, times 0; it is taken as 0.
    Arguments and errors are those of `lemma_b7`, but alpha may be any real number above 1.

    Source: Equation (8).

    >>> print(f"{eq8(2.5, 0.2, 100.0):.9f}")
    0.007564726
    """
    a = _order(order)
    return _plain(eq7(a - 1, lambda n: n * float(lemma_b7(n + 1, rate, variance))) / (a - 1))


def _plain(values: Any) -> Floats:
    array = np.asarray(values, float)
    return float(array) if array.ndim == 0 else array


def _order(order: Real) -> FloatArray:
    a = np.asarray(order, float)
    if not np.all(a > 1):
        raise InputError(f"the order alpha is {order}: it must exceed 1")
    return a


def _integers(order: Real) -> IntArray:
    a = np.asarray(order, float)
    if not np.all((a >= 2) & (a == np.floor(a)) & np.isfinite(a)):
        raise InputError(
            f"the order alpha is {order}: Lemma B.7 needs an integer that is at least 2; eq8 takes real ones"
        )
    return a.astype(np.int64)
