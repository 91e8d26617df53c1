"""The symbols of noble2022's utility analysis (Appendix C): of the theorems, and of the lemmas that bound one round;
their hypotheses, and the expectations that runs observe.

E is the excess of loss, and O hides an unknown constant c. Sigma is the paper's Sigma_g(C) = 2 C sqrt(2d) sigma_g/(sR).
(The text says that N(0, I_d) has variance 2d, where it has d; a constant factor does not matter.) The weights w_t of
the averaged output are read as nonnegative with sum 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Expected, Hypothesis, Source, Symbol, by_construction, whole
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import REFERENCE

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

PAPER = REFERENCE.id
ROUND_PART = (
    "It decides the inequality that one round must keep so that T rounds add up to the bound; the algebra of the step "
    "size decides that they do."
)
"""The part that checks of one round of a theorem decide."""

_GAP = r"(\mathbb{E}[F(x^{t-1})] - F(x^*))"
_GRADIENT = r"\mathbb{E}\|\nabla F(\overline{x}^T)\|^2"
_NOISE = r"root mean square of a step's noise, $2 C \sqrt{2d} \sigma_g/(sR)$"
_ALL = (
    Symbol("excess", r"$E F(\bar x^T) - F(x^*)$", (1, 0), "nonnegative", r"(\mathbb{E}[F(\overline{x}^T)] - F(x^*))"),
    Symbol("gradient", r"$E\|\nabla F(\bar x^T)\|^2$", (2, -2), "nonnegative", _GRADIENT),
    Symbol("c", "the constant that $O$ hides", (0, 0), "positive", "c"),
    Symbol("eta_g", "global step size", (0, 0), "positive", r"\eta_g"),
    Symbol("eta_l", "local step size", (-1, 2), "positive", r"\eta_l"),
    Symbol("nu", "smoothness constant of every $F_i$", (1, -2), "positive", r"\nu"),
    Symbol("mu", "strong convexity constant of every $F_i$", (1, -2), "positive", r"\mu"),
    Symbol("M", "number of users", (0, 0), "integer", "M"),
    Symbol("l", "share of the users in a round", (0, 0), "probability", "l"),
    Symbol("R", "records of a user", (0, 0), "integer", "R"),
    Symbol("s", "share of the records in a local step", (0, 0), "probability", "s"),
    Symbol("K", "local steps in a round", (0, 0), "integer", "K"),
    Symbol("T", "rounds", (0, 0), "integer", "T"),
    Symbol("varsigma", "root of the variance of one record's gradient", (1, -1), "nonnegative", r"\varsigma"),
    Symbol("Sigma", _NOISE, (1, -1), "positive", r"\Sigma_g(C)"),
    Symbol("D0", r"initial distance $\|x^0 - x^*\|$", (0, 1), "nonnegative", "D_0"),
    Symbol("F0", "$F(x^0) - F(x^*)$", (1, 0), "nonnegative", "F_0"),
    Symbol("G", "dissimilarity of the gradients, constant part", (1, -1), "nonnegative", "G"),
    Symbol("B", "dissimilarity of the gradients, proportional part", (0, 0), "positive", "B"),
    Symbol("eta", r"global step size $K \eta_l \eta_g$", (-1, 2), "positive", r"\tilde{\eta}"),
    Symbol("alpha", "exponent of $l$ in the step size", (0, 0), "positive", r"\alpha"),
    Symbol("move", r"$E\|x^t - x^{t-1}\|^2$", (0, 2), "nonnegative", r"\mathbb{E}\|x^t - x^{t-1}\|^2"),
    Symbol("drift", r"user drift, the mean of $E\|y_i^k - x^{t-1}\|^2$", (0, 2), "nonnegative", r"\mathcal{E}_t"),
    Symbol("lag", "control lag before the round", (0, 2), "nonnegative", r"\mathcal{F}_{t-1}"),
    Symbol("lag_after", "control lag after the round", (0, 2), "nonnegative", r"\mathcal{F}_t"),
    Symbol("gap", "$E F(x^{t-1}) - F(x^*)$", (1, 0), "nonnegative", _GAP),
    Symbol("slope", r"$E\|\nabla F(x^{t-1})\|^2$", (2, -2), "nonnegative", r"\mathbb{E}\|\nabla F(x^{t-1})\|^2"),
    Symbol("distance", r"$E\|x^{t-1} - x^*\|^2$", (0, 2), "nonnegative", r"\mathbb{E}\|x^{t-1} - x^*\|^2"),
    Symbol("distance_after", r"$E\|x^t - x^*\|^2$", (0, 2), "nonnegative", r"\mathbb{E}\|x^t - x^*\|^2"),
)
SYMBOLS = {symbol.name: symbol for symbol in _ALL}
VARIANCE = ("varsigma", "s", "R", "Sigma")
COHORT = ("K", "l", "M")
SLACK = 1e-9
"""The rounding error that a constant of a problem, or a rate times a number, may have, relative to it."""


_KINDS = {"claim": "corollary", "eq": "step"}
_PARTS = {"strongly-convex": " (1)", "convex": " (2)", "non-convex": " (3)"}
_NAME = re.compile(r"([a-z]+)([A-Z]?[.\d]*\d)(?:\.([a-z-]+))?")


def named(id_: str, where: str = "", provenance: str = "read") -> dict[str, Any]:
    """Id, kind and source of a statement, from its id and the paper's contents; where: its place, if that says more.

    >>> found = named("noble2022.theoremC.1.convex.repaired")
    >>> found["id"], found["kind"], found["source"].where
    ('noble2022.theoremC.1.convex.repaired', 'theorem', 'Theorem C.1 (2), Appendix C.2')
    """
    found = _NAME.match(id_.removeprefix(f"{PAPER}."))
    assert found is not None, id_
    word, number, part = found.groups()
    chapter, equation = REFERENCE.place(id_)[1], f"({number})" if word == "eq" else ""
    usual = chapter if equation else f"{word.capitalize()} {number}{_PARTS.get(part, '')}, {chapter}"
    source = Source(PAPER, where or usual, equation, provenance=provenance)
    return {"id": id_, "kind": _KINDS.get(word, word), "source": source}


def symbols(*names: str) -> tuple[Symbol, ...]:
    """The symbols with these names, in this order."""
    return tuple(SYMBOLS[name] for name in names)


def deviation(s: Mapping[str, Any]) -> Any:
    """varsigma/sqrt(sR) + Sigma_g, from sympy symbols."""
    return s["varsigma"] / sp.sqrt(s["s"] * s["R"]) + s["Sigma"]


def variance(s: Mapping[str, Any]) -> Any:
    """varsigma^2/(sR) + Sigma_g^2(C)."""
    return s["varsigma"] ** 2 / (s["s"] * s["R"]) + s["Sigma"] ** 2


def averaged(s: Mapping[str, Any]) -> Any:
    """(varsigma^2/(sR) + Sigma_g^2(C))/(KlM)."""
    return variance(s) / (s["K"] * s["l"] * s["M"])


def shared(s: Mapping[str, Any]) -> Any:
    """1 + lM/eta_g^2."""
    return 1 + s["l"] * s["M"] / s["eta_g"] ** 2


def logarithm(s: Mapping[str, Any], W: Any) -> Any:
    """L = ln max(e, mu^2 D_0^2 T/W), from sympy symbols."""
    return sp.log(sp.Max(sp.E, s["mu"] ** 2 * s["D0"] ** 2 * s["T"] / W))


def _dissimilar(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    """B >= 1, and the inequality at x*, where grad F = 0: a test that may refuse, and proves nothing elsewhere."""
    if values["B"] < 1:
        return f"B = {values['B']} is below 1"
    if problem is None or problem.constants.w_star is None:
        return None
    least = float((problem.gradients_at_star**2).sum(axis=1).mean())
    if least <= values["G"] ** 2 * (1 + SLACK) + SLACK**2:  # x* is known up to a gradient of 1e-10
        return None
    return f"at x* the mean of ||grad F_i||^2 is {least:.6g}, above G^2 = {values['G'] ** 2:.6g}"


def enough_take_part(s: Any) -> tuple[Any, ...]:
    """The relations that at least one user takes part in a round, and at least one record in a local step."""
    return s.l > 0, s.l <= 1, s.l * s.M >= 1, s.s > 0, s.s <= 1, s.s * s.R >= 1


SAMPLING = Hypothesis(
    enough_take_part, r"$lM \ge 1$ users in a round and $sR \ge 1$ records in a local step", rounding=SLACK
)
ROUNDS = Hypothesis(lambda s: s.T >= 1)
SMOOTH = Hypothesis(
    lambda s, c: c.L_max <= s.nu, r"each $F_i$ is $\nu$-smooth (Assumption 2)", partial=("nu",), rounding=SLACK
)
SMOOTH_BY_CLASS = replace(
    SMOOTH, constructed="worst cases are over nu-smooth functions, and exact instances have curvatures of at most nu"
)
"""The same for statements without runs."""
SMOOTH_AT_A_POINT = replace(
    SMOOTH, constructed="neither side has nu: at one point the gradients of smooth records may be any vectors"
)
GRADIENTS = Hypothesis(
    lambda s, c: c.G_record <= s.C,
    r"unbiased stochastic gradients, variance at most $\varsigma^2$, never clipped (Assumption 3)",
    "the threshold of every run is the longest gradient, or far above those of the run; exact rounds and worst cases "
    "have no threshold",
    partial=("C",),
    rounding=SLACK,
)
CONVEX = Hypothesis(
    lambda s, c: c.mu_min >= -SLACK * c.L_max,
    "each $F_i$ is convex",
    "the objectives are Huber or logistic losses, convex functions of a class, or quadratics of no negative curvature",
)
STRONGLY_CONVEX = Hypothesis(
    lambda s, c: (s.mu > 0, c.mu_min >= s.mu), r"each $F_i$ is $\mu$-strongly convex, $\mu > 0$", rounding=SLACK
)
WARM = Hypothesis.custom("the first control variates are noisy gradients at $x^0$", by_construction)
DISSIMILAR = Hypothesis.custom(
    r"$(1/M) \sum_i \|\nabla F_i\|^2 \le G^2 + B^2 \|\nabla F\|^2$ everywhere, $B \ge 1$ (Assumption 4)", _dissimilar
)
WHOLE = Hypothesis(
    lambda s: (*enough_take_part(s), whole(s.l * s.M), whole(s.s * s.R)),
    "$lM$ users take part in a round and a local step uses $sR$ records, both whole numbers",
    rounding=SLACK,
)
RECORDS = Hypothesis(
    lambda s: (s.s > 0, s.s <= 1, s.s * s.R >= 1, whole(s.s * s.R)),
    r"$sR$ is a whole number of records: Algorithm 1 draws $\lfloor sR\rfloor$ of them and divides by $sR$",
    rounding=SLACK,
)
GLOBAL = Hypothesis(lambda s: s.eta_g >= 1)
MINIMISER = Hypothesis.custom("$x^*$ is a minimiser of $F$", by_construction)
LONG_ENOUGH = Hypothesis(
    lambda s: s.T >= sp.Max(108 / s.l, 48 * s.nu / (s.mu * s.l ** sp.Rational(2, 3))),
    r"$T \ge \max(108/l, 48 \nu/(\mu l^{2/3}))$",
)
LONG_ENOUGH_FEDAVG = Hypothesis(lambda s: s.T >= 8 * (1 + s.B**2) * s.nu / s.mu, r"$T \ge 8 (1 + B^2) \nu/\mu$")

APART = Hypothesis(lambda s: s.D0 > 0, "$D_0 > 0$")
AWAY = Hypothesis(lambda s: s.F0 > 0, "$x^0$ is not a minimiser of $F$")


_OBSERVABLES = {
    **{"excess": "suboptimality", "gap": "suboptimality"},
    **{"gradient": "gradient-norm-squared", "slope": "gradient-norm-squared"},
    **{"move": "scaffold-move", "lag_after": "scaffold-lag", "drift": "scaffold-drift"},
    **{"distance_after": "distance-squared", "error": "scaffold-gradient-error", "spread": "scaffold-control-error"},
    **{"sum_squared": "scaffold-gradient-sum", "means_squared": "scaffold-true-gradient-sum"},
}


def expected(name: str, meaning: str, when: str = "mean", latex: str = "") -> Expected:
    """An expectation of the observable that belongs to its name; latex: if it is not that of the symbol."""
    symbol = SYMBOLS.get(name)
    unit, usual = (symbol.unit, symbol.latex) if symbol else ((2, -2), "")
    return Expected(name, ((_OBSERVABLES[name], 1),), unit, latex or usual, meaning, when)


def of_round(symbols: tuple[Symbol, ...], *observed: str) -> dict[str, Any]:
    """Symbols and expectations of a statement of which some symbols are observed, for its constructor."""
    found = (expected(name, f"{SYMBOLS[name].meaning} of the round that is run", "end") for name in observed)
    return {"symbols": tuple(s for s in symbols if s.name not in observed), "expectations": tuple(found)}


OUTPUT_EXCESS = expected("excess", r"$E F(\bar x^T) - F(x^*)$ of the run's output", "end")
OUTPUT_GRADIENT = expected("gradient", r"$E\|\nabla F(\bar x^T)\|^2$ of the run's output", "end")
MEAN_EXCESS = expected(
    "excess",
    "mean excess of the iterates that the rounds start from",
    latex=r"\frac{1}{T}\sum_t \mathbb{E}(F(x^t) - F^*)",
)
MEAN_SLOPE = expected(
    "slope",
    "mean squared gradient at the iterates that the rounds start from",
    latex=r"\frac{1}{T}\sum_t \mathbb{E}\|\nabla F(x^t)\|^2",
)
