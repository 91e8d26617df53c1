"""hou2023 Corollary 1: the step size, probability and number of iterations that are said to minimise Theorem 1's bound.

psi_0 is not a constant: it contains (eta^2/p^2) ||h_0 - h*||^2. The claim is therefore tested jointly in (eta, p, T).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.check_inputs import Outcome, Values
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023 import _worthwhile as worthwhile
from dpfl_theory.statements.hou2023.theorem1 import bound_terms, noise_scale
from dpfl_theory.statements.symbolic import all_equal, equal


def _prescription(s: Symbols) -> Mapping[str, Any]:
    """eta = 1/L, p = sqrt(mu/L), T = ln(psi_0 epsilon^2 rate/(v C^2 N d ln(1/delta)))/rate, rate = -ln(1 - mu/L)."""
    eta, p, rate = 1 / s.L, sp.sqrt(s.mu / s.L), sp.log(1 / (1 - s.mu / s.L))
    return {"eta": eta, "p": p, "T": sp.log(_psi(s, eta, p) * rate / noise_scale(s)) / rate}


def _psi(s: Symbols, eta: Any, p: Any) -> Any:
    return s.D**2 + (eta / p) ** 2 * s.H**2 if "H" in s else s.D**2


def _sides(s: Symbols, prescription: Callable[[Symbols], Mapping[str, Any]] = _prescription) -> Sides:
    """(2) at the prescribed choice, and at any other."""
    chosen = prescription(s)
    return Sides(
        *(
            bound_terms(eta, p, T, _psi(s, eta, p), s.mu, noise_scale(s))
            for eta, p, T in ((chosen["eta"], chosen["p"], chosen["T"]), (s.eta_any, s.p_any, s.T_any))
        )
    )


def _stationary(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """B.2: for eta and p as prescribed, the derivative in T vanishes only at T*, and the second one is positive.

    With mu = L (1 - e^(-rate)), where the bound is e^(-rate T) psi_0 + noise T.
    """
    s = symbols_of(statement)
    rate = sp.Symbol("rate", positive=True)
    ratio = 1 - sp.exp(-rate)
    at = {s.mu: s.L * ratio, s.D: sp.Symbol("D", positive=True)}
    if "H" in s:
        at[s.H] = sp.Symbol("h", nonnegative=True) * s.L * sp.sqrt(ratio)  # psi_0 = D^2 + h^2
    eta, p, best = (prescription_of(statement)[name].subs(at) for name in ("eta", "p", "T"))
    bound = total(statement).subs({s.eta_any: eta, s.p_any: p}, simultaneous=True).subs(at)
    bend = sp.simplify(sp.diff(bound, s.T_any, 2))
    if not bend.is_positive:
        return Outcome(None, f"the second derivative in T was not found to be positive: {bend}")
    left = total(statement, "lhs").subs(at)
    found = equal(left, bound.subs(s.T_any, best), "the left side, and the right one at T*")
    slope = sp.diff(bound, s.T_any).subs(s.T_any, best)
    return equal(slope, 0, "the derivative of the bound in T at T*") if found.true else found


def _shares(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """1 - theta <= mu/L and p^2/(1 - theta) >= 1, with equality at eta = 1/L, p^2 = mu/L, as prescribed: both terms are
    least there.

    With nonnegative slacks: mu eta = mu/(L + a), and p^2 is mu eta (1 + b) or mu eta/(1 + b).
    """
    chosen, s = prescription_of(statement), symbols_of(statement)
    L, mu = s.L, s.mu
    prescribed = all_equal((chosen["eta"], 1 / L, "eta*"), (chosen["p"] ** 2, mu / L, "p*^2"))
    if not prescribed.true:
        return prescribed
    a, b = sp.symbols("a b", nonnegative=True)
    product = mu / (L + a)
    for square, fall in ((product * (1 + b), product), (product / (1 + b), product / (1 + b))):
        for excess in (mu / L - fall, square / fall - 1):
            top, bottom = sp.fraction(sp.together(sp.simplify(excess)))
            if any(c < 0 for part in (top, bottom) for c in sp.Poly(part, L, mu, a, b).coeffs()):
                return Outcome(None, f"{excess} was not found to be nonnegative")
            if excess.subs({a: 0, b: 0}) != 0:
                return Outcome(False, f"{excess} is not zero at eta = 1/L, p^2 = mu/L")
    return Outcome(True, "1 - theta <= mu/L and p^2/(1 - theta) >= 1, with equality at eta = 1/L and p^2 = mu/L")


def _against_others(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """Every other choice on an instance, whose ``noise`` is N d v C^2 ln(1/delta)/epsilon^2."""
    L, mu, D2, H2, noise = (sp.Rational(instance[k]) for k in ("L", "mu", "D^2", "H^2", "noise"))
    log = sp.Rational(instance.get("ln(1/delta)", 2))
    budget = {"N": 3, "d": 2, "C": sp.Rational(1, 2), "epsilon": 2, "delta": sp.exp(-log), "v": noise * 8 / (3 * log)}
    symbols = {"L": L, "mu": mu, "D": sp.sqrt(D2), "H": sp.sqrt(H2), **budget}
    found = sp.N(evaluate(prescription_of(statement)["T"], symbols, statement.id), 30)
    symbols["T"] = best = float(found) if found.is_Float else float("nan")
    shown = {"T*": f"{best:.4g}", **{k: instance[k] for k in ("L", "mu", "D^2", "H^2")}}
    shown["N d v C^2 ln(1/delta)/epsilon^2"] = instance["noise"]
    others = [(Fraction(a) / Fraction(instance["L"]), Fraction(b), T) for a, b, T in instance["others"]]
    return [
        Values(
            {**symbols, "eta_any": sp.sympify(eta), "p_any": sp.sympify(p), "T_any": T},
            instance={"eta'": eta, "p'": p, "T'": T, **shown},
        )
        for eta, p, T in others
    ]


_GRID = [[a, b, T] for a in ("1", "1/2", "1/16") for b in ("1", "1/2", "1/3", "1/8", "1/100") for T in (1, 3, 7, 8, 30)]
_FINE = [["1", "1/2", 7], ["1", "51/100", 7], ["1", "49/100", 7], ["99/100", "1/2", 7], *_GRID]


def _at(L: str, mu: str, D2: str, H2: str, noise: str, others: list[Any]) -> dict[str, Any]:
    return {"L": L, "mu": mu, "D^2": D2, "H^2": H2, "noise": noise, "others": others}


_KNOWN_SHIFTS: dict[str, dict[str, Any]] = {
    "little noise": _at("1", "1/4", "2", "0", "1/10", _FINE),
    "much noise": _at("1", "1/4", "2", "0", "2/5", _FINE),
    "ill-conditioned": _at("50", "1/50", "300", "0", "1/1000", _GRID),
}
_SHORTER = [["1/16", "1/8", 1], ["1/16", "1/8", 6], ["1/2", "1", 3], ["1", "1", 1], *_GRID]
_SAME_ETA = [["1", b, T] for b in ("1/5", "1/4", "1/3", "1/2") for T in (10, 20, 30, 41)]
_UNKNOWN_SHIFTS: dict[str, dict[str, Any]] = {
    "two clients, opposite gradients": _at("1", "1/4", "2", "18", "4", _SHORTER),
    "start at the minimiser": _at("1", "1/4", "0", "2", "1/100", _GRID),
    "ill-conditioned, the other p for the same eta": _at("1", "1/100", "2", "2", "1", _SAME_ETA),
}


_EDGE = {"L": "1", "mu": "1/4", "D^2": "2", "H^2": "0", "others": [["1", "1/2", 1], ["1/2", "1/2", 1]]}
_INSIDE = {
    "just inside T* >= 1": {**_EDGE, "noise": "43028/100000"},
    "just inside mu < L": {**_EDGE, "mu": "99/100", "noise": "1/100"},
    "just inside delta < 1": {**_EDGE, "noise": "1/10", "ln(1/delta)": "1/100"},
}
_OUTSIDE = {
    "just outside T* >= 1": {**_EDGE, "noise": "43277/100000"},
    "just outside mu < L": {**_EDGE, "mu": "1", "noise": "1/100"},
    "just outside mu > 0": {**_EDGE, "mu": "0", "noise": "1/100"},
    "just outside delta < 1": {**_EDGE, "noise": "1/10", "ln(1/delta)": "-1/100"},
}
_EDGES = checks("exact", _against_others, {**_INSIDE, **_OUTSIDE}, dict.fromkeys(_OUTSIDE, "not-applicable"))


AT_LEAST_ONE = Hypothesis(lambda s: s.T >= 1, r"$T^* \ge 1$, since Theorem 1 is about $T \ge 1$")
KNOWN_SHIFTS = Hypothesis(
    lambda s: sp.Eq(s.H, 0), "$h_0 = h^*$: the optimal shifts are known, as when they are zero", partial=("H",)
)
MU_BELOW_L = Hypothesis(lambda s: s.mu < s.L)
_SYMBOLS = ("eta", "p", "T", "L", "mu", "N", "d", "C", "v", "epsilon", "delta", "D", "H", "eta_any", "p_any", "T_any")
_COMMON = (hou.STRONGLY_CONVEX, hou.SMOOTH, hou.DELTA, MU_BELOW_L)

COROLLARY1: Statement = Statement(
    id="hou2023.corollary1",
    kind="corollary",
    source=Source(hou.PAPER, "Corollary 1, Section 2"),
    symbols=hou.symbols(*_SYMBOLS),
    hypotheses=(*_COMMON, AT_LEAST_ONE),
    sides=_sides,
    prescription=_prescription,
    checks=(
        Check("algebra", "stationary in T, eta and p as prescribed", _stationary),
        *worthwhile.CHECKS,
        *checks("exact", _against_others, {f"shifts known, {name}": i for name, i in _KNOWN_SHIFTS.items()}),
        *checks(
            "exact", _against_others, {f"shifts unknown, {name}": i for name, i in _UNKNOWN_SHIFTS.items()}, "violated"
        ),
        *_EDGES,
    ),
    smoke=("shifts unknown, two clients, opposite gradients",),
    expected="violated",
    uses=("hou2023.theorem1",),
)

_LEAST = "It decides that both terms are least at the prescribed eta and p; the best T is left to the first check."

REPAIRED: Statement = replace(
    COROLLARY1,
    id="hou2023.corollary1.repaired",
    source=Source(hou.PAPER, "Corollary 1, Section 2"),
    symbols=hou.symbols(*(name for name in _SYMBOLS if name != "H")),
    hypotheses=(*_COMMON, KNOWN_SHIFTS, AT_LEAST_ONE),
    checks=(
        Check("algebra", "stationary in T, eta and p as prescribed", _stationary),
        Check("algebra", "both terms are least at eta*, p*", _shares, part=_LEAST),
        *checks("exact", _against_others, _KNOWN_SHIFTS),
        *_EDGES,
        Check(
            "exact",
            "just outside h_0 = h*",
            _against_others,
            {**_EDGE, "H^2": "1/10000", "noise": "1/10"},
            "not-applicable",
        ),
    ),
    smoke=("little noise",),
    expected="holds",
)

STATEMENTS = (COROLLARY1, REPAIRED)
