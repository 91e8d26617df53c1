"""zhang2021 Claim 2.2, first sentence: with difference clipping FedAvg can reach the optimum of every linear
regression, from every start.

With Q = 1 a round is x - eta_l mean_i clip(grad f_i(x), C), C = c/eta_l. Let e = x - x*, where x* is the solution
nearest to the start (x does not move along directions in which f is constant). Let G* = max_i ||grad f_i(x*)||, let L
be the largest smoothness constant and mu the smallest positive eigenvalue of f's Hessian. Nothing is clipped where
||e|| <= R = (C - G*)/L: there the run is gradient descent. Where ||e|| >= R the factors are at least C/(G* + L ||e||),
so that

    <e, mean_i clip(grad f_i(x), C)> >= ||e|| (C mu ||e||/(G* + L ||e||) - G*) >= ||e|| m,   m = mu R - G*,

since sum_i grad f_i(x*) = 0. With R >= 2 G*/mu and R >= 3 c L/mu, (eta_l C)^2 = c^2 is at most eta_l ||e|| m, and a
round brings x nearer by eta_l m/2 or more.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbol, Symbols, checks
from dpfl_theory.core.check_inputs import Case, Experiment, Outcome
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import all_equal, equal
from dpfl_theory.statements.zhang2021 import _symbols as zhang

if TYPE_CHECKING:
    from dpfl_theory.problems.piecewise import PiecewiseLinear
    from dpfl_theory.problems.scalar import ScalarQuadratics

__all__ = ["REACHED", "off_optimum", "reached_cases", "scalar", "witness"]


def scalar(instance: Mapping[str, Any]) -> ScalarQuadratics:
    """The instance's clients (a_i x - b_i)^2/2."""
    from dpfl_theory.problems.scalar import ScalarQuadratics

    return ScalarQuadratics(instance["a"], instance["b"])


def witness(clients: ScalarQuadratics, c: Fraction) -> Fraction:
    """eta_l = min{1/max a_i^2, c/max |f_i'(x*)|}: short enough for gradient steps, and not clipped at the optimum."""
    slopes: list[Fraction] = [abs(a * (a * clients.optimum - b)) for a, b in zip(clients.a, clients.b)]
    limits: list[Fraction] = [1 / max(clients.curvatures), *(c / s for s in slopes if s > 0)]
    return min(limits)


def off_optimum(clients: ScalarQuadratics, once: PiecewiseLinear) -> Fraction:
    """0 if every iteration of the map ends at the optimum. Otherwise the distance of the farthest stationary point from
    it (1 where only the slopes are wrong).

    A map with all slopes in [0, 1] and a single fixed point brings every x nearer to it without passing it.
    """
    points = once.fixed_points()
    ends = [x for p in points for x in (p.low, p.high)]
    if any(x is None for x in ends):
        return Fraction(1)
    farthest = max((abs(x - clients.optimum) for x in ends if x is not None), default=Fraction(1))
    calm = all(0 <= slope <= 1 for slope, _ in once.pieces)
    return farthest if farthest > 0 or (calm and len(points) == 1) else Fraction(1)


