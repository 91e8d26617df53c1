"""The decimals of das2022's errata that no check reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from dpfl_theory.statements.das2022 import theorem4
from dpfl_theory.statements.das2022.eq35_to_39 import EQ35
from dpfl_theory.statements.das2022.eq41_to_46 import EQ46
from dpfl_theory.statements.formula import at, evaluate, prescription_of
from dpfl_theory.statements.numbers import Key
from dpfl_theory.statements.prescribed_noise import returned_sum_delta

__all__ = ["COMPUTED", "GIVEN"]

_LOG = math.log(1e5)
_SAMPLED = ("eq12", "eq35", "eq47", "theorem4b", "theorem7", "theorem7.alpha")
"""The errata that the clients' sampling has an effect on."""


def _kappa(r: int, n: int) -> float:
    """(12)'s share of the sampling: (1/r)(1 - r/n)."""
    return (1 - r / n) / r


def _equal_clients(a: str, cut: str, side: str) -> float:
    """(35) for 200 clients with f_i(w) = w^2/2, r = 1, w_k = 1, E = 4, eta L = a and C = cut ||u||: of N clients that
    join, each moves w by c, the product of cut and 1 - (1 - a)^4."""
    eta, n = Fraction(a), 200
    update = 1 - (1 - eta) ** 4
    c = Fraction(cut) * update
    if side == "lhs":
        return float(1 - 2 * c + c**2 * (2 - Fraction(1, n)))
    letters = {"distance": 1, "E": 4, "L": 1, "eta": eta, "C_hat": c / eta / 4, "E_clipped_length": update / eta}
    letters |= {"E_unclipped_gap": 0, "E_unclipped_Delta": 0, "d": 0, "K": 1, "q": 1, "n": n, "epsilon": 1}
    return float(at(EQ35, "rhs", {**letters, "delta": Fraction(1, 2)}))


def _lengthened() -> float:
    """(40) with (46): ten clients with f_i(w) = w^2/2, r = E = w_k = 1, eta L = 1/20, C = 100: the update has the
    length 1 and is made 100 times as long; f_i - f_i* = 1/2."""
    letters = {"E": 1, "L": 1, "eta": Fraction(1, 20), "C_hat": 100, "C": 100, "E_clipped_length": 0}
    letters |= {"E_unclipped_share": 1, "E_unclipped_weighted_gap": 50, "E_unclipped_weighted_Delta": 0}
    return float(1 + at(EQ46, "rhs", letters))


def _constant(relation: str, start: float) -> float:
    """Theorem 3's smallest q that is certified for 3 of 40 clients over 900 rounds, epsilon = 5, delta = 1e-5.

    With z the noise multiplier of a round, in units of what one client can change, C or 2C, it is (z n epsilon/r)^2/
    (K ln(1/delta)), times 4 for 2C; z is looked for from ``start`` on.
    """
    from dpfl_theory.privacy.accounting import calibrate
    from dpfl_theory.privacy.mechanisms.dp_fedavg import DPFedAvg

    run = DPFedAvg(clients=40, cohort=3, rounds=900, sampling="poisson", relation=relation)
    z = calibrate(run, epsilon=5.0, delta=1e-5, start=start) * (2 if relation == "replace" else 1)
    return (z * 40 * 5 / 3) ** 2 / (900 * _LOG)


def _entered() -> float:
    """q of rho = 0.0324 with 40 clients, d = 1, epsilon = 5 and delta = 1e-5, from rho^2 = q d ln(1/delta)/(n
    epsilon)^2."""
    return float((0.0324 * 40 * 5) ** 2 / _LOG)


def _rounds_over_distance() -> float:
    """gamma/(L ||w_0 - w*||) from Theorem 4's K = 1200 at rho = 0.1, alpha = L = G = E = 1 and w_0 = (20, 50)."""
    letters = {"rho": 0.1, "alpha": 1.0, "L": 1.0, "G": 1.0, "E": 1.0, "gamma": 1.0}
    return 1200.0 / float(evaluate(prescription_of(theorem4.A)["K"], letters)) / math.hypot(20, 50)


COMPUTED: Mapping[Key, Callable[[], float]] = {
    **{(f"das2022.{name}", "0.0008"): lambda: _kappa(1000, 5000) for name in _SAMPLED},
    **{(f"das2022.{name}", "0.0013"): lambda: _kappa(600, 3000) for name in _SAMPLED},
    ("das2022.eq35", "1.8"): lambda: 4 * 9 / 20,
    ("das2022.eq35", "0.862"): lambda: _equal_clients("1/2", "99/100", "lhs"),
    ("das2022.eq35", "0.837"): lambda: _equal_clients("1/2", "99/100", "rhs"),
    ("das2022.eq35", "0.829"): lambda: _equal_clients("9/20", "9999/10000", "lhs"),
    ("das2022.eq35", "0.828"): lambda: _equal_clients("9/20", "9999/10000", "rhs"),
    ("das2022.eq47", "38.5"): lambda: (1 - 5) ** 2 + 25 * (1 - 1 / 10),
    ("das2022.eq47", "21.025"): _lengthened,
    ("das2022.section4.1", "0.11"): _rounds_over_distance,
    ("das2022.theorem3", "3.732"): lambda: 2 + math.sqrt(3),
    ("das2022.theorem3", "0.49"): lambda: float(returned_sum_delta(736.8, math.sqrt(738 * _LOG) / 736.8, 738)),
    ("das2022.theorem4b", "5.06"): lambda: (3 / 40) ** 2 * 900,
    ("das2022.theorem4b", "3.647"): _entered,
    ("das2022.theorem4b", "3.633"): lambda: _constant("zero-out", 2.91),
    ("das2022.theorem4b", "9.576"): lambda: _constant("replace", 2.362),
    ("das2022.theorem4b", "2.92"): lambda: 0.0324 * math.sqrt(900) * 3,
}

GIVEN: Mapping[Key, str] = {
    ("das2022.eq35", "0.9999"): "the counterexample's C/||u||",
    ("das2022.eq47", "0.9"): "the share 1 - r/n of one in ten clients",
    ("das2022.section4.1", "-0.9"): "the second client's direction",
    ("das2022.section4.1", "0.436"): "the second client's direction, sqrt(1 - 0.9^2)",
    ("das2022.theorem3", "36.9"): "the counterexample's epsilon, just below u K = 37",
    ("das2022.theorem4b", "0.02"): "rho, and the distance at the start",
    ("das2022.theorem4b", "0.075"): "r/n of three in forty clients",
    ("das2022.theorem4b", "1e-6"): "a threshold of the counterexample",
}
