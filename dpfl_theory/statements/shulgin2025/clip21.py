"""Clip21's descent, residuals and inactive clipping, in place of the theorem that shulgin2025 compares with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.algorithms.error_feedback import Clip21
from dpfl_theory.core import Case, Check, Hypothesis, Sides, Source, Statement, Symbol, Symbols, Values, battery, checks
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._line import Round, rounds_of
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, clip21

_SOURCE = Source(shu.PAPER, "Appendix F, in place of Theorem 5.6 of Khirirat et al. (2023)", provenance="derived")
_GAMMA = Symbol("gamma", "step size, without server normalisation", (-1, 2), "positive", r"\gamma")
_ESTIMATE = shu.norm("estimate", r"\|v^{k+1}\|", r"$\|v^{k+1}\|$, which is $\|x^{k+1} - x^k\|/\gamma$")
_ERROR = shu.norm("error", r"\|v^{k+1} - \nabla f(x^k)\|")
_R = Symbol("R", r"$\max_i \|\nabla f_i(x^k) - v_i^k\|$", (1, -1), "nonnegative", "R")
_RESIDUAL = shu.next_residual("the last round")
_STEP = Hypothesis(lambda s: (s.gamma > 0, s.gamma <= 1 / s.L))
_STILL = Hypothesis(
    lambda s: (s.R <= s.tau, s.gamma * s.L_max * sp.sqrt(2 * s.L * s.gap) <= s.tau),
    r"all residuals $\le \tau$ and $\gamma L_\text{max} \sqrt{2 L (f(x^0) - f_\text{inf})} \le \tau$",
)
_RUNS = NORMALISE.by(clip21, edges=True)


def _descent_sides(s: Symbols) -> Sides:
    return Sides(
        {"gap": s.gap_after},
        {
            "gap": s.gap,
            "gradient": -s.gamma / 2 * s.slope**2,
            "movement": -(1 / (2 * s.gamma) - s.L / 2) * (s.gamma * s.estimate) ** 2,
            "estimate": s.gamma / 2 * s.error**2,
        },
    )


def _residual_sides(s: Symbols) -> Sides:
    left = sp.Max(0, s.R - s.tau)
    return Sides({"residual": s.residual}, {"clipped": left, "movement": s.L_max * s.gamma * s.estimate})


@algebra("the descent lemma")
def _polarised(s: Formula) -> Proof:
    """f(x - gamma v) <= f - gamma <g, v> + (L/2) gamma^2 ||v||^2 and <g, v> = (||g||^2 + ||v||^2 - ||v - g||^2)/2."""
    product = (s.slope**2 + s.estimate**2 - s.error**2) / 2
    smooth = s.gap - s.gamma * product + s.L / 2 * s.gamma**2 * s.estimate**2
    return sp.expand(smooth), sp.expand(s.rhs), "the descent lemma and the bound"


@algebra(
    "gradient descent lowers f",
    "It decides that gradient descent lowers f, so that the limit of gamma at x^0 is valid for all rounds; the other "
    "checks decide that a residual then stays at most tau.",
)
def _moved(_: Formula) -> Proof:
    """While v_i^{k+1} = grad f_i(x^k): the next residual is at most L_max gamma ||grad f||, at most gamma L_max sqrt(2
    L gap); and a step of gradient descent lowers f by gamma (1 - gamma L/2)||grad f||^2 >= 0."""
    gamma, L, more, g = sp.symbols("gamma L more g", positive=True)
    gain = (gamma * g**2 - L / 2 * gamma**2 * g**2).subs(L, 1 / (gamma + more))  # gamma <= 1/L
    rest = gamma * g**2 * (gamma + 2 * more) / (2 * (gamma + more))
    return gain, rest, "the gain of a step of gradient descent for gamma <= 1/L"


def _steps_on_the_line(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """f = a x^2/2 with curvature a <= L; equality for a = L."""
    for texts in instance["steps"]:
        L, a, gamma, x, v = map(Fraction, texts)
        symbols = {"gap": a * x**2 / 2, "gap_after": a * (x - gamma * v) ** 2 / 2, "gamma": gamma, "L": L}
        symbols |= {"slope": abs(a * x), "estimate": abs(v), "error": abs(v - a * x)}
        yield Values(symbols, instance={"L": L, "curvature": a, "gamma": gamma, "x": x, "v": v})


def _paths(instance: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], list[Round]]]:
    """The clients, tau and gamma, and their paths. ``runs``: x^0, the memory's share of the first gradient, tau,
    gamma."""
    for clients in instance["clients"]:
        curvatures, centres = ([Fraction(t) for t in texts] for texts in clients)
        for x, share, tau, gamma in (map(Fraction, texts) for texts in instance["runs"]):
            memories = [share * a * (x - c) for a, c in zip(curvatures, centres)]
            algorithm = Clip21(gamma=gamma, tau=tau, sigma=0)
            steps = rounds_of(algorithm, curvatures, centres, x, memories, int(instance["rounds"]) + 1)
            values = {"curvatures": curvatures, "centres": centres, "x": x, "share": share, "tau": tau, "gamma": gamma}
            yield values, steps


def _residuals_on_the_line(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """(b) for each client with its own L_i, in every round."""
    for values, steps in _paths(instance):
        for k, (now, after) in enumerate(pairwise(steps)):
            for a, e, e_next in zip(values["curvatures"], now.residuals, after.residuals):
                symbols = {"R": abs(e), "residual_0": abs(e), "L_max": a, "tau": values["tau"]}
                symbols |= {"gamma": values["gamma"], "estimate": abs(now.estimate), "residual": abs(e_next)}
                yield Values(symbols, instance={**values, "k": k})


def _still_runs(
    statement: Statement, instance: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], list[Round], dict[str, Any]]]:
    """The clients, the path and the symbols of the runs inside the hypotheses; ``outside``: of all runs. On the line
    sqrt(2 L (f(x^0) - f_inf)) = |f'(x^0)| for quadratics."""
    for values, steps in _paths(instance):
        q, first = values["curvatures"], steps[0]
        L, R = sum(q) / len(q), max(map(abs, first.residuals))
        symbols = {"gap": first.slope**2 / (2 * L), "R": R, "residual_0": R, "L": L, "L_max": max(q)}
        symbols |= {"tau": values["tau"], "gamma": values["gamma"]}
        if instance.get("outside") or not any(a.test(None, symbols) for a in statement.hypotheses):
            yield values, steps, symbols


