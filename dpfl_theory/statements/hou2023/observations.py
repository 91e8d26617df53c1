"""hou2023 Section 3.1: the four observations, on convex problems where every expectation is a rational number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Case, Check, Outcome, Source, Statement, Values
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.hou2023 import _observation_runs as runs
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._observation_runs import CLIENTS, Sweep, interior, monotone, over_steps, over_totals
from dpfl_theory.statements.symbolic import equal

ALGORITHMS = ("dp-fedavg", "dp-scaffnew")


def _statics(_: Statement, instance: Mapping[str, Any]) -> Outcome:
    """Why the best choices move in one direction: with gap(k) = b(k) + u n(k), choices k at u and k' at u' > u satisfy
    b(k) + u n(k) <= b(k') + u n(k') and b(k') + u' n(k') <= b(k) + u' n(k); their sum is (u' - u)(n(k) - n(k')) >= 0.

    So the noise coefficient n of the best choice does not grow with the noise; a conclusion on the choice itself needs
    n to fall (or rise) with it.
    """
    u, more, n, n_other, b, b_other = sp.symbols("u more n n_other b b_other", real=True)
    first = (b_other + u * n_other) - (b + u * n)
    second = (b + (u + more) * n) - (b_other + (u + more) * n_other)
    return equal(first + second, more * (n - n_other), "the sum of the two optimality conditions")


_PROBLEM = {"q": ["1", "1/4", "1/10"], "c": ["0", "1", "-2"], "x_0": "8"}
_UNITS = ["0", "1/1000", "1/100", "1/30", "1/10", "1/3", "1", "4", "20"]


def _observation(id_: str, **more: Any) -> Statement:
    return Statement(
        id=id_,
        kind="corollary",
        source=Source(hou.PAPER, f"Observation {id_[-1]}, Section 3.1"),
        expectations=runs.ERRORS,
        universal=False,
        sides=runs.sides,
        **more,
    )


def _by_clients(id_: str, observation: Statement, checks: tuple[Check, ...]) -> Statement:
    return replace(observation, id=id_, reading_of=observation.id, checks=checks, expected="violated")


def _ends(sweep: Sweep, algorithms: tuple[str, ...]) -> Callable[[Statement, Mapping[str, Any]], list[Values]]:
    """The best choice between the two ends of a sweep, and the better one of the two ends."""

    def build(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
        return [
            Values({"E_error": low, "E_rival_error": at_end}, at)
            for at, low, at_end in interior(sweep, algorithms, instance)
        ]

    return build


def _exist(name: str, sweep: Sweep, algorithms: tuple[str, ...], **instance: Any) -> Check:
    return Check("exact", name, _ends(sweep, algorithms), {**_PROBLEM, **instance})


def _best(
    name: str, sweep: Sweep, algorithms: tuple[str, ...], *, rising: bool, expected: str = "holds", **instance: Any
) -> Check:
    def build(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
        return [
            Case(at, Fraction(small), Fraction(large))
            for at, small, large in monotone(sweep, algorithms, rising, instance)
        ]

    return Check("exact", name, build, {**_PROBLEM, **instance}, expected, _CHOICES)


_CHOICES = (
    "It decides the claim itself, on the best choices by their exact errors; the two sides are the errors of two given "
    "choices, which the runs compare."
)
_STATICS = (
    "It decides why best choices move in one direction at all, by their share of the noise; the other checks decide "
    "the direction."
)
_UNEQUAL = {"q": ["1", *["1/300"] * 7], "c": ["2/5", *["-120/7"] * 7], "x_0": "1"}
_FALLING: dict[str, Any] = {**_UNEQUAL, "units": ["1/18000", "1/15000"], "drawn": 0, "seed": 1}
_UNEQUAL_CLIENTS = "best local steps, one client of eight with most of the curvature"
_SCAFFNEW_STAYS = _best(_UNEQUAL_CLIENTS, over_steps, ("dp-scaffnew",), rising=True, **_FALLING)
_CLIENTS_FALL = _best(_UNEQUAL_CLIENTS, over_steps, (CLIENTS,), rising=True, **_FALLING, expected="violated")

# The settings of the simulations, with C in units of ||x_0 - x*||: at C = 1/4 most updates are clipped at first.
_MODERATE = {"moderate noise": (0.25, 0.3)}
_EXIST_STEPS = tuple(c for a in ALGORITHMS for c in runs.compared(a, (4, 24), ((1, 24), (24, 24)), _MODERATE))
_EXIST_ITERATIONS = tuple(c for a in ALGORITHMS for c in runs.compared(a, (3, 24), ((3, 3), (3, 96)), _MODERATE))
# The best of the smaller choices under less noise must stay ahead of them under more; the first shows what is best.
_NOISES = {"less noise": (0.25, 0.1), "more noise": (0.25, 0.3), "much more noise": (0.25, 1.0)}
_MORE_NOISE = {
    "dp-fedavg": tuple(runs.compared("dp-fedavg", (2, 24), ((1, 24),), _NOISES)),
    "dp-scaffnew": tuple(runs.compared("dp-scaffnew", (3, 24), ((1, 24), (2, 24)), _NOISES)),
}
_MORE_NOISE_ITERATIONS = tuple(c for a in ALGORITHMS for c in runs.compared(a, (3, 24), ((3, 48), (3, 96)), _NOISES))
_THRESHOLDS = {
    "smaller threshold": (0.1, 1.0),
    "larger threshold": (0.25, 1.0),
    "threshold of the first distance": (1.0, 1.0),
}
_LARGER_THRESHOLD = {
    "dp-fedavg": tuple(runs.compared("dp-fedavg", (2, 24), ((1, 24),), _THRESHOLDS)),
    "dp-scaffnew": tuple(runs.compared("dp-scaffnew", (3, 24), ((1, 24), (2, 24)), _THRESHOLDS)),
}

OBSERVATION1 = _observation(
    "hou2023.observation1",
    checks=(
        _exist("moderate noise", over_steps, ALGORITHMS, units=["1/400", "1/300", "1/200"]),
        _exist("hardly better than one communication, DP-FedAvg", over_steps, ("dp-fedavg",), units=["1/170"]),
        _exist("hardly better than one communication, DP-ScaffNew", over_steps, ("dp-scaffnew",), units=["30"]),
        _exist("DP-ScaffNew without noise, unequal clients", over_steps, ("dp-scaffnew",), **_UNEQUAL, units=["0"]),
        *_EXIST_STEPS,
    ),
    smoke=("dp-scaffnew, moderate noise: (tau, T) = (4, 24) against (24, 24)",),
)

OBSERVATION2 = _observation(
    "hou2023.observation2",
    checks=(
        _exist("moderate noise", over_totals, ALGORITHMS, units=["1/100", "1/30", "1/10", "1/3"]),
        _exist("hardly better than one communication, DP-FedAvg", over_totals, ("dp-fedavg",), units=["18"]),
        _exist("hardly better than one communication, DP-ScaffNew", over_totals, ("dp-scaffnew",), units=["35"]),
        *_EXIST_ITERATIONS,
    ),
    uses=("hou2023.corollary1",),
)

OBSERVATION3 = _observation(
    "hou2023.observation3",




    checks=(
        Check("algebra", "comparative statics", _statics, part=_STATICS),
        _best("best local steps", over_steps, ALGORITHMS, rising=True, units=_UNITS, drawn=4, seed=1),
        _best(
            "best local steps of DP-FedAvg, more problems", over_steps, ("dp-fedavg",), rising=True,
            units=_UNITS, drawn=30, seed=1,
        ),
        _best("best iterations", over_totals, ALGORITHMS, rising=False, units=_UNITS, drawn=8, seed=2),
        _SCAFFNEW_STAYS,
        *_MORE_NOISE["dp-fedavg"],
        *_MORE_NOISE["dp-scaffnew"],
        *_MORE_NOISE_ITERATIONS,
    ),
    smoke=("dp-fedavg, less noise: (tau, T) = (2, 24) against (1, 24)",),

)  # fmt: skip

OBSERVATION4 = _observation(
    "hou2023.observation4",




    checks=(
        Check("algebra", "comparative statics", _statics, part=_STATICS),
        _best("best local steps", over_steps, ALGORITHMS, rising=True, units=_UNITS, drawn=2, seed=3),
        _best(
            "best local steps of DP-FedAvg, more problems", over_steps, ("dp-fedavg",), rising=True,
            units=_UNITS, drawn=30, seed=3,
        ),
        _SCAFFNEW_STAYS,
        *_LARGER_THRESHOLD["dp-fedavg"],
        *_LARGER_THRESHOLD["dp-scaffnew"],
    ),
    smoke=(
        "dp-fedavg, smaller threshold: (tau, T) = (2, 24) against (1, 24)",
        "dp-scaffnew, larger threshold: (tau, T) = (3, 24) against (2, 24)",
    ),


)  # fmt: skip

STATEMENTS = (
    OBSERVATION1,
    OBSERVATION2,
    OBSERVATION3,
    _by_clients(
        "hou2023.observation3.clients",
        OBSERVATION3,
        (_best("best local steps", over_steps, (CLIENTS,), rising=True, units=_UNITS, drawn=4, seed=1), _CLIENTS_FALL),
    ),
    OBSERVATION4,
    _by_clients("hou2023.observation4.clients", OBSERVATION4, (_CLIENTS_FALL,)),
)
