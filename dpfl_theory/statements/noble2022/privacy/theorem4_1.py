"""noble2022 Theorem 4.1: the noise that gives (O(epsilon), delta)-DP towards a third party (1), what it gives towards
the server (2), and the formulas of Appendix B.4 behind both, repaired."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

from dpfl_theory.core import Check, PrivacyPoint, Sides, Statement, battery, claim
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import evaluate_side, sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022.privacy import DELTA, EDGES, NOISE, SAMPLING, edges
from dpfl_theory.statements.noble2022.privacy import _formulas as formulas
from dpfl_theory.statements.noble2022.privacy import _views as views
from dpfl_theory.statements.noble2022.privacy.subsampled import subsampled_cgf
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import proved

Points = Iterator[PrivacyPoint]
_PART = (
    "It decides the form 'without approximation', whose epsilon is not a relation between symbols; the sides are the "
    "order of sigma_g, which the other checks refute."
)
_DERIVED = "It decides a step of B.4's derivation of the order; the other checks refute the rest."
_ONE_USER = {"M": 1000, "R": 1000, "l": 0.001, "s": 0.5, "K": 1, "sigma_g": 5.0, "T": 1, "delta": 1e-6}
_TWO_STEPS = {"M": 20, "R": 100_000, "l": 0.5, "s": 0.01, "K": 2, "sigma_g": 0.5, "T": 1, "delta": 1e-6}
_TABLE = {"M": 100, "R": 4000, "l": 0.05, "s": 0.2, "delta": 1 / 400_000}


def _small_noise(records: int) -> dict[str, Any]:
    sizes = {"M": 2, "l": 0.5, "K": 1, "T": 2 * records, "R": records, "s": 1 / records}
    return {**sizes, "epsilon": 0.5, "delta": 1e-6}


def _at(name: str, build: Any, points: list[Any], expected: str = "violated", part: str = "") -> Check:
    return Check("privacy", name, build, {"points": points}, expected, part)


# (1): towards a third party.


def _claimed(instance: Mapping[str, Any], low: float, high: float) -> Points:
    """The same limits compared with the three steps and with the paragraph Implementation."""
    yield PrivacyPoint({**instance, "formula": "Steps 1 to 3"}, formulas.three_steps(instance).epsilon, low, high)
    yield PrivacyPoint({**instance, "formula": "Implementation"}, formulas.implementation(instance), low, high)


@claim("epsilon of DP-FedAvg towards a third party")
def _participation(_: Statement, instance: Mapping[str, Any]) -> Points:
    """(a): losses are linear, and the other users' gradients show who takes part; the probability that they fail to
    show it is conceded."""
    for at in instance["points"]:
        yield from _claimed(at, *formulas.certified("dp-fedavg-record", at))


def _masses(instance: Mapping[str, Any], gain: float | None) -> views.Masses:
    run = formulas.mechanism("dp-fedavg-record", instance)
    if gain is not None:
        return views.amplified(run.batch, instance["s"], run.cohort, instance["sigma_g"], gain)
    return views.contracted(run.batch, instance["s"], run.cohort, instance["sigma_g"], instance["K"])


@claim("epsilon of either algorithm towards a third party")
def _aggregation(_: Statement, instance: Mapping[str, Any]) -> Points:
    """(b): one round, so that DP-FedAvg and DP-SCAFFOLD are the same."""
    for at, gain in instance["points"]:
        low = views.largest_epsilon(_masses(at, gain), at["l"], at["delta"])
        yield from _claimed(at, low, formulas.certified("dp-fedavg-record", at)[1])


@claim("the Renyi divergence of a round's sum")
def _first_step(_: Statement, instance: Mapping[str, Any]) -> Points:
    """(b): K epsilon''(alpha, lM sigma_g^2) against the divergence of the sum, given that the user takes part."""
    from dpfl_theory.privacy.noble2022 import eq8

    for at, gain, alpha in instance["points"]:
        claimed = at["K"] * eq8(alpha, at["s"], at["l"] * at["M"] * at["sigma_g"] ** 2)
        high = at["K"] * subsampled_cgf(alpha, at["s"], at["sigma_g"])[1] / (alpha - 1)
        yield PrivacyPoint({**at, "alpha": alpha}, claimed, views.renyi_low(_masses(at, gain), alpha), high)


@algebra("the order solved for epsilon")
def _solved(s: Formula) -> Proof:
    """With u = 1 the first term of the printed epsilon-tilde is epsilon."""
    noise = of(s.statement, u=1).rhs
    first = s.l * s.s * sp.sqrt(s.T * s.K * formulas.logarithms(s)) / (noise * sp.sqrt(s.l * s.M))
    return first, s.epsilon, "the first term of epsilon-tilde at the printed sigma_g, and epsilon"


@algebra("the minimum over alpha", _DERIVED)
def _minimum(_: Formula) -> Proof:
    """a (alpha + 1) + b/(alpha - 1) = 2 sqrt(a b) + 2 a + a square; the paper omits the constants 2."""
    a, b, t = sp.symbols("a b t", positive=True)  # t = alpha - 1
    square = (sp.sqrt(a * t) - sp.sqrt(b / t)) ** 2
    return a * (t + 2) + b / t - sp.expand(square), 2 * sp.sqrt(a * b) + 2 * a, "the objective less a square"


_guarantee = itemgetter("epsilon", "delta")
_ORDER = formulas.at_order(_guarantee, "third-party")
_MANY_USERS = [
    {"M": M, "l": 1 / M, "K": 1, "T": 2 * M * M, "R": 10_000, "s": 0.1, "epsilon": 0.5, "delta": 1e-6}
    for M in (100, 1000, 10_000)
]
_MANY_STEPS = {"M": 1000, "R": 10_000, "l": 0.5, "s": 0.003, "K": 1000, "sigma_g": 0.2, "T": 1, "delta": 1e-6}
_FEW_STEPS = {"M": 200, "R": 2000, "l": 0.5, "s": 0.5, "K": 6, "sigma_g": 1.0, "T": 1, "delta": 1e-6}
_ENLARGED = [{**_MANY_USERS[1], "R": 10**18, "enlarged": 1e12}]
_SEEN = [_ONE_USER, {**_ONE_USER, "T": 10}, {**_ONE_USER, "M": 100, "l": 0.01}]
_AMPLIFIED = [[_TWO_STEPS, 50.0], [{**_TWO_STEPS, "M": 100}, 70.0]]
"""With user 0's gain."""
_OF_ORDERS = [[_TWO_STEPS, 50.0, 2], [_TWO_STEPS, 50.0, 4], [_FEW_STEPS, None, 2], [_MANY_STEPS, None, 2]]
"""With user 0's gain and the order."""
_ONE_MESSAGE = ("noble2022.lemmaB.4", "noble2022.lemmaB.5")
_PRIVACY = ("noble2022.lemmaB.1", "noble2022.lemmaB.2", *_ONE_MESSAGE, "noble2022.lemmaB.6", "noble2022.lemmaB.7")

