"""The descent behind noble2022 Lemma C.9 repaired: F(x^t) + 12 nu^3 eta~^2/l F_t falls over one round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.formula import letters_of, sides_of
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _round_instances as exact
from dpfl_theory.statements.noble2022 import lemmaC_4, lemmaC_5, lemmaC_6, lemmaC_7
from dpfl_theory.statements.noble2022._moments import RoundMoments, Users

__all__ = ["combination", "descent", "descent_checks"]


def descent(u: Users, m: RoundMoments) -> tuple[Fraction, Fraction]:
    """Its change over one round on quadratics: at most -(121/288) eta~ ||F'||^2 + nu eta~^2 V/(KlM) (19/8 + lM/(4
    eta_g^2))."""
    weight = 12 * u.smoothness**3 * u.step**2 / u.share
    half = u.mean_curvature / 2
    noise = u.smoothness * u.step**2 * u.variance / (u.local_steps * u.size)
    right = m.gap + weight * m.lag + noise * (Fraction(19, 8) + Fraction(u.size) / (4 * u.eta_g**2))
    return half * m.distance_after + weight * m.lag_after + Fraction(121, 288) * u.step * m.slope, right


def combination(instance: Mapping[str, Any]) -> Outcome:
    """F(x^t) <= F(x^{t-1}) - (eta~/2)||grad F||^2 + (eta~/2) nu^2 drift + (nu/2)||x^t - x^{t-1}||^2, with Lemma C.4,
    12 nu^3 eta~^2/l times Lemma C.5 (alpha = 2/3) and 10/27 of Lemma C.6, all sharpened.

    With theta = 24 nu eta~/l^(2/3), p = l^(2/3) and h = 1/eta_g^2 in [0, 1] and z = lM/eta_g^2 >= 0 each slack is
    affine in each letter: the corners of the first three decide, where the slack at z = 0 and its increase in z are not
    negative. The instance may give the noise's factor ("alone") and that of z in it ("shared").
    """
    import sympy as sp

    s = letters_of(lemmaC_4.C4_SHARPENED)
    theta, p, h, z = sp.symbols("theta p h z", positive=True)
    eta, nu, share, eta_g = s["eta"], s["nu"], s["l"], sp.Symbol("eta_g", positive=True)

    def side(statement: Statement, which: str) -> Any:
        assert statement.sides is not None
        own = letters_of(statement)
        named = {own[name]: s[name] for name in own if name in s}
        named |= {own["alpha"]: sp.Rational(2, 3)} if "alpha" in own else {}
        return sum(getattr(sides_of(statement), which).values()).subs(named)

    weight = 12 * nu**3 * eta**2 / share
    drift = side(lemmaC_6.C6_SHARPENED, "rhs") - side(lemmaC_6.C6_SHARPENED, "lhs")
    change = -eta / 2 * s["slope"] + eta / 2 * nu**2 * s["drift"] + nu / 2 * side(lemmaC_4.C4_SHARPENED, "rhs")
    change += weight * (side(lemmaC_5.C5_SHARPENED, "rhs") - s["lag"]) + sp.Rational(10, 27) * drift
    W = proof.averaged(s)
    claim = -sp.Rational(121, 288) * eta * s["slope"] + nu * eta**2 * W * (
        sp.Rational(instance.get("alone", "19/8"))
        + sp.Rational(instance.get("shared", "1/4")) * share * s["M"] / eta_g**2
    )
    slack = sp.expand(claim - change)
    scale = {"slope": eta, "drift": nu**2 * eta, "lag": nu**3 * eta**2, "noise": nu * eta**2 * W}
    least = {}
    for name, unit in scale.items():
        part = slack.subs({s[v]: 0 for v in ("slope", "drift", "lag")}) if name == "noise" else slack.coeff(s[name])
        ratio = sp.simplify(part / unit).subs(s["M"], z * eta_g**2 / share)
        ratio = ratio.subs(eta, theta * share ** sp.Rational(2, 3) / (24 * nu)).subs(eta_g, 1 / sp.sqrt(h))
        ratio = sp.expand(sp.simplify(ratio.subs(share, p ** sp.Rational(3, 2))))
        letters = sorted(ratio.free_symbols, key=str)
        if not set(letters) <= {theta, p, h, z} or any(sp.degree(ratio, v) > 1 for v in letters):
            return Outcome(None, f"the slack of {name} is not affine in each letter: {ratio}")
        for part, what in ((ratio.subs(z, 0), name), (sp.diff(ratio, z), f"{name}, per z")):
            if part != 0:
                bounded = [v for v in letters if v != z]
                ends = product((0, 1), repeat=len(bounded))
                least[what] = min(part.subs(dict(zip(bounded, c))) for c in ends)
    shown = ", ".join(f"{name} {value}" for name, value in least.items())
    fine = all(value >= 0 for value in least.values())
    return Outcome(True if fine else None, f"the least slack of each coefficient: {shown}", {"slacks": shown})


def descent_checks() -> tuple[Check, ...]:
    return tuple(
        replace(check, name=f"one round, {check.name}")
        for check in exact.exact_checks(
            descent,
            lambda share: lemmaC_7.largest_step(share, Fraction(0)),
            {name: v for name, v in {**exact.CONVEX, **exact.OTHER}.items() if "K = 3" not in name},
        )
    )
