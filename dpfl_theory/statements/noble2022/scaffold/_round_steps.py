"""The parts that noble2022's Lemmas C.4, C.5 and C.6, which bound one round, share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Outcome, Sides, Statement, Symbols
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022.scaffold import _round_instances as exact

ROUND = ("eta", "nu", "drift", "lag", *noble.VARIANCE, *noble.COHORT)
BASE = (noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE)


def symbols(*names: str) -> tuple[Any, ...]:
    return noble.symbols(*dict.fromkeys(names))


def by_lemma_c2(sharp: Callable[[Symbols], Sides]) -> Callable[[Statement, Any], Outcome]:
    """The printed right side less that of the sharpened sides is made of nonnegative terms. There ||grad F||^2 = 2 nu
    gap (its largest value by Lemma C.2), and eta_g is written as 1 + a, a >= 0, where the lemma asks for eta_g >= 1."""

    def build(printed: Statement, _: Mapping[str, Any]) -> Outcome:
        s = symbols_of(printed)
        named = {**s, "slope": 2 * s.nu * s.gap} if "gap" in s else dict(s)
        stronger = sharp(Symbols({name: symbol for name, symbol in named.items() if name != "gap"}, printed.id))
        larger = rest = sp.expand(total(printed) - sum(stronger.rhs.values()))
        if "eta_g" in s:
            more = sp.Symbol("a", nonnegative=True)
            larger = sp.expand(sp.expand(rest * s.eta_g**2).subs(s.eta_g, 1 + more))
        terms = larger.args if larger.is_Add else (larger,)
        fine = all(term.is_nonnegative for term in terms)
        return Outcome(
            True if fine else None, f"the amount that the printed form allows more, with Lemma C.2: {sp.simplify(rest)}"
        )

    return build


def constant_step(product: Fraction) -> Callable[[Fraction], Fraction | None]:
    """eta~ nu, whatever l is."""
    return lambda share: product


def just_outside(hypothesis: str) -> dict[str, dict[str, Any]]:
    """One user, for whom only this hypothesis is not met, by 1%."""
    return {f"just outside {hypothesis}": exact.CONVEX["one user"]}