THIRD_PARTY: Statement = noble.statement(
    **noble.named("noble2022.theorem4.1.third-party", "Theorem 4.1 (1), Section 4.1; Appendix B.4"),
    symbols=noble.NOTATION.also("v"),
    hypotheses=formulas.HYPOTHESES,
    relation=">=",
    sides=lambda s: Sides({"noise": s.sigma_g}, {"order": formulas.order(s)}),
    prescription=lambda s: {"sigma_g": formulas.order(s)},
    checks=battery(
        _solved,
        _minimum,
        Check("privacy", "no constants", formulas.no_constants(_guarantee, "third-party"), formulas.LADDER, "violated"),
        _at("the order with the constant 1", _ORDER, [*formulas.ONE_ROUND, _small_noise(2048)]),
        formulas.both_sides(_guarantee, "third-party"),
        _at("the order at fixed s and delta, more and more users", _ORDER, _MANY_USERS),
        _at("the order at fixed s and delta, x^T alone, losses that keep the rounds apart", _ORDER, _ENLARGED),
        _at("who takes part can be seen, K = 1", _participation, _SEEN, part=_PART),
        _at("a user's second step shows its first, K = 2", _aggregation, _AMPLIFIED, part=_PART),
        _at("the other users forget their noise, step size 1/nu", _aggregation, [[_MANY_STEPS, None]], part=_PART),
        _at("Step 1 as Renyi DP", _first_step, _OF_ORDERS, part=_PART),
    ),
    smoke=("Step 1 as Renyi DP",),
    uses=("noble2022.claim4.1.third-party", *_PRIVACY, "noble2022.eq8"),
)


