"""zhang2021 eqs. (13) and (14): the first-order term of the descent inequality."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Experiment, Outcome, Sides, Statement, Symbols
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _round_runs as simulated
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021 import _worst_cases as worst
from dpfl_theory.statements.zhang2021._instances import exact
from dpfl_theory.statements.zhang2021._round import rounds

GIVEN = (
    r"given $x_t$; $\tilde\alpha_i$ is read with the expectation over the round, given $x_t$; the proof only needs "
    "that it is known with $x_t$, so one 'over all possible randomness', as (11) says, would do as well. "
)


def _eq13_sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"cohort": s.cohort_product},
        rhs={"noise": s.first_bias, "clients": s.second_bias, "descent": s.common_product},
    )


def _telescoping(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Two of three clients, with arbitrary factors alpha_i and alpha~_i: both sides of (13) in their symbols.

    All are scalars: inner products with grad f are linear. alpha_i and the sum g_i of the stochastic gradients may be
    random, since both sides are linear in alpha_i g_i and g_i; alpha~_i need only be the same in all outcomes.
    """
    import itertools

    N, P = 3, 2
    slope, eta, mean = sp.symbols("slope eta alphabar", real=True)
    own, known, sums = (sp.symbols(f"{name}1:4", real=True) for name in ("alpha", "known", "g"))
    sent = [-eta * a * g for a, g in zip(own, sums)]
    cohorts = list(itertools.combinations(range(N), P))
    left, right = zhang.sides_with(
        statement,
        cohort_product=slope * sum(sent[i] for members in cohorts for i in members) / (P * len(cohorts)),
        first_bias=slope * sum(-eta * (a - k) * g for a, k, g in zip(own, known, sums)) / N,
        second_bias=slope * sum(-eta * (k - mean) * g for k, g in zip(known, sums)) / N,
        common_product=slope * sum(-eta * mean * g for g in sums) / N,
    )
    return equal(sp.expand(left), sp.expand(right), "the cohort's product against the three parts")


def _participation(_: Statement, __: Mapping[str, Any]) -> Outcome:
    """A client is in P of N places: C(N-1, P-1)/C(N, P) = P/N without replacement, and N^(P-1) P/N^P with it; so the
    cohort's mean has the expectation of the clients' mean, for every N and P."""
    N, P = (sp.Symbol(name, positive=True, integer=True) for name in "NP")
    share = sp.binomial(N - 1, P - 1) / sp.binomial(N, P)
    return equal(
        sp.simplify(sp.gammasimp(share.rewrite(sp.gamma))), P / N, "the probability of taking part against P/N"
    )


def _eq14_sides(s: Symbols, distance: str) -> Sides:
    step, Q = s.eta_l * s.alpha, s.Q
    return Sides(
        lhs={"descent": s.common_product},
        rhs={
            "gradient": -step * Q / 2 * s.square,
            "updates": -step / (2 * Q) * s.local_square / step**2,
            "distance": step / 2 * s[distance],
        },
    )


