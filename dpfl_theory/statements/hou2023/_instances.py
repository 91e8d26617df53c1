"""The instances of hou2023's statements: DP-ScaffNew by simulation, and exactly on quadratics that share their axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.instances import Instances, edge, problem, row


def _quadratics(condition: float, heterogeneity: float, clients: int = 6, dimension: int = 4) -> dict[str, Any]:
    """Quadratics with this condition number of every client."""
    shape = {"clients": clients, "dimension": dimension, "condition": condition, "heterogeneity": heterogeneity}
    return problem("quadratic", **shape, seed=3)


def _cancer(**parameters: Any) -> dict[str, Any]:
    return problem("logistic-data", data="breast-cancer", features=5, clients=8, ridge=0.05, **parameters)


def _run(problem: Mapping[str, Any], noise: float, T: int, distance: float, **more: Any) -> dict[str, Any]:
    """A run of Algorithm 2; noise: v C^2 ln(1/delta)/epsilon^2 [X^2]; distance: ||x_0 - x*|| of one client; step: that
    of eta L; p: sqrt(mu/L) where it is None."""
    return {"problem": problem, "step": 1.0, "p": None, "T": T, "noise": noise, "distance": distance, **more}


def _from_star(noise: float, **more: Any) -> dict[str, Any]:
    return _run(_quadratics(4.0, 0.0), noise, 40, 0.0, **more, replicates=512)


def _axes(q: str, start: str, **more: Any) -> dict[str, Any]:
    """Along each axis: the clients' curvatures, a row for each client; x_0 - x*; h: gradients at x*, which add up to
    zero."""
    return {name: [r.split() for r in rows.split(", ")] for name, rows in {"q": q, **more}.items()} | {
        "start": start.split()
    }


def _axis(q: str, a: str, b: str) -> dict[str, Any]:
    """Along one axis: the clients' curvatures, and their vectors and control variates less those at the minimiser."""
    return {"q": q.split(), "a": a.split(), "b": b.split()}


# v ln(1/delta)/epsilon^2 with v = 4, delta = 1e-5 and the paper's epsilons 3.3 and 0.5.
_PAPER = {"epsilon = 3.3": 4.23, "epsilon = 0.5": 184.2}
_ALIKE = _quadratics(4.0, 0.0)
_ONE, _ALONE = _axes("1/4", "1", h="0"), _axis("1/4", "2", "0")
_TWO = _axes("1 1/2, 1/4 1", "1 -2")

