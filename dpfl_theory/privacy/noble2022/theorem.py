r"""The three steps of Appendix B.4 "without approximation": Renyi DP up to the aggregate, then classical tools.

.. math::
    \varepsilon_a(\alpha, \delta') &= K \varepsilon''(\alpha, l M \sigma_g^2) + \frac{\log(1/\delta')}{\alpha - 1} \\
    \varepsilon^* &= \log(1 + l (e^{\varepsilon_a} - 1)) \\
    \varepsilon &= \min_{\alpha > 1,\, x \in (0,1)} \varepsilon^* \sqrt{2 T \log(1/((1-x)\delta))}
    + T \varepsilon^* (e^{\varepsilon^*} - 1), \qquad \delta' = x \delta / (T l)

with epsilon'' of equation (8) at rate s. (The paper prints log(1/(1-x)delta), which means 1/((1-x)delta).) Towards the
server neither the subsampling of users nor the aggregation counts: "Removing the privacy amplification effect of the
l-subsampling of users and the aggregation step" leaves

.. math::
    \varepsilon_a(\alpha, \delta') = K \varepsilon''(\alpha, \sigma_g^2) + \frac{\log(1/\delta')}{\alpha - 1}, \qquad
    \varepsilon^* = \varepsilon_a, \qquad \delta' = x \delta / T.

The paper prints the server's problem only in an approximate form.

For any x, the best real alpha is an integer: equation (8) interpolates (alpha - 1) epsilon'' linearly, so epsilon_a is
monotone between integers, and the rest grows with epsilon_a.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.lazy import optimize
from dpfl_theory.privacy.noble2022 import curve as curves
from dpfl_theory.privacy.noble2022.inputs import PrivacyBound, PrivacySetting, above, count, inside
from dpfl_theory.privacy.noble2022.lemmas import lemma_b1, lemma_b2
from dpfl_theory.privacy.noble2022.recipe import MOST_ROUNDS, edge, join

View = Literal["third-party", "server"]
_LOGITS = np.linspace(-16.0, 16.0, 129)  # of x, which then runs from 1e-7 to 1 - 1e-7


def epsilon_theorem(
    *,
    users: int,
    records: int,
    user_rate: float,
    record_rate: float,
    local_steps: int,
    noise_multiplier: float,
    rounds: int,
    delta: float,
    view: View = "third-party",
) -> PrivacyBound:
    """The epsilon of B.4's three steps after T rounds, minimised over alpha and x.

    The formulas are the module's. Rates enter as printed, not rounded: see `epsilon_recipe`.

    Args:
        users, records, user_rate, record_rate, local_steps, noise_multiplier, rounds, delta: as in `epsilon_recipe`.
        view: "third-party", which sees the models after aggregation, or "server", which sees each user's update.

    Returns:
        the bound with its order and x; epsilon is infinite where the printed formula overflows.

    Raises:
        InputError: when an argument is outside its range.

    Source: Appendix B.4, Steps 1 to 3 and "Extension to privacy towards the server".

    >>> bound = epsilon_theorem(users=100, records=4000, user_rate=0.05, record_rate=0.2, local_steps=1,
    ...                         noise_multiplier=10, rounds=1622, delta=1 / 400_000)
    >>> print(f"{bound.epsilon:.4f} {bound.order} {bound.x:.3f} {bound.warning}")
    2.9990 673 0.183 None
    """
    setting = PrivacySetting(users, records, user_rate, record_rate, local_steps, noise_multiplier)
    count("the number of rounds T", rounds)
    inside("delta", delta, 0, 1)
    return _ThreeSteps(setting, delta, view).bound(rounds)


def rounds_theorem(
    *,
    users: int,
    records: int,
    user_rate: float,
    record_rate: float,
    local_steps: int,
    noise_multiplier: float,
    epsilon: float,
    delta: float,
    view: View = "third-party",
) -> int:
    """The largest T for which `epsilon_theorem` is at most epsilon; 0 when a single round exceeds it.

    Arguments and errors are those of `epsilon_theorem`, with epsilon > 0 in place of rounds; InputError also when more
    than 2^53 rounds would fit.

    >>> rounds_theorem(users=100, records=4000, user_rate=0.05, record_rate=0.2, local_steps=1, noise_multiplier=10,
    ...                epsilon=3, delta=1 / 400_000)
    1622
    """
    setting = PrivacySetting(users, records, user_rate, record_rate, local_steps, noise_multiplier)
    above("epsilon", epsilon, 0)
    inside("delta", delta, 0, 1)
    steps = _ThreeSteps(setting, delta, view)
    low, high = 0, 1
    while steps.bound(high).epsilon <= epsilon:
        low, high = high, 2 * high
        if high > MOST_ROUNDS:
            raise InputError(
                f"more than 2**53 rounds stay within epsilon = {epsilon}: give a smaller epsilon or less noise"
            )
    while high - low > 1:
        middle = (low + high) // 2
        if steps.bound(middle).epsilon <= epsilon:
            low = middle
        else:
            high = middle
    return low


class _ThreeSteps:
    def __init__(self, setting: PrivacySetting, delta: float, view: View) -> None:
        aggregated = _aggregated(view)
        self.rate = setting.user_rate if aggregated else 1.0
        variance = setting.aggregate_variance if aggregated else float(setting.noise_multiplier) ** 2
        self.curve = curves.gaussian_curve(setting.record_rate, variance)
        self.steps, self.delta, self.rounding = setting.local_steps, delta, setting.rounding(aggregated)

    def bound(self, rounds: int) -> PrivacyBound:
        x = self._shares(_LOGITS, rounds)
        log_terms = -np.log(x * (self.delta / (rounds * self.rate)))
        self.curve.best(float(self.steps), float(log_terms.min()))  # extends the curve as far as needed
        self.curve.best(float(self.steps), float(log_terms.max()))
        grid = self._after(self.curve.best_each(float(self.steps), log_terms), x, rounds)
        i = int(np.argmin(grid))
        if not math.isfinite(grid[i]):
            return PrivacyBound(math.inf, 2, join("the printed formula exceeds the largest float", self.rounding))
        around = (_LOGITS[max(i - 1, 0)], _LOGITS[min(i + 1, x.size - 1)])
        found = optimize.minimize_scalar(
            lambda u: self._at(u, rounds)[0], bounds=around, method="bounded", options={"xatol": 1e-9}
        )
        logit = min(float(found.x), float(_LOGITS[i]), key=lambda u: self._at(u, rounds)[0])
        epsilon, order = self._at(logit, rounds)
        at_edge = f"the best share x is at the edge of its grid, {x[i]:.1e}" if i in (0, x.size - 1) else None
        share = float(self._shares(np.array([logit]), rounds)[0])
        return PrivacyBound(epsilon, order, join(edge(order, self.curve), at_edge, self.rounding), share)

    def _shares(self, logits: NDArray[np.float64], rounds: int) -> NDArray[np.float64]:
        """x, kept below Tl/delta so that delta' < 1, as Lemma B.4 needs."""
        shares: NDArray[np.float64] = expit(logits) * min(1.0, rounds * self.rate / self.delta)
        return shares

    def _at(self, logit: float, rounds: int) -> tuple[float, int]:
        x = self._shares(np.array([logit]), rounds)
        log_term = -math.log(float(x[0]) * (self.delta / (rounds * self.rate)))
        epsilon_a, order = self.curve.best(float(self.steps), log_term)
        return float(self._after(np.array([epsilon_a]), x, rounds)[0]), order

    def _after(self, epsilon_a: NDArray[np.float64], x: NDArray[np.float64], rounds: int) -> NDArray[np.float64]:
        """Step 2: amplification by the user rate (1 towards the server), and strong composition."""
        amplified = epsilon_a if self.rate == 1 else lemma_b2(epsilon_a, 0.0, self.rate)[0]
        total: NDArray[np.float64] = lemma_b1(amplified, 0.0, rounds, (1 - x) * self.delta)[0]
        return total


def _aggregated(view: View) -> bool:
    if view not in ("third-party", "server"):
        raise unknown_name("view", str(view), ("third-party", "server"))
    return view == "third-party"
