r"""DP-SCAFFOLD and DP-FedAvg in exact arithmetic, where everything that is released is linear in the noise.

User 0's record moves its noisy gradient by +-1 (the unit is 2C/(sR)) in every local step, with a sign that may depend
on the round; all other gradients are affine functions of the user's model. Every released number is then a linear form
in the record's presence and in independent normal variables of variance :math:`\sigma_g^2`. So a view is a Gaussian
vector whose mean is moved by some v and whose covariance is :math:`\sigma_g^2 \Sigma`: its privacy is that of one
Gaussian release with noise multiplier :math:`\sigma_g/\mu`, :math:`\mu^2 = v^\top \Sigma^{-1} v`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.operations import RoundResult, run_round
from dpfl_theory.semantics.rational import Quadratics

__all__ = ["LinearRun", "LinearWorld", "cohort_sequences", "forms_of", "squared_distance"]

Form = list[Fraction]
"""Coefficients of the record's presence and of each noise variable."""


class LinearWorld(Quadratics):
    """Users with gradients a_i x, to which the record adds ``sign`` for user 0; errors of variance 1; the cohort is
    given."""

    def __init__(self, observed: tuple[int, ...], curvatures: Sequence[Fraction], sign: int = 1) -> None:
        super().__init__(curvatures, [-sign, *[0] * (len(curvatures) - 1)], {"error": 1})
        self.heard = observed

    def cohort(self, size: int, replacement: bool = False) -> tuple[int, ...]:
        return self.heard


@dataclass(frozen=True)
class LinearRun:
    """One run in one dimension, for a given sequence of cohorts.

    Args:
        users: M.
        cohorts: the users of each round.
        local_steps: K.
        signs: the sign of the record's move in each round.
        curvatures: of each user's loss; 0 where its gradient is constant.
        local_step, global_step: eta_l and eta_g.
    """

    users: int
    cohorts: tuple[tuple[int, ...], ...]
    local_steps: int = 1
    signs: tuple[int, ...] = ()
    curvatures: tuple[Fraction, ...] = ()
    local_step: Fraction = Fraction(1)
    global_step: Fraction = Fraction(1)

    def views(self, control: bool) -> tuple[list[Form], list[Form], list[Form]]:
        """The views of the server (all messages), of third parties in all rounds, and of third parties in the last one:
        of DP-SCAFFOLD, or of DP-FedAvg without ``control``."""
        K, zero, size = self.local_steps, Vector(Fraction(0)), len(self.cohorts[0])
        now = RoundResult(zero, (zero, (zero,) * self.users) if control else None)
        kind = Scaffold if control else TwoSidedFedAvg
        algorithm = kind(local_step=self.local_step, global_step=self.global_step, local_steps=K)
        messages: list[Vector] = []
        models: list[list[Vector]] = []
        for t, cohort in enumerate(self.cohorts):
            world = LinearWorld(
                cohort, self.curvatures or (Fraction(0),) * self.users, self.signs[t] if self.signs else 1
            )
            before, now = now, run_round(algorithm, world, *now.following, t=t, size=size, errors=True)
            for i in cohort:
                messages.append(now.paths[i][-1] - before.x)
                messages += [now.state[1][i] - before.state[1][i]] if control else []
            models.append([now.x, now.state[0]] if control else [now.x])
        forms = forms_of([*messages, *(v for seen in models for v in seen)])
        return forms[: len(messages)], forms[len(messages) :], forms[-len(models[-1]) :]


def forms_of(vectors: Sequence[Vector]) -> list[Form]:
    """Their coefficients: of the record's presence, which is their known part, and of each error in any of them.

    >>> forms_of([Vector(Fraction(1), {"e": Fraction(2)}), Vector(Fraction(0), {"f": Fraction(3)})])
    [[Fraction(1, 1), Fraction(2, 1), Fraction(0, 1)], [Fraction(0, 1), Fraction(0, 1), Fraction(3, 1)]]
    """
    names = list(dict.fromkeys(name for v in vectors for name in v.errors))
    return [[v.known, *(v.errors.get(name, Fraction(0)) for name in names)] for v in vectors]


def squared_distance(view: Sequence[Form]) -> Fraction:
    r""":math:`\mu^2 \sigma_g^{2} = v^\top \Sigma^{-1} v` of a view, by orthogonalising its noise; dependent numbers add
    nothing.

    >>> squared_distance([[Fraction(1), Fraction(1), Fraction(1)], [Fraction(2), Fraction(2), Fraction(2)]])
    Fraction(1, 2)
    """
    basis: list[Form] = []
    total = Fraction(0)
    for form in view:
        rest = list(form)
        for known in basis:
            rest = _plus(rest, known, -_inner(rest, known) / _inner(known, known))
        size = _inner(rest, rest)
        if size:
            basis.append(rest)
            total += rest[0] ** 2 / size
        elif rest[0]:
            raise ValueError("a number without noise depends on the record: nothing is private")
    return total


def cohort_sequences(users: int, size: int, rounds: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All sequences of cohorts, which are equally likely."""
    return product(combinations(range(users), size), repeat=rounds)


def _plus(a: Sequence[Fraction], b: Sequence[Fraction], factor: Fraction) -> Form:
    return [p + factor * q for p, q in zip(a, b)]


def _inner(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """The inner product of the noise coefficients."""
    return sum((p * q for p, q in zip(a[1:], b[1:])), Fraction(0))
