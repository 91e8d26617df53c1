"""The symbols of hou2023's convergence analysis, each mapped once to its meaning, unit and domain, and its hypotheses.

In this paper bold letters stack the N clients' vectors, so that distances and psi are sums over clients; L and mu are
common constants of the f_i (here the smallest L, L_max, and the largest mu, mu_min). Clipping acts on differences of
parameters, so that C has the parameters' unit.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dpfl_theory.core import Expected, Hypothesis, Notation, Source, Statement, Symbol, by_construction, whole
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements import prescribed_noise

PAPER = "hou2023"

# fmt: off
_ALL = (
    Symbol("eta", "step size", (-1, 2), "positive", r"\eta"),
    Symbol("p", "probability that an iteration communicates", (0, 0), "probability", "p"),
    Symbol("T", "iterations", (0, 0), "positive", "T"),
    Symbol("L", "smoothness constant of every $f_i$", (1, -2), "positive", "L"),
    Symbol("mu", "strong convexity constant of every $f_i$", (1, -2), "positive", r"\mu"),
    Symbol("N", "number of clients", (0, 0), "integer", "N"),
    Symbol("d", "dimension", (0, 0), "integer", "d"),
    Symbol("C", "clipping threshold of update differences", (0, 1), "positive", "C"),
    Symbol("v", "the constant of Lemma 1's noise", (0, 0), "positive", "v"),
    Symbol("u", r"constant of the range of $\varepsilon$", (0, 0), "positive", "u"),
    Symbol("epsilon", "privacy budget", (0, 0), "positive", r"\varepsilon"),
    Symbol("delta", "privacy failure probability", (0, 0), "probability", r"\delta"),
    Symbol("psi_0", "the Lyapunov function at the start", (0, 2), "nonnegative", r"\psi_0"),
    Symbol("D", "initial distance, stacked over clients", (0, 1), "nonnegative", r"\|\mathbf{x}_0 - \mathbf{x}^*\|"),
    Symbol("H", "distance of the first shifts from $h^*$, stacked", (1, -1), "nonnegative",
        r"\|\mathbf{h}_0 - \mathbf{h}^*\|"),
    Symbol("psi_t", r"$E \psi_t$", (0, 2), "nonnegative", r"\mathbf{E}[\psi_t]"),
    Symbol("psi_next", r"$E \psi_{t+1}$", (0, 2), "nonnegative", r"\mathbf{E}[\psi_{t+1}]"),
    Symbol("noise_variance", "variance of a message's noise per coordinate", (0, 2), "nonnegative", r"\sigma^2"),
    Symbol("mean_shift", r"length of $(1/N) \sum_i h_t^{(i)}$", (1, -1), "nonnegative",
        r"\|\mathbf{A}(\mathbf{h}_t)\|"),
    Symbol("T_1", r"$E\|A(x + e_t) - A(y)\|^2$, the first part of $\psi$ after communicating", (0, 2), "nonnegative",
        "T_1"),
    Symbol("T_2", r"the second part of $\psi$ after communicating", (0, 2), "nonnegative", "T_2"),
    Symbol("y_t", r"$\|[\hat x_{t+1} - x^*] - (\eta/p)[h_t - h^*]\|$", (0, 1), "nonnegative", r"\|\mathbf{y}_t\|"),
    Symbol("eta_any", "any other step size", (-1, 2), "positive", r"\eta'"),
    Symbol("p_any", "any other probability", (0, 0), "probability", "p'"),
    Symbol("T_any", "any other number of iterations", (0, 0), "positive", "T'"),
)
SYMBOLS = {symbol.name: symbol for symbol in _ALL}


def _expected(name: str, observable: str, latex: str, meaning: str, unit: tuple[int, int] = (0, 2),
              when: str = "end", rival: bool = False) -> Expected:
    return Expected(name, ((observable, 1),), unit, latex, meaning, when, rival)


def _error(name: str, latex: str, choice: str, rival: bool = False) -> Expected:
    meaning = f"expected error at the end of the run with the {choice} choice"
    return _expected(name, "suboptimality", rf"\mathbb{{E}}[{latex} - f(x^*)]", meaning, (1, 0), rival=rival)


NOTATION = Notation((
    *_ALL,
    _expected("E_messages", "message-squared",
        r"\mathbf{E}\left[\frac{1}{N}\sum_i \|\hat{x}_{t+1}^{(i)} - x_t\|^2\right]",
        "expected squared length of what a client would send, as a mean over clients and iterations", when="mean"),
    _expected("E_mean_psi", "scaffnew-lyapunov", r"\mathbf{E}[\psi_t]",
        "expected Lyapunov function, as a mean over iterations", when="mean"),
    _expected("E_shifts", "scaffnew-shifts", r"\frac{\eta^2}{p^2}\mathbf{E}\|\mathbf{h}_T - \mathbf{h}^*\|^2",
        r"expected squared distance of the control variates from $h^*$, in $\psi$'s scale, after $T$ iterations"),
    _expected("E_psi", "scaffnew-lyapunov", r"\mathbb{E}[\psi_T]", "expected Lyapunov function after $T$ iterations"),
    _error("E_error", "f(x_T)", "better"),
    _error("E_rival_error", "f(x'_{T'})", "other", rival=True),
))
# fmt: on
statement = partial(Statement, symbols=NOTATION)
"""A statement with the symbols and expectations that it reads."""


def named(id_: str, kind: str, where: str, equation: str = "") -> dict[str, Any]:
    """Id, kind and source of a statement."""
    return {"id": id_, "kind": kind, "source": Source(PAPER, where, equation)}


def theta(mu: Any, eta: Any, p: Any, power: int = 1) -> Any:
    """The factor max((1 - mu eta)^power, 1 - p^2) by which psi contracts; the paper's power is 1."""
    return sp.Max((1 - mu * eta) ** power, 1 - p**2)


STRONGLY_CONVEX = Hypothesis(
    lambda s, c: (s.mu > 0, c.mu_min >= s.mu), (r"each $f_i$ is $\mu$-strongly convex, $\mu > 0$")
)
SMOOTH = Hypothesis(lambda s, c: (s.mu <= s.L, c.L_max <= s.L), "each $f_i$ is $L$-smooth")
STEP = Hypothesis(lambda s: (s.eta > 0, s.eta <= 1 / s.L))
COIN = Hypothesis(lambda s: (s.p > 0, s.p <= 1))
ALWAYS = Hypothesis(lambda s: sp.Eq(s.p, 1), "$p = 1$: every iteration communicates")
ITERATIONS = Hypothesis(lambda s: (s.T >= 1, whole(s.T)), r"$T \ge 1$ iterations")
FULL_GRADIENTS = Hypothesis.custom("local gradients are full ones", by_construction)
UNCLIPPED = Hypothesis.custom(r"clipping is never active: $C > \|\hat x_i - x\|$ in every iteration", by_construction)
CLIPPED = Hypothesis.custom(
    "clipping is in force; without noise every message would be shorter than $C$", by_construction
)
DELTA = prescribed_noise.DELTA
UNDER_LEMMA1 = (STRONGLY_CONVEX, SMOOTH, STEP, COIN, ITERATIONS, FULL_GRADIENTS, UNCLIPPED)
"""What Theorem 1 supposes of the run."""
