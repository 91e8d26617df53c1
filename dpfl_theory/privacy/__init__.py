"""Privacy accounting, calibration, the papers' own formulas, and audits of running code."""

from dpfl_theory.privacy.accounting import Account, account, calibrate, epsilon_spent, largest_rounds
from dpfl_theory.privacy.mechanisms import Mechanism, get
from dpfl_theory.privacy.pld import CertifiedInterval

__all__ = [
    "Account",
    "CertifiedInterval",
    "Mechanism",
    "account",
    "calibrate",
    "epsilon_spent",
    "get",
    "largest_rounds",
]
