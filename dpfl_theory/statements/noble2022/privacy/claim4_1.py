"""noble2022 Claim 4.1 (B.1) towards a third party: do DP-SCAFFOLD and DP-FedAvg have the same level of privacy?"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, PrivacyClaim, PrivacyPoint, Source, Statement
from dpfl_theory.statements.noble2022.privacy import _views as views
from dpfl_theory.statements.noble2022.privacy._linear import LinearRun, squared_distance
from dpfl_theory.statements.noble2022.privacy._symbols import NOISE, PAPER, SAMPLING, edges, symbols


def _more_seen(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for point in instance["points"]:
            size, rate = point["m"], Fraction(point["m"], point["M"])
            epsilon, sigma = point["epsilon"], point["sigma_g"]
            claimed = views.mixture_of_participations(epsilon, sigma * size**0.5, rate, point["T"])[1]
            low = views.third_party_low(epsilon, sigma, point["M"], size, point["T"])
            high = views.mixture_of_participations(epsilon, sigma, rate, point["T"])[1]
            found.append(PrivacyPoint(views.symbols_at(point, epsilon=epsilon), claimed, low, high))
        return found

    return PrivacyClaim("delta of DP-SCAFFOLD towards a third party", points, None, "==")


def _more_seen_of_samples(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for point in instance["points"]:
            claimed = views.delta_limits("dp-fedavg-record", point, "third-party").high
            low = views.sampled_low(point["epsilon"], point["sigma_g"], point["s"], point["M"], point["m"], point["T"])
            high = views.delta_limits("dp-scaffold", point, "third-party").high
            found.append(PrivacyPoint(views.symbols_at(point, epsilon=point["epsilon"]), claimed, low, high))
        return found

    return PrivacyClaim("delta of DP-SCAFFOLD towards a third party", points, None, "==")


_POSTPROCESSED = (
    "for all data and parameters: a third party's view is a function of the cohorts and of the messages, which the "
    "server of DP-SCAFFOLD sees; the server's view is a composition of the same noisy steps as DP-FedAvg's"
)


def _not_more_than_the_server(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for point in instance["points"]:
            claimed = views.delta_limits("dp-fedavg-record", point, "server").high
            if point["s"] == 1:
                low = views.third_party_low(point["epsilon"], point["sigma_g"], point["M"], point["m"], point["T"])
                rate = Fraction(point["m"], point["M"])
                high = views.mixture_of_participations(point["epsilon"], point["sigma_g"], rate, point["T"])[1]
            else:
                limits = views.delta_limits("dp-scaffold", point, "third-party")
                low, high = limits.low, limits.high
            found.append(PrivacyPoint(views.symbols_at(point, epsilon=point["epsilon"]), claimed, low, high))
        return found

    return PrivacyClaim("delta of DP-SCAFFOLD towards a third party", points, _POSTPROCESSED)


def _alternating_cohorts(_: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for rounds in instance["T"]:
            cohorts = tuple((0, 1 + t % 2) for t in range(rounds))
            run = LinearRun(3, cohorts, signs=views.alternating(rounds))
            exact = squared_distance(run.views(True)[1])
            at = {"M": 3, "R": 1, "l": 2 / 3, "s": 1, "K": 1, "T": rounds, "sigma_g": 1, "cohorts": "{0,1}, {0,2}, ..."}
            found.append(PrivacyPoint(at, Fraction(rounds), exact, exact))
        return found

    return PrivacyClaim("mu^2 of a third party's view of DP-SCAFFOLD", points, _POSTPROCESSED)


THIRD_PARTY: Statement = Statement(
    id="noble2022.claim4.1.third-party",
    kind="corollary",
    source=Source(PAPER, "Claim 4.1, Section 4.1; Claim B.1, Appendix B.3"),
    symbols=symbols("M", "R", "l", "s", "K", "T", "sigma_g"),
    hypotheses=(SAMPLING, NOISE),
    relation="claim",
    checks=(
        Check(
            "privacy",
            "a user that returns in another cohort, s = 1",
            _more_seen,
            {
                "points": [
                    {**views.SMALL, "sigma_g": 2, "epsilon": 1},
                    {**views.SMALL, "sigma_g": 2, "epsilon": 2},
                    {**views.SMALL, "sigma_g": 5, "epsilon": 1},
                    {**views.SMALL, "M": 5, "m": 3, "sigma_g": 2, "epsilon": 1},
                    {**views.SMALL, "M": 6, "m": 3, "sigma_g": 2, "epsilon": 2},
                    {**views.SMALL, "T": 3, "sigma_g": 2, "epsilon": 2},
                ]
            },
            "violated",
        ),
        Check(
            "privacy",
            "a user that returns in another cohort, s < 1",
            _more_seen_of_samples,
            {
                "points": [
                    {**views.SMALL, "s": 0.5, "sigma_g": 1.0, "epsilon": 1.0},
                    {**views.SMALL, "s": 0.2, "sigma_g": 1.0, "epsilon": 1.0},
                    {**views.SMALL, "M": 5, "m": 3, "s": 0.2, "sigma_g": 1.0, "epsilon": 1.0},
                ]
            },
            "violated",
        ),
    ),
    expected="violated",
)

REPAIRED: Statement = Statement(
    id="noble2022.claim4.1.third-party.repaired",
    kind="corollary",
    source=Source(PAPER, "Claim 4.1, Section 4.1; Claim B.1, Appendix B.3"),
    symbols=symbols("M", "R", "l", "s", "K", "T", "sigma_g"),
    hypotheses=(SAMPLING, NOISE),
    relation="claim",
    checks=(
        Check(
            "privacy",
            "random cohorts",
            _not_more_than_the_server,
            {
                "points": [
                    {**views.SMALL, "sigma_g": 2.0, "epsilon": 1.0},
                    {**views.SMALL, "M": 5, "m": 3, "sigma_g": 2.0, "epsilon": 1.0},
                    {**views.SMALL, "T": 3, "sigma_g": 2.0, "epsilon": 2.0},
                    {**views.SMALL, "M": 100, "m": 5, "T": 50, "s": 0.2, "K": 10, "sigma_g": 5.0, "epsilon": 1.0},
                ]
            },
        ),
        Check("privacy", "cohorts that alternate, exactly", _alternating_cohorts, {"T": [2, 4, 8, 16]}),
        *edges(_alternating_cohorts, {"T": [2]}, {"l <= 1": {"l": "151/100"}, "sigma_g > 0": {"sigma_g": "0"}}),
    ),
    smoke=("cohorts that alternate, exactly",),
    uses=("noble2022.claim4.1.server",),
)

STATEMENTS = (THIRD_PARTY, REPAIRED)