def reached_cases(statement: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """Q = 1 with the witness and with the statement's own step: the optimum is the only stationary point, and every
    iteration ends there."""
    clients, cases = scalar(instance), []
    for c in map(Fraction, instance["c"]):
        for step in (witness(clients, c), prescribed(statement, clients, c)):
            once = clients.round_map("difference", step=step, steps=1, threshold=c)
            values = {"c": c, "eta_l": step, "optimum": clients.optimum}
            cases.append(Case(values, off_optimum(clients, once), Fraction(0)))
    return cases


def prescribed(statement: Statement, clients: ScalarQuadratics, c: Fraction) -> Fraction:
    """The statement's step, in rational arithmetic."""
    h = clients.curvatures
    slopes = [abs(a * (a * clients.optimum - b)) for a, b in zip(clients.a, clients.b)]
    at = {"c": c, "L": max(h), "mu": sum(h, Fraction(0)) / len(h), "G_star": max(slopes)}
    step = evaluate(prescription_of(statement)["eta_l"], at, statement.id)
    assert isinstance(step, Fraction)
    return step


def _reach(s: Mapping[str, Any]) -> tuple[Any, Any]:
    """R and m."""
    R = (s["c"] / s["eta_l"] - s["G_star"]) / s["L"]
    return R, s["mu"] * R - s["G_star"]


def _sides(s: Symbols) -> Sides:
    R, m = _reach(s)
    rounds = 2 * sp.Max(0, s.D - R) / (s.eta_l * m)  # to come within R of x*, less one
    rate = (1 - s.eta_l * s.mu) ** (2 * (s.T - 1 - rounds))
    return Sides(lhs={"end": s.E_distance}, rhs={"contraction": sp.Min(s.D, R) ** 2 * rate})


def _prescription(s: Symbols) -> dict[str, Any]:
    return {"eta_l": s.c / (s.G_star + s.L / s.mu * sp.Max(2 * s.G_star, 3 * s.c * s.L))}


def _long_enough(problem: Any, v: Mapping[str, float]) -> str | None:
    R, m = _reach(v)
    if m <= 0:
        return f"eta_l = {v['eta_l']:.6g} is too long: m = {m:.6g} is not positive"
    need = 1 + 2 * max(0.0, v["D"] - R) / (v["eta_l"] * m)
    return None if v["T"] >= need else f"T = {v['T']:g} is below {need:.6g}"


def _stationary(_: Statement, __: Mapping[str, Any]) -> Outcome:
    """Three clients: unclipped updates with Q = 1 sum to -eta_l (grad f_1 + grad f_2 + grad f_3), 0 at x*."""
    eta, a, b = sp.Symbol("eta", positive=True), sp.symbols("a1:4", positive=True), sp.symbols("b1:4", real=True)
    x = sum(p * q for p, q in zip(a, b)) / sum(p**2 for p in a)
    return equal(eta * sum(p * (p * x - q) for p, q in zip(a, b)), 0, "the sum of the three updates at x*")


def _within(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The prescribed step makes R = max(2 G*/mu, 3 c L/mu), and eta_l L <= 1: c/eta_l = G* + L R >= 3 c L^2/mu."""
    s = symbols_of(statement)
    step = prescription_of(statement)["eta_l"]
    R = _reach(s)[0].subs(s.eta_l, step)
    due = sp.Max(2 * s.G_star, 3 * s.c * s.L) / s.mu
    # Gradient descent within R: every eigenvalue h of f's Hessian in [mu, L] has |1 - eta h| <= 1 - eta mu.
    h, eta = sp.symbols("h eta", positive=True)
    near = {s.G_star: 0, s.c: 2 * eta * s.L * s.D, s.eta_l: eta, s.T: 2}  # D = R/2, and one round is left
    slack = total(statement).subs(near, simultaneous=True) / s.D**2 - (1 - eta * h) ** 2
    return all_equal(
        (sp.expand(R), sp.expand(due), "R at the prescribed step"),
        (slack, eta * (h - s.mu) * (2 - eta * (h + s.mu)), "the decrease of a step along an eigenvector"),
    )


def _outside(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """With G* = p mu R/2, c = q mu R/(3L), mu = t L and p, q, t in [0, 1], as the prescribed step makes them, R m - c
    (G* + L R), which is (eta_l R m - c^2) C/c, is at least 0; so eta_l ||e|| m is at least (eta_l C)^2 from R on.

    Also C mu r/(G* + L r) - G* grows with r, and is m at R.
    """
    s = symbols_of(statement)
    R, r, p, q, t = sp.symbols("R r p q t", positive=True)
    mu, L = t * s.L, s.L
    G, c = p * mu * R / 2, q * mu * R / (3 * L)
    C = G + L * R
    m = _reach(s)[1].subs(s.eta_l, s.c / (s.G_star + L * R)).subs({s.mu: mu, s.G_star: G})
    slack = mu * R**2 * ((1 - p) / 2 + (1 - q) / 3 + (1 - p * q * t) / 6)
    pull = C * mu * r / (G + L * r) - G
    return all_equal(
        (m, mu * R * (1 - p / 2), "m in these terms"),
        (sp.expand(R * m - c * C), sp.expand(slack), "R m - c C against terms that are not negative"),
        (pull.subs(r, R), m, "the pull at R against m"),
        (pull.diff(r), C * mu * G / (G + L * r) ** 2, "the derivative of the pull"),
    )


def _run(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Q = 1 with the prescribed step, from ``distance`` times R away from the solution nearest to the start."""
    import numpy as np

    from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg
    from dpfl_theory.problems import make
    from dpfl_theory.simulation import Simulation
    from dpfl_theory.simulation.observables import Reach

    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    constants, c = problem.constants, float(instance["c"])
    assert constants.w_star is not None
    hessian = np.stack([problem.gradient(e) - problem.gradient(np.zeros(problem.d)) for e in np.eye(problem.d)])
    eigenvalues = np.linalg.eigvalsh((hessian + hessian.T) / 2)
    positive = eigenvalues[eigenvalues > 1e-9 * eigenvalues[-1]]
    known = {
        "c": c,
        "L": constants.L_max,
        "mu": float(positive[0]) * (1 - 1e-9),
        "G_star": float(np.linalg.norm(problem.gradients_at_star, axis=1).max()),
    }
    step = evaluate(prescription_of(statement)["eta_l"], known, statement.id)
    direction = hessian @ np.random.default_rng(7).standard_normal(problem.d)  # where f is not constant
    D = float(instance["distance"]) * (c / step - known["G_star"]) / known["L"]
    start = constants.w_star + D * direction / np.linalg.norm(direction)
    values = {**known, "eta_l": step, "T": float(instance["rounds"]), "D": D * (1 + 1e-9)}
    lengths = [float(np.linalg.norm(problem.client_gradient(i, start))) for i in range(problem.n)]
    notes = {
        "clients clipped at the start": sum(length > c / step for length in lengths),
        "rank of f's Hessian": len(positive),
        "dimension": problem.d,
    }
    algorithm = Simulation(DPTwoSidedFedAvg(eta_l=step, eta_g=1.0, Q=1, c=c, sigma=0.0))
    reach = Reach.anywhere(problem)
    return Experiment(problem, algorithm, instance["rounds"], start, values, 2, reach, notes=notes, random=False)


_PROBLEMS = {
    "problem (8)": {"a": ["1", "2", "6"], "b": ["4", "1", "-1"]},
    "two clients far apart": {"a": ["1", "1"], "b": ["-1000", "1000"]},
    "one client a thousand times as curved": {"a": ["1/100", "10", "1"], "b": ["5", "-3", "7"]},
    "a common minimiser": {"a": ["1", "2", "3"], "b": ["1", "2", "3"]},
    "four clients, one apart": {"a": ["1", "1", "1", "1"], "b": ["0", "0", "0", "100"]},
    "one client": {"a": ["3"], "b": ["5"]},
}


def _of(problem: tuple[str, dict[str, Any]], c: float, distance: float, rounds: int) -> dict[str, Any]:
    family, parameters = problem
    described = {"family": family, "parameters": parameters}
    return {"problem": described, "c": c, "distance": distance, "rounds": rounds}


_SIX = ("quadratic", {"clients": 6, "dimension": 4, "condition": 3, "heterogeneity": 2, "seed": 3})
_LOW_RANK = ("least-squares", {"clients": 8, "dimension": 4, "records": 2, "seed": 1})
_FLAT = ("least-squares", {"clients": 3, "dimension": 6, "records": 1, "heterogeneity": 3.0, "seed": 2})
RUNS: dict[str, dict[str, Any]] = {
    "six quadratics in four dimensions": _of(_SIX, 0.5, 3.0, 600),
    "least squares, no client's Hessian has full rank": _of(_LOW_RANK, 1.0, 4.0, 7000),
    "least squares, f is constant along some directions": _of(_FLAT, 0.2, 2.0, 4000),
    "least squares, started where nothing is clipped": _of(_LOW_RANK, 1.0, 1.0, 2000),
    "just above the rounds that it takes": _of(_SIX, 0.5, 3.0, 436),
    "just below the rounds that it takes": _of(_SIX, 0.5, 3.0, 435),
}

_STATIONARY = "It decides that the optimum is stationary; the other checks decide that a run ends there."
_BEYOND = (
    "It decides that every round from beyond R leads nearer by eta_l m/2 or more; the rate within R is decided by "
    "another check."
)

REACHED: Statement = Statement(
    id="zhang2021.claim2.2a",
    kind="corollary",
    source=Source(zhang.PAPER, f"Claim 2.2, Section 2.1, first sentence ({zhang.VERSION})"),
    symbols=(
        *zhang.symbols("c", "eta_l", "L", "T", "D"),
        Symbol("mu", "smallest positive eigenvalue of $f$'s Hessian", (1, -2), "positive", r"\mu"),
        Symbol("G_star", r"largest $\|\nabla f_i(x^*)\|$", (1, -1), "nonnegative", "G_*"),
    ),
    expectations=zhang.expected("E_distance"),
    hypotheses=(
        Hypothesis.custom(
            "$T$ is at least one more than the rounds that it takes to come within $R$ of $x^*$", _long_enough
        ),
    ),
    sides=_sides,
    prescription=_prescription,
    checks=(
        Check("algebra", "the optimum is stationary", _stationary, part=_STATIONARY),
        Check("algebra", "gradient descent within R", _within),
        Check("algebra", "every round leads nearer beyond R", _outside, part=_BEYOND),
        *checks(
            "exact",
            reached_cases,
            {f"{name}, from everywhere": {**i, "c": ["1/100", "1/2", "1", "7"]} for name, i in _PROBLEMS.items()},
            part=(
                "In one dimension the optimum is the only stationary point at the prescribed step, and every iteration "
                "ends there; the algebra and the runs decide the rate and more dimensions."
            ),
        ),
        *checks("monte-carlo", _run, RUNS, {"just below the rounds that it takes": "not-applicable"}),
    ),
)

STATEMENTS = (REACHED,)
