"""zhang2021 Corollary 3.2.1: the rate of DP-FedAvg under a privacy budget, (9), as printed and repaired: the source of
its terms, its best value, the proof that no constant makes it true, and the exponents of its repaired form, by
simulation.

In (9) the O hides L, G, c', sigma_l, sigma_g, v and f(x^0) - f*; N, P, Q, T, d, epsilon, delta and the steps are
displayed.

The exponents are those of runs over geometric grids. The total step size S = eta_g eta_l Q T minimises the repaired
bound. With identical clients and full gradients sigma_l = sigma_g = 0. Two terms of the bound are then left: the
initialisation, 4 gap/S, and the privacy term, of order S d log(1/delta)/(N epsilon)^2. At the best S each is half of
the bound, which is a multiple of sqrt(d log(1/delta))/(N epsilon). A check compares the far end of its grid with the
bound itself, which has no free constant. It fits the slope of ln(mean squared gradient) over ln(symbol) with a
confidence interval. Only too little decrease would refute the rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Experiment, Outcome, Sides, Statement, Symbols, battery, checks
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, sides_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements import rates
from dpfl_theory.statements.instances import Runs, problem
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import theorem3_1, theorem3_2
from dpfl_theory.statements.zhang2021._instances import PRIVATE
from dpfl_theory.statements.zhang2021._runs import simulated

# (9).


def symbols() -> dict[str, Any]:
    """The symbols of (9) and of its hidden constants, and ln(1/delta)."""
    names = "eta_g eta_l Q T P N d epsilon delta L G c_prime v gap sigma_l sigma_g rounds"
    found = {name: sp.Symbol(name, positive=True) for name in names.split()}
    return {**found, "log": sp.log(1 / found["delta"])}


def printed_terms(s: Mapping[str, Any]) -> list[Any]:
    """The four terms of (9) without their constants."""
    product = s["eta_g"] * s["eta_l"]
    return [
        1 / (product * s["Q"] * s["T"]),
        s["eta_l"] ** 2 * s["Q"] ** 2,
        product / s["P"],
        product * s["Q"] * s["T"] * s["d"] * s["log"] / (s["N"] ** 2 * s["epsilon"] ** 2),
    ]


def _variance(s: Mapping[str, Any], c: Any) -> Any:
    """Theorem 3.2's."""
    return s["v"] * c**2 * s["P"] * s["T"] * s["log"] / (s["N"] ** 2 * s["epsilon"] ** 2)


@algebra("the privacy term")
def _from_theorem(_: Formula) -> Proof:
    """Theorem 3.1's privacy term at c = eta_l Q c' and the variance of Theorem 3.2 is a constant times (9)'s."""
    s, of_theorem = symbols(), of(theorem3_1.THEOREM)
    swaps = {of_theorem[name]: s[name] for name in ("eta_g", "eta_l", "Q", "L", "P", "d")}
    swaps[of_theorem.noise_variance] = _variance(s, s["eta_l"] * s["Q"] * s["c_prime"])
    found = sides_of(theorem3_1.THEOREM).rhs["privacy"].subs(swaps, simultaneous=True)
    due = 2 * s["v"] * s["L"] * s["c_prime"] ** 2 * printed_terms(s)[3]
    return found, due, "the theorem's privacy term against 2 v L c'^2 times that of (9)"


@algebra("best rate of (9)")
def _best_printed_rate(_: Formula) -> Proof:
    """With S = eta_g eta_l Q T fixed the sum is at least 1/S + S d log(1/delta)/(N epsilon)^2. Its minimum is 2 sqrt(d
    log(1/delta))/(N epsilon); eta_l -> 0 and T -> oo lead the other terms to 0."""
    s, S = symbols(), sp.Symbol("S", positive=True)
    budget = s["N"] * s["epsilon"]
    at = sum(printed_terms(s)).subs(s["eta_g"], S / (s["eta_l"] * s["Q"] * s["T"]))
    rest = sp.limit(sp.limit(sp.expand(at), s["eta_l"], 0), s["T"], sp.oo)
    best = budget / sp.sqrt(s["d"] * s["log"])
    slope, curvature = sp.diff(rest, S).subs(S, best), sp.diff(rest, S, 2).subs(S, best)
    if sp.simplify(slope) != 0 or not sp.simplify(curvature).subs(s["delta"], sp.Rational(1, 9)) > 0:
        raise ValueError("the sum has no minimum where it was expected")
    return rest.subs(S, best), 2 * sp.sqrt(s["d"] * s["log"]) / budget, "the least value of the bound"


