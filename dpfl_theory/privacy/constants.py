r"""Numerical values of the constants that the papers leave open.

Each paper prescribes noise of the form sigma^2 = (constant) x (rounds) x log(1/delta) / epsilon^2, "for some absolute
constant", after Theorem 1 of Abadi et al. (2016). This module computes the constant that makes the prescription correct
for given epsilon, delta, sampling and relation. No constant is correct for all: along epsilon = u q^2 T with T growing,
the constant grows like epsilon/(2 log(1/delta)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.formula import prescription_of
from dpfl_theory.core.inverse import upper_limit, value
from dpfl_theory.errors import unknown_name
from dpfl_theory.privacy.accounting import calibrate, checked_delta, checked_epsilon
from dpfl_theory.privacy.mechanisms import Mechanism, get
from dpfl_theory.statements import get as statement_of
from dpfl_theory.statements.run_symbols import NoiseFormula, Run, RunSymbols
from dpfl_theory.statements.runs import noise_formulas

if TYPE_CHECKING:
    from dpfl_theory.core import Statement

__all__ = ["PRESCRIPTIONS", "Constant", "Prescription", "constant"]


@dataclass(frozen=True)
class Prescription:
    r"""A printed noise prescription, :math:`\sigma^2 = c\, f(\text{parameters})`, as its paper declares it.

    Args:
        noise: the prescription and its constant.
        symbols: the paper's symbols in a run.
    """

    noise: NoiseFormula
    symbols: RunSymbols

    @property
    def statement(self) -> str:
        """The id in the catalogue."""
        return self.noise.statement

    @property
    def symbol(self) -> str:
        """The paper's symbol for the constant."""
        return self.noise.symbol

    @property
    def formula(self) -> str:
        """The prescription, in LaTeX."""
        return self.noise.formula

    @property
    def algorithm(self) -> str:
        """The mechanism it is for."""
        return self.noise.algorithm

    @property
    def sigma(self) -> str:
        """The paper's sigma of a mechanism, for clipping threshold 1."""
        return self.noise.sigma

    @property
    def hypothesis(self) -> str:
        """The printed range of epsilon."""
        return self.noise.hypothesis

    @property
    def power(self) -> int:
        """2 when the constant multiplies sigma^2, 1 when it multiplies sigma."""
        return 1 if "sigma" in prescription_of(self._formula) else 2

    def unit(self, mechanism: Any, epsilon: float, delta: float) -> float:
        """sigma^2 (or sigma, for shulgin2025) that the constant 1 prescribes, for clipping threshold 1."""
        (expression,) = (e for name, e in prescription_of(self._formula).items() if name in ("sigma", "noise_variance"))
        known = {**self._at(mechanism), "epsilon": epsilon, "delta": delta, self.symbol: 1.0}
        return value(self._formula, expression, known)

    def range_unit(self, mechanism: Any) -> float:
        """The value that the printed range compares epsilon with, for u = 1."""
        ranged = statement_of(self.noise.ranged_by or self.statement)
        return value(ranged, upper_limit(ranged, "epsilon"), {**self._at(mechanism), "u": 1.0})

    @property
    def _formula(self) -> Statement:
        """The statement with the formula."""
        return statement_of(self.noise.prescribed_by or self.statement)

    def _at(self, mechanism: Any) -> dict[str, float]:
        """The paper's symbols in a mechanism's run, for clipping threshold 1."""
        clients, p = (getattr(mechanism, name, None) for name in ("clients", "communication_probability"))
        run = {"C": 1.0, "c": 1.0, **({} if p is None else {"p": p})}
        cohort = getattr(mechanism, "cohort", None) or clients
        return self.symbols.given(Run(run, mechanism.rounds, clients, cohort))


PRESCRIPTIONS = {id_: Prescription(*found) for id_, found in noise_formulas().items()}
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
