"""The conformance test of one function: the comparisons, their order, and the verdict."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from dpfl_theory.algorithms.user_files import resolved
from dpfl_theory.algorithms.variations import declared
from dpfl_theory.conform.case import Case, failure, player_of
from dpfl_theory.conform.comparisons import sampled
from dpfl_theory.conform.comparisons.cohort import sampled as sampled_cohorts
from dpfl_theory.conform.comparisons.common import common, not_finite
from dpfl_theory.conform.comparisons.diagnose import UNKNOWN, VAGUE, exact, explained
from dpfl_theory.conform.comparisons.evidence import difference
from dpfl_theory.conform.comparisons.noise_linearity import FIXED, bent, missing_noise, the_same
from dpfl_theory.conform.comparisons.other_noise import ANOTHER
from dpfl_theory.conform.comparisons.sampled import by_samples
from dpfl_theory.conform.comparisons.sensitivity import MOST, claim, private
from dpfl_theory.conform.fault_search import ObservedDifference, explains
from dpfl_theory.conform.nearest import first_fitting, nearest
from dpfl_theory.conform.probes import SPREAD, Plan
from dpfl_theory.conform.references import Reference, references
from dpfl_theory.conform.result import CONFORMS, DIFFERS, UNDECIDED, Conformance, Finding
from dpfl_theory.conform.rng_reuse import STREAM_REUSED
from dpfl_theory.conform.settings import settings
from dpfl_theory.conform.user_function import Subject, UserFunctionError, hyperparameters_of
from dpfl_theory.core.algorithm import Fault
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.runtime.time_limits import TimeoutExceeded, at_most

GRACE = 1.0
"""Seconds after the limit in which it is seen what is known."""
SHARED_NOISE = "the same noise for all clients"
INNER = ("local_step", "local_steps", "relation_factor", "d", "layers")
"""Values that are not shown, since they follow from others."""


def conform(
    function: Callable[..., Any],
    as_: str | None = None,
    *,
    sampler: Callable[..., Any] | None = None,
    clients: int = 7,
    cohort: int | None = None,
    sampling: str | None = None,
    relation: str | None = None,
    runs: int = sampled.RUNS,
    alpha: float = 1e-6,
    seed: int = 0,
    max_epsilon: float = MOST,
    limit: float | None = None,
    variations: Mapping[str, Any] | None = None,
    **parameters: float,
) -> Conformance:
    """Compare an implementation of one round with an algorithm as its paper prints it.

    function: ``round(w, state, clients, cohort, rng) -> (w, state)``. w (d,) are the server's parameters. state is None
        in the first round, and then the state that the function returned. ``clients[i].gradient(w)`` (d,) is the
        gradient of client i. ``gradient(w, batch)`` is that of some of its records, and ``record_gradients(w)`` (m, d)
        that of each; ``len(clients[i])`` is their number m. ``clients[i].records`` are its arrays x (m, d) and y (m,)
        of a least-squares problem. cohort (s,) are the numbers of the clients that take part. rng is NumPy's
        Generator, which the noise comes from. Parameters after these five are the algorithm's hyper-parameters by name
        (``eta``, ``C``, ``sigma``, ``r``, ``n``, ...), which the test then varies; ``layers`` (slices of w) and
        ``round_number`` (from 0) may be among them.
    as_: the algorithm's name (``dpfl-theory conform --algorithms`` lists them); by default the nearest one, which
        a note names.
    sampler: ``sampler(n, rng)`` gives the members of a cohort, to be compared with ``sampling``.
    clients, cohort: n and the expected size r of a cohort.  sampling: ``poisson``, ``fixed``, ``with-replacement`` or
        ``full``; by default as printed.  relation: ``zero-out`` or ``replace``, the relation of the noise
        multiplier; by default ``replace`` where records are protected, else ``zero-out``.
    runs: number of runs with live noise, for tests on samples;  alpha: the error probability of all these tests
    together. max_epsilon: the largest epsilon that the noise multiplier may claim for one round, at delta 1e-5.
    limit: seconds after which the test is ended, if the function is a Python function and this is the main
    thread; by default there is no limit. variations: what the function has besides the algorithm and means, such as
    ``{"weights": "records", "momentum": 0.9}`` (`dpfl_theory.algorithms.variations`). ``parameters``: values that the
    function has built in.

    Returns:
        A `Conformance`.

    Raises:
        InputError: for an unknown algorithm or hyper-parameter, or a function that does not take the arguments of a
        round.
        TimeoutExceeded: at the limit.

    >>> def round(w, state, clients, cohort, rng, *, eta, beta, E, C, r, sigma):
    ...     total = np.zeros_like(w)
    ...     for i in cohort:
    ...         y = w
    ...         for _ in range(E):
    ...             y = y - eta * clients[i].gradient(y)
    ...         u = (w - y) / eta
    ...         total += u * min(1.0, C / max(np.linalg.norm(u), 1e-300))
    ...     noise = rng.normal(0.0, sigma, w.shape)
    ...     return w - beta * (total / len(cohort) + noise), state
    >>> found = conform(round, "dp-fedavg", runs=0)
    >>> found.verdict, [fault.name for fault in found.faults][:1]
    ('differs', ['division by |S| in place of r'])
    """
    if limit is not None and not 0.0 < limit < float("inf"):
        raise InputError(f"`limit` is {limit!r}: give a positive number of seconds, or leave it out")
    if not max_epsilon > 0.0:
        raise InputError(f"`max_epsilon` is {max_epsilon!r}: give a positive number")
    started = time.perf_counter()
    if not isinstance(clients, int) or not 3 <= clients <= 100:
        raise InputError(f"the number of clients is {clients!r}: give a whole number from 3 to 100")
    hyperparameters_of(function)
    meant = declared(variations or {})
    where: dict[str, Any] = {"clients": clients, "cohort": cohort, "scheme": sampling, "relation": relation}
    notes = list[str]()
    if as_ is None:
        test, notes = _chosen(function, parameters, meant, {**where, "seed": seed}, limit)
        test.runs, test.alpha = runs, alpha
        as_, reference, subject, values = test.reference.name, test.reference, test.subject, test.plan.values
    else:
        as_, known = resolved(as_), references()
        if as_ not in known:
            raise unknown_name("algorithm", as_, known)
        reference = known[as_].meaning(meant)
        subject = Subject(function, reference)
        values = settings(reference, parameters, set(subject.taken.values()), **where)
        test = Case(reference, subject, Plan(reference, values, seed), runs, alpha, seed, given=parameters)
    if {"sigma", *(x for p in reference.parameters if p.symbol == "noise_multiplier" for x in p.names)} & {*parameters}:
        test.max_epsilon = max_epsilon
    elif max_epsilon != MOST and reference.unit:
        test.notes.append(
            f"no epsilon is claimed, so that max_epsilon = {max_epsilon:g} was not compared: give the noise "
            "multiplier, as in noise_multiplier=1.1"
        )
    with _ended_at(limit, function):
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):  # the function's own
            try:
                found, ended = _findings(test), False
            except TimeoutExceeded as error:
                found, ended = _at_the_limit(test, error), True
        if sampler is not None and not ended:
            drawn = sampled_cohorts(sampler, values[0], seed, alpha / 4)
            amplified = bool(reference.unit) and reference.algorithm.amplified
            found += [replace(x, about="cohorts", private=x.private and amplified) for x in drawn.findings]
            if drawn.findings and reference.unit and not amplified:
                test.notes.append(
                    f"the accounting of {reference.name} has no amplification by sampling: what is said of "
                    "amplification concerns accountings that have it"
                )
            if drawn.open:
                test.undecided = True
                test.notes.append(drawn.open)
        if not ended and any(fault.about == "round" for fault in found):
            with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
                test.notes += _others(function, as_, parameters, where)
    verdict = DIFFERS if found else UNDECIDED if test.undecided else CONFORMS
    return Conformance(
        algorithm=as_,
        source=reference.algorithm.source,
        function=getattr(function, "__name__", type(function).__name__),
        verdict=verdict,
        reading=test.reading_text(always=verdict != DIFFERS),
        declared=tuple(one.name for one in meant),
        faults=tuple(found),
        notes=(*notes, *test.notes),
        settings=tuple({n: x for n, x in v.items() if n not in INNER and x is not None} for v in values),
        privacy=test.privacy,
        compared=test.compared,
        seconds=time.perf_counter() - started,
        seed=seed,
        alpha=alpha,
        versions={"numpy": np.__version__},
        assumed=test.assumed,
        decided=not test.undecided,
    )


@contextmanager
def _ended_at(limit: float | None, function: Callable[..., Any]) -> Iterator[None]:
    """End the block after this time, if there is a limit, with a sentence that says which test was ended."""
    try:
        with nullcontext() if limit is None else at_most(limit):
            yield
    except TimeoutExceeded as error:
        name = getattr(function, "__qualname__", type(function).__name__)
        raise TimeoutExceeded(f"the test of {name} {str(error).removeprefix('it ')}: give a longer `limit`") from error


def _chosen(
    function: Callable[..., Any],
    parameters: Mapping[str, float],
    meant: Sequence[Fault],
    where: Mapping[str, Any],
    limit: float | None,
) -> tuple[Case, list[str]]:
    """The comparison with the nearest algorithm, and a note that says which it is. Raises InputError where the function
    fits none."""
    with _ended_at(limit, function), warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        found = nearest(function, parameters, meant, **where)
        if not found and (failing := first_fitting(function, parameters, meant, **where)) is not None:
            raise failing.never_runs() or InputError(
                "the function fails in some rounds, so that no nearest algorithm is found: name the one that it should "
                "be (--as), and the report says where it fails"
            )
    if not found:
        raise InputError(
            "the function's hyper-parameters fit no algorithm: name the one that it should be, and its parameters as "
            "`dpfl-theory conform --algorithms` lists them"
        )
    rest = " or ".join(str(one) for one in found[1:3] if one.known)
    then = f"; next comes {rest}" if rest else ""
    many = len(found)
    chosen = f"the nearest of {many} algorithms" if many > 1 else "the only algorithm whose hyper-parameters fit"
    return found[0].case, [f"compared with {found[0].name}, {chosen}{then}"]


def _others(
    function: Callable[..., Any], as_: str, parameters: Mapping[str, float], where: Mapping[str, Any]
) -> list[str]:
    """The other algorithms that do what the function does, as far as it takes their hyper-parameters."""
    own = {**where, "relation": None}
    found = nearest(function, parameters, search=False, leave_out=as_, **own)
    return [f"in all rounds that were compared, w is also that of {one.name}" for one in found if one.exact]


def _sampled_first(case: Case, seen: Sequence[ObservedDifference]) -> bool:
    """Whether w has other randomness than recorded noise, and samples of it agree with the algorithm: no search for
    faults is needed then."""
    if any("p" in v for v in case.plan.values):  # coins are compared one by one
        return False
    if any(explains(player_of(case.reference, reading), seen) for reading in case.reference.readings):
        return False
    why = case.otherwise_random()
    if not why:
        return False
    before = replace(case, notes=[*case.notes])
    if not by_samples(case, why):
        return True
    for name in ("notes", "compared", "undecided", "reading"):
        setattr(case, name, getattr(before, name))
    return False


def _findings(case: Case) -> list[Finding]:
    """The deviations."""
    found: list[Finding] = []
    try:
        if why := case.why_not_silent():
            return by_samples(case, why)
        case.plan.require_separable_noise(case.subject)
        if (step := case.step()) != case.plan.step:
            case.plan = replace(case.plan, step=step)
        seen = case.everything()
        finite = [one for one in seen if np.isfinite(one.value).all()]
        noisy = case.reference.unit or any(one.numbers for one in seen)
        case.compared = {
            "paths": len(case.plan.paths),
            "covariances of the noise": len(case.plan.spreads) if noisy else 0,
        }
        if _sampled_first(case, finite):
            return []
        named = explained(case, finite)
        if not named and len(finite) < len(seen):  # the cause may show only there
            named = [one for one in explained(case, seen) if one.name != UNKNOWN]
        if {fault.name for fault in named} & {UNKNOWN, FIXED, *VAGUE} and (why := case.otherwise_random()):
            case.compared = {}
            return by_samples(case, why)
        if UNKNOWN in {fault.name for fault in named} and any(one.hidden for one in finite):
            finite, named = _without_hidden(case, finite, named)
        found += not_finite(case, seen)
        watched: list[Finding] = getattr(case.subject.function, "findings", list)()
        if watched:
            named = [fault for fault in named if fault.name not in {UNKNOWN, *(one.name for one in watched)}]
        found += _once(watched, _of_the_noise(case, named))
        found += common(case, seen, named)
        case.notes += filter(None, [] if named else [exact(case, finite), _of_fixed_size(case)])
        if case.reference.unit:
            found += [*private(case, found), *claim(case)]
            found = _by_measured_noise(case, found)
    except UserFunctionError as error:
        if (unusable := case.never_runs()) is not None:
            raise unusable from None
        case.failed = case.failed or failure(error, case.where_alone())
    return ([] if case.failed is None else [case.failed]) + found


def _by_measured_noise(case: Case, found: list[Finding]) -> list[Finding]:
    """The findings. Those that only change the size of the noise break the claimed privacy where mu was measured and
    exceeds the claim. If another finding may be the cause, or others see the noise of single messages, they stay."""
    algorithm = case.reference.algorithm
    steps = case.reference.unit == "record" and not algorithm.lots
    if case.privacy.get("mu") is None or algorithm.noise_in_messages or steps:
        return found
    faults = [fault for one in case.suspects for fault in one.faults]
    sizes = {one.name for one in faults if one.role == "noise" and not (one.once or one.unaccounted)} | {ANOTHER}
    if any(x.private for x in found if x.name not in sizes):
        return found
    return [replace(x, private=case.excess > 1.0 + SPREAD) if x.name in sizes else x for x in found]


def _at_the_limit(case: Case, error: TimeoutExceeded) -> list[Finding]:
    """The difference that was seen when the time was over, whose name was still sought. Raises the error where all that
    was seen is the algorithm's, or may be random."""
    try:
        with at_most(GRACE):
            seen = [one for one in case.seen if np.isfinite(one.value).all()]
            same = (explains(player_of(case.reference, reading), seen) for reading in case.reference.readings)
            if any(same) or any(one.hidden for one in seen) or case.otherwise_random():
                raise error
            evidence = difference(case, seen)
    except (TimeoutExceeded, UserFunctionError):
        raise error from None
    case.notes.append(f"the search for a name was ended, and nothing else was compared: {error}. Give a longer limit")
    said = f"w differs from that of {case.reference.algorithm.source}, and the time was too short to name the deviation"
    return [Finding(UNKNOWN, said, evidence)]


