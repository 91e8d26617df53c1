"""Inventory of the package: the available building blocks of user theorems and configurations.

These are problem families, algorithms, observables, hypotheses, methods, papers and validations. The items of a kind
follow from their declarations, without any list to update. Nothing heavy is imported before items are requested.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpfl_theory.errors import unknown_name

__all__ = ["Item", "Kind", "Parameter", "kinds"]


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, its default as text (None where one must be given), its unit, its meaning."""

    name: str
    default: str | None
    unit: str = ""
    meaning: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "default": self.default, "unit": self.unit or None, "meaning": self.meaning or None}


@dataclass(frozen=True)
class Item:
    """A named item: its description in one line, its parameters, and more facts by name; ``text`` is the full
    description."""

    name: str
    what: str
    parameters: tuple[Parameter, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        described = {"name": self.name, "what": self.what, "parameters": [p.to_json() for p in self.parameters]}
        return {**described, **{key.replace(" ", "_"): value for key, value in self.facts.items()}}


@dataclass(frozen=True)
class Kind:
    """A kind of items: its name in plural and singular, the purpose and a function that finds the items.

    Further fields are the usage of an item, with ``NAME`` in its place, and the names of the facts that a list shows.
    """

    name: str
    one: str
    what: str
    find: Callable[[], Iterator[Item]]
    use: str = ""
    brief: tuple[str, ...] = ()

    def items(self) -> list[Item]:
        """All items."""
        return list(self.find())

    def get(self, name: str) -> Item:
        """The item of that name. Raises InputError for another name."""
        known = {item.name: item for item in self.items()}
        if name not in known:
            raise unknown_name(self.one, name, known)
        return known[name]


def _key(name: str, of: Any) -> Parameter:
    """A key of a configuration's table, with its declared meaning."""
    from dpfl_theory.core.parameter import Meaning

    default = of.get_default()
    meaning = next((one for one in of.metadata if isinstance(one, Meaning)), Meaning(of.description))
    return Parameter(name, "none" if default is None else repr(default), meaning.unit, meaning.words)


def _problems() -> Iterator[Item]:
    from dpfl_theory.core.parameter import meanings, summary
    from dpfl_theory.problems import families

    for name, make in sorted(families().items()):
        signature = inspect.signature(make).parameters
        arguments = (
            Parameter(argument, repr(signature[argument].default), meaning.unit, meaning.words)
            for argument, meaning in meanings(make).items()
        )
        yield Item(name, summary(make), tuple(arguments), text=inspect.getdoc(make) or "")


def _algorithms() -> Iterator[Item]:
    from dpfl_theory.sweep.algorithms import algorithms as tables

    for name, table in tables().items():
        kind = table.kind
        facts = {
            "source": table.source,
            "protects": f"one {kind.protects}" if kind.protects else "nothing",
            "sampling": ", ".join(kind.samplings) or "none",
            "use": f"algorithm.name={name} in a configuration",
        }
        own = {p.symbol: Parameter(p.symbol, p.usual, p.unit, p.meaning) for p in kind.parameters.values() if p.usual}
        own["cohort"] = Parameter("cohort", "all", "", "clients in a round on average")
        own["sampling"] = Parameter("sampling", kind.sampling(), "", "sampling scheme of the clients")
        keys = (own.get(key) or _key(key, of) for key, of in table.model_fields.items() if key != "name")
        yield Item(name, kind.title or name, tuple(keys), facts, inspect.getdoc(kind) or "")


# Parts of statements.


def _observables() -> Iterator[Item]:
    from dpfl_theory.simulation.observables import catalogue
    from dpfl_theory.statements.units import format_unit

    for name, one in sorted(catalogue().items()):
        when = "every round, and after the last one" if one.of_state else "every round"
        yield Item(name, one.meaning, facts={"unit": format_unit(one.unit), "formula": one.latex, "exists": when})


def _methods() -> Iterator[Item]:
    from dpfl_theory.core import methods

    for name, one in methods.known().items():
        facts = {
            "decides": "yes" if one.decisive else "not where another method compares the sides",
            "simulates": "yes" if one.simulates else "no",
        }
        relations = {} if one.relations is None else {"relations": ", ".join(one.relations)}
        yield Item(name, one.description, facts=facts | relations)


def _classes() -> Iterator[Item]:
    from dpfl_theory.statements.iteration import FUNCTIONS

    for name, what in FUNCTIONS.items():
        yield Item(name, what, facts={"members": "L-smooth where a symbol is the constant smoothness, else any"})


def _constants() -> Iterator[Item]:
    from dpfl_theory.statements.iteration import CONSTANTS, OF_INSTANCES

    given = {True: "by the instance; runs take their problem's", False: "found from problem and start"}
    for name, what in CONSTANTS.items():
        yield Item(name, what, facts={"value": given[name in OF_INSTANCES]})


_HOME = "dpfl_theory.statements."


def _hypotheses() -> Iterator[Item]:
    from dpfl_theory.statements import all_statements

    users: dict[str, list[str]] = {}
    for statement in all_statements():
        for hypothesis in statement.hypotheses:
            users.setdefault(hypothesis.text, []).append(statement.id)
    named = [(text, *name, users[text]) for text, name in _named_hypotheses().items() if text in users]
    for text, module, constant, ids in sorted(named, key=lambda one: (-len(one[3]), *one[1:3])):
        among = f"{len(ids)}, {ids[0]} among them" if len(ids) > 1 else ids[0]
        facts = {"statements": among, "use": f"from {_HOME}{module} import {constant}"}
        yield Item(f"{module}.{constant}", text, facts=facts)


def _named_hypotheses() -> dict[str, tuple[str, str]]:
    """The text of each hypothesis that a module defines under its own name, and the first of these names."""
    from dpfl_theory.core import Hypothesis

    found: dict[str, tuple[str, str]] = {}
    for module in sorted(name for name in sys.modules if name.startswith(_HOME)):
        for name, value in sorted(vars(sys.modules[module]).items()):
            if isinstance(value, Hypothesis) and not name.startswith("_"):
                found.setdefault(value.text, (module.removeprefix(_HOME), name))
    return found


def _papers() -> Iterator[Item]:
    from dpfl_theory.statements import all_statements
    from dpfl_theory.statements.paper import known

    for name, one in sorted(known().items()):
        count = sum(statement.paper == name for statement in all_statements())
        facts = {"authors": one.authors, "title": one.title, "appeared": one.year, "statements": str(count)}
        yield Item(name, one.heading, facts=facts, text=f"Read: {one.copy}.")


def _validations() -> Iterator[Item]:
    """The scripts' titles and data, as far as these are plain text: importing the scripts takes seconds."""
    from dpfl_theory.validation.script import available

    def text(node: ast.expr) -> str:
        try:
            return str(ast.literal_eval(node))
        except ValueError:
            return ""

    for name, path in sorted(available().items()):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
        given = {ast.unparse(target): node.value for node in assigned for target in node.targets}
        facts = {"file": path.name} | ({"data": text(given["DATA"]) or "takes a file"} if "DATA" in given else {})
        yield Item(name, text(given["TITLE"]), facts=facts, text=ast.get_docstring(tree) or "")


_OWN = "in a statement file (dpfl_theory.statements.iteration)"
_KINDS = (
    Kind(
        "algorithms",
        "algorithm",
        "algorithms",
        _algorithms,
        brief=("source",),
    ),
    Kind(
        "classes",
        "class",
        "function classes for your own theorem",
        _classes,
        f"Iteration(step, ..., functions='NAME') {_OWN}",
        ("members",),
    ),
    Kind(
        "constants",
        "constant",
        "constants of the problem for symbols of your own theorem",
        _constants,
        f"Iteration(step, {{'SYMBOL': 'NAME', ...}}) {_OWN}",
        ("value",),
    ),
    Kind(
        "hypotheses",
        "hypothesis",
        "hypotheses of the catalogue's statements, the most frequent first; each is an Hypothesis to import",
        _hypotheses,
        brief=("statements",),
    ),
    Kind(
        "methods",
        "method",
        "methods of checking, cheap ones first",
        _methods,
        "dpfl-theory check --method NAME",
        ("relations",),
    ),
    Kind(
        "observables",
        "observable",
        "quantities whose mean a statement may bound, and which a run may record",
        _observables,
        "Expected(..., parts=(('NAME', 1),), ...) in a statement; observe=['NAME'] in dpfl_theory.simulate",
        ("unit",),
    ),
    Kind("papers", "paper", "papers whose statements are here", _papers, "dpfl-theory list NAME", ("statements",)),
    Kind(
        "problems",
        "problem",
        "problem families with certified constants",
        _problems,
        "problem.name=NAME in a configuration; dpfl_theory.problems.make('NAME', ...) in Python",
    ),
    Kind(
        "validations",
        "validation",
        "redone figures and tables of papers",
        _validations,
        "dpfl-theory validate NAME",
        ("data",),
    ),
)


def kinds() -> Mapping[str, Kind]:
    """Every kind by its name.

    >>> "problems" in kinds(), kinds()["problems"].one
    (True, 'problem')
    """
    return {kind.name: kind for kind in _KINDS}
