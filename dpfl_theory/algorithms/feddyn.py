"""FedDyn: local objectives with a linear term that is learned, so that local minimisers agree in the limit.

Acar et al. 2021, "Federated Learning Based on Dynamic Regularization", Algorithm 1, with the cohort S, n clients, and
lambda_k = h = 0 before the first round:
    y_k = argmin f_k(y) - <lambda_k, y> + (alpha/2) ||y - w||^2;   lambda_k = lambda_k - alpha (y_k - w)   for k in S;
    h = h - alpha (1/n) (sum_{k in S} y_k - w);   w = (1/|S|) sum_{k in S} y_k - h/alpha.
Here y_k is the end of E epochs of gradient steps. In the line of h the sum may end before w: the first reading has
sum_{k in S} (y_k - w), with which h is the mean of the lambda_k and the optimum is a fixed point. This is what the
authors' code does; it also divides alpha by n p_k, with the clients' shares p_k of the records, in the local steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpfl_theory.algorithms.averaging import over_cohort
from dpfl_theory.algorithms.faults import control_fault, known, local_fault, step_fault
from dpfl_theory.algorithms.faults.carried import KEPT
from dpfl_theory.algorithms.faults.mcmahan import TRAINING, without
from dpfl_theory.algorithms.mcmahan import EqualFedAvg
from dpfl_theory.core.algorithm import Fault, Reading
from dpfl_theory.core.parameter import Parameter, Range, Scale

__all__ = ["FedDyn", "Regularised"]


@dataclass(frozen=True)
class Regularised:
    """Client k after its local steps: its end less w, and its new lambda_k."""

    difference: Any
    dual: Any


def by_share(a: Any, o: Any, i: Any) -> Any:
    """alpha divided by n p_i."""
    return a.strength * o.tally(o.everyone, o.records) / (o.n * o.records(i))


def without_brackets(a: Any, o: Any, w: Any, total: Any, members: Any) -> Any:
    """(sum_{k in S} y_k) - w, from the sum of the differences."""
    return total + (o.count(members) - 1) * w


def of_cohort(a: Any, o: Any, h: Any, duals: Any, members: Any) -> Any:
    """The mean of -lambda_k/alpha over the cohort."""
    return -o.sum(members, o.each(members, lambda i: duals[i] / a.alpha(o, i))) / over_cohort(a, o, members)


OBJECTIVE = (
    local_fault(
        "no quadratic term",
        "the local steps have the linear term alone: add alpha (y - w) to each gradient",
        pull=lambda a, o, i, y, w: o.zero,
    ),
    local_fault(
        "half the quadratic term",
        "alpha/2 (y - w) is added to the gradient: the gradient of (alpha/2) ||y - w||^2 is alpha (y - w)",
        pull=lambda a, o, i, y, w: 0.5 * a.alpha(o, i) * (y - w),
    ),
    local_fault(
        "twice the quadratic term",
        "2 alpha (y - w) is added to the gradient, for example where it is in the loss and in the weight decay: add it "
        "once",
        pull=lambda a, o, i, y, w: 2 * a.alpha(o, i) * (y - w),
    ),
    local_fault(
        "the square is missing in the quadratic term",
        "the loss gets -alpha <y, w> without (alpha/2) ||y||^2, which the authors' code has as weight decay",
        seen="FedDyn, issue 2",
        pull=lambda a, o, i, y, w: -a.alpha(o, i) * w,
    ),
    local_fault(
        "no linear term",
        "lambda_k has no effect in the local steps: subtract the client's lambda_k from each gradient",
        linear=lambda a, o, i, dual: o.zero,
    ),
    local_fault(
        "the linear term has the wrong sign",
        "lambda_k is added to the gradient: subtract it",
        linear=lambda a, o, i, dual: dual,
    ),
    local_fault(
        "the linear term is multiplied by alpha",
        "alpha lambda_k is subtracted, though lambda_k has the factor alpha already: subtract lambda_k",
        linear=lambda a, o, i, dual: -a.alpha(o, i) * dual,
    ),
)
"""Mistakes in the local objective."""

DUALS = (
    *KEPT,
    control_fault(
        "the client's state moves the wrong way",
        "lambda_k gets alpha (y - w): subtract it, so that lambda_k is the gradient at y",
        equivalent_to="the linear term has the wrong sign",
        next_dual=lambda a, o, i, dual, u: dual + a.alpha(o, i) * u,
    ),
    control_fault(
        "the client's state without alpha",
        "lambda_k moves by y - w: multiply by alpha",
        next_dual=lambda a, o, i, dual, u: dual - u,
    ),
    control_fault(
        "the client's state is replaced",
        "lambda_k is -alpha (y - w) of the last round alone: subtract this from the old lambda_k",
        next_dual=lambda a, o, i, dual, u: -a.alpha(o, i) * u,
    ),
    control_fault(
        "the client's state is never stored",
        "lambda_k is 0 in every round: keep it for each client",
        equivalent_to="no linear term",
        keep=lambda a, o, duals, members, trained: duals,
    ),
)
"""Mistakes in lambda_k."""


SERVER = (
    step_fault(
        "h is divided by |S| in place of n",
        "h moves by the mean over the cohort: divide the sum by the number n of all clients",
        next_state=lambda a, o, h, moved, members: h - a.strength * moved / over_cohort(a, o, members),
    ),
    step_fault(
        "h moves by the sum",
        "h moves by alpha times the sum over the cohort: divide by the number n of all clients",
        next_state=lambda a, o, h, moved, members: h - a.strength * moved,
    ),
    step_fault(
        "h moves without alpha",
        "h moves by the sum over the cohort over n, without alpha: multiply it by alpha, since h is divided by it",
        next_state=lambda a, o, h, moved, members: h - moved / o.n,
    ),
    step_fault(
        "h has the wrong sign",
        "h gets alpha (1/n) sum (y_k - w), or w gets h/alpha: both are subtracted",
        corrected=lambda a, o, h, duals, members: h / a.strength,
    ),
    step_fault(
        "h is not divided by alpha",
        "w is the mean of the ends less h: subtract h/alpha",
        corrected=lambda a, o, h, duals, members: -h,
    ),
    step_fault(
        "no server state",
        "w is the mean of the clients' ends: subtract h/alpha",
        corrected=lambda a, o, h, duals, members: o.zero,
    ),
    step_fault(
        "h is not kept",
        "h is that of the last round alone: keep it as the state",
        next_state=lambda a, o, h, moved, members: -a.strength / o.n * moved,
    ),
    step_fault(
        "h of the cohort alone",
        "the mean of lambda_k over the cohort takes the place of h, which is that over all clients, with absent ones",
        corrected=of_cohort,
    ),
    step_fault(
        "h of the round before",
        "w is made with h before its update: update h first",
        read=lambda a, o, old, new: old,
    ),
)
"""Mistakes in the server's state."""

