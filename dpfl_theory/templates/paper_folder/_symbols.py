"""The symbols of paper-name, each mapped once to its meaning, unit and domain; and what its statements share.

Units are exponents of F, the objective, and X, the parameters. Lines to change end with an arrow.
"""

from __future__ import annotations

from dpfl_theory.core import Expected, Hypothesis, Symbol

PAPER = "paper-name"
SYMBOLS = {
    s.name: s
    for s in (
        Symbol("K", "rounds", domain="integer"),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("eta", "step", (-1, 2), latex=r"\eta"),  # <- and further ones
        Symbol("D", r"$\|x_0 - x^*\|$", (0, 1), "nonnegative", r"\|x_0 - x^*\|"),
    )
}
GAP = Expected("gap", (("suboptimality", 1),), (1, 0), "f(x_K) - f^*", "suboptimality", "end")
SHORT = Hypothesis(lambda s: s.eta <= 1 / s.L)


def symbols(*names: str) -> tuple[Symbol, ...]:
    """The paper's symbols with these names."""
    return tuple(SYMBOLS[name] for name in names)
