"""Canaries: two neighbouring data sets that differ in one client, designed so that the difference is as visible as
possible.

The canary's client pulls along v = (1, -1, 1, ...)/sqrt(d), far harder than the clipping threshold, so that its message
is exactly C v; all other clients send exactly zero. All coordinates of v are nonzero, so that missing noise in one
coordinate is visible. v is not along (1, ..., 1), so that noise shared by all coordinates is visible. Without the
canary the client is

* ``zero-out``: constant. Its gradient is zero, so its clipped or normalised update is zero: its message is noise only.
* ``replace``: a client that pulls equally hard in the opposite direction.

Two timings. A ``steady`` canary pulls in the same direction in every round. A ``late`` canary is at its own minimum at
the start: it is silent in round 0, and afterwards pulls from the server's position towards the start. The observer can
compute this direction from the iterate. Noise that is used twice is visible only between rounds in which the canary
acts differently.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.linear_model import from_dataset
from dpfl_theory.problems.quadratic import Quadratic
from dpfl_theory.problems.validation import choice, count, positive, vector

RELATIONS = ("zero-out", "replace")
TIMINGS = ("steady", "late")

_FAR = 1e6
"""Distance of a steady canary's minimum, in units of X. No run of an audit comes near it."""

_NEAR = 1e-4
"""Distance [X] from which a late canary pulls with its full strength."""

_SILENT = 1e-200
"""A curvature [F/X^2] whose update has the length zero, since its square underflows. A quadratic needs some curvature:
a constant objective has no spectrum."""


@dataclass(frozen=True, eq=False)
class Canary:
    """A pair of neighbouring data sets, with the effect of the canary on the releases.

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
        """The direction in which the canary pulls at w (..., d): entries -1, 0 or 1, shape (...)."""
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
    """A user-defined canary: two problems that differ in one client, and the direction in which the canary is
    visible."""
    v = vector("the direction", direction, present.d)
    return replace(Canary(name, present, absent, v / np.linalg.norm(v)), client=client)


def _huber(n: int, v: Array, pull: float, late: bool, way: float) -> Problem:
    """Client 0: huber_t(s v.w - y) with t s = pull; way -1 pulls in the opposite direction, 0 not at all."""
    from dpfl_theory.problems.data import Dataset

    scale = pull / _NEAR if late else 1.0
    x, y = np.zeros((n, len(v))), np.zeros(n)
    if way != 0.0:
        x[0] = scale * v
        y[0] = 0.0 if late else -way * (pull + _FAR)
    records = Dataset("canary", x, y, 1)
    return from_dataset(
        records, [np.array([i]) for i in range(n)], "huber", threshold=pull / scale, name="canary, Huber"
    )


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
