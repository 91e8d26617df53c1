"""Clip21's descent, residuals and inactive clipping, in place of the theorem that shulgin2025 compares with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.core import Check, Expected, Hypothesis, Sides, Source, Statement, Symbol, Symbols, checks
from dpfl_theory.core.check_inputs import Case, Outcome, Values
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._clip21_runs import INACTIVE, NOT_QUITE, ROUNDS, experiment, paths
from dpfl_theory.statements.shulgin2025._experiments import runs
from dpfl_theory.statements.symbolic import equal

__all__ = ["DESCENT", "INACTIVE_CLIPPING", "RESIDUAL", "STATEMENTS"]

_WHERE = "Appendix F, in place of Theorem 5.6 of Khirirat et al. (2023)"
_GAMMA = Symbol("gamma", "step size, without server normalisation", (-1, 2), "positive", r"\gamma")
_GAP = Symbol("gap", r"$f(x^k) - f_\text{inf}$", (1, 0), "nonnegative", r"(f(x^k) - f^{\inf})")
_SLOPE = Symbol("slope", r"$\|\nabla f(x^k)\|$", (1, -1), "nonnegative", r"\|\nabla f(x^k)\|")
_ESTIMATE = Symbol(
    "estimate", r"$\|v^{k+1}\|$, which is $\|x^{k+1} - x^k\|/\gamma$", (1, -1), "nonnegative", r"\|v^{k+1}\|"
)
_ERROR = Symbol("error", r"$\|v^{k+1} - \nabla f(x^k)\|$", (1, -1), "nonnegative", r"\|v^{k+1} - \nabla f(x^k)\|")
_R = Symbol("R", r"$\max_i \|\nabla f_i(x^k) - v_i^k\|$", (1, -1), "nonnegative", "R")
_AFTER = Expected(
    "gap_after", (("suboptimality", 1),), (1, 0), r"(f(x^{k+1}) - f^{\inf})", r"$f(x^{k+1}) - f_\text{inf}$", when="end"
)
_RESIDUAL = Expected(
    "residual",
    (("largest-residual", 1),),
    (1, -1),
    r"\max_i \|\nabla f_i(x^{k+1}) - v_i^{k+1}\|",
    "the largest residual after the last round",
    when="end",
)


_SMOOTH = shu.SMOOTH_F
_STEP = Hypothesis(lambda s: (s.gamma > 0, s.gamma <= 1 / s.L))
_FIRST = Hypothesis(lambda s: sp.Eq(s.residual_0, s.R), r"$R = \max_i \|\nabla f_i(x^k) - v_i^k\|$")
_POSITIVE = Hypothesis(lambda s: (s.gamma > 0, s.tau > 0))
_STILL = Hypothesis(
    lambda s: (s.R <= s.tau, s.gamma * s.L_max * sp.sqrt(2 * s.L * s.gap) <= s.tau),
    r"all residuals $\le \tau$ and $\gamma L_\text{max} \sqrt{2 L (f(x^0) - f_\text{inf})} \le \tau$",
)


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


def _inactive_sides(s: Symbols) -> Sides:
    return Sides({"residual": s.residual}, {"threshold": s.tau})


def _polarised(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """f(x - gamma v) <= f - gamma <g, v> + (L/2) gamma^2 ||v||^2 and <g, v> = (||g||^2 + ||v||^2 - ||v - g||^2)/2."""
    s = symbols_of(statement)
    product = (s.slope**2 + s.estimate**2 - s.error**2) / 2
    smooth = s.gap - s.gamma * product + s.L / 2 * s.gamma**2 * s.estimate**2
    return equal(sp.expand(smooth), sp.expand(total(statement)), "the descent lemma and the bound")


def _moved(_: Statement, instance: Mapping[str, Any]) -> Outcome:
    """While v_i^{k+1} = grad f_i(x^k): the next residual is at most L_max gamma ||grad f||, at most gamma L_max sqrt(2
    L gap); and a step of gradient descent lowers f by gamma (1 - gamma L/2)||grad f||^2 >= 0."""
    gamma, L, more, g = sp.symbols("gamma L more g", positive=True)
    inside = {L: 1 / (gamma + more)}  # gamma <= 1/L
    gain = gamma * g**2 - L / 2 * gamma**2 * g**2
    rest = gamma * g**2 * (gamma + 2 * more) / (2 * (gamma + more))
    return equal(gain.subs(inside), rest, "the gain of a step of gradient descent for gamma <= 1/L")


def _steps_on_the_line(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """f = a x^2/2 with curvature a <= L; equality for a = L."""
    found = []
    for texts in instance["steps"]:
        L, a, gamma, x, v = (Fraction(t) for t in texts)
        symbols = {"gap": a * x**2 / 2, "gap_after": a * (x - gamma * v) ** 2 / 2, "gamma": gamma, "L": L}
        symbols |= {"slope": abs(a * x), "estimate": abs(v), "error": abs(v - a * x)}
        found.append(Values(symbols, instance={"L": L, "curvature": a, "gamma": gamma, "x": x, "v": v}))
    return found


def _residuals_on_the_line(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """(b) for each client with its own L_i, in every round."""
    found = []
    for values, steps, tau, gamma in paths(instance):
        for k, ((_x, before, mean), (_next, after, _mean)) in enumerate(pairwise(steps)):
            for a, e, e_next in zip(values["curvatures"], before, after):
                symbols = {"R": abs(e), "residual_0": abs(e), "tau": tau, "L_max": a, "gamma": gamma}
                symbols |= {"estimate": abs(mean), "residual": abs(e_next)}
                found.append(Values(symbols, instance={**values, "k": k}))
    return found


def _still_runs(
    statement: Statement, instance: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], Any, dict[str, Any]]]:
    """The clients, the path and the symbols of the runs inside the hypotheses; ``outside``: of all runs. On the line
    sqrt(2 L (f(x^0) - f_inf)) = |f'(x^0)| for quadratics."""
    for values, steps, tau, gamma in paths(instance):
        q, c, x = (values[name] for name in ("curvatures", "centres", "x"))
        L, R = sum(q) / len(q), max(map(abs, steps[0][1]))
        slope = sum((a * (x - b) for a, b in zip(q, c)), Fraction(0)) / len(q)
        symbols = {"gap": slope**2 / (2 * L), "R": R, "residual_0": R, "tau": tau, "gamma": gamma, "L": L}
        symbols["L_max"] = max(q)
        if instance.get("outside") or not any(a.test(None, symbols) for a in statement.hypotheses):
            yield values, steps, symbols


