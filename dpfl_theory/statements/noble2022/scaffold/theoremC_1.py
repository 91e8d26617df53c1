"""noble2022 Theorem C.1: the rates of DP-SCAFFOLD-warm, for strongly convex, convex and other objectives; as printed,
and repaired, where they are Lemmas C.8 and C.9 repaired at eta_g = sqrt(lM), compared with runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count, product
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, battery
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _moments as one_user
from dpfl_theory.statements.noble2022 import _no_constant as refuting
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022._step_size import rate, step_limit_symbolic
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8, lemmaC_9
from dpfl_theory.statements.relations import Formula, Proof, algebra

_PRINTED = (noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.SAMPLING)


def _steps(s: Symbols, strongly: bool = False) -> Mapping[str, Any]:
    """eta_g = sqrt(lM); eta_l = l^(2/3)/(24 nu K eta_g), and at most l/(54 mu K eta_g) if strongly convex."""
    eta_g = sp.sqrt(s.l * s.M)
    eta_l = step_limit_symbolic(s) / (s.K * eta_g)
    return {"eta_g": eta_g, "eta_l": sp.Min(eta_l, s.l / (54 * s.mu * s.K * eta_g)) if strongly else eta_l}


_OF_TABLES = [542, 545, 546, 488, 502, 505, 506, 428, 451, 457, 458, 324, 352, 360, 362, 72, 83, 86, 87]
SETTINGS: dict[str, Any] = {
    "Figures 1 and 2, logistic regression": {"l": ["1/5"], "M": [100, 40], "T": [400], "convex": True},
    "Figure 2, network": {"l": ["1/5"], "M": [60], "T": [100], "convex": False},
    "Tables 1 and 4": {"l": ["1/20"], "M": [100], "T": _OF_TABLES, "convex": True},
    "Figure 9": {"l": ["2/25", "1/10", "3/25"], "M": [100, 40, 60], "T": [], "convex": None},
    "Figure 10": {"l": ["1/10"], "M": [100, 40, 60], "T": [], "convex": None},
}
"""Section 5 and Appendix D.3; Figures 9 and 10 only draw their T. eta_g = 1 in all of them."""


@algebra(
    "the paper's own settings",
    part="It decides the requirements of the conditions at the paper's own settings, and not whether the bound holds.",
    **SETTINGS,
)
def own_settings(s: Formula, **settings: Mapping[str, Any]) -> Proof:
    """The claims of notes on the paper's settings: eta_g, the rounds, the start (part (2) repaired).

    The rounds are tested at nu = mu, where the fewest are needed; F(x^0) - F* <= nu D_0^2/2.
    """
    own = symbols_of(CONVEX_REPAIRED)
    start = sides_of(CONVEX_REPAIRED).rhs["start"] * 2 / (own.nu * own.D0**2)
    eta_g, enough, shares, needed = [], [], {}, {}
    for name, at in settings.items():
        rates = [sp.Rational(share) for share in at["l"]]
        eta_g += [float(s.prescribed["eta_g"].subs({s.l: share, s.M: M})) for share, M in product(rates, at["M"])]
        if at["convex"]:
            best = {"l": float(rates[0]), "nu": 1.0, "mu": 1.0}
            needed[name] = next(T for T in count(1) if noble.LONG_ENOUGH.test(None, {**best, "T": T}) is None)
            enough += [name for T in at["T"] if needed[name] <= T]
            of_start = [float(start.subs({own.l: rates[0], own.T: T})) for T in at["T"]]
            shares[name] = (round(min(of_start), 2), round(max(of_start), 2))
    return Outcome(
        1.0 not in eta_g and not enough and shares["Tables 1 and 4"][0] > 1,
        f"eta_g = 1 where {min(eta_g):.2f} to {max(eta_g):.2f} is prescribed; part (1) needs at least "
        f"{', '.join(f'{T} rounds ({name})' for name, T in needed.items())}; part (2)'s start over nu D_0^2/2 is "
        f"{', '.join(f'{low} to {high} ({name})' for name, (low, high) in shares.items())}",
        {"eta_g": [round(v, 4) for v in eta_g], "rounds": needed, "start": {k: list(v) for k, v in shares.items()}},
    )


CONVEX: Statement = noble.statement(
    **noble.named("noble2022.theoremC.1.convex"),
    hypotheses=(noble.CONVEX, *_PRINTED, noble.ROUNDS),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {
            "noise": s.c * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M) * s.D0,
            "start": s.c * s.nu / (s.l ** sp.Rational(2, 3) * s.T) * s.D0**2,
        },
    ),
    prescription=_steps,
    checks=battery(
        refuting.starts_at_the_minimiser("D0"),
        refuting.two_slopes,
        own_settings,
        refuting.first_step("excess", "scaffold"),
        runs.runs()(near="one", without={"just outside T >= 1": "the repaired form has it"}),
    ),
    uses=("noble2022.lemmaC.8",),
)

STRONGLY_CONVEX: Statement = replace(
    CONVEX,
    **noble.named("noble2022.theoremC.1.strongly-convex"),
    hypotheses=(noble.STRONGLY_CONVEX, *_PRINTED, noble.LONG_ENOUGH),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {"noise": s.c * noble.averaged(s) / (s.mu * s.T), "start": s.c * s.mu * s.D0**2 * sp.exp(-rate(s) * s.T)},
    ),
    prescription=lambda s: _steps(s, strongly=True),
    checks=battery(
        refuting.two_slopes,
        refuting.bounded_gradients,
        runs.runs(average="before", edges=False, c=1.0)("moderate moderate-inside", beyond="moderate-outside"),
    ),
)

NON_CONVEX: Statement = replace(
    CONVEX,
    **noble.named("noble2022.theoremC.1.non-convex"),
    hypotheses=(*_PRINTED, noble.ROUNDS),
    sides=lambda s: Sides(
        {"gradient": s.gradient},
        {
            "noise": s.c * noble.deviation(s) / sp.sqrt(s.T * s.K * s.l * s.M) * sp.sqrt(s.F0),
            "start": s.c * s.nu / (s.l ** sp.Rational(2, 3) * s.T) * s.F0,
        },
    ),
    checks=battery(
        refuting.starts_at_the_minimiser("F0"), refuting.noise_stays, refuting.first_step("gradient", "scaffold")
    ),
    smoke=("units",),
    homogeneous=False,
    uses=("noble2022.lemmaC.9",),
)


_BASE = (noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE)


def _shorter_steps(s: Symbols, *shorter: Any) -> Mapping[str, Any]:
    """eta_g = sqrt(lM), eta_l = eta~/(K eta_g) with the least of these eta~ and the longest one."""
    eta_g = sp.sqrt(s.l * s.M)
    return {"eta_g": eta_g, "eta_l": sp.Min(step_limit_symbolic(s), *shorter) / (s.K * eta_g)}


def _log(s: Symbols) -> Any:
    """L = ln max(e, mu^2 D_0^2 T/W), W = 2V/(KlM)."""
    return sp.log(sp.Max(sp.E, s.mu**2 * s.D0**2 * s.T / (2 * noble.averaged(s))))


def _at_sqrt(name: str, lemma: Statement) -> Check:
    """The lemma's terms at eta_g = sqrt(lM) are this statement's, squared to be free of roots."""

    @algebra(f"{name} repaired at eta_g = sqrt(lM)")
    def step(s: Formula) -> Proof:
        theirs = s.like(lemma, eta_g=sp.sqrt(s.l * s.M)).terms
        return [(sp.simplify(theirs[name] ** 2), sp.simplify(term**2), name) for name, term in s.terms.items()]

    return step


@algebra("Lemma C.8 repaired at eta_g = sqrt(lM)")
def _log_terms(s: Formula) -> Proof:
    """42 L W/(mu T) at W = 2V/(KlM) is the noise term, and mu eta~/2 at both ends of eta~'s limit is the rate of the
    start's."""
    stated, W = s.terms, 2 * noble.averaged(s)
    start = sp.Rational(8, 5) * s.mu * s.D0**2
    ends = (s.l / (54 * s.mu), step_limit_symbolic(s))
    slowest = sp.Min(*(sp.simplify(s.mu * end / 2 * s.nu) for end in ends)) / s.nu
    return [
        (42 * _log(s) * W / (s.mu * s.T), stated["noise"], "the noise"),
        (start * sp.exp(-slowest * s.T), stated["start"], "the start"),
    ]


