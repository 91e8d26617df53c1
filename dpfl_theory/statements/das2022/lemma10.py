"""das2022 Lemma 10 (Appendix E): gradient norms along local steps, as printed and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Case, Outcome, Performance
from dpfl_theory.statements.das2022 import _letters as das
from dpfl_theory.statements.das2022 import _step_instances as steps
from dpfl_theory.statements.das2022._causes import CONVEXITY
from dpfl_theory.statements.das2022._experiments import runs, step_experiment
from dpfl_theory.statements.local_phase import CLASSES, INTERPOLATION, LocalPhase, grid, step_size
from dpfl_theory.statements.model import Check, Effect, Erratum, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.symbolic import equal


def lemma10_performance(instance: Mapping[str, Any], extra: float = 0.0) -> Performance:
    """||g_1||^2 + (2/(eta L) - 1 + extra) ||g_1 - g_0||^2 <= ||g_0||^2, a negative coefficient on the right."""

    smoothness, step = step_size(instance)
    phase = LocalPhase(str(instance["class"]), smoothness, step, 1)
    now, after = phase.gradient(0), phase.gradient(1)
    coefficient = 2 / (step * smoothness) - 1 + extra
    return Performance(
        phase.problem,
        left=after**2 + max(coefficient, 0.0) * (after - now) ** 2,
        right=now**2 + max(-coefficient, 0.0) * (after - now) ** 2,
        what=f"||g_1||^2 against ||g_0||^2 - ({coefficient:.6g}) ||g_1 - g_0||^2",
    )


def concave_quadratic(instance: Mapping[str, Any]) -> list[Case]:
    """f(w) = -L w^2/2 from w = 1: g_0 = -L, g_1 = -(1 + eta L)L."""

    cases = []
    for text in instance["eta L"]:
        product, smoothness = Fraction(str(text)), Fraction(str(instance["L"]))
        now, after = -smoothness, -(1 + product) * smoothness
        values = {"f": "-L w^2/2", "w": 1, "L": smoothness, "eta L": product}
        cases.append(_lemma10_case(values, now, after, product))
    return cases


def smooth_well(instance: Mapping[str, Any]) -> list[Case]:
    """f' = -w on |w| <= 1, w - 2 for w >= 1, w + 2 for w <= -1: smooth with L = 1 and minimum -1 at w = 2 and w = -2.

    From w = 1/(2(1 + eta)), so that the step ends at 1/2, still inside the concave part.
    """

    cases = []
    for text in instance["eta L"]:
        step = Fraction(str(text))
        start = 1 / (2 * (1 + step))
        after = start - step * _well_slope(start)
        values = {"f'": "-w, then w - 2 from w = 1 on", "w": start, "L": 1, "eta L": step}
        cases.append(_lemma10_case(values, _well_slope(start), _well_slope(after), step))
    return cases


def _well_slope(w: Fraction) -> Fraction:
    return -w if abs(w) <= 1 else (w - 2 if w > 0 else w + 2)


def _lemma10_case(values: Mapping[str, Any], now: Fraction, after: Fraction, product: Fraction) -> Case:

    return Case(values, after**2, now**2 - (2 / product - 1) * (after - now) ** 2)


def _convex_quadratic(instance: Mapping[str, Any]) -> list[Case]:
    """f(w) = L w^2/2 from w = 1, where Lemma 10 is an equality: g_1 = (1 - eta L) g_0."""
    smoothness = Fraction(str(instance["L"]))
    return [
        _lemma10_case({"f": "L w^2/2", "eta L": product}, smoothness, (1 - product) * smoothness, product)
        for product in (Fraction(str(text)) for text in instance["eta L"])
    ]


def _cocoercivity(_: Mapping[str, Any]) -> Outcome:
    """The bound's slack is (2/eta) times the slack of co-coercivity between the two iterates, for every eta > 0."""
    import sympy as sp

    eta, L = sp.symbols("eta L", positive=True)
    now, inner, change = sp.symbols("now inner change", real=True)  # ||g_0||^2, <g_0, g_1 - g_0>, ||g_1 - g_0||^2
    after = now + 2 * inner + change
    cocoercive = -eta * inner - change / L  # <g_1 - g_0, w_1 - w_0> - ||g_1 - g_0||^2/L >= 0
    return equal(
        now - (2 / (eta * L) - 1) * change - after,
        2 / eta * cocoercive,
        "the slack of Lemma 10 against that of co-coercivity",
    )


