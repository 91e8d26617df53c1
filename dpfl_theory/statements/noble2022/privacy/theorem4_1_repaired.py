"""noble2022 Theorem 4.1 (1), repaired: the guarantee of T rounds towards a third party, without approximation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Outcome, PrivacyClaim, PrivacyPoint, Sides, Source, Statement, Symbol, Symbols
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.privacy import _formulas as formulas
from dpfl_theory.statements.noble2022.privacy._symbols import DELTA, EDGES, NOISE, PAPER, SAMPLING, edges, symbols
from dpfl_theory.statements.symbolic import all_equal


def _repaired(statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for at in instance["points"]:
            for name in ("dp-fedavg-record", "dp-scaffold"):
                aggregated = name == "dp-fedavg-record" and at["K"] == 1
                limits = formulas.certified(name, at)
                found.append(
                    PrivacyPoint(
                        {**at, "algorithm": name}, formulas.repaired_epsilon(statement, at, aggregated), *limits
                    )
                )
        return found

    proof = (
        "for all data and parameters: let the third party also see who takes part and all messages; given the past, a "
        "user that takes part adds (alpha-1) K eps'' to the log of the moment (equation (8), Lemma B.5); one that does "
        "not adds nothing; cohorts do not depend on the data, and Lemma B.4 converts. At K = 1 a round of DP-FedAvg is "
        "one release under all the cohort's noise"
    )
    return PrivacyClaim("epsilon towards a third party", points, proof)


def _repaired_sides(s: Symbols) -> Sides:
    beyond, rate = s.alpha - 1, s.l
    rounds = s.T * sp.log(1 - rate + rate * sp.exp(beyond * s.K * s.rdp_step)) / beyond
    return Sides({"epsilon": s.epsilon}, {"rounds": rounds, "conversion": sp.log(1 / s.delta) / beyond})


def _sampled_moment(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """A round in which it is seen who takes part: the moment of order alpha of the likelihood ratio is 1 - l + l e^c, c
    = (alpha - 1) K eps'', the rounds' logarithms add up, and Lemma B.4 adds log(1/delta)/(alpha - 1).

    Two forms that it must have: at l = 1 Lemma B.5's T K eps'', at small l the rate T l (e^c - 1)/(alpha - 1).
    """
    s, terms = symbols_of(statement), sides_of(statement).rhs
    beyond, budget, l, K = s.alpha - 1, s.rdp_step, s.l, s.K  # noqa: E741
    # A message that is sent has densities p and q, one that is not has 1 and 1.
    p, q = sp.symbols("p q", positive=True, probability=True)
    one = sp.Integer(1)
    ratio = sum(weight * q_ * (p_ / q_) ** 2 for weight, p_, q_ in ((1 - l, one, one), (l, p, q), (l, 1 - p, 1 - q)))
    own = q * (p / q) ** 2 + (1 - q) * ((1 - p) / (1 - q)) ** 2  # e^c at alpha = 2
    at_two = terms["rounds"].subs({s.alpha: 2, s.T: 1, K: 1}).subs(budget, sp.log(own))
    found = all_equal(
        (sp.exp(at_two), ratio, "one round of two answers at alpha = 2"),
        (sp.expand_log(terms["rounds"].subs(l, 1)), s.T * K * budget, "every user in every round"),
        (
            sp.diff(terms["rounds"], l).subs(l, 0) * beyond,
            s.T * (sp.exp(beyond * K * budget) - 1),
            "the rate at which few users add to it, times alpha - 1",
        ),
        (terms["conversion"] * beyond, sp.log(1 / s.delta), "Lemma B.4, times alpha - 1"),
    )
    return replace(found, true=found.true or None)


_ONE_USER = {"M": 1000, "R": 1000, "l": 0.001, "s": 0.5, "K": 1, "sigma_g": 5.0, "T": 1, "delta": 1e-6}
_TWO_STEPS = {"M": 20, "R": 100_000, "l": 0.5, "s": 0.01, "K": 2, "sigma_g": 0.5, "T": 1, "delta": 1e-6}
_TABLE = {"M": 100, "R": 4000, "l": 0.05, "s": 0.2, "delta": 1 / 400_000}
_STEP = Symbol(
    "rdp_step",
    r"$\varepsilon''$ of equation (8) at $\sigma_g^2$",
    (0, 0),
    "positive",
    r"\epsilon''(\alpha, \sigma_g^2)",
)

REPAIRED: Statement = Statement(
    id="noble2022.theorem4.1.third-party.repaired",
    kind="theorem",
    source=Source(PAPER, "Theorem 4.1 (1), Section 4.1; Appendix B.4"),
    symbols=(*symbols("epsilon", "T", "l", "alpha", "K"), _STEP, *symbols("delta", "M", "R", "s", "sigma_g")),
    hypotheses=(SAMPLING, NOISE, DELTA),
    relation="==",
    sides=_repaired_sides,
    checks=(
        Check("algebra", "sampling of users that are seen", _sampled_moment),
        Check(
            "privacy",
            "certified limits",
            _repaired,
            {
                "points": [
                    _ONE_USER,
                    {**_ONE_USER, "T": 10},
                    _TWO_STEPS,
                    {**_TABLE, "sigma_g": 10.0, "K": 1, "T": 542},
                    {**_TABLE, "sigma_g": 10.0, "K": 40, "T": 72},
                    {**_TABLE, "l": 0.057, "s": 0.01, "sigma_g": 2.0, "K": 10, "T": 50},
                ]
            },
        ),
        *edges(_repaired, {"points": [_ONE_USER]}, EDGES),
    ),
    uses=("noble2022.lemmaB.4", "noble2022.lemmaB.5", "noble2022.lemmaB.7", "noble2022.eq8"),
)

STATEMENTS = (REPAIRED,)