# (1) repaired: without approximation.


@claim(
    "epsilon towards a third party",
    "for all data and parameters: let the third party also see who takes part and all messages; given the past, a "
    "user that takes part adds (alpha-1) K eps'' to the log of the moment (equation (8), Lemma B.5); one that does "
    "not adds nothing; cohorts do not depend on the data, and Lemma B.4 converts. At K = 1 a round of DP-FedAvg is "
    "one release under all the cohort's noise",
)
def _repaired(statement: Statement, instance: Mapping[str, Any]) -> Points:
    for at in instance["points"]:
        for name in ("dp-fedavg-record", "dp-scaffold"):
            claimed = formulas.repaired_epsilon(statement, at, name == "dp-fedavg-record" and at["K"] == 1)
            yield PrivacyPoint({**at, "algorithm": name}, claimed, *formulas.certified(name, at))


@algebra("sampling of users that are seen")
def _sampled_moment(s: Formula) -> Proof:
    """A round in which it is seen who takes part: the moment of order alpha of the likelihood ratio is 1 - l + l e^c, c
    = (alpha - 1) K eps'', the rounds' logarithms add up, and Lemma B.4 adds log(1/delta)/(alpha - 1).

    Two forms that it must have: at l = 1 Lemma B.5's T K eps'', at small l the rate T l (e^c - 1)/(alpha - 1).
    """
    terms, beyond, budget, l, K = sides_of(s.statement).rhs, s.alpha - 1, s.rdp_step, s.l, s.K  # noqa: E741
    # A message that is sent has densities p and q, one that is not has 1 and 1.
    p, q = sp.symbols("p q", positive=True, probability=True)
    one = sp.Integer(1)
    ratio = sum(weight * q_ * (p_ / q_) ** 2 for weight, p_, q_ in ((1 - l, one, one), (l, p, q), (l, 1 - p, 1 - q)))
    own = q * (p / q) ** 2 + (1 - q) * ((1 - p) / (1 - q)) ** 2  # e^c at alpha = 2
    at_two = terms["rounds"].subs({s.alpha: 2, s.T: 1, K: 1}).subs(budget, sp.log(own))
    return proved(
        (sp.exp(at_two), ratio, "one round of two answers at alpha = 2"),
        (sp.expand_log(terms["rounds"].subs(l, 1)), s.T * K * budget, "every user in every round"),
        (
            sp.diff(terms["rounds"], l).subs(l, 0) * beyond,
            s.T * (sp.exp(beyond * K * budget) - 1),
            "the rate at which few users add to it, times alpha - 1",
        ),
        (terms["conversion"] * beyond, sp.log(1 / s.delta), "Lemma B.4, times alpha - 1"),
    )


_CERTIFIED = [
    *(_ONE_USER, {**_ONE_USER, "T": 10}, _TWO_STEPS),
    {**_TABLE, "sigma_g": 10.0, "K": 1, "T": 542},
    {**_TABLE, "sigma_g": 10.0, "K": 40, "T": 72},
    {**_TABLE, "l": 0.057, "s": 0.01, "sigma_g": 2.0, "K": 10, "T": 50},
]

