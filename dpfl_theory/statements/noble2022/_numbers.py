"""The decimals of noble2022's errata and typos that no check reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import evaluate_side, terms_at
from dpfl_theory.statements.noble2022.fedavg import theoremC_2
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8, theoremC_1, theoremC_1_repaired
from dpfl_theory.statements.numbers import Key, recorded

__all__ = ["COMPUTED", "GIVEN"]

_ONE = dict.fromkeys(("M", "l", "K", "s", "R", "B", "c", "nu", "mu", "eta", "eta_g", "Sigma"), 1)
"""The value 1 for every symbol, except those left out."""


def _all_selected() -> float:
    """The probability that each of 100 users is among the five of some of 80 rounds, by inclusion and exclusion."""
    missed = (Fraction(math.comb(100 - k, 5), math.comb(100, 5)) ** 80 for k in range(96))
    return float(sum((-1) ** k * math.comb(100, k) * p for k, p in enumerate(missed)))


def _recipe(noise: float, steps: int, rounds: int) -> float:
    """Implementation's epsilon in the setting of Tables 1 and 4."""
    from dpfl_theory.privacy.noble2022 import epsilon_recipe

    users: dict[str, Any] = {"users": 100, "records": 4000, "user_rate": 0.05, "record_rate": 0.2, "delta": 1 / 400_000}
    return epsilon_recipe(**users, local_steps=steps, noise_multiplier=noise, rounds=rounds).epsilon


def _third_party(noise: int, steps: int) -> float:
    """The certified epsilon towards a third party of DP-SCAFFOLD's run of Table 1, messages and participation seen."""
    from dpfl_theory.privacy.pld import epsilon_high
    from dpfl_theory.statements.noble2022.privacy import _formulas as formulas
    from dpfl_theory.statements.noble2022.privacy.table1 import PRINTED, entries

    for setting, rounds in entries({str(noise): PRINTED[str(noise)]}):
        if setting["K"] == steps:
            return epsilon_high(formulas.mechanism("dp-scaffold", {**setting, "T": rounds}).event(), setting["delta"])
    raise KeyError(steps)


@cache
def _server_shares() -> tuple[float, ...]:
    """Certified epsilons towards the server over epsilon_s = epsilon sqrt(M/l), in the 25 runs of Table 1. There
    sigma_g is the order of Theorem 4.1 with the constant 1 for this epsilon."""
    from dpfl_theory.statements.noble2022.privacy import _formulas as formulas
    from dpfl_theory.statements.noble2022.privacy.table1 import PRINTED, entries
    from dpfl_theory.statements.noble2022.privacy.theorem4_1_server import SERVER

    found = []
    for setting, rounds in entries(PRINTED):
        point: dict[str, Any] = {**setting, "T": rounds, "epsilon": 1.0, "u": 1.0}
        epsilon = evaluate_side(SERVER, "rhs", point) / point["sigma_g"]
        delta = point["delta"] / 2 * (1 / point["l"] + 1)
        high = formulas.certified("dp-scaffold", {**point, "delta": delta}, "server")[1]
        found.append(high / (epsilon * math.sqrt(point["M"] / point["l"])))
    return tuple(found)


@cache
def _mean_stays(eta: float, start: float, rounds: int) -> float:
    """The largest mean of x^1, ..., x^T for x' = x - eta F'(x) + eta xi, xi ~ N(0, 1/2), F'(x) = 10x for x > 0 and x
    for x < 0: densities on a grid of 1601 points, a step's noise is eleven of their distances or more wide."""
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.special import ndtr

    x = np.linspace(-0.3, 0.1, 1601)
    half, deviation = (x[1] - x[0]) / 2, eta * math.sqrt(0.5)
    edges = np.append(x - half, x[-1] + half)
    centres = x - eta * np.where(x > 0, 10 * x, x)
    chances = np.diff(ndtr((edges - centres[:, None]) / deviation)).T
    moves = csr_array(np.where(chances > 1e-20, chances, 0.0))
    density = np.diff(ndtr((edges - (1 - eta) * start) / deviation))
    largest = float(density @ x)
    for _ in range(rounds - 1):
        density = moves @ density
        largest = max(largest, float(density @ x))
    return largest


_C2_STEP, _C2_START = 1 / 160, -0.021


def _non_convex_constant(statement: Statement, eta: float) -> float:
    """The c that a non-convex part needs at T = 100 for nu = Sigma_g = 1, F_0 = nu eta~^2 V/2, V = 1/2: the slope stays
    at nu^2 eta~^2 V."""
    symbols = {**_ONE, "G": 0, "varsigma": 0, "F0": eta**2 / 4, "T": 100}
    return eta**2 / 2 / float(evaluate_side(statement, "rhs", symbols))


def _needed(statement: Statement, eta: float, symbols: Mapping[str, float]) -> float:
    """The c that a part needs for the two-slope instance, nu = 10, mu = 1, from x^0 = -D_0 with this step."""
    floor = _mean_stays(eta, -symbols["D0"], 3000) ** 2 / 2
    return floor / float(evaluate_side(statement, "rhs", {**_ONE, "G": 0, "varsigma": 0, "nu": 10, **symbols}))


def _lost_length() -> float:
    """Lemma C.8's right side over nu D_0^2, c = 1: Sigma_g = nu D_0/100, T = 100, all users, eta_g = 1."""
    return float(evaluate_side(lemmaC_8.LEMMA, "rhs", {**_ONE, "varsigma": 0, "D0": 1, "Sigma": 0.01, "T": 100}))


