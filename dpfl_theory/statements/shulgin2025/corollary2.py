"""shulgin2025 Corollary 2: the utility of alpha-NormEC under a privacy budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.claims import Case, Outcome
from dpfl_theory.statements.model import Assumption, Check, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.shulgin2025 import _letters as shu
from dpfl_theory.statements.shulgin2025._experiments import PRIVATE, private, runs
from dpfl_theory.statements.shulgin2025.lemma3 import second_moment
from dpfl_theory.statements.shulgin2025.theorem2 import THEOREM2
from dpfl_theory.statements.symbolic import equal

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["COROLLARY2", "STATEMENTS", "best_beta_0"]


def _prescription() -> Mapping[str, Any]:
    import sympy as sp

    s = sympy_symbols(COROLLARY2)
    beta = s["beta_0"] / (s["K"] + 1)
    return {
        "sigma": s["c"] * sp.sqrt((s["K"] + 1) * sp.log(1 / s["delta"])) / s["epsilon"],
        "beta": beta,
        "gamma": beta * s["R"] / ((s["alpha"] + s["R"]) * s["L_max"]),
    }


def _ratio(s: Mapping[str, Any]) -> Any:
    """sqrt(d log(1/delta)/(n epsilon^2))."""
    import sympy as sp

    return sp.sqrt(s["d"] * sp.log(1 / s["delta"]) / s["n"]) / s["epsilon"]


def _sides() -> Sides:
    s = sympy_symbols(COROLLARY2)
    reach = (s["alpha"] + s["R"]) * s["L_max"] / (s["beta_0"] * s["R"])  # 1/(gamma (K + 1))
    return Sides(
        {"gradient": s["E_least"]},
        {
            "initialisation": s["gap"] * reach,
            "memory": 2 * s["R"],
            "curvature": s["L"] / (2 * reach * (s["K"] + 1)),
            "privacy noise": 2 * s["c"] * s["beta_0"] * _ratio(s),
        },
    )


def best_beta_0(s: Mapping[str, Any]) -> Any:
    """The beta_0 that minimises the bound as K grows, in the statement's letters."""
    import sympy as sp

    return sp.sqrt(s["gap"] * s["L_max"] * (s["alpha"] + s["R"]) / (2 * s["c"] * s["R"] * _ratio(s)))


def _from_theorem2(_: Mapping[str, Any]) -> Outcome:
    assert THEOREM2.sides is not None
    s, other = sympy_symbols(COROLLARY2), sympy_symbols(THEOREM2)
    swaps = {other[name]: s[name] for name in other if name in s}
    swaps.update({other[name]: expression for name, expression in _prescription().items()})
    bound = sum(THEOREM2.sides().rhs.values()).subs(swaps, simultaneous=True)
    return equal(bound, sum(_sides().rhs.values()), "Theorem 2 with the prescribed sigma, beta and gamma")


def _many_rounds() -> tuple[dict[str, Any], Any]:
    """The letters, and the bound as K grows."""
    s = sympy_symbols(COROLLARY2)
    terms = _sides().rhs
    return s, sum(terms[name] for name in ("initialisation", "memory", "privacy noise"))


def _optimum(_: Mapping[str, Any]) -> Outcome:
    import sympy as sp

    s, bound = _many_rounds()
    if not sp.diff(bound, s["beta_0"], 2).is_positive:
        return Outcome(None, "the bound was not found to be convex in beta_0")
    return equal(sp.diff(bound, s["beta_0"]).subs(s["beta_0"], best_beta_0(s)), 0, "the derivative in beta_0")


def _order(alpha_shrinks: bool) -> Callable[[Mapping[str, Any]], Outcome]:
    """With t = (d log(1/delta)/(n epsilon^2))^(1/4) and R of order t: the bound is of order t if alpha is of order t
    too, and of order sqrt(t) if alpha stays fixed."""

    def build(_: Mapping[str, Any]) -> Outcome:
        import sympy as sp

        s, _bound = _many_rounds()
        t, a, r = sp.symbols("t a r", positive=True)
        R, alpha = r * t, a * t if alpha_shrinks else a
        # The two terms with beta_0, at their best one, are twice the root of their product.
        reach = s["gap"] * s["L_max"] * (alpha + R) / R
        total = 2 * R + 2 * sp.sqrt(2 * s["c"] * reach * t**2)
        found = sp.limit(sp.simplify(total / (t if alpha_shrinks else sp.sqrt(t))), t, 0, "+")
        said = "alpha of order R: the bound" if alpha_shrinks else "alpha fixed: the bound to the power 2"
        finite = found.is_positive and found.is_finite
        return Outcome(
            bool(finite) or None, f"{said} is of order (d log(1/delta)/(n epsilon^2))^(1/4), constant {found}"
        )

    return build


