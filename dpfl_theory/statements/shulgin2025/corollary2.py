"""shulgin2025 Corollary 2: the utility of alpha-NormEC under a privacy budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Case, Check, Hypothesis, Outcome, Sides, Source, Statement, Symbols, Values, battery
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, sides_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.prescribed_noise import DELTA
from dpfl_theory.statements.relations import Formula, Proof, algebra, special_form
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025._instances import JUST_INSIDE
from dpfl_theory.statements.shulgin2025._line import least_with_noise, root, runs_on_the_line
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, ROUND, accurate_private, fit, flat, private
from dpfl_theory.statements.shulgin2025.corollary1 import attained
from dpfl_theory.statements.shulgin2025.lemma3 import both_ways, second_moment, squared
from dpfl_theory.statements.shulgin2025.theorem1 import UPHILL
from dpfl_theory.statements.shulgin2025.theorem2 import THEOREM2
from dpfl_theory.statements.symbolic import all_equal


def _prescription(s: Symbols) -> Mapping[str, Any]:
    beta = s.beta_0 / (s.K + 1)
    return {
        "sigma": s.c * sp.sqrt((s.K + 1) * sp.log(1 / s.delta)) / s.epsilon,
        "beta": beta,
        "gamma": beta * s.R / ((s.alpha + s.R) * s.L_max),
    }


_PRESCRIBED = Hypothesis(
    lambda s: tuple(sp.Eq(s[name], value) for name, value in _prescription(s).items()),
    r"$\sigma$, $\beta$ and $\gamma$ are the prescribed ones",
)


def _ratio(s: Mapping[str, Any]) -> Any:
    """sqrt(d log(1/delta)/(n epsilon^2))."""
    return sp.sqrt(s["d"] * sp.log(1 / s["delta"]) / s["n"]) / s["epsilon"]


def _sides(s: Symbols) -> Sides:
    reach = (s.alpha + s.R) * s.L_max / (s.beta_0 * s.R)  # 1/(gamma (K + 1))
    return Sides(
        {"gradient": s.E_least},
        {
            "initialisation": s.gap * reach,
            "memory": 2 * s.R,
            "curvature": s.L / (2 * reach * (s.K + 1)),
            "privacy noise": 2 * s.c * s.beta_0 * _ratio(s),
        },
    )


def best_beta_0(s: Mapping[str, Any]) -> Any:
    """The beta_0 that minimises the bound as K grows, in the statement's symbols."""
    return sp.sqrt(s["gap"] * s["L_max"] * (s["alpha"] + s["R"]) / (2 * s["c"] * s["R"] * _ratio(s)))


def _many_rounds(s: Formula) -> Any:
    """The bound as K grows."""
    terms = sides_of(s.statement).rhs
    return sum(terms[name] for name in ("initialisation", "memory", "privacy noise"))


def _at_the_best_beta_0(s: Formula) -> tuple[Any, Any]:
    """The bound as K grows at its best beta_0, and its symbol t, t^4 = d log(1/delta)/(n epsilon^2)."""
    t, log = sp.symbols("t log", positive=True)
    chosen = _many_rounds(s).subs(s.beta_0, best_beta_0(s)).subs(s.delta, sp.exp(-log))
    return sp.simplify(chosen.subs(s.d, t**4 * s.n * s.epsilon**2 / log)), t


@algebra("the best beta_0 as K grows")
def _optimum(s: Formula) -> Proof:
    bound = _many_rounds(s)
    if not sp.diff(bound, s.beta_0, 2).is_positive:
        return Outcome(None, "the bound was not found to be convex in beta_0")
    return sp.diff(bound, s.beta_0).subs(s.beta_0, best_beta_0(s)), 0, "the derivative in beta_0"


def _order(name: str, shrinks: bool) -> Check:
    instance: dict[str, Any] = {"alpha of order R": shrinks}

    @algebra(name, **instance)
    def order(s: Formula, **_: bool) -> Proof:
        """With t = (d log(1/delta)/(n epsilon^2))^(1/4) and R of order t: the bound is of order t if alpha is of order
        t too, and of order sqrt(t) if alpha stays fixed."""
        bound, t = _at_the_best_beta_0(s)
        a, r = sp.symbols("a r", positive=True)
        bound = bound.subs({s.R: r * t, s.alpha: a * t if shrinks else a})
        found = sp.limit(sp.simplify(bound / (t if shrinks else sp.sqrt(t))), t, 0, "+")
        w = 2 * s.c * s.gap * s.L_max
        constant = 2 * r + 2 * sp.sqrt(w * (a + r) / r) if shrinks else 2 * sp.sqrt(w * a / r)
        said = "alpha = a t, R = r t: the bound over t" if shrinks else "R = r t: the bound over sqrt(t)"
        return found, constant, f"{said} for t -> 0, t = (d log(1/delta)/(n epsilon^2))^(1/4)"

    return order


