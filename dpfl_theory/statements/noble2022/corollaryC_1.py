"""noble2022 Corollary C.1: how far gradients and control variates spread around their expectations in one round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.claims import Case, Performance
from dpfl_theory.statements.model import Assumption, Check, Erratum, Sides, Source, Statement, Symbol, sympy_symbols
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _utility as noble

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

_SPREAD = Symbol(
    "spread",
    "E||mean over C^t of c_i^t - E[c_i^t]||^2 given C^t and x^{t-1}",
    (2, -2),
    "nonnegative",
    r"\mathbb{E}[\|\frac{1}{lM}\sum_{i \in C^t} c_i^t - \mathbb{E}[c_i^t]\|^2 | C^t, y^0]",
)


def _user(curvature: Fraction, eta: Fraction, steps: int) -> tuple[Fraction, Fraction]:
    """For F_i'(x) = a x - b: K^2 Var c_i^t, and K^2 E((1/K) sum (H~ - grad F_i(y^{k-1})))^2, both over V.

    y^k = (1 - eta a) y^{k-1} - eta error_k + a constant, so everything is a sum over the independent errors.
    """
    y, total = [Fraction(0)] * steps, [Fraction(0)] * steps
    for k in range(steps):
        noisy = [curvature * v for v in y]
        noisy[k] += 1
        total = [p + q for p, q in zip(total, noisy)]
        y = [p - eta * q for p, q in zip(y, noisy)]
    return sum((v * v for v in total), Fraction(0)), Fraction(steps)


def _runs(instance: Mapping[str, Any]) -> list[tuple[dict[str, Any], list[Fraction], int, int, Fraction]]:
    found = []
    for curvatures in instance["curvatures"]:
        for K in instance["K"]:
            for step in instance["eta_l nu"]:
                a = [Fraction(str(v)) for v in curvatures]
                eta = Fraction(str(step)) / max(abs(v) for v in a)
                for size in range(1, len(a) + 1):
                    values = {"curvatures": tuple(a), "K": K, "eta_l nu": step, "lM": size}
                    found.append((values, a, K, size, eta))
    return found


def cases(instance: Mapping[str, Any]) -> list[Case]:
    """One of the three displays on quadratics with V = 1, for every cohort: part ``first``, ``second`` or ``third``.

    In the third the cohort is given, as the corollary's first sentence has it, and old control variates are fixed.
    """
    out = []
    for values, a, K, size, eta in _runs(instance):
        M, part = len(a), instance["part"]
        spreads = [_user(v, eta, K)[1 if part == "first" else 0] for v in a]
        divisor = (K * (M if part == "third" else size)) ** 2
        for cohort in combinations(range(M), size):
            left = sum((spreads[i] for i in cohort), Fraction(0)) / divisor
            out.append(Case({**values, "cohort": cohort}, left, Fraction(1, K * size)))
    return out


def sampled_cases(instance: Mapping[str, Any]) -> list[Case]:
    """The third display with E[c^t] over the cohorts too, in the round after the warm start and without any error.

    F_i'(x) = a_i x - b_i, c_i^0 = F_i'(x^0): c^1 differs from cohort to cohort, the right side is 0.
    """
    a, b = ([Fraction(str(v)) for v in instance[name]] for name in ("curvatures", "offsets"))
    M, K, start = len(a), int(instance["K"]), Fraction(str(instance["start"]))
    eta = Fraction(str(instance["eta_l nu"])) / max(abs(v) for v in a)
    own = [p * start - q for p, q in zip(a, b)]
    c = sum(own, Fraction(0)) / M
    new = []
    for p, q, old in zip(a, b, own):
        y, total = start, Fraction(0)
        for _ in range(K):
            g = p * y - q
            y, total = y - eta * (g - old + c), total + g
        new.append(total / K)
    out = []
    for size in range(1, M + 1):
        cohorts = combinations(range(M), size)
        found = [c + sum((new[i] - own[i] for i in cohort), Fraction(0)) / M for cohort in cohorts]
        mean = sum(found, Fraction(0)) / len(found)
        spread = sum(((v - mean) ** 2 for v in found), Fraction(0)) / len(found)
        out.append(Case({"lM": size, "M": M, "K": K}, spread, Fraction(0)))
    return out


def performance(instance: Mapping[str, Any]) -> Performance:
    """Var c_i^t <= V/K for one user over all functions of a class: errors +-xi but for the last step's."""
    from PEPit import PEP, Expression
    from PEPit.functions import SmoothConvexFunction, SmoothFunction

    from dpfl_theory.statements.noble2022._round_performance import control_variates

    K, eta = int(instance["K"]), float(Fraction(str(instance["eta_l nu"])))
    problem, V = PEP(), Expression()
    kind = {"convex": SmoothConvexFunction, "non-convex": SmoothFunction}[instance["class"]]
    leaves = control_variates(problem, problem.declare_function(kind, L=1.0), eta, K, V)
    mean = sum(leaves[1:], leaves[0]) / len(leaves)
    spread = sum(((v - mean) ** 2 for v in leaves[1:]), (leaves[0] - mean) ** 2) / len(leaves)
    left = spread + V / K**2
    return Performance(problem, left, V / K, f"variance of a control variate of {K} steps against V/K")


