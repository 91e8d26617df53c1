"""The rule ``best``: hyper-parameters from runs with certified noise, of one algorithm or of all in a comparison.

The runs are on the data's problem, or on one that has the constants given in place of data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.recommend.compare import compare
from dpfl_theory.recommend.confirm import of_comparison
from dpfl_theory.recommend.data import DataSource
from dpfl_theory.recommend.inputs import Budget, ConstantOptions, Document, Input, inputs_of, quote_option, refusals
from dpfl_theory.recommend.minimum_budget import changes
from dpfl_theory.recommend.rule_runs import RULED
from dpfl_theory.recommend.search import Plan
from dpfl_theory.recommend.synthetic_problem import Constants
from dpfl_theory.recommend.tuned import tuned
from dpfl_theory.runtime.cached_calls import Reuse

BUDGET, CONSTANTS = inputs_of(Budget), inputs_of(ConstantOptions)
"""The inputs, those of the constants in place of data."""


def best(
    algorithm: str | None,
    inputs: Mapping[str, Any],
    source: DataSource | None = None,
    *,
    unit: str = "all",
    seed: int = 0,
    jobs: int = 1,
    plan: Plan | None = None,
    progress: Callable[[float, str], None] | None = None,
    confirm: bool = False,
    wrong: Sequence[str] = (),
    reuse: Reuse | None = None,
) -> Document:
    """The best hyper-parameters from runs within a budget: `dpfl_theory.recommend.compare`, with a report on the data
    or constants.

    Args:
        algorithm: the only one that is run; by default all private ones.
        inputs: those of the `Budget`; without data the constants of `Constants`, with them the number of clients, where
            the data do not name them.
        source: the data.
        unit, seed, jobs, plan, progress, reuse: as in `compare`.
        wrong: errors of other inputs, to be reported together with those of these. confirm: whether to test if bounds
        are least where runs are best, as ``confirmed`` (`confirm.of_comparison`).

    Returns:
        The comparison, with ``data`` (the problem of the runs, its constants with their certificates, and the parts
        that are not private) and ``would_help_by_unit``. The latter has the smallest changes with which something beats
        the start, where nothing does.

    Raises:
        InputError: one for all inputs that are missing, out of range or not applicable.

    >>> small = Plan(points=16, replicates=2, generations=2, finalists=2, second=4, best=1, third=8, last=8)
    >>> known = {"clients": 20, "dim": 2, "smoothness": 1.0, "distance": 3.0}
    >>> found = best("dp-clip21", {**known, "epsilon": 8.0, "delta": 1e-5, "rounds": 8}, plan=small)
    >>> found["recommended"], found["data"]["problem"]
    ('dp-clip21', 'quadratics with eigenvalues from 0.001 to 1, ||w*|| = 3')
    """
    given = {name: value for name, value in inputs.items() if value is not None}
    if algorithm is not None and algorithm not in tuned():
        raise unknown_name("algorithm", algorithm, tuned())
    if confirm and algorithm is not None and algorithm not in RULED:
        raise InputError(f"there is no bound of {algorithm} to confirm: leave `confirm` out")
    if faults := [*wrong, *_missing(given, source, algorithm), *_wrong(given, source, algorithm, unit)]:
        raise InputError("; and ".join(faults))
    clients = None if "clients" not in given else int(given["clients"])
    on: DataSource | Constants = source or _constants(given)
    if isinstance(on, DataSource) and not on.own_clients and clients is None:
        raise InputError(
            f"{on.dataset.name} does not name the client of each record: name the column with `client_column`, or "
            "split the records with `clients` (and `partition`: iid, shards or similarity)"
        )
    if not isinstance(on, DataSource):  # the problem's records would belong to no client
        unit = "client"
    problem = on.problem(clients)
    n = problem.n
    if given.get("cohort", n) > n:
        raise InputError(f"`cohort` is {given['cohort']:g}: there are {n} clients; give at most that")
    budget = Budget(**_plain(BUDGET, given))
    only = () if algorithm is None else (algorithm,)
    how: Document = {"seed": seed, "jobs": jobs, "progress": progress, "reuse": reuse}
    found = compare(problem, budget, algorithms=only, unit=unit, plan=plan, **how)
    helps = {}
    for protects, name in found["recommended_by_unit"].items():
        if name is None:
            least = next(row["name"] for row in found["algorithms"] if row["protects"] == protects)
            helps[protects] = changes(on, clients, budget, least, seed, reuse=reuse)
    more: Document = {}
    if confirm:
        more["confirmed"] = of_comparison(found["algorithms"], problem, budget, **how)
    return {"data": on.report(problem), **found, "would_help_by_unit": helps, **more}


def _plain(inputs: Mapping[str, Input], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given ones of these inputs, as Python's own numbers."""
    return {name: one.plain(given[name]) for name, one in inputs.items() if name in given}


def _constants(given: Mapping[str, Any]) -> Constants:
    return Constants(**_plain(CONSTANTS, given))


def _runs(algorithm: str | None) -> str:
    return "without `algorithm` all are compared" if algorithm is None else f"`rule=best` runs {algorithm}"


def _by_rule(algorithm: str | None) -> str:
    return f"{'name an `algorithm` and ' if algorithm is None else ''}take `rule=printed` or `rule=bound-optimal`"


def _missing(known: Mapping[str, Any], source: DataSource | None, algorithm: str | None) -> Iterator[str]:
    """One sentence for all missing inputs."""
    budget, constants = (
        [quote_option(name) for name, one in of.items() if not one.optional and name not in known]
        for of in (BUDGET, CONSTANTS)
    )
    if source is not None or set(known) & {*CONSTANTS}:
        if missing := budget + (constants if source is None else []):
            yield f"{_runs(algorithm)}: give {' and '.join(missing)} too"
        return
    wanted = " and ".join(["`data`", *budget])
    yield f"{_runs(algorithm)} on data: give {wanted} (or constants: {', '.join(constants)}), or {_by_rule(algorithm)}"


def _wrong(given: Mapping[str, Any], source: DataSource | None, algorithm: str | None, unit: str) -> Iterator[str]:
    """A sentence for inputs that are not applicable, and one for each value that is out of range."""
    known = BUDGET | (CONSTANTS if source is None else {"clients": CONSTANTS["clients"]})
    measured = [quote_option(name) for name in given if name in CONSTANTS and name not in known]
    strange = [quote_option(name) for name in given if name not in BUDGET and name not in CONSTANTS]
    if measured:
        yield f"the data have their own {', '.join(measured)}: leave out one or the other"
    if strange:
        only = f"{', '.join(strange)} can only be given to a paper's rule"
        yield f"{only}: {_by_rule(algorithm)}, or leave these inputs out"
    for name in given:
        if name in known:
            yield from refusals(name, given[name], known[name])
    sound = {name for name, one in known.items() if name in given and not [*refusals(name, given[name], one)]}
    needed = {name for name, one in CONSTANTS.items() if name in given or not one.optional}
    if source is None and needed <= sound:
        yield from _constants(given).contradictions(int(given["clients"]))
    if source is None and unit == "record":
        yield "`unit` is 'record', and constants have no records: give `data`, or leave `unit` out"
    if {"cohort", "clients"} <= sound and given["cohort"] > given["clients"]:
        yield f"`cohort` is {given['cohort']:g}: there are {given['clients']:g} clients; give at most that"
