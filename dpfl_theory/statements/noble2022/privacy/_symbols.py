"""The symbols of noble2022's privacy analysis, each mapped once to its meaning and domain, and shared hypotheses.

Everything here is a number without unit: privacy depends on the noise only through sigma_g, its standard deviation over
the largest change 2C/(sR) that one record makes in one local step.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Symbol
from dpfl_theory.statements import prescribed_noise
from dpfl_theory.statements.instances import edges_of
from dpfl_theory.statements.noble2022 import _utility as noble

# fmt: off
_ALL = (
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
    *noble.symbols("M", "R", "l", "s", "K"),
    Symbol("T", "number of rounds, or of composed mechanisms", (0, 0), "integer", "T"),
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
# fmt: on
SYMBOLS = {symbol.name: symbol for symbol in _ALL}


def symbols(*names: str) -> tuple[Symbol, ...]:
    """The symbols with these names, in this order."""
    return tuple(SYMBOLS[name] for name in names)


edges = partial(edges_of, "privacy")
"""The checks just inside and just outside of hypotheses."""


def both_sides(build: Any, instance: Any, words: str, inside: Any, outside: Any) -> Iterator[Check]:
    """The checks just inside and just outside of one hypothesis."""
    return edges(build, instance, {words: outside}, {words: inside})


def numbers(**texts: str) -> dict[str, list[str]]:
    """An instance of lists of numbers, which spaces separate."""
    return {name: text.split() for name, text in texts.items()}


def stated(**symbols: str) -> dict[str, Any]:
    """A change of an instance that only states other values of symbols."""
    return {"stated": symbols}


EDGES = {"lM >= 1": stated(l="99/100"), "sigma_g > 0": stated(sigma_g="0"), "delta < 1": stated(delta="1000000")}
"""Restated values at a point with lM = 1 and delta = 1e-6."""
DELTA = prescribed_noise.DELTA
ORDER = Hypothesis(lambda s: s.alpha > 1)
RATE = Hypothesis(lambda s: (s.q > 0, s.q < 1))
NOISE = Hypothesis(lambda s: s.sigma_g > 0)
SAMPLING = Hypothesis(
    noble.enough_take_part,
    r"$0 < l \le 1$ and $0 < s \le 1$, with $lM \ge 1$ users and $sR \ge 1$ records",
    rounding=noble.SLACK,
)
