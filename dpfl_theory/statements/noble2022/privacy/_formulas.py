"""Theorem 4.1: its order of magnitude for sigma_g, and its formulas without approximation, as printed and repaired.

Both views share the order. The formulas are taken at a setting given by the paper's symbols.

The constants: u for all of Omega and o (sigma_g is at least u times each of the two orders, and s at most 1/u), v for
O. Larger u and v only weaken the statement, so that a ladder of pairs with u and v growing together decides it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from dpfl_theory.core import Check, ConstantClaim, Hypothesis, PrivacyClaim, PrivacyPoint, Statement, Symbols, claim
from dpfl_theory.core.check_inputs import Escape
from dpfl_theory.core.formula import evaluate_side, total
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import numpy as np
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.privacy import DELTA, NOISE, SAMPLING, edges
from dpfl_theory.statements.prescribed_noise import evaluate, existence

ORDERS = 400
"""The repaired formula is minimised over whole orders up to this one; each gives a valid bound."""


def named(point: Mapping[str, Any]) -> dict[str, Any]:
    """The point's symbols under the names of `dpfl_theory.privacy`."""
    names = {"M": "users", "R": "records", "l": "user_rate", "s": "record_rate", "K": "local_steps", "T": "rounds"}
    found = {name: point[symbol] for symbol, name in names.items() if symbol in point}
    return found | ({"noise_multiplier": float(point["sigma_g"])} if "sigma_g" in point else {})


def three_steps(point: Mapping[str, Any], view: Any = "third-party") -> Any:
    """B.4's Steps 1 to 3 without approximation: epsilon, and the order and the share x of delta that give it."""
    from dpfl_theory.privacy.noble2022 import epsilon_theorem

    return epsilon_theorem(**named(point), delta=point["delta"], view=view)


def implementation(point: Mapping[str, Any]) -> float:
    """B.4's paragraph Implementation, which the experiments use."""
    from dpfl_theory.privacy.noble2022 import epsilon_recipe

    return epsilon_recipe(**named(point), delta=point["delta"]).epsilon


def mechanism(name: str, point: Mapping[str, Any], view: str = "third-party") -> Any:
    """The certified description of the algorithm."""
    from dpfl_theory.privacy.mechanisms import get

    described: Any = get(name)
    return described(**named(point), view=view)


def certified(name: str, point: Mapping[str, Any], view: str = "third-party") -> tuple[float, float]:
    """Certified limits of epsilon; the lower one is 0 where messages that need not be seen are counted as seen."""
    from dpfl_theory.privacy.accounting import lowest_epsilon
    from dpfl_theory.privacy.pld import epsilon_high

    run = mechanism(name, point, view)
    sharp = point["K"] == 1 and (view == "server" or name == "dp-fedavg-record")
    high = epsilon_high(run.event(), point["delta"])
    return min(lowest_epsilon(run, point["delta"]), high) if sharp else 0.0, high


def repaired_epsilon(statement: Statement, point: Mapping[str, Any], aggregated: bool = False) -> float:
    """The repaired bound towards a third party: the least value of the statement's right side over whole orders. There
    l' = floor(lM)/M replaces l, and epsilon'' is at s' = floor(sR)/R (and at floor(lM) sigma_g^2 for one local step of
    DP-FedAvg: ``aggregated``)."""
    from dpfl_theory.privacy.noble2022 import lemma_b7

    run = mechanism("dp-fedavg-record", point)
    variance = float(point["sigma_g"]) ** 2 * (run.cohort if aggregated else 1)
    orders = np.arange(2.0, ORDERS + 1)
    known = {"l": mpmath.mpf(run.cohort) / point["M"], "T": point["T"], "K": point["K"], "delta": point["delta"]}
    budgets = zip(orders, lemma_b7(orders, run.batch / point["R"], variance))
    each = ({**known, "alpha": float(order), "rdp_step": float(budget)} for order, budget in budgets)
    return float(min(evaluate_side(statement, "rhs", values) for values in each))


# The order of magnitude.

LADDER = {"u": [0.1, 1.0, 10.0, 100.0, 1000.0], "v": [1.0, 10.0, 100.0, 1000.0], "needed": [4, 16, 64]}
"""Candidates, and the numbers of records R at which the constant u that is needed for v = 1 is reported."""

_ROUND = {"M": 2, "l": 0.5, "K": 1, "T": 1, "epsilon": 0.5, "sigma_g": 1.0}
ONE_ROUND = [{**_ROUND, "R": R, "s": 1 / R, "delta": delta} for R, delta in ((15, 1e-6), (70, 1e-30), (231, 1e-100))]
"""One round at sigma_g = 1, which is the printed order or a little more: no small noise, and still no constants."""