def _noise_terms(instance: Mapping[str, Any]) -> list[Case]:
    """The squared noise term of Theorem 2 at the prescribed sigma and beta, by the recursion of Lemma 3, against the
    corollary's, in which K has gone; log = log(1/delta) takes rational values here."""
    cases = []
    for K in instance["K"]:
        for texts in instance["letters"]:
            c, beta_0, epsilon, log = (Fraction(text) for text in texts)
            for n, d in ((1, 1), (10, 3)):
                squared = c**2 * (K + 1) * log / epsilon**2  # sigma^2
                beta = beta_0 / (K + 1)
                moment = 4 * second_moment(K, n, d, Fraction(1), beta) * squared
                printed = (2 * c * beta_0) ** 2 * d * log / (n * epsilon**2)
                values = {"K": K, "c": c, "beta_0": beta_0, "epsilon": epsilon, "log": log, "n": n, "d": d}
                cases.append(Case(values, moment, printed))
                cases.append(Case({**values, "compared": "the other way"}, printed, moment))
    return cases


def _delta(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    return None if 0 < values["delta"] < 1 else f"delta = {values['delta']} does not lie in (0, 1)"


COROLLARY2: Statement = Statement(
    id="shulgin2025.corollary2",
    kind="corollary",
    title="utility of alpha-NormEC under a privacy budget",
    source=Source(
        shu.PAPER,
        "Corollary 2, Section 5",
        note=(
            "the display is lost in the text at hand and was restored: the choices of sigma, beta and gamma and the "
            "order are pinned by the remaining words (mark P), the constants are derived by putting the choices into "
            "Theorem 2 (mark D). beta_0 is free; the one that minimises the bound as K grows is used where a number is "
            "wanted. The order (d log(1/delta)/(n epsilon^2))^(1/4) is reached for R and alpha of that order; the text "
            "at hand has lost its condition. For fixed alpha > 0 it is the eighth root. That sigma gives (epsilon, "
            "delta) is shulgin2025.noise, which has its own entry"
        ),
    ),
    text=(
        "With sigma = O(sqrt((K + 1) log(1/delta))/epsilon), beta = beta_0/(K + 1) < alpha + R and gamma = beta "
        "R/((alpha + R) L_max), alpha-NormEC satisfies the bound, which is O((d log(1/delta)/(n epsilon^2))^(1/4)) "
        "once R is of that order."
    ),
    symbols=shu.letters(
        *("gap", "gamma", "K", "R", "alpha", "beta", "beta_0", "L", "L_max", "n", "d", "sigma", "c"),
        *("epsilon", "delta"),
    ),
    expectations=(shu.E_LEAST,),
    assumptions=(shu.SMOOTH, shu.CONTRACTS, shu.STEP, shu.ROUNDS, Assumption("0 < delta < 1", _delta)),
    sides=_sides,
    prescription=_prescription,
    checks=(
        Check("algebra", "Theorem 2 with the prescription", _from_theorem2),
        Check("algebra", "the best beta_0 as K grows", _optimum),
        Check("algebra", "order, alpha of order R", _order(alpha_shrinks=True)),
        Check("algebra", "order, alpha fixed: the eighth root", _order(alpha_shrinks=False)),
        Check(
            "exact",
            "the noise term does not depend on K",
            _noise_terms,
            {"K": [0, 1, 9, 50], "letters": [["2", "1", "1", "12"], ["1/2", "7/3", "8", "25/2"]]},
        ),
        *runs(PRIVATE, private),
    ),
    uses=("shulgin2025.theorem2", "shulgin2025.noise"),
    slips=(
        "The privacy guarantee covers the messages, not the memories: R of the required order needs v_i^0 near grad "
        "f_i(x^0), and vhat^0 = (1/n) sum_i v_i^0 is sent without noise.",
        "With memories that do not depend on the data, v_i^0 = 0, the term 2R alone is at least 2 ||grad f(x^0)||.",
        "beta = beta_0/(K + 1) bounds the way of the method by gamma (K + 1) = beta_0 R/((alpha + R) L_max), however "
        "many rounds there are.",
    ),
)

STATEMENTS = (COROLLARY2,)
