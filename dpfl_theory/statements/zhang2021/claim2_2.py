"""zhang2021 Claim 2.2, first sentence: with difference clipping FedAvg can reach the optimum of every linear
regression, from every start. Second sentence: clipping updates can end nearer to the optimum than not clipping. Also
eq. (7) of its proof, the loss that clipping optimises in one dimension, as printed and repaired.

With Q = 1 a round is x - eta_l mean_i clip(grad f_i(x), C), C = c/eta_l. Let e = x - x*, where x* is the solution
nearest to the start (x does not move along directions in which f is constant). Let G* = max_i ||grad f_i(x*)||, let L
be the largest smoothness constant and mu the smallest positive eigenvalue of f's Hessian. Nothing is clipped where
||e|| <= R = (C - G*)/L: there the run is gradient descent. Where ||e|| >= R the factors are at least C/(G* + L ||e||),
so that

    <e, mean_i clip(grad f_i(x), C)> >= ||e|| (C mu ||e||/(G* + L ||e||) - G*) >= ||e|| m,   m = mu R - G*,

since sum_i grad f_i(x*) = 0. With R >= 2 G*/mu and R >= 3 c L/mu, (eta_l C)^2 = c^2 is at most eta_l ||e|| m, and a
round brings x nearer by eta_l m/2 or more.

With Lambda = (1 - (1 - eta a^2)^Q)/a^2 a client's update in one round is -Lambda grad f_i(x). Clipping it to c takes a
step of gradient descent on a loss whose derivative is clip(Lambda grad f_i(x), c), by (6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, TwoSidedFedAvg
from dpfl_theory.core import Check, Hypothesis, Sides, Statement, Symbol, Symbols, battery, checks
from dpfl_theory.core.check_inputs import Case, Experiment, Values
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of
from dpfl_theory.lazy import numpy as np
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.experiments import experiment, problem_of
from dpfl_theory.statements.instances import Instance, problem
from dpfl_theory.statements.relations import Formula, Proof, algebra, exact, of
from dpfl_theory.statements.zhang2021 import _symbols as zhang

if TYPE_CHECKING:
    from dpfl_theory.problems.piecewise import PiecewiseLinear
    from dpfl_theory.problems.scalar import ScalarQuadratics


# The first sentence.


def scalar(instance: Mapping[str, Any]) -> ScalarQuadratics:
    """The instance's clients (a_i x - b_i)^2/2."""
    from dpfl_theory.problems.scalar import ScalarQuadratics

    return ScalarQuadratics(instance["a"], instance["b"])


def _slopes(clients: ScalarQuadratics) -> list[Fraction]:
    """|f_i'(x*)| of every client."""
    return [abs(a * (a * clients.optimum - b)) for a, b in zip(clients.a, clients.b)]


def witness(clients: ScalarQuadratics, c: Fraction) -> Fraction:
    """eta_l = min{1/max a_i^2, c/max |f_i'(x*)|}: short enough for gradient steps, and not clipped at the optimum."""
    limits: list[Fraction] = [1 / max(clients.curvatures), *(c / s for s in _slopes(clients) if s > 0)]
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


