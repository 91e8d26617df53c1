"""noble2022 Theorem C.1 (convex) with explicit constants, derived from Lemma C.7: a bound that a run can be compared
with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Source, Statement, Symbols, Values, checks
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._moments import rounds, single_user, squares, users_of
from dpfl_theory.statements.noble2022._step_limit import step_limit_symbolic
from dpfl_theory.statements.noble2022.scaffold import _round_instances as exact
from dpfl_theory.statements.noble2022.scaffold import lemmaC_7 as lemma
from dpfl_theory.statements.symbolic import equal


def _sides(s: Symbols, constants: lemma.Constants) -> Sides:
    gain, alone, shared = (sp.Rational(v.numerator, v.denominator) for v in constants)
    noise = s.eta * noble.averaged(s) / gain
    return Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {
            "start": s.D0**2 / (gain * s.eta * s.T),
            "noise": alone * noise,
            "drift noise": shared * noise * s.l * s.M / s.eta_g**2,
        },
    )


def _telescoped(source: Statement) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    """Lemma C.7 with mu = 0, summed over T rounds from F_0 = 0 (the warm start) and divided by the gain times T."""

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        s, own = symbols_of(source), symbols_of(statement)
        right = total(source).subs(s.mu, 0).expand()
        gain = -right.coeff(s.gap)
        noise = right.subs({s[name]: 0 for name in ("gap", "distance", "lag")})
        kept = {s[name]: own[name] for name in s if name in own and name != "gap"}
        derived = ((own.D0**2 / own.T + noise) / gain).subs(kept)
        return equal(derived, total(statement), "Lemma C.7 summed over the rounds against the right side")

    return build


def means(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """(1/T) sum_{t<T} E(F(x^t) - F*) for every T, on quadratics; the mean over T + 1 rounds counts x^0 twice."""
    found = []
    for start in instance["start"]:
        for V in instance["V"]:
            users = users_of({**instance, "start": start, "V": V})
            moments = rounds(users, int(instance["T"]))
            known = {**exact.symbols(users, moments[0], {**instance, "mu": "0"}), "D0": exact.root(moments[0].distance)}
            for T in range(1, len(moments) + 1):
                gaps = sum((m.gap for m in moments[:T]), Fraction(0))
                values = {**known, "T": T, "F0": moments[0].gap, "excess": (gaps + moments[0].gap) / (T + 1)}
                found.append(Values(values, {"T": T, "x^0": start, "V": V}))
    return found


def long_means(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """The same for one user and one local step over hundreds of rounds, where standing still would exceed the bound:
    F(x) = nu x^2/2, nu = eta_g = 1."""
    found = []
    eta, most = Fraction(instance.get("eta~ nu", "1/24")), int(instance["T"])
    known = {"eta": eta, "eta_g": 1, "nu": 1, "K": 1, "l": 1, "M": 1, "D0": 1, "F0": Fraction(1, 2)}
    for V in (Fraction(str(v)) for v in instance["V"]):
        gaps = [square / 2 for square in squares(single_user(Fraction(1), eta, Fraction(1), V), most - 1)]
        for T in range(60, most + 1, 60):
            excess = (sum(gaps[:T], Fraction(0)) + Fraction(1, 2)) / (T + 1)
            found.append(Values({**known, **exact.noise(V), "T": T, "excess": excess}, {"T": T, "V": V}))
    return found


def _checks() -> tuple[Check, ...]:
    names = ("one user", "two far apart, one at a time", "eight users, one at a time")
    found = {}
    for name in names:
        instance = exact.CONVEX[name]
        step = lemma.largest_step(Fraction(int(instance["size"]), len(instance["curvatures"])), Fraction(0))
        found[name] = {**instance, "eta~ nu": str(step)}
    hundreds = {"T": 240, "V": ["0", "1/1000", "1"]}
    return (*checks("exact", means, found), Check("exact", "one user, hundreds of rounds", long_means, hundreds))


_ONE = exact.CONVEX["one user"]
_OUTSIDE = (
    *checks(
        "exact",
        means,
        {
            "just outside eta~ <= l^(2/3)/(24 nu)": {**_ONE, "eta~ nu": "101/2400"},
            "just outside eta_g >= 1": {**_ONE, "eta~ nu": "1/24", "eta_g": "99/100"},
        },
        "not-applicable",
    ),
    *runs.outside(runs.run(), runs.RUNS[runs.ONE], "nu", "l", "s", "T"),
)


EXPLICIT: Statement = Statement(
    id="noble2022.theoremC.1.explicit",
    kind="theorem",
    source=Source(noble.PAPER, "derived from Lemma C.7, Appendix C.3", provenance="derived"),
    symbols=(*noble.symbols("eta", "eta_g", "nu", *noble.VARIANCE, *noble.COHORT, "T", "D0", "F0"),),
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
    checks=(Check("algebra", "Lemma C.7 over T rounds", _telescoped(lemma.LEMMA)), *_checks(), *_OUTSIDE, *runs.runs()),
    uses=("noble2022.lemmaC.7",),
)

SHARPENED: Statement = replace(
    EXPLICIT,
    id="noble2022.theoremC.1.explicit.sharpened",
    sides=lambda s: _sides(s, lemma.SHARP),
    checks=(
        Check("algebra", "Lemma C.7 over T rounds", _telescoped(lemma.SHARPENED)),
        *_checks(),
        *_OUTSIDE,
        *runs.runs(names=runs.SHORT),
    ),
    uses=("noble2022.lemmaC.7.sharpened",),
)

STATEMENTS = (EXPLICIT, SHARPENED)