def escape(s: Mapping[str, Any]) -> tuple[Any, Any]:
    """Q times the sum of (9)'s terms, and Q times a lower bound of the mean of E||grad f||^2, along an admissible
    family as Q grows; epsilon is fixed.

    Half of the N = Q^2 clients are Huber losses with threshold 3 around -1, half around 1 (L = 1, G = 3, sigma_g = 1);
    P = Q of them take part, Q even; x^0 = x* = 0, full gradients, eta_l = 1/Q^2, eta_g = Q/48, T = rounds Q^2, epsilon
    <= u rounds = u (P/N)^2 T, c' = G, Q >= 8: every condition of Theorems 3.1 and 3.2 is met, and nothing is clipped.

    Within [-2, 2] all losses are quadratic, grad f(x) = x, and a round is x -> (1 - a) x + a m plus noise, m the mean
    of the cohort's centres, a = eta_g (1 - (1 - eta_l)^Q) in [(1 - 1/(2Q))/48, 1/48]. So x_t = y_t + w_t there: y_t,
    in [-1, 1], has the second moment V (1 - (1 - a)^(2t)), V = (a/(2 - a)) E m^2, E m^2 = (N - P)/(P (N - 1)); w_t, the
    noises' sum, is Gaussian and independent of it, with mean 0 and a variance of at most s^2 = eta_g^2 sigma^2/(P a).
    The run stays within [-2, 2] unless some |w_t| exceeds 1, which has at most the probability p = 2 T exp(-1/(2 s^2));
    by Cauchy-Schwarz the loss there is at most sqrt(8 (1 + 3 s^4) p), since (y + w)^4 <= 8 (1 + w^4).
    """
    Q, T = s["Q"], s["rounds"] * s["Q"] ** 2
    family = {s["eta_l"]: 1 / Q**2, s["eta_g"]: Q / 48, s["T"]: T, s["P"]: Q, s["N"]: Q**2, s["d"]: 1}
    allowed = sum(printed_terms(s)).subs(family)
    a = (1 - 1 / (2 * Q)) / 48
    spread = (s["eta_g"] ** 2 * _variance(s, 3 * s["eta_l"] * Q) / s["P"]).subs(family) / a
    left = 2 * T * sp.exp(-1 / (2 * spread))
    centres = (Q**2 - Q) / (Q * (Q**2 - 1))
    kept = a / (2 - a) * centres * (1 - 1 / (T * (1 - (1 - a) ** 2)))
    return Q * allowed, Q * (kept - sp.sqrt(8 * (1 + 3 * spread**2) * left))


@algebra("no constant makes (9) true", expected="violated")
def no_constant(_: Formula) -> Proof:
    """As Q grows the terms of (9) vanish faster along `escape` than the left side."""
    s = symbols()
    Q, one = s["Q"], sp.Symbol("one", positive=True)
    allowed, reached = escape(s)
    # v ln(1/delta) rounds/epsilon^2 as one positive number: limits need no more.
    reached = reached.subs(s["v"], one * s["epsilon"] ** 2 / (s["log"] * s["rounds"]))
    limits = sp.limit(sp.expand(allowed), Q, sp.oo), sp.limit(reached, Q, sp.oo)
    grows = limits[0] == 0 and bool(limits[1] > 0)
    return Outcome(
        not grows,
        f"with epsilon fixed, as Q grows Q times the terms of (9) tends to {limits[0]} and Q times the mean squared "
        f"gradient to at least {limits[1]}, so that no constant makes (9) true",
        {"Q times the terms of (9)": str(allowed), "Q times the mean squared gradient": str(reached)},
    )


# Repaired.


def _repaired_sides(s: Symbols) -> Sides:
    L, Q, eta, eta_g = s.L, s.Q, s.eta_l, s.eta_g
    budget = s.N**2 * s.epsilon**2
    return Sides(
        lhs={"gradients": s.E_gradient},
        rhs={
            "initialisation": 4 * s.gap / (eta_g * eta * Q * s.T),
            "drift": 10 * eta**2 * L**2 * Q * (s.sigma_l**2 + 6 * Q * s.sigma_g**2),
            "sampling": eta_g * eta * L / s.P * (13 * s.sigma_l**2 + 54 * Q * s.sigma_g**2),
            "privacy": 8 * L * eta_g * eta * Q * s.c_prime**2 * s.d * s.T * sp.log(1 / s.delta) / budget,
        },
    )


