"""The symbols of shulgin2025's convergence analysis, each mapped once to its meaning, unit and domain.

With server normalisation the step gamma is a length. L is a smoothness constant of f (here L_f), L_max the largest one
of the f_i; alpha, beta and the memories v_i have the gradient's unit, and the noise has no unit.

Hypotheses are tested on the actual run: its values are taken from the algorithm and the problem. ``residual_0``, which
is not a symbol, is its max_i ||grad f_i(x^0) - v_i^0||. Without a run (a recommendation) R is taken as given.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dpfl_theory.core import Expected, Hypothesis, Notation, Statement, Symbol, whole
from dpfl_theory.lazy import sympy as sp

PAPER = "shulgin2025"
_CLOSE = 1e-9
"""Relative difference of two numbers that are computed in different ways and count as equal."""

_ALL = (
    Symbol("gap", r"$f(x^0) - f_\text{inf}$", (1, 0), "positive", r"(f(x^0) - f^{\inf})"),
    Symbol("gamma", "step size after server normalisation", (0, 1), "positive", r"\gamma"),
    Symbol("K", "index of the last round; there are $K + 1$", (0, 0), "nonnegative", "K"),
    Symbol("R", r"$\max_i \|\nabla f_i(x^0) - v_i^0\|$", (1, -1), "positive", "R"),
    Symbol("D", r"$R$ times $\sqrt{K + 1}$", (1, -1), "positive", "D"),
    Symbol("tau", "clipping threshold", (1, -1), "positive", r"\tau"),
    Symbol("alpha", "smoothing of the normalisation", (1, -1), "nonnegative", r"\alpha"),
    Symbol("beta", "step of the memories", (1, -1), "positive", r"\beta"),
    Symbol("beta_0", "step of the memories times $K + 1$", (1, -1), "positive", r"\beta_0"),
    Symbol("L", "smoothness constant of $f$", (1, -2), "positive", "L"),
    Symbol("L_max", "largest smoothness constant of the $f_i$", (1, -2), "positive", r"L_{\max}"),
    Symbol("n", "number of clients", (0, 0), "integer", "n"),
    Symbol("d", "dimension", (0, 0), "integer", "d"),
    Symbol("sigma", "standard deviation of each coordinate of a client's noise", (0, 0), "nonnegative", r"\sigma"),
    Symbol("c", r"the constant that the order of $\sigma$ hides", (0, 0), "positive", "c"),
    Symbol("epsilon", "privacy budget", (0, 0), "positive", r"\varepsilon"),
    Symbol("delta", "privacy failure probability", (0, 0), "probability", r"\delta"),
    Symbol("m", "minimiser of $f_1$ and $f_2$; that of $f_3$ is -2m", (0, 1), "positive", "m"),
    Symbol("k", "number of updates", (0, 0), "nonnegative", "k"),
    Symbol("v", "square of the constant that $O$ hides", (0, 0), "positive", "v"),
    Symbol("u", r"constant of the range of $\varepsilon$ in Theorem 1 of Abadi et al.", (0, 0), "positive", "u"),
)
SYMBOLS = {symbol.name: symbol for symbol in _ALL}


def norm(name: str, latex: str, meaning: str = "") -> Symbol:
    """The length of a vector in the gradient's unit."""
    return Symbol(name, meaning or f"${latex}$".replace("mathrm", "operatorname"), (1, -1), "nonnegative", latex)


_LENGTHS = (
    norm("slope", r"\|\nabla f(x^k)\|"),
    norm("r", r"\|g\|"),
    *(norm(name, rf"\|v^{now} - g^*\|") for name, now in (("r_0", "0"), ("r_k", "k"), ("r_next", "{k+1}"))),
)


def _least(name: str, latex: str, meaning: str) -> Expected:
    return Expected(name, (("gradient-norm", 1),), (1, -1), latex, meaning, when="least")


LEAST = _least(
    "least", r"\min_k \|\nabla f(x^k)\|", r"$\min_k \|\nabla f(x^k)\|$ over $k = 0$..K, of a run without noise"
)
E_LEAST = _least("E_least", r"\min_k \mathbb{E}\|\nabla f(x^k)\|", r"$\min_k E\|\nabla f(x^k)\|$ over $k = 0$..K")


def at_the_end(name: str, observable: str, unit: tuple[int, int], latex: str, meaning: str) -> Expected:
    """An expectation after the last round."""
    return Expected(name, ((observable, 1),), unit, latex, meaning, when="end")


def next_residual(meaning: str) -> Expected:
    """The left side of Lemma 2, and of Clip21's."""
    latex = r"\max_i \|\nabla f_i(x^{k+1}) - v_i^{k+1}\|"
    return at_the_end("residual", "largest-residual", (1, -1), latex, f"the largest residual after {meaning}")


GAP_AFTER = at_the_end("gap_after", "suboptimality", (1, 0), r"(f(x^{k+1}) - f^{\inf})", r"$f(x^{k+1}) - f_\text{inf}$")
GAP_OF_ROUND = Symbol("gap", r"$f(x^k) - f_\text{inf}$", (1, 0), "nonnegative", r"(f(x^k) - f^{\inf})")