_SHORT_STEPS = {"nu": ["1", "5"], "T": [400], "V": ["1/1000000", "10", "1000"]}
"""At the largest V hardly anything moves: the excess is near nu D_0^2/2, and the start term 48 nu D_0^2/T below it. At
the smallest V the noise term is below the excess, and the start term counts."""
_ONE_STEP = {"nu": ["1", "5"], "T": [240, 500], "V": ["1/1000000", "1/10", "10", "100"]}
_SHORT = "one user whose noise asks for short steps"

CONVEX_REPAIRED: Statement = noble.statement(
    **noble.named("noble2022.theoremC.1.convex.repaired"),
    hypotheses=(noble.CONVEX, *_BASE, noble.ROUNDS, noble.APART),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {
            "noise": 8 * sp.sqrt(5) * s.D0 * sp.sqrt(noble.averaged(s) / s.T),
            "start": 48 * s.nu * s.D0**2 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    ),
    prescription=lambda s: _shorter_steps(s, s.D0 / sp.sqrt(20 * s.T * noble.averaged(s))),
    checks=battery(
        _at_sqrt("Lemma C.8", lemmaC_8.REPAIRED),
        Check("exact", _SHORT, one_user.averaged_steps, _SHORT_STEPS),
        runs.runs(average="before")("half", near="one"),
    ),
    uses=("noble2022.lemmaC.8.repaired",),
)

