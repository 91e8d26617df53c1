"""DP-SCAFFOLD-warm and DP-FedAvg at Theorem 4.2's noise scale sigma_g*, with the step sizes of the proofs.

The exponents of Theorem 4.2: runs over geometric grids, each in a regime where one term of the bound leads.

A check holds the far end of its grid to the bound with a constant c that the near end needs, with a margin of a
quarter: an excess that fell more slowly than the bound, by a power of the grid's width, would exceed it there. In
addition to that verdict it fits the slope of ln(excess) over ln(symbol), with a confidence interval. It reports this
slope with that of the bound (which has the logarithms of sigma_g*). Only too little decrease refutes a bound: along a
grid on which the bound falls, reality may fall faster without any disagreement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Experiment, Statement, checks
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements import rates
from dpfl_theory.statements.instances import Instance, edges_of, problem
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import theoremC_2
from dpfl_theory.statements.noble2022._instances import points_of, run_of
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8

CONSTANTS = {"scaffold": 102.0, "fedavg": 12.0}
"""Constants that serve in Theorem 4.2: its algebra checks derive them."""
_LONGER = {"scaffold": 12.0, "fedavg": 3.25}
"""eta~ over the step that balances the bound, where the noise makes most of the excess."""


def experiment(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """A run at sigma_g*, with B = 1 and G from the users' gradients; ``c`` of the instance, else one that serves.

    ``longer`` of the instance multiplies the step that balances the bound, still at most the limit: the theorem says
    that some step sizes serve.
    """
    method = instance["method"]
    steps_of = {"scaffold": lemmaC_8.REPAIRED, "fedavg": theoremC_2.CONVEX_REPAIRED}[method]
    known = {"epsilon": float(instance["epsilon"]), "delta": float(instance["delta"])}
    known["c"] = float(instance.get("c", CONSTANTS[method]))
    return runs.run(statement, instance, method, "", steps_of, **known)


def private_runs(method: str) -> Iterator[Check]:
    """The runs of Theorem 4.2, long and quiet enough that standing still would exceed the bound, and one whose noise
    the users must average; and those just outside its hypotheses. method: ``scaffold`` or ``fedavg``."""
    common = {"method": method, "delta": "1e-5", "longer": 1.0, "replicates": 24}

    def run(epsilon: str, users: Instance, size: int, T: int, **more: Any) -> Instance:
        return {**run_of(users, size, 1, T, 0.0), **common, **more, "epsilon": epsilon}

    apart = {"spread": 0.3}
    records = points_of(20, **apart, records=10, record_spread=0.05)
    quiet = run("500", points_of(40, **apart), 40, 800)
    two = run("500", points_of(8, spread=0.0), 8, 2)
    one = run("3000", points_of(8, spread=0.0), 1, 7, eta_g=1.0)
    noisy = run("5.4", points_of(300, spread=0.0), 300, 200, distance=0.1, longer=_LONGER[method], replicates=64)
    chosen = {
        "40 users, epsilon = 500": quiet,
        "20 users of 10 records, one at a time, epsilon = 150": run("150", records, 20, 1000, share=0.1),
        "one of eight users, epsilon = 3000": run("3000", points_of(8, **apart), 1, 2000, eta_g=1.0),
        "300 users, noise leads": noisy,
    }
    similar = {"dissimilarity (G, B)": {**quiet, "constants": {"G": 0.99}}} if method == "fedavg" else {}
    outside = {
        **{"nu-smooth F_i": {**quiet, "constants": {"nu": 0.99}}, **similar},
        "gradients of at most C": {**quiet, "constants": {"C": 0.99}},
        "lM >= 1": {**one, "delta": "0.25", "constants": {"l": 0.98}},
        "T >= 1": {**one, "delta": "0.01", "stated": {"T": "7/50"}},
        "delta <= 1/2": {**two, "delta": "0.505"},
        "T l/delta >= 2": {**one, "delta": "0.44"},
    }
    inside = {"delta <= 1/2": {**two, "delta": "0.5"}, "T l/delta >= 2": {**one, "delta": "0.4375"}}
    yield from checks("monte-carlo", experiment, chosen)
    yield from edges_of("monte-carlo", experiment, {}, outside, inside)


SEED = 2022
"""The seed of the fitted runs, which no check uses."""


def _regime(where: str, grid: list[Any], c: float, users: Instance, **more: Any) -> dict[str, Any]:
    """where: the algorithm, the symbol, the term that leads, and its claimed exponent."""
    count = users["parameters"].get("clients", 2)
    run = run_of(users, count, 1, 500, 0.0, eta_g=math.sqrt(more.get("size", count)))
    named = dict(zip(("method", "symbol", "term", "claimed"), where.split()))
    return {**run, "epsilon": "1e9", "delta": "1e-5", **named, "grid": grid, "c": c, **more}


_EQUAL = points_of(4)
_AXES = problem("axes", clients=4, dimension=1)
_RECORDS = points_of(4, records=2, record_spread=1.5, threshold=4.0)
_APART = points_of(4, spread=8.0, threshold=12.0)
_CURVED = problem("huber-scalar", minimisers=[-80.0, 400.0], thresholds=[96.0, 80.0])
"""One user of curvature 1, and one whose gradient is constant where the run goes: their local steps drift apart."""
_SCAFFOLD, _FEDAVG = ({"longer": _LONGER[method], "replicates": 64} for method in ("scaffold", "fedavg"))
_SAMPLED = {"share": 0.5, "distance": 0.15}
_ROUNDS = [250, 500, 1000]

REGIMES: tuple[dict[str, Any], ...] = (
    _regime("scaffold epsilon privacy -1", ["60", "120", "240"], 1.75, _EQUAL, T=1000, **_SCAFFOLD),
    _regime("scaffold M privacy -1", [4, 8, 16], 1.75, _EQUAL, epsilon="60", T=1000, **_SCAFFOLD),
    _regime("scaffold d privacy 1/2", [1, 2, 4], 1.75, _AXES, epsilon="240", T=1000, **_SCAFFOLD),
    _regime("scaffold K privacy 0", [1, 2, 4], 1.75, _EQUAL, epsilon="60", T=500, **_SCAFFOLD),
    _regime("scaffold T privacy 0", _ROUNDS, 1.75, _EQUAL, epsilon="60", **_SCAFFOLD),
    _regime("scaffold T sampling -1/2", _ROUNDS, 1.0, _RECORDS, **_SAMPLED, **_SCAFFOLD),
    _regime("scaffold K sampling -1/2", [1, 2, 4], 1.0, _RECORDS, T=1000, **_SAMPLED, **_SCAFFOLD),
    _regime("scaffold T start -1", [125, 250, 500], 7.7, points_of(4, spread=0.3), replicates=16),
    _regime("scaffold l start -2/3", [8, 4, 2], 7.7, points_of(8, spread=0.3), replicates=32),
    _regime("fedavg epsilon privacy -1", ["60", "120", "240"], 1.8, _EQUAL, T=1000, **_FEDAVG),
    _regime("fedavg M privacy -1", [4, 8, 16], 1.8, _EQUAL, epsilon="60", T=1000, **_FEDAVG),
    _regime("fedavg d privacy 1/2", [1, 2, 4], 1.8, _AXES, epsilon="240", T=4000, **_FEDAVG),
    _regime("fedavg K privacy 0", [1, 2, 4], 1.8, _EQUAL, epsilon="60", T=500, **_FEDAVG),
    _regime("fedavg T sampling -1/2", _ROUNDS, 1.0, _RECORDS, **_SAMPLED, **_FEDAVG),
    _regime("fedavg K sampling -1/2", [1, 2, 4], 1.0, _RECORDS, T=1000, **_SAMPLED, **_FEDAVG),
    _regime("fedavg T start -1", [125, 250, 500], 5.2, points_of(4), replicates=16),
    _regime("fedavg T users -1/2", [500, 1000, 2000], 0.95, _APART, size=1, longer=2.75),
    _regime("fedavg T drift -2/3", [1000, 2000, 4000], 0.43, _CURVED, K=4, longer=2.9, replicates=64),
)
"""claimed: the term's exponent without the logarithms of sigma_g*. The budgets are large because the users have few
records, which is quick to run: epsilon and R enter the bound and the noise only by their product. longer: eta~ over the
step that balances the bound's terms: there the start's share of the excess is nearly all, whatever the noise does; at
the longer step the named source makes most of it."""


def without_its_source(term: str, run: Experiment) -> Experiment:
    """The same run and step sizes without the term's source: no noise, all records or all users at every step, one long
    local step for several, or the minimiser as the start."""
    from dpfl_theory.simulation import Cohort

    known: Any = run.algorithm
    if term == "start":
        assert run.problem.constants.w_star is not None
        return replace(run, start=run.problem.constants.w_star, values={**run.values, "F0": 0.0}, replicates=2)
    changes: dict[str, Callable[[], Any]] = {
        "privacy": lambda: known.with_values(noise_multiplier=0.0),
        "sampling": lambda: known.with_values(share=1.0),
        "users": lambda: replace(known, cohort=Cohort()),
        "drift": lambda: known.with_values(local_steps=1, local_step=known.run.local_steps * known.run.local_step),
    }
    return replace(run, algorithm=changes[term](), replicates=2)


def with_symbol(instance: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """The instance with its symbol at this value; M and l also set how many users take part."""
    symbol, own = instance["symbol"], instance["problem"]
    cohort = {"size": value, "eta_g": math.sqrt(value)} if symbol in ("M", "l") else {}
    if symbol in ("M", "d"):
        changed = {"clients" if symbol == "M" else "dimension": value}
        return {**instance, **cohort, "problem": {**own, "parameters": {**own["parameters"], **changed}}}
    return {**instance, **(cohort or {symbol: value})}


def fits(method: str) -> Iterator[Check]:
    """The Monte-Carlo fits of one algorithm."""

    def build(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
        def run(value: Any) -> Experiment:
            return experiment(statement, with_symbol(instance, value))

        grid = instance["grid"]
        return replace(run(grid[-1]), notes=rates.Fit(lambda: fitted(instance, [run(v) for v in grid], statement)))

    for r in REGIMES:
        if r["method"] == method:
            yield Check("monte-carlo", f"exponent of {r['symbol']} where the term '{r['term']}' leads", build, r)


def exponents(statement: Statement) -> dict[tuple[str, str], Any]:
    """The exponent of each symbol in each term of the right side, its logarithms taken for constants.

    Raises ValueError for a term that is not a monomial in its symbols.
    """
    factor, found = sp.Symbol("factor", positive=True), {}
    for term, expression in sides_of(statement).rhs.items():
        plain = expression.replace(lambda e: isinstance(e, sp.log), lambda _: sp.Integer(1))
        for name, symbol in symbols_of(statement).items():
            power = sp.simplify(symbol * sp.diff(plain, symbol) / plain)
            if name == "l" and not power.is_number:
                continue  # 1 - l is no power of l
            if not power.is_number or sp.simplify(plain.subs(symbol, factor * symbol) / plain - factor**power) != 0:
                raise ValueError(f"{statement.id}: the term {term!r} is no power of {name}")
            found[term, name] = power
    return found


def _excess(run: Experiment) -> Any:
    """The mean over x^0, ..., x^{T-1} of F - F*, shape (replicates,)."""
    from dpfl_theory.simulation import simulate

    done = simulate(run.algorithm, run.problem, run.rounds, run.replicates, SEED, start=run.start, device="cpu")
    excess = done["suboptimality"].mean
    if "F0" in run.values:  # without the warm round
        excess = (1 + 1 / run.values["T"]) * excess - run.values["F0"] / run.values["T"]
    return excess


def fitted(instance: Mapping[str, Any], found: Sequence[Experiment], statement: Statement) -> dict[str, Any]:
    """The evidence on one grid (`rates.fitted`); the bound's logarithms leave the claimed exponent undecided."""
    term, by_share = instance["term"], instance["symbol"] == "l"
    return rates.fitted(
        *(statement, instance, found, _excess, lambda terms, bound: terms[term] / bound),
        without=lambda run: without_its_source(term, run),
        symbols=[run.values["l"] for run in found] if by_share else (),
        constant=instance["c"],
        judged=False,
    )
