"""A configuration: the content of a TOML file and settings of the command line, validated as a whole."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, Discriminator, Field, Tag, create_model

from dpfl_theory import statements
from dpfl_theory.errors import InputError
from dpfl_theory.numerals import number_of
from dpfl_theory.schemas import Count, Model, described_field, known_name
from dpfl_theory.simulation.observables import catalogue
from dpfl_theory.sweep.algorithms import Privacy, algorithms
from dpfl_theory.sweep.problems import DATA, problems

Whole = Annotated[int, Field(ge=0, lt=2**64)]


def _observable(name: str) -> str:
    return known_name(name, catalogue())


def _statement(name: str) -> str:
    return known_name(name, [s.id for s in statements.all_statements()])


class Common(Model):
    """The settings of a run besides its problem and algorithm."""

    rounds: Annotated[int, Field(ge=1, lt=2**32)] = described_field("rounds of a run", 100)
    replicates: Annotated[int, Field(ge=1, lt=2**63)] = described_field(
        "independent replicates, whose mean and error are reported", 16
    )
    seed: Whole = described_field("seed of all noise; replicate l has the same noise in every cell with this seed", 0)
    observe: list[Annotated[str, AfterValidator(_observable)]] = described_field("observables", ["suboptimality"])
    every: Count = described_field("the interval between observed rounds", 1)
    series: bool = described_field("whether each observed round is written too", False)
    statements: list[Annotated[str, AfterValidator(_statement)]] = described_field(
        "statements whose bounds are evaluated for the runs", []
    )
    privacy: Privacy = described_field("the privacy budget, and the setting of the certified epsilon", Privacy())


RUN = tuple(Common.model_fields)
"""The keys of a run besides its problem and algorithm."""


class Range(Model):
    """The range of a key in a Sobol design."""

    low: float = described_field("the smallest value")
    high: float = described_field("the largest value")
    scale: Literal["log", "linear"] = described_field("the scale of the values", "linear")
    whole: bool = described_field("whether values are rounded to whole numbers", False)


class Sobol(Model):
    """A scrambled Sobol sequence (`scipy.stats.qmc`)."""

    points: Annotated[int, Field(ge=1, le=2**20)] = described_field("how many points")
    seed: Whole = described_field("seed of the scrambling", 0)
    ranges: dict[str, Range] = described_field("by key: its range")


def _named(value: Any) -> str | None:
    name = value.get("name", DATA) if isinstance(value, Mapping) else getattr(value, "name", DATA)
    return name if isinstance(name, str) else None


def _one_of(known: Mapping[str, type[Model]]) -> Any:
    kinds = tuple(Annotated[kind, Tag(name)] for name, kind in known.items())
    return Annotated[Union[kinds], Discriminator(_named)]  # noqa: UP007


def _or_several(kind: Any) -> Any:
    return kind | list[kind]


def _whole(sweep: bool) -> type[Model]:
    """The model of a whole configuration."""
    problem, algorithm = _one_of(problems()), _one_of(algorithms())
    fields: dict[str, Any] = {
        "problem": (problem, described_field("the problem")),
        "algorithm": (algorithm, described_field("the algorithm")),
    }
    if sweep:
        values = dict[str, Any]
        fields = {
            "problem": (_or_several(problem), described_field("the problem, or several")),
            "algorithm": (_or_several(algorithm), described_field("the algorithm, or several")),
            "grid": (values, described_field("by key, the values that are combined with all others", {})),
            "list": (list[values], described_field("tables of values that belong together", [])),
            "sobol": (Sobol | None, described_field("points of a Sobol sequence", None)),
            "output": (str | None, described_field("name of the file of results, in the output folder", None)),
        }
    return create_model("Sweep" if sweep else "Simulation", __base__=Common, **fields)


def schema(sweep: bool) -> dict[str, Any]:
    """The JSON schema of a configuration.

    >>> schema(sweep=False)["properties"]["rounds"]["default"]
    100
    """
    return _whole(sweep).model_json_schema()


def read(path: str | Path | None) -> dict[str, Any]:
    """A TOML file's content; empty without a file."""
    if path is None:
        return {}
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"), parse_float=_number)
    except InputError as error:
        raise InputError(f"{str(path)!r}: {error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not a TOML file: it is not text in UTF-8") from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}; check the path") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not a TOML file: {error}; correct it there") from None


def with_assignments(config: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """The configuration with the assignments ``key=value``, whose values are TOML or, where invalid, plain text.

    >>> with_assignments({"rounds": 3}, ["problem.name=quadratic", "grid.eta=[0.1, 0.2]", "rounds=5"])
    {'rounds': 5, 'problem': {'name': 'quadratic'}, 'grid': {'eta': [0.1, 0.2]}}
    """
    found = copy.deepcopy(dict(config))
    for text in assignments:
        key, sign, value = text.partition("=")
        path = [part.strip() for part in key.split(".")]
        if not sign or not all(path):
            raise InputError(f"`set` is {text!r}, which is not an assignment: write it like algorithm.eta=0.1")
        try:
            parsed = tomllib.loads(f"value = {value}", parse_float=_number)["value"]
        except InputError as error:
            raise InputError(f"`set` is {text!r}: {error}") from None
        except (ValueError, RecursionError):
            parsed = value.strip()
        at = found
        for part in path[:-1]:
            at = at.setdefault(part, {})
            if not isinstance(at, dict):
                raise InputError(f"`set` is {text!r}, and {part!r} is not a table: set {part} as a whole")
        at[path[-1]] = parsed
    return found


def _number(text: str) -> float:
    return number_of("one of its numbers", text)


def inside(name: str, folder: Path) -> Path:
    """A file of this name in a folder; InputError for one that leads out of it.

    >>> inside("a/b.csv", Path("out")).as_posix()
    'out/a/b.csv'
    """
    path = PurePath(name)
    if path.is_absolute() or ".." in path.parts or not path.name or "\0" in name:
        raise InputError(f"output is {name!r}: it must name a file in the output folder, without '..' or a leading '/'")
    found = folder / path
    if not found.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"output is {name!r}: it leads out of {str(folder)!r} through a link; give another name")
    return found


def document(model: Model) -> dict[str, Any]:
    """A table as plain data, defaults included."""
    return model.model_dump(mode="json")
