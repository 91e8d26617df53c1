"""Laws that every statement of the catalogue obeys: a new statement inherits these tests."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from each import of_each

from dpfl_theory import statements
from dpfl_theory.checks.algebra import homogeneous
from dpfl_theory.checks.runner import plan
from dpfl_theory.core import Statement, methods
from dpfl_theory.core.evidence import kind_of, statement_verdict
from dpfl_theory.core.formula import sides_of
from dpfl_theory.core.notation import DOMAINS
from dpfl_theory.core.statement import KINDS
from dpfl_theory.report import formulas
from dpfl_theory.report.entries import Entry
from dpfl_theory.report.proof_map import proof_graph
from dpfl_theory.simulation.observables import catalogue as observables
from dpfl_theory.statements.paper import known
from dpfl_theory.statements.source_location import Lines
from dpfl_theory.statements.validate import faults
from dpfl_theory.validation import available, load

ALL = statements.all_statements()
IDS = {s.id for s in ALL}
LISTED = dict(line.split() for line in (Path(__file__).parent / "catalogue_ids.txt").read_text().splitlines())
"""Ids that the catalogue must have, and the first letters of the methods that each must have at least."""

every = of_each(ALL, lambda s: s.id)


def test_the_backbone_is_there() -> None:
    """The catalogue has the statements that the first release promises."""
    promised = "theorem4a theorem4b theorem6 theorem6.alpha theorem7 theorem7.alpha eq4 eq5 eq12 lemma8 lemma9 lemma10"
    assert {f"das2022.{name}" for name in f"{promised} fact1 fact2 definition5".split()} <= IDS


@every
def test_it_is_identified(statement: Statement) -> None:
    assert statement.id.startswith(f"{statement.paper}.")
    assert known()[statement.paper].place(statement.id)[1], "the paper's contents do not list it"
    assert statement.kind in KINDS
    assert statement.source.where
    assert len(statement.text) > 20
    assert 0 < len(statement.title) <= 100
    assert statement.relation in ("<=", ">=", "==", "rate", "exists", "claim")
    assert statement.expected in ("holds", "violated", "inconclusive")


METHOD_OF = {"A": "algebra", "W": "worst-case", "E": "exact", "M": "monte-carlo", "P": "privacy"}


@of_each(sorted(LISTED), str)
def test_every_id_is_entered_and_has_its_methods(name: str) -> None:
    statement = statements.get(name)
    applied = {check.method for _, check in plan([statement])}
    assert {METHOD_OF[symbol] for symbol in LISTED[name]} <= applied


UNITS_ALONE: frozenset[str] = frozenset()
"""Statements listed with algebra that still have no check by it other than the units of their formula."""


@of_each(sorted(name for name, symbols in LISTED.items() if "A" in symbols), str)
def test_algebra_is_more_than_units(name: str) -> None:
    more = [c.name for c in statements.get(name).checks if c.method == "algebra"]
    assert bool(more) != (name in UNITS_ALONE)


@every
def test_its_letters_are_explained(statement: Statement) -> None:
    names = [s.name for s in (*statement.symbols, *statement.expectations)]
    assert len(names) == len(set(names))
    for symbol in statement.symbols:
        assert symbol.meaning, symbol.name
        assert len(symbol.unit) == 2, symbol.name
        assert symbol.domain in DOMAINS, symbol.name
    if statement.sides is not None:
        sides = sides_of(statement)
        assert sides.lhs
        assert sides.rhs
        used = {s.name for side in (sides.lhs, sides.rhs) for term in side.values() for s in term.free_symbols}
        assert used <= set(names), f"unexplained letters: {used - set(names)}"
        assert {e.name for e in statement.expectations} <= used, "an expectation that the formula does not use"


@every
def test_its_expectations_can_be_observed(statement: Statement) -> None:
    known = observables()
    for expectation in statement.expectations:
        assert expectation.latex
        assert expectation.meaning
        for name, sign in expectation.parts:
            assert name in known, f"{expectation.name} needs the observable {name}"
            assert sign in (-1, 1)
            assert tuple(known[name].unit) == tuple(expectation.unit), (
                f"{name} has another unit than {expectation.name}"
            )


@every
def test_its_hypotheses_are_sentences(statement: Statement) -> None:
    texts = [a.text for a in statement.hypotheses]
    assert all(texts)
    assert len(texts) == len(set(texts))


@every
def test_its_checks_are_complete(statement: Statement) -> None:
    assert statement.checks or statement.sides is not None, "nothing checks it"
    keys = [(c.method, c.name) for _, c in plan([statement])]
    assert len(keys) == len(set(keys)), "two checks have the same name"
    assert {method for method, _ in keys} == set(statement.methods)
    assert set(statement.methods) <= set(methods.known())
    for check in statement.checks:
        assert check.expected in ("holds", "violated", "inconclusive", "not-applicable")
        json.dumps(dict(check.instance), allow_nan=False)


@every
def test_nothing_is_wrong_with_it(statement: Statement) -> None:
    assert faults(statement, Lines("", ""), {s.id for s in statements.all_statements()}) == []


@every
def test_its_recorded_verdict_follows_from_its_checks(statement: Statement) -> None:
    assert statement.expected == statement_verdict(
        (kind_of(c.method, c.name), c.expected) for _, c in plan([statement])
    )


@every
def test_only_what_was_read_is_accused(statement: Statement) -> None:
    """A refuted statement has an erratum, or shows the remark of the statement of which it is another reading."""
    if statement.expected == "violated":
        remarked = statements.get(statement.reading_of).remark if statement.reading_of else None
        shows = remarked is not None and remarked.shown_by == statement.id
        assert (statement.erratum is None) == shows, "an erratum, or the sibling that shows a remark"
    if statement.erratum is not None:
        assert statement.expected == "violated"
        assert statement.provenance == "read"
        assert statement.remark is None


@every
def test_an_erratum_is_complete(statement: Statement) -> None:
    erratum = statement.erratum
    if erratum is None:
        return
    assert erratum.printed
    assert erratum.corrected
    assert erratum.counterexample
    assert erratum.cause.paper == statement.paper
    assert all((erratum.cause.title, erratum.cause.text, erratum.cause.example))
    assert all((erratum.cause.objection, erratum.cause.response))
    assert erratum.effect.text.endswith(".")
    assert set(erratum.affects) <= LISTED.keys() | IDS
    if erratum.repaired:
        assert statements.get(erratum.repaired).expected == "holds"


@every
def test_a_remark_is_shown_by_a_sibling(statement: Statement) -> None:
    remark = statement.remark
    if remark is None:
        return
    assert statement.expected != "violated"
    assert len(remark.text) > 20
    shown = statements.get(remark.shown_by)
    assert shown.reading_of == statement.id
    assert shown.expected == "violated"
    if remark.repaired:
        assert statements.get(remark.repaired).expected == "holds"


@every
def test_readings_are_named_on_both_sides(statement: Statement) -> None:
    if statement.reading_of:
        assert statement.id.startswith(f"{statement.reading_of}.")
        assert statement.reading
        assert statements.get(statement.reading_of).reading
        assert not statements.get(statement.reading_of).reading_of


PROOFS = proof_graph([Entry(s.id, s) for s in ALL])


@every
def test_what_an_erratum_affects_rests_on_it(statement: Statement) -> None:
    """Otherwise the proof map draws no path between them. Indirect dependencies need not be named: the pages and
    `errata` add them."""
    if statement.erratum is None:
        return
    named, survivors = set(statement.erratum.affects), set(statement.erratum.survives)
    assert named | survivors <= nx.descendants(PROOFS, statement.id), "add the id to what these use, or leave them out"
    assert not named & survivors
    assert all(len(why) > 20 and why.endswith(".") for why in statement.erratum.survives.values())


@every
def test_a_sharpened_statement_has_its_sibling(statement: Statement) -> None:
    if statement.id.endswith(".sharpened"):
        assert statements.get(statement.id.removesuffix(".sharpened")).expected == "holds"
        assert statement.expected == "holds"


@every
def test_its_slips_are_sentences(statement: Statement) -> None:
    assert all(len(slip) > 20 and slip.endswith(".") for slip in statement.typos)


@every
def test_a_repaired_statement_has_its_printed_sibling(statement: Statement) -> None:
    if statement.id.endswith(".repaired"):
        printed = statements.get(statement.id.removesuffix(".repaired"))
        beside = printed.erratum or printed.remark
        assert beside is not None
        assert beside.repaired == statement.id
        assert statement.source.note, "says what was changed"


@every
def test_what_it_uses_exists(statement: Statement) -> None:
    assert set(statement.uses) <= LISTED.keys() | IDS
    assert statement.id not in statement.uses


@pytest.mark.exhaustive(keep=30)
@pytest.mark.parametrize("statement", ALL, ids=lambda s: s.id)
def test_its_formulas_can_be_typeset(statement: Statement) -> None:
    for line in formulas.lines(statement):
        assert line.name
        assert line.mathml.startswith("<math")
        assert "\\" not in line.mathml, f"LaTeX that is not understood: {line.latex}"
    assert all("\\" not in equation for equation in formulas.prescriptions(statement))
    assert all("\\" not in symbol["mathml"] for symbol in formulas.symbols(statement))


@every
def test_its_formulas_are_homogeneous_unless_recorded_otherwise(statement: Statement) -> None:
    if statement.sides is not None:
        outcome = homogeneous(statement)
        assert outcome.true or statement.erratum is not None, outcome.reason


REDONE = (
    *(f"das2022_figure{i}" for i in (1, 2, 3, 4)),
    "das2022_table2",
    *("zhang2021_table1", "zhang2021_claim2_1", "zhang2021_figure1"),
    *(f"shulgin2025_figure{i}" for i in (1, 3, 4, 6)),
    "hou2023_figure12",
    *(f"hou2023_observation{i}" for i in (1, 2, 3, 4)),
    *(f"noble2022_figure{i}" for i in range(1, 11)),
    *("noble2022_table1", "noble2022_table1_rounds", "noble2022_table4"),
)
"""Figures and tables of the five papers that concern convex problems."""


def test_every_figure_and_table_is_redone() -> None:
    assert set(REDONE) <= set(available(Path(__file__).parents[1] / "validations"))


def test_validations_are_named_after_what_they_redo() -> None:
    known = {id_.replace(".", "_") for id_ in LISTED}
    papers = {id_.split(".")[0] for id_ in LISTED}
    for name, path in available(Path(__file__).parents[1] / "validations").items():
        paper, _, what = name.partition("_")
        if paper not in papers:  # one that compares papers names them
            named = {word.strip(",") for word in load(path).source["paper"].split()}
            assert len(named & papers) > 1, name
            continue
        assert name in known or what.startswith(("figure", "table", "theorem")), name
