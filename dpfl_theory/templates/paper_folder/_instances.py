"""The instances of paper-name, in units in which L = 1 and the start is at distance 1; each is named and has tags."""

from __future__ import annotations

from dpfl_theory.statements.instances import Instances, edge, row
from dpfl_theory.templates.paper_folder._symbols import SHORT

TABLE = Instances(
    (
        row("few", "two steps", {"K": 2, "eta": 1}),
        row("few", "three half steps", {"K": 3, "eta": "1/2"}),
        row("many", "a hundred steps", {"K": 100, "eta": "1/2"}),
        edge(SHORT, "just outside eta <= 1/L", {"K": 2, "eta": "65/64"}),  # one for each hypothesis  <-
    )
)
