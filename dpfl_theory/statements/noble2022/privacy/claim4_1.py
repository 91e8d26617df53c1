"""noble2022 Claim 4.1 (B.1) towards a third party: do DP-SCAFFOLD and DP-FedAvg have the same level of privacy?"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Effect, Erratum, PrivacyClaim, PrivacyPoint, Source, Statement, Typo
from dpfl_theory.statements.noble2022._causes import RETURNING_USER
from dpfl_theory.statements.noble2022.privacy import _views as views
from dpfl_theory.statements.noble2022.privacy._linear import LinearRun, squared_distance
from dpfl_theory.statements.noble2022.privacy._order import SURVIVES
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
    title="DP-SCAFFOLD and DP-FedAvg are equally private towards a third party",
    source=Source(
        PAPER,
        "Claim 4.1, Section 4.1; Claim B.1, Appendix B.3",
        note=(
            f"{views.LEVEL}. A third party sees $(x^t, c^t)$, or $x^t$ of DP-FedAvg; for $T = 2$ the lower limits are "
            r"those of only $(x^2, c^2)$, while DP-FedAvg's $\delta$ is that of all rounds, exact at $s = K = 1$"
        ),
    ),
    text=(
        "For any $t$, DP-SCAFFOLD, which shows $(x^t, c^t)$ to a third party, and DP-FedAvg, which shows $x^t$, have "
        "the same level of privacy."
    ),
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
    erratum=Erratum(
        cause=RETURNING_USER,
        grade="false",
        effect=Effect(
            1.9,
            r"The factor by which $\mu^2$ of two rounds exceeds DP-FedAvg's at $lM = 5$ and $K = s = 1$, where the "
            "user is in both and they share no other: $22/29$ against $2/5$. With the $M = 100$, $K = 1$ and $s = "
            r"0.2$ of Tables 1 and 4 the factor is the same to first order in $1/\sigma_g^2$, and such a pair of "
            "cohorts has probability 0.0021.",
        ),
        printed="DP-SCAFFOLD and DP-FedAvg have the same level of privacy towards a third party.",
        corrected=(
            "A third party that sees all $x^t$ may learn more from DP-SCAFFOLD, from the second round on. It never "
            "learns more than the server, and where cohorts alternate it learns almost as much: the $lM$ users' noise "
            "then hides no more than a user's own. Of $x^t$ alone nothing is shown."
        ),
        why=(
            "The main text concerns $x^t$, the formal claim $(x^t, c^t)$. The formal claim fails already by $(x^2, "
            r"c^2)$; the main text's fails if $x^t$ means $x^1, \dots, x^t$ (the two sums can be read from $x^1$ and "
            "$x^2$); of $x^t$ alone nothing is shown. The cohorts count as seen: further coordinates, where the other "
            "users' gradients differ, show who takes part, if $R$ is large. The user's gradient may have turned "
            "between the rounds, so that the record moves the difference of its two messages by 2."
        ),
        counterexample=(
            r"$M = 3$, $lM = 2$, $T = 2$, $K = 1$. $s = 1$, $\sigma_g = 2$: over the nine equally likely pairs of "
            r"cohorts $\mu^2 \sigma_g^2$, $\mu$ of Gaussian DP, is 1, 1.4, 0.6, 1.4, 1, 0.6, 0.4, 0.4, 0 for "
            r"DP-SCAFFOLD; for DP-FedAvg it is at most 1, 1, 0.5, 1, 1, 0.5, 0.5, 0.5, 0. At $\varepsilon = 1 \delta$ "
            r"is at least 0.00568 for DP-SCAFFOLD and at most 0.00322 for DP-FedAvg; at $\varepsilon = 2$, at least "
            r"3.41e-5 and at most 4.20e-6. At $s = 0.5$ (the paper's $s$ lies in (0, 1)), $\sigma_g = 1$, "
            r"$\varepsilon = 1$: at least 0.0136, and at most 0.0103"
        ),
        repaired="noble2022.claim4.1.third-party.repaired",
        affects=("noble2022.theorem4.1.third-party",),
        survives={
            "noble2022.table1.rounds": (
                "The tables compute Implementation's formula and are checked against that; its $T$ are private for "
                "DP-SCAFFOLD all the same, as certified limits show."
            ),
            **SURVIVES,
        },
    ),
    typos=(
        Typo(
            "Control variates are said to 'only depend on stochastic gradients and thus do not degrade the privacy "
            r"level throughout the iterations'. Towards a third party that sees $x^1, \dots, x^t$ they can: they "
            "depend on gradients that were noised once and are sent twice.",
            where="Section 2",
        ),
    ),
)

REPAIRED: Statement = Statement(
    id="noble2022.claim4.1.third-party.repaired",
    kind="corollary",
    title="DP-SCAFFOLD is as private towards a third party as DP-FedAvg is towards the server",
    source=Source(
        PAPER,
        "Claim 4.1, Section 4.1; Claim B.1, Appendix B.3",
        note=(
            "repaired: DP-FedAvg's level towards the server in place of that towards a third party, and 'at least' in "
            "place of 'the same'. Where no user returns, as for $T = 1$, the printed claim holds"
        ),
    ),
    text=(
        "For any $t$, DP-SCAFFOLD, which shows $(x^t, c^t)$ to a third party, is at least as private as DP-FedAvg is "
        "towards a server. The server sees every message and who takes part."
    ),
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
