"""shulgin2025 Lemma 2 (Appendix D): the clients' residuals stay at most R, for two conditions on beta; repaired."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Case, Outcome
from dpfl_theory.statements.formula import letters_of
from dpfl_theory.statements.model import Assumption, Check, Remark, Sides, Source, Statement
from dpfl_theory.statements.shulgin2025 import _letters as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._experiments import runs
from dpfl_theory.statements.shulgin2025._instances import BEYOND, TRACKED
from dpfl_theory.statements.shulgin2025._line import exactly, root
from dpfl_theory.statements.symbolic import equal

__all__ = [
    *("LARGER_BETA", "LEMMA2", "REPAIRED", "STATEMENTS"),
    *("after_update", "left_over", "most_left_over", "one_step", "residual_after_update"),
]


def residual_after_update(r: Fraction, alpha: Fraction, beta: Fraction) -> Fraction:
    """|1 - beta/(alpha + r)| r, with 0/0 = 0.

    >>> residual_after_update(Fraction(1, 10), Fraction(0), Fraction(9, 10))
    Fraction(4, 5)
    """
    return abs(r - beta * r / (alpha + r)) if r else Fraction(0)


def left_over(R: Fraction, alpha: Fraction, beta: Fraction) -> Fraction:
    """A = max(R - beta R/(alpha + R), (sqrt beta - sqrt alpha)^2): the most that an update of the memories leaves, for
    alpha and beta that are squares of fractions.

    >>> str(left_over(Fraction(1), Fraction(1, 16), Fraction(1)))
    '9/16'
    """
    return max(R - beta * R / (alpha + R), max(Fraction(0), root(beta) - root(alpha)) ** 2)


def most_left_over(s: Mapping[str, Any]) -> Any:
    """A of `left_over` in a statement's letters."""
    import sympy as sp

    over = sp.Max(0, sp.sqrt(s["beta"]) - sp.sqrt(s["alpha"])) ** 2
    return sp.Max(s["R"] - s["beta"] * s["R"] / (s["alpha"] + s["R"]), over)


def one_step(r: Fraction, R: Fraction, alpha: Fraction, beta: Fraction) -> Fraction:
    """The next residual of one client on the line with f_i = x^2/2, whose memory points along the step of length gamma
    = beta R/(alpha + R).

    A client at x = 50 R with memory x - r sends r/(alpha + r), and the gradient then moves by gamma towards 0.

    >>> one_step(Fraction(1, 10), Fraction(1), Fraction(0), Fraction(9, 10))
    Fraction(17, 10)
    """
    x = 50 * R
    memory = x - r
    memory = memory + (beta * r / (alpha + r) if r else 0)
    if memory <= 0:
        raise ValueError(f"the memory {memory} does not point along the step: the residual {r} is too large")
    return abs(x - beta * R / (alpha + R) - memory)


def _steps(instance: Mapping[str, Any], radius: Callable[[Fraction, Fraction, Fraction], Fraction]) -> list[Case]:
    """Every residual on a grid up to the radius; alpha, beta are squares of the instance's roots."""
    cases = []
    R = Fraction(1)
    for a, b in instance["roots"]:
        alpha, beta = Fraction(a) ** 2, Fraction(b) ** 2
        if not 0 < beta < alpha + R:
            raise ValueError(f"beta = {beta} does not lie between 0 and alpha + R = {alpha + R}")
        bound = radius(R, alpha, beta)
        for j in range(1, int(instance["points"]) + 1):
            r = bound * Fraction(j, int(instance["points"]))
            values = {"alpha": alpha, "beta": beta, "residual": r}
            cases.append(Case(values, one_step(r, R, alpha, beta), bound))
            gamma = beta * R / (alpha + R)
            cases.append(
                Case({**values, "gradient moves": "away"}, residual_after_update(r, alpha, beta) + gamma, bound)
            )
    return cases


def _printed_radius(R: Fraction, alpha: Fraction, beta: Fraction) -> Fraction:
    return R


def _repaired_radius(R: Fraction, alpha: Fraction, beta: Fraction) -> Fraction:
    return exactly(REPAIRED, {"R": R, "alpha": alpha, "beta": beta})


def _roots(instance: Mapping[str, Any]) -> list[Case]:
    return _steps(instance, _printed_radius)


