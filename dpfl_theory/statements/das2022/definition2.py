"""das2022 Definition 2 (eq. 1): the privacy ratio rho, and the hypothesis rho < 1 in the paper's own settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbols
from dpfl_theory.core.formula import evaluate_side, prescription_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022.theorem3 import THEOREM3
from dpfl_theory.statements.symbolic import all_equal, equal


def _sides(s: Symbols) -> Sides:
    return Sides(lhs={"ratio": s.rho}, rhs={"definition": das.expanded_rho(s)})


def _noise_energy(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Theorem 3's variance sigma^2 = q K C^2 log(1/delta)/(n epsilon)^2 in each of d coordinates is K C^2 rho^2."""
    s, other = symbols_of(statement), symbols_of(THEOREM3)
    variance = prescription_of(THEOREM3)["noise_variance"]
    rho = total(statement, "rhs") * s.rho / total(statement, "lhs")
    return equal(s.d * variance, other.K * other.C**2 * rho**2, "d sigma^2 against K C^2 rho^2")


def _monotone(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """'rho increases as epsilon and delta decrease': with l = log(1/delta), rho^2 = q d l/(n epsilon)^2."""
    s = symbols_of(statement)
    rho = total(statement, "rhs")
    slope = -rho / (2 * s.delta * sp.log(1 / s.delta))
    return all_equal(
        (rho.diff(s.epsilon), -rho / s.epsilon, "d rho/d epsilon against -rho/epsilon < 0"),
        (rho.diff(s.delta), slope, "d rho/d delta against -rho/(2 delta log(1/delta)) < 0"),
    )


def _below_one(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """rho of a setting of the paper, with the smallest q that makes its noise private (certified, zero-out)."""
    from dpfl_theory.core.inverse import completed
    from dpfl_theory.privacy import calibrate, get

    described = {k: instance[k] for k in ("clients", "cohort", "rounds", "sampling", "noise")}
    run = get("dp-fedavg")(**described)
    z = calibrate(run, epsilon=instance["epsilon"], delta=instance["delta"])
    noisy = {"noise_variance": run.with_(noise_multiplier=z).sigma(1.0)["sigma"] ** 2, "C": 1.0}
    budget = {"K": instance["rounds"], "n": instance["clients"], "r": instance["cohort"]}
    q = completed((THEOREM3,), {**noisy, **budget, "epsilon": instance["epsilon"], "delta": instance["delta"]})["q"]
    values = {"q": q, "d": instance["dimension"], "n": instance["clients"]}
    rho = evaluate_side(statement, "rhs", {**values, "delta": instance["delta"], "epsilon": instance["epsilon"]})
    return Outcome(rho < 1, f"with q = {q:.4g}, rho = {rho:.4g}", {"q": q, "rho": rho})


_FULL = {"sampling": "full", "noise": "average"}
_SAMPLED = {"sampling": "poisson", "noise": "average"}
_SETTINGS = {
    "Appendix F": {"clients": 100, "cohort": 100, "rounds": 500, "dimension": 200, "epsilon": 5.0, "delta": 1e-6}
    | _FULL,
    # Appendix G does not print K: 200 rounds are taken.
    "Appendix G, CIFAR-100, epsilon = 2": {
        "clients": 5000,
        "cohort": 1000,
        "rounds": 200,
        "dimension": 51300,
        "epsilon": 2.0,
        "delta": 1e-5,
    }
    | _SAMPLED,
}

DEFINITION2: Statement = Statement(
    id="das2022.definition2",
    kind="definition",
    source=Source(das.PAPER, "Definition 2, Section 2", "1"),
    symbols=das.symbols("rho", "q", "d", "delta", "n", "epsilon"),
    relation="==",
    sides=_sides,
    checks=(
        Check("algebra", "the noise of Theorem 3 in terms of rho", _noise_energy),
        Check("algebra", "monotone in epsilon and delta", _monotone),
        *(Check("algebra", f"rho < 1 in {name}", _below_one, instance) for name, instance in _SETTINGS.items()),
    ),
    uses=("das2022.theorem3",),
)

STATEMENTS = (DEFINITION2,)
