"""hou2023 Section 2: where all optimal shifts are zero, the control variates vanish and DP-ScaffNew is DP-FedAvg."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.check_inputs import Case, Experiment, Values
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._runs import (
    expected_parts,
    experiment,
    iterated,
    parts,
    psi_start,
    quadratics,
    run_of,
)
from dpfl_theory.statements.hou2023.contraction import CONTRACTION

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem


def _sides(s: Symbols) -> Sides:
    return Sides(lhs={"control variates": s.E_shifts}, rhs={"rate": hou.theta(s.mu, s.eta, s.p) ** s.T * s.psi_0})


def _quadratics(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """(eta^2/p^2) E||h_T||^2 on quadratics with the minimiser 0, h_0 = 0 and Lemma 1's noise."""
    q = [[Fraction(v) for v in row] for row in instance["q"]]
    start = [Fraction(v) for v in instance["start"]]
    h = [[Fraction(0)] * len(start) for _ in q]
    mu, L = min(v for row in q for v in row), max(v for row in q for v in row)
    eta, found = Fraction(instance.get("eta L", "1")) / L, []
    for p in map(Fraction, instance.get("p", ("1", "1/2", "1/5"))):
        psi_0 = psi_start(start, h, eta, p)
        for T in instance.get("T", (1, 5, 20)):
            for unit in map(Fraction, instance["noise"]):
                shifts = expected_parts(q, start, h, eta, p, T, p * T * unit)[1]
                symbols = {"E_shifts": shifts, "psi_0": psi_0, "eta": eta, "p": p, "T": T, "mu": mu, "L": L}
                found.append(Values(symbols, instance={"p": p, "T": T, "v C^2 ln(1/delta)/epsilon^2": unit}))
    return found


