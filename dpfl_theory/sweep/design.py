"""The cells of a sweep, from a configuration with a grid, a list and a Sobol design, all validated."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dpfl_theory.algorithms.user_files import resolved
from dpfl_theory.errors import InputError
from dpfl_theory.problems.data import BUNDLED
from dpfl_theory.schemas import Faults, Model, near, shorten, unknown, validated
from dpfl_theory.sweep.algorithms import Hyper, algorithms
from dpfl_theory.sweep.config import RUN, Common, Sobol, document
from dpfl_theory.sweep.problems import DATA, problems

MOST_CELLS = 10**6
_DESIGNS = ("grid", "list", "sobol", "output")
_OF_TABLES = ("problem", "algorithm", "privacy")
Table = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Cell:
    """One run of the sweep: the problem's table, the algorithm, all other settings, and the values of the varied
    keys."""

    problem: Table
    algorithm: Hyper
    common: Common
    varied: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> Table:
        """The cell as plain data, including defaults."""
        return {
            "problem": self.problem,
            "algorithm": document(self.algorithm),
            **document(self.common),
        }


@dataclass(frozen=True)
class Design:
    """The cells, the varied keys, and the configuration as it was given."""

    cells: list[Cell]
    axes: list[str]
    config: Table
    output: str | None = None


def designed(config: Mapping[str, Any], label: str = "the configuration", sweep: bool = True) -> Design:
    """The design of a configuration; without ``sweep`` it has a single cell.

    Raises InputError with one sentence for each fault.

    >>> design = designed({"problem": {"name": "quadratic"}, "algorithm": {"name": "fedavg"}, "grid": {"eta": [1, 2]}})
    >>> [cell.algorithm.eta for cell in design.cells], design.axes
    ([1.0, 2.0], ['eta'])
    """
    faults = Faults()
    known = ("problem", "algorithm", *RUN, *(_DESIGNS if sweep else ()))
    for key in config:
        if key not in known:
            hint = "that is for dpfl-theory sweep" if key in _DESIGNS else near(key, known)
            faults.add(f"{key} is {shorten(config[key])}: there is no such key; {hint}")
    problem_tables = _tables(config, "problem", sweep, faults)
    algorithm_tables = _tables(config, "algorithm", sweep, faults)
    run = {key: config[key] for key in RUN if key in config}
    axes = _axes(config, faults) if sweep else [[{}]]
    output = config.get("output") if sweep else None
    if output is not None and not isinstance(output, str):
        faults.add(f"output is {shorten(output)}: it is not a text; give a file's name in quotes")
    maker = _Maker(faults, _origins(config))
    total = len(problem_tables) * len(algorithm_tables) * math.prod(map(len, axes))
    if total > MOST_CELLS:
        raise InputError(f"{label} makes {total} cells: at most {MOST_CELLS} are allowed; give fewer values")
    names = list(dict.fromkeys(name for axis in axes for row in axis for name in row))
    cells: dict[str, Cell] = {}
    for problem, algorithm in itertools.product(problem_tables, algorithm_tables):
        for rows in itertools.product(*axes):
            values = {name: value for row in rows for name, value in row.items()}
            cell = maker.cell(problem, algorithm, run, values)
            if cell is not None:
                cells.setdefault(json.dumps(cell.document(), sort_keys=True), cell)
    for name in names:
        maker.used(name)
    faults.end(label)
    return Design(list(cells.values()), names, dict(config), output)


def _tables(config: Mapping[str, Any], key: str, sweep: bool, faults: Faults) -> list[Table]:
    """The tables of the problem or the algorithm."""
    if key not in config:
        grid = config.get("grid")
        named = isinstance(grid, Mapping) and (f"{key}.name" in grid or isinstance(grid.get(key), Mapping))
        if not (sweep and named):
            example = "quadratic" if key == "problem" else "dp-fedavg"
            faults.add(f"{key} is missing: give a table with a name, such as {key}.name = {example!r}")
        return [{}]
    found = config[key]
    tables = found if isinstance(found, list) and sweep and found else [found]
    for i, table in enumerate(tables):
        if not isinstance(table, Mapping):
            where = f"{key}[{i}]" if len(tables) > 1 else key
            faults.add(f"{where} is {shorten(table)}: it is not a table; give keys and values")
    return [dict(table) for table in tables if isinstance(table, Mapping)]


def _axes(config: Mapping[str, Any], faults: Faults) -> list[list[Table]]:
    """The axes that are combined: each is a list of points, which are values by key."""
    found: list[list[Table]] = []
    grid = config.get("grid", {})
    if not isinstance(grid, Mapping):
        faults.add(f"grid is {shorten(grid)}: it is not a table; give keys and lists of values")
        grid = {}
    for key, values in _flat(grid):
        if not isinstance(values, list) or not values:
            faults.add(f"grid.{key} is {shorten(values)}: it is not a list of values; put them in brackets")
        else:
            found.append([{key: value} for value in values])
    rows = config.get("list", [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        faults.add(f"list is {shorten(rows)}: it is not a list of tables; write [[list]] above each")
    elif rows:
        found.append([dict(_flat(row)) for row in rows])
    if "sobol" in config:
        sobol = validated(Sobol, config["sobol"], "sobol", faults)
        if sobol is not None:
            found.append(_sobol(sobol, faults))
    keys = [key for axis in found for key in {key for row in axis for key in row}]
    for key in {key for key in keys if keys.count(key) > 1}:
        faults.add(f"{key} is varied twice: vary it in only one of grid, list and sobol")
    return found or [[{}]]


def _origins(config: Mapping[str, Any]) -> dict[str, str]:
    """The path of each varied key in the configuration."""
    found: dict[str, str] = {}
    grid, rows, sobol = (config.get(key) for key in ("grid", "list", "sobol"))
    if isinstance(sobol, Mapping) and isinstance(sobol.get("ranges"), Mapping):
        found |= {key: f"sobol.ranges.{key}" for key in sobol["ranges"]}
    for row in rows if isinstance(rows, list) else ():
        found |= {key: f"list.{key}" for key, _ in _flat(row)} if isinstance(row, Mapping) else {}
    return found | ({key: f"grid.{key}" for key, _ in _flat(grid)} if isinstance(grid, Mapping) else {})


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten nested tables into keys with dots."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _sobol(design: Sobol, faults: Faults) -> list[Table]:
    """The points of a Sobol sequence, by key."""
    from scipy.stats import qmc

    for key, span in design.ranges.items():
        if not span.low < span.high:
            faults.add(
                f"sobol.ranges.{key}.high is {span.high:g}: it must be above low = {span.low:g}; give a larger one"
            )
        elif span.scale == "log" and span.low <= 0:
            faults.add(f"sobol.ranges.{key}.low is {span.low:g}: a logarithmic scale needs a positive one; give one")
    if not design.ranges:
        faults.add("sobol.ranges is empty: give a key with low and high")
        return [{}]
    if not all(s.low < s.high and (s.low > 0 or s.scale == "linear") for s in design.ranges.values()):
        return [{}]
    sequence = qmc.Sobol(len(design.ranges), scramble=True, rng=design.seed)
    points = sequence.random_base2(math.ceil(math.log2(design.points)))[: design.points]
    found = []
    for point in points:
        row: Table = {}
        for u, (key, span) in zip(point, design.ranges.items()):
            if span.scale == "log":
                value = math.exp(math.log(span.low) + u * (math.log(span.high) - math.log(span.low)))
            else:
                value = span.low + u * (span.high - span.low)
            row[key] = round(value) if span.whole else float(value)
        found.append(row)
    return found


class _Maker:
    """Constructor of cells from tables; each table is validated once."""

    def __init__(self, faults: Faults, origins: Mapping[str, str]) -> None:
        self.faults, self.origins = faults, origins
        self.known: dict[str, Any] = {}
        self.taken: set[str] = set()
        self.refused: dict[str, Any] = {}
        self.resolved = cache(resolved)

    def cell(self, problem: Table, algorithm: Table, run: Table, values: Mapping[str, Any]) -> Cell | None:
        """The cell with these values; None where it has faults."""
        tables: dict[str, Table] = {"problem": dict(problem), "algorithm": dict(algorithm), "": dict(run)}
        named: dict[str, dict[str, str]] = {"problem": {}, "algorithm": {}, "": {}}
        varied: Table = {}
        tables["algorithm"] = self._resolved(tables["algorithm"])
        if isinstance(run.get("privacy"), Mapping):
            tables[""]["privacy"] = dict(run["privacy"])
        ordered = sorted(
            values.items(), key=lambda item: not item[0].endswith(".name")
        )  # names first: they set the keys
        for key, value in ordered:
            first, dot, rest = key.partition(".")
            where, own = (first, rest) if dot and first in _OF_TABLES else ("" if key in RUN else "algorithm", key)
            if not dot and where == "algorithm":
                kind = algorithms().get(str(tables["algorithm"].get("name")))
                if kind is not None and key not in kind.model_fields:
                    self.refused.setdefault(key, value)
                    continue
            if key == "algorithm.name":
                value = self._resolved({"name": value})["name"]
            self.taken.add(key)
            varied[key] = value
            if where == "privacy":
                tables[""]["privacy"] = {**tables[""].get("privacy", {}), own: value}
            else:
                tables[where][own] = value
                named[where][own] = self.origins.get(key, key)
        made = (
            self._of_kind("problem", tables["problem"], problems(), named["problem"]),
            self._of_kind("algorithm", tables["algorithm"], algorithms(), named["algorithm"]),
            self._common(tables[""], named[""]),
        )
        if None in made:
            return None
        return Cell(document(made[0]), made[1], made[2], {key: varied[key] for key in values if key in varied})

    def _resolved(self, algorithm: Table) -> Table:
        """The table with the algorithm's own name, where a file and a name are given."""
        if not isinstance(algorithm.get("name"), str):
            return algorithm
        try:
            return {**algorithm, "name": self.resolved(algorithm["name"])}
        except InputError as error:
            self.faults.add(f"algorithm.name is {shorten(algorithm['name'])}: {error}")
            return algorithm

    def used(self, name: str) -> None:
        """Add a fault for a varied key that no algorithm takes."""
        if name not in self.taken and name in self.refused:
            keys = {k for kind in self.kinds() for k in kind.model_fields} - {"name"}
            tables = [f"problem.{k}" for k in ("clients", "dimension", "heterogeneity")]
            hint = near(name, {*keys, *RUN, *tables})
            where = self.origins.get(name, name)
            self.faults.add(
                f"{where} is {shorten(self.refused[name])}: no algorithm of this sweep has such a key; {hint}"
            )

    def kinds(self) -> list[type[Hyper]]:
        """The kinds of algorithms seen so far."""
        return [type(model) for key, model in self.known.items() if isinstance(model, Hyper)]

    def _of_kind(self, key: str, table: Table, known: Mapping[str, type[Model]], named: Mapping[str, str]) -> Any:
        memo = json.dumps([key, table], sort_keys=True, default=str)
        if memo not in self.known:
            name = table.get("name", DATA if key == "problem" and DATA in table else None)
            if not isinstance(name, str) or name not in known or (name == DATA and "name" in table):
                if name is None:
                    self.faults.add(f"{key}.name is missing: give one of {', '.join(n for n in known if n != DATA)}")
                else:
                    self.faults.add(unknown(f"{key}.name", name, [n for n in known if n != DATA]))
                self.known[memo] = None
            else:
                self.known[memo] = validated(known[name], table, key, self.faults, named)
                self._readable(self.known[memo])
        return self.known[memo]

    def _readable(self, model: Any) -> None:
        data = getattr(model, "data", None)
        if data is not None and data not in BUNDLED and not Path(data).is_file():
            sets = ", ".join(BUNDLED)
            self.faults.add(
                f"problem.data is {shorten(data)}: there is no such file; check the path, or give one of {sets}"
            )

    def _common(self, table: Table, named: Mapping[str, str]) -> Any:
        memo = json.dumps(["", table], sort_keys=True, default=str)
        if memo not in self.known:
            self.known[memo] = validated(Common, table, "", self.faults, named)
        return self.known[memo]
