r"""Numerical values of the constants that the papers leave open.

Each paper prescribes noise of the form sigma^2 = (constant) x (rounds) x log(1/delta) / epsilon^2, "for some absolute
constant", after Theorem 1 of Abadi et al. (2016). This module computes the constant that makes the prescription correct
for given epsilon, delta, sampling and relation. No constant is correct for all: along epsilon = u q^2 T with T growing,
the constant grows like epsilon/(2 log(1/delta)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpfl_theory.core import inverse
from dpfl_theory.errors import unknown_name
from dpfl_theory.privacy.accounting import calibrate, checked_delta, checked_epsilon
from dpfl_theory.privacy.mechanisms import Mechanism, get
from dpfl_theory.statements import get as statement_of
from dpfl_theory.statements.run_symbols import NoiseFormula, Run, RunSymbols
from dpfl_theory.statements.runs import run_symbols


@dataclass(frozen=True, kw_only=True)
class Prescription(NoiseFormula):
    r"""A printed noise prescription: :math:`\sigma^2 = c\, f(\text{parameters})`; symbols: the paper's, in a run."""

    symbols: RunSymbols

    def constant_of(self, noisy: Mechanism, epsilon: float, delta: float) -> float:
        """The constant that prescribes a mechanism's noise at (epsilon, delta)."""
        sigma = noisy.sigma(1.0)[self.sigma]
        known = {"epsilon": epsilon, "delta": delta, "sigma": sigma, "noise_variance": sigma**2}
        formulas = (self.statement, *self.symbols.prescribing)
        return inverse.completed(tuple(map(statement_of, formulas)), self._at(noisy) | known)[self.symbol]

    def range_unit(self, mechanism: Any) -> float:
        """The value that the printed range compares epsilon with, for u = 1."""
        ranged = statement_of(self.ranged_by or self.statement)
        return inverse.value(ranged, inverse.upper_limit(ranged, "epsilon"), {**self._at(mechanism), "u": 1.0})

    def _at(self, mechanism: Any) -> dict[str, float]:
        """The paper's symbols in a mechanism's run, for clipping threshold 1."""
        known = vars(mechanism)
        run = {"C": 1.0, "c": 1.0, "p": known.get("communication_probability")}
        clients: Any = known.get("clients")
        cohort = known.get("cohort") or clients
        return self.symbols.given(Run(run, mechanism.rounds, clients, cohort))


PRESCRIPTIONS = {
    noise.statement: Prescription(**vars(noise), symbols=one) for one in run_symbols().values() for noise in one.noise
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
    value, low = (prescription.constant_of(mechanism.with_(noise_multiplier=x), epsilon, delta) for x in (z, z_low))
    ratio = epsilon / prescription.range_unit(mechanism)
    return Constant(statement, prescription.symbol, value, low, z, ratio, prescription, mechanism)
