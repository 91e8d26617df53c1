"""das2022 Lemma 9 (Appendix E): how far local steps move, by the suboptimality of the start; and (57), on which it
depends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Experiment, Hypothesis, Sides, Source, Statement, Symbol, WorstCase, battery, checks
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022._runs import CLIP, experiment
from dpfl_theory.statements.das2022._worst_cases import outside
from dpfl_theory.statements.local_phase import CLASSES, LocalPhase, grid, step_size
from dpfl_theory.statements.relations import Formula, Proof, algebra, of

_TAU = Symbol("tau", "number of local steps taken", (0, 0), "integer", r"\tau")
_STEP = Symbol("eta_k", "local step size of the round", (-1, 2), "positive", r"\eta_k")
_START = Symbol("gap_start", "$f_i(w_k) - f_i^*$", (1, 0), "nonnegative", r"(f_i(w_k) - f_i^*)")
_END = Symbol("gap_end", "$f_i(w_{k,t}) - f_i^*$", (1, 0), "nonnegative", r"(f_i(w_{k,t}^{(i)}) - f_i^*)")
_SQUARES = Symbol(
    "sum_gradients_squared", r"sum over the first $t$ steps of $\|\nabla f_i(w_{k,t'}^{(i)})\|^2$", (2, -2),
    "nonnegative",
    r"\sum_{t'=0}^{t-1} \|\nabla f_i(w_{k,t'}^{(i)})\|^2",
)  # fmt: skip


def several_steps(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """tau local steps; in conclusion 2 their length is eta ||u_k||. w* is a point halfway down from f_i(w_k)."""
    L, eta = step_size(instance)
    tau = int(instance["tau"])
    phase = LocalPhase(str(instance["class"]), L, eta, tau)
    moved = (phase.points[0] - phase.points[-1]) ** 2
    if instance["conclusion"] == 2:
        moved = eta**2 * sum(phase.gradients[1:], phase.gradients[0]) ** 2
    half = phase.value(0) / 2
    values = {"L": L, "eta": eta, "tau": tau, "displacement": moved, "E_gap": half, "Delta": half}
    return WorstCase(phase.problem, values, "||w_k - w_k,tau||^2 against f_i(w_k) - f_i^*")


@algebra("second conclusion")
def _second_conclusion(s: Formula) -> Proof:
    """u_k = (w_k - w_{k,E})/eta_k turns the first conclusion at tau = E into the second."""
    first = of(s.statement, tau=s.E).rhs / s.eta**2
    label = "the first conclusion at tau = E, over eta_k^2, against the second"
    return first, 2 * s.L * s.E**2 * (s.E_gap + s.Delta), label


def _whole_phase(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The whole local phase, tau = E."""
    found = experiment(statement, instance)
    return replace(found, values={**found.values, "tau": found.values["E"]})


def local_steps(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A number of local steps on one function of the class."""
    L, eta = step_size(instance)
    steps = int(instance["t"])
    phase = LocalPhase(str(instance["class"]), L, eta, steps)
    squares = sum(g**2 for g in phase.gradients)
    phase.gradient(steps)
    values = {"L": L, "eta_k": eta, "sum_gradients_squared": squares}
    return WorstCase(phase.problem, {**values, "gap_start": phase.value(0), "gap_end": phase.value(steps)})


@algebra("(55) to (56)")
def _from_line_55(s: Formula) -> Proof:
    """-eta + eta^2 L/2 = -eta/2 - eta (1 - eta L)/2, and the last term is not positive for eta L <= 1."""
    eta, L, squares = s.eta_k, s.L, s.sum_gradients_squared
    line55 = s.gap_start + (-eta + eta**2 * L / 2) * squares  # over the t steps
    slack = eta * (1 - eta * L) / 2 * squares
    return s.rhs - line55, slack, "(57) less (55) over t steps against eta(1 - eta L)/2 sum ||grad||^2"


EQ57 = das.step(
    "das2022.eq57",
    "Appendix E, proof of Lemma 9",
    symbols=das.NOTATION(_END, _START, _STEP, _SQUARES),
    hypotheses=(das.SMOOTH_BY_CLASS, Hypothesis(lambda s: s.eta_k <= 1 / s.L)),
    sides=lambda s: Sides(
        lhs={"end": s.gap_end}, rhs={"start": s.gap_start, "gradients": -s.eta_k / 2 * s.sum_gradients_squared}
    ),
    checks=battery(
        _from_line_55,
        checks(
            "worst-case",
            local_steps,
            grid(**{"class": CLASSES, "t": (1, 2, 3, 4), "eta L": ("1", "1/2", "1/8"), "L": ("1",)}),
        ),
        outside(local_steps, "1", t=2, **{"class": "convex"}),
    ),
)

LEMMA9: Statement = das.client_statement(
    id="das2022.lemma9",
    kind="lemma",
    source=Source(das.PAPER, "Lemma 9, Appendix E"),
    symbols=das.CLIENT(_TAU).also("E"),
    hypotheses=(das.SMOOTH, das.STEP),
    sides=lambda s: Sides(
        lhs={"displacement": s.displacement}, rhs={"smoothness": 2 * s.eta**2 * s.L * s.tau**2 * (s.E_gap + s.Delta)}
    ),
    checks=battery(
        _second_conclusion,
        checks(
            "worst-case",
            several_steps,
            {
                f"conclusion {conclusion}, {name}": {**instance, "conclusion": conclusion}
                for conclusion, products in ((1, ("1", "1/2", "1/8")), (2, ("1", "1/2")))
                for name, instance in grid(
                    **{"class": CLASSES, "tau": (1, 2, 3, 4), "eta L": products, "L": ("1",)}
                ).items()
            },
        ),
        outside(several_steps, "1", tau=2, conclusion=1, **{"class": "convex"}),
        CLIP.by(_whole_phase, edges=True)("step falling"),
    ),
    smoke=("conclusion 2, convex, tau = 1, eta L = 1", "quadratics, the gap falls by 19% a round, eta L = 0.05"),
    uses=("das2022.eq57", "das2022.fact1", "das2022.fact2"),
)

STATEMENTS = (EQ57, LEMMA9)
