"""das2022 Lemma 8 (Appendix E): a local phase moves towards w*, up to the client's heterogeneity; and (51) for each of
its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbol, Symbols, WorstCase, battery, checks
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022._runs import CLIP
from dpfl_theory.statements.das2022._worst_cases import outside
from dpfl_theory.statements.local_phase import LocalPhase, grid, step_size
from dpfl_theory.statements.relations import Formula, Proof, algebra, of

_STEP = Symbol("eta_k", "local step size of the round", (-1, 2), "positive", r"\eta_k")
_NOW = Symbol("distance_now", r"$\|w_{k,\tau} - w^*\|$", (0, 1), "nonnegative", r"\|w_{k,\tau}^{(i)} - w^*\|")
_NEXT = Symbol("distance_next", r"$\|w_{k,\tau+1} - w^*\|$", (0, 1), "nonnegative", r"\|w_{k,\tau+1}^{(i)} - w^*\|")
_SLOPE = Symbol(
    "gradient", r"$\|\nabla f_i(w_{k,\tau})\|$", (1, -1), "nonnegative", r"\|\nabla f_i(w_{k,\tau}^{(i)})\|"
)
_DELTA = Symbol("Delta_i", "the client's heterogeneity $f_i(w^*)$ - min $f_i$", (1, 0), "nonnegative", r"\Delta_i^*")


def local_phase(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One client's local phase, by the symbols of Lemma 8 and, for one step, of (51). w* is any point, not a minimiser
    of f_i."""
    L, eta = step_size(instance)
    E = int(instance["E"])
    phase = LocalPhase("convex", L, eta, E)
    target = phase.problem.set_initial_point()
    squares = sum(g**2 for g in phase.gradients)
    delta = phase.function(target) - phase.minimum
    before, after = (phase.points[0] - target) ** 2, (phase.points[-1] - target) ** 2
    values = {"L": L, "eta": eta, "E": E, "Delta": delta, "gradients_squared": squares}
    values |= {"distance_before": before, "distance_after": after}
    if E == 1:
        values |= {"eta_k": eta, "Delta_i": delta, "gradient^2": squares}
        values |= {"distance_now^2": before, "distance_next^2": after}
    return WorstCase(phase.problem, values, left=("gradients_squared", "gradient^2"))


def _sharper(s: Symbols) -> Sides:
    """With the coefficient eta(1/L - eta) in place of eta/(2L)."""
    printed = _sides(s)
    return Sides(printed.lhs, {**printed.rhs, "gradients": -s.eta * (1 / s.L - s.eta) * s.gradients_squared})


def _lemma8(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The printed inequality; for information also a larger coefficient, and steps above 1/(2L)."""
    also = {"coefficient eta(1/L - eta)": lambda: replace(local_phase(statement, instance), sides=_sharper)}
    if instance["eta L"] == "1/2":
        for product in ("33/64", "3/4", "1"):
            beyond = {**instance, "eta L": product}
            also[f"eta L = {product}, outside the hypotheses"] = partial(local_phase, statement, beyond)
    return replace(local_phase(statement, instance), also=also)


def _sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"distance after": s.distance_after},
        rhs={
            "distance before": s.distance_before,
            "gradients": -s.eta / (2 * s.L) * s.gradients_squared,
            "heterogeneity": 2 * s.eta * s.E * s.Delta,
        },
    )


@algebra("from (50)")
def _from_line_50(s: Formula) -> Proof:
    """-eta/L + eta^2 = -eta/(2L) - eta (1/(2L) - eta), and the last term is not positive for eta <= 1/(2L)."""
    eta, L, square = s.eta_k, s.L, s.gradient**2
    line50 = s.distance_now**2 + (-eta / L + eta**2) * square + 2 * eta * s.Delta_i
    slack = eta * (1 - 2 * eta * L) / (2 * L) * square
    return s.rhs - line50, slack, "(51) less (50) against eta(1 - 2 eta L)/(2L) ||grad||^2"


@algebra("from (51), over the phase")
def _from_eq51(s: Formula) -> Proof:
    """(51), added up over the E steps: the distances telescope, the squared gradients add up, Delta_i appears E
    times."""
    one = of(EQ51, eta_k=s.eta, Delta_i=s.Delta)
    step, now, after, square = one.slack.expand(), one.distance_now**2, one.distance_next**2, one.gradient**2
    rest = step - sum(step.coeff(x) * x for x in (now, after, square))
    summed = step.coeff(now) * s.distance_before + step.coeff(after) * s.distance_after
    summed += step.coeff(square) * s.gradients_squared + s.E * rest
    return summed, s.slack, "(51) over the E steps against Lemma 8"


EQ51 = das.step(
    "das2022.eq51",
    "Appendix E, proof of Lemma 8",
    symbols=das.NOTATION(_NEXT, _NOW, _STEP, _SLOPE, _DELTA),
    hypotheses=(das.CONVEX, das.SMOOTH_BY_CLASS, Hypothesis(lambda s: s.eta_k <= 1 / (2 * s.L))),
    sides=lambda s: Sides(
        lhs={"distance after": s.distance_next**2},
        rhs={
            "distance before": s.distance_now**2,
            "gradient": -s.eta_k / (2 * s.L) * s.gradient**2,
            "heterogeneity": 2 * s.eta_k * s.Delta_i,
        },
    ),
    checks=battery(
        _from_line_50,
        checks(
            "worst-case",
            local_phase,
            {n: {**i, "E": 1} for n, i in grid(**{"eta L": ("1/2", "1/4", "1/16", "1/64"), "L": ("1",)}).items()},
        ),
        Check("worst-case", "eta L = 1/2, L = 8", local_phase, {"eta L": "1/2", "L": "8", "E": 1}),
        outside(local_phase, "1/2", E=1),
    ),
    uses=("das2022.fact1",),
)

LEMMA8: Statement = das.client_statement(
    id="das2022.lemma8",
    kind="lemma",
    source=Source(das.PAPER, "Lemma 8, Appendix E"),
    hypotheses=(das.CONVEX, das.SMOOTH, das.HALF_STEP),
    sides=_sides,
    checks=battery(
        _from_eq51,
        checks("worst-case", _lemma8, grid(**{"E": (1, 2, 3, 4), "eta L": ("1/2", "1/4", "1/16"), "L": ("1",)})),
        Check("worst-case", "E = 2, eta L = 1/2, L = 4", _lemma8, {"E": 2, "eta L": "1/2", "L": "4"}),
        outside(local_phase, "1/2"),
        CLIP("step"),
    ),
    uses=("das2022.eq51",),
)

STATEMENTS = (EQ51, LEMMA8)