@algebra("follows from the repaired theorems")
def _follows(s: Formula) -> Proof:
    """The repaired Theorem 3.1 without clipping, at c = eta_l Q c' and the repaired Theorem 3.2's noise."""
    own = {"c": s.eta_l * s.Q * s.c_prime, **{name: s[name] for name in ("P", "N", "T", "epsilon", "delta")}}
    noise = of(theorem3_2.REPAIRED, **own).prescribed["noise_variance"]
    plain = {"gamma_1": 1, "gamma_2": 1, "E_deviation": 0, "E_square_deviation": 0, "noise_variance": noise}
    return of(theorem3_1.REPAIRED, **plain).rhs, s.rhs, "Theorem 3.1, repaired, at this noise against the bound"


@algebra("best rate")
def _best_rate(s: Formula) -> Proof:
    """The least value of the repaired bound over the steps and T, its drift and sampling led to 0 as in
    `_best_printed_rate`: of order sqrt(d log(1/delta))/(N epsilon)."""
    S, log, gap = (sp.Symbol(name, positive=True) for name in ("S", "log", "gap_"))  # at a gap of 0 nothing is balanced
    at = sp.expand(s.rhs.subs(s.eta_g, S / (s.eta_l * s.Q * s.T)))
    rest = sp.limit(sp.limit(at, s.eta_l, 0), s.T, sp.oo)
    rest = rest.subs(sp.log(1 / s.delta), log).subs(sp.log(s.delta), -log).subs(s.gap, gap)
    (best,) = sp.solve(sp.diff(rest, S), S)
    due = 8 * s.c_prime * sp.sqrt(2 * gap * s.L) * sp.sqrt(s.d * log) / (s.N * s.epsilon)
    return sp.simplify(rest.subs(S, best)), due, "the least value of the repaired bound"


