"""`recommend` without an algorithm: all private ones on the user's data, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpfl_theory.cli._recommend import number
from dpfl_theory.console import option
from dpfl_theory.errors import InputError

if TYPE_CHECKING:
    from dpfl_theory.recommend.data import Source

__all__ = ["as_text", "asked", "compared"]

_NEEDED = {"epsilon": "positive", "delta": "probability"}
_MAY = {"rounds": "count", "cohort": "positive", "clients": "count"}


def asked(given: Mapping[str, str | None], data: str | None) -> dict[str, Any]:
    """The numbers that a comparison takes, as given; InputError naming all that is missing or does not belong."""
    there = {name: text for name, text in given.items() if text is not None}
    missing = [*([] if data is not None else ["--data"]), *(option(n) for n in _NEEDED if n not in there)]
    if missing:
        raise InputError(
            f"without --algorithm all are compared on data: give {' and '.join(missing)}, or name an --algorithm"
        )
    strange = [option(name) for name in there if name not in _NEEDED and name not in _MAY]
    if strange:
        raise InputError(f"{', '.join(strange)} are for one --algorithm: name it, or leave them out")
    return {name: number(option(name), text, (_NEEDED | _MAY)[name]) for name, text in there.items()}


def compared(
    source: Source,
    numbers: Mapping[str, Any],
    seed: int,
    unit: str = "all",
    jobs: int = 1,
    progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """The comparison's document, with what the data are."""
    from dpfl_theory.recommend.compare import compare
    from dpfl_theory.recommend.tuned import Budget

    if not source.own_clients and numbers.get("clients") is None:
        raise InputError(
            f"{source.found.name} does not say whose record each one is: name the column with --client-column, or "
            "split the records with --clients N (and --partition iid, shards or similarity)"
        )
    problem = source.problem(numbers.get("clients"))
    n = problem.n
    if numbers.get("cohort", n) > n:
        raise InputError(f"--cohort is {numbers['cohort']:g}: the data have {n} clients; give at most that")
    budget = Budget(numbers["epsilon"], numbers["delta"], int(numbers.get("rounds", 500)), cohort=numbers.get("cohort"))
    found = compare(problem, budget, unit=unit, seed=seed, jobs=jobs, progress=progress)
    c = problem.constants
    sizes = [int(b - a) for a, b in zip(problem.data.offsets[:-1], problem.data.offsets[1:])]
    found["data"] = {
        "source": source.data,
        "problem": problem.name,
        "clients": n,
        "records": len(problem.data.y),
        "records_of_a_client": [min(sizes), max(sizes)],
        "features": problem.data.x.shape[1],
        "partition": "own" if source.own_clients else source.partition or "iid",
        "ridge": source.ridge,
        "smoothness": c.L_max,
        "heterogeneity": None if c.f_i_at_star is None else float(c.delta_i_star.mean()),
        "not_private": "the choice of algorithm and hyper-parameters looks at the data, and spends no epsilon",
    }
    return found


def as_text(d: Mapping[str, Any]) -> str:
    """The data, the table, and what to take."""
    return "\n".join(_lines(d))


def _lines(d: Mapping[str, Any]) -> Iterator[str]:
    data, budget = d["data"], d["budget"]
    low, high = data["records_of_a_client"]
    yield f"{data['problem']}: {data['records']} records, {data['features']} features, bias included"
    whose = "named by the data" if data["partition"] == "own" else f"split {data['partition']}"
    yield f"{data['clients']} clients ({whose}), {low} to {high} records each"
    het = data["heterogeneity"]
    shown = "-" if het is None else f"{het:.3g}"
    yield f"L = {data['smoothness']:.4g}, heterogeneity {shown}, ridge {data['ridge']:g}"
    yield f"at the start, 0: suboptimality {d['start']['suboptimality']:.4g}{_accuracy(d['start']['accuracy'])}"
    yield f"at most {budget['rounds']} vectors from a client"
    yield ""
    for unit, advice in d["advice_by_unit"].items():
        rows = [row for row in d["algorithms"] if row["protects"] == unit]
        yield from _group(rows, budget)
        yield advice
        yield rows[0]["why"]
        yield ""
    if len(d["advice_by_unit"]) > 1:
        yield (
            "The two epsilons do not compare: the first hides all records of a client, the second one record; and to "
            "replace (replace) may change a sum by twice as much as to leave out (zero-out)."
        )
    for left in d["left_out"]:
        yield f"{left['name']} is left out: {left['why']}."
    yield f"Not private: {data['not_private']}."


def _group(rows: Sequence[Mapping[str, Any]], budget: Mapping[str, Any]) -> Iterator[str]:
    """The algorithms that protect the same unit."""
    whose = "a client's data" if rows[0]["protects"] == "client" else "one record of a client"
    yield (
        f"epsilon = {budget['epsilon']:g}, delta = {budget['delta']:g} for {whose} ({rows[0]['relation']}), "
        f"seen by a {rows[0]['view']}"
    )
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