THIRD_PARTY_REPAIRED: Statement = noble.statement(
    **noble.named("noble2022.theorem4.1.third-party.repaired", THIRD_PARTY.source.where),
    hypotheses=(SAMPLING, NOISE, DELTA),
    relation="==",
    sides=lambda s: Sides(
        {"epsilon": s.epsilon},
        {
            "rounds": s.T * sp.log(1 - s.l + s.l * sp.exp((s.alpha - 1) * s.K * s.rdp_step)) / (s.alpha - 1),
            "conversion": sp.log(1 / s.delta) / (s.alpha - 1),
        },
    ),
    checks=battery(
        _sampled_moment,
        _at("certified limits", _repaired, _CERTIFIED, "holds"),
        edges(_repaired, {"points": [_ONE_USER]}, EDGES),
    ),
    uses=(*_ONE_MESSAGE, "noble2022.lemmaB.7", "noble2022.eq8"),
)


# (2): towards the server.


def _promised(s: Mapping[str, Any]) -> tuple[Any, Any]:
    """(epsilon sqrt(M/l), delta/2 (1/l + 1)), as printed."""
    return s["epsilon"] * sp.sqrt(s["M"] / s["l"]), s["delta"] / 2 * (1 / s["l"] + 1)


def _promised_at(named: Mapping[str, Any]) -> tuple[Any, Any]:
    """The same at numbers."""
    epsilon, delta = (evaluate(promised, named) for promised in _promised(symbols_of(SERVER)))
    return epsilon, delta


@algebra("the order solved for eps_s")
def _solved_for_server(s: Formula) -> Proof:
    """With u = 1 the first term of the printed epsilon-tilde is epsilon_s = epsilon sqrt(M/l)."""
    first = s.s * sp.sqrt(s.T * s.K * formulas.logarithms(s)) / of(s.statement, u=1).rhs
    return first, _promised(s)[0], "epsilon-tilde with log(2Tl/delta) at the printed sigma_g, and eps_s"


@algebra(
    "delta_s",
    part="It decides delta_s, which is promised together with the order of sigma_g; the sides are that order.",
)
def _budget_of_delta(s: Formula) -> Proof:
    """T delta' + delta'' with Step 3's delta' = delta/(2Tl) and delta'' = delta/2 is the printed delta_s."""
    return s.T * s.delta / (2 * s.T * s.l) + s.delta / 2, _promised(s)[1], "T delta' + delta'', and delta_s"


def _three_steps(claimed: Callable[[Statement, Mapping[str, Any]], Any]) -> Any:
    """claimed: the epsilon that a statement claims at a point."""

    @claim(
        "epsilon towards the server",
        "for all data and parameters: given the past, the K noisy steps of a message are (alpha, K eps'')-RDP "
        "(equation (8), Lemma B.5), so (eps_a, delta')-DP (Lemma B.4); a user sends T messages at most (Lemma B.1)",
    )
    def build(statement: Statement, instance: Mapping[str, Any]) -> Points:
        for point in instance["points"]:
            for name in ("dp-fedavg-record", "dp-scaffold"):
                limits = formulas.certified(name, point, "server")
                yield PrivacyPoint({**point, "algorithm": name}, claimed(statement, point), *limits)

    return build


def _unapproximated(_: Statement, point: Mapping[str, Any]) -> float:
    return float(formulas.three_steps(point, "server").epsilon)


def _at_best(statement: Statement, point: Mapping[str, Any]) -> float:
    """The statement's right side at the order and the share x that B.4's three steps choose; eps'' of a local step."""
    from dpfl_theory.privacy.noble2022 import eq8

    best, delta = formulas.three_steps(point, "server"), point["delta"]
    if best.order is None or best.x is None:
        raise ValueError(f"the three steps overflow at {dict(point)}")
    alpha, share = float(best.order), float(best.x)
    budget = float(eq8(alpha, point["s"], float(point["sigma_g"]) ** 2))
    each = point["K"] * budget + math.log(point["T"] / (share * delta)) / (alpha - 1)
    return float(evaluate_side(statement, "rhs", {"epsilon_a": each, "T": point["T"], "x": share, "delta": delta}))


