"""Lemmas C.8 and C.9 and Theorem C.1 repaired for one user with a quadratic and one local step, in fractions: with all
rounds, and with the prescribed step rounded down. With one user c^{t-1} - c_i^{t-1} is 0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.core import Check, Statement, Values, checks
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022._moments import below, single_user, squares, weighted


def _values(T: Any, V: Fraction, **more: Any) -> dict[str, Any]:
    """One user, one local step, one record, D_0 = 1."""
    one = {"M": 1, "l": 1, "K": 1, "s": 1, "R": 1, "varsigma": 0, "eta_g": 1, "D0": 1}
    return {**one, "T": int(T), "Sigma": sp.sqrt(sp.Rational(V)), **more}


def _step(statement: Statement, values: Mapping[str, Any], name: str, parts: int) -> Fraction:
    """The prescribed step, rounded down to a multiple of 1/parts."""
    chosen = evaluate(prescription_of(statement)[name], values)
    return chosen if isinstance(chosen, Fraction) else below(chosen, parts)


def _up(value: Fraction) -> Fraction:
    """Rounded up to thirty digits."""
    return Fraction(math.ceil(value * 10**30), 10**30)


def one_step(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Theorem C.1 (1) repaired on F(x) = nu x^2/2 or mu x^2/2: weights (1 - mu eta/2)^{-t} on x^{t-1}."""
    for nu, T, V in product(*(map(Fraction, instance[name]) for name in ("nu", "T", "V"))):
        values = _values(T, V, nu=nu, mu=1)
        eta = _step(statement, values, "eta_l", 10**4)
        for curvature in dict.fromkeys((nu, Fraction(1))):
            alone = single_user(curvature, eta, Fraction(1), V)
            left = curvature / 2 * weighted(squares(alone, int(T) - 1), eta / 2)
            named = {"T": T, "V": V, "nu": nu, "curvature": curvature, "eta~": eta}
            yield Values({**values, "eta_l": eta, "excess": left}, named)


def averaged_steps(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Theorem C.1 (2) repaired on F(x) = nu x^2/2 from x^0 = 1: the output is the mean of x^0, ..., x^{T-1}.

    With x' = (1 - h) x + eta e, h = eta nu, E e^2 = V/2 (the noise's second moment is half of Sigma^2), step t's error
    enters the mean with the weight sum_{j < T-1-t} (1 - h)^j/T.
    """
    for nu, T, V in product(*(map(Fraction, instance[name]) for name in ("nu", "T", "V"))):
        values = _values(T, V, nu=nu)
        eta = _step(statement, values, "eta_l", 10**6)
        kept, sums = 1 - eta * nu, [Fraction(0)]  # (1 - h)^0 + ... + (1 - h)^(n-1), n = 0, 1, ...
        for _ in range(int(T)):
            sums.append(_up(1 + kept * sums[-1]))
        square = sums[-1] ** 2 + eta**2 * V / 2 * sum((p**2 for p in sums[:-1]), Fraction(0))
        values |= {"eta_l": eta, "excess": _up(nu / 2 * square / T**2)}
        yield Values(values, {"T": T, "V": V, "nu": nu, "eta~": eta})


def all_rounds(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """T rounds of Lemma C.8 or C.9 repaired on F(x) = x^2/2; ``longer`` multiplies the prescribed step."""
    kind, start = ("slope", "slope0") if "slope" in symbols_of(statement) else ("excess", "F0")
    step = "eta" if "eta" in symbols_of(statement) else "eta_l"  # K = eta_g = 1: the same
    x, eta_g, longer = (Fraction(str(instance.get(name, 1))) for name in ("start", "eta_g", "longer"))
    for T, V in product(map(int, instance["T"]), map(Fraction, instance["V"])):
        values = _values(T, V, nu=1, D0=x, eta_g=eta_g, F0=x * x / 2, slope0=x * x)
        eta = _step(statement, values, step, 10**9) * longer
        unit = Fraction(1) if kind == "slope" else Fraction(1, 2)
        alone = single_user(Fraction(1), eta, x, V, eta_g=eta_g)
        passed = squares(alone, T - 1, control=eta > 0)  # no control variate is defined by steps of length 0
        rounds = unit * sum(passed, Fraction(0)) + values[start]  # the warm round stays at x^0
        yield Values({**values, step: eta, kind: _up(rounds / (T + 1))}, {"T": T, "V": V, "eta~": eta})


def of_all_rounds(apart: str) -> tuple[Check, ...]:
    """The runs of one user, and the edges of the hypotheses. apart: the hypothesis on x^0, in words."""
    limit, last, first = "eta~ <= l^(2/3)/(24 nu)", {"T": [400], "V": ["1"]}, {"T": [1], "V": ["1/1000"]}
    inside = {
        "all rounds, one user": {"T": [1, 100, 400], "V": ["1/1000", "1"]},
        "just inside eta_g >= 1": {**last, "eta_g": "1"},
        f"just inside {limit}": first,
        f"just inside {apart}": {"T": [100], "V": ["1/1000000"], "start": "1/1000"},
    }
    outside = {
        "just outside eta_g >= 1": {**last, "eta_g": "99/100"},
        f"just outside {limit}": {**first, "longer": "101/100"},
        f"just outside {apart}": {"T": [100], "V": ["1"], "start": "0"},
    }
    return (*checks("exact", all_rounds, inside), *checks("exact", all_rounds, outside, "not-applicable"))
