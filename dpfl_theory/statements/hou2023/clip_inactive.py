"""hou2023 Section 2 and Appendix C.1: the assumption that clipping is never active, under Lemma 1's own noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.check_inputs import Outcome, Values
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._runs import Iterate, experiment, iterated, parts, quadratics, run_of
from dpfl_theory.statements.symbolic import equal

if TYPE_CHECKING:
    from dpfl_theory.semantics.moments import Moments


def _sides(s: Symbols) -> Sides:
    return Sides(lhs={"messages": s.E_messages}, rhs={"threshold": s.C**2})


def _repaired_sides(s: Symbols) -> Sides:
    return Sides(lhs={"messages": s.E_messages}, rhs={"psi": 2 / s.N * s.E_mean_psi})


def _message(found: Moments[Iterate], eta: Fraction) -> Fraction:
    """Mean over the clients of E(xhat_i - x_i)^2 along one axis: the messages just after communicating."""
    sent = [eta * (h - found.world.gradient(i, x)) for i, (x, h) in enumerate(zip(*found.state[1]))]
    return sum(map(found.square, sent), Fraction(0)) / len(sent)


def _second_messages(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """C = 1, every client with the minimiser 0 and x_0 = 0, so that the first message is zero: the mean square of the
    second and of the last one, with Lemma 1's noise of variance v C^2 p T ln(1/delta)/epsilon^2; p = 1 except outside
    of the hypotheses."""
    q = [Fraction(v) for v in instance["q"]]
    n, d, L, T = len(q), int(instance["d"]), max(q), int(instance.get("T", 2))
    eta, p = Fraction(instance.get("eta L", "1")) / L, Fraction(instance.get("p", "1"))
    fixed = {"C": 1, "mu": min(q), "L": L, "eta": eta, "p": p, "T": T, "delta": Fraction(1, 2)}
    still, found = [Fraction(0)] * n, []
    for unit in map(Fraction, instance["v ln(1/delta)/epsilon^2"]):
        for earlier in sorted({1, T - 1}):
            moments = iterated(still, still, q, eta, p, earlier, T * unit)
            at = {"N": n, "d": d, "eta": eta, "p": 1, "T": T, "after": earlier, "v ln(1/delta)/epsilon^2": unit}
            found.append(Values({**fixed, "E_messages": d * _message(moments, eta)}, at))
    return found


def _message_bound(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """p = 1: ||xhat_i - x|| = eta ||(grad f_i(x) - h*_i) - (h_i - h*_i)||, whose square is at most twice the sum of
    squares; with eta L <= 1 the first is at most ||x - x*||^2, the second is h_i's share of psi: a^2 and b^2 on
    average."""
    s, (a, b) = symbols_of(statement), sp.symbols("a b", real=True)
    at = {s.E_mean_psi: s.N * (a**2 + b**2), s.E_messages: (a - b) ** 2}
    slack = (total(statement, "rhs") - total(statement, "lhs")).subs(at)
    return equal(slack, (a + b) ** 2, "2a^2 + 2b^2 less (a - b)^2")


def _bounded(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """E of the mean squared message and E psi_t after t noisy iterations on quadratics; p = 1 except outside of the
    hypotheses."""
    q, a, b = ([Fraction(v) for v in instance[k]] for k in ("q", "a", "b"))
    n, L, p = len(q), max(q), Fraction(instance.get("p", "1"))
    eta, found = Fraction(instance.get("eta L", "1")) / L, []
    for t in instance.get("t", (0, 1, 4)):
        for variance in map(Fraction, ("0", "1/3")):
            moments = iterated([a[0]] * n, b, q, eta, p, t, variance)
            distance, control = parts(moments)
            psi = distance + (eta / p) ** 2 * control
            symbols = {"E_messages": _message(moments, eta), "E_mean_psi": psi, "N": n, "mu": min(q), "L": L}
            symbols |= {"eta": eta, "p": p, "T": t + 1, "delta": Fraction(1, 2)}
            found.append(Values(symbols, instance={"t": t, "sigma^2": variance}))
    return found


def _clients(q: str, d: int, units: str, **more: Any) -> dict[str, Any]:
    return {"q": q.split(), "d": d, "v ln(1/delta)/epsilon^2": units.split(), **more}


_REFUTED = {
    "two equal clients, one dimension, epsilon from large to small": _clients("1 1", 1, "1/100 1 5"),
    "five clients, ten dimensions, the paper's epsilon = 3.3": _clients("1 1/2 1/4 1/8 1/16", 10, "423/100"),
    "two equal clients, one dimension, a hundred rounds": _clients("1 1", 1, "1/100 1", T=100),
}
_BEYOND = {
    "just outside eta L <= 1": _clients("1 1", 1, "1", **{"eta L": "51/50"}),
    "just outside p <= 1": _clients("1 1", 1, "1", p="51/50"),
}


def _from_star(unit: float, **more: Any) -> dict[str, Any]:
    return run_of(quadratics(4.0, 0.0), unit, 40, 0.0, **more, replicates=512)


# v ln(1/delta)/epsilon^2 with v = 4, delta = 1e-5 and the paper's epsilons 3.3 and 0.5.
_PAPER = {"epsilon = 3.3": 4.23, "epsilon = 0.5": 184.2}
_NOISY = {f"shared minimiser, start at x*, {name}": _from_star(unit) for name, unit in _PAPER.items()}
_QUIET = {"shared minimiser, start at x*, hardly any noise": _from_star(1e-4)}
_ALWAYS = {f"shared minimiser, start at x*, p = 1, {name}": _from_star(unit, p=1.0) for name, unit in _PAPER.items()}
_ALWAYS["heterogeneous clients, p = 1"] = run_of(quadratics(4.0, 3.0), 0.1, 40, 5.0, p=1.0)

_THREE: dict[str, Any] = {"q": ["1", "1/4", "1/10"], "a": ["2"], "b": ["1", "1/2", "-3/2"]}
_ALONE: dict[str, Any] = {"q": ["1"], "a": ["2"], "b": ["0"]}
_INSIDE = {"three clients in one dimension": _THREE, "just inside eta L <= 1 and p = 1, one client": _ALONE}
_OUTSIDE: dict[str, dict[str, Any]] = {
    "just outside eta L <= 1": {**_THREE, "eta L": "51/50"},
    "just outside p = 1": {**_THREE, "p": "49/50"},
    **{f"just outside {words}": {**_ALONE, "stated": stated} for words, stated in hou.STATED.items()},
    "just outside T >= 1": {**_ALONE, "t": [0], "stated": {"T": "-1"}},
}

INACTIVE: Statement = Statement(
    id="hou2023.clip-inactive",
    kind="corollary",
    source=Source(hou.PAPER, "The remark after assumption (B), Section 2; Appendix C.1"),
    symbols=hou.symbols("C"),
    expectations=(hou.MESSAGES,),
    hypotheses=(hou.STRONGLY_CONVEX, hou.SMOOTH, hou.STEP, hou.COIN, hou.ITERATIONS, hou.FULL_GRADIENTS, hou.DELTA),
    sides=_sides,
    checks=(
        *checks("exact", _second_messages, _REFUTED, "violated"),
        *checks("exact", _second_messages, _BEYOND, "not-applicable"),
        *checks("monte-carlo", experiment, _NOISY, "violated"),
        *checks("monte-carlo", experiment, _QUIET),
    ),
    expected="violated",
    uses=("hou2023.lemma1",),
)

REPAIRED: Statement = replace(
    INACTIVE,
    id="hou2023.clip-inactive.repaired",
    source=Source(hou.PAPER, "Assumption (B), Section 2"),
    symbols=hou.symbols("N"),
    expectations=(hou.MESSAGES, hou.MEAN_PSI),
    hypotheses=(*INACTIVE.hypotheses, Hypothesis(lambda s: sp.Eq(s.p, 1), "$p = 1$: every iteration communicates")),
    sides=_repaired_sides,
    checks=(
        Check("algebra", "the square of a difference", _message_bound),
        *checks("exact", _bounded, {**_INSIDE, **_OUTSIDE}, dict.fromkeys(_OUTSIDE, "not-applicable")),
        *checks("monte-carlo", experiment, _ALWAYS),
    ),
    expected="holds",
    uses=(),
)

STATEMENTS = (INACTIVE, REPAIRED)
