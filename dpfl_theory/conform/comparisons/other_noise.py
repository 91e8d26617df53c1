"""Noise that no known fault explains: what was observed about it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpfl_theory.conform.case import Case, player_of
from dpfl_theory.conform.comparisons.evidence import dependence, deviation, difference, of_role
from dpfl_theory.conform.comparisons.noise_linearity import (
    ADAPTS,
    APART,
    CHANGES,
    CONSTANT,
    FIXED,
    SCALED,
    STAYS,
    TIMES,
    TRANSFORMED,
    is_linear,
)
from dpfl_theory.conform.fault_search import Candidate, ObservedDifference, explains
from dpfl_theory.conform.probes import LONG_STEP, Path, Spread, agree, probe_without_noise, responses
from dpfl_theory.conform.references import Player
from dpfl_theory.conform.result import Finding, joined
from dpfl_theory.conform.settings import SHARES, cohorts, world
from dpfl_theory.conform.user_function import UserFunctionError
from dpfl_theory.problems.base import Array

PROPORTIONAL = 1e-3
"""The relative difference of two covariances from which they are not multiples of each other."""
OTHER_LAYERS = (slice(0, 4), slice(4, 11))
"""The layers of a model of another size."""
WHOLE = 1e-3
"""The distance of an exponent from a multiple of 1/2 that rounding explains."""
ANOTHER = "another noise"
AFTER = "noise after the local steps"
PARTLY = "coordinates without noise"
TWICE = "the same random numbers for several coordinates"


def _constant(case: Case, one: ObservedDifference, vector: Array) -> tuple[str, str]:
    """The name of a vector that depends neither on the rng nor on the data. Noise becomes longer with the noise
    multiplier; a constant does not."""
    path = one.probe
    assert isinstance(path, Path)
    longer = {symbol: 2.0 * path.v[symbol] for symbol in ("sigma", "noise_multiplier") if path.v.get(symbol)}
    other = replace(path, v={**path.v, **longer})
    found = other.outcome(case.subject, one.choices)[0] - other.outcome(case.reference.round, one.choices)[0]
    seed = (
        "a generator that the round makes with its own seed, and whoever knows the seed can remove it; draw the noise "
        "from the rng that the round is given"
    )
    if np.allclose(found, 2.0 * vector, rtol=1e-6, atol=1e-9 * float(np.max(np.abs(vector)))):
        return FIXED, (
            "a vector is added that follows the noise multiplier but not the rng. One of: a mean of the noise that is "
            f"not 0, as in normal(sigma, size=d); noise of {seed}"
        )
    return CONSTANT, (
        f"a vector is added that depends neither on the rng, nor on the data, nor on the noise multiplier. One of: a "
        f"constant, or a mean of the noise that is not 0; noise of {seed}"
    )


def other_noise(
    case: Case, spreads: Sequence[ObservedDifference], suspect: Candidate, named: Sequence[Finding]
) -> list[Finding]:
    """Noise that no fault explains: the factor of its standard deviation, and whether that depends on the data."""
    player = suspect.player
    where = case.lines("noise")
    if (late := _late(case, spreads, player)) is not None:
        return [late]
    if (follows := _scaled(case, player)) is not None:
        return [follows]
    if (shape := _shape(case, spreads[0], player)) is not None:
        return [shape]
    factors = sorted({float(f"{r:.4g}") for r in ratios(spreads, player) if r < math.inf}) or [math.inf]
    message = f"{factors[0]:.4g}" if len(factors) == 1 else f"{factors[0]:.4g} to {factors[-1]:.4g}"
    given = ", given the findings named above" if named else ""
    said = f"the standard deviation of the noise in w is {message} times the algorithm's{given}"
    powers = _follows(case)
    if (after := _after_steps(case, player, powers)) is not None:
        return [replace(after, evidence=_counted(case, spreads, suspect))]
    said += f"; {powers}" if powers else ""
    less = factors[0] < 1.0 and _moves_as_the_algorithm(case, suspect)  # else the sensitivity may differ too
    return [Finding(ANOTHER, said, _counted(case, spreads, suspect), where, private=less)]


def _moves_as_the_algorithm(case: Case, suspect: Candidate) -> bool:
    """Whether no fault of a suspect acts on a first round without noise, so that its sensitivity is the algorithm's."""
    plain = player_of(case.reference, suspect.reading)
    firsts = [path.first for path in case.plan.paths] if suspect.faults else []
    return all(agree(one, one.outcome(suspect.player), one.outcome(plain)) for one in firsts)


