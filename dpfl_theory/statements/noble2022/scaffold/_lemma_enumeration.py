"""Rounds of DP-SCAFFOLD-warm over every draw of records, signs and cohorts, as fractions: Lemmas C.4 to C.7 for users
with Huber losses, whose errors depend on where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Check, Statement, Values
from dpfl_theory.core import checks as checks_of
from dpfl_theory.semantics.base import Vector, expected
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.statements.noble2022._moments import RoundMoments, warm_start
from dpfl_theory.statements.noble2022.scaffold._round_performance import mean_square
from dpfl_theory.statements.noble2022.scaffold._user_records import Records, RecordUser, records_of

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
    world: Records, K: int, eta: Fraction, size: int, eta_g: Fraction, start: Fraction, count: int
) -> list[RoundMoments]:
    """The moments of the first rounds, over all outcomes. Every user is as likely in the cohort, which so shows the
    drift of all of them.

    >>> one = RecordUser(((Fraction(1), Fraction(-1), Fraction(9)), (Fraction(1), Fraction(1), Fraction(9))))
    >>> world = Records([one], 1, Fraction(0))
    >>> (found,) = enumerated_rounds(world, 1, Fraction(1, 24), 1, Fraction(1), Fraction(2), 1)
    >>> found.move == Fraction(1, 24) ** 2 * (4 + 1), found.gap == 2, found.lag_after == found.move
    (True, True, True)
    """
    everyone, star = range(world.clients), Vector(_minimiser(world.users))
    algorithm = Scaffold(eta_l=eta, eta_g=eta_g, K=K)

    def excess(x: Vector) -> Fraction:
        return sum((world.value(i, x) - world.value(i, star) for i in everyone), Fraction(0)) / world.clients

    def observed() -> Mapping[tuple[int, str], Fraction]:
        found: dict[tuple[int, str], Fraction] = {}
        now, lagged = warm_start(world, Vector(start), K), [(Vector(start),) * K] * world.clients
        for t in range(count):
            x = now.x
            now = run_round(algorithm, world, *now.following, t=t, size=size, errors=True)
            seen = {
                "distance": world.square(x - star),
                "gap": excess(x),
                "slope": world.square(world.mean_gradient(x)),
                "lag": mean_square(world, lagged, x),
                "drift": mean_square(world, [now.paths[i][1:] for i in now.cohort], x),
            }
            lagged = [now.paths[i][:K] if i in now.cohort else old for i, old in enumerate(lagged)]
            seen |= {
                "move": world.square(now.x - x),
                "lag_after": mean_square(world, lagged, now.x),
                "distance_after": world.square(now.x - star),
            }
            found |= {(t, name): value for name, value in seen.items()}
        return found

    found = expected(world, observed)
    return [RoundMoments(**{name: value for (t, name), value in found.items() if t == s}) for s in range(count)]


def rounds_of(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """Every round by the symbols of Lemmas C.4 to C.7, with mu = 0."""
    world, nu = records_of(instance), records_of(instance).smoothness
    K, M, size, eta_g = int(instance["K"]), world.clients, int(instance["size"]), Fraction(instance["eta_g"])
    start, step = Fraction(instance["start"]), Fraction(instance["eta~ nu"]) / nu
    known = {"eta": step, "eta_g": eta_g, "nu": nu, "mu": 0, "K": K, "l": Fraction(size, M), "M": M, **world.symbols}
    known |= {"alpha": Fraction(instance["alpha"])} if "alpha" in instance else {}
    at = {"M": M, "lM": size, "K": K, "sR": world.drawn, "V": world.variance_bound}
    found = enumerated_rounds(world, K, step / (K * eta_g), size, eta_g, start, int(instance["T"]))
    return [Values({**vars(m), **known}, {"t": t, **at}) for t, m in enumerate(found, 1)]


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