def _polarisation(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The sides in scalars: g the gradient, S the mean of the clients' sums of local gradients.

    The mean of the updates is -eta alpha S. The printed square has (1/sqrt(Q)) sum Delta/(eta N alpha) = -S/sqrt(Q)
    with a minus sign, which makes it sqrt(Q) g + S/sqrt(Q); A_1 of (15) is that of sqrt(Q) g - S/sqrt(Q).
    """
    g, S = sp.symbols("g S", real=True)
    s = symbols_of(statement)
    step, Q = s.eta_l * s.alpha, s.Q
    squares = {"far_square": Q * (g + S / Q) ** 2, "drift_square": Q * (g - S / Q) ** 2}
    left, right = zhang.sides_with(
        statement, common_product=-step * g * S, square=g**2, local_square=(step * S) ** 2, **squares
    )
    return equal(sp.expand(left), sp.expand(right), "the product against the completed squares")


def record_round(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """FedAvg with two step sizes, one round of one local step from ``distance`` away from x*; no update is clipped.

    instance: problem, with one output; P; share: of a client's records, drawn independently by every client; ``eta L``;
    clipped: the number of records whose gradient is longer than the threshold; distance.
    """
    import math

    import numpy as np

    from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
    from dpfl_theory.problems import make
    from dpfl_theory.problems.losses import LOSS
    from dpfl_theory.simulation import Cohort, RecordGradient, Simulation
    from dpfl_theory.simulation.observables import Reach

    problem: Any = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    constants, data, P, share = problem.constants, problem.data, int(instance["P"]), float(instance["share"])
    away = np.random.default_rng(3).standard_normal(problem.d)
    x = constants.w_star + float(instance["distance"]) * away / np.linalg.norm(away)
    slopes = LOSS[data.loss].slope(data.x @ x, data.y, data.threshold)
    gradients = slopes[:, None] * data.x + data.ridge * x
    lengths = np.linalg.norm(gradients, axis=1)
    ordered = np.sort(lengths)[::-1]
    clipped = int(instance["clipped"])
    C = float(ordered[clipped - 1] + ordered[clipped]) / 2.0
    shortened = gradients * np.minimum(1.0, C / lengths)[:, None]
    means = []
    for first, last in zip(data.offsets, data.offsets[1:]):
        drawn = share * (last - first)  # the sum over floor(s R) records is divided by s R
        means.append(math.floor(drawn) / drawn * shortened[first:last].mean(axis=0))
    eta = float(instance["eta L"]) / constants.L_max
    product = -eta * float(problem.gradient(x) @ np.mean(means, axis=0))
    values = {"first_bias": 0.0, "second_bias": 0.0, "common_product": product}
    run = TwoSidedFedAvg(eta_l=eta, eta_g=1.0, Q=1)
    algorithm = Simulation(run, Cohort("fixed", P), RecordGradient(share, C))
    # The only round that is observed starts at x, and no mean of clipped gradients is longer than C.
    longest = np.maximum(np.linalg.norm(problem.gradients_at_star, axis=1), C)
    reach = Reach(float(instance["distance"]) * (1 + 1e-9), constants, longest, math.inf, eta, 1)
    return Experiment(problem, algorithm, 1, x, values, int(instance["replicates"]), reach)


_RIDGE = {"clients": 3, "dimension": 3, "records": 6, "heterogeneity": 1.0, "ridge": 1.0, "seed": 2}
RECORDS: dict[str, dict[str, Any]] = {
    "one round, four records of six at a time, half of them clipped, with a ridge": {
        "problem": {"family": "huber", "parameters": _RIDGE},
        "P": 2,
        "share": 0.7,
        "eta L": 0.1,
        "clipped": 9,
        "distance": 2.0,
        "replicates": 4096,
    }
}


_SIMPLE = {"q": ["1"], "m": ["0"], "x": ["1"], "Q": 1, "P": 1, "eta_l": "1/10", "sampling": "without"}


_SHARE = "It decides the probability P/N of taking part; the other checks decide the equality of the products."

EQ13: Statement = zhang.proof_step(
    "zhang2021.eq13",
    "13",
    symbols=zhang.symbols("first_bias", "second_bias", "common_product"),
    expectations=zhang.expected("cohort_product"),
    relation="==",
    sides=_eq13_sides,
    checks=(
        Check("algebra", "three parts", _telescoping),
        Check("algebra", "participation is P/N", _participation, part=_SHARE),
        *exact(),
        *worst.step_checks(("without", "anew"), directions=("<=", ">="), clipped=True),
        *simulated.runs(simulated.PRODUCTS),
        *simulated.runs(RECORDS, record_round),
    ),
    smoke=("one round, four records of six at a time, half of them clipped, with a ridge",),
)

EQ14: Statement = zhang.proof_step(
    "zhang2021.eq14",
    "14",
    symbols=zhang.symbols("eta_l", "alpha", "Q", "square", "local_square", "far_square"),
    expectations=zhang.expected("common_product"),
    relation="==",
    sides=lambda s: _eq14_sides(s, "far_square"),
    checks=(
        Check("algebra", "completed squares", _polarisation, {}, "violated"),
        Check("exact", "f = x^2/2, x_t = 1, Q = 1", rounds, _SIMPLE, "violated"),
        *exact("violated"),
        *worst.step_checks(verdict=lambda direction, instance: "violated", directions=(">=",)),
        *simulated.runs(simulated.UNCLIPPED, expected="violated"),
    ),
    expected="violated",
)

EQ14_REPAIRED: Statement = zhang.proof_step(
    "zhang2021.eq14.repaired",
    "14",
    symbols=zhang.symbols("eta_l", "alpha", "Q", "square", "local_square", "drift_square"),
    expectations=zhang.expected("common_product"),
    relation="==",
    sides=lambda s: _eq14_sides(s, "drift_square"),
    checks=(
        Check("algebra", "completed squares", _polarisation),
        Check("exact", "f = x^2/2, x_t = 1, Q = 1", rounds, _SIMPLE),
        *exact(),
        *worst.step_checks(directions=("<=", ">=")),
        *simulated.runs(simulated.UNCLIPPED),
    ),
)


STATEMENTS = (EQ13, EQ14, EQ14_REPAIRED)
