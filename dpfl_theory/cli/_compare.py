"""`recommend` without an algorithm: all private ones on the user's data or constants, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfl_theory.cli._recommend import number
from dpfl_theory.console import choice, option, say, write
from dpfl_theory.errors import InputError

if TYPE_CHECKING:
    from dpfl_theory.recommend.data import Source
    from dpfl_theory.recommend.from_constants import Constants
    from dpfl_theory.recommend.tuned import Budget

__all__ = ["as_text", "asked", "compared", "constants_of"]

_NEEDED = {"epsilon": "positive", "delta": "probability"}
_MAY = {"rounds": "count", "cohort": "positive", "clients": "count"}
_WORDS = {
    "relation": ("zero-out", "replace", "add-remove"),
    "view": ("third-party", "server"),
    "sampling": ("full", "poisson", "fixed", "with-replacement"),
}
_CONSTANTS = {"clients": "count", "dim": "count", "smoothness": "positive", "distance": "positive"}
_MORE_CONSTANTS = {"strong_convexity": "nonnegative", "lipschitz": "positive", "heterogeneity": "nonnegative"}


def asked(given: Mapping[str, str | None], data: str | None, algorithm: str | None = None) -> dict[str, Any]:
    """The numbers and words that a comparison takes; InputError naming all that is missing or does not belong.

    Without data they are the constants of a problem too. algorithm: the only one that is to be run.
    """
    runs = "without --algorithm all are compared" if algorithm is None else f"--rule best runs {algorithm}"
    other = "name an --algorithm" if algorithm is None else "take --rule printed or bound-optimal"
    there = {name: text for name, text in given.items() if text is not None}
    constants = {} if data is not None else _CONSTANTS | _MORE_CONSTANTS
    known = _NEEDED | _MAY | constants
    missing = [name for name in (*_NEEDED, *([] if data is not None else _CONSTANTS)) if name not in there]
    if missing:
        if data is None and not set(there) & {*_CONSTANTS, *_MORE_CONSTANTS}:
            wanted = ["--data", *(option(name) for name in _NEEDED if name not in there)]
            raise InputError(
                f"{runs} on data: give {' and '.join(wanted)} (or constants: {', '.join(map(option, _CONSTANTS))}), or "
                f"{other}"
            )
        raise InputError(f"{runs}: give {' and '.join(map(option, missing))} too")
    strange = [option(name) for name in there if name not in known and name not in _WORDS]
    if strange:
        told = "are for one --algorithm: name it" if algorithm is None else "belong to the papers' rules: " + other
        raise InputError(f"{', '.join(strange)} {told}, or leave them out")
    words = {name: choice(name, there.pop(name), of) for name, of in _WORDS.items() if name in there}
    return {**{name: number(option(name), text, known[name]) for name, text in there.items()}, **words}


def constants_of(numbers: Mapping[str, Any]) -> Constants:
    """The constants among the numbers."""
    from dpfl_theory.recommend.from_constants import Constants

    return Constants(**{name: numbers[name] for name in (*_CONSTANTS, *_MORE_CONSTANTS) if name in numbers})


def compared(
    source: Source | Constants,
    numbers: Mapping[str, Any],
    seed: int,
    unit: str = "all",
    jobs: int = 1,
    progress: Callable[[float, str], None] | None = None,
    algorithms: Sequence[str] = (),
) -> dict[str, Any]:
    """The comparison's document, with what the data are; algorithms: those alone."""
    from dpfl_theory.recommend.compare import compare
    from dpfl_theory.recommend.data import Source
    from dpfl_theory.recommend.tuned import Budget

    if isinstance(source, Source) and not source.own_clients and numbers.get("clients") is None:
        raise InputError(
            f"{source.found.name} does not say whose record each one is: name the column with --client-column, or "
            "split the records with --clients N (and --partition iid, shards or similarity)"
        )
    if not isinstance(source, Source):  # the problem's records would stand for nobody's
        if unit == "record":
            raise InputError("--unit is 'record', and constants have no records: give --data, or leave --unit out")
        unit = "client"
    problem = source.problem(numbers.get("clients"))
    n = problem.n
    if numbers.get("cohort", n) > n:
        raise InputError(f"--cohort is {numbers['cohort']:g}: there are {n} clients; give at most that")
    certified = {name: numbers[name] for name in ("cohort", *_WORDS) if name in numbers}
    budget = Budget(numbers["epsilon"], numbers["delta"], int(numbers.get("rounds", 500)), **certified)
    found = compare(problem, budget, algorithms=algorithms, unit=unit, seed=seed, jobs=jobs, progress=progress)
    found["would_help_by_unit"] = _would_help(found, source, numbers.get("clients"), budget, seed)
    found["data"] = _of_data(source, problem) if isinstance(source, Source) else _of_constants(source, problem)
    return found


def _of_data(source: Source, problem: Any) -> dict[str, Any]:
    """What the data are."""
    c = problem.constants
    sizes = [int(b - a) for a, b in zip(problem.data.offsets[:-1], problem.data.offsets[1:])]
    return {
        "source": source.data,
        "problem": problem.name,
        "clients": problem.n,
        "records": len(problem.data.y),
        "records_of_a_client": [min(sizes), max(sizes)],
        "features": problem.data.x.shape[1],
        "partition": "own" if source.own_clients else source.partition or "iid",
        "ridge": source.ridge,
        "smoothness": c.L_max,
        "heterogeneity": None if c.f_i_at_star is None else float(c.delta_i_star.mean()),
        "not_private": "the choice of algorithm and hyper-parameters looks at the data, and spends no epsilon",
    }


