"""Options of `recommend`, generated from the fields of the algorithms' inputs, and its output as text."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, TypeVar

import typer

from dpfl_theory.cli._confirm import lines as confirmed
from dpfl_theory.cli._output import laid_out
from dpfl_theory.errors import InputError
from dpfl_theory.numerals import number_of
from dpfl_theory.recommend import Setting
from dpfl_theory.recommend.inputs import Budget, DataOptions, Input, inputs_of, options_of
from dpfl_theory.runtime.console import as_options, option

__all__ = ["as_text", "certificate", "number", "parsed", "with_inputs"]

METAVARS = {"count": "N", "word": "NAME"}
APART = (
    "algorithm",
    "rule",
    "vacuous",
    "would_help",
    "inputs",
    "certificate",
    "warnings",
    "terms",
    "noise",
    "unrounded",
    "repaired",
    "data",
    "confirmed",
    "schema",
)

F = TypeVar("F", bound=Callable[..., Any])


def with_inputs(known: Mapping[str, type[Setting]]) -> Callable[[F], F]:
    """Add an option for each input of the data, of these algorithms and of the budget, as text, to a command after its
    first parameter."""
    takers: dict[str, list[str]] = {}
    described = {name: inputs_of(DataOptions)[field] for name, field in options_of(DataOptions).items()}
    for kind in known.values():
        for name, one in inputs_of(kind).items():
            takers.setdefault(name, []).append(kind.name)
            described.setdefault(name, one)
    described = {**described, **{n: one for n, one in inputs_of(Budget).items() if n not in described}}

    def parameter(name: str) -> inspect.Parameter:
        one = described[name]
        help_ = one.text[:1].upper() + one.text[1:]
        if len(takers.get(name, known)) < len(known):
            help_ += f" [{', '.join(takers[name])}]"
        metavar = "|".join(one.choices) or METAVARS.get(one.kind, "X")
        annotation = Annotated[str | None, typer.Option(option(name), metavar=metavar, help=as_options(help_))]
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)

    def decorate(function: F) -> F:
        signature = inspect.signature(function, eval_str=True)
        first, *others = (p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD)
        keyword = [p.replace(kind=p.KEYWORD_ONLY) for p in (first, *map(parameter, described), *others)]
        function.__signature__ = signature.replace(parameters=keyword)  # type: ignore[attr-defined]
        return function

    return decorate


def parsed(inputs: Mapping[str, Input], options: Mapping[str, str | None]) -> dict[str, Any]:
    """The given options, those of number inputs as numbers."""
    numbers = {name for name, one in inputs.items() if one.kind != "word"}
    return {
        name: number(option(name), text, inputs[name].kind) if name in numbers else text
        for name, text in options.items()
        if text is not None
    }


def number(option: str, text: str, kind: str) -> int | float:
    """Parse a finite number, as int where the kind is a count.

    >>> number("--clients", "1e2", "count")
    100
    """
    value = number_of(option, text)
    if not math.isfinite(value):
        raise InputError(f"{option} is {text!r}: give a number")
    return int(value) if kind == "count" and value.is_integer() else value


def certificate(constant: Mapping[str, Any]) -> str:
    """How a constant of the data was obtained, and the limit of its error.

    >>> certificate({"kind": "eigenvalue", "error": 2e-15}), certificate({"kind": "computed", "error": None})
    ('eigenvalue, error at most 2e-15', 'computed, no bound on its error')
    """
    error = constant["error"]
    return f"{constant['kind']}, {'no bound on its error' if error is None else f'error at most {error:.1g}'}"


def as_text(document: Mapping[str, Any]) -> str:
    """Lines of a name and a recommended value, then the reasons."""
    return "\n".join([laid_out(list(_rows(document))), *confirmed(document)])


def _noises(noise: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The accountant's noise and the paper's, each with its epsilon."""
    for name, said, limits in (
        ("certified noise", noise.get("accountant"), (noise.get("accountant") or {}).get("epsilon")),
        ("paper's noise", noise.get("paper"), noise.get("accounted")),
    ):
        if said:
            sigmas = ", ".join(f"{k.replace('_', ' ')} = {_shown(v)}" for k, v in said.items() if k.startswith("sigma"))
            constant = f" (constant {_shown(said['constant'])})" if "constant" in said else ""
            if limits is None:
                message = noise["why"]
            elif limits["high"] is None:
                message = f"for which no finite epsilon is certified (requested: {noise['asked']:g})"
            else:
                message = f"which gives epsilon = {limits['high']:.4g} (requested: {noise['asked']:g})"
            yield name, f"{sigmas}{constant}, {message}"
    if m := noise.get("mechanism"):
        words = [f"{k.replace('_', ' ')} {m[k]}" for k in ("relation", "view", "sampling", "noise") if k in m]
        yield "accounted as", ", ".join([m["algorithm"], f"one {m['protects']}", *words])
    for name, said in (noise.get("setting") or {}).items():
        yield "accounted as", f"{name}: {said}"
    if noise.get("bound"):
        yield "bound's noise", noise["bound"]


def _rows(d: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if first := d.get("noise", {}).get("warning"):
        yield "warning", first
    if d.get("vacuous"):
        yield "vacuous", d["vacuous"]
    for name, value in d.items():
        if name not in APART:
            yield name.replace("_", " "), _shown(value)
    for name, value in d.get("terms", {}).items():
        yield "term", f"{name}: {_shown(value)}"
    for name, value in d.get("noise", {}).items():
        if isinstance(value, float) and name != "asked":
            yield name.replace("_", " "), _shown(value)
    yield from _noises(d.get("noise", {}))
    if "meaning" in d.get("noise", {}):
        yield "noise", d["noise"]["meaning"]
    if d.get("repaired"):
        yield "repaired", f"{d['repaired']['statement']}: bound {_shown(d['repaired']['bound'])}"
    if "data" in d:
        made = f"{d['data']['problem']}, {d['data']['records']} records, {d['data']['partition']} among "
        yield "data", f"{made}{d['data']['clients']} clients, ridge {d['data']['ridge']:g}, start 0"
    for name, c in d.get("data", {}).get("constants", {}).items():
        yield "input", f"{option(name)} {_shown(c['value'])} ({certificate(c)}): {c['text']}"
    for name, value in d.get("unrounded", {}).items():
        yield "unrounded", f"{name.replace('_', ' ')} {_shown(value)}"
    said = d["certificate"]
    for name in ("lower_bound", "gap"):
        if name in said:
            yield name.replace("_", " "), _shown(said[name])
    yield "why", said["reason"]
    for s in said["statements"]:
        verdict = (
            "" if s["verdict"] == "holds" else f" ({s['verdict']} as {s['provenance']}: dpfl-theory show {s['id']})"
        )
        yield s["role"], f"{s['id']}, {s['where']}{verdict}"
    for text in d["warnings"]:
        if text != first:
            yield "warning", text


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else str(value)
