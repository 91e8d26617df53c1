"""hou2023 Section 2: where all optimal shifts are zero, the control variates vanish and DP-ScaffNew is DP-FedAvg."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Case, Hypothesis, Sides, Statement, Values, battery
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._runs import FREE, MOMENTS, SILENT, combinations, fractions, iterated, parts
from dpfl_theory.statements.hou2023.appendixB1 import CONTRACTION
from dpfl_theory.statements.relations import exact

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

_UNEQUAL: dict[str, Any] = {"q": ["1", "1/4"], "x_0": "1"}


@exact("two equal clients from x*, two hundred iterations", expected="violated", N=2, t=[1, 10, 200])
def _stationary(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """E||h_t||^2 of N equal clients with f_i = x^2/2 from x* with h_0 = 0, eta = p = sigma^2 = 1: N - 1 for every t
    >= 1, while psi_0 = 0."""
    n, one = int(instance["N"]), Fraction(1)
    still = [Fraction(0)] * n
    for t in instance["t"]:
        shifts = parts(iterated(still, still, [one] * n, one, one, t, one))[1]
        symbols = {"E_shifts": shifts, "psi_0": 0, "T": t, **dict.fromkeys(("eta", "p", "mu", "L"), one)}
        yield Values(symbols, instance={"t": t})


@exact(
    "against DP-FedAvg with the same coins",
    "It decides the second sentence, on the distances of both algorithms' vectors from x*; the two sides state the "
    "first one, on the control variates.",
    "violated",
    **_UNEQUAL,
)
def against_fedavg(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """N E||x_T - x*||^2 of DP-ScaffNew against DP-FedAvg with the same coins and the same noise, far into the run.

    DP-FedAvg is the same recursion with control variates that stay at zero: communications do not change them.
    """
    q = fractions(instance["q"])
    start, zero = [Fraction(instance["x_0"])] * len(q), [Fraction(0)] * len(q)
    for p, T in combinations({}, {"p": "1/2 1/5", "T": "20 40"}):
        both = (iterated(start, zero, q, 1 / max(q), p, int(T), p * T, gain=gain) for gain in (None, Fraction(0)))
        ours, fedavg = (parts(found)[0] for found in both)
        yield Case({"p": p, "T": int(T), "v C^2 ln(1/delta)/epsilon^2": 1}, ours, fedavg)


@exact(
    "Theorem 1's bound for DP-FedAvg",
    "It decides the last sentence, on Theorem 1's bound for DP-FedAvg; the two sides state the first one, on the "
    "control variates.",
    **_UNEQUAL,
)
def fedavg_by_theorem1(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """psi of DP-FedAvg, without control variates, against what the contraction of Theorem 1's proof leaves after T
    iterations: theta^T psi_0 and the noise's share."""
    q = fractions(instance["q"])
    x_0, n, eta = Fraction(instance["x_0"]), len(q), 1 / max(q)
    start, zero = [x_0] * n, [Fraction(0)] * n
    for p, T, variance in combinations({}, {"p": "1 1/2 1/5", "T": "1 5 40", "sigma^2": "0 1/100 3"}):
        symbols = {"mu": min(q), "eta": eta, "p": p, "N": n, "d": 1, "noise_variance": variance}
        psi = n * x_0**2
        for _t in range(int(T)):
            psi = evaluate_side(CONTRACTION, "rhs", {**symbols, "psi_t": psi})
        left = parts(iterated(start, zero, q, eta, p, int(T), variance, gain=Fraction(0)))[0]
        yield Case({"p": p, "T": int(T), "sigma^2": variance}, left, psi)


def _shared(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if problem is None or problem.constants.interpolates:
        return None
    return "some client has a gradient at x*, so that its optimal shift is not zero"


SHARED = Hypothesis.custom("all optimal shifts $h^*$ are zero: every client's gradient vanishes at $x^*$", _shared)

PRINTED: Statement = hou.statement(
    **hou.named("hou2023.overparameterised", "corollary", "Section 2, before Lemma 1"),
    hypotheses=(*hou.UNDER_LEMMA1, SHARED),
    sides=lambda s: Sides(
        lhs={"control variates": s.E_shifts}, rhs={"rate": hou.theta(s.mu, s.eta, s.p) ** s.T * s.psi_0}
    ),
    checks=battery(
        _stationary,
        against_fedavg,
        MOMENTS(violated="zero-shifts", near="two clients, with noise"),
        FREE(violated="shared"),
    ),
    uses=("hou2023.contraction",),
)

REPAIRED: Statement = replace(
    PRINTED,
    id="hou2023.overparameterised.repaired",
    checks=battery(
        MOMENTS("zero-shifts-quiet", near="two clients, without noise"),
        fedavg_by_theorem1,
        SILENT("shared", beyond="apart"),
    ),
)

STATEMENTS = (PRINTED, REPAIRED)
