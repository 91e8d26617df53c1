"""Batches of records: their size, and whether they are drawn again, at random, for every local step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dpfl_theory.algorithms.record_level import LOTS
from dpfl_theory.algorithms.variations import OWN_BATCHES
from dpfl_theory.conform.case import Case
from dpfl_theory.conform.fault_search import ObservedDifference
from dpfl_theory.conform.probes import Path
from dpfl_theory.conform.references import Values
from dpfl_theory.conform.result import Finding
from dpfl_theory.conform.settings import SHARES, cohorts, world
from dpfl_theory.conform.traces import chosen
from dpfl_theory.conform.world import World

RUNS, ROUNDS, STEPS = 60, 3, 3
"""Number of runs with different seeds, of rounds of each with one cohort, and of local steps in a round, if the
function takes their number."""
FEWEST = 100
"""Number of pairs of batches that a test of their overlap needs."""
DEVIATIONS = 7.0
"""Number of standard deviations from which overlaps are not those of independent batches."""
FIXED = "records that are not drawn at random"
CHANCE = 1e-9
"""The largest probability with which random batches have the property that is reported."""
SHOWN = 12
"""How many records of an epoch are shown."""
Batch = tuple[int, ...]


class BatchRun(NamedTuple):
    """A client's batches in one run, by round and step."""

    client: int
    rounds: tuple[tuple[Batch, ...], ...]


def batches(case: Case, seen: Sequence[ObservedDifference], named: Sequence[Finding]) -> list[Finding]:
    """The findings on the function's batches."""
    if (found := _twice(case, seen) or _epochs(case, seen)) is not None:
        return [found]
    lots = case.reference.algorithm.lots
    if not lots and (found := _sizes(case, seen, any(fault.name == LOTS for fault in named))) is not None:
        return [found]
    v = next((v for v in case.plan.values if v.get("s", 1.0) < 1.0), None)
    return [] if v is None else _drawn(case, v)


def _finding(case: Case, name: str, text: str, seen: str = "", private: bool = True) -> Finding:
    return Finding(name, text, seen, case.lines("local"), private=private)


def _of_shares(seen: Sequence[ObservedDifference]) -> Iterator[tuple[Path, int, list[Batch]]]:
    """The path, the client and its batches in a round, where a share of the records is drawn."""
    for one in seen:
        if "s" in one.probe.v:
            for reported in one.choices or ():
                for client, drawn in reported["batches"].items():
                    yield one.path, client, drawn


def _twice(case: Case, seen: Sequence[ObservedDifference]) -> Finding | None:
    """Batches that have a record twice."""
    for _, client, drawn in _of_shares(seen):
        if (batch := next((own for own in drawn if len(set(own)) < len(own)), None)) is not None:
            said = (
                "a record is in a batch twice, and can then move the sum twice as far: the accounting assumes that a "
                "batch has a record at most once"
            )
            return _finding(case, "records drawn twice", said, f"client {client}: a batch of {sorted(batch)}")
    return None


def _sizes(case: Case, seen: Sequence[ObservedDifference], lots: bool) -> Finding | None:
    """Batches whose size is not floor(s R)."""
    sizes: dict[tuple[float, int], set[int]] = {}
    for path, client, drawn in _of_shares(seen):
        key = float(path.v["s"]), len(path.world.records[client].y)
        sizes.setdefault(key, set()).update(map(len, drawn))
    for (s, records), own in sizes.items():
        size = int(s * records * (1.0 + 1e-12))
        if own == {size} or (lots and len(own) > 1):
            continue
        if len(own) > 1:
            said = (
                "the size of a client's batches varies, but the algorithm's size is always floor(s R): where records "
                "are "
                "drawn independently (Poisson sampling), divide by s R and account for that; where a last batch is "
                "shorter, leave it out"
            )
            seen_ = f"{min(own)} to {max(own)} of {records} records, where floor(s R) = {size}"
            return _finding(case, "batches of varying size", said, seen_, private=False)
        (found,) = own
        said = f"a batch has {found} of {records} records, and floor(s R) = {size} is accounted for"
        return _finding(case, "batches of another size", said, private=found > s * records)
    return None