@algebra("order, alpha fixed and the best R: the sixth root")
def _sixth_root(s: Formula) -> Proof:
    """For fixed alpha the bound as K grows, at its best beta_0, is 2R + 2 sqrt(w/R + w/alpha), w = 2 c gap L_max alpha
    t^2, at least 2R + 2 sqrt(w/R). That one's least value over R is of order t^(2/3): no R gives the order t."""
    entered, t = _at_the_best_beta_0(s)
    weight = 2 * s.c * s.gap * s.L_max * s.alpha * t**2
    own = 2 * s.R + 2 * sp.sqrt(weight / s.R + weight / s.alpha)
    R, w = sp.symbols("R w", positive=True)
    bound = 2 * R + 2 * sp.sqrt(w / R)
    best = (w / 4) ** sp.Rational(1, 3)
    found = all_equal(
        (entered, own, "the bound at its best beta_0"),
        (sp.diff(bound, R).subs(R, best), 0, "the slope in R at (w/4)^(1/3)"),
        (sp.powdenest(bound.subs(R, best), force=True), 6 * best, "the bound there"),
    )
    if not found.true:
        return found
    if not sp.diff(bound, R, 2).is_positive:
        return Outcome(None, "the bound was not found to be convex in R")
    return Outcome(True, "with alpha fixed the least bound over R is 6 (w/4)^(1/3), of order t^(2/3)")


@algebra("exponents in d, n, epsilon, log(1/delta) and K")
def _exponents(s: Formula) -> Proof:
    """The bound as K grows, at its best beta_0, with R and alpha multiples of t: its logarithm changes with those of d,
    n, epsilon and log(1/delta) by 1/4, -1/4, -1/2 and 1/4, exactly and everywhere; K has gone from it."""
    log, r, a = sp.symbols("log r a", positive=True)
    quarter = sp.Rational(1, 4)
    t = (s.d * log / (s.n * s.epsilon**2)) ** quarter
    best = {s.beta_0: best_beta_0(s)}
    chosen = sp.powsimp(_many_rounds(s).subs(best).subs(s.delta, sp.exp(-log)).subs({s.R: r * t, s.alpha: a * t}))
    if chosen.has(s.K):
        return Outcome(False, "the bound depends on K as K grows")
    claimed = {s.d: quarter, s.n: -quarter, s.epsilon: -2 * quarter, log: quarter}
    return [(x * sp.diff(chosen, x), power * chosen, f"the exponent of {x}, {power}") for x, power in claimed.items()]


