"""Renyi divergences: closed forms, moments by quadrature, and limits for the subsampled Gaussian mechanism."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.lazy import mpmath

CELLS = 20_000
"""Cells of the integral over hockey sticks; its two sums differ by a few per cent."""


def around(value: Any, slack: str = "1e-12") -> tuple[Any, Any]:
    """Limits of a number that this relative error may have changed; the usual one is what quadrature may lose."""
    return value * (1 - mpmath.mpf(slack)), value * (1 + mpmath.mpf(slack))


def laplace_divergence(order: Any, scale: Any) -> Any:
    """The Renyi divergence of Laplace noise of this scale on answers at distance 1 (Mironov 2017, Table II)."""
    a, b = order, scale
    first = a * mpmath.exp((a - 1) / b) / (2 * a - 1)
    return mpmath.log(first + (a - 1) * mpmath.exp(-a / b) / (2 * a - 1)) / (a - 1)


def gaussian_moment(power: Any, deviation: Any) -> Any:
    """E e^(power L) over N(1, deviation^2), where the privacy loss at y is (2y - 1)/(2 deviation^2)."""

    def integrand(y: Any) -> Any:
        return mpmath.npdf(y, 1, deviation) * mpmath.exp(power * (2 * y - 1) / (2 * deviation**2))

    return mpmath.quad(integrand, [1 + power + 4 * k * deviation for k in range(-4, 5)])


def laplace_moment(power: Any, scale: Any) -> Any:
    """The same for Laplace noise, where the loss is (|y| - |y - 1|)/scale."""

    def integrand(y: Any) -> Any:
        return mpmath.exp((-abs(y - 1) + power * (abs(y) - abs(y - 1))) / scale) / (2 * scale)

    return mpmath.quad(integrand, [-80 * scale, -20 * scale, 0, 0.5, 1, 1 + 20 * scale, 1 + 80 * scale])


FAMILIES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "gaussian": (lambda order, deviation: order / (2 * deviation**2), gaussian_moment),
    "laplace": (laplace_divergence, laplace_moment),
    # A truthful bit with these odds, and its opposite; its loss is log(odds) or its negative.
    "randomised response": (
        lambda order, odds: mpmath.log((odds**order + odds ** (1 - order)) / (1 + odds)) / (order - 1),
        lambda power, odds: (odds * odds**power + odds**-power) / (1 + odds),
    ),
}
"""By name: the divergence of an order, in closed form, and E e^(power L), by definition. Both orders of a pair give the
same, so that these are suprema."""


def subsampled_cgf(order: float, rate: float, deviation: float) -> tuple[float, float]:
    r"""(alpha - 1) times the largest Renyi divergence of the subsampled Gaussian mechanism, as certified limits.

    A fixed share ``rate`` of the records is drawn, neighbours differ in one record, answers by 1 at most. With
    :math:`H_\gamma` the hockey-stick divergence, for every pair

    .. math:: \mathrm{E}_Q (P/Q)^\alpha = 1 + \alpha (\alpha - 1) \int_1^\infty \big(\gamma^{\alpha-2} H_\gamma(P\|Q)
              + \gamma^{-\alpha-1} H_\gamma(Q\|P)\big) \, \mathrm{d}\gamma.

    By Lemma B.2's proof no pair and order has a larger :math:`H_\gamma` than (1-q) N(0) + q N(1) over N(0), which
    occurs; so this pair is below, and its :math:`H_\gamma` in both places is above. H falls, so that sums over cells
    enclose the integral. The Gaussian tail beyond the last cell is closed.
    """
    import numpy as np
    from scipy.special import ndtr

    from dpfl_theory.privacy.tails import SampledUnit, SampledUnitReversed

    a, z = order, deviation
    reach = (a - 1) / z + 12.0
    last = (reach + 0.5 / z) / z
    epsilon = np.linspace(0.0, last, CELLS + 1)

    def stick(tails: Any) -> Any:
        p, q = tails(epsilon)
        return np.maximum(p - np.exp(epsilon) * q, 0.0)

    def integral(power: float, sticks: Any, upper: bool) -> float:
        """The integral of gamma^(power - 1) H, gamma = e^epsilon, cell by cell; ``power`` is not 0."""
        edges = np.exp(power * epsilon) / power
        return float(np.dot(np.diff(edges), sticks[:-1] if upper else sticks[1:]))

    present, absent = stick(SampledUnit(rate, z)), stick(SampledUnitReversed(rate, z))
    low = integral(a - 1, present, False) + integral(-a, absent, False)
    # H is at most q Phi(1/(2z) - z epsilon), and Phi(-x) <= exp(-x^2/2)/2.
    log_tail = (a - 1) / (2 * z * z) + (a - 1) ** 2 / (2 * z * z)
    tail = rate * float(np.exp(log_tail)) * np.sqrt(np.pi / 2) / z * float(ndtr((a - 1) / z - reach))
    high = integral(a - 1, present, True) + integral(-a, present, True) + 2 * tail
    slack = 1e-10
    return (float(np.log1p(a * (a - 1) * low * (1 - slack))), float(np.log1p(a * (a - 1) * high * (1 + slack))))
