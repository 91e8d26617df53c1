"""The symbols of paper-name, each mapped once to its meaning, unit and domain; and what its statements share.

A statement has the symbols and expectations that its sides and hypotheses read. Units are exponents of F, the
objective, and X, the parameters. Lines to change end with an arrow.
"""

from __future__ import annotations

from dpfl_theory.core import Expected, Hypothesis, Notation, Symbol

PAPER = "paper-name"
NOTATION = Notation(
    (
        Symbol("K", "rounds", domain="integer"),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("eta", "step", (-1, 2), latex=r"\eta"),  # <- and further ones
        Symbol("D", r"$\|x_0 - x^*\|$", (0, 1), "nonnegative", r"\|x_0 - x^*\|"),
        Expected("gap", (("suboptimality", 1),), (1, 0), "f(x_K) - f^*", "suboptimality", "end"),
    )
)
SHORT = Hypothesis(lambda s: s.eta <= 1 / s.L)
