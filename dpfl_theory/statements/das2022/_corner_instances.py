"""Corners of das2022's hypotheses: infinite weights, fifty local steps, informative bounds, Poisson cohorts; and
instances on which its two methods are compared."""

from __future__ import annotations

from dpfl_theory.statements.das2022 import _instances as base
from dpfl_theory.statements.das2022._instances import Instance, fixed, independent, problem, run

# Here the expectations of (3) are infinite: one gradient direction, and Delta_i* > 0.
APART: dict[str, Instance] = {
    "two clients apart in one dimension": run(
        problem("huber-scalar", minimisers=[-1.0, 1.0], thresholds=[1.0, 1.0]), 0.5, rho=0.3, alpha=2.0, E=1, rounds=100
    ),
}

_FORTY = problem("huber-scalar", minimisers=[0.0] * 40, thresholds=[1.0] + [1e-6] * 39)
# Inside Theorem 3's range: epsilon = 5 < r^2 K/n^2 = 5.06, delta = 1e-5, and rho is that of q = 3.647, more than the
# 3.633 that is certified to be enough for the privacy of these rounds, with noise from each client.
IN_RANGE: dict[str, Instance] = {
    "forty unequal clients, independent r = 3, within Theorem 3's range": run(
        _FORTY, 0.02, rho=0.0324, alpha=1.0, E=1, rounds=900, cohort=independent(3), replicates=2048
    ),
}

# Fifty local steps, so short that eta L E is 1/4.
LONG_PHASE: dict[str, Instance] = {
    f"quadratics, independent r = {r}, E = 50, eta L = 0.005": run(
        base.CURVED, 3.0, margin=1.0, rho=0.05, step=0.005, E=50, rounds=40, cohort=independent(r), replicates=512
    )
    for r in (1, 3)
}

_FOUR = problem("huber-scalar", minimisers=[0.0] * 4, thresholds=[1.0] * 4)
# One round's noise is 13 times as long as an update. The objective is linear all around the minimiser except for a
# stretch that is shorter than a step. The gap that noise maintains is then two thirds of the bound.
NOISE_LEADS: dict[str, Instance] = {
    "one dimension, noise leads, independent r = 2": run(
        _FOUR, 0.001, C_hat=1.0, rho=0.6, step=0.1, E=1, rounds=500, cohort=independent(2), replicates=512
    ),
}

_EQUAL = problem("quadratic", clients=4, dimension=3, condition=1.0, heterogeneity=0.0, seed=1)
# Noise only, never clipped: its effect on the gap is known.
ISOTROPIC: dict[str, Instance] = {
    "equal quadratics at w*, noise alone, 2 of 4 clients": run(
        _EQUAL, 0.001, C_hat=1.0, rho=0.05, step=0.05, E=2, rounds=100, cohort=fixed(2), replicates=512
    ),
}

_APART = problem("quadratic", clients=4, dimension=3, condition=1.0, heterogeneity=1.0, seed=1)
# The choice of the client moves w, and hardly anything else does: the heterogeneity term is nearly all of the bound.
ISOTROPIC |= {
    "equal curvatures at w*, heterogeneity alone, 1 of 4 clients": run(
        _APART, 0.001, margin=1.0, rho=0.0001, step=0.05, E=2, rounds=100, cohort=fixed(1), replicates=512
    ),
}

# Bounds below their left side at w_0: updates as long as C throughout, or longer than C at the start.
ALPHA_CLIP_TIGHT: dict[str, Instance] = {
    "nearly linear objective, longest travel": {
        **base.LIPSCHITZ["nearly linear objective, longest travel"],
        "C_hat": 1.0,
    },
    "shared minimiser, updates clipped, independent r = 3, long run": run(
        base.CURVED_SHARED, 5.0, C_hat=0.5, rho=0.05, alpha=1.0, E=2, rounds=4000, cohort=independent(3), replicates=64
    ),
}

