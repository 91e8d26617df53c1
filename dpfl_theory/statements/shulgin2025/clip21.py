"""Clip21's descent, residuals and inactive clipping, in place of the theorem that shulgin2025 compares with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.algorithms.error_feedback import Clip21
from dpfl_theory.core import Case, Check, Hypothesis, Sides, Source, Statement, Symbol, Values, battery, checks
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.relations import algebra, exact
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._line import LineRun, clients, run_of
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, clip21

_SOURCE = Source(shu.PAPER, "Appendix F, in place of Theorem 5.6 of Khirirat et al. (2023)", provenance="derived")
_NOTATION = shu.NOTATION(
    Symbol("gamma", "step size, without server normalisation", (-1, 2), "positive", r"\gamma"),
    Symbol("R", r"$\max_i \|\nabla f_i(x^k) - v_i^k\|$", (1, -1), "nonnegative", "R"),
    shu.norm("estimate", r"\|v^{k+1}\|", r"$\|v^{k+1}\|$, which is $\|x^{k+1} - x^k\|/\gamma$"),
    shu.norm("error", r"\|v^{k+1} - \nabla f(x^k)\|"),
    shu.next_residual("the last round"),
)
_STEP = Hypothesis(lambda s: (s.gamma > 0, s.gamma <= 1 / s.L))
_RUNS = NORMALISE.by(clip21, edges=True)


def _steps_on_the_line(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """f = a x^2/2 with curvature a <= L; equality for a = L."""
    for L, a, gamma, x, v in (map(Fraction, texts) for texts in instance["steps"]):
        symbols = {"gap": a * x**2 / 2, "gap_after": a * (x - gamma * v) ** 2 / 2, "gamma": gamma, "L": L}
        symbols |= {"slope": abs(a * x), "estimate": abs(v), "error": abs(v - a * x)}
        yield Values(symbols, instance={"L": L, "curvature": a, "gamma": gamma, "x": x, "v": v})


def _step(*rows: str) -> dict[str, Any]:
    return {"steps": [row.split() for row in rows]}


DESCENT: Statement = shu.statement(
    id="shulgin2025.clip21.descent",
    kind="step",
    source=_SOURCE,
    symbols=_NOTATION(shu.GAP_OF_ROUND),
    hypotheses=(shu.SMOOTH_F, _STEP, shu.QUIET),
    sides=lambda s: Sides(
        {"gap": s.gap_after},
        {
            "gap": s.gap,
            "gradient": -s.gamma / 2 * s.slope**2,
            "movement": -(1 / (2 * s.gamma) - s.L / 2) * (s.gamma * s.estimate) ** 2,
            "estimate": s.gamma / 2 * s.error**2,
        },
    ),
    checks=battery(
        # f(x - gamma v) <= f - gamma <g, v> + (L/2) gamma^2 ||v||^2, <g, v> = (||g||^2 + ||v||^2 - ||v - g||^2)/2.
        algebra("the descent lemma")(
            lambda s: (
                s.gap - s.gamma * (s.slope**2 + s.estimate**2 - s.error**2) / 2 + s.L / 2 * (s.gamma * s.estimate) ** 2,
                *(s.rhs, "the descent lemma and the bound"),
            )
        ),
        checks(
            *("exact", _steps_on_the_line),
            {
                "quadratics on the line": _step("1 1 1 3 1", "1 1/2 1/3 2 -5", "4 1 1/8 -1 0", "2 2 1/2 1 2"),
                "just inside gamma L <= 1": _step("1 1 1 3 1"),
                "just outside gamma L <= 1": _step("1 1 51/50 3 1"),
            },
            {"just outside gamma L <= 1": "not-applicable"},
        ),
        worst.grid_of(worst.clip21_descent, worst.axes("L,gamma L", "1 1", "1 1/2", "1 1/64", "4 1/2")),
        _RUNS("clip21", near="quadratics"),
    ),
    smoke=("quadratics on the line", "convex, gamma L = 1", "quadratics, zero memories, short threshold"),
)


def _paths(instance: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Quadratics, LineRun]]:
    """The values that evidence shows, the clients, and their run. ``runs``: x^0, the memory's share of the first
    gradient, tau, gamma. On the line sqrt(2 L (f(x^0) - f_inf)) = |f'(x^0)| for quadratics."""
    for texts in instance["clients"]:
        world = clients(texts)
        for x, share, tau, gamma in (map(Fraction, row) for row in instance["runs"]):
            lacks = [(1 - share) * world.gradient(i, Vector(x)).known for i in range(world.clients)]
            run = run_of(Clip21(gamma=gamma, tau=tau, sigma=0), world, x, lacks, int(instance["rounds"]) + 1)
            values = {"curvatures, centres": texts, "x": x, "share": share, "tau": tau, "gamma": gamma}
            yield values, world, run


_CLIENTS: Any = [[["1"], ["0"]], [["1", "4"], ["3", "-1"]], [["1/2", "1", "3"], ["10", "-7", "1"]]]


