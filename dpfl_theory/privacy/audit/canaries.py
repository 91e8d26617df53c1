"""Canaries: two neighbouring data sets that differ in one client, made so that the difference shows as much as it can.

The canary's client pulls along v = (1, -1, 1, ...)/sqrt(d), far harder than the clipping threshold, so that what it
sends is exactly C v; all other clients send exactly zero. Every coordinate of v counts, so that noise missing in one
shows; v is not along (1, ..., 1), so that noise shared by all coordinates shows. Without the canary the client is

* ``zero-out``: constant. Its gradient is zero, so its clipped or normalised update is zero: its message is noise only.
* ``replace``: a client that pulls as hard the other way.

Two timings. A ``steady`` canary pulls the same way in every round. A ``late`` one sits at its own minimum at the start:
it is silent in round 0 and afterwards pulls towards the start from wherever the server is, a way that the observer can
tell from the iterate. Noise that is used twice shows only between rounds in which the canary acts differently.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.huber import from_data
from dpfl_theory.problems.quadratic import Quadratic
from dpfl_theory.problems.validation import choice, count, positive, vector

__all__ = ["FAMILIES", "RELATIONS", "TIMINGS", "Canary", "canary", "pair"]

RELATIONS = ("zero-out", "replace")
TIMINGS = ("steady", "late")

_FAR = 1e6
"""Distance of a steady canary's minimum, in units of X that no run of an audit comes near."""

_NEAR = 1e-4
"""Distance [X] from which on a late canary pulls with its full strength."""

_SILENT = 1e-200
"""A curvature [F/X^2] whose update has the length zero, since its square underflows. A quadratic needs some curvature:
a constant objective has no spectrum."""


@dataclass(frozen=True, eq=False)
class Canary:
    """A pair of neighbouring data sets and how the canary shows in what is released.

    present, absent: the problems with and without the canary, which differ in one client only;  direction (d,): the
    unit vector v along which the canary's message moves ``w_k - w_{k+1}``;  name: for evidence;  client: the canary's
    number;  towards (d,): None, or the point to which the canary pulls: in round k it then moves along
    ``sign(v . (w_k - towards)) v``.
    """

    name: str
    present: Problem
    absent: Problem
    direction: Array
    client: int = 0
    towards: Array | None = None

    def sign(self, w: Array) -> Array:
        """Which way the canary pulls at w (..., d): entries -1, 0 or 1, shape (...)."""
        if self.towards is None:
            return np.ones(w.shape[:-1])
        return np.asarray(np.sign((w - self.towards) @ self.direction))


def canary(
    family: str = "huber",
    *,
    clients: int = 3,
    dimension: int = 3,
    pull: float = 100.0,
    relation: str = "zero-out",
    timing: str = "steady",
) -> Canary:
    """A canary in client 0 for runs that start at zero.

    family: ``huber`` (one record for each client, in the loss's linear part) or ``quadratic`` (rank one, the minimum
    far away); ``pull``: the length of the canary's gradient [F/X], constant for ``huber`` and within 1e-3 of constant
    for ``quadratic``. A late canary needs an odd number of local steps: the client overshoots its minimum, and returns.

    Raises InputError for unknown names, or numbers that are not positive.

    >>> import numpy as np
    >>> c = canary("huber", clients=2, dimension=4, pull=7.0)
    >>> c.present.client_gradient(0, np.zeros(4)), c.absent.client_gradient(0, np.zeros(4)) + 0.0
    (array([ 3.5, -3.5,  3.5, -3.5]), array([0., 0., 0., 0.]))
    """
    choice("the family", family, tuple(FAMILIES))
    choice("the relation", relation, RELATIONS)
    choice("the timing", timing, TIMINGS)
    n, d = count("clients", clients), count("dimension", dimension)
    strength = positive("the pull", pull)
    if timing == "late" and relation != "zero-out":
        raise InputError(f"a late canary has no opposite, and the relation is {relation!r}: choose zero-out")
    v = np.where(np.arange(d) % 2 == 0, 1.0, -1.0) / math.sqrt(d)
    opposite = -1.0 if relation == "replace" else 0.0
    late = timing == "late"
    present = FAMILIES[family](n, v, strength, late, 1.0)
    absent = FAMILIES[family](n, v, strength, late, opposite)
    return Canary(
        f"{family}, {relation}, {timing}, pull {pull:g}", present, absent, v, towards=np.zeros(d) if late else None
    )


def pair(present: Problem, absent: Problem, direction: Any, name: str = "pair", client: int = 0) -> Canary:
    """A canary of one's own: two problems with the same clients but one, and the direction in which it shows."""
    v = vector("the direction", direction, present.d)
    return replace(Canary(name, present, absent, v / np.linalg.norm(v)), client=client)


def _huber(n: int, v: Array, pull: float, late: bool, way: float) -> Problem:
    """Client 0: huber_t(s v.w - y) with t s = pull; way -1 pulls the other way, 0 not at all."""
    from dpfl_theory.problems.data import Dataset

    scale = pull / _NEAR if late else 1.0
    x, y = np.zeros((n, len(v))), np.zeros(n)
    if way != 0.0:
        x[0] = scale * v
        y[0] = 0.0 if late else -way * (pull + _FAR)
    records = Dataset("canary", x, y, 1)
    return from_data(records, [np.array([i]) for i in range(n)], threshold=pull / scale, name="canary, Huber")


def _quadratic(n: int, v: Array, pull: float, late: bool, way: float) -> Problem:
    """Client i: (1/2) lambda_i (v . (w - c_i))^2."""
    curvature = np.full(n, _SILENT)
    centres = np.zeros((n, len(v)))
    if way != 0.0:
        curvature[0] = pull / (_NEAR if late else _FAR)
        if not late:
            centres[0] = -way * _FAR * v
    return Quadratic("canary, quadratic", np.tile(v, (n, 1)), curvature, np.arange(n + 1), centres)


FAMILIES: dict[str, Callable[[int, Array, float, bool, float], Problem]] = {"huber": _huber, "quadratic": _quadratic}
