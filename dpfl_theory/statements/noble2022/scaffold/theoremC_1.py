"""noble2022 Theorem C.1: the rates of DP-SCAFFOLD-warm, for strongly convex, convex and other objectives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count, product
from typing import Any

from dpfl_theory.core import Outcome, Sides, Source, Statement, Symbols, battery
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _no_constant as refuting
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._step_size import rate, step_limit_symbolic
from dpfl_theory.statements.noble2022.scaffold.theoremC_1_repaired import CONVEX as REPAIRED
from dpfl_theory.statements.relations import Formula, Proof, algebra

_COMMON = ("c", "eta_g", "eta_l", "nu", "M", "l", "R", "s", "K", "T", "varsigma", "Sigma")


def _steps(s: Symbols, strongly: bool = False) -> Mapping[str, Any]:
    """eta_g = sqrt(lM); eta_l = l^(2/3)/(24 nu K eta_g), and at most l/(54 mu K eta_g) if strongly convex."""
    eta_g = sp.sqrt(s.l * s.M)
    eta_l = step_limit_symbolic(s) / (s.K * eta_g)
    return {"eta_g": eta_g, "eta_l": sp.Min(eta_l, s.l / (54 * s.mu * s.K * eta_g)) if strongly else eta_l}


SETTINGS: dict[str, Any] = {
    "Figures 1 and 2, logistic regression": {"l": ["1/5"], "M": [100, 40], "T": [400], "convex": True},
    "Figure 2, network": {"l": ["1/5"], "M": [60], "T": [100], "convex": False},
    "Tables 1 and 4": {
        "l": ["1/20"],
        "M": [100],
        "T": [542, 545, 546, 488, 502, 505, 506, 428, 451, 457, 458, 324, 352, 360, 362, 72, 83, 86, 87],
        "convex": True,
    },
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
    own = symbols_of(REPAIRED)
    start = sides_of(REPAIRED).rhs["start"] * 2 / (own.nu * own.D0**2)
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


CONVEX: Statement = Statement(
    id="noble2022.theoremC.1.convex",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem C.1 (2), Appendix C.2"),
    symbols=noble.symbols(*_COMMON, "D0"),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.SAMPLING, noble.ROUNDS),
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
    id="noble2022.theoremC.1.strongly-convex",
    source=Source(noble.PAPER, "Theorem C.1 (1), Appendix C.2"),
    symbols=noble.symbols(*_COMMON, "mu", "D0"),
    hypotheses=(noble.STRONGLY_CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.SAMPLING, noble.LONG_ENOUGH),
    sides=lambda s: Sides(
        {"excess": s.excess},
        {"noise": s.c * noble.averaged(s) / (s.mu * s.T), "start": s.c * s.mu * s.D0**2 * sp.exp(-rate(s) * s.T)},
    ),
    prescription=lambda s: _steps(s, strongly=True),
    checks=battery(
        refuting.two_slopes,
        refuting.bounded_gradients,
        runs.averaged(edges=False, c=1.0)("moderate moderate-inside", beyond="moderate-outside"),
    ),
)

NON_CONVEX: Statement = replace(
    CONVEX,
    id="noble2022.theoremC.1.non-convex",
    source=Source(noble.PAPER, "Theorem C.1 (3), Appendix C.2"),
    symbols=noble.symbols(*_COMMON, "F0"),
    expectations=(noble.OUTPUT_GRADIENT,),
    hypotheses=(noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.SAMPLING, noble.ROUNDS),
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

STATEMENTS = (STRONGLY_CONVEX, CONVEX, NON_CONVEX)
