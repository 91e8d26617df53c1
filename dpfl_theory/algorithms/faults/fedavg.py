"""Mistakes in FedAvg and its private forms, and the differences between it and the FedAvg of libraries."""

from __future__ import annotations

from typing import Any

from dpfl_theory.algorithms.averaging import over_cohort
from dpfl_theory.algorithms.faults import clip_fault, local_fault
from dpfl_theory.algorithms.faults.averaging import AVERAGING, BOTH_STEPS, CLIPPING, LOCAL, by_records, unbounded
from dpfl_theory.algorithms.faults.carried import CARRIED, LEARNED
from dpfl_theory.algorithms.faults.noise import NOISE

NORMALISING = (
    clip_fault(
        "clipped in place of normalised",
        "short updates are not changed: every update should be scaled to the length C",
        bound=lambda a, o, u, updates: o.clip(u, a.threshold),
    ),
    clip_fault(
        "normalised to length 1",
        "updates are scaled to length 1, not to C",
        bound=lambda a, o, u, updates: o.stretch(u, 1.0),
    ),
)
IN_DIFFERENCES = "to which the threshold and the noise of this algorithm do not apply: divide by the local step size"
MCMAHAN = (
    "the function averages the clients' ends or differences, as McMahan et al. 2017 do. The algorithm averages "
    "(w - y)/eta"
)
"""The difference between the FedAvg of most libraries and that of das2022."""
STEPS: tuple[tuple[str, dict[str, Any]], ...] = (("eta beta", {}), ("eta", {"move": lambda a, o, w, step: w - step}))
"""The global steps with which averages of differences are this algorithm."""


def difference(a: Any, o: Any, w: Any, y: Any) -> Any:
    """w - y."""
    return w - y


LIBRARIES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("the difference in place of the update", "", "; compare it with fedavg-two-sided if you mean differences", {}),
    (
        "the difference in place of the update",
        ", and divides by r where your function divides by the number of clients that take part",
        " where all cohorts have r members; compare it with fedavg-two-sided if you mean differences",
        {"divisor": over_cohort},
    ),
    (
        "FedAvg of McMahan et al. 2017, weighted by numbers of records",
        ", and gives all clients the same weight where your function weights them by their shares of the records",
        " and other weights; compare it with fedavg-mcmahan",
        {"weight": by_records, "divisor": lambda a, o, members: 1.0},
    ),
)
AS_LIBRARIES = tuple(
    local_fault(
        name, f"{MCMAHAN}{words}. Both agree for the global step {step}{others}", update=difference, **weights, **parts
    )
    for name, words, others, weights in LIBRARIES
    for step, parts in STEPS
)
CLIPPED_DIFFERENCES = tuple(
    local_fault(
        "the difference is clipped, not divided by the local step size",
        "w - y is clipped to C, not (w - y)/eta: many libraries call this DP-FedAvg (after McMahan et al. 2018). It "
        f"is this algorithm with the threshold C/eta and the global step {step}, with the same noise multiplier. If "
        "you mean it, compare it with dp-fedavg-two-sided, whose threshold and noise are those of a difference; with "
        "`sampling` poisson where clients are drawn independently",
        update=difference,
        **parts,
    )
    for step, parts in STEPS
)
DIFFERENCES = (
    *CLIPPED_DIFFERENCES,
    clip_fault(
        "the difference is clipped in place of the update",
        f"w - y is clipped to C and then divided by eta, {IN_DIFFERENCES} before clipping",
        private=True,
        update=difference,
        bound=lambda a, o, u, updates: o.clip(u, a.threshold) / a.local_step,
    ),
    clip_fault(
        "clip of the parameters in place of the update",
        "the client's parameters are clipped, and the update is made from the clipped ones: clip the update",
        seen="disco, pull request 317",
        private=True,
        update=lambda a, o, w, y: (w - o.clip(y, a.threshold)) / a.local_step,
        bound=unbounded,
    ),
)

FAULTS = (*AS_LIBRARIES, *(one for one in AVERAGING if one.name != BOTH_STEPS), *LOCAL, *CARRIED)
"""Without a bound."""
CLIPPED = (*CLIPPING, *NOISE, *DIFFERENCES, *AVERAGING, *LOCAL, *CARRIED, *LEARNED)
_INAPPLICABLE = {"normalised in place of clipped", *(one.name for one in CLIPPED_DIFFERENCES)}
NORMALISED = (*NORMALISING, *(one for one in CLIPPED if one.name not in _INAPPLICABLE))