STRONGLY_CONVEX_REPAIRED: Statement = replace(
    CONVEX_REPAIRED,
    **noble.named("noble2022.theoremC.1.strongly-convex.repaired"),
    hypotheses=(noble.STRONGLY_CONVEX, *_BASE, noble.LONG_ENOUGH),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {
            "noise": 84 * _log(s) * noble.averaged(s) / (s.mu * s.T),
            "start": sp.Rational(8, 5) * s.mu * s.D0**2 * sp.exp(-rate(s) * s.T),
        },
    ),
    prescription=lambda s: _shorter_steps(s, s.l / (54 * s.mu), 2 * _log(s) / (s.mu * s.T)),
    checks=battery(
        _log_terms,
        Check("exact", "one user, one local step", one_user.one_step, _ONE_STEP),
        runs.runs(average="before")("ridge", beyond="ridge-outside", near="moderate", without=runs.NO_RECORDS),
    ),
    smoke=("half of the users, with a ridge",),
)

NON_CONVEX_REPAIRED: Statement = replace(
    CONVEX_REPAIRED,
    **noble.named("noble2022.theoremC.1.non-convex.repaired"),
    symbols=noble.WARM_MEANS,
    hypotheses=(*_BASE, noble.ROUNDS, noble.AWAY),
    sides=lambda s: Sides(
        runs.without_warm_round(s, "slope", "slope0"),
        {
            "noise": 2 * sp.sqrt(sp.Rational(84, 5) * s.nu * s.F0 * noble.averaged(s) / s.T),
            "start": sp.Rational(288, 5) * s.nu * s.F0 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    ),
    prescription=lambda s: _shorter_steps(s, sp.sqrt(12 * s.F0 / (35 * s.nu * s.T * noble.averaged(s)))),
    checks=battery(
        _at_sqrt("Lemma C.9", lemmaC_9.REPAIRED),
        Check("exact", _SHORT, one_user.all_rounds, {"T": [400], "V": ["10", "1000"]}),
        runs.runs()("half", beyond="half-outside", near="one"),
    ),
    uses=("noble2022.lemmaC.9.repaired",),
)

STATEMENTS = (STRONGLY_CONVEX, CONVEX, NON_CONVEX, STRONGLY_CONVEX_REPAIRED, CONVEX_REPAIRED, NON_CONVEX_REPAIRED)