def inactive_runs(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """The largest residual after every round."""
    return [
        Values({**symbols, "residual": max(map(abs, residuals))}, instance={**values, "k": k})
        for values, steps, symbols in _still_runs(statement, instance)
        for k, (_x, residuals, _mean) in enumerate(steps)
    ]


def _gradient_descent(statement: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """x^k of the same runs against that of gradient descent: their distance is 0."""
    cases = []
    for values, steps, symbols in _still_runs(statement, instance):
        x, clients = values["x"], list(zip(values["curvatures"], values["centres"]))
        for k, (reached, _residuals, _mean) in enumerate(steps):
            cases.append(Case({**values, "k": k}, abs(reached - x), Fraction(0)))
            x -= symbols["gamma"] * sum((a * (x - c) for a, c in clients), Fraction(0)) / len(clients)
    return cases


_LOWERS = (
    "It decides that gradient descent lowers f, so that the limit of gamma at x^0 is valid for all rounds; the other "
    "checks decide that a residual then stays at most tau."
)
_SAME = (
    "It decides the second half of the text, that the runs are those of gradient descent; the two sides are the first."
)
_STEPS = [
    ["1", "1", "1", "3", "1"],
    ["1", "1/2", "1/3", "2", "-5"],
    ["4", "1", "1/8", "-1", "0"],
    ["2", "2", "1/2", "1", "2"],
]
_CLIENTS_ON_THE_LINE = [[["1"], ["0"]], [["1", "4"], ["3", "-1"]], [["1/2", "1", "3"], ["10", "-7", "1"]]]
_RUNS = [["5", "0", "1", "1/4"], ["5", "9/10", "1/2", "1/10"], ["-3", "2", "1/10", "1/2"]]
_STILL_RUNS = [["5", "9/10", "20", "1/3"], ["2", "1", "8", "1/4"], ["-1", "1/2", "16", "1/100"], ["1", "1", "3", "1/2"]]

_PATHS = {"clients": _CLIENTS_ON_THE_LINE, "runs": _STILL_RUNS, "rounds": 8}
_ONE = {"clients": [[["1"], ["0"]]], "rounds": 8}
_EDGES: dict[str, dict[str, Any]] = {
    "just inside residuals <= tau, gamma L <= 1 and the limit of gamma": {**_ONE, "runs": [["1", "0", "1", "1"]]},
    "just outside residuals <= tau": {**_ONE, "runs": [["1", "0", "99/100", "1/2"]], "outside": True},
    "just outside gamma L <= 1": {**_ONE, "runs": [["1", "1", "2", "51/50"]], "outside": True},
    "just outside tau > 0": {**_ONE, "runs": [["0", "0", "1", "1"]], "outside": True, "stated": {"tau": "0"}},
    "just outside gamma L_max sqrt(2 L (f(x^0) - f_inf)) <= tau": {
        **_ONE, "runs": [["1", "1", "49/50", "1"]], "outside": True,
    },
}  # fmt: skip
"""x^0, the memory's share of the first gradient, tau, gamma."""


DESCENT: Statement = Statement(
    id="shulgin2025.clip21.descent",
    kind="step",
    source=Source(shu.PAPER, _WHERE, provenance="derived"),
    symbols=(_GAP, _GAMMA, *shu.symbols("L"), _SLOPE, _ESTIMATE, _ERROR),
    expectations=(_AFTER,),
    hypotheses=(_SMOOTH, _STEP, shu.QUIET),
    sides=_descent_sides,
    checks=(
        Check("algebra", "the descent lemma", _polarised),
        Check("exact", "quadratics on the line", _steps_on_the_line, {"steps": _STEPS}),
        Check("exact", "just inside gamma L <= 1", _steps_on_the_line, {"steps": [["1", "1", "1", "3", "1"]]}),
        Check(
            "exact",
            "just outside gamma L <= 1",
            _steps_on_the_line,
            {"steps": [["1", "1", "51/50", "3", "1"]]},
            "not-applicable",
        ),
        *worst.grid_of(
            worst.clip21_descent,
            [{"L": L, "gamma L": step} for L, step in (("1", "1"), ("1", "1/2"), ("1", "1/64"), ("4", "1/2"))],
        ),
        *runs(ROUNDS, experiment),
        *runs(NOT_QUITE["descent"], experiment, "not-applicable"),
    ),
    smoke=("quadratics on the line", "convex, gamma L = 1", "quadratics, zero memories, short threshold"),
)

RESIDUAL: Statement = Statement(
    id="shulgin2025.clip21.residual",
    kind="step",
    source=Source(shu.PAPER, _WHERE, provenance="derived"),
    symbols=(_R, _GAMMA, *shu.symbols("tau", "L_max"), _ESTIMATE),
    expectations=(_RESIDUAL,),
    hypotheses=(shu.CLIENTS, _FIRST, _POSITIVE, shu.QUIET),
    sides=_residual_sides,
    checks=(
        Check(
            "exact",
            "clients on the line, all rounds",
            _residuals_on_the_line,
            {"clients": _CLIENTS_ON_THE_LINE, "runs": _RUNS, "rounds": 8},
        ),
        *worst.grid_of(
            worst.clip21_residual,
            [
                {"L": L, "tau": tau, "moved": moved}
                for L, tau, moved in (("1", "1/2", "1/4"), ("1", "1", "1"), ("4", "2", "1/2"), ("1", "1/16", "2"))
            ],
        ),
        *runs(ROUNDS, experiment),
        *runs(NOT_QUITE["residual"], experiment, "not-applicable"),
    ),
    uses=("shulgin2025.table1",),
)

INACTIVE_CLIPPING: Statement = Statement(
    id="shulgin2025.clip21.inactive",
    kind="step",
    source=Source(shu.PAPER, _WHERE, provenance="derived"),
    symbols=(_R, _GAMMA, *shu.symbols("gap", "tau", "L", "L_max")),
    expectations=(_RESIDUAL,),
    hypotheses=(_SMOOTH, shu.CLIENTS, _FIRST, _POSITIVE, _STEP, _STILL, shu.QUIET),
    sides=_inactive_sides,
    checks=(
        Check("algebra", "gradient descent lowers f", _moved, part=_LOWERS),
        Check("exact", "clients on the line", inactive_runs, _PATHS),
        Check("exact", "clients on the line against gradient descent", _gradient_descent, _PATHS, part=_SAME),
        *checks("exact", inactive_runs, _EDGES, dict.fromkeys(list(_EDGES)[1:], "not-applicable")),
        *worst.grid_of(
            worst.clip21_inactive,
            [
                {"smoothness": smoothness, "gamma L": step}
                for smoothness, step in ((["1"], "1"), (["4", "1"], "1"), (["1", "4"], "1/2"), (["4", "1", "1"], "1/4"))
            ],
        ),
        *runs(INACTIVE, experiment),
        *runs(NOT_QUITE["inactive"], experiment, "not-applicable"),
    ),
    uses=("shulgin2025.clip21.descent", "shulgin2025.clip21.residual"),
)

STATEMENTS = (DESCENT, RESIDUAL, INACTIVE_CLIPPING)
