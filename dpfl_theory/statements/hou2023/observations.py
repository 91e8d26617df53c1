"""hou2023 Section 3.1: the four observations, on convex problems where every expectation is a rational number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Case, Check, Outcome, Remark, Source, Statement, Typo, Values
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
_SERVER = (
    "Both algorithms are scored by the vector that the server holds at the end: $x_T$, which Algorithm 1 returns and "
    "Algorithm 2 keeps ($x_{t+1} = x_t$ where no communication takes place)."
)
_CLIENTS = (
    "DP-FedAvg is scored by the server's vector, DP-ScaffNew by its clients' own vectors $x_T^{(i)}$, on average: "
    r"those that $\psi_T$ of Theorem 1 is about."
)
_READING = (
    "The paper observes it on neural networks; here the problems are convex. Exact checks use one-dimensional "
    r"quadratics without clipping, with $C^2 v \ln(1/\delta)/\varepsilon^2$ given. Simulations use quadratics in "
    r"three dimensions with clipping. All use $\eta = 1/L$ and the noise of Lemma 1. A run compares two choices"
)


def _observation(id_: str, title: str, text: str, **more: Any) -> Statement:
    return Statement(
        id=id_,
        kind="corollary",
        title=title,
        source=Source(hou.PAPER, f"Observation {id_[-1]}, Section 3.1", note=f"{_READING}. {more.pop('note')}"),
        text=text,
        expectations=runs.ERRORS,
        universal=False,
        sides=runs.sides,
        **more,
    )


def _by_clients(id_: str, observation: Statement, title: str, text: str, checks: tuple[Check, ...]) -> Statement:
    return replace(
        observation,
        id=id_,
        title=title,
        text=text,
        reading=_CLIENTS,
        reading_of=observation.id,
        checks=checks,
        expected="violated",
        remark=None,
        typos=(),
    )


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
_WHY = (
    r"$N = 8$, $f_i(x) = q_i (x - c_i)^2/2$ with $q = (1, 1/300, \dots, 1/300)$, $c = (2/5, -120/7, \dots, -120/7)$, "
    r"$x_0 = 1$, $T = 24$, $\eta = 1$, Lemma 1's noise: with coins of probability $1/\tau$ and by the clients' own "
    r"vectors DP-ScaffNew's best $\tau$ is 2 for $C^2 v \ln(1/\delta)/\varepsilon^2$ up to $1/18000$ and 1 for "
    "$1/15000$. The reason is that rarer communication lets the control variates carry more of the old noise. By the "
    r"server's vector the best $\tau$ is 2 at both, and rises to 24 with the noise. With exactly $\tau$ local steps "
    "in a row it does the same, by either vector"
)

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
    "A non-trivial optimal number of local steps exists",
    "Fix the number $T$ of iterations. For some problems and noise levels, a number of local steps between 1 and $T$ "
    "ends with a smaller error than 1 and $T$. This holds for DP-FedAvg, for DP-ScaffNew, and for DP-ScaffNew without "
    "noise.",
    note=(
        "Read as printed, 'exist': at the noise levels named with each check. Elsewhere an end can be best: on the "
        "problem of the exact checks one local step without noise, and one communication with much noise ($C^2 v "
        r"\ln(1/\delta)/\varepsilon^2 = 1/160$ for DP-FedAvg, 50 for DP-ScaffNew)"
    ),
    checks=(
        _exist("moderate noise", over_steps, ALGORITHMS, units=["1/400", "1/300", "1/200"]),
        _exist("hardly better than one communication, DP-FedAvg", over_steps, ("dp-fedavg",), units=["1/170"]),
        _exist("hardly better than one communication, DP-ScaffNew", over_steps, ("dp-scaffnew",), units=["30"]),
        _exist("DP-ScaffNew without noise, unequal clients", over_steps, ("dp-scaffnew",), **_UNEQUAL, units=["0"]),
        *_EXIST_STEPS,
    ),
    smoke=("dp-scaffnew, moderate noise: (tau, T) = (4, 24) against (24, 24)",),
    typos=(
        "'Our results align with theoretical findings for the non-DP version [...], and also with Corollary 1' "
        "follows a sentence on the optimum without noise. If it is meant of that too, Corollary 1 does not give it: "
        r"at a fixed $T$ and $\varepsilon \to \infty$, (2) is $\theta^T \psi_0$, which no larger $p$ increases, so "
        "that $p = 1$, one local step, attains its minimum. It is in the number of communications that $p = "
        r"\sqrt{\mu/L}$ saves.",
        Typo(
            "The text says 62 classes of FEMNIST, Table 1 'Classification (63)'. It says 40263 images of FEMNIST, "
            "split equally; Table 1 has 6 $(6129 + 684) = 40878$, with a deviation of 1915 between clients.",
            where="Section 3, Datasets, and Table 1",
        ),
        Typo(
            "The text says 3220 images of Messidor, Table 1 has 3 $(300 + 100) = 1200$.",
            where="Section 3, Datasets, and Table 1",
        ),
        Typo(
            "One line computes $g_i(x_t^{(i)})$, and the next one uses $g_i(x_{t,j}^{(i)})$.",
            where="Section 2, Algorithm 1",
        ),
    ),
)

OBSERVATION2 = _observation(
    "hou2023.observation2",
    "A non-trivial optimal number of iterations exists",
    "Fix the number of local steps. For some problems and noise levels, a number of iterations between one "
    "communication and many ends with the smallest error. This holds for DP-FedAvg and for DP-ScaffNew.",
    note=(
        r"Read as printed, 'there exists', over $T = 3$, 6, 12, 24, 36, 48 with $\tau = 3$. With much noise a single "
        r"communication is best: on the problem of the exact checks from $C^2 v \ln(1/\delta)/\varepsilon^2 = 19$ on "
        "for DP-FedAvg, 37 for DP-ScaffNew"
    ),
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
    "With more privacy the optimal number of local steps rises and that of iterations falls",
    r"As $\varepsilon$ decreases, the best number of local steps ($T$ fixed) does not decrease, and the best number "
    "of iterations (local steps fixed) does not increase. This holds for DP-FedAvg and for DP-ScaffNew.",
    note="The smallest of several best values counts. It is an observation on networks, 'We observe', and no theorem",
    reading=_SERVER,
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
    remark=Remark(
        "It held on every convex problem that was tried, 400 drawn ones for DP-ScaffNew's local steps included, "
        "scored by the server's vector. If DP-ScaffNew were scored by its clients' own vectors, its best number of "
        f"local steps could fall as the noise grows. {_WHY}. The paper itself notes a discrepancy: 'with respect to "
        "the phenomenon of local steps, there exists a discrepancy with theory, as the theory shows that it only "
        r"relates to the $\mu$ and $L$'.",
        shown_by="hou2023.observation3.clients",
    ),
)  # fmt: skip

OBSERVATION4 = _observation(
    "hou2023.observation4",
    "The optimal local steps do not fall as the clipping threshold grows",
    "As $C$ increases, the best number of local steps does not decrease, for DP-FedAvg and for DP-ScaffNew.",
    note=(
        "'The optimal local step number tends to increase'; in the exact checks $C$ acts only through the noise, as "
        "in Theorem 1, since clipping is absent. The validation of this observation examines that $C$ 'does not "
        "significantly impact performance'"
    ),
    reading=_SERVER,
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
    remark=Remark(
        "It held on every convex problem that was tried, scored by the server's vector. With coins of probability "
        r"$1/\tau$ and scored by its clients' own vectors DP-ScaffNew would break it on the problem of "
        "hou2023.observation3, $C^2$ growing from $1/18000$ to $1/15000$; with fixed local steps it does not, and "
        "'tends to increase' allows exceptions.",
        shown_by="hou2023.observation4.clients",
    ),
    typos=(
        "'To minimize this utility bound, $p$ and $T$ must become smaller' as $C$ grows. Corollary 1's $T^*$ does; "
        r"its $p^* = \sqrt{\mu/L}$ does not depend on $C$.",
    ),
)  # fmt: skip

STATEMENTS = (
    OBSERVATION1,
    OBSERVATION2,
    OBSERVATION3,
    _by_clients(
        "hou2023.observation3.clients",
        OBSERVATION3,
        "With more privacy the optimal number of local steps rises, DP-ScaffNew's clients on average",
        r"As $\varepsilon$ decreases, the number of local steps that is best for DP-ScaffNew's clients on average "
        "($T$ fixed) does not decrease.",
        (
            _best("best local steps", over_steps, (CLIENTS,), rising=True, units=_UNITS, drawn=4, seed=1),
            _CLIENTS_FALL,
        ),
    ),
    OBSERVATION4,
    _by_clients(
        "hou2023.observation4.clients",
        OBSERVATION4,
        "The optimal local steps do not fall as the threshold grows, DP-ScaffNew's clients on average",
        "As $C$ increases, the number of local steps that is best for DP-ScaffNew's clients on average does not "
        "decrease.",
        (_CLIENTS_FALL,),
    ),
)
