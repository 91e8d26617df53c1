"""FedProx: FedAvg whose local objectives have a proximal term.

Li et al. 2020, "Federated Optimization in Heterogeneous Networks", Algorithm 2, with the cohort S of K clients:
    y_k is an approximate minimiser of h_k(y) = F_k(y) + (mu/2) ||y - w||^2;   w = (1/K) sum_{k in S} y_k.
Here y_k is the end of E epochs of gradient steps on h_k, as in the paper's experiments:
    y = w;  E times, for each batch b:  y = y - eta (grad f_k(y; b) + mu (y - w)).
The paper draws client k with probability p_k and takes the plain mean. Its experiments draw all clients with
one probability and weight them by their records. Both weightings are readings; cohorts here are drawn uniformly. With
mu = 0 the second is `fedavg-mcmahan`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from dpfl_theory.algorithms.faults import known, local_fault
from dpfl_theory.algorithms.faults.mcmahan import COHORT, EQUAL, TRAINING, without
from dpfl_theory.algorithms.faults.noise import on_layer
from dpfl_theory.algorithms.mcmahan import BY_RECORDS, EqualFedAvg
from dpfl_theory.core.algorithm import Extends, Reading
from dpfl_theory.core.parameter import Parameter, Range, Scale

__all__ = ["FedProx"]


TERM = (
    local_fault(
        "no proximal term",
        "the proximal term has no effect in the local steps: it is missing, or y is compared with itself, so that it "
        "is 0, for example where the parameters at the round's start are not copied; add mu (y - w) to each gradient",
        seen="FL-bench, issue 165; OpenFL, issue 823",
        pull=lambda a, o, y, w: o.zero,
    ),
    local_fault(
        "half the proximal term",
        "mu/2 (y - w) is added to the gradient: the gradient of (mu/2) ||y - w||^2 is mu (y - w)",
        pull=lambda a, o, y, w: 0.5 * a.proximal * (y - w),
    ),
    local_fault(
        "twice the proximal term",
        "the loss gets mu ||y - w||^2, or the term is added both to the loss and to the gradient: it is (mu/2) times "
        "the square",
        pull=lambda a, o, y, w: 2 * a.proximal * (y - w),
    ),
    local_fault(
        "the proximal term has the wrong sign",
        "mu (y - w) is subtracted from the gradient, which pushes clients away from w: add it",
        pull=lambda a, o, y, w: -a.proximal * (y - w),
    ),
    local_fault(
        "the proximal term is not squared",
        "the loss gets (mu/2) ||y - w||, whose gradient has length mu/2 however far y is: square the norm",
        seen="Flower, pull request 2210; FedTorch, issue 11",
        pull=lambda a, o, y, w: o.stretch(y - w, 0.5 * a.proximal),
    ),
    local_fault(
        "the proximal term is not squared",
        "the loss gets mu ||y - w||, whose gradient has length mu however far y is: add (mu/2) times the square",
        pull=lambda a, o, y, w: o.stretch(y - w, a.proximal),
    ),
    local_fault(
        "the proximal term is not squared",
        "the loss gets (mu/2) times the sum of the layers' norms, for example where norms of tensors are added in a "
        "loop: add the squares of these norms",
        pull=lambda a, o, y, w: o.by_layer(y - w, lambda part: o.stretch(part, 0.5 * a.proximal)),
    ),
    local_fault(
        "the proximal term is not squared",
        "the loss gets mu times the sum of the layers' norms: add (mu/2) times the squares of these norms",
        pull=lambda a, o, y, w: o.by_layer(y - w, lambda part: o.stretch(part, a.proximal)),
    ),
    local_fault(
        "the proximal term pulls to the client's last end",
        "mu (y - v) is added to the gradient, where the client ended at v when it last took part: add mu (y - w), "
        "with the server's parameters w",
        direction=lambda a, o, i, y, w: a.gradient(o, i, y) + a.proximal * (y - a.ends.get(int(i), w)),
        local=Extends(lambda inner, a, o, w, i: a.new_ends.setdefault(int(i), inner(o, w, i))),
        round=Extends(lambda inner, a, o, w, state: with_ends(inner, a, o, w, state)),
    ),
    *(
        local_fault(
            "the proximal term misses layers",
            f"the proximal term has only the {which} layer: add mu (y - w) for all of them",
            pull=lambda a, o, y, w, k=k: a.proximal * on_layer(y - w, o.layers[k]),
        )
        for which, k in (("first", 0), ("last", -1))
    ),
    local_fault(
        "weight decay in place of the proximal term",
        "mu y is added to the gradient, which pulls clients towards 0: add mu (y - w)",
        pull=lambda a, o, y, w: a.proximal * y,
    ),
    local_fault(
        "half of the proximal term is overwritten",
        "the loss gets -mu <y, w>, and the square of y is lost, for example where the second part is assigned and not "
        "added",
        seen="FedDyn, issue 1",
        pull=lambda a, o, y, w: -a.proximal * w,
    ),
    local_fault(
        "the proximal term once, after the local steps",
        "the local steps do not have the term, and one step on it follows: add mu (y - w) to each gradient",
        pull=lambda a, o, y, w: o.zero,
        local=Extends(lambda inner, a, o, w, i: moved(a, o, inner(o, w, i), w)),
    ),
    local_fault(
        "the proximal term without the local step size",
        "mu (y - w) is subtracted from y, not multiplied by the local step size: add mu (y - w) to the gradient",
        pull=lambda a, o, y, w: a.proximal * (y - w) / a.rate(o),
    ),
    local_fault(
        "the proximal step after the gradient step",
        "the proximal term is taken at the point after the gradient step: take both at the same point",
        pull=lambda a, o, y, w: o.zero,
        local=lambda a, o, w, i: o.descend(
            w, i, 1, a.steps(o, i), lambda y: y - moved(a, o, trained(a, o, i, y, w), w)
        ),
    ),
)
"""Mistakes in the proximal term."""


def with_ends(inner: Callable[..., Any], a: Any, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
    """A round that also keeps where each client ended."""
    before, a.ends = (None, {}) if state is None else state if isinstance(state, tuple) else (state, {})
    a.new_ends = {}
    w, after = inner(o, w, before)
    return w, (after, {**a.ends, **a.new_ends})


def trained(a: Any, o: Any, i: Any, y: Any, w: Any) -> Any:
    """y after a gradient step."""
    return y - a.rate(o) * a.gradient(o, i, y)


def moved(a: Any, o: Any, y: Any, w: Any) -> Any:
    """y after a step on the proximal term."""
    return y - a.rate(o) * a.proximal * (y - w)


class FedProx(EqualFedAvg):
    """FedProx with gradient steps on the local objectives."""

    name = "fedprox"
    title = "FedProx"
    source = "Li et al. 2020 Algorithm 2"
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("", weights="the mean of the cohort, as printed"),
        Reading("", BY_RECORDS, "weights by numbers of records, as in the paper's experiments"),
    )

    proximal = Parameter(
        *("mu", "weight of the proximal term", "F/X^2"),
        kind="nonnegative",
        aliases=("proximal", "proximal_mu", "fedprox_mu", "prox_mu"),
        scale=Scale("L", lambda a, problem: problem.L),
        default=0.1,
        search=Range((1e-3, 1.0)),
        trials=(0.8, 0.3),
    )

    def pull(self, o: Any, y: Any, w: Any) -> Any:
        """The gradient of the proximal term."""
        return self.proximal * (y - w)

    def direction(self, o: Any, i: Any, y: Any, w: Any) -> Any:
        return self.gradient(o, i, y) + self.pull(o, y, w)

    faults = known(*TERM, *EQUAL, *COHORT, *without(TRAINING, "a proximal term in the local steps"))
