"""Worst cases of the steps in das2022's proofs for one client: its local phase from w_k, and a w* that need not be its
minimiser.

Both sides of each inequality are arranged so that the left one is never negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.local_phase import LocalPhase, grid, step_size
from dpfl_theory.statements.model import Check

__all__ = ["checks", "eq18", "eq22", "eq23", "eq31", "eq31_sum", "eq32", "eq45"]


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

    def compared(self, left: Any, right: Any, what: str) -> Performance:
        return Performance(self.phase.problem, left, right, what)


def eq18(instance: Mapping[str, Any], factor: float = 0.5) -> Performance:
    """factor eta/(LE) ||u||^2 + ||w_E - w*||^2 <= ||w_k - w*||^2 + 2 eta E Delta; 1/2 is printed."""
    s = _Step(instance)
    left = factor * s.eta / (s.L * s.E) * s.u**2 + (s.way - s.eta * s.u) ** 2
    return s.compared(left, s.way**2 + 2 * s.eta * s.E * s.delta, "(18), all on positive sides")


def eq22(instance: Mapping[str, Any], threshold: float = 4.0) -> Performance:
    """A_i <= -(3 eta/(8LE)) C ||u|| at ||u|| = C, where C >= threshold E sqrt(L Delta); 4 is printed.

    With kappa = C/||u||, (22) over eta kappa reads eta kappa ||u||^2 + 3 ||u||^2/(8LE) <= 2 <u, w_k - w*>, under
    threshold^2 L E^2 Delta <= kappa^2 ||u||^2: the hypothesis is weakest and the left side largest at kappa = 1.
    """
    s = _Step(instance)
    s.phase.problem.add_constraint(threshold**2 * s.L * s.E**2 * s.delta <= s.u**2)
    left = (s.eta + 3 / (8 * s.L * s.E)) * s.u**2
    return s.compared(left, 2 * s.u * s.way, "eta ||u||^2 + 3 ||u||^2/(8LE) against 2 <u, w_k - w*>")


def eq23(instance: Mapping[str, Any]) -> Performance:
    """eta^2 ||u||^2 <= 2 eta^2 L E^2 (f_i(w_k) - f_i^*): what (23) adds to -2 eta B_i."""
    s = _Step(instance)
    return s.compared(s.u**2, 2 * s.L * s.E**2 * s.excess, "||u||^2 against 2 L E^2 (f_i(w_k) - f_i^*)")


def eq31(instance: Mapping[str, Any]) -> Performance:
    """E (f_i(w_k) - f_i(w*)) - 2 eta^2 L^2 E^3 (f_i(w_k) - f_i^*) <= B_i."""
    return _product(instance, int(instance["E"]) ** 3)


def eq31_sum(instance: Mapping[str, Any]) -> Performance:
    """The same with the sum of tau^2 for tau < E in place of E^3: the display's middle."""
    return _product(instance, sum(tau**2 for tau in range(int(instance["E"]))))


def _product(instance: Mapping[str, Any], count: int) -> Performance:
    s = _Step(instance)
    drift = 2 * s.eta**2 * s.L**2 * count
    right = s.u * s.way + s.E * s.delta + drift * s.excess
    return s.compared(s.E * s.excess, right, f"E (f_i(w_k) - f_i^*) against B_i + E Delta + {drift:.6g} times the same")


def eq32(instance: Mapping[str, Any]) -> Performance:
    """(32) for an unclipped client, with a = eta L E: A_i is at most -eta E (2 - 2a - 4a^2)(f_i(w_k) - f_i(w*)) plus
    eta E (2a + 4a^2) Delta_i.

    In terms of f_i(w_k) - f_i^* the right side is -eta E (2 - 2a - 4a^2)(f_i(w_k) - f_i^*) + 2 eta E Delta_i.
    """
    s = _Step(instance)
    a = s.eta * s.L * s.E
    gap = s.eta * s.E * (2 - 2 * a - 4 * a**2)
    left = s.eta**2 * s.u**2 + max(gap, 0.0) * s.excess
    right = 2 * s.eta * s.u * s.way + 2 * s.eta * s.E * s.delta + max(-gap, 0.0) * s.excess
    return s.compared(left, right, "(32), all on positive sides")


def eq45(instance: Mapping[str, Any]) -> Performance:
    """E {(1 - 2a^2)(f_i(w_k) - f_i(w*)) - 2a^2 Delta_i} <= <u, w_k - w*> with a = eta L E.

    (45) without eta^2 C_hat^2 E^2, which both sides have, and over 2 eta z_i, so that no weight z_i is left.
    """
    s = _Step(instance)
    a = s.eta * s.L * s.E
    gap = s.E * (1 - 2 * a**2)
    right = s.u * s.way + s.E * s.delta + max(-gap, 0.0) * s.excess
    return s.compared(max(gap, 0.0) * s.excess, right, "(45) over 2 eta z_i, all on positive sides")


def checks(
    build: Callable[[Mapping[str, Any]], Performance], products: tuple[str, ...], prefix: str = ""
) -> tuple[Check, ...]:
    """A worst-case check for one to four local steps at each product eta L."""
    found = grid(**{"E": (1, 2, 3, 4), "eta L": products, "L": ("1",)})
    return tuple(Check("worst-case", prefix + name, build, i) for name, i in found.items())