ARGUMENT = (
    "For any u and v take M = 2, l = 1/2, K = 1, epsilon = 1/2, delta < 1/2, s = 1/R and T = 2R. Then sigma_g = u "
    "sqrt(2 s log(2/(s delta)) log(2/delta)) tends to 0 with s. With probability 1 - (1 - s/2)^T > 0.63 the record is "
    "used at least once, which moves one of T noisy numbers by 1/2. The largest of them detects it, with an error of "
    "at most T Phi(-1/(4 sqrt(2) sigma_g)), which even times e^(v epsilon) tends to 0. So delta stays above 1/2"
)


Guarantee = Callable[[Mapping[str, Any]], tuple[Any, Any]]
"""The claimed epsilon (before O) and delta at an instance."""


def logarithms(s: Mapping[str, Any]) -> Any:
    """log(2Tl/delta) log(2/delta)."""
    return sp.log(2 * s["T"] * s["l"] / s["delta"]) * sp.log(2 / s["delta"])


def order(s: Symbols) -> Any:
    """u s sqrt(l T K log(2Tl/delta) log(2/delta))/(epsilon sqrt(M)), as printed."""
    return s.u * s.s * sp.sqrt(s.l * s.T * s.K * logarithms(s)) / (s.epsilon * sp.sqrt(s.M))


def _least(statement: Statement, values: Mapping[str, Any]) -> Any:
    """The least required sigma_g, with 65 digits."""
    return evaluate(statement, total(statement), values)


def at_order(guarantee: Guarantee, view: str) -> Callable[[Statement, Mapping[str, Any]], PrivacyClaim]:
    """u = v = 1 at single instances, which give sigma_g where it is more than the printed order; ``share`` is the share
    of the required sigma_g.

    ``enlarged``: for x^T alone, with losses that keep the rounds apart. Each round moves a coordinate of its own, from
    which it takes what earlier rounds' noise left there (a gradient may depend on x^{t-1} in any way). The next round
    enlarges what that coordinate has beyond the rounded value by this factor A; the T - t rounds after that add their
    noise there. In units of A the t-th message has the noise sigma_g^2 (1 + (T - t)/A^2). All messages together have a
    relative entropy of at most T (T/A^2)^2/4 from x^1, ..., x^T (log(1 + r) >= r - r^2/2). So they have a total
    variation of at most sqrt(T/8) T/A^2 (Pinsker), which is taken from delta. A counter's steps, and the other users'
    gradients in the round's own coordinate, are so long that rounding reads them. The enlarging and the counter take at
    most a share k = 200 A sigma_g/(sR/2) of C, except with a probability below 1e-300; all of a user's records have
    that part in common. The share of C that is left for the round's own coordinate is sqrt(1 - k^2), which is as if
    sigma_g were larger by its inverse.
    """

    @claim(f"epsilon of DP-FedAvg, {view}")
    def build(statement: Statement, instance: Mapping[str, Any]) -> Iterator[PrivacyPoint]:
        for given in instance["points"]:
            named = {"u": 1, "v": 1, **given}
            share = float(named.pop("share", 1))
            named["sigma_g"] = share * max(float(named.get("sigma_g", 0.0)), float(_least(statement, named)))
            claimed, delta = (float(x) for x in guarantee(named))
            enlarged = float(named.pop("enlarged", 0))
            limits = certified("dp-fedavg-record", {**named, "delta": delta}, view)
            if enlarged:
                limits = (_of_the_last(named, delta, view, enlarged, limits[1]), limits[1])
                named["enlarged"] = enlarged
            yield PrivacyPoint(named, claimed, *limits)

    return build


def _of_the_last(instance: Mapping[str, Any], delta: float, view: str, enlarged: float, high: float) -> float:
    """A lower limit of epsilon where only x^T is seen, from one where x^1, ..., x^T are: see `at_order`."""
    taken = 200 * enlarged * instance["sigma_g"] / (instance["s"] * instance["R"] / 2)
    if not taken < 1:
        raise ValueError(f"R = {instance['R']} is too small for the factor {enlarged:g}: clipping may act")
    sigma = instance["sigma_g"] / math.sqrt(1 - taken**2)
    variation = math.sqrt(instance["T"] / 8) * instance["T"] / enlarged**2
    given_away = variation * (1 + math.exp(high))
    return certified("dp-fedavg-record", {**instance, "sigma_g": sigma, "delta": delta + given_away}, view)[0]


