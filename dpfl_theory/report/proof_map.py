"""Proof maps: each paper's statements as a graph of what rests on what, coloured by verdict.

The links are the catalogue's ``uses``, the verdicts those of the evidence. A statement that is not refuted itself but
rests, directly or through others, on a refuted one is marked: its printed proof does not carry it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dpfl_theory import statements
from dpfl_theory.report.entries import Entry, natural, siblings
from dpfl_theory.report.layers import ROW, Block, Drawing, draw, shelves

__all__ = ["MARKS", "Node", "ProofMap", "Rest", "proof_graph", "proof_map", "resting_on", "rests_of"]

MARKS = {"holds": "✓", "violated": "✗", "inconclusive": "?", "not checked": "○", "not entered": "–"}
WIDTH = 1120.0
BETWEEN = 64.0
"""Room between the linked statements and the others, with a line of text in it."""
ID_WIDTH, TEXT_WIDTH, PADDING = 7.6, 6.1, 24.0
"""Pixels for each character of the id and of the line below it, and around both."""
TITLE_WIDTH = 320.0
WEIGHTY = ("theorem", "corollary")


@dataclass(frozen=True)
class Node:
    """A statement in the map.

    state: its verdict, ``not checked`` or ``not entered``; rests: whether it rests on a refuted step and is not itself
    refuted; line: what is written below the id.
    """

    id: str
    label: str
    title: str
    kind: str
    state: str
    rests: bool
    line: str

    @property
    def weighty(self) -> bool:
        """Whether it is a theorem or a corollary."""
        return self.kind in WEIGHTY

    @property
    def told(self) -> str:
        """The node in words."""
        return f"{self.id}: {self.title}. {self.state}{', rests on a refuted step' if self.rests else ''}"


@dataclass(frozen=True)
class Rest:
    """That a statement rests on a refuted one: ``through`` holds the statements between them, the nearest first."""

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
    """A node with the place of its box and what it links to (empty for nothing)."""

    node: Node
    x: float
    y: float
    width: float
    height: float
    href: str


@dataclass(frozen=True)
class ProofMap:
    """One paper's map: its drawing, and in words what rests on what is refuted."""

    paper: str
    width: float
    height: float
    nodes: tuple[Placed, ...]
    links: tuple[Link, ...]
    apart: float | None
    """Where the text above the statements without links stands; None where all are linked."""
    rests: tuple[Rest, ...]
    open: tuple[str, ...]
    """What has an erratum on record that the evidence at hand does not speak of."""
    states: Mapping[str, int]


