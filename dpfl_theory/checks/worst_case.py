"""worst-case: performance estimation over a whole class of functions (PEPit models it, Clarabel solves it).

A check's ``build(statement, instance)`` returns a `WorstCase`: values of the statement's symbols. Some of these are
quantities of degree two in points, gradients and square roots of function values, and the sides are linear in them.
Such a problem is a cone (`dpfl_theory.checks.homogeneity` refuses others), so it is normalised here: the left side is
maximised subject to right <= 1. A maximum of at most 1 implies left <= right wherever right >= 0. Whether right is
never negative is decided too, or else left <= right where it is.

The guarantee is the **dual** value, rebuilt from the multipliers only. Where possible it is then proved in rational
arithmetic, and the proof is stored with the evidence as a certificate (`dpfl_theory.checks.certificate_file`). A
counterexample must satisfy all interpolation conditions in rational arithmetic, or it does not count. Only
`dpfl_theory.checks.verifier` decides what is proved or refuted. Everything else is inconclusive.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.checks.certificate_file import NOTE
from dpfl_theory.checks.estimation import SOLVER_TOLERANCE, VIOLATION_MARGIN, Solution, solve
from dpfl_theory.checks.homogeneity import NotACone, span
from dpfl_theory.checks.hypotheses import BuildError, unmet
from dpfl_theory.checks.pep_inequality import arranged, way
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Performance, Statement, WorstCase
from dpfl_theory.core.evidence import HALF, UNSOLVED, Evidence, Interval, outside
from dpfl_theory.errors import CheckError

__all__ = ["inequality", "run", "solve"]

GAP_TOLERANCE = 1e-5
"""Largest relative gap between primal and dual value with which a problem counts as solved."""
FAR_APART = 1e6
"""A larger ratio of coefficients may be why a problem was not solved: the solver's tolerance is relative to all."""


def run(statement: Statement, check: Check, settings: Settings) -> Evidence:
    """The evidence of one worst-case check.

    *holds*: proved in rational arithmetic, or guarantee <= 1 within `SOLVER_TOLERANCE` at a small gap; *violated*: a
    function of the class was found and verified in rational arithmetic; otherwise *inconclusive*. An equality is two
    inequalities: unless the `WorstCase` names the one that it is about, both are decided, and it holds if both do.
    """
    started = time.perf_counter()
    built = _made(statement, check)
    if not check.part and not isinstance(built, WorstCase):
        raise ValueError(f"the check {check.name!r} gives its sides itself: give values of the symbols, or set part")
    missing = unmet(statement, built.values) if isinstance(built, WorstCase) else None
    if missing is not None:
        return outside(statement, check, missing, time.perf_counter() - started)
    equality = statement.relation == "==" and isinstance(built, WorstCase)
    if not equality or built.direction is not None:
        found = _one(statement, check, built)
        if equality:
            found = _half(found, built.direction)
    else:
        found = _half(_one(statement, check, replace(built, direction="<=")), "<=")
        if found.verdict != "violated" and built.capped:
            why = f"right <= left was not decided, for {', '.join(built.capped)} is known only from above here"
            verdict = "inconclusive" if found.verdict == "holds" else found.verdict
            found = replace(found, verdict=verdict, reason=f"{found.reason}; {why}: check it by exact")
        elif found.verdict != "violated":
            # Built again: PEPit numbers points globally, and the first problem has its normalisation by now.
            converse = replace(check.make(statement), direction=">=")
            found = _both(found, _half(_one(statement, check, converse), ">="))
    return replace(found, seconds=time.perf_counter() - started)


def _made(statement: Statement, check: Check) -> Any:
    """The problem that the check builds. Raises `BuildError` for a number of a kind that PEPit does not take."""
    try:
        return check.make(statement)
    except (AssertionError, TypeError) as error:
        if strange := _strange_numbers(error):
            raise BuildError(
                f"PEPit takes numbers of type int and float, and gets a {strange}: write float(...) around it"
            ) from error
        raise


