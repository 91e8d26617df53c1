r"""The noise of a rule's recommendation: certified by the accountant for the requested budget, next to the paper's own.

A paper prescribes noise up to a constant, :math:`\sigma^2 = c\, f(\text{rounds}, \epsilon, \delta)`. The accountant's
noise is that formula with the constant that the accountant certifies for the chosen rounds. So the statement's bound
with this constant is that of the recommended noise. Rounds and constant depend on each other, and are computed
together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from dpfl_theory.errors import InputError
from dpfl_theory.recommend.inputs import Document
from dpfl_theory.recommend.setting import Setting

T = TypeVar("T")

NEAR = 2e-5
"""The largest relative difference by which the certified epsilon may be below the requested one."""
_RATES = ("user_rate", "record_rate")
EXACTLY, ROUGHLY, LATEST = 14, 28, 60
"""Numbers of iterations: with this tolerance, with a hundred times it, and with any certified result."""
SLOW = 2_000_000
"""The number of releases of random samples beyond which the paper's noise is not accounted for."""


def recommended(
    setting: Setting, finish: Callable[[Setting], Document], choose: Callable[[Setting], Document] | None = None
) -> Document:
    """A rule's document with the noise that the setting requests, and the other noise next to it.

    finish: the rule, for a setting whose noise is the paper's formula with the setting's constant; choose: a faster
    one, only for hyper-parameters and noise.

    Returns the document, in whose ``noise`` are ``epsilon`` (certified low and high) of the recommended noise,
    ``accountant`` (the least noise that is certified), ``paper`` (the paper's; None without its constant),
    ``accounted`` (epsilon of that), ``constant``, ``mechanism`` and ``warning``.

    Raises InputError where no noise is certified for the requested budget.
    """
    if setting.target_budget() is None:  # only a ratio was given: no budget to certify
        return finish(setting)
    given, certified = setting.paper_constant(), setting.calibration == "accountant"
    setting = _with_certified_constant(setting, choose or finish) if certified else setting.at_constant(given)
    return _with_both_noises(setting, finish(setting), given)


def _with_certified_constant(setting: Setting, choose: Callable[[Setting], Document]) -> Setting:
    """The setting with a constant for which the noise of the choice is certified, and only slightly larger than
    needed."""
    start, (epsilon, delta) = setting.paper_constant(), _target_budget(setting)

    def tried(log_noise: float) -> tuple[float, Setting]:
        at = setting.at_constant(math.exp(setting.power * log_noise))
        return _high(at.released(choose(at)), delta), at

    return _least_enough(tried, 0.0 if start is None else math.log(start) / setting.power, epsilon)


def _least_enough(tried: Callable[[float], tuple[float, T]], start: float, epsilon: float) -> T:
    """The trial at the least logarithm of the noise with a sufficient epsilon; epsilon falls with the noise.

    Secants in both logarithms, with bisection where these stop; the epsilon may jump slightly where rounds are whole
    numbers.
    """
    x, enough, few, many = start, None, list[tuple[float, float]](), list[tuple[float, float]]()
    for turn in range(LATEST):
        found, what = tried(x)
        near = NEAR if turn < EXACTLY else 100 * NEAR if turn < ROUGHLY else 1.0
        if found <= epsilon:
            enough = what
            if found >= epsilon * (1 - near):
                return what
        (many if found <= epsilon else few).append((x, math.log(max(found, 1e-9 * epsilon) / epsilon)))
        if not (few and many):
            step = abs((few or many)[-1][1])
            x += (1 if few else -1) * min(1.02 * step + 1e-3, 2.0)
            continue
        (low, above), (high, below) = max(few), min(many)
        if high - low <= 1e-12 * max(1.0, abs(high)):
            break
        share = (above + NEAR / 2) / (above - below) if math.isfinite(above) and turn % 4 != 3 else 0.5
        x = low + (high - low) * min(max(share, 1e-3), 1 - 1e-9)
    if enough is None:
        raise InputError("no finite noise is certified for the rounds: give fewer rounds, or `calibration=paper`")
    return enough


