"""noble2022 Theorem C.2 (2) repaired: DP-FedAvg's convex rate with its step size and explicit constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.statements.claims import Experiment, Outcome
from dpfl_theory.statements.model import Check, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _fedavg_round as fedavg_round
from dpfl_theory.statements.noble2022 import _private_runs as private
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.symbolic import equal


def _coefficients(s: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """1/(8(1 + B^2) nu), c1 = 2V/(KlM) + 4(1 - l)G^2/(lM) and c2 = 18 nu G^2."""
    longest = 1 / (8 * (1 + s["B"] ** 2) * s["nu"])
    c1 = 2 * proof.averaged(s) + 4 * (1 - s["l"]) * s["G"] ** 2 / (s["l"] * s["M"])
    return longest, c1, 18 * s["nu"] * s["G"] ** 2


def _convex() -> Sides:
    import sympy as sp

    s = sympy_symbols(CONVEX)
    third = sp.Rational(1, 3)
    drift = s["D0"] ** (4 * third) * s["nu"] ** third * s["G"] ** (2 * third) / s["T"] ** (2 * third)
    return Sides(
        {"excess": s["excess"]},
        {
            "noise": 2 * sp.sqrt(2) * s["D0"] * sp.sqrt(proof.averaged(s) / s["T"]),
            "sampling of users": 4 * s["G"] * s["D0"] * sp.sqrt(1 - s["l"]) / sp.sqrt(s["T"] * s["l"] * s["M"]),
            "heterogeneity": 2 * sp.cbrt(18) * drift,
            "start": 8 * (1 + s["B"] ** 2) * s["nu"] * s["D0"] ** 2 / s["T"],
        },
    )


def _prescription() -> Mapping[str, Any]:
    import sympy as sp

    s = sympy_symbols(CONVEX)
    longest, c1, c2 = _coefficients(s)
    eta_g = sp.sqrt(s["l"] * s["M"])
    # The largest of the reciprocals: nothing is divided by c1 or c2, which may be 0.
    slowest = sp.Max(1 / longest, sp.sqrt(c1 * s["T"]) / s["D0"], (c2 * s["T"] / s["D0"] ** 2) ** sp.Rational(1, 3))
    return {"eta_g": eta_g, "eta_l": 1 / (s["K"] * eta_g * slowest)}


def _three_cases(_: Mapping[str, Any]) -> Outcome:
    """The round of `_fedavg_round` summed over T rounds is f(eta~) = D^2/(eta~ T) + c1 eta~ + c2 eta~^2.

    At the least of a, b = D/sqrt(c1 T) and e = (D^2/(c2 T))^(1/3) its first term is at most D^2/T (1/a + 1/b + 1/e),
    the others at most c1 b and c2 e^2; and sqrt(c1) is at most the sum of the roots of its two parts.
    """
    import sympy as sp

    s = sympy_symbols(CONVEX)
    a, c1, c2 = _coefficients(s)
    D, T, terms = s["D0"], s["T"], _convex().rhs
    positive = sp.Symbol("c2", positive=True)
    e = (D**2 / (positive * T)) ** sp.Rational(1, 3)
    drift = sp.powdenest(D**2 / (e * T) + positive * e**2, force=True)
    b = D / sp.sqrt(c1 * T)
    found = (
        equal(D**2 / (a * T), terms["start"], "the start"),
        equal(sp.simplify((D**2 / (b * T) + c1 * b) ** 2), sp.simplify(4 * D**2 * c1 / T), "twice D sqrt(c1/T)"),
        equal(
            sp.expand(4 * D**2 * c1 / T), sp.expand(terms["noise"] ** 2 + terms["sampling of users"] ** 2), "its parts"
        ),
        equal(
            sp.simplify(drift**3).subs(positive, c2), sp.simplify(terms["heterogeneity"] ** 3), "the cube of the drift"
        ),
    )
    return Outcome(all(o.true for o in found) or None, "; ".join(o.reason for o in found))


def _experiment(instance: Mapping[str, Any]) -> Experiment:
    found = runs.experiment(instance)
    more = {"G": runs.dissimilarity(found.problem), "B": 1.0}
    fedavg = private.fedavg_of(found, more)
    algorithm: Any = fedavg.algorithm
    return runs.chosen_values(fedavg, CONVEX, **more, eta_l=algorithm.local_step)


def _runs() -> tuple[Check, ...]:
    apart = {"family": "points", "parameters": {"clients": 8, "spread": 0.5}}
    chosen = {
        "300 users, noise dominates": runs.RUNS["300 users, noise dominates"],
        "half of the records": runs.RUNS["half of the records"],
        "four users, a step below the limit": runs.RUNS["four users, a step below the limit"],
        "four of eight users": runs.run_of(apart, 4, 2, 1500, 0.001),
    }
    return tuple(Check("monte-carlo", name, _experiment, instance) for name, instance in chosen.items())


CONVEX: Statement = Statement(
    id="noble2022.theoremC.2.convex.repaired",
    kind="theorem",
    title="DP-FedAvg with noise at every local step: convex, with its step size",
    source=Source(
        noble.PAPER,
        "Theorem C.2 (2), Appendix C.5",
        note=(
            "repaired: one step size, explicit constants, equal weights over x^0, ..., x^{T-1}. The round's worst case "
            "is the progress lemma of Karimireddy et al. (2020b) behind their Theorem V, which the paper cites. No "
            "algebra check covers it for all M and K: it rests on that citation, and on worst cases for M <= 3, K <= 2"
        ),
    ),
    text=(
        "DP-FedAvg with convex nu-smooth F_i of dissimilarity (G, B), eta_g = sqrt(lM) and K eta_l eta_g = min(1/(8 (1 "
        "+ B^2) nu), D_0/sqrt(c_1 T), (D_0^2/(c_2 T))^(1/3)), c_1 = 2V/(KlM) + 4 (1 - l) G^2/(lM), c_2 = 18 nu G^2, "
        "satisfies the bound for every T >= 1, if x^0 is not x*; a c that is 0 asks for no shorter step."
    ),
    symbols=proof.letters("eta_g", "eta_l", "nu", *proof.VARIANCE, *proof.COHORT, "T", "D0", "G", "B"),
    expectations=(private.MEAN,),
    assumptions=(
        noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, proof.WHOLE, noble.DISSIMILAR, noble.ROUNDS,
        runs.APART,
    ),
    sides=_convex,
    prescription=_prescription,
    checks=(
        Check("algebra", "the step size", _three_cases),
        *fedavg_round.checks(),
        *_runs(),
    ),
    uses=("noble2022.lemmaC.1",),
)  # fmt: skip

STATEMENTS = (CONVEX,)
