"""das2022 eqs. 51 and 57 (Appendix E): the one-step inequalities behind Lemmas 8 and 9."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.statements.claims import Outcome, WorstCase
from dpfl_theory.statements.das2022 import _letters as das
from dpfl_theory.statements.das2022._step_performance import outside
from dpfl_theory.statements.das2022.lemma8 import local_phase
from dpfl_theory.statements.formula import Letters, letters_of, total
from dpfl_theory.statements.local_phase import CLASSES, INTERPOLATION, LocalPhase, grid, step_size
from dpfl_theory.statements.model import Check, Sides, Source, Statement, Symbol, checks
from dpfl_theory.statements.symbolic import equal

_STEP = Symbol("eta_k", "local step size of the round", (-1, 2), "positive", r"\eta_k")
_NOW = Symbol("distance_now", "||w_{k,tau} - w*||", (0, 1), "nonnegative", r"\|w_{k,\tau}^{(i)} - w^*\|")
_NEXT = Symbol("distance_next", "||w_{k,tau+1} - w*||", (0, 1), "nonnegative", r"\|w_{k,\tau+1}^{(i)} - w^*\|")
_SLOPE = Symbol("gradient", "||grad f_i(w_{k,tau})||", (1, -1), "nonnegative", r"\|\nabla f_i(w_{k,\tau}^{(i)})\|")
_DELTA = Symbol("Delta_i", "the client's heterogeneity f_i(w*) - min f_i", (1, 0), "nonnegative", r"\Delta_i^*")
_START = Symbol("gap_start", "f_i(w_k) - f_i^*", (1, 0), "nonnegative", r"(f_i(w_k) - f_i^*)")
_END = Symbol("gap_end", "f_i(w_{k,t}) - f_i^*", (1, 0), "nonnegative", r"(f_i(w_{k,t}^{(i)}) - f_i^*)")
_SQUARES = Symbol(
    "sum_gradients_squared", "sum over the first t steps of ||grad f_i(w_{k,t'}^{(i)})||^2", (2, -2), "nonnegative",
    r"\sum_{t'=0}^{t-1} \|\nabla f_i(w_{k,t'}^{(i)})\|^2",
)  # fmt: skip


def local_steps(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """So many local steps on one function of the class."""
    L, eta = step_size(instance)
    steps = int(instance["t"])
    phase = LocalPhase(str(instance["class"]), L, eta, steps)
    squares = sum(g**2 for g in phase.gradients)
    phase.gradient(steps)
    values = {"L": L, "eta_k": eta, "sum_gradients_squared": squares}
    return WorstCase(phase.problem, {**values, "gap_start": phase.value(0), "gap_end": phase.value(steps)})


def _from_line_50(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """-eta/L + eta^2 = -eta/(2L) - eta (1/(2L) - eta), and the last term is not positive for eta <= 1/(2L)."""
    s = letters_of(statement)
    eta, L, square = s.eta_k, s.L, s.gradient**2
    line50 = s.distance_now**2 + (-eta / L + eta**2) * square + 2 * eta * s.Delta_i
    slack = eta * (1 - 2 * eta * L) / (2 * L) * square
    return equal(total(statement) - line50, slack, "(51) less (50) against eta(1 - 2 eta L)/(2L) ||grad||^2")


def _from_line_55(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """-eta + eta^2 L/2 = -eta/2 - eta (1 - eta L)/2, and the last term is not positive for eta L <= 1."""
    s = letters_of(statement)
    eta, L, squares = s.eta_k, s.L, s.sum_gradients_squared
    line55 = s.gap_start + (-eta + eta**2 * L / 2) * squares  # over the t steps
    slack = eta * (1 - eta * L) / 2 * squares
    return equal(
        total(statement) - line55, slack, "(57) less (55) over t steps against eta(1 - eta L)/2 sum ||grad||^2"
    )


def _eq51_sides(s: Letters) -> Sides:
    return Sides(
        lhs={"distance after": s.distance_next**2},
        rhs={
            "distance before": s.distance_now**2,
            "gradient": -s.eta_k / (2 * s.L) * s.gradient**2,
            "heterogeneity": 2 * s.eta_k * s.Delta_i,
        },
    )


def _eq57_sides(s: Letters) -> Sides:
    return Sides(
        lhs={"end": s.gap_end},
        rhs={"start": s.gap_start, "gradients": -s.eta_k / 2 * s.sum_gradients_squared},
    )


EQ51 = Statement(
    id="das2022.eq51",
    kind="step",
    title="One local step moves towards w*, up to the client's heterogeneity",
    source=Source(das.PAPER, "Appendix E, proof of Lemma 8", "51", note="w* minimises f: for f_i it is any point"),
    text="If f_i is convex and L-smooth and eta_k <= 1/(2L), then every local step satisfies the bound.",
    symbols=(_NEXT, _NOW, _STEP, _SLOPE, *das.letters("L"), _DELTA),
    assumptions=(das.CONVEX, das.SMOOTH, das.step_of_at_most(0.5, "eta_k")),
    sides=_eq51_sides,
    checks=(
        Check("algebra", "from (50)", _from_line_50),
        *checks(
            "worst-case",
            local_phase,
            {n: {**i, "E": 1} for n, i in grid(**{"eta L": ("1/2", "1/4", "1/16", "1/64"), "L": ("1",)}).items()},
        ),
        Check("worst-case", "eta L = 1/2, L = 8", local_phase, {"eta L": "1/2", "L": "8", "E": 1}),
        *outside(local_phase, "1/2", E=1),
    ),
    uses=("das2022.fact1",),
)

EQ57 = Statement(
    id="das2022.eq57",
    kind="step",
    title="Local steps decrease f_i by half their squared gradients",
    source=Source(
        das.PAPER,
        "Appendix E, proof of Lemma 9",
        "57",
        note=f"the first inequality; the second drops a term that is not positive. {INTERPOLATION}",
    ),
    text="If f_i is L-smooth (convex or not) and eta_k L <= 1, then t local steps satisfy the bound.",
    symbols=(_END, _START, _STEP, _SQUARES, *das.letters("L")),
    assumptions=(das.SMOOTH, das.step_of_at_most(1.0, "eta_k")),
    sides=_eq57_sides,
    checks=(
        Check("algebra", "(55) to (56)", _from_line_55),
        *checks(
            "worst-case",
            local_steps,
            grid(**{"class": CLASSES, "t": (1, 2, 3, 4), "eta L": ("1", "1/2", "1/8"), "L": ("1",)}),
        ),
        *outside(local_steps, "1", t=2, **{"class": "convex"}),
    ),
)

STATEMENTS = (EQ51, EQ57)
