"""das2022 Definition 2 (eq. 1): the privacy ratio rho, and the hypothesis rho < 1 in the paper's own settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Outcome, Sides, Source, Statement, battery, checks
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.core.inverse import completed
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022.theorem3 import THEOREM3
from dpfl_theory.statements.relations import Formula, Proof, algebra, of


@algebra("the noise of Theorem 3 in terms of rho")
def _noise_energy(s: Formula) -> Proof:
    """Theorem 3's variance sigma^2 = q K C^2 log(1/delta)/(n epsilon)^2 in each of d coordinates is K C^2 rho^2."""
    other, rho = of(THEOREM3), s.rhs * s.rho / s.lhs
    variance = other.prescribed["noise_variance"]
    return s.d * variance, other.K * other.C**2 * rho**2, "d sigma^2 against K C^2 rho^2"


@algebra("monotone in epsilon and delta")
def _monotone(s: Formula) -> Proof:
    """'rho increases as epsilon and delta decrease': with l = log(1/delta), rho^2 = q d l/(n epsilon)^2."""
    slope = -s.rhs / (2 * s.delta * sp.log(1 / s.delta))
    return [
        (s.rhs.diff(s.epsilon), -s.rhs / s.epsilon, "d rho/d epsilon against -rho/epsilon < 0"),
        (s.rhs.diff(s.delta), slope, "d rho/d delta against -rho/(2 delta log(1/delta)) < 0"),
    ]


def _below_one(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """rho of a setting of the paper, with the smallest q that makes its noise private (certified, zero-out)."""
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


_SETTINGS = {
    f"rho < 1 in {name}": {
        **{"clients": n, "cohort": r, "rounds": K, "dimension": d, "epsilon": epsilon, "delta": delta},
        **{"sampling": sampling, "noise": "average"},
    }
    for name, n, r, K, d, epsilon, delta, sampling in (
        ("Appendix F", 100, 100, 500, 200, 5.0, 1e-6, "full"),
        # Appendix G does not print K: 200 rounds are taken.
        ("Appendix G, CIFAR-100, epsilon = 2", 5000, 1000, 200, 51300, 2.0, 1e-5, "poisson"),
    )
}

DEFINITION2: Statement = das.statement(
    id="das2022.definition2",
    kind="definition",
    source=Source(das.PAPER, "Definition 2, Section 2", "1"),
    relation="==",
    sides=lambda s: Sides(lhs={"ratio": s.rho}, rhs={"definition": das.expanded_rho(s)}),
    checks=battery(_noise_energy, _monotone, checks("algebra", _below_one, _SETTINGS)),
    uses=("das2022.theorem3",),
)

STATEMENTS = (DEFINITION2,)