def inactive_runs(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """The largest residual after every round."""
    return [
        Values({**symbols, "residual": max(map(abs, now.residuals))}, instance={**values, "k": k})
        for values, steps, symbols in _still_runs(statement, instance)
        for k, now in enumerate(steps)
    ]


def _gradient_descent(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """x^k of the same runs against that of gradient descent: their distance is 0."""
    for values, steps, symbols in _still_runs(statement, instance):
        x, clients = values["x"], list(zip(values["curvatures"], values["centres"]))
        for k, now in enumerate(steps):
            yield Case({**values, "k": k}, abs(now.x - x), Fraction(0))
            x -= symbols["gamma"] * sum((a * (x - c) for a, c in clients), Fraction(0)) / len(clients)


_SAME = (
    "It decides the second half of the text, that the runs are those of gradient descent; the two sides are the first."
)
_STEPS = {
    "quadratics on the line": {
        "steps": [
            ["1", "1", "1", "3", "1"],
            ["1", "1/2", "1/3", "2", "-5"],
            ["4", "1", "1/8", "-1", "0"],
            ["2", "2", "1/2", "1", "2"],
        ]
    },
    "just inside gamma L <= 1": {"steps": [["1", "1", "1", "3", "1"]]},
    "just outside gamma L <= 1": {"steps": [["1", "1", "51/50", "3", "1"]]},
}
_CLIENTS = [[["1"], ["0"]], [["1", "4"], ["3", "-1"]], [["1/2", "1", "3"], ["10", "-7", "1"]]]
_MOVING = [["5", "0", "1", "1/4"], ["5", "9/10", "1/2", "1/10"], ["-3", "2", "1/10", "1/2"]]
_RESTING = [["5", "9/10", "20", "1/3"], ["2", "1", "8", "1/4"], ["-1", "1/2", "16", "1/100"], ["1", "1", "3", "1/2"]]
_ALL_ROUNDS = {"clients": _CLIENTS, "runs": _MOVING, "rounds": 8}
_PATHS = {"clients": _CLIENTS, "runs": _RESTING, "rounds": 8}


def _one(*run: str, **more: Any) -> dict[str, Any]:
    return {"clients": [[["1"], ["0"]]], "rounds": 8, "runs": [list(run)], **more}


_INSIDE = {"just inside residuals <= tau, gamma L <= 1 and the limit of gamma": _one("1", "0", "1", "1")}
_OUTSIDE = {
    "just outside residuals <= tau": _one("1", "0", "99/100", "1/2", outside=True),
    "just outside gamma L <= 1": _one("1", "1", "2", "51/50", outside=True),
    "just outside tau > 0": _one("0", "0", "1", "1", outside=True, stated={"tau": "0"}),
    "just outside gamma L_max sqrt(2 L (f(x^0) - f_inf)) <= tau": _one("1", "1", "49/50", "1", outside=True),
}

DESCENT: Statement = Statement(
    id="shulgin2025.clip21.descent",
    kind="step",
    source=_SOURCE,
    symbols=(shu.GAP_OF_ROUND, _GAMMA, *shu.symbols("L"), shu.SLOPE, _ESTIMATE, _ERROR),
    expectations=(shu.GAP_AFTER,),
    hypotheses=(shu.SMOOTH_F, _STEP, shu.QUIET),
    sides=_descent_sides,
    checks=battery(
        _polarised,
        checks("exact", _steps_on_the_line, _STEPS, {"just outside gamma L <= 1": "not-applicable"}),
        worst.grid_of(
            worst.clip21_descent,
            [{"L": L, "gamma L": step} for L, step in (("1", "1"), ("1", "1/2"), ("1", "1/64"), ("4", "1/2"))],
        ),
        _RUNS("clip21", near="quadratics"),
    ),
    smoke=("quadratics on the line", "convex, gamma L = 1", "quadratics, zero memories, short threshold"),
)

RESIDUAL: Statement = Statement(
    id="shulgin2025.clip21.residual",
    kind="step",
    source=_SOURCE,
    symbols=(_R, _GAMMA, *shu.symbols("tau", "L_max"), _ESTIMATE),
    expectations=(_RESIDUAL,),
    hypotheses=(shu.CLIENTS, shu.MEMORIES, shu.CLIPS, shu.QUIET),
    sides=_residual_sides,
    checks=battery(
        Check("exact", "clients on the line, all rounds", _residuals_on_the_line, _ALL_ROUNDS),
        worst.grid_of(
            worst.clip21_residual,
            [
                {"L": L, "tau": tau, "moved": moved}
                for L, tau, moved in (("1", "1/2", "1/4"), ("1", "1", "1"), ("4", "2", "1/2"), ("1", "1/16", "2"))
            ],
        ),
        _RUNS("clip21", near="quadratics"),
    ),
    uses=("shulgin2025.table1",),
)

INACTIVE_CLIPPING: Statement = Statement(
    id="shulgin2025.clip21.inactive",
    kind="step",
    source=_SOURCE,
    symbols=(_R, _GAMMA, *shu.symbols("gap", "tau", "L", "L_max")),
    expectations=(_RESIDUAL,),
    hypotheses=(shu.SMOOTH_F, shu.CLIENTS, shu.MEMORIES, shu.CLIPS, _STEP, _STILL, shu.QUIET),
    sides=lambda s: Sides({"residual": s.residual}, {"threshold": s.tau}),
    checks=battery(
        _moved,
        Check("exact", "clients on the line", inactive_runs, _PATHS),
        Check("exact", "clients on the line against gradient descent", _gradient_descent, _PATHS, part=_SAME),
        checks("exact", inactive_runs, {**_INSIDE, **_OUTSIDE}, dict.fromkeys(_OUTSIDE, "not-applicable")),
        worst.grid_of(
            worst.clip21_inactive,
            [
                {"smoothness": smoothness, "gamma L": step}
                for smoothness, step in ((["1"], "1"), (["4", "1"], "1"), (["1", "4"], "1/2"), (["4", "1", "1"], "1/4"))
            ],
        ),
        _RUNS("inactive", near="quadratics", without={"just outside tau > 0": "exact on the line"}),
    ),
    uses=("shulgin2025.clip21.descent", "shulgin2025.clip21.residual"),
)

STATEMENTS = (DESCENT, RESIDUAL, INACTIVE_CLIPPING)
