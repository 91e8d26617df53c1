"""Empirical privacy audits: lower limits for epsilon of running code, from runs on two neighbouring data sets."""

from dpfl_theory.audit.bounds import EpsilonBound, MuBound, epsilon_lower_bound, mu_lower_bound
from dpfl_theory.audit.canaries import Canary, canary, pair
from dpfl_theory.audit.rules import Rule
from dpfl_theory.audit.run import AuditResult, audit

__all__ = [
    "AuditResult",
    "Canary",
    "EpsilonBound",
    "MuBound",
    "Rule",
    "audit",
    "canary",
    "epsilon_lower_bound",
    "mu_lower_bound",
    "pair",
]
