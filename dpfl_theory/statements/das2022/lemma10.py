"""das2022 Lemma 10 (Appendix E): gradient norms along local steps, for convex f_i and for smooth ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbols, Values, WorstCase, battery, checks
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022._runs import CLIP
from dpfl_theory.statements.local_phase import CLASSES, LocalPhase, grid, step_size
from dpfl_theory.statements.relations import Formula, Proof, algebra, of


def one_step(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A local step on any function of the class."""
    L, eta = step_size(instance)
    phase = LocalPhase(str(instance["class"]), L, eta, 1)
    squares = _squares(phase.gradient(0), phase.gradient(1))
    return WorstCase(phase.problem, {"L": L, "eta": eta, **squares}, "||g_1||^2 against ||g_0||^2 and ||g_1 - g_0||^2")


def _larger(s: Symbols) -> Sides:
    """With a coefficient that is larger by 1/64."""
    sides = _lemma10_sides(s)
    return Sides({**sides.lhs, "more": s.gradient_change / 64}, sides.rhs)


def _convex(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The printed inequality; for information also a larger coefficient."""
    also = {"coefficient larger by 1/64": lambda: replace(one_step(statement, instance), sides=_larger)}
    return replace(one_step(statement, instance), also=also)


def _squares(now: Any, after: Any) -> dict[str, Any]:
    """The symbols of a step from one gradient to the next."""
    return {"gradient_now": now**2, "gradient_next": after**2, "gradient_change": (after - now) ** 2}


def _on_quadratic(instance: Mapping[str, Any], curvature: Fraction, **shown: Any) -> Iterator[Values]:
    """Steps from w = 1 on f(w) = curvature w^2/2: g_1 = (1 - eta curvature) g_0."""
    L = abs(curvature)
    for product in map(Fraction, instance["eta L"]):
        squares = _squares(curvature, (1 - product * curvature / L) * curvature)
        yield Values({"L": L, "eta": product / L, **squares}, {**shown, "eta L": product})


def concave_quadratic(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """f(w) = -L w^2/2 from w = 1: g_0 = -L, g_1 = -(1 + eta L)L."""
    L = Fraction(instance["L"])
    return _on_quadratic(instance, -L, f="-L w^2/2", w=1, L=L)


def _convex_quadratic(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """f(w) = L w^2/2 from w = 1, where Lemma 10 is an equality: g_1 = (1 - eta L) g_0."""
    return _on_quadratic(instance, Fraction(instance["L"]), f="L w^2/2")


def smooth_well(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """f' = -w on |w| <= 1, w - 2 for w >= 1, w + 2 for w <= -1: smooth with L = 1 and minimum -1 at w = 2 and w = -2.

    From w = 1/(2(1 + eta)), so that the step ends at 1/2, still inside the concave part.
    """
    for step in map(Fraction, instance["eta L"]):
        start = 1 / (2 * (1 + step))
        after = start - step * _well_slope(start)
        at = {"f'": "-w, then w - 2 from w = 1 on", "w": start, "L": 1, "eta L": step}
        yield Values({"L": Fraction(1), "eta": step, **_squares(_well_slope(start), _well_slope(after))}, at)


def _well_slope(w: Fraction) -> Fraction:
    return -w if abs(w) <= 1 else (w - 2 if w > 0 else w + 2)


@algebra("equivalent to co-coercivity")
def _cocoercivity(s: Formula) -> Proof:
    """The bound's slack is (2/eta) times the slack of co-coercivity between the two iterates, for every eta > 0."""
    eta, L, change, inner = s.eta, s.L, s.gradient_change, sp.Symbol("inner", real=True)  # <g_0, g_1 - g_0>
    slack = of(s.statement, gradient_next=s.gradient_now + 2 * inner + change).slack
    cocoercive = -eta * inner - change / L  # <g_1 - g_0, w_1 - w_0> - ||g_1 - g_0||^2/L >= 0
    return slack, 2 / eta * cocoercive, "the slack of Lemma 10 against that of co-coercivity"


def _lemma10_sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"next gradient": s.gradient_next},
        rhs={"gradient": s.gradient_now, "change": -(2 / (s.eta * s.L) - 1) * s.gradient_change},
    )


# On the steps that are nearly an equality elsewhere, the lemma is an equality for convex f_i. Samples cannot decide it;
# the exact check does.
_PRODUCTS = ("1", "1/8", "1/2", "2", "4")


LEMMA10: Statement = das.statement(
    id="das2022.lemma10",
    kind="lemma",
    source=Source(das.PAPER, "Lemma 10, Appendix E"),
    hypotheses=(das.CONVEX, das.SMOOTH),
    sides=_lemma10_sides,
    checks=battery(
        _cocoercivity,
        Check("exact", "equality on a quadratic", _convex_quadratic, {"L": "1", "eta L": list(_PRODUCTS)}),
        checks("worst-case", _convex, grid(**{"class": ("convex",), "eta L": _PRODUCTS, "L": ("1",)})),
        CLIP("slack-step"),
    ),
)

SMOOTH_ALONE: Statement = replace(
    LEMMA10,
    id="das2022.lemma10.smooth-alone",
    reading_of="das2022.lemma10",
    hypotheses=(das.SMOOTH,),
    checks=battery(
        Check("exact", "concave quadratic", concave_quadratic, {"L": "1", "eta L": list(_PRODUCTS)}, "violated"),
        Check("exact", "non-convex with a minimum", smooth_well, {"eta L": list(_PRODUCTS)}, "violated"),
        (
            Check("worst-case", name, one_step, i, "violated" if i["class"] == "non-convex" else "holds")
            for name, i in grid(**{"class": CLASSES, "eta L": _PRODUCTS, "L": ("1",)}).items()
        ),
        CLIP("slack-step"),
    ),
    smoke=("non-convex, eta L = 1",),
)

STATEMENTS = (LEMMA10, SMOOTH_ALONE)
