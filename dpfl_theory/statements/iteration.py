"""One description of an algorithm, checked by every method: for all functions of a class, exactly, and by runs.

The author writes what happens in a round, with an `Oracle`, and says which letters of the statement are constants of
the problem. What the statement bounds are its expectations (`Expected`), which name an observable and when it is taken.
From these alone a performance estimation problem, exact values on quadratics, and simulated runs are made; the sides
are the statement's own.

Instances give the letters in units in which L = 1 and ||x_0 - x*|| = 1. Runs go over problems with constants of their
own: these are taken, and the other letters of an instance are brought to the problem's units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any

from dpfl_theory.errors import InputError, TooMuch, unknown_name
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.claims import Experiment, Values, WorstCase
from dpfl_theory.statements.formula import Letters, evaluate, prescription_of
from dpfl_theory.statements.model import Check, Expected, Statement, checks
from dpfl_theory.worlds.base import Vector, World, average, expected
from dpfl_theory.worlds.oracle import Length, Oracle

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["CONSTANTS", "FUNCTIONS", "METHODS", "Iteration"]

METHODS = ("worst-case", "exact", "monte-carlo")
FUNCTIONS = ("convex", "strongly convex")
CONSTANTS = {
    "smoothness": "L of every f_i; without it worst cases are over functions that need not be smooth",
    "strong-convexity": "mu of every f_i",
    "clients": "n, how many there are",
    "dimension": "d, the number of parameters",
    "start-distance": "||x_0 - x*||",
    "start-suboptimality": "f(x_0) - f*",
    "gradient-spread": "the root of (1/n) sum_i ||grad f_i(x*)||^2",
}
"""What a letter may be of the problem."""
OF_INSTANCES = ("smoothness", "strong-convexity", "clients", "dimension")
"""Those that an instance gives; the others are found."""
_OBSERVED: dict[str, Callable[[Any, Vector, Vector], Any]] = {
    "suboptimality": lambda world, x, star: world.suboptimality(x),
    "distance-squared": lambda world, x, star: world.square(x - star),
    "gradient-norm-squared": lambda world, x, star: world.square(world.mean_gradient(x)),
}
"""Observables in the words of a world."""
_LANES = 512
MOST_WAYS = 100_000
"""Ways in which cohorts and coins may fall in exact values: each of some twenty quadratics takes minutes with them."""
MOST_VECTORS = 1000
"""The same in worst cases, where each has vectors of its own: no solver would end with more."""
_RANDOM_WITHIN = 40
"""Rounds in which a run that draws anything draws something."""


@dataclass(frozen=True, eq=False)
class Iteration:
    """An algorithm, described once.

    round(o, x, s): the state after a round from the state x before it; ``o`` is an `Oracle`, ``s`` has the letters, as
        ``s.eta``. A state is a vector, or a tuple, list or dataclass of vectors.
    constants: what letters are of the problem, by name, as ``dpfl-theory list constants`` has them
        (`dpfl_theory.statements.iteration.CONSTANTS`).
    functions: the class, ``convex`` or ``strongly convex`` (with mu), whose members are L-smooth where L is a constant.
    start(o, s): the state before the first round; the starting point ``o.start`` by default.
    point(state): the point of a state that is looked at; by default its first vector.
    average: look at the mean of these points instead: ``before`` of x_0, ..., x_{K-1}, ``after`` of x_1, ..., x_K.
    rounds: the letter that is the number of rounds.

    >>> step = Iteration(lambda o, x, s: x - s.eta * o.gradient(x), {"L": "smoothness", "D": "start-distance"})
    >>> [c.method for c in step.checks({"two steps": {"K": 2, "eta": 1}})]
    ['worst-case', 'exact', 'monte-carlo']
    """

    round: Callable[[Oracle, Any, Letters], Any]
    constants: Mapping[str, str] = field(default_factory=dict)
    functions: str = "convex"
    start: Callable[[Oracle, Letters], Any] | None = None
    point: Callable[[Any], Vector] | None = None
    average: str = ""
    rounds: str = "K"

    def __post_init__(self) -> None:
        from dpfl_theory.worlds.lanes import AVERAGES

        for name, role in self.constants.items():
            if role not in CONSTANTS:
                raise unknown_name(f"constant for the letter {name},", role, CONSTANTS)
        if self.functions not in FUNCTIONS:
            raise unknown_name("class of functions", self.functions, FUNCTIONS)
        if self.average not in AVERAGES:
            raise InputError(f"average is {self.average!r}: give 'before' or 'after', or leave it out for the last one")

    def checks(
        self,
        instances: Mapping[str, Mapping[str, Any]],
        by: Sequence[str] = METHODS,
        expected: str | Mapping[str, str] = "holds",
    ) -> tuple[Check, ...]:
        """A check of each instance by each of these methods.

        An instance gives every letter that is chosen: a whole number, a float, or a fraction as text ("1/8"), and the
        letters that are the constants L, mu, n and d, 1 where it does not. For runs it may name the ``problem``, as
        ``{"name": "huber", "clients": 4}``, and the number of ``lanes``.
        """
        for method in by:
            if method not in METHODS:
                raise unknown_name("method of an iteration", method, METHODS)
        return tuple(c for m in by for c in checks(m, _Build(self, m), instances, expected))

    def letter(self, role: str) -> str | None:
        """The letter that is this constant of the problem."""
        return next((name for name, what in self.constants.items() if what == role), None)


@dataclass(frozen=True, eq=False)
class _Build:
    """What makes the run of an instance by one method."""

    iteration: Iteration
    method: str
    problem: Problem | None = None

    @property
    def __code__(self) -> CodeType:
        """The author's own function, whose file and line are told where it fails."""
        return self.iteration.round.__code__

    def letters(self, statement: Statement, instance: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The letters that are known of an instance, and those among them that it chooses from a range."""
        numbers = _Plan(self.iteration, statement, instance).numbers
        whole = {s.name for s in statement.symbols if s.domain == "integer"}
        return numbers, tuple(name for name in numbers if name in instance and name not in whole)

    def on(self, problem: Problem) -> _Build:
        """The same on this problem."""
        return _Build(self.iteration, self.method, problem)

    def __call__(self, statement: Statement, instance: Mapping[str, Any]) -> Any:
        plan = _Plan(self.iteration, statement, instance)
        if self.method == "worst-case":
            return plan.worst_case()
        return list(plan.exact()) if self.method == "exact" else plan.experiment(self.problem)


class _Plan:
    """An instance, read: its numbers and its letters' roles."""

    def __init__(self, iteration: Iteration, statement: Statement, instance: Mapping[str, Any]) -> None:
        self.iteration, self.statement, self.instance = iteration, statement, instance
        symbols = {s.name: s for s in statement.symbols}
        for name in iteration.constants:
            if name not in symbols:
                raise InputError(f"{statement.id}: the constant {name!r} of its iteration is no letter: declare it")
        given = [name for name in instance if name not in ("problem", "lanes")]
        found = [name for name, role in iteration.constants.items() if role not in OF_INSTANCES]
        for name in given:
            if name not in symbols:
                raise unknown_name(f"letter of {statement.id}", name, symbols)
            if name in found:
                raise InputError(f"{name} is found from the problem, and the instance gives it: leave it out there")
        self.units = {name: s.unit for name, s in symbols.items()}
        self.numbers: dict[str, Fraction] = {name: _number(name, instance[name]) for name in given}
        for role in OF_INSTANCES:
            letter = iteration.letter(role)
            if letter is not None and letter not in self.numbers:
                if role == "strong-convexity":
                    told = f"the strong convexity: add it, as {letter!r}: '1/8'"
                    raise InputError(f"the instance gives no {letter}, {told}")
                self.numbers[letter] = Fraction(1)
        self.numbers |= self._prescribed(self.numbers)
        missing = [name for name in symbols if name not in self.numbers and name not in found]
        if missing:
            raise InputError(f"the instance gives no value for {', '.join(missing)}: add it, as {missing[0]!r}: '1/2'")
        if iteration.rounds not in self.numbers:
            raise InputError(
                f"no letter {iteration.rounds!r} gives the number of rounds: set rounds to the one that is"
            )
        self.rounds = int(self.numbers[iteration.rounds])

    def _prescribed(self, known: Mapping[str, Any]) -> dict[str, Any]:
        if self.statement.prescription is None:
            return {}
        wanted = {n: e for n, e in prescription_of(self.statement).items() if n in self.units and n not in known}
        found = {}
        for name, expression in wanted.items():
            if all(symbol.name in known for symbol in expression.free_symbols):
                try:
                    value = evaluate(expression, known, f"the prescribed {name}")
                    float(value)
                except (ArithmeticError, TypeError, ValueError) as error:  # complex, or a pole
                    at = ", ".join(f"{symbol.name} = {known[symbol.name]}" for symbol in expression.free_symbols)
                    raise InputError(f"the prescribed {name} is no real number at {at}") from error
                found[name] = value
        return found

    def of(self, role: str, otherwise: Fraction | None) -> Fraction | None:
        """A constant that the instance gives."""
        name = self.iteration.letter(role)
        return otherwise if name is None else self.numbers[name]

    def _point(self, state: Any) -> Vector:
        from dpfl_theory.worlds.lanes import first_vector

        return (self.iteration.point or first_vector)(state)

    def _begin(self, oracle: Oracle, s: Letters) -> Any:
        return oracle.start if self.iteration.start is None else self.iteration.start(oracle, s)

    def points(self, oracle: Oracle, s: Letters) -> Iterator[Vector]:
        """The points that are looked at, x_0, ..., x_K."""
        state = self._begin(oracle, s)
        mean, one = oracle.start, oracle.world.one
        yield mean if self.iteration.average else self._point(state)
        for k in range(self.rounds):
            oracle.begin(k)
            old, state = self._point(state), self.iteration.round(oracle, state, s)
            if self.iteration.average:
                seen = old if self.iteration.average == "before" else self._point(state)
                mean = mean + (seen - mean) * (one / (k + 1))
                yield mean
            else:
                yield self._point(state)

    def expectations(
        self, world: World, star: Vector, run: Callable[[], Iterator[Vector]], most: int
    ) -> dict[str, Any]:
        """Each expectation's value, or the values of all rounds for the least one, from at most so many ways in which
        choices fall."""
        wanted = [(e, self._rounds_of(e)) for e in self.statement.expectations]

        def observed() -> dict[Hashable, Any]:
            found: dict[Hashable, Any] = {}
            for k, x in enumerate(run()):
                for e, rounds in wanted:
                    if k in rounds:
                        parts = [sign * _OBSERVED[name](world, x, star) for name, sign in e.parts]
                        found[e.name, k] = sum(parts[1:], parts[0])
            return found

        try:
            values = expected(world, observed, most)
        except TooMuch as error:
            fewer = int(self.rounds * math.log(most) / math.log(max(world.ways, 2)))
            told = f"at most {fewer}" if 0 < fewer < self.rounds else "fewer"
            raise TooMuch(f"{error}: take {told} rounds, or check it by=('monte-carlo',)") from error
        found: dict[str, Any] = {}
        for e, rounds in wanted:
            own = [values[e.name, k] for k in rounds]
            found[e.name] = own if e.when == "least" else average(own)
        return found

    def _rounds_of(self, e: Expected) -> range:
        for name, _ in e.parts:
            if name not in _OBSERVED:
                raise InputError(
                    f"the observable {name!r} of {e.name} is known of runs alone: check it by=('monte-carlo',), or "
                    f"take one of {', '.join(_OBSERVED)}"
                )
        return range(self.rounds, self.rounds + 1) if e.when == "end" else range(self.rounds)

    def worst_case(self) -> WorstCase:
        """All functions of the class, from any starting point."""
        from PEPit import PEP, Expression, Point

        from dpfl_theory.worlds.performance import FunctionClass

        problem = PEP()
        variances: dict[Hashable, Any] = {}
        exactly = self.statement.relation != "<="
        world = FunctionClass(problem, self._functions(problem), variances.__getitem__, exactly=exactly)
        star = world.minimiser_at_origin()
        values: dict[str, Any] = dict(self.numbers)
        known: dict[str, Any] = {name: float(v) for name, v in self.numbers.items()}
        for name in self._lengths():
            length = Point()
            values.pop(name)
            values[f"{name}^2"] = length**2
            known[name] = Length(name, length**2)
        start = Vector(problem.set_initial_point())
        oracle = Oracle(world, start, float(self.of("dimension", Fraction(1)) or 1), variances)
        s = Letters(known, self.statement.id)
        values |= self.expectations(world, star, partial(self.points, oracle, s), MOST_VECTORS)
        for e in self.statement.expectations:
            if e.when == "least":
                least = Expression()
                for value in values[e.name]:
                    problem.add_constraint(least <= value)
                values[e.name] = least
        world.begin([])
        for name, role in self.iteration.constants.items():
            if role == "start-distance":
                values[f"{name}^2"] = world.square(start - star)
            elif role == "start-suboptimality":
                values[name] = world.suboptimality(start)
            elif role == "gradient-spread":
                values[f"{name}^2"] = average([world.square(world.gradient(i, star)) for i in oracle.clients])
        errors = ", with errors that fall on a vector or its opposite" if world.looked_at else ""
        least = tuple(e.name for e in self.statement.expectations if e.when == "least")
        return WorstCase(problem, values, f"{self.statement.id}{errors}", capped=least)

    def _lengths(self) -> list[str]:
        """The letters of the instance that are lengths in units in which L is a number: known by their squares."""
        found = []
        for name in self.numbers:
            degree = 2 * self.units[name][0] + self.units[name][1]
            if degree == 1:
                found.append(name)
            elif degree != 0:
                raise InputError(f"{name} has a unit of degree {degree} in X: worst cases take lengths and numbers")
        return found

    def _functions(self, problem: Any) -> list[Any]:
        from PEPit.functions import ConvexFunction, StronglyConvexFunction

        from dpfl_theory.worlds.performance import declared

        count, mu = int(self.of("clients", Fraction(1)) or 1), float(self.of("strong-convexity", Fraction(0)) or 0)
        smooth = self.of("smoothness", None)
        strongly = self.iteration.functions == "strongly convex"
        if smooth is not None:
            return declared(problem, self.iteration.functions, count, mu, float(smooth))
        if strongly:
            return [problem.declare_function(StronglyConvexFunction, mu=mu) for _ in range(count)]
        return [problem.declare_function(ConvexFunction) for _ in range(count)]

    def exact(self) -> Iterator[Values]:
        """Quadratics from ||x_0 - x*|| = 1: flat and steep ones, of clients that agree and that do not."""
        from dpfl_theory.worlds.rational import Quadratics

        d = self.of("dimension", Fraction(1)) or Fraction(1)
        for curvatures, gradients in self._quadratics():
            # f_i(x) = a_i x^2/2 - b_i x with the b_i adding up to nothing: the minimiser is the origin.
            variances: dict[Hashable, Any] = {}
            world = Quadratics(curvatures, gradients, variances.__getitem__)
            star, start = world.minimiser, world.minimiser + Vector(Fraction(1))
            oracle, s = Oracle(world, start, d, variances), Letters(self.numbers, self.statement.id)
            values: dict[str, Any] = dict(self.numbers)
            values |= self.expectations(world, star, partial(self.points, oracle, s), MOST_WAYS)
            for e in self.statement.expectations:
                if e.when == "least":
                    values[e.name] = min(values[e.name])
            for name, role in self.iteration.constants.items():
                if role == "start-distance":
                    values[name] = Fraction(1)
                elif role == "start-suboptimality":
                    values[name] = world.suboptimality(start)
                elif role == "gradient-spread":
                    square = sum((g * g for g in gradients), Fraction(0)) / len(gradients)
                    values[name] = _root(square)
            told = {"curvatures": curvatures, "gradients at x*": gradients} if len(curvatures) > 1 else {}
            yield Values(values, {**self.numbers, **(told or {"curvature": curvatures[0]})})

    def _quadratics(self) -> Iterator[tuple[tuple[Fraction, ...], tuple[Fraction, ...]]]:
        """Curvatures a_i between mu and L, and gradients b_i at the minimiser."""
        n, L = int(self.of("clients", Fraction(1)) or 1), self.of("smoothness", Fraction(1)) or Fraction(1)
        mu = self.of("strong-convexity", Fraction(0)) or Fraction(0)
        least = mu or L / 4096
        steep = [L / 4**i for i in range(7) if L / 4**i > least]
        flat = [*steep, least]
        nothing = (Fraction(0),) * n
        for a in flat:
            yield (a,) * n, nothing
        if n > 1:
            signs = tuple(Fraction((-1) ** i) for i in range(n - n % 2)) + (Fraction(0),) * (n % 2)
            mixed = [tuple(L if i % 2 else low for i in range(n)) for low in dict.fromkeys((max(L / 8, least), least))]
            yield from ((own, nothing) for own in mixed)
            for spread in (L, 64 * L):  # the second is nearly a start at the minimiser
                for curvatures in (*((a,) * n for a in (L, L / 4, least)), *mixed):
                    yield curvatures, tuple(spread * sign for sign in signs)

    def experiment(self, own: Problem | None = None) -> Experiment:
        """Runs from the origin, on the problem that the instance names, or on this one."""
        import numpy as np

        from dpfl_theory.algorithms.observables import Reach
        from dpfl_theory.worlds.lanes import Iterated, first_vector

        problem = self._problem() if own is None else own
        c = problem.constants
        if c.w_star is None:
            raise InputError(f"the infimum of {problem.name!r} is not attained: take one with a minimiser, add a ridge")
        start = np.zeros(problem.d)
        distance = float(np.linalg.norm(c.w_star))
        excess = problem.value(start) - problem.value(c.w_star)
        given = self.of("smoothness", Fraction(1)) or Fraction(1)
        X, F = distance or 1.0, c.L_max / float(given) * (distance or 1.0) ** 2
        spread = float(np.sqrt(np.mean(np.sum(problem.gradients_at_star**2, axis=1))))
        roles = {
            "smoothness": c.L_max,
            "strong-convexity": c.mu_min,
            "clients": problem.n,
            "dimension": problem.d,
            "start-distance": distance,
            "start-suboptimality": excess,
            "gradient-spread": spread,
        }
        values = {
            name: float(v) * F ** self.units[name][0] * X ** self.units[name][1] for name, v in self.numbers.items()
        }
        values |= {name: float(roles[role]) for name, role in self.iteration.constants.items()}
        prescribed = self._prescribed(
            {n: v for n, v in values.items() if n in self.instance or n in self.iteration.constants}
        )
        values |= {name: float(v) for name, v in prescribed.items()}
        s = Letters(values, self.statement.id)
        iteration = self.iteration
        algorithm = Iterated(
            lambda oracle: self._begin(oracle, s),
            lambda oracle, state: iteration.round(oracle, state, s),
            iteration.point or first_vector,
            iteration.average,
            getattr(iteration.round, "__name__", "iteration"),
            values,
        )
        random = _draws(algorithm, problem, min(self.rounds, _RANDOM_WITHIN))
        lanes = self.instance.get("lanes", _LANES)
        reach = Reach.anywhere(problem)
        return Experiment(problem, algorithm, self.rounds, start, values, lanes, reach, random=random)

    def _problem(self) -> Problem:
        from dpfl_theory import problems

        given = dict(self.instance.get("problem", {}))
        if "name" in given:
            return problems.make(given.pop("name"), **given)
        clients = int(self.of("clients", Fraction(1)) or 1)
        d = self.of("dimension", None)
        sizes = {"clients": clients, "dimension": 10 if d is None else int(d), **given}
        mu, L = self.of("strong-convexity", None), self.of("smoothness", Fraction(1)) or Fraction(1)
        if mu:
            condition = float(L / mu)
            return problems.make("quadratic", **{"condition": condition, "smoothness": float(L), "seed": 1, **sizes})
        return problems.make("huber", **{"seed": 1, **sizes})


def _draws(algorithm: Any, problem: Problem, rounds: int) -> bool:
    """Whether a run draws anything in its first rounds."""
    import numpy as np

    from dpfl_theory.algorithms.base import Context
    from dpfl_theory.kernels import select
    from dpfl_theory.kernels.engine import Lanes

    engine = select("cpu")
    context = Context(engine, problem, problem.kernels(engine), Lanes(0, 0, 1), slice(0, 1), np.zeros((1, problem.d)))
    state = algorithm.begin(context).inner
    for k in range(rounds):
        state, drawn = algorithm.played(context, state, k)
        if drawn:
            return True
    return False


def _number(name: str, value: Any) -> Fraction:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            if not isinstance(value, float) or math.isfinite(value):
                return Fraction(value)
        except (ValueError, ZeroDivisionError):
            pass
    raise InputError(f"the instance gives {name} = {value!r}: write a number, or a fraction as text, '1/8'")


def _root(square: Fraction) -> Any:
    """The root of a fraction: a fraction where it is one, else a number of sympy."""
    root = sp.sqrt(sp.Rational(square.numerator, square.denominator))
    return Fraction(int(root.p), int(root.q)) if root.is_Rational else root
