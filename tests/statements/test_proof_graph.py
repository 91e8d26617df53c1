"""The dependencies of proofs: without cycles and without unknown statements."""

from __future__ import annotations

from pathlib import Path

import networkx as nx

from dpfl_theory import statements

ALL = statements.all_statements()
LISTED = {line.split()[0] for line in (Path(__file__).parents[1] / "catalogue_ids.txt").read_text().splitlines()}


def test_no_proof_rests_on_what_it_proves() -> None:
    graph = nx.DiGraph((premise, s.id) for s in ALL for premise in s.uses)
    assert nx.is_directed_acyclic_graph(graph), nx.find_cycle(graph)


def test_what_proofs_rest_on_is_listed_or_entered() -> None:
    known = LISTED | {s.id for s in ALL}
    unknown = {(s.id, premise) for s in ALL for premise in s.uses if premise not in known}
    assert not unknown


def test_a_statement_names_what_it_rests_on_once() -> None:
    assert [s.id for s in ALL if len(s.uses) != len(set(s.uses))] == []
