"""hou2023 Section 3.1: the four observations, on convex problems where every expectation is a rational number."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Case, Outcome
from dpfl_theory.statements.hou2023 import _letters as hou
from dpfl_theory.statements.hou2023._sweeps import best, divisors, gap, read
from dpfl_theory.statements.model import Check, Erratum, Source, Statement
from dpfl_theory.statements.symbolic import equal

ALGORITHMS = ("dp-fedavg", "dp-scaffnew")
_ITERATIONS, _STEPS = 24, 3
_TOTALS = (3, 6, 12, 24, 36, 48)


def _over_steps(algorithm: str, instance: Mapping[str, Any], unit: Fraction) -> dict[int, Fraction]:
    """E f - f* for each number of local steps, T fixed."""
    return {tau: gap(algorithm, read(instance), tau, _ITERATIONS, unit) for tau in divisors(_ITERATIONS)}


def _over_totals(algorithm: str, instance: Mapping[str, Any], unit: Fraction) -> dict[int, Fraction]:
    """E f - f* for each T, tau fixed."""
    return {T: gap(algorithm, read(instance), _STEPS, T, unit) for T in _TOTALS}


Sweep = Callable[[str, Mapping[str, Any], Fraction], dict[int, Fraction]]


def interior(sweep: Sweep, instance: Mapping[str, Any]) -> Iterator[Case]:
    """The smallest E f - f* between the two ends of a sweep against the smaller of the two ends."""
    for algorithm in ALGORITHMS:
        for unit in map(Fraction, instance["units"]):
            values = sweep(algorithm, instance, unit)
            keys = sorted(values)
            inside, low = best(values, keys[1:-1])
            end, at_end = best(values, [keys[0], keys[-1]])
            at = {"algorithm": algorithm, "C^2 v ln(1/delta)/epsilon^2": unit, "inside": inside, "end": end}
            yield Case(at, low, at_end)


def problems(instance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The instance's own problem, then problems of a seeded sequence: one to three clients, integer centres."""
    yield dict(instance)
    draw = random.Random(int(instance["seed"]))
    for number in range(int(instance["drawn"])):
        n = draw.choice([1, 2, 3])
        q = [str(Fraction(draw.randint(1, 8), 8)) for _ in range(n)]
        c = [str(draw.randint(-6, 6) if number % 3 else 0) for _ in range(n)]
        yield {"q": q, "c": c, "x_0": str(draw.randint(-9, 9))}


def monotone(sweep: Sweep, rising: bool, instance: Mapping[str, Any]) -> Iterator[Case]:
    """The best key at each noise level against that at the next larger one (in the order that ``rising`` says)."""
    for problem in problems(instance):
        for algorithm in ALGORITHMS:
            found = [best(v := sweep(algorithm, problem, Fraction(u)), sorted(v))[0] for u in instance["units"]]
            for unit, now, after in zip(instance["units"], found, found[1:], strict=False):
                at = {"algorithm": algorithm, **{k: problem[k] for k in ("q", "c", "x_0")}, "unit": unit}
                small, large = (now, after) if rising else (after, now)
                yield Case(at, Fraction(small), Fraction(large))


def _performance(instance: Mapping[str, Any]) -> Iterator[Case]:
    """min over tau of E f - f* at threshold 4C against 11/10 of that at C: 'no significant impact' as 10%."""
    for algorithm in ALGORITHMS:
        for unit in map(Fraction, instance["units"]):
            one, four = (_over_steps(algorithm, instance, u) for u in (unit, 16 * unit))
            (tau, low), (tau_4, high) = best(one, sorted(one)), best(four, sorted(four))
            at = {"algorithm": algorithm, "unit at C": unit, "best tau at C": tau, "best tau at 4C": tau_4}
            yield Case(at, high, Fraction(11, 10) * low)


def _statics(_: Mapping[str, Any]) -> Outcome:
    """Why the best choices move in one direction: with gap(k) = b(k) + u n(k), choices k at u and k' at u' > u satisfy
    b(k) + u n(k) <= b(k') + u n(k') and b(k') + u' n(k') <= b(k) + u' n(k); their sum is (u' - u)(n(k) - n(k')) >= 0.
    """
    import sympy as sp

    u, more, n, n_other, b, b_other = sp.symbols("u more n n_other b b_other", real=True)
    first = (b_other + u * n_other) - (b + u * n)
    second = (b + (u + more) * n) - (b_other + (u + more) * n_other)
    return equal(first + second, more * (n - n_other), "the sum of the two optimality conditions")