def _with_both_noises(at: Setting, document: Document, given: float | None) -> Document:
    """The document with both noises; given: the paper's constant."""
    noise, (epsilon, _) = dict(document["noise"]), _target_budget(at)
    certified, paper, accounted, why = None, None, None, None
    own = at.calibration == "paper"
    try:
        run = at.released(document)
        if own and _releases(run) > SLOW:
            raise InputError(f"{run.rounds} rounds of random samples take minutes (dpfl-theory privacy account)")
        z = run.value("noise_multiplier")
        best = z if not own else _least(run, *_target_budget(at))
        certified = {**_scaled(noise, best / z), "epsilon": _spent(run.with_(noise_multiplier=best), at)}
    except InputError as error:
        if not own:
            raise
        why = f"the accountant has no answer: {error}"
    if given is not None or own:
        ratio = 1.0 if own or given is None or at.constant is None else (given / at.constant) ** (1 / at.power)
        ratio *= at.paper_over_own(document)
        paper = {**_scaled(noise, ratio), **({} if given is None else {"constant": given})}
        if why is None:
            try:
                printed = at.released({**document, "noise": {**noise, **_scaled(noise, ratio)}}, printed=True)
                accounted = _spent(printed, at)
            except InputError as error:
                why = f"the accountant has no answer: {error}"
    if not own and at.noise_by_server():
        noise.pop("sigma_of_one_message", None)
    warning = None
    if own and accounted is not None and (accounted["high"] is None or accounted["high"] > epsilon):
        warning = _too_little(accounted, epsilon, bool(at.paper_noise_only))
    noise |= {
        "constant": at.paper_constant_of(document),
        "epsilon": accounted if own else certified and certified["epsilon"],
        "asked": epsilon,
        "accountant": certified,
        "paper": paper,
        "accounted": accounted,
        "mechanism": None if certified is None else at.released(document).describe(),
        "setting": None if certified is None else at.released(document).setting(),
        "bound": at.speaks_of_noise,
        "why": why,
        "warning": warning,
    }
    warnings = [*([] if warning is None else [warning]), *document["warnings"]]
    return {**document, "noise": noise, "warnings": warnings}


def _releases(run: Any) -> int:
    """The number of composed releases of random samples; 0 where every client and record is in each release."""
    sampled = getattr(run, "sampling", "full") != "full" or min(getattr(run, k, 1.0) for k in _RATES) < 1
    return int(run.count("rounds")) * int(getattr(run, "local_steps", 1)) if sampled else 0


def _too_little(accounted: Document, epsilon: float, only: bool) -> str:
    high, low = accounted["high"], accounted["low"]
    what = "no finite epsilon" if high is None else f"epsilon = {high:.4g}"
    sure = " (certainly more than that)" if low > epsilon else ""
    remedy = (
        "take the accountant's noise, about which the bound says nothing" if only else "use `calibration=accountant`"
    )
    return f"The paper's noise does not give epsilon = {epsilon:g}{sure}: {what} is certified for it; {remedy}."


def _target_budget(setting: Setting) -> tuple[float, float]:
    asked = setting.target_budget()
    assert asked is not None
    return asked


def _scaled(noise: Document, ratio: float) -> Document:
    """The standard deviations multiplied by a number."""
    return {name: value * ratio for name, value in noise.items() if name.startswith("sigma")}


def _least(run: Any, epsilon: float, delta: float) -> float:
    """The least certified noise multiplier, searched from the run's own."""

    def tried(log_noise: float) -> tuple[float, float]:
        multiplier = math.exp(log_noise)
        return _high(run.with_(noise_multiplier=multiplier), delta), multiplier

    return _least_enough(tried, math.log(run.noise_multiplier), epsilon)


@lru_cache(maxsize=2048)
def _high(run: Any, delta: float) -> float:
    from dpfl_theory.privacy.pld import epsilon_high

    return epsilon_high(run.event(), delta)


def _spent(run: Any, setting: Setting) -> Document:
    low, high = _accounted(run, _target_budget(setting)[1])
    return {"low": low, "high": high}


@lru_cache(maxsize=512)
def _accounted(run: Any, delta: float) -> tuple[float, float | None]:
    from dpfl_theory.privacy import epsilon_spent

    found = epsilon_spent(run, delta)
    return found.low, found.high if math.isfinite(found.high) else None
