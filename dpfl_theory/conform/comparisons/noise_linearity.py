"""Whether the added noise is the drawn normal numbers times a matrix. The noise must not be clipped, rounded or
transformed. It must not be the same in every run, and not be left out where clients send nothing or a lot is empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpfl_theory.conform.case import Case
from dpfl_theory.conform.probes import LONG_STEP, STEP, Path, play, probe_without_noise, responses
from dpfl_theory.conform.randomness import RecordingGenerator
from dpfl_theory.conform.references import Player
from dpfl_theory.conform.result import Finding
from dpfl_theory.conform.user_function import UserFunctionError, generators_kept, seeded
from dpfl_theory.problems.base import Array

NOT_GAUSSIAN = "noise that is not Gaussian"
FIXED = "noise from a fixed seed"
NOBODY = "no noise without clients"
EMPTY = "no noise in an empty lot"
DEPENDS = "noise that depends on the data"
CHANGES = "noise that changes with the rounds"
STAYS = "noise that stays the same over the rounds"
APART = "noise that depends otherwise on earlier rounds"
SCALED = "noise scaled by data"
TRANSFORMED = "noise that is transformed together with data"
CONSTANT = "a constant vector, or noise from a fixed seed"
ADAPTS = "a clip level that learns from data, with noise"
ABSOLUTE = "the absolute value of the noise"
SIZES = (0.5, -3.0, 6.0)
"""The numbers of standard deviations by which a number of the noise is moved."""
TIMES = 3.0
"""The factor by which residuals are multiplied, to see whether the effect of noise follows the data."""
NUMBERS = 12
"""How many numbers of the noise are moved, one after the other."""
BENT = 1e-2
"""The allowed relative difference between the effects of large and of small moves."""


def _responses(player: Player, path: Path, size: float) -> list[Array]:
    """The effect on w after a round when each number of the noise moves by ``size`` standard deviations, divided by
    ``size``."""
    return [response[0] for response in responses(player, path.first, size, maximum=NUMBERS)]


def noise_is_kept(case: Case) -> bool:
    """Whether some number of the first round's noise does not move that round's w but moves a later one, by an amount
    that depends on the data. Such noise goes into something kept between rounds that acts on the data, such as a
    threshold; noise that is drawn beforehand moves w by the same amount whatever the data are."""
    for path in (spread.path for spread in case.plan.spreads):
        if len(path.who) < 2:
            continue
        first = probe_without_noise(case.subject, path.world, path.v, path.who[:1]).numbers
        other = replace(path, world=path.world.stretched(TIMES))
        pairs = zip(*(responses(case.subject, one, LONG_STEP, maximum=first) for one in (path, other)))
        for here, there in pairs:
            if not np.any(here[0]) and np.any(here[1:]):
                largest = max(float(np.max(np.abs(x))) for x in (here, there))
                if float(np.max(np.abs(here - there))) > BENT * largest:
                    return True
    return False


def bent(case: Case) -> Finding | None:
    """Noise that is not linear in the drawn normal numbers: they are clipped, rounded or transformed.

    Where the algorithm only adds its noise, the effect of large numbers must be proportional to that of small ones.
    Where it clips or normalises after that, each number is compared with the algorithm's own, if they are drawn in the
    same order. All gradients are the same everywhere, so that noise in local steps, however large, is not a cause of
    nonlinearity.
    """
    path, step = case.plan.flat, case.plan.step
    small, own = (_responses(player, path, step) for player in (case.subject, case.reference.round))
    largest = max((float(np.max(np.abs(x))) for x in small), default=0.0)
    alike = len(own) == len(small) and np.allclose(own, small, rtol=1e-3, atol=1e-3 * largest)
    for size in SIZES:
        found, theirs = (_responses(player, path, size) for player in (case.subject, case.reference.round))
        if _apart(theirs, own) is None:
            expected = small
        elif alike:
            expected = theirs
        else:
            return None
        if (j := _apart(found, expected)) is not None:
            moved = [float(np.linalg.norm(x[j])) * abs(size) for x in (found, expected)]
            name, said = _cause(case, path, size, found, small)
            seen = "a normal number of {:g} moves w by {:.4g}, and {:.4g} would be proportional to small ones".format(
                size, *moved
            )
            if name == ABSOLUTE:
                seen = f"normal numbers of {size:g} and {-size:g} move w by the same vector of length {moved[0]:.4g}"
            return Finding(
                name, said, seen, case.lines("noise"), private=name in (NOT_GAUSSIAN, ABSOLUTE), unaccounted=True
            )
    return None


def _cause(case: Case, path: Path, size: float, found: Sequence[Array], small: Sequence[Array]) -> tuple[str, str]:
    """The name of noise whose effect is not proportional, and what it says. Where the clients have nothing to send or
    send something else, numbers that are transformed by themselves have the same effect; numbers that a bound or a
    normalisation transforms together with the data have not."""
    others = [case.plan.silent_round, replace(path, world=path.world.stretched(TIMES))]
    apart = False
    for other in others:
        try:
            theirs = _responses(case.subject, other, size)
        except UserFunctionError:
            continue
        apart = apart or len(theirs) != len(found) or _apart(found, theirs) is not None
    if not apart and size < 0.0 and _apart([-x for x in found], small) is None:
        return ABSOLUTE, (
            "a normal number and its negative have the same effect on w, in proportion to their size: the noise is "
            "made of absolute values, which the accounting of the Gaussian mechanism does not cover; add the normal "
            "numbers themselves"
        )
    if not apart:
        return NOT_GAUSSIAN, (
            "the added noise is not the drawn normal numbers times a matrix: they are clipped, rounded or "
            "transformed, which the accounting of the Gaussian mechanism does not cover"
        )
    return TRANSFORMED, (
        "a normal number's effect on w is not proportional to it, and depends on the data. One of: the noise is "
        "added before a bound, a normalisation or local steps that bend it; the numbers are transformed by something "
        "made of the data; the server transforms the noisy average. The accounting of the Gaussian mechanism holds "
        "only where what follows the noise uses no private data except through noisy vectors"
    )


def is_linear(case: Case, path: Path) -> bool:
    """Whether large and small numbers of the function's noise have proportional effects in a first round."""
    small = _responses(case.subject, path, case.plan.step)
    return all(_apart(_responses(case.subject, path, size), small) is None for size in SIZES)