def _stationary(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """E||h_t||^2 of N equal clients with f_i = x^2/2 from x* with h_0 = 0, eta = p = sigma^2 = 1: N - 1 for every t
    >= 1, while psi_0 = 0."""
    n, one, found = int(instance["N"]), Fraction(1), []
    still = [Fraction(0)] * n
    for t in instance["t"]:
        shifts = parts(iterated(still, still, [one] * n, one, one, t, one))[1]
        symbols = {"E_shifts": shifts, "psi_0": 0, "T": t, **dict.fromkeys(("eta", "p", "mu", "L"), one)}
        found.append(Values(symbols, instance={"t": t}))
    return found


def _against_fedavg(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """N E||x_T - x*||^2 of DP-ScaffNew against DP-FedAvg with the same coins and the same noise, far into the run.

    DP-FedAvg is the same recursion with control variates that stay at zero: communications do not change them.
    """
    q, cases = [Fraction(v) for v in instance["q"]], []
    start, zero = [Fraction(instance["x_0"])] * len(q), [Fraction(0)] * len(q)
    for p in map(Fraction, ("1/2", "1/5")):
        for T in (20, 40):
            both = (iterated(start, zero, q, 1 / max(q), p, T, p * T, gain=gain) for gain in (None, Fraction(0)))
            ours, fedavg = (parts(found)[0] for found in both)
            cases.append(Case({"p": p, "T": T, "v C^2 ln(1/delta)/epsilon^2": 1}, ours, fedavg))
    return cases


def _fedavg_by_theorem1(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """psi of DP-FedAvg, without control variates, against what the contraction of Theorem 1's proof leaves after T
    iterations: theta^T psi_0 and the noise's share."""
    q, cases = [Fraction(v) for v in instance["q"]], []
    x_0, n, eta = Fraction(instance["x_0"]), len(q), 1 / max(q)
    start, zero = [x_0] * n, [Fraction(0)] * n
    for p in map(Fraction, ("1", "1/2", "1/5")):
        for T in (1, 5, 40):
            for variance in map(Fraction, ("0", "1/100", "3")):
                symbols = {"mu": min(q), "eta": eta, "p": p, "N": n, "d": 1, "noise_variance": variance}
                psi = n * x_0**2
                for _t in range(T):
                    psi = evaluate_side(CONTRACTION, "rhs", {**symbols, "psi_t": psi})
                left = parts(iterated(start, zero, q, eta, p, T, variance, gain=Fraction(0)))[0]
                cases.append(Case({"p": p, "T": T, "sigma^2": variance}, left, psi))
    return cases


def _silent(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run without noise: only the coins are drawn, and nothing at all for p = 1."""
    found = experiment(statement, instance)
    noisy: Any = found.algorithm
    return replace(found, algorithm=noisy.with_values(sigma=0.0), random=found.values["p"] < 1)


def _shared(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if problem is None or problem.constants.interpolates:
        return None
    return "some client has a gradient at x*, so that its optimal shift is not zero"


SHARED = Hypothesis.custom("all optimal shifts $h^*$ are zero: every client's gradient vanishes at $x^*$", _shared)
_ALL = (hou.STRONGLY_CONVEX, hou.SMOOTH, hou.STEP, hou.COIN, hou.ITERATIONS, hou.FULL_GRADIENTS, hou.UNCLIPPED, SHARED)
_TWO = {"q": [["1", "1/2"], ["1/4", "1"]], "start": ["1", "-2"]}
_UNEQUAL = {"q": ["1", "1/4"], "x_0": "1"}
_RUNS = {
    "quadratics, p = sqrt(mu/L)": run_of(quadratics(4.0, 0.0), 0.02, 60, 1.0, replicates=512),
    "quadratics, p = 1": run_of(quadratics(4.0, 0.0), 0.02, 30, 1.0, p=1.0, replicates=512),
}
_APART = {"clients with minimisers of their own": run_of(quadratics(4.0, 1.0), 0.02, 30, 1.0, p=1.0, replicates=512)}

_QUIET = {**_TWO, "noise": ["0"]}
_OUTSIDE = checks(
    "exact",
    _quadratics,
    {
        "just outside eta L <= 1": {**_QUIET, "eta L": "51/50"},
        "just outside p <= 1": {**_QUIET, "p": ["51/50"]},
        "just outside T >= 1": {**_QUIET, "T": [0]},
        "just outside mu > 0": {**_QUIET, "stated": {"mu": "0"}},
        "just outside mu <= L": {**_QUIET, "q": [["1", "1/2"]], "stated": {"mu": "51/25"}},
    },
    "not-applicable",
)
_SECOND = (
    "It decides the second sentence, on the distances of both algorithms' vectors from x*; the two sides state the "
    "first one, on the control variates."
)
_FEDAVG = (
    "It decides the last sentence, on Theorem 1's bound for DP-FedAvg; the two sides state the first one, on the "
    "control variates."
)

PRINTED: Statement = Statement(
    id="hou2023.overparameterised",
    kind="corollary",
    source=Source(hou.PAPER, "Section 2, before Lemma 1"),
    symbols=hou.symbols("eta", "p", "T", "L", "mu", "psi_0"),
    expectations=(hou.SHIFTS,),
    hypotheses=_ALL,
    sides=_sides,
    checks=(
        Check(
            "exact",
            "two equal clients from x*, two hundred iterations",
            _stationary,
            {"N": 2, "t": [1, 10, 200]},
            "violated",
        ),
        Check("exact", "two clients, with noise", _quadratics, {**_TWO, "noise": ["1/100", "1"]}, "violated"),
        Check("exact", "against DP-FedAvg with the same coins", _against_fedavg, _UNEQUAL, "violated", _SECOND),
        *_OUTSIDE,
        *checks("monte-carlo", experiment, _RUNS, "violated"),
    ),
    expected="violated",
    uses=("hou2023.contraction",),
)

REPAIRED: Statement = replace(
    PRINTED,
    id="hou2023.overparameterised.repaired",
    source=Source(hou.PAPER, "Section 2, before Lemma 1"),
    checks=(
        Check("exact", "two clients, without noise", _quadratics, _QUIET),
        Check("exact", "just inside eta L <= 1, p <= 1 and T >= 1", _quadratics, {**_QUIET, "p": ["1"], "T": [1]}),
        *_OUTSIDE,
        Check("exact", "Theorem 1's bound for DP-FedAvg", _fedavg_by_theorem1, _UNEQUAL, part=_FEDAVG),
        *checks("monte-carlo", _silent, _RUNS),
        *checks("monte-carlo", _silent, _APART, "not-applicable"),
    ),
    expected="holds",
)

STATEMENTS = (PRINTED, REPAIRED)
