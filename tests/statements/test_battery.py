"""A statement's battery: runs by tags, edges by its hypotheses, and relations to other statements as algebra checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from dpfl_theory.core import Check, Expected, Hypothesis, Sides, Source, Statement, Symbol, battery
from dpfl_theory.statements.instances import Instances, Runs, edge, fixed, independent, row
from dpfl_theory.statements.relations import (
    Formula,
    Proof,
    algebra,
    becomes,
    limit,
    of,
    prescribes_as,
    special_form,
    specialises,
)

STEP = Hypothesis(lambda s: s.eta <= 1 / s.L)
ROUNDS = Hypothesis(lambda s: s.K >= 1)
SYMBOLS = tuple(Symbol(name, name) for name in ("eta", "L", "K", "D"))
GAP = Expected("gap", (("suboptimality", 1),), (0, 0), "g", "gap")
TABLE = Instances(
    (
        row("usual smoke", "all clients", {"K": 1}),
        row("usual", "three clients", {"K": 2, "cohort": fixed(3)}),
        row("usual", "about three clients", {"K": 3, "cohort": independent(3)}),
        row("other", "all clients", {"K": 4}),
        edge(STEP, "a long step", {"K": 5}),
        edge(ROUNDS, "no round", {"K": 0}),
        edge(ROUNDS, "no round", {"K": 0.5}, given=STEP),
        edge(ROUNDS, "half a round", {"K": 0.5}, unless=STEP),
    )
)
RUNS = Runs(TABLE, lambda statement, instance: None)


def _statement(**changes: Any) -> Statement:
    def sides(s: Any) -> Sides:
        return Sides({"gap": s.gap}, {"start": s.D**2 / (s.eta * s.K), "step": s.eta * s.L})

    usual: dict[str, Any] = {"symbols": SYMBOLS, "expectations": (GAP,), "sides": sides}
    return Statement("a.b", "lemma", "a lemma", Source("a", "Lemma 1"), "words", **{**usual, **changes})


def _found(*hypotheses: Hypothesis, **given: Any) -> list[tuple[str, str, Mapping[str, Any]]]:
    checks = _statement(hypotheses=hypotheses, checks=battery(RUNS(**given))).checks
    return [(c.name, c.expected, c.instance) for c in checks]


def test_a_statement_gets_the_runs_of_its_tags_and_the_edges_of_its_hypotheses() -> None:
    assert [name for name, *_ in _found(holds="usual")] == ["all clients", "three clients", "about three clients"]
    assert _found(ROUNDS) == [("no round", "not-applicable", {"K": 0}), ("half a round", "not-applicable", {"K": 0.5})]
    assert _found(STEP, violated="other") == [
        ("all clients", "violated", {"K": 4}),
        ("a long step", "not-applicable", {"K": 5}),
    ]


def test_a_row_that_is_given_a_hypothesis_replaces_the_general_one() -> None:
    assert [i for name, _, i in _found(STEP, ROUNDS) if name == "no round"] == [{"K": 0.5}]


def test_a_hypothesis_that_is_derived_from_another_has_no_edges_of_its_own() -> None:
    assert _found(replace(STEP, words="the step is short")) == []


def test_a_scheme_of_sampling_and_reasons_leave_runs_out() -> None:
    assert [name for name, *_ in _found(holds="usual", cohorts="fixed")] == ["all clients", "three clients"]
    assert _found(ROUNDS, without={"no round": "slow", "half a round": "slow"}) == []
    with pytest.raises(ValueError, match=r"a\.b has no instance 'a typo' to leave out"):
        _found(without={"a typo": "slow"})


def test_edges_may_be_changes_of_an_instance() -> None:
    table = Instances((row("usual", "one round", {"K": 1, "E": 2}), edge(ROUNDS, "no round", {"K": 0})))
    runs = Runs(table, lambda statement, instance: None)
    checks = _statement(hypotheses=(ROUNDS,), checks=battery(runs("usual", near="one round"))).checks
    assert checks[-1].instance == {"K": 0, "E": 2}
    assert len(_statement(hypotheses=(ROUNDS,), checks=battery(runs.by(print)("usual"))).checks) == 1


def test_tags_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(ValueError, match="no instance has the tag 'usal': choose among other, smoke, usual"):
        TABLE["usal"]
    with pytest.raises(ValueError, match=r"two different instances .* have the name 'all clients'"):
        TABLE["usual other"]


def test_copies_have_other_tags_and_names() -> None:
    copied = TABLE.copied("usual", "exact", "three clients", named="{}, twice".format, change=_doubled, E=1)
    assert copied["exact"] == {"three clients, twice": {"K": 4, "E": 1, "cohort": fixed(3)}}


def _doubled(instance: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"K": 2 * instance["K"]}


def _verdict(statement: Statement, check: Check) -> str:
    found: str = check.make(statement).verdict
    return found


def _at_the_best_step(s: Any) -> Sides:
    return Sides({"gap": s.gap}, {"both": s.D**2 * s.L / s.K + 1})


SPECIAL = _statement(sides=_at_the_best_step, prescription=lambda s: {"eta": 1 / s.L})


def test_relations_hold_where_the_formulas_agree_and_only_there() -> None:
    general = _statement(prescription=lambda s: {"eta": s.eta * s.L * s.eta})
    at: dict[str, Any] = {"eta": lambda s: 1 / s.L}
    for check in specialises(general, "eta = 1/L", **at)(SPECIAL):
        assert _verdict(SPECIAL, check) == "holds"
    form = special_form("at the step", general, "at eta = 1/L", **at)
    assert _verdict(SPECIAL, form) == "holds"
    assert _verdict(general, becomes("at the step", SPECIAL, "at eta = 1/L", **at)) == "holds"
    wrong = special_form("at the step", general, "at eta = 2/L", eta=lambda s: 2 / s.L)
    assert _verdict(SPECIAL, wrong) == "violated"
    other = replace(SPECIAL, prescription=lambda s: {"K": s.L})
    assert _verdict(other, prescribes_as(general, "nothing replaced")) == "violated"


def test_a_limit_is_that_of_both_sides() -> None:
    finite = _statement()
    asymptotic = _statement(sides=lambda s: Sides({"gap": s.gap}, {"step": s.eta * s.L}))
    assert _verdict(asymptotic, limit(finite, "K")) == "holds"
    assert _verdict(finite, limit(finite, "K")) == "violated"


def test_a_proof_step_reads_the_formula_that_is_entered() -> None:
    @algebra("at one round", K=1)
    def step(s: Formula, K: int) -> Proof:
        """With one round."""
        return of(s.statement, K=K).slack, s.D**2 / s.eta + s.eta * s.L - s.gap, "the slack at K = 1"

    assert _verdict(_statement(), step) == "holds"
    assert _verdict(replace(_statement(), sides=SPECIAL.sides), step) == "violated"
    assert (step.build.__doc__, step.instance) == ("With one round.", {"K": 1})
    both = of(_statement()) + of(SPECIAL)
    assert both.lhs == 2 * of(SPECIAL).gap
