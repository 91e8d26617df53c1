"""Rounds of DP-SCAFFOLD-warm over every draw of records, signs and cohorts, as fractions: Lemmas C.4 to C.7 for users
with Huber losses, whose errors depend on where they are.

The users are those of `RecordUser`, the lines those of Algorithm 1. A user outside the cohort takes its steps unseen;
only its drift is needed, which its own outcomes give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

from dpfl_theory.statements.claims import Values
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.model import checks as checks_of
from dpfl_theory.statements.noble2022._moments import RoundMoments
from dpfl_theory.statements.noble2022.scaffold._user_records import (
    RecordUser,
    Steps,
    fresh,
    noise_of,
    steps_of,
    users_of,
)

__all__ = ["CONVEX", "checks", "enumerated_rounds", "rounds_of"]


def _minimiser(users: Sequence[RecordUser]) -> Fraction:
    """Where the piecewise linear F' vanishes, for convex users."""
    bends = sorted({b for u in users for b in u.bends})

    def slope(x: Fraction) -> Fraction:
        return sum((u.gradient(x) for u in users), Fraction(0))

    for p, q in pairwise(bends):
        a, b = slope(p), slope(q)
        if a <= 0 <= b:
            return p if a == b else p - a * (q - p) / (b - a)
    raise ValueError("F' has no zero between its bends: F has no minimiser")


def enumerated_rounds(
    users: Sequence[RecordUser], steps: Steps, size: int, eta_g: Fraction, start: Fraction, count: int
) -> list[RoundMoments]:
    """The moments of the first rounds, by recursion over all equally likely outcomes.

    >>> one = RecordUser(((Fraction(1), Fraction(-1), Fraction(9)), (Fraction(1), Fraction(1), Fraction(9))))
    >>> found = enumerated_rounds([one], Steps(1, Fraction(1, 24), 1, Fraction(0)), 1, Fraction(1), Fraction(2), 1)[0]
    >>> found.move == Fraction(1, 24) ** 2 * (4 + 1), found.gap == 2, found.lag_after == found.move
    (True, True, True)
    """
    M, K = len(users), steps.K
    cohorts = list(combinations(range(M), size))
    star = _minimiser(users)
    least = sum((u.value(star) for u in users), Fraction(0)) / M
    out = [RoundMoments() for _ in range(count)]
    still = Steps(K, Fraction(0), steps.drawn, steps.noise)  # all K draws at x^0

    def mean_square(points: Sequence[Sequence[Fraction]], x: Fraction) -> Fraction:
        return sum(((p - x) ** 2 for own in points for p in own), Fraction(0)) / (M * K)

    def visit(
        t: int, weight: Fraction, x: Fraction, own: Sequence[Fraction], lagged: Sequence[Sequence[Fraction]]
    ) -> None:
        if t == count:
            return
        m, c = out[t], sum(own, Fraction(0)) / M
        slope = sum((u.gradient(x) for u in users), Fraction(0)) / M
        m.distance += weight * (x - star) ** 2
        m.gap += weight * (sum((u.value(x) for u in users), Fraction(0)) / M - least)
        m.slope += weight * slope**2
        m.lag += weight * mean_square(lagged, x)
        found = [steps_of(u, x, c - own[i], steps, fresh) for i, u in enumerate(users)]
        for mine in found:
            each = weight / (len(mine) * M * K)
            m.drift += each * sum(((p - x) ** 2 for o in mine for p in o.points[1:]), Fraction(0))
        for cohort in cohorts:
            share = weight / len(cohorts)
            for i in cohort:
                share /= len(found[i])
            for outcomes in product(*(found[i] for i in cohort)):
                after = x + eta_g * sum((o.points[K] - x for o in outcomes), Fraction(0)) / size
                new, points = list(own), list(lagged)
                for i, o in zip(cohort, outcomes):
                    new[i] = own[i] - c + (x - o.points[K]) / (K * steps.eta)
                    points[i] = o.points[:K]
                m.move += share * (after - x) ** 2
                m.lag_after += share * mean_square(points, after)
                m.distance_after += share * (after - star) ** 2
                visit(t + 1, share, after, new, points)

    warm = [[o.noisy / K for o in steps_of(u, start, Fraction(0), still, fresh)] for u in users]
    starts = list(product(*warm))
    for own in starts:
        visit(0, Fraction(1, len(starts)), start, own, [[start] * K] * M)
    return out


def rounds_of(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """Every round by the letters of Lemmas C.4 to C.7, with mu = 0."""
    users, steps = users_of({**instance, "eta_l nu": "1"})
    K, M, size, eta_g = steps.K, len(users), int(instance["size"]), Fraction(instance["eta_g"])
    nu, start, step = 1 / steps.eta, Fraction(instance["start"]), Fraction(instance["eta~ nu"]) * steps.eta
    steps = Steps(K, step / (K * eta_g), steps.drawn, steps.noise)
    known = {"eta": step, "eta_g": eta_g, "nu": nu, "mu": 0, "K": K, "l": Fraction(size, M), "M": M}
    known |= {"alpha": Fraction(instance["alpha"])} if "alpha" in instance else {}
    V, letters = noise_of(users, steps)
    at = {"M": M, "lM": size, "K": K, "sR": steps.drawn, "V": V}
    found = enumerated_rounds(users, steps, size, eta_g, start, int(instance["T"]))
    return [Values({**vars(m), **known, **letters}, {"t": t, **at}) for t, m in enumerate(found, 1)]


_TWO = [[["1", "-1", "3"], ["1", "1", "3"]], [["1/2", "6", "2"], ["0", "0", "1"]]]
_FAR = [[["1", "9", "9"], ["1", "11", "9"]], [["1", "-9", "9"], ["1/2", "-11", "9"]]]
CONVEX: dict[str, dict[str, Any]] = {
    "one of two users, two rounds": {
        "users": _FAR, "K": 1, "size": 1, "eta_g": "1", "drawn": 1, "noise": "1/4", "start": "3", "T": 2,
    },
    "one of two users, two steps": {
        "users": _TWO, "K": 2, "size": 1, "eta_g": "1", "drawn": 1, "noise": "0", "start": "4", "T": 2,
    },
    "both users, two steps": {
        "users": _TWO, "K": 2, "size": 2, "eta_g": "3/2", "drawn": 1, "noise": "0", "start": "1", "T": 1,
    },
}  # fmt: skip


def checks(limit: Callable[[Fraction], Fraction | None], **more: Any) -> tuple[Check, ...]:
    """One check an instance of two users, at the step size ``limit`` of its l."""
    found = {}
    for name, instance in CONVEX.items():
        step = limit(Fraction(int(instance["size"]), 2))
        if step is not None:
            found[f"every draw, {name}, eta~ nu = {step}"] = {**instance, "eta~ nu": str(step), **more}
    return checks_of("exact", rounds_of, found)