def _of_fixed_size(case: Case) -> str:
    """A note where cohorts of random size, which the algorithm may have, would show a difference."""
    v = case.plan.values[0]
    if case.reading is None or v["scheme"] != "fixed" or "poisson" not in case.reference.algorithm.samplings:
        return ""
    seen = [case.see(probe) for probe in case.plan.larger_cohort]
    seen += case.everything()  # several readings may agree where the size is fixed
    if any(explains(player_of(case.reference, one), seen) for one in case.reference.readings):
        return ""
    return (
        f"cohorts had the fixed size r = {v['r']:g}. With cohorts of random size the round would differ from the "
        "algorithm's, for example by a division by |S| in place of r: test it with sampling=poisson if you draw them so"
    )


def _without_hidden(
    case: Case, seen: list[ObservedDifference], named: list[Finding]
) -> tuple[list[ObservedDifference], list[Finding]]:
    """The observations other than those where it is unknown which records the function uses, with the findings on
    them. If these do not match a known round either, all observations and the findings already named."""
    rest = [one for one in seen if not one.hidden]
    found = explained(case, rest) if rest else []
    if UNKNOWN in {fault.name for fault in found}:
        return seen, named
    case.undecided = True
    known = {p.symbol for p in case.reference.parameters} & {"s", "B"}
    parts = ", ".join(f"{x} = {min(float(one.probe.v[x]) for one in seen if one.hidden):g}" for x in sorted(known))
    case.notes.append(
        f"with {parts} a step takes some of the records, and which of them the function uses cannot be seen: its "
        "rounds were compared only where a step takes all, if at all; ask for those of a batch, gradient(w, batch) or "
        "record_gradients(w, batch)"
    )
    return rest, found


