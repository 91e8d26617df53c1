r"""Numerical values of the constants that the papers leave open.

Each paper prescribes noise of the form sigma^2 = (constant) x (rounds) x log(1/delta) / epsilon^2, "for some absolute
constant", after Theorem 1 of Abadi et al. (2016). This module computes the constant that makes the prescription correct
for given epsilon, delta, sampling and relation. No constant is correct for all: along epsilon = u q^2 T with T growing,
the constant grows like epsilon/(2 log(1/delta)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpfl_theory.errors import unknown_name
from dpfl_theory.privacy.accounting import calibrate, checked_delta, checked_epsilon
from dpfl_theory.privacy.mechanisms import Mechanism, get

__all__ = ["PRESCRIPTIONS", "Constant", "Prescription", "constant"]


@dataclass(frozen=True)
class Prescription:
    r"""A printed noise prescription: :math:`\sigma^2 = c\, f(\text{parameters})`.

    Args:
        statement: id in the catalogue.
        ``symbol``: the paper's symbol for the constant.
        formula: the prescription, in LaTeX.
        algorithm: the mechanism it is for.
        unit: sigma^2 (or sigma, for shulgin2025) that the constant 1 prescribes, for clipping threshold 1.
        sigma: the paper's sigma of a mechanism, for clipping threshold 1.
        power: 2 when the constant multiplies sigma^2, 1 when it multiplies sigma.
        hypothesis: the printed range, and the value that epsilon is compared with in it.
    """

    statement: str
    symbol: str
    formula: str
    algorithm: str
    unit: Callable[[Any, float, float], float]
    sigma: str
    power: int
    hypothesis: str
    range_unit: Callable[[Any], float]


PRESCRIPTIONS = {
    p.statement: p
    for p in (
        Prescription(
            "das2022.theorem3",
            "q",
            r"\sigma^2 = q K C^2 \log(1/\delta) / (n^2 \varepsilon^2)",
            "dp-fedavg",
            lambda m, e, d: m.rounds * math.log(1 / d) / (m.clients * e) ** 2,
            "sigma",
            2,
            "epsilon < O(r^2 K/n^2)",
            lambda m: m.rounds * ((m.cohort or m.clients) / m.clients) ** 2,
        ),
        Prescription(
            "zhang2021.theorem3.2",
            "v",
            r"\sigma^2 \ge v c^2 P T \ln(1/\delta) / (N^2 \varepsilon^2)",
            "dp-fedavg",
            lambda m, e, d: (m.cohort or m.clients) * m.rounds * math.log(1 / d) / (m.clients * e) ** 2,
            "sigma_of_one_message",
            2,
            "epsilon <= u (P/N)^2 T",
            lambda m: m.rounds * ((m.cohort or m.clients) / m.clients) ** 2,
        ),
        Prescription(
            "hou2023.lemma1",
            "v",
            r"\sigma^2 \ge v C^2 p T \ln(1/\delta) / \epsilon^2",
            "dp-scaffnew",
            lambda m, e, d: m.communication_probability * m.rounds * math.log(1 / d) / e**2,
            "sigma",
            2,
            "epsilon <= u p T",
            lambda m: m.communication_probability * m.rounds,
        ),
        Prescription(
            "shulgin2025.noise",
            "c",
            r"\sigma = c \sqrt{(K+1) \log(1/\delta)} / \epsilon",
            "dp-norm-ec",
            lambda m, e, d: math.sqrt(m.rounds * math.log(1 / d)) / e,
            "sigma",
            1,
            "epsilon <= u (K+1)",
            lambda m: float(m.rounds),
        ),
    )
}
"""The prescriptions by statement."""


@dataclass(frozen=True)
class Constant:
    """The smallest valid constant: not below ``low``, certified at ``value``.

    ``range_ratio`` is epsilon over what the printed hypothesis compares it with: u must be at least that.
    """

    statement: str
    symbol: str
    value: float
    low: float
    noise_multiplier: float
    range_ratio: float
    prescription: Prescription
    mechanism: Mechanism

    def document(self) -> dict[str, Any]:
        """The result as plain data; the key of the constant is its symbol."""
        return {
            self.symbol: self.value,
            "low": self.low,
            "high": self.value,
            "noise_multiplier": self.noise_multiplier,
            "statement": self.statement,
            "formula": self.prescription.formula,
            "hypothesis": self.prescription.hypothesis,
            "range_ratio": self.range_ratio,
            "mechanism": self.mechanism.describe(),
            "setting": self.mechanism.with_(noise_multiplier=self.noise_multiplier).setting(),
            "notes": list(self.mechanism.notes()),
        }


def constant(statement: str, *, epsilon: float, delta: float, **parameters: Any) -> Constant:
    """The smallest constant with which a printed prescription gives (epsilon, delta).

    Args:
        statement: an id in `PRESCRIPTIONS`.
        epsilon: the privacy budget, in (0, 500].
        delta: in (0, 1).
        parameters: those of the prescription's mechanism, without the noise multiplier.

    Returns:
        `Constant`.

    Raises:
        InputError: for an unknown statement, or a parameter that is missing or out of range.

    >>> q = constant("das2022.theorem3", epsilon=5, delta=1e-6, clients=100, rounds=500)  # Appendix F
    >>> print(f"{q.value:.4f}")
    1.7381
    """
    if statement not in PRESCRIPTIONS:
        raise unknown_name("prescription", statement, PRESCRIPTIONS)
    checked_epsilon(epsilon)
    checked_delta(delta)
    prescription = PRESCRIPTIONS[statement]
    mechanism = get(prescription.algorithm)(**parameters)
    z = calibrate(mechanism, epsilon=epsilon, delta=delta)
    z_low = min(z, calibrate(mechanism, epsilon=epsilon, delta=delta, limit="low", start=z))
    value, low = (
        (mechanism.with_(noise_multiplier=x).sigma(1.0)[prescription.sigma]) ** prescription.power
        / prescription.unit(mechanism, epsilon, delta)
        for x in (z, z_low)
    )
    ratio = epsilon / prescription.range_unit(mechanism)
    return Constant(statement, prescription.symbol, value, low, z, ratio, prescription, mechanism)
