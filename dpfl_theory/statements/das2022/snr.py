"""das2022 Figure 3's caption and Section 3.1: the signal-to-noise ratios of normalisation and clipping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Case
from dpfl_theory.statements.das2022 import _comparison_instances as instances
from dpfl_theory.statements.das2022 import _letters as das
from dpfl_theory.statements.das2022._experiments import step_experiment
from dpfl_theory.statements.errata import UNMEASURED, UNSORTED
from dpfl_theory.statements.model import Assumption, Check, Erratum, Sides, Source, Statement, sympy_symbols


def _snr_sides() -> Sides:
    s = sympy_symbols(SNR)
    return Sides(lhs={"clipping": s["E_clipped_signal"]}, rhs={"normalisation": s["E_normalised_signal"]})


def signals(instance: Mapping[str, Any]) -> list[Case]:
    """||sum clip(u_i, C)||^2 and ||sum norm(u_i, C)||^2 for updates of rational length: with the same noise, their
    ratio is that of the squared signal-to-noise ratios. A zero update normalises to zero."""
    cases: list[Case] = []
    for text in instance["updates"]:
        updates = [tuple(Fraction(str(x)) for x in u) for u in text]
        C = Fraction(str(instance["C"]))
        total = {"clip": [Fraction(0)] * len(updates[0]), "norm": [Fraction(0)] * len(updates[0])}
        for u in updates:
            square = sum(x * x for x in u)
            length = Fraction(_root(square.numerator), _root(square.denominator))
            ratio = C / length if length else Fraction(0)
            for name, factor in (("clip", min(Fraction(1), ratio)), ("norm", ratio)):
                total[name] = [t + factor * x for t, x in zip(total[name], u)]
        left, right = (sum((x * x for x in total[name]), Fraction(0)) for name in ("clip", "norm"))
        cases.append(Case({"updates": updates, "C": C}, left, right))
    return cases


def _root(square: int) -> int:
    root = math.isqrt(square)
    if root * root != square:
        raise ValueError(f"{square} is not a square: give updates of rational length")
    return root


_ONE = [[["3", "4"]], [["30", "40"]], [["0", "0"]], [["3", "4"], ["6", "8"]], [["1", "0"], ["7", "0"], ["12", "0"]]]
_SEVERAL = [[["10"], ["-1"]], [["3", "4"], ["-3", "-4"], ["0", "1"]], [["10", "0"], ["-3/5", "4/5"], ["-3/5", "-4/5"]]]

SNR: Statement = Statement(
    id="das2022.snr",
    kind="corollary",
    title="The signal-to-noise ratio of normalisation is never below that of clipping",
    source=Source(
        das.PAPER,
        "Figure 3's caption; Section 3.1",
        note=(
            "SNR = ||(1/r) sum g_i||/||(1/r) sum zeta_i||, Appendix F. With the same noise it is a statement on the "
            "signals; here both are taken at the same iterate"
        ),
    ),
    text=(
        "With the same C and the same noise, the sum of the cohort's normalised updates is at least as long as that of "
        "the clipped updates."
    ),
    symbols=das.letters("C", "E", "eta", "L"),
    expectations=das.expected("E_clipped_signal", "E_normalised_signal"),
    sides=_snr_sides,
    checks=(
        Check("exact", "one direction", signals, {"C": "10", "updates": _ONE}),
        Check("exact", "several directions", signals, {"C": "10", "updates": _SEVERAL}, "violated"),
        *(
            Check("monte-carlo", name, lambda i: step_experiment(SNR, i, "normalise"), i, verdict)
            for name, (i, verdict) in instances.SIGNALS.items()
        ),
    ),
    expected="violated",
    erratum=Erratum(
        cause=UNSORTED,
        grade="false",
        effect=UNMEASURED,
        printed=(
            "'the SNR of normalization is never lower than that of clipping', from Section 3.1's argument on lengths"
        ),
        true=(
            "It is true of a single client's message, and of a cohort whose updates point in one direction. In a sum, "
            "normalisation gives short updates the weight of long ones, and where they point elsewhere the sum can be "
            "shorter, even zero. On Appendix F's problems, on which Figure 3 is made, it holds in simulation."
        ),
        why="Section 3.1 compares the lengths of one client's update; the SNR is of the average over the cohort.",
        counterexample="d = 1, C = 10, updates 10 and -1: clipped 10 - 1 = 9, normalised 10 - 10 = 0",
        repaired="das2022.snr.repaired",
    ),
)


SNR_REPAIRED: Statement = replace(
    SNR,
    id="das2022.snr.repaired",
    title="The signal-to-noise ratio of normalisation, for updates in one direction",
    source=Source(das.PAPER, "Figure 3's caption; Section 3.1", note="derived: for one client, or one direction"),
    text=(
        "With the same C and the same noise, and updates that are nonnegative multiples of one vector (a single "
        "client, for example), the normalised sum is at least as long as the clipped one."
    ),
    assumptions=(
        Assumption(
            "one client, or updates in one direction",
            lambda problem, values: (
                None
                if problem is None or problem.n == 1 or (problem.d == 1 and problem.constants.interpolates)
                else "several clients whose updates may differ in direction"
            ),
        ),
    ),
    checks=(
        Check("exact", "one direction", signals, {"C": "10", "updates": _ONE}),
        *(
            Check("monte-carlo", name, lambda i: step_experiment(SNR_REPAIRED, i, "normalise"), i)
            for name, i in instances.ONE_DIRECTION.items()
        ),
    ),
    expected="holds",
    erratum=None,
)

STATEMENTS = (SNR, SNR_REPAIRED)