# fmt: off
TABLE = Instances((
    # Monte-Carlo. With one client and constant curvature the sharpened bound is an equality but for theta^T, which
    # samples cannot decide.
    row("free sharper", "quadratics, p = sqrt(mu/L)", _run(_quadratics(20.0, 2.0), 0.02, 60, 2.0)),
    row("free sharper", "quadratics, always communicating", _run(_quadratics(20.0, 2.0), 0.02, 30, 2.0, p=1.0)),
    row("free sharper", "quadratics, rare communication, short step",
        _run(_quadratics(20.0, 2.0), 0.05, 100, 5.0, p=0.1, step=0.3)),
    row("free sharper", "quadratics, hardly any communication", _run(_quadratics(4.0, 1.0), 0.2, 40, 1.0, p=0.01)),
    row("free sharper", "quadratics, one iteration", _run(_quadratics(20.0, 2.0), 0.5, 1, 1.0)),
    row("free", "one client, one dimension, noise dominates",
        _run(_quadratics(1.0, 0.0, 1, 1), 1.0, 20, 0.1, p=1.0, step=0.5)),
    row("free sharper", "very heterogeneous quadratics, start at x*", _run(_quadratics(20.0, 50.0), 0.02, 60, 0.0)),
    row("free sharper", "shared minimiser, noise dominates", _run(_quadratics(5.0, 0.0), 1.0, 40, 0.5)),
    row("free sharper", "40 clients in 200 dimensions",
        _run(_quadratics(100.0, 2.0, 40, 200), 0.001, 60, 3.0, replicates=64)),
    row("free sharper", "100 clients, condition 1000",
        _run(_quadratics(1000.0, 2.0, 100), 0.001, 100, 1.0, replicates=256)),
    row("free sharper", "two clients far apart", _run(_quadratics(1000.0, 30.0, 2, 4), 0.001, 100, 1.0)),
    row("free sharper", "breast cancer with ridge, i.i.d.", _run(_cancer(), 0.02, 60, 2.0, replicates=1024)),
    row("free sharper", "breast cancer with ridge, sorted by label",
        _run(_cancer(partition="shards", shards_per_client=1), 0.02, 40, 2.0, replicates=1024)),
    row("clipped", "start at x*, forty iterations, epsilon = 3.3", _from_star(_PAPER["epsilon = 3.3"])),
    row("clipped", "start at x*, always communicating", _from_star(1.0, p=1.0)),
    *(
        row(tag, f"shared minimiser, start at x*, {words}{name}", _from_star(noise, **more))
        for name, noise in _PAPER.items()
        for tag, words, more in (("noisy", "", {}), ("always", "p = 1, ", {"p": 1.0}))
    ),
    row("quiet", "shared minimiser, start at x*, hardly any noise", _from_star(1e-4)),
    row("always", "heterogeneous clients, p = 1", _run(_quadratics(4.0, 3.0), 0.1, 40, 5.0, p=1.0)),
    row("shared", "quadratics, p = sqrt(mu/L)", _run(_ALIKE, 0.02, 60, 1.0, replicates=512)),
    row("shared", "quadratics, p = 1", _run(_ALIKE, 0.02, 30, 1.0, p=1.0, replicates=512)),
    row("apart", "clients with minimisers of their own",
        _run(_quadratics(4.0, 1.0), 0.02, 30, 1.0, p=1.0, replicates=512)),
    # Exactly, T iterations along several axes.
    row("moments", "quadratics, one client", _ONE),
    row("moments", "quadratics, equal clients", _axes("1 1/8, 1 1/8", "1 2", h="0 0, 0 0")),
    row("moments", "quadratics, opposite gradients", _axes("1/4, 1/4", "1", h="1, -1")),
    row("moments", "quadratics, start at the minimiser", _axes("1/4, 1", "0", h="3, -3")),
    row("moments", "quadratics, noise alone, mu = L", _axes("1, 1, 1", "0", h="0, 0, 0")),
    row("moments", "quadratics, three unequal clients",
        _axes("1 1/10, 1/10 1, 1/2 1/3", "3 -1", h="1 0, 1 2, -2 -2")),
    row("inside", "just inside eta L <= 1, p <= 1, T >= 1 and delta < 1",
        {**_ONE, "eta L": ["1"], "p": ["1"], "T": [1], "ln(1/delta)": "1/100"}),
    row("inside", "just inside mu <= L", _axes("1, 1, 1", "0", h="0, 0, 0")),
    row("zero-shifts", "two clients, with noise", {**_TWO, "noise": ["1/100", "1"]}),
    row("zero-shifts-quiet", "two clients, without noise", {**_TWO, "noise": ["0"]}),
    row("zero-shifts-quiet", "just inside eta L <= 1, p <= 1 and T >= 1",
        {**_TWO, "noise": ["0"], "p": ["1"], "T": [1]}),
    # Exactly, iteration by iteration along one axis.
    row("contracts", "quadratics, three clients", _axis("1 1/4 1/10", "2 -1 3", "1 1/2 -3/2")),
    row("contracts", "quadratics, one client", _ALONE),
    row("contracts-inside", "just inside mu <= L, eta L <= 1 and p <= 1", {**_ALONE, "eta L": ["1"], "p": ["1"]}),
    row("messages", "three clients in one dimension", _axis("1 1/4 1/10", "2 2 2", "1 1/2 -3/2")),
    row("messages", "just inside eta L <= 1 and p = 1, one client", _axis("1", "2", "0")),
    # Two per cent beyond one hypothesis.
    edge(hou.STEP, "just outside eta L <= 1", {"eta L": ["51/50"]}),
    edge(hou.COIN, "just outside p <= 1", {"p": ["51/50"]}, unless=hou.ALWAYS),
    edge(hou.ALWAYS, "just outside p = 1", {"p": ["49/50"]}),
    edge(hou.ITERATIONS, "just outside T >= 1", {"T": [0]}),
    edge(hou.SMOOTH, "just outside mu <= L", {"mu/L": "51/50"}),
    edge(hou.STRONGLY_CONVEX, "just outside mu > 0", {"mu/L": "0"}),
    edge(hou.DELTA, "just outside delta < 1", {"ln(1/delta)": "-1/100"}),
))
# fmt: on
