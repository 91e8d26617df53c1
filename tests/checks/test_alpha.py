"""The false-alarm probability: a run's checks share it, and every limit spends exactly what it is given.

Each test is a function that returns what is wrong as a list of sentences; faults are planted in the package's source
and must make it speak. Limits are compared with computations that share no code with the package: the capital of the
bets, product by product, and Student's distribution by its integral.
"""

from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mutants.planting import plant

from dpfl_theory import statements
from dpfl_theory.checks import confidence, decision
from dpfl_theory.checks.runner import checks_of, run_one, run_plan
from dpfl_theory.checks.settings import Settings

ALPHA = 0.03
"""Of the plans that are run here, whose limits are then close enough for the whole of it to show."""
CHEAP = {
    "noble2022.lemmaC.2": "heterogeneous quadratics",
    "hou2023.theorem1": "quadratics, one iteration",
    "zhang2021.eq18.repaired": "one round in two dimensions, two of four clients",
}
PLAN = [
    (statement, c)
    for statement in map(statements.get, CHEAP)
    for c in checks_of(statement)
    if c.name in ("units", CHEAP[statement.id])
]
COUNT = len(CHEAP)

Check = Callable[[], list[str]]


# --- the split over a run's checks -------------------------------------------------------------------------------


def unsplit(jobs: int) -> list[str]:
    """What is wrong with the alphas of a plan: all of its Monte-Carlo checks have alpha over their number, in their
    evidence and in their limits, which a check alone at that alpha has too."""
    wrong = []
    for e, (statement, c) in zip(run_plan(PLAN, alpha=ALPHA, device="cpu", jobs=jobs).evidence, PLAN, strict=True):
        if c.method != "monte-carlo":
            wrong += [f"{e.check} has the alpha {e.alpha}"] * (e.alpha is not None)
            continue
        if e.alpha is None or not math.isclose(e.alpha, ALPHA / COUNT, rel_tol=1e-12):
            wrong.append(f"{e.statement} says alpha = {e.alpha}")
        alone = limits_of(statement.id, ALPHA / COUNT)
        if e.lhs is None or (e.lhs.low, e.lhs.high) != alone:
            wrong.append(f"{e.statement} has the limits {e.lhs}, not {alone}")
    return wrong


@pytest.fixture(autouse=True)
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of `executor.spread`, which `test_workers` runs: each piece of work as another process has it."""

    def spread(work: Any, jobs: int, *_: Any, **__: Any) -> list[Any]:
        return [pickle.loads(pickle.dumps(piece))() for piece in work]

    monkeypatch.setattr("dpfl_theory.runtime.executor.spread", spread)


@functools.cache
def limits_of(id_: str, alpha: float) -> tuple[float, float]:
    """The limits of the left side of a check that is run alone, at this alpha."""
    statement, c = next((s, c) for s, c in PLAN if s.id == id_ and c.method == "monte-carlo")
    found = run_one(statement, c, Settings(alpha=alpha, device="cpu")).lhs
    assert found is not None
    return found.low, found.high


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_monte_carlo_checks_of_a_plan_share_alpha(jobs: int) -> None:
    assert sum(c.method == "monte-carlo" for _, c in PLAN) == COUNT < len(PLAN)
    assert unsplit(jobs) == []
    for id_ in CHEAP:
        shared, whole = limits_of(id_, ALPHA / COUNT), limits_of(id_, ALPHA)
        assert shared[0] < whole[0] < whole[1] < shared[1], id_


COUNTED = "sum(known_methods.get(c.method).simulates for _, c in pairs)"
SENT = "deadline=None, progress=None"
UNSPLIT = [
    ("every check has the whole alpha", 1, "runner", f"max(1, {COUNTED})", "1"),
    ("algebra has a share too", 1, "runner", COUNTED, "len(pairs)"),
    ("every process has the whole alpha", 2, "workers", SENT, f"{SENT}, alpha=0.03"),
    (
        "limits at another alpha than the reported one",
        1,
        "monte_carlo",
        "sample.limits(settings.alpha)",
        "sample.limits(0.03)",
    ),
    ("another alpha is reported", 1, "monte_carlo", "alpha=settings.alpha,", "alpha=0.03,"),
]


@pytest.mark.parametrize("fault", UNSPLIT, ids=lambda f: f[0])
def test_a_plan_that_spends_more_or_less_is_noticed(
    fault: Any, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    name, jobs, module, old, new = fault
    for id_ in CHEAP:
        limits_of(id_, ALPHA / COUNT)  # by the sound code
    plant(monkeypatch, f"checks.{module}", old, new)
    found = unsplit(jobs)
    record_property("kill", (f"alpha: {name}", "; ".join(found[:1])))
    assert found


# --- limits against computations of their own --------------------------------------------------------------------

STAKES = [1.0 - 2.0 ** -(0.0005 * (12.0 / 0.0005) ** (k / 47.0)) for k in range(48)]
"""1 - 2^-g, g geometrically from 0.0005 to 12."""


def capital(x: np.ndarray, mean: float) -> float:
    """The mean over the stakes of prod_t (1 + stake (x_t/mean - 1))."""
    ratios = [v / mean - 1.0 for v in x.tolist()]
    return math.fsum(math.prod(1.0 + stake * r for r in ratios) for stake in STAKES) / len(STAKES)


@functools.cache
def student(tail: float, degrees: int) -> float:
    """The t that a Student variable exceeds with probability ``tail``, from the incomplete beta integral."""

    def above(t: Any) -> Any:
        return mpmath.betainc(mpmath.mpf(degrees) / 2, 0.5, 0, degrees / (degrees + t * t), regularized=True) / 2

    with mpmath.workdps(30):
        start = math.sqrt(2.0 * math.log(1.0 / tail))  # of the normal distribution, about
        return float(mpmath.findroot(lambda t: mpmath.log(above(t) / tail), (start, start + 1.0), solver="secant"))


def johnson(x: np.ndarray, tail: float) -> tuple[float, float]:
    """Johnson's limits with probability ``tail`` on each side: mean + m_3/(6 s^2 n) -+ t s/sqrt(n)."""
    n, mean = len(x), math.fsum(x) / len(x)
    variance = math.fsum((v - mean) ** 2 for v in x) / (n - 1)
    centre = mean + math.fsum((v - mean) ** 3 for v in x) / n / (6.0 * variance * n)
    width = student(tail, n - 1) * math.sqrt(variance / n)
    return centre - width, centre + width


