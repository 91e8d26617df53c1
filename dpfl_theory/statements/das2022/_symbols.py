"""The symbols of das2022, each mapped once to its meaning, unit and domain; its expectations, each mapped once to the
observables that simulations take for it; and the hypotheses, prescriptions and terms that statements share.

In this paper L is a common smoothness constant of the f_i (here the smallest one, L_max), and G a common Lipschitz
constant (G_max). C is the clipping threshold or scaling factor of sums of E gradients, and eta = beta is the local and
global step size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Expected, Hypothesis, Notation, Source, Statement, Symbol, Symbols, by_construction, whole
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of

if TYPE_CHECKING:
    from dpfl_theory.core import Check
    from dpfl_theory.problems.base import Problem

PAPER = "das2022"

SYMBOLS = {
    s.name: s
    for s in (
        Symbol("rho", r"privacy ratio $\sqrt{q d \log(1/\delta)}/(n \varepsilon)$", (0, 0), "positive", r"\rho"),
        Symbol("q", "the absolute constant of Theorem 3", (0, 0), "positive", "q"),
        Symbol("epsilon", "privacy budget", (0, 0), "positive", r"\varepsilon"),
        Symbol("delta", "privacy failure probability", (0, 0), "probability", r"\delta"),
        Symbol("n", "number of clients", (0, 0), "integer", "n"),
        Symbol("r", "expected number of participating clients", (0, 0), "positive", "r"),
        Symbol("d", "dimension", (0, 0), "integer", "d"),
        Symbol("E", "local gradient steps in a round", (0, 0), "integer", "E"),
        Symbol("K", "rounds", (0, 0), "positive", "K"),
        Symbol("alpha", r"constant $\ge 1$ that lengthens the run", (0, 0), "positive", r"\alpha"),
        Symbol("gamma", "constant $> 0$ that scales the run's length", (1, -1), "positive", r"\gamma"),
        Symbol("L", "smoothness constant of every $f_i$", (1, -2), "positive", "L"),
        Symbol("G", "Lipschitz constant of every $f_i$", (1, -1), "positive", "G"),
        Symbol("C", "clipping threshold or scaling factor", (1, -1), "positive", "C"),
        Symbol("C_hat", "threshold per local step, $C/E$", (1, -1), "positive", r"\hat{C}"),
        Symbol("eta", "local and global step size", (-1, 2), "positive", r"\eta"),
        Symbol("D", r"initial distance $\|w_0 - w^*\|$", (0, 1), "nonnegative", r"\|w_0 - w^*\|"),
        Symbol(
            "Delta", r"mean heterogeneity $(1/n) \sum_i \Delta_i^*$", (1, 0), "nonnegative",
            r"\frac{1}{n}\sum_i \Delta_i^*",
        ),
        Symbol(
            "kappa", "excess $(1/r)(1 - r/n)$ of independent sampling's second moment, 0 otherwise", (0, 0),
            "nonnegative", r"\kappa",
        ),
        Symbol("Delta_max", r"largest heterogeneity $\max_i \Delta_i^*$", (1, 0), "nonnegative", r"\max_j \Delta_j^*"),
    )
}  # fmt: skip


_F, _SLOPE, _SLOPE2, _X2, _ONE = (1, 0), (1, -1), (2, -2), (0, 2), (0, 0)
"""Units: of the objective, of a gradient and its square, of a squared distance, and none."""


def _of(
    name: str, observables: str, unit: tuple[int, int], latex: str, meaning: str, rival: bool = False
) -> tuple[str, Expected]:
    """The expectation of an observable of simulations, or of the difference of two."""
    parts = tuple((part, 1 if i == 0 else -1) for i, part in enumerate(observables.split(" - ")))
    return name, Expected(name, parts, unit, latex, meaning, rival=rival)


# fmt: off
EXPECTED = dict((
    _of("E_gap", "suboptimality", _F,
        r"\mathbb{E}[f(w_{\tilde k}) - f(w^*)]", "expected suboptimality of the returned iterate, uniform over rounds"),
    _of("E_weighted_gap", "weighted-excess - weighted-heterogeneity", _F,
        r"\mathbb{E}\left[\frac{1}{n}\sum_i \frac{GE}{\|u_i\|}(f_i(w_{\tilde k}) - f_i(w^*))\right]",
        r"expected gap of the clients, each weighted by GE/$\|u_i\|$"),
    _of("E_weighted_Delta", "weighted-heterogeneity", _F,
        r"\mathbb{E}\left[\frac{1}{n}\sum_i \frac{GE}{\|u_i\|}\Delta_i^*\right]",
        r"expected heterogeneity, weighted by GE/$\|u_i\|$"),
    _of("E_unclipped_gap", "unclipped-gap", _F,
        r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| \leq \hat{C}E)(f_i(w_{\tilde k}) - f_i(w^*))\right]",
        "expected gap of the clients whose update is not clipped"),
    _of("E_clipped_length", "clipped-length", _SLOPE,
        r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| > \hat{C}E)\|u_i\|\right]",
        "expected length of the updates that are clipped"),
    _of("E_unclipped_Delta", "unclipped-heterogeneity", _F,
        r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| \leq \hat{C}E)\Delta_i^*\right]",
        "expected heterogeneity of the clients whose update is not clipped"),
    _of("E_unclipped_share", "unclipped-share", _ONE,
        r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| \leq \hat{C}E)\right]",
        "expected share of clients whose update is not clipped"),
    _of("E_unclipped_weighted_gap", "unclipped-weighted-excess - unclipped-weighted-heterogeneity", _F,
        r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| \leq \hat{C}E)\frac{\hat{C}E}{\|u_i\|}"
        r"(f_i(w_{\tilde k}) - f_i(w^*))\right]",
        r"expected gap of the clients whose update is not longer than $C$, weighted by $C/\|u_i\|$"),
    _of("E_unclipped_weighted_Delta", "unclipped-weighted-heterogeneity", _F,
        r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| \leq \hat{C}E)\frac{\hat{C}E}{\|u_i\|}\Delta_i^*\right]",
        r"expected heterogeneity of the clients whose update is not longer than $C$, weighted by $C/\|u_i\|$"),
    _of("E_rival_gap", "suboptimality", _F, r"\mathbb{E}[f(w_{\tilde k}^{\mathrm{clip}}) - f(w^*)]",
        "expected suboptimality of the iterate that clipping returns, with the same noise", rival=True),
    _of("E_difference", "bounding-difference", _SLOPE,
        r"\frac{1}{n}\sum_i \|\mathrm{norm}(u_i, C) - \mathrm{clip}(u_i, C)\|",
        "mean distance between a client's normalised and clipped update"),
    _of("E_clipped_signal", "clipped-signal", _SLOPE,
        r"\left\|\frac{1}{n}\sum_{i \in S_k} \mathrm{clip}(u_i, C)\right\|",
        "length of the cohort's clipped updates, summed, over $n$"),
    _of("E_normalised_signal", "normalised-signal", _SLOPE,
        r"\left\|\frac{1}{n}\sum_{i \in S_k} \mathrm{norm}(u_i, C)\right\|",
        "length of the cohort's normalised updates, summed, over $n$"),
    _of("distance_before", "distance-squared", _X2, r"\|w_k - w^*\|^2", "squared distance to $w^*$"),
    _of("distance_after", "end-distance-squared", _X2, r"\|w_{k,E}^{(i)} - w^*\|^2",
        "squared distance to $w^*$ after client $i$'s steps; simulations take the mean over clients and rounds"),
    _of("displacement", "displacement-squared", _X2, r"\|w_k - w_{k,\tau}^{(i)}\|^2",
        r"squared displacement of client $i$; simulations take $\tau = E$ and the mean over clients and rounds"),
    _of("gradients_squared", "local-gradients-squared", _SLOPE2,
        r"\sum_{\tau=0}^{E-1} \|\nabla f_i(w_{k,\tau}^{(i)})\|^2",
        "client $i$'s squared gradients along its steps; simulations take the mean over clients and rounds"),
    _of("gradient_now", "local-gradients-squared", _SLOPE2, r"\|\nabla f_i(w_{k,\tau}^{(i)})\|^2",
        r"client $i$'s squared gradient; simulations sum over $\tau$ and take the mean over clients and rounds"),
    _of("gradient_next", "next-gradients-squared", _SLOPE2,
        r"\|\nabla f_i(w_{k,\tau+1}^{(i)})\|^2", "the same, one local step later"),
    _of("gradient_change", "gradient-change-squared", _SLOPE2,
        r"\|\nabla f_i(w_{k,\tau+1}^{(i)}) - \nabla f_i(w_{k,\tau}^{(i)})\|^2",
        "squared change of client $i$'s gradient in a local step; simulations sum and average as above"),
    _of("second_moment", "signal-squared", _SLOPE2, r"\mathbb{E}_{S_k}\left\|\frac{1}{r}\sum_{i \in S_k} g_i\right\|^2",
        "squared norm of the cohort's average; $g_i$ are unbounded updates in simulations"),
    _of("mean_square", "update-squared", _SLOPE2,
        r"\frac{1}{n}\sum_{i=1}^n \|g_i\|^2", "mean of the clients' squared norms"),
    _of("clipped_progress", "clipped-progress", _X2, r"1(\|u_k^{(i)}\| > C)\,A_i",
        "$A_i$ of a client whose update is clipped; simulations take the mean over clients and rounds"),
    _of("unclipped_progress", "unclipped-progress", _X2, r"1(\|u_k^{(i)}\| \leq C)\,A_i",
        "$A_i$ of a client whose update is not clipped; simulations take the mean over clients and rounds"),
    _of("normalised_progress", "normalised-progress", _X2, r"1(\|u_k^{(i)}\| \leq C)\,A_i",
        "$A_i$ of a client whose update is lengthened to $C$; simulations take the mean over clients and rounds"),
    _of("B", "inner-product", _F,
        "B_i", r"$B_i = \langle u_k^{(i)}, w_k - w^*\rangle$; simulations take the mean over clients and rounds"),
    _of("unclipped_B", "unclipped-inner-product", _F, r"1(\|u_k^{(i)}\| \leq C)\,B_i",
        "$B_i$ of a client whose update is not clipped; simulations take the mean over clients and rounds"),
    _of("approach", "approach", _X2, r"(\|w_k - w^*\|^2 - \|w_{k,E}^{(i)} - w^*\|^2)",
        "decrease of the squared distance to $w^*$ over client $i$'s steps; simulations take the mean"),
    _of("update_squared", "update-squared", _SLOPE2,
        r"\|u_k^{(i)}\|^2", "squared length of client $i$'s update; simulations take the mean over clients and rounds"),
))
# fmt: on


NOTATION = Notation((*SYMBOLS.values(), *EXPECTED.values()), {"delta_max": "Delta_max"})
statement = partial(Statement, symbols=NOTATION)
"""A statement with the symbols and expectations that it reads."""


def step(id_: str, where: str, **more: Any) -> Statement:
    """A step of a proof, whose id ends with the number of its equation."""
    return statement(id=id_, kind="step", source=Source(PAPER, where, id_.removeprefix("das2022.eq")), **more)


_CLIENT_LATEX = {
    "E_gap": r"(f_i(w_k) - f_i(w^*))",
    "E_unclipped_gap": r"1(\|u_k^{(i)}\| \leq C)\,(f_i(w_k) - f_i(w^*))",
    "E_unclipped_Delta": r"1(\|u_k^{(i)}\| \leq C)\,\Delta_i^*",
    "E_unclipped_share": r"1(\|u_k^{(i)}\| \leq C)",
    "E_clipped_length": r"1(\|u_k^{(i)}\| > C)\,\|u_k^{(i)}\|",
    "E_unclipped_weighted_gap": r"1(\|u_k^{(i)}\| \leq C)\,z_k^{(i)}(f_i(w_k) - f_i(w^*))",
    "E_unclipped_weighted_Delta": r"1(\|u_k^{(i)}\| \leq C)\,z_k^{(i)}\Delta_i^*",
}


_OF_ONE = "of client $i$; simulations take the mean over clients and rounds"
CLIENT = NOTATION(
    replace(SYMBOLS["Delta"], meaning="heterogeneity of client $i$, $f_i(w^*)$ - min $f_i$", latex=r"\Delta_i^*"),
    *(replace(EXPECTED[n], latex=own, meaning=f"{EXPECTED[n].meaning}, {_OF_ONE}") for n, own in _CLIENT_LATEX.items()),
)
client_statement = partial(Statement, symbols=CLIENT)
"""A lemma as printed, for one client."""
client_step = partial(step, symbols=CLIENT)
"""A step of a proof as printed, for one client."""


def _minimiser(problem: Problem | None, values: Mapping[str, float]) -> str | None:
    if problem is None or problem.constants.w_star is not None:
        return None
    return "f attains no minimum, so there is no w*"


def _shared(problem: Problem | None, values: Mapping[str, float]) -> str | None:
    if problem is None or problem.constants.interpolates:
        return None
    return "some f_i is smaller elsewhere than at w*"


CONVEX = Hypothesis.custom("each $f_i$ is convex", by_construction)
SMOOTH = Hypothesis(lambda s, c: c.L_max <= s.L, "each $f_i$ is $L$-smooth over $R^d$")
SMOOTH_BY_CLASS = replace(
    SMOOTH, constructed="worst cases are over L-smooth functions, and exact instances have curvatures of at most L"
)
"""The same for statements without runs."""
LIPSCHITZ = Hypothesis(lambda s, c: c.G_max <= s.G, "each $f_i$ is $G$-Lipschitz over $R^d$")
MINIMISER = Hypothesis.custom(
    "$w^*$ is a minimiser of $f$",
    _minimiser,
    "every problem of the checks has a certified minimiser, and worst cases and exact instances are set up around w*",
)
COMMON = Hypothesis.custom(r"$f_i(w) \ge f_i(w^*)$ for all $i$ and $w$ (over-parameterisation)", _shared)
SHORT_PHASE = Hypothesis(lambda s: s.E <= s.alpha / (2 * s.rho))
ALPHA = Hypothesis(lambda s: s.alpha >= 1)
RHO = Hypothesis(lambda s: (s.rho > 0, s.rho < 1), r"$n$ is so large that $\rho < 1$ (Definition 2)")
ROUNDS = Hypothesis(lambda s: (s.K >= 1, whole(s.K)), "the number of rounds $K$ is a whole number")
COHORT = Hypothesis(lambda s: s.r >= 1, r"$r$ is a number of clients, $r \ge 1$")
EXACT_COHORT = Hypothesis(
    lambda s: sp.Eq(s.kappa, 0), ("every cohort has exactly $r$ clients, drawn without replacement")
)
MANY_ROUNDS = Hypothesis(lambda s: s.K > 2 * s.gamma / (s.C_hat * s.E * s.rho))
THRESHOLD = Hypothesis(
    lambda s, c: s.C_hat >= 4 * sp.sqrt(s.L * c.delta_max), (r"$\hat C \ge 4 \sqrt{L \max_j \Delta_j^*}$")
)
HALF_STEP = Hypothesis(lambda s: s.eta <= 1 / (2 * s.L))
STEP = Hypothesis(lambda s: s.eta <= 1 / s.L)


def prescription(s: Symbols, K: Any = None, rho: Any = None) -> Mapping[str, Any]:
    """eta = beta = (gamma/(C_hat L E K))/rho, C = C_hat E."""
    K, rho = s.K if K is None else K, s.rho if rho is None else rho
    return {"eta": s.gamma / (s.C_hat * s.L * s.E * K * rho), "C": s.C_hat * s.E}


def alpha_prescription(s: Symbols, rho: Any = None) -> Mapping[str, Any]:
    """The same with K = (2 alpha gamma/(C_hat E))/rho^2."""
    rho = s.rho if rho is None else rho
    K = 2 * s.alpha * s.gamma / (s.C_hat * s.E * rho**2)
    return {"K": K, **prescription(s, K, rho)}


def clipped_term(s: Symbols) -> Any:
    """(3 C_hat/(8 L E)) E[mean length of the clipped updates]."""
    return 3 * s.C_hat / (8 * s.L * s.E) * s.E_clipped_length


def initialisation_term(s: Symbols) -> Any:
    """C_hat (L ||w_0 - w*||^2/gamma + gamma/L) rho."""
    return s.C_hat * (s.L * s.D**2 / s.gamma + s.gamma / s.L) * s.rho


def heterogeneity_term(s: Symbols) -> Any:
    """(3 E/(2 alpha)) Delta rho."""
    return 3 * s.E / (2 * s.alpha) * s.Delta * s.rho


def summed(s: Symbols, decrease: Any, eta: Any) -> Any:
    """(13) or (40), summed over K rounds with ||w_K - w*||^2 >= 0 dropped, over eta E K.

    decrease: the bound of the mean of A_i; d sigma^2 = K C^2 rho^2, with rho written out where the statement does so.
    """
    noise = eta**2 * s.K * (s.C_hat * s.E) ** 2 * (expanded_rho(s) if "q" in s else s.rho) ** 2
    return (s.D**2 / s.K + decrease + noise) / (eta * s.E)


def over_the_rounds(name: str, clients: Statement, label: str) -> Check:
    """The check that a bound is `summed` with the clients' decrease as another statement bounds it.

    It is an equality, so that a term that is missing, or K - 1 for K, which would weaken the bound, is noticed too.
    """

    @algebra(name)
    def check(s: Formula) -> Proof:
        eta = s.prescribed["eta"] if s.statement.prescription else s.eta
        return summed(s, of(clients, eta=eta).rhs, eta), s.slack, label

    return check


def expanded_rho(s: Symbols) -> Any:
    """sqrt(q d log(1/delta))/(n epsilon)."""
    return sp.sqrt(s.q * s.d * sp.log(1 / s.delta)) / (s.n * s.epsilon)


SMALLER = 16 * 2**0.5 / 9


SMALLER_THRESHOLD = Hypothesis(
    lambda s, c: s.C_hat >= SMALLER * sp.sqrt(s.L * c.delta_max),
    r"$\hat C \ge (16 \sqrt{2}/9) \sqrt{L \max_j \Delta_j^*}$",
)

FREE_K = (CONVEX, SMOOTH, MINIMISER, THRESHOLD, MANY_ROUNDS, RHO, COHORT, ROUNDS)
"""The hypotheses of Theorems 6 and 7."""
K_BY_ALPHA = (CONVEX, SMOOTH, MINIMISER, THRESHOLD, ALPHA, SHORT_PHASE, RHO, COHORT, ROUNDS)
"""Those of their second displays."""
