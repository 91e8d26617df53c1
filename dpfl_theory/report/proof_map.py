"""Proof maps: each paper's statements as a graph of dependencies, coloured by verdict.

The links are the catalogue's ``uses``, the verdicts those of the evidence. A statement is marked if it is not refuted
itself but depends, directly or through others, on a refuted one: its proof, as it is, does not establish it. Statements
that survive an erratum are not marked, nor those reached only through them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from dpfl_theory import statements
from dpfl_theory.core.prose import plain
from dpfl_theory.core.statement import DERIVED
from dpfl_theory.report.entries import Entry, natural, readings_of, showing, siblings
from dpfl_theory.report.graph_layout import ROW, Block, Drawing, draw, in_rows

MARKS = {
    "holds": "✓",
    "violated": "✗",
    "inconclusive": "?",
    "remarked": "※",
    "not checked": "○",
    "unchecked": "○",
    "not entered": "–",
}
"""The states of a node. ``remarked``: it was entered under another condition, fails there, and so shows a remark."""
WIDTH = 1120.0
BETWEEN = 64.0
"""Space between the linked statements and the others, with a line of text in it."""
ID_WIDTH, TEXT_WIDTH, PADDING = 7.6, 6.1, 24.0
"""Pixels for each character of the id and of the line below it, and around both."""
TITLE_WIDTH = 320.0
WEIGHTY = ("theorem", "corollary")


@dataclass(frozen=True)
class Node:
    """A statement in the map.

    * state: its verdict, ``remarked``, ``not checked`` or ``not entered``;
    * rests: whether it depends on a refuted step and is not itself refuted;
    * line: the text below the id;
    * marks: whether it is restored, derived, another reading, or has a remark;
    * reading: how it is read, where its words allow more than one way.
    """

    id: str
    label: str
    title: str
    kind: str
    state: str
    rests: bool
    line: str
    marks: tuple[str, ...] = ()
    reading: str = ""

    @property
    def is_main_result(self) -> bool:
        """Whether it is a theorem or a corollary."""
        return self.kind in WEIGHTY

    @property
    def description(self) -> str:
        """The node in words."""
        state = "fails, which shows a remark" if self.state == "remarked" else self.state
        parts = (state, *self.marks, *(["depends on a refuted step"] if self.rests else []))
        return f"{self.id}: {self.title}. {', '.join(parts)}{f'. Read: {self.reading}' if self.reading else ''}"


@dataclass(frozen=True)
class RefutedPremise:
    """That a statement depends on a refuted one: ``through`` holds the statements between them, the nearest first."""

    id: str
    state: str
    refuted: str
    through: tuple[str, ...]


@dataclass(frozen=True)
class Link:
    """A drawn link: an SVG path, its arrow's path (empty for siblings), and its classes."""

    path: str
    arrow: str
    classes: str


@dataclass(frozen=True)
class Placed:
    """A node with the place of its box and the address that it links to (empty for none)."""

    node: Node
    x: float
    y: float
    width: float
    height: float
    href: str


@dataclass(frozen=True)
class ProofMap:
    """One paper's map: its drawing, and the statements that depend on refuted ones as text."""

    paper: str
    width: float
    height: float
    nodes: tuple[Placed, ...]
    links: tuple[Link, ...]
    apart: float | None
    """The position of the text above the statements without links; None where all are linked."""
    rests: tuple[RefutedPremise, ...]
    open: tuple[str, ...]
    """The statements recorded as refuted on which there is no evidence here."""
    states: Mapping[str, int]

    @property
    def remarks(self) -> bool:
        """Whether a statement of the map has a remark."""
        return any("remark" in p.node.marks for p in self.nodes)


def proof_graph(entries: Sequence[Entry]) -> Any:
    """The graph of all entries and their dependencies, premise to conclusion; each node has ``state`` and ``entry``.

    An id that neither the entries nor the catalogue know has the state ``not entered``, and no entry.
    """
    import networkx as nx

    catalogue = {s.id: s for s in statements.all_statements()}
    known = {e.id: e for e in entries}
    graph = nx.DiGraph()
    waiting = [e.id for e in entries]
    graph.add_nodes_from(waiting)
    seen = set(waiting)
    while waiting:
        id_ = waiting.pop(0)
        if id_ not in known and id_ in catalogue:
            known[id_] = Entry(id_, catalogue[id_])
        entry = known.get(id_)
        statement = None if entry is None else entry.statement
        graph.nodes[id_].update(entry=entry, state=_state(entry))
        for premise in () if statement is None else statement.uses:
            graph.add_edge(premise, id_)
            if premise not in seen:
                seen.add(premise)
                waiting.append(premise)
    for id_ in showing(e.statement for e in known.values()):
        if id_ in graph and graph.nodes[id_]["state"] == "violated":
            graph.nodes[id_]["state"] = "remarked"  # it was entered to fail, and is not an error of the authors
    return graph


