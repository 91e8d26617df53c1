"""A run of an algorithm in a paper's symbols: the form in which each paper declares it once (``run_symbols.py``).

The declaration has the symbols in terms of the run, and the statements that prescribe the others. It also has the
choices that the paper leaves to its reader. Checks and sweeps evaluate it, `dpfl_theory.recommend` inverts it, and
`dpfl_theory.statements.noise_constants` solves the prescribed noise for the constant that the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Array, Problem


@dataclass(frozen=True)
class Run:
    """A run, whose hyper-parameters are its items under the names of the algorithm's description.

    clients, cohort: their number, and the expected number in a round; dim: the dimension; epsilon, delta: the budget,
    if one is given; independent: whether clients join a round independently. problem: None in accounting; start: where
    the run starts, the origin if it is None.
    """

    hyperparameters: Mapping[str, float]
    rounds: float
    clients: float
    cohort: float
    dim: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    independent: bool = False
    problem: Problem | None = None
    start: Array | None = None

    def __getitem__(self, name: str) -> float:
        return self.hyperparameters[name]


Of = Callable[[Run], float | None]


def named(*names: str) -> dict[str, Of]:
    """Symbols that are hyper-parameters of the same name."""
    return {name: itemgetter(name) for name in names}


COMMON: Mapping[str, Of] = {"epsilon": lambda run: run.epsilon, "delta": lambda run: run.delta}
"""The budget, whose symbols all papers share."""


@dataclass(frozen=True)
class NoiseFormula:
    """A prescription of noise with a constant that the paper leaves open.

    Args:
        statement: its id in the catalogue.
        symbol: the constant.
        formula: the prescription, in LaTeX.
        hypothesis: the printed range of epsilon.
        algorithm: the mechanism that it is for; sigma: the paper's sigma, as this mechanism names it.
        ranged_by: the statement with the range, which has a constant u; the same statement by default.
    """

    statement: str
    symbol: str
    formula: str
    hypothesis: str
    algorithm: str
    sigma: str = "sigma"
    ranged_by: str = ""


@dataclass(frozen=True)
class RunSymbols:
    """A paper's symbols in the runs of one algorithm.

    Args:
        algorithm: its name.
        symbols: each symbol in terms of the run; one whose hyper-parameter the run lacks has no value.
        prescribing: the statements that determine the other symbols, for which they prescribe this run.
        cancelled: symbols of these statements that do not affect the others.
        constants: the symbols that are constants of the run's problem.
        bounds: the statements whose bounds concern the runs, with their variants; other_runs: variants that do not.
        departure: the reason why a run is not as the statements assume, or "?" and what the run does not show.
        noise: the prescriptions of noise with an open constant.
        inputs: the inputs of `recommend` that neither the problem nor a rule gives.
        limits: the largest value of a symbol that the noise's theorem allows.
        start: the hyper-parameters that such inputs are first computed for, from a tuned algorithm within a budget.
        most_rounds: more rounds than these do not change the inputs noticeably.
        hyperparameters: the rule's, without noise; chosen: the run's symbols that determine a choice of them.
        left_open: values that the paper leaves to its reader, from a tuned algorithm. A rule that chooses these itself
            does not get them.
        warm_round: whether a first round of all users only sets control variates.
    """

    algorithm: str
    symbols: Mapping[str, Of]
    prescribing: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()
    constants: Callable[[Run], dict[str, float]] = lambda run: {}
    bounds: tuple[str, ...] = ()
    other_runs: tuple[str, ...] = ()
    departure: Callable[[Run], str] = lambda run: ""
    noise: tuple[NoiseFormula, ...] = ()
    inputs: tuple[str, ...] = ()
    limits: Mapping[str, Of] = field(default_factory=dict)
    start: Callable[[Any], dict[str, float]] = lambda one: {"rounds": one.most_rounds}
    most_rounds: int | None = None
    hyperparameters: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    left_open: Callable[[Any], dict[str, float]] = lambda one: {}
    warm_round: bool = False

    def given(self, run: Run) -> dict[str, float]:
        """The symbols that the run itself has."""
        found = dict[str, float]()
        for name, of in {**COMMON, **self.symbols}.items():
            try:
                value = of(run)
            except KeyError:
                continue
            if value is not None:
                found[name] = value
        return found