def _of_constants(source: Constants, problem: Any) -> dict[str, Any]:
    """What problem stands for the constants."""
    told = "what was measured is this problem's; another one with these constants may do better or worse"
    return {"source": None, "problem": problem.name, **vars(source), "stands_for": told}


def _would_help(
    found: Mapping[str, Any], source: Source | Constants, clients: int | None, budget: Budget, seed: int
) -> dict[str, dict[str, Any]]:
    """For each unit of privacy for which nothing beats the start: what would, for its best algorithm."""
    from dpfl_theory.recommend.advice import changes

    helps = {}
    for unit, name in found["recommended_by_unit"].items():
        if name is None:
            best = next(row["name"] for row in found["algorithms"] if row["protects"] == unit)
            helps[unit] = changes(source, clients, budget, best, seed)
    return helps


def kind_of(picture: Path | None) -> str:
    """``png`` or ``svg``, by the name of the file; InputError for another one."""
    kind = "png" if picture is None else picture.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise InputError(f"--figure is {str(picture)!r}: give a name that ends in .png or .svg")
    return kind


def draw(document: Mapping[str, Any], picture: Path, kind: str) -> None:
    """The comparison's figure in a file."""
    from dpfl_theory.recommend.figure import drawn
    from dpfl_theory.report import style

    write(picture, style.render(drawn(document))[kind])
    say(f"figure: {picture}")


def as_text(d: Mapping[str, Any]) -> str:
    """The data, the table, and what to take."""
    return "\n".join(_lines(d))


def _lines(d: Mapping[str, Any]) -> Iterator[str]:
    from dpfl_theory.recommend.advice import told as would_help

    data, budget = d["data"], d["budget"]
    yield from _data_lines(data)
    yield f"at the start, 0: suboptimality {d['start']['suboptimality']:.4g}{_accuracy(d['start']['accuracy'])}"
    yield f"at most {budget['rounds']} vectors from a client"
    yield ""
    for unit, advice in d["advice_by_unit"].items():
        rows = [row for row in d["algorithms"] if row["protects"] == unit]
        yield from _group(rows, budget)
        yield advice
        if unit in d["would_help_by_unit"]:
            width = "dimensions" if data["source"] is None else "features (principal components)"
            yield would_help(d["would_help_by_unit"][unit], width)
        yield rows[0]["why"]
        yield ""
    if len(d["advice_by_unit"]) > 1:
        yield (
            "The two epsilons do not compare: the first hides all records of a client, the second one record; and to "
            "replace (replace) may change a sum by twice as much as to leave out (zero-out)."
        )
    for left in d["left_out"]:
        yield f"{left['name']} is left out: {left['why']}."
    if "not_private" in data:
        yield f"Not private: {data['not_private']}."


def _data_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """The data, or the problem that stands for constants."""
    het = data["heterogeneity"]
    shown = "-" if het is None else f"{het:.3g}"
    if data["source"] is None:
        yield f"{data['problem']}: {data['clients']} clients in {data['dim']} dimensions, heterogeneity {shown}"
        yield f"These constants stand for many problems: {data['stands_for']}."
        return
    low, high = data["records_of_a_client"]
    yield f"{data['problem']}: {data['records']} records, {data['features']} features, bias included"
    whose = "named by the data" if data["partition"] == "own" else f"split {data['partition']}"
    yield f"{data['clients']} clients ({whose}), {low} to {high} records each"
    yield f"L = {data['smoothness']:.4g}, heterogeneity {shown}, ridge {data['ridge']:g}"


def _group(rows: Sequence[Mapping[str, Any]], budget: Mapping[str, Any]) -> Iterator[str]:
    """The algorithms that protect the same unit."""
    whose = "a client's data" if rows[0]["protects"] == "client" else "one record of a client"
    yield (
        f"epsilon = {budget['epsilon']:g}, delta = {budget['delta']:g} for {whose} ({rows[0]['relation']}), "
        f"seen by a {rows[0]['view']}"
    )
    drawn: dict[str, list[str]] = {}
    for row in rows:
        drawn.setdefault(row["sampling"], []).append(row["name"])
    if set(drawn) != {"full"}:
        ways = "; ".join(f"{way}: {', '.join(sorted(names))}" for way, names in drawn.items())
        yield f"{budget['cohort']:g} clients in a round ({ways})"
    heading = f"{'algorithm':22}{'protects':9}{'suboptimality':>20}{'accuracy':>12}{'epsilon':>10}{'vectors':>9}"
    yield f"{heading}  hyper-parameters"
    for row in rows:
        gap, accuracy = row["suboptimality"], row["accuracy"]
        shown = "-" if accuracy is None else f"{accuracy['mean']:.3f}"
        values = ", ".join(f"{k} {v:.4g}" for k, v in row["hyperparameters"].items())
        yield (
            f"{row['name']:22}{row['protects']:9}{gap['mean']:>11.4g} +- {gap['error']:<5.1g}{shown:>12}"
            f"{row['epsilon']['high']:>10.4g}{row['vectors']:>9}  {values}"
        )


def _accuracy(accuracy: Mapping[str, float] | None) -> str:
    return "" if accuracy is None else f", accuracy {accuracy['mean']:.3f}"
