"""What Theorems 6 and 7 of das2022 share: their prescriptions, and the terms that stand in both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _letters as das
from dpfl_theory.statements.formula import Letters
from dpfl_theory.statements.model import Symbol

__all__ = [
    "alpha_prescription",
    "clipped_term",
    "expanded_rho",
    "initialisation_term",
    "prescription",
    "privacy_letters",
]


def prescription(s: Letters, K: Any = None, rho: Any = None) -> Mapping[str, Any]:
    """eta = beta = (gamma/(C_hat L E K))/rho, C = C_hat E."""
    K, rho = s.K if K is None else K, s.rho if rho is None else rho
    return {"eta": s.gamma / (s.C_hat * s.L * s.E * K * rho), "C": s.C_hat * s.E}


def alpha_prescription(s: Letters, rho: Any = None) -> Mapping[str, Any]:
    """The same with K = (2 alpha gamma/(C_hat E))/rho^2."""
    rho = s.rho if rho is None else rho
    K = 2 * s.alpha * s.gamma / (s.C_hat * s.E * rho**2)
    return {"K": K, **prescription(s, K, rho)}


def clipped_term(s: Letters) -> Any:
    """(3 C_hat/(8 L E)) E[mean length of the clipped updates]."""
    return 3 * s.C_hat / (8 * s.L * s.E) * s.E_clipped_length


def initialisation_term(s: Letters) -> Any:
    """C_hat (L ||w_0 - w*||^2/gamma + gamma/L) rho."""
    return s.C_hat * (s.L * s.D**2 / s.gamma + s.gamma / s.L) * s.rho


def privacy_letters() -> tuple[Symbol, ...]:
    """The letters in which the proofs write rho out."""
    return das.letters("q", "d", "delta", "n", "epsilon")


def expanded_rho(s: Letters) -> Any:
    """sqrt(q d log(1/delta))/(n epsilon)."""
    return sp.sqrt(s.q * s.d * sp.log(1 / s.delta)) / (s.n * s.epsilon)