COHORT: tuple[Fault, ...] = (
    step_fault(
        "h is subtracted from w in place of the clients' mean",
        "the server's vector is w - h/alpha: it is the mean of the clients' ends less h/alpha",
        mean=lambda a, o, members, moves: o.zero,
    ),
    step_fault(
        "division by n in place of the cohort",
        "the sum of y_k - w is divided by the number n of all clients: divide by the number in the cohort",
        divisor=lambda a, o, members: o.n,
    ),
    step_fault(
        "all clients in place of the cohort",
        "all clients take part, whoever is in the cohort",
        members=lambda a, o: o.everyone,
    ),
)


class FedDyn(EqualFedAvg):
    """FedDyn with gradient steps on the local objectives; the state is h and the clients' lambda_k."""

    name = "feddyn"
    title = "FedDyn"
    source = "Acar et al. 2021 Algorithm 1"
    samplings: ClassVar[tuple[str, ...]] = ("fixed", "poisson")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("h moves by the sum of the differences y_k - w"),
        Reading("the same, with alpha by numbers of records, as in the authors' code", {"alpha": by_share}),
        Reading(
            "h moves by the sum of the y_k less a single w: the optimum is no fixed point", {"moved": without_brackets}
        ),
    )
    global_step = 1.0
    compared = 6

    strength = Parameter(
        *("alpha", "weight of the dynamic regulariser", "F/X^2"),
        aliases=("feddyn_alpha", "alpha_coef", "mu"),
        scale=Scale("L", lambda a, problem: problem.L),
        default=0.1,
        search=Range((1e-3, 1.0)),
        trials=(0.8, 0.3),
    )

    def steps_are_plain(self) -> bool:
        return False

    def initial(self, o: Any, w: Any) -> tuple[Any, Any]:
        """h, and the clients' lambda_k."""
        return o.zero, o.each(o.everyone, lambda i: o.zero)

    def alpha(self, o: Any, i: Any) -> Any:
        """The weight of the regulariser of client i."""
        return self.strength

    def pull(self, o: Any, i: Any, y: Any, w: Any) -> Any:
        """The gradient of the quadratic term."""
        return self.alpha(o, i) * (y - w)

    def linear(self, o: Any, i: Any, dual: Any) -> Any:
        """The gradient of the linear term, which has this lambda_i."""
        return -dual

    def next_dual(self, o: Any, i: Any, dual: Any, u: Any) -> Any:
        """lambda_i after local steps that moved by u."""
        return dual - self.alpha(o, i) * u

    def train(self, o: Any, w: Any, i: Any, dual: Any) -> Regularised:
        """The local steps of client i, which has this lambda_i."""

        def direction(y: Any) -> Any:
            return self.direction(o, i, y, w) + self.pull(o, i, y, w) + self.linear(o, i, dual)

        y = o.descend(w, i, self.rate(o), self.steps(o, i), self.along(o, i, direction))
        return Regularised(y - w, self.next_dual(o, i, dual, y - w))

    def mean(self, o: Any, members: Any, moves: Any) -> Any:
        """The mean of the clients' ends, less w."""
        return o.sum(members, moves, lambda i: self.weight(o, i, members)) / self.divisor(o, members)

    def moved(self, o: Any, w: Any, total: Any, members: Any) -> Any:
        """What h moves along, from the sum of the differences y_k - w."""
        return total

    def next_state(self, o: Any, h: Any, moved: Any, members: Any) -> Any:
        """h after a round."""
        return h - self.strength / o.n * moved

    def read(self, o: Any, old: Any, new: Any) -> Any:
        """The h that w is made with."""
        return new

    def corrected(self, o: Any, h: Any, duals: Any, members: Any) -> Any:
        """What is added to the mean of the clients' ends."""
        return -h / self.strength

    def keep(self, o: Any, duals: Any, members: Any, trained: Any) -> Any:
        """The clients' lambda_k after the round."""
        return o.put(duals, members, o.apply(trained, lambda t: t.dual))

    def round(self, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
        h, duals = self.initial(o, w) if state is None else state
        members = self.members(o)
        trained = o.each(members, lambda i: self.train(o, w, i, duals[i]))
        moves = o.apply(trained, lambda t: t.difference)
        total, mean = o.sum(members, moves), self.mean(o, members, moves)
        duals = self.keep(o, duals, members, trained)
        new = self.next_state(o, h, self.moved(o, w, total, members), members)
        after = w + mean + self.corrected(o, self.read(o, h, new), duals, members)
        return o.when(o.count(members) > 0, lambda: after, lambda: w), (new, duals)

    faults = known(*OBJECTIVE, *DUALS, *SERVER, *COHORT, *without(TRAINING, "batches for steps"))
