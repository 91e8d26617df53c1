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

__all__ = ["Form", "Run", "cohort_sequences", "squared_distance"]

Form = list[Fraction]
"""Coefficients of the record's presence and of each noise variable."""


@dataclass(frozen=True)
class Run:
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

    def views(self, scaffold: bool) -> tuple[list[Form], list[Form], list[Form]]:
        """What the server sees (all messages), what third parties see in all rounds, and in the last one.

        The lines of Algorithm 1, and of Algorithm 2 when ``scaffold`` is False.
        """
        steps, eta, size = self.local_steps, self.local_step, len(self.cohorts[0])
        total = 1 + sum(len(c) for c in self.cohorts) * steps
        fresh = iter(range(1, total))
        zero = [Fraction(0)] * total
        x, c, own = zero, zero, [zero] * self.users
        messages: list[Form] = []
        models: list[list[Form]] = []
        for t, cohort in enumerate(self.cohorts):
            sums = [zero, zero]
            for i in cohort:
                y = x
                for _ in range(steps):
                    gradient = _scaled(y, self.curvatures[i] if self.curvatures else Fraction(0))
                    gradient[next(fresh)] += 1
                    if i == 0:
                        gradient[0] += self.signs[t] if self.signs else 1
                    correction = _plus(c, own[i], Fraction(-1)) if scaffold else zero
                    y = _plus(y, _plus(gradient, correction), -eta)
                change = [_plus(y, x, Fraction(-1))]
                if scaffold:
                    variate = _plus(_plus(own[i], c, Fraction(-1)), change[0], -1 / (steps * eta))
                    change.append(_plus(variate, own[i], Fraction(-1)))
                    own[i] = variate
                messages += change
                sums = [_plus(a, b) for a, b in zip(sums, change)] + sums[len(change) :]
            x = _plus(x, sums[0], self.global_step / size)
            c = _plus(c, sums[1], Fraction(1, self.users))  # l/(lM)
            models.append([x, c] if scaffold else [x])
        return messages, [form for seen in models for form in seen], models[-1]


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


def _plus(a: Sequence[Fraction], b: Sequence[Fraction], factor: Fraction = Fraction(1)) -> Form:
    return [p + factor * q for p, q in zip(a, b)]


def _scaled(a: Sequence[Fraction], factor: Fraction) -> Form:
    return [factor * p for p in a]


def _inner(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """Of the noise coefficients."""
    return sum((p * q for p, q in zip(a[1:], b[1:])), Fraction(0))