def _repaired_cases(instance: Mapping[str, Any]) -> list[Case]:
    """The radius in rational numbers, from rational roots of alpha and beta; and what an update leaves of a residual up
    to the radius, that of the largest overshoot among them, against A."""
    cases = []
    for a, b in instance["roots"]:
        cases += _steps({**instance, "roots": [[a, b]]}, _repaired_radius)
        alpha, beta, R = Fraction(a) ** 2, Fraction(b) ** 2, Fraction(1)
        radius, most = _repaired_radius(R, alpha, beta), left_over(R, alpha, beta)
        grid = [radius * Fraction(j, int(instance["points"])) for j in range(int(instance["points"]) + 1)]
        for r in (*grid, max(Fraction(0), Fraction(a) * Fraction(b) - alpha), R):
            values = {"alpha": alpha, "beta": beta, "residual": r, "after": "the update"}
            cases.append(Case(values, residual_after_update(r, alpha, beta), most))
    return cases


def _sides() -> Sides:
    s = letters_of(LEMMA2)
    return Sides({"residual": s["residual"]}, {"radius": s["R"]})


def _repaired_sides() -> Sides:
    import sympy as sp

    s = letters_of(REPAIRED)
    over = sp.Max(0, sp.sqrt(s["beta"]) - sp.sqrt(s["alpha"])) ** 2
    return Sides(
        {"residual": s["residual"]}, {"radius": sp.Max(s["R"], over + s["beta"] * s["R"] / (s["alpha"] + s["R"]))}
    )


def _without_overshoot(_: Mapping[str, Any]) -> Outcome:
    """Where beta <= alpha + r, |1 - beta/(alpha + r)| r = r - beta r/(alpha + r), which grows with r: its derivative is
    ((alpha + r)^2 - alpha beta)/(alpha + r)^2, and the radius of the lemma is R - beta R/(alpha + R) plus the limit of
    gamma L_max."""
    import sympy as sp

    a, b, r, R = sp.symbols("alpha beta r R", positive=True)
    g = r - b * r / (a + r)
    slope = equal(sp.diff(g, r), ((a + r) ** 2 - a * b) / (a + r) ** 2, "the derivative of the residual that is left")
    if not slope.true:
        return slope
    return equal(g.subs(r, R) + b * R / (a + R), R, "what is left of R, plus the largest change of a gradient")


def _with_overshoot(_: Mapping[str, Any]) -> Outcome:
    """With q = (sqrt beta - sqrt alpha)^2 and m = beta R/(alpha + R): -g(r) is at most q, at r = sqrt(alpha beta) -
    alpha, and at rho = q + m >= R also g(rho) <= q, since g(rho) - q = m - beta rho/(alpha + rho) <= 0."""
    import sympy as sp

    a, b, r, R, more = sp.symbols("alpha beta r R more", positive=True)
    g = r - b * r / (a + r)
    q = (sp.sqrt(b) - sp.sqrt(a)) ** 2
    rho = R + more  # q + m
    steps = (
        (sp.diff(-g, r).subs(r, sp.sqrt(a * b) - a), 0, "the overshoot's derivative"),
        (-g.subs(r, sp.sqrt(a * b) - a), q, "the largest overshoot"),
        (b * rho / (a + rho) - b * R / (a + R), a * b * more / ((a + R) * (a + rho)), "beta rho/(alpha + rho) less m"),
    )
    for left, right, what in steps:
        outcome = equal(left, right, what)
        if not outcome.true:
            return outcome
    return Outcome(True, "the radius max(R, q + m) is kept: above R the step is longer, and an overshoot is at most q")


def after_update(_: Mapping[str, Any]) -> Outcome:
    """||grad f_i(x^k) - v_i^{k+1}|| <= A <= R in every round, which is all that the descent inequality needs.

    One step maps a residual r to |g(r)|, g(r) = r - beta r/(alpha + r), and the gradient then moves by at most m =
    beta R/(alpha + R). With q = (sqrt(beta) - sqrt(alpha))^2, the most by which a step overshoots (0 for beta <=
    alpha), A = max(g(R), q) bounds |g(r_k)| in every round, by induction: r_{k+1} <= A + m = max(R, q + m), g is convex
    with g(0) = 0, and g(q + m) <= q where q + m >= R. And q < R since beta < alpha + R.
    """
    import sympy as sp

    a, b, r, R = sp.symbols("alpha beta r R", positive=True)
    g = r - b * r / (a + r)
    moved = b * R / (a + R)
    steps = (
        (g.subs(r, R) + moved, R, "g(R) + m"),
        (sp.diff(-g, r).subs(r, sp.sqrt(a * b) - a), 0, "the overshoot's derivative at r = sqrt(alpha beta) - alpha"),
        (-g.subs(r, sp.sqrt(a * b) - a), (sp.sqrt(b) - sp.sqrt(a)) ** 2, "the largest overshoot"),
        (
            R - (sp.sqrt(a + R) - sp.sqrt(a)) ** 2,
            2 * sp.sqrt(a) * (sp.sqrt(a + R) - sp.sqrt(a)),
            "R less the overshoot at beta = alpha + R",
        ),
    )
    for left, right, what in steps:
        outcome = equal(left, right, what)
        if not outcome.true:
            return outcome
    if sp.simplify(sp.diff(g, r, 2) * (a + r) ** 3 / (2 * a * b)) != 1:
        return Outcome(None, "the convexity of g was not found")
    letters = {"alpha": a, "beta": b, "R": R}
    for left, right, what in (
        # q dominates for beta = t^2 alpha, t > 1, and short R; g(R) does for beta <= alpha.
        (most_left_over(letters).subs({b: 9 * a, R: 9 * a}), 4 * a, "A at beta = R = 9 alpha"),
        (most_left_over(letters).subs(b, a), R**2 / (a + R), "A at beta = alpha"),
    ):
        outcome = equal(left, right, what)
        if not outcome.true:
            return outcome
    return Outcome(True, "each update of the memories leaves at most A <= R, also where a step overshoots")