def reached_cases(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """Q = 1 with the witness and with the statement's own step: the optimum is the only stationary point, and every
    iteration ends there."""
    clients = scalar(instance)
    for c in map(Fraction, instance["c"]):
        for step in (witness(clients, c), _prescribed(statement, clients, c)):
            once = clients.round_map("difference", step=step, steps=1, threshold=c)
            values = {"c": c, "eta_l": step, "optimum": clients.optimum}
            yield Case(values, off_optimum(clients, once), Fraction(0))


def _prescribed(statement: Statement, clients: ScalarQuadratics, c: Fraction) -> Fraction:
    """The statement's step, in rational arithmetic."""
    h = clients.curvatures
    at = {"c": c, "L": max(h), "mu": sum(h, Fraction(0)) / len(h), "G_star": max(_slopes(clients))}
    return Fraction(evaluate(prescription_of(statement)["eta_l"], at, statement.id))


def _reach(s: Mapping[str, Any]) -> tuple[Any, Any]:
    """R and m."""
    R = (s["c"] / s["eta_l"] - s["G_star"]) / s["L"]
    return R, s["mu"] * R - s["G_star"]


def _sides(s: Symbols) -> Sides:
    R, m = _reach(s)
    rounds = 2 * sp.Max(0, s.D - R) / (s.eta_l * m)  # to come within R of x*, less one
    rate = (1 - s.eta_l * s.mu) ** (2 * (s.T - 1 - rounds))
    return Sides(lhs={"end": s.E_distance}, rhs={"contraction": sp.Min(s.D, R) ** 2 * rate})


def _long_enough(problem: Any, v: Mapping[str, float]) -> str | None:
    R, m = _reach(v)
    if m <= 0:
        return f"eta_l = {v['eta_l']:.6g} is too long: m = {m:.6g} is not positive"
    need = 1 + 2 * max(0.0, v["D"] - R) / (v["eta_l"] * m)
    return None if v["T"] >= need else f"T = {v['T']:g} is below {need:.6g}"


@algebra(
    "the optimum is stationary",
    "It decides that the optimum is stationary; the other checks decide that a run ends there.",
)
def _stationary(_: Formula) -> Proof:
    """Three clients: unclipped updates with Q = 1 sum to -eta_l (grad f_1 + grad f_2 + grad f_3), 0 at x*."""
    eta, a, b = sp.Symbol("eta", positive=True), sp.symbols("a1:4", positive=True), sp.symbols("b1:4", real=True)
    x = sum(p * q for p, q in zip(a, b)) / sum(p**2 for p in a)
    return eta * sum(p * (p * x - q) for p, q in zip(a, b)), 0, "the sum of the three updates at x*"


@algebra("gradient descent within R", letters="h eta")
def _within(s: Formula, h: Any, eta: Any) -> Proof:
    """The prescribed step makes R = max(2 G*/mu, 3 c L/mu), and eta_l L <= 1: c/eta_l = G* + L R >= 3 c L^2/mu."""
    R = _reach(s)[0].subs(s.eta_l, s.prescribed["eta_l"])
    due = sp.Max(2 * s.G_star, 3 * s.c * s.L) / s.mu
    # Gradient descent within R: every eigenvalue h of f's Hessian in [mu, L] has |1 - eta h| <= 1 - eta mu.
    near = of(s.statement, G_star=0, c=2 * eta * s.L * s.D, eta_l=eta, T=2)  # D = R/2, and one round is left
    decrease = near.rhs / s.D**2 - (1 - eta * h) ** 2
    return [
        (sp.expand(R), sp.expand(due), "R at the prescribed step"),
        (decrease, eta * (h - s.mu) * (2 - eta * (h + s.mu)), "the decrease of a step along an eigenvector"),
    ]


@algebra(
    "every round leads nearer beyond R",
    "It decides that every round from beyond R leads nearer by eta_l m/2 or more; the rate within R is decided by "
    "another check.",
    letters="R r p q t",
)
def _outside(s: Formula, R: Any, r: Any, p: Any, q: Any, t: Any) -> Proof:
    """With G* = p mu R/2, c = q mu R/(3L), mu = t L and p, q, t in [0, 1], as the prescribed step makes them, R m - c
    (G* + L R), which is (eta_l R m - c^2) C/c, is at least 0; so eta_l ||e|| m is at least (eta_l C)^2 from R on.

    Also C mu r/(G* + L r) - G* grows with r, and is m at R.
    """
    mu, L = t * s.L, s.L
    G, c = p * mu * R / 2, q * mu * R / (3 * L)
    C = G + L * R
    m = _reach(s)[1].subs(s.eta_l, s.c / (s.G_star + L * R)).subs({s.mu: mu, s.G_star: G})
    slack = mu * R**2 * ((1 - p) / 2 + (1 - q) / 3 + (1 - p * q * t) / 6)
    pull = C * mu * r / (G + L * r) - G
    return [
        (m, mu * R * (1 - p / 2), "m in these terms"),
        (sp.expand(R * m - c * C), sp.expand(slack), "R m - c C against terms that are not negative"),
        (pull.subs(r, R), m, "the pull at R against m"),
        (pull.diff(r), C * mu * G / (G + L * r) ** 2, "the derivative of the pull"),
    ]


def _run(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Q = 1 with the prescribed step, from ``distance`` times R away from the solution nearest to the start."""
    problem, c = problem_of(instance), float(instance["c"])
    constants, w_star = problem.constants, problem.constants.w_star
    assert w_star is not None
    hessian = np.stack([problem.gradient(e) - problem.gradient(np.zeros(problem.d)) for e in np.eye(problem.d)])
    eigenvalues = np.linalg.eigvalsh((hessian + hessian.T) / 2)
    positive = eigenvalues[eigenvalues > 1e-9 * eigenvalues[-1]]
    known = {"c": c, "L": constants.L_max, "mu": float(positive[0]) * (1 - 1e-9)}
    known["G_star"] = float(np.linalg.norm(problem.gradients_at_star, axis=1).max())
    step = evaluate(prescription_of(statement)["eta_l"], known, statement.id)
    direction = hessian @ np.random.default_rng(7).standard_normal(problem.d)  # where f is not constant
    D = float(instance["distance"]) * (c / step - known["G_star"]) / known["L"]
    start = w_star + D * direction / np.linalg.norm(direction)
    values = {**known, "eta_l": step, "T": float(instance["rounds"]), "D": D * (1 + 1e-9)}
    lengths = [float(np.linalg.norm(problem.client_gradient(i, start))) for i in range(problem.n)]
    notes = {"clients clipped at the start": sum(length > c / step for length in lengths)}
    notes |= {"rank of f's Hessian": len(positive), "dimension": problem.d}
    run = DPTwoSidedFedAvg(eta_l=step, eta_g=1.0, Q=1, c=c, sigma=0.0)
    return experiment(run, problem, start, instance["rounds"], values, {"replicates": 2}, notes=notes)


_EIGHT: dict[str, Any] = {"a": ["1", "2", "6"], "b": ["4", "1", "-1"]}
_PROBLEMS = {
    name: {"a": a.split(), "b": b.split(), "c": ["1/100", "1/2", "1", "7"]}
    for name, a, b in (
        ("problem (8)", "1 2 6", "4 1 -1"),
        ("two clients far apart", "1 1", "-1000 1000"),
        ("one client a thousand times as curved", "1/100 10 1", "5 -3 7"),
        ("a common minimiser", "1 2 3", "1 2 3"),
        ("four clients, one apart", "1 1 1 1", "0 0 0 100"),
        ("one client", "3", "5"),
    )
}
_SIX = problem("quadratic", clients=6, dimension=4, condition=3, heterogeneity=2, seed=3)
_LOW_RANK = problem("least-squares", clients=8, dimension=4, records=2, seed=1)
_FLAT = problem("least-squares", clients=3, dimension=6, records=1, heterogeneity=3.0, seed=2)
RUNS: dict[str, Instance] = {
    name: {"problem": described, "c": c, "distance": distance, "rounds": rounds}
    for name, described, c, distance, rounds in (
        ("six quadratics in four dimensions", _SIX, 0.5, 3.0, 600),
        ("least squares, no client's Hessian has full rank", _LOW_RANK, 1.0, 4.0, 7000),
        ("least squares, f is constant along some directions", _FLAT, 0.2, 2.0, 4000),
        ("least squares, started where nothing is clipped", _LOW_RANK, 1.0, 1.0, 2000),
        ("just above the rounds that it takes", _SIX, 0.5, 3.0, 436),
        ("just below the rounds that it takes", _SIX, 0.5, 3.0, 435),
    )
}

REACHED: Statement = zhang.statement(
    id="zhang2021.claim2.2a",
    kind="corollary",
    source=zhang.source("Claim 2.2, Section 2.1, first sentence"),
    symbols=zhang.NOTATION(replace(zhang.SYMBOLS["mu"], meaning="smallest positive eigenvalue of $f$'s Hessian")),
    hypotheses=(
        Hypothesis.custom(
            "$T$ is at least one more than the rounds that it takes to come within $R$ of $x^*$", _long_enough
        ),
    ),
    sides=_sides,
    prescription=lambda s: {"eta_l": s.c / (s.G_star + s.L / s.mu * sp.Max(2 * s.G_star, 3 * s.c * s.L))},
    checks=battery(
        _stationary,
        _within,
        _outside,
        checks(
            "exact",
            reached_cases,
            {f"{name}, from everywhere": instance for name, instance in _PROBLEMS.items()},
            part="In one dimension the optimum is the only stationary point at the prescribed step, and every "
            "iteration ends there; the algebra and the runs decide the rate and more dimensions.",
        ),
        checks("monte-carlo", _run, RUNS, {"just below the rounds that it takes": "not-applicable"}),
    ),
)


# The second sentence, and (7).


def reweighting(a: Fraction, eta: Fraction, Q: int) -> Fraction:
    """Lambda of a scalar client, (1 - (1 - eta a^2)^Q)/a^2 [X^2/F].

    >>> reweighting(Fraction(2), Fraction(1, 8), 1)
    Fraction(1, 8)
    """
    return (1 - (1 - eta * a**2) ** Q) / a**2


def _integral(a: Fraction, b: Fraction, weight: Fraction, c: Fraction, x: Fraction) -> Fraction:
    """The integral of clip(Lambda f'(y), c) from the minimiser b/a to x, piece by piece."""
    way, reach = abs(x - b / a), c / (weight * a**2)
    inner = min(way, reach)
    return weight * a**2 * inner**2 / 2 + c * (way - inner)


def grown(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The clipped part of the loss at x, and the integral of the clipped gradient (6) from the minimiser to x."""
    for a in map(Fraction, instance["a"]):
        b, c, eta = (Fraction(instance[name]) for name in ("b", "c", "eta_l"))
        weight = reweighting(a, eta, instance["Q"])
        if not weight > 0:
            raise ValueError(f"Lambda = {weight} is not positive at a = {a}")
        for times in map(Fraction, instance["way/reach"]):
            x = b / a + times * c / (weight * a**2)
            symbols = {"a": a, "b": b, "c": c, "weight": weight, "residual": a * x - b}
            symbols["potential"] = _integral(a, b, weight, c, x)
            yield Values(symbols, {"a": a, "b": b, "c": c, "Lambda": weight, "x": x})


_INSTANCE: dict[str, Any] = {"a": ["1", "2", "6", "1/3"], "b": "-3", "c": "1", "eta_l": "1/50", "Q": 3}
_LARGER = {**_INSTANCE, "way/reach": ["2", "-2", "10", "-7/5"]}
_SIMPLE = {"a": ["1"], "b": "0", "c": "1", "eta_l": "1", "Q": 1, "way/reach": ["3"]}


@exact(
    "unclipped part",
    "The loss where the update is not clipped, Lambda_i f_i(x), is compared with the integral of the gradient; the "
    "formula of the sides is that of the clipped part, which the other checks decide.",
    **{**_INSTANCE, "way/reach": ["0", "1/2", "-1/2", "1", "-1"]},
)
def _unclipped(statement: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """The loss where the update is not clipped, Lambda (a x - b)^2/2, and the same integral."""
    return [
        Case(found.evidence_instance, v["weight"] * v["residual"] ** 2 / 2, v["potential"])
        for found in grown(statement, instance)
        for v in (found.symbol_values,)
    ]


def _of_the_loss(expected: str = "holds") -> list[Check]:
    """Checks of the clipped part of the loss as the two sides have it: the value that the integral would need."""

    @algebra("derivative of the clipped part", expected=expected)
    def derivative(s: Formula) -> Proof:
        """For a x > b the derivative of the clipped part must be c."""
        x, above = sp.Symbol("x", real=True), sp.Symbol("above", positive=True)  # above: a x - b
        (loss,) = sp.solve(s.slack, s.potential)
        slope = loss.subs(s.residual, s.a * x - s.b).diff(x).subs(x, (above + s.b) / s.a)
        return sp.simplify(slope), s.c, "the derivative of the clipped part against c"

    @algebra("continuity", expected=expected)
    def continuous(s: Formula) -> Proof:
        """Both parts must agree where |Lambda a (a x - b)| = c."""
        (loss,), switch = sp.solve(s.slack, s.potential), s.c / (s.weight * s.a)
        return loss.subs(s.residual, switch), s.weight * switch**2 / 2, "the two parts at the point of the switch"

    return [derivative, continuous]


def _loss(s: Symbols, part: Any, weight: Any) -> Sides:
    """The clipped part, less a constant that makes the loss continuous."""
    return Sides(
        lhs={"clipped part": s.c * sp.Abs(part), "offset": -(s.c**2) / (2 * weight)}, rhs={"integral": s.potential}
    )


EQ7: Statement = Statement(
    id="zhang2021.eq7",
    kind="step",
    source=zhang.source("proof of Claim 2.2, Section 2.1", "7"),
    symbols=(
        Symbol("a", "the data $A_i$ of a scalar client", (0, 0), "positive", "A_i"),
        Symbol("b", "the label $b_i$, in the unit of $A_i x$", (0, 1), "real", "b_i"),
        Symbol("residual", "$A_i x - b_i$", (0, 1), "real", "(A_i x - b_i)"),
        Symbol("weight", r"$\Lambda_i$, which multiplies the gradient", (0, 0), "positive", r"\Lambda_i"),
        zhang.SYMBOLS["c"],
        Symbol("potential", "integral of the clipped gradient from the minimiser", (0, 2), "nonnegative", r"\int"),
    ),
    relation="==",
    sides=lambda s: _loss(s, s.weight / s.a * s.residual**2 / 2, 1),
    homogeneous=False,
    checks=battery(
        _of_the_loss("violated"),
        _unclipped,
        checks("exact", grown, {"a = Lambda = c = 1, b = 0, x = 3": _SIMPLE, "clipped part": _LARGER}, "violated"),
    ),
)

REPAIRED: Statement = replace(
    EQ7,
    id="zhang2021.eq7.repaired",
    sides=lambda s: _loss(s, s.residual / s.a, s.weight * s.a**2),
    homogeneous=True,
    checks=battery(
        _of_the_loss(), _unclipped, checks("exact", grown, {"clipped part": _LARGER, "a = Lambda = 1": _SIMPLE})
    ),
)


def better(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """f - f* at the stationary point with clipped updates, and without, less a thousandth of it so that equality is no
    success; both points are unique and attract."""
    clients = scalar(instance)
    for step, Q, c in ((Fraction(e), math.inf if q is None else q, Fraction(c)) for e, q, c in instance["runs"]):
        found = []
        for clipping, bound in (("difference", c), ("none", None)):
            (point,) = clients.stationary(clipping, step=step, steps=Q, threshold=bound)
            if point.point is None or point.stability != "attracting":
                raise ValueError(f"the stationary point of {clipping} at eta_l = {step}, Q = {Q} does not attract")
            found.append(point.point)
        at = {"eta_l": step, "Q": Q, "c": c, "clipped": found[0], "unclipped": found[1]}
        ends = [clients.value(x) - clients.value(clients.optimum) for x in found]
        yield Values({"E_clipped_end": ends[0], "E_plain_end": ends[1] - ends[1] / 1000}, at)


def _both_runs(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    from dpfl_theory.problems.scalar import equation_8_problem

    problem, start, rounds = equation_8_problem(), np.array([float(instance["start"])]), int(instance["rounds"])
    steps = {"eta_l": float(Fraction(instance["eta_l"])), "eta_g": 1.0, "Q": int(instance["Q"])}
    clipped, plain = (
        experiment(run, problem, start, rounds, {}, {"replicates": 2}, random=False)
        for run in (DPTwoSidedFedAvg(**steps, c=1.0, sigma=0.0), TwoSidedFedAvg(**steps))
    )
    return replace(clipped, rival=plain)


BETTER: Statement = zhang.statement(
    id="zhang2021.claim2.2b",
    kind="corollary",
    source=zhang.source("Claim 2.2, Section 2.1, second sentence", "8"),
    sides=lambda s: Sides(lhs={"clipped": s.E_clipped_end}, rhs={"original": s.E_plain_end}),
    universal=False,
    checks=battery(
        exact(
            "problem (8), losses at the stationary points",
            **_EIGHT,
            runs=[["1/50", None, "1"], ["1/50", 20, "1"], ["1/50", 100, "1"], ["1/100", 100, "1"]],
        )(better),
        [
            Check(
                "monte-carlo",
                f"problem (8), run, Q = {Q}",
                _both_runs,
                {"eta_l": "1/50", "Q": Q, "start": x, "rounds": T},
            )
            for Q, x, T in ((20, 3, 400), (1000, -3, 60))
        ],
    ),
)

STATEMENTS = (REACHED, BETTER, EQ7, REPAIRED)
