"""noble2022 Corollary C.1: how far gradients and control variates spread around their expectations in one round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, battery, checks
from dpfl_theory.core.check_inputs import Case, Values
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._runs import one_round
from dpfl_theory.statements.noble2022.scaffold import _control_variates as spread
from dpfl_theory.statements.symbolic import sides_at

_SPREAD = noble.expected(
    "spread",
    "squared length of the cohort's mean of $c_i^t - E[c_i^t]$, given $C^t$ and $x^{t-1}$",
    "end",
    r"\mathbb{E}[\|\frac{1}{lM}\sum_{i \in C^t} c_i^t - \mathbb{E}[c_i^t]\|^2 | C^t]",
)
_DISPLAY = "the first display, also for users that are not convex and long steps; the other two displays remain"
_STEP = "step of the proof: a gradient step is nonexpansive; that errors then add up as stated remains"
_CONVEX: list[list[str]] = [["1"], ["1", "0"], ["1", "1/2", "1/9"]]
_GRID: dict[str, Any] = {"curvatures": _CONVEX, "K": [1, 2, 3, 8], "eta_l nu": ["1/24", "1", "2"]}
_BENT: dict[str, Any] = {"curvatures": [["-1"], ["1", "-1"]], "K": [2, 5], "eta_l nu": ["1/24", "3"]}
_HUBER = [[["1", "-1", "3"], ["1", "1", "3"]], [["2", "0", "1"], ["0", "0", "1"]]]
_SINGLE = [[["1", "-1", "3"], ["1", "1", "3"], ["1/2", "4", "1"]]]
_EVEN = [[["1", "-1", "9"], ["1", "1", "9"]], [["1/2", "1", "9"], ["1/2", "-3", "9"]]]
_WAVES = [[["1", "-1", "3"], ["-2", "1", "1"]], [["1", "0", "1"], ["-1", "1/2", "1"]]]
"""Records (a, c, w): gradients a clip(x - c, -w, w)."""


def _records(users: list[Any], part: str, K: int, step: str, drawn: int = 1, noise: str = "1/4") -> dict[str, Any]:
    corrections = ["1/3", "-1/3"][: len(users)]
    rest = {"drawn": drawn, "noise": noise, "start": "1/2", "corrections": corrections}
    return {"users": users, "part": part, "K": K, "eta_l nu": step, **rest}


def _enumerations(part: str, what: str) -> tuple[Check, ...]:
    found = {
        "two Huber users": _records(_HUBER, part, 2, "2"),
        "two Huber users, equal variance": _records(_EVEN, part, 2, "1", noise="1/100"),
        "one Huber user, 3 steps, 2 of 3 records": _records(_SINGLE, part, 3, "1/24", 2, "0"),
    }
    return checks("exact", spread.over_records, {f"{what}, every outcome, {name}": i for name, i in found.items()})


def _everywhere(
    build: Callable[[Statement, Mapping[str, Any]], Iterator[Values]], name: str, instance: Mapping[str, Any]
) -> Check:
    """Both sides of the statement whether the hypotheses of its second and third display are met or not."""

    def cases(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
        for v in build(statement, instance):
            yield Case(v.evidence_instance, *sides_at(statement, v.symbol_values))

    return Check("exact", f"first display, {name}", cases, instance, part=_DISPLAY)


def _worst(kind: str, K: int, step: str, expected: str = "holds") -> Check:
    instance = {"class": kind, "K": K, "eta_l nu": step}
    return Check("worst-case", f"{kind}, K = {K}, eta_l nu = {step}", spread.performance, instance, expected)


def _refuted(name: str, build: Callable[..., Values], **instance: Any) -> Check:
    return Check("exact", name, build, instance, "violated")


_HOLDS = (
    spread.first_display,
    Check("exact", "first display, convex", spread.on_quadratics, {"part": "first", **_GRID}),
    _everywhere(spread.on_quadratics, "some users concave, long steps", {"part": "first", **_BENT}),
    *_enumerations("first", "first display"),
    _everywhere(spread.over_records, "every outcome, two users that are not convex", _records(_WAVES, "first", 2, "1")),
    _everywhere(spread.over_records, "every outcome, two Huber users, long steps", _records(_HUBER, "first", 2, "5")),
    *checks(
        "worst-case",
        spread.errors_of_steps,
        {f"first display, martingale errors, K = {K}": {"K": K, "eta_l nu": "1/24"} for K in (2, 3)},
    ),
    spread.other_displays,
    *checks(
        "worst-case",
        spread.gradient_step,
        {f"a gradient step, eta_l nu = {step}": {"eta_l nu": step} for step in ("1/24", "2")},
        part=_STEP,
    ),
    Check("exact", "second display, convex, eta_l nu <= 2", spread.on_quadratics, {"part": "second", **_GRID}),
    Check(
        "exact",
        "third display given the cohort, convex, eta_l nu <= 2",
        spread.on_quadratics,
        {"part": "third", **_GRID},
    ),
    *_enumerations("second", "second display"),
    *_enumerations("third", "third display given the cohort"),
    *(_worst("convex", K, step) for K, step in ((1, "1/24"), (2, "1/24"), (2, "2"), (3, "1/24"), (3, "1"))),
)
_BEYOND = {"part": "second", **_GRID, "eta_l nu": ["101/50"]}
_LONGEST = one_round(lambda values: 2.0, "second display")
"""eta~ nu = 2, so that eta_l nu = 2/(K eta_g) or less."""
_FAR = replace(
    one_round(lambda values: 8.0 * values["K"] * values["eta_g"], "second display, eta_l nu = 8"), edges=False
)

COROLLARY: Statement = Statement(
    id="noble2022.corollaryC.1",
    kind="corollary",
    source=Source(noble.PAPER, "Corollary C.1, Appendix C.1"),
    symbols=noble.symbols(*noble.VARIANCE, *noble.COHORT),
    expectations=(_SPREAD,),
    hypotheses=(noble.SMOOTH, noble.GRADIENTS, noble.WHOLE),
    sides=lambda s: Sides({"spread": s.spread}, {"variance": noble.averaged(s)}),
    checks=battery(
        _HOLDS,
        _LONGEST(without={"just outside nu-smooth F_i": "neither side has nu"}),
        _FAR(violated="alone"),
        _refuted(
            "second display given C^t and x^{t-1} only, Huber, two steps of 2/nu",
            spread.past_errors,
            **{"M": 2, "eta_l nu": "2", "tau": "1/100"},
        ),
        _refuted(
            "second display, 1 - cos x from pi, two steps of 1/(48 nu)",
            spread.pendulum,
            **{"eta_l nu": "1/48", "tau": "1/100"},
        ),
        _refuted("second display, Huber, two steps of 3/nu", spread.long_steps, **{"eta_l nu": "3", "tau": "1/10"}),
        _refuted(
            "third display, over the cohorts too", spread.between_cohorts, **{"eta_l nu": "1/48", "V": "1/1000000"}
        ),
        _worst("non-convex", 2, "1/24", "violated"),
        _worst("convex", 2, "3", "violated"),
    ),
    smoke=("convex, K = 2, eta_l nu = 3",),
    uses=("noble2022.lemmaC.1",),
)

REPAIRED: Statement = replace(
    COROLLARY,
    id="noble2022.corollaryC.1.repaired",
    symbols=(*COROLLARY.symbols, *noble.symbols("nu", "eta_l")),
    hypotheses=(*COROLLARY.hypotheses, noble.CONVEX, Hypothesis(lambda s: s.eta_l <= 2 / s.nu)),
    checks=battery(
        _HOLDS,
        Check("exact", "just outside eta_l <= 2/nu", spread.on_quadratics, _BEYOND, "not-applicable"),
        _LONGEST("quadratic"),
    ),
    smoke=(
        "second display, one of four users, lagging, little noise",
        "second display, noise alone, two of four users",
    ),
)

STATEMENTS = (COROLLARY, REPAIRED)
