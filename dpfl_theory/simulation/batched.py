"""The simulation of a described algorithm: its round runs once for all clients and replicates of a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from dpfl_theory.core.algorithm import Algorithm as Description
from dpfl_theory.core.parameter import KINDS, WHOLE, Parameter
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.tape.replay import small
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.validation import count as require_integer
from dpfl_theory.simulation.base import Algorithm, Context, Round
from dpfl_theory.simulation.cohort import Cohort
from dpfl_theory.simulation.gradients import FullGradient, Gradient, RecordGradient
from dpfl_theory.simulation.hyperparameters import (
    changes,
    fits_replicates,
    positive,
    positive_steps,
    step_at,
    to_json,
)
from dpfl_theory.simulation.operations import BatchOperations, many


@dataclass
class BatchState:
    """w (S, d): the server's vector [X]; inner: the state of the description, arrays, () where it has none."""

    w: Any
    inner: Any


@dataclass(frozen=True, eq=False)
class Simulation(Algorithm):
    """The algorithm of a description, with values for its parameters, run with these cohorts.

    A value is a number, one for each replicate, or, for a positive one that is not shared, a `Schedule` or `Tabulated`
    rounds.
    """

    run: Description
    cohort: Cohort = field(default_factory=Cohort)
    gradient: Gradient = field(default_factory=FullGradient)

    def __post_init__(self) -> None:
        check_values(self.run.with_defaults())

    def with_values(self, **values: Any) -> Simulation:
        """The same simulation with other values of the algorithm's parameters, by attribute."""
        return replace(self, run=self.run.with_values(**values))

    def validate(self, problem: Problem, replicates: int) -> None:
        self.cohort.check(problem.n)
        self.gradient.validate(problem, replicates)
        run = self.run.with_defaults()
        for attribute, p in run.parameters.items():
            fits_replicates(named(p), getattr(run, attribute), replicates)

    @cached_property
    def _numbers(self) -> tuple[Description, tuple[str, ...]]:
        """The description with plain numbers, and the parameters that have other values."""
        run = self.run.with_defaults()
        own = {a: getattr(run, a) for a in run.parameters}
        plain = {a: run.parameters[a].number(v) for a, v in own.items() if single(v)}
        run = run.with_values(**plain)
        parts = {name: recorded(name, getattr(type(run), name)) for name in run.observed}
        return run.replaced(**parts), tuple(own.keys() - plain.keys())

    def _now(self, context: Context, k: Any) -> Description:
        """The description with the values of round k, as numbers or arrays (S, 1)."""
        run, others = self._numbers
        if not others:
            return run
        values = {a: step_at(getattr(run, a), k) for a in others}
        return run.with_values(**{a: v if single(v) else context.per_replicate(v)[:, None] for a, v in values.items()})

    def initial_state(self, context: Context) -> BatchState:
        o = BatchOperations(context, self.cohort, 0)
        return BatchState(context.start, o.state(self._now(context, 0).initial(o, context.start)))

    def server(self, state: BatchState) -> Any:
        return state.w

    def round(self, context: Context, state: BatchState, k: Any) -> tuple[BatchState, Round]:
        o = self.operations(context, k)
        run = self._now(context, k)
        o.few = self._few(context)
        empty = isinstance(state.inner, tuple) and not state.inner
        w, inner = run.round(o, state.w, None if empty else state.inner)
        if not o.asked:
            raise InputError(f"all clients take part in every round of {run.name}: leave out the cohort")
        if getattr(w, "shape", ()) != (o.S, o.d):
            raise InputError(
                "the round's vector does not have one row for each replicate: return a vector of the server"
            )
        after = BatchState(w, o.state(inner))
        data = {"state": state, "after": after, "algorithm": self, "run": run, **seen(o, run)}
        return after, Round(context, k, state.w, cohort=o.counts, again=partial(self.operations, context, k), **data)

    def operations(self, context: Context, k: Any) -> BatchOperations:
        """The operations of round k before its first draw."""
        return BatchOperations(context, self.cohort, k, self.gradient)

    def after(self, context: Context, state: BatchState, rounds: int) -> Round:
        again = partial(self.operations, context, rounds)
        return replace(super().after(context, state, rounds), run=self._now(context, rounds - 1), again=again)

    def _few(self, context: Context) -> bool:
        """Whether only the members of a cohort are run: where all clients at once would be slower."""
        problem, run = context.problem, self._numbers[0]
        if self.cohort.scheme != "fixed" or self.cohort.divisor(problem.n) == problem.n:
            return False
        records = run.protects == "record" or isinstance(self.gradient, RecordGradient)
        return records or not ((run.steps_are_plain() and isinstance(self.gradient, FullGradient)) or small(context))

    def describe(self) -> dict[str, Any]:
        run = self.run.with_defaults()
        values = {p.symbol: to_json(getattr(run, a)) for a, p in run.parameters.items()}
        values |= {a: int(getattr(run, a)) for a in run.counts}
        oracle = {} if isinstance(self.gradient, FullGradient) else self.gradient.describe()
        parts = {"replaced": list(self.run.replaced_parts)} if self.run.replaced_parts else {}
        return {"algorithm": self.run.name, **values, **parts, "cohort": self.cohort.describe(), **oracle}


def recorded(name: str, part: Callable[..., Any]) -> Callable[..., Any]:
    """A part of a round that leaves its value to the observables."""

    def found(a: Description, o: Any, *arguments: Any) -> Any:
        o.parts[name] = part(a, o, *arguments)
        return o.parts[name]

    return found


def seen(o: BatchOperations, run: Description) -> dict[str, Any]:
    """The data of a round that observables read."""
    phase, step, steps = o.steps or (None, None, None)
    level = run.parameters.get(run.level)
    in_gradients = level is not None and level.unit == "F/X"
    parts = o.parts
    signal = parts.get("after")
    return {
        "phase": phase,
        "local_step": step,
        "local_steps": steps,
        "messages": parts.get("messages"),
        "threshold": o.row(getattr(run, run.level)) if in_gradients else None,
        "signal": signal,
        "difference": signal if getattr(run, "sign", 0) == 1 else None,
        "noise": parts.get("noise"),
    }


def single(value: Any) -> bool:
    """Whether a value is one number for all rounds and replicates."""
    return not (changes(value) or isinstance(value, (list, tuple)) or many(value))


def named(p: Parameter) -> str:
    """A parameter in messages."""
    return f"the number of {p.meaning}" if p.kind in WHOLE else f"the {p.meaning}"


def check_values(run: Description) -> None:
    """Raise InputError unless each parameter has a value that it may take."""
    missing = [p.symbol for a, p in run.parameters.items() if getattr(run, a) is None]
    if missing:
        raise InputError(f"{run.name} needs a value of {', '.join(missing)}")
    for attribute, what in run.counts.items():
        require_integer(f"the number of {what}", getattr(run, attribute), minimum=0)
    for attribute, p in run.parameters.items():
        name, value = named(p), getattr(run, attribute)
        if p.kind in WHOLE:
            require_integer(name, value, minimum=WHOLE[p.kind])
        elif p.shared and not single(value):
            raise InputError(f"{name} is {value!r}: one number for all replicates and rounds is needed")
        elif p.kind == "positive":
            positive_steps(name, value)
        elif p.kind == "nonnegative":
            positive(name, value, zero=True)
        elif not all(map(p.fits, np.atleast_1d(value).tolist())):
            raise InputError(f"{name} is {value!r}: give {KINDS[p.kind]}")