def _of_the_noise(case: Case, named: list[Finding]) -> list[Finding]:
    """The named findings, or more specific ones where those say little about the noise; and findings that need special
    rounds."""
    if not case.reference.unit:
        return named
    vague = {fault.name for fault in named} & set(VAGUE)
    if (not named or vague) and (shape := bent(case)) is not None:
        return [*(fault for fault in named if fault.name not in VAGUE), shape]
    if not named and (same := the_same(case)) is not None:
        return [same]
    if "no noise" in vague:
        return named
    return [*named, *missing_noise(case, player_of(case.reference, case.reading or case.reference.readings[0]))]


def _once(watched: list[Finding], named: list[Finding]) -> list[Finding]:
    """What an adapter watched, and what the comparison named, each deviation once: the comparison sees the same noise
    for all clients where the adapter sees a key that is used twice in a round."""
    by_name = {one.name for one in named}
    if SHARED_NOISE in by_name:
        watched = [one for one in watched if one is not STREAM_REUSED]
    return [*watched, *(one for one in named if one.name not in {other.name for other in watched})]


def described(reference: Reference) -> Mapping[str, Any]:
    """A reference as plain data, for JSON."""
    parameters = [{"name": p.symbol, "meaning": p.text, "also": list(p.aliases)} for p in reference.parameters]
    return {
        "name": reference.name,
        "source": reference.algorithm.source,
        "sampling": reference.algorithm.sampling(),
        "parameters": parameters,
        "letters": parameters,  # as the key was called before
        "faults": sorted({fault.name for fault in reference.faults()}),
    }
