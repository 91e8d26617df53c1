"""noble2022 Theorem C.1 (convex) with explicit constants, derived from Lemma C.7: a bound that a run can be compared
with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbols, Values, battery, checks
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._instances import QUADRATICS
from dpfl_theory.statements.noble2022._moments import rounds, single_user, squares, users_of
from dpfl_theory.statements.noble2022._step_size import step_limit_symbolic
from dpfl_theory.statements.noble2022.scaffold import _rounds as exact
from dpfl_theory.statements.noble2022.scaffold import lemmaC_7 as lemma
from dpfl_theory.statements.relations import Formula, Proof, algebra


def _sides(s: Symbols, constants: lemma.Constants) -> Sides:
    gain, alone, shared = map(sp.Rational, constants)
    noise = s.eta * noble.averaged(s) / gain
    return Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {
            "start": s.D0**2 / (gain * s.eta * s.T),
            "noise": alone * noise,
            "drift noise": shared * noise * s.l * s.M / s.eta_g**2,
        },
    )


def _telescoped(source: Statement) -> Check:
    """Lemma C.7 with mu = 0, summed over T rounds from F_0 = 0 (the warm start) and divided by the gain times T."""

    @algebra("Lemma C.7 over T rounds")
    def step(s: Formula) -> Proof:
        one_round = s.like(source, mu=0)
        noise = s.like(source, mu=0, gap=0, distance=0, lag=0).rhs
        gain = -one_round.rhs.expand().coeff(one_round.gap)
        return (s.D0**2 / s.T + noise) / gain, s.rhs, "Lemma C.7 summed over the rounds against the right side"

    return step


def means(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """(1/T) sum_{t<T} E(F(x^t) - F*) for every T, on quadratics; the mean over T + 1 rounds counts x^0 twice."""
    for start, V in product(instance["start"], instance["V"]):
        users = users_of({**instance, "start": start, "V": V})
        moments = rounds(users, int(instance["T"]))
        known = {**exact.symbols(users, moments[0], {**instance, "mu": "0"}), "D0": exact.root(moments[0].distance)}
        for T in range(1, len(moments) + 1):
            gaps = sum((m.gap for m in moments[:T]), Fraction(0))
            values = {**known, "T": T, "F0": moments[0].gap, "excess": (gaps + moments[0].gap) / (T + 1)}
            yield Values(values, {"T": T, "x^0": start, "V": V})


def long_means(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The same for one user and one local step over hundreds of rounds, where standing still would exceed the bound:
    F(x) = nu x^2/2, nu = eta_g = 1."""
    eta, most = Fraction(instance.get("eta~ nu", "1/24")), int(instance["T"])
    known = {"eta": eta, "eta_g": 1, "nu": 1, "K": 1, "l": 1, "M": 1, "D0": 1, "F0": Fraction(1, 2)}
    for V in (Fraction(str(v)) for v in instance["V"]):
        gaps = [square / 2 for square in squares(single_user(Fraction(1), eta, Fraction(1), V), most - 1)]
        for T in range(60, most + 1, 60):
            excess = (sum(gaps[:T], Fraction(0)) + Fraction(1, 2)) / (T + 1)
            yield Values({**known, **exact.noise(V), "T": T, "excess": excess}, {"T": T, "V": V})


def _checks() -> tuple[Check, ...]:
    convex = QUADRATICS["convex"]
    one, found = convex["one user"], {}
    for name in ("one user", "two far apart, one at a time", "eight users, one at a time"):
        step = lemma.largest_step(Fraction(int(convex[name]["size"]), len(convex[name]["curvatures"])))
        found[name] = {**convex[name], "eta~ nu": str(step)}
    outside = {
        "just outside eta~ <= l^(2/3)/(24 nu)": {**one, "eta~ nu": "101/2400"},
        "just outside eta_g >= 1": {**one, "eta~ nu": "1/24", "eta_g": "99/100"},
    }
    hundreds = Check("exact", "one user, hundreds of rounds", long_means, {"T": 240, "V": ["0", "1/1000", "1"]})
    return (*checks("exact", means, found), hundreds, *checks("exact", means, outside, "not-applicable"))


EXPLICIT: Statement = Statement(
    id="noble2022.theoremC.1.explicit",
    kind="theorem",
    source=Source(noble.PAPER, "derived from Lemma C.7, Appendix C.3", provenance="derived"),
    symbols=noble.symbols("eta", "eta_g", "nu", *noble.VARIANCE, *noble.COHORT, "T", "D0", "F0"),
    expectations=(runs.EXCESS,),
    hypotheses=(
        noble.CONVEX,
        noble.SMOOTH,
        noble.GRADIENTS,
        noble.WARM,
        noble.WHOLE,
        noble.GLOBAL,
        Hypothesis(lambda s: s.eta <= step_limit_symbolic(s), r"$\tilde\eta \le l^{2/3}/(24 \nu)$"),
        noble.ROUNDS,
    ),
    sides=lambda s: _sides(s, lemma.PRINTED),
    checks=battery(_telescoped(lemma.LEMMA), _checks(), runs.runs()("long minimiser", near="one of eight users")),
    uses=("noble2022.lemmaC.7",),
)

SHARPENED: Statement = replace(
    EXPLICIT,
    id="noble2022.theoremC.1.explicit.sharpened",
    sides=lambda s: _sides(s, lemma.SHARP),
    checks=battery(_telescoped(lemma.SHARPENED), _checks(), runs.runs()("short", near="one")),
    uses=("noble2022.lemmaC.7.sharpened",),
)

STATEMENTS = (EXPLICIT, SHARPENED)
