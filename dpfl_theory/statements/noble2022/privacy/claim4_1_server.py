"""noble2022 Claim 4.1 (B.1) towards the server: DP-SCAFFOLD and DP-FedAvg have the same level of privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Check, PrivacyClaim, PrivacyPoint, Source, Statement
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.statements.noble2022._moments import warm_start
from dpfl_theory.statements.noble2022.privacy import _views as views
from dpfl_theory.statements.noble2022.privacy._linear import (
    LinearRun,
    LinearWorld,
    cohort_sequences,
    forms_of,
    squared_distance,
)
from dpfl_theory.statements.noble2022.privacy._symbols import NOISE, PAPER, SAMPLING, edges, symbols


def _same_distances(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for users, size, rounds, steps in instance["sizes"]:
            for bent in instance["curvatures"]:
                curvatures = tuple(Fraction(x) for x in bent)
                for cohorts in cohort_sequences(users, size, rounds):
                    run = LinearRun(users, cohorts, steps, views.alternating(rounds), curvatures, Fraction(1, 2))
                    ours, theirs = (squared_distance(run.views(control)[0]) for control in (True, False))
                    at = {"M": users, "R": 1, "l": size / users, "s": 1, "K": steps, "T": rounds, "sigma_g": 1}
                    at |= {"cohorts": str(cohorts), "curvatures": ", ".join(bent)}
                    found.append(PrivacyPoint(at, theirs, ours, ours))
        return found

    proof = (
        "wherever gradients are affine functions of the model: given its view so far, the server knows c and every "
        "c_i; so in both algorithms a message is a known number plus the same linear form in the new noise"
    )
    return PrivacyClaim("mu^2 of the server's view of DP-SCAFFOLD", points, proof, "==")


def _warm(counted: bool) -> Callable[[Statement, Mapping[str, Any]], PrivacyClaim]:
    """Round 1 after the warm start at s = 1, exactly: the server sees y_i^1 and c_i^1 of the cohort, and the c_i^0 of
    the warm round too if that is counted; DP-FedAvg has as many rounds as are counted.

    Gradients are constant and the record moves user 0's by 1.
    """

    def build(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
        def points() -> list[PrivacyPoint]:
            found = []
            for users, size, steps in instance["sizes"]:
                cohort = tuple(range(size))
                world = LinearWorld(cohort, (Fraction(0),) * users)
                before = warm_start(world, world.zero, steps)
                algorithm = Scaffold(eta_l=world.one, eta_g=world.one, K=steps)
                after = run_round(algorithm, world, *before.following, size=size, errors=True)
                messages = [v for i in cohort for v in (after.paths[i][-1], after.state[1][i])]
                seen = squared_distance(forms_of([*messages, *(before.state[1] if counted else ())]))
                at = {"M": users, "R": 1, "l": size / users, "s": 1, "K": steps, "T": 1 + counted, "sigma_g": 1}
                found.append(PrivacyPoint(at, Fraction(steps * (1 + counted)), seen, seen))
            return found

        return PrivacyClaim("mu^2 of the server's view of DP-SCAFFOLD-warm", points, "all sizes", "==")

    return build


_SIZES = {"sizes": [[2, 1, 1], [3, 1, 1], [4, 2, 1], [5, 5, 3], [20, 5, 10]]}


def _full_batches(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for point in instance["points"]:
            deviation = float(point["sigma_g"]) / point["K"] ** 0.5
            rate = Fraction(point["m"], point["M"])
            low, high = views.mixture_of_participations(point["epsilon"], deviation, rate, point["T"])
            limits = views.delta_limits("dp-scaffold", point, "server")
            at = views.symbols_at(point, epsilon=point["epsilon"])
            found.append(PrivacyPoint(at, (low + high) / 2, limits.low, limits.high))
        return found

    proof = (
        "at s = 1: given the past each of K steps is a Gaussian mechanism of noise multiplier sigma_g in either "
        "algorithm, and constant gradients attain K j/sigma_g^2 after j participations"
    )
    return PrivacyClaim("delta of DP-SCAFFOLD towards the server", points, proof, "==", instance["width"])


def _composed(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for point in instance["points"]:
            ours, theirs = (views.delta_limits(name, point, "server") for name in ("dp-scaffold", "dp-fedavg-record"))
            found.append(
                PrivacyPoint(views.symbols_at(point, epsilon=point["epsilon"]), theirs.high, ours.low, ours.high)
            )
        return found

    proof = (
        "given the past the server knows c and c_i, so that both views are adaptive compositions of the same noisy "
        "steps; composition gives both the same guarantee"
    )
    return PrivacyClaim("delta of DP-SCAFFOLD towards the server", points, proof)


SERVER: Statement = Statement(
    id="noble2022.claim4.1.server",
    kind="corollary",
    source=Source(PAPER, "Claim 4.1, Section 4.1; Claim B.1, Appendix B.3"),
    symbols=symbols("M", "R", "l", "s", "K", "T", "sigma_g"),
    hypotheses=(SAMPLING, NOISE),
    relation="claim",
    checks=(
        Check("privacy", "the warm round counted, exactly", _warm(counted=True), _SIZES),
        *edges(
            _warm(counted=True), {"sizes": [[2, 1, 1]]}, {"l <= 1": {"l": "201/100"}, "sigma_g > 0": {"sigma_g": "0"}}
        ),
        Check(
            "privacy",
            "affine gradients, exactly",
            _same_distances,
            {
                "sizes": [[3, 2, 2, 1], [3, 2, 2, 3], [3, 2, 3, 2], [4, 2, 2, 2]],
                "curvatures": [["0", "0", "0", "0"], ["2", "1/2", "3", "1"]],
            },
        ),
        Check(
            "privacy",
            "the worst data at s = 1",
            _full_batches,
            {
                "width": 0.02,
                "points": [
                    {**views.SMALL, "K": 1, "sigma_g": 2.0, "epsilon": 1},
                    {**views.SMALL, "K": 5, "sigma_g": 4.0, "epsilon": 1},
                    {**views.SMALL, "M": 100, "m": 5, "T": 50, "K": 2, "sigma_g": 5.0, "epsilon": 2},
                ],
            },
        ),
        Check(
            "privacy",
            "what composition guarantees at s < 1",
            _composed,
            {
                "points": [
                    {**views.SMALL, "s": 0.2, "K": 1, "sigma_g": 1.0, "epsilon": 1},
                    {**views.SMALL, "M": 100, "m": 5, "T": 50, "s": 0.2, "K": 10, "sigma_g": 5.0, "epsilon": 1},
                ]
            },
        ),
    ),
    smoke=("the worst data at s = 1",),
)

WARM: Statement = Statement(
    id="noble2022.claim4.1.server.warm",
    kind="corollary",
    source=Source(PAPER, "Claim 4.1, Section 4.1; Claim B.1, Appendix B.3"),
    symbols=symbols("M", "R", "l", "s", "K", "T", "sigma_g"),
    hypotheses=(SAMPLING, NOISE),
    relation="claim",
    reading_of="noble2022.claim4.1.server",
    checks=(Check("privacy", "round 1 after the warm start, exactly", _warm(counted=False), _SIZES, "violated"),),
    expected="violated",
)

STATEMENTS = (SERVER, WARM)
