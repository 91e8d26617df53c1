"""noble2022 Claim 4.1 (B.1): do DP-SCAFFOLD and DP-FedAvg have the same level of privacy, towards the server and
towards a third party?"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Check, PrivacyClaim, PrivacyPoint, Statement, battery, claim
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022._moments import warm_start
from dpfl_theory.statements.noble2022.privacy import NOISE, SAMPLING, edges, stated
from dpfl_theory.statements.noble2022.privacy import _views as views
from dpfl_theory.statements.noble2022.privacy._views import LinearRun, LinearWorld, squared_distance

Points = Iterator[PrivacyPoint]


# Towards the server.


@claim(
    "mu^2 of the server's view of DP-SCAFFOLD",
    "wherever gradients are affine functions of the model: given its view so far, the server knows c and every "
    "c_i; so in both algorithms a message is a known number plus the same linear form in the new noise",
    "==",
)
def _same_distances(_: Statement, instance: Mapping[str, Any]) -> Points:
    for users, size, rounds, steps in instance["sizes"]:
        for bent in instance["curvatures"]:
            curvatures = tuple(map(Fraction, bent))
            for cohorts in views.cohort_sequences(users, size, rounds):
                run = LinearRun(users, cohorts, steps, views.alternating(rounds), curvatures, Fraction(1, 2))
                ours, theirs = (squared_distance(run.views(control)[0]) for control in (True, False))
                at = {"M": users, "R": 1, "l": size / users, "s": 1, "K": steps, "T": rounds, "sigma_g": 1}
                at |= {"cohorts": str(cohorts), "curvatures": ", ".join(bent)}
                yield PrivacyPoint(at, theirs, ours, ours)


def _warm(counted: bool) -> Callable[[Statement, Mapping[str, Any]], PrivacyClaim]:
    """Round 1 after the warm start at s = 1, exactly: the server sees y_i^1 and c_i^1 of the cohort, and the c_i^0 of
    the warm round too if that is counted; DP-FedAvg has as many rounds as are counted.

    Gradients are constant and the record moves user 0's by 1.
    """

    @claim("mu^2 of the server's view of DP-SCAFFOLD-warm", "all sizes", "==")
    def build(_: Statement, instance: Mapping[str, Any]) -> Points:
        for users, size, steps in instance["sizes"]:
            cohort = tuple(range(size))
            world = LinearWorld(cohort, (Fraction(0),) * users)
            before = warm_start(world, world.zero, steps)
            algorithm = Scaffold(eta_l=world.one, eta_g=world.one, K=steps)
            after = run_round(algorithm, world, *before.following, size=size, errors=True)
            messages = [v for i in cohort for v in (after.paths[i][-1], after.state[1][i])]
            seen = squared_distance(views.forms_of([*messages, *(before.state[1] if counted else ())]))
            at = {"M": users, "R": 1, "l": size / users, "s": 1, "K": steps, "T": 1 + counted, "sigma_g": 1}
            yield PrivacyPoint(at, Fraction(steps * (1 + counted)), seen, seen)

    return build


@claim(
    "delta of DP-SCAFFOLD towards the server",
    "at s = 1: given the past each of K steps is a Gaussian mechanism of noise multiplier sigma_g in either "
    "algorithm, and constant gradients attain K j/sigma_g^2 after j participations",
    "==",
    width=0.02,
)
def _full_batches(_: Statement, instance: Mapping[str, Any]) -> Points:
    for point in instance["points"]:
        low, high = views.participations(point, float(point["sigma_g"]) / point["K"] ** 0.5)
        limits = views.delta_limits("dp-scaffold", point, "server")
        yield PrivacyPoint(views.symbols_at(point), (low + high) / 2, limits.low, limits.high)


@claim(
    "delta of DP-SCAFFOLD towards the server",
    "given the past the server knows c and c_i, so that both views are adaptive compositions of the same noisy steps; "
    "composition gives both the same guarantee",
)
def _composed(_: Statement, instance: Mapping[str, Any]) -> Points:
    for point in instance["points"]:
        ours, theirs = (views.delta_limits(name, point, "server") for name in ("dp-scaffold", "dp-fedavg-record"))
        yield PrivacyPoint(views.symbols_at(point), theirs.high, ours.low, ours.high)


# Towards a third party.

_DELTA = "delta of DP-SCAFFOLD towards a third party"
_POSTPROCESSED = (
    "for all data and parameters: a third party's view is a function of the cohorts and of the messages, which the "
    "server of DP-SCAFFOLD sees; the server's view is a composition of the same noisy steps as DP-FedAvg's"
)


@claim(_DELTA, relation="==")
def _more_seen(_: Statement, instance: Mapping[str, Any]) -> Points:
    for point in instance["points"]:
        claimed = views.participations(point, point["sigma_g"] * point["m"] ** 0.5)[1]
        high = views.participations(point, point["sigma_g"])[1]
        yield PrivacyPoint(views.symbols_at(point), claimed, views.third_party_low(point), high)


@claim(_DELTA, relation="==")
def _more_seen_of_samples(_: Statement, instance: Mapping[str, Any]) -> Points:
    for point in instance["points"]:
        fedavg, ours = (views.delta_limits(k, point, "third-party") for k in ("dp-fedavg-record", "dp-scaffold"))
        yield PrivacyPoint(views.symbols_at(point), fedavg.high, views.sampled_low(point), ours.high)


@claim(_DELTA, _POSTPROCESSED)
def _not_more_than_the_server(_: Statement, instance: Mapping[str, Any]) -> Points:
    for point in instance["points"]:
        claimed = views.delta_limits("dp-fedavg-record", point, "server").high
        if point["s"] == 1:
            low, high = views.third_party_low(point), views.participations(point, point["sigma_g"])[1]
        else:
            limits = views.delta_limits("dp-scaffold", point, "third-party")
            low, high = limits.low, limits.high
        yield PrivacyPoint(views.symbols_at(point), claimed, low, high)


@claim("mu^2 of a third party's view of DP-SCAFFOLD", _POSTPROCESSED)
def _alternating_cohorts(_: Statement, instance: Mapping[str, Any]) -> Points:
    for rounds in instance["T"]:
        cohorts = tuple((0, 1 + t % 2) for t in range(rounds))
        run = LinearRun(3, cohorts, signs=views.alternating(rounds))
        exact = squared_distance(run.views(True)[1])
        at = {"M": 3, "R": 1, "l": 2 / 3, "s": 1, "K": 1, "T": rounds, "sigma_g": 1, "cohorts": "{0,1}, {0,2}, ..."}
        yield PrivacyPoint(at, Fraction(rounds), exact, exact)


def _on(name: str, build: Any, names: str, *rows: str, expected: str = "holds") -> Check:
    """The check at several points, each as it differs from the smallest one: the values of the symbols of these names,
    which spaces separate; - where it has none."""
    points = [{k: literal_eval(v) for k, v in zip(names.split(), row.split()) if v != "-"} for row in rows]
    return Check("privacy", name, build, {"points": [{**views.SMALL, **point} for point in points]}, expected)


_AT, _NO_NOISE = "M m T s K sigma_g epsilon", {"sigma_g > 0": stated(sigma_g="0")}
_SIZES = {"sizes": [[2, 1, 1], [3, 1, 1], [4, 2, 1], [5, 5, 3], [20, 5, 10]]}
_AFFINE = {
    "sizes": [[3, 2, 2, 1], [3, 2, 2, 3], [3, 2, 3, 2], [4, 2, 2, 2]],
    "curvatures": [["0", "0", "0", "0"], ["2", "1/2", "3", "1"]],
}

SERVER: Statement = noble.statement(
    **noble.named("noble2022.claim4.1.server", "Claim 4.1, Section 4.1; Claim B.1, Appendix B.3"),
    symbols=noble.NOTATION.also("K", "T"),
    hypotheses=(SAMPLING, NOISE),
    relation="claim",
    checks=battery(
        Check("privacy", "the warm round counted, exactly", _warm(counted=True), _SIZES),
        edges(_warm(counted=True), {"sizes": [[2, 1, 1]]}, {"l <= 1": stated(l="201/100"), **_NO_NOISE}),
        Check("privacy", "affine gradients, exactly", _same_distances, _AFFINE),
        _on("the worst data at s = 1", _full_batches, _AT, "3 2 2 1 1 2.0 1", "3 2 2 1 5 4.0 1", "100 5 50 1 2 5.0 2"),
        _on("what composition guarantees at s < 1", _composed, _AT, "3 2 2 .2 1 1.0 1", "100 5 50 .2 10 5.0 1"),
    ),
    smoke=("the worst data at s = 1",),
)

WARM: Statement = replace(
    SERVER,
    id="noble2022.claim4.1.server.warm",
    reading_of="noble2022.claim4.1.server",
    checks=battery(Check("privacy", "round 1 after the warm start, exactly", _warm(counted=False), _SIZES, "violated")),
    smoke=(),
)

THIRD_PARTY: Statement = replace(
    SERVER,
    id="noble2022.claim4.1.third-party",
    checks=battery(
        _on(
            *("a user that returns in another cohort, s = 1", _more_seen, "M m T sigma_g epsilon"),
            *("3 2 2 2 1", "3 2 2 2 2", "3 2 2 5 1", "5 3 2 2 1", "6 3 2 2 2", "3 2 3 2 2"),
            expected="violated",
        ),
        _on(
            *("a user that returns in another cohort, s < 1", _more_seen_of_samples, "M m s sigma_g epsilon"),
            *("3 2 0.5 1.0 1.0", "3 2 0.2 1.0 1.0", "5 3 0.2 1.0 1.0"),
            expected="violated",
        ),
    ),
    smoke=(),
)

REPAIRED: Statement = replace(
    SERVER,
    id="noble2022.claim4.1.third-party.repaired",
    checks=battery(
        _on(
            *("random cohorts", _not_more_than_the_server, _AT),
            *("3 2 2 1 - 2.0 1.0", "5 3 2 1 - 2.0 1.0", "3 2 3 1 - 2.0 2.0", "100 5 50 0.2 10 5.0 1.0"),
        ),
        Check("privacy", "cohorts that alternate, exactly", _alternating_cohorts, {"T": [2, 4, 8, 16]}),
        edges(_alternating_cohorts, {"T": [2]}, {"l <= 1": stated(l="151/100"), **_NO_NOISE}),
    ),
    smoke=("cohorts that alternate, exactly",),
    uses=("noble2022.claim4.1.server",),
)

STATEMENTS = (SERVER, WARM, THIRD_PARTY, REPAIRED)