_RESIDUALS = {"points": 40, "roots": [["0", "3/10"], ["1/2", "1/2"], ["1", "1/2"], ["2", "2"], ["0", "7/10"]]}
"""With beta <= alpha, or beta <= R/2 and alpha = 0 (R = 1): Lemma 2 holds."""
_SMALL_BETA = [["1/2", "1/2"], ["1", "1/2"], ["2", "2"]]
_OVERSHOOTS = {"points": 40, "roots": [["0", "9/10"], ["1/10", "1"], ["1/2", "1"], ["0", "99/100"], ["3/10", "1"]]}

_INSIDE = (
    {"L": "1", "alpha": "1", "beta": "1", "residual": "1/2"},
    {"L": "1", "alpha": "1", "beta": "1/2", "residual": "1"},
    {"L": "4", "alpha": "2", "beta": "1/4", "residual": "1/8"},
    {"L": "1", "alpha": "0", "beta": "1/2", "residual": "1/64"},
)
_OUTSIDE = (
    {"L": "1", "alpha": "0", "beta": "9/10", "residual": "1/10"},
    {"L": "1", "alpha": "1/4", "beta": "1", "residual": "1/4"},
)
_ALONE = tuple({**i, "clients": 1, "estimate": "4"} for i in _OUTSIDE)


def _radius_grid() -> tuple[dict[str, str], ...]:
    """Residuals up to the repaired radius, which is 1.8 R for alpha = 0, beta = 9/10 and 1.05 R for 1/4 and 1."""
    beyond = ({"L": "1", "alpha": "0", "beta": "9/10", "residual": "9/5"},)
    return (*_OUTSIDE, *beyond, {"L": "1", "alpha": "1/4", "beta": "1", "residual": "21/20"}, *_INSIDE[:2])


def _no_overshoot(problem: Any, values: Mapping[str, Any]) -> str | None:
    alpha, beta = values["alpha"], values["beta"]
    return (
        None if 0 < beta <= alpha * (1 + 1e-12) else f"beta = {beta:.6g} does not lie in (0, alpha] = (0, {alpha:.6g}]"
    )


LEMMA2: Statement = Statement(
    id="shulgin2025.lemma2",
    kind="lemma",
    title="The clients' residuals stay at most R",
    source=Source(
        shu.PAPER,
        "Lemma 2, Appendix D",
        note=(
            "several rounds apply it one after another. The tables of Appendix I have values up to 10 in a column "
            "whose head is lost; if that is beta, and alpha is small, the form with beta < alpha + R is true for R of "
            "about 20 or more only, while its hypothesis asks for R of about 10"
        ),
        provenance="restored",
        restoration=(
            "from its proof, of which 'From the definition of the Euclidean norm' and 'when' are left, and from its "
            "use in steps 1 of the proofs of Theorems 1 and 2, an induction over the rounds. That residuals stay "
            "bounded by one number and that the step is limited is, as we judge, pinned by these; the condition on "
            "beta is a judgement"
        ),
    ),
    text=(
        "If max_i ||grad f_i(x^k) - v_i^k|| <= R, beta <= alpha and 0 < gamma <= beta R/((alpha + R) L_max), then "
        "max_i ||grad f_i(x^{k+1}) - v_i^{k+1}|| <= R."
    ),
    symbols=(shu.BOUND, *shu.letters("gamma", "alpha", "beta", "L_max")),
    expectations=(shu.next_residual("R"),),
    assumptions=(shu.CLIENTS, shu.WITHIN, Assumption("0 < beta <= alpha", _no_overshoot), shu.STEP),
    sides=_sides,
    checks=(
        Check("algebra", "where no step overshoots", _without_overshoot),
        Check("exact", "no overshoot beyond the radius", _roots, {**_RESIDUALS, "roots": _SMALL_BETA}),
        *worst.grid_of(worst.track, _INSIDE[:3]),
        *(c for name, (i, _) in TRACKED.items() if "= alpha" in name for c in runs({name: i})),
    ),
    remark=Remark(
        "If the lost condition on beta is beta/(alpha + R) < 1, the one with which Theorem 1 is entered, then a short "
        "residual can grow beyond R: an update multiplies a residual r by 1 - beta/(alpha + r), which for r < beta - "
        "alpha is negative and for alpha = 0 has no bound as r gets short. n = 1, f = x^2/2, R = 1, alpha = 0, beta = "
        "gamma = 9/10, x^0 = 5, v^0 = 49/10: the residual 1/10 becomes -8/10 at v^1 = 58/10, and -17/10 at x^1 = "
        "41/10. With every gamma up to its limit it then holds exactly where (sqrt(beta) - sqrt(alpha))^2 <= R (alpha "
        "+ R - beta)/(alpha + R) or beta <= alpha; otherwise residuals stay below 2R, which they approach for alpha "
        "near 0 and beta near R alone. The restored Theorems 1 and 2 survive: what they need is a residual of at most "
        "R after the memories' update, and that is true for every beta < alpha + R.",
        shown_by="shulgin2025.lemma2.larger-beta",
        repaired="shulgin2025.lemma2.repaired",
    ),
    uses=("shulgin2025.lemma1",),
    reading="The lost condition on beta is restored as beta <= alpha, with which no update of a memory overshoots.",
)

