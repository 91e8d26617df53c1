"""Terms of zhang2021's and shulgin2025's bounds: without each of them an instance refutes the remaining bound."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpfl_theory.checks import exact, monte_carlo
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Sides
from dpfl_theory.core.formula import sides_of
from dpfl_theory.statements import get

SETTINGS = Settings(device="cpu")
AWAY, RESTS = "memories that lead away from the optimum", "clients of different curvatures, where the rounds rest"
DECIDES = (
    ("shulgin2025.theorem1", "memory", AWAY),
    ("shulgin2025.theorem2", "memory", AWAY),
    ("shulgin2025.corollary1", "memory", AWAY),
    ("shulgin2025.corollary2", "memory", AWAY),
    ("shulgin2025.eq12.repaired", "memory", "a memory that leads away from the optimum"),
    ("zhang2021.theorem3.1.repaired", "drift", RESTS),
    ("zhang2021.theorem3.1.repaired.sharpened", "drift", RESTS),
    ("zhang2021.theorem3.1.repaired.sharpened", "privacy", "identical clients, privacy noise"),
    ("zhang2021.theorem3.1.repaired.sharpened", "clipping bias", "nine of ten clients clipped to a thousandth"),
    (
        "zhang2021.corollary3.2.1.repaired",
        "initialisation",
        "thirty of 300 identical clients, what is left of the start",
    ),
)


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(("id_", "term", "check"), DECIDES, ids=[f"{id_}-{term}" for id_, term, _ in DECIDES])
def test_without_the_term_the_instance_refutes_the_bound(id_: str, term: str, check: str) -> None:
    statement = get(id_)
    (chosen,) = (c for c in statement.checks if c.name == check)
    method = {"exact": exact, "monte-carlo": monte_carlo}[chosen.method]
    assert method.run(statement, chosen, SETTINGS).verdict == "holds"
    made = sides_of(statement)
    less = {name: value for name, value in made.rhs.items() if name != term}
    assert len(less) == len(made.rhs) - 1
    planted = replace(statement, sides=lambda _: Sides(made.lhs, less))
    assert method.run(planted, chosen, SETTINGS).verdict == "violated"


@pytest.mark.parametrize("spent", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_the_curvature_term_of_shulgin_s_theorem_1_decides_nowhere(spent: float, share: float) -> None:
    """With A <= R = 1 and L gamma = share R the sharpened bound is below what the other two terms allow."""
    sharpened = (1.0 + (spent + share / 2) ** 2) ** 0.5
    assert sharpened < spent + 2.0
