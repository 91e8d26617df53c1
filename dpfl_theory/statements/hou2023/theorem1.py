"""hou2023 Theorem 1: the error of DP-ScaffNew under the noise of Lemma 1, for strongly convex smooth clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Sides, Statement, Symbols, Values, battery, checks
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._runs import CLIPPED as CLIPPED_RUNS
from dpfl_theory.statements.hou2023._runs import FREE, MOMENTS
from dpfl_theory.statements.hou2023.lemma1 import LEMMA1
from dpfl_theory.statements.relations import Formula, Proof, algebra, of


def bound_terms(eta: Any, p: Any, T: Any, psi_0: Any, mu: Any, noise: Any, power: int = 1) -> dict[str, Any]:
    """The two terms of (2); noise: N d v C^2 ln(1/delta)/epsilon^2 [X^2]; power: the exponent of 1 - mu eta."""
    theta = hou.theta(mu, eta, p, power)
    return {"optimisation": theta**T * psi_0, "privacy noise": p**2 / (1 - theta) * noise * T}


def noise_scale(s: Mapping[str, Any]) -> Any:
    """N d v C^2 ln(1/delta)/epsilon^2."""
    return s["N"] * s["d"] * s["v"] * s["C"] ** 2 * sp.log(1 / s["delta"]) / s["epsilon"] ** 2


def _sides(s: Symbols, power: int = 1) -> Sides:
    return Sides({"psi_T": s.E_psi}, bound_terms(s.eta, s.p, s.T, s.psi_0, s.mu, noise_scale(s), power))


def _recursion(**instance: Any) -> Check:
    """Appendix B's last display, rho^T psi_0 + p N d sigma^2/(1 - rho), with the variance that Lemma 1 prescribes; rho
    has the instance's power of 1 - mu eta."""

    @algebra("Lemma 1's variance in the recursion", **instance)
    def step(s: Formula, power: int = 1) -> Proof:
        variance = of(LEMMA1, **{k: s[k] for k in ("p", "T", "C", "v", "epsilon", "delta")}).prescribed[
            "noise_variance"
        ]
        rate = hou.theta(s.mu, s.eta, s.p, power)
        last = rate**s.T * s.psi_0 + s.p * s.N * s.d * variance / (1 - rate)
        return s.rhs, last, "the bound against the recursion's end with Lemma 1's variance"

    return step


@algebra(
    "the geometric series",
    part="It decides how the noise of T iterations adds up, of which the second term drops theta^T; the contraction "
    "itself is a statement of its own.",
)
def _series(_: Formula) -> Proof:
    """The noise of T iterations adds up to unit (1 - theta^T)/(1 - theta), of which (2) drops theta^T: by induction."""
    T, unit = sp.Symbol("T", integer=True, positive=True), sp.Symbol("unit", positive=True)
    theta = sp.Symbol("theta", positive=True, probability=True)  # below 1, as a probability is

    def added(count: Any) -> Any:
        return unit * (1 - theta**count) / (1 - theta)

    return [
        (added(1), unit, "the noise of one iteration"),
        (added(T + 1), theta * added(T) + unit, "one iteration more"),
    ]


@algebra("no noise: ScaffNew's rate")
def _without_noise(s: Formula) -> Proof:
    rate = hou.theta(s.mu, s.eta, s.p)
    return sp.limit(s.rhs, s.epsilon, sp.oo), rate**s.T * s.psi_0, "the limit epsilon -> oo and ScaffNew's rate"


@algebra("eta = 1/L and p = sqrt(mu/L)")
def _balanced(s: Formula) -> Proof:
    """Appendix B.2's display: at eta = 1/L and p^2 = mu/L both parts of theta are 1 - mu/L."""
    ratio = s.mu / s.L
    display = (1 - ratio) ** s.T * s.psi_0 + noise_scale(s) * s.T
    at = of(s.statement, eta=1 / s.L, p=sp.sqrt(ratio))
    return at.rhs, display, "(2) at eta = 1/L, p = sqrt(mu/L) and the display in B.2"


def _second_iteration(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """E psi_2 with clipping in force, f_i(x) = x^2/2, x_0 = x* = 0, h_0 = 0, eta = p = C = 1 and d = 1, exactly.

    Client i's first message is its noise e_i, its second clip(-e_i) plus new noise e'_i. So psi_2 is the sum of (e_i -
    clip(e_i) + e'_i)^2, of which the mean is N (sigma^2 + E max(|e| - C, 0)^2).
    """
    for n in instance["N"]:
        for unit in map(sp.Rational, instance["v ln(1/delta)/epsilon^2"]):
            sigma = sp.sqrt(2 * unit)
            tail, density = sp.erfc(1 / (sp.sqrt(2) * sigma)) / 2, sp.exp(-1 / (2 * sigma**2)) / sp.sqrt(2 * sp.pi)
            cut_off = 2 * ((sigma**2 + 1) * tail - sigma * density)
            symbols = dict.fromkeys(("mu", "L", "eta", "p", "d", "C", "epsilon"), 1)
            symbols |= {"N": n, "T": 2, "v": unit, "delta": sp.exp(-1), "psi_0": 0, "E_psi": n * (sigma**2 + cut_off)}
            yield Values(symbols, {"N": n, "v ln(1/delta)/epsilon^2": unit})


_TWO_ITERATIONS: dict[str, dict[str, Any]] = {
    "two iterations from x*, one client": {"N": [1], "v ln(1/delta)/epsilon^2": ["1"]},
    "two iterations from x*, more clients and noise": {"N": [1, 2, 5], "v ln(1/delta)/epsilon^2": ["1/10", "423/100"]},
}
_EXACT = MOMENTS("moments inside", near="quadratics, one client")

THEOREM1: Statement = hou.statement(
    **hou.named("hou2023.theorem1", "theorem", "Theorem 1, Section 2", "2"),
    hypotheses=(*hou.UNDER_LEMMA1, hou.DELTA),
    sides=_sides,
    checks=battery(_recursion(), _series, _without_noise, _balanced, _EXACT, FREE("free")),
    smoke=(
        "Lemma 1's variance in the recursion",
        "quadratics, one iteration",
        "quadratics, hardly any communication",
        "breast cancer with ridge, sorted by label",
        "shared minimiser, noise dominates",
        "one client, one dimension, noise dominates",
    ),
    uses=("hou2023.lemma1", "hou2023.contraction", "hou2023.clip-inactive"),
)

SHARPENED: Statement = replace(
    THEOREM1,
    id="hou2023.theorem1.sharpened",
    sides=lambda s: _sides(s, power=2),
    checks=battery(_recursion(power=2), _series, _EXACT, FREE("sharper")),
    uses=("hou2023.lemma1", "hou2023.contraction.sharpened", "hou2023.clip-inactive"),
)

CLIPPED: Statement = replace(
    THEOREM1,
    id="hou2023.theorem1.clipped",
    reading_of=THEOREM1.id,
    hypotheses=(*(a for a in THEOREM1.hypotheses if a is not hou.UNCLIPPED), hou.CLIPPED),
    checks=battery(checks("exact", _second_iteration, _TWO_ITERATIONS, "violated"), CLIPPED_RUNS(violated="clipped")),
    smoke=("two iterations from x*, one client",),
    uses=("hou2023.lemma1", "hou2023.contraction"),
)

STATEMENTS = (THEOREM1, SHARPENED, CLIPPED)