LARGER_BETA: Statement = replace(
    LEMMA2,
    id="shulgin2025.lemma2.larger-beta",
    title="The clients' residuals stay at most R, for larger beta",
    text=(
        "If max_i ||grad f_i(x^k) - v_i^k|| <= R, beta/(alpha + R) < 1 and 0 < gamma <= beta R/((alpha + R) L_max), "
        "then max_i ||grad f_i(x^{k+1}) - v_i^{k+1}|| <= R."
    ),
    assumptions=(shu.CLIENTS, shu.WITHIN, shu.CONTRACTS, shu.STEP),
    checks=(
        Check("algebra", "where no step overshoots", _without_overshoot),
        Check("exact", "no overshoot beyond the radius", _roots, _RESIDUALS),
        Check("exact", "overshoots", _roots, _OVERSHOOTS, "violated"),
        *worst.grid_of(worst.track, _INSIDE),
        *worst.grid_of(worst.track, _OUTSIDE, "violated"),
        *worst.grid_of(worst.track, _ALONE, "violated"),
        *(c for name, (i, verdict) in TRACKED.items() for c in runs({name: i}, expected=verdict)),
    ),
    expected="violated",
    remark=None,
    reading="The lost condition on beta is restored as beta/(alpha + R) < 1, the one of the restored Theorem 1.",
    reading_of="shulgin2025.lemma2",
)


REPAIRED: Statement = replace(
    LEMMA2,
    id="shulgin2025.lemma2.repaired",
    title="The clients' residuals stay within a radius that allows for overshoot",
    source=Source(
        shu.PAPER,
        "Lemma 2, Appendix D",
        note=(
            "repaired: the radius is max(R, q + beta R/(alpha + R)) with the largest overshoot q = max(0, sqrt(beta) - "
            "sqrt(alpha))^2; it is R itself for beta <= alpha, and below 2R always"
        ),
    ),
    text=(
        "If max_i ||grad f_i(x^k) - v_i^k|| <= rho = max(R, q + beta R/(alpha + R)), beta/(alpha + R) < 1 and 0 < "
        "gamma <= beta R/((alpha + R) L_max), then max_i ||grad f_i(x^{k+1}) - v_i^{k+1}|| <= rho, and max_i ||grad "
        "f_i(x^k) - v_i^{k+1}|| <= A = max(R - beta R/(alpha + R), q) <= R in between."
    ),
    symbols=(shu.SCALE, *shu.letters("gamma", "alpha", "beta", "L_max")),
    expectations=(shu.next_residual("rho"),),
    assumptions=(shu.CLIENTS, shu.TRACKED, shu.CONTRACTS, shu.STEP),
    sides=_repaired_sides,
    checks=(
        Check("algebra", "where no step overshoots", _without_overshoot),
        Check("algebra", "where steps overshoot", _with_overshoot),
        Check("algebra", "residuals after the update", after_update),
        Check("exact", "no overshoot beyond the radius", _repaired_cases, _RESIDUALS),
        Check("exact", "overshoots", _repaired_cases, _OVERSHOOTS),
        *worst.grid_of(lambda i: worst.track(i, repaired=True), _radius_grid()),
        *(c for name, (i, _) in TRACKED.items() for c in runs({name: i})),
        *runs(BEYOND),
    ),
    remark=None,
    reading="",
)

STATEMENTS = (LEMMA2, LARGER_BETA, REPAIRED)
