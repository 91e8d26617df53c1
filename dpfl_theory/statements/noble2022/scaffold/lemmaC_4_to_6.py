"""noble2022 Lemmas C.4 to C.6: the server's update, the lag of the control variates and the drift of the users in one
round; as printed, and without convexity, C.4 and C.6 with smaller constants.

The proofs are for all M, lM and K, and for users that need not be convex: the paper proves the first with gaps and the
others not at all. Each proof ends in the coefficients of ``sides()``.

One round, given the past; nu = 1, q = K eta_l nu; all norms are root mean squares over users, cohorts and errors:

* x = x^{t-1}, S = ||grad F(x)||^2, F the lag before, E the drift, W = V/(KlM). User i's direction in step k is
  grad F(x) + b_i + delta_ik + error, delta_ik = grad F_i(y_i^{k-1}) - grad F_i(x), so that mean ||delta||^2 <= E.
* b_i = -(w_i - mean w) - (e_i - mean e): w_i is the lag's part of c_i^{t-1}, mean ||w_i||^2 <= F; e_i the errors in
  it, mean ||e_i||^2 <= V/K, which may depend on the lagged points. The b_i sum to zero over the M users.
* Errors of this round have mean zero given all before them and variance at most V (Lemma C.1), so that their squares
  add up: k of a user's have the second moment k V at most, and their mean over the cohort's K steps W. This is the
  first display of Corollary C.1, which asks for no convexity and no short step; the other two are not used.
* A cohort of r = lM users leaves of a mean square over users kappa = (M - r)/((M - 1) r) <= 1 (nothing for r = M).

C.4: x^t - x = -eta~ (D + X), ||D||^2 <= E, ||X||^2 <= S + kappa ||w + e||^2 + W; then ||D + X||^2 <= 4||D||^2 +
(4/3)||X||^2.

C.6: y^k - x = -eta_l k (b_i + grad F(x)) + N_k - eta_l sum_{j<k} delta_j with N_k a martingale, orthogonal to the first
part. With A_k^2 = eta_l^2 k^2 (S + mean ||b||^2) + eta_l^2 k V, growing in k, ||y^k - x|| <= A_k + eta_l nu sum_{j<k}
||y^j - x||, hence ||y^k - x|| <= A_k/(1 - q) by induction over k.

C.5: F_t is the mean of ||a_i - Delta||^2 over absent users (a_i the lagged point less x) and of ||z_i - Delta||^2 over
present ones (z_i = y_i^{k-1} - x); Delta = x^t - x. With (1/M) sum_{absent} a_i = (1 - l) a - l (a_C - a):

    F_t = ||Delta||^2 + (1 - l) F + l E' - 2 (1 - l) <a, Delta> + 2 l <a_C - a, Delta> - 2 l <z_C, Delta>,   E' <= E;
    -2 <a, Delta> <= 2 eta~ sqrt F (sqrt S + sqrt E)      since the b_i sum to zero and errors have mean zero
    2 <a_C - a, Delta> <= 2 eta~ sqrt F (sqrt F + sqrt W + sqrt E)   since grad F(x) is the same for all cohorts
    -2 <z_C, Delta> <= (2/3) E + (3/2) ||Delta||^2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022 import _worst_cases as worst
from dpfl_theory.statements.noble2022._runs import one_round
from dpfl_theory.statements.noble2022.scaffold import _rounds as exact
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.symbolic import decided, errors

_FOR_ALL = "for all users, cohorts and steps"


def by_lemma_c2(sharp: Callable[[Symbols], Sides]) -> Check:
    """The printed right side less that of the sharpened sides is made of nonnegative terms. There ||grad F||^2 = 2 nu
    gap (its largest value by Lemma C.2), and eta_g is written as 1 + a, a >= 0, where the lemma asks for eta_g >= 1."""

    @algebra("from the sharpened form")
    def step(s: Formula) -> Proof:
        named = {name: symbol for name, symbol in s.items() if name != "gap"} | {"slope": 2 * s.nu * s.gap}
        larger = rest = sp.expand(s.rhs - sum(sharp(Symbols(named, s.statement.id)).rhs.values()))
        if "eta_g" in s:
            more = sp.Symbol("a", nonnegative=True)
            larger = sp.expand(sp.expand(rest * s.eta_g**2).subs(s.eta_g, 1 + more))
        fine = all(term.is_nonnegative for term in (larger.args if larger.is_Add else (larger,)))
        return Outcome(
            True if fine else None, f"the amount that the printed form allows more, with Lemma C.2: {sp.simplify(rest)}"
        )

    return step


def _stated(s: Formula, left: str) -> dict[str, Any]:
    """The right side's coefficients over the left side's, the noise under ``noise``."""
    right, factor = sp.expand(s.rhs), sp.expand(s.lhs).coeff(s[left])
    moments = [name for name in ("drift", "lag", "slope") if name in s and name != left]
    found: dict[str, Any] = {name: right.coeff(s[name]) / factor for name in moments}
    return {**found, "noise": right.subs({s[name]: 0 for name in moments}) / factor}


def _young(first: Any, second: Any) -> tuple[Any, Any]:
    """The identity behind 2 u v <= c u^2 + v^2/c with c = first/second."""
    u, v = sp.symbols("u v", real=True)
    c = sp.Rational(first, second)
    return sp.expand(c * u**2 + v**2 / c - 2 * u * v), sp.expand((c * u - v) ** 2 / c)


def _cohort() -> dict[str, tuple[Any, Any]]:
    """Identities in M and r for sums over users with P = sum ||u_i||^2 and Q = ||sum u_i||^2."""
    M, r, P, Q = sp.symbols("M r P Q", positive=True)
    kappa = (M - r) / ((M - 1) * r)
    variance = (r * P / M + r * (r - 1) / (M * (M - 1)) * (Q - P)) / r**2 - Q / M**2
    return {
        "the variance of a cohort's mean is kappa times that of one user": (variance, kappa * (P / M - Q / M**2)),
        "kappa is at most 1": (1 - kappa, M * (r - 1) / (r * (M - 1))),
        "kappa V/K is at most W": (1 / r - kappa, (r - 1) / (r * (M - 1))),
    }


@algebra(_FOR_ALL)
def move(s: Formula) -> Proof:
    """Lemma C.4 without convexity: ||X||^2 <= S + 2 kappa ||w||^2 + 2 kappa ||e||^2 + W <= S + 2F + 3W."""
    stated = _stated(s, "move")
    D, X = sp.symbols("D X", real=True)
    split = 4 * D**2 + sp.Rational(4, 3) * X**2 - (D + X) ** 2
    identities = errors() | _cohort() | {"||D + X||^2 against 4 and 4/3": (split, (3 * D - X) ** 2 / 3)}
    square, third = s.eta**2, sp.Rational(4, 3)
    proved = {
        "drift": (4 * s.nu**2, s.nu**2 * square),
        "lag": (2 * third * s.nu**2, s.nu**2 * square),
        "slope": (third, square),
        "noise": (3 * third * noble.averaged(s), square * noble.averaged(s)),
    }
    slacks = {name: (stated[name] - square * value) / unit for name, (value, unit) in proved.items()}
    return decided(identities, slacks, (sp.Symbol("theta"),))


@algebra(_FOR_ALL)
def drift(s: Formula) -> Proof:
    """Lemma C.6 without convexity, for eta~ nu = theta/24, h = 1/eta_g^2, u = 1/K and q <= 1/24; mean ||b||^2 <= 2F +
    2V/K."""
    stated = _stated(s, "drift")
    theta, u, h, k, K, q, a, A = sp.symbols("theta u h k K q a A", positive=True)
    G, g, P, M, e = sp.symbols("G g P M e", positive=True)
    squares = sp.summation(k**2, (k, 1, K)) / K
    singles = sp.summation(k, (k, 1, K)) / K
    identities = errors() | {
        "induction: A + q A/(1 - q) is A/(1 - q)": (A + q * A / (1 - q), A / (1 - q)),
        "the mean of k^2 over the steps": (squares, (K + 1) * (2 * K + 1) / 6),
        "the mean of k over the steps": (singles, (K + 1) / 2),
        "the mean of ||b_i + g||^2, b_i = u_i - mean u, from P = sum ||u_i||^2 and G = sum u_i": (
            (P + 2 * (g - G / M) * G + M * (g - G / M) ** 2) / M,
            P / M - G**2 / M**2 + g**2,
        ),
        "||w + e||^2 against 2 and 2": (2 * a**2 + 2 * e**2 - (a + e) ** 2, (a - e) ** 2),
    }
    eta, nu, eta_g = s.eta, s.nu, s.eta_g
    growth = sp.Rational(24, 23) ** 2
    per_step = growth * eta**2 / (s.K**2 * eta_g**2)  # eta_l^2 (24/23)^2
    start = per_step * squares.subs(K, s.K)
    V = noble.variance(s)
    proved = {
        "lag": (2 * nu**2 * start, nu * eta / eta_g**2),
        "slope": (start, 1 / (nu**2 * eta_g**2)),
        "noise": (2 * V / s.K * start + V * per_step * singles.subs(K, s.K), eta * V / (nu * s.K * eta_g**2)),
    }
    at = {eta: theta / (24 * nu), eta_g: 1 / sp.sqrt(h), s.K: 1 / u}
    slacks = {name: sp.simplify(((stated[name] - value) / unit).subs(at)) for name, (value, unit) in proved.items()}
    return decided(identities, slacks, (theta, u, h))


@algebra(_FOR_ALL)
def lag(s: Formula) -> Proof:
    """Lemma C.5 without convexity, for eta~ nu = theta l^alpha/24, with l^alpha, m = l^(2 - 2 alpha) and L = l^(2 alpha
    - 1) in [0, 1], so that l = m L and (eta~ nu)^2 = theta^2 l L/576."""
    stated = _stated(s, "lag_after")
    theta, m, L, root = sp.symbols("theta m L r", positive=True)
    share, total, present, r, M = sp.symbols("l A A_C r_C M", positive=True)
    absent = ((1 - share) * total / M - share * (present / r - total / M)).subs(share, r / M)
    identities = errors() | _cohort() | {"the absent users' sum": ((total - present) / M, absent)}
    identities |= {"2 sqrt F sqrt S": _young(3, 20), "2 sqrt F sqrt E": _young(1, 100)}
    identities |= {"2 sqrt F sqrt W": _young(4, 1), "2 <z, Delta>": _young(2, 3)}
    p, w, two_thirds = sp.Rational(3, 20), sp.Rational(1, 100), sp.Rational(2, 3)
    length, square = m * L, theta**2 * m * L**2 / 576  # l, (eta~ nu)^2
    short = theta * root / 24  # eta~ nu
    moved = (1 + length / two_thirds) * square
    proved = {
        "lag": 1 - length + (1 - length) * length * (p + w) + 7 * length * short + sp.Rational(8, 3) * moved,
        "slope": (1 - length) * theta**2 * L / (576 * p) + sp.Rational(4, 3) * moved,
        "drift": length * (1 + two_thirds) + (1 - length) * theta**2 * L / (576 * w) + length * short + 4 * moved,
        "noise": length * short / 4 + 4 * moved,
    }
    unit = {"lag": length, "slope": L, "drift": L, "noise": length}
    scale = {"slope": s.nu**2, "noise": s.nu**2 / noble.averaged(s)}
    slacks = {}
    for name, value in proved.items():
        found = sp.simplify(stated[name] * scale.get(name, 1))
        found = sp.powsimp(found.subs(s.l ** (2 * s.alpha - 1), L)).subs(s.l, length)
        slacks[name] = sp.simplify((found - value) / unit[name])
    return decided(identities, slacks, (theta, m, L, root))


BASE = (noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE)
_ALPHA = replace(noble.SYMBOLS["alpha"], meaning="exponent of $l$ in the step size")
_LENGTH = Fraction(1, 24)
_SHORT = one_round(lambda values: 1 / 24)


def _step(product: Fraction) -> Callable[[Fraction], Fraction | None]:
    """eta~ nu, whatever l is."""
    return lambda share: product


def _c5_sides(s: Symbols, convex: bool) -> Sides:
    """Otherwise by the gradient, whose square is at most 2 nu times the excess."""
    power = s.l ** (2 * s.alpha - 1)
    excess = {"excess": power * s.gap / (24 * s.nu)} if convex else {"slope": power * s.slope / (48 * s.nu**2)}
    return Sides(
        {"lag": s.lag_after},
        {
            "lag before": (1 - sp.Rational(17, 36) * s.l) * s.lag,
            **excess,
            "drift": sp.Rational(97, 48) * power * s.drift,
            "noise": s.l / s.nu**2 * noble.averaged(s) / 32,
        },
    )


def _c6_sides(s: Symbols, convex: bool) -> Sides:
    """As printed for convex users, by the excess; else by the gradient, where the lag is divided by eta_g^2 too."""
    half, square = sp.Rational(9, 2), s.eta_g**2
    if convex:
        lag, part, noise = half, sp.Rational(9, 40) * s.nu * s.gap, sp.Rational(27, 40)
    else:
        lag, part, noise = sp.Rational(216, 529) / square, sp.Rational(9, 1058) * s.slope, sp.Rational(324, 529)
    return Sides(
        {"drift": half * s.nu**2 * s.eta * s.drift},
        {
            "lag": lag * s.nu**3 * s.eta**2 * s.lag,
            "excess" if convex else "slope": part * s.eta / square,
            "noise": noise * s.eta**2 * s.nu / (s.K * square) * noble.variance(s),
        },
    )


def _c4_checks(kind: str) -> Iterator[Check]:
    """Worst cases of all sizes at a short step; at the longest step of those with one user in the cohort, of at most
    two; and of long local steps inside a server step of the longest length."""
    if kind == "convex":
        yield from exact.checks(_step(Fraction(1)), "few long")
        yield exact.outside("eta~ <= 1/nu", Fraction(101, 100))
    else:
        yield from exact.checks(_step(Fraction(1)), "convex other long")
        yield from exact.checks(_step(Fraction(5)), "other")
    yield from exact.draws(_step(_LENGTH))
    yield from worst.of_scaffold(kind, ("0",), lambda at: at["M"] <= 2 and at["size"] == 1, step="24")
    yield from worst.of_scaffold(kind, ("0",), step="1/10")
    long = {"class": kind, "M": 2, "size": 1, "K": 2, "eta_g": "1/12", "step": "24", "power": "0", "noise": True}
    name = f"one round, {kind}, M = 2, lM = 1, K = 2, eta~ nu = 1, eta_g = 1/12"
    yield Check("worst-case", name, worst.scaffold_round, long)


def _by_alpha(alpha: str) -> Callable[[Fraction], Fraction | None]:
    """l^alpha/24, where it and l^(2 alpha - 1) are fractions."""

    def limit(share: Fraction) -> Fraction | None:
        found, other = (exact.power(share, power) for power in (Fraction(alpha), 2 * Fraction(alpha) - 1))
        return None if found is None or other is None else found / 24

    return limit


def _c5_checks(kind: str) -> Iterator[Check]:
    tags, alphas = ("few", ("1/2", "1")) if kind == "convex" else ("convex other", ("1/2", "2/3", "1"))
    for alpha in alphas:
        yield from exact.checks(_by_alpha(alpha), tags, "{}, eta~ nu = {}, alpha = " + alpha, alpha=alpha)
    yield exact.outside("alpha >= 1/2", _LENGTH, alpha="99/200")
    yield exact.outside("alpha <= 1", _LENGTH, alpha="101/100")
    yield exact.outside("eta~ <= l/(24 nu)", Fraction(101, 2400), alpha="1")
    yield from exact.draws(_by_alpha("1"), alpha="1")
    yield from worst.of_scaffold(kind, ("1/2", "1"))
    many = {"class": kind, "M": 6, "size": 1, "K": 1, "step": "1", "power": "1/2", "noise": True}
    yield Check("worst-case", f"one round, {kind}, M = 6, lM = 1, K = 1, step l^(1/2)", worst.scaffold_round, many)


def _c6_checks(kind: str) -> Iterator[Check]:
    yield from exact.checks(_step(_LENGTH), "few" if kind == "convex" else "convex other")
    yield exact.outside("eta~ <= 1/(24 nu)", Fraction(101, 2400))
    yield exact.outside("eta_g >= 1", _LENGTH, eta_g="99/100")
    yield from exact.draws(_step(_LENGTH))
    yield from worst.of_scaffold(kind, ("0",))


def _pair(
    ids: tuple[str, str],
    sides: tuple[Callable[[Symbols], Sides], Callable[[Symbols], Sides]],
    conditions: tuple[Hypothesis, ...],
    proof: Check,
    checks: Callable[[str], Iterator[Check]],
    runs: Runs,
    uses: tuple[tuple[str, ...], tuple[str, ...]],
) -> tuple[Statement, Statement]:
    """A lemma as printed, by the excess of convex users, and its sharpened form, by the gradient of any users."""
    printed = noble.statement(
        **noble.named(ids[0]),
        symbols=noble.NOTATION(_ALPHA),
        hypotheses=(*BASE, noble.CONVEX, noble.MINIMISER, *conditions),
        sides=sides[0],
        checks=battery(by_lemma_c2(sides[1]), checks("convex"), runs("round")),
        uses=(*uses[0], ids[1]),
    )
    sharpened = replace(
        printed,
        **noble.named(ids[1]),
        hypotheses=(*BASE, *conditions),
        sides=sides[1],
        checks=battery(proof, checks("non-convex"), runs("round corners")),
        uses=uses[1],
    )
    return printed, sharpened


C4, C4_SHARPENED = _pair(
    ids=("noble2022.lemmaC.4", "noble2022.lemmaC.4.sharpened"),
    sides=(
        lambda s: Sides(
            {"move": s.move},
            {
                "drift": 4 * s.eta**2 * s.nu**2 * s.drift,
                "lag": 8 * s.nu**2 * s.eta**2 * s.lag,
                "excess": 8 * s.nu * s.eta**2 * s.gap,
                "noise": 9 * s.eta**2 * noble.averaged(s),
            },
        ),
        lambda s: Sides(
            {"move": s.move},
            {
                "drift": 4 * s.eta**2 * s.nu**2 * s.drift,
                "lag": sp.Rational(8, 3) * s.nu**2 * s.eta**2 * s.lag,
                "slope": sp.Rational(4, 3) * s.eta**2 * s.slope,
                "noise": 4 * s.eta**2 * noble.averaged(s),
            },
        ),
    ),
    conditions=(Hypothesis(lambda s: s.eta <= 1 / s.nu, r"$\tilde\eta \le 1/\nu$"),),
    proof=move,
    checks=_c4_checks,
    runs=_SHORT,
    uses=(("noble2022.corollaryC.1", "noble2022.lemmaC.2", "noble2022.lemmaC.3"), ("noble2022.lemmaC.1",)),
)
C4_SHARPENED = replace(C4_SHARPENED, hypotheses=BASE)  # for every step

C5, C5_SHARPENED = _pair(
    ids=("noble2022.lemmaC.5", "noble2022.lemmaC.5.sharpened"),
    sides=(partial(_c5_sides, convex=True), partial(_c5_sides, convex=False)),
    conditions=(
        Hypothesis(lambda s: (s.alpha >= sp.Rational(1, 2), s.alpha <= 1)),
        Hypothesis(lambda s: s.eta <= s.l**s.alpha / (24 * s.nu), r"$\tilde\eta \le l^\alpha/(24 \nu)$"),
    ),
    proof=lag,
    checks=_c5_checks,
    runs=one_round(lambda values: float(values["l"] ** values["alpha"] / 24)),
    uses=(("noble2022.lemmaC.2",), ("noble2022.lemmaC.1", "noble2022.lemmaC.4.sharpened")),
)

_C6_STEP = r"$\eta_l \le 1/(24 \nu K \eta_g)$, that is $\tilde\eta \le 1/(24 \nu)$"
C6, C6_SHARPENED = _pair(
    ids=("noble2022.lemmaC.6", "noble2022.lemmaC.6.sharpened"),
    sides=(partial(_c6_sides, convex=True), partial(_c6_sides, convex=False)),
    conditions=(noble.GLOBAL, Hypothesis(lambda s: s.eta <= 1 / (24 * s.nu), _C6_STEP)),
    proof=drift,
    checks=_c6_checks,
    runs=_SHORT,
    uses=(("noble2022.lemmaC.2",), ("noble2022.lemmaC.1",)),
)

STATEMENTS = (C4, C4_SHARPENED, C5, C5_SHARPENED, C6, C6_SHARPENED)