def _flat_cases(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """f = Huber's function of x in every client, L = gap = c = 1. It keeps its slope t over the whole distance that
    beta_0 = 1/t allows, whatever the noise. So min_k E|f'(x^k)| = t at t^4 = d log(1/delta)/(n epsilon^2), R = alpha =
    t, compared with a bound of 6 t to 7 t. The order of the bound is attained on its class, with its exponents."""
    for K, n, d, log, epsilon in instance["runs"]:
        symbols = {k: Fraction(v) for k, v in (("K", K), ("n", n), ("d", d), ("epsilon", epsilon), ("L", 1))}
        t = root(root(d * Fraction(log) / (n * symbols["epsilon"] ** 2)))
        way, x = 1 / (2 * t), 1 / t + t / 2  # gamma (K + 1), and the start with f(x) = t x - t^2/2 = 1
        if x - way < t:
            raise ValueError(f"the run ends at {x - way}, below {t}, from where on the slope is no longer t")
        beta = 1 / t / (K + 1)
        own = {**dict.fromkeys(("gap", "L_max", "c"), Fraction(1)), "R": t, "alpha": t, "beta_0": 1 / t, "beta": beta}
        own |= {"gamma": beta / 2, "sigma": sp.sqrt((K + 1) * log) / epsilon}
        values = {**symbols, "log": Fraction(log), "t": t}
        yield Values({**symbols, **own, "delta": sp.exp(-log), "E_least": t}, values)


def _uphill(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The last round of runs on the line whose memories lead away from the optimum, with little noise: c = 1/100,
    epsilon = log(1/delta) = 1, beta_0 = (K + 1) beta."""
    c = Fraction(1, 100)
    for run in runs_on_the_line(instance):
        K, n, beta = len(run.rounds) - 1, int(run.symbols["n"]), run.symbols["beta"]
        sigma = c * root(Fraction(K + 1))
        moments = [second_moment(k, n, 1, sigma, beta) for k in range(K + 1)]
        own = {"K": Fraction(K), "d": Fraction(1), "c": c, "beta_0": (K + 1) * beta, "sigma": sigma}
        symbols = {**run.symbols, **own, "epsilon": Fraction(1)}
        yield Values({**symbols, "delta": sp.exp(-1), "E_least": least_with_noise(run, K, moments)[1]}, symbols)


def _noise_terms(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """The squared noise term of Theorem 2 at the prescribed sigma and beta, by the recursion of Lemma 3, against the
    corollary's, in which K has gone; log = log(1/delta) takes rational values here."""
    chosen = prescription_of(statement)
    for K in instance["K"]:
        for texts in instance["symbols"]:
            c, beta_0, epsilon, log = (Fraction(text) for text in texts)
            for n, d in ((1, 1), (10, 3)):
                own = {"K": K, "c": c, "beta_0": beta_0, "epsilon": epsilon, "n": n, "d": d}
                exact, values = {**own, "delta": sp.exp(-sp.sympify(log))}, {**own, "log": log}
                variance = evaluate(chosen["sigma"] ** 2, exact, statement.id)
                moment = 4 * second_moment(K, n, d, Fraction(1), evaluate(chosen["beta"], own, statement.id)) * variance
                printed = squared(statement, exact, "privacy noise")
                yield from both_ways(values, moment, printed)


_ATTAINED = partial(attained, Fraction(1, 7), "E_least", _flat_cases)
_ORDER_MET = "It decides that the order is attained: the runs' least gradient is at least a seventh of the right side."
_TERM = (
    "It decides that the square of the noise term is that of twice what the server's noise adds up to, in second "
    "moments; the other terms are Theorem 2's."
)
_FLAT_RUNS = {
    "runs": [
        *([2, 1, 1, 16, 16], [8, 1, 1, 16, 64], [8, 16, 1, 16, 16]),
        *([2, 1, 16, 16, 64], [2, 1, 1, 256, 64], [1000, 1, 1, 16, 64]),
    ]
}
"""K, n, d, log(1/delta), epsilon: t = 1/2, and 1/4 in the second, third and last."""
_TERMS = {"K": [0, 1, 9, 50], "symbols": [["2", "1", "1", "12"], ["1/2", "7/3", "8", "25/2"]]}

COROLLARY2: Statement = Statement(
    id="shulgin2025.corollary2",
    kind="corollary",
    source=Source(shu.PAPER, "Corollary 2, Section 5", provenance="restored"),
    symbols=shu.symbols(
        *("gap", "gamma", "K", "R", "alpha", "beta", "beta_0", "L", "L_max", "n", "d", "sigma", "c"),
        *("epsilon", "delta"),
    ),
    expectations=(shu.E_LEAST,),
    hypotheses=(*(shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.STEP, shu.ROUNDS, shu.NOISE, DELTA), _PRESCRIBED),
    sides=_sides,
    prescription=_prescription,
    checks=battery(
        special_form(
            "Theorem 2 with the prescription",
            THEOREM2,
            "with the prescribed sigma, beta and gamma",
            sigma=lambda s: s.prescribed["sigma"],
            beta=lambda s: s.prescribed["beta"],
            gamma=lambda s: s.prescribed["gamma"],
        ),
        _optimum,
        _order("order, alpha of order R", True),
        _order("order, alpha fixed: the eighth root", False),
        _sixth_root,
        _exponents,
        Check("exact", "the slope stays t", _flat_cases, _FLAT_RUNS),
        Check("exact", "the order is attained where the slope stays t", _ATTAINED, _FLAT_RUNS, part=_ORDER_MET),
        Check("exact", "memories that lead away from the optimum", _uphill, UPHILL),
        ROUND("corollary2", near=JUST_INSIDE, beyond="corollary2-outside"),
        Check("exact", "the noise term does not depend on K", _noise_terms, _TERMS, part=_TERM),
        NORMALISE.by(accurate_private)("accurate-private"),
        NORMALISE.by(private, edges=True)(
            "private", near="Huber, epsilon = 8", without={"just outside K >= 0": "exact on the line"}
        ),
        NORMALISE.by(flat)("flat"),
        NORMALISE.by(fit)("exponents2"),
    ),
    uses=("shulgin2025.theorem2", "shulgin2025.noise"),
)

STATEMENTS = (COROLLARY2,)