def _shape(case: Case, one: ObservedDifference, player: Player) -> Finding | None:
    """Noise that some coordinates do not have, or that is the same in several, where the algorithm's is not so."""
    assert isinstance(one.probe, Spread)
    d = one.probe.path.world.d
    covariance, needed = (x[:d, :d] for x in (one.value, one.probe.outcome(player, one.choices)))
    variances, least = np.diag(covariance), 1e-12 * float(np.max(np.diag(covariance), initial=0.0))
    if least <= 0.0 or np.linalg.matrix_rank(needed, hermitian=True) < d:
        return None
    bare = [j for j in range(d) if variances[j] <= least]
    rest = [j for j in range(d) if variances[j] > least]
    factors = sorted({float(f"{(variances[j] / needed[j, j]) ** 0.5:.4g}") for j in rest})
    times = f"{factors[0]:.4g}" if len(factors) == 1 else f"{factors[0]:.4g} to {factors[-1]:.4g}"
    if bare:
        said = (
            f"{len(bare)} of {d} coordinates of w get no noise, and in the others its standard deviation is {times} "
            "times the algorithm's: a message moves all coordinates, so add noise to every one"
        )
        seen = f"{one.probe.name}: no noise in the coordinates {joined([str(j) for j in bare])}"
        return Finding(PARTLY, said, seen, case.lines("noise"), private=True)
    sizes = np.sqrt(np.outer(variances, variances))
    pairs = [(i, j) for j in range(d) for i in range(j) if covariance[i, j] > (1.0 - 1e-6) * sizes[i, j]]
    if not pairs:
        return None
    said = (
        "coordinates of w get the same random numbers, so that their differences have no noise; the standard deviation "
        f"of a coordinate is {times} times the algorithm's: draw a number for each coordinate"
    )
    seen = f"{one.probe.name}: the same noise in the coordinates {joined([f'{i} = {j}' for i, j in pairs])}"
    return Finding(TWICE, said, seen, case.lines("noise"), private=True)


def _follows(case: Case) -> str:
    """How the noise of a first round follows the arguments that the function takes: each is multiplied by itself, by
    two factors, where gradients are constant. It follows a power of an argument only where both show the same."""
    counts = {p.symbol for p in case.reference.parameters if p.kind == "count"}
    path, sizes = case.plan.flat, dict[str, float | None]()
    base = _size(case.subject, path)
    for symbol in dict.fromkeys(case.subject.taken.values()):
        value = path.v.get(symbol)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value or symbol in ("n", "number"):
            continue
        if symbol in ("s", "p"):
            continue  # other batches, or another coin
        found = list[float]()
        for factor in (2, 3) if symbol in counts else (2, 1.5):
            other = replace(path, v={**path.v, symbol: factor * value})
            with contextlib.suppress(UserFunctionError, ValueError, ZeroDivisionError):
                found.append(math.log(_size(case.subject, other) / base) / math.log(factor))
        alike = len(found) == 2 and abs(found[0] - found[1]) <= WHOLE
        sizes[symbol] = found[0] if alike else math.nan if found else None
    return _powers(sizes)


def _size(player: Player, path: Path) -> float:
    """The standard deviation of a coordinate after a first round."""
    probe = Spread(path.first, LONG_STEP, both=True)
    return deviation(probe, probe.outcome(player))


def with_one_factor(first: Sequence[ObservedDifference], suspects: Sequence[Candidate]) -> Sequence[Candidate]:
    """The suspects whose noise differs from the function's by one factor in each setting, whatever the size of the
    cohort, if some have such noise: a factor that follows the size of the cohort belongs to their names."""

    def has_one(one: Candidate) -> bool:
        factors: dict[int, list[float]] = {}
        for spread, ratio in zip(first, ratios(first, one.player)):
            factors.setdefault(id(spread.probe.v), []).append(ratio)
        return all(max(own) <= min(own) * (1.0 + PROPORTIONAL) and max(own) < math.inf for own in factors.values())

    return [one for one in suspects if has_one(one)] or suspects