_PROBLEM = {"q": ["1", "1/4", "1/10"], "c": ["0", "1", "-2"], "x_0": "8"}
_UNITS = ["0", "1/1000", "1/100", "1/30", "1/10", "1/3", "1", "4", "20"]
_READING = (
    "The paper observes it on neural networks; here the problems are convex: one-dimensional quadratics, eta = 1/L, "
    "without clipping, with the noise of Lemma 1, C^2 v ln(1/delta)/epsilon^2 given"
)


def _observation(number: int, title: str, text: str, **more: Any) -> Statement:
    return Statement(
        id=f"hou2023.observation{number}",
        kind="corollary",
        title=title,
        source=Source(hou.PAPER, f"Observation {number}, Section 3.1", note=f"{_READING}. {more.pop('note')}"),
        text=text,
        **more,
    )


def _repaired(printed: Statement, title: str, note: str, text: str, checks: tuple[Check, ...]) -> Statement:
    return replace(
        printed,
        id=f"{printed.id}.repaired",
        title=title,
        source=replace(printed.source, note=f"repaired: {note}"),
        text=text,
        checks=checks,
        expected="holds",
        erratum=None,
        slips=(),
    )


def _exact(name: str, cases: Callable[..., Iterator[Case]], *fixed: Any, **instance: Any) -> Check:
    expected = instance.pop("expected", "holds")
    return Check("exact", name, lambda i: tuple(cases(*fixed, i)), {**_PROBLEM, **instance}, expected)


OBSERVATION1 = _observation(
    1,
    "A non-trivial optimal number of local steps exists",
    "For a fixed number T of iterations and every epsilon, infinity included, some number of local steps between 1 and "
    "T ends with a smaller error than 1 and T, for DP-FedAvg and for DP-ScaffNew.",
    note="Read for every epsilon: Figure 2 has four of them and none ('even without the DP noise')",
    checks=(
        _exact("moderate noise", interior, _over_steps, units=["1/200", "1/400"]),
        _exact("no noise", interior, _over_steps, units=["0"], expected="violated"),
        _exact("much noise", interior, _over_steps, units=["1", "10"], expected="violated"),
    ),
    expected="violated",
    erratum=Erratum(
        printed="The non-trivial optimal number of local steps exists for both algorithms, also without noise.",
        true=(
            "On convex problems it exists for noise between two limits. Without noise, and with communication free, "
            "one local step (gradient descent) ends best; with much noise a single communication does."
        ),
        cause=(
            "Theorem 1's bound balances (1 - theta)^T against noise; at infinite epsilon only the first term is left, "
            "and its best p^2 = mu/L is where the bound, not the error, stops to improve."
        ),
        counterexample=(
            "f_i(x) = q_i (x - c_i)^2/2 with q = (1, 1/4, 1/10), c = (0, 1, -2), x_0 = 8, T = 24: without noise E f - "
            "f* is less than 1e-8 at tau = 1 and 0.0004 or more beyond for DP-ScaffNew; with C^2 v "
            "ln(1/delta)/epsilon^2 = 1 it is 0.194 at tau = 24 and 0.261 at tau = 12"
        ),
        repaired="hou2023.observation1.repaired",
    ),
)

OBSERVATION2 = _observation(
    2,
    "A non-trivial optimal number of iterations exists",
    "For a fixed number of local steps and every epsilon, some number of iterations between one communication and many "
    "ends with the smallest error, for DP-FedAvg and for DP-ScaffNew.",
    note="Read for every finite epsilon, over T = 3, 6, 12, 24, 36, 48 with tau = 3",
    checks=(
        _exact("moderate noise", interior, _over_totals, units=["1/100", "1/10", "1/3"]),
        _exact("much noise", interior, _over_totals, units=["20", "100"], expected="violated"),
    ),
    expected="violated",
    erratum=Erratum(
        printed="There exists a non-trivial optimal number of iterations for both algorithms.",
        true=(
            "On convex problems there is one as long as the noise of the first communications costs less than they "
            "gain; with more noise a single communication is best."
        ),
        cause="The observation is of a few epsilons. Corollary 1's T* itself falls below 1 when epsilon is small.",
        counterexample=(
            "the problem of Observation 1 with C^2 v ln(1/delta)/epsilon^2 = 20 and tau = 3: T = 3, one communication, "
            "ends best for both algorithms"
        ),
        repaired="hou2023.observation2.repaired",
    ),
    uses=("hou2023.corollary1",),
    slips=(
        "'DP-ScaffNew attains poor performance even in the absence of noise as T grows' is of neural networks; on "
        "strongly convex problems it converges, by Theorem 1.",
    ),
)