# The same for Theorem 6's first display, with each kind of cohort: 100 clients far from w*, and clipped clients.
_HUNDRED: dict[str, Instance] = {name: {**i, "C_hat": 1.0, "replicates": 128} for name, i in base.FAR.items()}
ALPHA_CLIP_TIGHT |= _HUNDRED
CLIPPED_RUNS: dict[str, Instance] = {
    f"shared minimiser, updates clipped, {name}, eta L E = {product:g}": run(
        base.CURVED_SHARED, 5.0, C_hat=0.5, rho=0.02, step=product / 5, E=5, rounds=2000, cohort=cohort, replicates=64
    )
    for name, cohort in (("independent r = 3", independent(3)), ("3 of 8", base.fixed(3)))
    for product in (0.1, 0.4)
}
"""Long runs with clipped updates, whose bounds are informative, with independent clients and with cohorts of one
size."""
GENERAL_CLIP_TIGHT: dict[str, Instance] = {
    **{f"{name}, eta L = 0.025": {**i, "step": 0.025} for name, i in _HUNDRED.items()},
    **CLIPPED_RUNS,
}

ASYMPTOTIC_INDEPENDENT: dict[str, Instance] = {
    f"shared minimiser, E = 2, independent r = {r}": {
        **base.ASYMPTOTIC["shared minimiser, E = 2, 3 of 10 clients"],
        "cohort": independent(r),
    }
    for r in (1, 3)
}

# Two per cent beyond one hypothesis, within all others.
_EDGE: Instance = run(base.POINT, 1.0, C_hat=1.0, rho=0.1, alpha=1.0, step=0.2, E=1, rounds=4, replicates=64)
_CURVED_EDGE: Instance = {k: v for k, v in _EDGE.items() if k != "C_hat"} | run(base.CURVED, 3.0)
OUTSIDE_RATIO: dict[str, Instance] = {"just outside rho < 1": {**_EDGE, "rho": 1.01, "alpha": 4.0}}
INSIDE_RATIO: dict[str, Instance] = {"just inside rho < 1": {**_EDGE, "rho": 0.99, "alpha": 4.0}}
OUTSIDE_SMOOTH: dict[str, Instance] = {"just not L-smooth": {**_EDGE, "stated": {"L": "99/100"}}}
OUTSIDE_LIPSCHITZ: dict[str, Instance] = {"just not G-Lipschitz": {**_EDGE, "stated": {"G": "99/100"}}}
OUTSIDE_COHORT: dict[str, Instance] = {
    "just outside r >= 1": {**_EDGE, "cohort": independent(0.99)},
    "just outside a whole number of rounds": {**_EDGE, "stated": {"K": "+1/50"}},
    **OUTSIDE_SMOOTH,
}
"""For all statements on whole runs."""
OUTSIDE_ROUNDS: dict[str, Instance] = {"just outside K > 2 gamma/(C_hat E rho)": {**_EDGE, "step": 0.505}}
OUTSIDE_THRESHOLD: dict[str, Instance] = {
    "just outside C_hat >= 4 sqrt(L max_j Delta_j*)": {**_CURVED_EDGE, "margin": 0.985},
}
OUTSIDE_SMALLER: dict[str, Instance] = {
    "just outside C_hat >= (16 sqrt(2)/9) sqrt(L max_j Delta_j*)": {**_CURVED_EDGE, "margin": 0.62},
}
OUTSIDE_FINITE: dict[str, Instance] = {
    "weights of infinite mean: two clients apart on the line": {
        **_CURVED_EDGE,
        "problem": problem("huber-scalar", minimisers=[-1.0, 1.0], thresholds=[10.0, 10.0]),
        "margin": 1.0,
    },
}
"""For statements on normalised updates, within all other hypotheses."""
OUTSIDE_PHASE: dict[str, Instance] = {
    "just outside alpha >= 1": {**_EDGE, "alpha": 0.99},
    "just outside E <= alpha/(2 rho)": {**_EDGE, "rho": 0.101, "E": 5},
}
OUTSIDE_ALPHA: dict[str, Instance] = {**OUTSIDE_PHASE, **OUTSIDE_RATIO, **OUTSIDE_COHORT}
"""For Theorem 4 and the second forms of Theorems 6 and 7, without the threshold."""
OUTSIDE_EXACTLY: dict[str, Instance] = {
    "just outside r >= 1": {**_EDGE, "cohort": base.fixed(1), "stated": {"r": "99/100"}},
    "just outside exactly r clients": {**_EDGE, "stated": {"kappa": "+1/50"}},
}
"""For cohorts of fixed size."""
OUTSIDE_GENERAL: dict[str, Instance] = {**OUTSIDE_ROUNDS, **OUTSIDE_RATIO, **OUTSIDE_COHORT, **OUTSIDE_THRESHOLD}
"""For the first forms of Theorems 6 and 7."""

