"""The methods of checking: their names, their costs and what they decide.

The module of `dpfl_theory.checks` with a method's name runs its checks (`dpfl_theory.checks.execute`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpfl_theory.errors import unknown_name

__all__ = ["METHODS", "UNITS", "Method", "get", "known"]

UNITS = "units"
"""The check by algebra that every displayed formula gets automatically."""


@dataclass(frozen=True)
class Method:
    """One way of checking a statement.

    name: the name in checks, evidence and the command line. description: what it does, in a few words.

    decisive: whether its result can decide a statement. A method that checks only formulas does not where another one
    compares the sides. simulates: whether its verdict is random, from runs of algorithms. Such checks share the
    false-alarm probability, need compiled kernels, and can be varied in search of a failing instance. threads: whether
    it calls kernels or linear algebra with their own threads. limits: whether its evidence has limits on both sides,
    which show by how much the right side might shrink; for other methods that is found by planted errors. relations:
    those by which it can compare the sides of a statement; None where it does not compare them itself. builds: what a
    check's ``build`` returns, by name in `dpfl_theory.core`.
    """

    name: str
    description: str
    decisive: bool = True
    simulates: bool = False
    threads: bool = True
    limits: bool = False
    relations: tuple[str, ...] | None = None
    builds: tuple[str, ...] = ()

    @property
    def runner(self) -> str:
        """The module that runs its checks.

        >>> get("worst-case").runner
        'dpfl_theory.checks.worst_case'
        """
        return f"dpfl_theory.checks.{self.name.replace('-', '_')}"

    def compares_by(self, relation: str) -> bool:
        """Whether this method can check statements with this relation."""
        return self.relations is None or relation in self.relations


METHODS = (
    Method("algebra", "exact algebra", decisive=False, threads=False, builds=("Outcome",)),
    Method(
        "exact",
        "exact rational arithmetic",
        threads=False,
        relations=("<=", "=="),
        builds=("Values", "Case", "Outcome"),
    ),
    Method("privacy", "accounting of privacy", limits=True, builds=("GaussianClaim", "PrivacyClaim", "ConstantClaim")),
    Method(
        "worst-case",
        "worst cases over a whole class of functions",
        relations=("<=", "==", ">="),
        builds=("WorstCase", "Performance"),
    ),
    Method(
        "monte-carlo",
        "simulation with confidence limits",
        simulates=True,
        limits=True,
        relations=("<=", "=="),
        builds=("Experiment",),
    ),
)
"""All methods, those with cheap checks first."""


def known() -> Mapping[str, Method]:
    """All methods by name, cheap ones first.

    >>> list(known())
    ['algebra', 'exact', 'privacy', 'worst-case', 'monte-carlo']
    """
    return {method.name: method for method in METHODS}


def get(name: str) -> Method:
    """The method of that name. Raises InputError for another name.

    >>> get("algebra").decisive
    False
    """
    if name not in known():
        raise unknown_name("method", name, known())
    return known()[name]
