"""zhang2021 Claim 2.2, second sentence: clipping updates can end nearer to the optimum than not clipping. Also eq. (7)
of its proof, the loss that clipping optimises in one dimension, as printed and repaired.

With Lambda = (1 - (1 - eta a^2)^Q)/a^2 a client's update in one round is -Lambda grad f_i(x). Clipping it to c takes a
step of gradient descent on a loss whose derivative is clip(Lambda grad f_i(x), c), by (6).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbol, Symbols, checks
from dpfl_theory.core.check_inputs import Case, Experiment, Outcome, Values
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _symbols as zhang


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


def grown(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """The clipped part of the loss at x, and the integral of the clipped gradient (6) from the minimiser to x."""
    found = []
    for a in map(Fraction, instance["a"]):
        b, c, eta = (Fraction(instance[name]) for name in ("b", "c", "eta_l"))
        weight = reweighting(a, eta, instance["Q"])
        if not weight > 0:
            raise ValueError(f"Lambda = {weight} is not positive at a = {a}")
        for times in map(Fraction, instance["way/reach"]):
            x = b / a + times * c / (weight * a**2)
            symbols = {"a": a, "b": b, "c": c, "weight": weight, "residual": a * x - b}
            symbols["potential"] = _integral(a, b, weight, c, x)
            found.append(Values(symbols, {"a": a, "b": b, "c": c, "Lambda": weight, "x": x}))
    return found


def unclipped(statement: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """The loss where the update is not clipped, Lambda (a x - b)^2/2, and the same integral."""
    found = grown(statement, instance)
    return [
        Case(
            v.evidence_instance,
            v.symbol_values["weight"] * v.symbol_values["residual"] ** 2 / 2,
            v.symbol_values["potential"],
        )
        for v in found
    ]


def _loss(statement: Statement) -> Any:
    """The clipped part of the loss as the two sides have it: the value that the integral would need."""
    (loss,) = sp.solve(total(statement, "rhs") - total(statement, "lhs"), symbols_of(statement).potential)
    return loss


def _derivative(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """For a x > b the derivative of the clipped part must be c."""
    s, x = symbols_of(statement), sp.Symbol("x", real=True)
    above = sp.Symbol("above", positive=True)  # a x - b
    loss = _loss(statement)
    slope = loss.subs(s.residual, s.a * x - s.b).diff(x).subs(x, (above + s.b) / s.a)
    return equal(sp.simplify(slope), s.c, "the derivative of the clipped part against c")


def _continuous(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Both parts must agree where |Lambda a (a x - b)| = c."""
    s = symbols_of(statement)
    switch = s.c / (s.weight * s.a)
    loss = _loss(statement).subs(s.residual, switch)
    return equal(loss, s.weight * switch**2 / 2, "the two parts at the point of the switch")


_SYMBOLS = (
    Symbol("a", "the data $A_i$ of a scalar client", (0, 0), "positive", "A_i"),
    Symbol("b", "the label $b_i$, in the unit of $A_i x$", (0, 1), "real", "b_i"),
    Symbol("residual", "$A_i x - b_i$", (0, 1), "real", "(A_i x - b_i)"),
    Symbol("weight", r"$\Lambda_i$, which multiplies the gradient", (0, 0), "positive", r"\Lambda_i"),
    *zhang.symbols("c"),
    Symbol("potential", "integral of the clipped gradient from the minimiser", (0, 2), "nonnegative", r"\int"),
)


def _printed_sides(s: Symbols) -> Sides:
    f = s.residual**2 / 2
    return Sides(
        lhs={"clipped part": s.c * sp.Abs(s.weight / s.a * f), "offset": -(s.c**2) / 2}, rhs={"integral": s.potential}
    )


def _repaired_sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"clipped part": s.c * sp.Abs(s.residual / s.a), "offset": -(s.c**2) / (2 * s.weight * s.a**2)},
        rhs={"integral": s.potential},
    )


_INSTANCE = {"a": ["1", "2", "6", "1/3"], "b": "-3", "c": "1", "eta_l": "1/50", "Q": 3}
_INSIDE = {**_INSTANCE, "way/reach": ["0", "1/2", "-1/2", "1", "-1"]}
_OUTSIDE = {**_INSTANCE, "way/reach": ["2", "-2", "10", "-7/5"]}
_SIMPLE = {"a": ["1"], "b": "0", "c": "1", "eta_l": "1", "Q": 1, "way/reach": ["3"]}

_PART = (
    "The loss where the update is not clipped, Lambda_i f_i(x), is compared with the integral of the gradient; the "
    "formula of the sides is that of the clipped part, which the other checks decide."
)

