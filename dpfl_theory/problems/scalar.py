"""Scalar quadratic clients in exact rational arithmetic, and the two problems of zhang2021 Section 2.1.

A round of clipped FedAvg on them is a continuous piecewise-linear map of the line, so its stationary points and their
stability are exact. zhang2021 minimises the sum of the f_i, this package their mean: optimum, rounds and stationary
points are the same, values and gradients of f are n times smaller here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from dpfl_theory.core.parameter import Meaning
from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.piecewise import FixedPoint, PiecewiseLinear, clip_map, line, mean_of
from dpfl_theory.problems.quadratic import Quadratic, from_matrices
from dpfl_theory.problems.validation import choice

CLIPPING = ("none", "model", "difference", "gradient")
"""The vector of a client that is clipped: none, the model it sends, its update, or each of its local gradients."""


def rational(name: str, value: Any) -> Fraction:
    """A rational number from a whole number, a fraction, a text such as "1/3", or a float (its binary value).

    >>> rational("c", "1/3"), rational("c", 0.5)
    (Fraction(1, 3), Fraction(1, 2))
    """
    if isinstance(value, (int, float, str, Fraction)) and not isinstance(value, bool):
        try:
            return Fraction(value)
        except (ValueError, OverflowError, ZeroDivisionError):
            pass
    raise InputError(f'{name} is {value!r}: give a finite number, or a text such as "1/3"')


def _positive(name: str, value: Any) -> Fraction:
    number = rational(name, value)
    if number <= 0:
        raise InputError(f"{name} is {value!r}: a number above zero is needed")
    return number


@dataclass(frozen=True)
class ScalarQuadratics:
    """n clients on the line, ``f_i(x) = (a_i x - b_i)^2 / 2`` with rational a_i != 0 and b_i.

    a, b: length n; numbers or texts are converted to fractions. Raises InputError for lengths that differ, no clients,
    a zero a_i.

    >>> two = ScalarQuadratics((1, 2), (4, 1))
    >>> two.optimum, two.minimisers
    (Fraction(6, 5), (Fraction(4, 1), Fraction(1, 2)))
    """

    a: Sequence[Any]
    b: Sequence[Any]
    name: str = "scalar quadratics"

    def __post_init__(self) -> None:
        a = tuple(rational(f"a_{i}", v) for i, v in enumerate(self.a))
        b = tuple(rational(f"b_{i}", v) for i, v in enumerate(self.b))
        if not a or len(a) != len(b):
            raise InputError(f"a has {len(a)} entries and b {len(b)}: give one of each for every client")
        if any(v == 0 for v in a):
            raise InputError(f"a_{a.index(Fraction(0))} is zero, so that client's objective is constant: leave it out")
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)

    @property
    def curvatures(self) -> tuple[Fraction, ...]:
        """The second derivatives ``a_i^2`` [F/X^2]."""
        return tuple(v * v for v in self.a)

    @property
    def minimisers(self) -> tuple[Fraction, ...]:
        """The clients' minimisers ``b_i/a_i`` [X]."""
        return tuple(b / a for a, b in zip(self.a, self.b))

    @property
    def optimum(self) -> Fraction:
        """The minimiser of f, ``sum_i a_i b_i / sum_i a_i^2`` [X]."""
        return sum((a * b for a, b in zip(self.a, self.b)), Fraction(0)) / sum(self.curvatures, Fraction(0))

    def value(self, x: Any) -> Fraction:
        """``f(x) = (1/n) sum_i f_i(x)`` [F].

        >>> equation_8().value(0)
        Fraction(3, 1)
        """
        at = rational("x", x)
        return sum(((a * at - b) ** 2 for a, b in zip(self.a, self.b)), Fraction(0)) / (2 * len(self.a))

    def _steps(self, step: Any, steps: float) -> tuple[Fraction | None, int | None]:
        """The local step, and the number of local steps with None for infinity."""
        if steps == math.inf:
            if step is None:
                return None, None
            eta = _positive("the local step", step)
            worst = max(self.curvatures)
            if eta * worst >= 2:
                raise InputError(
                    f"with local step {float(eta):g} and curvature {float(worst):g} endless local steps diverge: "
                    f"choose a step below {2 / float(worst):g}"
                )
            return eta, None
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise InputError(f"the number of local steps is {steps!r}: give a whole number >= 1, or math.inf")
        if step is None:
            raise InputError("the local step is missing: only with math.inf local steps it does not matter")
        return _positive("the local step", step), steps

    def client_map(self, i: int, *, step: Any, steps: float, threshold: Any = None) -> PiecewiseLinear:
        """Client i's local phase, ``x -> x_{i,Q}``: Q = steps gradient steps from x with local step ``step`` [X^2/F].

        steps = math.inf ends at the client's minimiser (step may then be None). threshold [F/X]: clip every local
        gradient to it. Raises InputError for steps that are not whole, a step or threshold <= 0, and endless steps that
        diverge.

        >>> equation_8().client_map(0, step="1/2", steps=2)(Fraction(0))
        Fraction(3, 1)
        """
        eta, count = self._steps(step, steps)
        q, m = self.curvatures[i], self.minimisers[i]
        if count is None or eta is None:
            return line(Fraction(0), m)
        if threshold is None:
            ratio = (1 - eta * q) ** count
            return line(ratio, (1 - ratio) * m)
        clipped = clip_map(_positive("the threshold", threshold)).after(line(q, -q * m))
        once = mean_of([line(Fraction(1)), clipped], [Fraction(1), -eta])
        total = once
        for _ in range(count - 1):
            total = once.after(total)
        return total

    def round_map(
        self, clipping: str, *, step: Any, steps: float, threshold: Any = None, global_step: Any = 1
    ) -> PiecewiseLinear:
        """One round of FedAvg with all clients and no noise, as an exact map of the server's parameter.

        clipping, one of ``CLIPPING``, with the threshold c: ``none``: ``x + g mean_i(x_{i,Q} - x)``; ``model``:
        ``x + g (mean_i clip(x_{i,Q}, c) - x)``, c [X]; ``difference``: ``x + g mean_i clip(x_{i,Q} - x, c)``, c [X];
        ``gradient``: as ``none`` with every local gradient clipped, c [F/X]; g = global_step. Raises InputError for
        an unknown clipping, and where ``client_map`` does.

        >>> equation_8().round_map("difference", step=None, steps=math.inf, threshold=1)(Fraction(2, 3))
        Fraction(2, 3)
        """
        choice("clipping", clipping, CLIPPING)
        if (clipping == "none") != (threshold is None):
            need = "takes no threshold" if clipping == "none" else "needs a threshold"
            raise InputError(f"clipping {clipping!r} {need}: {threshold!r} was given")
        g = _positive("the global step", global_step)
        local = threshold if clipping == "gradient" else None
        maps = [self.client_map(i, step=step, steps=steps, threshold=local) for i in range(len(self.a))]
        same = line(Fraction(1))
        if clipping == "difference":
            bounded = clip_map(_positive("the threshold", threshold))
            moves = [bounded.after(mean_of([own, same], [Fraction(1), Fraction(-1)])) for own in maps]
            return mean_of([same, mean_of(moves)], [Fraction(1), g])
        if clipping == "model":
            bounded = clip_map(_positive("the threshold", threshold))
            maps = [bounded.after(own) for own in maps]
        return mean_of([same, mean_of(maps)], [1 - g, g])

    def stationary(
        self, clipping: str, *, step: Any, steps: float, threshold: Any = None, global_step: Any = 1
    ) -> tuple[FixedPoint, ...]:
        """All stationary points of ``round_map``, with the slopes that decide their stability.

        >>> point, = equation_8().stationary("gradient", step="1/50", steps=1, threshold=1)
        >>> point.point, point.stability
        (Fraction(1, 2), 'attracting')
        """
        return self.round_map(
            clipping, step=step, steps=steps, threshold=threshold, global_step=global_step
        ).fixed_points()

    def problem(self) -> Quadratic:
        """The same clients in floating point, for the kernels.

        >>> float(equation_8().problem().constants.w_star[0])
        0.0
        """
        return from_matrices(
            np.array([float(q) for q in self.curvatures])[:, None, None],
            np.array([float(m) for m in self.minimisers])[:, None],
            name=self.name,
        )


