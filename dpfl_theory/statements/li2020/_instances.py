"""li2020's instances: quadratic clients with curvatures a_k and minimisers m_k, L = max a_k, mu = min a_k."""

from __future__ import annotations

from dpfl_theory.statements.instances import Instances, edge, row
from dpfl_theory.statements.li2020._symbols import BALANCED, BOUNDED, MORE, SCALE, SHIFT, SHORT, SMOOTH, STRONG, TWO

_TWO = {"curvatures": [1, "1/4"], "minimisers": [1, -4], "start": 0, "E": 3}
_FOUR = {"curvatures": [1, "1/2", "1/4", "1/2"], "minimisers": [1, 0, 2, -2], "start": 4, "E": 2, "T": 30}
_ONE = {"curvatures": [1], "sigma": [1], "start": 0, "E": 1, "T": 60}
_SIX = {"curvatures": [1] * 6, "sigma": [1] * 6, "start": "1/2", "E": 1, "T": 60}
_AFAR = {"curvatures": [1, 1], "minimisers": [1, -1], "sigma": [1, 1], "start": 16, "E": 1, "T": 60}
_FIXED = {"curvatures": [1, "1/4"], "minimisers": [1, -2], "c": "7/16"}
_UNEQUAL = {"weights": ["1/5", "4/5"]}
_NOISY = {**_TWO, "sigma": ["1/2", 1]}

TABLE = Instances(
    (
        row("exact without", "T = 1, attained", {"curvatures": [1, 1], "mu": "1/4", "E": 1, "T": 1}),
        row("with", "one client, T = 1, attained", {"curvatures": [1], "mu": "1/4", "E": 1, "T": 1, "scheme": "with"}),
        row("exact", "one client, no noise", {"curvatures": [1], "mu": "1/4", "E": 1, "T": 2}),
        row("exact", "one client, from w*", _ONE),
        row("exact", "one client, E = 4", {"curvatures": ["1/2"], "L": 1, "sigma": [1], "E": 4, "T": 13}),
        row("exact", "E = 1, two clients", {**_TWO, "start": 8, "E": 1, "T": 41}),
        row("exact", "equal clients, E = 5", {"curvatures": ["1/2"] * 3, "E": 5, "T": 20}),
        row("exact", "two clients, E = 3", {**_TWO, "T": 40}),
        row("exact", "unequal weights", {**_NOISY, **_UNEQUAL, "T": 24}),
        row("exact", "no client moves the mean, E = 10", {**_TWO, "E": 10, "T": 100}),
        row("exact", "E = 512 above 8 kappa", {**_TWO, "E": 512, "T": 512}),
        row("exact", "E above 8 kappa", {**_TWO, "curvatures": [1, "3/4"], "E": 16, "T": 48}),
        row("runs", "one noisy client, E = 1", {"curvatures": [1], "sigma": [1], "start": "1/2", "E": 1, "T": 60,
            "replicates": 4096}),
        row("runs", "two noisy clients, E = 3", {**_NOISY, "T": 40}),
        row("runs", "four noisy clients, E = 2", {**_FOUR, "sigma": [1] * 4}),
        row("with", "one of six noisy clients, replaced", {**_SIX, "start": 0, "scheme": "with", "K": 1}),
        row("with", "two draws of two clients, E = 3", {**_NOISY, "T": 42, "scheme": "with", "K": 2}),
        row("with", "unequal weights, one draw", {**_NOISY, **_UNEQUAL, "T": 24, "scheme": "with", "K": 1}),
        row("with", "one client, drawn twice", {**_ONE, "E": 2, "T": 20, "scheme": "with", "K": 2}),
        row("with", "one client, drawn 40 times", {**_ONE, "scheme": "with", "K": 40}),
        row("with", "no noise, E = 1, K = 1", {**_TWO, "E": 1, "T": 40, "scheme": "with", "K": 1}),
        row("runs-with", "one draw of six clients", {**_SIX, "scheme": "with", "K": 1, "replicates": 2048}),
        row("runs-with", "two clients from afar, two draws", {**_AFAR, "scheme": "with", "K": 2}),
        row("without", "one of six noisy clients", {**_SIX, "start": 0, "scheme": "without", "K": 1}),
        row("without", "one of two, E = 3", {**_NOISY, "T": 42, "scheme": "without", "K": 1}),
        row("without", "two of two noisy clients, from w*", {**_ONE, "curvatures": [1, 1], "sigma": [1, 1],
            "scheme": "without", "K": 2}),
        row("without", "two of two, E = 3", {**_NOISY, "T": 42, "scheme": "without", "K": 2}),
        row("without", "two of four, E = 2", {**_FOUR, "scheme": "without", "K": 2}),
        row("runs-without", "one of six clients", {**_SIX, "scheme": "without", "K": 1, "replicates": 2048}),
        row("runs-without", "two clients from afar, one drawn", {**_AFAR, "scheme": "without", "K": 1}),
        row("worst", "T = 1", {"curvatures": [1, 1], "mu": "1/4", "E": 1, "T": 1}),
        row("worst", "one client, T = 3", {"curvatures": [1], "mu": "3/4", "E": 1, "T": 3}),
        row("worst", "one client, E = 2, T = 3", {"curvatures": [1], "mu": "1/4", "E": 2, "T": 3}),
        row("worst", "E = 2, T = 2", {"curvatures": [1, 1], "mu": "1/4", "E": 2, "T": 2}),
        edge(BALANCED, "unequal weights, without replacement", {**_NOISY, **_UNEQUAL, "T": 24,
             "scheme": "without", "K": 1}),
        edge(TWO, "one client, without replacement", {**_ONE, "T": 12, "scheme": "without", "K": 1}),
        edge(SMOOTH, "L one per cent too small", {**_NOISY, "T": 12, "stated": {"L": "99/100", "gamma": "99/100"}}),
        edge(STRONG, "mu one per cent too large", {**_NOISY, "T": 12, "stated": {"mu": "101/100", "beta": "100/101",
             "gamma": "100/101"}}),
        edge(BOUNDED, "G one per cent too small", {**_NOISY, "T": 12, "stated": {"G": "99/100"}}),
        edge(SCALE, "beta one per cent too small", {**_NOISY, "T": 12, "stated": {"beta": "99/100"}}),
        edge(SHIFT, "gamma one per cent too small", {**_NOISY, "T": 12, "stated": {"gamma": "99/100"}}),
        row("fixed", "E = 2, eta L = 1/4096", {**_FIXED, "E": 2, "eta": "1/4096"}),
        row("fixed", "E = 2, eta L = 1/2", {**_FIXED, "E": 2, "eta": "1/2"}),
        row("fixed", "E = 8, eta L = 1/8", {**_FIXED, "E": 8, "eta": "1/8"}),
        row("fixed", "E = 256, eta L = 1/256", {**_FIXED, "E": 256, "eta": "1/256"}),
        row("long", "E = 256, eta L = 1/8", {**_FIXED, "E": 256, "eta": "1/8"}),
        row("equal", "equal curvatures", {**_FIXED, "curvatures": [1, 1], "E": 8, "eta": "1/8"}),
        edge(MORE, "E = 1", {**_FIXED, "E": 1, "eta": "1/4"}),
        edge(SHORT, "E eta L = 9/8", {**_FIXED, "E": 9, "eta": "1/8"}),
    )
)  # fmt: skip
