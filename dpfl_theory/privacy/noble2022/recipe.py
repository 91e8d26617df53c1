r"""The accounting that the paper's experiments use: the Implementation paragraph at the end of Appendix B.4.

One round is bounded by Theorem 9 of Wang et al. at the user rate l, applied to the Renyi DP of Step 1,

.. math:: e^{(\alpha-1)\varepsilon_{\mathrm{round}}(\alpha)} = 1 + l^2 \binom{\alpha}{2}
          \min\{4(e^{\varepsilon_1(2)} - 1), 2 e^{\varepsilon_1(2)}\}
          + \sum_{j=3}^{\alpha} 2 l^j \binom{\alpha}{j} e^{(j-1) \varepsilon_1(j)},
          \qquad \varepsilon_1(j) = K \varepsilon'(j, l M \sigma_g^2),

with epsilon' of Lemma B.7 at rate s. Composition over T rounds (Lemma B.5) and equation (5) give

.. math:: \varepsilon = \min_{\alpha > 1} \Big( T \varepsilon_{\mathrm{round}}(\alpha)
          + \frac{\log(1/\delta)}{\alpha - 1} \Big).

The T columns of Tables 1 and 4 determine three points that the paragraph leaves open. The Gaussian terms have variance
lM sigma_g^2. epsilon(infinity) is infinite, so that Theorem 9 has the factor 2. delta = 1/(MR), where R is the number
of records that enter training (4000 of 5000), not of all records. This gives 22 of the 25 printed values of T, and one
more than printed at sigma_g = 160, K = 5, 10, 20, where the tables repeat the row of sigma_g = 80. The authors'
published script get_epsilon_bound.py, run at these settings, gives the same 25 numbers. The epsilons in the captions
are these values rounded up.

The minimum over real alpha, interpolated by equation (7), is attained at an integer: see `eq7`. So all integers are
searched instead of a fine grid.
"""

from __future__ import annotations

import math

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.privacy.noble2022 import curve as curves
from dpfl_theory.privacy.noble2022.inputs import PrivacyBound, PrivacySetting, above, count, inside

MOST_ROUNDS = 1 << 53
"""Beyond this, adding a round no longer changes a float."""


def epsilon_recipe(
    *,
    users: int,
    records: int,
    user_rate: float,
    record_rate: float,
    local_steps: int,
    noise_multiplier: float,
    rounds: int,
    delta: float,
) -> PrivacyBound:
    """The epsilon towards a third party that the paper reports for T rounds of DP-SCAFFOLD or DP-FedAvg.

    The formula is the module's. Rates enter it as printed, not rounded: l and lM where the algorithms pick floor(lM)
    users, s where they pick floor(sR) records. `warning` says when that makes a difference.

    Args:
        users: M.
        records: R, each user's records that enter training; used only to check that floor(sR) >= 1. The paper's delta
        is 1/(MR).
        user_rate: l, in (0, 1), with lM >= 1.
        record_rate: s, in (0, 1), with sR >= 1.
        local_steps: K, noisy steps of each user in a round.
        noise_multiplier: sigma_g, the standard deviation over the sensitivity 2C/(sR) of an average gradient.
        rounds: T.
        delta: in (0, 1).

    Returns:
        the bound, with the integer order alpha of the minimum.

    Raises:
        InputError: when an argument is outside these ranges.

    Source: Appendix B.4, Implementation; Tables 1 and 4.

    >>> bound = epsilon_recipe(users=100, records=4000, user_rate=0.05, record_rate=0.2, local_steps=10,
    ...                        noise_multiplier=20, rounds=451, delta=1 / 400_000)
    >>> print(f"{bound.epsilon:.5f} {bound.order} {bound.warning}")
    2.99939 7 None
    """
    setting = PrivacySetting(users, records, user_rate, record_rate, local_steps, noise_multiplier)
    count("the number of rounds T", rounds)
    inside("delta", delta, 0, 1)
    curve = _curve(setting)
    epsilon, order = curve.best(float(rounds), -math.log(delta))
    return PrivacyBound(epsilon, order, join(edge(order, curve), setting.rounding()))


def rounds_recipe(
    *,
    users: int,
    records: int,
    user_rate: float,
    record_rate: float,
    local_steps: int,
    noise_multiplier: float,
    epsilon: float,
    delta: float,
) -> int:
    """The largest T for which `epsilon_recipe` is at most epsilon; 0 when a single round exceeds it.

    Arguments and errors are those of `epsilon_recipe`, with epsilon > 0 in place of rounds; InputError also when more
    than 2^53 rounds would fit.

    Source: the T columns of Tables 1 and 4.

    >>> rounds_recipe(users=100, records=4000, user_rate=0.05, record_rate=0.2, local_steps=10, noise_multiplier=20,
    ...               epsilon=3, delta=1 / 400_000)
    451
    """
    setting = PrivacySetting(users, records, user_rate, record_rate, local_steps, noise_multiplier)
    above("epsilon", epsilon, 0)
    inside("delta", delta, 0, 1)
    curve, log_term = _curve(setting), -math.log(delta)
    # The first guess: the best of the evaluated orders, which avoids the search for the best order of a single round.
    reach_each = (epsilon * (curve.orders - 1) - log_term) / np.maximum(curve.values, np.finfo(float).tiny)
    rounds = int(min(max(float(reach_each.max()) - 1, 0.0), MOST_ROUNDS))
    while rounds > 0 and curve.best(float(rounds), log_term)[0] > epsilon:
        rounds -= 1
    while curve.best(rounds + 1.0, log_term)[0] <= epsilon:
        # At the best order of T + 1 rounds, epsilon is linear in T: continue to where it meets the budget. That is at
        # least T + 1, up to rounding, and the order of the next optimum differs, so that few passes suffice.
        order = curve.best(rounds + 1.0, log_term)[1]
        value = float(curve.values[curve.orders.searchsorted(order)])
        reach = (epsilon * (order - 1) - log_term) / value if value > 0 else math.inf
        if reach >= MOST_ROUNDS:
            raise InputError(
                f"more than 2**53 rounds stay within epsilon = {epsilon}: give a smaller epsilon or less noise"
            )
        rounds = max(rounds + 1, int(reach))
        while curve.best(float(rounds), log_term)[0] > epsilon:  # the division has rounded up
            rounds -= 1
    return rounds


def _curve(setting: PrivacySetting) -> curves.Curve:
    return curves.user_curve(setting.user_rate, setting.record_rate, setting.local_steps, setting.aggregate_variance)


def edge(order: int, curve: curves.Curve) -> str | None:
    if order < curve.largest:
        return None
    return f"the best order is the largest one tried, {order}: a larger order may give a smaller epsilon"


def join(*warnings: str | None) -> str | None:
    return "; ".join(w for w in warnings if w) or None
