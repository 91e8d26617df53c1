"""shulgin2025 Theorem 1 and Corollary 1: alpha-NormEC without noise, and its rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Case, Check, Hypothesis, Sides, Source, Statement, Symbol, Symbols, Values, battery
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, exact, special_form
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._line import LONG, UPHILL, largest_residual, runs_on_the_line
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, ROUND, accurate, fit
from dpfl_theory.statements.shulgin2025.appendix_d import after_update

AWAY = "memories that lead away from the optimum"

# Theorem 1.


def _sides(s: Symbols) -> Sides:
    return Sides(
        {"gradient": s.least},
        {"initialisation": s.gap / (s.gamma * (s.K + 1)), "memory": 2 * s.R, "curvature": s.L * s.gamma / 2},
    )


def _gained(s: Any) -> Any:
    return s.gap / (s.gamma * (s.K + 1)) + s.L * s.gamma / 2


@algebra("descent inequalities added up", letters="u")
def _angles_added_up(s: Formula, u: Any) -> Proof:
    """If min_k g_k > A, K + 1 descents f_{k+1} <= f_k - gamma sqrt(g_k^2 - A^2) + L gamma^2/2 give sqrt(min g_k^2 -
    A^2) = u <= gap/(gamma (K + 1)) + L gamma/2. Otherwise the bound exceeds min_k g_k <= A."""
    (found,) = sp.solve(s.gap - (s.K + 1) * (s.gamma * u - s.L * s.gamma**2 / 2), u)
    own = sp.sqrt(shu.largest_residual(s) ** 2 + found**2)
    return own, s.rhs, "the added descents, solved, and the sharpened bound"


@algebra("below the restored bound", letters="A")
def _below_printed(s: Formula, A: Any) -> Proof:
    """With A <= R and B the two other terms, (2R + B)^2 - (A^2 + B^2) = (2R - A)(2R + A) + 4 R B > 0. A <= R: g(R) = R
    - m, and the overshoot is below R by `after_update`."""
    sharpened = (s.rhs**2).subs(shu.largest_residual(s), A)
    slack = (2 * s.R - A) * (2 * s.R + A) + 4 * s.R * _gained(s)
    return sum(_sides(s).rhs.values()) ** 2 - sharpened, slack, "the squared bounds' difference"


_residuals = algebra(
    "residuals after the update",
    "It decides that residuals after the memories' update stay at most R; the other checks decide the descent.",
)(after_update)


def _on_the_line(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """min_k |f'(x^k)| after every round."""
    return [
        Values({**run.symbols, "K": K, "least": min(r.slope for r in run.rounds[: K + 1])}, {**run.symbols, "K": K})
        for run in runs_on_the_line(instance)
        for K in range(len(run.rounds))
    ]


LINE: dict[str, Any] = {
    "clients": [[["1"], ["0"]], [["1/2", "1", "1/4"], ["10", "-7", "1"]], [["4", "1"], ["-1", "3"]]],
    "runs": [
        *(["10", "0", "3/4", "1", ["1"]], ["9/4", "10", "10", "1", ["1"]], ["-6", "1", "1", "1", ["-1", "1/2"]]),
        *(["8", "1/4", "1", "1", ["1", "3/16", "-1/8"]], ["3", "3", "3", "1/2", ["1", "-1"]]),
    ],
    "rounds": 6,
}
"""As `runs_on_the_line` has them; too short for the restored bound, which is above |f'(x^0)| in all. A residual of 3/16
attains the largest overshoot for alpha = 1/16, beta = 1; from x^0 = 9/4 the only client's first bound is nearest to its
gradient."""
_NEAREST = {**LINE, "runs": [*LINE["runs"], ["1", "10", "10", "1", ["1"]]]}
"""With one client and alpha = beta = 100: the first gradient is 0.9999 of its bound."""


