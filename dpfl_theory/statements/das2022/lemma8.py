"""das2022 Lemma 8 (Appendix E): a local phase moves towards w*, up to the client's heterogeneity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.das2022 import _letters as das
from dpfl_theory.statements.das2022 import _step_instances as steps
from dpfl_theory.statements.das2022._experiments import runs, step_experiment
from dpfl_theory.statements.formula import letters_of
from dpfl_theory.statements.local_phase import LocalPhase, grid, step_size
from dpfl_theory.statements.model import Check, Sides, Source, Statement


def lemma8_performance(
    instance: Mapping[str, Any], coefficient: Callable[[float, float], float] | None = None
) -> Performance:
    """coefficient(eta, L) sum ||grad||^2 <= ||w_k - w*||^2 - ||w_{k,E} - w*||^2 + 2 eta E Delta_i; eta/(2L) is printed.

    w* is any point, not a minimiser of f_i.
    """

    smoothness, step = step_size(instance)
    steps = int(instance["E"])
    phase = LocalPhase("convex", smoothness, step, steps)
    target = phase.problem.set_initial_point()
    squares = sum(g**2 for g in phase.gradients)
    delta = phase.function(target) - phase.minimum
    factor = step / (2 * smoothness) if coefficient is None else coefficient(step, smoothness)
    return Performance(
        phase.problem,
        left=factor * squares,
        right=(phase.points[0] - target) ** 2 - (phase.points[-1] - target) ** 2 + 2 * step * steps * delta,
        what=f"{factor:.6g} sum ||grad||^2 against the decrease of ||w - w*||^2 plus 2 eta E Delta_i",
    )


def _lemma8(instance: Mapping[str, Any]) -> Performance:
    """The printed inequality; for information also the coefficient eta(1/L - eta), and steps above 1/(2L)."""
    also: dict[str, Callable[[], Performance]] = {
        "coefficient eta(1/L - eta)": lambda: lemma8_performance(instance, lambda step, L: step * (1 / L - step))
    }
    if instance["eta L"] == "1/2":
        for product in ("33/64", "3/4", "1"):
            beyond = {**instance, "eta L": product}
            also[f"eta L = {product}, outside the hypotheses"] = partial(lemma8_performance, beyond)
    return replace(lemma8_performance(instance), also=also)


def _lemma8_sides() -> Sides:
    s = letters_of(LEMMA8)
    return Sides(
        lhs={"distance after": s["distance_after"]},
        rhs={
            "distance before": s["distance_before"],
            "gradients": -s["eta"] / (2 * s["L"]) * s["gradients_squared"],
            "heterogeneity": 2 * s["eta"] * s["E"] * s["Delta"],
        },
    )


LEMMA8: Statement = Statement(
    id="das2022.lemma8",
    kind="lemma",
    title="A local phase moves towards w*, up to the client's heterogeneity",
    source=Source(das.PAPER, "Lemma 8, Appendix E", note="w* minimises f, not f_i: here it may be any point"),
    text="If f_i is convex and L-smooth and eta_k <= 1/(2L), then the local phase of Algorithm 1 satisfies the bound.",
    symbols=(*das.letters("eta", "L", "E"), das.CLIENT_DELTA),
    expectations=das.expected("distance_after", "distance_before", "gradients_squared"),
    assumptions=(das.CONVEX, das.SMOOTH, das.HALF_STEP),
    sides=_lemma8_sides,
    checks=(
        *(
            Check("worst-case", name, _lemma8, instance)
            for name, instance in grid(**{"E": (1, 2, 3, 4), "eta L": ("1/2", "1/4", "1/16"), "L": ("1",)}).items()
        ),
        Check("worst-case", "E = 2, eta L = 1/2, L = 4", _lemma8, {"E": 2, "eta L": "1/2", "L": "4"}),
        *runs(lambda: LEMMA8, "clip", steps.STEP, experiment=step_experiment),
    ),
    uses=("das2022.eq51",),
)

STATEMENTS = (LEMMA8,)