def proof_graph(entries: Sequence[Entry]) -> Any:
    """The graph of all entries and of what they rest on, premise to conclusion; each node has ``state`` and ``entry``.

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
    return graph


def _state(entry: Entry | None) -> str:
    if entry is None:
        return "not entered"
    # Other checks may hold; what is known to refute it decides, and that was not run.
    return "not checked" if entry.open_erratum else entry.verdict


def rests_of(graph: Any, id_: str) -> tuple[Rest, ...]:
    """The refuted statements that this one rests on, directly or through statements that are not refuted."""
    import networkx as nx

    states = dict(graph.nodes(data="state"))
    sound = graph.subgraph([i for i in graph if states[i] != "violated" or i == id_])
    found: dict[str, Rest] = {}
    for path in nx.single_target_shortest_path(sound, id_).values():
        for premise in graph.predecessors(path[0]):
            if states[premise] == "violated" and premise != id_:
                rest = Rest(id_, states[id_], premise, tuple(path[-2::-1]))
                if premise not in found or len(rest.through) < len(found[premise].through):
                    found[premise] = rest
    return tuple(found[premise] for premise in sorted(found, key=natural))


def resting_on(graph: Any, id_: str) -> tuple[str, ...]:
    """The ids of what rests on a statement, directly or through others."""
    import networkx as nx

    return tuple(sorted(nx.descendants(graph, id_), key=natural)) if id_ in graph else ()


def proof_map(paper: str, graph: Any, href: Callable[[str], str]) -> ProofMap:
    """The map of one paper's statements, and of what they rest on in others, drawn from `proof_graph`.

    ``href`` gives the address that an id links to, or an empty one.
    """
    own = {i for i in graph if (e := graph.nodes[i]["entry"]) is not None and e.paper == paper}
    links = [(u, v) for v in sorted(own, key=natural) for u in sorted(graph.predecessors(v), key=natural) if u != v]
    ids = sorted(own.union(*links), key=natural)
    rests = {i: rests_of(graph, i) for i in ids}
    beside = siblings(ids)
    nodes = {i: _node(i, graph.nodes[i], bool(rests[i]), _label(i, paper, beside)) for i in ids}
    blocks = _blocks(ids, beside, nodes)
    drawing, apart = _placed(blocks, links)
    doubtful = {i for i in ids if nodes[i].state == "violated" or rests[i]}
    chains = [(a, b) for block in blocks for a, b in pairwise(block.nodes)]
    drawn = [_sibling(drawing, a, b) for a, b in chains]
    for (u, _), points in drawing.links.items():
        drawn.append(Link(*_curve(points), "doubtful" if u in doubtful else "sound"))
    return ProofMap(
        paper,
        drawing.width,
        drawing.height,
        tuple(Placed(nodes[i], *drawing.at[i], ROW, href(i)) for i in ids),
        tuple(sorted(drawn, key=lambda link: link.classes == "doubtful")),  # what matters most lies on top
        apart,
        tuple(rest for i in ids for rest in rests[i]),
        tuple(i for i in ids if (e := graph.nodes[i]["entry"]) is not None and e.open_erratum),
        {state: n for state in MARKS if (n := sum(node.state == state for node in nodes.values()))},
    )


def _label(id_: str, paper: str, beside: Mapping[str, str]) -> str:
    """What is written in the box: the id without its paper, and for a sibling only what sets it apart."""
    return id_.removeprefix(f"{beside[id_]}.") if id_ in beside else id_.removeprefix(f"{paper}.")


def _node(id_: str, data: Mapping[str, Any], doubtful: bool, label: str) -> Node:
    entry, state = data["entry"], data["state"]
    statement = None if entry is None else entry.statement
    rests = doubtful and state != "violated"
    words = "erratum unchecked" if entry is not None and entry.open_erratum else state
    return Node(
        id_,
        label,
        "not in the catalogue" if entry is None else entry.title,
        "" if statement is None else statement.kind,
        state,
        rests,
        f"{MARKS[state]} {words}{' · on ✗' if rests else ''}",
    )


def _blocks(ids: Sequence[str], beside: Mapping[str, str], nodes: Mapping[str, Node]) -> list[Block]:
    found = []
    for id_ in ids:
        if id_ not in beside:
            stack = (id_, *(i for i in ids if beside.get(i) == id_))
            width = max(max(ID_WIDTH * len(nodes[i].label), TEXT_WIDTH * len(nodes[i].line)) for i in stack)
            found.append(Block(stack, PADDING + width))
    return found


def _placed(blocks: Sequence[Block], links: Sequence[tuple[str, str]]) -> tuple[Drawing, float | None]:
    """The linked blocks in layers, then those without links in rows, and where the latter begin."""
    linked = {node for link in links for node in link}
    above = [b for b in blocks if linked & set(b.nodes)]
    below = [b for b in blocks if not linked & set(b.nodes)]
    drawing = draw(above, links, WIDTH) if above else Drawing(0.0, 0.0, {}, {})
    if not below:
        return drawing, None
    width = max(b.width for b in below)
    alike = [Block(b.nodes, width) for b in sorted(below, key=lambda b: len(b.nodes))]
    rows = shelves([draw([b], [], 0.0) for b in alike], max(drawing.width, WIDTH), 20.0)
    start = drawing.height + (BETWEEN if above else 26.0)
    rows = rows.moved(0.0, start)
    wide = max(drawing.width, rows.width, TITLE_WIDTH)
    return Drawing(wide, start + rows.height, {**drawing.at, **rows.at}, drawing.links), start - 14.0


def _curve(points: Sequence[tuple[float, float]]) -> tuple[str, str]:
    """A link through its points, and the arrow at its end; level where it passes a layer."""
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
    x, y, _ = drawing.at[above]
    return Link(f"M{x + 20.0:.1f} {y + ROW:.1f}V{drawing.at[below][1]:.1f}", "", "sibling")