def separated(case: Case, suspects: Sequence[Candidate]) -> Sequence[Candidate]:
    """The suspects that also explain cohorts of all clients but one, and a path with other numbers of clients, if they
    differ and some do: in a cohort of one size, other averages may be equal by chance."""
    for path in (case.plan.large_cohorts, _with_more_clients(case)):
        if len({frozenset(fault.name for fault in one.faults) for one in suspects}) < 2:
            break
        try:
            seen = case.see(path)
        except UserFunctionError:
            continue
        suspects = [one for one in suspects if explains(one.player, [seen])] or suspects
    return suspects


def _with_more_clients(case: Case) -> Path:
    """A first round with other numbers of clients, members of a cohort and parameters."""
    v = case.plan.values[0]
    n = int(v["n"]) + 4
    other: dict[str, Any] = {**v, "n": n, "d": OTHER_LAYERS[-1].stop, "layers": OTHER_LAYERS}
    other["r"] = float(n) if v["scheme"] == "full" else v["r"] + 2.0
    if "noise_multiplier" not in case.reference.algorithm.parameters:
        other["sigma"] = None  # it follows from the multiplier
    other = case.reference.with_defaults(other)
    on = world(case.reference, other, next(iter(SHARES)), 77)
    return Path(other, on, tuple(cohorts(other, 1, 77)))


def with_other_numbers(case: Case, suspects: Sequence[Candidate]) -> list[Candidate]:
    """The suspects that also explain the noise with other numbers of clients, members of a cohort and parameters, as
    far as the function allows other ones. A factor such as sqrt(r) is then no constant that happens to be as large."""
    v = case.plan.values[0]
    taken = set(case.subject.taken.values())
    if not {"sigma", "noise_multiplier"} & taken or float(v.get("p", 1.0)) < 1.0 or float(v.get("s", 1.0)) < 1.0:
        return list(suspects)
    if not any(fault.role == "noise" for one in suspects for fault in one.faults):
        return list(suspects)
    path = _with_more_clients(case)
    probe = Spread(path, LONG_STEP, both=True)
    try:
        w, covariance = path.outcome(case.subject), probe.outcome(case.subject)
    except UserFunctionError:
        return list(suspects)
    found = []
    for one in suspects:
        if agree(path, w, path.outcome(one.player)) and not agree(probe, covariance, probe.outcome(one.player)):
            continue
        found.append(one)
    return found


def _powers(exponents: Mapping[str, float | None]) -> str:
    """The exponents in words.

    >>> _powers({"C": 1.0, "K": 0.5, "eta_l": 0.0, "r": 0.31})
    'it is proportional to C and sqrt(K), and not to a power of r; it does not depend on eta_l'
    """
    words = {1.0: "{}", 0.5: "sqrt({})", -1.0: "1/{}", -0.5: "1/sqrt({})", 2.0: "{}^2"}
    whole = {name: None if x is None or math.isnan(x) else round(2.0 * x) / 2.0 for name, x in exponents.items()}
    exact = {name for name, x in exponents.items() if x is not None and abs(x - (whole[name] or 0.0)) <= WHOLE}
    along = [words.get(x, f"{{}}^{x:g}").format(name) for name, x in whole.items() if name in exact and x]
    none = [name for name, x in whole.items() if name in exact and x == 0.0]
    bent = [name for name, x in exponents.items() if x is not None and name not in exact]
    first = [f"proportional to {joined(along)}"] if along else []
    first += [f"not to a power of {joined(bent)}"] if bent else []
    parts = [f"it is {', and '.join(first)}"] if first else []
    parts += [f"it does not depend on {joined(none)}"] if none else []
    return "; ".join(parts)


