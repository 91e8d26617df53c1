"""shulgin2025 Lemma 3, Theorem 2 and Corollary 2: the noise that the server's estimate accumulates, alpha-NormEC with
noise on every message, and its utility under a privacy budget."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.algorithms.error_feedback import NormEC
from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Source, Statement, Symbols, battery
from dpfl_theory.core.check_inputs import Case, Experiment, Values
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import evaluate_side, prescription_of, sides_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import average
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.rational import Quadratics, root
from dpfl_theory.statements.prescribed_noise import DELTA
from dpfl_theory.statements.relations import Formula, Proof, algebra, becomes, exact, of, special_form
from dpfl_theory.statements.shulgin2025 import _runs as runs
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025._line import LONG, UPHILL, least_with_noise, one_round, runs_on_the_line
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, ROUND
from dpfl_theory.statements.shulgin2025.theorem1 import AWAY, THEOREM1, attained
from dpfl_theory.statements.symbolic import all_equal

# Lemma 3.

_NOISE = shu.at_the_end(
    *("noise", "estimate-noise", (1, -1), r"\mathbb{E}\|\hat{v}^{K+1} - v^{K+1}\|"),
    r"$E\|\hat v^{K+1} - v^{K+1}\|$, $v$ the mean of the clients' memories",
)


def second_moment(K: int, n: int, d: int, sigma: Fraction, beta: Fraction, message: Fraction = Fraction(1)) -> Fraction:
    """E||vhat^{K+1} - v^{K+1}||^2 after K + 1 rounds.

    The messages Delta_i may be random in any way, as they depend on the noise so far. Here a coordinate of each has the
    second moment ``message``, and they cancel in the difference.

    >>> second_moment(2, 4, 3, Fraction(1), Fraction(2))
    Fraction(9, 1)
    """
    world, names = Quadratics([1] * n, [0] * n, {"noise": sigma**2, "message": message}), itertools.count()
    algorithm = NormEC(gamma=0, beta=beta, sigma=1).replaced(
        bound=lambda a, o, u: world.error("message", next(names)), direction=lambda a, o, estimate: o.zero
    )
    now: Any = world.zero, None
    for t in range(K + 1):
        now = run_round(algorithm, world, *now, t=t).following
    _, (estimate, memories) = now
    found: Fraction = d * world.square(estimate - average(memories))
    return found


def squared(statement: Statement, symbols: Mapping[str, Any], term: str = "") -> Fraction:
    """The square of the right side, or of one of its terms, which is rational."""
    right = sides_of(statement).rhs
    found: Fraction = evaluate(sp.expand((right[term] if term else sum(right.values())) ** 2), symbols, statement.id)
    return found


def _both_ways(values: Mapping[str, Any], found: Fraction, printed: Fraction) -> list[Case]:
    """Two numbers that are equal."""
    return [Case(values, found, printed), Case({**values, "compared": "the other way"}, printed, found)]


def _moments(
    statement: Statement, instance: Mapping[str, Any], key: str = "runs", term: str = "", times: int = 1
) -> Iterator[Case]:
    """The second moment, or a multiple, against the square of the bound, or of a term: they are equal."""
    for K, n, d, *texts in instance[key]:
        sigma, beta = map(Fraction, texts)
        symbols = {"K": K, "n": n, "d": d, "sigma": sigma, "beta": beta}
        yield from _both_ways(symbols, times * second_moment(K, n, d, sigma, beta), squared(statement, symbols, term))


@algebra("the length of a Gaussian vector")
def _gaussian_length(s: Formula) -> Proof:
    """The slack of Jensen's inequality: E||z|| = sqrt(2) Gamma((d+1)/2)/Gamma(d/2) for z ~ N(0, I_d), which is
    sqrt(2/pi) = 0.798 for d = 1 and within 1/(4d) of sqrt(d) for large d."""
    d = s.d
    length = sp.sqrt(2) * sp.gamma((d + 1) / 2) / sp.gamma(d / 2)
    found = all_equal(
        (of(s.statement, K=0, n=1, beta=1, sigma=1).rhs, sp.sqrt(d), "the bound of one standard draw"),
        (length.subs(d, 1), sp.sqrt(2 / sp.pi), "E|z| for d = 1"),
    )
    if not found.true:
        return found
    for dimension in (1, 2, 3, 10, 100):
        if not bool(length.subs(d, dimension) ** 2 < dimension):
            return Outcome(False, f"E||z||^2 is not below d = {dimension}")
    return Outcome(True, "E||z|| is below sqrt(d), by the factor 0.798 for d = 1")


def _known(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run, whose left side is that of a Gaussian vector: the bound times E||z||/sqrt(d) for z ~ N(0, I_d)."""
    found = runs.experiment(statement, instance)
    v = found.values
    length = math.sqrt(2.0) * math.exp(math.lgamma((v["d"] + 1.0) / 2.0) - math.lgamma(v["d"] / 2.0))
    noise = v["beta"] * v["sigma"] * math.sqrt((v["K"] + 1.0) / v["n"]) * length
    return replace(found, known={_NOISE.column("estimate-noise"): noise})


