"""Conversion of a tuned algorithm's hyper-parameters into inputs of the papers' rules, and of their answers back.

If a paper leaves a constant of its noise open, the constant is the one that gives the least certified noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpfl_theory.errors import InputError
from dpfl_theory.recommend.base import Document
from dpfl_theory.recommend.tuned import Tuned

if TYPE_CHECKING:
    from dpfl_theory.recommend.algorithms.dp_fedavg import DPFedAvg
    from dpfl_theory.recommend.algorithms.dp_fedavg_record import DPFedAvgRecord
    from dpfl_theory.recommend.algorithms.dp_fedavg_two_sided import DPFedAvgTwoSided
    from dpfl_theory.recommend.algorithms.dp_norm_ec import DPNormEC
    from dpfl_theory.recommend.algorithms.dp_scaffnew import DPScaffNew
    from dpfl_theory.recommend.algorithms.dp_scaffold import DPScaffold

__all__ = ["LEFT_OPEN", "MOST_ROUNDS", "RULED", "Ruled", "cohort_of", "differing", "same"]

MOST_ROUNDS = 8_000
"""The number of iterations beyond which a rule's run is not made: it would cost far more than any communication budget
allows."""


@dataclass(frozen=True)
class Ruled:
    """The inputs and answers of an algorithm's rules, in terms of its `Tuned`.

    asks: the inputs that neither the problem nor a rule gives, from the tuned algorithm and the hyper-parameters of the
    rule's last answer (none at first); hyperparameters: the run's, without noise; choice: the inverse, the arguments of
    `Setting.answer` for a run's hyper-parameters; among_cohorts: the difference of a run from the rule if not all
    clients are in a round.
    """

    asks: Callable[[Tuned, Mapping[str, float] | None], Document]
    hyperparameters: Callable[[Document, Mapping[str, Any]], dict[str, float]]
    choice: Callable[[Any, Mapping[str, float]], Document]
    among_cohorts: str = ""


def _cohort(one: Tuned) -> float:
    return float(one.problem.n if one.budget.cohort is None else one.budget.cohort)


def _asks_fedavg(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """rho is such that Theorem 3's noise C rho sqrt(K/d) is the certified one; it is the same for all K if all clients
    take part."""
    rounds = one.most_rounds if before is None else before["rounds"]
    values = {"rounds": min(rounds, MOST_ROUNDS), "local_steps": 1}
    sigma = one.mechanism(values).with_(noise_multiplier=one.multiplier(values)).sigma(1.0)["sigma"]
    return {"cohort": _cohort(one), "rho": sigma * math.sqrt(one.problem.d / values["rounds"])}


def _fedavg(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {**{name: found[name] for name in ("eta", "beta", "C", "rounds")}, "E": found["local_steps"]}


def _of_fedavg(setting: DPFedAvg, run: Mapping[str, float]) -> Document:
    """The theorem's eta is proportional to 1/alpha, its K to gamma: their values at 1 determine both."""
    from dpfl_theory.recommend.evaluate import prescribed
    from dpfl_theory.statements import get as statement

    theorem, known = statement(setting.certain), {**setting.symbols(), "E": run["E"]}
    alpha = prescribed(theorem, {**known, "alpha": 1.0, "gamma": 1.0})["eta"] / run["eta"]
    rounds = prescribed(theorem, {**known, "alpha": alpha, "gamma": 1.0})["K"]
    return {"local_steps": run["E"], "alpha": alpha, "gamma": run["rounds"] / rounds, "rounds": run["rounds"]}


