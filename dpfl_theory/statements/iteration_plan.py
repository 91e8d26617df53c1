"""A parsed instance of an iteration: its numbers, its symbols' roles, the points of its rounds and its observables."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.core import Expected, Statement, Symbols
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of
from dpfl_theory.errors import InputError, InstanceError, WorkLimitError, unknown_name
from dpfl_theory.semantics.base import Vector, World, average, expected
from dpfl_theory.semantics.oracle import Oracle

if TYPE_CHECKING:
    from dpfl_theory.statements.iteration import Iteration

OF_INSTANCES = ("smoothness", "strong-convexity", "clients", "dimension")
"""The constants of the problem that an instance gives; the others are computed."""
_OBSERVED: dict[str, Callable[[Any, Vector, Vector], Any]] = {
    "suboptimality": lambda world, x, star: world.suboptimality(x),
    "distance-squared": lambda world, x, star: world.square(x - star),
    "gradient-norm-squared": lambda world, x, star: world.square(world.mean_gradient(x)),
}
"""Observables in the operations of a world."""


_DOMAINS: dict[str, Callable[[Fraction], bool]] = {
    "positive": lambda x: x > 0,
    "nonnegative": lambda x: x >= 0,
    "integer": lambda x: x.denominator == 1,
    "probability": lambda x: 0 <= x <= 1,
    "real": lambda x: True,
}


class Plan:
    """A parsed instance: its numbers and its symbols' roles."""

    def __init__(self, iteration: Iteration, statement: Statement, instance: Mapping[str, Any]) -> None:
        self.iteration, self.statement, self.instance = iteration, statement, instance
        symbols = {s.name: s for s in statement.symbols}
        for name in iteration.constants:
            if name not in symbols:
                raise InputError(f"{statement.id}: the constant {name!r} of its iteration is not a symbol: declare it")
        given = [name for name in instance if name not in ("problem", "replicates")]
        found = [name for name, role in iteration.constants.items() if role not in OF_INSTANCES]
        for name in given:
            if name not in symbols:
                raise InstanceError(str(unknown_name(f"symbol of {statement.id}", name, symbols)))
            if name in found:
                raise InstanceError(f"{name} is computed from the problem, but the instance gives it: leave it out")
        self.units = {name: s.unit for name, s in symbols.items()}
        self.numbers: dict[str, Fraction] = {name: _number(name, instance[name]) for name in given}
        counts = {iteration.rounds, *(iteration.symbol(role) for role in ("clients", "dimension"))}
        for name, value in self.numbers.items():
            domain = symbols[name].domain
            if name in counts and (value < 1 or value.denominator > 1):
                raise InstanceError(f"the instance gives {name} = {value}: give a whole number of at least 1")
            if not _DOMAINS[domain](value):
                message = f"and its domain is {domain}: give another value, or declare another domain"
                raise InstanceError(f"the instance gives {name} = {value}, {message}")
        if not isinstance(instance.get("replicates", 1), int) or instance.get("replicates", 1) < 1:
            raise InstanceError(
                f"the instance gives {instance['replicates']!r} replicates: give a whole number of at least 1"
            )
        for role in OF_INSTANCES:
            symbol = iteration.symbol(role)
            if symbol is not None and symbol not in self.numbers:
                if role == "strong-convexity":
                    message = f"the strong convexity: add it, as {symbol!r}: '1/8'"
                    raise InstanceError(f"the instance gives no {symbol}, {message}")
                self.numbers[symbol] = Fraction(1)
        self.numbers |= self.prescribed(self.numbers)
        missing = [name for name in symbols if name not in self.numbers and name not in found]
        if missing:
            example = "2" if symbols[missing[0]].domain == "integer" else "'1/2'"
            raise InstanceError(
                f"the instance gives no value for {', '.join(missing)}: add it, as {missing[0]!r}: {example}, "
                "or name it among the constants of the iteration if the problem decides it"
            )
        if iteration.rounds not in self.numbers:
            raise InputError(
                f"no symbol {iteration.rounds!r} gives the number of rounds: set rounds to the one that is"
            )
        self.rounds = int(self.numbers[iteration.rounds])

    def prescribed(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """The symbols that the statement prescribes, from those that are known."""
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
                    raise InputError(f"the prescribed {name} is not a real number at {at}") from error
                found[name] = value
        return found

    def constant(self, role: str, otherwise: Fraction | None) -> Fraction | None:
        """A constant that the instance gives."""
        name = self.iteration.symbol(role)
        return otherwise if name is None else self.numbers[name]

    def point(self, state: Any) -> Vector:
        """The point of a state that is observed."""
        from dpfl_theory.semantics.replicates import first_vector

        return (self.iteration.point or first_vector)(state)

    def initial_state(self, oracle: Oracle, s: Symbols) -> Any:
        """The state before the first round."""
        return oracle.start if self.iteration.start is None else self.iteration.start(oracle, s)

    def points(self, oracle: Oracle, s: Symbols) -> Iterator[Vector]:
        """The points that are observed, x_0, ..., x_K."""
        state = self.initial_state(oracle, s)
        mean, one = oracle.start, oracle.world.one
        yield mean if self.iteration.average else self.point(state)
        for k in range(self.rounds):
            oracle.start_round(k)
            old, state = self.point(state), self.iteration.round(oracle, state, s)
            if state is None:
                raise InputError("the round returns None: return the state after it")
            if self.iteration.average:
                seen = old if self.iteration.average == "before" else self.point(state)
                mean = mean + (seen - mean) * (one / (k + 1))
                yield mean
            else:
                yield self.point(state)

    def expectations(
        self,
        world: World,
        star: Vector,
        run: Callable[[], Iterator[Vector]],
        maximum: int,
        least: Callable[[list[Any]], Any],
    ) -> dict[str, Any]:
        """Each expectation's value, from at most ``maximum`` outcomes of the choices; least: of the values of several
        rounds."""
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
            values = expected(world, observed, maximum)
        except WorkLimitError as error:
            fewer = int(self.rounds * math.log(maximum) / math.log(max(world.ways, 2)))
            message = f"at most {fewer}" if 0 < fewer < self.rounds else "fewer"
            raise WorkLimitError(f"{error}: take {message} rounds, or give its row the tag monte-carlo") from error
        found: dict[str, Any] = {}
        for e, rounds in wanted:
            own = [values[e.name, k] for k in rounds]
            found[e.name] = least(own) if e.when == "least" else average(own)
        return found

    def _rounds_of(self, e: Expected) -> range:
        for name, _ in e.parts:
            if name not in _OBSERVED:
                raise InputError(
                    f"the observable {name!r} of {e.name} is known for runs only: give its row the tag monte-carlo, or "
                    f"take one of {', '.join(_OBSERVED)}"
                )
        return range(self.rounds, self.rounds + 1) if e.when == "end" else range(self.rounds)


def _number(name: str, value: Any) -> Fraction:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            if not isinstance(value, float) or math.isfinite(value):
                return Fraction(value)
        except (ValueError, ZeroDivisionError):
            pass
    raise InstanceError(f"the instance gives {name} = {value!r}: write a number, or a fraction as text, '1/8'")
