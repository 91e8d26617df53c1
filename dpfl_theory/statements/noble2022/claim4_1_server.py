"""noble2022 Claim 4.1 (B.1) towards the server: DP-SCAFFOLD and DP-FedAvg have the same level of privacy."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import PrivacyClaim, PrivacyPoint
from dpfl_theory.statements.model import Check, Source, Statement
from dpfl_theory.statements.noble2022 import _views as views
from dpfl_theory.statements.noble2022._letters import NOISE, PAPER, SAMPLING, letters
from dpfl_theory.statements.noble2022._linear import Run, cohort_sequences, squared_distance


def _same_distances(instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for users, size, rounds, steps in instance["sizes"]:
            for bent in instance["curvatures"]:
                curvatures = tuple(Fraction(x) for x in bent)
                for cohorts in cohort_sequences(users, size, rounds):
                    run = Run(users, cohorts, steps, views.alternating(rounds), curvatures, Fraction(1, 2))
                    ours, theirs = (squared_distance(run.views(scaffold)[0]) for scaffold in (True, False))
                    at = {"M": users, "R": 1, "l": size / users, "s": 1, "K": steps, "T": rounds, "sigma_g": 1}
                    at |= {"cohorts": str(cohorts), "curvatures": ", ".join(bent)}
                    found.append(PrivacyPoint(at, theirs, ours, ours))
        return found

    proof = (
        "wherever gradients are affine functions of the model: given what it has seen, the server knows c and "
        "every c_i, and so in both algorithms a message is a known number plus the same linear form in the new noise"
    )
    return PrivacyClaim("mu^2 of the server's view of DP-SCAFFOLD", points, proof, "==")


def _full_batches(instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for point in instance["points"]:
            deviation = float(point["sigma_g"]) / point["K"] ** 0.5
            rate = Fraction(point["m"], point["M"])
            low, high = views.mixture_of_participations(point["epsilon"], deviation, rate, point["T"])
            limits = views.delta_limits("dp-scaffold", point, "server")
            at = views.letters_at(point, epsilon=point["epsilon"])
            found.append(PrivacyPoint(at, (low + high) / 2, limits.low, limits.high))
        return found

    proof = (
        "at s = 1: given the past each of K steps is a Gaussian mechanism of noise multiplier sigma_g in either "
        "algorithm, and constant gradients attain K j/sigma_g^2 after j participations"
    )
    return PrivacyClaim("delta of DP-SCAFFOLD towards the server", points, proof, "==", instance["width"])


def _composed(instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for point in instance["points"]:
            ours, theirs = (views.delta_limits(name, point, "server") for name in ("dp-scaffold", "dp-fedavg-record"))
            found.append(
                PrivacyPoint(views.letters_at(point, epsilon=point["epsilon"]), theirs.high, ours.low, ours.high)
            )
        return found

    proof = (
        "given the past the server knows c and c_i, so that both views are adaptive compositions of the same noisy "
        "steps, and what composition guarantees for the one it guarantees for the other"
    )
    return PrivacyClaim("delta of DP-SCAFFOLD towards the server", points, proof)


SERVER: Statement = Statement(
    id="noble2022.claim4.1.server",
    kind="corollary",
    title="DP-SCAFFOLD and DP-FedAvg are equally private towards the server",
    source=Source(
        PAPER,
        "Claim 4.1, Section 4.1; Claim B.1, Appendix B.3",
        note=(
            f"{views.LEVEL}. For s < 1 the worst data are not known to be the same for both; what is compared there is "
            "what adaptive composition guarantees, on which all of B.4 rests"
        ),
    ),
    text=(
        "For any t, DP-SCAFFOLD, which shows {y_i^t, c_i^t} to the server, and DP-FedAvg, which shows {y_i^t}, have "
        "the same level of privacy."
    ),
    symbols=letters("M", "R", "l", "s", "K", "T", "sigma_g"),
    assumptions=(SAMPLING, NOISE),
    relation="claim",
    checks=(
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
)

STATEMENTS = (SERVER,)
