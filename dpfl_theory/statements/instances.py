"""Instances as data: the named rows of a paper's table, with tags, and the runs of a statement that they give.

A statement names the tags of its runs. The runs just outside its hypotheses follow from these: a row of the table names
the one hypothesis that it does not meet, and every statement with that hypothesis gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Statement
from dpfl_theory.errors import InputError

Instance = dict[str, Any]
OUTSIDE = "not-applicable"


def problem(family: str, **parameters: Any) -> Instance:
    """A problem by its family's name and parameters."""
    return {"family": family, "parameters": parameters}


def independent(r: float) -> Instance:
    """A cohort that each client joins independently with probability r/n."""
    return {"scheme": "poisson", "size": r}


def fixed(r: int) -> Instance:
    """A cohort of r clients without replacement."""
    return {"scheme": "fixed", "size": r}


@dataclass(frozen=True)
class Row:
    """A named instance with its tags.

    outside: the one hypothesis that it does not meet; given, unless: one that a statement has, and one that it does not
    have, if the row is for it. A row that is given a hypothesis replaces the general one of its name.
    """

    name: str
    instance: Mapping[str, Any]
    tags: frozenset[str] = frozenset()
    outside: Hypothesis | None = None
    given: Hypothesis | None = None
    unless: Hypothesis | None = None

    def concerns(self, hypotheses: tuple[Hypothesis, ...]) -> bool:
        """Whether it lies just outside of one of them, and is for a statement that has them."""
        return (
            self.outside in hypotheses
            and (self.given is None or self.given in hypotheses)
            and (self.unless is None or self.unless not in hypotheses)
        )


def row(tags: str, name: str, instance: Mapping[str, Any] | None = None) -> Row:
    """A row with these tags, separated by spaces."""
    if not isinstance(name, str) or not isinstance(instance, Mapping):
        raise InputError(
            f"a row has the tags {tags!r} and the name {name!r}: write row('tags', 'name', {{'K': 2, ...}})"
        )
    return Row(name, instance, frozenset(tags.split()))


def edge(
    outside: Hypothesis,
    name: str,
    instance: Mapping[str, Any],
    given: Hypothesis | None = None,
    unless: Hypothesis | None = None,
) -> Row:
    """A row just outside a hypothesis and within all others."""
    return Row(name, instance, outside=outside, given=given, unless=unless)


def edges_of(
    method: str,
    build: Callable[..., Any],
    instance: Mapping[str, Any],
    outside: Mapping[str, Mapping[str, Any]],
    inside: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[Check]:
    """The checks just inside and just outside of hypotheses, by these in words: what each changes in an instance.

    >>> found = edges_of("exact", print, {"T": 9}, {"T >= 1": {"T": 0}}, {"T >= 1": {"T": 1}})
    >>> [(check.name, check.instance, check.expected) for check in found]
    [('just inside T >= 1', {'T': 1}, 'holds'), ('just outside T >= 1', {'T': 0}, 'not-applicable')]
    """
    for side, changes, verdict in (("inside", inside or {}, "holds"), ("outside", outside, OUTSIDE)):
        for words, change in changes.items():
            yield Check(method, f"just {side} {words}", build, {**instance, **change}, verdict)


class Instances(tuple[Row, ...]):
    """A paper's table of instances.

    >>> table = Instances((row("short smoke", "one round", {"K": 1}), row("long", "many rounds", {"K": 100})))
    >>> table["short long"]
    {'one round': {'K': 1}, 'many rounds': {'K': 100}}
    >>> table.copied("long", "longer", K=200)["longer"]
    {'many rounds': {'K': 200}}
    """

    def __getitem__(self, tags: Any) -> Any:
        """The instances with one of these tags, by name."""
        if not isinstance(tags, str):
            return super().__getitem__(tags)
        found: dict[str, Mapping[str, Any]] = {}
        for tag in tags.split():
            tagged = [one for one in self if tag in one.tags]
            if not tagged:
                known = ", ".join(sorted({t for one in self for t in one.tags}))
                remedy = (
                    f"choose among {known}"
                    if known
                    else "give its rows tags"
                    if self
                    else "the table has no rows, so give it some, with table=TABLE"
                )
                raise InputError(f"no instance has the tag {tag!r}: {remedy}")
            for one in tagged:
                if found.setdefault(one.name, one.instance) != one.instance:
                    message = f"with the tags {tags.strip()!r} have the name {one.name!r}: rename one"
                    raise InputError(f"two different instances {message}")
        return found

    def copied(
        self,
        tags: str,
        to: str,
        *names: str,
        named: Callable[[str], str] = str,
        change: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda instance: {},
        **changes: Any,
    ) -> Instances:
        """The table with copies of rows: those with one of these tags, or of them those named, with changes.

        to: the copies' tags; named: their names, from the names of the rows; change: changes that depend on the
        instance.
        """
        chosen = self[tags]
        copies = (row(to, named(n), {**chosen[n], **change(chosen[n]), **changes}) for n in names or chosen)
        return Instances((*self, *copies))

    def outside(self, hypotheses: tuple[Hypothesis, ...]) -> dict[str, Mapping[str, Any]]:
        """The instances just outside of one of these hypotheses, by name."""
        chosen = [one for one in self if one.concerns(hypotheses)]
        return {one.name: one.instance for one in sorted(chosen, key=lambda one: one.given is not None)}


@dataclass(frozen=True)
class Runs:
    """The runs of a paper's statements: its table, and the function that makes an experiment of a statement and an
    instance. A call gives those of one statement, for its `battery`.

    edges: whether the rows just outside its hypotheses are among them; label: what the names of its checks start with.
    """

    table: Instances
    build: Callable[[Statement, Mapping[str, Any]], Any]
    method: str = "monte-carlo"
    edges: bool = True
    label: str = ""

    def by(self, build: Callable[[Statement, Mapping[str, Any]], Any], edges: bool = False) -> Runs:
        """The runs by another function: without the edges where the usual one makes them."""
        return replace(self, build=build, edges=edges)

    def __call__(
        self,
        holds: str = "",
        *,
        violated: str = "",
        beyond: str = "",
        cohorts: str = "",
        near: str = "",
        without: Mapping[str, str] | None = None,
    ) -> Callable[[Statement], Iterator[Check]]:
        """The checks on the instances with these tags, by the verdict that they are known to give.

        beyond: tags of instances outside the hypotheses, in addition to the edges; cohorts: only instances with this
        sampling scheme, and those in which all clients take part; near: the instance that the edges change, where
        they have only what differs from it, by its name or a tag of its own; without: instances that are left out,
        each with the reason.
        """

        def checks(statement: Statement) -> Iterator[Check]:
            left = dict(without or {})
            known = self.table[f"{holds} {violated} {beyond}"]
            base = known[near] if near in known else next(iter(self.table[near].values())) if near else {}
            edges = self.table.outside(statement.hypotheses) if self.edges else {}
            edges = {name: {**base, **instance} for name, instance in edges.items()}
            for verdict, found in (
                ("holds", self.table[holds]),
                ("violated", self.table[violated]),
                (OUTSIDE, {**edges, **self.table[beyond]}),
            ):
                for name, instance in found.items():
                    scheme = instance.get("cohort", {}).get("scheme", cohorts)
                    if left.pop(name, None) is None and (not cohorts or verdict != "holds" or scheme == cohorts):
                        yield Check(self.method, self.label + name, self.build, instance, verdict)
            if left:
                raise ValueError(f"{statement.id} has no instance {', '.join(map(repr, sorted(left)))} to leave out")

        return checks
