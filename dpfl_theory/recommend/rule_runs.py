"""Runs of a rule's recommendation, with noise that is certified for the budget.

A rule of `dpfl_theory.recommend.rule_answers` gives hyper-parameters by formulas. This module inserts the problem's
constants, and converts between a tuned algorithm's runs and the rules by the papers' declarations of their symbols. If
a paper's noise has a free constant, it gets the value that gives the least noise that the accountant certifies for the
rule's rounds. The run is measured in the same way as a run from a search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.constants_from_data import gap_at_start, measures_of
from dpfl_theory.recommend.inputs import Document, inputs_of
from dpfl_theory.recommend.papers import get
from dpfl_theory.recommend.rule_answers import applied, rules
from dpfl_theory.recommend.search import measure
from dpfl_theory.recommend.setting import Setting
from dpfl_theory.recommend.tuned import Tuned
from dpfl_theory.statements.run_symbols import Run
from dpfl_theory.statements.runs import completed, run_symbols

MOST_ROUNDS = 8_000
"""The number of iterations beyond which a rule's run is not made: it would cost far more than any communication budget
allows."""

RULED = {name: one for name, one in run_symbols().items() if one.inputs}
"""The algorithms that have rules."""

AMONG_COHORTS = "run without the first round of all users, which would cost more than the noise is certified for"
"""The difference of a run from a rule that has such a round, if not all clients are in a round."""

MOST_STEPS = 128_000
"""The number of local steps of a client beyond which a run is not made either."""
_TRIES = 6
"""How often a constant is computed again for the rule's new number of rounds."""


def run_of(one: Tuned, hyperparameters: Mapping[str, float]) -> Run:
    """A run of a tuned algorithm with these hyper-parameters and the noise that is certified for them."""
    budget, n = one.budget, one.problem.n
    placed = one.placed(hyperparameters)
    return Run(
        {**hyperparameters, one.noise: one.certified(placed)[one.noise]},
        one.iterations(placed),
        n,
        float(n if budget.cohort is None else budget.cohort),
        one.problem.d,
        budget.epsilon,
        budget.delta,
        problem=one.problem,
    )


