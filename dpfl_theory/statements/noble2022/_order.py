"""Theorem 4.1's order of magnitude for sigma_g: what both views share.

The constants: u for all of Omega and o (sigma_g is at least u times each of the two orders, and s at most 1/u), v for
O. Larger u and v only weaken the statement, so that a ladder of pairs with u and v growing together decides it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.claims import ConstantClaim, Escape, Outcome, PrivacyClaim, PrivacyPoint
from dpfl_theory.statements.formula import letters_of
from dpfl_theory.statements.model import Assumption, Statement
from dpfl_theory.statements.noble2022 import _formulas as formulas
from dpfl_theory.statements.noble2022._letters import DELTA, NOISE, SAMPLING
from dpfl_theory.statements.prescribed_noise import evaluate
from dpfl_theory.statements.symbolic import equal

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = [
    "ARGUMENT",
    "LADDER",
    "ONE_ROUND",
    "READING",
    "SURVIVES",
    "at_order",
    "hypotheses",
    "no_constants",
    "order",
    "solved",
]

LADDER = {
    "u": [0.1, 1.0, 10.0, 100.0, 1000.0],
    "v": [1.0, 10.0, 100.0, 1000.0],
    "needed": [4, 16, 64],
}
"""Candidates, and the numbers of records R at which the constant u that is needed for v = 1 is reported."""

_ROUND = {"M": 2, "l": 0.5, "K": 1, "T": 1, "epsilon": 0.5, "sigma_g": 1.0}
ONE_ROUND = [{**_ROUND, "R": R, "s": 1 / R, "delta": delta} for R, delta in ((15, 1e-6), (70, 1e-30), (231, 1e-100))]
"""One round at sigma_g = 1, which is the printed order or a little more: no small noise, and still no constants."""

SURVIVES = {
    f"noble2022.theorem4.2.{name}": "Its inequality is about runs at sigma_g*, whatever privacy that noise gives: only "
    "what epsilon means there rests on it."
    for name in ("fedavg", "scaffold")
}
"""What Theorem 4.2 takes from Theorem 4.1."""

READING = (
    "Omega, O and o hide constants that depend on nothing; T counts every round that releases something, the warm-up's "
    "included."
)
"""What both views are read by."""

ARGUMENT = (
    "For any u and v take M = 2, l = 1/2, K = 1, epsilon = 1/2, delta < 1/2, s = 1/R and T = 2R: then sigma_g = u "
    "sqrt(2 s log(2/(s delta)) log(2/delta)) tends to 0 with s. With probability 1 - (1 - s/2)^T > 0.63 the record is "
    "used at least once, which moves one of T noisy numbers by 1/2; the largest of them tells it apart, with an error "
    "of at most T Phi(-1/(4 sqrt(2) sigma_g)), which even times e^(v epsilon) tends to 0. So delta stays above 1/2"
)


def order(statement: Statement) -> Any:
    """u s sqrt(l T K log(2Tl/delta) log(2/delta))/(epsilon sqrt(M)), as printed."""
    import sympy as sp

    s = letters_of(statement)
    logs = sp.log(2 * s["T"] * s["l"] / s["delta"]) * sp.log(2 / s["delta"])
    return s["u"] * s["s"] * sp.sqrt(s["l"] * s["T"] * s["K"] * logs) / (s["epsilon"] * sp.sqrt(s["M"]))


def solved(view: str) -> Callable[[Mapping[str, Any]], Outcome]:
    """With u = 1 the first term of the printed epsilon-tilde is epsilon, or epsilon_s = epsilon sqrt(M/l)."""

    def build(_: Mapping[str, Any]) -> Outcome:
        import sympy as sp

        e, z = sp.symbols("epsilon sigma_g", positive=True)
        users, steps, rounds = sp.symbols("M K T", integer=True, positive=True)
        rate, share, d = sp.symbols("l s delta", positive=True, probability=True)
        logs = sp.log(2 * rounds * rate / d) * sp.log(2 / d)
        noise = share * sp.sqrt(rate * rounds * steps * logs) / (e * sp.sqrt(users))
        if view == "third-party":
            first = rate * share * sp.sqrt(rounds * steps * logs) / (z * sp.sqrt(rate * users))
            return equal(first.subs(z, noise), e, "the first term of epsilon-tilde at the printed sigma_g, and epsilon")
        first = share * sp.sqrt(rounds * steps * logs) / z
        claimed = e * sp.sqrt(users / rate)
        return equal(
            first.subs(z, noise), claimed, "epsilon-tilde with log(2Tl/delta) at the printed sigma_g, and eps_s"
        )

    return build


def at_order(
    statement: Callable[[], Statement], guarantee: Callable[[Mapping[str, Any]], tuple[Any, Any]], view: str
) -> Callable[[Mapping[str, Any]], PrivacyClaim]:
    """u = v = 1 at single instances, which give sigma_g where it is more than the printed order."""

    def build(instance: Mapping[str, Any]) -> PrivacyClaim:
        def points() -> list[PrivacyPoint]:
            found = []
            for given in instance["points"]:
                at = {**given, "u": 1, "v": 1}
                least = float(evaluate(statement(), order(statement()), at))
                at["sigma_g"] = max(float(at.get("sigma_g", 0.0)), least)
                claimed, delta = (float(x) for x in guarantee(at))
                found.append(
                    PrivacyPoint(at, claimed, *formulas.certified("dp-fedavg-record", {**at, "delta": delta}, view))
                )
            return found

        return PrivacyClaim(f"epsilon of DP-FedAvg, {view}", points)

    return build


def _assumption_1(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    import mpmath

    if "u" not in values:
        return None  # the formulas without approximation do not need it
    u, s, epsilon, z = (mpmath.mpf(values[name]) for name in ("u", "s", "epsilon", "sigma_g"))
    if not s <= 1 / u:
        return f"s = {values['s']} exceeds 1/u"
    if not 0 < epsilon < 1:
        return f"epsilon = {values['epsilon']} is not below 1"
    log = mpmath.log(2 * mpmath.mpf(values["T"]) * values["l"] / values["delta"])
    least = u * s * mpmath.sqrt(values["K"] / log)
    return None if z >= least else f"sigma_g = {values['sigma_g']} is below u s sqrt(K/log(2Tl/delta)) = {least}"


def _printed_noise(statement: Callable[[], Statement]) -> Assumption:
    def test(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
        if "u" not in values:
            return None
        least = evaluate(statement(), order(statement()), values)
        if values["sigma_g"] >= least * (1 - 1e-12):
            return None
        return f"sigma_g = {values['sigma_g']} is below the printed order with the constant u, {least}"

    text = "order form only: sigma_g >= u s sqrt(l T K log(2Tl/delta) log(2/delta))/(epsilon sqrt(M))"
    return Assumption(text, test)


def hypotheses(statement: Callable[[], Statement]) -> tuple[Assumption, ...]:
    """Those of the printed theorem; the order form's where u is given."""
    first = "order form only, Assumption 1: s <= 1/u, epsilon < 1 and sigma_g >= u s sqrt(K/log(2Tl/delta))"
    return SAMPLING, NOISE, DELTA, Assumption(first, _assumption_1), _printed_noise(statement)