BOUND = Symbol("R", r"a bound of the residuals $\|\nabla f_i(x^k) - v_i^k\|$", (1, -1), "positive", "R")
SCALE = Symbol("R", r"the length in the limits of $\beta$ and $\gamma$", (1, -1), "positive", "R")
"""R of Lemma 2, as restored and as repaired."""


NOTATION = Notation((*_ALL, *_LENGTHS, LEAST, E_LEAST, GAP_AFTER))
statement = partial(Statement, symbols=NOTATION)
"""A statement with the symbols and expectations that it reads."""


def step_limit(s: Any, radius: Any) -> Any:
    """beta R/((alpha + R) L_max) with this radius for R."""
    return s.beta * radius / ((s.alpha + radius) * s.L_max)


def overshoot(s: Any) -> Any:
    """q = max(0, sqrt(beta) - sqrt(alpha))^2, the most by which an update of the memories overshoots."""
    return sp.Max(0, sp.sqrt(s.beta) - sp.sqrt(s.alpha)) ** 2


def largest_residual(s: Any) -> Any:
    """A = max(R - beta R/(alpha + R), q): the largest residual after an update of the memories."""
    return sp.Max(s.R - s.beta * s.R / (s.alpha + s.R), overshoot(s))


def tracked_radius(s: Any) -> Any:
    """The repaired Lemma 2's rho = max(R, q + beta R/(alpha + R)), q = max(0, sqrt(beta) - sqrt(alpha))^2.

    >>> from dpfl_theory.core.expressions import AnySymbols, evaluate
    >>> round(evaluate(tracked_radius(AnySymbols()), {"R": 1.0, "alpha": 0.0, "beta": 0.9}), 9)
    1.8
    """
    return sp.Max(s.R, overshoot(s) + s.beta * s.R / (s.alpha + s.R))


SMOOTH = Hypothesis(
    lambda s, c: (s.L <= s.L_max, c.L_f <= s.L, c.L_max <= s.L_max),
    r"$f$ is $L$-smooth and bounded from below, each $f_i$ is $L_i$-smooth, $L \le L_\text{max} = \max_i L_i$",
)
CONTRACTS = Hypothesis(lambda s: (s.alpha >= 0, s.beta > 0, s.beta < s.alpha + s.R), r"$\beta/(\alpha + R) < 1$")
STEP = Hypothesis(
    lambda s: (s.gamma > 0, s.gamma <= step_limit(s, s.R)), r"$0 < \gamma \le \beta R/((\alpha + R) L_\text{max})$"
)


POSITIVE_STEP = Hypothesis(lambda s: s.gamma > 0)


def whole_rounds(s: Any) -> tuple[Any, ...]:
    """The relations that K is a whole number, 0 included."""
    return s.K >= 0, whole(s.K)


ROUNDS = Hypothesis(whole_rounds, "$K + 1$ rounds, $K$ a whole number")
ACCURATE = Hypothesis(lambda s: (s.D > 0, sp.Eq(s.R, s.D / sp.sqrt(s.K + 1))), r"$R = D/\sqrt{K + 1}$ with $D > 0$")
SMOOTH_F = Hypothesis(lambda s, c: c.L_f <= s.L, "$f$ is $L$-smooth")
CLIENTS = Hypothesis(lambda s, c: c.L_max <= s.L_max, r"each $f_i$ is $L_\text{max}$-smooth")
FIRST = Hypothesis(
    lambda s: (s.R > 0, sp.Eq(s.residual_0, s.R)),
    r"$R = \max_i \|\nabla f_i(x^0) - v_i^0\| > 0$",
    partial=("residual_0",),
)
MEMORIES = Hypothesis(lambda s: sp.Eq(s.residual_0, s.R), r"$R = \max_i \|\nabla f_i(x^k) - v_i^k\|$")
CLIPS = Hypothesis(lambda s: (s.gamma > 0, s.tau > 0))
"""Clip21's memories, which may have no error, and its step and threshold."""
WITHIN = Hypothesis(
    lambda s: (s.R > 0, s.residual_0 <= s.R),
    r"$\max_i \|\nabla f_i(x^k) - v_i^k\| \le R$ and $R > 0$",
    partial=("residual_0",),
    rounding=_CLOSE,
)
TRACKED = Hypothesis(
    lambda s: (s.R > 0, s.residual_0 <= tracked_radius(s)),
    r"$\max_i \|\nabla f_i(x^k) - v_i^k\| \le \rho = \max(R, q + \beta R/(\alpha + R))$ and $R > 0$, $q = \max(0, "
    r"\sqrt{\beta} - \sqrt{\alpha})^2$",
    partial=("residual_0",),
    rounding=_CLOSE,
)
QUIET = Hypothesis(lambda s: sp.Eq(s.sigma, 0), "the server receives the messages without noise", partial=("sigma",))
NOISE = Hypothesis(
    lambda s, c: (s.sigma >= 0, s.sigma < sp.oo, sp.Eq(s.n, c.n), sp.Eq(s.d, c.d)),
    r"$z_i^k \sim N(0, \sigma^2 I_d)$ independent for each of the $n$ clients and rounds",
)
