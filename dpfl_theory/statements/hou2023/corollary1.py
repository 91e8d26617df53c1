"""hou2023 Corollary 1: the step size, probability and number of iterations that are said to minimise Theorem 1's bound.

psi_0 is not a constant: it contains (eta^2/p^2) ||h_0 - h*||^2. The claim is therefore tested jointly in (eta, p, T).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Hypothesis, Outcome, Sides, Statement, Symbols, Values, battery
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023.theorem1 import bound_terms, noise_scale
from dpfl_theory.statements.instances import Instances, Runs, edge, row
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import all_equal


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


@algebra("stationary in T, eta and p as prescribed")
def _stationary(s: Formula) -> Proof:
    """B.2: for eta and p as prescribed, the derivative in T vanishes only at T*, and the second one is positive.

    With mu = L (1 - e^(-rate)), where the bound is e^(-rate T) psi_0 + noise T.
    """
    rate = sp.Symbol("rate", positive=True)
    ratio = 1 - sp.exp(-rate)
    at = {"mu": s.L * ratio, "D": sp.Symbol("D", positive=True)}
    if "H" in s:
        at["H"] = sp.Symbol("h", nonnegative=True) * s.L * sp.sqrt(ratio)  # psi_0 = D^2 + h^2
    found = of(s.statement, **at)
    best = found.prescribed["T"]
    bound = of(s.statement, **at, eta_any=found.prescribed["eta"], p_any=found.prescribed["p"]).rhs
    bend = sp.simplify(sp.diff(bound, s.T_any, 2))
    if not bend.is_positive:
        return Outcome(None, f"the second derivative in T was not found to be positive: {bend}")
    return [
        (found.lhs, bound.subs(s.T_any, best), "the left side, and the right one at T*"),
        (sp.diff(bound, s.T_any).subs(s.T_any, best), 0, "the derivative of the bound in T at T*"),
    ]


@algebra(
    "both terms are least at eta*, p*",
    part="It decides that both terms are least at the prescribed eta and p; the best T is left to the first check.",
)
def _shares(s: Formula) -> Proof:
    """1 - theta <= mu/L and p^2/(1 - theta) >= 1, with equality at eta = 1/L, p^2 = mu/L, as prescribed: both terms are
    least there.

    With nonnegative slacks: mu eta = mu/(L + a), and p^2 is mu eta (1 + b) or mu eta/(1 + b).
    """
    L, mu = s.L, s.mu
    prescribed = all_equal((s.prescribed["eta"], 1 / L, "eta*"), (s.prescribed["p"] ** 2, mu / L, "p*^2"))
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


_RANGE = (
    "It decides from which epsilon on the prescribed T* is at least 1; the two sides concern instances where it is."
)


@algebra("the least epsilon with T* >= 1", part=_RANGE)
def _threshold(s: Formula) -> Proof:
    """T* = 1 at epsilon^2 = v C^2 N d ln(1/delta)/(psi_0 x ln(1/x)), x = 1 - mu/L, and T* increases with epsilon; x
    ln(1/x) is concave with the maximum 1/e, at x = 1/e, so that epsilon >= C sqrt(e v N d ln(1/delta)/psi_0)."""
    x, T, rest = sp.Symbol("x", positive=True), s.prescribed["T"], 1 - s.mu / s.L
    psi = _psi(s, s.prescribed["eta"], s.prescribed["p"])
    square = noise_scale(s) * s.epsilon**2 / (psi * rest * sp.log(1 / rest))
    inside = sp.exp(T * sp.log(1 / rest))  # T* is a multiple of its logarithm
    share = x * sp.log(1 / x)
    found = all_equal(
        (inside.subs(s.epsilon, sp.sqrt(square)), 1 / rest, "the argument of T* at this epsilon"),
        (s.epsilon * sp.diff(T, s.epsilon), 2 / sp.log(1 / rest), "the derivative of T* in ln(epsilon)"),
        (sp.diff(share, x).subs(x, sp.exp(-1)), 0, "the slope of x ln(1/x) at 1/e"),
        (share.subs(x, sp.exp(-1)), sp.exp(-1), "its value there"),
    )
    if not found.true:
        return found
    if not sp.diff(share, x, 2).is_negative:
        return Outcome(None, "x ln(1/x) was not found to be concave")
    return Outcome(
        True,
        "T* >= 1 if and only if epsilon^2 >= v C^2 N d ln(1/delta)/(psi_0 (1 - mu/L) ln([1 - mu/L]^(-1))), which is at "
        "least e v C^2 N d ln(1/delta)/psi_0",
    )


@algebra(
    "T* is below 1 at Section 3's epsilons",
    _RANGE,
    "holds",
    condition=25,
    d=31,
    v=4,
    delta="1e-5",
    epsilons=["3.3", "2", "1", "0.5"],
)
def _section3(s: Formula, condition: int, d: int, v: int, delta: str, epsilons: list[str]) -> Proof:
    """T* at Section 3's budgets, each with this delta, and the least epsilon with T* >= 1, by the statement's own T*.

    Ridge logistic regression on the breast-cancer data with an intercept, C = ||x_0 - x*||, h_0 = h*: Figure 12's
    setting as far as it is printed; v = 4 is the constant of Lemma 1 repaired.
    """
    # One client at a distance of 1: D^2 = N ||x_0 - x*||^2 and C = ||x_0 - x*|| leave N and the unit.
    own = {"L": condition, "mu": 1, "N": 1, "C": 1, "D": 1, "H": 0, "d": d, "v": v, "delta": sp.Rational(delta)}
    T = of(s.statement, **{name: value for name, value in own.items() if name in s}).prescribed["T"]
    known = {text: T.subs(s.epsilon, sp.Rational(text)).evalf() for text in epsilons}
    # T* is a constant plus 2 ln(epsilon)/rate.
    rate = sp.log(1 / (1 - sp.Rational(1, condition)))
    edge = sp.exp((1 - T.subs(s.epsilon, 1)) * rate / 2).evalf()
    if not all(number.is_Float for number in (edge, *known.values())):
        return Outcome(None, f"T* is no real number everywhere: {known}")
    least, found = float(edge), {text: round(float(number), 1) for text, number in known.items()}
    any_condition = float(sp.sqrt(sp.E * own["v"] * sp.log(1 / own["delta"])))
    return Outcome(
        max(found.values()) < 1.0 < least,
        f"T* >= 1 takes epsilon >= {least:.1f}; at epsilon = {', '.join(epsilons)} T* is "
        f"{', '.join(f'{number:g}' for number in found.values())}",
        {"least epsilon": least, "T*": found, "least epsilon over sqrt(d), whatever L/mu": any_condition},
    )


def against_others(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Every other choice on an instance, whose ``noise`` is N d v C^2 ln(1/delta)/epsilon^2."""
    L, mu, D2, H2, noise = (sp.Rational(instance[k]) for k in ("L", "mu", "D^2", "H^2", "noise"))
    log = sp.Rational(instance.get("ln(1/delta)", 2))
    budget = {"N": 3, "d": 2, "C": sp.Rational(1, 2), "epsilon": 2, "delta": sp.exp(-log), "v": noise * 8 / (3 * log)}
    symbols = {"L": L, "mu": mu, "D": sp.sqrt(D2), "H": sp.sqrt(H2), **budget}
    found = sp.N(evaluate(prescription_of(statement)["T"], symbols, statement.id), 30)
    symbols["T"] = best = float(found) if found.is_Float else float("nan")
    shown = {"T*": f"{best:.4g}", **{k: instance[k] for k in ("L", "mu", "D^2", "H^2")}}
    shown["N d v C^2 ln(1/delta)/epsilon^2"] = instance["noise"]
    for a, b, T in instance["others"]:
        eta, p = Fraction(a) / Fraction(instance["L"]), Fraction(b)
        other = {"eta_any": sp.sympify(eta), "p_any": sp.sympify(p), "T_any": T}
        yield Values({**symbols, **other}, instance={"eta'": eta, "p'": p, "T'": T, **shown})