def no_constants(
    statement: Callable[[], Statement], guarantee: Callable[[Mapping[str, Any]], tuple[Any, Any]], view: str
) -> Callable[[Mapping[str, Any]], ConstantClaim]:
    """The claim that some u and v exist; guarantee: the claimed epsilon (before O) and delta at an instance; view: of
    a third party or of the server."""
    import mpmath

    def instance_at(records: int) -> dict[str, Any]:
        share = mpmath.mpf(1) / records
        at = {"M": 2, "l": mpmath.mpf(1) / 2, "R": records, "s": share, "K": 1, "T": 2 * records}
        return {**at, "epsilon": mpmath.mpf(1) / 2, "delta": mpmath.mpf(10) ** -6}

    def escape(u: Any, v: Any) -> Escape:
        with mpmath.workdps(65):
            records = 2
            while True:
                records *= 2
                at = {**instance_at(records), "u": u, "v": v}
                at["sigma_g"] = evaluate(statement(), order(statement()), at)
                epsilon, delta = guarantee(at)
                often = -mpmath.expm1(at["T"] * mpmath.log1p(-at["l"] * at["s"]))
                tail = 1 / (4 * mpmath.sqrt(2) * at["sigma_g"])
                low = often * mpmath.ncdf(tail) - mpmath.exp(v * epsilon) * at["T"] * mpmath.ncdf(-tail)
                if low > mpmath.mpf(1) / 2 and at["s"] * u <= 1:
                    return Escape(at, delta, low)

    def build(instance: Mapping[str, Any]) -> ConstantClaim:
        ladder = tuple((u, v) for u in instance["u"] for v in instance["v"])
        return ConstantClaim("u", lambda: [_needed(n) for n in instance["needed"]], escape, ladder, ARGUMENT)

    def _needed(records: int) -> PrivacyPoint:
        """The smallest u with v = 1, as certified limits, for DP-FedAvg. With lM = sR = K = 1 a third party sees one of
        all MR records, drawn uniformly; the server sees whose it is."""
        from dpfl_theory.privacy import calibrate
        from dpfl_theory.privacy.mechanisms import get

        at = instance_at(records)
        described: Any = get("dp-fedavg-record")
        run = described(
            users=2,
            records=records,
            user_rate=0.5,
            record_rate=1 / records,
            local_steps=1,
            rounds=2 * records,
            view=view,
        )
        unit = float(evaluate(statement(), order(statement()), {**at, "u": 1}))
        epsilon, delta = (float(x) for x in guarantee(at))
        low, high = (calibrate(run, epsilon=epsilon, delta=delta, limit=side) / unit for side in ("low", "high"))
        return PrivacyPoint(at, float("inf"), min(low, high), high)

    return build
