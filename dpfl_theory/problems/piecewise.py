"""Continuous piecewise-linear maps of the line in exact rational arithmetic: composition, means, fixed points."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

Line = tuple[Fraction, Fraction]  # slope and intercept


@dataclass(frozen=True)
class FixedPoint:
    """A fixed point, or an interval of them, of a map F.

    low, high: its ends, equal for a point; None where the interval is unbounded.  slopes: the slopes of F just below
    low and just above high.

    >>> FixedPoint(Fraction(1), Fraction(1), (Fraction(-2), Fraction(1, 4))).stability
    'attracting'
    """

    low: Fraction | None
    high: Fraction | None
    slopes: tuple[Fraction, Fraction]

    @property
    def point(self) -> Fraction | None:
        """The fixed point, None for an interval."""
        return self.low if self.low is not None and self.low == self.high else None

    @property
    def stability(self) -> str:
        """``attracting`` when all nearby iterations converge to the point, ``repelling`` when some move away from it,
        else ``neutral``; an interval is neutral.

        A positive slope keeps an iterate on its side, a negative one sends it to the other: a point attracts if and
        only if both slopes are below 1 and, where both are negative, so is their product.
        """
        if self.point is None:
            return "neutral"
        left, right = self.slopes
        growth = max(left, right, left * right if left < 0 and right < 0 else Fraction(0))
        return "attracting" if growth < 1 else "neutral" if growth == 1 else "repelling"


@dataclass(frozen=True)
class PiecewiseLinear:
    """A continuous map: ``slope x + intercept`` with pieces[k] between knots[k-1] and knots[k].

    knots: increasing;  pieces: one more than the knots.

    >>> clip_map(Fraction(1))(Fraction(5, 2)), clip_map(Fraction(1))(Fraction(-1, 2))
    (Fraction(1, 1), Fraction(-1, 2))
    """

    knots: tuple[Fraction, ...]
    pieces: tuple[Line, ...]

    def __call__(self, x: Fraction) -> Fraction:
        slope, intercept = self.pieces[bisect_right(self.knots, x)]
        return slope * x + intercept

    def _ends(self, k: int) -> tuple[Fraction | None, Fraction | None]:
        """The ends of piece k, None where it is unbounded."""
        return (self.knots[k - 1] if k > 0 else None), (self.knots[k] if k < len(self.knots) else None)

    def after(self, inner: PiecewiseLinear) -> PiecewiseLinear:
        """The composition ``x -> self(inner(x))``.

        >>> twice = clip_map(Fraction(1)).after(line(Fraction(2)))
        >>> twice.knots
        (Fraction(-1, 2), Fraction(1, 2))
        """
        knots: list[Fraction] = []
        pieces: list[Line] = []
        for k, (slope, intercept) in enumerate(inner.pieces):
            low, high = inner._ends(k)
            inside = sorted((knot - intercept) / slope for knot in self.knots) if slope != 0 else []
            inside = [x for x in inside if (low is None or x > low) and (high is None or x < high)]
            if low is not None:
                knots.append(low)
            knots += inside
            ends = [low, *inside, high]
            for left, right in pairwise(ends):
                x = _inside(left, right)
                outer_slope, outer_intercept = self.pieces[bisect_right(self.knots, slope * x + intercept)]
                pieces.append((outer_slope * slope, outer_slope * intercept + outer_intercept))
        return _joined(knots, pieces)

    def fixed_points(self) -> tuple[FixedPoint, ...]:
        """All solutions of ``F(x) = x``, from left to right.

        >>> [(p.low, p.high) for p in clip_map(Fraction(1)).fixed_points()]
        [(Fraction(-1, 1), Fraction(1, 1))]
        >>> line(Fraction(1), Fraction(1)).fixed_points()
        ()
        """
        found: list[FixedPoint] = []
        for k, (slope, intercept) in enumerate(self.pieces):
            low, high = self._ends(k)
            left, right = self.pieces[max(k - 1, 0)][0], self.pieces[min(k + 1, len(self.pieces) - 1)][0]
            if slope == 1:
                if intercept == 0:  # neighbouring points, found as the ends of their pieces, belong to the interval
                    found = [p for p in found if p.point is None or p.point != low]
                    found.append(FixedPoint(low, high, (left, right)))
                continue
            x = intercept / (1 - slope)
            if (low is not None and x < low) or (high is not None and x > high):
                continue
            if found and found[-1].high == x:
                continue
            found.append(FixedPoint(x, x, (slope, right if x == high else slope)))
        return tuple(found)


def _inside(low: Fraction | None, high: Fraction | None) -> Fraction:
    """A point inside an interval, None where that is unbounded."""
    if low is None:
        return Fraction(0) if high is None else high - 1
    return low + 1 if high is None else (low + high) / 2


def _joined(knots: Sequence[Fraction], pieces: Sequence[Line]) -> PiecewiseLinear:
    """The map without knots at which nothing changes."""
    kept, lines = [], [pieces[0]]
    for knot, piece in zip(knots, pieces[1:]):
        if piece != lines[-1]:
            kept.append(knot)
            lines.append(piece)
    return PiecewiseLinear(tuple(kept), tuple(lines))


def line(slope: Fraction, intercept: Fraction = Fraction(0)) -> PiecewiseLinear:
    """``x -> slope x + intercept``.

    >>> line(Fraction(2), Fraction(1))(Fraction(3))
    Fraction(7, 1)
    """
    return PiecewiseLinear((), ((slope, intercept),))


def clip_map(bound: Fraction) -> PiecewiseLinear:
    """``x -> x min{1, bound/|x|}`` for bound > 0.

    >>> clip_map(Fraction(2))(Fraction(-7))
    Fraction(-2, 1)
    """
    zero, one = Fraction(0), Fraction(1)
    return PiecewiseLinear((-bound, bound), ((zero, -bound), (one, zero), (zero, bound)))


def mean_of(maps: Sequence[PiecewiseLinear], weights: Sequence[Fraction] | None = None) -> PiecewiseLinear:
    """``x -> sum_k weights[k] maps[k](x)``, by default the mean.

    >>> mean_of([line(Fraction(1)), clip_map(Fraction(1))])(Fraction(3))
    Fraction(2, 1)
    """
    shares = [Fraction(1, len(maps))] * len(maps) if weights is None else weights
    knots = sorted({knot for one in maps for knot in one.knots})
    pieces = []
    for low, high in pairwise([None, *knots, None]):
        x = _inside(low, high)
        lines = [one.pieces[bisect_right(one.knots, x)] for one in maps]
        slope = sum((share * s for share, (s, _) in zip(shares, lines)), Fraction(0))
        intercept = sum((share * t for share, (_, t) in zip(shares, lines)), Fraction(0))
        pieces.append((slope, intercept))
    return _joined(knots, pieces)
