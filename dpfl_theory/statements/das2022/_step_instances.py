"""Instances for the steps of das2022's proofs: every client counts in every round, so a few replicates are
informative."""

from __future__ import annotations

from dpfl_theory.statements.das2022 import _corner_instances as corners
from dpfl_theory.statements.das2022 import _instances as base
from dpfl_theory.statements.das2022._instances import Instance, fixed, independent, problem, run

SLACK_STEP: dict[str, Instance] = {
    name: {**base.GENERAL_CLIP[name], "replicates": 256, "rounds": 30}
    for name in (
        "quadratics, independent r = 1, eta L = 0.2",
        "shared minimiser, updates clipped, independent r = 1, eta L = 0.49",
        "extreme heterogeneity, 2 of 6 clients, eta L = 0.05",
        "Huber, shared minimiser, full participation, eta L = 0.3",
    )
}
_OPPOSITE = problem("huber-scalar", minimisers=[-1.0, 1.0], thresholds=[10.0, 10.0])
_AT_THE_MINIMUM = run(_OPPOSITE, 0.001, margin=1.0, rho=0.0001, step=0.02, E=2, rounds=10, replicates=256)
# Here the steps are nearly equalities, by their gaps and by their heterogeneity, so that smaller errors show.
_NEARLY: dict[str, Instance] = {
    "nearly linear objective, eta L = 0.02": run(
        base.POINT, 40.0, C_hat=1.0, rho=0.001, step=0.02, E=2, rounds=30, replicates=256
    )
}
STEP: dict[str, Instance] = {**SLACK_STEP, **_NEARLY, "opposite clients at w*, eta L = 0.02": _AT_THE_MINIMUM}
# The same for normalised updates, whose weights C/||u_i|| have an infinite mean in one dimension.
_IN_SPACE = problem("quadratic", clients=2, dimension=3, condition=1.0, heterogeneity=1.0, seed=7)
NORMALISED_STEP: dict[str, Instance] = {
    **SLACK_STEP,
    **_NEARLY,
    "opposite clients in three dimensions at w*, eta L = 0.02": {**_AT_THE_MINIMUM, "problem": _IN_SPACE},
}
_PAIR = problem("huber-scalar", minimisers=[0.0, 0.0], thresholds=[10.0, 10.0])
# Attained up to 5%, while every round removes 19% of the gap: means over rounds other than 0 to K-1 show.
FALLING: dict[str, Instance] = {
    "quadratics, the gap falls by 19% a round, eta L = 0.05": run(
        _PAIR, 5.0, C_hat=10.0, rho=0.0001, step=0.05, E=2, rounds=3, replicates=2048
    ),
}
CLIPPED_STEP: dict[str, Instance] = {
    name: STEP[name]
    for name in (
        "shared minimiser, updates clipped, independent r = 1, eta L = 0.49",
        "Huber, shared minimiser, full participation, eta L = 0.3",
    )
} | {
    "extreme heterogeneity, far from w*, 2 of 6 clients, eta L = 0.49": run(
        base.CURVED_EXTREME, 1000.0, margin=1.0, rho=0.02, step=0.49, E=3, rounds=30, cohort=fixed(2), replicates=256
    ),
}
# Between the threshold that das2022.eq22.sharpened asks for, 0.629 of the printed one, and the printed one.
SMALLER_THRESHOLD: dict[str, Instance] = {
    **CLIPPED_STEP,
    "extreme heterogeneity, far from w*, 2 of 6 clients, 0.63 of the printed threshold": {
        **CLIPPED_STEP["extreme heterogeneity, far from w*, 2 of 6 clients, eta L = 0.49"],
        "margin": 0.63,
    },
}
_TWO_HUNDRED = problem("huber-scalar", minimisers=[0.0] * 200, thresholds=[10.0] * 200)
RECURSION: dict[str, Instance] = {
    **corners.CLIPPED_RUNS,
    # Here (35) fails in single rounds: many equal clients, updates just above C, long local phases.
    "200 equal clients near C, independent r = 1, eta L E = 2": run(
        _TWO_HUNDRED, 1.0, C_hat=0.45, rho=0.001, step=0.49, E=4, rounds=2, cohort=independent(1), replicates=2048
    ),
    **{
        name: base.GENERAL_CLIP[name]
        for name in (
            "nearly linear objective, eta L E = 0.05",
            "quadratics, independent r = 1, eta L = 0.2",
            "shared minimiser, updates clipped, independent r = 1, eta L = 0.49",
            "extreme heterogeneity, 2 of 6 clients, eta L = 0.05",
        )
    },
}
# Without runs of two seconds where the six-dimensional quadratics show the same.
SUBSTITUTED: dict[str, Instance] = base.without(
    {**base.GENERAL_CLIP, **corners.LONG_PHASE, **corners.CLIPPED_RUNS},
    "40 clients in 200 dimensions, 1 of 40, eta L = 0.1",
)
SUBSTITUTED_ALPHA: dict[str, Instance] = base.without(
    {**base.ALPHA_CLIP, **corners.ALPHA_CLIP_TIGHT}, "40 clients in 200 dimensions, independent r = 10"
)

_EQUAL = problem("huber-scalar", minimisers=[0.0] * 4, thresholds=[1.0] * 4)
COHORTS: dict[str, tuple[Instance, str]] = {
    "equal updates, independent r = 1": (
        run(_EQUAL, 50.0, C_hat=1.0, rho=0.1, step=0.1, E=1, rounds=5) | {"cohort": independent(1), "replicates": 4096},
        "violated",
    ),
    "moderate heterogeneity, 3 of 10 clients": (
        run(base.MIXED, 5.0, C_hat=100.0, rho=0.1, step=0.1, E=2, rounds=20) | {"cohort": fixed(3), "replicates": 1024},
        "holds",
    ),
    "extreme heterogeneity near w*, independent r = 2": (
        run(base.CURVED_EXTREME, 0.1, C_hat=1e4, rho=0.1, step=0.01, E=2, rounds=5)
        | {"cohort": independent(2), "replicates": 4096},
        "holds",
    ),
}