def _state(entry: Entry | None) -> str:
    if entry is None:
        return "not entered"
    # Other checks may hold; the one that is known to refute it decides, and was not run.
    return "not checked" if entry.open_refutation else entry.verdict


def refuted_premises(graph: Any, id_: str) -> tuple[RefutedPremise, ...]:
    """The refuted statements that this one depends on, directly or through statements that are not refuted.

    A path through a statement that survives the refuted one does not count.
    """
    import networkx as nx

    states = dict(graph.nodes(data="state"))
    sound = {i for i in graph if states[i] != "violated"} | {id_}
    found = []
    for premise in sorted((i for i in nx.ancestors(graph, id_) if states[i] == "violated" and i != id_), key=natural):
        allowed = (sound - _survivors(graph, premise)) | {premise}
        ways = nx.DiGraph([(u, v) for u, v in graph.edges if u in allowed and v in allowed])  # in the order of edges
        if premise in ways and id_ in ways and nx.has_path(ways, premise, id_):
            through = nx.shortest_path(ways, premise, id_)[-2:0:-1]
            found.append(RefutedPremise(id_, states[id_], premise, tuple(through)))
    return tuple(found)


def undermined(graph: Any, id_: str) -> tuple[str, ...]:
    """The ids of the statements that depend on this one, directly or through others, without those that survive.

    A path from one statement to another ends at one that survives an erratum passed on the way.
    """
    if id_ not in graph:
        return ()
    started = (id_, _survivors(graph, id_))
    found, seen, waiting = set(), {started}, [started]
    while waiting:
        at, spared = waiting.pop()
        for user in graph.successors(at):
            if user not in spared:
                found.add(user)
                reached = (user, spared | _survivors(graph, user))
                if reached not in seen:
                    seen.add(reached)
                    waiting.append(reached)
    return tuple(sorted(found - {id_}, key=natural))


def _survivors(graph: Any, id_: str) -> frozenset[str]:
    """The statements that survive the erratum of this one, if it has one."""
    entry = graph.nodes[id_]["entry"]
    erratum = None if entry is None or entry.statement is None else entry.statement.erratum
    return frozenset() if erratum is None else frozenset(erratum.survives)


def proof_map(paper: str, graph: Any, href: Callable[[str], str]) -> ProofMap:
    """The map of one paper's statements and of their dependencies in other papers, drawn from `proof_graph`.

    ``href`` gives the address that an id links to, or an empty one.
    """
    own = {i for i in graph if (e := graph.nodes[i]["entry"]) is not None and e.paper == paper}
    links = [(u, v) for v in sorted(own, key=natural) for u in sorted(graph.predecessors(v), key=natural) if u != v]
    ids = sorted(own.union(*links), key=natural)
    rests = {i: refuted_premises(graph, i) for i in ids}
    beside = siblings(ids, readings_of(e.statement for i in ids if (e := graph.nodes[i]["entry"]) is not None))
    nodes = {i: _node(i, graph.nodes[i], bool(rests[i]), _label(i, paper, beside)) for i in ids}
    blocks = _blocks(ids, beside, nodes)
    drawing, apart = _placed(tuple(blocks), tuple(links))
    refuted = {i: {r.refuted for r in rests[i]} | ({i} if nodes[i].state == "violated" else set()) for i in ids}
    chains = [(a, b) for block in blocks for a, b in pairwise(block.nodes)]
    drawn = [_sibling(drawing, a, b) for a, b in chains]
    for (u, v), points in drawing.links.items():
        doubtful = any(v not in _survivors(graph, i) for i in refuted[u])
        drawn.append(Link(*_curve(points), "doubtful" if doubtful else "sound"))
    return ProofMap(
        paper,
        drawing.width,
        drawing.height,
        tuple(Placed(nodes[i], *drawing.positions[i], ROW, href(i)) for i in ids),
        tuple(sorted(drawn, key=lambda link: link.classes == "doubtful")),  # the most important link is on top
        apart,
        tuple(rest for i in ids for rest in rests[i]),
        tuple(i for i in ids if (e := graph.nodes[i]["entry"]) is not None and e.open_refutation),
        {state: n for state in MARKS if (n := sum(node.state == state for node in nodes.values()))},
    )


def _label(id_: str, paper: str, main_forms: Mapping[str, str]) -> str:
    """The text in the box: the id without its paper, and for a sibling only the part that distinguishes it."""
    return id_.removeprefix(f"{main_forms[id_]}.") if id_ in main_forms else id_.removeprefix(f"{paper}.")


