"""Values for the hyper-parameters, worlds in which the clients' messages are around the threshold, and cohorts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from dpfl_theory.conform.references import Reference, Values
from dpfl_theory.conform.world import Records, World
from dpfl_theory.core.parameter import KINDS, Parameter
from dpfl_theory.errors import InputError, unknown_name

SIGMA = Parameter("sigma", "standard deviation of the noise")
LAYERS = (slice(0, 2), slice(2, 6))
"""The model's layers. Their number, those of parameters (6), clients (7) and members of a cohort (3), and their roots
are all different."""
DIMENSION = LAYERS[-1].stop
SCHEMES = ("poisson", "fixed", "with-replacement", "full")
RELATIONS = {"zero-out": 1.0, "replace": 2.0}
SHARES = {
    "on both sides of the threshold": (0.4, 1.3, 3.0, 0.8, 2.2, 5.0, 0.6),
    "below the threshold": (0.3, 0.8, 0.5, 0.2, 0.7, 0.9, 0.6),
    "far below it": (0.01, 0.004, 0.012, 0.007, 0.003, 0.009, 0.005),
    "far above it": (20.0, 11.0, 35.0, 50.0, 14.0, 26.0, 17.0),
    "of whom one has zero gradient": (0.0, 1.4, 0.7, 2.5, 0.9, 0.4, 3.1),
}
"""The lengths of the clients' messages from the start, as multiples of the threshold, by the name of a world."""
MORE = (2, 0, 4, 1, 5, 3)
"""The numbers of the clients' records above the smallest one."""
REST = "that are at their minimum"
"""The world whose clients send only noise from the start."""


def settings(
    reference: Reference,
    given: Mapping[str, Any],
    taken: Collection[str],
    *,
    clients: int,
    cohort: int | None,
    scheme: str | None,
    relation: str | None,
) -> list[dict[str, Any]]:
    """The values to try: one mapping, or two where the function takes hyper-parameters without a given value.

    Raises InputError for unknown hyper-parameters, values outside their range, and contradictions.
    """
    known = {p.symbol: p for p in reference.parameters}
    names = {other: p.symbol for p in reference.parameters for other in p.names}
    if reference.has_sigma:
        names["sigma"] = "sigma"
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in names:
            raise unknown_name(f"parameter of {reference.name}", name, names)
        values[names[name]] = _checked(known.get(names[name], SIGMA), value)
    if "sigma" in values and "noise_multiplier" in values:
        raise InputError("both sigma and noise_multiplier are given, but one follows from the other: leave one out")
    relation = reference.algorithm.relations[0] if relation is None else relation
    if relation not in RELATIONS:
        raise unknown_name("relation", relation, RELATIONS)
    scheme = reference.algorithm.sampling() if scheme is None else scheme
    if scheme not in SCHEMES:
        raise unknown_name("sampling", scheme, SCHEMES)
    size = clients if scheme == "full" else (max(2, clients // 2) if cohort is None else cohort)
    if scheme == "full" and cohort not in (None, clients):
        raise InputError(f"the cohort is {cohort} and sampling is full, which means all {clients} clients")
    if not 1 <= size <= clients:
        raise InputError(f"the cohort is {size}: with {clients} clients it must be between 1 and {clients}")
    found = []
    for k in (0, 1):
        v: dict[str, Any] = {
            "n": clients,
            "d": DIMENSION,
            "layers": LAYERS,
            "r": float(size),
            "scheme": scheme,
            "relation": relation,
        }
        v["relation_factor"] = RELATIONS[relation]
        for p in reference.parameters:
            built_in = p.default if p.kind == "size" else p.trials[0]  # at 0 an option is off
            value = values.get(p.symbol, p.trials[k] if p.symbol in taken else built_in)
            v[p.symbol] = value(reference.run(v)) if callable(value) else value
        v["sigma"] = values.get("sigma")
        found.append(reference.with_defaults(v))
    return found if found[0] != found[1] else found[:1]


def _checked(parameter: Parameter, value: Any) -> float | int:
    if not parameter.fits(value):
        raise InputError(f"{parameter.symbol} is {value!r}: give {KINDS[parameter.kind]}")
    return parameter.number(value)


def world(reference: Reference, v: Values, name: str, seed: int = 0, first: int = 0) -> World:
    """Least-squares clients with 1 to 6 records each (more where a share of them is drawn), of
    curvature at most 0.4/eta. The world's name gives the lengths of their messages from the start as multiples of the
    threshold, starting with the client ``first``."""
    rng = np.random.default_rng([seed, len(name)])
    n, d = int(v["n"]), int(v["d"])
    start = rng.standard_normal(d)
    level = float(v[reference.level]) if reference.level else 1.0
    fewest = math.ceil(1.0 / float(v.get("s", 1.0)) - 1e-9)  # so that no batch is empty
    sizes = [fewest + MORE[i % len(MORE)] for i in range(n)]
    records = []
    for i, size in enumerate(sizes):
        x = rng.standard_normal((size, d))
        x *= math.sqrt(rng.uniform(0.1, 0.4) / (v["local_step"] * max(np.linalg.eigvalsh(x.T @ x / size))))
        residual = rng.standard_normal(size)
        one = World(name, [Records(x.copy(), x @ start - residual)], start)
        unit = reference.length(one.clients()[0], one, {**v, "records": size}) or 1.0  # a client may take no step
        shares = (0.0,) if name == REST else SHARES[name]
        wanted = level * shares[(i - first) % len(shares)] * (1.0 + 0.01 * (i // len(shares)))
        records.append(Records(x, x @ start - residual * (wanted / unit)))
    return World(name, records, start, 11 + len(name))


def cohorts(v: Values, rounds: int, seed: int, sizes: Sequence[int] | None = None, twice: bool = False) -> list[Any]:
    """Sorted cohorts of r or of all clients. Where clients are drawn independently, the cohorts have the given sizes in
    turn. twice: whether a client may be drawn more than once, where the clients are drawn with replacement."""
    rng, twice = np.random.default_rng([seed, 17]), twice and v["scheme"] == "with-replacement"
    n, r = int(v["n"]), int(v["r"])
    if v["scheme"] == "full":
        return [np.asarray(np.arange(n))] * rounds
    if v["scheme"] != "poisson" or sizes is None:
        sizes = [r]
    return [np.sort(rng.choice(n, min(sizes[k % len(sizes)], n), replace=twice)) for k in range(rounds)]