AT_LEAST_ONE = Hypothesis(lambda s: s.T >= 1, r"$T^* \ge 1$, since Theorem 1 is about $T \ge 1$")
KNOWN_SHIFTS = Hypothesis(
    lambda s: sp.Eq(s.H, 0), "$h_0 = h^*$: the optimal shifts are known, as when they are zero", partial=("H",)
)
MU_BELOW_L = Hypothesis(lambda s: s.mu < s.L)

_GRID = [[a, b, T] for a in ("1", "1/2", "1/16") for b in ("1", "1/2", "1/3", "1/8", "1/100") for T in (1, 3, 7, 8, 30)]
_FINE = [["1", "1/2", 7], ["1", "51/100", 7], ["1", "49/100", 7], ["99/100", "1/2", 7], *_GRID]
_SHORTER = [["1/16", "1/8", 1], ["1/16", "1/8", 6], ["1/2", "1", 3], ["1", "1", 1], *_GRID]
_SAME_ETA = [["1", b, T] for b in ("1/5", "1/4", "1/3", "1/2") for T in (10, 20, 30, 41)]


def _at(L: str, mu: str, D2: str, H2: str, noise: str, others: list[Any]) -> dict[str, Any]:
    """others: eta' L, p' and T'."""
    return {"L": L, "mu": mu, "D^2": D2, "H^2": H2, "noise": noise, "others": others}