def _apart(found: Sequence[Array], expected: Sequence[Array]) -> int | None:
    """The first number of the noise with a different effect, if any."""
    scale = max((float(np.max(np.abs(x))) for x in (*found, *expected)), default=0.0)
    return next((j for j, (a, b) in enumerate(zip(found, expected)) if np.max(np.abs(a - b)) > BENT * scale), None)


def the_same(case: Case) -> Finding | None:
    """Noise that is the same in every run: a first round gives the same result with other seeds of all
    generators."""
    if not case.reference.unit:
        return None
    for path in case.plan.paths:
        if not path.v.get("noise_multiplier"):
            continue
        ends, own = _live(case.subject, path), _live(case.reference.round, path)
        if (
            np.array_equal(ends[0], ends[1])
            and np.any(ends[0] != path.world.start)
            and not np.array_equal(own[0], own[1])
        ):
            said = (
                "the noise is the same in every run, whatever the seeds of the generators are: it comes from a "
                "generator that the round makes or seeds itself, and whoever knows its seed can remove the noise; draw "
                "from the rng that the round is given"
            )
            seen = f"{path.name}: two runs of the first round with other seeds give the same w"
            return Finding(FIXED, said, seen, case.lines("noise"), private=True, unaccounted=True)
    return None


def _live(player: Player, path: Path) -> list[Array]:
    """w after a first round with live noise, with two seeds. They are equal also where rounding removes the noise."""
    ends = []
    with generators_kept():
        for seed in (1, 2):
            seeded(seed)
            ends.append(play(player, path.world, path.v, path.who[:1], RecordingGenerator(seed).live())[0])
    return ends


def missing_noise(case: Case, player: Player) -> list[Finding]:
    """Noise that is added elsewhere, but not where no client takes part, or where clients have nothing to send."""
    if not case.reference.unit or not case.plan.values[0].get("noise_multiplier"):
        return []
    found = []
    quiet = (
        (
            case.plan.empty,
            NOBODY,
            "a round in which no client takes part, as happens under independent sampling, adds no noise, so that w "
            "reveals this: add the noise in every round",
        ),
        (
            case.empty_lot,
            EMPTY,
            "a step whose lot is empty, as happens under Poisson sampling, adds no noise, so that w reveals this: add "
            "the noise in every step",
        ),
        (
            [case.plan.silent_round],
            DEPENDS,
            "no noise is added where the clients have nothing to send, so that w reveals this: add the noise whatever "
            "they send",
        ),
    )
    # Noise of clients may agree as well as noise of the server. Without clients the former is zero.
    players = [one.player for one in case.suspects] or [player]
    usual = case.plan.spreads[0]
    if not _noisy(case.subject, [usual.path], case.plan.step):
        return []
    for paths, name, said in quiet:
        try:
            if all(_noisy(one, paths, STEP) for one in players) and not _noisy(case.subject, paths, case.plan.step):
                where = case.lines("noise")
                # A client that sends zero still takes part, so that its cohort is not empty, and so with a record and
                # its lot: the epsilon of these stays.
                found.append(Finding(name, said, paths[0].name, where, private=True, unaccounted=name == DEPENDS))
        except UserFunctionError:  # reported elsewhere, or no fault: 0/0
            continue
    return found


def _noisy(player: Player, paths: Sequence[Path], step: float) -> bool:
    """Whether any number of the noise moves w."""
    return any(np.any(x[0] != 0.0) for path in paths for x in responses(player, path.first, step))
