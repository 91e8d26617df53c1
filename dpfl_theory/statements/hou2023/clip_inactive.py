"""hou2023 Section 2 and Appendix C.1: the assumption that clipping is never active, under Lemma 1's own noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Check, Effect, Erratum, Hypothesis, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.check_inputs import Outcome, Values
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._causes import NOISE_IN_UPDATES
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
    title="Clipping is only active for the first few rounds, under the noise that Lemma 1 prescribes",
    source=Source(
        hou.PAPER,
        "The remark after assumption (B), Section 2; Appendix C.1",
        note=(
            "'we show that as the algorithm converges, the norms of the updates decrease, and clipping is only active "
            r"for the first few rounds'. Then $C > \|\hat x_{t+1}^{(i)} - x_t\|$ in all others. Read with Lemma 1's "
            "noise, which Theorem 1 supposes. The checks compare a consequence: far into the run, and over rounds, "
            "the mean square of messages is at most $C^2$. Assumption (B) itself, that clipping is never active, is "
            "an assumption"
        ),
    ),
    text=(
        r"In Algorithm 2 with Lemma 1's noise, $C > \|\hat x_{t+1}^{(i)} - x_t\|$ for all clients $i$ and all but the "
        "first few rounds, so that the mean squared length of what clients would send is at most $C^2$ there, and at "
        "most $C^2$ over all rounds of a run that starts at $x^*$."
    ),
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
    erratum=Erratum(
        cause=NOISE_IN_UPDATES,
        grade="inference",
        effect=Effect(
            20.6,
            r"$\sigma/C$ for each coordinate at $\varepsilon = 3.3$, $\delta = 10^{-5}$ and 100 communications, with "
            r"$v = 4$ (the paper names no constant): $\sqrt{4 \cdot 100 \ln(10^5)}/3.3$. Networks and small "
            "steps, as in "
            "Appendix C.1, are not covered.",
        ),
        printed=(
            "As the algorithm converges, the norms of the updates decrease, and clipping is only active for the "
            "first few rounds."
        ),
        corrected=(
            "With Gaussian noise no $C$ is certain to exceed every update of a run with a second iteration. Lemma 1 "
            r"ties $\sigma$ to $C$, so that a larger $C$ brings larger updates: right after a communication the mean "
            r"squared update exceeds $C^2$ itself once $d v p T \ln(1/\delta) p^2 (1 - 1/N) > \varepsilon^2$. With $v "
            r"= 4$ and $\delta = 10^{-5}$, $N = 5$, $p = 1/100$, 100 communications and $d = 10^5$ that is any "
            r"$\varepsilon$ below 191; the paper's are 0.5 to 3.3. That clipping changes little held in some of our "
            r"own runs. On breast-cancer data, $C = \|x_0 - x^*\|$ and $\varepsilon = 500$, 1000, 3000, 10000, $E[f - "
            "f^*]$ with clipping over that without is 1.000 to 1.005 in runs of five seeds (hou2023_figure12). At "
            r"that $C$ and $\varepsilon = 10$ to 300 it is at most 2 (hou2023_observation4). With a quarter of that "
            r"$C$ and $\varepsilon = 10$, it is 4.7 (4.5 to 5.0) for DP-FedAvg on quadratics. The repaired form is "
            "for $p = 1$ only; for $p < 1$ a message adds up several local steps, and we give no bound."
        ),
        counterexample=(
            r"$N = 2$, $d = 1$, $f_i(x) = x^2/2$, $x_0 = x^* = 0$, $\eta = 1$, $p = 1$, $v "
            r"\ln(1/\delta)/\varepsilon^2 = 1$, $C = 1$. $T = 2$: the second update of each client is minus its first "
            r"noise, of variance $\sigma^2 = 2 > C^2$, and exceeds $C$ with probability $2 \Phi(-1/\sqrt{2}) = 0.48$. "
            "$T = 100$: without clipping each update but the first has variance $100 C^2$; with clipping in force "
            "each from the second on exceeds $C$ with probability 0.92 or more"
        ),
        repaired="hou2023.clip-inactive.repaired",
        survives={
            "hou2023.theorem1": (
                "Its bound (2) is an implication from assumption (B): it holds, and is checked, for runs without "
                "clipping. The remark would add that clipped runs are near them."
            ),
            "hou2023.corollary1": "Not affected: it concerns only the bound (2), and fails for a reason of its own.",
        },
    ),
    uses=("hou2023.lemma1",),
    typos=(
        r"The remark after (B) refers to Observation 3, on $\varepsilon$. Observation 4 is the one on the clipping "
        "threshold.",
        "C.1 writes of gradient norms and gradient clipping. Updates are clipped, and Figure 11 shows updates.",
    ),
)

REPAIRED: Statement = replace(
    INACTIVE,
    id="hou2023.clip-inactive.repaired",
    title="How long updates are, by the Lyapunov function $(p = 1)$",
    source=Source(hou.PAPER, "Assumption (B), Section 2", note=r"derived: for $p = 1$, by $\eta L \le 1$"),
    text=(
        r"For $p = 1$, without clipping, the mean squared update of an iteration is at most $(2/N) E \psi_t$: by "
        r"Markov's inequality a given update exceeds $C$ with probability at most $(2/C^2) E \psi_t$, which is small "
        "only where the noise term of Theorem 1 is small against $C^2$."
    ),
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
    erratum=None,
    uses=(),
    typos=(),
)

STATEMENTS = (INACTIVE, REPAIRED)
