"""What a rule's recommendation reaches where it is run, with noise that is certified for the budget.

A rule of `dpfl_theory.recommend.rules` gives hyper-parameters by formulas. Here the problem's constants are put in, and
where a paper's noise leaves a constant open the one that makes it the least noise which the accountant certifies for
the rounds that the rule wants; the run is measured like one that a search found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend import recommend
from dpfl_theory.recommend.algorithms import get
from dpfl_theory.recommend.base import Document
from dpfl_theory.recommend.measured import gap_at_start, measures_of
from dpfl_theory.recommend.rules import rules
from dpfl_theory.recommend.search import measure
from dpfl_theory.recommend.tuned import Tuned

__all__ = ["MOST_ROUNDS", "RULED", "constants", "reached", "ruled", "starts"]

MOST_ROUNDS = 8_000
"""Iterations beyond which a rule's run is not made: it would cost far more than any budget of communication allows."""
MOST_STEPS = 128_000
"""The same for the local steps of a client."""
_TRIES = 6
"""How often a constant is computed anew for the rounds that the rule then wants."""


class _Fixed(Tuned):
    """A tuned algorithm whose hyper-parameters a rule gave: there is nothing left to choose."""

    def __init__(self, like: Tuned, rule: Mapping[str, float]) -> None:
        super().__init__(like.problem, like.budget)
        self.like, self.rule, self.chosen = like, dict(rule), like.placed(rule)
        self.noise = like.noise  # type: ignore[misc]

    def free(self) -> tuple[()]:
        return ()

    def mechanism(self, values: Any) -> Any:
        return self.like.mechanism(self.chosen)

    def multiplier(self, values: Any) -> float:
        return self.like.multiplier(self.chosen)

    def iterations(self, values: Any) -> int:
        return self.like.iterations(self.chosen)

    def placed(self, hyperparameters: Any) -> dict[str, float]:
        return {}

    def algorithm(self, lanes: Mapping[str, Any]) -> Any:
        return self.like.algorithm(lanes)

    def hyperparameters(self, values: Any, noise_multiplier: float) -> dict[str, float]:
        own = self.like.hyperparameters(self.chosen, noise_multiplier)
        return {name: self.rule.get(name, value) for name, value in own.items()}


@dataclass(frozen=True)
class Ruled:
    """How an algorithm's rules are asked, and what they say, in the words of its `Tuned`.

    asks: the inputs that neither the problem nor a rule gives, from the tuned algorithm and the hyper-parameters that
    the rule gave before (none at first); hyperparameters: the run's, noise left out.
    """

    asks: Callable[[Tuned, Mapping[str, float] | None], Document]
    hyperparameters: Callable[[Document, Mapping[str, Any]], dict[str, float]]


def _cohort(one: Tuned) -> float:
    return float(one.problem.n if one.budget.cohort is None else one.budget.cohort)