def _strange_numbers(error: BaseException) -> str:
    """The type of the fraction or sympy number at which PEPit raised an exception; empty without one."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    frame = None if trace is None else trace.tb_frame
    if frame is None or not frame.f_globals.get("__name__", "").startswith("PEPit"):
        return ""
    found = (type(v) for v in frame.f_locals.values())
    kinds = ("Fraction" if issubclass(t, Fraction) else "number of sympy" for t in found if _is_exact(t))
    return next(kinds, "")


def _is_exact(kind: type) -> bool:
    return issubclass(kind, Fraction) or kind.__module__.startswith("sympy")


def _half(found: Evidence, direction: str) -> Evidence:
    """Evidence of one half of an equality: the half, and a note that it shows only this half."""
    message = "left <= right" if direction == "<=" else "right <= left"
    return replace(found, reason=f"of the equality, {message}: {found.reason}", notes={**found.notes, HALF: direction})


def _both(below: Evidence, above: Evidence) -> Evidence:
    """Evidence of an equality from that of its halves, of which the first was not refuted. A refuted second half
    decides; otherwise the equality holds where both halves do."""
    if above.verdict == "violated":
        return above
    undecided = [e for e in (below, above) if e.verdict != "holds"]
    verdict = "inconclusive" if undecided else "holds"
    notes = {**below.notes, "other half": {name: v for name, v in above.notes.items() if name != HALF}}
    del notes[HALF]
    notes.pop(UNSOLVED, None)
    if undecided and all(UNSOLVED in e.notes for e in undecided):
        notes[UNSOLVED] = True
    return replace(below, verdict=verdict, reason=f"{below.reason}; {above.reason}", notes=notes)


def _one(statement: Statement, check: Check, built: Performance | WorstCase) -> Evidence:
    """The evidence of one inequality."""
    try:
        performance = inequality(statement, built)
        found = solve(performance)
        if isinstance(built, WorstCase) and math.isnan(
            found.primal
        ):  # the solver gave up: it may succeed with sides of another scale
            again = replace(check.make(statement), direction=built.direction)
            performance = arranged(statement, again, scaled=False)
            found = solve(performance)
        also = {name: _also(statement, build) for name, build in performance.also.items()}
    except NotACone as error:
        raise CheckError(f"check {check.name!r} of {statement.id}: {error}") from error
    gap = abs(found.dual - found.primal) / max(1.0, abs(found.primal)) if math.isfinite(found.primal) else math.inf
    small = gap <= GAP_TOLERANCE
    exceeded = small and found.primal > 1.0 + VIOLATION_MARGIN
    unsolved = False
    reverse = isinstance(built, WorstCase) and way(statement, built) == ">="
    smaller, larger = ("right", "left") if reverse else ("left", "right")
    if found.refuted is not None:
        verdict = "violated"
        size = "unbounded" if math.isinf(found.primal) else f"{found.primal:.7g}"
        where = (
            f"whose {larger} side is not positive" if math.isinf(found.refuted) else f"with ratio {found.refuted:.7g}"
        )
        reason = (
            f"{performance.description}: the worst ratio of the sides is {size}; a function of the class {where} "
            f"meets all interpolation conditions in rational arithmetic, and its {smaller} side is the larger one"
        )
    elif found.proved:
        verdict = "holds"
        how = ", its coefficients rounded to double precision" if found.rounded else ""
        reason = (
            f"{performance.description}: proved in rational arithmetic for all of the class{how}; worst ratio "
            f"{found.dual:.7g}"
        )
    elif found.guarantee <= 1.0 + SOLVER_TOLERANCE and small and found.signed:
        verdict = "holds"
        reason = (
            f"{performance.description}: the dual value, its defects included, is {found.guarantee:.9g}, at most 1 "
            f"within the solver's tolerance {SOLVER_TOLERANCE:g}"
        )
    elif found.guarantee <= 1.0 + SOLVER_TOLERANCE and small:
        verdict = "inconclusive"
        reason = (
            f"{performance.description}: the {larger} side can be negative, where the worst ratio {found.dual:.7g} "
            "proves nothing, and no counterexample was verified"
        )
    else:
        verdict = "inconclusive"
        unsolved = not exceeded
        reason = (
            f"{performance.description}: not solved (status {found.status}, primal {found.primal:.7g}, dual "
            f"{found.guarantee:.7g}), and no counterexample was verified{_remedy(performance, exceeded)}"
        )
    return Evidence.of_check(
        statement,
        check,
        verdict,
        reason,
        lhs=_interval(found),
        rhs=1.0,
        detectable=1.0 + VIOLATION_MARGIN,
        notes={
            "normalisation": f"{larger} side <= 1",
            "solver_status": found.status,
            "primal": found.primal,
            "dual": found.dual,
            "defect": found.defect,
            "proved_exactly": found.proved,
            "coefficients_rounded": found.rounded,
            "refuted_exactly": found.refuted is not None,
            "worst_function": found.worst,
            **({"worst_ratio_of": also} if also else {}),
            **({UNSOLVED: True} if unsolved else {}),
            **_kept(found, f"{performance.description}: the {smaller} side is at most the {larger} side"),
        },
        device="cpu (Clarabel)",
    )


def _kept(found: Solution, claim: str) -> dict[str, Any]:
    """The notes about the certificate of a proof: its claim and data, or why there is no certificate."""
    if not found.proved:
        return {}
    if isinstance(found.certificate, str):
        return {"claim": claim, "no_certificate": found.certificate}
    return {"claim": claim, NOTE: found.certificate}


def _remedy(performance: Performance, exceeded: bool) -> str:
    """The reason why the solver may have failed, and the remedy. exceeded: whether its two values agree above 1."""
    least, most = span(performance)
    if most / least >= FAR_APART:
        message = f"; its coefficients lie between {least:.2g} and {most:.2g}, which the solver cannot distinguish"
        return f"{message}: choose units in which they are about 1 (such as L = 1), without loss of generality"
    if exceeded:
        return ": the bound is exceeded, so correct it, or take fewer rounds, for which a counterexample is verified"
    return ": take fewer rounds, clients or outcomes, or numbers of the instance nearer to 1, or check it by exact"


def _interval(found: Solution) -> Interval:
    """The largest ratio: the verified value below it, the dual value, and the guarantee above it."""
    low = found.refuted if found.refuted is not None else min(found.primal, found.dual)
    high = max(found.dual, min(1.0, found.guarantee)) if found.proved else found.guarantee
    return Interval(found.dual, low, high)


def inequality(statement: Statement, built: Performance | WorstCase) -> Performance:
    """The problem to solve: the statement's sides at these values, or the two sides that a check of a part gives."""
    return arranged(statement, built) if isinstance(built, WorstCase) else built


def _also(statement: Statement, build: Callable[[], Performance | WorstCase]) -> float | str:
    built = build()
    if isinstance(built, WorstCase) and built.sides is not None:
        statement = replace(statement, sides=built.sides)
    found = solve(inequality(statement, built))
    if math.isfinite(found.primal) and abs(found.guarantee - found.primal) <= GAP_TOLERANCE * max(
        1.0, abs(found.primal)
    ):
        return float(f"{found.dual:.8g}")
    return "unbounded" if found.refuted is not None else "not solved"
