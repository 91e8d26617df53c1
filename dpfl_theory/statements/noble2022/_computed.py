"""What the numbers in the words of noble2022 are computed with (`dpfl_theory.statements.numbers`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import evaluate_side, terms_at
from dpfl_theory.lazy import numpy as np
from dpfl_theory.lazy import special
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8, theoremC_1

ONE = dict.fromkeys(("M", "l", "K", "s", "R", "B", "c", "nu", "mu", "eta", "eta_g", "Sigma"), 1)
"""The value 1 for every symbol, except those left out."""


def all_selected() -> float:
    """The probability that each of 100 users is among the five of some of 80 rounds, by inclusion and exclusion."""
    missed = (Fraction(math.comb(100 - k, 5), math.comb(100, 5)) ** 80 for k in range(96))
    return float(sum((-1) ** k * math.comb(100, k) * p for k, p in enumerate(missed)))


def recipe(noise: float, steps: int, rounds: int) -> float:
    """Implementation's epsilon in the setting of Tables 1 and 4."""
    from dpfl_theory.privacy.noble2022 import epsilon_recipe

    users: dict[str, Any] = {"users": 100, "records": 4000, "user_rate": 0.05, "record_rate": 0.2, "delta": 1 / 400_000}
    return epsilon_recipe(**users, local_steps=steps, noise_multiplier=noise, rounds=rounds).epsilon


def third_party(noise: int, steps: int) -> float:
    """The certified epsilon towards a third party of DP-SCAFFOLD's run of Table 1, messages and participation seen."""
    from dpfl_theory.privacy.pld import epsilon_high
    from dpfl_theory.statements.noble2022.privacy import _formulas as formulas
    from dpfl_theory.statements.noble2022.privacy.table1 import PRINTED, entries

    settings = {setting["K"]: {**setting, "T": T} for setting, T in entries({str(noise): PRINTED[str(noise)]})}
    at = settings[steps]
    return epsilon_high(formulas.mechanism("dp-scaffold", at).event(), at["delta"])


@cache
def server_shares() -> tuple[float, ...]:
    """Certified epsilons towards the server over epsilon_s = epsilon sqrt(M/l), in the 25 runs of Table 1. There
    sigma_g is the order of Theorem 4.1 with the constant 1 for this epsilon."""
    from dpfl_theory.statements.noble2022.privacy import _formulas as formulas
    from dpfl_theory.statements.noble2022.privacy.table1 import PRINTED, entries
    from dpfl_theory.statements.noble2022.privacy.theorem4_1 import SERVER

    found = []
    for setting, rounds in entries(PRINTED):
        point: dict[str, Any] = {**setting, "T": rounds, "epsilon": 1.0, "u": 1.0}
        epsilon = evaluate_side(SERVER, "rhs", point) / point["sigma_g"]
        delta = point["delta"] / 2 * (1 / point["l"] + 1)
        high = formulas.certified("dp-scaffold", {**point, "delta": delta}, "server")[1]
        found.append(high / (epsilon * math.sqrt(point["M"] / point["l"])))
    return tuple(found)


@cache
def mean_stays(eta: float, start: float, rounds: int) -> float:
    """The largest mean of x^1, ..., x^T for x' = x - eta F'(x) + eta xi, xi ~ N(0, 1/2), F'(x) = 10x for x > 0 and x
    for x < 0: densities on a grid of 1601 points, a step's noise is eleven of their distances or more wide."""
    from scipy.sparse import csr_array

    x = np.linspace(-0.3, 0.1, 1601)
    half, deviation = (x[1] - x[0]) / 2, eta * math.sqrt(0.5)
    edges = np.append(x - half, x[-1] + half)
    centres = x - eta * np.where(x > 0, 10 * x, x)
    chances = np.diff(special.ndtr((edges - centres[:, None]) / deviation)).T
    moves = csr_array(np.where(chances > 1e-20, chances, 0.0))
    density = np.diff(special.ndtr((edges - (1 - eta) * start) / deviation))
    largest = float(density @ x)
    for _ in range(rounds - 1):
        density = moves @ density
        largest = max(largest, float(density @ x))
    return largest


C2_STEP, C2_START = 1 / 160, -0.021


def non_convex_constant(statement: Statement, eta: float) -> float:
    """The c that a non-convex part needs at T = 100 for nu = Sigma_g = 1, F_0 = nu eta~^2 V/2, V = 1/2: the slope stays
    at nu^2 eta~^2 V."""
    symbols = {**ONE, "G": 0, "varsigma": 0, "F0": eta**2 / 4, "T": 100}
    return eta**2 / 2 / float(evaluate_side(statement, "rhs", symbols))


def needed(statement: Statement, eta: float, symbols: Mapping[str, float]) -> float:
    """The c that a part needs for the two-slope instance, nu = 10, mu = 1, from x^0 = -D_0 with this step."""
    floor = mean_stays(eta, -symbols["D0"], 3000) ** 2 / 2
    return floor / float(evaluate_side(statement, "rhs", {**ONE, "G": 0, "varsigma": 0, "nu": 10, **symbols}))


def lost_length() -> float:
    """Lemma C.8's right side over nu D_0^2, c = 1: Sigma_g = nu D_0/100, T = 100, all users, eta_g = 1."""
    return float(evaluate_side(lemmaC_8.LEMMA, "rhs", {**ONE, "varsigma": 0, "D0": 1, "Sigma": 0.01, "T": 100}))


def grown(K: int) -> float:
    """The share by which (1/K) sum_j (1 + h)^(2j) exceeds 1, h = eta_l nu = 1/(24K): the variance of c over V/K near
    the maximum of 1 - cos x."""
    h = 1 / (24 * K)
    return sum((1 + h) ** (2 * j) for j in range(K)) / K - 1


def start_factor() -> float:
    """The factor of mu D_0^2 exp(...) in Theorem C.1's strongly convex part, repaired: T = 0 leaves only this
    factor."""
    symbols = {**ONE, "varsigma": 0, "D0": 1.0, "T": 1e-300}
    return float(terms_at(theoremC_1.STRONGLY_CONVEX_REPAIRED, "rhs", symbols)["start"])