@exact(
    "clients on the line, all rounds",
    clients=_CLIENTS,
    runs=[["5", "0", "1", "1/4"], ["5", "9/10", "1/2", "1/10"], ["-3", "2", "1/10", "1/2"]],
    rounds=8,
)
def _residuals_on_the_line(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """(b) for each client with its own L_i, in every round."""
    for values, world, run in _paths(instance):
        for k, (now, after) in enumerate(pairwise(run.rounds)):
            for a, e, e_next in zip(world.curvatures, now.residuals, after.residuals):
                own = {"R": abs(e), "residual_0": abs(e), "L_max": a}
                own |= {"estimate": abs(now.estimate), "residual": abs(e_next)}
                yield Values({**run.symbols, **own}, instance={**values, "k": k})


RESIDUAL: Statement = shu.statement(
    id="shulgin2025.clip21.residual",
    kind="step",
    source=_SOURCE,
    symbols=_NOTATION,
    hypotheses=(shu.CLIENTS, shu.MEMORIES, shu.CLIPS, shu.QUIET),
    sides=lambda s: Sides(
        {"residual": s.residual}, {"clipped": sp.Max(0, s.R - s.tau), "movement": s.L_max * s.gamma * s.estimate}
    ),
    checks=battery(
        _residuals_on_the_line,
        worst.grid_of(worst.clip21_residual, worst.axes("L,tau,moved", "1 1/2 1/4", "1 1 1", "4 2 1/2", "1 1/16 2")),
        _RUNS("clip21", near="quadratics"),
    ),
    uses=("shulgin2025.table1",),
)


def _still_runs(statement: Statement, instance: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Any, LineRun]]:
    """The runs inside the hypotheses; ``outside``: all runs."""
    for values, world, run in _paths(instance):
        if instance.get("outside") or not any(a.test(None, run.symbols) for a in statement.hypotheses):
            yield values, world, run


def inactive_runs(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """The largest residual after every round."""
    return [
        Values({**run.symbols, "residual": max(map(abs, now.residuals))}, instance={**values, "k": k})
        for values, _, run in _still_runs(statement, instance)
        for k, now in enumerate(run.rounds)
    ]


_PATHS: dict[str, Any] = {
    "clients": _CLIENTS,
    "runs": [["5", "9/10", "20", "1/3"], ["2", "1", "8", "1/4"], ["-1", "1/2", "16", "1/100"], ["1", "1", "3", "1/2"]],
    "rounds": 8,
}


@exact(
    "clients on the line against gradient descent",
    "It decides the second half of the text, that the runs are those of gradient descent; the two sides are the first.",
    **_PATHS,
)
def _gradient_descent(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """x^k of the same runs against that of gradient descent: their distance is 0."""
    for values, world, run in _still_runs(statement, instance):
        x = Vector(values["x"])
        for k, now in enumerate(run.rounds):
            yield Case({**values, "k": k}, abs(now.x - x.known), Fraction(0))
            x -= run.symbols["gamma"] * world.mean_gradient(x)


def _one(words: str, run: str, **more: Any) -> Check:
    """A run of one client just outside a hypothesis."""
    instance = {"clients": _CLIENTS[:1], "rounds": 8, "runs": [run.split()], "outside": True, **more}
    return Check("exact", f"just outside {words}", inactive_runs, instance, "not-applicable")


INACTIVE_CLIPPING: Statement = shu.statement(
    id="shulgin2025.clip21.inactive",
    kind="step",
    source=_SOURCE,
    symbols=_NOTATION,
    hypotheses=(
        *(shu.SMOOTH_F, shu.CLIENTS, shu.MEMORIES, shu.CLIPS, _STEP),
        Hypothesis(
            lambda s: (s.R <= s.tau, s.gamma * s.L_max * sp.sqrt(2 * s.L * s.gap) <= s.tau),
            r"all residuals $\le \tau$ and $\gamma L_\text{max} \sqrt{2 L (f(x^0) - f_\text{inf})} \le \tau$",
        ),
        shu.QUIET,
    ),
    sides=lambda s: Sides({"residual": s.residual}, {"threshold": s.tau}),
    checks=battery(
        # While v_i^{k+1} = grad f_i(x^k) the next residual is at most L_max gamma ||grad f||, at most gamma L_max
        # sqrt(2 L gap). A step of gradient descent lowers f by gamma (1 - gamma L/2) ||grad f||^2 >= 0, 1/L = gamma +
        # more.
        algebra(
            "gradient descent lowers f",
            "It decides that gradient descent lowers f, so that the limit of gamma at x^0 is valid for all rounds; the "
            "other checks decide that a residual then stays at most tau.",
            letters="gamma more g",
        )(
            lambda _, gamma, more, g: (
                gamma * g**2 - gamma**2 * g**2 / (2 * (gamma + more)),
                gamma * g**2 * (gamma + 2 * more) / (2 * (gamma + more)),
                "the gain of a step of gradient descent for gamma <= 1/L",
            )
        ),
        exact("clients on the line", **_PATHS)(inactive_runs),
        _gradient_descent,
        exact(
            "just inside residuals <= tau, gamma L <= 1 and the limit of gamma",
            **{"clients": _CLIENTS[:1], "rounds": 8, "runs": [["1", "0", "1", "1"]]},
        )(inactive_runs),
        _one("residuals <= tau", "1 0 99/100 1/2"),
        _one("gamma L <= 1", "1 1 2 51/50"),
        _one("tau > 0", "0 0 1 1", stated={"tau": "0"}),
        _one("gamma L_max sqrt(2 L (f(x^0) - f_inf)) <= tau", "1 1 49/50 1"),
        worst.grid_of(
            worst.clip21_inactive,
            [
                {"smoothness": smoothness.split(), "gamma L": step}
                for smoothness, step in (("1", "1"), ("4 1", "1"), ("1 4", "1/2"), ("4 1 1", "1/4"))
            ],
        ),
        _RUNS("inactive", near="quadratics", without={"just outside tau > 0": "exact on the line"}),
    ),
    uses=("shulgin2025.clip21.descent", "shulgin2025.clip21.residual"),
)

STATEMENTS = (DESCENT, RESIDUAL, INACTIVE_CLIPPING)
