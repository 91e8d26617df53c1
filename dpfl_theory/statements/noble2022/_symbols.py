"""The symbols of noble2022, each mapped once to its meaning, unit and domain; its expectations, each mapped once to the
observable that simulations take for it; and the hypotheses of its utility analysis (Appendix C).

E is the excess of loss, and O hides an unknown constant c. Sigma is the paper's Sigma_g(C) = 2 C sqrt(2d) sigma_g/(sR).
(The text says that N(0, I_d) has variance 2d, where it has d; a constant factor does not matter.) The weights w_t of
the averaged output are read as nonnegative with sum 1.

Privacy depends on the noise only through sigma_g, its standard deviation over the largest change 2C/(sR) that one
record makes in one local step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Expected, Hypothesis, Notation, Source, Statement, Symbol, by_construction, whole
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
_NOISE = r"root mean square of a step's noise, $2 C \sqrt{2d} \sigma_g/(sR)$"
# fmt: off
_ALL = (
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
    Symbol("C", "threshold of the records' gradients", (1, -1), "positive", r"\mathcal{C}"),
    Symbol("d", "number of parameters", (0, 0), "integer", "d"),
    Symbol("varsigma", "root of the variance of one record's gradient", (1, -1), "nonnegative", r"\varsigma"),
    Symbol("Sigma", _NOISE, (1, -1), "positive", r"\Sigma_g(C)"),
    Symbol("D0", r"initial distance $\|x^0 - x^*\|$", (0, 1), "nonnegative", "D_0"),
    Symbol("F0", "$F(x^0) - F(x^*)$", (1, 0), "nonnegative", "F_0"),
    Symbol("slope0", r"$\|\nabla F(x^0)\|^2$", (2, -2), "nonnegative", r"\|\nabla F(x^0)\|^2"),
    Symbol("G", "dissimilarity of the gradients, constant part", (1, -1), "nonnegative", "G"),
    Symbol("B", "dissimilarity of the gradients, proportional part", (0, 0), "positive", "B"),
    Symbol("eta", r"global step size $K \eta_l \eta_g$", (-1, 2), "positive", r"\tilde{\eta}"),
    Symbol("lag", "control lag before the round", (0, 2), "nonnegative", r"\mathcal{F}_{t-1}"),
    Symbol("gap", "$E F(x^{t-1}) - F(x^*)$", (1, 0), "nonnegative", _GAP),
    Symbol("slope", r"$E\|\nabla F(x^{t-1})\|^2$", (2, -2), "nonnegative", r"\mathbb{E}\|\nabla F(x^{t-1})\|^2"),
    Symbol("distance", r"$E\|x^{t-1} - x^*\|^2$", (0, 2), "nonnegative", r"\mathbb{E}\|x^{t-1} - x^*\|^2"),
    Symbol("sigma_A", "root of the bound of the variances", (1, -1), "nonnegative", r"\sigma_A"),
    Symbol("epsilon", "privacy budget", (0, 0), "positive", r"\epsilon"),
    Symbol("delta", "privacy failure probability", (0, 0), "probability", r"\delta"),
    Symbol("epsilon_bar", "privacy budget of the composition", (0, 0), "positive", r"\overline{\epsilon}"),
    Symbol("delta_prime", "slack of the composition", (0, 0), "probability", r"\delta'"),
    Symbol("delta_bar", "privacy failure probability of the composition", (0, 0), "probability", r"\overline{\delta}"),
    Symbol("delta_q", "privacy failure probability after subsampling", (0, 0), "probability", r"q\delta"),
    Symbol("epsilon_prime", "privacy budget after subsampling", (0, 0), "positive", r"\epsilon'"),
    Symbol("q", "subsampling ratio $m/n$", (0, 0), "probability", "q"),
    Symbol("alpha", "order of a Renyi divergence", (0, 0), "positive", r"\alpha"),
    Symbol("lambda", r"$\alpha - 1$", (0, 0), "positive", r"\lambda"),
    Symbol("rdp", "smallest Renyi budget of the mechanism", (0, 0), "positive", r"\epsilon_M(\alpha)"),
    Symbol("cgf", "cumulant generating function of the privacy loss", (0, 0), "positive", r"K_M(\lambda)"),
    Symbol("cgf_floor", "the same at the next integer below", (0, 0), "nonnegative", r"K_M(\lfloor\lambda\rfloor)"),
    Symbol("cgf_ceiling", "the same at the next integer above", (0, 0), "positive", r"K_M(\lceil\lambda\rceil)"),
    Symbol("sigma_g", "standard deviation of the noise over the sensitivity", (0, 0), "positive", r"\sigma_g"),
    Symbol("u", "the constant of the hypotheses and of the noise", (0, 0), "positive", "u"),
    Symbol("v", "the constant of the guarantee", (0, 0), "positive", "v"),
    Symbol("epsilon_s", "privacy budget towards the server", (0, 0), "positive", r"\epsilon_s"),
    Symbol("x", r"share of $\delta$ that goes into the conversion", (0, 0), "probability", "x"),
    Symbol("epsilon_a", r"$K \varepsilon''(\alpha, \sigma_g^2) + \log(T/(x \delta))/(\alpha - 1)$", (0, 0), "positive",
        r"\epsilon_a"),
    Symbol("rdp_1", "Renyi budget of $M_1$", (0, 0), "positive", r"\epsilon_1"),
    Symbol("rdp_2", "Renyi budget of $M_2$", (0, 0), "positive", r"\epsilon_2"),
    Symbol("rdp_q", "smallest Renyi budget of the subsampled mechanism", (0, 0), "positive", r"\epsilon'(\alpha)"),
    Symbol("rdp_floor", "the bound of Lemma B.7 at the integer below", (0, 0), "positive",
        r"\epsilon'(\lfloor\alpha\rfloor)"),
    Symbol("rdp_ceiling", "the same at the integer above", (0, 0), "positive", r"\epsilon'(\lceil\alpha\rceil)"),
    Symbol("rest", r"the terms $j = 3, \dots, \alpha$", (0, 0), "nonnegative",
        r"\sum_{j=3}^{\alpha} 2 q^j \binom{\alpha}{j} e^{j(j-1)/2\sigma_g^2}"),
    Symbol("rdp_step", r"$\varepsilon''$ of equation (8) at $\sigma_g^2$", (0, 0), "positive",
        r"\epsilon''(\alpha, \sigma_g^2)"),
)
SYMBOLS = {symbol.name: symbol for symbol in _ALL}


def observed(name: str, observable: str, unit: tuple[int, int], latex: str, meaning: str,
             when: str = "end") -> Expected:
    """The expectation of one observable."""
    return Expected(name, ((observable, 1),), unit, latex, meaning, when)


def _of_round(name: str, observable: str, latex: str, meaning: str) -> Expected:
    return observed(name, observable, (0, 2), latex, f"{meaning} of the round that is run")


_EXPECTED = (
    observed("excess", "suboptimality", (1, 0), r"(\mathbb{E}[F(\overline{x}^T)] - F(x^*))",
        r"$E F(\bar x^T) - F(x^*)$ of the run's output"),
    observed("gradient", "gradient-norm-squared", (2, -2), r"\mathbb{E}\|\nabla F(\overline{x}^T)\|^2",
        r"$E\|\nabla F(\bar x^T)\|^2$ of the run's output"),
    _of_round("move", "scaffold-move", r"\mathbb{E}\|x^t - x^{t-1}\|^2", r"$E\|x^t - x^{t-1}\|^2$"),
    _of_round("distance_after", "distance-squared", r"\mathbb{E}\|x^t - x^*\|^2", r"$E\|x^t - x^*\|^2$"),
    _of_round("lag_after", "scaffold-lag", r"\mathcal{F}_t", "control lag after the round"),
    _of_round("drift", "scaffold-drift", r"\mathcal{E}_t", r"user drift, the mean of $E\|y_i^k - x^{t-1}\|^2$"),
    observed("error", "scaffold-gradient-error", (2, -2),
        r"\mathbb{E}\|\tilde{H}_i^k(y_i^{k-1}) - \nabla F_i(y_i^{k-1})\|^2",
        r"squared length of $\tilde H_i^k(y) - \nabla F_i(y)$"),
    observed("spread", "scaffold-control-error", (2, -2),
        r"\mathbb{E}[\|\frac{1}{lM}\sum_{i \in C^t} c_i^t - \mathbb{E}[c_i^t]\|^2 | C^t]",
        "squared length of the cohort's mean of $c_i^t - E[c_i^t]$, given $C^t$ and $x^{t-1}$"),
    observed("sum_squared", "scaffold-gradient-sum", (2, -2), r"\mathbb{E}\|\sum_{i=1}^n A_i\|^2",
        r"$\|A_1 + \dots + A_n\|^2$; a run's $A_i$ are a user's noisy gradients $\tilde H(y^0), \dots, "
        r"\tilde H(y^{K-1})$"),
    observed("means_squared", "scaffold-true-gradient-sum", (2, -2), r"\mathbb{E}\|\sum_{i=1}^n a_i\|^2",
        r"$\|a_1 + \dots + a_n\|^2$; a run's $a_i$ are the gradients at $y^0, \dots, y^{K-1}$"),
)


NOTATION = Notation((*_ALL, *_EXPECTED))
statement = partial(Statement, symbols=NOTATION)
"""A statement with the symbols and expectations that it reads."""


def _means(mean: str, x: str, of: str, at: str) -> Notation:
    return NOTATION(
        observed("excess", "suboptimality", (1, 0), rf"{mean} \mathbb{{E}}(F({x}) - F^*)", f"mean excess {of}", "mean"),
        observed("slope", "gradient-norm-squared", (2, -2), rf"{mean} \mathbb{{E}}\|\nabla F({x})\|^2",
            f"mean squared gradient {at}", "mean"),
    )


_STARTS, _WARM = "the iterates that the rounds start from", "over the warm round and the $T$ rounds"
MEANS = _means(r"\frac{1}{T}\sum_t", "x^t", f"of {_STARTS}", f"at {_STARTS}")
"""The notation of statements whose excess and slope are means over the rounds; `WARM_MEANS`: also over the warm one."""
WARM_MEANS = _means(r"\frac{1}{T+1}\sum_k", "w_k", _WARM, _WARM)
# fmt: on


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
