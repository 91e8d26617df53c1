"""Proof maps: dependencies, the statements that a refuted step reaches, and a drawing in which nothing is lost or
hidden."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from dpfl_theory import statements
from dpfl_theory.core import Cause, Effect, Erratum, Remark, Source, Statement
from dpfl_theory.report import proof_map as module
from dpfl_theory.report.entries import Entry, natural
from dpfl_theory.report.graph_layout import ROW, Block, draw
from dpfl_theory.report.proof_map import ProofMap, proof_graph, proof_map, refuted_premises, undermined

CAUSE = Cause("p.cause", "a cause", "text", "1 > 0", "objection", "response")
ERRATUM = Erratum("printed", "true", CAUSE, "counterexample", "false", Effect(1.0, "All of it."))


def made(
    name: str, uses: Iterable[str] = (), verdict: str = "holds", kind: str = "lemma", erratum: bool = False
) -> Entry:
    """A statement of the paper p with evidence of one check that gives the verdict (none when it is empty)."""
    statement = Statement(
        f"p.{name}",
        kind,
        f"about {name}",
        Source("p", name),
        "a sentence",
        uses=tuple(f"p.{u}" for u in uses),
        erratum=ERRATUM if erratum else None,
    )
    check = {"method": "exact", "check": "c", "verdict": verdict, "expected": "violated" if erratum else verdict}
    return Entry(statement.id, statement, [check] if verdict else [])


def mapped(*entries: Entry) -> ProofMap:
    return proof_map("p", proof_graph(entries), lambda id_: f"#{id_}")


def nodes(drawn: ProofMap) -> Mapping[str, module.Node]:
    return {p.node.id.removeprefix("p."): p.node for p in drawn.nodes}


def test_a_refuted_step_two_links_down_marks_the_theorem() -> None:
    drawn = mapped(
        made("step", verdict="violated", erratum=True),
        made("lemma", ["step"]),
        made("theorem", ["lemma", "fact"], kind="theorem"),
        made("fact"),
        made("corollary", ["fact"], kind="corollary"),
    )
    found = nodes(drawn)
    assert {name for name, node in found.items() if node.rests} == {"lemma", "theorem"}
    assert found["theorem"].line == "✓ holds · on ✗"
    assert "depends on a refuted step" in found["theorem"].description
    assert found["step"].line == "✗ violated"
    assert found["corollary"].line == "✓ holds"
    assert [(r.id, r.refuted, r.through) for r in drawn.rests] == [
        ("p.lemma", "p.step", ()),
        ("p.theorem", "p.step", ("p.lemma",)),
    ]
    assert sum(link.classes == "doubtful" for link in drawn.links) == 2
    assert sum(link.classes == "sound" for link in drawn.links) == 2


def test_a_refuted_statement_is_told_of_by_the_nearest_only() -> None:
    graph = proof_graph(
        [
            made("a", verdict="violated", erratum=True),
            made("b", ["a"], verdict="violated", erratum=True),
            made("c", ["b"]),
            made("d", ["c", "a"]),
        ]
    )
    assert [r.refuted for r in refuted_premises(graph, "p.c")] == ["p.b"]
    assert [(r.refuted, r.through) for r in refuted_premises(graph, "p.d")] == [("p.a", ()), ("p.b", ("p.c",))]
    (own,) = refuted_premises(graph, "p.b")
    assert (own.state, own.refuted) == ("violated", "p.a")
    assert not nodes(mapped(made("a", verdict="violated"), made("b", ["a"], verdict="violated")))["b"].rests


def test_a_long_way_round_a_refuted_step_is_seen_too() -> None:
    """What lies behind a refuted step counts where another way, past it, leads there."""
    graph = proof_graph(
        [
            made("root", verdict="violated"),
            made("middle", ["root"]),
            made("short", ["middle"], verdict="violated"),
            made("long", ["middle"]),
            made("longer", ["long"]),
            made("theorem", ["short", "longer"]),
        ]
    )
    found = {r.refuted: r.through for r in refuted_premises(graph, "p.theorem")}
    assert found == {"p.short": (), "p.root": ("p.longer", "p.long", "p.middle")}


def on(
    name: str, uses: Iterable[str] = (), survives: Iterable[str] = (), verdict: str = "violated", **more: Any
) -> Entry:
    """A refuted statement with survivors, or another one with more fields."""
    entry = made(name, uses, verdict, erratum=verdict == "violated")
    assert entry.statement is not None
    if survives:
        more["erratum"] = replace(ERRATUM, survives={f"p.{s}": "It needs less than that." for s in survives})
    return Entry(entry.id, replace(entry.statement, **more), entry.evidence)


def test_what_survives_is_not_harmed_nor_what_is_reached_through_it_alone() -> None:
    entries = [on("a", survives=["s"]), made("s", ["a"]), made("t", ["s"]), made("u", ["a"]), made("v", ["t", "u"])]
    graph = proof_graph(entries)
    assert undermined(graph, "p.a") == ("p.u", "p.v")
    assert undermined(graph, "p.unknown") == ()
    assert [refuted_premises(graph, f"p.{name}") for name in "st"] == [(), ()]
    assert [(r.refuted, r.through) for r in refuted_premises(graph, "p.v")] == [("p.a", ("p.u",))]
    drawn = mapped(*entries)
    assert {name for name, node in nodes(drawn).items() if node.rests} == {"u", "v"}
    assert sum(link.classes == "doubtful" for link in drawn.links) == 2  # a to u, u to v
    assert sum(link.classes == "sound" for link in drawn.links) == 3  # a to s, s to t, t to v
    plain = mapped(on("a"), *entries[1:])
    assert {name for name, node in nodes(plain).items() if node.rests} == {"s", "t", "u", "v"}


def test_a_survivor_further_down_ends_the_way_too() -> None:
    """From a through its user b, which is refuted itself, to what survives b; another way to it counts."""
    below = [on("b", ["a"], survives=["s"]), made("s", ["b"]), made("t", ["s"])]
    assert undermined(proof_graph([on("a"), *below]), "p.a") == ("p.b",)
    assert undermined(proof_graph([on("a"), *below[:1], made("s", ["b", "a"]), below[2]]), "p.a") == (
        "p.b",
        "p.s",
        "p.t",
    )
    far = [on("a", survives=["t"]), made("m", ["a"]), made("t", ["m"]), made("z", ["t"])]
    assert undermined(proof_graph(far), "p.a") == ("p.m",)
    drawn = mapped(*far)
    assert [link.classes for link in drawn.links].count("doubtful") == 1  # a to m, and not m to t


def test_a_second_reading_stands_below_and_a_remark_is_no_refutation() -> None:
    restored = Source("p", "r", "", "", "restored", "From its proof.")
    drawn = mapped(
        on("r", verdict="holds", source=restored, reading="Some do.", remark=Remark("If all do, it fails.", "p.r.all")),
        on("r.all", reading="All do.", reading_of="p.r", erratum=None, expected="violated", source=restored),
        made("user", ["r.all"]),
        on("a.other", verdict="holds", reading_of="p.a", reading="Another <way>."),
        made("a"),
        on("ours", verdict="holds", source=Source("p", "o", provenance="derived")),
    )
    found = nodes(drawn)
    place = {p.node.id: p for p in drawn.nodes}
    assert (found["r.all"].label, found["a.other"].label) == ("all", "other")
    assert place["p.r"].x == place["p.r.all"].x
    assert place["p.a"].x == place["p.a.other"].x
    assert sum(link.classes == "sibling" for link in drawn.links) == 2
    assert found["r"].line == "✓ holds · restored · ※"
    assert found["r.all"].state == "remarked"
    assert found["r.all"].line == "※ remarked · restored"
    assert "fails, which shows a remark, restored, another reading. Read: All do." in found["r.all"].description
    assert found["ours"].line == "✓ holds · derived"
    assert not found["user"].rests
    assert drawn.states == {"holds": 5, "remarked": 1}
    assert drawn.remarks
    assert not mapped(made("a")).remarks


def test_a_remark_whose_sibling_was_not_run_is_open() -> None:
    sibling = on("r.all", verdict="", reading="All do.", reading_of="p.r", expected="violated")
    units = [{"method": "algebra", "check": "units", "verdict": "holds", "expected": "holds"}]
    for other in ([], units):
        drawn = mapped(
            on("r", verdict="holds", reading="Some do.", remark=Remark("If all do, it fails.", "p.r.all")),
            Entry(sibling.id, sibling.statement, other),
        )
        assert nodes(drawn)["r.all"].state == "not checked"
        assert nodes(drawn)["r.all"].line == "○ remark unchecked"
        assert drawn.open == ("p.r.all",)


def test_siblings_stand_below_the_printed_statement_with_a_dashed_link() -> None:
    drawn = mapped(
        made("a", verdict="violated", erratum=True),
        made("a.repaired"),
        made("a.sharpened"),
        made("b", ["a"]),
        made("b.repaired", ["a.repaired"]),
    )
    place = {p.node.id: p for p in drawn.nodes}
    assert place["p.a"].x == place["p.a.repaired"].x == place["p.a.sharpened"].x
    assert place["p.a"].y < place["p.a.repaired"].y < place["p.a.sharpened"].y
    assert {p.node.label for p in drawn.nodes} == {"a", "b", "repaired", "sharpened"}
    dashed = [link for link in drawn.links if link.classes == "sibling"]
    assert len(dashed) == 3
    assert all(not link.arrow for link in dashed)
    assert nodes(drawn)["b"].rests
    assert not nodes(drawn)["b.repaired"].rests


def test_what_is_not_entered_is_drawn_as_that() -> None:
    drawn = mapped(made("a", ["nowhere"]))
    node = nodes(drawn)["nowhere"]
    assert node.state == "not entered"
    assert node.line == "– not entered"
    assert drawn.states == {"holds": 1, "not entered": 1}
    assert sum(link.classes == "sound" for link in drawn.links) == 1


def test_a_premise_in_another_paper_has_its_own_verdict() -> None:
    other = statements.get("das2022.lemma8")
    own = made("a")
    assert own.statement is not None
    borrowed = Entry("p.a", Statement("p.a", "lemma", "t", Source("p", "x"), "text", uses=(other.id,)), own.evidence)
    drawn = mapped(borrowed)
    assert {p.node.id: p.node.state for p in drawn.nodes} == {"p.a": "holds", "das2022.lemma8": "not checked"}


@pytest.mark.parametrize(
    "uses",
    [{"a": ["a"]}, {"a": ["b"], "b": ["a"]}, {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}, {"a": ["a.repaired"]}],
)
def test_cycles_do_no_harm(uses: Mapping[str, list[str]]) -> None:
    entries = [made(name, premises) for name, premises in uses.items()]
    if "a.repaired" in uses["a"]:
        entries.append(made("a.repaired", ["a"], verdict="violated"))
    drawn = mapped(*entries, made("step", verdict="violated"), made("on", ["a", "step"]))
    assert len(drawn.nodes) == len(uses) + 2 + ("a.repaired" in uses["a"])
    assert nodes(drawn)["on"].rests
    refuted_in_cycle = mapped(made("x", ["y"], verdict="violated"), made("y", ["x"]))
    assert nodes(refuted_in_cycle)["y"].rests
    assert [r.id for r in refuted_in_cycle.rests] == ["p.y"]


def test_an_erratum_that_no_check_speaks_of_claims_nothing() -> None:
    """Other checks may hold or not: neither the verdict nor the statements that depend on it are claimed."""
    recorded = made("a", erratum=True)
    for other in ([], [{"method": "algebra", "check": "units", "verdict": "holds", "expected": "holds"}]):
        drawn = mapped(Entry(recorded.id, recorded.statement, other), made("b", ["a"]))
        assert nodes(drawn)["a"].state == "not checked"
        assert nodes(drawn)["a"].line == "○ erratum unchecked"
        assert not nodes(drawn)["b"].rests
        assert drawn.open == ("p.a",)
    shown = mapped(made("a", verdict="holds", erratum=True), made("b", ["a"]))
    assert nodes(shown)["a"].state == "holds"
    assert shown.open == ()


# the drawing


def crowd(size: int = 40) -> list[Entry]:
    """Statements that rest on several earlier ones, with siblings now and then."""
    found = []
    for i in range(size):
        uses = [f"s{j}" for j in {i // 2, (7 * i) % (i + 1), i - 5} if 0 <= j < i and i % 4]
        found.append(made(f"s{i}", uses, kind="theorem" if i % 5 == 0 else "lemma"))
        if i % 6 == 0:
            found.append(made(f"s{i}.repaired"))
    return found


def test_with_forty_statements_nothing_is_lost_or_covered() -> None:
    entries = crowd()
    drawn = mapped(*entries)
    assert {p.node.id for p in drawn.nodes} == {e.id for e in entries}
    for p in drawn.nodes:
        assert 0.0 <= p.x <= p.x + p.width <= drawn.width + 1e-6
        assert 0.0 <= p.y <= p.y + p.height <= drawn.height + 1e-6
        assert p.width >= module.TEXT_WIDTH * len(p.node.line)
        assert p.width >= module.ID_WIDTH * len(p.node.label)
    for a, b in combinations(drawn.nodes, 2):
        apart = a.x + a.width < b.x or b.x + b.width < a.x or a.y + a.height < b.y or b.y + b.height < a.y
        assert apart, (a.node.id, b.node.id)


def test_conclusions_stand_right_of_what_they_rest_on_and_links_pass_between_boxes() -> None:
    blocks = [Block((f"n{i}",), 80.0) for i in range(12)]
    links = [(f"n{i}", f"n{j}") for i in range(12) for j in range(i + 1, 12) if (i * j) % 3 == 1 or j == i + 1]
    drawing = draw(blocks, links, 500.0)
    assert set(drawing.links) == set(links)
    for (u, v), points in drawing.links.items():
        left, top, width = drawing.positions[u]
        assert points[0] == (left + width, top + ROW / 2)
        assert points[-1] == (drawing.positions[v][0], drawing.positions[v][1] + ROW / 2)
        assert left + width < drawing.positions[v][0]
        for (x, y), (x2, _) in zip(points[1:-1:2], points[2:-1:2]):
            for other, (box, box_top, box_width) in drawing.positions.items():
                inside = box < x2 and x < box + box_width and box_top < y < box_top + ROW
                assert not inside, (u, v, other)


def test_links_that_need_not_cross_do_not() -> None:
    """Three chains whose ends are listed in reverse: an order without crossings exists and is found."""
    blocks = [Block((name,), 50.0) for name in ("a1", "a2", "a3", "b3", "b2", "b1", "end")]
    links = [("a1", "b1"), ("a2", "b2"), ("a3", "b3"), ("b1", "end"), ("b2", "end"), ("b3", "end")]
    at = draw(blocks, links, 500.0).positions
    order = sorted(("a1", "a2", "a3"), key=lambda n: at[n][1])
    assert [n[1] for n in order] == [n[1] for n in sorted(("b1", "b2", "b3"), key=lambda n: at[n][1])]
    assert at["a1"][1] == pytest.approx(at["b1"][1], abs=1e-6)


def test_the_map_is_the_same_each_time() -> None:
    assert mapped(*crowd()) == mapped(*crowd())


def test_statements_without_links_stand_together_below() -> None:
    drawn = mapped(made("a"), made("b", ["a"]), made("alone"), made("alone.repaired"), made("other"))
    place = {p.node.id: p for p in drawn.nodes}
    assert drawn.apart is not None
    assert max(place["p.a"].y, place["p.b"].y) + ROW < drawn.apart
    assert min(place["p.alone"].y, place["p.other"].y) > drawn.apart
    assert place["p.alone"].y == place["p.other"].y
    assert mapped(made("a"), made("b", ["a"])).apart is None
    assert mapped().nodes == ()


def test_paths_are_well_formed() -> None:
    for link in mapped(*crowd()).links:
        assert re.fullmatch(r"M[-\d. ]+([CHV][-\d. ]+)+", link.path)
        assert link.classes == "sibling" or re.fullmatch(r"M[-\d. ]+l-8 -4v8z", link.arrow)


@pytest.mark.parametrize("paper", statements.papers())
def test_every_statement_of_every_paper_is_drawn(paper: str) -> None:
    own = statements.select((), paper)
    drawn = proof_map(paper, proof_graph([Entry(s.id, s) for s in own]), lambda id_: "")
    assert {s.id for s in own} <= {p.node.id for p in drawn.nodes}
    assert [p.node.id for p in drawn.nodes] == sorted((p.node.id for p in drawn.nodes), key=natural)
    beside = [s for s in own if s.id.endswith((".repaired", ".sharpened")) or s.reading_of]
    assert sum(link.classes == "sibling" for link in drawn.links) == len(beside)
