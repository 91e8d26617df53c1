"""A check of a statement: a method, an instance, and the function that makes the method's input from both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.check_inputs import restated

if TYPE_CHECKING:
    from dpfl_theory.core.statement import Statement


@dataclass(frozen=True, eq=False)
class Check:
    """One way in which a statement is checked: a method, an instance (plain JSON data) and its builder.

    ``build(statement, instance)`` returns the input of the method's runner in `dpfl_theory.checks`: values for the
    statement's symbols, at which the runner evaluates its sides. ``expected`` is the verdict that this very check is
    known to give; the statement's own expected verdict follows from all of its checks. ``part``: for a check that
    decides a step towards the comparison of the two sides, not the comparison itself. It is one sentence on which step,
    and on what remains. ``smoke``: whether it belongs to the smoke set.
    """

    method: str
    name: str
    build: Callable[..., Any]
    instance: Mapping[str, Any] = field(default_factory=dict)
    expected: str = "holds"
    part: str = ""
    smoke: bool = False

    def make(self, statement: Statement, instance: Mapping[str, Any] | None = None) -> Any:
        """The object that ``build`` makes of the statement and the instance, or another one; a list of those that it
        yields.

        ``stated`` in an instance changes the stated values of some symbols from those of ``build``, so that a
        hypothesis fails: by a factor (``"99/100"``) or, with a sign, by an addend (``"+1/50"``).
        """
        data = self.instance if instance is None else instance
        built = self.build(statement, {k: v for k, v in data.items() if k != "stated"})
        built = list(built) if isinstance(built, Iterator) else built
        return restated(built, data["stated"]) if "stated" in data else built


def checks(
    method: str,
    build: Callable[..., Any],
    instances: Mapping[str, Mapping[str, Any]],
    expected: str | Mapping[str, str] = "holds",
    part: str = "",
) -> tuple[Check, ...]:
    """A check by one method for each named instance. expected: one verdict for all, or the verdicts of the instances
    that do not hold, by name.

    >>> [c.expected for c in checks("exact", print, {"a": {}, "b": {}}, {"b": "violated"})]
    ['holds', 'violated']
    """
    known = {} if isinstance(expected, str) else expected
    if strange := set(known) - set(instances):
        raise ValueError(f"a verdict is recorded for {', '.join(sorted(strange))}, which is not an instance")
    usual = expected if isinstance(expected, str) else "holds"
    return tuple(Check(method, name, build, i, known.get(name, usual), part) for name, i in instances.items())


Part = Check | Iterable[Check] | Callable[["Statement"], Iterable[Check]]
"""Checks, or a function that makes them of the statement."""


class Battery(tuple[Check, ...]):
    """The checks of a statement that is not defined yet; `Statement` makes them of its own symbols and hypotheses."""

    parts: tuple[Part, ...]

    def of(self, statement: Statement) -> Iterator[Check]:
        """The checks, in the order of the parts."""
        for part in self.parts:
            if isinstance(part, Check):
                yield part
            else:
                yield from part(statement) if callable(part) else part


def battery(*parts: Part) -> tuple[Check, ...]:
    """The value of a statement's ``checks``: checks, several of them, or functions that make them of the statement.

    >>> made = battery(lambda statement: [Check("exact", f"of {statement}", print)])
    >>> [c.name for c in made.of("a lemma")]
    ['of a lemma']
    """
    found = Battery()
    found.parts = parts
    return found