def _sides(statement: Statement) -> Sides:
    s = sympy_symbols(statement)
    return Sides({"spread": s["spread"]}, {"variance": proof.averaged(s)})


def _short(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    product = values["eta_l"] * values["nu"]
    return None if product <= 2 else f"eta_l nu = {product} exceeds 2"


_CONVEX: list[list[str]] = [["1"], ["1", "0"], ["1", "1/2", "1/9"]]
_MIXED: list[list[str]] = [["-1"], ["1", "-1"]]
_STEPS = ["1/24", "1", "2"]
_GRID: dict[str, Any] = {"curvatures": _CONVEX, "K": [1, 2, 3, 8], "eta_l nu": _STEPS}
_BENT: dict[str, Any] = {"curvatures": _MIXED, "K": [2, 5], "eta_l nu": ["1/24", "1/2"]}
_LONG: dict[str, Any] = {"curvatures": [["1"]], "K": [2, 3], "eta_l nu": ["3"]}
_TWO: dict[str, Any] = {"curvatures": ["1", "0"], "offsets": ["0", "0"], "K": 2, "eta_l nu": "1/24", "start": "1"}

_FIRST = (
    Check("exact", "first display, convex", cases, {"part": "first", **_GRID}),
    Check("exact", "first display, some users concave", cases, {"part": "first", **_BENT}),
    Check("exact", "first display, long steps", cases, {"part": "first", **_LONG}),
)
_HOLDS = (
    *_FIRST,
    Check("exact", "second display, convex, eta_l nu <= 2", cases, {"part": "second", **_GRID}),
    Check("exact", "third display given the cohort, convex, eta_l nu <= 2", cases, {"part": "third", **_GRID}),
    *(
        Check(
            "worst-case",
            f"convex, K = {K}, eta_l nu = {step}",
            performance,
            {"class": "convex", "K": K, "eta_l nu": step},
        )
        for K, step in ((1, "1/24"), (2, "1/24"), (2, "2"), (3, "1/24"), (3, "1"))
    ),
)  # fmt: skip

COROLLARY: Statement = Statement(
    id="noble2022.corollaryC.1",
    kind="corollary",
    title="Spread of gradients and control variates in one round",
    source=Source(
        proof.PAPER,
        "Corollary C.1, Appendix C.1",
        note=(
            "the display is the second of three; the first has H~_i^k(y_i^{k-1}) - grad F_i(y_i^{k-1}) in place of "
            "c_i^t - E[c_i^t], the third c^t - E[c^t]. All expectations are given C^t, x^{t-1} and the past"
        ),
    ),
    text=(
        "Under Assumptions 2 and 3 the mean of the gradients' errors over the cohort and its local steps, the mean of "
        "the cohort's control variates around its expectation, and c^t around its own, each satisfy the bound."
    ),
    symbols=(_SPREAD, *proof.letters(*proof.VARIANCE, *proof.COHORT)),
    assumptions=(noble.SMOOTH, noble.GRADIENTS, proof.WHOLE),
    sides=lambda: _sides(COROLLARY),
    checks=(
        *_HOLDS,
        Check("exact", "second display, some users concave", cases, {"part": "second", **_BENT}, "violated"),
        Check("exact", "second display, steps beyond 2/nu", cases, {"part": "second", **_LONG}, "violated"),
        Check("exact", "third display, over the cohorts too", sampled_cases, _TWO, "violated"),
        Check(
            "worst-case",
            "non-convex, K = 2, eta_l nu = 1/24",
            performance,
            {"class": "non-convex", "K": 2, "eta_l nu": "1/24"},
            "violated",
        ),
        Check(
            "worst-case",
            "convex, K = 2, eta_l nu = 3",
            performance,
            {"class": "convex", "K": 2, "eta_l nu": "3"},
            "violated",
        ),
    ),
    expected="violated",
    erratum=Erratum(
        printed="E||(1/(lM)) sum_{i in C^t} c_i^t - E[c_i^t]||^2 <= V/(KlM), for every smooth F_i and every eta_l > 0",
        true=(
            "The first display holds as printed. The second and, given the cohort, the third hold if every F_i is "
            "convex and eta_l <= 2/nu (a gradient step then brings no two points apart). If E[c^t] in the third is "
            "taken over the cohorts too, as the proof's 'take the expectation over C^t' says, heterogeneous users "
            "spread c^t even without any noise, and the right side has no term for that"
        ),
        cause=(
            "The proof puts sum_k grad F_i(y_i^{k-1}) for its expectation: E[c_i^t | y^0] = (1/K) sum_k E[grad "
            "F_i(y_i^{k-1}) | y^0], and for K >= 2 the points y_i^{k-1} are themselves spread by the errors of the "
            "steps before. Lemma C.4's proof makes the same replacement ('E[grad F_i(y) | y^0] = grad F_i(y)')"
        ),
        counterexample=(
            "M = l = 1, K = 2, F(x) = -nu x^2/2, variance V: c = (H_1 + H_2)/2 has variance (1 + (1 + eta_l nu)^2) "
            "V/4 > V/2; for F(x) = nu x^2/2 and eta_l nu = 3 it is 5V/4"
        ),
        repaired="noble2022.corollaryC.1.repaired",
    ),
    uses=("noble2022.lemmaC.1",),
    slips=(
        "The proof's second part divides the cohort's sum by M where the claim, and what it uses, divide by lM.",
        "Lemma C.4, whose proof cites the corollary for F_i that need not be convex (Lemma C.9), holds all the same.",
    ),
)

REPAIRED: Statement = replace(
    COROLLARY,
    id="noble2022.corollaryC.1.repaired",
    title="Spread of gradients and control variates, for convex users and short steps",
    source=Source(
        proof.PAPER,
        "Corollary C.1, Appendix C.1",
        note="repaired: convex F_i and eta_l <= 2/nu for the second and third display, the third given the cohort",
    ),
    text=(
        "If every F_i is convex and eta_l <= 2/nu, then given the cohort, x^{t-1} and the past the three means of "
        "Corollary C.1 satisfy the bound; the first needs neither."
    ),
    symbols=(*COROLLARY.symbols, *proof.letters("nu", "eta_l")),
    assumptions=(*COROLLARY.assumptions, noble.CONVEX, Assumption("eta_l <= 2/nu", _short)),
    sides=lambda: _sides(REPAIRED),
    checks=_HOLDS,
    expected="holds",
    erratum=None,
    slips=(),
)

STATEMENTS = (COROLLARY, REPAIRED)
