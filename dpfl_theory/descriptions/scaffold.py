"""SCAFFOLD, as noble2022 Algorithm 1 prints it, with full gradients and control variates that start at zero.

y = w;  K times  y = y - eta_l (grad f_i(y) - c_i + c);   c_i^+ = c_i - c + (w - y)/(K eta_l)
w = w + eta_g mean_S (y_i - w);   c = c + (|S|/n) mean_S (c_i^+ - c_i);   c_i = c_i^+ for i in S
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpfl_theory.core.algorithm import Fault, Reading
from dpfl_theory.core.parameter import Range
from dpfl_theory.descriptions.averaging import Averaging, over_cohort
from dpfl_theory.descriptions.two_step_sizes import TwoSidedFedAvg

__all__ = ["ALGORITHMS", "Scaffold", "Trained"]


@dataclass(frozen=True)
class Trained:
    """Client i after its local steps: c_i and c as it read them, its start w and its end y, and c_i^+."""

    i: Any
    own: Any
    c: Any
    w: Any
    y: Any
    new: Any = None


def simulated(a: Any, cohort: Any, *gradient: Any) -> Any:
    """The hand-written simulation, for cohorts of known size. It refuses draws with replacement."""
    from dpfl_theory.algorithms import Scaffold as Simulated

    if cohort.scheme == "poisson":
        return None
    return Simulated(a.local_step, a.global_step, int(a.local_steps), cohort, *gradient)


class Scaffold(Averaging):
    """SCAFFOLD with full gradients; the state is c and the clients' c_i."""

    name = "scaffold"
    title = "SCAFFOLD"
    source = "noble2022 Algorithm 1 with full gradients"
    samplings: ClassVar[tuple[str, ...]] = ("fixed", "poisson")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("control variates are means of the local gradients"),
        Reading(
            "control variates are gradients at the server's parameters (option I of Karimireddy et al. 2020)",
            {"control": lambda a, o, t: a.gradient(o, t.i, t.w)},
        ),
    )

    local_step = TwoSidedFedAvg.local_step
    global_step = replace(TwoSidedFedAvg.global_step, search=Range((0.1, 10.0)))
    local_steps = replace(
        TwoSidedFedAvg.local_steps,
        symbol="K",
        aliases=("local_steps", "epochs", "E", "Q"),
        search=Range((1, 4, 16), between=False),
    )

    def fused(self, cohort: Any) -> Any:
        return simulated(self, cohort)

    def initial(self, o: Any, w: Any) -> tuple[Any, Any]:
        """c, and the clients' c_i."""
        return o.zero, o.each(o.everyone, lambda i: o.zero)

    def message(self, o: Any, w: Any, i: Any) -> Any:
        return o.gradient(i, w)  # of which the first control variate is a mean

    def correction(self, o: Any, own: Any, c: Any) -> Any:
        """What a local step adds to the gradient."""
        return c - own

    def mean_gradient(self, t: Trained) -> Any:
        """(w - y)/(K eta_l)."""
        return (t.w - t.y) / (self.local_steps * self.local_step)

    def control(self, o: Any, t: Trained) -> Any:
        """c_i^+."""
        return t.own - t.c + self.mean_gradient(t)

    def train(self, o: Any, w: Any, i: Any, own: Any, c: Any) -> Trained:
        """The local steps of client i, which reads c_i and c."""
        correction = self.correction(o, own, c)
        y = o.descend(w, i, self.local_step, self.steps(o), lambda y: self.direction(o, i, y, w) + correction)
        t = Trained(i, own, c, w, y)
        return replace(t, new=self.control(o, t))

    def trained(self, o: Any, w: Any, c: Any, own: Any) -> Any:
        """The cohort after its local steps."""
        return o.each(o.cohort, lambda i: self.train(o, w, i, own[i], c))

    def divisor(self, o: Any, members: Any) -> Any:
        return over_cohort(self, o, members)

    def sent(self, o: Any, t: Trained) -> Any:
        """What a client sends for c."""
        return t.new - t.own

    def control_weight(self, o: Any) -> Any:
        """The weight of each of these in c."""
        return 1 / o.n

    def keep(self, o: Any, own: Any, trained: Any) -> Any:
        """The clients' control variates after the round."""
        return o.put(own, o.cohort, o.apply(trained, lambda t: t.new))

    def controls(self, o: Any, w: Any, c: Any, own: Any, trained: Any) -> tuple[Any, Any]:
        """c and the clients' c_i after the round."""
        total = o.sum(o.cohort, o.apply(trained, lambda t: self.sent(o, t)))
        return c + self.control_weight(o) * total, self.keep(o, own, trained)

    def exchange(self, o: Any, w: Any, c: Any, own: Any) -> tuple[Any, Any]:
        """The round, given the control variates before it."""
        trained = self.trained(o, w, c, own)
        step = self.step(o, o.cohort, o.apply(trained, lambda t: self.update(o, w, t.y)))
        return self.move(o, w, step), self.controls(o, w, c, own, trained)

    def round(self, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
        return self.exchange(o, w, *(self.initial(o, w) if state is None else state))

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        from dpfl_theory.descriptions.faults.control_variates import FAULTS

        return FAULTS


ALGORITHMS = (Scaffold,)