_POINTS = [
    {**_ONE_USER, "T": 10},
    _TWO_STEPS,
    {**_TABLE, "K": 40, "sigma_g": 10.0, "T": 72},
    {"M": 100, "R": 4000, "l": 0.9, "s": 0.01, "K": 10, "sigma_g": 20.0, "T": 20, "delta": 1e-5},
    {"M": 10, "R": 4000, "l": 0.9, "s": 0.01, "K": 1, "sigma_g": 50.0, "T": 1, "delta": 1e-5},
]

_QUIET, _LADDER = [*formulas.ONE_ROUND, _small_noise(4096)], {**formulas.LADDER, "needed": [4, 16]}

SERVER: Statement = replace(
    THIRD_PARTY,
    **noble.named("noble2022.theorem4.1.server", "Theorem 4.1 (2), Section 4.1; Appendix B.4"),
    checks=battery(
        _solved_for_server,
        _budget_of_delta,
        Check("privacy", "no constants", formulas.no_constants(_promised_at, "server"), _LADDER, "violated"),
        _at("the order with the constant 1", formulas.at_order(_promised_at, "server"), _QUIET),
        formulas.both_sides(_promised_at, "server"),
        _at("without approximation", _three_steps(_unapproximated), _POINTS, "holds", _PART),
    ),
    smoke=(),
    uses=("noble2022.claim4.1.server", "noble2022.lemmaB.1", *_ONE_MESSAGE, "noble2022.eq8"),
)


@algebra("the shares of delta, and small eps_a")
def _strong_composition(s: Formula) -> Proof:
    """eps_a is Lemma B.4 at delta' = x delta/T, and T delta' + (1 - x) delta = delta; eps_a (e^eps_a - 1) is eps_a^2 to
    the second order, so that the right side is sqrt(2T log(1/delta'')) eps_a + T eps_a^2 for small eps_a."""
    terms = sides_of(s.statement).rhs
    own, rest = s.x * s.delta / s.T, (1 - s.x) * s.delta
    return proved(
        (s.T * own + rest, s.delta, "T delta' + delta''"),
        (sp.exp(-((terms["fluctuation"] / s.epsilon_a) ** 2) / (2 * s.T)), rest, "delta'' of the fluctuation"),
        (sp.limit(terms["drift"] / s.epsilon_a**2, s.epsilon_a, 0), s.T, "the drift over eps_a^2, and T"),
    )


SERVER_REPAIRED: Statement = noble.statement(
    **noble.named("noble2022.theorem4.1.server.repaired", SERVER.source.where),
    symbols=noble.NOTATION.also("K"),
    hypotheses=(SAMPLING, NOISE, DELTA),
    relation="==",
    sides=lambda s: Sides(
        {"epsilon": s.epsilon_s},
        {
            "fluctuation": s.epsilon_a * sp.sqrt(2 * s.T * sp.log(1 / ((1 - s.x) * s.delta))),
            "drift": s.T * s.epsilon_a * (sp.exp(s.epsilon_a) - 1),
        },
    ),
    checks=battery(
        _strong_composition,
        _at("certified limits", _three_steps(_at_best), _POINTS, "holds"),
        edges(_three_steps(_at_best), {"points": _POINTS[:1]}, EDGES),
    ),
    uses=("noble2022.lemmaB.1", *_ONE_MESSAGE, "noble2022.lemmaB.7", "noble2022.eq8"),
)

STATEMENTS = (THIRD_PARTY, THIRD_PARTY_REPAIRED, SERVER, SERVER_REPAIRED)
