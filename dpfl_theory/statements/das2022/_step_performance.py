"""Worst cases of the steps in das2022's proofs for one client: its local phase from w_k, and a w* that need not be its
minimiser.

Where both sides of a statement have a quantity of either sign, it is subtracted from both (``shift``), so that the left
side is never negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Performance, Statement, WorstCase
from dpfl_theory.core import checks as made_of
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.statements.local_phase import LocalPhase, grid, step_size

__all__ = [
    "cases",
    "checks",
    "clipped",
    "eq18",
    "eq23",
    "eq31",
    "eq31_sum",
    "left_coefficient",
    "lengthened",
    "unclipped",
]

_NONE = dict.fromkeys(
    (
        *("clipped_progress", "E_clipped_length", "unclipped_progress", "E_unclipped_gap", "E_unclipped_Delta"),
        *("normalised_progress", "E_unclipped_weighted_gap", "E_unclipped_weighted_Delta", "E_unclipped_share"),
    ),
    0,
)
"""The quantities that (34) and (46) add up over both cases: in either case those of the other one are zero."""


class _Step:
    """A local phase, its update u = sum of gradients, the way w_k - w*, and Delta_i."""

    def __init__(self, instance: Mapping[str, Any]) -> None:
        self.L, self.eta = step_size(instance)
        self.E = int(instance["E"])
        self.phase = LocalPhase("convex", self.L, self.eta, self.E)
        self.u = sum(self.phase.gradients[1:], self.phase.gradient(0))
        target = self.phase.problem.set_initial_point()
        self.way = self.phase.points[0] - target
        self.delta = self.phase.function(target) - self.phase.minimum
        self.excess = self.phase.value(0)
        """f_i(w_k) - f_i^*, which is the gap to f_i(w*) plus Delta_i."""
        self.gap = self.excess - self.delta
        self.product = self.u * self.way
        """B_i."""
        self.numbers = {"L": self.L, "eta": self.eta, "E": self.E}

    def case(self, values: Mapping[str, Any], label: str, shift: Any = None) -> WorstCase:
        return WorstCase(self.phase.problem, {**_NONE, **self.numbers, **values}, label, shift=shift)


def left_coefficient(statement: Statement, name: str, numbers: Mapping[str, Any]) -> float:
    """The coefficient of a symbol in ``lhs - rhs``, where that is positive, else 0: with a value that is a difference,
    the part that it subtracts from the left side."""
    difference = total(statement, "lhs") - total(statement, "rhs")
    return max(0.0, float(evaluate(difference.diff(symbols_of(statement)[name]), numbers, statement.id)))


def eq18(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The distance after the phase is added to both sides."""
    s = _Step(instance)
    after = (s.way - s.eta * s.u) ** 2
    values = {"update_squared": s.u**2, "approach": s.way**2 - after, "Delta": s.delta}
    return s.case(values, "(18), all on positive sides", after)


def clipped(_: Statement, instance: Mapping[str, Any], threshold: float = 4.0) -> WorstCase:
    """A client with ||u|| = C, in units in which that is 1, and C >= threshold E sqrt(L Delta); 4 is printed.

    With kappa = C/||u||, (22) over eta kappa reads eta kappa ||u||^2 + 3 ||u||^2/(8LE) <= 2 <u, w_k - w*>, under
    threshold^2 L E^2 Delta <= kappa^2 ||u||^2: the hypothesis is weakest and the left side largest at kappa = 1.
    """
    s = _Step(instance)
    s.phase.problem.add_constraint(threshold**2 * s.L * s.E**2 * s.delta <= s.u**2)
    values = {"C": 1, "C_hat": Fraction(1, s.E), "E_clipped_length": s.u**2}
    values["clipped_progress"] = s.eta**2 * s.u**2 - 2 * s.eta * s.product
    return s.case(values, "the bound at ||u|| = C with 2 eta <u, w_k - w*> on both sides", 2 * s.eta * s.product)


