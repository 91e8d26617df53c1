"""The elementary functions of the CPU kernels against mpmath, and that LLVM makes vectors of loops over them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mutants.planting import mutated
from numba import njit

from dpfl_theory.kernels import elementary, philox

mpmath.mp.prec = 200
RNG = np.random.default_rng(5)
NEAR_ONE = 1.0 - RNG.integers(0, 1000, 300) * 2.0**-53
UNIFORMS = np.concatenate([RNG.random(1500), NEAR_ONE, [2.0**-54, 2.0**-53, 0.5, math.sqrt(0.5), 1.0]])
NEGATIVE = -np.concatenate([RNG.uniform(0.0, 707.9, 1500), 10.0 ** RNG.uniform(-300, 2, 500), [0.0, 707.999]])
EIGHTHS = np.array([k / 8 + o * 2.0**-53 for k in range(1, 9) for o in (-1, 0, 1) if k / 8 + o * 2.0**-53 <= 1.0])
TURNS = np.concatenate([RNG.random(1500), EIGHTHS, [2.0**-54, 3 * 2.0**-54]])
SMALL = np.concatenate([RNG.random(1000), 10.0 ** RNG.uniform(-300, 0, 500), [0.0, 2.0**-53, 1.0]])


def units(found: float, exact: Any) -> float:
    """The distance in units in the last place of the exact value."""
    return float(abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(float(np.spacing(abs(float(exact))))))


def worst(function: Callable[[Any], Any], exact: Callable[[Any], Any], at: Any) -> float:
    return max(units(function(x), exact(mpmath.mpf(float(x)))) for x in at)


def angles(module: Any) -> float:
    """The largest error of a cosine or a sine."""
    errors = [0.0]
    for v in TURNS:
        turn = 2 * mpmath.pi * mpmath.mpf(float(v))
        for found, exact in zip(module.cosine_sine(v), (mpmath.cos(turn), mpmath.sin(turn)), strict=True):
            errors.append(float(abs(mpmath.mpf(float(found)) - exact)))
    return max(errors)


def accurate(module: Any) -> bool:
    return (
        worst(module.exp, mpmath.exp, NEGATIVE) <= 2.0
        and worst(module.log, mpmath.log, UNIFORMS) <= 2.0
        and worst(module.log1p, mpmath.log1p, SMALL) <= 2.0
        and angles(module) <= 4e-16
    )


def test_each_is_accurate() -> None:
    assert accurate(elementary)


def test_edges() -> None:
    edge = np.array([0.0, -0.0, -708.0, -1e4, -1e300, -np.inf, np.nan])
    elementary.exp_all(edge)
    np.testing.assert_array_equal(edge, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, np.nan])
    assert elementary.log(1.0) == elementary.log1p(0.0) == 0.0
    assert math.isnan(elementary.log(np.nan))
    assert math.isnan(elementary.log1p(np.nan))
    for k in range(5):  # whole quarters are exact, as the sine of pi is not
        assert elementary.cosine_sine(k / 4) == ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 0))[k]


FAULTS = {
    "exp: a term less": ("p = 1.0 / 6227020800.0\n    p = p * r + 1.0", "p = 1.0"),
    "exp: log 2 in one part": ("(x - n * _LOG2_HIGH) - n * _LOG2_LOW", "x - n * 0.6931471805599453"),
    "log: a term less": ("r = 2.0 / 21.0\n    r = r * z + 2.0 / 19.0", "r = 0.0"),
    "log: log 2 in one part": ("+ k * _LOG2_LOW", ""),
    "log1p: no account of rounding": (" + (x - (total - 1.0)) / total", ""),
    "cosine: a term less": ("c = 1.0 / 20922789888000.0\n    c = c * z - 1.0", "c = -1.0"),
    "sine: two terms less": ("s = 1.0 / 355687428096000.0\n    s = s * z - 1.0 / 1307674368000.0\n", "s = 0.0\n"),
    "cosine's sign from q": ("((q + _1) & _2)", "(q & _2)"),
    "cosine and sine exchanged": ("s if odd else c", "c if odd else s"),
}


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault: str, record_property: Any) -> None:
    assert not accurate(mutated("kernels.elementary", *FAULTS[fault], interpreted=True))
    record_property("kill", (f"elementary: {fault}", "accuracy"))


def test_the_compiled_and_the_interpreted_function_are_the_same() -> None:
    plain = mutated("kernels.elementary", "@kernel(", "@kernel(", interpreted=True)
    for name, at in (("exp", NEGATIVE), ("log", UNIFORMS), ("log1p", SMALL), ("cosine_sine", TURNS)):
        compiled, own = getattr(elementary, name), getattr(plain, name)
        assert [compiled(x) for x in at] == [own(x) for x in at], name


def _vectors(function: Any, *types: str) -> bool:
    """Whether LLVM multiplies vectors in a kernel, and calls no logarithm, exponential, cosine or sine."""
    again = njit(function.py_func, **{k: v for k, v in function.targetoptions.items() if k == "error_model"})
    again.compile(f"void({', '.join(types)})")
    code = again.inspect_llvm(again.signatures[0])
    calls = re.search(r"call .*@\"?(llvm\.)?(log|exp|cos|sin)", code)
    return calls is None and re.search(r"fmul <\d+ x double>", code) is not None


@njit
def _by_libm(u: Any) -> None:
    for j in range(u.size):
        u[j] = 2.0 * math.log(u[j])


def test_loops_become_vectors() -> None:
    assert not _vectors(_by_libm, "float64[::1]")
    assert _vectors(elementary.exp_all, "float64[::1]")
    assert _vectors(philox._box_muller, "float64[::1]", "float64[::1]", "int64")


def test_order_statistics_are_numpys() -> None:
    """With equal numbers, infinities and NaN, of odd and even counts."""
    rng = np.random.default_rng(11)
    for size in (1, 2, 3, 4, 7, 8, 33, 64):
        for values in (rng.normal(size=size), rng.integers(0, 3, size).astype(float), np.full(size, np.inf)):
            for nan in (False, True):
                a = values.copy()
                a[rng.integers(size)] = np.nan if nan else a[0]
                with np.errstate(invalid="ignore"):
                    np.testing.assert_array_equal(elementary.median(a.copy()), np.median(a))
                for k in {0, size // 2, size - 1}:
                    np.testing.assert_array_equal(elementary.kth_smallest(a.copy(), k), np.partition(a, k)[k])
