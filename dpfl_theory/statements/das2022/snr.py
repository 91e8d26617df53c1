"""das2022 Figure 3's caption and Section 3.1: the signal-to-noise ratios of normalisation and clipping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Values, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.rational import root
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022._runs import NORMALISE


def signals(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """||sum clip(u_i, C)|| and ||sum norm(u_i, C)|| for updates of rational length: with the same noise, their ratio is
    that of the signal-to-noise ratios. A zero update normalises to zero."""
    for text in instance["updates"]:
        updates = [tuple(Fraction(str(x)) for x in u) for u in text]
        C = Fraction(str(instance["C"]))
        total = {"clip": [Fraction(0)] * len(updates[0]), "norm": [Fraction(0)] * len(updates[0])}
        for u in updates:
            square = sum((x * x for x in u), Fraction(0))
            ratio = C / root(square) if square else Fraction(0)
            for name, factor in (("clip", min(Fraction(1), ratio)), ("norm", ratio)):
                total[name] = [t + factor * x for t, x in zip(total[name], u)]
        left, right = (sp.sqrt(sp.Rational(sum((x * x for x in total[name]), Fraction(0)))) for name in total)
        values = {"C": C, "E_clipped_signal": left, "E_normalised_signal": right}
        yield Values(values, {"updates": updates, "C": C})


_ALONE = [[["3", "4"]], [["30", "40"]], [["0", "0"]], [["-1/2", "0"]], [["8", "6"]]]
_ONE = [[["3", "4"]], [["30", "40"]], [["0", "0"]], [["3", "4"], ["6", "8"]], [["1", "0"], ["7", "0"], ["12", "0"]]]
_SEVERAL = [[["10"], ["-1"]], [["3", "4"], ["-3", "-4"], ["0", "1"]], [["10", "0"], ["-3/5", "4/5"], ["-3/5", "-4/5"]]]

SNR: Statement = das.statement(
    id="das2022.snr",
    kind="corollary",
    source=Source(das.PAPER, "Figure 3's caption; Section 3.1; contribution (a) in Section 1"),
    symbols=das.NOTATION.also("C", "E", "eta", "L"),
    sides=lambda s: Sides(lhs={"clipping": s.E_clipped_signal}, rhs={"normalisation": s.E_normalised_signal}),
    universal=False,
    checks=battery(
        Check("exact", "one client's update", signals, {"C": "10", "updates": _ALONE}), NORMALISE("appendix-f-signals")
    ),
)

ANY_COHORT: Statement = replace(
    SNR,
    id="das2022.snr.any-cohort",
    reading_of="das2022.snr",
    universal=True,
    checks=battery(
        Check("exact", "one direction", signals, {"C": "10", "updates": _ONE}),
        Check("exact", "several directions", signals, {"C": "10", "updates": _SEVERAL}, "violated"),
        NORMALISE(violated="conflicting-signals"),
    ),
)

SNR_REPAIRED: Statement = replace(
    SNR,
    id="das2022.snr.repaired",
    source=Source(das.PAPER, "Figure 3's caption; Section 3.1"),
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
    universal=True,
)

STATEMENTS = (SNR, ANY_COHORT, SNR_REPAIRED)
