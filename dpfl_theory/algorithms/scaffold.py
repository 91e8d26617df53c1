"""SCAFFOLD (Karimireddy et al. 2020 Algorithm 1, option II), as noble2022 Algorithm 1 prints it, with full gradients
and control variates that start at zero.

y = w;  K times  y = y - eta_l (grad f_i(y) - c_i + c);   c_i^+ = c_i - c + (w - y)/(K eta_l)
w = w + eta_g mean_S (y_i - w);   c = c + (|S|/n) mean_S (c_i^+ - c_i);   c_i = c_i^+ for i in S
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpfl_theory.algorithms.averaging import Averaging, over_cohort, weighted_difference
from dpfl_theory.algorithms.faults import known
from dpfl_theory.algorithms.faults.scaffold import FAULTS
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.core.algorithm import Extends, Reading
from dpfl_theory.core.parameter import Range

__all__ = ["Scaffold", "Trained", "all_users", "lagging"]


@dataclass(frozen=True)
class Trained:
    """Client i after its local steps: c_i and c as it read them, its start w and its end y, and c_i^+."""

    i: Any
    own: Any
    c: Any
    w: Any
    y: Any
    new: Any = None


def all_users(a: Any, o: Any, cohort: Any) -> Any:
    """A part of the round: all users take part in warm rounds."""
    return o.everyone


def lagging(offsets: Sequence[Sequence[float]]) -> Callable[..., Any]:
    """A part of the round: warm rounds at w take gradients at w plus these offsets (n, d) [X], a row for each user, as
    earlier rounds might have left them."""
    return lambda a, o, i, w: w + o.given(offsets)[i]


def corrected_after(a: Any, o: Any, i: Any, w: Any, correction: Any) -> Callable[[Any], Any]:
    """A direction whose optimizer does not see the correction."""
    along = a.along(o, i, lambda y: a.direction(o, i, y, w))
    return lambda y: along(y) + correction


def by_own_steps(a: Any, o: Any, t: Any) -> Any:
    """c_i^+ with the client's number of steps and the round's step size, where these vary."""
    return t.own - t.c + (t.w - t.y) / (a.steps(o, t.i) * a.rate(o))


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

    declared_readings: ClassVar[Mapping[str, Reading]] = {
        "weights by numbers of records": Reading(
            "c moves by differences with the same weights", {"sent": Extends(weighted_difference)}
        ),
        "momentum in the local steps": Reading(
            "momentum of the gradients alone, to whose steps c - c_i is added", {"corrected": corrected_after}
        ),
        **dict.fromkeys(
            (
                "a step size that decays with the rounds",
                "clients with numbers of local steps of their own",
                "local steps on batches of records",
            ),
            Reading("control variates divide by the client's own steps and step size", {"control": by_own_steps}),
        ),
    }

    counts: ClassVar[Mapping[str, str]] = {"warm_start": "warm rounds"}
    warm_start = 0
    """The number of first rounds that only set control variates, at the server's vector. The paper's theory needs every
    user to have been drawn: take one round of `all_users`, or some 4/l rounds."""

    local_step = TwoSidedFedAvg.local_step
    global_step = replace(TwoSidedFedAvg.global_step, search=Range((0.1, 10.0)))
    local_steps = replace(
        TwoSidedFedAvg.local_steps,
        symbol="K",
        aliases=("local_steps", "epochs", "E", "Q"),
        search=Range((1, 4, 16), between=False),
    )

    def steps_are_plain(self) -> bool:
        return False

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

    def is_warm(self, o: Any) -> bool:
        """Whether the round only sets control variates."""
        return bool(self.warm_start) and bool(o.number < self.warm_start)

    def members(self, o: Any) -> Any:
        return self.warm_members(o, o.cohort) if self.is_warm(o) else o.cohort

    def warm_members(self, o: Any, cohort: Any) -> Any:
        """The clients of a warm round; ``cohort`` are those that are drawn as in any other round."""
        return cohort

    def corrected(self, o: Any, i: Any, w: Any, correction: Any) -> Callable[[Any], Any]:
        """The direction of the local steps of client i from w, with this correction."""
        return self.along(o, i, lambda y: self.direction(o, i, y, w) + correction)

    def train(self, o: Any, w: Any, i: Any, own: Any, c: Any) -> Trained:
        """The local steps of client i, which reads c_i and c."""
        correction = self.correction(o, own, c)
        y = o.descend(w, i, self.rate(o), self.steps(o, i), self.corrected(o, i, w, correction))
        t = Trained(i, own, c, w, y)
        return replace(t, new=self.control(o, t))

    def trained(self, o: Any, w: Any, c: Any, own: Any) -> Any:
        """The cohort after its local steps."""
        return o.each(self.members(o), lambda i: self.train(o, w, i, own[i], c))

    divisor = over_cohort

    def sent(self, o: Any, t: Trained) -> Any:
        """What a client sends for c."""
        return t.new - t.own

    def control_weight(self, o: Any) -> Any:
        """The weight of each of these in c."""
        return 1 / o.n

    def keep(self, o: Any, own: Any, trained: Any) -> Any:
        """The clients' control variates after the round."""
        return o.put(own, self.members(o), o.apply(trained, lambda t: t.new))

    def controls(self, o: Any, w: Any, c: Any, own: Any, trained: Any) -> tuple[Any, Any]:
        """c and the clients' c_i after the round."""
        total = o.sum(self.members(o), o.apply(trained, lambda t: self.sent(o, t)))
        return c + self.control_weight(o) * total, self.keep(o, own, trained)

    def exchange(self, o: Any, w: Any, c: Any, own: Any) -> tuple[Any, Any]:
        """The round, given the control variates before it."""
        trained = self.trained(o, w, c, own)
        step = self.step(o, self.members(o), o.apply(trained, lambda t: self.update(o, w, t.y)))
        return self.move(o, w, step), self.controls(o, w, c, own, trained)

    def round(self, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
        c, own = self.initial(o, w) if state is None else state
        if self.is_warm(o):
            return w, self.warm(o, w, c, own)
        return self.exchange(o, w, c, own)

    def warm_points(self, o: Any, i: Any, w: Any) -> Any:
        """Where client i takes its gradients in a warm round at w."""
        return w

    def warm(self, o: Any, w: Any, c: Any, own: Any) -> tuple[Any, Any]:
        """The control variates after a warm round: means of K gradients (noble2022 Section 3.3)."""

        def mean(i: Any) -> Any:
            at, steps = self.warm_points(o, i, w), self.steps(o, i)
            return sum(self.gradient(o, i, at) for _ in range(steps)) / steps

        trained = o.each(self.members(o), lambda i: Trained(i, own[i], c, w, w, mean(i)))
        return self.controls(o, w, c, own, trained)

    faults = known(*FAULTS)