def _node(id_: str, data: Mapping[str, Any], doubtful: bool, label: str) -> Node:
    entry, state = data["entry"], data["state"]
    statement = None if entry is None else entry.statement
    rests = doubtful and state != "violated"
    words = state
    if entry is not None and entry.open_refutation:
        words = "erratum unchecked" if entry.open_erratum else "remark unchecked"
    marks = () if entry is None else entry.marks
    # the label of a repaired or sharpened form says that it is derived
    origins = [m for m in marks if m == "restored" or (m == "derived" and not id_.endswith(DERIVED))]
    shown = (words, *origins, *(["※"] if "remark" in marks else []))
    return Node(
        id_,
        label,
        "not in the catalogue" if entry is None else plain(entry.title),
        "" if statement is None else statement.kind,
        state,
        rests,
        f"{MARKS[state]} {' · '.join(shown)}{' · on ✗' if rests else ''}",
        marks,
        "" if statement is None else plain(statement.reading),
    )


def _blocks(ids: Sequence[str], main_forms: Mapping[str, str], nodes: Mapping[str, Node]) -> list[Block]:
    found = []
    for id_ in ids:
        if id_ not in main_forms:
            stack = (id_, *(i for i in ids if main_forms.get(i) == id_))
            width = max(max(ID_WIDTH * len(nodes[i].label), TEXT_WIDTH * len(nodes[i].line)) for i in stack)
            found.append(Block(stack, PADDING + width))
    return found


@lru_cache(maxsize=16)  # a paper's map is on two pages
def _placed(blocks: tuple[Block, ...], links: tuple[tuple[str, str], ...]) -> tuple[Drawing, float | None]:
    """The linked blocks in layers, then those without links in rows, and the place where the latter start."""
    linked = {node for link in links for node in link}
    above = [b for b in blocks if linked & set(b.nodes)]
    below = [b for b in blocks if not linked & set(b.nodes)]
    drawing = draw(above, links, WIDTH) if above else Drawing(0.0, 0.0, {}, {})
    if not below:
        return drawing, None
    width = max(b.width for b in below)
    alike = [Block(b.nodes, width) for b in sorted(below, key=lambda b: len(b.nodes))]
    rows = in_rows([draw([b], [], 0.0) for b in alike], max(drawing.width, WIDTH), 20.0)
    start = drawing.height + (BETWEEN if above else 26.0)
    rows = rows.moved(0.0, start)
    wide = max(drawing.width, rows.width, TITLE_WIDTH)
    return Drawing(wide, start + rows.height, {**drawing.positions, **rows.positions}, drawing.links), start - 14.0


def _curve(points: Sequence[tuple[float, float]]) -> tuple[str, str]:
    """A link through its points, and the arrow at its end; level where it crosses a layer."""
    (x, y), *others = points
    end_x, end_y = points[-1]
    path = f"M{x:.1f} {y:.1f}"
    for i, (to_x, to_y) in enumerate(others):
        last = i == len(others) - 1
        to_x -= 6.0 if last else 0.0
        if i % 2:
            path += f"H{to_x:.1f}"
        else:
            reach = max(0.5 * abs(to_x - x), 24.0)
            path += f"C{x + reach:.1f} {y:.1f} {to_x - reach:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
        x, y = to_x, to_y
    return path, f"M{end_x:.1f} {end_y:.1f}l-8 -4v8z"


def _sibling(drawing: Drawing, above: str, below: str) -> Link:
    x, y, _ = drawing.positions[above]
    return Link(f"M{x + 20.0:.1f} {y + ROW:.1f}V{drawing.positions[below][1]:.1f}", "", "sibling")


@dataclass(frozen=True)
class LinkedStatement:
    """Another statement, with its state in the proof map."""

    id: str
    title: str
    state: str


@dataclass(frozen=True)
class Neighbours:
    """The premises of a statement, its conclusions, its other forms (readings, repaired or sharpened ones), and the
    paths by which it depends on refuted steps."""

    premises: tuple[LinkedStatement, ...]
    conclusions: tuple[LinkedStatement, ...]
    forms: tuple[LinkedStatement, ...]
    rests: tuple[RefutedPremise, ...]


def neighbours(id_: str, graph: Any, main_forms: Mapping[str, str]) -> Neighbours:
    """The neighbours of a statement in the graph of proofs; ``main_forms`` gives for each other form the statement that
    it belongs to."""
    first = main_forms.get(id_, id_)
    forms = [i for i in (first, *(i for i, of in main_forms.items() if of == first)) if i != id_]
    return Neighbours(
        _shown(graph.predecessors(id_), graph),
        _shown(graph.successors(id_), graph),
        _shown(forms, graph),
        refuted_premises(graph, id_),
    )


def _shown(ids: Any, graph: Any) -> tuple[LinkedStatement, ...]:
    found = []
    for i in sorted(set(ids), key=natural):
        entry, state = graph.nodes[i]["entry"], graph.nodes[i]["state"]
        found.append(LinkedStatement(i, "not in the catalogue" if entry is None else entry.title, state))
    return tuple(found)