def eq23(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A_i of an unclipped client, with its inner product; the part that (23) adds to -2 eta B_i is left."""
    s = _Step(instance)
    values = {"unclipped_progress": s.eta**2 * s.u**2 - 2 * s.eta * s.product, "unclipped_B": s.product}
    values |= {"E_unclipped_gap": s.gap, "E_unclipped_Delta": s.delta}
    return s.case(values, "eta^2 ||u||^2 against what (23) adds to -2 eta B_i")


def eq31(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The quantity that (31) subtracts from E times the gap is added to both sides."""
    s = _Step(instance)
    gap = left_coefficient(statement, "E_gap", s.numbers)
    taken = s.E * s.excess - gap * s.gap
    return s.case({"E_gap": s.gap, "Delta": s.delta, "B": s.product}, "(31), all on positive sides", taken)


def eq31_sum(_: Statement, instance: Mapping[str, Any]) -> Performance:
    """(31) with the sum of tau^2 for tau < E in place of E^3: the display's middle."""
    s = _Step(instance)
    drift = 2 * s.eta**2 * s.L**2 * sum(tau**2 for tau in range(s.E))
    right = s.product + s.E * s.delta + drift * s.excess
    what = f"E (f_i(w_k) - f_i^*) against B_i + E Delta + {drift:.6g} times the same"
    return Performance(s.phase.problem, s.E * s.excess, right, what)


def unclipped(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A client with ||u|| <= C."""
    return _unclipped(statement, _Step(instance))


def _unclipped(statement: Statement, s: _Step) -> WorstCase:
    values = {"C_hat": 1, "unclipped_progress": s.eta**2 * s.u**2 - 2 * s.eta * s.product}
    values |= {"E_unclipped_gap": s.gap, "E_unclipped_Delta": s.delta}
    taken = left_coefficient(statement, "E_unclipped_gap", {**s.numbers, "C_hat": 1}) * s.delta
    return s.case(values, "an unclipped client's bound, all on positive sides", taken + 2 * s.eta * s.product)


def lengthened(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A client with ||u|| <= C whose update is sent with length C, without eta^2 C^2, which both sides have.

    Taken at ||u|| = C. Elsewhere z_i = C/||u_i|| multiplies everything that is left.
    """
    s = _Step(instance)
    square = s.eta**2 * s.u**2
    values = {"C_hat^2": s.u**2 / s.E**2, "normalised_progress": square - 2 * s.eta * s.product}
    values |= {"E_unclipped_weighted_gap": s.gap, "E_unclipped_weighted_Delta": s.delta, "E_unclipped_share": 1}
    taken = left_coefficient(statement, "E_unclipped_weighted_gap", s.numbers) * s.delta
    message = "a lengthened client's bound without eta^2 C^2, all on positive sides"
    return s.case(values, message, taken + 2 * s.eta * s.product - square)


def checks(build: Callable[..., Any], products: tuple[str, ...], prefix: str = "", part: str = "") -> tuple[Check, ...]:
    """A worst-case check for one to four local steps at each product eta L. Where the first of them is the largest that
    the hypotheses allow, also one just outside."""
    found = grid(**{"E": (1, 2, 3, 4), "eta L": products, "L": ("1",)})
    inside = made_of("worst-case", build, {prefix + name: i for name, i in found.items()}, part=part)
    return inside if part else (*inside, *outside(build, products[0]))


def cases(**builds: Callable[..., Any]) -> tuple[Check, ...]:
    """Worst-case checks of a bound that adds up cases, each by its own build."""
    found = grid(**{"E": (2, 4), "eta L": ("1/2", "1/5"), "L": ("1",)})
    named = ((build, {f"{case}, {name}": i for name, i in found.items()}) for case, build in builds.items())
    return tuple(check for build, instances in named for check in made_of("worst-case", build, instances))


def outside(build: Callable[..., Any], edge: str, **more: Any) -> tuple[Check, ...]:
    """A step 2% longer than eta L <= edge allows."""
    beyond = {"E": 2, "eta L": str(Fraction(51, 50) * Fraction(edge)), "L": "1", **more}
    return made_of("worst-case", build, {f"just outside eta L <= {edge}": beyond}, "not-applicable")
