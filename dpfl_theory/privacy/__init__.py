"""Privacy accounting, calibration, the papers' own formulas, and audits of running code."""

from typing import TYPE_CHECKING, Any

from dpfl_theory.privacy.accounting import Account, account, calibrate, epsilon_spent, largest_rounds
from dpfl_theory.privacy.mechanisms import Mechanism, get
from dpfl_theory.privacy.pld import CertifiedInterval

if TYPE_CHECKING:
    from dpfl_theory.statements.noise_constants import Constant, constant

__all__ = [
    "Account",
    "CertifiedInterval",
    "Constant",
    "Mechanism",
    "account",
    "calibrate",
    "constant",
    "epsilon_spent",
    "get",
    "largest_rounds",
]


def __getattr__(name: str) -> Any:
    """The papers' constants, which follow from statements: these use this package, so they are imported when asked."""
    if name not in ("Constant", "constant"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dpfl_theory.statements import noise_constants

    return getattr(noise_constants, name)
