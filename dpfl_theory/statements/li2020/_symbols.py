"""The symbols, hypotheses and terms that li2020's Theorems 1 to 3 share. The iterates are w_1, ..., w_T."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dpfl_theory.core import Expected, Hypothesis, Notation, Sides, Statement, Symbol, Symbols
from dpfl_theory.lazy import sympy as sp

PAPER = "li2020"
SYMBOLS = {
    s.name: s
    for s in (
        Symbol("T", "number of the last iterate, of $w_1, ..., w_T$", domain="integer"),
        Symbol("E", "local steps between communications", domain="integer"),
        Symbol("N", "number of clients", domain="integer"),
        Symbol("K", "number of clients that take part", domain="integer"),
        Symbol("P", r"$\max_k p_k$", domain="probability", latex=r"\max_k p_k"),
        Symbol("L", "smoothness of every $F_k$", (1, -2)),
        Symbol("mu", "strong convexity of every $F_k$", (1, -2), latex=r"\mu"),
        Symbol("beta", r"scale of the steps $\eta_t = \beta/(\gamma + t)$", (-1, 2), latex=r"\beta"),
        Symbol("gamma", r"shift of the steps $\eta_t = \beta/(\gamma + t)$", latex=r"\gamma"),
        Symbol("S", r"$\sum_k p_k^2 \sigma_k^2$", (2, -2), "nonnegative", r"\sum_k p_k^2 \sigma_k^2"),
        Symbol("Gamma", r"heterogeneity $F^* - \sum_k p_k F_k^*$", (1, 0), "nonnegative", r"\Gamma"),
        Symbol("G", r"root of the bound of $E \|g_t^k\|^2$", (1, -1), "nonnegative"),
        Symbol("M", r"$\max_{k, t < T} E \|g_t^k\|^2$ in the run", (2, -2), "nonnegative"),
        Symbol("D", r"root of $E \|w_1 - w^*\|^2$", (0, 1), "nonnegative", r"\|w_1 - w^*\|"),
        Symbol("eta", "fixed step size", (-1, 2), latex=r"\eta"),
        Symbol("c", r"hidden constant of $\Omega$", (1, -2)),
        Symbol("W", r"$\|w^*\|$", (0, 1), "nonnegative", r"\|w^*\|"),
        Symbol("bias", r"$\|\tilde w^* - w^*\|$", (0, 1), "nonnegative", r"\|\tilde w^* - w^*\|"),
    )
}
_GAP = Expected(
    "gap", (("suboptimality", 1),), (1, 0), r"\mathbb{E} F(\bar w_T) - F^*", "of the mean of the clients", when="end"
)
statement = partial(Statement, symbols=Notation((*SYMBOLS.values(), _GAP)))
"""A statement with the symbols and expectations that it reads."""

SMOOTH = Hypothesis(lambda s, c: c.L_max <= s.L, "each $F_k$ is $L$-smooth")
STRONG = Hypothesis(lambda s, c: c.mu_min >= s.mu, r"each $F_k$ is $\mu$-strongly convex")
BOUNDED = Hypothesis(lambda s: s.M <= s.G**2, r"$E \|g_t^k\|^2 \le G^2$ for all $k$ and $t < T$")
SCALE = Hypothesis(lambda s: sp.Eq(s.beta, 2 / s.mu), r"$\beta = 2/\mu$")
SHIFT = Hypothesis(lambda s: sp.Eq(s.gamma, prescription(s)["gamma"]), r"$\gamma = \max\{8 L/\mu, E\}$")
BALANCED = Hypothesis(lambda s: s.P <= 1 / s.N, "$p_1 = ... = p_N = 1/N$")
TWO = Hypothesis(lambda s: s.N >= 2, constructed="the factor (N - K)/(N - 1) has no value for one client")
MORE = Hypothesis(lambda s: s.E >= 2)
SHORT = Hypothesis(lambda s: s.E * s.eta * s.L <= 1, r"$\eta$ is small enough, here $E \eta L \le 1$")
HYPOTHESES = (SMOOTH, STRONG, BOUNDED, SCALE, SHIFT)


def prescription(s: Symbols) -> Mapping[str, Any]:
    """eta_t = 2/(mu (gamma + t)), gamma = max{8 kappa, E}."""
    return {"beta": 2 / s.mu, "gamma": sp.Max(8 * s.L / s.mu, s.E)}


def sides(s: Symbols, sampling: Any = None) -> Sides:
    """(kappa/(gamma + T - 1)) (2 (B + C)/mu + (mu gamma/2) D^2)."""
    B = {"noise": s.S, "heterogeneity": 6 * s.L * s.Gamma, "drift": 8 * (s.E - 1) ** 2 * s.G**2}
    B |= {} if sampling is None else {"sampling": sampling}
    shrink = s.L / s.mu / (s.gamma + s.T - 1)
    rhs = {name: shrink * 2 * b / s.mu for name, b in B.items()}
    return Sides({"gap": s.gap}, {"start": shrink * s.mu * s.gamma / 2 * s.D**2, **rhs})