def _after_steps(case: Case, player: Player, follows: str) -> Finding | None:
    """Noise that each client adds once, after its last gradient, where the algorithm adds it in every local step. Shown
    by the count of numbers, and by effects that no later gradient changes: they are the same for other data and where
    gradients are constant."""
    v = case.plan.values[0]
    if case.reference.unit != "record" or int(v["local_steps"]) < 2 or float(v.get("s", 1.0)) < 1.0:
        return None
    path, flat = case.plan.spreads[0].path.first, case.plan.flat
    needed = [probe_without_noise(one, path.world, v, path.who).numbers for one in (case.subject, player)]
    members = len(path.who[0])
    if needed[0] != members * path.world.d or needed[1] <= needed[0]:
        return None
    same = replace(flat, who=path.who)
    here, there = (list(responses(case.subject, one, LONG_STEP, both=True)) for one in (path, same))
    largest = max(float(np.max(np.abs(x))) for x in (*here, *there))
    if any(float(np.max(np.abs(x - y))) > 1e-6 * largest for x, y in zip(here, there)):
        return None
    steps = f"{v['local_steps']:.0f} local steps"
    said = (
        f"each client adds its noise once, after its last gradient, and the algorithm adds noise in each of {steps}. "
        f"The standard deviation of the noise in w: {follows or 'it follows no argument of the function'}. A record "
        "changes its client's later gradients too, and moves the end of the steps by up to 2 C eta_l (1/R + K - 1)"
    )
    return Finding(AFTER, said, "", case.lines("noise"), unaccounted=True)


def ratios(spreads: Sequence[ObservedDifference], player: Player) -> list[float]:
    """The standard deviations of the function's noise in first rounds, divided by those of a player."""
    found = []
    for one in spreads:
        assert isinstance(one.probe, Spread)
        a, b = (deviation(one.probe, x) for x in (one.value, one.probe.outcome(player, one.choices)))
        found.append(a / b if b > 0.0 else math.inf)
    return found


def _counted(case: Case, spreads: Sequence[ObservedDifference], suspect: Candidate) -> str:
    """The difference of the noise from that with the suspect's faults, with the count of normal numbers in a round
    where the count differs too."""
    path = case.plan.spreads[0].path.first
    counts = [probe_without_noise(one, path.world, path.v, path.who).numbers for one in (case.subject, suspect.player)]
    if case.reference.algorithm.noise_in_messages:  # whose sum is drawn at once
        counts[1] *= len(path.who[0])
    apart = difference(case, spreads, suspect.faults)
    if counts[0] == counts[1]:
        return apart
    return f"{apart}; a round draws {counts[0]} numbers of noise, and {counts[1]} in the algorithm"


def _scaled(case: Case, player: Player) -> Finding | None:
    """Noise that is larger where gradients are larger. Tested in pairs of worlds whose data differ only in the size of
    the residuals, and in which the algorithm's own noise is the same."""
    v = case.plan.values[0]
    if v.get("s", 1.0) < 1.0:
        return None  # batches would differ as well
    for name in ("far below it", "on both sides of the threshold", "far above it"):
        on, seed = world(case.reference, v, name, 7), 7
        probes = [case.plan.spread(Path(v, one, tuple(cohorts(v, 1, seed)))) for one in (on, on.stretched(TIMES))]
        own = [probe.outcome(player) for probe in probes]
        if not agree(probes[0], own[1], own[0]):
            continue
        found = [probe.outcome(case.subject) for probe in probes]
        if agree(probes[0], found[1], found[0]) or not all(np.isfinite(x).all() for x in found):
            continue
        first, second = (deviation(probe, x) for probe, x in zip(probes, found))
        if min(first, second) <= 0.0:
            continue
        alike = agree(replace(probes[0], step=LONG_STEP), found[1] * (first / second) ** 2, found[0])
        if alike and all(is_linear(case, probe.path) for probe in probes):
            title, said = (
                SCALED,
                (
                    "the noise depends on the data: its standard deviation differs where the clients' gradients are "
                    "larger, so that it reveals information about them; calibrate it to the threshold"
                ),
            )
        else:
            title, said = (
                TRANSFORMED,
                (
                    "the noise in w depends on the data, and not by one factor. One of: it is added before a bound, a "
                    "normalisation or local steps that change it; its standard deviation is made of the data, which "
                    "reveals information about them; the server transforms the noisy average"
                ),
            )
        seen = f"clients {name}: {second / first:.4g} times the noise where all residuals are {TIMES:g} times as large"
        return Finding(title, said, seen, case.lines("noise"), private=title == SCALED, unaccounted=True)
    return None


