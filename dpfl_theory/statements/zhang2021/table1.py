"""zhang2021 Table 1: the stationary points of problem (8), printed and true, for each reading of the clipped
quantity."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Case, Check, Effect, Erratum, Source, Statement
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021._causes import TWO_METHODS

Cell = tuple[str | None, int | None]
"""(c, Q), each None for infinity."""

PRINTED: dict[Cell, Fraction] = {
    (None, 1): Fraction(0),
    (None, None): Fraction(13, 9),
    ("1", 1): Fraction(1, 2),
    ("1", None): Fraction(2, 3),
}
GRADIENTS = {**PRINTED, ("1", None): Fraction(13, 9)}
"""The true values when every local gradient is clipped."""
UPDATES = {**PRINTED, ("1", 1): Fraction(0)}
"""The true values when updates are clipped, at every step with which the unclipped method is stable."""
STABLE_BELOW = Fraction(6, 41)
"""One unclipped round with Q = 1 multiplies x by 1 - 41 eta_l/3."""


def one_step(eta: Fraction) -> Fraction:
    """The stationary point for c = 1, Q = 1 with clipped updates, as a function of the local step.

    f_3's update, 6 eta at x = 0, is clipped from eta = 1/6 on, f_1's from 2/7 on; then only f_2, (2x - 1)^2/2, has a
    slope left.

    >>> [str(one_step(Fraction(eta))) for eta in ("1/7", "1/5", "1")]
    ['0', '1/5', '1/2']
    """
    return max(Fraction(0), min(Fraction(1, 2), (6 * eta - 1) / (5 * eta)))


def entry_cases(_: Statement, instance: Mapping[str, Any], table: Mapping[Cell, Fraction] = PRINTED) -> list[Case]:
    """The stationary point of one entry at each local step, compared with the table's.

    instance: clipping, ``gradient`` or ``difference``; c and Q, None for infinity; eta_l, local steps. With Q = inf the
    local steps end at the clients' minimisers, whatever the step. The point must be unique and attract.
    """
    from dpfl_theory.problems.scalar import equation_8

    clients, c, Q = equation_8(), instance["c"], instance["Q"]
    cases = []
    for text in instance["eta_l"]:
        step = Fraction(text)
        if step >= STABLE_BELOW:
            raise ValueError(f"the unclipped method is not stable at eta_l = {step}")
        (found,) = clients.stationary(
            "none" if c is None else instance["clipping"],
            step=step,
            steps=math.inf if Q is None else Q,
            threshold=None if c is None else Fraction(c),
        )
        if found.point is None or found.stability != "attracting":
            raise ValueError(f"the stationary point at eta_l = {step} does not attract")
        values = {"c": "inf" if c is None else c, "Q": "inf" if Q is None else Q, "eta_l": step}
        cases.append(Case(values, found.point, table[c, Q]))
    return cases


def longer_cases(
    _: Statement, instance: Mapping[str, Any], point: Callable[[Fraction], Fraction] = one_step
) -> list[Case]:
    """c = 1, Q = 1, updates clipped, at steps with which the unclipped method is not stable: the one stationary point,
    which attracts, against point(eta_l)."""
    from dpfl_theory.problems.scalar import equation_8

    cases = []
    for step in map(Fraction, instance["eta_l"]):
        (found,) = equation_8().stationary("difference", step=step, steps=1, threshold=1)
        if found.point is None or found.stability != "attracting":
            raise ValueError(f"the stationary point at eta_l = {step} does not attract")
        cases.append(Case({"c": "1", "Q": 1, "eta_l": step}, found.point, point(step)))
    return cases


def endless_cases(_: Statement, instance: Mapping[str, Any], table: Mapping[Cell, Fraction] = PRINTED) -> list[Case]:
    """With c = 1 and endless local steps: the point where the runs with Q = 1000 steps become stationary, rounded to
    six digits.

    Local gradients are clipped, which does not keep a client from its minimiser: (4 + 1/2 - 1/6)/3 = 13/9.
    """
    from dpfl_theory.problems.scalar import equation_8

    clients, step, Q = equation_8(), Fraction(instance["eta_l"]), instance["Q"]
    total = Fraction(0)
    for q, m in zip(clients.curvatures, clients.minimisers):
        x = Fraction(instance["x"])
        for _step in range(Q):
            g = q * (x - m)
            x -= step * max(Fraction(-1), min(Fraction(1), g))
            x = Fraction(round(x * 10**15), 10**15)  # six digits are requested: long fractions would only cost time
        total += x
    return [Case({"Q": Q, "eta_l": step, "from x": instance["x"]}, round(total / 3, 6), round(table["1", None], 6))]


_STEPS = ["1/1000", "1/50", "1/20", "1/10", "1/7"]


def _checks(
    clipping: str, table: Mapping[Cell, Fraction], columns: tuple[int | None, ...] | None = None
) -> tuple[Check, ...]:
    """A check of each entry, or of those of these columns."""
    found = []
    for c, Q in PRINTED:
        if columns is not None and Q not in columns:
            continue
        what = "no clipping" if c is None else f"c = {c}"
        steps = _STEPS if Q == 1 else ["1/50"]
        truth = (GRADIENTS if clipping == "gradient" else UPDATES)[c, Q]
        found.append(
            Check(
                "exact",
                f"{what}, Q = {'inf' if Q is None else Q}",
                partial(entry_cases, table=table),
                {"clipping": clipping, "c": c, "Q": Q, "eta_l": steps},
                "holds" if table[c, Q] == truth else "violated",
            )
        )
    return tuple(found)


_UPDATES = ", with Algorithm 2"


def _table(
    id_: str, title: str, note: str, text: str, where: str = "", provenance: str = "read", **more: Any
) -> Statement:
    source = Source(zhang.PAPER, f"Table 1, Section 2.1{where} ({zhang.VERSION})", note=note, provenance=provenance)
    return Statement(id=id_, kind="table", title=title, source=source, text=text, relation="==", **more)


_LONGER = {"eta_l": ["2/7", "1/2", "1", "29/20"]}
_ENDLESS = {"eta_l": "1/50", "Q": 1000, "x": "13/9"}

GRADIENT: Statement = _table(
    "zhang2021.table1",
    "Table 1: stationary points on problem (8), gradients clipped",
    r"as captioned, 'FedAvg with gradient clipping': local gradients are clipped to $c$; $\eta_g = 1$, all clients",
    (
        r"Stationary points of FedAvg with gradient clipping for (8): 0 for $Q = 1$ and $13/9$ for $Q = \infty$ "
        r"without clipping, $1/2$ for $Q = 1$ and $2/3$ for $Q = \infty$ with $c = 1$."
    ),
    checks=(
        *_checks("gradient", PRINTED),
        Check("exact", "c = 1, Q = 1000 steps of 1/50", endless_cases, _ENDLESS, "violated"),
    ),
    reading="What is clipped is read from the caption, 'FedAvg with gradient clipping': every local gradient.",
    expected="violated",
    erratum=Erratum(
        cause=TWO_METHODS,
        grade="misprint",
        effect=Effect(
            2.1667,
            r"As captioned the entry for $c = 1$, $Q = \infty$ is $2/3$ and must be this many times larger, $13/9$, "
            "as without clipping; with 'difference clipping' in the caption it is right.",
        ),
        printed=r"$c = 1$: $1/2$ for $Q = 1$ and $2/3$ for $Q = \infty$",
        corrected=r"$c = 1$: $1/2$ for $Q = 1$ and $13/9$ for $Q = \infty$, when gradients are clipped as captioned",
        why=(
            "clipped gradients lead every client to its own minimiser, 4, $1/2$ and -1/6, whose mean is $13/9$. "
            "Section 2.1 and Algorithm 2 have the method for which $2/3$ is right; with it, and with Section 2.1's "
            "words on $Q = 1$, all four entries are right, at every step at which the compared methods converge"
        ),
        counterexample=(
            r"$c = 1$, $Q = \infty$, gradients clipped: the stationary point is $(4 + 1/2 - 1/6)/3 = 13/9$, not $2/3$"
        ),
        repaired="zhang2021.table1.repaired",
    ),
    typos=(
        r"With one threshold of updates in both columns, as (4) prints it, the entry $1/2$ needs $\eta_l \ge 2/7$. "
        r"The table compares it with FedAvg without clipping, which converges on (8) only for $\eta_l < 6/41$; at "
        "those steps 0 is stationary with and without clipping. With the gradient's threshold, which Section 2.1 has "
        "for $Q = 1$, the entry is right. The table does not say which threshold $c$ is, and gives no step.",
    ),
)

GRADIENT_REPAIRED: Statement = _table(
    "zhang2021.table1.repaired",
    "Table 1 with gradients clipped, repaired",
    r"repaired: $13/9$ in place of $2/3$ at $c = 1$, $Q = \infty$",
    (
        "Stationary points of FedAvg on (8) with every local gradient clipped: 0 and $13/9$ without clipping, $1/2$ "
        r"and $13/9$ with $c = 1$, for $Q = 1$ $(\eta_l < 6/41)$ and $Q = \infty$ $(\eta_l < 1/18)$."
    ),
    checks=(
        *_checks("gradient", GRADIENTS),
        Check("exact", "c = 1, Q = 1000 steps of 1/50", partial(endless_cases, table=GRADIENTS), _ENDLESS),
    ),
)


def at_any_step(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """c = 1 as Section 2.1 has it: for Q = 1 an update is the mini-batch's gradient, which is clipped to 1, and for Q =
    inf the update is clipped to 1. The stationary points at each step, against the table's."""
    from dpfl_theory.problems.scalar import equation_8

    cases = []
    for Q, clipping in ((1, "gradient"), (math.inf, "difference")):
        for step in map(Fraction, instance["eta_l"][str(Q)]):
            (found,) = equation_8().stationary(clipping, step=step, steps=Q, threshold=1)
            if found.point is None or found.stability != "attracting":
                raise ValueError(f"the stationary point at eta_l = {step}, Q = {Q} does not attract")
            cases.append(Case({"Q": str(Q), "eta_l": step}, found.point, PRINTED["1", 1 if Q == 1 else None]))
    return cases


