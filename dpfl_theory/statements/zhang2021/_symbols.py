"""The symbols of zhang2021, each mapped once to its meaning, unit and domain, and Theorem 3.1's limits of the steps.
The limits are given as printed, and as numbers that proofs, texts and runs read.

Equation (1) prints f as the sum of the f_i, Appendix A.1 uses their mean (the step to (15) writes grad f as (1/N) sum
grad f_i): here f is the mean throughout. x_t is the server's parameter, P_t the clients of round t, Delta_i an update.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from dpfl_theory.core import Expected, Hypothesis, Notation, Source, Statement, Symbol
from dpfl_theory.lazy import sympy as sp

PAPER = "zhang2021"


def source(where: str, equation: str = "", provenance: str = "read") -> Source:
    """A place in the paper."""
    return Source(PAPER, f"{where} (version dated June 28, 2021)", equation, provenance=provenance)


def _cohort_square(name: str, of: str, sent: str) -> Symbol:
    """E||(1/P) sum over the cohort||^2 of the messages, in words and in LaTeX."""
    latex = rf"\mathbb{{E}}\|\frac{{1}}{{P}}\sum_{{i \in P_t}} {sent}\|^2"
    return Symbol(name, rf"$E\|(1/P) \sum_{{i \in P_t}} {of}", (0, 2), "nonnegative", latex)


def _product(name: str, of: str, sent: str) -> Symbol:
    """<grad f(x_t), E (1/N) sum over the clients> of the messages."""
    latex = rf"\langle \nabla f(x_t), \mathbb{{E}}[\frac{{1}}{{N}}\sum_i {sent}] \rangle"
    meaning = rf"$\langle\nabla f(x_t), E (1/N) \sum_i {of}\text{{ times the update}}\rangle$"
    return Symbol(name, meaning, (1, 0), "real", latex)


def _completed_square(name: str, sign: str, called: str, latex: str) -> Symbol:
    """E||sqrt(Q) grad f(x_t) plus or minus (1/sqrt(Q)) (mean of the sums of the clients' local gradients)||^2."""
    mean = r"(1/\sqrt{Q})\text{ (mean of the sums of the clients' local gradients)}\|^2$"
    return Symbol(name, rf"{called}$E\|\sqrt{{Q}} \nabla f(x_t) {sign} {mean}", (2, -2), "nonnegative", latex)


_FIRST, _SECOND = r"(\Delta_i - \tilde{\Delta}_i)", r"(\tilde{\Delta}_i - \bar{\Delta}_i)"
_SUMS = r"\frac{1}{\sqrt{Q}}\frac{1}{\eta_l N \bar{\alpha}^t}\sum_i \breve{\Delta}_i"

# fmt: off
SYMBOLS = {
    s.name: s
    for s in (
        Symbol("N", "number of clients", (0, 0), "integer", "N"),
        Symbol("P", "clients in a round", (0, 0), "integer", "P"),
        Symbol("Q", "local steps in a round", (0, 0), "integer", "Q"),
        Symbol("T", "rounds", (0, 0), "integer", "T"),
        Symbol("d", "dimension", (0, 0), "integer", "d"),
        Symbol("L", "smoothness constant of every $f_i$", (1, -2), "positive", "L"),
        Symbol("G", "bound on the length of every stochastic gradient", (1, -1), "positive", "G"),
        Symbol("c", "clipping threshold of update differences", (0, 1), "positive", "c"),
        Symbol("eta_l", "local step size", (-1, 2), "positive", r"\eta_l"),
        Symbol("eta_g", "global step size", (0, 0), "positive", r"\eta_g"),
        Symbol("sigma_l", "root of the variance of a stochastic gradient", (1, -1), "nonnegative", r"\sigma_l"),
        Symbol("sigma_g", r"largest $\|\nabla f_i(x) - \nabla f(x)\|$", (1, -1), "nonnegative", r"\sigma_g"),
        Symbol("noise_variance", "variance of each coordinate of $z_i^t$", (0, 2), "nonnegative", r"\sigma^2"),
        Symbol("gap", "$f(x^0) - f^*$", (1, 0), "nonnegative", r"(f(x^0) - f^*)"),
        Symbol("c_prime", r"threshold over $\eta_l Q$, at least $G$", (1, -1), "positive", "c'"),
        Symbol("epsilon", "privacy budget", (0, 0), "positive", r"\varepsilon"),
        Symbol("delta", "privacy failure probability", (0, 0), "probability", r"\delta"),
        Symbol("mu", "strong convexity constant of f", (1, -2), "positive", r"\mu"),
        Symbol("D", r"initial distance $\|x^0 - x^*\|$", (0, 1), "nonnegative", r"\|x^0 - x^*\|"),
        Symbol("k", "factor of the third client's centre, $b_3 = k c$", (0, 0), "positive", "k"),
        Symbol("G_star", r"largest $\|\nabla f_i(x^*)\|$", (1, -1), "nonnegative", "G_*"),
        Symbol("u", r"constant of the range of $\varepsilon$", (0, 0), "positive", "u"),
        Symbol("v", "constant of the noise", (0, 0), "positive", "v"),
        Symbol("drawn", r"$\|\sum_q g_i^{t,q}\|$", (1, -1), "nonnegative", r"\|\sum_q g_i^{t,q}\|"),
        Symbol("mean", r"$\|E \sum_q g_i^{t,q}\|$", (1, -1), "nonnegative", r"\|\mathbb{E}[\sum_q g_i^{t,q}]\|"),
        Symbol("f_now", "$f(x_t)$", (1, 0), "real", r"f(x_t)"),
        Symbol("E_next", "$E f(x_{t+1})$ given $x_t$", (1, 0), "real", r"\mathbb{E} f(x_{t+1})"),
        Symbol("square", r"$\|\nabla f(x_t)\|^2$", (2, -2), "nonnegative", r"\|\nabla f(x_t)\|^2"),
        Symbol("alpha", r"the mean of the $\tilde\alpha_i$, written with a bar", (0, 0), "positive", r"\bar{\alpha}^t"),
        Symbol("local_square", r"$E\|(1/N) \sum_i \Delta_i\|^2$ of the updates with the gradients' means, $\bar\alpha$ "
               "times", (0, 2), "nonnegative", r"\mathbb{E}\|\frac{1}{N}\sum_i \breve{\Delta}_i\|^2"),
        Symbol("local_squares", r"$E \sum_i \|\Delta_i\|^2$ of the same updates", (0, 2), "nonnegative",
               r"\mathbb{E}\sum_i \|\breve{\Delta}_i\|^2"),
        _cohort_square("cohort_local", r"\Delta_i\|^2$ of the same updates", r"\breve{\Delta}_i"),
        _cohort_square("cohort_common", r"\Delta_i\|^2$ of the updates times $\bar\alpha$", r"\bar{\Delta}_i"),
        _cohort_square("cohort_clipped", r"\Delta_i\|^2$ of the clipped updates", r"\Delta_i"),
        _product("first_bias", r"(\alpha_i - \tilde\alpha_i)", _FIRST),
        _product("second_bias", r"(\tilde\alpha_i - \bar\alpha)", _SECOND),
        _product("common_product", r"\bar\alpha", r"\bar{\Delta}_i"),
        Symbol("cohort_product", r"$\langle\nabla f(x_t), E (1/P) \sum_{i \in P_t} \Delta_i\rangle$ of the clipped "
               "updates", (1, 0), "real",
               r"\langle \nabla f(x_t), \mathbb{E}[\frac{1}{P}\sum_{i \in P_t} \Delta_i] \rangle"),
        _cohort_square("first_spread", r"(\alpha_i - \tilde\alpha_i)\text{ times the update}\|^2$", _FIRST),
        _cohort_square("second_spread", r"(\tilde\alpha_i - \bar\alpha)\text{ times the update}\|^2$", _SECOND),
        _completed_square("far_square", "+", "", rf"\mathbb{{E}}\|\sqrt{{Q}}\nabla f(x_t) - {_SUMS}\|^2"),
        _completed_square("drift_square", "-", "$A_1$, ", r"A_1"),
    )
}


def _seen(name: str, observable: str, unit: tuple[int, int], latex: str, meaning: str, when: str = "mean",
          **more: bool) -> Expected:
    """The expectation of one observable."""
    return Expected(name, ((observable, 1),), unit, latex, meaning, when, **more)


def _deviation(power: str) -> str:
    """The mean over rounds and clients of the powers of the clipping factors' deviations."""
    own, mean = rf"|\alpha_i^t - \tilde{{\alpha}}_i^t|{power}", rf"|\tilde{{\alpha}}_i^t - \bar{{\alpha}}^t|{power}"
    return rf"\frac{{1}}{{T}}\sum_t \mathbb{{E}}[\frac{{1}}{{N}}\sum_i ({own} + {mean})]"


EXPECTED = {
    e.name: e
    for e in (
        _seen("E_aligned", "clipped-alignment", (2, -2),
              r"\frac{1}{T}\sum_t \mathbb{E}[\bar{\alpha}^t \|\nabla f(x^t)\|^2]",
              "squared gradient times the mean clipping factor, on average over the rounds"),
        _seen("E_gradient", "gradient-norm-squared", (2, -2),
              r"\frac{1}{T}\sum_t \mathbb{E} \|\nabla f(x^t)\|^2", "squared gradient, on average over the rounds"),
        _seen("gamma_1", "clipping-factor", (0, 0), r"\gamma_1(T)", "mean clipping factor over clients and rounds"),
        _seen("gamma_2", "clipping-factor-squared", (0, 0), r"\gamma_2(T)",
              "mean square of the clients' mean clipping factor over the rounds"),
        _seen("E_deviation", "clipping-factor-deviation", (0, 0), _deviation(""),
              r"deviation of the clipping factors; runs with full gradients have $\alpha_i = \tilde\alpha_i$"),
        _seen("E_square_deviation", "clipping-factor-variance", (0, 0), _deviation("^2"), "the same, squared"),
        _seen("E_distance", "distance-squared", (0, 2), r"\mathbb{E}\|x^T - x^*\|^2",
              "squared distance to the optimum after the last round", "end"),
        _seen("E_clipped_end", "suboptimality", (1, 0), r"f(x^T) - f^*",
              "suboptimality after the last round with clipped updates", "end"),
        _seen("E_plain_end", "suboptimality", (1, 0), r"f(y^T) - f^*", "the same of the original FedAvg", "end",
              rival=True),
    )
}
# fmt: on

_AFTER = r"; in a simulated round that starts at $x^*$ with $\eta_g = 1$, the squared distance from it"
EXPECTED |= {
    name: _seen(name, observable, s.unit, s.latex, s.meaning + more, when)
    for name, observable, more, when in (
        ("cohort_product", "descent-product", "", "mean"),
        ("common_product", "descent-product", "", "mean"),
        ("cohort_clipped", "distance-squared", _AFTER, "end"),
        ("cohort_common", "distance-squared", _AFTER, "end"),
        ("cohort_local", "distance-squared", _AFTER, "end"),
        ("E_next", "suboptimality", ", counted from $f^*$", "end"),
        ("drift_square", "local-mean-drift", "", "end"),
        ("local_squares", "local-updates-squared", "", "end"),
    )
    for s in (SYMBOLS[name],)
}


NOTATION = Notation((*SYMBOLS.values(), *EXPECTED.values()))
statement = partial(Statement, symbols=NOTATION)
"""A statement with the symbols and expectations that it reads."""


def proof_step(id_: str, **more: Any) -> Statement:
    """A step of the proof of Theorem 3.1, whose id begins with the number of its equation."""
    number = id_.removeprefix("zhang2021.eq").split(".")[0]
    return statement(id=id_, kind="step", source=source("Appendix A.1, proof of Theorem 3.1", number), **more)


# The limits of the steps.


@dataclass(frozen=True)
class StepLimits:
    r"""eta_l <= 1/(sqrt(local) QL) and eta_g eta_l <= min{P/(product QL), P/(pairs QL(P-1))}, all without a unit; lost:
    the L of P/(product QL) is missing, as in print.

    >>> print(StepLimits(60, 20).text)
    $\eta_g \eta_l \le \min\{P/(20QL), P/(6QL(P-1))\}$ and $\eta_l \le 1/(\sqrt{60} QL)$
    >>> StepLimits(60, 20)({"P": 1, "Q": 1, "L": 1, "eta_l": 0.5, "eta_g": 1})
    'eta_g eta_l = 0.5 exceeds P/(20 L Q) = 0.05'
    """

    local: int
    product: int
    pairs: int = 6
    lost: bool = False

    @property
    def texts(self) -> tuple[str, str, str]:
        """The three limits in LaTeX: of eta_l, and both of eta_g eta_l."""
        L = "" if self.lost else "L"
        return rf"1/(\sqrt{{{self.local}}} QL)", f"P/({self.product}Q{L})", f"P/({self.pairs}QL(P-1))"

    def local_relation(self, s: Any) -> Any:
        """The limit of eta_l."""
        return s.eta_l <= 1 / (sp.sqrt(self.local) * s.Q * s.L)

    def relations(self, s: Any) -> tuple[Any, ...]:
        """All limits, without the quotient that P = 1 does not have."""
        product = s.eta_g * s.eta_l
        first = product <= s.P / (self.product * s.Q * (1 if self.lost else s.L))
        return first, self.pairs * s.Q * s.L * (s.P - 1) * product <= s.P, self.local_relation(s)

    @property
    def text(self) -> str:
        local, product, pairs = self.texts
        return rf"$\eta_g \eta_l \le \min\{{{product}, {pairs}\}}$ and $\eta_l \le {local}$"

    def __call__(self, v: Mapping[str, Any]) -> str | None:
        """Why the steps are outside the limits, without a slack for rounding; None if they are not."""
        return Hypothesis(self.relations, rounding=0).test(None, v)


printed_limits = StepLimits(local=60, product=48, lost=True)
repaired_limits = StepLimits(local=120, product=120)
sharpened_limits = StepLimits(local=60, product=20)

LOCAL_STEP = Hypothesis(printed_limits.local_relation, rf"$\eta_l \le {printed_limits.texts[0]}$")
COHORT = Hypothesis(lambda s: (s.P >= 1, s.P <= s.N), "exactly $P$ of the $N$ clients take part in every round")
SMOOTH = Hypothesis(lambda s, c: c.L_max <= s.L, "every $f_i$ is $L$-smooth")
SMOOTH_BY_CONSTRUCTION = replace(SMOOTH, constructed="the exact instances have curvatures of at most L")
UNCLIPPED = Hypothesis(lambda s: s.c_prime >= s.G, r"$c' \ge G$")


@cache
def steps(limits: StepLimits) -> Hypothesis:
    """The limits of the steps, up to rounding."""
    return Hypothesis(limits.relations, limits.text)


def hypotheses(limits: StepLimits, smooth: Hypothesis = SMOOTH) -> tuple[Hypothesis, ...]:
    """The hypotheses of Theorem 3.1, with these limits of the steps."""
    return steps(limits), COHORT, smooth


# The range in which the repaired Theorem 3.2's noise is enough.

MOST = 0.5
"""The range of epsilon/ln(1/delta)."""
LEAST_ROUNDS = 80
"""The least number of rounds over ln(1/delta)."""
RANGE = Hypothesis(
    lambda s: (s.epsilon > 0, s.epsilon <= sp.Min(s.P**2 * s.T / s.N**2, sp.Rational(MOST) * sp.log(1 / s.delta))),
    r"$0 < \varepsilon \le \min\{(P/N)^2 T, \ln(1/\delta)/2\}$",
)
LONG = Hypothesis(lambda s: s.T >= LEAST_ROUNDS * sp.log(1 / s.delta), r"$T \ge 80 \ln(1/\delta)$")
