"""noble2022 Theorem 4.2: the rates of DP-FedAvg and DP-SCAFFOLD-warm at the private noise scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.claims import Experiment, Outcome
from dpfl_theory.statements.model import Assumption, Check, Expected, Sides, Source, Statement, Symbol, sympy_symbols
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _fedavg_round as fedavg_round
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022 import lemmaC_8, theoremC_2
from dpfl_theory.statements.noble2022._letters import LETTERS as PRIVACY
from dpfl_theory.statements.symbolic import equal

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

_CLIP = Symbol("C", "threshold of the records' gradients", (1, -1), "positive", r"\mathcal{C}")
_DIMENSION = Symbol("d", "number of parameters", (0, 0), "integer", "d")
_MEAN = Expected(
    "excess",
    (("suboptimality", 1),),
    (1, 0),
    r"\frac{1}{T}\sum_t \mathbb{E}(F(x^t) - F^*)",
    "mean excess of the iterates that the rounds start from",
)
SCAFFOLD_CONSTANT, FEDAVG_CONSTANT = 102.0, 16.0
"""Constants that serve: see `_constants`."""


def _small(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if not 0 < values["delta"] <= 0.5:
        return f"delta = {values['delta']} does not lie in (0, 1/2]"
    ratio = values["T"] * values["l"] / values["delta"]
    return None if ratio >= 2 else f"T l/delta = {ratio} is below 2"


_SMALL = Assumption("delta <= 1/2 and T l/delta >= 2, so that log(2 y) <= 2 log(y) for both logarithms", _small)


def _privacy(s: Mapping[str, Any], factor: int = 1) -> Any:
    """D_0 C sqrt(d log(factor Tl/delta) log(factor/delta))/(epsilon M R)."""
    import sympy as sp

    logs = sp.log(factor * s["T"] * s["l"] / s["delta"]) * sp.log(factor / s["delta"])
    return s["D0"] * s["C"] * sp.sqrt(s["d"] * logs) / (s["epsilon"] * s["M"] * s["R"])


def _sampling(s: Mapping[str, Any]) -> Any:
    import sympy as sp

    return s["c"] * s["varsigma"] * s["D0"] / sp.sqrt(s["s"] * s["R"] * s["l"] * s["M"] * s["K"] * s["T"])


def _scaffold() -> Sides:
    import sympy as sp

    s = sympy_symbols(SCAFFOLD)
    start = s["c"] * s["nu"] * s["D0"] ** 2 / (s["l"] ** sp.Rational(2, 3) * s["T"])
    return Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {"privacy": s["c"] * _privacy(s), "sampling": _sampling(s), "start": start},
    )


def _fedavg() -> Sides:
    import sympy as sp

    s = sympy_symbols(FEDAVG)
    third = sp.Rational(1, 3)
    drift = s["D0"] ** (4 * third) * s["nu"] ** third * s["G"] ** (2 * third) / s["T"] ** (2 * third)
    users = s["G"] * s["D0"] * sp.sqrt(1 - s["l"]) / sp.sqrt(s["l"] * s["M"] * s["T"])
    return Sides(
        {"excess": s["excess"]},
        {
            "privacy": s["c"] * _privacy(s),
            "sampling": _sampling(s),
            "start": s["c"] * s["B"] ** 2 * s["nu"] * s["D0"] ** 2 / s["T"],
            "users": s["c"] * users,
            "drift": s["c"] * drift,
        },
    )


def _noise_scale(statement: Callable[[], Statement]) -> Callable[[], Mapping[str, Any]]:
    """sigma_g* = s sqrt(lTK log(2Tl/delta) log(2/delta))/(epsilon sqrt(M))."""

    def build() -> Mapping[str, Any]:
        import sympy as sp

        s = sympy_symbols(statement())
        logs = sp.log(2 * s["T"] * s["l"] / s["delta"]) * sp.log(2 / s["delta"])
        return {"sigma_g": s["s"] * sp.sqrt(s["l"] * s["T"] * s["K"] * logs) / (s["epsilon"] * sp.sqrt(s["M"]))}

    return build


def _privacy_term(statement: Callable[[], Statement]) -> Callable[[Mapping[str, Any]], Outcome]:
    """Sigma_g(C) D_0/sqrt(TKlM) at sigma_g* is 2 sqrt(2) times the privacy bound with log(2 .) for log(.)."""

    def build(_: Mapping[str, Any]) -> Outcome:
        import sympy as sp

        itself = statement()
        s = sympy_symbols(itself)
        assert itself.prescription is not None
        Sigma = 2 * s["C"] * sp.sqrt(2 * s["d"]) * itself.prescription()["sigma_g"] / (s["s"] * s["R"])
        left = Sigma * s["D0"] / sp.sqrt(s["T"] * s["K"] * s["l"] * s["M"])
        return equal(left, 2 * sp.sqrt(2) * _privacy(s, 2), "the noise term at sigma_g* against the privacy bound")

    return build


def _constants(_: Mapping[str, Any]) -> Outcome:
    """log(2y) <= 2 log(y) for y >= 2, so the privacy bound with log(2 .) is at most twice the printed one.

    Lemma C.8 repaired with eta_g = sqrt(lM): 4 sqrt(10) sqrt(2) = 8 sqrt(5) times the noise term, and 48. DP-FedAvg:
    the round that is checked by its worst case sums to D^2/(eta~ T) + c1 eta~ + c2 eta~^2, c1 = 2V/(KlM) + 4(1 -
    l)G^2/(lM), c2 = 18 nu G^2; the least of 1/(8(1 + B^2) nu), D/sqrt(c1 T) and (D^2/(c2 T))^(1/3) gives 8(1 + B^2)
    nu D^2/T + 2 D sqrt(c1/T) + 2 (c2 D^4/T^2)^(1/3), with 8(1 + B^2) <= 16 B^2.
    """
    import sympy as sp

    scaffold = [8 * sp.sqrt(5) * 2 * sp.sqrt(2) * 2, 8 * sp.sqrt(5), sp.Integer(48)]
    fedavg = [2 * sp.sqrt(2) * 2 * sp.sqrt(2) * 2, 2 * sp.sqrt(2), sp.Integer(16), sp.Integer(4), 2 * sp.cbrt(18)]
    largest = [max(found, key=float) for found in (scaffold, fedavg)]
    enough = largest[0] <= SCAFFOLD_CONSTANT and largest[1] <= FEDAVG_CONSTANT
    return Outcome(
        True if enough else None,
        f"the largest factors are {largest[0]} <= {SCAFFOLD_CONSTANT:g} and {largest[1]} <= {FEDAVG_CONSTANT:g}",
    )


def _same_as_theorem_c2(_: Mapping[str, Any]) -> Outcome:
    """All terms but the privacy bound are those of Theorem C.2 (2) without Sigma_g."""
    s, own = sympy_symbols(FEDAVG), sympy_symbols(theoremC_2.CONVEX)
    assert theoremC_2.CONVEX.sides is not None
    given = sum(theoremC_2.CONVEX.sides().rhs.values()).subs(own["Sigma"], 0)
    ours = sum(v for name, v in _fedavg().rhs.items() if name != "privacy")
    return equal(
        given.subs({own[name]: s[name] for name in own if name in s}), ours, "Theorem C.2 against the last terms"
    )


def fedavg_step(values: Mapping[str, float]) -> float:
    """The step size of `_constants`."""
    v = values
    V = v["varsigma"] ** 2 / (v["s"] * v["R"]) + v["Sigma"] ** 2
    c1 = 2 * V / (v["K"] * v["l"] * v["M"]) + 4 * (1 - v["l"]) * v["G"] ** 2 / (v["l"] * v["M"])
    c2 = 18 * v["nu"] * v["G"] ** 2
    steps = (
        1 / (8 * (1 + v["B"] ** 2) * v["nu"]),
        v["D0"] / math.sqrt(c1 * v["T"]),
        math.cbrt(v["D0"] ** 2 / (c2 * v["T"])),
    )
    return min(steps)


def experiment(instance: Mapping[str, Any]) -> Experiment:
    """A run at sigma_g* with the step sizes of the proofs; Huber losses have bounded gradients, so B = 1, G = max
    G_i."""
    from dpfl_theory.algorithms import TwoSidedFedAvg
    from dpfl_theory.problems import make

    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    epsilon, delta = float(instance["epsilon"]), float(instance["delta"])
    T, K, share = int(instance["T"]), int(instance["K"]), int(instance["size"]) / problem.n
    logs = math.log(2 * T * share / delta) * math.log(2 / delta)
    sigma = instance["share"] * math.sqrt(share * T * K * logs) / (epsilon * math.sqrt(problem.n))
    found = runs.experiment({**instance, "sigma": sigma}, lemmaC_8.best_step)
    scaffold = instance["method"] == "scaffold"
    more = {
        "epsilon": epsilon,
        "delta": delta,
        "sigma_g": sigma,
        "C": problem.constants.G_record,
        "d": float(problem.d),
        "c": SCAFFOLD_CONSTANT if scaffold else FEDAVG_CONSTANT,
        "G": problem.constants.G_max,
        "B": 1.0,
    }
    values = {**found.values, **more}
    statement = SCAFFOLD if scaffold else FEDAVG
    algorithm: Any = found.algorithm
    if not scaffold:
        eta_l = fedavg_step(values) / (K * algorithm.global_step)
        algorithm = TwoSidedFedAvg(
            eta_l, algorithm.global_step, K, cohort=algorithm.cohort, gradient=algorithm.gradient
        )
    names = {symbol.name for symbol in statement.symbols}
    return replace(
        found,
        algorithm=algorithm,
        rounds=T + 1 if scaffold else T,
        values={name: value for name, value in values.items() if name in names},
    )


def _runs(method: str) -> tuple[Check, ...]:
    chosen = {
        "two of four users, epsilon = 1": (runs.RUNS["two of four users, records sampled"], "1"),
        "one record a user, epsilon = 10": (runs.RUNS["one record a user, one user a round"], "10"),
        "very heterogeneous, epsilon = 100": (
            {**runs.RUNS["very heterogeneous, one user a round"], "eta_g": None},
            "100",
        ),
    }
    return tuple(
        Check("monte-carlo", name, experiment, {**instance, "method": method, "epsilon": epsilon, "delta": "1e-5"})
        for name, (instance, epsilon) in chosen.items()
    )


_NAMES = ("c", "nu", "varsigma", "s", "R", *proof.COHORT, "T", "D0")
_LETTERS = (*proof.letters(*_NAMES), _CLIP, _DIMENSION, *(PRIVACY[name] for name in ("epsilon", "delta", "sigma_g")))
_BASE = (noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, proof.WHOLE, noble.ROUNDS, _SMALL)
_NOTE = (
    "O stands for a constant c. 'There exist step sizes and weights' is entered with equal weights over the iterates "
    "that the rounds start from, whose mean excess bounds that of the averaged output, and the step sizes of the proofs"
)
_LOGARITHMS = (
    "The theorem prints log(Tl/delta) log(1/delta) where sigma_g* has log(2Tl/delta) log(2/delta): no constant takes "
    "the one to the other as delta tends to 1, or Tl/delta to 1.",
    "The averaged output is over x^1, ..., x^T; the proofs bound x^0, ..., x^{T-1}.",
)

SCAFFOLD: Statement = Statement(
    id="noble2022.theorem4.2.scaffold",
    kind="theorem",
    title="DP-SCAFFOLD-warm at the private noise scale: convex",
    source=Source(
        proof.PAPER,
        "Theorem 4.2, Section 4.2",
        note=(
            "the display is missing in the text; it is Theorem C.1 (2) at sigma_g*, as Appendix C.2 says, written as "
            "the one "
            f"for DP-FedAvg. {_NOTE}; the mean over T + 1 rounds counts the warm one, which the second term takes back"
        ),
    ),
    text=(
        "DP-SCAFFOLD-warm with convex nu-smooth F_i and sigma_g = sigma_g* has step sizes and weights with which the "
        "excess satisfies the bound, whatever the heterogeneity."
    ),
    symbols=(*_LETTERS, *proof.letters("F0")),
    expectations=(runs.EXCESS,),
    assumptions=(*_BASE, noble.WARM, runs.AWAY),
    sides=_scaffold,
    prescription=_noise_scale(lambda: SCAFFOLD),
    checks=(
        Check("algebra", "the privacy bound at sigma_g*", _privacy_term(lambda: SCAFFOLD)),
        Check("algebra", "a constant that serves", _constants),
        *_runs("scaffold"),
    ),
    uses=("noble2022.lemmaC.8.repaired",),
    slips=(
        *_LOGARITHMS,
        "Appendix C.2 prints Sigma_g(C) = 2 C d sqrt(2 lTK ...)/(epsilon R sqrt(M)) at sigma_g*, with d where its own "
        "definition has sqrt(d).",
    ),
)

FEDAVG: Statement = Statement(
    id="noble2022.theorem4.2.fedavg",
    kind="theorem",
    title="DP-FedAvg at the private noise scale: convex",
    source=Source(
        proof.PAPER,
        "Theorem 4.2, Section 4.2",
        note=(
            f"{_NOTE}. The round's worst case is the progress lemma of Karimireddy et al. (2020b) behind their Theorem "
            f"V"
        ),
    ),
    text=(
        "DP-FedAvg with convex nu-smooth F_i of dissimilarity (G, B) and sigma_g = sigma_g* has step sizes and "
        "weights with which the excess satisfies the bound."
    ),
    symbols=(*_LETTERS, *noble.letters("G", "B")),
    expectations=(_MEAN,),
    assumptions=(*_BASE, noble.DISSIMILAR),
    sides=_fedavg,
    prescription=_noise_scale(lambda: FEDAVG),
    checks=(
        Check("algebra", "the privacy bound at sigma_g*", _privacy_term(lambda: FEDAVG)),
        Check("algebra", "the other terms are those of Theorem C.2", _same_as_theorem_c2),
        Check("algebra", "a constant that serves", _constants),
        *fedavg_round.checks(),
        *_runs("fedavg"),
    ),
    uses=("noble2022.lemmaC.1",),
    slips=_LOGARITHMS,
)

STATEMENTS = (FEDAVG, SCAFFOLD)
