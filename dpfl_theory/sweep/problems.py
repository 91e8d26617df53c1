"""The problems that a configuration may name: the families of `dpfl_theory.problems`, and the user's own data.

The keys of a family's table are its constructor's parameters, with their declared meanings.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_type_hints

from pydantic import create_model

from dpfl_theory.core.parameter import Meaning, meanings, summary
from dpfl_theory.problems import families, make
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.data import BUNDLED
from dpfl_theory.recommend.inputs import CLIENTS, DataOptions, inputs_of
from dpfl_theory.schemas import OF_KIND, Count, Model, described_field

DATA = "data"
"""The name of a problem that is made from data."""


def _data() -> type[Model]:
    """The model of the user's own data, or a bundled set: its keys are the options of `DataOptions`."""
    words = f"clients among whom records without a client are divided; {CLIENTS} without it"
    fields: dict[str, Any] = {"data": ..., "clients": (Count | None, described_field(words, None))}
    for f in dataclasses.fields(DataOptions):
        one = inputs_of(DataOptions)[f.name]
        type_ = (Literal[one.choices] if one.choices else str) if one.kind == "word" else OF_KIND[one.kind]
        default = ... if f.default is dataclasses.MISSING else f.default
        fields[f.name] = (type_ | None if default is None else type_, described_field(one.text, default))
    return create_model("Data", __base__=Model, __doc__=summary(DataOptions), **fields)


@cache
def problems() -> dict[str, type[Model]]:
    """The models of the families' tables by name, and that of data.

    >>> problems()["quadratic"].model_fields["dimension"].default
    5
    """
    return {DATA: _data(), **{name: _model(name, constructor) for name, constructor in families().items()}}


def _model(name: str, constructor: Callable[..., Problem]) -> type[Model]:
    types, meant = get_type_hints(constructor), meanings(constructor)
    fields: dict[str, Any] = {"name": (Literal[name], ...)}
    for key, parameter in inspect.signature(constructor).parameters.items():
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[key] = (types[key], described_field(meant.get(key, Meaning("it")).text, default))
    title = "".join(part.capitalize() for part in name.replace(".", "-").split("-"))
    return create_model(title, __base__=Model, __doc__=summary(constructor), **fields)


def build_problem(table: Mapping[str, Any]) -> Problem:
    """The problem of a table.

    >>> build_problem({"name": "quadratic", "clients": 3}).n
    3
    """
    if "name" in table:
        return make(table["name"], **{key: value for key, value in table.items() if key != "name"})
    from dpfl_theory.recommend.data import DataSource

    rest = {key: value for key, value in table.items() if key != "clients"}
    return DataSource(**rest).problem(table.get("clients"))


def fingerprint(table: Mapping[str, Any]) -> dict[str, Any]:
    """The dependencies of a problem: its table and, where it is made from a file, the file's content."""
    data = table.get("data")
    if data is None or data in BUNDLED or not Path(data).is_file():
        return dict(table)
    with open(data, "rb") as file:
        return {**table, "data": hashlib.file_digest(file, "sha256").hexdigest()}
