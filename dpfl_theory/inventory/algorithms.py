"""Algorithms: those that configurations name, and the classes that statements and Python programs build."""

from __future__ import annotations

import inspect
from typing import Any

from dpfl_theory.inventory.base import Item, Kind, Parameter, first_sentence, parameters_of, split_unit

__all__ = ["KIND"]


def _items() -> list[Item]:
    return [*_named(), *_classes()]


def _named() -> list[Item]:
    from dpfl_theory.sweep.algorithms import algorithms

    found = []
    for name, model in algorithms().items():
        parameters = tuple(_parameter(key, f) for key, f in model.model_fields.items() if key != "name")
        facts = {"printed in": model.source, "use": f"algorithm.name={name} in a configuration"}
        found.append(Item(name, first_sentence(model.__doc__), parameters, facts, inspect.getdoc(model) or ""))
    return found


def _parameter(name: str, of: Any) -> Parameter:
    meaning, unit = split_unit(of.description or "")
    default = None if of.is_required() else "none" if of.default is None else repr(of.default)
    return Parameter(name, default, unit, meaning)


def _classes() -> list[Item]:
    from dpfl_theory import algorithms
    from dpfl_theory.algorithms.base import Algorithm

    public = {name: getattr(algorithms, name) for name in algorithms.__all__}
    found = []
    for name, one in sorted(public.items()):
        if inspect.isclass(one) and issubclass(one, Algorithm) and not inspect.isabstract(one):
            facts = {"use": f"dpfl_theory.algorithms.{name}(...) in a statement's build, or in Python"}
            found.append(Item(name, first_sentence(one.__doc__), parameters_of(one), facts, inspect.getdoc(one) or ""))
    return found


KIND = Kind(
    "algorithms",
    "algorithm",
    "algorithms: names for configurations (lower case), then classes for statements and Python",
    _items,
    "",
    ("printed in",),
)
