"""The epsilons that captions of noble2022 print, against the recipe of Appendix B and certified accounting."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from dpfl_theory.privacy import account, get
from dpfl_theory.privacy.noble2022 import epsilon_recipe

RATES: dict[str, Any] = {"user_rate": 0.2, "record_rate": 0.2}
# Users M, training records R (80 % of a user's, Section 5) and sigma_g as in the paper, whatever is run here.
SYNTHETIC: dict[str, Any] = {"users": 100, "records": 4000, "noise_multiplier": 60.0}
FEMNIST: dict[str, Any] = {"users": 40, "records": 2000, "noise_multiplier": 30.0}
MNIST: dict[str, Any] = {"users": 60, "records": 800, "noise_multiplier": 30.0}


def caption(printed: str, setting: dict[str, Any], steps: Sequence[int], rounds: int = 400) -> dict[str, Any]:
    """The claim that a caption's epsilon is the recipe's largest over its rows K, rounded up to the printed digits.

    It concerns the paper's setting, not the runs here, and needs no randomness.
    """
    delta = 1.0 / (setting["users"] * setting["records"])
    lines = [{**setting, **RATES, "local_steps": K, "rounds": rounds} for K in steps]
    recipe = [epsilon_recipe(**t, delta=delta).epsilon for t in lines]
    certified = [_certified(delta=delta, **t) for t in lines]
    rounded = rounded_up(max(recipe), printed)
    said = "; ".join(
        f"K = {K}: {r:.2f} by the recipe, {c:.3g} certified" for K, r, c in zip(steps, recipe, certified, strict=True)
    )
    return {
        "claim": f"the caption's epsilon = {printed} is that of the paper's recipe for the paper's M, R, l, s, K, "
        f"T = {rounds} and sigma_g = {setting['noise_multiplier']:g}, the largest of its rows, rounded up",
        "verdict": "reproduced" if rounded == Decimal(printed) else "not-reproduced",
        "expected": "reproduced",
        "paper": f"epsilon = {printed} towards a third party at delta = 1/(MR)",
        "measured": f"{said}; rounded up {rounded}. Certified: had the clipping threshold been fixed",
    }


@functools.cache  # several captions concern one setting
def _certified(delta: float, **parameters: Any) -> float:
    return account(get("dp-scaffold")(**parameters), delta=delta).epsilon.high


def rounded_up(value: float, printed: str) -> Decimal:
    """The value rounded up to as many decimals as are printed.

    >>> rounded_up(12.91, "13"), rounded_up(11.43, "11.5")
    (Decimal('13'), Decimal('11.5'))
    """
    digits = len(printed.partition(".")[2])
    return Decimal(math.ceil(value * 10**digits)).scaleb(-digits)
