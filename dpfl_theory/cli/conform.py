"""`conform`: compare your own implementation of a round with an algorithm as its paper prints it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import typer

from dpfl_theory.cli._layout import table
from dpfl_theory.cli._options import Format, Schema, Seed, Target, as_json, deliver, give_schema, target_of
from dpfl_theory.errors import EnvironmentFault, InputError
from dpfl_theory.numerals import number_of
from dpfl_theory.runtime.atomic_files import printed_aside
from dpfl_theory.runtime.console import choice, emit, parse_alpha, parse_budget, parse_seed
from dpfl_theory.runtime.recorded_warnings import counted, recorded

app = typer.Typer()

LIMIT = "2m"
CODES = {"conforms": 0, "differs": 1, "undecided": 3}


@app.command()
def conform(
    function: Annotated[
        str | None, typer.Argument(metavar="MODULE:FUNCTION", help="A round: my_module:round or my_file.py:round.")
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="ALGORITHM", help="The algorithm [default: the nearest]; --algorithms lists them."
        ),
    ] = None,
    algorithms: Annotated[
        bool, typer.Option("--algorithms", help="List the algorithms with their parameters and known faults.")
    ] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PARAMETER=VALUE", help="A value that is hard-coded in the function."),
    ] = None,
    variations: Annotated[
        str | None,
        typer.Option("--with", metavar="NAME=VALUE,...", help="What the function has besides and means: --variations."),
    ] = None,
    list_variations: Annotated[bool, typer.Option("--variations", help="List the variations of --with.")] = False,
    sampler: Annotated[
        str | None, typer.Option(metavar="MODULE:FUNCTION", help="The function that draws a cohort: sampler(n, rng).")
    ] = None,
    clients: Annotated[str, typer.Option(metavar="N", help="Clients of the test problems.")] = "7",
    cohort: Annotated[str | None, typer.Option(metavar="R", help="Expected size of a cohort.")] = None,
    sampling: Annotated[
        str | None,
        typer.Option(
            metavar="poisson|fixed|with-replacement|full", help="Sampling of the cohorts [default: as printed]."
        ),
    ] = None,
    relation: Annotated[
        str | None, typer.Option(metavar="zero-out|replace", help="The neighbouring relation of the noise multiplier.")
    ] = None,
    runs: Annotated[
        str, typer.Option(metavar="N", help="Runs of each of two data sets for the audit; 0 for none.")
    ] = "800",
    alpha: Annotated[str, typer.Option(metavar="A", help="Error probability of all tests on samples.")] = "1e-6",
    max_epsilon: Annotated[
        str, typer.Option(metavar="E", help="The largest epsilon of a round that its noise multiplier may claim.")
    ] = "50",
    seed: Seed = "0",
    limit: Annotated[str, typer.Option(metavar="2m", help="Time limit.")] = LIMIT,
    format_: Format = "text",
    output: Target = None,
    schema: Schema = False,
) -> int:
    """Compare a function of one round with an algorithm and name each deviation.

    The function is round(w, state, clients, cohort, rng) -> (w, state); hyper-parameters after these five are varied.
    A client has gradient(y), gradient(y, batch), record_gradients(y) and record_gradients(y, batch), one row for each
    record, len(client) and records.x, records.y; batch has numbers of records. The function may also take layers
    (slices of w) and round_number, from 0.

    Exit code 0 if it conforms, 1 if it differs, 2 for bad input, such as a function that never runs, 3 if samples did
    not decide.
    """
    if schema:
        from dpfl_theory.conform import document

        return give_schema(document.schema)
    choice("format", format_, ("text", "json"))
    if algorithms:
        _list(format_)
        return 0
    if list_variations:
        _list_variations(format_)
        return 0
    if function is None:
        raise InputError(
            "no function is given: name one, for example conform my_file.py:round (and, if you like, --as ALGORITHM)"
        )
    from dpfl_theory.conform import run  # noqa: F401  so that our imports do not count for the user's time limit
    from dpfl_theory.runtime.time_limits import TimeoutExceeded, WorkerDied

    seconds = parse_budget(limit, "limit")
    target = target_of(output, *_files(function), *_files(sampler))
    parameters = dict(_assigned(text) for text in assignments or [])
    counts = {"clients": _whole("clients", clients), "runs": _whole("runs", runs)}
    if cohort is not None:
        counts["cohort"] = _whole("cohort", cohort)
    keywords: dict[str, Any] = {**counts, "sampling": sampling, "relation": relation, **parameters}
    keywords["max_epsilon"] = number_of("--max-epsilon", max_epsilon)
    keywords["variations"] = dict(_with(text) for text in (variations or "").split(",") if text)
    share, number = parse_alpha(alpha), parse_seed(seed)
    try:
        verdict, text = _ended(
            lambda: _report(function, as_, sampler, format_ == "json", alpha=share, seed=number, **keywords),
            120.0 if seconds is None else seconds,
        )
    except TimeoutExceeded as error:
        raise InputError(f"the test of {function} {str(error).removeprefix('it ')}: give a longer --limit") from error
    except WorkerDied as error:
        need = "call the function once on its own to see what ends it"
        raise InputError(f"the test of {function} was ended: {error}; {need}") from error
    deliver(text, target, f"{verdict}")
    return CODES[verdict]


def _ended(work: Callable[[], tuple[str, str]], seconds: float) -> tuple[str, str]:
    """Run ``work`` with a time limit, and return its result.

    It runs in a separate process, since a user's module may do anything. Code that ignores the limit, such as compiled
    code, is killed a little later.
    """
    from dpfl_theory.runtime.time_limits import TimeoutExceeded, WorkerDied, at_most, limited

    def within() -> tuple[str, str]:
        with at_most(seconds), printed_aside():
            return work()

    try:
        return limited(within, 1.1 * seconds + 1.0)
    except TimeoutExceeded:
        raise TimeoutExceeded(f"it took longer than {seconds:.3g} s and was ended") from None
    except WorkerDied:
        raise
    except EnvironmentFault:  # this system cannot fork
        return within()


def _report(function: str, as_: str | None, sampler: str | None, whole: bool, **keywords: Any) -> tuple[str, str]:
    """The verdict on a named function, and the report: with ``whole`` as JSON, else in words."""
    from dpfl_theory.conform.run import conform as test
    from dpfl_theory.conform.user_function import function_named

    with recorded() as warned:
        round_ = function_named(function)
        drawn = None if sampler is None else function_named(sampler)
    found = replace(test(round_, as_, sampler=drawn, **keywords), warnings=counted(warned))
    return found.verdict, as_json(found.to_json()) if whole else str(found)


def _assigned(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    found = number_of(f"--set {name}", value) if equals and name.isidentifier() else math.nan
    if math.isnan(found):
        raise InputError(f"--set {text!r} is not a parameter with a number: write it like --set eta=0.1")
    return name, int(value) if value.lstrip("+-").isdigit() else found


def _with(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise InputError(f"--with {text!r} is not a variation with a value: write it like --with momentum=0.9")
    return name.strip().replace("-", "_"), value.strip()


def _list_variations(format_: str) -> None:
    from dpfl_theory.algorithms.variations import VARIATIONS

    if format_ == "json":
        emit(as_json([{"name": x.option, "values": list(x.values), "meaning": x.text} for x in VARIATIONS]))
        return
    emit(table([("variation", "values", "meaning"), *((x.option, ", ".join(x.values), x.text) for x in VARIATIONS)]))


def _files(named: str | None) -> tuple[str, str]:
    """The possible locations of a function that is named MODULE:FUNCTION."""
    module = (named or "").rpartition(":")[0]
    return module, f"{module.replace('.', '/')}.py"


def _whole(name: str, text: str) -> int:
    if not text.isdigit() or len(text) > 7:
        raise InputError(f"--{name} is {text!r}: give a whole number of at most seven digits")
    return int(text)


def _list(format_: str) -> None:
    from dpfl_theory.conform.references import parameter_names, references
    from dpfl_theory.conform.run import described

    found = [described(one) for one in references().values()]
    if format_ == "json":
        emit(as_json(found))
        return
    rows = [
        (
            str(x["name"]),
            str(x["sampling"]),
            ", ".join(y["name"] for y in x["parameters"]),
            str(len(x["faults"])),
            x["source"],
        )
        for x in found
    ]
    emit(table([("algorithm", "sampling", "parameters", "known faults", "source"), *rows], right=(3,)))
    named = [(x.name, ", ".join(x.also) or "-", x.meaning, ", ".join(x.algorithms)) for x in parameter_names()]
    emit("\n" + table([("parameter", "a function may also call it", "meaning", "in"), *named]))