def private(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Theorem 3.1's run with the threshold Q G, which no update exceeds, and the noise of the repaired Theorem 3.2.

    instance: as `_runs.simulated`; epsilon, delta; c_prime, over G, where it is not 1."""
    from dpfl_theory.statements.travel_bound import fedavg_reach

    found = simulated(zhang.repaired_limits)(statement, instance)
    G, v = found.problem.constants.G_max, dict(found.values)
    c_prime = float(instance.get("c_prime", 1.0)) * G
    values = {**v, "G": G, "c_prime": c_prime, "epsilon": float(instance["epsilon"]), "delta": float(instance["delta"])}
    noise, at = prescription_of(theorem3_2.REPAIRED)["noise_variance"], {**values, "c": v["eta_l"] * v["Q"] * c_prime}
    deviation = math.sqrt(evaluate(noise, at)) / v["eta_l"] / math.sqrt(v["P"])  # of the average, over eta_l
    before: Any = found.algorithm
    algorithm = replace(before, run=before.run.with_values(threshold=v["Q"] * c_prime, sigma=deviation))
    reach = fedavg_reach(algorithm, found.problem, found.rounds, found.start)
    return replace(found, algorithm=algorithm, values=values, reach=reach, random=True)


# The exponents.

SEED = 2021
"""The seed of the fitted runs, which no check uses."""


def _regime(symbol: str, claimed: str, grid: list[Any], **more: Any) -> dict[str, Any]:
    base = {"epsilon": 2.0, "clients": 160, "P": 20, "dimension": 1, "T": 600, "Q": 1, "delta": 1e-2, "distance": 1.5}
    where = {"symbol": symbol, "term": "initialisation and privacy", "claimed": claimed, "grid": grid}
    return {**where, **base, "replicates": 160, **more}


REGIMES: tuple[dict[str, Any], ...] = (
    _regime("epsilon", "-1", [0.5, 1.0, 2.0]),
    _regime("N", "-1", [40, 80, 160], Q=2),
    _regime("d", "1/2", [1, 2, 4]),
    _regime("T", "0", [400, 800, 1600]),
)


def _way(values: Mapping[str, float]) -> float:
    return values["eta_g"] * values["eta_l"] * values["Q"] * values["T"]


def _best_way(statement: Statement, values: Mapping[str, float]) -> float:
    """The S = eta_g eta_l Q T at which 4 gap/S and the privacy term, which is proportional to S, are equal."""
    terms = rates.terms(statement, values)
    return _way(values) * math.sqrt(terms["initialisation"] / terms["privacy"])


def runs_of(instance: Mapping[str, Any], statement: Statement) -> list[Experiment]:
    """The run of each point of a grid, at the best total step size S: identical clients, each the mean of the Huber
    losses of d scaled coordinates, ||x||^2/2 where the run goes."""
    found, symbol = [], {"d": "dimension", "N": "clients"}.get(instance["symbol"], instance["symbol"])
    for value in instance["grid"]:
        one = {**instance, symbol: value}
        clients = problem("huber-axes", clients=int(one["clients"]), dimension=int(one["dimension"]), threshold=4.0)
        one |= {"problem": clients, "eta Q L": "1/1000", "product": 1.0, "c": 1e9, "sigma": 0.0, "sigma_g": 0.0}
        farthest = private(statement, one).values
        share = _best_way(statement, farthest) / _way(farthest)  # of the largest product eta_g eta_l
        found.append(private(statement, {**one, "product": share}))
    return found


def _exponent(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    (last,) = runs_of({**instance, "grid": instance["grid"][-1:]}, statement)
    return replace(last, notes=rates.Fit(lambda: fitted(instance, runs_of(instance, statement), statement)))


def _squares(run: Experiment) -> Any:
    """The mean over the rounds of ||grad f(x^t)||^2, shape (replicates,)."""
    from dpfl_theory.simulation import simulate

    name = "gradient-norm-squared"
    done = simulate(run.algorithm, run.problem, run.rounds, run.replicates, SEED, [name], start=run.start, device="cpu")
    return done[name].mean


def fitted(instance: Mapping[str, Any], found: Sequence[Experiment], statement: Statement) -> dict[str, Any]:
    """Notes on one grid: the slope with its interval, the bound's own slope, and the least constant of each bound.

    Also the least share of the bound that its two terms have, and the least share of the remaining gradient that
    vanishes with the noise."""
    import numpy as np

    symbols, samples, bounds, shares, vanishing = [], [], [], [], []
    for value, run in zip(instance["grid"], found):
        sample, terms = _squares(run), rates.terms(statement, run.values)
        bound = math.fsum(terms.values())
        symbols.append(float(value))
        samples.append(sample)
        bounds.append(bound)
        shares.append((terms["initialisation"] + terms["privacy"]) / bound)
        quiet: Any = run.algorithm
        quiet = replace(run, algorithm=quiet.with_values(sigma=0.0), replicates=2)
        vanishing.append(1.0 - float(np.mean(_squares(quiet)) / np.mean(sample)))
    return rates.exponent(instance, symbols, samples, bounds, shares, vanishing)


COROLLARY: Statement = Statement(
    id="zhang2021.corollary3.2.1",
    kind="corollary",
    source=zhang.source("Corollary 3.2.1, Section 3.2", "9"),
    relation="exists",
    checks=battery(_from_theorem, _best_printed_rate, no_constant),
    uses=("zhang2021.theorem3.1", "zhang2021.theorem3.2"),
)

REPAIRED: Statement = Statement(
    id="zhang2021.corollary3.2.1.repaired",
    kind="corollary",
    source=COROLLARY.source,
    symbols=zhang.symbols("gap eta_g eta_l Q T L sigma_l sigma_g P N d c_prime G epsilon delta"),
    expectations=zhang.expected("E_gradient"),
    hypotheses=(*theorem3_1.REPAIRED.hypotheses, zhang.RANGE, zhang.LONG, zhang.UNCLIPPED),
    sides=_repaired_sides,
    checks=battery(
        _follows,
        _best_rate,
        Runs(PRIVATE, private)("private"),
        checks("monte-carlo", _exponent, {f"exponent of {r['symbol']}, identical clients": r for r in REGIMES}),
    ),
    uses=("zhang2021.theorem3.1.repaired", "zhang2021.theorem3.2.repaired"),
)

STATEMENTS = (COROLLARY, REPAIRED)
