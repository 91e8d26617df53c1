"""Elementary functions without a branch or a call, so that LLVM vectorises loops over them.

Each is within two units in the last place, or for cosine and sine 4e-16, of the exact value. A loop over one of them
must do nothing else that LLVM cannot vectorise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfl_theory.kernels.compiled import kernel

_ROUND = 6755399441055744.0
"""1.5 * 2^52: adding it rounds to a whole number, and leaves that number in the low bits."""
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""log 2 in two parts; whole numbers below 2^20 times the first one are exact."""
_ROOT_HALF = np.uint64(0x3FE6A09E667F3BCD)
"""The bits of sqrt(1/2)."""
_UP_TO_ONE = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
_FRACTION = np.uint64(0x000FFFFFFFFFFFFF)
_WHOLE = np.uint64(0x4330000000000000)
"""The bits of 2^52: in place of a number's lowest bits they make that number plus 2^52."""
_52 = np.uint64(52)
_62 = np.uint64(62)
_1 = np.uint64(1)
_2 = np.uint64(2)


@kernel()
def exp(x: float) -> float:
    """exp(x) for x <= 0.

    ``x = n log 2 + r`` with log 2 in two parts, a Taylor polynomial of degree 13 in ``|r| <= log(2)/2``, and 2^n made
    from bits. Below -708 the result is 0.
    """
    shifted = x * 1.4426950408889634 + _ROUND
    n = shifted - _ROUND
    r = (x - n * _LOG2_HIGH) - n * _LOG2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = (p * r) * r + r + 1.0
    bits = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    value = p * np.int64(bits).view(np.float64)
    return 0.0 if x <= -708.0 else value  # in this order NaN stays NaN


@kernel()
def exp_all(flat: Any) -> None:
    """Exponentials of non-positive numbers, in place; it has its own loop, since otherwise LLVM does not vectorise
    it."""
    for k in range(flat.size):
        flat[k] = exp(flat[k])


# No denominator below is zero, and Python's test of that would be a branch: therefore NumPy's error model.
@kernel(error_model="numpy")
def log(x: float) -> float:
    """log(x) for positive normal numbers, and NaN for NaN.

    ``x = 2^k (1 + f)`` with 1 + f between sqrt(1/2) and sqrt(2), made from bits; with ``s = f/(2 + f)``, |s| <= 0.1716,
    ``log(1 + f) = 2 artanh(s) = f - f^2/2 + s (f^2/2 + R)`` and ``R = 2 s^2/3 + 2 s^4/5 + ...``; f is exact.
    """
    shifted = np.float64(x).view(np.uint64) + _UP_TO_ONE
    k = np.uint64((shifted >> _52) | _WHOLE).view(np.float64) - (4503599627370496.0 + 1023.0)
    f = np.uint64((shifted & _FRACTION) + _ROOT_HALF).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    r = 2.0 / 21.0
    r = r * z + 2.0 / 19.0
    r = r * z + 2.0 / 17.0
    r = r * z + 2.0 / 15.0
    r = r * z + 2.0 / 13.0
    r = r * z + 2.0 / 11.0
    r = r * z + 2.0 / 9.0
    r = r * z + 2.0 / 7.0
    r = r * z + 2.0 / 5.0
    r = r * z + 2.0 / 3.0
    half = 0.5 * f * f
    value = k * _LOG2_HIGH - ((half - (s * (half + r * z) + k * _LOG2_LOW)) - f)
    return x if x != x else value


@kernel(error_model="numpy")
def log1p(x: float) -> float:
    """log(1 + x) for 0 <= x <= 1: the logarithm of the rounded sum, and what rounding has taken from it."""
    total = 1.0 + x
    value: float = log(total) + (x - (total - 1.0)) / total
    return value


@kernel()
def cosine_sine(v: float) -> tuple[float, float]:
    """cos(2 pi v) and sin(2 pi v) for |v| < 2^50.

    The nearest quarter q/4 is subtracted exactly, so that |2 pi (v - q/4)| <= pi/4. There Taylor polynomials of degree
    16 and 17 are used, and q determines which of them is which, and its sign.
    """
    shifted = 4.0 * v + _ROUND
    x = (2.0 * math.pi) * (v - 0.25 * (shifted - _ROUND))
    q = np.float64(shifted).view(np.uint64)
    z = x * x
    s = 1.0 / 355687428096000.0
    s = s * z - 1.0 / 1307674368000.0
    s = s * z + 1.0 / 6227020800.0
    s = s * z - 1.0 / 39916800.0
    s = s * z + 1.0 / 362880.0
    s = s * z - 1.0 / 5040.0
    s = s * z + 1.0 / 120.0
    s = s * z - 1.0 / 6.0
    s = x + x * (z * s)
    c = 1.0 / 20922789888000.0
    c = c * z - 1.0 / 87178291200.0
    c = c * z + 1.0 / 479001600.0
    c = c * z - 1.0 / 3628800.0
    c = c * z + 1.0 / 40320.0
    c = c * z - 1.0 / 720.0
    c = c * z + 1.0 / 24.0
    c = (1.0 - 0.5 * z) + z * (z * c)
    odd = (q & _1) == _1
    cosine = np.float64(s if odd else c).view(np.uint64) ^ (((q + _1) & _2) << _62)
    sine = np.float64(c if odd else s).view(np.uint64) ^ ((q & _2) << _62)
    return np.uint64(cosine).view(np.float64), np.uint64(sine).view(np.float64)


@kernel()
def kth_smallest(a: Any, k: int) -> float:
    """The k-th smallest number of a vector, from k = 0 on, whose order changes (Hoare's selection); NaN is the largest.

    `numpy.partition` gives the same number, and takes Numba seven times as long to compile.
    """
    n = len(a)
    for j in range(len(a) - 1, -1, -1):
        if a[j] != a[j]:
            n -= 1
            a[j], a[n] = a[n], a[j]
    low, high = 0, n - 1
    while low < high and k < n:
        pivot = a[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return float(a[k])


@kernel()
def median(a: Any) -> float:
    """`numpy.median` of a vector that is not empty, whose order changes; NaN where an entry is NaN."""
    half = len(a) // 2
    high: float = kth_smallest(a, half)
    if a[-1] != a[-1]:
        return math.nan
    if len(a) % 2 == 1:
        return high
    low = a[0]
    for j in range(1, half):
        low = max(low, a[j])
    return float((low + high) / 2.0)