UPDATE: Statement = _table(
    "zhang2021.table1.update-clipping",
    "Table 1: stationary points on problem (8), updates clipped",
    (
        r"read with the clipping of Section 2.1 and Claim 2.2, of updates; $\eta_g = 1$, all clients. Section 2.1 "
        "says: 'when $Q = 1$, the difference clipping is equivalent to the standard mini-batch gradient clipping'. So "
        "$c = 1$ bounds the gradient in the column $Q = 1$, and the update $x_i^{t,Q} - x^t$ in the column $Q = "
        r"\infty$"
    ),
    (
        r"Stationary points of FedAvg with difference clipping for (8): 0 for $Q = 1$ and $13/9$ for $Q = \infty$ "
        r"without clipping, $1/2$ for $Q = 1$ and $2/3$ for $Q = \infty$ with $c = 1$."
    ),
    where=", with Section 2.1",
    checks=(
        *_checks("gradient", PRINTED, (1,)),
        *_checks("difference", PRINTED, (None,)),
        Check(
            "exact",
            "c = 1, at every step that was tried",
            at_any_step,
            {"eta_l": {"1": [*_STEPS, "1/5", "1/2", "1"], "inf": ["1/1000", "1/50", "1/20"]}},
        ),
    ),
    reading=(
        "An update is clipped; for $Q = 1$ it is read as Section 2.1 reads it, as the gradient, whose threshold is $c "
        "= 1$."
    ),
    reading_of="zhang2021.table1",
)

