"""hou2023 Appendix B.1: the steps of Theorem 1's proof, and a sharper contraction than the printed one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Case, Outcome, Performance
from dpfl_theory.statements.hou2023 import _letters as hou
from dpfl_theory.statements.hou2023._moments import iterated, second_moments
from dpfl_theory.statements.model import Check, Sides, Source, Statement, Symbol, sympy_symbols
from dpfl_theory.statements.symbolic import equal

__all__ = ["CONTRACTION", "STATEMENTS"]

_WHERE = "Appendix B.1, proof of Theorem 1"
_MEAN = Symbol("mean_shift", "length of (1/N) sum_i h_t^{(i)}", (1, -1), "nonnegative", r"\|\mathbf{A}(\mathbf{h}_t)\|")
_T1 = Symbol("T_1", "E||A(x + e_t) - A(y)||^2, the first part of psi after communicating", (0, 2), "nonnegative", "T_1")
_T2 = Symbol("T_2", "the second part of psi after communicating", (0, 2), "nonnegative", "T_2")
_Y = Symbol("y_t", "||[xhat_{t+1} - x*] - (eta/p)[h_t - h*]||", (0, 1), "nonnegative", r"\|\mathbf{y}_t\|")
_VARIANCE = Symbol("noise_variance", "variance of a message's noise per coordinate", (0, 2), "nonnegative", r"\sigma^2")
_PSI = Symbol("psi_t", "E psi_t", (0, 2), "nonnegative", r"\mathbf{E}[\psi_t]")
_NEXT = Symbol("psi_next", "E psi_{t+1}", (0, 2), "nonnegative", r"\mathbf{E}[\psi_{t+1}]")


# (3): the control variates sum to zero.


def _eq3_sides() -> Sides:
    import sympy as sp

    return Sides(lhs={"mean": sympy_symbols(EQ3)["mean_shift"]}, rhs={"zero": sp.Integer(0)})


def _projection(_: Mapping[str, Any]) -> Outcome:
    """A(h + (p/eta)(A Delta - Delta)) = A h for every Delta, clipped and noisy or not: polynomials in A, A^2 = A."""
    import sympy as sp

    A, h, delta, weight = sp.symbols("A h Delta weight")
    after = sp.rem(sp.expand(A * (h + weight * (A * delta - delta))), A**2 - A, A)
    return equal(after, A * h, "the mean of the next control variates against the mean of these")


def _eq3_cases(instance: Mapping[str, Any]) -> Iterator[Case]:
    """Algorithm 2 in rational numbers, clipped and with noise, on f_i(x) = q_i (x - c_i)^2/2: |sum_i h_t^{(i)}|."""
    q, c = ([Fraction(v) for v in instance[k]] for k in ("q", "c"))
    eta, p, C = (Fraction(instance[k]) for k in ("eta", "p", "C"))
    server = Fraction(instance["x_0"])
    x, h = [server] * len(q), [Fraction(v) for v in instance["h_0"]]
    assert sum(h) == 0
    for t, (coin, noise) in enumerate(instance["rounds"]):
        moved = [xi - eta * (qi * (xi - ci) - hi) for xi, qi, ci, hi in zip(x, q, c, h)]
        if coin:
            sent = [max(-C, min(C, m - server)) + Fraction(e) for m, e in zip(moved, noise)]
            mean = sum(sent, Fraction(0)) / len(q)
            server += mean
            h = [hi + p / eta * (mean - s) for hi, s in zip(h, sent)]
            x = [server] * len(q)
        else:
            x = moved
        yield Case({"t": t + 1, "h": tuple(h)}, abs(sum(h, Fraction(0))), Fraction(0))


# The identity for T_1 + T_2.


def _nonexpansive_sides() -> Sides:
    s = sympy_symbols(NONEXPANSIVE)
    return Sides(
        lhs={"consensus": s["T_1"], "control variates": s["T_2"]},
        rhs={"deviation": s["y_t"] ** 2, "noise": s["N"] * s["d"] * s["noise_variance"]},
    )


def _pythagoras(_: Mapping[str, Any]) -> Outcome:
    """||A z||^2 + ||A z - z||^2 = ||z||^2 for the projection A: A^T A + (A - I)^T (A - I) = I with A^2 = A = A^T."""
    import sympy as sp

    A = sp.Symbol("A")
    total = sp.rem(sp.expand(A * A + (A - 1) * (A - 1)), A**2 - A, A)
    return equal(total, 1, "A^T A + (A - I)^T (A - I) against the identity")


def _nonexpansive_cases(instance: Mapping[str, Any]) -> Iterator[Case]:
    """One communication (coin 1) of the linear-Gaussian dynamics on quadratics, from unequal x_i and h_i."""
    q, a, b = ([Fraction(v) for v in instance[k]] for k in ("q", "a", "b"))
    for eta, p, variance in ((Fraction(1, 2), Fraction(1, 3), Fraction(0)), (Fraction(1), Fraction(1), Fraction(2, 7))):
        moments = iterated(second_moments(a, b), q, eta, p, 1, variance, coin=Fraction(1))
        n = len(q)
        left = sum((moments[i][i] * (1 if i < n else (eta / p) ** 2) for i in range(2 * n)), Fraction(0))
        moved = [(1 - eta * qi) * ai + eta * bi - eta / p * bi for qi, ai, bi in zip(q, a, b)]
        yield Case({"eta": eta, "p": p, "sigma^2": variance}, left, sum(m * m for m in moved) + n * variance)


def communication(instance: Mapping[str, Any], gain: float = 1.0) -> Performance:
    """T_1 + T_2 of one communication without noise against ||y_t||^2, or the other way round where ``reverse`` is set.

    Over all a_i = xhat_i - x* and all b_i = h_i - h*_i with sum 0: y_t = a - (eta/p) b, and what is sent is a.
    gain: 1 in the update of the control variates.
    """
    from PEPit import PEP, Point

    problem, n, ratio = PEP(), int(instance["N"]), float(Fraction(instance["eta/p"]))
    a = [problem.set_initial_point() for _ in range(n)]
    b = [Point() for _ in range(n - 1)]
    b.append(-sum(b[1:], b[0]) if b else Point(is_leaf=False, decomposition_dict={}))
    mean = sum(a[1:], a[0]) / n
    parts = n * mean**2 + sum((ratio * bi + gain * (mean - ai)) ** 2 for ai, bi in zip(a, b))
    deviation = sum((ai - ratio * bi) ** 2 for ai, bi in zip(a, b))
    left, right = (deviation, parts) if instance["reverse"] else (parts, deviation)
    return Performance(problem, left, right, "T_1 + T_2 and ||y_t||^2")


# The one-iteration contraction.


def _contraction_sides(square: bool = False) -> Sides:
    import sympy as sp

    s = sympy_symbols(CONTRACTION)
    fall = (1 - s["mu"] * s["eta"]) ** 2 if square else 1 - s["mu"] * s["eta"]
    return Sides(
        lhs={"psi": s["psi_next"]},
        rhs={
            "contraction": sp.Max(fall, 1 - s["p"] ** 2) * s["psi_t"],
            "noise": s["p"] * s["N"] * s["d"] * s["noise_variance"],
        },
    )


def contraction(instance: Mapping[str, Any], square: bool = False) -> Performance:
    """E psi_{t+1} <= theta psi_t for one iteration without noise, from any x_i and any h_i that sum to zero.

    The coin is a convex combination of its two outcomes; x* is the origin, where the gradients h*_i sum to zero.
    theta = max(1 - mu eta, 1 - p^2), or with (1 - mu eta)^2 in place of 1 - mu eta.
    """
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothStronglyConvexFunction

    mu, p, n = float(Fraction(instance["mu"])), float(Fraction(instance["p"])), int(instance["N"])
    eta = float(Fraction(instance["eta L"]))  # L = 1
    problem = PEP()
    functions = [problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=1) for _ in range(n)]
    origin = Point(is_leaf=False, decomposition_dict={})
    rest, last = origin, origin
    stars, shifts = [], []
    for f in functions[:-1]:
        stars.append(f.gradient(origin))
        shifts.append(Point())
        rest, last = rest - stars[-1], last - shifts[-1]
    functions[-1].add_point((origin, rest, Expression()))
    stars, shifts = [*stars, rest], [*shifts, last]
    x = [problem.set_initial_point() for _ in range(n)]
    moved = [xi - eta * (f.gradient(xi) - h) for xi, f, h in zip(x, functions, shifts)]
    mean = sum(moved[1:], moved[0]) / n
    weight = (eta / p) ** 2
    sent = n * mean**2 + sum((eta / p * (h - g) + mean - m) ** 2 for h, g, m in zip(shifts, stars, moved))
    silent = sum(m**2 for m in moved) + weight * sum((h - g) ** 2 for h, g in zip(shifts, stars))
    psi = sum(xi**2 for xi in x) + weight * sum((h - g) ** 2 for h, g in zip(shifts, stars))
    fall = (1 - mu * eta) ** 2 if square else 1 - mu * eta
    theta = max(fall, 1 - p**2)
    return Performance(problem, p * sent + (1 - p) * silent, theta * psi, f"E psi_(t+1) against {theta:.6g} psi_t")


def _contraction_cases(instance: Mapping[str, Any], square: bool = False) -> Iterator[Case]:
    """One iteration of the linear-Gaussian dynamics on quadratics, from unequal x_i and h_i."""
    q, a, b = ([Fraction(v) for v in instance[k]] for k in ("q", "a", "b"))
    mu, L, n = min(q), max(q), len(q)
    for eta in (1 / L, 1 / (2 * L)):
        for p in map(Fraction, ("1", "1/2", "1/9")):
            for variance in map(Fraction, ("0", "1/5")):
                fall = (1 - mu * eta) ** 2 if square else 1 - mu * eta
                theta = max(fall, 1 - p * p)
                start = sum(x * x for x in a) + (eta / p) ** 2 * sum(x * x for x in b)
                moments = iterated(second_moments(a, b), q, eta, p, 1, variance)
                left = sum((moments[i][i] * (1 if i < n else (eta / p) ** 2) for i in range(2 * n)), Fraction(0))
                terms = {"contraction": theta * start, "noise": p * n * variance}
                at = {"eta": eta, "p": p, "sigma^2": variance}
                yield Case(at, left, sum(terms.values(), Fraction(0)), terms)


def _completed_square(_: Mapping[str, Any]) -> Outcome:
    """With a = xhat - x*, b = h - h*: p||a - (eta/p) b||^2 + (1 - p)(||a||^2 + (eta/p)^2 ||b||^2) is ||a - eta b||^2
    + (1 - p^2)(eta/p)^2 ||b||^2."""
    import sympy as sp

    a, b, eta, p = sp.symbols("a b eta p", real=True)
    left = p * (a - eta / p * b) ** 2 + (1 - p) * (a**2 + (eta / p) ** 2 * b**2)
    return equal(
        left, (a - eta * b) ** 2 + (1 - p**2) * (eta / p) ** 2 * b**2, "the two displays before the contraction"
    )


def _squared_rate(_: Mapping[str, Any]) -> Outcome:
    """Where the square comes from: the interpolation inequality of mu-strongly convex, L-smooth gradients.

    With u = x - x*, g = grad f(x) - grad f(x*): <g, u> >= (||g||^2 + mu L ||u||^2)/(L + mu), so that (1 - mu eta)^2
    ||u||^2 - ||u - eta g||^2 is 2 eta (1 - eta (L + mu)/2) times ... plus a multiple of that slack; at equality of
    the inequality it is eta (2/(L + mu) - eta)(||g||^2 - mu^2 ||u||^2), and ||g|| >= mu ||u||.
    """
    import sympy as sp

    u, g, eta, mu, L = sp.symbols("u g eta mu L", positive=True)  # squares u = ||u||^2, g = ||g||^2
    inner = (g + mu * L * u) / (L + mu)
    slack = (1 - mu * eta) ** 2 * u - (u - 2 * eta * inner + eta**2 * g)
    return equal(slack, eta * (2 / (L + mu) - eta) * (g - mu**2 * u), "what (1 - mu eta)^2 leaves, against its factors")


_CLIENTS = {"q": ["1", "1/4", "1/10"], "a": ["2", "-1", "3"], "b": ["1", "1/2", "-3/2"]}
_ALONE = {"q": ["1/4"], "a": ["2"], "b": ["0"]}
_CLIPPED = {
    "q": ["1", "1/3", "1/2"],
    "c": ["0", "6", "-2"],
    "eta": "1/2",
    "p": "1/3",
    "C": "1",
    "x_0": "20",
    "h_0": ["1", "2", "-3"],
    "rounds": [[1, ["1/7", "-2", "1/3"]], [0, []], [0, []], [1, ["5", "-1/9", "0"]], [1, ["-1", "1", "1/4"]]],
}
_GRID = [
    {"N": n, "mu": mu, "p": p, "eta L": eta}
    for n, mu, p, eta in (
        (1, "1/4", "1/2", "1"),
        (2, "1/4", "1/2", "1"),
        (2, "1/4", "1", "1"),
        (2, "1/10", "1/10", "1"),
        (2, "1/10", "9/10", "1/2"),
        (3, "1/4", "1/4", "1"),
    )
]


def _named(instance: Mapping[str, Any]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in instance.items())


EQ3: Statement = Statement(
    id="hou2023.eq3",
    kind="step",
    title="The control variates sum to zero",
    source=Source(hou.PAPER, _WHERE, "3", note="it needs neither full gradients nor inactive clipping"),
    text="In Algorithm 2 the control variates satisfy A(h_t) = 0 for all t >= 0, since A(h_0) = 0.",
    symbols=(_MEAN,),
    relation="==",
    sides=_eq3_sides,
    checks=(
        Check("algebra", "A(A Delta - Delta) = 0", _projection),
        Check("exact", "clipped and noisy run in rational numbers", lambda i: tuple(_eq3_cases(i)), _CLIPPED),
    ),
    slips=(
        "g_t's last entry is printed as grad f(x_t^{(N)}), without the index N of f_N.",
        "x* is printed as [(x_t^*)^T, ..., (x_t^N)^T]^T in Theorem 1; every block is x*.",
    ),
)

NONEXPANSIVE: Statement = Statement(
    id="hou2023.nonexpansive",
    kind="step",
    title="What psi is after communicating: T_1 + T_2",
    source=Source(
        hou.PAPER,
        f"{_WHERE}, after (4)",
        note="x - y = y_t with A(h_t) = 0; the paper writes '<=' in the next line, where it is an equality",
    ),
    text="E[T_1 + T_2] = E||x - y||^2 + E||e_t||^2, with x - y = y_t and E||e_t||^2 = N d sigma^2.",
    symbols=(_T1, _T2, _Y, _VARIANCE, *hou.letters("N", "d")),
    relation="==",
    sides=_nonexpansive_sides,
    checks=(
        Check("algebra", "A is a projection", _pythagoras),
        *(
            Check("worst-case", f"{way}, N = {n}", communication, {"N": n, "eta/p": "2", "reverse": way == "at least"})
            for n in (1, 2, 4)
            for way in ("at most", "at least")
        ),
        *(
            Check("exact", f"quadratics, {name}", lambda i: tuple(_nonexpansive_cases(i)), instance)
            for name, instance in (("three clients", _CLIENTS), ("one client", _ALONE))
        ),
    ),
    uses=("hou2023.eq3",),
    slips=("T_1 and T_2 are printed as equalities of random variables; they hold in expectation over e_t.",),
)

CONTRACTION: Statement = Statement(
    id="hou2023.contraction",
    kind="step",
    title="One iteration contracts psi, up to the noise",
    source=Source(
        hou.PAPER,
        f"{_WHERE}, last displays",
        note="the display's first line ends in 2 p sigma^2, its second in p N d sigma^2, which is right",
    ),
    text=(
        "If each f_i is mu-strongly convex and L-smooth, 0 < eta <= 1/L and 0 < p <= 1, an iteration of Algorithm 2 "
        "satisfies E psi_{t+1} <= max(1 - mu eta, 1 - p^2) E psi_t + p N d sigma^2."
    ),
    symbols=(_NEXT, _PSI, _VARIANCE, *hou.letters("eta", "p", "L", "mu", "N", "d")),
    sides=_contraction_sides,
    checks=(
        Check("algebra", "the square completed", _completed_square),
        *(Check("worst-case", _named(i), contraction, i) for i in _GRID),
        *(
            Check("exact", f"quadratics, {name}", lambda i: tuple(_contraction_cases(i)), instance)
            for name, instance in (("three clients", _CLIENTS), ("one client", _ALONE))
        ),
    ),
    uses=("hou2023.nonexpansive",),
    slips=(
        "The display before the contraction says xhat_{t+1} = x_{t+1} - eta (g_t - h_t); it is x_t - eta (g_t - h_t).",
        "Lemma 1 is quoted with epsilon <= u T; it says epsilon <= u p T.",
        "The first line of the contraction ends in 2 p sigma^2, which is too little for N d > 2; the second has p N d "
        "sigma^2.",
    ),
)

SHARPENED: Statement = replace(
    CONTRACTION,
    id="hou2023.contraction.sharpened",
    title="One iteration contracts psi by (1 - mu eta)^2 rather than 1 - mu eta",
    source=Source(
        hou.PAPER,
        f"{_WHERE}, last displays",
        note="derived: ||x - x* - eta (g - h*)||^2 <= (1 - mu eta)^2 ||x - x*||^2 for eta <= 2/(L + mu)",
    ),
    text=(
        "Under the same hypotheses E psi_{t+1} <= max((1 - mu eta)^2, 1 - p^2) E psi_t + p N d sigma^2: where the "
        "first entry rules, about twice as fast, and with half the noise in the limit."
    ),
    sides=lambda: _contraction_sides(square=True),
    checks=(
        Check("algebra", "where the square comes from", _squared_rate),
        *(Check("worst-case", _named(i), lambda i: contraction(i, square=True), i) for i in _GRID),
        *(
            Check("exact", f"quadratics, {name}", lambda i: tuple(_contraction_cases(i, square=True)), instance)
            for name, instance in (("three clients", _CLIENTS), ("one client", _ALONE))
        ),
    ),
    slips=(),
)

STATEMENTS = (EQ3, NONEXPANSIVE, CONTRACTION, SHARPENED)