def _lemma10_sides() -> Sides:
    s = sympy_symbols(LEMMA10)
    return Sides(
        lhs={"next gradient": s["gradient_next"]},
        rhs={
            "gradient": s["gradient_now"],
            "change": -(2 / (s["eta"] * s["L"]) - 1) * s["gradient_change"],
        },
    )


# On the others the lemma is an equality for convex f_i, which samples cannot decide; the exact check does.
_RUNS = {name: instance for name, instance in steps.STEP.items() if not name.endswith("eta L = 0.02")}
_PRODUCTS = ("1", "1/8", "1/2", "2", "4")

LEMMA10: Statement = Statement(
    id="das2022.lemma10",
    kind="lemma",
    title="Gradient norms along local steps",
    source=Source(das.PAPER, "Lemma 10, Appendix E", note=f"any step size is allowed. {INTERPOLATION}"),
    text="If f_i is L-smooth, then consecutive local gradients in Algorithm 1 satisfy the bound.",
    symbols=das.letters("eta", "L"),
    expectations=das.expected("gradient_next", "gradient_now", "gradient_change"),
    assumptions=(das.SMOOTH,),
    sides=_lemma10_sides,
    checks=(
        Check("exact", "concave quadratic", concave_quadratic, {"L": "1", "eta L": list(_PRODUCTS)}, "violated"),
        Check("exact", "non-convex with a minimum", smooth_well, {"eta L": list(_PRODUCTS)}, "violated"),
        *(
            Check(
                "worst-case",
                name,
                lemma10_performance,
                instance,
                "violated" if instance["class"] == "non-convex" else "holds",
            )
            for name, instance in grid(**{"class": CLASSES, "eta L": _PRODUCTS, "L": ("1",)}).items()
        ),
        *runs(lambda: LEMMA10, "clip", _RUNS, experiment=step_experiment),
    ),
    expected="violated",
    erratum=Erratum(
        cause=CONVEXITY,
        grade="false",
        effect=Effect(0.0, "No printed result uses Lemma 10, and all theorems are about convex f_i."),
        printed="Lemma 10 supposes only that each f_i is L-smooth.",
        true=(
            "It holds, for every step size eta_k > 0, when f_i is also convex; for smooth f_i in general it fails at "
            "every step size."
        ),
        counterexample=(
            "f_i(w) = -w^2/2 (L = 1), eta_k = 1, w = 1: gradients -1 and then -2, and 4 <= 1 - (2 - 1) 1 = 0 is false. "
            "Also with a minimum: f_i' = -w on |w| <= 1 and w - 2 beyond, from w = 1/4: 1/4 <= 0 is false."
        ),
        repaired="das2022.lemma10.repaired",
    ),
)

LEMMA10_REPAIRED: Statement = Statement(
    id="das2022.lemma10.repaired",
    kind="lemma",
    title="Gradient norms along local steps, convex f_i",
    source=Source(
        das.PAPER, "Lemma 10, Appendix E", note="repaired: f_i is assumed convex; equality on f_i(w) = L w^2/2"
    ),
    text="If f_i is convex and L-smooth, then consecutive local gradients satisfy the bound, for every eta_k > 0.",
    symbols=LEMMA10.symbols,
    expectations=LEMMA10.expectations,
    assumptions=(das.CONVEX, das.SMOOTH),
    sides=_lemma10_sides,
    checks=(
        Check("algebra", "equivalent to co-coercivity", _cocoercivity),
        Check("exact", "equality on a quadratic", _convex_quadratic, {"L": "1", "eta L": list(_PRODUCTS)}),
        *(
            Check(
                "worst-case",
                name,
                lambda i: replace(
                    lemma10_performance(i), also={"coefficient larger by 1/64": lambda: lemma10_performance(i, 1 / 64)}
                ),
                instance,
            )
            for name, instance in grid(**{"class": ("convex",), "eta L": _PRODUCTS, "L": ("1",)}).items()
        ),
        *runs(lambda: LEMMA10_REPAIRED, "clip", _RUNS, experiment=step_experiment),
    ),
)

STATEMENTS = (LEMMA10, LEMMA10_REPAIRED)