def claim_2_1(k: Any = 5, c: Any = 1) -> ScalarQuadratics:
    """The problem of zhang2021 Claim 2.1: ``f_i = (x - b_i)^2/2`` with b = (-c/2, -c/2, k c), c > 0 [X].

    The optimum is ``(k-1)c/3``, above c for k > 4; c is the threshold of the model clipping that it defeats.

    >>> claim_2_1(k=7, c=3).optimum
    Fraction(6, 1)
    """
    bound, factor = _positive("the threshold c", c), rational("k", k)
    return ScalarQuadratics((1, 1, 1), (-bound / 2, -bound / 2, factor * bound), f"zhang2021 Claim 2.1, k {k}, c {c}")


def equation_8() -> ScalarQuadratics:
    """The problem of zhang2021 equation (8): ``f_1 = (x-4)^2/2``, ``f_2 = (2x-1)^2/2``, ``f_3 = (6x+1)^2/2``.

    >>> equation_8().optimum
    Fraction(0, 1)
    """
    return ScalarQuadratics((1, 2, 6), (4, 1, -1), "zhang2021 equation (8)")


def claim_2_1_problem(
    k: Annotated[Any, Meaning("the third client's minimum over c, above 4 for an optimum beyond c")] = 5,
    c: Annotated[Any, Meaning("the clipping threshold", "X")] = 1,
) -> Quadratic:
    """``claim_2_1`` in floating point; k and c may be texts such as "9/2".

    >>> claim_2_1_problem(k=4, c=3).constants.w_star.tolist()
    [3.0]
    """
    return claim_2_1(k, c).problem()


def equation_8_problem() -> Quadratic:
    """``equation_8`` in floating point.

    >>> equation_8_problem().constants.L_i.tolist()
    [1.0, 4.0, 36.0]
    """
    return equation_8().problem()


FAMILIES: dict[str, Callable[..., Problem]] = {
    "zhang2021-claim2.1": claim_2_1_problem,
    "zhang2021-eq8": equation_8_problem,
}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "zhang2021-claim2.1": [{}, {"k": "9/2", "c": 0.25}],
    "zhang2021-eq8": [{}],
}
