"""zhang2021 eqs. (13) to (15): the first-order term of the descent inequality."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Outcome, Performance
from dpfl_theory.statements.model import Check, Erratum, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _letters as zhang
from dpfl_theory.statements.zhang2021._proof_instances import exact
from dpfl_theory.statements.zhang2021._round import cases

_WHERE = "Appendix A.1, proof of Theorem 3.1"
GIVEN = "given x_t; alpha~_i is read with the expectation over the round, given x_t, so that it is known with x_t. "


def _eq13_sides() -> Sides:
    s = sympy_symbols(EQ13)
    return Sides(
        lhs={"cohort": s["cohort_product"]},
        rhs={"noise": s["first_bias"], "clients": s["second_bias"], "descent": s["common_product"]},
    )


def _telescoping(_: Mapping[str, Any]) -> Outcome:
    """Delta = (Delta - Delta~) + (Delta~ - common) + common, factor by factor."""
    import sympy as sp

    a, known, mean, total = sp.symbols("alpha_i alphatilde_i alphabar total", real=True)
    parts = (a - known) * total + (known - mean) * total + mean * total
    return equal(a * total, parts, "an update against its three parts")


def _participation(instance: Mapping[str, Any]) -> Outcome:
    """A client is in P of N places: C(N-1, P-1)/C(N, P) = P/N without replacement, and N^(P-1) P/N^P with it."""
    import sympy as sp

    N, P = (sp.Symbol(name, positive=True, integer=True) for name in "NP")
    share = sp.binomial(N - 1, P - 1) / sp.binomial(N, P)
    return equal(
        sp.simplify(sp.gammasimp(share.rewrite(sp.gamma))), P / N, "the probability of taking part against P/N"
    )


def _eq14_sides(statement: Statement, distance: str) -> Sides:
    s = sympy_symbols(statement)
    eta, alpha, Q = s["eta_l"], s["alpha"], s["Q"]
    return Sides(
        lhs={"descent": s["common_product"]},
        rhs={
            "gradient": -eta * alpha * Q / 2 * s["square"],
            "updates": -eta * alpha / (2 * Q) * s["local_square"] / (eta * alpha) ** 2,
            "distance": eta * alpha / 2 * s[distance],
        },
    )


def _polarisation(instance: Mapping[str, Any]) -> Outcome:
    """-eta alpha <g, S> completed to squares of sqrt(Q) g and S/sqrt(Q), S the mean of the sums of local gradients.

    The printed square has (1/sqrt(Q)) sum Delta/(eta N alpha) = -S/sqrt(Q) with a minus sign: sqrt(Q) g + S/sqrt(Q).
    """
    import sympy as sp

    g, S = sp.symbols("g S", real=True)
    Q = sp.Symbol("Q", positive=True)
    sign = int(instance["sign"])
    square = (sp.sqrt(Q) * g + sign * S / sp.sqrt(Q)) ** 2
    return equal(-g * S, -Q * g**2 / 2 - S**2 / (2 * Q) + square / 2, "the product against the completed squares")


_SIMPLE = {"q": ["1"], "m": ["0"], "x": ["1"], "Q": 1, "P": 1, "eta_l": "1/10", "sampling": "without"}


# The worst case of A_1, with noise: every noise takes the values n and -n with equal probability.


def drift(instance: Mapping[str, Any], factors: tuple[float, float] = (5.0, 30.0)) -> Performance:
    """A_1 <= factors[0] L^2 Q^2 eta^2 sigma_l^2 + factors[1] L^2 Q^3 eta^2 (sigma_g^2 + ||grad f(x_t)||^2).

    instance: Q; ``eta Q L``; clients (1 or 2); noisy. L = 1, f_i smooth and not convex; x_t is the origin. With two
    clients both gradients differ from grad f(x_t) by the same length, so that sigma_g is that length.
    """
    from PEPit import PEP, Point
    from PEPit.functions import SmoothFunction

    Q, n = int(instance["Q"]), int(instance["clients"])
    eta = float(Fraction(instance["eta Q L"])) / Q
    problem = PEP()
    functions = [problem.declare_function(SmoothFunction, L=1.0) for _ in range(n)]
    origin = Point(is_leaf=False, decomposition_dict={})
    first = [f.gradient(origin) for f in functions]
    mean = sum(first[1:], first[0]) / n
    # Noises of one step share a length but no direction, so sigma_l^2 is the largest of their squares: each is held
    # below one scalar's worth, the square of the first.
    noises = [[Point() for _ in range(Q - 1)] for _ in functions] if instance["noisy"] else []
    left: Any = 0.0
    branches = []
    for i, f in enumerate(functions):
        leaves = [(1.0, origin, origin)]  # probability, point, sum of gradients so far
        for q in range(Q):
            grown = []
            for weight, x, total in leaves:
                g = first[i] if q == 0 else f.gradient(x)
                signs = (1.0, -1.0) if noises and q < Q - 1 else (0.0,)
                for sign in signs:
                    noise = sign * noises[i][q] if sign else origin
                    grown.append((weight / len(signs), x - eta * (g + noise), total + g))
            leaves = grown
        branches.append([(weight, Q * mean / n - total / n) for weight, _, total in leaves])
    if n == 1:
        left = sum(weight * part**2 for weight, part in branches[0]) / Q
    else:
        left = sum(a * b * (u + v) ** 2 for a, u in branches[0] for b, v in branches[1]) / Q
    variance: Any = 0.0
    if noises:
        flat = [n for own in noises for n in own]
        variance = flat[0] ** 2
        for n_ in flat[1:]:
            problem.add_constraint(n_**2 <= variance)
    apart = (first[0] - mean) ** 2 if n == 2 else 0.0
    right = factors[0] * Q**2 * eta**2 * variance + factors[1] * Q**3 * eta**2 * (apart + mean**2)
    return Performance(problem, left, right, "A_1 against the bound of (15), L = 1")


def _eq15_sides() -> Sides:
    s = sympy_symbols(EQ15)
    L, eta, Q = s["L"], s["eta_l"], s["Q"]
    return Sides(
        lhs={"A_1": s["drift_square"]},
        rhs={
            "variances": 5 * L**2 * Q**2 * eta**2 * (s["sigma_l"] ** 2 + 6 * Q * s["sigma_g"] ** 2),
            "gradient": 30 * L**2 * Q**3 * eta**2 * s["square"],
        },
    )


def _lemma3(_: Mapping[str, Any]) -> Outcome:
    """The lemma of Reddi et al. asks for eta_l <= 1/(8QL); the theorem allows 1/(sqrt(60) QL), which is more.

    Its recursion multiplies by 1 + 1/(2Q-1) + 6 Q L^2 eta^2 each step, which must not exceed 1 + 1/(Q-1): at the
    theorem's limit the room is Q/((Q-1)(2Q-1)) - 1/(10 Q) > 0 for Q >= 2, so the lemma holds there as well.
    """
    import sympy as sp

    Q = sp.Symbol("Q", positive=True)
    room = 1 / (Q - 1) - 1 / (2 * Q - 1) - 6 * Q / (60 * Q**2)
    positive = (8 * Q**2 + 3 * Q - 1) / (10 * Q * (Q - 1) * (2 * Q - 1))
    return equal(room, positive, "the room in the lemma's recursion at eta_l = 1/(sqrt(60) QL)")


EQ13: Statement = Statement(
    id="zhang2021.eq13",
    kind="step",
    title="The first-order term in three parts",
    source=Source(zhang.PAPER, _WHERE, "13", GIVEN + "The cohort is drawn independently of the stochastic gradients"),
    text=(
        "<grad f(x_t), E (1/P) sum_{P_t} Delta_i> is the sum of the same products with the clients' means of Delta - "
        "Delta~, of Delta~ - Delta-bar and of Delta-bar."
    ),
    symbols=zhang.letters("cohort_product", "first_bias", "second_bias", "common_product"),
    relation="==",
    sides=_eq13_sides,
    checks=(
        Check("algebra", "three parts", _telescoping),
        Check("algebra", "participation is P/N", _participation),
        *exact(lambda: EQ13),
    ),
    slips=(
        "Cohorts that depend on the updates, such as clients that drop out because they are slow, are not covered: the "
        "step needs P_t independent of the gradients, which the theorem does not say.",
        "The proof takes alpha~_i with an expectation 'over all possible randomness'; what it needs is the expectation "
        "given x_t.",
    ),
)

EQ14: Statement = Statement(
    id="zhang2021.eq14",
    kind="step",
    title="The descent term as completed squares",
    source=Source(zhang.PAPER, _WHERE, "14", GIVEN + "A_1, which (15) bounds, is the expectation in the last term"),
    text=(
        "<grad f(x_t), E (1/N) sum Delta-bar> = -(eta_l alpha Q/2) ||grad f||^2 - (eta_l alpha/(2Q)) E||sum "
        "Delta/(eta_l N alpha)||^2 + (eta_l alpha/2) E||sqrt(Q) grad f - (1/sqrt(Q)) sum Delta/(eta_l N alpha)||^2."
    ),
    symbols=zhang.letters("common_product", "eta_l", "alpha", "Q", "square", "local_square", "far_square"),
    relation="==",
    sides=lambda: _eq14_sides(EQ14, "far_square"),
    checks=(
        Check("algebra", "completed squares", _polarisation, {"sign": 1}, "violated"),
        Check("exact", "f = x^2/2, x_t = 1, Q = 1", cases(lambda: EQ14), _SIMPLE, "violated"),
        *exact(lambda: EQ14, {"*": "violated"}),
    ),
    expected="violated",
    erratum=Erratum(
        printed="... + (eta_l alpha/2) E||sqrt(Q) grad f(x_t) - (1/sqrt(Q)) (1/(eta_l N alpha)) sum Delta_i||^2",
        true="the same with a plus sign in the square, since the Delta_i are -eta_l alpha times sums of gradients",
        cause=(
            "the sign of the updates was lost; the rule quoted, <a, b> = -||a||^2/2 - ||b||^2/2 + ||a - b||^2/2, has "
            "the sign of <a, -b>. The next step, (15), bounds the right square, so nothing that follows is affected"
        ),
        counterexample=(
            "N = P = Q = 1, f = x^2/2, x_t = 1, no noise, no clipping: the left side is -eta_l, the right side eta_l"
        ),
        repaired="zhang2021.eq14.repaired",
    ),
)

EQ14_REPAIRED: Statement = Statement(
    id="zhang2021.eq14.repaired",
    kind="step",
    title="The descent term as completed squares, repaired",
    source=Source(zhang.PAPER, _WHERE, "14", GIVEN + "Repaired: a plus sign in the last square, which is A_1 of (15)"),
    text=(
        "<grad f(x_t), E (1/N) sum Delta-bar> = -(eta_l alpha Q/2) ||grad f||^2 - (eta_l alpha/(2Q)) E||sum "
        "Delta/(eta_l N alpha)||^2 + (eta_l alpha/2) A_1, A_1 = E||sqrt(Q) grad f + (1/sqrt(Q)) sum Delta/(eta_l N "
        "alpha)||^2."
    ),
    symbols=zhang.letters("common_product", "eta_l", "alpha", "Q", "square", "local_square", "drift_square"),
    relation="==",
    sides=lambda: _eq14_sides(EQ14_REPAIRED, "drift_square"),
    checks=(
        Check("algebra", "completed squares", _polarisation, {"sign": -1}),
        Check("exact", "f = x^2/2, x_t = 1, Q = 1", cases(lambda: EQ14_REPAIRED), _SIMPLE),
        *exact(lambda: EQ14_REPAIRED),
    ),
)


def _sharpened_sides() -> Sides:
    s = sympy_symbols(SHARPENED)
    drift = s["L"] ** 2 * s["Q"] ** 2 * s["eta_l"] ** 2
    return Sides(
        lhs={"A_1": s["drift_square"]},
        rhs={
            "noise": 4 * drift * s["sigma_l"] ** 2 / 3,
            "gradient": drift * s["Q"] * (s["sigma_g"] ** 2 + s["square"]),
        },
    )


def _growth(_: Mapping[str, Any]) -> Outcome:
    """With a_q = sqrt(E||x_q - x_t||^2), Minkowski gives a_q <= b_q + eta L sum_{j<q} a_j, b_q = eta (sqrt(q) sigma_l +
    q ||grad f_i(x_t)||), so a_q <= exp(eta L Q) b_q and b_q^2 <= 2 eta^2 (q sigma_l^2 + q^2 ||grad f_i(x_t)||^2).

    Summed over q < Q the factors are exp(2/sqrt(60)) <= 4/3 of Q^2, and (2/3) exp(2/sqrt(60)) <= 1 of Q^3.
    """
    import sympy as sp

    growth = sp.exp(2 / sp.sqrt(60))
    fits = bool(growth <= sp.Rational(4, 3)) and bool(2 * growth / 3 <= 1)
    return Outcome(fits, f"exp(2/sqrt(60)) = {sp.N(growth, 6)}, at most 4/3 and at most 3/2: {fits}")


_DRIFTS = [
    (Q, clients, noisy)
    for Q, clients, noisy in ((1, 2, False), (2, 1, True), (2, 2, False), (3, 1, True), (3, 2, False), (4, 1, False))
]

EQ15: Statement = Statement(
    id="zhang2021.eq15",
    kind="step",
    title="How far the local gradients drift",
    source=Source(
        zhang.PAPER,
        _WHERE,
        "15",
        "for eta_l <= 1/(sqrt(60) QL); the last inequality is Lemma 3 of Reddi et al. (2021). Worst cases are over "
        "smooth functions that need not be convex",
    ),
    text=(
        "A_1 = Q E||grad f(x_t) - (1/(QN)) sum_i sum_q grad f_i(x_i^{t,q})||^2 <= 5 L^2 Q^2 eta_l^2 (sigma_l^2 + 6 Q "
        "sigma_g^2) + 30 L^2 Q^3 eta_l^2 ||grad f(x_t)||^2."
    ),
    symbols=zhang.letters("drift_square", "L", "eta_l", "Q", "sigma_l", "sigma_g", "square"),
    sides=_eq15_sides,
    checks=(
        Check("algebra", "the lemma's limit on the step", _lemma3),
        *exact(lambda: EQ15),
        *(
            Check(
                "worst-case",
                f"{clients} client{'s' if clients > 1 else ''}, Q = {Q}, eta_l Q L = {product}{', noise' * noisy}",
                drift,
                {"Q": Q, "clients": clients, "noisy": noisy, "eta Q L": product},
            )
            for Q, clients, noisy in _DRIFTS
            for product in ("129/1000", "1/100")
        ),
    ),
    slips=(
        "The lemma of Reddi et al. is stated for eta_l <= 1/(8QL), the theorem allows 1/(7.75 QL); the lemma's proof "
        "goes through there too.",
        "Equation (1) defines f as the sum of the f_i; this step, and the bound on ||grad f_i - grad f||, need their "
        "mean.",
    ),
)

SHARPENED: Statement = Statement(
    id="zhang2021.eq15.sharpened",
    kind="step",
    title="How far the local gradients drift, with smaller constants",
    source=Source(
        zhang.PAPER, _WHERE, "15", "sharpened: 4/3 and 1 in place of 5 and 30, by Minkowski's inequality over the steps"
    ),
    text=(
        "For eta_l <= 1/(sqrt(60) QL), A_1 <= (4/3) L^2 Q^2 eta_l^2 sigma_l^2 + L^2 Q^3 eta_l^2 (sigma_g^2 + ||grad "
        "f(x_t)||^2)."
    ),
    symbols=EQ15.symbols,
    sides=_sharpened_sides,
    checks=(
        Check("algebra", "growth over the local steps", _growth),
        *exact(lambda: SHARPENED),
        *(
            Check("worst-case", c.name, lambda i: drift(i, (4 / 3, 1.0)), c.instance)
            for c in EQ15.checks
            if c.method == "worst-case"
        ),
    ),
)

STATEMENTS = (EQ13, EQ14, EQ14_REPAIRED, EQ15, SHARPENED)