OBSERVATION3 = _observation(
    3,
    "With more privacy the optimal number of local steps rises and that of iterations falls",
    "As epsilon decreases, the best number of local steps (T fixed) does not decrease and the best number of "
    "iterations (local steps fixed) does not increase, for DP-FedAvg and for DP-ScaffNew.",
    note="The smallest of several best values counts",
    checks=(
        Check("algebra", "comparative statics", _statics),
        _exact("best local steps", monotone, _over_steps, True, units=_UNITS, drawn=4, seed=1),
        _exact("best iterations", monotone, _over_totals, False, units=_UNITS, drawn=8, seed=2),
    ),
    slips=(
        "'The theory shows that it only relates to mu and L': p* = sqrt(mu/L) minimises a bound whose noise term does "
        "not grow with p below it; the error itself prefers rarer communication under more noise.",
    ),
)

OBSERVATION4 = _observation(
    4,
    "The optimal local steps grow with the clipping threshold, whose impact on performance is small",
    "As C increases, the best number of local steps does not decrease, and the error at the best number of local steps "
    "does not change significantly (here: by at most a tenth for a fourfold C).",
    note="C acts through the noise alone, as in Theorem 1; 'does not significantly impact' is read as at most 10%",
    checks=(
        _exact("best local steps", monotone, _over_steps, True, units=_UNITS, drawn=2, seed=3),
        _exact(
            "error at the best local steps", _performance, units=["1/1000", "1/100", "1/10", "1"], expected="violated"
        ),
    ),
    expected="violated",
    erratum=Erratum(
        printed=(
            "The optimal local steps depend on the clipping threshold, but it does not significantly impact "
            "performance."
        ),
        true=(
            "The optimal number of local steps does grow with C. So does the error at it: Lemma 1's noise is "
            "proportional to C, and the best number of local steps makes up for a part of it only."
        ),
        cause=(
            "In Theorem 1 the noise term is proportional to C^2, whatever p and T. The paper's thresholds may be so "
            "large, or its test errors so flat, that it does not show."
        ),
        counterexample=(
            "the problem of Observation 1, DP-FedAvg, C^2 v ln(1/delta)/epsilon^2 = 1/10 and then 16/10 (C four times "
            "larger): the smallest E f - f* over the local steps goes from 0.0099 to 0.122"
        ),
        repaired="hou2023.observation4.repaired",
    ),
)

STATEMENTS = (
    OBSERVATION1,
    _repaired(
        OBSERVATION1,
        "A non-trivial optimal number of local steps exists between two noise levels",
        "for moderate noise",
        "On the problem at hand, with C^2 v ln(1/delta)/epsilon^2 from 1/400 to 1/200, some number of local steps "
        "between 1 and T ends with a smaller error than 1 and T, for both algorithms.",
        (_exact("moderate noise", interior, _over_steps, units=["1/400", "1/300", "1/200"]),),
    ),
    OBSERVATION2,
    _repaired(
        OBSERVATION2,
        "A non-trivial optimal number of iterations exists below a noise level",
        "for moderate noise",
        "On the problem at hand, with C^2 v ln(1/delta)/epsilon^2 from 1/100 to 1/3, some number of iterations "
        "between one communication and many ends with the smallest error, for both algorithms.",
        (_exact("moderate noise", interior, _over_totals, units=["1/100", "1/30", "1/10", "1/3"]),),
    ),
    OBSERVATION3,
    OBSERVATION4,
    _repaired(
        OBSERVATION4,
        "The optimal local steps do not fall as the clipping threshold grows",
        "without the sentence on performance",
        "As C increases, the best number of local steps does not decrease, for both algorithms.",
        (
            Check("algebra", "comparative statics", _statics),
            _exact("best local steps", monotone, _over_steps, True, units=_UNITS, drawn=2, seed=3),
        ),
    ),
)