def asks(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """The inputs that neither the problem nor a rule gives, from the hyper-parameters of the rule's last answer (none
    at first)."""
    declared = RULED[one.name]
    at = {**declared.start(one), **(before or {})}
    if declared.most_rounds is not None:
        at["rounds"] = min(at["rounds"], declared.most_rounds)
    run = run_of(one, at)
    known = completed(declared, declared.given(run))
    symbols = {field: of.symbol for field, of in inputs_of(get(one.name)).items() if field in declared.inputs}
    found = {name: known[symbol] for name, symbol in symbols.items()}
    return found | {
        name: min(found[name], limit)
        for name, symbol in symbols.items()
        if symbol in declared.limits and (limit := declared.limits[symbol](run)) is not None
    }


def hyperparameters_of(name: str, found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    """Those of the run of a rule's answer, without noise."""
    declared, said = RULED[name], {**inputs, **found}
    names = {one.symbol: field for field, one in inputs_of(get(name)).items()}
    run = {symbol: said[symbol if symbol in said else names[symbol]] for symbol in declared.hyperparameters}
    # The theorem's warm round is of all users. Among cohorts it would cost more than the T rounds are certified for.
    return {**run, "warm_start": 1} if declared.warm_round and inputs["user_rate"] == 1 else run


def choice(name: str, setting: Setting, hyperparameters: Mapping[str, float]) -> Document:
    """The arguments of `Setting.answer` for a run's hyper-parameters."""
    declared: Any = RULED[name]
    if declared.warm_round and "warm_start" not in hyperparameters:
        raise InputError("noble2022 Theorem C.1 is for a first round of all users that only sets the control variates")
    rounds = hyperparameters.get("rounds", hyperparameters.get("iterations"))
    assert rounds is not None
    given = declared.given(Run(hyperparameters, rounds, 1, 1))
    own: Any = setting
    known = completed(declared, {**own.symbols(), **{symbol: given[symbol] for symbol in declared.chosen}})
    whole = {"rounds": int(rounds), "iterations": int(rounds)}
    found = {key: whole.get(key, known.get(symbol)) for key, symbol in setting.choices.items()}
    return {"statement": setting.of_runs or setting.bounding, **found}


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


def constants(algorithm: str, problem: Problem) -> dict[str, float]:
    """The inputs of an algorithm's rules that a problem gives: L, mu, G and so on.

    Raises InputError for a constant that the rules need but the problem lacks.
    """
    found, absences = measures_of(get(algorithm), problem)
    for name, absent in absences.items():
        raise InputError(f"{algorithm} needs {name}, and {absent.why}")
    return {name: m.value for name, m in found.items()}


def ruled(one: Tuned, rule: str, longer: bool = False) -> tuple[Document, dict[str, float]]:
    """A rule's recommendation for a tuned algorithm's problem and budget, and the hyper-parameters of its run.

    Its bound is for the certified noise of this run. Where that noise depends on the choice, the rule is called again
    with the noise of its last answer, until the two agree. A rule that minimises the bound does so within the budget's
    rounds (or, if ``longer``, any number). It returns the least bound that it met, including that of the printed rule.

    Raises InputError without a recommendation, for example for a constant that the problem lacks.
    """
    found = list(_answers(one, rule, longer))
    if rules()[rule].chooses:
        printed = _answers(one, "printed", longer)
        found += [answer for answer in printed if longer or one.placed(answer[1])["rounds"] <= one.most_rounds]
        return min(found, key=lambda answer: math.inf if answer[0]["bound"] is None else answer[0]["bound"])
    return found[-1]


def _answers(one: Tuned, rule: str, longer: bool) -> Iterator[tuple[Document, dict[str, float]]]:
    """The recommendations of a rule, each for the noise of the one before, and with the bound for its own noise."""
    kind, known = get(one.name), constants(one.name, one.problem)
    chooses = rules()[rule].chooses
    given: Document = {**known}
    if not chooses:
        given |= RULED[one.name].left_open(one)
    if "rounds" in kind.names() and chooses and not longer:
        given["rounds"] = one.most_rounds
    before: dict[str, float] | None = None
    asked = asks(one, None)
    for _ in range(_TRIES):
        found = applied(rule, kind(**given, **asked), alone=True)
        now = hyperparameters_of(one.name, found, asked)
        if now == before:
            return
        before, ours = now, asks(one, now)
        setting = kind(**given, **ours)
        again = found if ours == asked else setting.answer(setting.chosen(found))
        bound = (
            again["bound"] if not differing(hyperparameters_of(one.name, again, ours), now) else None
        )  # steps may depend on the noise
        yield {**found, "bound": bound, "vacuous": bound is None or bound >= setting.trivial()[0]}, now
        asked = ours


def vectors_of(one: Tuned, values: Mapping[str, float]) -> int:
    """The number of vectors that a client sends in a run."""
    return math.ceil(one.vectors * values["rounds"] - 1e-9)


def too_long(one: Tuned, values: Mapping[str, float], longer: bool = False) -> str | None:
    """The reason why a run is not made, None where it is; longer: whether a client may send more vectors than the
    budget allows."""
    if (vectors := vectors_of(one, values)) > one.budget.rounds and not longer:
        return f"it needs {vectors} vectors from a client"
    if (wanted := one.iterations(values)) > MOST_ROUNDS:
        return f"it needs {wanted} iterations"
    if (wanted := int(wanted * values.get("local_steps", 1))) > MOST_STEPS:
        return f"it needs {wanted} local steps of a client"
    return None


def reached(one: Tuned, rule: str, replicates: int = 64, seed: int = 0, longer: bool = False) -> Document:
    """The measured result of a rule's recommendation, or the reason why there is no run.

    Plain data: ``suboptimality`` (mean, error), ``bound``, its left side ``bounds``, ``vacuous`` (whether it is no
    better than the start), ``vectors`` that a client sends, and ``hyperparameters``. Also ``departs``, the difference
    of the run from the rule, and ``why``, the reason if nothing was run. longer: whether it may send more vectors than
    the budget allows.

    >>> from dpfl_theory.problems import make
    >>> from dpfl_theory.recommend.tuned import Budget, tuned
    >>> problem = make("logistic-synthetic", clients=40, dimension=2, records=10)
    >>> found = reached(tuned()["dp-norm-ec"](problem, Budget(8.0, 1e-5, rounds=64)), "printed")
    >>> found["why"] is None, found["bound"] > 0.0
    (True, True)
    """
    try:
        found, chosen = ruled(one, rule, longer)
    except InputError as error:
        return {"rule": rule, "suboptimality": None, "bound": None, "why": str(error)}
    values, bound, bounds = one.placed(chosen), found["bound"], found["certificate"]["bounds"]
    of_start = bound is not None and "[F]" in bounds and bound >= gap_at_start(one.problem)
    everyone = one.budget.cohort in (None, one.problem.n)
    described: Document = {
        "rule": rule,
        "bound": bound,
        "bounds": bounds,
        "vacuous": found["vacuous"] or of_start,
        "vectors": vectors_of(one, values),
        "hyperparameters": chosen,
        "departs": AMONG_COHORTS if RULED[one.name].warm_round and not everyone else "",
    }
    if why := too_long(one, values, longer):
        return {**described, "suboptimality": None, "why": why}
    (run,) = measure(one, [values], replicates, seed)
    return {
        **described,
        "suboptimality": {"mean": run.mean, "error": run.error},
        "hyperparameters": {**run.hyperparameters, **chosen},
        "why": None,
    }


def starts(one: Tuned, lines: Sequence[Document]) -> list[dict[str, float]]:
    """The results of rules (`reached`) as starting values of a search."""
    return [one.placed(said["hyperparameters"]) for said in lines if said.get("hyperparameters")]
