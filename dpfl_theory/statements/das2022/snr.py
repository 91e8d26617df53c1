"""das2022 Figure 3's caption and Section 3.1: the signal-to-noise ratios of normalisation and clipping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Remark, Sides, Source, Statement, Values, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022._runs import NORMALISE


def signals(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """||sum clip(u_i, C)|| and ||sum norm(u_i, C)|| for updates of rational length: with the same noise, their ratio is
    that of the signal-to-noise ratios. A zero update normalises to zero."""
    found: list[Values] = []
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
        left, right = (sp.sqrt(sp.Rational(sum((x * x for x in total[name]), Fraction(0)))) for name in total)
        values = {"C": C, "E_clipped_signal": left, "E_normalised_signal": right}
        found.append(Values(values, {"updates": updates, "C": C}))
    return found


def _root(square: int) -> int:
    root = math.isqrt(square)
    if root * root != square:
        raise ValueError(f"{square} is not a square: give updates of rational length")
    return root


_ALONE = [[["3", "4"]], [["30", "40"]], [["0", "0"]], [["-1/2", "0"]], [["8", "6"]]]
_ONE = [[["3", "4"]], [["30", "40"]], [["0", "0"]], [["3", "4"], ["6", "8"]], [["1", "0"], ["7", "0"], ["12", "0"]]]
_SEVERAL = [[["10"], ["-1"]], [["3", "4"], ["-3", "-4"], ["0", "1"]], [["10", "0"], ["-3/5", "4/5"], ["-3/5", "-4/5"]]]

SNR: Statement = Statement(
    id="das2022.snr",
    kind="corollary",
    title="The signal-to-noise ratio of normalisation is never below that of clipping",
    source=Source(
        das.PAPER,
        "Figure 3's caption; Section 3.1; contribution (a) in Section 1",
        note=(
            "Figure 3's caption, on Appendix F's runs: 'As per our discussion in Section 3.1, the SNR of "
            r"normalization is never lower than that of clipping'. SNR $= \|(1/r) \sum g_i\|/\|(1/r) \sum \zeta_i\|$, "
            "Appendix F; with the same noise it is a statement on the signals. Here both are taken at the same "
            "iterate; Figure 3, with a run for each, is a validation. Section 3.1 and contribution (a) define the "
            "signal as 'update norm', client by client, for which the sentence is true"
        ),
    ),
    text=(
        "With the same $C$ and the same noise, the sum of the cohort's normalised updates is at least as long as that "
        "of the clipped updates: on Appendix F's problems, and for a single client's update everywhere."
    ),
    reading=(
        "A caption is about its figure: the ratio of the sums is compared in Appendix F's setting, and elsewhere "
        "that of one client's update, as Section 3.1 defines the signal."
    ),
    symbols=das.symbols("C", "E", "eta", "L"),
    expectations=das.expected("E_clipped_signal", "E_normalised_signal"),
    sides=lambda s: Sides(lhs={"clipping": s.E_clipped_signal}, rhs={"normalisation": s.E_normalised_signal}),
    universal=False,
    checks=battery(
        Check("exact", "one client's update", signals, {"C": "10", "updates": _ALONE}), NORMALISE("appendix-f-signals")
    ),
    remark=Remark(
        "It is true of one client's message and held on Appendix F's problems. If it were read for the sums of any "
        "cohort, it would fail: normalisation gives short updates the weight of long ones, and where they point "
        "elsewhere the sum can be shorter, even zero. In one dimension with $C = 10$ and updates 10 and -1 the "
        "clipped sum is 9, the normalised one 0.",
        shown_by="das2022.snr.any-cohort",
        repaired="das2022.snr.repaired",
    ),
    typos=(
        "Section 1: 'client updates are never overwhelmed by the added noise'. Section 3.1 has the true version: as "
        "updates become shorter the noise does not outgrow a normalised one. How long it is depends on $K$: the "
        r"average's noise is $\sqrt{K} \rho$ times as long as a normalised update, in mean square. With Theorem 4's "
        r"$K$ that is $\sqrt{2 \alpha \gamma/C}$, which grows without bound in Section 4.1's limit $\alpha \to "
        r"\infty$; in Appendix F it is 2.4 for $q = 1$.",
    ),
)

ANY_COHORT: Statement = replace(
    SNR,
    typos=(),
    id="das2022.snr.any-cohort",
    title="The signal-to-noise ratio of normalisation is never below that of clipping, whatever the updates",
    text=(
        "With the same $C$ and the same noise, the sum of any cohort's normalised updates is at least as long as that "
        "of the clipped updates."
    ),
    reading="'never lower' is read for the ratio of the sums, for any cohort and any problem, beyond the figure.",
    reading_of="das2022.snr",
    universal=True,
    checks=battery(
        Check("exact", "one direction", signals, {"C": "10", "updates": _ONE}),
        Check("exact", "several directions", signals, {"C": "10", "updates": _SEVERAL}, "violated"),
        NORMALISE(violated="conflicting-signals"),
    ),
    expected="violated",
    remark=None,
)

SNR_REPAIRED: Statement = replace(
    SNR,
    typos=(),
    id="das2022.snr.repaired",
    title="The signal-to-noise ratio of normalisation, for updates in one direction",
    source=Source(das.PAPER, "Figure 3's caption; Section 3.1", note="derived: for one client, or one direction"),
    text=(
        "Take the same $C$, the same noise, and updates that are nonnegative multiples of one vector (a single "
        "client, for example). Then the normalised sum is at least as long as the clipped one."
    ),
    hypotheses=(
        Hypothesis.custom(
            "one client, or updates in one direction",
            lambda problem, values: (
                None
                if problem is None or problem.n == 1 or (problem.d == 1 and problem.constants.interpolates)
                else "several clients whose updates may differ in direction"
            ),
        ),
    ),
    checks=battery(
        Check("exact", "one direction", signals, {"C": "10", "updates": _ONE}),
        NORMALISE("one-direction", beyond="conflicting-signals"),
    ),
    reading="",
    universal=True,
    remark=None,
)

STATEMENTS = (SNR, ANY_COHORT, SNR_REPAIRED)