def _late(case: Case, spreads: Sequence[ObservedDifference], player: Player) -> Finding | None:
    """Noise that agrees with the algorithm's in the first round and differs later: in the first setting that shows it,
    or where privacy is lost."""
    found = list[Finding]()
    for one in spreads:
        assert isinstance(one.probe, Spread)
        path, expected = one.probe.path, one.probe.outcome(player, one.choices)
        d, rounds = path.world.d, len(path.who)
        right = [agree(one.probe, one.value[:m, :m], expected[:m, :m]) for m in range(d, rounds * d + 1, d)]
        if all(right):
            continue
        if not right[0]:
            break
        k = right.index(False)
        fresh, needed = (_conditional_variance(x, k * d, d) for x in (one.value, expected))
        before = _conditional_variance(one.value, (k - 1) * d, d)
        off = 2.0 * one.probe.tolerance
        less, alike = fresh < needed * (1.0 - off), abs(fresh - needed) <= off * needed
        why = (
            "it has less fresh noise, given the rounds before: every round needs the noise that is accounted for"
            if less
            else "given the rounds before, it is as large as the algorithm's, but it depends on them in another way"
            if alike
            else "given the rounds before, it is larger than the algorithm's"
        )
        stays = not alike and abs(fresh - before) <= off * before
        title = APART if alike else STAYS if stays else CHANGES
        why += "; the algorithm's changes there, and this one does not" if stays else ""
        why += "" if less else "; whether it is accounted for was not tested"
        said = (
            "the noise of the first rounds agrees with the algorithm's, but later it differs"
            f"{case.setting(path.v)}: {why}"
        )
        sizes = (
            "given the rounds before, its standard deviation is "
            f"{(fresh / d) ** 0.5:.4g} there, and {(needed / d) ** 0.5:.4g} in the algorithm"
        )
        within = slice(0, (k + 1) * d)
        first = replace(one.probe, path=replace(path, who=path.who[: k + 1]))
        sizes = dependence(first, one.value[within, within], expected[within, within]) if alike else sizes
        seen = f"{one.probe.name}: from round {k + 1} on; {sizes}"
        found.append(Finding(title, said, seen, case.lines("noise"), private=less, unaccounted=True))
    return max(found, key=lambda one: one.private, default=None)


def _conditional_variance(covariance: Array, m: int, d: int) -> float:
    """The total variance of the d numbers after the first m, conditional on the first m."""
    before, across = covariance[:m, :m], covariance[:m, m : m + d]
    known = across.T @ np.linalg.pinv(before, rcond=1e-9, hermitian=True) @ across
    return max(float(np.trace(covariance[m : m + d, m : m + d] - known)), 0.0)


def fixed_noise(
    case: Case, paths: Sequence[ObservedDifference], spreads: Sequence[ObservedDifference]
) -> Finding | None:
    """Noise that no generator's seed changes: the same vector remains in every world. It costs no privacy where the
    noise that was recorded is the algorithm's."""
    if not case.reference.unit:
        return None
    left = []
    for one in paths:
        if one.probe.v is paths[0].probe.v:
            left.append(one.value[0] - one.probe.outcome(player_of(case.reference, case.reference.readings[0]))[0])
    sizes = float(np.max(np.abs(left[0])))
    if sizes > 0.0 and all(np.allclose(x, left[0], rtol=1e-6, atol=1e-9 * sizes) for x in left[1:]):
        name, said = _constant(case, paths[0], left[0])
        noisy = bool(spreads) and any(explains(player_of(case.reference, x), spreads) for x in case.reference.readings)
        return Finding(
            name,
            said,
            f"the same vector of length {np.linalg.norm(left[0]):.4g} remains without noise in {len(left)} problems",
            case.lines("noise"),
            private=not noisy,
            unaccounted=not noisy,
        )
    return None


def adapts(case: Case, seen: Sequence[ObservedDifference]) -> Finding:
    """A threshold that follows the data, with noise."""
    said = (
        "the threshold of the next round follows the lengths of this round's updates, with noise; the algorithm has a "
        "fixed threshold. How much this noise protects the lengths, and its privacy cost, were not tested: account for "
        "it together with the noise of the average"
    )
    return Finding(ADAPTS, said, difference(case, of_role(seen, "clip")), case.lines("clip"), unaccounted=True)


def first_rounds(spreads: Sequence[ObservedDifference]) -> list[ObservedDifference]:
    """Only the noise of first rounds."""
    return [
        replace(one, probe=replace(one.probe, path=one.probe.path.first), value=one.value[:d, :d])
        for one in spreads
        if isinstance(one.probe, Spread) and (d := one.probe.path.world.d)
    ]