EQ7: Statement = Statement(
    id="zhang2021.eq7",
    kind="step",
    source=Source(zhang.PAPER, f"proof of Claim 2.2, Section 2.1 ({zhang.VERSION})", "7"),
    symbols=_SYMBOLS,
    relation="==",
    sides=_printed_sides,
    homogeneous=False,
    checks=(
        Check("algebra", "derivative of the clipped part", _derivative, {}, "violated"),
        Check("algebra", "continuity", _continuous, {}, "violated"),
        Check("exact", "a = Lambda = c = 1, b = 0, x = 3", grown, _SIMPLE, "violated"),
        Check("exact", "unclipped part", unclipped, _INSIDE, part=_PART),
        Check("exact", "clipped part", grown, _OUTSIDE, "violated"),
    ),
    expected="violated",
)

REPAIRED: Statement = Statement(
    id="zhang2021.eq7.repaired",
    kind="step",
    source=Source(zhang.PAPER, f"proof of Claim 2.2, Section 2.1 ({zhang.VERSION})", "7"),
    symbols=_SYMBOLS,
    relation="==",
    sides=_repaired_sides,
    checks=(
        Check("algebra", "derivative of the clipped part", _derivative),
        Check("algebra", "continuity", _continuous),
        Check("exact", "unclipped part", unclipped, _INSIDE, part=_PART),
        Check("exact", "clipped part", grown, _OUTSIDE),
        Check("exact", "a = Lambda = 1", grown, _SIMPLE),
    ),
)


# Claim 2.2, second sentence.


def better(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """f - f* at the stationary point with clipped updates, and without, less a thousandth of it so that equality is no
    success; both points are unique and attract."""
    from dpfl_theory.problems.scalar import ScalarQuadratics

    clients, values = ScalarQuadratics(instance["a"], instance["b"]), []
    for step, Q, c in ((Fraction(e), math.inf if q is None else q, Fraction(c)) for e, q, c in instance["runs"]):
        found = []
        for clipping, bound in (("difference", c), ("none", None)):
            (point,) = clients.stationary(clipping, step=step, steps=Q, threshold=bound)
            if point.point is None or point.stability != "attracting":
                raise ValueError(f"the stationary point of {clipping} at eta_l = {step}, Q = {Q} does not attract")
            found.append(point.point)
        clipped, plain = found
        at = {"eta_l": step, "Q": Q, "c": c, "clipped": clipped, "unclipped": plain}
        ends = [clients.value(x) - clients.value(clients.optimum) for x in found]
        values.append(Values({"E_clipped_end": ends[0], "E_plain_end": ends[1] - ends[1] / 1000}, at))
    return values


def _second_sides(s: Symbols) -> Sides:
    return Sides(lhs={"clipped": s.E_clipped_end}, rhs={"original": s.E_plain_end})


def _both_runs(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    import numpy as np

    from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, TwoSidedFedAvg
    from dpfl_theory.problems.scalar import equation_8_problem
    from dpfl_theory.simulation import Simulation
    from dpfl_theory.simulation.observables import Reach

    problem, step, Q = equation_8_problem(), float(Fraction(instance["eta_l"])), int(instance["Q"])
    start, reach, rounds = np.array([float(instance["start"])]), Reach.anywhere(problem), int(instance["rounds"])
    steps = {"eta_l": step, "eta_g": 1.0, "Q": Q}
    clipped, plain = (
        Experiment(problem, Simulation(run), rounds, start, {}, 2, reach, random=False)
        for run in (DPTwoSidedFedAvg(**steps, c=1.0, sigma=0.0), TwoSidedFedAvg(**steps))
    )
    return replace(clipped, rival=plain)


_EIGHT = {"a": ["1", "2", "6"], "b": ["4", "1", "-1"]}

_RUNS: dict[str, dict[str, Any]] = {
    "problem (8), run, Q = 20": {"eta_l": "1/50", "Q": 20, "start": 3, "rounds": 400},
    "problem (8), run, Q = 1000": {"eta_l": "1/50", "Q": 1000, "start": -3, "rounds": 60},
}

BETTER: Statement = Statement(
    id="zhang2021.claim2.2b",
    kind="corollary",
    source=Source(zhang.PAPER, f"Claim 2.2, Section 2.1, second sentence ({zhang.VERSION})", "8"),
    expectations=zhang.expected("E_clipped_end", "E_plain_end"),
    sides=_second_sides,
    universal=False,
    checks=(
        Check(
            "exact",
            "problem (8), losses at the stationary points",
            better,
            {**_EIGHT, "runs": [["1/50", None, "1"], ["1/50", 20, "1"], ["1/50", 100, "1"], ["1/100", 100, "1"]]},
        ),
        *checks("monte-carlo", _both_runs, _RUNS),
    ),
)

STATEMENTS = (BETTER, EQ7, REPAIRED)