def unlike(what: str, found: float, expected: float, relative: float = 1e-7) -> list[str]:
    return [] if math.isclose(found, expected, rel_tol=relative) else [f"{what} is {found!r}, not {expected!r}"]


def sample(kind: str, count: int = 60) -> np.ndarray:
    """Replicates in [0, 1]."""
    u = np.random.default_rng(11).uniform(size=count)
    return {"uniform": u, "rare": np.where(u < 0.3, 1.0, 0.0), "skew": u**4}[kind]


KINDS, ALPHAS = ("uniform", "rare", "skew"), (0.2, 1e-3, 1e-6, 1e-12)


def of_confidence() -> list[str]:
    """The capital at a lower limit is 1/alpha to ten digits or so, on either side and for the least of several means;
    asymptotic limits have alpha/2 on each side."""
    wrong = []
    for kind in KINDS:
        x = sample(kind)
        for alpha in ALPHAS:
            message = f" of the {kind} sample at {alpha}"
            low, high = confidence.lower_limit(x - 2.0, alpha, -2.0), confidence.upper_limit(x, alpha, 3.0)
            wrong += unlike("capital at the lower limit" + message, capital(x, low + 2.0), 1.0 / alpha)
            wrong += unlike("capital at the upper limit" + message, capital(3.0 - x, 3.0 - high), 1.0 / alpha)
            columns = np.stack([x + 0.5, x, x + 0.2], axis=1)
            least = confidence.least_lower_limit(columns, alpha)
            wrong += unlike("capital at the least limit" + message, capital(x, least), 1.0 / alpha)
            for found, expected in zip(confidence.asymptotic_limits(x, alpha), johnson(x, alpha / 2.0), strict=True):
                wrong += unlike("asymptotic limit" + message, found, expected)
    return wrong


def of_decisions() -> list[str]:
    """`decide` has alpha/2 for each of its rigorous limits. Its asymptotic ones, truncated and plain, are looked at 16
    times, each with alpha/32 for both sides together. In `decide_least`, upper limits have alpha over the number of
    rounds, lower ones no such share."""
    wrong = []
    for kind in KINDS:
        x = sample(kind)
        for alpha in ALPHAS:
            message = f" of the {kind} sample at {alpha}"
            found = decision.decide(x, 0.5, 0.0, 1.0, alpha)
            wrong += unlike("capital at decide's low" + message, capital(x, found.low), 2.0 / alpha)
            wrong += unlike("capital at decide's high" + message, capital(1.0 - x, 1.0 - found.high), 2.0 / alpha)
            plain = johnson(x, alpha / 64.0)
            wrong += unlike("decide's asymptotic low" + message, found.asymptotic_low, plain[0])
            wrong += unlike("decide's asymptotic high" + message, found.asymptotic_high, plain[1])
            rounds = np.stack([x + 0.5, x, x + 0.2, x + 0.3, x + 0.4], axis=1)
            least = decision.decide_least(rounds, 0.5, 0.0, 2.0, alpha)
            wrong += unlike("capital at decide_least's low" + message, capital(x, least.low), 2.0 / alpha)
            wrong += unlike(
                "capital at decide_least's high" + message, capital(2.0 - x, 2.0 - least.high), 10.0 / alpha
            )
            smallest, best = johnson(x, alpha / 64.0)[0], johnson(x, alpha / 64.0 / 5.0)[1]
            wrong += unlike("decide_least's asymptotic low" + message, least.asymptotic_low, smallest)
            wrong += unlike("decide_least's asymptotic high" + message, least.asymptotic_high, best)
    return wrong