def _epochs(case: Case, seen: Sequence[ObservedDifference]) -> Finding | None:
    """Epochs with as many batches as the algorithm has, which do not have every record once; unless the function's
    batches are declared."""
    size = case.reference.algorithm.parameters.get("batch_size")
    if size is None or OWN_BATCHES in case.reference.declared:
        return None
    for one in seen:
        b = int(one.path.v[size.symbol])
        for client, drawn in ((i, own) for reported in one.choices or () for i, own in reported["batches"].items()):
            whole = list(range(len(one.path.world.records[client].y)))
            many = math.ceil(len(whole) / b) if b else 1
            if len(drawn) != many * one.path.v["local_steps"]:
                continue
            epochs = (sorted(sum(drawn[k : k + many], ())) for k in range(0, len(drawn), many))
            if (other := next((own for own in epochs if own != whole), None)) is not None:
                said = (
                    "an epoch has some records several times, or not at all: the algorithm splits the records of a "
                    "client into batches, so that an epoch has each record once"
                )
                shown, more = ", ".join(map(str, other[:SHOWN])), len(other) - SHOWN
                seen_ = f"client {client}, records {shown}{f' and {more} more' * (more > 0)}"
                return _finding(case, "batches that do not split the records", said, seen_, private=False)
    return None


def _drawn(case: Case, v: Values) -> list[Finding]:
    """Batches that are not drawn again, and lots of a fixed size. The error probability is far below that of the tests
    on samples."""
    asked = set(case.subject.taken.values())
    own = dict(v)
    if "K" in asked:
        own = case.reference.with_defaults({**own, "K": STEPS})
    on = world(case.reference, own, next(iter(SHARES)), 31)
    who = tuple(cohorts(own, 1, 31)) * ROUNDS
    together = [[*_of(case, Path(own, replace(on, seed=1000 + k), who))] for k in range(RUNS)]
    runs = [run for one in together for run in one if _ways(run, len(on.records[run.client].y)) > 1.0]
    if not runs:
        return []
    if (found := _fixed(case, runs) or _kept(case, runs)) is not None:  # then all else follows from this
        return [found]
    lots = case.reference.algorithm.lots
    size = (_no_lots(case, runs) or _one_size(case, together, on, float(v["s"]))) if lots else None
    return [one for one in (size, _apart(case, runs, on) or _in_turn(case, runs, on)) if one is not None]


def _of(case: Case, path: Path) -> Iterator[BatchRun]:
    """The batches of each client. A round has one lot, which may be taken in parts."""
    choices = chosen(case.subject, path)
    for client in map(int, path.who[0]):
        own = [tuple(one["batches"].get(client, ())) for one in choices]
        if case.reference.algorithm.lots:
            own = [(sum(parts, ()),) if parts else () for parts in own]
        yield BatchRun(client, tuple(own))


def _ways(run: BatchRun, records: int) -> float:
    """The number of possible batches of the size: 1 where nothing can be random."""
    sizes = {len(set(batch)) for steps in run.rounds for batch in steps}
    return max((float(math.comb(records, size)) for size in sizes), default=1.0)


def _fixed(case: Case, runs: Sequence[BatchRun]) -> Finding | None:
    """The same records in every run."""
    for client in dict.fromkeys(run.client for run in runs):
        own = {run.rounds for run in runs if run.client == client}
        if len(own) > 1:
            continue
        (only,) = own
        alike = len({batch for steps in only for batch in steps}) == 1
        said = (
            f"a client takes {'always the same records' if alike else 'its records in the same order in every run'}, "
            "whatever the rng is: there is no sampling, so the amplification that is accounted for does not exist"
        )
        first = [int(j) for j in only[0][0]]
        return _finding(case, FIXED, said, f"client {client} starts with the records {first} in all of {RUNS} runs")
    return None


def _no_lots(case: Case, runs: Sequence[BatchRun]) -> Finding | None:
    """Batches of one size of each client, where records should be drawn independently."""
    sizes: dict[int, list[int]] = {}
    for run in runs:
        sizes.setdefault(run.client, []).extend(_size(steps) for steps in run.rounds if steps)
    if any(len(set(own)) > 1 for own in sizes.values()) or max(map(len, sizes.values())) < FEWEST:
        return None
    client, own = next(iter(sizes.items()))
    return _not_poisson(case, "batches", f"client {client}: {len(own)} batches of {own[0]} records")


def _one_size(case: Case, together: Sequence[Sequence[BatchRun]], on: World, s: float) -> Finding | None:
    """Lots of one size in all, of all clients' records together. Poisson lots are said to be so with a probability of
    at most `CHANCE`. together: all clients' batches, by run."""
    sizes = [sum(_size(run.rounds[k]) for run in one) for one in together for k in range(ROUNDS)]
    records = sum(len(own.y) for own in on.records)
    if len(set(sizes)) > 1 or _likeliest(records, s) ** (len(sizes) - 1) > CHANCE:
        return None
    return _not_poisson(case, "lots", f"all of {len(sizes)} lots have {sizes[0]} of {records} records")