def _grown(K: int) -> float:
    """The share by which (1/K) sum_j (1 + h)^(2j) exceeds 1, h = eta_l nu = 1/(24K): the variance of c over V/K near
    the maximum of 1 - cos x."""
    h = 1 / (24 * K)
    return sum((1 + h) ** (2 * j) for j in range(K)) / K - 1


def _start_factor() -> float:
    """The factor of mu D_0^2 exp(...) in Theorem C.1's strongly convex part, repaired: T = 0 leaves only this
    factor."""
    symbols = {**_ONE, "varsigma": 0, "D0": 1.0, "T": 1e-300}
    return float(terms_at(theoremC_1_repaired.STRONGLY_CONVEX, "rhs", symbols)["start"])


COMPUTED: Mapping[Key, Callable[[], float]] = {
    ("noble2022.claim4.1.server", "0.98"): lambda: 1 - math.exp(-4),
    ("noble2022.claim4.1.server", "0.18"): _all_selected,
    ("noble2022.claim4.1.third-party", "1.9"): lambda: (22 / 29) / (2 / 5),
    ("noble2022.claim4.1.third-party", "0.0021"): lambda: (5 / 100) ** 2 * math.comb(95, 4) / math.comb(99, 4),
    ("noble2022.corollaryC.1", "0.0209"): lambda: recorded()["noble2022.corollaryC.1", "1.0209"].value - 1,
    ("noble2022.corollaryC.1", "0.043"): lambda: 12 * math.expm1(1 / 12) - 1,
    ("noble2022.corollaryC.1", "0.038"): lambda: _grown(10),
    ("noble2022.corollaryC.1", "0.042"): lambda: _grown(50),
    ("noble2022.lemmaC.8", "0.012"): _lost_length,
    ("noble2022.lemmaC.8", "0.09"): lambda: _needed(lemmaC_8.LEMMA, 1 / 240, {"D0": 0.017, "T": 400}),
    ("noble2022.lemmaC.8", "1.6"): _start_factor,
    ("noble2022.lemmaC.9", "0.0025"): lambda: math.sqrt(1.005) - 1,
    ("noble2022.theoremC.1.non-convex", "0.41"): lambda: _non_convex_constant(theoremC_1.NON_CONVEX, 1 / 24),
    ("noble2022.theoremC.2.strongly-convex", "0.089"): lambda: _needed(
        theoremC_2.STRONGLY_CONVEX, _C2_STEP, {"D0": 0.021, "T": 546}
    ),
    ("noble2022.lemmaC.4", "3.2"): lambda: 0.08 * 40,
    ("noble2022.lemmaC.4", "4.8"): lambda: 0.12 * 40,
    ("noble2022.lemmaC.4", "7.2"): lambda: 0.12 * 60,
    ("noble2022.table1.rounds", "3.00141"): lambda: _recipe(160, 10, 460),
    ("noble2022.table1.rounds", "2.99980"): lambda: _recipe(10, 20, 324),
    ("noble2022.table1.rounds", "0.00276"): lambda: 1 / 362,
    ("noble2022.theorem4.1.server", "0.03"): lambda: min(_server_shares()),
    ("noble2022.theorem4.1.server", "0.07"): lambda: max(_server_shares()),
    ("noble2022.theorem4.1.third-party", "0.020"): lambda: _third_party(160, 1),
    ("noble2022.theorem4.1.third-party", "1.72"): lambda: _third_party(10, 20),
    ("noble2022.theoremC.1.strongly-convex", "1.6"): _start_factor,
    ("noble2022.theoremC.1.strongly-convex", "-0.0150"): lambda: _mean_stays(1 / 240, -0.017, 3000),
    ("noble2022.theoremC.2.convex", "1.7e-4"): lambda: _mean_stays(_C2_STEP, _C2_START, 3000) ** 2 / 2,
    ("noble2022.theoremC.2.convex", "0.16"): lambda: _needed(theoremC_2.CONVEX, _C2_STEP, {"D0": 0.021, "T": 400}),
    ("noble2022.theoremC.2.non-convex", "0.62"): lambda: _non_convex_constant(theoremC_2.NON_CONVEX, 1 / 16),
    ("noble2022.theoremC.2.strongly-convex", "-0.0185"): lambda: _mean_stays(_C2_STEP, _C2_START, 3000),
    ("noble2022.theoremC.2.strongly-convex", "1.7e-4"): lambda: _mean_stays(_C2_STEP, _C2_START, 3000) ** 2 / 2,
}

GIVEN: Mapping[Key, str] = {
    ("noble2022.lemmaC.1", "0.05"): "the paper's s",
    ("noble2022.lemmaC.1", "0.1"): "the paper's s",
    ("noble2022.lemmaC.1", "0.2"): "the paper's s",
    ("noble2022.lemmaC.4", "0.08"): "l of the paper's Figure 9",
    ("noble2022.lemmaC.4", "0.12"): "l of the paper's Figure 9",
    (
        "noble2022.lemmaC.9",
        "1.005",
    ): "nu of the paper's softmax losses: 1 for records of unit length, 0.005 of the ridge",
    ("noble2022.theoremC.1.strongly-convex", "0.05"): "the paper's l = 0.05",
    ("noble2022.theoremC.1.strongly-convex", "0.2"): "the paper's l = 0.2",
    ("noble2022.theoremC.2.convex", "-0.021"): "the instance's x^0",
    ("noble2022.theoremC.2.strongly-convex", "-0.021"): "the instance's x^0",
}
