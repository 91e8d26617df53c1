"""What a statement hands to each method: the data that a check's ``build`` returns.

algebra: `Outcome`; worst-case: `Performance`; exact: `Case`; monte-carlo: `Experiment`; privacy: `GaussianClaim`.
How they are decided is the business of `dpfl_theory.checks`, which imports this module, never the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfl_theory.algorithms import Algorithm
    from dpfl_theory.algorithms.observables import Reach
    from dpfl_theory.problems.base import Array, Problem

__all__ = ["Case", "Experiment", "GaussianClaim", "Outcome", "Performance"]


@dataclass(frozen=True)
class Outcome:
    """What an algebra check found: ``true`` (None when neither proved nor refuted) and one sentence of reason; notes
    may carry the expressions as text."""

    true: bool | None
    reason: str
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Performance:
    """left <= right over all functions of a class.

    problem: the PEPit problem, without normalisation and metric; left, right: PEPit expressions, homogeneous of degree
    two; what: the inequality in words. ``also`` names problems that are solved for information only (outside the
    hypotheses, or with sharper constants); their worst ratios are kept in the evidence's notes.
    """

    problem: Any
    left: Any
    right: Any
    what: str
    also: Mapping[str, Callable[[], Performance]] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One instance, named by its ``values``, with both sides of the statement on it.

    Floats are refused: a side that was rounded is no longer exact.

    >>> Case({"n": 2}, Fraction(3, 2), Fraction(1)).excess
    Fraction(1, 2)
    """

    values: Mapping[str, Any]
    lhs: Fraction
    rhs: Fraction
    terms: Mapping[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, side in (("left", self.lhs), ("right", self.rhs)):
            if not isinstance(side, (Fraction, int)):
                raise TypeError(f"the {name} side is {side!r}, a {type(side).__name__}: give a Fraction")

    @property
    def excess(self) -> Fraction:
        """How far the left side lies above the right one."""
        return self.lhs - self.rhs


@dataclass(frozen=True)
class Experiment:
    """What a Monte-Carlo check's ``build`` returns: the run, the values of the statement's symbols, and the run's
    reach."""

    problem: Problem
    algorithm: Algorithm
    rounds: int
    start: Array
    values: Mapping[str, float]
    lanes: int = 2048
    reach: Reach | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class GaussianClaim:
    """The claim: standard deviation s(delta) Delta_2/epsilon gives (epsilon, delta) for all epsilon and delta in a box.

    scale: s as a function of delta (mpmath number or decimal text), decreasing; epsilons, deltas: increasing grids of
    decimal texts. The box is (0, last epsilon] x [first delta, last delta]; the grid is where the largest ratio is
    looked for.
    """

    scale: Callable[[Any], Any]
    epsilons: tuple[str, ...]
    deltas: tuple[str, ...]

    def noise_multiplier(self, epsilon: Any, delta: Any) -> Any:
        """Standard deviation over sensitivity."""
        import mpmath

        with mpmath.workdps(65):
            return self.scale(delta) / mpmath.mpf(epsilon)
