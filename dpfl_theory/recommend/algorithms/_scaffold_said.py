"""What dp-scaffold's recommendations say beside their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfl_theory.recommend.base import named

if TYPE_CHECKING:
    from dpfl_theory.recommend.algorithms.dp_scaffold import DPScaffold
    from dpfl_theory.statements.model import Statement

__all__ = ["as_printed", "of_the_run"]


def as_printed(original: Statement, known: dict[str, float], eta_l: float) -> str:
    """What the paper prints for eta_l, the longest step that the repaired theorem takes."""
    from dpfl_theory.recommend.evaluate import prescribed

    given = prescribed(original, known)["eta_l"]
    here = (
        "the repaired one is the same here" if eta_l == given else f"the repaired one is {eta_l / given:.3g} times that"
    )
    return (
        f"The paper prints eta_l = {given:.6g}, whatever the rounds, the noise and the distance, which is refuted "
        f"({original.id}); {here}."
    )


def of_the_run(setting: DPScaffold) -> list[str]:
    """What the theorems ask of a run, and what its noise covers."""
    never = "" if setting.strong_convexity is None else "; under Gaussian noise no threshold can promise this here"
    covered = (
        "the noise is for T rounds, so for all of these"
        if setting.user_rate == 1
        else "the noise is for T rounds of a share l of the users each: to their budget comes what one round with "
        "`user_rate=1` costs (dpfl-theory privacy account)"
    )
    said = [
        f"The theorem takes it that no record's gradient along the run is longer than {named('clip')}, so that "
        f"clipping never acts{never}.",
        "The theorem starts from control variates that all users have set by noisy gradients at x^0: xbar takes "
        "one such round, which releases as much as any other (4/l rounds of drawn users may miss a user), and T - "
        f"1 rounds after it; {covered}.",
    ]
    if setting.calibration == "paper":
        said.append(
            "The noise is an order with an unknown constant, 1 unless `constant` says otherwise, and that order is "
            "refuted: use `calibration=accountant` for a certified sigma_g."
        )
    return said