_EDGE = _at("1", "1/4", "2", "0", "1/10", [["1", "1/2", 1], ["1/2", "1/2", 1]])
# fmt: off
_TABLE = Instances((
    row("known", "little noise", _at("1", "1/4", "2", "0", "1/10", _FINE)),
    row("known", "much noise", _at("1", "1/4", "2", "0", "2/5", _FINE)),
    row("known", "ill-conditioned", _at("50", "1/50", "300", "0", "1/1000", _GRID)),
    row("unknown", "shifts unknown, two clients, opposite gradients", _at("1", "1/4", "2", "18", "4", _SHORTER)),
    row("unknown", "shifts unknown, start at the minimiser", _at("1", "1/4", "0", "2", "1/100", _GRID)),
    row("unknown", "shifts unknown, ill-conditioned, the other p for the same eta",
        _at("1", "1/100", "2", "2", "1", _SAME_ETA)),
    row("inside", "just inside T* >= 1", {**_EDGE, "noise": "43028/100000"}),
    row("inside", "just inside mu < L", {**_EDGE, "mu": "99/100", "noise": "1/100"}),
    row("inside", "just inside delta < 1", {**_EDGE, "ln(1/delta)": "1/100"}),
    edge(AT_LEAST_ONE, "just outside T* >= 1", {**_EDGE, "noise": "43277/100000"}),
    edge(MU_BELOW_L, "just outside mu < L", {**_EDGE, "mu": "1", "noise": "1/100"}),
    edge(hou.STRONGLY_CONVEX, "just outside mu > 0", {**_EDGE, "mu": "0", "noise": "1/100"}),
    edge(hou.DELTA, "just outside delta < 1", {**_EDGE, "ln(1/delta)": "-1/100"}),
    edge(KNOWN_SHIFTS, "just outside h_0 = h*", {**_EDGE, "H^2": "1/10000"}),
)).copied("known", "known-named", named="shifts known, {}".format)
# fmt: on
CHOICES = Runs(_TABLE, against_others, "exact")
_COMMON = (hou.STRONGLY_CONVEX, hou.SMOOTH, hou.DELTA, MU_BELOW_L)

COROLLARY1: Statement = hou.statement(
    **hou.named("hou2023.corollary1", "corollary", "Corollary 1, Section 2"),
    hypotheses=(*_COMMON, AT_LEAST_ONE),
    sides=_sides,
    prescription=_prescription,
    checks=battery(_stationary, _threshold, _section3, CHOICES("known-named inside", violated="unknown")),
    smoke=("shifts unknown, two clients, opposite gradients",),
    uses=("hou2023.theorem1",),
)

REPAIRED: Statement = replace(
    COROLLARY1,
    id="hou2023.corollary1.repaired",
    symbols=replace(hou.NOTATION, table=tuple(one for one in hou.NOTATION.table if one.name != "H")),
    hypotheses=(*_COMMON, KNOWN_SHIFTS, AT_LEAST_ONE),
    checks=battery(_stationary, _shares, CHOICES("known inside")),
    smoke=("little noise",),
)

STATEMENTS = (COROLLARY1, REPAIRED)