ONE_THRESHOLD: Statement = _table(
    "zhang2021.table1.one-threshold",
    "Stationary points on problem (8), updates clipped to 1 in both columns of Table 1",
    (
        r"derived: $c = 1$ bounds the update $\eta_l g$ also for $Q = 1$, as (4) prints it. The entry $1/2$ is then "
        "that of steps from $2/7$ on, and 0 that of every step with which FedAvg without clipping converges"
    ),
    (
        "Stationary points of FedAvg on (8) with updates clipped: 0 and $13/9$ without clipping, 0 and $2/3$ with $c "
        r"= 1$, for $Q = 1$ $(\eta_l < 6/41)$ and $Q = \infty$ $(\eta_l < 1/18)$. For $c = 1$, $Q = 1$ the only "
        r"stationary point is 0 up to $\eta_l = 1/6$, $(6 \eta_l - 1)/(5 \eta_l)$ up to $2/7$, and $1/2$ from there "
        r"on; it attracts for $\eta_l$ below $6/41$ and from $1/6$ to $3/2$."
    ),
    where=_UPDATES,
    provenance="derived",
    checks=(
        *_checks("difference", UPDATES),
        Check(
            "exact",
            "c = 1, Q = 1, steps below 6/41, and from 1/6 to 3/2",
            longer_cases,
            {"eta_l": ["1/1000", "1/7", "1/6", "1/5", "1/4", *_LONGER["eta_l"]]},
        ),
    ),
    reading="The threshold $c = 1$ is read as one of updates for $Q = 1$ too.",
    reading_of="zhang2021.table1",
)

STATEMENTS = (GRADIENT, GRADIENT_REPAIRED, UPDATE, ONE_THRESHOLD)
