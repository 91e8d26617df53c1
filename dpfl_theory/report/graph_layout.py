"""Layered drawing of a graph of proofs: each conclusion to the right of its premises, few crossings, short links.

It has the four classical steps: cycles are cut; nodes get layers; barycentres improve the order in each layer; and
least squares that keep the order (an isotonic regression) give the heights. networkx does the graph theory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

ROW = 42.0
"""Height of a node."""
SIBLING_GAP = 14.0
GAPS = (9.0, 15.0, 20.0)
"""Distances of two wires, of a wire and a block, of two blocks."""
COLUMN_GAP = 52.0
SWEEPS = 24

Wire = tuple[str, int]
"""The place where the links of a premise pass a layer."""
Item = int | Wire


@dataclass(frozen=True)
class Block:
    """Nodes that are drawn as one stack: a printed statement with its siblings below it. ``width`` is in pixels."""

    nodes: tuple[str, ...]
    width: float

    @property
    def height(self) -> float:
        """The height of the stack."""
        return len(self.nodes) * ROW + (len(self.nodes) - 1) * SIBLING_GAP

    def port(self, node: str) -> float:
        """Where the links of a node meet the stack, from its top."""
        return self.nodes.index(node) * (ROW + SIBLING_GAP) + ROW / 2.0


@dataclass(frozen=True)
class Drawing:
    """Nodes as (left, top, width) and links as points from premise to conclusion; all from a corner at (0, 0)."""

    width: float
    height: float
    positions: Mapping[str, tuple[float, float, float]]
    links: Mapping[tuple[str, str], tuple[tuple[float, float], ...]]

    def moved(self, x: float, y: float) -> Drawing:
        """The drawing with its corner at (x, y)."""
        at = {node: (left + x, top + y, width) for node, (left, top, width) in self.positions.items()}
        links = {link: tuple((px + x, py + y) for px, py in points) for link, points in self.links.items()}
        return Drawing(self.width, self.height, at, links)


def draw(blocks: Sequence[Block], links: Sequence[tuple[str, str]], width: float) -> Drawing:
    """Blocks and the links (premise, conclusion) between their nodes; a link inside a block is left out.

    Parts without a link to each other are placed side by side where the width allows it.
    """
    import networkx as nx

    home = {node: i for i, block in enumerate(blocks) for node in block.nodes}
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(blocks)))
    graph.add_edges_from((home[u], home[v]) for u, v in links if home[u] != home[v])
    parts = sorted((sorted(part) for part in nx.weakly_connected_components(graph)), key=lambda part: -len(part))
    drawn = []
    for part in parts:
        inside = [(u, v) for u, v in links if home[u] in part and home[u] != home[v]]
        drawn.append(_Part({i: blocks[i] for i in part}, inside, home, _ranks(graph.subgraph(part).copy())).drawing())
    return in_rows(drawn, max([width, *(d.width for d in drawn)]))


def in_rows(drawings: Sequence[Drawing], width: float, gap: float = 36.0) -> Drawing:
    """Drawings placed side by side, in rows that are no wider than ``width``."""
    x = y = tallest = widest = 0.0
    at: dict[str, tuple[float, float, float]] = {}
    links: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {}
    for drawing in drawings:
        if x and x + drawing.width > width:
            x, y, tallest = 0.0, y + tallest + gap, 0.0
        placed = drawing.moved(x, y)
        at.update(placed.positions)
        links.update(placed.links)
        widest, tallest = max(widest, x + drawing.width), max(tallest, drawing.height)
        x += drawing.width + gap
    return Drawing(widest, y + tallest, at, links)


def _ranks(graph: Any) -> dict[int, int]:
    """Each block's layer: to the right of all premises, and as near to its first conclusion as possible.

    A cycle is cut at one link, which is then drawn backwards.
    """
    import networkx as nx

    while not nx.is_directed_acyclic_graph(graph):
        graph.remove_edge(*nx.find_cycle(graph)[-1][:2])
    rank = {i: layer for layer, part in enumerate(nx.topological_generations(graph)) for i in part}
    for i in reversed(list(nx.topological_sort(graph))):
        later = [rank[j] for j in graph.successors(i)]
        if later:
            rank[i] = min(later) - 1
    lowest = min(rank.values())
    return {i: layer - lowest for i, layer in rank.items()}


class _Part:
    """One connected part: its layers hold blocks, and wires where links pass."""

    def __init__(
        self,
        blocks: Mapping[int, Block],
        links: Sequence[tuple[str, str]],
        home: Mapping[str, int],
        rank: Mapping[int, int],
    ) -> None:
        self.blocks = blocks
        self.links = list(links)
        self.home = home
        self.rank = rank
        self.layers: list[list[Item]] = [[] for _ in range(1 + max(rank.values()))]
        for i in sorted(blocks):
            self.layers[rank[i]].append(i)
        self.steps: list[tuple[tuple[Item, float], tuple[Item, float]]] = []
        for u, v in self.links:
            first, last = rank[home[u]], rank[home[v]]
            if first >= last:  # drawn backwards, through no layer
                continue
            path: list[tuple[Item, float]] = [(home[u], blocks[home[u]].port(u))]
            for layer in range(first + 1, last):
                wire: Wire = (u, layer)
                if wire not in self.layers[layer]:
                    self.layers[layer].append(wire)
                path.append((wire, 0.0))
            path.append((home[v], blocks[home[v]].port(v)))
            self.steps += [step for step in pairwise(path) if step not in self.steps]
        self._order()
        self.top = self._heights()

    def _layer(self, item: Item) -> int:
        return self.rank[item] if isinstance(item, int) else item[1]

    def _order(self) -> None:
        """Sweeps in both directions; the order with the fewest crossings is kept."""
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(SWEEPS):
            for layer in self.layers if sweep % 2 == 0 else self.layers[::-1]:
                place = {item: float(i) for line in self.layers for i, item in enumerate(line)}
                beside: dict[Item, list[float]] = {item: [] for item in layer}
                for (a, _), (b, port) in self.steps:
                    near, far = (b, a) if sweep % 2 == 0 else (a, b)
                    if near in beside:
                        beside[near].append(place[far] + 1e-4 * port)
                layer.sort(key=lambda item: sum(beside[item]) / len(beside[item]) if beside[item] else place[item])
            if (count := self._crossings()) < fewest:
                best, fewest = [list(layer) for layer in self.layers], count
        self.layers = best

    def _crossings(self) -> int:
        place = {item: i for line in self.layers for i, item in enumerate(line)}
        ends = [(self._layer(a), place[a], p, place[b], q) for (a, p), (b, q) in self.steps]
        return sum(
            (x[1], x[2]) < (y[1], y[2]) and (x[3], x[4]) > (y[3], y[4]) for x in ends for y in ends if x[0] == y[0]
        )

    def _heights(self) -> dict[Item, float]:
        """Tops of blocks and wires, with links as level as the order and the distances in each layer allow."""
        from scipy.optimize import isotonic_regression

        offsets: list[list[float]] = []
        top: dict[Item, float] = {}
        for layer in self.layers:
            at = 0.0
            offsets.append([])
            for i, item in enumerate(layer):
                if i:
                    at += GAPS[isinstance(item, int) + isinstance(layer[i - 1], int)]
                offsets[-1].append(at)
                top[item] = at
                at += self._height(item)
        for sweep in range(SWEEPS):
            ends = (0, 1) if sweep >= SWEEPS // 2 else (1 - sweep % 2,)
            order = range(len(self.layers)) if sweep % 2 == 0 else range(len(self.layers) - 1, -1, -1)
            for number in order:
                layer = self.layers[number]
                wanted, weights = [], []
                for item in layer:
                    pulls = self._pulls(item, top, ends)
                    wanted.append(sum(pulls) / len(pulls) if pulls else top[item])
                    weights.append(float(len(pulls)) if pulls else 0.1)
                    if not isinstance(item, int):
                        weights[-1] *= 4.0  # a bend in a wire is the hardest to read
                shifted = [w - o for w, o in zip(wanted, offsets[number])]
                found = isotonic_regression(shifted, weights=weights).x
                for item, x, offset in zip(layer, found, offsets[number]):
                    top[item] = float(x) + offset
        highest = min(top.values())
        return {item: y - highest for item, y in top.items()}

    def _pulls(self, item: Item, top: Mapping[Item, float], ends: Sequence[int]) -> list[float]:
        """The tops of the item at which its links would be level; the item is the link's first end (0, the premise) or
        its second (1)."""
        return [
            top[step[1 - own][0]] + step[1 - own][1] - step[own][1]
            for own in ends
            for step in self.steps
            if step[own][0] == item
        ]

    def _height(self, item: Item) -> float:
        return self.blocks[item].height if isinstance(item, int) else 0.0

    def drawing(self) -> Drawing:
        """The part with its corner at (0, 0)."""
        left, x = [], 0.0
        widths = [
            max((self.blocks[i].width for i in layer if isinstance(i, int)), default=0.0) for layer in self.layers
        ]
        for width in widths:
            left.append(x)
            x += width + COLUMN_GAP
        at = {}
        for i, block in self.blocks.items():
            for node in block.nodes:
                top = self.top[i] + block.port(node) - ROW / 2.0
                at[node] = (left[self.rank[i]], top, widths[self.rank[i]])
        links = {(u, v): tuple(self._points(u, v, left, widths)) for u, v in self.links}
        height = max(self.top[item] + self._height(item) for item in self.top)
        return Drawing(x - COLUMN_GAP, height, at, links)

    def _points(self, u: str, v: str, left: Sequence[float], widths: Sequence[float]) -> list[tuple[float, float]]:
        first, last = self.rank[self.home[u]], self.rank[self.home[v]]
        start = (left[first] + widths[first], self.top[self.home[u]] + self.blocks[self.home[u]].port(u))
        end = (left[last], self.top[self.home[v]] + self.blocks[self.home[v]].port(v))
        between = []
        for layer in range(first + 1, last):
            y = self.top[u, layer]
            between += [(left[layer], y), (left[layer] + widths[layer], y)]
        return [start, *between, end]