def both_sides(guarantee: Guarantee, view: str) -> Iterator[Check]:
    """Both sides of the order form's hypotheses; the instances of no constants lie on the printed order itself."""

    def at(**change: Any) -> dict[str, Any]:
        one = {"M": 2, "l": 0.5, "K": 1, "T": 64, "R": 64, "s": 1 / 64, "epsilon": 0.5, "delta": 1e-6}
        return {"points": [{**one, **change}]}

    wide = at(M=10**6, l=1e-6, T=1, R=1000, s=1e-3, delta=1e-7, sigma_g=5.72e-4)
    outside = {"the printed order": at(share=0.99), "epsilon < 1": at(epsilon=1.01), "s <= 1/u": at(u=64.5)}
    outside["sigma_g >= u s sqrt(K/log(2Tl/delta))"] = wide
    return edges(at_order(guarantee, view), {}, outside, {"epsilon < 1": at(epsilon=0.99), "s <= 1/u": at(u=63.5)})


HYPOTHESES = (
    *(SAMPLING, NOISE, DELTA),
    Hypothesis(
        lambda s: (
            s.s <= 1 / s.u,
            s.u * s.epsilon > 0,  # with u, as all of these are about the order form
            s.u * s.epsilon < s.u,
            s.sigma_g >= s.u * s.s * sp.sqrt(s.K / sp.log(2 * s.T * s.l / s.delta)),
        ),
        r"order form only, Assumption 1: $s \le 1/u$, $\varepsilon < 1$ and $\sigma_g \ge u s "
        r"\sqrt{K/\log(2Tl/\delta)}$",
        partial=("u",),
    ),
    Hypothesis(
        lambda s: s.sigma_g >= order(s),
        r"order form only: $\sigma_g \ge u s \sqrt{l T K \log(2Tl/\delta) \log(2/\delta)}/(\varepsilon \sqrt{M})$",
        partial=("u",),
        rounding=1e-12,
    ),
)
"""The hypotheses of the printed theorem; those of the order form apply where u is given."""


def no_constants(guarantee: Guarantee, view: str) -> Callable[[Statement, Mapping[str, Any]], ConstantClaim]:
    """The claim that some u and v exist; view: of a third party or of the server."""

    def instance_at(records: int) -> dict[str, Any]:
        share = mpmath.mpf(1) / records
        sizes = {"M": 2, "l": mpmath.mpf(1) / 2, "R": records, "s": share, "K": 1, "T": 2 * records}
        return {**sizes, "epsilon": mpmath.mpf(1) / 2, "delta": mpmath.mpf(10) ** -6}

    def escape(statement: Statement, u: Any, v: Any) -> Escape:
        with mpmath.workdps(65):
            records = 2
            while True:
                records *= 2
                named = {**instance_at(records), "u": u, "v": v}
                named["sigma_g"] = _least(statement, named)
                epsilon, delta = guarantee(named)
                often = -mpmath.expm1(named["T"] * mpmath.log1p(-named["l"] * named["s"]))
                tail = 1 / (4 * mpmath.sqrt(2) * named["sigma_g"])
                low = often * mpmath.ncdf(tail) - mpmath.exp(v * epsilon) * named["T"] * mpmath.ncdf(-tail)
                if low > mpmath.mpf(1) / 2 and named["s"] * u <= 1:
                    return Escape(named, delta, low)

    def build(statement: Statement, instance: Mapping[str, Any]) -> ConstantClaim:
        needed = lambda: [_needed(statement, n) for n in instance["needed"]]  # noqa: E731
        return existence(instance, partial(escape, statement), ARGUMENT, "u", needed)

    def _needed(statement: Statement, records: int) -> PrivacyPoint:
        """The smallest u with v = 1, as certified limits, for DP-FedAvg. With lM = sR = K = 1 a third party sees one of
        all MR records, drawn uniformly; the server sees whose it is."""
        from dpfl_theory.privacy import calibrate

        named = instance_at(records)
        sizes = {"M": 2, "R": records, "l": 0.5, "s": 1 / records, "K": 1, "T": 2 * records}
        run = mechanism("dp-fedavg-record", sizes, view)
        unit = float(_least(statement, {**named, "u": 1}))
        epsilon, delta = (float(x) for x in guarantee(named))
        low, high = (calibrate(run, epsilon=epsilon, delta=delta, limit=side) / unit for side in ("low", "high"))
        return PrivacyPoint(named, float("inf"), min(low, high), high)

    return build