_THREE = problem("huber-scalar", minimisers=[0.0, 3.0, -1.0], thresholds=[1.0, 1.0, 1.0])
# Comparisons: runs of both methods, and the updates of one run.
FAR: dict[str, Instance] = {
    f"linear part of Huber clients, C = {share} C_low": run(
        _THREE, point=[500.0], C_hat=share, rho=0.1, step=0.5, E=4, rounds=20
    )
    for share in (1.0, 0.25)
}
_CONFLICT = problem("huber-planes", rows=[[1.0, 0.0], [-0.9, 0.4358898943540674]], thresholds=[1.0, 0.1])
_ONE = problem("huber-scalar", minimisers=[0.0], thresholds=[1.0])
NORMALISATION_WINS: dict[str, Instance] = {
    "one client in one dimension, far from w*": run(
        _ONE, 3.0, rho=0.1, alpha=2.0, E=1, rounds=400, noise="average", replicates=4096
    ),
}
# gamma = 0.11 L ||w_0 - w*||, but in the last L ||w_0 - w*||, which makes the bounds least. As alpha grows with eta K
# fixed the runs approach those of a diffusion, and so does the ratio.
CLIPPING_WINS: dict[str, Instance] = {
    f"two clients that conflict, {name}": run(
        _CONFLICT, point=[20.0, 50.0], rho=rho, alpha=alpha, E=1, rounds=rounds, noise="average", replicates=replicates
    )
    for name, rho, alpha, rounds, replicates in (
        ("alpha = 1", 0.1, 1.0, 1200, 4096),
        ("alpha = 4", 0.1, 4.0, 4800, 512),
        ("alpha = 16", 0.1, 16.0, 19200, 512),
        ("alpha = 1, gamma = L ||w_0 - w*||", 0.3, 1.0, 1197, 16384),
    )
}
SAME_RUN: dict[str, Instance] = {
    **NORMALISATION_WINS,
    **{name: {**i, "replicates": 512} for name, i in CLIPPING_WINS.items() if i["alpha"] == 1},
}
CONFLICTING_SIGNALS: dict[str, Instance] = {
    "two clients that conflict": {
        **CLIPPING_WINS["two clients that conflict, alpha = 1"],
        "C_hat": 1.0,
        "step": 0.05,
        "rounds": 100,
        "replicates": 512,
    },
}
_APPENDIX_F = problem("appendix-f", seed=1)
APPENDIX_F_SIGNALS: dict[str, Instance] = {
    f"Appendix F, C = {C:g}": run(
        _APPENDIX_F, 8.0, C_hat=C / 20, rho=0.1, step=0.001, E=20, rounds=100, noise="average", replicates=32
    )
    for C in (100.0, 50.0, 40.0)
}
_SIX_DIMENSIONS = problem("quadratic", clients=1, dimension=6, condition=30.0, heterogeneity=1.0, seed=3)
ONE_DIRECTION: dict[str, Instance] = {
    "one client in many dimensions": run(
        _SIX_DIMENSIONS, 3.0, C_hat=1.0, rho=0.1, step=0.3, E=3, rounds=50, replicates=256
    ),
    "unequal clients in one dimension, independent r = 10": run(
        base.UNEQUAL, 3.0, C_hat=1.0, rho=0.02, step=0.1, E=2, rounds=50, cohort=independent(10), replicates=512
    ),
}