_MOMENTS: Any = [[0, 1, 1, "1", "1"], [1, 2, 3, "1/2", "3"], [9, 1, 200, "1/3", "1/7"], [20, 10, 3, "5", "1/100"]]

LEMMA3: Statement = shu.statement(
    id="shulgin2025.lemma3",
    kind="lemma",
    source=Source(shu.PAPER, "Lemma 3, Appendix G", provenance="restored"),
    symbols=shu.NOTATION(_NOISE),
    hypotheses=(shu.ROUNDS, shu.NOISE),
    sides=lambda s: Sides({"noise": s.noise}, {"bound": s.beta * sp.sqrt((s.K + 1) * s.d * s.sigma**2 / s.n)}),
    checks=battery(
        _gaussian_length,
        exact(
            "second moment against the squared bound",
            "It decides that the second moment is the square of the right side; that an expected length is at most the "
            "root of its second moment is Jensen's inequality.",
            runs=_MOMENTS,
        )(_moments),
        NORMALISE.by(_known, edges=True)("noise-alone", near="one client on the line"),
    ),
    smoke=("one client on the line", "Huber, first round only"),
)

# Theorem 2.


@exact(
    "first round",
    rounds=[
        *(["1", "1", "1/100", "0", "1/200"], ["1", "1/100", "1/99", "1", "1"], ["1", "3", "3", "0", "29/10"]),
        ["4", "2/3", "1/3", "1/7", "1/5"],
    ],
)
def _first_rounds(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """K = 0 on f = L x^2/2, one client without noise, the step at its limit: |grad f(x^0)|."""
    for texts in instance["rounds"]:
        yield one_round(statement, {**dict(zip(("L", "slope", "R", "alpha", "beta"), texts)), "step": "1"})


def _noisy_runs(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Whole runs on the line: the limits of min_k E|f'(x^k)| against the bound, after numbers of rounds for which it is
    rational. The upper limit replaces the expectation where it is at most the bound, else the lower one."""
    sigma = Fraction(instance["sigma"])
    for run in runs_on_the_line(instance):
        n, beta = run.symbols["n"], run.symbols["beta"]
        moments = [second_moment(k, int(n), 1, sigma, beta) for k in range(len(run.rounds))]
        for K in range(len(run.rounds)):
            if not sp.sqrt((K + 1) * sigma**2 / n).is_rational:
                continue
            symbols = {**run.symbols, "K": K, "d": 1, "sigma": sigma}
            low, high = least_with_noise(run, K, moments)
            bound = evaluate_side(statement, "rhs", symbols)
            if low <= bound < high:
                raise ValueError(f"at K = {K} the limits {float(low):.6g} and {float(high):.6g} do not decide")
            yield Values({**symbols, "E_least": high if high <= bound else low}, symbols)


THEOREM2: Statement = shu.statement(
    id="shulgin2025.theorem2",
    kind="theorem",
    source=Source(shu.PAPER, "Theorem 2, Section 5", provenance="restored"),
    hypotheses=(shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.STEP, shu.ROUNDS, shu.NOISE),
    sides=lambda s: Sides(
        {"gradient": s.E_least},
        {
            "initialisation": s.gap / (s.gamma * (s.K + 1)),
            "memory": 2 * s.R,
            "curvature": s.L * s.gamma / 2,
            "privacy noise": 2 * s.beta * sp.sqrt((s.K + 1) * s.d * s.sigma**2 / s.n),
        },
    ),
    checks=battery(
        becomes("no noise: Theorem 1", THEOREM1, "at sigma = 0", sigma=0, E_least="least"),
        # vhat - v in round k is beta times the mean over n clients of k + 1 independent N(0, sigma^2 I): Jensen gives
        # the root of its second moment, the largest of which is round K's; the descent inequality has it twice.
        algebra("noise accumulated by the server")(
            lambda s: (
                s.terms["privacy noise"],
                2 * sp.sqrt(s.beta**2 * (s.K + 1) * s.d * s.sigma**2 / s.n),
                "the noise term and twice Lemma 3 at k = K",
            )
        ),
        _first_rounds,
        exact(
            "the noise term",
            "It decides that the square of the noise term is that of twice what the server's noise adds up to, in "
            "second moments; that the descent has it twice is Theorem 1's proof.",
            noise=[_MOMENTS[0], *_MOMENTS[2:]],
        )(partial(_moments, key="noise", term="privacy noise", times=4)),
        ROUND("theorem2", near="theorem2", beyond="theorem2-outside"),
        # The bounds are below |f'(x^0)| with up to a fifth for noise, which changes a sign with a probability of up to
        # 9% by the last round; the upper limit is then 2.37 where the run without noise has 1.56.
        exact("whole runs on the line", **LONG, sigma="2/5")(_noisy_runs),
        exact(AWAY, **UPHILL, sigma="1/100")(_noisy_runs),
        NORMALISE("noisy noisy-far"),
    ),
    smoke=("units", "quadratics, noise dominates"),
    uses=("shulgin2025.lemma2", "shulgin2025.lemma2.repaired", "shulgin2025.lemma3", "shulgin2025.descent"),
)

# Corollary 2.


def _prescription(s: Symbols) -> Mapping[str, Any]:
    beta = s.beta_0 / (s.K + 1)
    sigma = s.c * sp.sqrt((s.K + 1) * sp.log(1 / s.delta)) / s.epsilon
    return {"sigma": sigma, "beta": beta, "gamma": beta * s.R / ((s.alpha + s.R) * s.L_max)}


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


def _many_rounds(s: Formula, **swaps: Any) -> Any:
    """The bound as K grows, with some symbols replaced."""
    terms = of(s.statement, **swaps).terms
    return sum(terms[name] for name in ("initialisation", "memory", "privacy noise"))


def _at_the_best_beta_0(s: Formula) -> tuple[Any, Any]:
    """The bound as K grows at its best beta_0, and its symbol t, t^4 = d log(1/delta)/(n epsilon^2)."""
    t, log = sp.symbols("t log", positive=True)
    chosen = _many_rounds(s, beta_0=best_beta_0(s)).subs(s.delta, sp.exp(-log))
    return sp.simplify(chosen.subs(s.d, t**4 * s.n * s.epsilon**2 / log)), t


@algebra("the best beta_0 as K grows")
def _optimum(s: Formula) -> Proof:
    bound = _many_rounds(s)
    if not sp.diff(bound, s.beta_0, 2).is_positive:
        return Outcome(None, "the bound was not found to be convex in beta_0")
    return sp.diff(bound, s.beta_0).subs(s.beta_0, best_beta_0(s)), 0, "the derivative in beta_0"


def _order(name: str, shrinks: bool) -> Check:
    instance: dict[str, Any] = {"alpha of order R": shrinks}

    @algebra(name, letters="a r", **instance)
    def order(s: Formula, a: Any, r: Any, **_: bool) -> Proof:
        """With t = (d log(1/delta)/(n epsilon^2))^(1/4) and R of order t: the bound is of order t if alpha is of order
        t too, and of order sqrt(t) if alpha stays fixed."""
        bound, t = _at_the_best_beta_0(s)
        bound = bound.subs({s.R: r * t, s.alpha: a * t if shrinks else a})
        found = sp.limit(sp.simplify(bound / (t if shrinks else sp.sqrt(t))), t, 0, "+")
        w = 2 * s.c * s.gap * s.L_max
        constant = 2 * r + 2 * sp.sqrt(w * (a + r) / r) if shrinks else 2 * sp.sqrt(w * a / r)
        said = "alpha = a t, R = r t: the bound over t" if shrinks else "R = r t: the bound over sqrt(t)"
        return found, constant, f"{said} for t -> 0, t = (d log(1/delta)/(n epsilon^2))^(1/4)"

    return order


@algebra("order, alpha fixed and the best R: the sixth root", letters="R w")
def _sixth_root(s: Formula, R: Any, w: Any) -> Proof:
    """For fixed alpha the bound as K grows, at its best beta_0, is 2R + 2 sqrt(w/R + w/alpha), w = 2 c gap L_max alpha
    t^2, at least 2R + 2 sqrt(w/R). That one's least value over R is of order t^(2/3): no R gives the order t."""
    entered, t = _at_the_best_beta_0(s)
    weight = 2 * s.c * s.gap * s.L_max * s.alpha * t**2
    bound, best = 2 * R + 2 * sp.sqrt(w / R), (w / 4) ** sp.Rational(1, 3)
    found = all_equal(
        (entered, 2 * s.R + 2 * sp.sqrt(weight / s.R + weight / s.alpha), "the bound at its best beta_0"),
        (sp.diff(bound, R).subs(R, best), 0, "the slope in R at (w/4)^(1/3)"),
        (sp.powdenest(bound.subs(R, best), force=True), 6 * best, "the bound there"),
    )
    if not found.true:
        return found
    if not sp.diff(bound, R, 2).is_positive:
        return Outcome(None, "the bound was not found to be convex in R")
    return Outcome(True, "with alpha fixed the least bound over R is 6 (w/4)^(1/3), of order t^(2/3)")


@algebra("exponents in d, n, epsilon, log(1/delta) and K", letters="log r a")
def _exponents(s: Formula, log: Any, r: Any, a: Any) -> Proof:
    """The bound as K grows, at its best beta_0, with R and alpha multiples of t: its logarithm changes with those of d,
    n, epsilon and log(1/delta) by 1/4, -1/4, -1/2 and 1/4, exactly and everywhere; K has gone from it."""
    quarter = sp.Rational(1, 4)
    t = (s.d * log / (s.n * s.epsilon**2)) ** quarter
    best = {s.beta_0: best_beta_0(s)}
    chosen = sp.powsimp(_many_rounds(s).subs(best).subs(s.delta, sp.exp(-log)).subs({s.R: r * t, s.alpha: a * t}))
    if chosen.has(s.K):
        return Outcome(False, "the bound depends on K as K grows")
    claimed = {s.d: quarter, s.n: -quarter, s.epsilon: -2 * quarter, log: quarter}
    return [(x * sp.diff(chosen, x), power * chosen, f"the exponent of {x}, {power}") for x, power in claimed.items()]


def _flat(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
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


@exact(AWAY, **UPHILL)
def _uphill(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The last round of runs on the line whose memories lead away from the optimum, with little noise: c = 1/100,
    epsilon = log(1/delta) = 1, beta_0 = (K + 1) beta."""
    c = Fraction(1, 100)
    for run in runs_on_the_line(instance):
        end = {**run.end, "c": c, "epsilon": Fraction(1)}
        K, n, beta = int(end["K"]), int(end["n"]), end["beta"]
        end |= {"beta_0": (K + 1) * beta, "sigma": c * root(Fraction(K + 1))}
        moments = [second_moment(k, n, 1, end["sigma"], beta) for k in range(K + 1)]
        yield Values({**end, "delta": sp.exp(-1), "E_least": least_with_noise(run, K, moments)[1]}, end)


@exact(
    "the noise term does not depend on K",
    "It decides that the square of the noise term is that of twice what the server's noise adds up to, in second "
    "moments; the other terms are Theorem 2's.",
    K=[0, 1, 9, 50],
    symbols=[["2", "1", "1", "12"], ["1/2", "7/3", "8", "25/2"]],
)
def _noise_terms(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """The squared noise term of Theorem 2 at the prescribed sigma and beta, by the recursion of Lemma 3, against the
    corollary's, in which K has gone; log = log(1/delta) takes rational values here."""
    chosen = prescription_of(statement)
    for K, texts, (n, d) in itertools.product(instance["K"], instance["symbols"], ((1, 1), (10, 3))):
        c, beta_0, epsilon, log = map(Fraction, texts)
        own = {"K": K, "c": c, "beta_0": beta_0, "epsilon": epsilon, "n": n, "d": d}
        given, values = {**own, "delta": sp.exp(-sp.sympify(log))}, {**own, "log": log}
        variance = evaluate(chosen["sigma"] ** 2, given, statement.id)
        moment = 4 * second_moment(K, n, d, Fraction(1), evaluate(chosen["beta"], own, statement.id)) * variance
        yield from _both_ways(values, moment, squared(statement, given, "privacy noise"))


_FLAT_RUNS: dict[str, Any] = {
    "runs": [
        *([2, 1, 1, 16, 16], [8, 1, 1, 16, 64], [8, 16, 1, 16, 16]),
        *([2, 1, 16, 16, 64], [2, 1, 1, 256, 64], [1000, 1, 1, 16, 64]),
    ]
}
"""K, n, d, log(1/delta), epsilon: t = 1/2, and 1/4 in the second, third and last."""

COROLLARY2: Statement = shu.statement(
    id="shulgin2025.corollary2",
    kind="corollary",
    source=Source(shu.PAPER, "Corollary 2, Section 5", provenance="restored"),
    hypotheses=(
        *(shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.STEP, shu.ROUNDS, shu.NOISE, DELTA),
        Hypothesis(
            lambda s: tuple(sp.Eq(s[name], value) for name, value in _prescription(s).items()),
            r"$\sigma$, $\beta$ and $\gamma$ are the prescribed ones",
        ),
    ),
    sides=_sides,
    prescription=_prescription,
    checks=battery(
        special_form(
            *("Theorem 2 with the prescription", THEOREM2, "with the prescribed sigma, beta and gamma"),
            sigma=lambda s: s.prescribed["sigma"],
            beta=lambda s: s.prescribed["beta"],
            gamma=lambda s: s.prescribed["gamma"],
        ),
        _optimum,
        _order("order, alpha of order R", True),
        _order("order, alpha fixed: the eighth root", False),
        _sixth_root,
        _exponents,
        exact("the slope stays t", **_FLAT_RUNS)(_flat),
        exact(
            "the order is attained where the slope stays t",
            "It decides that the order is attained: the runs' least gradient is at least a seventh of the right side.",
            **_FLAT_RUNS,
        )(partial(attained, Fraction(1, 7), "E_least", _flat)),
        _uphill,
        ROUND("corollary2", near="corollary2", beyond="corollary2-outside"),
        _noise_terms,
        NORMALISE.by(runs.accurate_private)("accurate-private"),
        NORMALISE.by(runs.private, edges=True)(
            "private", near="Huber, epsilon = 8", without={"just outside K >= 0": "exact on the line"}
        ),
        NORMALISE.by(runs.flat)("flat"),
        NORMALISE.by(runs.fit)("exponents2"),
    ),
    uses=("shulgin2025.theorem2", "shulgin2025.noise"),
)

STATEMENTS = (LEMMA3, THEOREM2, COROLLARY2)
