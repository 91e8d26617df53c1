"""das2022 eqs. 4 and 5: the asymptotic bounds of Section 4.1, with that section's own number of rounds, and their
repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Effect, Erratum, Sides, Source, Statement, Symbols, battery
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import theorem4
from dpfl_theory.statements.das2022._causes import ROUNDS
from dpfl_theory.statements.das2022._runs import CLIP, NORMALISE
from dpfl_theory.statements.das2022._weights import diverging
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.relations import AMENDED, Formula, Proof, algebra, in_the_limit, limit, of, prescribes_as


def _prescription(s: Symbols, printed: bool) -> Mapping[str, Any]:
    """Theorem 4's eta and C; K = (2 alpha gamma/(C E))/rho^2 as Section 4.1 prints it, or (2 alpha gamma/C)/rho^2."""
    C = s.G * s.E
    K = 2 * s.alpha * s.gamma / ((C * s.E if printed else C) * s.rho**2)
    return {"eta": s.rho / (2 * s.alpha * s.L), "C": C, "K": K}


def _sides(expectation: str) -> Callable[[Symbols], Sides]:
    def sides(s: Symbols) -> Sides:
        bound = s.G / 2 * (s.L * s.D**2 / s.gamma + s.gamma / s.L) * s.rho
        return Sides(lhs={"gap": s[expectation]}, rhs={"initialisation": bound})

    return sides


def _bound_with_printed_rounds(finite: Statement) -> Check:
    """With Section 4.1's K, Theorem 4 holds with gamma/E in place of gamma: does its limit still give the printed
    bound?"""

    @algebra("bound for Section 4.1's own K", expected="violated")
    def check(s: Formula) -> Proof:
        swapped = of(finite, gamma=s.gamma / s.E)
        return in_the_limit(swapped, "alpha", s.statement, f"the limit of {finite.id} with Section 4.1's K")

    return check


def _emptiness(expectation: str) -> tuple[Check, ...]:
    """The check of infinite weighted means, where there are weights."""
    return (diverging(expectation, None),) if expectation == "E_weighted_gap" else ()


_SYMBOLS = das.symbols("rho", "E", "K", "alpha", "gamma", "L", "G", "C", "eta", "D")
_NOTE = (
    r"Section 4.1 says 'in Theorem 4, recall that we set $K = (2 \alpha \gamma/(CE))/\rho^2$', while Theorem 4 prints "
    r"$(2 \alpha \gamma/C)/\rho^2$; the bound is for $\alpha \to \infty$ with $E = O(1)$"
)
_APART = {"two clients apart in one dimension": "the repaired form has it"}


def _printed(
    id_: str,
    equation: str,
    name: str,
    expectation: str,
    runs: Runs,
    finite: Statement,
    repaired: str,
    more: str = "",
    typos: tuple[str, ...] = (),
    smoke: tuple[str, ...] = (),
) -> Statement:
    return Statement(
        id=id_,
        kind="corollary",
        title=f"Asymptotic bound of {name}, with Section 4.1's $K$",
        source=Source(das.PAPER, "Section 4.1", equation, _NOTE),
        text=(
            rf"As $\alpha$ grows with $E = O(1)$, {name} run for $K = (2 \alpha \gamma/(CE))/\rho^2$ rounds satisfies "
            "the bound."
        ),
        symbols=_SYMBOLS,
        expectations=das.expected(expectation),
        hypotheses=finite.hypotheses,
        sides=_sides(expectation),
        prescription=lambda s: _prescription(s, printed=True),
        checks=battery(
            limit(finite, "alpha"),
            prescribes_as(finite, "nothing replaced", expected="violated"),
            _bound_with_printed_rounds(finite),
            _emptiness(expectation),
            runs("limit", violated="limit-E", without=_APART if "weighted" in expectation else None),
        ),
        smoke=smoke,
        expected="violated",
        erratum=Erratum(
            cause=ROUNDS,
            grade="misprint",
            effect=Effect(
                0.0,
                r"No experiment takes $K$ from Section 4.1; a run that did, with $E = 20$ and $\gamma = L \|w_0 - "
                r"w^*\|$, would have a bound 10 times as large: $(E + 1/E)/2$.",
            ),
            printed=(
                r"$K = (2 \alpha \gamma/(CE))/\rho^2$, quoted as Theorem 4's, with the bound $(G/2)(L D^2/\gamma + "
                r"\gamma/L) \rho$"
            ),
            corrected=(
                r"Theorem 4's $K$ is $(2 \alpha \gamma/C)/\rho^2$, and with it the bound is right; with the printed "
                rf"$K$ it would be $(G/2)(E L D^2/\gamma + \gamma/(E L)) \rho${more}"
            ),
            counterexample=(
                r"$d = 1$, two equal Huber clients with $L = G = 1$, $|w_0 - w^*| = 20$, $\rho = 0.1$, $\gamma = 2$, "
                r"full participation: the left side is 1.4 times the right side for $E = 2$, $\alpha = 16$ $(K = "
                r"1600)$, and 1.7 times for $E = 4$, $\alpha = 32$ $(K = 800)$, and stays so as $\alpha$ grows "
                r"($\alpha = 64$ and 128)"
            ),
            repaired=repaired,
            affects=("das2022.section4.1",),
        ),
        uses=(finite.id,),
        typos=typos,
    )


def _repaired(id_: str, printed: Statement, finite: Statement, expectation: str, runs: Runs) -> Statement:
    return replace(
        printed,
        **AMENDED,
        id=id_,
        title=printed.title.replace("Section 4.1's $K$", "Theorem 4's $K$"),
        source=replace(
            printed.source,
            note=(r"derived: the printed bound with Theorem 4's $K$; the limit $\alpha \to \infty$ of Theorem 4"),
        ),
        text=printed.text.replace("(CE)", "C"),
        sides=_sides(expectation),
        prescription=lambda s: _prescription(s, printed=False),
        checks=battery(
            limit(finite, "alpha"),
            prescribes_as(finite, "nothing replaced"),
            _emptiness(expectation),
            runs("limit limit-E-rounds limit-independent"),
        ),
        uses=(finite.id,),
    )


EQ4 = _printed(
    "das2022.eq4",
    "4",
    "DP-FedAvg with clipping",
    "E_gap",
    CLIP,
    theorem4.A,
    "das2022.eq4.repaired",
    smoke=("nearly linear objective, E = 2",),
)
EQ5 = _printed(
    "das2022.eq5",
    "5",
    "DP-NormFedAvg",
    "E_weighted_gap",
    NORMALISE,
    theorem4.B,
    "das2022.eq5.repaired",
    more=(
        "; the failure of (3) under independent sampling does not carry over to (5): the missing term "
        r"$(E/\alpha)(G^2/(2L)) \kappa \rho$ of das2022.theorem4b.repaired vanishes as $\alpha$ grows"
    ),
    typos=(
        r"'the effect of heterogeneity is eliminated asymptotically': where some $\Delta_i^* > 0$ and client $i$'s "
        r"gradients vary along one direction only, the weighted $\Delta$ of (3) is infinite for every $\alpha$. So "
        r"(5) is no limit of (3) there; it then reads $-\infty \le (G/2)(L D^2/\gamma + \gamma/L) \rho$ (see "
        "das2022.theorem4b).",
    ),
)

STATEMENTS = (
    EQ4,
    EQ5,
    _repaired("das2022.eq4.repaired", EQ4, theorem4.A, "E_gap", CLIP),
    _repaired("das2022.eq5.repaired", EQ5, theorem4.B_REPAIRED, "E_weighted_gap", NORMALISE),
)
