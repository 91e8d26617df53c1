"""das2022 Theorem 6: DP-FedAvg with clipping, convex and smooth, without a Lipschitz constant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.checks.algebra import Outcome, equal
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _letters as das
from dpfl_theory.statements.das2022._consistency import total
from dpfl_theory.statements.das2022._experiments import alpha_form_experiment, general_experiment
from dpfl_theory.statements.model import Check, Sides, Source, Statement, sympy_symbols


def _prescription() -> Mapping[str, Any]:
    """eta = beta = (gamma/(C_hat L E K))/rho, C = C_hat E."""
    s = sympy_symbols(GENERAL)
    return {"eta": s["gamma"] / (s["C_hat"] * s["L"] * s["E"] * s["K"] * s["rho"]), "C": s["C_hat"] * s["E"]}


def _alpha_prescription() -> Mapping[str, Any]:
    """The same with K = (2 alpha gamma/(C_hat E))/rho^2."""
    s = sympy_symbols(ALPHA)
    K = 2 * s["alpha"] * s["gamma"] / (s["C_hat"] * s["E"] * s["rho"] ** 2)
    return {"K": K, "eta": s["gamma"] / (s["C_hat"] * s["L"] * s["E"] * K * s["rho"]), "C": s["C_hat"] * s["E"]}


def _clipped(s: Mapping[str, Any]) -> Any:
    return 3 * s["C_hat"] / (8 * s["L"] * s["E"]) * s["E_clipped_length"]


def _initialisation(s: Mapping[str, Any]) -> Any:
    return s["C_hat"] * (s["L"] * s["D"] ** 2 / s["gamma"] + s["gamma"] / s["L"]) * s["rho"]


def _sides() -> Sides:
    s = sympy_symbols(GENERAL)
    y = 2 * s["gamma"] / (s["C_hat"] * s["K"] * s["rho"])
    return Sides(
        lhs={"unclipped": (2 - y - y**2) * s["E_unclipped_gap"], "clipped": _clipped(s)},
        rhs={"initialisation": _initialisation(s), "heterogeneity": y * (1 + y) * s["E_unclipped_Delta"]},
    )


def _alpha_sides() -> Sides:
    s = sympy_symbols(ALPHA)
    x = s["rho"] * s["E"] / s["alpha"]
    return Sides(
        lhs={"unclipped": (2 - x - x**2) * s["E_unclipped_gap"], "clipped": _clipped(s)},
        rhs={
            "initialisation": _initialisation(s),
            "heterogeneity": 3 * s["E"] / (2 * s["alpha"]) * s["Delta"] * s["rho"],
        },
    )


def _follows(_: Mapping[str, Any]) -> Outcome:
    """The alpha form's right side minus the general one's, at K of the alpha form and with every client unclipped, is
    Delta x (1/2 - x), x = rho E/alpha <= 1/2: never negative."""
    s = sympy_symbols(ALPHA)
    x = s["rho"] * s["E"] / s["alpha"]
    own = sympy_symbols(GENERAL)
    swaps = {own["K"]: _alpha_prescription()["K"], own["E_unclipped_Delta"]: s["Delta"]}
    slack = total(ALPHA, "rhs") - total(GENERAL, "rhs").subs(swaps)
    left = equal(total(GENERAL, "lhs").subs(swaps), total(ALPHA, "lhs"), "left sides")
    return (
        left
        if not left.true
        else equal(slack, s["Delta"] * x * (1 - 2 * x) / 2, "alpha form minus general form against Delta x (1/2 - x)")
    )


def _step_limit(_: Mapping[str, Any]) -> Outcome:
    """K > (2 gamma/(C_hat E))/rho is the proof's eta L < 1/2."""
    s = sympy_symbols(GENERAL)
    at_limit = _prescription()["eta"].subs(s["K"], 2 * s["gamma"] / (s["C_hat"] * s["E"] * s["rho"]))
    return equal(at_limit * s["L"], "1/2", "eta L at the smallest K")


def _same_step(_: Mapping[str, Any]) -> Outcome:
    """The general eta at the alpha form's K is rho/(2 alpha L)."""
    s = sympy_symbols(ALPHA)
    return equal(_alpha_prescription()["eta"], s["rho"] / (2 * s["alpha"] * s["L"]), "eta at the alpha form's K")


GENERAL: Statement = Statement(
    id="das2022.theorem6",
    kind="theorem",
    title="DP-FedAvg with clipping: convex and smooth, free K",
    source=Source(
        das.PAPER,
        "Theorem 6, Appendix C, first display",
        note="the display writes u_k and w_k under the expectation; the text and (38) have the random round k~ there",
    ),
    text=(
        "Algorithm 1, option (i), with C_hat = C/E >= 4 sqrt(L max Delta_j*), beta = eta = (gamma/(C_hat L E "
        "K))/rho and "
        "K > (2 gamma/(C_hat E))/rho satisfies the bound for the iterate of a uniformly random round."
    ),
    symbols=das.letters("rho", "E", "K", "gamma", "L", "C", "C_hat", "eta", "D", "Delta", "Delta_max"),
    expectations=das.expected("E_unclipped_gap", "E_clipped_length", "E_unclipped_Delta"),
    assumptions=(
        das.CONVEX,
        das.SMOOTH,
        das.MINIMISER,
        das.THRESHOLD,
        das.MANY_ROUNDS,
        das.RHO,
        das.COHORT,
        das.ROUNDS,
    ),
    sides=_sides,
    prescription=_prescription,
    checks=(
        Check("algebra", "the condition on K is eta L < 1/2", _step_limit),
        *(
            Check("monte-carlo", name, lambda i: general_experiment(GENERAL, i, "clip"), instance)
            for name, instance in instances.GENERAL_CLIP.items()
        ),
    ),
    uses=("das2022.eq12", "das2022.lemma8", "das2022.lemma9", "das2022.fact2"),
)

ALPHA: Statement = Statement(
    id="das2022.theorem6.alpha",
    kind="theorem",
    title="DP-FedAvg with clipping: convex and smooth, K by alpha",
    source=Source(
        das.PAPER,
        "Theorem 6, Appendix C, second display",
        note="the display writes u_k and w_k under the expectation; the text and (39) have the random round k~ there",
    ),
    text=(
        "Theorem 6 with K = (2 alpha gamma/(C_hat E))/rho^2 and E <= alpha/(2 rho), alpha >= 1, satisfies the "
        "bound for the "
        "iterate of a uniformly random round."
    ),
    symbols=das.letters("rho", "E", "K", "alpha", "gamma", "L", "C", "C_hat", "eta", "D", "Delta", "Delta_max"),
    expectations=das.expected("E_unclipped_gap", "E_clipped_length"),
    assumptions=(
        das.CONVEX,
        das.SMOOTH,
        das.MINIMISER,
        das.THRESHOLD,
        das.ALPHA,
        das.SHORT_PHASE,
        das.RHO,
        das.COHORT,
        das.ROUNDS,
    ),
    sides=_alpha_sides,
    prescription=_alpha_prescription,
    checks=(
        Check("algebra", "follows from the general form", _follows),
        Check("algebra", "eta is that of the general form", _same_step),
        *(
            Check("monte-carlo", name, lambda i: alpha_form_experiment(ALPHA, i, "clip"), instance)
            for name, instance in instances.ALPHA_CLIP.items()
        ),
    ),
    uses=("das2022.theorem6",),
)

STATEMENTS = (GENERAL, ALPHA)
