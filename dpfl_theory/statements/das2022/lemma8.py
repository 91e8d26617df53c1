"""das2022 Lemma 8 (Appendix E): a local phase moves towards w*, up to the client's heterogeneity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.das2022 import _letters as das
from dpfl_theory.statements.das2022._local_phase import LocalPhase, grid, step_size
from dpfl_theory.statements.model import Check, Sides, Source, Statement, Symbol, sympy_symbols

_STEP = Symbol("eta_k", "local step size of the round", (-1, 2), "positive", r"\eta_k")
_BEFORE = Symbol("distance_before", "||w_k - w*||", (0, 1), "nonnegative", r"\|w_k - w^*\|")
_AFTER = Symbol("distance_after", "||w_{k,E}^{(i)} - w*||", (0, 1), "nonnegative", r"\|w_{k,E}^{(i)} - w^*\|")
_SQUARES = Symbol(
    "sum_gradients_squared", "sum over the local steps of ||grad f_i(w_{k,tau}^{(i)})||^2", (2, -2), "nonnegative",
    r"\sum_{\tau=0}^{E-1} \|\nabla f_i(w_{k,\tau}^{(i)})\|^2",
)  # fmt: skip
_DELTA = Symbol("Delta_i", "the client's heterogeneity f_i(w*) - min f_i", (1, 0), "nonnegative", r"\Delta_i^*")


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
    s = sympy_symbols(LEMMA8)
    return Sides(
        lhs={"distance after": s["distance_after"] ** 2},
        rhs={
            "distance before": s["distance_before"] ** 2,
            "gradients": -s["eta_k"] / (2 * s["L"]) * s["sum_gradients_squared"],
            "heterogeneity": 2 * s["eta_k"] * s["E"] * s["Delta_i"],
        },
    )


LEMMA8 = Statement(
    id="das2022.lemma8",
    kind="lemma",
    title="A local phase moves towards w*, up to the client's heterogeneity",
    source=Source(das.PAPER, "Lemma 8, Appendix E", note="w* minimises f, not f_i: here it may be any point"),
    text="If f_i is convex and L-smooth and eta_k <= 1/(2L), then the local phase of Algorithm 1 satisfies the bound.",
    symbols=(_AFTER, _BEFORE, _STEP, _SQUARES, *das.letters("L", "E"), _DELTA),
    assumptions=(das.CONVEX, das.SMOOTH),
    sides=_lemma8_sides,
    checks=(
        *(
            Check("worst-case", name, _lemma8, instance)
            for name, instance in grid(**{"E": (1, 2, 3, 4), "eta L": ("1/2", "1/4", "1/16"), "L": ("1",)}).items()
        ),
        Check("worst-case", "E = 2, eta L = 1/2, L = 4", _lemma8, {"E": 2, "eta L": "1/2", "L": "4"}),
    ),
    uses=("das2022.fact1",),
)

STATEMENTS = (LEMMA8,)