def _asks_fedavg(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """rho is what makes Theorem 3's noise C rho sqrt(K/d) the certified one, which is the same for all K where all
    clients take part."""
    rounds = one.most_rounds if before is None else before["rounds"]
    values = {"rounds": min(rounds, MOST_ROUNDS), "local_steps": 1}
    sigma = one.mechanism(values).with_(noise_multiplier=one.multiplier(values)).sigma(1.0)["sigma"]
    return {"cohort": _cohort(one), "rho": sigma * math.sqrt(one.problem.d / values["rounds"])}


def _fedavg(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {**{name: found[name] for name in ("eta", "beta", "C", "rounds")}, "E": found["local_steps"]}


def _asks_scaffnew(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """v is what makes Lemma 1's variance the certified one for the rule's p and T."""
    from dpfl_theory.recommend.evaluate import prescribed
    from dpfl_theory.statements import get as statement

    budget, C = one.budget, one.slope / one.smoothness
    values = {"probability": 1.0, "rounds": one.most_rounds} if before is None else one.placed(before)
    p, T = values["probability"], one.iterations(values)
    sigma = one.mechanism(values).with_(noise_multiplier=one.multiplier(values)).sigma(C)["sigma"]
    letters = {"v": 1.0, "p": p, "T": T, "C": C, "epsilon": budget.epsilon, "delta": budget.delta, "N": one.problem.n}
    printed = prescribed(statement("hou2023.lemma1"), letters)["noise_variance"]
    return {"clip": C, "epsilon": budget.epsilon, "delta": budget.delta, "constant": sigma**2 / printed}


def _scaffnew(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {"eta": found["eta"], "p": found["p"], "C": inputs["clip"], "iterations": found["iterations"]}


def _asks_norm_ec(one: Tuned, before: Mapping[str, float] | None) -> Document:
    return {"epsilon": one.budget.epsilon, "delta": one.budget.delta, "calibration": "accountant"}


def _norm_ec(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {name: found[name] for name in ("gamma", "beta", "alpha", "rounds")}


def _asks_two_sided(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """epsilon is the one for which Theorem 3.2, repaired, has the certified noise, or the largest that it takes, whose
    noise is larger."""
    from dpfl_theory.recommend.evaluate import prescribed
    from dpfl_theory.statements import get as statement

    cohort, delta = _cohort(one), one.budget.delta
    values = {"rounds": one.most_rounds if before is None else before["rounds"], "local_steps": 1}
    sigma = one.mechanism(values).with_(noise_multiplier=one.multiplier(values)).sigma(1.0)["sigma_of_one_message"]
    letters = {"c": 1.0, "P": cohort, "T": values["rounds"], "N": one.problem.n, "epsilon": 1.0, "delta": delta}
    at_1 = prescribed(statement("zhang2021.theorem3.2.repaired"), letters)["noise_variance"]
    most = math.log(1 / delta) / 2
    return {"cohort": cohort, "epsilon": min(most, math.sqrt(at_1) / sigma), "delta": delta}


def _two_sided(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {**{name: found[name] for name in ("eta_l", "eta_g", "c", "rounds")}, "Q": found["local_steps"]}


def _asks_scaffold(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """The constant is what makes Theorem 4.1's order of sigma_g the certified one for the rule's K and T; all records
    in a local step, and a threshold that no record's gradient exceeds, where there is one."""
    from dpfl_theory.recommend.evaluate import prescribed
    from dpfl_theory.statements import get as statement

    budget, longest = one.budget, one.problem.constants.G_record
    start = {"K": 1, "rounds": one.most_rounds, "s": 1.0, "C": longest if math.isfinite(longest) else one.slope}
    at = {**start, **(before or {})}
    values = one.placed({"eta_l": 1.0, "eta_g": 1.0, **at})
    certified, users = one.certified(values)["sigma_g"], one.problem.n
    own = {"user_rate": _cohort(one) / users, "record_rate": at["s"], "clip": at["C"]}
    own |= {"epsilon": budget.epsilon, "delta": budget.delta}
    letters = {"M": users, "l": own["user_rate"], "s": at["s"], "K": at["K"], "T": at["rounds"], "u": 1.0}
    letters |= {"epsilon": budget.epsilon, "delta": budget.delta}
    return {
        **own,
        "constant": certified / prescribed(statement("noble2022.theorem4.1.third-party"), letters)["sigma_g"],
    }


def _scaffold(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    rule = {name: found[name] for name in ("eta_l", "eta_g", "rounds")}
    rule |= {"C": inputs["clip"], "K": found["local_steps"], "s": inputs["record_rate"]}
    # The theorem's warm round is of all users. Among cohorts it would cost more than the T rounds are certified for.
    return {**rule, "warm_start": 1} if inputs["user_rate"] == 1 else rule


RULED: Mapping[str, Ruled] = {
    "dp-fedavg": Ruled(_asks_fedavg, _fedavg),
    "dp-fedavg-two-sided": Ruled(_asks_two_sided, _two_sided),
    "dp-normfedavg": Ruled(_asks_fedavg, _fedavg),
    "dp-scaffnew": Ruled(_asks_scaffnew, _scaffnew),
    "dp-norm-ec": Ruled(_asks_norm_ec, _norm_ec),
    "dp-scaffold": Ruled(_asks_scaffold, _scaffold),
}
"""The algorithms that have rules."""

LEFT_OPEN: Mapping[str, Callable[[Tuned], Document]] = {
    "dp-fedavg": lambda one: {"local_steps": 1, "alpha": 1.0},
    "dp-fedavg-two-sided": lambda one: {"local_steps": 1, "rounds": one.most_rounds},
    "dp-normfedavg": lambda one: {"local_steps": 1, "alpha": 1.0},
    "dp-scaffold": lambda one: {"local_steps": 1, "rounds": one.most_rounds},
    "dp-norm-ec": lambda one: {"alpha": one.slope / 10},
}
"""What a paper leaves to its reader: the shortest run that das2022 allows (alpha = 1) with one local step; for zhang2021
and noble2022 one local step in all rounds of the budget; for shulgin2025 a smoothing well below the first gradients. A
rule that chooses these itself is not given them."""


def constants(algorithm: str, problem: Problem) -> dict[str, float]:
    """The inputs of an algorithm's rules that a problem gives: L, mu, G and so on.

    Raises InputError for a constant that the rules need and the problem lacks.
    """
    found, absences = measures_of(get(algorithm), problem)
    for name, absent in absences.items():
        raise InputError(f"{algorithm} needs {name}, and {absent.why}")
    return {name: m.value for name, m in found.items()}


def ruled(one: Tuned, rule: str, longer: bool = False) -> tuple[Document, dict[str, float]]:
    """A rule's recommendation for a tuned algorithm's problem and budget, and the hyper-parameters of its run.

    Its bound is for the certified noise of this very run. Where that noise depends on what is chosen, the rule is asked
    again for the noise of its last answer, until the two agree. One that minimises the bound does so within the
    budget's rounds (or, ``longer``, any number), and gives the least found on the way, the printed rule's included.

    Raises InputError where it has none, such as for a constant that the problem lacks.
    """
    found = list(_answers(one, rule, longer))
    if rules()[rule].chooses:
        printed = _answers(one, "printed", longer)
        found += [answer for answer in printed if longer or one.placed(answer[1])["rounds"] <= one.most_rounds]
        return min(found, key=lambda answer: math.inf if answer[0]["bound"] is None else answer[0]["bound"])
    return found[-1]


def _answers(one: Tuned, rule: str, longer: bool) -> Iterator[tuple[Document, dict[str, float]]]:
    """What a rule recommends, for the noise of what it recommended before; each with the bound for its own noise."""
    own, kind, known = RULED[one.name], get(one.name), constants(one.name, one.problem)
    chooses = rules()[rule].chooses
    given: Document = {**known}
    if one.name in LEFT_OPEN and not chooses:
        given |= LEFT_OPEN[one.name](one)
    if "rounds" in kind.names() and chooses and not longer:
        given["rounds"] = one.most_rounds
    before: dict[str, float] | None = None
    asked = own.asks(one, None)
    for _ in range(_TRIES):
        found = recommend(one.name, rule, **given, **asked)
        now = own.hyperparameters(found, asked)
        if now == before:
            return
        before, ours = now, own.asks(one, now)
        setting = kind(**given, **ours)
        again = found if ours == asked else setting.answer(setting.chosen(found))
        bound = again["bound"] if same(own.hyperparameters(again, ours), now) else None  # steps may rest on the noise
        yield {**found, "bound": bound, "vacuous": bound is None or bound >= setting.trivial()[0]}, now
        asked = ours


def same(some: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Whether hyper-parameters are the same ones, but for rounding."""
    return all(math.isclose(value, others[name], rel_tol=1e-6) for name, value in some.items())


def reached(one: Tuned, rule: str, lanes: int = 64, seed: int = 0, longer: bool = False) -> Document:
    """What a rule's recommendation reaches, or why there is none.

    Plain data: ``suboptimality`` (mean, error), ``bound``, what it ``bounds``, ``vacuous`` (whether it promises no more
    than the start has), ``vectors`` that a client sends, ``hyperparameters``, and ``why`` where nothing was run.
    longer: whether it may send more vectors than the budget allows.

    >>> from dpfl_theory.problems import make
    >>> from dpfl_theory.recommend.tuned import Budget, tuned
    >>> problem = make("logistic-synthetic", clients=40, dimension=2, records=10)
    >>> found = reached(tuned()["dp-norm-ec"](problem, Budget(8.0, 1e-5, rounds=16)), "printed")
    >>> found["why"] is None, found["bound"] > 0.0
    (True, True)
    """
    try:
        found, chosen = ruled(one, rule, longer)
    except InputError as error:
        return {"rule": rule, "suboptimality": None, "bound": None, "why": str(error)}
    fixed, bound, bounds = _Fixed(one, chosen), found["bound"], found["certificate"]["bounds"]
    of_start = bound is not None and "[F]" in bounds and bound >= gap_at_start(one.problem)
    vectors = math.ceil(one.vectors * fixed.chosen["rounds"] - 1e-9)
    told: Document = {
        "rule": rule,
        "bound": bound,
        "bounds": bounds,
        "vacuous": found["vacuous"] or of_start,
        "vectors": vectors,
        "hyperparameters": chosen,
    }
    if vectors > one.budget.rounds and not longer:
        return {**told, "suboptimality": None, "why": f"it wants {vectors} vectors from a client"}
    if (wanted := fixed.iterations({})) > MOST_ROUNDS:
        return {**told, "suboptimality": None, "why": f"it wants {wanted} iterations"}
    if (wanted := int(wanted * fixed.chosen.get("local_steps", 1))) > MOST_STEPS:
        return {**told, "suboptimality": None, "why": f"it wants {wanted} local steps of a client"}
    (run,) = measure(fixed, [{}], lanes, seed)
    return {
        **told,
        "suboptimality": {"mean": run.mean, "error": run.error},
        "hyperparameters": run.hyperparameters,
        "why": None,
    }


def starts(one: Tuned, told: Sequence[Document]) -> list[dict[str, float]]:
    """What rules say (`reached`), as values for a search to start from."""
    return [one.placed(said["hyperparameters"]) for said in told if said.get("hyperparameters")]
