"""Mistakes in FedDyn: in the local objectives, the clients' states and the server's state."""

from __future__ import annotations

from typing import Any

from dpfl_theory.algorithms.averaging import over_cohort
from dpfl_theory.algorithms.faults import control_fault, local_fault, step_fault
from dpfl_theory.algorithms.faults.carried import KEPT
from dpfl_theory.algorithms.faults.mcmahan import TRAINING, without
from dpfl_theory.core.algorithm import Fault


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

FAULTS = (*OBJECTIVE, *DUALS, *SERVER, *COHORT, *without(TRAINING, "batches for steps"))