def _not_poisson(case: Case, what: str, seen: str) -> Finding:
    said = (
        f"{what} always have the same size, but the algorithm draws each record independently (Poisson sampling): the "
        "epsilon of Poisson sampling does not hold for them"
    )
    return _finding(case, "batches of a fixed size", said, seen)


def _size(steps: Sequence[Batch]) -> int:
    """The number of distinct records: a function may ask for one again."""
    return len(set().union(*steps))


def _likeliest(records: int, s: float) -> float:
    """The largest probability of a size of Poisson lots, 0 < s < 1. m lots have the size of the first one with at most
    its (m - 1)-th power."""
    many = min(int((records + 1) * s), records)
    ways = math.lgamma(records + 1) - math.lgamma(many + 1) - math.lgamma(records - many + 1)
    return math.exp(ways + many * math.log(s) + (records - many) * math.log1p(-s))


def _pairs(runs: Sequence[BatchRun], within: bool) -> list[tuple[int, Batch, Batch]]:
    """Successive batches of one client: within a round, or the first ones of two rounds."""
    found = []
    for run in runs:
        if within:
            found += [(run.client, a, b) for steps in run.rounds for a, b in itertools.pairwise(steps)]
        else:
            first = [steps[0] for steps in run.rounds if steps]
            found += [(run.client, a, b) for a, b in itertools.pairwise(first)]
    return found


def _kept(case: Case, runs: Sequence[BatchRun]) -> Finding | None:
    """A batch that is re-used in every round, or in every step of a round."""
    for within, name, when in (
        (False, "a batch that is kept", "every round"),
        (True, "one batch for all local steps", "every local step of a round"),
    ):
        pairs = _pairs(runs, within)
        if len(pairs) >= FEWEST and all(set(a) == set(b) for _, a, b in pairs):
            said = (
                f"a batch is drawn once and used in {when}: the accounting assumes a new batch in every local step, "
                "and its amplification by sampling does not hold for a batch that is kept"
            )
            return _finding(case, name, said, f"all of {len(pairs)} batches are the same as the batch before")
    return None


def _in_turn(case: Case, runs: Sequence[BatchRun], on: World) -> Finding | None:
    """Batches that share fewer or more records with the batch before than independent batches do."""
    for within in (True, False):
        pairs = _pairs(runs, within)
        total = mean = variance = 0.0
        for client, *batches_ in pairs:
            a, b = map(set, batches_)  # given their sizes, two independent batches share a hypergeometric number
            records = len(on.records[client].y)
            total += len(a & b)
            mean += len(a) * len(b) / records
            variance += len(a) * (len(b) / records) * (1 - len(b) / records) * (records - len(a)) / max(records - 1, 1)
        if len(pairs) < FEWEST or variance <= 0.0 or abs(total - mean) <= DEVIATIONS * variance**0.5:
            continue
        said = (
            "a batch depends on the one before, for example where the records of an epoch are taken in turn: the "
            "accounting assumes batches that are drawn independently of each other"
        )
        seen = f"{total:.0f} records are in the next batch too, and {mean:.0f} are expected of independent ones"
        return _finding(case, "batches that depend on each other", said, seen)
    return None


def _apart(case: Case, runs: Sequence[BatchRun], on: World) -> Finding | None:
    """One record, or two together, that are in no batch, for example where a batch has neighbouring records, or only
    a part of the records is used."""
    for client in dict.fromkeys(run.client for run in runs):
        drawn = [set(batch) for run in runs if run.client == client for steps in run.rounds for batch in steps]
        sizes, records = {len(batch) for batch in drawn}, len(on.records[client].y)
        if len(sizes) != 1:
            continue
        (size,) = sizes
        for few in (1, 2):
            sets = list(itertools.combinations(range(records), few))
            share = math.comb(size, few) / math.comb(records, few)
            if share == 0.0 or len(sets) * (1.0 - share) ** len(drawn) > CHANCE:
                continue
            never = next((one for one in sets if not any(batch.issuperset(one) for batch in drawn)), None)
            if never is not None:
                said = (
                    "not all batches are equally likely: some records are never drawn, or never drawn together; the "
                    "amplification by sampling that is accounted for is that of batches that are drawn uniformly"
                )
                which = f"record {never[0]} is" if few == 1 else f"records {never[0]} and {never[1]} are together"
                seen = f"client {client}: {which} in none of {len(drawn)} batches of {size} of {records} records"
                return _finding(case, "batches that are not drawn uniformly", said, seen)
    return None