def _after_updates(most: str, at: Callable[[int], dict[str, Any]], bound: Callable[..., Fraction]) -> Check:
    """The residuals after every update against the bound of R, alpha and beta that the proof needs instead of
    Lemma 2; most: that bound's name, at: what names a round."""

    @exact(
        "residuals after the update of runs on the line",
        f"It decides the proof's condition on the memories, that each update leaves residuals of at most {most}; the "
        "bound itself is decided by the other checks.",
        **LINE,
    )
    def check(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
        for run in runs_on_the_line(instance):
            limit = bound(*(run.symbols[name] for name in ("R", "alpha", "beta")))
            yield from (Case({**run.symbols, **at(k)}, one.after, limit) for k, one in enumerate(run.rounds))

    return check


THEOREM1: Statement = shu.statement(
    id="shulgin2025.theorem1",
    kind="theorem",
    source=Source(shu.PAPER, "Theorem 1, Section 4", provenance="restored"),
    hypotheses=(shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.STEP, shu.ROUNDS, shu.QUIET),
    sides=_sides,
    checks=battery(
        # K + 1 descent inequalities f_{k+1} <= f_k - gamma g_k + 2 gamma R + L gamma^2/2, added up and divided.
        algebra("descent inequalities added up")(
            lambda s: (
                s.gap / (s.gamma * (s.K + 1)) + (2 * s.gamma * s.R + s.L * s.gamma**2 / 2) / s.gamma,
                *(s.rhs, "the mean of the descent inequalities and the restored bound"),
            )
        ),
        _residuals,
        _after_updates("R", lambda k: {"round": k + 1, "client": "the farthest"}, lambda R, alpha, beta: R),
        exact("long runs on the line", **LONG)(_on_the_line),
        exact(AWAY, **UPHILL)(_on_the_line),
        ROUND("theorem1", near="theorem1"),
        # R >= L gamma, as the limit of gamma implies; gradients so long that arbitrary steps would break the bound.
        worst.rounds_of("4 5 6 5 4 5", gradient="5", error="9/8"),
        worst.rounds_of("5 6 5 4 5 6", "4", gradient="5", error="17/16"),
        worst.rounds_of("4 5 4 7/2 4 9/2 4 7/2", gradient="4", error="65/64"),
        NORMALISE("quiet"),
    ),
    smoke=("one quadratic, first round only", "breast cancer sorted by label"),
    uses=("shulgin2025.lemma2", "shulgin2025.lemma2.repaired", "shulgin2025.descent"),
)

SHARPENED: Statement = replace(
    THEOREM1,
    id="shulgin2025.theorem1.sharpened",
    source=Source(shu.PAPER, "Theorem 1, Section 4"),
    sides=lambda s: Sides({"gradient": s.least}, {"bound": sp.sqrt(shu.largest_residual(s) ** 2 + _gained(s) ** 2)}),
    checks=battery(
        _angles_added_up,
        _below_printed,
        _residuals,
        exact("whole runs on the line", **_NEAREST)(_on_the_line),
        _after_updates("A", lambda k: {"K": k, "residual": "after the update"}, largest_residual),
        ROUND("theorem1", near="theorem1"),
        # ``error`` is A, which may be below L gamma: it is R/9 for alpha = beta = 8R. Estimates of sqrt(gradient^2 -
        # A^2) can form the largest angle.
        worst.rounds_of("1", build=worst.by_angles, gradient="1", error="1/64"),
        worst.rounds_of("1 1", build=worst.by_angles, gradient="1", error="1/64"),
        worst.rounds_of("2 31/16 33/16", build=worst.by_angles, gradient="2", error="1/8"),
        worst.rounds_of("1 1 1", build=worst.by_angles, gradient="5/4", error="3/4"),
        worst.rounds_of("2 3 2 3", "4", build=worst.by_angles, gradient="5/2", error="3/2"),
        NORMALISE("quiet sharp"),
    ),
    uses=("shulgin2025.lemma2.repaired", "shulgin2025.descent.sharpened"),
)

# Corollary 1.


def _rate(s: Symbols) -> Sides:
    terms = {"initialisation": s.gap / s.c, "memory": 2 * s.D, "curvature": s.L * s.c / 2}
    return Sides({"gradient": s.least}, {name: term / sp.sqrt(s.K + 1) for name, term in terms.items()})


def _flat(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """One client with Huber's function, L = gap = D = alpha = beta = 1, c = 1/2, zero memories: it keeps its slope t =
    1/sqrt(K + 1) over the whole distance gamma (K + 1), so that min_k |f'(x^k)| = t, compared with a bound of 17/4
    t."""
    for m in map(Fraction, instance["roots"]):  # of K + 1
        t, way, x = 1 / m, m / 2, m + 1 / (2 * m)  # f(x) = t x - t^2/2 = 1
        if x - way < t:
            raise ValueError(f"the run ends at {x - way}, below {t}, from where on the slope is no longer t")
        symbols = dict.fromkeys(("gap", "D", "alpha", "beta", "L", "L_max"), Fraction(1))
        symbols |= {"K": m**2 - 1, "R": t, "c": Fraction(1, 2), "gamma": 1 / (2 * m)}
        yield Values({**symbols, "least": t}, symbols)


def attained(
    share: Fraction, least: str, runs: Callable[..., Iterator[Values]], statement: Statement, instance: Any
) -> Iterator[Case]:
    """A share of the bound against the least gradients of runs."""
    for i in runs(statement, instance):
        bound = share * evaluate_side(statement, "rhs", i.symbol_values)
        yield Case(i.evidence_instance, bound, i.symbol_values[least])


# alpha = 1, beta = 1/4, K = 3: gamma = 1/12 is the limit, D beta/((alpha + D) L_max sqrt(K + 1)) at D = 2.
@exact(AWAY, **{**UPHILL, "runs": [["1/6", "1", "1/2", "2/3", ["1"]]]})
def _uphill(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """The last round of runs on the line whose memories lead away from the optimum: D = sqrt(K + 1), as R = 1."""
    return [Values(run.end, run.end) for run in runs_on_the_line(instance)]


_ROOTS: dict[str, Any] = {"roots": [1, 2, 10, 99]}

COROLLARY1: Statement = shu.statement(
    id="shulgin2025.corollary1",
    kind="corollary",
    source=Source(shu.PAPER, "Corollary 1, Section 4", provenance="restored"),
    symbols=shu.NOTATION(Symbol("c", r"step size times $\sqrt{K + 1}$", (0, 1), "positive", "c")),
    hypotheses=(
        *(shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.STEP, shu.ROUNDS, shu.QUIET, shu.ACCURATE),
        Hypothesis(
            lambda s: (sp.Eq(s.c, s.gamma * sp.sqrt(s.K + 1)), s.c <= shu.step_limit(s, s.D)),
            r"$\gamma \sqrt{K + 1} = c \le D \beta/((\alpha + D) L_\text{max})$",
        ),
    ),
    sides=_rate,
    checks=battery(
        special_form(
            *("Theorem 1 with R and gamma", THEOREM1, "with R = D/sqrt(K + 1), gamma = c/sqrt(K + 1)"),
            R=lambda s: s.D / sp.sqrt(s.K + 1),
            gamma=lambda s: s.c / sp.sqrt(s.K + 1),
        ),
        # Theorem 1's limit less Corollary 1's, over beta/L_max, with t = sqrt(K + 1) >= 1.
        algebra(
            "Theorem 1 allows the step",
            "It decides that Theorem 1 allows this step, so that its bound is available; the two sides are that "
            "bound's.",
            letters="alpha D t",
        )(
            lambda _, a, D, t: (
                D / t / (a + D / t) - D / ((a + D) * t),
                D**2 * (t - 1) / (t * (a + D) * (a * t + D)),
                "Theorem 1's limit of the step less this one",
            )
        ),
        # With c and D fixed, the bound's logarithm changes with that of K + 1 by -1/2, exactly.
        algebra("the exponent of K + 1")(
            lambda s: ((s.K + 1) * sp.diff(s.rhs, s.K), -s.rhs / 2, "the exponent of K + 1")
        ),
        exact("the slope stays 1/sqrt(K + 1)", **_ROOTS)(_flat),
        exact(
            "the order is attained where the slope stays 1/sqrt(K + 1)",
            "It decides that the order is attained: the runs' least gradient is at least 4/17 of the right side.",
            **_ROOTS,
        )(partial(attained, Fraction(4, 17), "least", _flat)),
        _uphill,
        ROUND("corollary1", near="corollary1", beyond="corollary1-outside"),
        # As Theorem 1's; R > L gamma, since D > L_max gamma sqrt(K + 1).
        worst.rounds_of("5 6 5 4 5 6", gradient="5", error="33/32"),
        worst.rounds_of("6 5 6 7 6 5 6 7", gradient="6", error="5/4"),
        NORMALISE.by(accurate)("accurate"),
        NORMALISE.by(fit)("exponents1"),
    ),
    uses=("shulgin2025.theorem1",),
)

STATEMENTS = (THEOREM1, SHARPENED, COROLLARY1)
