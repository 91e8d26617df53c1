"""The conformance test of one function: what is compared, in which order, and what follows."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpfl_theory.conform import lines, neighbours, sampled
from dpfl_theory.conform.base import Fault, Player, Reading, Reference
from dpfl_theory.conform.cohort import sampled as sampled_cohorts
from dpfl_theory.conform.probes import Path, Plan, Spread, agree, heard, played
from dpfl_theory.conform.randomness import Listening
from dpfl_theory.conform.references import references
from dpfl_theory.conform.result import CONFORMS, DIFFERS, UNDECIDED, Conformance, Finding
from dpfl_theory.conform.settings import settings
from dpfl_theory.conform.subject import Raised, Subject
from dpfl_theory.conform.suspects import Seen, Suspect, explains, find
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.problems.base import Array

__all__ = ["conform"]

DELTA = 1e-5
PAIRS_SECONDS = 3.0
"""How long pairs of faults are looked for."""
UNKNOWN = "another round"
FEWEST = 200
"""Runs of each data set that an audit needs."""
TOSSES = 400
"""Rounds in which the coin is watched."""
INNER = ("level", "deviation", "local_step", "global_step", "local_steps", "memory", "relation_factor", "d")
"""Letters that others say already."""


def conform(
    function: Callable[..., Any],
    as_: str,
    *,
    sampler: Callable[..., Any] | None = None,
    clients: int = 6,
    cohort: int | None = None,
    sampling: str | None = None,
    relation: str = "zero-out",
    runs: int = sampled.RUNS,
    alpha: float = 1e-6,
    seed: int = 0,
    **letters: float,
) -> Conformance:
    """Hold an implementation of one round against an algorithm as its paper prints it.

    function: ``round(w, state, clients, cohort, rng) -> (w, state)``. w (d,) are the server's parameters, state is
    None in
        the first round and then what the function returned, ``clients[i].gradient(w)`` (d,) is the gradient of client i
        (``gradient(w, batch)`` of some of its records, ``record_gradients(w)`` (m, d) of each), ``clients[i].records``
        are its arrays x (m, d) and y (m,) of a least-squares problem, cohort (s,) are the numbers of the clients that
        take part, and
        rng is NumPy's Generator, which the noise comes from. Parameters after these five are hyper-parameters by the
        algorithm's letters (``eta``, ``C``, ``sigma``, ``r``, ``n``, ...), which the test then varies.
    as_: the algorithm's name (``dpfl-theory conform --list``).
    sampler: ``sampler(n, rng)``, the members of a cohort, to be held against ``sampling``.
    clients, cohort: n and the expected size r of a cohort.  sampling: ``poisson``, ``fixed`` or ``full``; by default
        as printed.  relation: ``zero-out`` or ``replace``, which the noise multiplier speaks of.
    runs: of the function as it really runs, for tests on samples;  alpha: their error probability, all together.
    letters: values that the function has built in.

    Returns:
        A `Conformance`.

    Raises:
        InputError: for an unknown algorithm or letter, or a function that does not take what a round takes.

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
    begun = time.perf_counter()
    known = references()
    if as_ not in known:
        raise unknown_name("algorithm", as_, known)
    if not isinstance(clients, int) or not 3 <= clients <= 100:
        raise InputError(f"the number of clients is {clients!r}: give a whole number from 3 to 100")
    kind = known[as_]
    reference = kind()
    subject = Subject(function, kind)
    asked = set(subject.taken.values())
    values = settings(reference, letters, asked, clients=clients, cohort=cohort, scheme=sampling, relation=relation)
    test = _Test(reference, subject, Plan(reference, values), runs, alpha, seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the function's own; what comes of it is told
        found = test.findings()
    if sampler is not None:
        found += sampled_cohorts(sampler, values[0], seed, alpha / 4)
    if [fault.name for fault in found] == [UNKNOWN]:
        test.notes += [f"it does what {other} does" for other in _others(function, as_, letters)]
    verdict = DIFFERS if found else UNDECIDED if test.undecided else CONFORMS
    return Conformance(
        algorithm=as_,
        source=kind.source,
        function=getattr(function, "__name__", type(function).__name__),
        verdict=verdict,
        reading=test.reading.name if test.reading is not None and verdict != DIFFERS else "",
        faults=tuple(found),
        notes=tuple(test.notes),
        settings=tuple({n: x for n, x in v.items() if n not in INNER and x is not None} for v in values),
        privacy=test.privacy,
        compared=test.compared,
        seconds=time.perf_counter() - begun,
        seed=seed,
        alpha=alpha,
        versions={"numpy": np.__version__},
    )


def _others(function: Callable[..., Any], as_: str, letters: Mapping[str, float]) -> list[str]:
    """The other algorithms that the function conforms to, as far as it takes and has their letters."""
    found = []
    for name, kind in references().items():
        if name == as_:
            continue
        try:
            subject = Subject(function, kind)
            asked = set(subject.taken.values())
            values = settings(kind(), letters, asked, clients=6, cohort=None, scheme=None, relation="zero-out")
        except InputError:
            continue
        test = _Test(kind(), subject, Plan(kind(), values), 0, 1e-6, 0)
        if test.same():
            found.append(name)
    return found


class _Test:
    """One function against one reference."""

    def __init__(self, reference: Reference, subject: Subject, plan: Plan, runs: int, alpha: float, seed: int) -> None:
        self.reference, self.subject, self.plan = reference, subject, plan
        self.runs, self.alpha, self.seed = runs, alpha, seed
        self.reading: Reading | None = None
        self.undecided = False
        self.notes: list[str] = []
        self.privacy: dict[str, Any] = {}
        self.compared: dict[str, int] = {}
        self._ran: list[lines.Line] | None = None

    def findings(self) -> list[Finding]:
        """What is wrong."""
        try:
            if self._deaf():
                return self._by_samples()
            every: list[Path | Spread] = [*self.plan.paths, *self.plan.spreads]
            seen = [self._see(probe) for probe in every]
        except Raised as error:
            where = (error.place,) if error.place else ()
            return [Finding("the function fails", str(error), lines=where)]
        self.compared = {"paths": len(self.plan.paths), "covariances of the noise": len(self.plan.spreads)}
        found = self._not_finite(seen)
        found += self._explained([one for one in seen if np.isfinite(one.value).all()])
        found += self._kinds()
        found += self._coin()
        found += self._of_nobody()
        if self.reference.unit == "client":
            found += self._neighbours(self.subject, found)
        return found

    def same(self) -> bool:
        """Whether some reading does what the function does, noise included."""
        try:
            every: list[Path | Spread] = [*self.plan.paths, *self.plan.spreads]
            seen = [self._see(probe) for probe in every]
        except Raised:
            return False
        return any(explains(_of(self.reference, reading), seen) for reading in type(self.reference).readings)

    def _deaf(self) -> bool:
        """Whether two runs with silent noise differ: the function has randomness that is not heard."""
        path = self.plan.paths[0]
        one = [heard(self.subject, path.world, path.v, path.who).w for _ in range(2)]
        return not np.array_equal(one[0], one[1], equal_nan=True)

    def _see(self, probe: Path | Spread) -> Seen:
        path = probe.path if isinstance(probe, Spread) else probe
        moved = path.moves(path.of(self.subject)) if "p" in path.v else None
        return Seen(probe, probe.of(self.subject), moved)

    def _not_finite(self, seen: Sequence[Seen]) -> list[Finding]:
        """Where the function gives no finite numbers, and the algorithm does."""
        for one in seen:
            path = one.probe.path if isinstance(one.probe, Spread) else one.probe
            if not np.isfinite(one.value).all() and np.isfinite(path.of(self.reference.round, one.moved)).all():
                said = "the function gives numbers that are not finite where the algorithm gives finite ones"
                return [Finding("numbers that are not finite", said, one.probe.name, tuple(self._lines("clip")))]
        return []

    def _explained(self, seen: Sequence[Seen]) -> list[Finding]:
        """Nothing where a reading does what the function does; else the faults that do, or what differs."""
        for reading in type(self.reference).readings:
            if explains(_of(self.reference, reading), seen):
                self.reading = reading
                return []
        suspect, silent = find(self.reference, seen, PAIRS_SECONDS)
        if suspect is not None:
            self.reading = suspect.reading
            return [self._named(fault, seen) for fault in suspect.faults]
        return self._unnamed(seen, silent)

    def _named(self, fault: Fault, seen: Sequence[Seen]) -> Finding:
        return Finding(
            *(fault.name, fault.told, self._difference(_first(seen, fault.role)), tuple(self._lines(fault.role))),
            *(fault.seen, fault.private),
        )

    def _difference(self, seen: Sequence[Seen]) -> str:
        """The first probe in which the function differs from the nearest reading, with numbers."""
        for one in seen:
            player = _of(self.reference, self.reading or type(self.reference).readings[0])
            expected = one.probe.of(player, one.moved)
            if agree(one.probe, one.value, expected):
                continue
            if isinstance(one.probe, Spread):
                size = one.probe.path.world.d
                a, b = (math.sqrt(max(float(np.trace(x[:size, :size])) / size, 0.0)) for x in (one.value, expected))
                if abs(a - b) > 1e-6 * b:
                    return f"{one.probe.name}: standard deviation {a:.6g} in a round, and {b:.6g} is right"
                return f"{one.probe.name}: it depends on itself otherwise than it should, between coordinates or rounds"
            k = next(k for k in range(len(expected)) if not np.allclose(one.value[k], expected[k], rtol=1e-9, atol=0.0))
            at = one.probe.world.start if k == 0 else expected[k - 1]
            a, b = (float(np.linalg.norm(x[k] - at)) for x in (one.value, expected))
            apart = float(np.linalg.norm(one.value[k] - expected[k]))
            return f"{one.probe.name}: in round {k + 1} w moves by {a:.6g} and not {b:.6g}, {apart:.3g} apart"
        return ""

    def _unnamed(self, seen: Sequence[Seen], silent: Sequence[Suspect]) -> list[Finding]:
        """What differs where no known faults explain all: those that explain the paths, and what is left of the
        noise."""
        spreads = [one for one in seen if isinstance(one.probe, Spread)]
        if silent:
            suspect = silent[0]
            self.reading = suspect.reading
            return [*(self._named(f, seen) for f in suspect.faults), self._other_noise(spreads, suspect.player)]
        fixed = self._fixed_noise([one for one in seen if isinstance(one.probe, Path)])
        if fixed is not None:
            return [fixed]
        said = f"w is not what {type(self.reference).source} makes of it, and none of the known faults explains it"
        return [Finding(UNKNOWN, said, self._difference(seen), tuple(self._lines("step")))]

    def _fixed_noise(self, paths: Sequence[Seen]) -> Finding | None:
        """Noise that no generator's seed changes: the same vector is left over in every world."""
        if not type(self.reference).unit:
            return None
        left = []
        for one in paths:
            if one.probe.v is paths[0].probe.v:
                left.append(one.value[0] - one.probe.of(_of(self.reference, type(self.reference).readings[0]))[0])
        sizes = float(np.max(np.abs(left[0])))
        if sizes > 0.0 and all(np.allclose(x, left[0], rtol=1e-6, atol=1e-9 * sizes) for x in left[1:]):
            return Finding(
                "noise from a fixed seed",
                "the noise is the same in every run, whatever the generator's seed: a generator is made inside with "
                "a seed of "
                "its own, and whoever knows it takes the noise away; draw from the rng that the round is given",
                f"with silent noise the same vector of length {np.linalg.norm(left[0]):.4g} is left over in "
                f"{len(left)} worlds",
                tuple(self._lines("noise")),
                private=True,
            )
        return None

    def _other_noise(self, spreads: Sequence[Seen], player: Player) -> Finding:
        """Noise that no fault explains: by which factor it is off, and whether that depends on the data."""
        ratios = []
        for one in spreads:
            assert isinstance(one.probe, Spread)
            size = one.probe.path.world.d
            a, b = (
                math.sqrt(max(float(np.trace(x[:size, :size])), 0.0))
                for x in (one.value, one.probe.of(player, one.moved))
            )
            ratios.append(a / b if b > 0.0 else math.inf)
        where = tuple(self._lines("noise"))
        first = [r for r, one in zip(ratios, spreads) if one.probe.v is spreads[0].probe.v]
        if len(first) > 1 and abs(first[0] - first[1]) > 1e-3 * first[0]:
            said = (
                "the noise depends on the data: its standard deviation is another one where the clients' gradients "
                "are larger, so "
                "that it tells of them; calibrate it to the threshold"
            )
            seen = f"{first[0]:.4g} and {first[1]:.4g} times what it should be, in two worlds"
            return Finding("noise scaled by data", said, seen, where, private=True)
        factors = sorted({float(f"{r:.4g}") for r in ratios})
        told = f"{factors[0]:.4g}" if len(factors) == 1 else f"{factors[0]:.4g} to {factors[-1]:.4g}"
        said = f"the standard deviation of the noise is {told} times what it should be"
        return Finding("another noise", said, self._difference(spreads), where, private=factors[0] < 1.0)

    def _kinds(self) -> list[Finding]:
        """Noise of another distribution than Gaussian."""
        path = self.plan.spreads[0].path
        draws = heard(self.subject, path.world, path.v, path.who).draws
        other = [draw for draw in draws if draw.kind != "normal" and draw.most > 0.0]
        if not other or not type(self.reference).unit:
            return []
        said = (
            "the noise is not Gaussian, and the accounting of the Gaussian mechanism does not cover it: draw "
            "normal numbers"
        )
        return [Finding(f"{other[0].kind.capitalize()} noise", said, "", tuple({d.place for d in other}), private=True)]

    def _coin(self) -> list[Finding]:
        """How often a round communicates, where a coin decides."""
        from scipy import stats

        path = self.plan.paths[-1]
        p = float(path.v.get("p", 1.0))
        if p == 1.0:
            return []
        w = heard(self.subject, path.world, path.v, (path.who[0],) * TOSSES).w
        count = sum(path.moves(w))
        low, high = (stats.binom.ppf(q, TOSSES, p) for q in (self.alpha / 8, 1 - self.alpha / 8))
        if low <= count <= high:
            return []
        said = (
            "rounds communicate with another probability than p, which the control variates and the accounting rest on"
        )
        return [Finding("a wrong probability of communication", said, f"{count} of {TOSSES} rounds, p = {p:g}")]

    def _of_nobody(self) -> list[Finding]:
        """A round in which nobody takes part."""
        for path in self.plan.empty:
            try:
                w = heard(self.subject, path.world, path.v, path.who).w
            except Raised as error:
                where = (error.place,) if error.place else ()
                said = f"a round in which nobody takes part, as independent sampling has them: {error}"
                return [Finding("fails without clients", said, lines=where)]
            if not np.isfinite(w).all():
                said = (
                    "a round in which nobody takes part, as independent sampling has them, gives numbers that are not "
                    "finite"
                )
                return [Finding("fails without clients", said, lines=tuple(self._lines("average")))]
        return []

    def _neighbours(self, player: Player, before: Sequence[Finding]) -> list[Finding]:
        """The pair of neighbouring data sets that a round's results lie furthest apart for, and the audit."""
        from dpfl_theory.privacy.audit.bounds import gaussian_epsilon

        values = [dict(v) for v in self.plan.values if v.get("noise_multiplier")]
        if not values:
            return []
        pair = neighbours.worst(player, self.reference, values)
        if pair is None:
            return []
        who, v = pair.path.who, pair.path.v
        shift = heard(player, pair.one, v, who).w[-1] - heard(player, pair.other, v, who).w[-1]
        covariance = Spread(Path(v, pair.one, who)).of(player)
        mu = _mu(shift, covariance)
        claimed = 1.0 / float(v["noise_multiplier"])
        epsilons = [gaussian_epsilon(m, DELTA) if math.isfinite(m) else math.inf for m in (mu, claimed)]
        within = pair.distance <= pair.allowed * (1.0 + 1e-9)
        self.privacy = {
            "pair": pair.told,
            "distance": pair.distance,
            "sensitivity": pair.allowed,
            "mu": mu if math.isfinite(mu) else None,
            "mu_claimed": claimed,
            "delta": DELTA,
            "epsilon": epsilons[0] if math.isfinite(epsilons[0]) else None,
            "epsilon_claimed": epsilons[1],
            "told": (
                f"two data sets that differ in one client move w by at most {pair.distance:.4g} as far as was seen, "
                f"and "
                f"{pair.allowed:.4g} is what the letters say; with the noise that is there, that is epsilon = "
                f"{epsilons[0]:.4g} at delta = {DELTA:g} for a client that takes part, and {epsilons[1]:.4g} is claimed"
            ),
        }
        found = []
        if not within:
            said = (
                f"one client moves w by {pair.distance:.4g}, and the sensitivity that is declared is "
                f"{pair.allowed:.4g}: no "
                "accounting that rests on it holds"
            )
            where = tuple(self._lines("clip")) or tuple(self._lines("average"))
            found.append(Finding("more than the declared sensitivity", said, pair.told, where, private=True))
        if self.runs and self.privacy:
            found += self._audit(player, pair, shift, claimed, bool(before) or bool(found))
        return found

    def _audit(self, player: Player, pair: Any, shift: Array, claimed: float, known: bool) -> list[Finding]:
        """The function as it really runs: its noise is that which was heard, and a lower limit for mu."""
        from dpfl_theory.privacy.audit.bounds import mu_lower_bound

        path = Path(pair.path.v, pair.one, pair.path.who)
        other = Path(pair.path.v, pair.other, pair.path.who)
        one, zero = (
            sampled.sample(player, path, self.runs, self.seed),
            sampled.sample(player, other, self.runs, self.seed + 10**6),
        )
        self.compared["runs with live noise"] = 2 * self.runs
        if path.v.get("p", 1.0) < 1.0:  # rounds that do not communicate tell nothing
            one, zero = (w[np.any(w != path.world.start, axis=1)] for w in (one, zero))
        if min(len(one), len(zero)) < FEWEST:
            self.notes.append(f"only {min(len(one), len(zero))} runs communicate: the audit needs {FEWEST}")
            return []
        direction = shift / max(float(np.linalg.norm(shift)), 1e-300)
        low = mu_lower_bound(one @ direction, zero @ direction, confidence=1.0 - self.alpha / 2).mu
        self.privacy["mu_low"] = low
        if low > claimed:
            said = (
                f"runs tell the two data sets apart better than the claimed noise allows: mu is at least {low:.4g}, "
                f"not {claimed:.4g}"
            )
            if not known:
                return [Finding("refuted by the audit", said, pair.told, tuple(self._lines("noise")), private=True)]
            self.notes.append(said)
        mean, covariance = sampled.expected(player, path)
        differs = sampled.disagreement(one, mean, covariance, self.alpha / 4)
        if differs is not None and not known:
            said = f"as it really runs, the function is another one than with silent noise: {differs}"
            return [Finding("randomness that is not heard", said, lines=tuple(self._lines("noise")))]
        return []

    def _by_samples(self) -> list[Finding]:
        """Where noise is not heard: means and covariances of samples against those of readings and faults."""
        runs = max(self.runs, sampled.RUNS)
        self.notes.append(
            "noise does not come from the rng that the round is given (or from NumPy's own generator): it was "
            "tested on "
            f"{runs} runs in each of {len(self.plan.paths)} worlds, first rounds alone, and no pair of neighbouring "
            f"data sets "
            "was compared"
        )
        self.compared = {"runs with live noise": runs * len(self.plan.paths)}
        try:
            samples = [sampled.sample(self.subject, path, runs, self.seed) for path in self.plan.paths]
        except Raised as error:
            return [Finding("the function fails", str(error), lines=(error.place,) if error.place else ())]
        alpha = self.alpha / (4 * len(samples))

        def fits(player: Player) -> str | None:
            for path, w in zip(self.plan.paths, samples):
                mean, covariance = sampled.expected(player, path)
                if (said := sampled.disagreement(w, mean, covariance, alpha)) is not None:
                    return said
            return None

        if type(self.reference).unit and not all(sampled.gaussian(w) for w in samples):
            said = "the noise is not Gaussian, and the accounting of the Gaussian mechanism does not cover it"
            return [Finding("noise that is not Gaussian", said, lines=tuple(self._lines("noise")), private=True)]
        first = ""
        for reading in type(self.reference).readings:
            wrong = fits(_of(self.reference, reading))
            if wrong is None:
                self.reading, self.undecided = reading, len(self.plan.paths[0].who) > 1 and self._keeps_state()
                return []
            first = first or wrong
        for fault in type(self.reference).faults():
            if fits(replace(self.reference, **fault.parts).round) is None:  # type: ignore[type-var]
                return [
                    Finding(fault.name, fault.told, first, tuple(self._lines(fault.role)), fault.seen, fault.private)
                ]
        said = "samples of w are not what the algorithm gives, and none of the faults that are known explains them"
        return [Finding(UNKNOWN, said, first, tuple(self._lines("noise")))]

    def _keeps_state(self) -> bool:
        """Whether rounds depend on each other by more than w, of which samples of first rounds see nothing."""
        path = self.plan.paths[0]
        _, state = self.subject(path.world.start, None, path.world.clients(), path.who[0], Listening(0), path.v)
        return state is not None

    def _lines(self, role: str) -> list[lines.Line]:
        """Lines of the function that are about a role."""
        path = self.plan.paths[0]
        if role == "noise":
            draws = heard(self.subject, path.world, path.v, path.who).draws
            if places := sorted({draw.place for draw in draws if draw.place[0]}):
                return places[:4]
        if self._ran is None:
            self._ran = lines.ran(
                lambda: played(self.subject, path.world, path.v, path.who, Listening(path.world.seed).quiet())
            )
        return lines.suspicious(self._ran, role)


def _first(seen: Sequence[Seen], role: str) -> list[Seen]:
    """The probes that show a fault of this role, before the others."""
    return sorted(seen, key=lambda one: isinstance(one.probe, Spread) != (role == "noise"))


def _of(reference: Reference, reading: Reading) -> Player:
    return replace(reference, **reading.parts).round  # type: ignore[type-var]


def _mu(shift: Array, covariance: Array) -> float:
    """The mu of a Gaussian with this covariance and shift; infinite where no noise lies along a part of the shift."""
    values, vectors = np.linalg.eigh(covariance)
    along = vectors.T @ shift
    noisy = values > 1e-12 * max(float(values[-1]), 1e-300)
    if float(np.linalg.norm(along[~noisy])) > 1e-6 * float(np.linalg.norm(shift)):
        return math.inf
    return float(np.sqrt(np.sum(along[noisy] ** 2 / values[noisy])))


def described(reference: type[Reference]) -> Mapping[str, Any]:
    """A reference as plain data."""
    return {
        "name": reference.name,
        "source": reference.source,
        "sampling": reference.scheme,
        "letters": [{"name": x.name, "meaning": x.meaning, "also": list(x.also)} for x in reference.letters],
        "faults": sorted({fault.name for fault in reference.faults()}),
    }
