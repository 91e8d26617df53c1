"""hou2023 Section 2 and Appendix C.1: the assumption that clipping is never active, under Lemma 1's own noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Sides, Source, Statement, Values, battery, checks
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._runs import FREE, MESSAGES, combinations, fractions, iterated, message
from dpfl_theory.statements.relations import Formula, Proof, algebra, of


def second_messages(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """C = 1, every client with the minimiser 0 and x_0 = 0, so that the first message is zero: the mean square of the
    second and of the last one, with Lemma 1's noise of variance v C^2 p T ln(1/delta)/epsilon^2; p = 1 except outside
    of the hypotheses."""
    q, d, T, name = fractions(instance["q"]), int(instance["d"]), int(instance.get("T", 2)), "v ln(1/delta)/epsilon^2"
    still = [Fraction(0)] * len(q)
    for share, p, unit in combinations(instance, {"eta L": "1", "p": "1", name: ""}):
        eta = share / max(q)
        fixed = {"C": 1, "mu": min(q), "L": max(q), "eta": eta, "p": p, "T": T, "delta": Fraction(1, 2)}
        for earlier in sorted({1, T - 1}):
            sent = d * message(iterated(still, still, q, eta, p, earlier, T * unit), eta)
            at = {"N": len(q), "d": d, "eta": eta, "p": 1, "T": T, "after": earlier, name: unit}
            yield Values({**fixed, "E_messages": sent}, at)


@algebra("the square of a difference")
def _message_bound(s: Formula) -> Proof:
    """p = 1: ||xhat_i - x|| = eta ||(grad f_i(x) - h*_i) - (h_i - h*_i)||, whose square is at most twice the sum of
    squares; with eta L <= 1 the first is at most ||x - x*||^2, the second is h_i's share of psi: a^2 and b^2 on
    average."""
    a, b = sp.symbols("a b", real=True)
    slack = of(s.statement, E_mean_psi=s.N * (a**2 + b**2), E_messages=(a - b) ** 2).slack
    return slack, (a + b) ** 2, "2a^2 + 2b^2 less (a - b)^2"


def _clients(q: str, d: int, units: str, **more: Any) -> dict[str, Any]:
    return {"q": q.split(), "d": d, "v ln(1/delta)/epsilon^2": units.split(), **more}


_REFUTED = {
    "two equal clients, one dimension, epsilon from large to small": _clients("1 1", 1, "1/100 1 5"),
    "five clients, ten dimensions, the paper's epsilon = 3.3": _clients("1 1/2 1/4 1/8 1/16", 10, "423/100"),
    "two equal clients, one dimension, a hundred rounds": _clients("1 1", 1, "1/100 1", T=100),
}
_BEYOND = {
    "just outside eta L <= 1": _clients("1 1", 1, "1", **{"eta L": ["51/50"]}),
    "just outside p <= 1": _clients("1 1", 1, "1", p=["51/50"]),
}

INACTIVE: Statement = hou.statement(
    **hou.named("hou2023.clip-inactive", "corollary", "The remark after assumption (B), Section 2; Appendix C.1"),
    hypotheses=(hou.STRONGLY_CONVEX, hou.SMOOTH, hou.STEP, hou.COIN, hou.ITERATIONS, hou.FULL_GRADIENTS, hou.DELTA),
    sides=lambda s: Sides(lhs={"messages": s.E_messages}, rhs={"threshold": s.C**2}),
    checks=battery(
        checks("exact", second_messages, _REFUTED, "violated"),
        checks("exact", second_messages, _BEYOND, "not-applicable"),
        FREE("quiet", violated="noisy"),
    ),
    uses=("hou2023.lemma1",),
)

REPAIRED: Statement = replace(
    INACTIVE,
    id="hou2023.clip-inactive.repaired",
    source=Source(hou.PAPER, "Assumption (B), Section 2"),
    hypotheses=(*INACTIVE.hypotheses, hou.ALWAYS),
    sides=lambda s: Sides(lhs={"messages": s.E_messages}, rhs={"psi": 2 / s.N * s.E_mean_psi}),
    checks=battery(_message_bound, MESSAGES("messages", near="three clients in one dimension"), FREE("always")),
    uses=(),
)

STATEMENTS = (INACTIVE, REPAIRED)