def _asks_scaffnew(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """v is such that Lemma 1's variance is the certified one for the rule's p and T."""
    from dpfl_theory.recommend.evaluate import prescribed
    from dpfl_theory.statements import get as statement

    budget, C = one.budget, one.slope / one.smoothness if before is None else before["C"]
    values = {"probability": 1.0, "rounds": one.most_rounds} if before is None else one.placed(before)
    p, T = values["probability"], one.iterations(values)
    sigma = one.mechanism(values).with_(noise_multiplier=one.multiplier(values)).sigma(C)["sigma"]
    symbols = {"v": 1.0, "p": p, "T": T, "C": C, "epsilon": budget.epsilon, "delta": budget.delta, "N": one.problem.n}
    printed = prescribed(statement("hou2023.lemma1"), symbols)["noise_variance"]
    return {"clip": C, "epsilon": budget.epsilon, "delta": budget.delta, "constant": sigma**2 / printed}


def _scaffnew(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {"eta": found["eta"], "p": found["p"], "C": inputs["clip"], "iterations": found["iterations"]}


def _of_scaffnew(setting: DPScaffNew, run: Mapping[str, float]) -> Document:
    return {name: run[name] for name in ("eta", "p", "iterations")}


def _asks_norm_ec(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """The constant is such that Corollary 2's sigma is the certified one. If the observer sees only averages, it is
    less than an accountant's for an observer of every message."""
    from dpfl_theory.core.formula import prescription_of
    from dpfl_theory.recommend.evaluate import value
    from dpfl_theory.statements import get as statement

    budget, corollary = one.budget, statement("shulgin2025.corollary2")
    values = {"rounds": one.most_rounds if before is None else before["rounds"]}
    sigma = one.mechanism(values).with_(noise_multiplier=one.multiplier(values)).sigma(1.0)["sigma"]
    symbols = {"c": 1.0, "K": values["rounds"] - 1, "epsilon": budget.epsilon, "delta": budget.delta}
    at_1 = value(corollary, prescription_of(corollary)["sigma"], symbols)
    return {"epsilon": budget.epsilon, "delta": budget.delta, "constant": (sigma / at_1) ** 2}


def _norm_ec(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {name: found[name] for name in ("gamma", "beta", "alpha", "rounds")}


def _of_norm_ec(setting: DPNormEC, run: Mapping[str, float]) -> Document:
    rounds = int(run["rounds"])
    return setting.choice(beta_0=run["beta"] * rounds, alpha=run["alpha"], rounds=rounds, gamma=run["gamma"])


def _asks_two_sided(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """epsilon is the one for which Theorem 3.2, repaired, has the certified noise, or the largest that the theorem
    allows, with larger noise."""
    from dpfl_theory.recommend.evaluate import prescribed
    from dpfl_theory.statements import get as statement

    cohort, delta = _cohort(one), one.budget.delta
    values = {"rounds": one.most_rounds if before is None else before["rounds"], "local_steps": 1}
    sigma = one.mechanism(values).with_(noise_multiplier=one.multiplier(values)).sigma(1.0)["sigma"]
    symbols = {"c": 1.0, "P": cohort, "T": values["rounds"], "N": one.problem.n, "epsilon": 1.0, "delta": delta}
    at_1 = prescribed(statement("zhang2021.theorem3.2.repaired"), symbols)["noise_variance"]
    most = math.log(1 / delta) / 2
    return {"cohort": cohort, "epsilon": min(most, math.sqrt(at_1) / sigma), "delta": delta}


def _two_sided(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {**{name: found[name] for name in ("eta_l", "eta_g", "c", "rounds")}, "Q": found["local_steps"]}


def _of_two_sided(setting: DPFedAvgTwoSided, run: Mapping[str, float]) -> Document:
    return {**{name: run[name] for name in ("eta_l", "eta_g", "rounds")}, "local_steps": run["Q"]}


def _asks_noble(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """The constant is such that Theorem 4.1's order of sigma_g is the certified one for the rule's K and T. All
    records are in a local step, and no record's gradient exceeds the threshold, if such a threshold exists."""
    from dpfl_theory.recommend.evaluate import prescribed
    from dpfl_theory.statements import get as statement

    budget, longest = one.budget, one.problem.constants.G_record
    start = {"K": 1, "rounds": one.most_rounds, "s": 1.0, "C": longest if math.isfinite(longest) else one.slope}
    at = {**start, **(before or {})}
    values = one.placed({"eta_l": 1.0, "eta_g": 1.0, **at})
    certified, users = one.certified(values)["sigma_g"], one.problem.n
    own = {"user_rate": _cohort(one) / users, "record_rate": at["s"], "clip": at["C"]}
    own |= {"epsilon": budget.epsilon, "delta": budget.delta}
    symbols = {"M": users, "l": own["user_rate"], "s": at["s"], "K": at["K"], "T": at["rounds"], "u": 1.0}
    symbols |= {"epsilon": budget.epsilon, "delta": budget.delta}
    return {
        **own,
        "constant": certified / prescribed(statement("noble2022.theorem4.1.third-party"), symbols)["sigma_g"],
    }


def _scaffold(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    rule = {name: found[name] for name in ("eta_l", "eta_g", "rounds")}
    rule |= {"C": inputs["clip"], "K": found["local_steps"], "s": inputs["record_rate"]}
    # The theorem's warm round is of all users. Among cohorts it would cost more than the T rounds are certified for.
    return {**rule, "warm_start": 1} if inputs["user_rate"] == 1 else rule


def _of_scaffold(setting: DPScaffold, run: Mapping[str, float]) -> Document:
    if "warm_start" not in run:
        raise InputError("noble2022 Theorem C.1 is for a first round of all users that only sets the control variates")
    steps = {name: run[name] for name in ("eta_l", "eta_g", "rounds")}
    return {"statement": "noble2022.theoremC.1.explicit", "local_steps": run["K"], **steps}


def _fedavg_record(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    rule = {name: found[name] for name in ("eta_l", "eta_g", "rounds")}
    return {**rule, "C": inputs["clip"], "K": found["local_steps"], "s": inputs["record_rate"]}


def _of_fedavg_record(setting: DPFedAvgRecord, run: Mapping[str, float]) -> Document:
    """Its steps are the statement's own, whatever the run's steps are."""
    return setting.chosen({"rounds": run["rounds"], "local_steps": run["K"]})


RULED: Mapping[str, Ruled] = {
    "dp-fedavg": Ruled(_asks_fedavg, _fedavg, _of_fedavg),
    "dp-fedavg-two-sided": Ruled(_asks_two_sided, _two_sided, _of_two_sided),
    "dp-fedavg-record": Ruled(_asks_noble, _fedavg_record, _of_fedavg_record),
    "dp-normfedavg": Ruled(_asks_fedavg, _fedavg, _of_fedavg),
    "dp-scaffnew": Ruled(_asks_scaffnew, _scaffnew, _of_scaffnew),
    "dp-norm-ec": Ruled(_asks_norm_ec, _norm_ec, _of_norm_ec),
    "dp-scaffold": Ruled(
        _asks_noble,
        _scaffold,
        _of_scaffold,
        "run without the first round of all users, which would cost more than the noise is certified for",
    ),
}
"""The algorithms that have rules."""

LEFT_OPEN: Mapping[str, Callable[[Tuned], Document]] = {
    "dp-fedavg": lambda one: {"local_steps": 1, "alpha": 1.0},
    "dp-fedavg-two-sided": lambda one: {"local_steps": 1, "rounds": one.most_rounds},
    "dp-fedavg-record": lambda one: {"local_steps": 1, "rounds": one.most_rounds},
    "dp-normfedavg": lambda one: {"local_steps": 1, "alpha": 1.0},
    "dp-scaffold": lambda one: {"local_steps": 1, "rounds": one.most_rounds},
    "dp-norm-ec": lambda one: {"alpha": one.slope / 10},
}
"""Values that a paper leaves to its reader. For das2022 the shortest run that it allows (alpha = 1) with one local
step; for zhang2021 and noble2022 one local step in all rounds of the budget; for shulgin2025 a smoothing well below the
first gradients. A rule that chooses these values itself does not get them."""


def same(some: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Whether hyper-parameters are the same up to rounding."""
    return not differing(some, others)


def differing(some: Mapping[str, float], others: Mapping[str, float]) -> list[str]:
    """The names of the hyper-parameters that differ in the other ones or are missing there.

    >>> differing({"eta": 0.1, "C": 1.0}, {"eta": 0.1 + 1e-9, "C": 2.0, "sigma": 3.0})
    ['C']
    """
    return [name for name, value in some.items() if not math.isclose(value, others.get(name, 0.0), rel_tol=1e-6)]


def cohort_of(inputs: Mapping[str, Any]) -> float | None:
    """The number of clients in a round in a rule's inputs; None for all.

    >>> cohort_of({"users": 100, "user_rate": 0.29}), cohort_of({"clients": 5, "cohort": 5})
    (29, None)
    """
    clients = inputs.get("users", inputs.get("clients"))
    size = inputs["users"] * inputs["user_rate"] if "user_rate" in inputs else inputs.get("cohort")
    if size is None or size == clients:
        return None
    return round(size) if math.isclose(size, round(size), rel_tol=1e-12) else float(size)