@pytest.mark.parametrize("check", [of_confidence, of_decisions], ids=lambda check: check.__name__)
def test_limits_spend_exactly_their_alpha(check: Check) -> None:
    assert check() == []


CONFIDENCE, DECISION = "confidence", "decision"
TARGET, STUDENT, LOOKS = "math.log(1.0 / alpha)", "stats.t.isf(alpha / 2.0, count - 1)", "alpha / (2 * _LOOKS)"
MIRRORED, OF_COLUMN = "dtype=np.float64), alpha, -maximum", "lower_limit(x[:, k], alpha, minimum)"
LOW, HIGH, LEAST = (
    "(z, alpha / 2.0, minimum) if",
    "(raised, alpha / 2.0, maximum)",
    "(z, alpha / 2.0, minimum) if low_valid else below",
)
OF_LEAST = "math.inf, math.inf, alpha)"


def root(text: str) -> str:
    """The square root of alpha in place of alpha."""
    return text.replace("alpha", "alpha**0.5")


LIMITS = [
    ("lower limits at sqrt(alpha)", CONFIDENCE, f"target = {TARGET}", f"target = {root(TARGET)}"),
    ("lower limits at 2 alpha", CONFIDENCE, f"target = {TARGET}", "target = math.log(0.5 / alpha)"),
    ("lower limits at alpha/2", CONFIDENCE, f"target = {TARGET}", "target = math.log(2.0 / alpha)"),
    ("the best stake for their mean", CONFIDENCE, "np.exp(logs - top).mean()", "np.exp(logs - top).max()"),
    ("upper limits at sqrt(alpha)", CONFIDENCE, MIRRORED, root(MIRRORED)),
    ("the least limit at sqrt(alpha)", CONFIDENCE, OF_COLUMN, root(OF_COLUMN)),
    ("one-sided asymptotic limits", CONFIDENCE, STUDENT, STUDENT.replace(" / 2.0", "")),
    ("asymptotic limits at sqrt(alpha)", CONFIDENCE, STUDENT, root(STUDENT)),
    ("the normal quantile", CONFIDENCE, STUDENT, "stats.norm.isf(alpha / 2.0)"),
    ("no skewness", CONFIDENCE, "shift = third", "shift = 0.0 * third"),
    ("low at alpha", DECISION, f"lower_limit{LOW}", f"lower_limit{LOW}".replace(" / 2.0", "")),
    ("low at sqrt(alpha)", DECISION, f"lower_limit{LOW}", root(f"lower_limit{LOW}")),
    ("high at alpha", DECISION, HIGH, HIGH.replace(" / 2.0", "")),
    ("high at sqrt(alpha)", DECISION, HIGH, root(HIGH)),
    ("no share for the looks", DECISION, LOOKS, "alpha / 2"),
    ("no share for the truncated and the plain", DECISION, LOOKS, "alpha / _LOOKS"),
    ("no share for the rounds", DECISION, "alpha / rounds)", "alpha)"),
    ("the least of the rounds at alpha", DECISION, LEAST, LEAST.replace(" / 2.0", "")),
    ("the asymptotic least at sqrt(alpha)", DECISION, OF_LEAST, root(OF_LEAST)),
]


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("fault", LIMITS, ids=lambda f: f[0])
def test_limits_at_another_alpha_are_noticed(fault: Any, monkeypatch: pytest.MonkeyPatch, record_property: Any) -> None:
    name, module, old, new = fault
    plant(monkeypatch, f"checks.{module}", old, new)
    found = of_confidence() if module == "confidence" else of_decisions()
    record_property("kill", (f"limits: {name}", found[0] if found else ""))
    assert found


def test_false_alarms_are_counted() -> None:
    """Of n = 64 coins with P(1) = p, the lower limit lies above p for some numbers of ones, whose probability is known:
    at most alpha, and above that for a limit at sqrt(alpha). So it is with the upper limit below p."""
    n, p, alpha = 64, 0.3, 1e-6
    chances = [math.comb(n, ones) * p**ones * (1 - p) ** (n - ones) for ones in range(n + 1)]

    def alarms(at: float) -> tuple[float, float]:
        samples = [np.repeat([1.0, 0.0], [ones, n - ones]) for ones in range(n + 1)]
        above = [c for c, x in zip(chances, samples) if confidence.lower_limit(x, at) > p]
        below = [c for c, x in zip(chances, samples) if confidence.upper_limit(x, at, 1.0) < p]
        return math.fsum(above), math.fsum(below)

    assert 0.0 < min(alarms(alpha)) <= max(alarms(alpha)) <= alpha
    assert min(alarms(alpha**0.5)) > alpha
