"""The accountants of noble2022, formulas as printed, with the interface of `dpfl_theory.privacy.accounting`."""

from __future__ import annotations

import math
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.lazy import optimize
from dpfl_theory.privacy import noble2022
from dpfl_theory.privacy.mechanisms import Mechanism
from dpfl_theory.privacy.mechanisms.record_level import NoisyLocalSteps
from dpfl_theory.runtime.console import choice

TIGHT = "tight"
ACCOUNTANTS = (TIGHT, "noble2022", "noble2022-theorem")
NOTE = "A printed formula, not a certified limit."
PRECISION = 1e-6


def accountant(name: str, mechanism: Mechanism) -> Formula | None:
    """The formula of this name; None for tight accounting. InputError where the formula lacks the mechanism."""
    if choice("accountant", name, ACCOUNTANTS) == TIGHT:
        return None
    if not isinstance(mechanism, NoisyLocalSteps):
        raise InputError(
            f"the accountant {name} does not cover {mechanism.name}: it is for dp-scaffold, dp-fedavg-record and "
            f"dp-fedsgd, so use --accountant {TIGHT}"
        )
    view = getattr(mechanism, "view", "third-party")
    if name == "noble2022":
        if view != "third-party":
            raise InputError("the accountant noble2022 covers only third parties: use noble2022-theorem for the server")
        return Formula(noble2022.epsilon_recipe, noble2022.rounds_recipe)
    return Formula(noble2022.epsilon_theorem, noble2022.rounds_theorem, {"view": view})


class Formula:
    """A printed formula for the epsilon of a number of rounds, and for the rounds that an epsilon allows.

    >>> from dpfl_theory.privacy.mechanisms import get
    >>> run = get("dp-scaffold")(users=100, records=4000, user_rate=0.05, record_rate=0.2, local_steps=10,
    ...                          noise_multiplier=20)
    >>> formula = accountant("noble2022", run)
    >>> formula.largest_rounds(run, epsilon=3.0, delta=1 / 400_000)  # Table 1
    451
    """

    def __init__(self, epsilon: Any, rounds: Any, fixed: dict[str, Any] | None = None) -> None:
        self._epsilon, self._rounds, self._fixed = epsilon, rounds, fixed or {}

    def account(self, mechanism: Mechanism, *, delta: float) -> dict[str, Any]:
        """The same document as `Account.document`, but without certified limits."""
        bound = self._bound(mechanism, delta)
        return {
            "epsilon": {"low": None, "estimate": bound.epsilon, "high": None},
            "delta": {"low": delta, "estimate": delta, "high": delta},
            "mechanism": mechanism.describe(),
            "setting": _counted(mechanism),
            "notes": [NOTE],
            "warnings": [] if bound.warning is None else [bound.warning],
            "order": bound.order,
        }

    def largest_rounds(self, mechanism: Mechanism, *, epsilon: float, delta: float) -> int:
        """The largest number of rounds whose printed epsilon is at most this; 0 when one round is too many."""
        given = self._given(mechanism, "noise_multiplier")
        return int(self._rounds(**given, **self._fixed, epsilon=epsilon, delta=delta))

    def calibrate(self, mechanism: Mechanism, *, epsilon: float, delta: float) -> float:
        """The smallest noise multiplier, to six digits, whose printed epsilon is at most this."""
        if not 0 < epsilon < math.inf:
            raise InputError(f"--epsilon is {epsilon}: give a positive number")

        def excess(log_z: float) -> float:
            found = self._bound(mechanism.with_(noise_multiplier=math.exp(log_z)), delta).epsilon
            return math.log(max(min(found, 1e9), 1e-300) / epsilon)

        low, high = -1.0, 1.0
        while excess(high) > 0:
            low, high = high, high + 2.0
            if high > 30:
                raise InputError("no noise gives this epsilon by the printed formula: raise --epsilon or --delta")
        while excess(low) <= 0:
            low, high = low - 2.0, low
            if low < -30:
                raise InputError("any noise gives this epsilon by the printed formula: lower --epsilon or --delta")
        root = float(optimize.brentq(excess, low, high, xtol=PRECISION / 4))
        while excess(root) > 0:
            root += PRECISION / 2
        return math.exp(root)

    def _bound(self, mechanism: Mechanism, delta: float) -> noble2022.PrivacyBound:
        given = self._given(mechanism, "noise_multiplier", "rounds")
        found: noble2022.PrivacyBound = self._epsilon(**given, **self._fixed, delta=delta)
        return found

    def _given(self, mechanism: Mechanism, *names: str) -> dict[str, Any]:
        found: dict[str, Any] = {n: mechanism.count(n) for n in ("users", "records", "local_steps")}
        found |= {n: mechanism.value(n) for n in ("user_rate", "record_rate")}
        return found | {n: mechanism.count(n) if n == "rounds" else mechanism.value(n) for n in names}


def _counted(mechanism: Mechanism) -> dict[str, str]:
    """The setting of the formula's epsilon: it counts the sources of privacy that the paper counts."""
    setting = mechanism.setting()
    server = getattr(mechanism, "view", "third-party") == "server"
    counts = "the records' only" if server else "both"
    setting["sampling"] = f"as printed; the formula amplifies by {counts}"
    if not server:
        setting["observer"] = "third party: sees averages; the printed formula counts the noise of the whole cohort"
    return setting
